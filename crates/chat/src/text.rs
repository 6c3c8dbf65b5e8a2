//! Strings that know which of their bytes are data.
//!
//! Every string of a rendering is a `Text`: characters, and the sorted, disjoint byte ranges
//! that came from the caller. Operations on strings are built from two moves, copying a range
//! of a text and adding the template's own characters, and both keep the marks exact.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use zeroize::Zeroize;

use crate::meter;

/// Memory counted for a text beyond its bytes.
const OVERHEAD: usize = 96;

/// An immutable string with marks; cheap to clone, wiped when the last clone goes.
#[derive(Clone)]
pub(crate) struct Text(Rc<Chunk>);

struct Chunk {
    text: String,
    marks: Vec<Range<usize>>,
    /// Python's `Markup`: joining it with other text escapes the other text.
    markup: bool,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        meter::release(self.text.len() + OVERHEAD);
        self.text.zeroize();
    }
}

impl Text {
    fn build(text: String, marks: Vec<Range<usize>>, markup: bool) -> Text {
        meter::take(text.len() + OVERHEAD);
        Text(Rc::new(Chunk { text, marks, markup }))
    }

    /// The template's own characters.
    pub fn plain(text: &str) -> Text {
        Text::build(text.to_owned(), Vec::new(), false)
    }

    /// Characters of the caller.
    pub fn data(text: &str) -> Text {
        let whole = Some(0..text.len()).filter(|whole| !whole.is_empty());
        let marks = whole.into_iter().collect();
        Text::build(text.to_owned(), marks, false)
    }

    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    pub fn len(&self) -> usize {
        self.0.text.len()
    }

    /// Byte ranges that are data.
    pub fn marks(&self) -> &[Range<usize>] {
        &self.0.marks
    }

    pub fn has_data(&self) -> bool {
        !self.0.marks.is_empty()
    }

    /// Whether the byte at `at` is data.
    pub fn is_data(&self, at: usize) -> bool {
        let after = self.0.marks.partition_point(|mark| mark.start <= at);
        after > 0 && at < self.0.marks[after - 1].end
    }

    pub fn is_markup(&self) -> bool {
        self.0.markup
    }

    /// The same text as `Markup` (or not).
    pub fn with_markup(&self, markup: bool) -> Text {
        if self.0.markup == markup {
            return self.clone();
        }
        Text::build(self.0.text.clone(), self.0.marks.clone(), markup)
    }

    /// Bytes `range`, which lies on character borders.
    pub fn slice(&self, range: Range<usize>) -> Text {
        if range == (0..self.len()) {
            return self.clone();
        }
        let mut out = Builder::new();
        out.push_range(self, range);
        let mut text = out.finish();
        if self.is_markup() {
            text = text.with_markup(true);
        }
        text
    }

    /// Maximal runs of equal provenance: byte range, and whether it is data.
    pub fn runs(&self) -> Vec<(Range<usize>, bool)> {
        let mut runs = Vec::with_capacity(self.marks().len() * 2 + 1);
        let mut end = 0;
        for mark in self.marks() {
            if mark.start > end {
                runs.push((end..mark.start, false));
            }
            runs.push((mark.clone(), true));
            end = mark.end;
        }
        if end < self.len() {
            runs.push((end..self.len(), false));
        }
        runs
    }

    /// Each run changed by `change`, its provenance kept.
    pub fn map_runs(&self, mut change: impl FnMut(&str) -> String) -> Text {
        let mut out = Builder::new();
        for (range, data) in self.runs() {
            let mut changed = change(&self.as_str()[range]);
            out.push(&changed, data);
            changed.zeroize();
        }
        let text = out.finish();
        if self.is_markup() { text.with_markup(true) } else { text }
    }
}

/// A map key: looked up by its characters, whatever its marks.
#[derive(Clone)]
pub(crate) struct TextKey(pub Text);

impl Hash for TextKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl PartialEq for TextKey {
    fn eq(&self, other: &TextKey) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for TextKey {}

impl Borrow<str> for TextKey {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

/// A text that grows.
#[derive(Default)]
pub(crate) struct Builder {
    text: String,
    marks: Vec<Range<usize>>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Grows by copying and wiping: plain reallocation would leave data behind on the heap.
    fn reserve(&mut self, more: usize) {
        let needed = self.text.len() + more;
        if needed > self.text.capacity() {
            let mut grown = String::with_capacity(needed.max(self.text.capacity() * 2).max(32));
            grown.push_str(&self.text);
            self.text.zeroize();
            self.text = grown;
        }
    }

    fn mark(&mut self, range: Range<usize>) {
        match self.marks.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.marks.push(range),
        }
    }

    /// Adds characters, as data or as the template's own.
    pub fn push(&mut self, text: &str, data: bool) {
        if text.is_empty() {
            return;
        }
        self.reserve(text.len());
        let start = self.text.len();
        self.text.push_str(text);
        if data {
            self.mark(start..start + text.len());
        }
    }

    /// Adds the template's own characters.
    pub fn push_plain(&mut self, text: &str) {
        self.push(text, false);
    }

    pub fn push_text(&mut self, text: &Text) {
        self.push_range(text, 0..text.len());
    }

    /// Adds bytes `range` of `text` with their marks.
    pub fn push_range(&mut self, text: &Text, range: Range<usize>) {
        let start = self.text.len();
        self.push(&text.as_str()[range.clone()], false);
        let first = text.marks().partition_point(|mark| mark.end <= range.start);
        for mark in &text.marks()[first..] {
            if mark.start >= range.end {
                break;
            }
            let from = mark.start.max(range.start) - range.start + start;
            self.mark(from..mark.end.min(range.end) - range.start + start);
        }
    }

    pub fn finish(mut self) -> Text {
        Text::build(std::mem::take(&mut self.text), std::mem::take(&mut self.marks), false)
    }

    /// The characters and the ranges that are data.
    pub fn into_parts(mut self) -> (String, Vec<Range<usize>>) {
        (std::mem::take(&mut self.text), std::mem::take(&mut self.marks))
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        self.text.zeroize();
    }
}
