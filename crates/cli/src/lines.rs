//! Lines of a file of records, one at a time and bounded: a bad one is told by its number and does
//! not stop the others. Ctrl-C is heard between any two of them, and while one is waited for.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::mpsc,
};

use crate::{exit::Exit, failure::Failure, interrupt::Interrupt};

/// The most bytes of a line: what a text or a judge's state may have, and its keys.
const LONGEST: usize = (32 << 20) + (1 << 16);
/// Bytes of a pipe that are asked for at a time.
const STEP: usize = 1 << 16;

/// A file of records, each read from its line by one function.
pub struct Lines<T> {
    from: BufReader<Box<dyn Read>>,
    place: PathBuf,
    number: u64,
    interrupt: Interrupt,
    read: fn(&str) -> Result<T, String>,
}

/// One line with its number, from 1: a record, or what is wrong with it.
pub type Line<T> = (u64, Result<T, String>);

impl<T> Lines<T> {
    /// Opens `path`; `-` is stdin.
    pub fn open(
        path: &Path,
        interrupt: &Interrupt,
        read: fn(&str) -> Result<T, String>,
    ) -> Result<Lines<T>, Failure> {
        let refuse = |why: &str| Failure::usage(format!("cannot read {}: {why}", path.display()));
        let fault = |e: io::Error| refuse(&e.to_string());
        let file = match path == Path::new("-") {
            true => File::from(io::stdin().as_fd().try_clone_to_owned().map_err(fault)?),
            false => {
                if path.is_dir() {
                    return Err(refuse("it is a folder"));
                }
                let owned = path.to_owned();
                // A named pipe waits for its other end.
                interrupt.wait_for(move || File::open(owned))?.map_err(fault)?
            }
        };
        if let Some(name) = written_by_us(&file) {
            return Err(refuse(&format!("standard {name} goes into it"))
                .hint("what is written would be read as more records; let it go elsewhere"));
        }
        let from: Box<dyn Read> = match file.metadata().map_err(fault)?.is_file() {
            true => Box::new(file),
            false => Box::new(Arriving::start(file, interrupt.clone())),
        };
        let (place, interrupt) = (path.to_owned(), interrupt.clone());
        Ok(Lines { from: BufReader::new(from), place, number: 0, interrupt, read })
    }

    /// The next line that is not blank; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Line<T>>, Failure> {
        loop {
            let mut bytes = Vec::new();
            let read = next(&mut self.from, &mut bytes, LONGEST);
            if self.interrupt.is_set() {
                return Err(Failure::silent(Exit::Interrupted));
            }
            let whole = read.map_err(|e| {
                Failure::running(format!("cannot read {}: {e}", self.place.display()))
            })?;
            let Some(whole) = whole else { return Ok(None) };
            self.number += 1;
            if whole && bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            // A mark at the beginning of a file is no text.
            let bytes = match self.number {
                1 => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes),
                _ => &bytes[..],
            };
            let record = match (whole, std::str::from_utf8(bytes)) {
                (false, _) => Err(format!("a line of more than {LONGEST} bytes")),
                (true, Err(e)) => Err(format!("not UTF-8, at byte {}", e.valid_up_to())),
                (true, Ok(text)) => (self.read)(text),
            };
            return Ok(Some((self.number, record)));
        }
    }
}

/// Which of the standard outputs goes into the very file that is read: such a file never ends.
pub fn written_by_us(file: &File) -> Option<&'static str> {
    let of = |file: File| file.metadata().ok().filter(|meta| meta.is_file());
    let read = of(file.try_clone().ok()?)?;
    let outputs = [
        ("output", io::stdout().as_fd().try_clone_to_owned()),
        ("error", io::stderr().as_fd().try_clone_to_owned()),
    ];
    let same = |fd: io::Result<_>| {
        let other = fd.ok().and_then(|fd| of(File::from(fd)));
        other.is_some_and(|other| (other.dev(), other.ino()) == (read.dev(), read.ino()))
    };
    outputs.into_iter().find_map(|(name, fd)| same(fd).then_some(name))
}

/// A pipe or a terminal, read by a thread of its own so that who waits for it hears Ctrl-C.
struct Arriving {
    parts: mpsc::Receiver<io::Result<Vec<u8>>>,
    part: io::Cursor<Vec<u8>>,
    interrupt: Interrupt,
}

impl Arriving {
    fn start(mut from: impl Read + Send + 'static, interrupt: Interrupt) -> Arriving {
        let (sender, parts) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            loop {
                let mut part = vec![0; STEP];
                let read = match from.read(&mut part) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let sent = match read {
                    Ok(0) => return,
                    Ok(len) => {
                        part.truncate(len);
                        sender.send(Ok(part))
                    }
                    Err(e) => return drop(sender.send(Err(e))),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Arriving { parts, part: io::Cursor::default(), interrupt }
    }
}

impl Read for Arriving {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.part.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            match self.parts.recv_timeout(Interrupt::STEP) {
                Ok(part) => self.part = io::Cursor::new(part?),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
                Err(mpsc::RecvTimeoutError::Timeout) if self.interrupt.is_set() => {
                    return Err(io::Error::other("interrupted"));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Reads to the end of a line, which is left out; whether it was kept whole, or only passed over
/// because it is longer than `most`. `None` at the end.
fn next(from: &mut impl BufRead, out: &mut Vec<u8>, most: usize) -> io::Result<Option<bool>> {
    let (mut any, mut whole) = (false, true);
    loop {
        let part = match from.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            part => part?,
        };
        if part.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = part.iter().position(|byte| *byte == b'\n');
        let used = &part[..end.unwrap_or(part.len())];
        whole = whole && out.len() + used.len() <= most;
        if whole {
            out.extend_from_slice(used);
        }
        let read = used.len() + usize::from(end.is_some());
        from.consume(read);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_size() {
        let text = format!("uno\n\n{}\ndos\r\ntres", "ñ".repeat(5000));
        let mut from = BufReader::with_capacity(7, text.as_bytes());
        let mut found = Vec::new();
        loop {
            let mut line = Vec::new();
            match next(&mut from, &mut line, 100).unwrap() {
                Some(whole) => found.push((whole, line.len())),
                None => break,
            }
        }
        assert_eq!(found[..2], [(true, 3), (true, 0)]);
        assert!(!found[2].0 && found[2].1 <= 100, "too long, and not kept");
        assert_eq!(found[3..], [(true, 4), (true, 4)]);
    }
}
