//! What is asked: from the argument, a file or stdin.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, IsTerminal, Read, Write},
    os::{fd::AsFd, unix::fs::FileTypeExt},
    path::{Path, PathBuf},
    sync::mpsc,
};

use clap::Args;
use zeroize::{Zeroize, Zeroizing};

use crate::{
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    text::{self, Encoding},
    wiped::Wiped,
};

/// Most bytes of one text; far above what any context holds.
const MAX_BYTES: usize = 64 << 20;

/// Where the text comes from.
#[derive(Args, Debug)]
pub struct TextArgs {
    /// The text; `-` reads stdin. What is piped in follows it after a blank line. Other users of
    /// this machine can see arguments: give private text by stdin or --file
    #[arg(value_name = "TEXT")]
    pub text: Option<OsString>,

    /// Read the text from this file (after TEXT, if there is one)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Encoding of files and stdin
    #[arg(long, value_enum, default_value_t)]
    pub encoding: Encoding,
}

impl TextArgs {
    /// The text of argument, file and stdin together.
    pub fn read(&self, interrupt: &Interrupt) -> Result<Zeroizing<String>, Failure> {
        let dash = self.text.as_deref() == Some(OsStr::new("-"));
        let argument = match &self.text {
            Some(text) if !dash => Some(argument(text, "the text")?),
            _ => None,
        };
        let file = match &self.file {
            Some(path) => Some(file(path, self.encoding, interrupt)?),
            None => None,
        };
        let implied = !dash && self.file.is_none() && self.wants_stdin(argument.is_some())?;
        let stdin = match dash || implied {
            true => Some(stdin(self.encoding, interrupt)?),
            false => None,
        };
        let parts: Vec<&str> = [&argument, &file, &stdin]
            .into_iter()
            .flatten()
            .map(|part| part.as_str())
            .filter(|part| !part.is_empty())
            .collect();
        if parts.is_empty() {
            return Err(Failure::usage("the text is empty"));
        }
        let mut out =
            Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len() + 2).sum()));
        for part in parts {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(part);
        }
        Ok(out)
    }

    /// Whether stdin is read although nobody said `-`: after a text only when something is
    /// surely piped in, without one always, except from a person who is not told to type.
    fn wants_stdin(&self, has_text: bool) -> Result<bool, Failure> {
        if has_text {
            return Ok(is_piped());
        }
        if io::stdin().is_terminal() {
            return Err(Failure::usage("no text was given")
                .hint("give it as an argument, with --file, by a pipe, or `-` to type it"));
        }
        Ok(true)
    }
}

/// Whether stdin is a pipe, a file or a socket (not a terminal, not a device such as null).
fn is_piped() -> bool {
    let Ok(fd) = io::stdin().as_fd().try_clone_to_owned() else { return false };
    let Ok(meta) = File::from(fd).metadata() else { return false };
    let kind = meta.file_type();
    kind.is_fifo() || kind.is_file() || kind.is_socket()
}

/// The text of an argument. Its encoding is the terminal's; `--encoding` is for files and stdin.
pub fn argument(text: &OsStr, what: &str) -> Result<Zeroizing<String>, Failure> {
    let bytes = Zeroizing::new(text.as_encoded_bytes().to_vec());
    match std::str::from_utf8(&bytes) {
        Ok(_) => text::decode(bytes, Encoding::Utf8, what),
        Err(e) => {
            let at = e.valid_up_to();
            Err(Failure::usage(format!("{what}: the argument is not UTF-8, at byte {at}"))
                .hint("give it by stdin or from a file, with --encoding"))
        }
    }
}

/// The text of a file; `-` is stdin.
pub fn file(
    path: &Path,
    encoding: Encoding,
    interrupt: &Interrupt,
) -> Result<Zeroizing<String>, Failure> {
    if path == Path::new("-") {
        return stdin(encoding, interrupt);
    }
    let place = path.display().to_string();
    let fault = |e: io::Error| Failure::usage(format!("cannot read {place}: {e}"));
    if std::fs::metadata(path).map_err(fault)?.is_dir() {
        return Err(Failure::usage(format!("cannot read {place}: it is a folder")));
    }
    let owned = path.to_owned();
    // A named pipe waits for its other end, so this too is done where Ctrl-C is heard.
    let read = interrupt.wait_for(move || Wiped::read(File::open(owned)?, MAX_BYTES))?;
    whole(read, encoding, &place)
}

fn stdin(encoding: Encoding, interrupt: &Interrupt) -> Result<Zeroizing<String>, Failure> {
    // Past the standard library's buffer, which is not wiped.
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let read = interrupt.wait_for(move || Wiped::read(File::from(fd?), MAX_BYTES))?;
    whole(read, encoding, "stdin")
}

fn whole(
    read: io::Result<Option<Wiped>>,
    encoding: Encoding,
    place: &str,
) -> Result<Zeroizing<String>, Failure> {
    match read {
        Ok(Some(bytes)) => text::decode(bytes.into_inner(), encoding, place),
        Ok(None) => Err(Failure::usage(format!("{place}: more than {MAX_BYTES} bytes"))),
        Err(e) => Err(Failure::usage(format!("cannot read {place}: {e}"))),
    }
}

/// Lines of stdin, one at a time, read where Ctrl-C is heard.
pub struct Lines {
    lines: mpsc::Receiver<io::Result<Zeroizing<Vec<u8>>>>,
}

impl Lines {
    pub fn start() -> Lines {
        let (sender, lines) = mpsc::sync_channel(0);
        std::thread::spawn(move || {
            let mut split = Split::default();
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
        Lines { lines }
    }

    /// The next line without its end; `None` at the end of stdin.
    pub fn next(
        &self,
        encoding: Encoding,
        interrupt: &Interrupt,
    ) -> Result<Option<Zeroizing<String>>, Failure> {
        loop {
            match self.lines.recv_timeout(Interrupt::STEP) {
                Ok(Ok(line)) => {
                    let mut text = text::decode(line, encoding, "stdin")?;
                    let end = text.trim_end_matches(['\n', '\r']).len();
                    // Truncating leaves the line end in memory, no more.
                    text.truncate(end);
                    return Ok(Some(text));
                }
                Ok(Err(e)) => return Err(Failure::usage(format!("cannot read stdin: {e}"))),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) if interrupt.is_set() => {
                    return Err(Failure { exit: Exit::Interrupted, text: None });
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Cuts lines without the standard library's buffers, which are not wiped.
#[derive(Default)]
struct Split {
    pending: Zeroizing<Vec<u8>>,
}

impl Split {
    /// The next line with its end; `None` at the end of `from`.
    fn next(&mut self, from: &mut impl Read) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let mut line = Wiped::default();
        loop {
            let end = self.pending.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(self.pending.len());
            line.write_all(&self.pending[..taken])?;
            let rest = Zeroizing::new(self.pending[taken..].to_vec());
            self.pending = rest;
            if end.is_some() {
                return Ok(Some(line.into_inner()));
            }
            if line.bytes().len() > MAX_BYTES {
                return Err(io::Error::other(format!("a line of more than {MAX_BYTES} bytes")));
            }
            let mut chunk = Zeroizing::new(vec![0; 1 << 12]);
            let read = match from.read(&mut chunk) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                let line = line.into_inner();
                return Ok((!line.is_empty()).then_some(line));
            }
            chunk.truncate(read);
            self.pending = chunk;
        }
    }
}

/// Keeps a text out of the swap for as long as the process lives.
pub fn lock(text: &str) -> Result<(), Failure> {
    recinto_os::memory::lock(text.as_bytes()).map_err(|e| {
        Failure::running(format!("cannot keep the text out of the swap: {e}"))
            .hint("`ulimit -l` is the limit; without --lock-memory it runs")
    })
}

/// Moves a text out of its wiping cover, for a message that wipes itself.
pub fn uncover(mut text: Zeroizing<String>) -> String {
    let out = std::mem::take(&mut *text);
    text.zeroize();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_size() {
        let long = "ñ".repeat(5000);
        let text = format!("uno\r\n\n{long}\ndos\n\ntres");
        let want = ["uno\r\n", "\n", &format!("{long}\n"), "dos\n", "\n", "tres"];
        let (mut split, mut from) = (Split::default(), text.as_bytes());
        let mut got = Vec::new();
        while let Some(line) = split.next(&mut from).unwrap() {
            got.push(String::from_utf8(line.to_vec()).unwrap());
        }
        assert_eq!(got, want);
    }
}
