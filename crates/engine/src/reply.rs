//! The one loop: prompt, pick, push, feed; and what comes of it.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant, SystemTime},
};

use recinto_chat::ToolCall;
use recinto_kernels::{KvType, Stop};
use recinto_os::Wiped;
use recinto_receipt::Receipt;
use serde::Serialize;
use zeroize::Zeroize;

use crate::{
    calls::{self, Calls},
    claim,
    constraint::{Constraint, Follow, Mask},
    digest::Digests,
    error::{Error, Kind, guarded},
    likelihood::{Row, TokenScore},
    model::Model,
    options::Options,
    prompt::{Mode, Prompt, Request},
    record::{self, Made},
    sampler::{Sampler, fresh_seed},
    session::{Session, SessionOptions, Want},
    stream::{Piece, Sink, Stream},
};

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// The model said it was done.
    End,
    /// The limit of tokens, or the end of the context.
    Length,
    /// A stop string; which one, by its index in the options.
    Stop(usize),
    /// The caller said stop; what came before stands.
    Cancelled,
    /// The deadline passed; what came before stands.
    Deadline,
}

/// Tokens that went in and came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Of these, already in the session.
    pub cached_tokens: usize,
    /// Tokens generated, reasoning and end marker included.
    pub output_tokens: usize,
}

/// Where the time went, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Opening the model, milliseconds.
    pub load_ms: f64,
    /// Reading the prompt, milliseconds.
    pub prefill_ms: f64,
    /// Generating, milliseconds.
    pub decode_ms: f64,
    /// SHA-256 of the weights, milliseconds beside the rest.
    pub digest_ms: f64,
    /// CPU time of the whole process so far, seconds.
    pub cpu_seconds: f64,
    /// Largest resident memory of the process so far, bytes.
    pub peak_memory_bytes: u64,
}

/// What a model answered, and what made it.
#[derive(Clone, Serialize)]
pub struct Reply {
    /// The answer.
    pub text: String,
    /// What the model thought before; empty for models that do not.
    pub reasoning: String,
    /// Calls of the tools that the request offered; they are not part of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens.
    pub usage: Usage,
    /// The options as they were used, the seed filled in.
    pub options: Options,
    /// Through the model's template or not.
    pub mode: Mode,
    /// How keys and values were stored.
    #[serde(serialize_with = "crate::session::kv_word")]
    pub kv: KvType,
    /// How likely each token was, thought and end included; empty unless
    /// [`Options::logprobs`] asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<TokenScore>,
    /// Whether a constraint was in force and the reply is complete by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Time and memory.
    pub times: Times,
    /// What ran.
    pub digests: Digests,
    /// The record of it, without a word of prompt or answer.
    #[serde(skip)]
    pub receipt: Receipt,
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.text.zeroize();
        self.reasoning.zeroize();
        self.logprobs.fill(TokenScore { id: 0, logprob: 0.0, masked: 0.0, top: Vec::new() });
    }
}

impl Model {
    /// Answers one user message with default options.
    pub fn ask(&self, text: &str) -> Result<Reply, Error> {
        let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
        self.reply(&Request::user(text), &Stop::never(), &mut sink)
    }

    /// Answers a request in a session of its own.
    pub fn reply(
        &self,
        request: &Request,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, Error> {
        self.session(&SessionOptions::default())?.reply(request, stop, sink)
    }
}

impl Model {
    /// [`Session::reply_within`] in the session that `choose` gives once the prompt's ids are
    /// known, so that one can be taken that holds their beginning.
    ///
    /// # Errors
    ///
    /// Those of `choose`; a session of another model; as there otherwise.
    pub fn reply_in<'s>(
        &self,
        choose: impl FnOnce(&[u32]) -> Result<&'s mut Session, Error>,
        request: &Request,
        constraint: Option<&mut dyn Constraint>,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, Error> {
        // A panic of the caller's sink is the caller's; one of ours becomes an error.
        let mut panic = None;
        let mut shielded = |piece: Piece<'_>| {
            catch_unwind(AssertUnwindSafe(|| sink(piece))).unwrap_or_else(|payload| {
                panic = Some(payload);
                ControlFlow::Break(())
            })
        };
        let reply = guarded(|| self.answer(choose, request, constraint, stop, &mut shielded));
        match panic {
            Some(payload) => resume_unwind(payload),
            None => reply,
        }
    }

    fn answer<'s>(
        &self,
        choose: impl FnOnce(&[u32]) -> Result<&'s mut Session, Error>,
        request: &Request,
        constraint: Option<&mut dyn Constraint>,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, Error> {
        self.whole()?;
        let mut options = self.dated(&request.options);
        options.check(self.program().vocabulary)?;
        let seed = *options.seed.get_or_insert_with(fresh_seed);
        let (started, began) = (SystemTime::now(), Instant::now());
        let stop = stop.with_deadline(options.deadline.and_then(|time| began.checked_add(time)));
        let prompt = self.render(request, &options)?;
        let session = self.chosen(choose, &prompt)?;
        let cached = session.rewind_to_common(&prompt)?;
        session.batch.block = options.block;
        let read = cached + session.read_to_meeting(&prompt.ids[cached..], &stop)?;
        let fresh = &prompt.ids[read..];
        let before = &fresh[..fresh.len() - 1];
        if !before.is_empty() {
            session.feed(before, Want::None, &stop)?;
        }
        session.set_anchor()?;
        // The last token of the prompt gives the first logits; from here on nothing is lost.
        let context = session.context();
        let mut run = Run::new(self, &options, &prompt, seed, context, constraint)?;
        let mut next = Wiped::new(self.0.lock_memory);
        next.push(fresh[fresh.len() - 1]);
        let mut prefill = None;
        let finish = loop {
            let position = session.position() + next.len();
            let logits = match session.feed(&next, Want::Last, &stop) {
                Ok(logits) => logits,
                Err(error) => match (error.kind(), prefill) {
                    (Kind::Cancelled, Some(_)) => break Finish::Cancelled,
                    (Kind::Deadline, Some(_)) => break Finish::Deadline,
                    _ => return Err(error),
                },
            };
            if prefill.is_none() {
                prefill = Some(began.elapsed());
                self.prompt_read();
            }
            let finish = run.advance(logits, &mut next, sink, position, context)?;
            if run.stream.refused() || next.refused() {
                return Err(self.no_memory());
            }
            if let Some(finish) = finish {
                break finish;
            }
        };
        if matches!(finish, Finish::Cancelled | Finish::Deadline) && !run.stream.broken {
            run.flush(sink);
        }
        let prefill = prefill.unwrap_or_default();
        let usage = Usage {
            prompt_tokens: prompt.ids.len(),
            cached_tokens: cached,
            output_tokens: run.output.len(),
        };
        let decode = began.elapsed() - prefill;
        let (kv, options) = (session.kv(), options.clone());
        let end = End { finish, usage, options, kv, started, prefill, decode };
        run.finish(self, &prompt, &request.tools, end, &stop)
    }

    /// The session that `choose` gives for `prompt`; it must be one of this model.
    pub(crate) fn chosen<'s>(
        &self,
        choose: impl FnOnce(&[u32]) -> Result<&'s mut Session, Error>,
        prompt: &Prompt,
    ) -> Result<&'s mut Session, Error> {
        let session = choose(&prompt.ids)?;
        match std::sync::Arc::ptr_eq(&self.0, &session.model.0) {
            true => Ok(session),
            false => Err(Error::new(Kind::Request, "the session is of another model")),
        }
    }

    /// Whether thoughts of this model stand between tags.
    pub(crate) fn thinks(&self) -> bool {
        self.template().is_some_and(|text| text.contains("</think>"))
    }

    /// Whether the prompt itself opens the tag of a thought.
    pub fn opens_thought(&self, prompt: &Prompt) -> bool {
        // The template may do so; a message that ends in the tag's letters does not.
        let tail = prompt.text.trim_end();
        let data = prompt.content.iter().any(|range| range.end >= tail.len());
        prompt.mode == Mode::Chat && self.thinks() && !data && tail.ends_with("<think>")
    }
}

impl Session {
    /// Answers a request; what the session already holds of its prompt is not read again.
    pub fn reply(
        &mut self,
        request: &Request,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, Error> {
        self.reply_within(request, None, stop, sink)
    }

    /// The same, where `constraint` says token by token what the answer may be. It does not hold
    /// for what the model thinks before. A reply that ends early is cut and says so in
    /// [`Reply::complete`].
    pub fn reply_within(
        &mut self,
        request: &Request,
        constraint: Option<&mut dyn Constraint>,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, Error> {
        let model = self.model.clone();
        model.reply_in(|_| Ok(self), request, constraint, stop, sink)
    }

    /// Goes back to where the session and the prompt still agree; the number of ids kept.
    fn rewind_to_common(&mut self, prompt: &Prompt) -> Result<usize, Error> {
        let needed = prompt.ids.len() + 1;
        if needed > self.context() {
            let what = format!(
                "the prompt needs {needed} positions (one to answer in), the context has {}",
                self.context()
            );
            let kind = Kind::Overflow { needed, available: self.context() };
            return Err(Error::new(kind, what).hint(self.more_room()));
        }
        // The last id is always fed again: its logits are needed.
        self.go_back_to(&prompt.ids)
    }
}

/// What is known when the last token was picked.
struct End {
    finish: Finish,
    usage: Usage,
    options: Options,
    kv: KvType,
    started: SystemTime,
    prefill: Duration,
    decode: Duration,
}

/// One reply in the making.
struct Run<'a, 'c> {
    sampler: Sampler,
    decoder: recinto_tokenizer::Decoder<'a>,
    stream: Stream<'a>,
    ends: &'a [u32],
    tags: [Option<u32>; 2],
    max_tokens: usize,
    history: Wiped<u32>,
    output: Wiped<u32>,
    guide: Option<Guide<'c>>,
    thinking_tokens: Option<usize>,
    /// Tokens of thought so far.
    thought: usize,
    most: Option<usize>,
    scores: Vec<TokenScore>,
}

/// A constraint in force.
struct Guide<'c> {
    constraint: &'c mut dyn Constraint,
    mask: Mask,
    /// Ids of which the model may open a thought before the answer.
    open: Option<u32>,
    complete: bool,
}

impl<'a, 'c> Run<'a, 'c> {
    fn new(
        model: &'a Model,
        options: &'a Options,
        prompt: &Prompt,
        seed: u64,
        context: usize,
        constraint: Option<&'c mut dyn Constraint>,
    ) -> Result<Run<'a, 'c>, Error> {
        let tokenizer = model.tokenizer();
        let tags = [tokenizer.find("<think>"), tokenizer.find("</think>")];
        let tagged = prompt.mode == Mode::Chat && model.thinks();
        let opened = model.opens_thought(prompt);
        let guide = constraint.map(|constraint| Guide {
            constraint,
            mask: Mask::new(model.program().vocabulary),
            open: tags[0].filter(|_| tagged && !opened && options.thinking == Some(true)),
            complete: false,
        });
        let lock = model.0.lock_memory;
        let (mut history, mut output) = (Wiped::new(lock), Wiped::new(lock));
        let most = options.max_tokens.min(context);
        let room = history.try_reserve(prompt.ids.len() + most);
        room.and_then(|()| output.try_reserve(most)).map_err(|_| model.no_memory())?;
        history.extend_from_slice(&prompt.ids);
        Ok(Run {
            sampler: Sampler::new(options, seed),
            decoder: tokenizer.decoder().continuing(),
            stream: Stream::new(&options.stop, tagged, opened, lock),
            ends: tokenizer.ends(),
            tags,
            max_tokens: options.max_tokens,
            history,
            output,
            guide,
            thinking_tokens: options.thinking_tokens.filter(|_| tagged),
            thought: 0,
            most: options.logprobs,
            scores: Vec::new(),
        })
    }

    /// Picks a token, takes it and whatever must follow it; `next` is what is to be fed then.
    /// The reason to end, if there is one. `position` is that of the token that is picked.
    fn advance(
        &mut self,
        logits: &mut [f32],
        next: &mut Wiped<u32>,
        sink: &mut Sink<'_>,
        position: usize,
        context: usize,
    ) -> Result<Option<Finish>, Error> {
        next.clear();
        let id = self.pick(logits)?;
        next.push(id);
        let thinking = self.stream.reasoning_open();
        let mut ended = self.push(id, sink, position, context)?;
        if ended.is_some() {
            if let Some(guide) = self.guide.as_mut().filter(|_| ended == Some(Finish::End)) {
                guide.complete = !thinking;
            }
            return Ok(ended);
        }
        let follow = match &mut self.guide {
            Some(guide) if guide.open == Some(id) => Follow::default(),
            Some(guide) if !thinking => guide.constraint.commit(id)?,
            _ => self.over_budget(),
        };
        if let Some(guide) = &mut self.guide {
            guide.open = None;
        }
        for id in &follow.forced {
            ended = self.push(*id, sink, position + next.len(), context)?;
            next.push(*id);
            if ended.is_some() {
                return Ok(ended);
            }
        }
        if follow.complete {
            if let Some(guide) = &mut self.guide {
                guide.complete = true;
            }
            self.flush(sink);
            ended = Some(Finish::End);
        }
        Ok(ended)
    }

    /// The next token, of those that are allowed.
    fn pick(&mut self, logits: &mut [f32]) -> Result<u32, Error> {
        let mut masked = None;
        if let Some(guide) = self.guide.as_mut().filter(|_| !self.stream.reasoning_open()) {
            guide.mask.clear();
            guide.constraint.allowed(&mut guide.mask)?;
            if let Some(open) = guide.open {
                guide.mask.insert(open);
            }
            if guide.mask.is_empty() {
                let what = "no token of the vocabulary fits what was asked for";
                return Err(Error::new(Kind::Constraint, what)
                    .hint("the grammar needs text that this vocabulary cannot write"));
            }
            masked = Some(&guide.mask);
        }
        let row = self.most.map(|most| (Row::new(logits, masked, most), logits.to_vec()));
        if let Some(mask) = masked {
            mask.apply(logits);
        }
        let id = self.sampler.pick(logits, &self.history, self.history.len());
        if let Some((row, mut logits)) = row {
            self.scores.push(row.of(id, logits[id as usize]));
            logits.zeroize();
        }
        Ok(id)
    }

    /// What must follow when the model has thought for as long as it may.
    fn over_budget(&mut self) -> Follow {
        self.thought += usize::from(self.stream.reasoning_open());
        let over = self.thinking_tokens.is_some_and(|most| self.thought >= most);
        match self.tags[1] {
            Some(close) if over && self.stream.reasoning_open() => {
                Follow { forced: vec![close], complete: false }
            }
            _ => Follow::default(),
        }
    }

    /// Takes a picked token; the reason to end, if there is one.
    fn push(
        &mut self,
        id: u32,
        sink: &mut Sink<'_>,
        position: usize,
        context: usize,
    ) -> Result<Option<Finish>, Error> {
        self.output.push(id);
        if self.ends.contains(&id) {
            self.flush(sink);
            return Ok(Some(Finish::End));
        }
        self.history.push(id);
        // Tags are special pieces in some vocabularies, which have no text of their own.
        let over = match self.tags {
            [Some(open), _] if open == id => self.stream.push("<think>", sink),
            [_, Some(close)] if close == id => self.stream.push("</think>", sink),
            _ => {
                let text = self.decoder.push(id)?;
                self.stream.push(text, sink)
            }
        };
        if over {
            return Ok(Some(match self.stream.stopped {
                Some(index) => Finish::Stop(index),
                None => Finish::Cancelled,
            }));
        }
        if self.output.len() >= self.max_tokens || position + 1 >= context {
            self.flush(sink);
            return Ok(Some(Finish::Length));
        }
        Ok(None)
    }

    fn flush(&mut self, sink: &mut Sink<'_>) {
        let rest = self.decoder.finish();
        if !self.stream.push(&rest, sink) {
            self.stream.finish(sink);
        }
    }

    /// Waits for the digests and closes the record.
    fn finish(
        self,
        model: &Model,
        prompt: &Prompt,
        tools: &[serde_json::Value],
        end: End,
        stop: &Stop,
    ) -> Result<Reply, Error> {
        let End { finish, usage, options, kv, started, prefill, decode } = end;
        let mut notes = prompt.notes.clone();
        let Calls { calls, said, note } = calls::read(model, prompt, tools, &self.output)?;
        notes.extend(note);
        if finish == Finish::Length {
            notes.push(match self.output.len() >= self.max_tokens {
                true => "the reply reached max_tokens and is cut there".into(),
                false => "the reply reached the end of the context and is cut there".into(),
            });
        }
        if self.stream.reasoning_open() {
            notes.push("the reply ended while the model was still thinking".into());
        }
        let (digests, digest) = model.timed_digests(stop)?;
        notes.extend(claim::notes(&digests));
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let times = Times {
            load_ms: milliseconds(model.0.load),
            prefill_ms: milliseconds(prefill),
            decode_ms: milliseconds(decode),
            digest_ms: milliseconds(digest),
            cpu_seconds: recinto_os::usage::cpu_time().as_secs_f64(),
            peak_memory_bytes: recinto_os::memory::resident().map_or(0, |memory| memory.peak),
        };
        let made = Made {
            digests: &digests,
            options: &options,
            mode: prompt.mode,
            kv,
            finish: &finish,
            usage,
            times: &times,
            started,
            prompt: &prompt.ids,
            output: &self.output,
            text: said.as_deref().unwrap_or(&self.stream.text),
        };
        let receipt = record::receipt(model, &made);
        Ok(Reply {
            text: said.unwrap_or_else(|| self.stream.text.to_string()),
            calls,
            reasoning: self.stream.reasoning.to_string(),
            finish,
            usage,
            options,
            mode: prompt.mode,
            kv,
            logprobs: self.scores,
            complete: self.guide.map(|guide| guide.complete),
            notes,
            times,
            digests,
            receipt,
        })
    }
}
