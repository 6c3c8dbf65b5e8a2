//! Text on its way to pieces that remembers where in the original each character comes from.

use recinto_os::Wiped;

/// A range of bytes in the original text.
pub(crate) type Span = (u32, u32);

/// A rewritten text and the origin of each of its bytes; wiped when dropped.
#[derive(Default)]
pub(crate) struct Traced {
    text: Wiped<u8>,
    /// For each byte, what its character stands for in the original; empty for what was added.
    from: Wiped<Span>,
    /// Most bytes it takes; [`Traced::is_full`] tells that more were meant to come.
    most: Option<usize>,
    full: bool,
}

impl Traced {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.from.clear();
        self.full = false;
    }

    /// From now on it takes at most this many bytes: a file's rules may double a text again and
    /// again.
    pub(crate) fn limit(&mut self, most: usize) {
        self.most = Some(most);
    }

    /// Whether something did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether so many bytes more fit.
    fn fits(&mut self, more: usize) -> bool {
        let fits = self.most.is_none_or(|most| self.text.len().saturating_add(more) <= most);
        self.full |= !fits;
        fits
    }

    /// Takes a part of the original text that begins at byte `at` of it.
    pub(crate) fn read(&mut self, text: &str, at: u32) {
        self.clear();
        self.text.extend_from_slice(text.as_bytes());
        for (start, c) in text.char_indices() {
            let start = at + start as u32;
            let span = (start, start + c.len_utf8() as u32);
            self.from.extend_from_slice(&[span; 4][..c.len_utf8()]);
        }
    }

    /// Adds a character that stands for `span`.
    pub(crate) fn push(&mut self, c: char, span: Span) {
        if !self.fits(c.len_utf8()) {
            return;
        }
        self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.from.extend_from_slice(&[span; 4][..c.len_utf8()]);
    }

    /// Adds a text, all of which stands for `span`.
    pub(crate) fn push_str(&mut self, text: &str, span: Span) {
        text.chars().for_each(|c| self.push(c, span));
    }

    /// Adds the part `start..end` of another one.
    pub(crate) fn copy(&mut self, other: &Traced, start: usize, end: usize) {
        if !self.fits(end.saturating_sub(start)) {
            return;
        }
        self.text.extend_from_slice(other.text.get(start..end).unwrap_or_default());
        self.from.extend_from_slice(other.from.get(start..end).unwrap_or_default());
    }

    /// The text; checked each time, so asked for once a pass.
    pub(crate) fn as_str(&self) -> &str {
        // Only whole characters go in.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.from.len()
    }

    /// Where the character with the byte `at` comes from.
    pub(crate) fn span(&self, at: usize) -> Span {
        self.from.get(at).copied().unwrap_or_default()
    }

    /// What the bytes `start..end` stand for together. A part of a character stands for that part
    /// of the original where the character is unchanged, else for all of it.
    pub(crate) fn spans(&self, start: usize, end: usize) -> Span {
        if start >= end || end > self.len() {
            return (0, 0);
        }
        let (first, last) = (self.span(start), self.span(end - 1));
        match (self.begins(start), self.begins(end)) {
            // Reordered accents may stand before what they came after.
            (true, true) => (first.0.min(last.0), last.1.max(first.1)),
            (true, false) => (first.0, self.byte_span(end - 1).1.max(first.0)),
            (false, true) => (self.byte_span(start).0.min(last.1), last.1),
            (false, false) => {
                let (first, last) = (self.byte_span(start), self.byte_span(end - 1));
                (first.0.min(last.0), last.1.max(first.1))
            }
        }
    }

    /// Whether a character begins at `at`, or the text ends there.
    fn begins(&self, at: usize) -> bool {
        self.text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
    }

    /// What the byte `at` alone stands for.
    pub(crate) fn byte_span(&self, at: usize) -> Span {
        let span = self.span(at);
        let before = (at.saturating_sub(3)..=at).rev().position(|at| self.begins(at));
        let before = before.unwrap_or_default();
        let after = (at + 1..=at + 4).position(|at| self.begins(at)).unwrap_or_default();
        if (span.1 - span.0) as usize != before + 1 + after {
            return span;
        }
        let start = span.0 + before as u32;
        (start, start + 1)
    }

    /// Each character with its first byte and its origin.
    pub(crate) fn chars(&self) -> impl Iterator<Item = (usize, char, Span)> + '_ {
        self.as_str().char_indices().map(|(at, c)| (at, c, self.span(at)))
    }
}
