//! Typed questions to a service that decides: one request, one whole answer, sent again where that
//! makes sense. What a request and an answer hold is not known here.

mod service;
mod told;

use std::time::{Duration, Instant};

use bytes::Bytes;
use recinto_engine::Stop;
use recinto_policy::{Destination, Pass};
use reqwest::{
    Method, Request,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;
use zeroize::Zeroizing;

pub use service::{SERVICES, Service};

use crate::{
    address::Address,
    error::{Error, Kind},
    key::Key,
    line::{self, Begun, Ends, Line, Names, Unbegun, Unread},
    net::{self, Quiet, Trouble},
    sorted,
    wipe::{self, Wiped},
};

/// Longest time of one try, where nobody says.
pub const TIME: Duration = Duration::from_secs(10);
/// The longest wait that a service may ask for; a longer one is answered with a wait of our own.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The first wait of our own; each next one is twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_OWN: Duration = Duration::from_secs(5);
/// The share of it that is left out by chance, at the most.
const JITTER: f64 = 0.25;
/// Most bytes of an answer, and of a page that tells an error.
const LARGEST_ANSWER: usize = 32 << 20;
const LARGEST_PAGE: usize = 64 << 10;
/// Most answers within each other that are unwrapped.
const WRAPPED: usize = 4;

/// The settings that a line is made from.
const NAMES: Names = Names {
    base_url: "judge_base_url",
    key: "RECINTO_JUDGE_API_KEY",
    key_file: "judge_api_key_file",
};

/// A service that decides, and how it is reached.
#[derive(Clone, Debug)]
pub struct DecisionConfig {
    /// Whose service it is.
    pub service: &'static Service,
    /// The model, in the service's own words.
    pub model: String,
    /// Another address than the service's own.
    pub base_url: Option<Address>,
    /// The key. One that is missing is an error where the service is the vendor's own.
    pub key: Option<Key>,
    /// Longest time of one try.
    pub time: Duration,
    /// How often a request that failed is sent again.
    pub retries: u32,
    /// Through which proxy.
    pub proxy: Option<Address>,
    /// The only certificates that may vouch for the service, in PEM; the system's otherwise.
    pub ca: Option<Vec<u8>>,
}

impl DecisionConfig {
    /// The service's own address with the usual settings.
    pub fn new(service: &'static Service, model: impl Into<String>) -> DecisionConfig {
        DecisionConfig {
            service,
            model: model.into(),
            base_url: None,
            key: None,
            time: TIME,
            retries: 2,
            proxy: None,
            ca: None,
        }
    }
}

/// A service that can be asked to decide.
pub struct Decider {
    config: DecisionConfig,
    line: Line,
}

/// What a service answered. Its texts are wiped when it is dropped.
pub struct Decided {
    body: Wiped,
    /// The request's id, for questions to the vendor.
    pub request_id: Option<String>,
    /// Requests that were sent for it, failed ones included.
    pub requests: u32,
    /// From the first sending to the end, waits included.
    pub whole: Duration,
}

impl Decided {
    /// The answer, out of whatever it was wrapped in.
    pub fn body(&self) -> &Value {
        unwrapped(&self.body.0)
    }

    /// Tokens read and written, where the service says so.
    pub fn usage(&self) -> Option<(u64, u64)> {
        let usage = self.body().get("usage")?;
        let count = |names: [&str; 2]| {
            names.iter().find_map(|name| usage.get(*name).and_then(Value::as_u64))
        };
        let read = count(["input_tokens", "prompt_tokens"])?;
        Some((read, count(["output_tokens", "completion_tokens"]).unwrap_or(0)))
    }
}

/// One try.
enum Tried {
    Done(Box<Decided>),
    Failed { error: Error, again: Option<Option<Duration>> },
}

fn failed(error: Error) -> Tried {
    Tried::Failed { error, again: None }
}

impl Decider {
    /// Checks the settings; nothing is sent.
    ///
    /// # Errors
    ///
    /// No address, one that cannot be used, a key that is missing or another vendor's,
    /// certificates that cannot be read.
    pub fn open(config: DecisionConfig) -> Result<Decider, Error> {
        let line = Line::open(&Ends {
            name: config.service.name,
            names: &NAMES,
            own: config.service.base_url,
            variable: config.service.key,
            base_url: config.base_url.as_ref(),
            key: config.key.as_ref(),
            proxy: config.proxy.as_ref(),
            ca: config.ca.as_deref(),
        })?;
        Ok(Decider { config, line })
    }

    /// The settings.
    pub fn config(&self) -> &DecisionConfig {
        &self.config
    }

    /// The host that requests go to, with its port where that is not the usual one.
    pub fn host(&self) -> &str {
        self.line.host()
    }

    /// Whether the host is the service's own.
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

    /// Sends `body` and reads the answer. A failure that may pass is tried again, as often as the
    /// settings say: statuses 408, 429 and from 500 on, a line that broke, and silence; to decide
    /// twice changes nothing. Each time `pass` is asked again, and writes it down before a byte
    /// leaves.
    ///
    /// # Errors
    ///
    /// A policy that does not let it leave; and when there is no answer. None holds a word of what
    /// was sent.
    pub fn ask(&self, body: Value, pass: &Pass<'_>, stop: &Stop) -> Result<Decided, Error> {
        let name = self.config.service.name;
        let unwritable = || Error::new(name, Kind::Request, "the request cannot be written");
        let body: Bytes = wipe::bytes(&Wiped(body)).ok_or_else(unwritable)?;
        let begun = Instant::now();
        let mut failures = 0;
        loop {
            let request = self.request(&body, failures).ok_or_else(unwritable)?;
            match self.send(request, &body, pass, stop) {
                Tried::Done(mut decided) => {
                    (decided.requests, decided.whole) = (failures + 1, begun.elapsed());
                    return Ok(*decided);
                }
                Tried::Failed { error, again: None } => return Err(error),
                Tried::Failed { error, again: Some(asked) } => {
                    failures += 1;
                    if failures > self.config.retries {
                        return Err(error);
                    }
                    let asked = asked.filter(|time| *time <= LONGEST_WAIT);
                    if !net::wait(asked.unwrap_or_else(|| own_wait(failures)), stop) {
                        return Err(self.line.stopped(stop));
                    }
                }
            }
        }
    }

    fn request(&self, body: &Bytes, failures: u32) -> Option<Request> {
        let service = self.config.service;
        let mut request = Request::new(Method::POST, self.line.address().join(service.path));
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        if let Some(key) = &self.config.key {
            let (name, front) = service.header;
            headers.insert(HeaderName::from_static(name), key.header(front)?);
        }
        if let Some(name) = service.again.filter(|_| failures > 0) {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(failures));
        }
        *request.body_mut() = Some(body.clone().into());
        Some(request)
    }

    /// Sends once, and reads the whole answer within the time of one try.
    fn send(&self, request: Request, body: &Bytes, pass: &Pass<'_>, stop: &Stop) -> Tried {
        let (name, time) = (self.config.service.name, self.config.time);
        let begun = Instant::now();
        let quiet = |quiet| match quiet {
            Quiet::Stopped => failed(self.line.stopped(stop)),
            Quiet::Silent => Tried::Failed { error: self.late(), again: Some(None) },
        };
        let head = match self.line.begin(request, body, pass, stop, time) {
            Ok(head) => head,
            Err(Unbegun::Unsent(error)) => return failed(*error),
            Err(Unbegun::Line(trouble, error)) => {
                let passes = matches!(trouble, Trouble::Name | Trouble::Connect | Trouble::Broken);
                return Tried::Failed { error: *error, again: passes.then_some(None) };
            }
            Err(Unbegun::Quiet(why)) => return quiet(why),
        };
        let Begun { status, headers, exchange } = head;
        let id = self.line.request_id(&headers, self.config.service.id);
        let with_id = |error: Error| error.word("request ", id.as_deref());
        let good = (200..300).contains(&status);
        let most = if good { LARGEST_ANSWER } else { LARGEST_PAGE };
        let page = match line::body(&exchange, most, stop, || line::left(begun, time)) {
            Ok(page) => page,
            Err(Unread::Quiet(why)) if good => return quiet(why),
            Err(Unread::Broken) if good => {
                let base_url = NAMES.base_url;
                let error = sorted::of_trouble(name, self.host(), base_url, Trouble::Broken);
                return Tried::Failed { error: with_id(error), again: Some(None) };
            }
            Err(Unread::TooLarge) if good => {
                return failed(with_id(self.unreadable("more than an answer can be")));
            }
            // Its status alone says what to do.
            Err(_) => Zeroizing::default(),
        };
        let value = serde_json::from_slice::<Value>(&page).ok().map(Wiped);
        match value {
            Some(value) if good && !tells_an_error(unwrapped(&value.0)) => {
                Tried::Done(Box::new(Decided {
                    body: value,
                    request_id: id,
                    requests: 0,
                    whole: Duration::ZERO,
                }))
            }
            None if good => failed(with_id(self.unreadable("the answer's JSON"))),
            value => {
                // A page that is no JSON may still be a sentence.
                let raw = || Wiped(Value::String(String::from_utf8_lossy(&page).into_owned()));
                let value = value.unwrap_or_else(raw);
                let status = if good { told::status(&value.0).unwrap_or(502) } else { status };
                self.refusal(status, &headers, &value.0, body, id.as_deref())
            }
        }
    }

    /// What an answer that tells an error comes to.
    fn refusal(
        &self,
        status: u16,
        headers: &reqwest::header::HeaderMap,
        value: &Value,
        sent: &[u8],
        id: Option<&str>,
    ) -> Tried {
        let told = told::read(value);
        let error = sorted::of_status(self.config.service.name, status, headers, &told);
        let kind = error.kind();
        let key = self.config.key.as_ref().map_or("", Key::text);
        let error = error.word("request ", id).says(told::repeatable(&told.message, sent, key));
        let again = matches!(status, 408 | 429 | 500..=599)
            && matches!(kind, Kind::RateLimited(_) | Kind::Unavailable);
        Tried::Failed { error, again: again.then(|| sorted::retry_after(headers)) }
    }

    fn unreadable(&self, part: &str) -> Error {
        let what = format!("what it sends cannot be read: {part}");
        Error::new(self.config.service.name, Kind::Unavailable, what).hint(format!(
            "look at `{}` and `judge_service`: another service may stand there",
            NAMES.base_url
        ))
    }

    fn late(&self) -> Error {
        let seconds = self.config.time.as_secs_f64();
        let what = format!("no whole answer came within {seconds} s");
        Error::new(self.config.service.name, Kind::Unavailable, what)
            .hint("`silence` says how long a try may take")
    }
}

/// The answer in its envelopes: `{"result": {"result": …}}`.
fn unwrapped(value: &Value) -> &Value {
    let mut value = value;
    for _ in 0..WRAPPED {
        match value.get("result") {
            Some(inner @ Value::Object(_)) if value.get("answers").is_none() => value = inner,
            _ => break,
        }
    }
    value
}

/// Whether an answer with a good status tells an error instead.
fn tells_an_error(value: &Value) -> bool {
    let some = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
    !some("answers")
        && (some("error") || some("detail") || value.get("success") == Some(&false.into()))
}

/// A wait that grows, less a part that is another one for each who waits.
fn own_wait(failures: u32) -> Duration {
    let most = FIRST_WAIT * 2u32.saturating_pow(failures.saturating_sub(1).min(8));
    most.min(LONGEST_OWN).mul_f64(1.0 - JITTER * net::draw())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        for (failures, most) in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 5.0), (60, 5.0)] {
            for _ in 0..50 {
                let wait = own_wait(failures).as_secs_f64();
                assert!(wait <= most && wait >= 0.75 * most, "{failures}: {wait}");
            }
        }
    }

    #[test]
    fn envelopes() {
        let answer = json!({"answers": {}});
        let cases = [
            ("bare", answer.clone()),
            ("wrapped", json!({"result": answer, "success": true, "errors": []})),
            ("twice", json!({"result": {"result": answer}})),
        ];
        for (name, value) in cases {
            assert_eq!(unwrapped(&value), &answer, "{name}");
            assert!(!tells_an_error(unwrapped(&value)), "{name}");
        }
        for value in [
            json!({"error": {"code": 429}}),
            json!({"result": null, "success": false, "errors": [{"message": "x"}]}),
            json!({"detail": "x"}),
        ] {
            assert!(tells_an_error(unwrapped(&value)), "{value}");
        }
        assert!(!tells_an_error(&json!({"error": null, "answers": {}})));
    }
}
