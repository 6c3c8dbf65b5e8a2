//! What is asked: from the argument, a file or stdin.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, IsTerminal, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::mpsc,
};

use clap::Args;
use recinto_engine::{Message, Role};
use recinto_os::{Wiped, WipedText};

use crate::{
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    lines::written_by_us,
    text::{self, Encoding},
};

/// Most bytes of one text; far above what any context holds.
const MAX_BYTES: usize = 64 << 20;
/// Bytes asked for at a time.
const STEP: usize = 1 << 14;

/// How bytes become text.
#[derive(Clone, Copy)]
pub struct Reading {
    pub encoding: Encoding,
    /// Keeps them out of the swap from the first one on.
    pub lock: bool,
}

/// Where the text comes from.
#[derive(Args, Debug)]
pub struct TextArgs {
    /// The text; `-` reads stdin, and so does no text at all. Other users of this machine can see
    /// arguments: give private text by stdin or --file
    #[arg(value_name = "TEXT")]
    pub text: Option<OsString>,

    /// After a text, a lone `-` adds what stdin has, after a blank line
    #[arg(value_name = "-", value_parser = only_dash)]
    pub then_stdin: Option<Dash>,

    /// Read the text from this file (after TEXT, if there is one)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Encoding of files and stdin
    #[arg(long, value_enum, default_value_t)]
    pub encoding: Encoding,
}

impl TextArgs {
    /// The text of argument, file and stdin together.
    pub fn read(&self, lock: bool, interrupt: &Interrupt) -> Result<WipedText, Failure> {
        let how = Reading { encoding: self.encoding, lock };
        let dash = self.text.as_deref() == Some(OsStr::new("-"));
        let argument = match &self.text {
            Some(text) if !dash => Some(argument(text, lock, "the text")?),
            _ => None,
        };
        let file = match &self.file {
            Some(path) => Some(file(path, how, interrupt)?),
            None => None,
        };
        if dash && self.then_stdin.is_some() {
            return Err(Failure::usage("stdin is asked for twice").hint("one `-` reads all of it"));
        }
        let asked = dash || self.then_stdin.is_some();
        let nothing_else = argument.is_none() && self.file.is_none();
        let stdin = match asked || (nothing_else && may_read_stdin()?) {
            true => Some(stdin(how, interrupt)?),
            false => None,
        };
        let mut out = WipedText::new(lock);
        for part in [&argument, &file, &stdin].into_iter().flatten() {
            if !out.is_empty() && !part.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(part);
        }
        if out.is_empty() {
            return Err(Failure::usage("the text is empty"));
        }
        kept(out)
    }
}

/// The sign that stdin is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Dash;

fn only_dash(word: &str) -> Result<Dash, &'static str> {
    if word == "-" { Ok(Dash) } else { Err("only `-` may stand here") }
}

/// Stdin is read although nobody said `-` when there is no text, except from a person who is not
/// told to type. After a text it is left alone: it may be the rest of somebody's loop.
fn may_read_stdin() -> Result<bool, Failure> {
    match io::stdin().is_terminal() {
        true => Err(Failure::usage("no text was given")
            .hint("give it as an argument, with --file, by a pipe, or `-` to type it")),
        false => Ok(true),
    }
}

/// The text of an argument. Its encoding is the terminal's; `--encoding` is for files and stdin.
pub fn argument(text: &OsStr, lock: bool, what: &str) -> Result<WipedText, Failure> {
    let bytes = text.as_encoded_bytes();
    match std::str::from_utf8(bytes) {
        Ok(_) => kept(text::decode(bytes, Reading { encoding: Encoding::Utf8, lock }, what)?),
        Err(e) => {
            let at = e.valid_up_to();
            Err(Failure::usage(format!("{what}: the argument is not UTF-8, at byte {at}"))
                .hint("give it by stdin or from a file, with --encoding"))
        }
    }
}

/// The text of a file; `-` is stdin.
pub fn file(path: &Path, how: Reading, interrupt: &Interrupt) -> Result<WipedText, Failure> {
    if path == Path::new("-") {
        return stdin(how, interrupt);
    }
    let place = path.display().to_string();
    let fault = |e: io::Error| Failure::usage(format!("cannot read {place}: {e}"));
    if std::fs::metadata(path).map_err(fault)?.is_dir() {
        return Err(Failure::usage(format!("cannot read {place}: it is a folder")));
    }
    let owned = path.to_owned();
    // A named pipe waits for its other end, so this too is done where Ctrl-C is heard.
    let read = move || whole(File::open(owned)?, MAX_BYTES, how.lock);
    decoded(interrupt.wait_for(read)?, how, &place)
}

fn stdin(how: Reading, interrupt: &Interrupt) -> Result<WipedText, Failure> {
    // Past the standard library's buffer, which is not wiped.
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let read = move || whole(File::from(fd?), MAX_BYTES, how.lock);
    decoded(interrupt.wait_for(read)?, how, "stdin")
}

fn decoded(
    read: io::Result<Option<Wiped<u8>>>,
    how: Reading,
    place: &str,
) -> Result<WipedText, Failure> {
    match read {
        Ok(Some(bytes)) => kept(text::decode(&bytes, how, place)?),
        Ok(None) => Err(Failure::usage(format!("{place}: more than {MAX_BYTES} bytes"))),
        Err(e) => Err(Failure::usage(format!("cannot read {place}: {e}"))),
    }
}

/// Reads to the end of `from`; `None` when there is more than `limit` bytes.
fn whole(mut from: impl Read, limit: usize, lock: bool) -> io::Result<Option<Wiped<u8>>> {
    let mut out = Wiped::new(lock);
    while more(&mut from, &mut out)? > 0 {
        if out.len() > limit {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

/// Reads once, to the end of `out`; how many bytes came.
fn more(from: &mut impl Read, out: &mut Wiped<u8>) -> io::Result<usize> {
    let len = out.len();
    out.try_resize(len + STEP)?;
    let read = loop {
        match from.read(&mut out[len..]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    out.truncate(len + read.as_ref().copied().unwrap_or(0));
    read
}

/// The text, unless it was to be locked and could not be.
fn kept(text: WipedText) -> Result<WipedText, Failure> {
    if text.refused() { Err(not_locked("the system refused")) } else { Ok(text) }
}

fn not_locked(why: impl std::fmt::Display) -> Failure {
    Failure::running(format!("cannot keep the text out of the swap: {why}"))
        .hint("`ulimit -l` is the limit; without --lock-memory it runs")
}

/// A message that says `text`; with `lock` kept out of the swap like the text itself. It wipes
/// itself.
pub fn message(role: Role, text: &str, lock: bool) -> Result<Message, Failure> {
    let message = Message::new(role, text);
    if lock {
        recinto_os::memory::lock(message.content.as_bytes()).map_err(not_locked)?;
    }
    Ok(message)
}

/// Lines of stdin, one at a time, read where Ctrl-C is heard.
pub struct Lines {
    how: Reading,
    lines: mpsc::Receiver<io::Result<Wiped<u8>>>,
}

impl Lines {
    /// Starts reading; refused where the answers go into the very file that is read.
    pub fn start(how: Reading) -> Result<Lines, Failure> {
        let stdin = io::stdin().as_fd().try_clone_to_owned().ok();
        if let Some(name) = stdin.and_then(|fd| written_by_us(&File::from(fd))) {
            let what = format!("cannot read stdin: standard {name} goes into the same file");
            return Err(Failure::usage(what).hint("let the answers go elsewhere"));
        }
        let (sender, lines) = mpsc::sync_channel(0);
        std::thread::spawn(move || {
            let mut split = Split::new(how.lock);
            let fd = io::stdin().as_fd().try_clone_to_owned();
            let mut stdin = match fd {
                Ok(fd) => File::from(fd),
                Err(e) => return drop(sender.send(Err(e))),
            };
            loop {
                let sent = match split.next(&mut stdin) {
                    Ok(None) => return,
                    Ok(Some(line)) => sender.send(Ok(line)),
                    Err(e) => return drop(sender.send(Err(e))),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Ok(Lines { how, lines })
    }

    /// The next line without its end; `None` at the end of stdin.
    pub fn next(&self, interrupt: &Interrupt) -> Result<Option<WipedText>, Failure> {
        loop {
            match self.lines.recv_timeout(Interrupt::STEP) {
                Ok(Ok(line)) => {
                    let mut text = text::decode(&line, self.how, "stdin")?;
                    let end = text.trim_end_matches(['\n', '\r']).len();
                    text.truncate(end);
                    return kept(text).map(Some);
                }
                Ok(Err(e)) => return Err(Failure::usage(format!("cannot read stdin: {e}"))),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) if interrupt.is_set() => {
                    return Err(Failure::silent(Exit::Interrupted));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Cuts lines without the standard library's buffers, which are not wiped.
struct Split {
    pending: Wiped<u8>,
    lock: bool,
}

impl Split {
    fn new(lock: bool) -> Split {
        Split { pending: Wiped::new(lock), lock }
    }

    /// The next line with its end; `None` at the end of `from`.
    fn next(&mut self, from: &mut impl Read) -> io::Result<Option<Wiped<u8>>> {
        let mut seen = 0;
        loop {
            let end = self.pending[seen..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                return Ok(Some(self.take(seen + end + 1)));
            }
            seen = self.pending.len();
            if seen > MAX_BYTES {
                return Err(io::Error::other(format!("a line of more than {MAX_BYTES} bytes")));
            }
            if more(from, &mut self.pending)? == 0 {
                return Ok((seen > 0).then(|| self.take(seen)));
            }
        }
    }

    fn take(&mut self, len: usize) -> Wiped<u8> {
        let mut line = Wiped::new(self.lock);
        line.extend_from_slice(&self.pending[..len]);
        self.pending.drop_front(len);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_or_not_at_all() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        let read = whole(&bytes[..], 100_000, false).unwrap().unwrap();
        assert_eq!(read[..], bytes);
        assert!(whole(&bytes[..], 99_999, false).unwrap().is_none());
    }

    #[test]
    fn lines_of_any_size() {
        let long = "ñ".repeat(50_000);
        let text = format!("uno\r\n\n{long}\ndos\n\ntres");
        let want = ["uno\r\n", "\n", &format!("{long}\n"), "dos\n", "\n", "tres"];
        let (mut split, mut from) = (Split::new(false), text.as_bytes());
        let mut got = Vec::new();
        while let Some(line) = split.next(&mut from).unwrap() {
            got.push(String::from_utf8(line.to_vec()).unwrap());
        }
        assert_eq!(got, want);
    }
}
