//! `recinto status` where another than this process would answer: what is set, whether there is a
//! key, and, only when it is asked for, one small request.

use std::{ops::ControlFlow, time::Instant};

use recinto_engine::{Options, Request};
use recinto_provider::{BUILD, Service, Settings, Turn};
use serde::Serialize;

use super::{Args, Body, Chosen};
use crate::{envelope, exit::Exit, failure::Failure, interrupt::Interrupt, screen::Screen};

/// Fewest tokens that every wire lets a request ask for.
const FEWEST: usize = 16;

/// In which form it is told, and whether at all.
#[derive(Clone, Copy)]
pub struct Shown {
    pub json: bool,
    pub silent: bool,
}

/// Who would be asked, and how it went.
#[derive(Serialize)]
pub struct Asked {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Where the key comes from; never what it is.
    key: Option<String>,
    warnings: Vec<String>,
    /// How an answer came, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Service>,
}

/// Where the key comes from that would be sent.
#[cfg(feature = "remote")]
pub fn key_place(settings: &Settings) -> Option<String> {
    recinto_provider::Elsewhere::key_place(settings)
}

/// Where the key comes from that would be sent with a judge's questions.
#[cfg(feature = "remote")]
pub fn judge_key_place(settings: &Settings) -> Option<String> {
    let hosted = settings.reader() == recinto_provider::Reader::Hosted;
    hosted.then(|| recinto_provider::Decisions::key_place(settings)).flatten()
}

/// As below.
#[cfg(not(feature = "remote"))]
pub fn judge_key_place(_: &Settings) -> Option<String> {
    None
}

/// No key is sent by a program that sends nothing.
#[cfg(not(feature = "remote"))]
pub fn key_place(_: &Settings) -> Option<String> {
    None
}

pub fn run(
    args: &Args,
    screen: &mut Screen,
    settings: &Settings,
    chosen: &Chosen,
    interrupt: &Interrupt,
    shown: Shown,
) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let tried = args.model.provider_for(settings, Default::default()).and_then(|provider| {
        let identity = provider.identity();
        let mut asked = Asked {
            host: identity.host,
            key: key_place(settings),
            warnings: identity.warnings,
            service: None,
        };
        if !args.probe {
            return Ok((asked, None));
        }
        let options = settings.answer_options(provider.defaults(), |_| false)?;
        let options = Options { max_tokens: FEWEST, ..options };
        let turn = Turn::from(Request { options, ..Request::user("Hola") });
        let mut sink = |_: recinto_engine::Piece<'_>| ControlFlow::Continue(());
        let reply = provider.complete(&turn, &interrupt.stop(), &mut sink)?;
        asked.service = reply.service().cloned();
        Ok((asked, Some(begun.elapsed())))
    });
    match tried {
        Ok((asked, time)) => {
            if shown.json {
                let can_answer = time.map(|_| true);
                let (settings, asked) = (chosen, Some(asked));
                let body =
                    Body { can_answer, build: BUILD, settings, error: None, opened: None, asked };
                envelope::print(screen, "status", body)?;
            } else if !shown.silent {
                let answers = match time {
                    Some(time) => format!("yes: after {:.0} ms", time.as_secs_f64() * 1e3),
                    None => "not asked: `--probe` sends one small request".into(),
                };
                let rows = [
                    ("host", asked.host.unwrap_or_else(|| "none: nothing is sent".into())),
                    ("key", asked.key.unwrap_or_else(|| "none".into())),
                ];
                for (name, value) in rows {
                    screen.row(&format!("{name:<13} {value}"))?;
                }
                for warning in &asked.warnings {
                    screen.row(&format!("{:<13} {warning}", "warning"))?;
                }
                screen.row(&format!("{:<13} {answers}", "answers"))?;
            }
            Ok(Exit::Done)
        }
        Err(failure) => {
            if shown.json {
                let error = Some(failure.tell());
                let body = Body {
                    can_answer: Some(false),
                    build: BUILD,
                    settings: chosen,
                    error,
                    opened: None,
                    asked: None,
                };
                envelope::print(screen, "status", body)?;
            } else if !shown.silent {
                screen.line("answers       no")?;
            }
            Err(failure.told())
        }
    }
}
