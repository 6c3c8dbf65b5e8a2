//! Added pieces as `tokenizer.json` has them: from the left, the longest one at each place.

use std::ops::Range;

use recinto_os::Wiped;

use super::{Entry, Hit, Specials};
use crate::split;

impl Specials {
    /// The pieces in `text`, in order and apart; none that is guarded touches `content`, which is
    /// sorted and apart.
    pub(crate) fn leftmost(&self, text: &str, content: &[Range<usize>]) -> Wiped<Hit> {
        let mut hits: Wiped<Hit> = Wiped::default();
        let mut ahead = content.iter().peekable();
        let (mut at, mut free) = (0, 0);
        while at < text.len() {
            while ahead.next_if(|range| range.end <= at).is_some() {}
            let border = ahead.peek().map_or(usize::MAX, |range| range.start);
            let mut found: Option<(Entry, usize)> = None;
            self.prefixes(&text.as_bytes()[at..], |entry, length| {
                if !(entry.guarded && at + length > border) {
                    found = Some((*entry, length));
                }
            });
            let Some((entry, length)) = found else {
                at += 1;
                continue;
            };
            let (start, end) = (at, at + length);
            at = end;
            if entry.word && !stands_alone(text, start, end) {
                continue;
            }
            let (mut from, mut to) = (start, end);
            if entry.strip.before {
                from = text[free..start].trim_end().len() + free;
            }
            if entry.strip.after {
                to = text.len() - text[end..].trim_start().len();
            }
            hits.push(Hit { id: entry.id, start: from as u32, end: to as u32 });
            (at, free) = (to, to);
        }
        hits
    }
}

/// No letter or digit touches `text[start..end]`.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is = |c: char| split::is_word(c, split::bits(c));
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    !before.is_some_and(is) && !after.is_some_and(is)
}
