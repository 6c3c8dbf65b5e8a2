//! Any causal model that the engine runs, as a judge's backend: options under letters, and the
//! logits of the letters.
//!
//! Sources: C. Zheng and others, ICLR 2024, for letters and what order does to them; the published
//! read-outs of open decision models (`docs/judge.md`). Wording and code are our own.

mod letters;
mod reader;
mod wording;

pub use reader::Fed;

use recinto_engine::{Model, Session, SessionOptions, Stop};
use recinto_judge::{
    Abilities, Backend, Evidence, Reading, Shown, State, Truncation, Unavailable, Usage,
    check::Readout, readout,
};

use crate::{
    error::{Error, Kind},
    long::{Long, Plan},
};
use letters::Letters;
use reader::{ROWS, Reader, common};
use wording::{Manner, READING};

/// Tokens that a prompt may take more than its parts: they can meet in other tokens.
const SLACK: usize = 8;
/// Digits of a digest in the word for a reading.
const DIGITS: usize = 12;

/// A causal model that reads questions by letters.
///
/// The state is read once for all questions, orders and calls about it; what follows it is read in
/// one batch. Its text is data: nothing in it becomes a special token. What does not fit into the
/// context is [`Unavailable::TooLong`], with numbers, or read in windows where that is asked for
/// ([`Causal::with_long`]); nothing is ever cut.
pub struct Causal {
    model: Model,
    identity: recinto_judge::Model,
    reading: String,
    letters: Letters,
    manner: Manner,
    reader: Reader,
    long: Long,
    stop: Stop,
    trouble: Option<Error>,
}

impl Causal {
    /// A backend over `model`, whose digest it waits for. `stop` ends a reading; questions are
    /// then [`Unavailable::Failed`].
    ///
    /// # Errors
    ///
    /// A vocabulary without two letters of one token each, a template that makes the model think
    /// first, and whatever making a session or computing the digest can meet.
    pub fn new(model: &Model, options: &SessionOptions, stop: Stop) -> Result<Causal, Error> {
        let session = model.session(options)?;
        let letters = Letters::of(model.tokenizer())?;
        if letters.marks.len() < 2 {
            let what = "the vocabulary has no two letters of one token each to answer with";
            return Err(Error::new(Kind::Model, what).hint("take another model"));
        }
        let manner = Manner { chat: model.template().is_some() };
        let probe = model.prompt(&manner.nothing(""))?;
        if model.opens_thought(&probe) {
            let what = "the model's template makes it think before it answers";
            return Err(Error::new(Kind::Model, what)
                .hint("letters are read as the first token; take a model that need not think"));
        }
        let digests = model.digests_until(&stop)?;
        let identity =
            recinto_judge::Model::Local { digest: digests.weights, dtype: dtype(model, &session) };
        Ok(Causal {
            reading: reading(model, &digests),
            reader: Reader::new(model, session)?,
            model: model.clone(),
            identity,
            letters,
            manner,
            long: Long::Refuse,
            stop,
            trouble: None,
        })
    }

    /// The same with another fate of a state that does not fit.
    pub fn with_long(mut self, long: Long) -> Causal {
        self.long = long;
        self
    }

    /// Positions that were fed since the beginning.
    pub fn fed(&self) -> Fed {
        self.reader.fed
    }

    /// Most positions of state and question together.
    pub fn room(&self) -> usize {
        self.reader.room()
    }

    fn read_all(
        &mut self,
        state: &State,
        asked: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Error> {
        let text = wording::state(state);
        let mut out = self.read_text(&text, asked)?;
        if self.long == Long::Windows {
            let long = |read: &Result<Reading, Unavailable>| {
                matches!(read, Err(Unavailable::TooLong { .. }))
            };
            let places: Vec<usize> = (0..out.len()).filter(|at| long(&out[*at])).collect();
            let asked: Vec<Shown<'_>> = places.iter().map(|at| asked[*at]).collect();
            let read = self.read_windows(&text, &asked)?;
            places.into_iter().zip(read).for_each(|(at, read)| out[at] = read);
        }
        self.model.whole()?;
        Ok(out)
    }

    /// Questions about a text that does not fit at once: each window is a text of its own.
    fn read_windows(
        &mut self,
        text: &str,
        asked: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Error> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        // What a prompt takes beside the state; of questions that are asked together, the most.
        let mut frame = 0;
        for one in asked {
            let question = self.manner.question("", one, &self.letters.marks);
            frame = frame.max(self.model.prompt(&question)?.ids.len());
        }
        let tokens = self.model.tokenizer().encode_plain(text)?;
        let room = self.room();
        let plan = Plan::new(tokens.len(), room.saturating_sub(frame + SLACK));
        let Some(plan) = plan else {
            let why = too_long(frame + tokens.len(), room);
            return Ok(asked.iter().map(|_| Err(why.clone())).collect());
        };
        let mut read: Vec<Vec<Result<Reading, Unavailable>>> = vec![Vec::new(); asked.len()];
        for range in plan.ranges() {
            let bytes = |at: usize| tokens.get(at).map(|token| (token.start, token.end));
            let start = bytes(range.start).map_or(0, |(start, _)| start as usize);
            let end = bytes(range.end - 1).map_or(text.len(), |(_, end)| end as usize);
            // A token may end within a character: the window has all of it.
            let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let end = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            let window = self.read_text(&text[start..end], asked)?;
            read.iter_mut().zip(window).for_each(|(all, one)| all.push(one));
        }
        let answer = |(shown, read): (&Shown<'_>, Vec<_>)| plan.answer(shown, read, 1.0);
        Ok(asked.iter().zip(read).map(answer).collect())
    }

    fn read_text(
        &mut self,
        text: &str,
        asked: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Error> {
        let state_tokens = self.model.tokenizer().encode_plain(text)?.len();
        let room = self.room();
        if state_tokens >= room {
            let why = too_long(state_tokens, room);
            return Ok(asked.iter().map(|_| Err(why.clone())).collect());
        }
        let probe = self.model.prompt(&self.manner.nothing(text))?;
        let mut out = Vec::with_capacity(asked.len());
        for asked in asked.chunks(ROWS) {
            self.read_some(text, state_tokens, &probe.ids, asked, &mut out)?;
        }
        Ok(out)
    }

    /// As many questions as are read at once.
    fn read_some(
        &mut self,
        text: &str,
        state_tokens: usize,
        probe: &[u32],
        asked: &[Shown<'_>],
        out: &mut Vec<Result<Reading, Unavailable>>,
    ) -> Result<(), Error> {
        let (room, first) = (self.room(), out.len());
        let mut prompts = Vec::with_capacity(asked.len());
        for (at, one) in asked.iter().enumerate() {
            if one.order.len() > self.letters.marks.len() {
                let (options, most) = (one.order.len() as u64, self.letters.marks.len() as u64);
                out.push(Err(Unavailable::TooManyOptions { options, most }));
                continue;
            }
            let prompt =
                self.model.prompt(&self.manner.question(text, one, &self.letters.marks))?;
            if prompt.ids.len() > room {
                out.push(Err(too_long(prompt.ids.len(), room)));
                continue;
            }
            prompts.push((at, prompt));
            out.push(Err(Unavailable::NoAnswer));
        }
        let ids: Vec<&[u32]> = prompts.iter().map(|(_, prompt)| &prompt.ids[..]).collect();
        // At least one id of each is left for its own logits.
        let all = ids.iter().map(|ids| common(probe, ids).min(ids.len() - 1)).min();
        let before = self.reader.fed;
        let (letters, model) = (&self.letters, self.model.clone());
        let mut found = Vec::with_capacity(ids.len());
        self.reader.read(&model, &ids, all.unwrap_or(0), &self.stop, |at, logits| {
            let options = asked[prompts[at].0].order.len();
            found.push(readout::read_groups(logits, &letters.ids[..options]));
        })?;
        let mut shared = self.reader.fed.shared - before.shared;
        for ((at, prompt), read) in prompts.iter().zip(found) {
            // What was read for all counts once, with the first of them.
            let input = std::mem::take(&mut shared) + (prompt.ids.len() - all.unwrap_or(0)) as u64;
            let truncation =
                Truncation { state_tokens: state_tokens as u64, ..Truncation::default() };
            out[first + at] = match read {
                Ok(read) => Ok(Reading {
                    evidence: Evidence::Logits(read.logits),
                    mass: Some(read.mass),
                    truncation,
                    model: None,
                    usage: Usage { input_tokens: input, output_tokens: 0 },
                }),
                Err(_) => Err(Unavailable::NotANumber),
            };
        }
        Ok(())
    }
}

impl Backend for Causal {
    fn model(&self) -> recinto_judge::Model {
        self.identity.clone()
    }

    fn reading(&self) -> String {
        format!("{}{}", self.reading, self.long.word())
    }

    fn abilities(&self) -> Abilities {
        Abilities { options: self.letters.marks.len(), readout: Readout::Marks }
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        self.trouble = None;
        self.read_all(state, shown).map_err(|error| {
            self.trouble = Some(error);
            Unavailable::Failed
        })
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.as_ref().map(ToString::to_string)
    }

    fn ended(&self) -> bool {
        let kind = self.trouble.as_ref().map(Error::kind);
        matches!(kind, Some(Kind::Engine(recinto_engine::Kind::Changed)))
    }
}

fn too_long(tokens: usize, room: usize) -> Unavailable {
    Unavailable::TooLong { tokens: tokens as u64, room: room as u64 }
}

/// How weights are stored and keys and values kept, in one word: each of them moves probabilities.
fn dtype(model: &Model, session: &Session) -> String {
    let mut types: Vec<String> = model.facts().dtypes.into_iter().map(|row| row.0).collect();
    types.sort();
    if types.len() > 1 {
        // Norms are in single precision in every file.
        types.retain(|name| name != "f32");
    }
    format!("{} kv {}", types.join("+"), session.kv().name())
}

/// The word for wording and readout, with what else than the model file makes the prompt: another
/// template or architecture reads otherwise.
fn reading(model: &Model, digests: &recinto_engine::Digests) -> String {
    let mut word = READING.to_owned();
    let short = |digest: &recinto_engine::Digest| {
        digest.to_string().trim_start_matches("sha256:").chars().take(DIGITS).collect::<String>()
    };
    if model.template_source() == recinto_engine::TemplateSource::Store
        && let Some(digest) = &digests.template
    {
        word.push_str(&format!(" template {}", short(digest)));
    }
    if model.arch_file().is_some() {
        word.push_str(&format!(" architecture {}", short(&digests.architecture)));
    }
    word
}
