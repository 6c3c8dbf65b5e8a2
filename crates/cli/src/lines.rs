//! Lines of a file of records, one at a time and bounded: a bad one is told by its number and does
//! not stop the others.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// The most bytes of a line: what a text or a judge's state may have, and its keys.
const LONGEST: usize = (32 << 20) + (1 << 16);

/// A file of records, each read from its line by one function.
pub struct Lines<T> {
    from: BufReader<Box<dyn Read>>,
    place: PathBuf,
    number: u64,
    read: fn(&str) -> Result<T, String>,
}

/// One line with its number, from 1: a record, or what is wrong with it.
pub type Line<T> = (u64, Result<T, String>);

impl<T> Lines<T> {
    /// Opens `path`; `-` is stdin.
    pub fn open(path: &Path, read: fn(&str) -> Result<T, String>) -> Result<Lines<T>, Failure> {
        let fault = |e: io::Error| Failure::usage(format!("cannot read {}: {e}", path.display()));
        let from: Box<dyn Read> = match path == Path::new("-") {
            true => {
                let fd = io::stdin().as_fd().try_clone_to_owned().map_err(fault)?;
                Box::new(File::from(fd))
            }
            false => {
                if path.is_dir() {
                    let what = format!("cannot read {}: it is a folder", path.display());
                    return Err(Failure::usage(what));
                }
                Box::new(File::open(path).map_err(fault)?)
            }
        };
        Ok(Lines { from: BufReader::new(from), place: path.to_owned(), number: 0, read })
    }

    /// The next line that is not blank; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Line<T>>, Failure> {
        loop {
            let mut bytes = Vec::new();
            let read = next(&mut self.from, &mut bytes, LONGEST);
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
