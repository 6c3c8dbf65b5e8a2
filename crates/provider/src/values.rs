//! Text becomes the value of a setting, or an error that says what is needed.

use std::path::PathBuf;
use std::time::Duration;

use recinto_engine::{KvType, Level, Pin, Verify};

use crate::{
    error::{Error, Kind},
    name::shown,
};

/// Most threads that may be asked for; far above any machine this runs on.
const MAX_THREADS: usize = 1024;

/// Longest name of a key's file without a folder.
const LONGEST_NAME: usize = 60;

/// The text as it stands.
pub(crate) fn text(text: &str) -> Result<String, Error> {
    Ok(text.to_owned())
}

/// A name of the operator's.
pub(crate) fn profile(text: &str) -> Result<String, Error> {
    match recinto_policy::is_name(text.trim()) {
        true => Ok(text.trim().to_owned()),
        false => Err(Error::new(
            Kind::Setting,
            "a name of letters, digits, `-`, `_` and `.` is needed, 60 at the most",
        )),
    }
}

/// A count of threads.
pub(crate) fn threads(text: &str) -> Result<usize, Error> {
    match text.trim().parse() {
        Ok(n) if (1..=MAX_THREADS).contains(&n) => Ok(n),
        _ => Err(bad(text, &format!("a number from 1 to {MAX_THREADS} is needed"))),
    }
}

/// The path of a file with a key or certificates. What has no form of a path may be the key itself, and would be
/// shown as a path is.
pub(crate) fn key_file(text: &str) -> Result<PathBuf, Error> {
    // Tokens of three parts have dots, and are longer than names of files.
    let bare = text.contains('.') && (text.contains('/') || text.len() <= LONGEST_NAME);
    match text.starts_with('/') || text.starts_with("~/") || bare {
        true => Ok(text.into()),
        false => Err(Error::new(Kind::Setting, "a path is needed, and this may be a key")
            .hint("name the file that holds the key, as in `./own.key`")),
    }
}

/// True or false.
pub(crate) fn yes(text: &str) -> Result<bool, Error> {
    text.trim().parse().map_err(|_| bad(text, "true or false is needed"))
}

/// A CPU level by name.
pub(crate) fn level(text: &str) -> Result<Level, Error> {
    Level::from_name(text.trim()).ok_or_else(|| {
        let known: Vec<&str> = Level::all().map(Level::name).collect();
        let known = known.join(", ");
        let what = match shown(text.trim()) {
            true => format!("unknown level `{}`", text.trim()),
            false => "a value that is not a level's name".into(),
        };
        Error::new(Kind::Setting, what).hint(format!("known: {known}"))
    })
}

/// Where the weights lie.
pub(crate) fn pin(text: &str) -> Result<Pin, Error> {
    word(text, Pin::all(), Pin::name)
}

/// Which digests count.
pub(crate) fn verify(text: &str) -> Result<Verify, Error> {
    word(text, Verify::all(), Verify::name)
}

/// How keys and values are stored.
pub(crate) fn kv(text: &str) -> Result<KvType, Error> {
    word(text, KvType::ALL.into_iter(), KvType::name)
}

/// The wires that services are spoken to on.
const WIRES: [&str; 3] = ["chat", "responses", "messages"];
/// What becomes of an option that a service does not take.
const UNSUPPORTED: [&str; 2] = ["note", "error"];
/// Yes or no.
const SWITCH: [&str; 2] = ["on", "off"];
/// Most retries of one request.
const MAX_RETRIES: u32 = 10;
/// Longest silence: a day.
const MAX_SILENCE: f64 = 86_400.0;

/// The services that decide, as `recinto-remote` has them.
pub(crate) const SERVICES: [&str; 8] = [
    "typesafe",
    "openrouter",
    "openai",
    "fireworks",
    "cloudflare",
    "sarvam",
    "runware",
    "systemone",
];

/// The name of a service that decides.
pub(crate) fn service(text: &str) -> Result<&'static str, Error> {
    word(text, SERVICES.into_iter(), |word| word)
}

/// The name of a wire.
pub(crate) fn wire(text: &str) -> Result<&'static str, Error> {
    word(text, WIRES.into_iter(), |word| word)
}

/// What becomes of an option that a service does not take.
pub(crate) fn unsupported(text: &str) -> Result<&'static str, Error> {
    word(text, UNSUPPORTED.into_iter(), |word| word)
}

/// Yes or no.
pub(crate) fn switch(text: &str) -> Result<bool, Error> {
    word(text, SWITCH.into_iter(), |word| word).map(|word| word == SWITCH[0])
}

/// Yes or no, as text.
pub(crate) fn switched(on: bool) -> String {
    SWITCH[usize::from(!on)].into()
}

/// How often something is tried again.
pub(crate) fn retries(text: &str) -> Result<u32, Error> {
    match text.trim().parse() {
        Ok(n) if n <= MAX_RETRIES => Ok(n),
        _ => Err(bad(text, &format!("a number from 0 to {MAX_RETRIES} is needed"))),
    }
}

/// A time in seconds.
pub(crate) fn silence(text: &str) -> Result<Duration, Error> {
    let seconds = text.trim().parse::<f64>().ok().filter(|s| (0.01..=MAX_SILENCE).contains(s));
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| bad(text, "seconds are needed, from 0.01 to a day"))
}

/// An address, as far as it may be shown: no name, password or key stands in it.
pub(crate) fn address(text: &str) -> Result<String, Error> {
    let text = text.trim();
    let scheme = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'@' | b'?' | b'#' | b'%' | b'\\');
    match scheme && text.len() <= 2048 && text.bytes().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(Error::new(
            Kind::Setting,
            "an address is needed, without a name, a password or a query",
        )
        .hint("as in `https://api.example.com/v1`")),
    }
}

/// One of a few words.
pub(crate) fn word<T: Copy>(
    text: &str,
    all: impl Iterator<Item = T>,
    name: impl Fn(T) -> &'static str,
) -> Result<T, Error> {
    let known: Vec<T> = all.collect();
    known.iter().copied().find(|choice| name(*choice) == text.trim()).ok_or_else(|| {
        let known: Vec<&str> = known.iter().copied().map(&name).collect();
        bad(text, &format!("one of {} is needed", known.join(", ")))
    })
}

fn bad(text: &str, needed: &str) -> Error {
    Error::new(Kind::Setting, but_not(needed, text))
}

/// What is needed, and what stands there instead where that is safe to repeat: a short word or a
/// number. Anything else may be a key that was put into the wrong place.
pub(crate) fn but_not(needed: &str, text: &str) -> String {
    let text = text.trim();
    let number = text.len() <= 20 && text.parse::<f64>().is_ok();
    match number || shown(text) {
        true => format!("{needed}, not `{text}`"),
        false => needed.into(),
    }
}
