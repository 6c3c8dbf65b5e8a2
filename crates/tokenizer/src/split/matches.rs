//! A stage that cuts out what a small matcher finds, and the matchers of Chameleon.

use recinto_os::Wiped;

use super::{Matcher, chars::Part};

/// Cuts out every match, from the left; what lies between stays whole.
pub(crate) fn matches(part: Part<'_>, matcher: Matcher, ends: &mut Wiped<u32>) {
    let (mut gap, mut at) = (part.start, part.start);
    while at < part.end() {
        let end = matcher(part, at);
        if end == at {
            at += 1;
            continue;
        }
        if at > gap {
            ends.push(at as u32);
        }
        ends.push(end as u32);
        (gap, at) = (end, end);
    }
    if gap < part.end() {
        ends.push(part.end() as u32);
    }
}

/// Where `text` ends if it begins at `at`.
fn after(part: Part<'_>, at: usize, text: &str) -> Option<usize> {
    let is = (at..).zip(text.chars()).all(|(at, c)| part.char(at) == c);
    is.then(|| at + text.chars().count())
}

/// `<sentinel:[0-9]+>`
pub(crate) fn sentinel(part: Part<'_>, at: usize) -> usize {
    let Some(from) = after(part, at, "<sentinel:") else { return at };
    let end = part.run(from, |c, _| c.is_ascii_digit());
    if end > from && part.char(end) == '>' { end + 1 } else { at }
}

/// `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`
pub(crate) fn image(part: Part<'_>, at: usize) -> usize {
    let Some(from) = after(part, at, "IMGIMG") else { return at };
    let letters = (from..from + 4).take_while(|at| matches!(part.char(*at), 'A'..='I')).count();
    let end = from + letters;
    if letters > 0 && part.char(end) == 'Z' { end + 1 } else { at }
}

/// `([\t\n]|    |  )`
pub(crate) fn blank(part: Part<'_>, at: usize) -> usize {
    if matches!(part.char(at), '\t' | '\n') {
        return at + 1;
    }
    after(part, at, "    ").or_else(|| after(part, at, "  ")).unwrap_or(at)
}
