//! The row that is read for one question about one state:
//! `[CLS] QUESTION [SEP] ([MASK] OPTION)… [SEP] STATE [SEP]`.
//!
//! An encoder sees both sides, so nothing of a row serves another question.

use std::ops::Range;

use recinto_judge::{Ask, Form, Question, Shown, State, Unavailable};
use recinto_tokenizer::Tokenizer;
use serde_json::Value;

use super::{
    python::{respelled, text_of},
    setup::Marks,
};
use crate::long::Plan;

/// Most tokens of an option, before anything is cut for want of room.
const OPTION: usize = 48;
/// Tokens that are kept free for the question when options are cut, and the fewest it gets.
const SPARE: usize = 16;
const LEAST_HEAD: usize = 8;
/// The fewest tokens of an option that is cut, its marker among them.
const LEAST_OPTION: usize = 4;
/// The fewest tokens of a window that is not cut for want of room, and what is kept free behind it.
const LEAST_WINDOW: usize = 64;
const SLACK: usize = 8;
/// What stands for the options of yes or no where texts are of strangers, by their slots: the words
/// `false` and `true` sway the answer whatever the state says (NandhaKishorM/laya#156).
const NEUTRAL: [&str; 2] = ["A", "B"];
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
    /// Whether marks in a text of the user's are letters like any other, yes and no stand under
    /// letters, and nothing is cut.
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

/// A row as far as its question goes.
#[derive(Clone)]
struct Head {
    form: Form,
    ids: Vec<u32>,
    markers: Vec<u32>,
    /// The option that each token belongs to, from 1.
    parts: Vec<u32>,
    /// Where options begin, and how long the longest is.
    first: usize,
    longest: usize,
    /// Tokens of the whole row without its state, if nothing were cut.
    needed: usize,
    alike: bool,
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

    /// The row of a question about a whole state.
    pub(super) fn row(
        &self,
        tokenizer: &Tokenizer,
        marks: &Marks,
        state: &State,
        shown: &Shown<'_>,
    ) -> Result<Row, Unavailable> {
        let head = self.head(tokenizer, marks, shown)?;
        let words = self.tokens(tokenizer, marks, &text_of_state(state))?;
        let room = self.room(&head);
        let kept = match state.value() {
            // Of a conversation the end is what counts.
            Value::Array(_) => words.len().saturating_sub(room)..words.len(),
            _ => 0..room.min(words.len()),
        };
        self.join(head, marks, &words, kept)
    }

    /// The rows of a question about a state in windows, where it does not fit at once; with the
    /// plan of the windows.
    ///
    /// # Errors
    ///
    /// A question that does not fit by itself, and a state that needs too many windows.
    pub(super) fn windows(
        &self,
        tokenizer: &Tokenizer,
        marks: &Marks,
        state: &State,
        shown: &Shown<'_>,
    ) -> Result<(Plan, Vec<Row>), Unavailable> {
        let head = self.head(tokenizer, marks, shown)?;
        let words = self.tokens(tokenizer, marks, &text_of_state(state))?;
        let room = self.room(&head);
        let usual = self.row.saturating_sub(self.head + SLACK).max(LEAST_WINDOW);
        let plan = Plan::new(words.len(), usual.min(room)).ok_or(Unavailable::TooLong {
            tokens: (head.needed + words.len()) as u64,
            room: self.row as u64,
        })?;
        let join = |kept: Range<usize>| {
            let words = &words[kept];
            self.join(head.clone(), marks, words, 0..words.len())
        };
        let rows = plan.ranges().map(join).collect::<Result<_, _>>()?;
        Ok((plan, rows))
    }

    fn tokens(
        &self,
        tokenizer: &Tokenizer,
        marks: &Marks,
        text: &str,
    ) -> Result<Vec<u32>, Unavailable> {
        let text = text.replace(&marks.mask_text, " ");
        let whole = std::slice::from_ref(&(0..text.len())).to_vec();
        let content = if self.guarded { whole } else { Vec::new() };
        let read = tokenizer.encode(&text, &content).map_err(|_| Unavailable::Failed)?;
        Ok(read.iter().map(|token| token.id).collect())
    }

    /// Everything before the state.
    fn head(
        &self,
        tokenizer: &Tokenizer,
        marks: &Marks,
        shown: &Shown<'_>,
    ) -> Result<Head, Unavailable> {
        let question = shown.question;
        let texts = options(question, shown.order, self.guarded).ok_or(Unavailable::NoAnswer)?;
        let asked = instructions(question).ok_or(Unavailable::NoAnswer)?;
        let tokens = |text: &str| self.tokens(tokenizer, marks, text);
        let mut options = Vec::with_capacity(texts.len());
        // What would stand in the row if nothing were cut: its four marks, and everything else.
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
        let longest = options.iter().map(Vec::len).max().unwrap_or(0);
        let form = question.form();
        Ok(Head { form, ids, markers, parts, first, longest, needed, alike })
    }

    /// Tokens of a state that there is room for behind a head.
    fn room(&self, head: &Head) -> usize {
        self.row.saturating_sub(head.ids.len() + 1)
    }

    /// The row of a head and some tokens of a state.
    fn join(
        &self,
        head: Head,
        marks: &Marks,
        words: &[u32],
        kept: Range<usize>,
    ) -> Result<Row, Unavailable> {
        let Head { form, mut ids, mut markers, mut parts, first, longest, needed, alike } = head;
        let (options, dropped) = (markers.len(), words.len() - kept.len());
        ids.extend(&words[kept]);
        ids.push(marks.sep);
        let needed = needed + words.len();
        if self.guarded && ids.len() != needed {
            let (tokens, room) = (needed as u64, self.row as u64);
            return Err(Unavailable::TooLong { tokens, room });
        }
        ids.truncate(self.row);
        parts.resize(ids.len(), 0);
        markers.retain(|at| (*at as usize) < self.row);
        if markers.len() < options {
            let (options, most) = (options as u64, markers.len() as u64);
            return Err(Unavailable::TooManyOptions { options, most });
        }
        let places = match self.layout {
            Layout::Sequential => None,
            Layout::Parallel => Some((places(&parts, first, longest), parts)),
        };
        Ok(Row {
            form,
            ids,
            markers,
            places,
            state_tokens: words.len() as u64,
            dropped: dropped as u64,
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
/// Where `neutral`, yes and no stand under letters unless the question has words of its own.
fn options(question: &Question, order: &[usize], neutral: bool) -> Option<Vec<String>> {
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
        Ask::Whether { words: None, .. } if neutral => {
            let order = order.to_vec();
            Box::new(move |at| {
                let said = text(at).unwrap_or_else(|| [NO, YES][at].into());
                let slot = order.iter().position(|other| *other == at)?;
                Some(format!("{}: {said}", NEUTRAL[slot]))
            })
        }
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
