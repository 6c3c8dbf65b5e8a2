//! Takes numbers, strings and arrays from the front of bytes; every length is distrusted.

use crate::{Element, Error, Kind, utf8::is_utf8};

/// Longest name of a key or tensor, in bytes; far above any published model's.
const MAX_NAME: usize = 1 << 10;
/// Deepest nesting of arrays; published models have one level.
const MAX_DEPTH: u32 = 4;
/// Most bytes of a header: far above any published model's, and few enough to be read in a second.
/// What lies behind may be a hole of any size in the file.
pub(crate) const MAX_HEADER: u64 = 512 << 20;
/// Bytes of strings that are checked together: few enough to be still in the nearest cache.
const RUN: usize = 1 << 14;

pub(crate) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

/// Refuses a name that could not stand in a message to a terminal, or that is too long.
pub(crate) fn named(name: &str, what: &str) -> Result<(), Error> {
    if name.is_empty() || name.len() > MAX_NAME {
        let what = format!("{what} has {} bytes; 1 to {MAX_NAME} are allowed", name.len());
        return Err(Error::new(Kind::Invalid, what));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::new(Kind::Invalid, format!("{what} has a control character in it")));
    }
    Ok(())
}

impl<'a> Reader<'a> {
    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    fn take(&mut self, len: u64, what: &str) -> Result<&'a [u8], Error> {
        let left = self.left();
        if len > left {
            let what = format!("truncated {what}: {len} bytes needed, {left} left in the file");
            return Err(Error::new(Kind::Truncated, what).at(self.at as u64));
        }
        if self.at as u64 + len > MAX_HEADER {
            let most = MAX_HEADER >> 20;
            let what = format!("{what} of {len} bytes goes beyond the {most} MiB of a header");
            return Err(Error::new(Kind::Invalid, what).at(self.at as u64));
        }
        let out = &self.bytes[self.at..self.at + len as usize];
        self.at += len as usize;
        Ok(out)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, Error> {
        let mut out = [0; 4];
        out.copy_from_slice(self.take(4, what)?);
        Ok(u32::from_le_bytes(out))
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, Error> {
        let mut out = [0; 8];
        out.copy_from_slice(self.take(8, what)?);
        Ok(u64::from_le_bytes(out))
    }

    pub fn str(&mut self, what: &str) -> Result<&'a str, Error> {
        let start = self.at as u64;
        let len = self.u64(what)?;
        std::str::from_utf8(self.take(len, what)?)
            .map_err(|_| Error::new(Kind::Invalid, format!("{what} is not UTF-8")).at(start))
    }

    /// A name: text that can stand in a message to a terminal.
    pub fn name(&mut self, what: &str) -> Result<String, Error> {
        let start = self.at as u64;
        let name = self.str(what)?;
        named(name, what).map_err(|e| e.at(start))?;
        Ok(name.to_owned())
    }

    pub fn element(&mut self, what: &str) -> Result<Element, Error> {
        let start = self.at as u64;
        let id = self.u32(what)?;
        Element::from_id(id).ok_or_else(|| {
            let what = format!("{what}: type {id} is not one of 0 to 12");
            Error::new(Kind::Invalid, what).at(start)
        })
    }

    /// Passes over `len` elements that lie at nesting level `depth`.
    pub fn pass(
        &mut self,
        element: Element,
        len: u64,
        what: &str,
        depth: u32,
    ) -> Result<(), Error> {
        let start = self.at as u64;
        if let Some(size) = element.size() {
            let Some(bytes) = len.checked_mul(size as u64) else {
                let what = format!("{what}: {len} elements overflow");
                return Err(Error::new(Kind::Invalid, what).at(start));
            };
            let bytes = self.take(bytes, what)?;
            if element == Element::Bool
                && let Some(place) = bytes.iter().position(|byte| *byte > 1)
            {
                let what = format!("{what}: a boolean is {}, not 0 or 1", bytes[place]);
                return Err(Error::new(Kind::Invalid, what).at(start + place as u64));
            }
            return Ok(());
        }
        // A string takes 8 bytes or more, an inner array 12: absurd counts end here, not later.
        if len > self.left() / if element == Element::Str { 8 } else { 12 } {
            let what = format!("truncated {what}: {len} elements cannot fit in the file");
            return Err(Error::new(Kind::Truncated, what).at(start));
        }
        if element == Element::Str {
            return self.strings(len, what);
        }
        for _ in 0..len {
            if depth >= MAX_DEPTH {
                let what = format!("{what}: arrays nested deeper than {MAX_DEPTH}");
                return Err(Error::new(Kind::Invalid, what).at(self.at as u64));
            }
            let inner = self.element(what)?;
            let len = self.u64(what)?;
            self.pass(inner, len, what, depth + 1)?;
        }
        Ok(())
    }

    /// Passes over `len` strings; where one of them is at fault, one by one up to it.
    fn strings(&mut self, len: u64, what: &str) -> Result<(), Error> {
        let most = self.bytes.len().min(MAX_HEADER as usize);
        if let Some(end) = sound_strings(&self.bytes[..most], self.at, len) {
            self.at = end;
            return Ok(());
        }
        for _ in 0..len {
            self.str(what)?;
        }
        Ok(())
    }
}

/// Where `len` strings that begin at `at` end, if all of them lie in `bytes` and are UTF-8.
///
/// The bytes of a length below 128 are characters too, so that lengths and strings in turn are
/// UTF-8 exactly when each string is: what is cut off in one cannot go on in a length. So long
/// runs are checked at once; a length with another byte in it stays outside them.
fn sound_strings(bytes: &[u8], mut at: usize, len: u64) -> Option<usize> {
    let mut run = at;
    for _ in 0..len {
        let size = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
        let start = at + 8;
        let apart = size & 0x8080_8080_8080_8080 != 0;
        if apart || at - run >= RUN {
            if !is_utf8(&bytes[run..at]) {
                return None;
            }
            run = if apart { start } else { at };
        }
        if size > (bytes.len() - start) as u64 {
            return None;
        }
        at = start + size as usize;
    }
    is_utf8(&bytes[run..at]).then_some(at)
}
