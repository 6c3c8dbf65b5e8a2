//! One request and its answer: checked, sent, sent again where that is safe, read.

use std::time::{Duration, Instant};

use bytes::Bytes;
use recinto_engine::{Role, Sink, Stop};
use recinto_policy::{Destination, Pass};
use reqwest::{
    Method, Request,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;

use crate::{
    answer::{Answer, Facts, Finish},
    config::{Config, Unsupported},
    draft::{Draft, Fault, Told},
    error::{Error, Kind},
    line::{self, Begun, Ends, Line, Names, Unbegun, Unread},
    net::{self, Exchange, News, Quiet, Trouble},
    plan::{self, Ask, Plan},
    sorted,
    sse::Events,
    wipe::{self, Wiped},
    wire::Wire,
};

/// Longest wait before a request is sent again; a service that asks for more is taken at its word.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The first wait where the service says nothing; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Most bytes of a page that tells an error.
const LARGEST_PAGE: usize = 64 << 10;
/// Most bytes of an answer that comes whole.
const LARGEST_ANSWER: usize = 32 << 20;
/// How long the end of the line is waited for behind the end of the answer.
const REST: Duration = Duration::from_millis(200);

/// The settings that a line is made from.
const NAMES: Names =
    Names { base_url: "base_url", key: "RECINTO_API_KEY", key_file: "api_key_file" };

/// A service that can be asked.
pub struct Remote {
    config: Config,
    wire: Wire,
    line: Line,
}

/// What one sending came to.
enum Sent {
    Done(Box<Answer>),
    /// The service does not take an option; it may be left out.
    Option(&'static str, Error),
    /// The service wants the other name of the limit.
    Limit(Error),
    Failed {
        error: Error,
        /// How long to wait before it is sent again, where it may be.
        again: Option<Option<Duration>>,
    },
}

impl Sent {
    fn failed(error: Error) -> Sent {
        Sent::Failed { error, again: None }
    }
}

impl Remote {
    /// Checks the settings; nothing is sent.
    ///
    /// # Errors
    ///
    /// No address, one that cannot be used, a wire that is not the vendor's, a key that is missing
    /// or another vendor's, certificates that cannot be read.
    pub fn open(config: Config) -> Result<Remote, Error> {
        let vendor = config.vendor;
        let wire = config.wire.unwrap_or(vendor.wires[0]);
        if !vendor.wires.contains(&wire) {
            let known: Vec<&str> = vendor.wires.iter().map(|wire| wire.name()).collect();
            let what = format!("`{}` is no wire of it", wire.name());
            return Err(Error::new(vendor.name, Kind::Setting, what)
                .hint(format!("known: {}", known.join(", "))));
        }
        let line = Line::open(&Ends {
            name: vendor.name,
            names: &NAMES,
            own: vendor.base_url,
            variable: vendor.key,
            base_url: config.base_url.as_ref(),
            key: config.key.as_ref(),
            proxy: config.proxy.as_ref(),
            ca: config.ca.as_deref(),
        })?;
        Ok(Remote { config, wire, line })
    }

    /// The host that requests go to, with its port where that is not the usual one.
    pub fn host(&self) -> &str {
        self.line.host()
    }

    /// The wire that is spoken.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether the host is the vendor's own.
    pub fn is_own(&self) -> bool {
        self.line.is_own()
    }

    /// What should be known of the line.
    pub fn warnings(&self) -> Vec<String> {
        self.line.warnings()
    }

    /// Where requests go, as policies name it.
    ///
    /// # Errors
    ///
    /// An address that no policy could name.
    pub fn destination(&self) -> Result<Destination, Error> {
        self.line.destination(&self.config.model)
    }

    /// Sends one request and reads its answer; `sink` sees each piece as it comes and may say stop.
    ///
    /// A request that failed before anything of its answer came is sent again, where nothing was
    /// sent or the service says that it did not work on it, as often as the settings say. Each time
    /// `pass` is asked again, and writes it down before a byte leaves.
    ///
    /// # Errors
    ///
    /// A policy that does not let it leave; and when there is no answer. One that was stopped after it began is one; see its finish.
    pub fn ask(
        &self,
        ask: &Ask<'_>,
        pass: &Pass<'_>,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<Answer, Error> {
        let begun = Instant::now();
        let options = &ask.request.options;
        let stop = &stop.with_deadline(options.deadline.and_then(|time| begun.checked_add(time)));
        self.check(ask)?;
        let mut left_out: Vec<&'static str> = Vec::new();
        let (mut other_limit, mut failures, mut requests) = (false, 0, 0);
        loop {
            let plan = Plan {
                model: &self.config.model,
                request: ask.request,
                form: ask.form,
                stream: self.config.stream,
                own: self.line.is_own(),
                left_out: &left_out,
                other_limit,
            };
            requests += 1;
            match self.send(&plan, pass, stop, &mut *sink) {
                Sent::Done(mut answer) => {
                    let none = plan::without_effect(options, self.wire);
                    answer.notes.extend(none.iter().map(|key| {
                        let wire = self.wire.name();
                        format!("option `{key}` has no effect: the {wire} wire has no place for it")
                    }));
                    answer.notes.extend(left_out.iter().map(|key| {
                        format!("option `{key}` was not sent: the model does not take it")
                    }));
                    let keys = none.iter().chain(&left_out);
                    answer.facts.not_sent = keys.map(|key| (*key).to_owned()).collect();
                    if self.wire == Wire::Messages && options.temperature == 0.0 {
                        answer.facts.not_sent.push("temperature".to_owned());
                    }
                    answer.facts.requests = requests;
                    answer.facts.whole = begun.elapsed();
                    return Ok(*answer);
                }
                Sent::Option(key, error) => match self.config.unsupported {
                    Unsupported::Note if !left_out.contains(&key) => left_out.push(key),
                    _ => return Err(error),
                },
                Sent::Limit(_) if !other_limit => other_limit = true,
                Sent::Limit(error) | Sent::Failed { error, again: None } => return Err(error),
                Sent::Failed { error, again: Some(asked) } => {
                    failures += 1;
                    let time = asked.unwrap_or_else(|| jittered(failures));
                    if failures > self.config.retries || time > LONGEST_WAIT {
                        return Err(error);
                    }
                    if !net::wait(time, stop) {
                        return Err(self.line.stopped(stop));
                    }
                }
            }
        }
    }

    /// What can be refused before anything is sent.
    fn check(&self, ask: &Ask<'_>) -> Result<(), Error> {
        let fault = |kind, what: &str| Error::new(self.config.vendor.name, kind, what.to_owned());
        let request = ask.request;
        if request.completion {
            let what = "it answers conversations, and continues no text";
            return Err(fault(Kind::Unable, what).hint("ask without completion mode"));
        }
        if request.messages.is_empty() {
            return Err(fault(Kind::Request, "a request without messages"));
        }
        // Ids of tokens are those of the service's own vocabulary, whose size is not told.
        request.options.check(usize::MAX).map_err(|error| {
            let fault = fault(Kind::Request, error.what());
            match error.what_to_do() {
                Some(hint) => fault.hint(hint),
                None => fault,
            }
        })?;
        if request.tools.iter().any(|value| plan::tool(value).is_none()) {
            return Err(fault(Kind::Request, "a tool without a name"));
        }
        let turns = request.messages.iter().skip_while(|m| m.role == Role::System);
        let mut turns = turns.peekable();
        if self.wire == Wire::Messages {
            if turns.peek().is_none() {
                return Err(fault(Kind::Request, "a request with instructions only")
                    .hint("this wire needs a message of the user's"));
            }
            if turns.any(|message| message.role == Role::System) {
                let what = "instructions after the first turn have no place on this wire";
                return Err(fault(Kind::Request, what).hint("put them first"));
            }
        }
        let none = plan::without_effect(&request.options, self.wire);
        match (self.config.unsupported, none.first()) {
            (Unsupported::Error, Some(key)) => {
                let wire = self.wire.name();
                let what =
                    format!("option `{key}` has no effect: the {wire} wire has no place for it");
                Err(fault(Kind::Request, &what)
                    .hint("leave it out, or have it noted only (`unsupported`: note)"))
            }
            _ => Ok(()),
        }
    }

    fn silent(&self, begun: bool) -> Error {
        let seconds = self.config.silence.as_secs_f64();
        let what = match begun {
            true => format!("the answer broke off: nothing came for {seconds} s"),
            false => format!("no answer began within {seconds} s"),
        };
        Error::new(self.config.vendor.name, Kind::Unavailable, what)
            .hint("`silence` says how long is waited; what was sent may have been worked on")
    }

    /// The request, and its body once more.
    fn request(&self, plan: &Plan<'_>) -> Option<(Request, Bytes)> {
        let row = self.wire.row();
        let body = Wiped((row.body)(plan));
        let mut request = Request::new(Method::POST, self.line.address().join(row.path));
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if plan.stream { "text/event-stream" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        for (name, value) in row.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = &self.config.key {
            headers.insert(HeaderName::from_static(row.key.0), key.header(row.key.1)?);
        }
        let body: Bytes = wipe::bytes(&body)?;
        *request.body_mut() = Some(body.clone().into());
        Some((request, body))
    }

    /// Sends once.
    fn send(&self, plan: &Plan<'_>, pass: &Pass<'_>, stop: &Stop, sink: &mut Sink<'_>) -> Sent {
        let name = self.config.vendor.name;
        let Some((request, body)) = self.request(plan) else {
            return Sent::failed(Error::new(name, Kind::Request, "the request cannot be written"));
        };
        let begun = Instant::now();
        let head = match self.line.begin(request, &body, pass, stop, self.config.silence) {
            Ok(head) => head,
            Err(Unbegun::Unsent(error)) => return Sent::failed(*error),
            Err(Unbegun::Line(trouble, error)) => {
                // Only then is it sure that nothing was worked on.
                let again = (trouble == Trouble::Connect).then_some(None);
                return Sent::Failed { error: *error, again };
            }
            Err(Unbegun::Quiet(Quiet::Stopped)) => return Sent::failed(self.line.stopped(stop)),
            Err(Unbegun::Quiet(Quiet::Silent)) => return Sent::failed(self.silent(false)),
        };
        let Begun { status, headers, exchange } = head;
        let id = self.request_id(&headers);
        if !(200..300).contains(&status) {
            return self.refusal(plan, status, &headers, &exchange, stop);
        }
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let events = kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        let forced = plan.form.is_some() && self.wire == Wire::Messages;
        let mut draft = Draft::new(sink, forced);
        let mut first = None;
        let read = match events {
            true => self.read_events(&exchange, stop, &mut draft, &mut first, begun),
            false => self.read_whole(&exchange, stop, &mut draft),
        };
        let with_id = |error: Error| error.word("request ", id.as_deref());
        match read {
            Ok(quiet) => {
                let facts = Facts {
                    host: self.host().to_owned(),
                    wire: self.wire.name(),
                    request_id: id.clone(),
                    first: first.or(Some(begun.elapsed())).filter(|_| draft.begun),
                    ..Facts::default()
                };
                match self.finish(draft, plan, quiet, stop, facts) {
                    Ok(answer) => Sent::Done(Box::new(answer)),
                    Err(error) => Sent::failed(with_id(error)),
                }
            }
            Err(Fault::Malformed(part)) => {
                let what = format!("what it sends cannot be read: {part}");
                let error = Error::new(name, Kind::Unavailable, what)
                    .hint("look at `base_url` and `wire`: another service may stand there");
                Sent::failed(with_id(error))
            }
            Err(Fault::Told(told)) => {
                let kind = sorted::kind(None, &told);
                let error = with_id(sorted::of_told(name, kind, &told));
                let again = matches!(kind, Kind::Unavailable | Kind::RateLimited(_));
                Sent::Failed { error, again: (again && !draft.begun).then_some(None) }
            }
        }
    }

    fn request_id(&self, headers: &HeaderMap) -> Option<String> {
        self.line.request_id(headers, self.wire.row().id)
    }

    /// What an answer that tells an error comes to.
    fn refusal(
        &self,
        plan: &Plan<'_>,
        status: u16,
        headers: &HeaderMap,
        exchange: &Exchange,
        stop: &Stop,
    ) -> Sent {
        let name = self.config.vendor.name;
        let page = line::body(exchange, LARGEST_PAGE, stop, || self.config.silence).ok();
        let value = page.and_then(|page| serde_json::from_slice(&page).ok()).map(Wiped);
        let told = value.map_or_else(Told::default, |value| Told::read(&value.0));
        let id = self.request_id(headers);
        let error = sorted::of_status(name, status, headers, &told).word("request ", id.as_deref());
        let kind = error.kind();
        if kind == Kind::Request {
            let limit = ["max_tokens", "max_completion_tokens"];
            let swap = told.param.as_deref().is_some_and(|param| limit.contains(&param))
                && told.code.as_deref() == Some("unsupported_parameter")
                && self.wire == Wire::Chat;
            if swap {
                return Sent::Limit(error);
            }
            let param = told.param.as_deref();
            let key = plan::option_of(self.wire, param, &told.message)
                .filter(|key| !plan.left_out.contains(key));
            if let Some(key) = key {
                let what = format!("the model does not take option `{key}` as it is");
                let error = Error::new(name, Kind::Request, what)
                    .word("status ", Some(&status.to_string()))
                    .word("request ", id.as_deref())
                    .hint("leave it out, or have it noted only (`unsupported`: note)");
                return Sent::Option(key, error);
            }
        }
        let again = matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529)
            && matches!(kind, Kind::RateLimited(_) | Kind::Unavailable);
        // The vendors say themselves where it makes no sense.
        let told_not = headers.get("x-should-retry").is_some_and(|value| value == "false");
        let again = (again && !told_not).then(|| sorted::retry_after(headers));
        Sent::Failed { error, again }
    }

    /// Reads an answer piece by piece; what ended it before its own end, where something did.
    fn read_events(
        &self,
        exchange: &Exchange,
        stop: &Stop,
        draft: &mut Draft<'_, '_>,
        first: &mut Option<Duration>,
        begun: Instant,
    ) -> Result<Option<Quiet>, Fault> {
        let row = self.wire.row();
        let mut events = Events::default();
        loop {
            let silence = if draft.ended { REST } else { self.config.silence };
            match exchange.next(stop, silence) {
                Ok(News::Bytes(bytes)) if !draft.ended => {
                    events.push(&bytes, |event| {
                        if draft.ended || draft.broken {
                            return Ok(());
                        }
                        if event.data.trim() == "[DONE]" {
                            if draft.finish.is_none() {
                                let what = "the stream ended before the answer did";
                                return Err(Fault::Malformed(what));
                            }
                            draft.ended = true;
                            return Ok(());
                        }
                        let value: Value = serde_json::from_str(&event.data)
                            .map_err(|_| Fault::Malformed("an event of the stream"))?;
                        (row.event)(&event.name, &Wiped(value).0, draft)
                    })?;
                    if draft.begun {
                        first.get_or_insert_with(|| begun.elapsed());
                    }
                    if draft.broken {
                        return Ok(None);
                    }
                }
                // The line can be used again when it is read to its end.
                Ok(News::Bytes(_)) => {}
                Ok(News::End | News::Failed(_)) | Err(_) if draft.ended => return Ok(None),
                Ok(News::End) if draft.finish.is_some() && self.wire == Wire::Chat => {
                    draft.ended = true;
                    return Ok(None);
                }
                Ok(News::Failed(Trouble::TooLarge)) => {
                    return Err(Fault::Malformed("more than an answer can be"));
                }
                Ok(News::End | News::Failed(_) | News::Head(..)) => {
                    return Err(Fault::Malformed("the stream ended before the answer did"));
                }
                Err(quiet) => return Ok(Some(quiet)),
            }
        }
    }

    /// Reads an answer that comes whole.
    fn read_whole(
        &self,
        exchange: &Exchange,
        stop: &Stop,
        draft: &mut Draft<'_, '_>,
    ) -> Result<Option<Quiet>, Fault> {
        let bytes = match line::body(exchange, LARGEST_ANSWER, stop, || self.config.silence) {
            Ok(bytes) => bytes,
            Err(Unread::Broken) => return Err(Fault::Malformed("the answer broke off")),
            Err(Unread::TooLarge) => return Err(Fault::Malformed("more than an answer can be")),
            Err(Unread::Quiet(quiet)) => return Ok(Some(quiet)),
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|_| Fault::Malformed("the answer's JSON"))?;
        (self.wire.row().whole)(&Wiped(value).0, draft)?;
        Ok(None)
    }

    /// What the draft comes to.
    fn finish(
        &self,
        mut draft: Draft<'_, '_>,
        plan: &Plan<'_>,
        quiet: Option<Quiet>,
        stop: &Stop,
        facts: Facts,
    ) -> Result<Answer, Error> {
        let name = self.config.vendor.name;
        let options = &plan.request.options;
        let mut finish = match quiet {
            Some(Quiet::Silent) => return Err(self.silent(draft.begun)),
            Some(Quiet::Stopped) if !draft.begun => return Err(self.line.stopped(stop)),
            Some(Quiet::Stopped) if stop.cancelled() => Finish::Cancelled,
            Some(Quiet::Stopped) => Finish::Deadline,
            None if draft.broken => Finish::Cancelled,
            None if draft.refused => {
                let what = "the model or the service declined to answer";
                return Err(Error::new(name, Kind::Refused, what)
                    .hint("what was shown of an answer before does not count"));
            }
            None => draft.finish.unwrap_or(Finish::End),
        };
        draft.broken |= quiet.is_some();
        let (calls, lost) = draft.calls().map_err(|_| {
            let what = "the answer calls a tool in a way that is not well formed";
            Error::new(name, Kind::InvalidOutput, what)
                .hint("ask again, or with fewer or simpler tools")
        })?;
        if calls.iter().any(|call| plan.tools().all(|tool| tool.name != call.name)) {
            let what = "the answer calls a tool that was not offered";
            return Err(Error::new(name, Kind::InvalidOutput, what).hint("ask again"));
        }
        match &finish {
            Finish::End if !calls.is_empty() => finish = Finish::Calls,
            Finish::Stop(_) => {
                let text = draft.stop_text.as_deref();
                let at = options.stop.iter().position(|stop| Some(stop) == text);
                finish = Finish::Stop(at);
            }
            _ => {}
        }
        let mut notes = Vec::new();
        if lost {
            notes.push("the reply ends inside a call of a tool".to_owned());
        }
        if let Some(model) = draft.model.as_ref().filter(|model| **model != plan.model) {
            notes.push(format!("the service says that `{model}` answered"));
        }
        Ok(Answer {
            text: std::mem::take(&mut *draft.text),
            reasoning: std::mem::take(&mut *draft.reasoning),
            calls,
            finish,
            usage: draft.usage,
            options: options.clone(),
            tokens: std::mem::take(&mut draft.tokens),
            notes,
            facts: Facts {
                model: draft.model.take(),
                id: draft.id.take(),
                fingerprint: draft.fingerprint.take(),
                ..facts
            },
        })
    }
}

/// A wait that grows, and is another one for each who waits.
fn jittered(failures: u32) -> Duration {
    let most = FIRST_WAIT * 2u32.saturating_pow(failures.saturating_sub(1).min(4));
    most.mul_f64(0.5 + 0.5 * net::draw())
}
