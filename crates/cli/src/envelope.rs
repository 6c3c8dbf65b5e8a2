//! The JSON that commands print: one envelope, with its schema's version.

use std::io::{self, Write};

use recinto_engine::{Digests, Facts, Mode, NUMERICS, Options, Times, ToolCall, Usage, VERSION};
use recinto_os::Wiped;
use recinto_provider::{BUILD, Finish, Identity, Likelihood, Reply, Route, Service};
use serde::Serialize;

use crate::{
    failure::{Failure, Told},
    screen::Screen,
};

/// Raised when a field changes its meaning or goes; new fields do not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// The front of every envelope.
#[derive(Serialize)]
pub struct Envelope<'a, T: Serialize> {
    pub schema_version: u32,
    pub command: &'a str,
    #[serde(flatten)]
    pub body: T,
}

/// Prints why `command` failed, where stdout has no envelope yet.
pub fn fail(screen: &mut Screen, command: &str, failure: &Failure) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Body {
        error: Told,
    }
    print(screen, command, Body { error: failure.tell() })
}

/// Prints `body` as `command`'s envelope, on one line.
pub fn print(screen: &mut Screen, command: &str, body: impl Serialize) -> Result<(), Failure> {
    let mut out = Line(Wiped::default());
    let envelope = Envelope { schema_version: SCHEMA_VERSION, command, body };
    let written = serde_json::to_writer(&mut out, &envelope).map_err(|e| e.is_io());
    written.map_err(|_| Failure::running("the reply cannot be written as JSON"))?;
    let _ = out.write_all(b"\n");
    screen.raw(&out.0)
}

/// The line in the making.
struct Line(Wiped<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a reply ended, in one word.
fn word(finish: &Finish) -> &'static str {
    match finish {
        Finish::End => "end",
        Finish::Length => "length",
        Finish::Stop(_) => "stop",
        Finish::Calls => "calls",
        Finish::Cancelled => "cancelled",
        _ => "deadline",
    }
}

/// The engine that ran.
#[derive(Serialize)]
pub struct Engine {
    pub version: &'static str,
    pub numerics: u32,
    pub level: &'static str,
    pub threads: usize,
}

impl Engine {
    pub fn of(facts: &Facts) -> Engine {
        Engine { version: VERSION, numerics: NUMERICS, level: facts.level, threads: facts.threads }
    }
}

/// What was computed, and where its text comes from.
#[derive(Serialize)]
pub struct Architecture<'a> {
    name: &'a str,
    origin: &'a str,
}

/// A reply with everything that made it: of this process what ran, of a service elsewhere how its
/// answer came.
#[derive(Serialize)]
pub struct Answer<'a> {
    provider: &'static str,
    model: &'a str,
    /// What said who answers.
    route: &'a Route,
    /// What this program is.
    build: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<Architecture<'a>>,
    text: &'a str,
    reasoning: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    calls: &'a [ToolCall],
    /// How likely each token was, where the options ask for it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    logprobs: &'a [Likelihood],
    finish: &'static str,
    /// Which of the options' stop strings, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_index: Option<usize>,
    usage: Usage,
    options: &'a Options,
    /// Of this process.
    #[serde(flatten)]
    ran: Option<Ran<'a>>,
    /// Of a service elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a Service>,
    notes: &'a [String],
    /// What should be known of the model's files, or of the line to a service.
    warnings: &'a [String],
}

/// What ran in this process.
#[derive(Serialize)]
struct Ran<'a> {
    mode: Mode,
    /// How keys and values were stored.
    kv: &'static str,
    digests: &'a Digests,
    engine: Engine,
    times: Times,
}

impl<'a> Answer<'a> {
    pub fn new(
        reply: &'a Reply,
        route: &'a Route,
        identity: &'a Identity,
        facts: Option<&'a Facts>,
    ) -> Answer<'a> {
        let ran = reply.local().zip(facts).map(|(local, facts)| Ran {
            mode: local.mode,
            kv: local.kv.name(),
            digests: &local.digests,
            engine: Engine::of(facts),
            times: local.times,
        });
        Answer {
            provider: identity.provider.name(),
            model: &identity.model,
            route,
            build: BUILD,
            architecture: facts.map(|facts| Architecture {
                name: &facts.architecture,
                origin: &facts.architecture_origin,
            }),
            text: &reply.text,
            reasoning: &reply.reasoning,
            calls: &reply.calls,
            logprobs: &reply.logprobs,
            finish: word(&reply.finish),
            stop_index: match reply.finish {
                Finish::Stop(index) => index,
                _ => None,
            },
            usage: reply.usage,
            options: &reply.options,
            ran,
            service: reply.service(),
            notes: &reply.notes,
            warnings: &identity.warnings,
        }
    }
}
