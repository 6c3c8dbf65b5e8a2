//! The provider that is a service elsewhere: settings to a line, a turn to a request, and its
//! answer checked against the shape that was asked for.

use std::sync::{Arc, OnceLock};

use recinto_engine::{Piece, Scores, Stop};
use recinto_grammar::Grammars;
use recinto_policy::{Budget, Pass, Usage as Spent};
use recinto_remote::{
    Answer, Ask, Config, Finish as Ended, Key, Remote, Unsupported, Vendor, Wire,
};
use zeroize::Zeroize;

use crate::{
    API_KEY, Abilities, Error, Finish, Identity, Kind, Likelihood, Made, Name, Provider, Reply,
    Service, Settings, Sink, Surroundings, Turn,
    expected::Expected,
    key::Wanted,
    leaving::{self, Leaving},
    span::{self, Asked, Operation},
};

/// A service elsewhere.
pub struct Elsewhere {
    name: Name,
    remote: Remote,
    out: Leaving,
    grammars: OnceLock<Result<Grammars, Error>>,
    /// Whether spans hold words.
    content: bool,
}

impl Elsewhere {
    /// Makes the line that `settings` name; nothing is sent.
    ///
    /// # Errors
    ///
    /// No model, no key, an address that cannot be used, a file that cannot be trusted or read.
    pub fn open(settings: &Settings) -> Result<Elsewhere, Error> {
        Elsewhere::open_in(settings, &Surroundings::now()?)
    }

    /// The same with the environment given.
    ///
    /// # Errors
    ///
    /// As [`Elsewhere::open`].
    pub fn open_in(settings: &Settings, around: &Surroundings) -> Result<Elsewhere, Error> {
        let name = settings.provider();
        let vendor = vendor(name)?;
        let model = settings.model()?.value.clone();
        let mut config = Config::new(vendor, model);
        config.base_url = leaving::address(vendor.name, "base_url", &settings.base_url)?;
        config.proxy = leaving::address(vendor.name, "proxy", &settings.proxy)?;
        let chosen = settings.wire.as_ref().map(|wire| wire.value);
        config.wire = Wire::all().find(|wire| Some(wire.name()) == chosen);
        if let Some(time) = &settings.silence {
            config.silence = time.value;
        }
        if let Some(count) = &settings.retries {
            config.retries = count.value;
        }
        config.stream = settings.stream.as_ref().is_none_or(|on| on.value);
        if settings.unsupported.as_ref().is_some_and(|rule| rule.value == "error") {
            config.unsupported = Unsupported::Error;
        }
        config.ca = leaving::certificates(&settings.ca_file, around)?;
        let key = wanted(settings, vendor).read(settings, around)?;
        config.key = key.map(|text| Key::new(vendor, &text)).transpose()?;
        let remote = Remote::open(config)?;
        let to = remote.destination()?;
        let model = &remote.config().model;
        let out = Leaving::open(settings, around, to, name.name(), model)?;
        let (content, grammars) = (settings.traces_content()?, OnceLock::new());
        Ok(Elsewhere { name, remote, out, grammars, content })
    }

    /// The same within a budget that others of this process use, too.
    pub fn within(mut self, budget: Arc<Budget>) -> Elsewhere {
        self.out = self.out.within(budget);
        self
    }

    /// The line.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Where the key comes from that `settings` lead to, in words; `None` where there is none.
    pub fn key_place(settings: &Settings) -> Option<String> {
        let vendor = vendor(settings.provider()).ok()?;
        wanted(settings, vendor).place(settings)
    }

    /// What this turn could use at the most.
    fn most(&self, turn: &Turn) -> Spent {
        let request = &turn.request;
        let said = request.messages.iter().map(|message| message.content.len()).sum::<usize>();
        let tools = request.tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
        Spent {
            // No vocabulary makes more tokens of a text than it has bytes; the frame is small.
            input: (said + tools + 64 * (request.messages.len() + 1)) as u64,
            output: request.options.max_tokens as u64,
            time: request.options.deadline.unwrap_or(self.remote.config().silence),
        }
    }

    /// Asks within the policy and the budget.
    fn ask(
        &self,
        turn: &Turn,
        form: Option<&serde_json::Value>,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Answer, Error> {
        let ask = Ask { request: &turn.request, form };
        let send = |pass: &Pass<'_>| self.remote.ask(&ask, pass, stop, sink);
        let used = |answer: &Answer| {
            Some((answer.usage.prompt_tokens as u64, answer.usage.output_tokens as u64))
        };
        self.out.send(&turn.labels, turn.counted(), &self.most(turn), send, used)
    }

    fn grammars(&self) -> Result<&Grammars, Error> {
        let made = self.grammars.get_or_init(|| Ok(Grammars::bytes()?));
        made.as_ref().map_err(Error::clone)
    }
}

fn vendor(name: Name) -> Result<&'static Vendor, Error> {
    Vendor::from_name(name.name()).ok_or_else(|| {
        Error::new(Kind::UnknownProvider, format!("provider `{name}` answers from nowhere else"))
    })
}

fn wanted<'a>(settings: &'a Settings, vendor: &'static Vendor) -> Wanted<'a> {
    Wanted {
        service: vendor.name,
        any: API_KEY,
        variable: vendor.key,
        own: vendor.base_url,
        base_url: settings.base_url.as_ref().map(|url| url.value.as_str()),
        file: settings.api_key_file.as_ref(),
        ignore: "`api_key_file` names a file that holds the key and nothing else",
        of: &settings.key_of,
    }
}

impl Provider for Elsewhere {
    fn identity(&self) -> Identity {
        Identity {
            provider: self.name,
            model: self.remote.config().model.clone(),
            path: None,
            host: Some(self.remote.host().to_owned()),
            warnings: self.remote.warnings(),
        }
    }

    fn abilities(&self) -> Abilities {
        let logprobs = self.remote.wire() != Wire::Messages;
        Abilities { schemas: true, grammars: true, scores: false, logprobs, tools: true }
    }

    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        let asked = Asked {
            operation: Operation::of(&turn.request),
            provider: self.name.name(),
            model: &self.remote.config().model,
            request: &turn.request,
            content: self.content,
        };
        let mut reply = span::within(&asked, || self.answer(turn, stop, sink))?;
        if let Made::Service(service) = &mut reply.made {
            service.answer_digest = self.out.digest(reply.text.as_bytes());
            service.rules = self.out.rules(&turn.labels)?;
        }
        Ok(reply)
    }

    fn score(&self, _: &Turn, _: &[String], _: &Stop) -> Result<Scores, Error> {
        let what = format!("{}: no service tells how likely whole labels are", self.name);
        Err(Error::new(Kind::Unable, what)
            .hint("provider `local` does; elsewhere an answer can be one of the labels"))
    }
}

impl Elsewhere {
    /// Answers a turn; what is shown of a shaped answer is known to be one.
    fn answer(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        let expected = match &turn.shape {
            Some(shape) => Some(Expected::new(shape, self.grammars()?)?),
            None => None,
        };
        let form = expected.as_ref().map(Expected::form);
        let Some(expected) = &expected else {
            return Ok(reply(self.ask(turn, form, stop, sink)?, None));
        };
        // Nothing of an answer is shown before it is known to be one.
        let answer = self.ask(turn, form, stop, &mut |piece| match piece {
            Piece::Reasoning(_) => sink(piece),
            Piece::Text(_) => std::ops::ControlFlow::Continue(()),
        })?;
        let mut reply = reply(answer, Some(false));
        if reply.finish == Finish::Calls {
            return Ok(reply);
        }
        let cut = matches!(reply.finish, Finish::Length | Finish::Cancelled | Finish::Deadline)
            || matches!(reply.finish, Finish::Stop(_));
        let checked =
            expected.check(&reply.text, cut).map_err(|error| error.of(self.name.name()))?;
        reply.text.zeroize();
        reply.text = checked.text;
        reply.complete = Some(checked.complete);
        if !reply.text.is_empty() {
            // The reply is whole already: who says stop now changes nothing.
            let _ = sink(Piece::Text(&reply.text));
        }
        Ok(reply)
    }
}

fn reply(mut answer: Answer, complete: Option<bool>) -> Reply {
    use std::mem::take;
    let facts = take(&mut answer.facts);
    let tokens = take(&mut answer.tokens);
    Reply {
        text: take(&mut answer.text),
        reasoning: take(&mut answer.reasoning),
        calls: take(&mut answer.calls),
        finish: match answer.finish {
            Ended::Length => Finish::Length,
            Ended::Stop(at) => Finish::Stop(at),
            Ended::Calls => Finish::Calls,
            Ended::Cancelled => Finish::Cancelled,
            Ended::Deadline => Finish::Deadline,
            _ => Finish::End,
        },
        usage: answer.usage,
        options: take(&mut answer.options),
        logprobs: tokens
            .into_iter()
            .map(|token| {
                let top = token.top.into_iter().map(|(text, p)| Likelihood::of_text(text, p));
                let top = Some(top.collect());
                Likelihood { top, ..Likelihood::of_text(token.text, token.logprob) }
            })
            .collect(),
        complete,
        notes: take(&mut answer.notes),
        made: Made::Service(Box::new(Service {
            host: facts.host,
            wire: facts.wire.to_owned(),
            model: facts.model,
            id: facts.id,
            request_id: facts.request_id,
            fingerprint: facts.fingerprint,
            request_digest: facts.request_digest,
            answer_digest: None,
            rules: Vec::new(),
            requests: facts.requests,
            not_sent: facts.not_sent,
            first: facts.first,
            whole: Some(facts.whole),
        })),
    }
}
