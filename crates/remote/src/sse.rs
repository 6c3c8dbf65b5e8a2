//! Server-sent events out of bytes (WHATWG HTML, section 9.2): names and data, nothing else.

use zeroize::{Zeroize, Zeroizing};

/// Most bytes of one event.
const LARGEST: usize = 8 << 20;

/// One event.
pub(crate) struct Event {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its data.
    pub data: Zeroizing<String>,
}

/// The bytes are no stream of events, or one is too large.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Bytes in, events out. What it held is wiped.
#[derive(Default)]
pub(crate) struct Events {
    /// The line that has not ended.
    line: Zeroizing<Vec<u8>>,
    name: String,
    data: Zeroizing<Vec<u8>>,
    has_data: bool,
    /// The last byte ended a line as a carriage return: a line feed after it belongs to it.
    returned: bool,
    begun: bool,
}

impl Events {
    /// Takes the next bytes; `each` gets every event that ends in them and may say stop.
    pub fn push<E: From<Malformed>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        for byte in bytes {
            let after_return = std::mem::take(&mut self.returned);
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.returned = *byte == b'\r';
                    if let Some(event) = self.end_line()? {
                        each(event)?;
                    }
                }
                _ if self.line.len() + self.data.len() >= LARGEST => return Err(Malformed.into()),
                _ => self.line.push(*byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>, Malformed> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let mut data = std::mem::take(&mut self.data);
            if !std::mem::take(&mut self.has_data) {
                return Ok(None);
            }
            let text = String::from_utf8(std::mem::take(&mut *data)).map_err(|error| {
                error.into_bytes().zeroize();
                Malformed
            })?;
            return Ok(Some(Event { name, data: Zeroizing::new(text) }));
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8(value.to_vec()).map_err(|_| Malformed)?,
            // A comment keeps the line open; ids and times to come back mean nothing here.
            b"" | b"id" | b"retry" => {}
            _ => return Err(Malformed),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], step: usize) -> Result<Vec<(String, String)>, Malformed> {
        let (mut events, mut out) = (Events::default(), Vec::new());
        for part in bytes.chunks(step) {
            events.push(part, |event| {
                out.push((event.name, event.data.to_string()));
                Ok::<(), Malformed>(())
            })?;
        }
        Ok(out)
    }

    #[test]
    fn streams() {
        let pair = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        let cases = [
            ("plain", "data: año\n\n", Some(vec![pair("", "año")])),
            ("named", "event: ping\ndata: {}\n\n", Some(vec![pair("ping", "{}")])),
            ("returns", "event: a\r\ndata:x\r\n\r\ndata: y\r\r", {
                Some(vec![pair("a", "x"), pair("", "y")])
            }),
            ("two lines", "data: a\ndata: b\n\n", Some(vec![pair("", "a\nb")])),
            ("comments, ids", ": hola\nid: 7\nretry: 10\ndata: x\n\n", Some(vec![pair("", "x")])),
            ("no data", "event: a\n\ndata: b\n\n", Some(vec![pair("", "b")])),
            ("empty data", "data\n\n", Some(vec![pair("", "")])),
            ("a mark at the start", "\u{feff}data: x\n\n", Some(vec![pair("", "x")])),
            ("not ended", "data: x\n", Some(vec![])),
            ("a page", "<html>\n<body>", None),
            ("JSON", "{\"a\":1}\n\n", None),
        ];
        for (name, text, want) in cases {
            for step in 1..=text.len() {
                assert_eq!(read(text.as_bytes(), step).ok(), want, "{name} by {step}");
            }
        }
        assert_eq!(read(b"data: \xf1\n\n", 3), Err(Malformed), "not UTF-8");
        let endless = vec![b'x'; LARGEST + 1];
        assert_eq!(read(&endless, 1 << 16), Err(Malformed), "no end of a line");
        let lines = b"data: 0123456789abcdef0123456789abcdef0123456789abcdef\n".repeat(1 << 18);
        assert_eq!(read(&lines, 1 << 16), Err(Malformed), "no end of an event");
    }
}
