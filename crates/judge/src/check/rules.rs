//! One function a check: where in a question the fault is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Ask, Place, Readout, words};
use crate::{json, question};

/// The most options that can be asked at once.
const MOST_OPTIONS: usize = 255;
/// The most options that a small encoder tells apart.
const USEFUL_OPTIONS: usize = 20;
/// Text that models use as special tokens, as far as it can be known without a vocabulary.
const MARKS: [&str; 9] = [
    "<|",
    "[SEP]",
    "[CLS]",
    "[MASK]",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "</s>",
    "<bos>",
];

fn whole(found: bool) -> Vec<Place> {
    if found { vec![None] } else { Vec::new() }
}

/// Indexes of items that are equal to an earlier one.
fn repeated<T: Ord>(items: impl Iterator<Item = Option<T>>) -> Vec<Place> {
    let mut seen = BTreeSet::new();
    let again = |item: Option<T>| item.is_some_and(|item| !seen.insert(item));
    items.map(again).enumerate().filter_map(|(at, again)| again.then_some(Some(at))).collect()
}

fn is_choice(ask: &Ask<'_>) -> bool {
    matches!(ask.question.ask, question::Ask::Choose { .. })
}

/// Labels that people wrote; none for other forms than choices.
fn labels(ask: &Ask<'_>) -> Vec<String> {
    if is_choice(ask) { ask.question.labels() } else { Vec::new() }
}

fn instructions(ask: &Ask<'_>) -> String {
    ask.question.instructions.as_ref().map(json::text_of).unwrap_or_default()
}

/// Instructions, and what yes means.
fn asked(ask: &Ask<'_>) -> String {
    let yes = match &ask.question.ask {
        question::Ask::Whether { yes: Some(yes), .. } => json::text_of(yes),
        _ => String::new(),
    };
    instructions(ask) + &yes
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

pub(super) fn empty_instructions(ask: &Ask<'_>) -> Vec<Place> {
    let described = ask.question.descriptions().iter().flatten().any(|d| !is_blank(d));
    whole(match &ask.question.instructions {
        Some(instructions) => is_blank(instructions),
        None => !described,
    })
}

/// An encoder's row begins with the instructions; its reference refuses a row without.
pub(super) fn no_instructions(ask: &Ask<'_>) -> Vec<Place> {
    let bare = ask.question.instructions.is_none() && empty_instructions(ask).is_empty();
    whole(ask.readout == Readout::Markers && bare)
}

pub(super) fn one_option(ask: &Ask<'_>) -> Vec<Place> {
    whole(is_choice(ask) && ask.question.options() < 2)
}

pub(super) fn too_many_options(ask: &Ask<'_>) -> Vec<Place> {
    whole(is_choice(ask) && ask.question.options() > MOST_OPTIONS)
}

pub(super) fn many_options(ask: &Ask<'_>) -> Vec<Place> {
    let options = ask.question.options();
    whole(is_choice(ask) && options > USEFUL_OPTIONS && options <= MOST_OPTIONS)
}

pub(super) fn blank_label(ask: &Ask<'_>) -> Vec<Place> {
    let labels = labels(ask);
    let blank = |(_, label): &(usize, &String)| label.trim().is_empty();
    labels.iter().enumerate().filter(blank).map(|(at, _)| Some(at)).collect()
}

pub(super) fn duplicate_label(ask: &Ask<'_>) -> Vec<Place> {
    repeated(labels(ask).into_iter().map(Some))
}

pub(super) fn similar_label(ask: &Ask<'_>) -> Vec<Place> {
    let labels = labels(ask);
    let exact = duplicate_label(ask);
    let folded = labels.iter().map(|label| Some(words::words(label)).filter(|w| !w.is_empty()));
    repeated(folded).into_iter().filter(|place| !exact.contains(place)).collect()
}

/// Labels that begin another one. In sorted order, all that a label begins follow it.
fn prefixes(ask: &Ask<'_>) -> Vec<Place> {
    let labels = labels(ask);
    let sorted: BTreeMap<&str, usize> =
        labels.iter().enumerate().map(|(at, label)| (label.as_str(), at)).collect();
    let mut found: Vec<Place> = sorted
        .iter()
        .zip(sorted.keys().skip(1))
        .filter(|((label, _), next)| !label.is_empty() && next.starts_with(**label))
        .map(|((_, at), _)| Some(*at))
        .collect();
    found.sort_unstable();
    found
}

pub(super) fn prefix_key(ask: &Ask<'_>) -> Vec<Place> {
    if ask.readout == Readout::Keys { prefixes(ask) } else { Vec::new() }
}

pub(super) fn prefix_label(ask: &Ask<'_>) -> Vec<Place> {
    if ask.readout == Readout::Keys { Vec::new() } else { prefixes(ask) }
}

pub(super) fn same_words(ask: &Ask<'_>) -> Vec<Place> {
    whole(match &ask.question.ask {
        question::Ask::Whether { words: Some([no, yes]), .. } => {
            no.trim() == yes.trim() || no.trim().is_empty() || yes.trim().is_empty()
        }
        _ => false,
    })
}

pub(super) fn level_count(ask: &Ask<'_>) -> Vec<Place> {
    whole(match &ask.question.ask {
        question::Ask::Rate { levels } => !(2..=10).contains(&levels.len()),
        _ => false,
    })
}

pub(super) fn null_level(ask: &Ask<'_>) -> Vec<Place> {
    let question::Ask::Rate { levels } = &ask.question.ask else { return Vec::new() };
    let blank = |(_, level): &(usize, &Value)| is_blank(level);
    levels.iter().enumerate().filter(blank).map(|(at, _)| Some(at)).collect()
}

pub(super) fn same_description(ask: &Ask<'_>) -> Vec<Place> {
    let text = |d: Option<Value>| d.filter(|d| !is_blank(d)).map(|d| d.to_string());
    repeated(ask.question.descriptions().into_iter().map(text))
}

/// Words in back-ticks that the state does not have, with `true` for those that are paths.
fn missing(ask: &Ask<'_>) -> Vec<bool> {
    let known = ask.question.labels();
    words::ticked(&instructions(ask))
        .into_iter()
        .filter(|word| ask.state.at(word).is_none() && !known.iter().any(|label| label == word))
        .map(|word| word.contains(['.', '[']))
        .collect()
}

pub(super) fn missing_path(ask: &Ask<'_>) -> Vec<Place> {
    missing(ask).into_iter().filter(|path| *path).map(|_| None).collect()
}

pub(super) fn missing_word(ask: &Ask<'_>) -> Vec<Place> {
    missing(ask).into_iter().filter(|path| !*path).map(|_| None).collect()
}

pub(super) fn empty_state(ask: &Ask<'_>) -> Vec<Place> {
    whole(ask.state.is_empty())
}

pub(super) fn negation(ask: &Ask<'_>) -> Vec<Place> {
    whole(words::has(&words::without_choice(&asked(ask)), words::NEGATION))
}

pub(super) fn arithmetic(ask: &Ask<'_>) -> Vec<Place> {
    whole(words::has(&asked(ask), words::ARITHMETIC))
}

pub(super) fn several_questions(ask: &Ask<'_>) -> Vec<Place> {
    let text = instructions(ask);
    let marks = text.matches('?').count().max(text.matches('¿').count());
    whole(marks > 1 || words::has(&text, words::JOINTS) || words::asks_again(&text))
}

pub(super) fn special_marks(ask: &Ask<'_>) -> Vec<Place> {
    let marked = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
    let options = ask.question.descriptions();
    let said = options.iter().flatten().map(json::text_of);
    let labels = ask.question.labels().into_iter();
    let found = marked(&json::text_of(ask.state.value()))
        || marked(&instructions(ask))
        || said.chain(labels).any(|text| marked(&text));
    whole(found)
}
