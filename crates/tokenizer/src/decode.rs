//! Turns token ids back into text.
//!
//! Holds back bytes until they form whole characters; a broken sequence becomes U+FFFD as soon as
//! it can no longer become valid, and what is left at the end when the text is finished.

use recinto_os::{Wiped, WipedText};

use crate::{Error, Tokenizer};

/// The state of a text that arrives token by token; wiped when dropped.
///
/// It does not borrow the tokenizer, so that it can live next to one. All ids of a stream must be
/// given with the same tokenizer.
#[derive(Default)]
pub struct Stream {
    /// Bytes that are no whole character yet; at most three between calls.
    held: Wiped<u8>,
    out: WipedText,
    show_specials: bool,
    /// Some text has been given.
    begun: bool,
}

impl Stream {
    /// A new text. Control and unknown pieces give no text.
    pub fn new() -> Stream {
        Stream::default()
    }

    /// Whether control and unknown pieces give their own text too.
    pub fn show_specials(mut self, show: bool) -> Stream {
        self.show_specials = show;
        self
    }

    /// Goes on in the middle of a text: a first space is kept even in vocabularies that put one
    /// before every text.
    pub fn continuing(mut self) -> Stream {
        self.begun = true;
        self
    }

    /// Takes the next id; returns the whole characters that are now certain.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<&str, Error> {
        let before = self.held.len();
        self.out.clear();
        tokenizer.write(id, self.show_specials, &mut self.held)?;
        if !self.begun && self.held.len() > before {
            self.begun = true;
            if tokenizer.drops_first_space() && self.held.first() == Some(&b' ') {
                self.held.drop_front(1);
            }
        }
        self.release();
        Ok(self.out.as_str())
    }

    /// What is left; an unfinished character becomes U+FFFD, so that nothing of the text is in
    /// what this returns. The stream is then new.
    pub fn finish(&mut self) -> String {
        self.out.clear();
        let rest = String::from_utf8_lossy(&self.held).into_owned();
        self.held.clear();
        self.begun = false;
        rest
    }

    /// Whether bytes are held back.
    pub fn is_pending(&self) -> bool {
        !self.held.is_empty()
    }

    /// Moves whole characters, and broken ones as U+FFFD, from `held` to `out`.
    fn release(&mut self) {
        let mut used = 0;
        loop {
            let rest = &self.held[used..];
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.out.push_str(text);
                    used = self.held.len();
                    break;
                }
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    self.out.push_str(&String::from_utf8_lossy(valid));
                    used += valid.len();
                    let Some(broken) = error.error_len() else { break };
                    self.out.push_str("\u{fffd}");
                    used += broken;
                }
            }
        }
        self.held.drop_front(used);
    }
}

/// A [`Stream`] together with its tokenizer.
pub struct Decoder<'t> {
    tokenizer: &'t Tokenizer,
    stream: Stream,
}

impl<'t> Decoder<'t> {
    pub(crate) fn new(tokenizer: &'t Tokenizer) -> Decoder<'t> {
        Decoder { tokenizer, stream: Stream::new() }
    }

    /// Whether control and unknown pieces give their own text too.
    pub fn show_specials(mut self, show: bool) -> Decoder<'t> {
        self.stream = std::mem::take(&mut self.stream).show_specials(show);
        self
    }

    /// See [`Stream::continuing`].
    pub fn continuing(mut self) -> Decoder<'t> {
        self.stream = std::mem::take(&mut self.stream).continuing();
        self
    }

    /// Takes the next id; returns the whole characters that are now certain.
    pub fn push(&mut self, id: u32) -> Result<&str, Error> {
        self.stream.push(self.tokenizer, id)
    }

    /// What is left; an unfinished character becomes U+FFFD.
    pub fn finish(&mut self) -> String {
        self.stream.finish()
    }
}
