//! The row that is read for one question about one state:
//! `[CLS] QUESTION [SEP] ([MASK] OPTION)… [SEP] STATE [SEP]`.
//!
//! An encoder sees both sides, so nothing of a row serves another question.

use recinto_judge::{Ask, Form, Question, Shown, State, Unavailable};
use recinto_tokenizer::Tokenizer;
use serde_json::Value;

use super::{
    python::{respelled, text_of},
    setup::Marks,
};

/// Most tokens of an option, before anything is cut for want of room.
const OPTION: usize = 48;
/// Tokens that are kept free for the question when options are cut, and the fewest it gets.
const SPARE: usize = 16;
const LEAST_HEAD: usize = 8;
/// The fewest tokens of an option that is cut, its marker among them.
const LEAST_OPTION: usize = 4;
/// What no and yes say where a question does not.
const NO: &str = "no, the statement does not hold";
const YES: &str = "yes, the statement holds";

/// Where options stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after another.
    Sequential,
    /// All in the same place, and none sees another: their order changes nothing.
    Parallel,
}

/// How rows are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Most tokens of a row.
    pub row: usize,
    /// Tokens for the question and its options, as far as that can be kept.
    pub head: usize,
    /// Where options stand.
    pub layout: Layout,
    /// Whether marks in a text of the user's are letters like any other, and nothing is cut.
    pub guarded: bool,
}

/// A row of tokens, and what of the state is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The form of the question.
    pub form: Form,
    /// Token ids.
    pub ids: Vec<u32>,
    /// Where each slot's marker stands, ascending.
    pub markers: Vec<u32>,
    /// Of a parallel layout: each token's position, and the option it belongs to, from 1; 0 for
    /// the rest.
    pub places: Option<(Vec<u32>, Vec<u32>)>,
    /// Tokens of the whole state.
    pub state_tokens: u64,
    /// Those that are not in the row.
    pub dropped: u64,
    /// Whether two options were cut to the same tokens.
    pub alike: bool,
}

impl Row {
    /// The number by which the model knows the form.
    pub(super) fn type_id(&self) -> u32 {
        match self.form {
            Form::Choose => 0,
            Form::Rate => 1,
            Form::Whether => 2,
        }
    }
}

impl Reader {
    /// More markers than this fit in no row.
    pub(super) fn most_options(&self) -> usize {
        self.row.saturating_sub(2)
    }

    pub(super) fn row(
        &self,
        tokenizer: &Tokenizer,
        marks: &Marks,
        state: &State,
        shown: &Shown<'_>,
    ) -> Result<Row, Unavailable> {
        let question = shown.question;
        let texts = options(question, shown.order).ok_or(Unavailable::NoAnswer)?;
        let asked = instructions(question).ok_or(Unavailable::NoAnswer)?;
        let tokens = |text: &str| -> Result<Vec<u32>, Unavailable> {
            let text = text.replace(&marks.mask_text, " ");
            let whole = std::slice::from_ref(&(0..text.len())).to_vec();
            let content = if self.guarded { whole } else { Vec::new() };
            let read = tokenizer.encode(&text, &content).map_err(|_| Unavailable::Failed)?;
            Ok(read.iter().map(|token| token.id).collect())
        };
        let mut options = Vec::with_capacity(texts.len());
        // What would stand in the row if nothing were cut: its three marks, and everything else.
        let mut needed = 4;
        for text in &texts {
            let mut option = vec![marks.mask];
            let read = tokens(&format!(" {text}"))?;
            needed += read.len() + 1;
            option.extend(read.into_iter().take(OPTION));
            options.push(option);
        }
        let mut asked = tokens(&format!("{} question: {asked}", question.form().name()))?;
        needed += asked.len();
        let taken = |options: &[Vec<u32>]| options.iter().map(Vec::len).sum::<usize>();
        if self.head < taken(&options) + SPARE {
            let each = self.head.saturating_sub(SPARE) / options.len();
            options.iter_mut().for_each(|option| option.truncate(each.max(LEAST_OPTION)));
        }
        asked.truncate(self.head.saturating_sub(taken(&options)).max(LEAST_HEAD));
        let alike = (1..options.len()).any(|at| options[..at].contains(&options[at]));

        let mut ids = vec![marks.cls];
        ids.extend(asked);
        ids.push(marks.sep);
        let (first, mut markers, mut parts) = (ids.len(), Vec::new(), vec![0; ids.len()]);
        for (part, option) in (1u32..).zip(&options) {
            markers.push(ids.len() as u32);
            ids.extend(option);
            parts.resize(ids.len(), part);
        }
        ids.push(marks.sep);
        let mut words = tokens(&text_of_state(state))?;
        let (all, room) = (words.len(), self.row.saturating_sub(ids.len() + 1));
        if all > room {
            match state.value() {
                // Of a conversation the end is what counts.
                Value::Array(_) => drop(words.drain(..all - room)),
                _ => words.truncate(room),
            }
        }
        let kept = words.len();
        ids.extend(words);
        ids.push(marks.sep);
        needed += all;
        if self.guarded && ids.len() != needed {
            let (tokens, room) = (needed as u64, self.row as u64);
            return Err(Unavailable::TooLong { tokens, room });
        }
        ids.truncate(self.row);
        parts.resize(ids.len(), 0);
        markers.retain(|at| (*at as usize) < self.row);
        if markers.len() < options.len() {
            let (options, most) = (options.len() as u64, markers.len() as u64);
            return Err(Unavailable::TooManyOptions { options, most });
        }
        let longest = options.iter().map(Vec::len).max().unwrap_or(0);
        let places = match self.layout {
            Layout::Sequential => None,
            Layout::Parallel => Some((places(&parts, first, longest), parts)),
        };
        Ok(Row {
            form: question.form(),
            ids,
            markers,
            places,
            state_tokens: all as u64,
            dropped: (all - kept) as u64,
            alike,
        })
    }
}

/// Positions of a parallel layout: every option begins at `first`, where the question ends, and
/// the state goes on behind the longest of them.
fn places(parts: &[u32], first: usize, longest: usize) -> Vec<u32> {
    let (mut next, mut part) = (0u32, 0);
    let mut out = Vec::with_capacity(parts.len());
    for own in parts {
        if *own != part {
            part = *own;
            next = if part == 0 { (first + longest) as u32 } else { first as u32 };
        }
        out.push(next);
        next += 1;
    }
    out
}

/// The state as the model reads it.
fn text_of_state(state: &State) -> String {
    match (state.value(), state.source()) {
        (Value::String(text), _) => text.clone(),
        (_, Some(source)) => respelled(source),
        (value, None) => text_of(value),
    }
}

/// The instructions as text; none where there is nothing to answer.
fn instructions(question: &Question) -> Option<String> {
    let text = text_of(question.instructions.as_ref()?);
    (!text.trim().is_empty()).then_some(text)
}

/// The text of each slot's option; none where there are none, or `order` is no permutation of them.
fn options(question: &Question, order: &[usize]) -> Option<Vec<String>> {
    let mut seen = vec![false; question.options()];
    for at in order {
        if std::mem::replace(seen.get_mut(*at)?, true) {
            return None;
        }
    }
    if seen.is_empty() || order.len() != seen.len() {
        return None;
    }
    let described = question.descriptions();
    let text = |at: usize| match described[at].as_ref().map(text_of) {
        Some(text) if !text.is_empty() => Some(text),
        _ => None,
    };
    let option: Box<dyn Fn(usize) -> Option<String>> = match &question.ask {
        Ask::Whether { words, .. } => {
            let words = words.clone().unwrap_or(["false".into(), "true".into()]);
            Box::new(move |at| {
                let said = text(at).unwrap_or_else(|| [NO, YES][at].into());
                Some(format!("{}: {said}", words[at]))
            })
        }
        Ask::Choose { .. } => {
            let labels = question.labels();
            Box::new(move |at| {
                Some(match text(at) {
                    Some(text) => format!("{}: {text}", labels[at]),
                    None => labels[at].clone(),
                })
            })
        }
        Ask::Rate { levels } => Box::new(move |at| {
            let level = levels.get(at).filter(|level| !level.is_null())?;
            Some(format!("level {at}: {}", text_of(level)))
        }),
    };
    order.iter().map(|at| option(*at)).collect()
}
