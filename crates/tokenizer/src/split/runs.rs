//! Stages that cut out runs of a class and leave everything else whole.

use recinto_os::Wiped;

use super::{
    Class,
    chars::{N, Part, W},
};

/// What may, or must, stand before a run.
#[derive(Clone, Copy)]
pub(crate) enum Lead {
    /// Nothing.
    None,
    /// One white space character, if there is one.
    White,
    /// One space, if there is one.
    Space,
    /// Nothing, and the run counts only in groups of exactly this many.
    Exact(u32),
}

/// Cuts `lead? class{1,most}`.
pub(crate) fn runs(part: Part<'_>, lead: Lead, class: Class, most: u32, ends: &mut Wiped<u32>) {
    let mut gap = part.start;
    let mut at = part.start;
    while at < part.end() {
        let led = match lead {
            Lead::None | Lead::Exact(_) => false,
            Lead::White => part.bits(at) & W != 0,
            Lead::Space => part.char(at) == ' ',
        };
        let first = at + usize::from(led && at + 1 < part.end());
        let is = |at| class(part.char(at), part.bits(at));
        let from = if is(first) { first } else { at };
        if !is(from) {
            at += 1;
            continue;
        }
        let run = match most {
            1 => from + 1,
            u32::MAX => part.run(from, class),
            _ => {
                let mut end = from;
                while end < part.end() && end - from < most as usize && is(end) {
                    end += 1;
                }
                end
            }
        };
        if matches!(lead, Lead::Exact(exact) if run - from != exact as usize) {
            at = run;
            continue;
        }
        if at > gap {
            ends.push(at as u32);
        }
        ends.push(run as u32);
        (gap, at) = (run, run);
    }
    if gap < part.end() {
        ends.push(part.end() as u32);
    }
}

/// Cuts digits in threes counted from the right: 1234567 is 1, 234, 567.
pub(crate) fn threes(part: Part<'_>, ends: &mut Wiped<u32>) {
    let mut gap = part.start;
    let mut at = part.start;
    while at < part.end() {
        if part.bits(at) & N == 0 {
            at += 1;
            continue;
        }
        let run = part.run(at, |_, bits| bits & N != 0);
        // As in the reference, the first group takes in what stood before it.
        let short = (run - at) % 3;
        let mut end = at + if short == 0 { 3 } else { short };
        while end <= run {
            ends.push(end as u32);
            end += 3;
        }
        (gap, at) = (run, run);
    }
    if gap < part.end() {
        ends.push(part.end() as u32);
    }
}

/// Cuts before every group of three ASCII digits, counted from the right end of their run.
pub(crate) fn groups(part: Part<'_>, ends: &mut Wiped<u32>) {
    let mut at = part.start;
    let mut from = part.start;
    while at < part.end() {
        let run = part.run(at, |c, _| c.is_ascii_digit());
        let mut cut = at + (run - at) % 3;
        while cut < run {
            if cut > from {
                ends.push(cut as u32);
            }
            (from, cut) = (cut, cut + 3);
        }
        at = part.run(run, |c, _| !c.is_ascii_digit());
    }
    if from < part.end() {
        ends.push(part.end() as u32);
    }
}

/// Cuts white space off the end.
pub(crate) fn tail(part: Part<'_>, ends: &mut Wiped<u32>) {
    let mut from = part.end();
    while from > part.start && part.bits(from - 1) & W != 0 {
        from -= 1;
    }
    if from > part.start {
        ends.push(from as u32);
    }
    if from < part.end() {
        ends.push(part.end() as u32);
    }
}

/// Cuts lines from runs of line ends.
pub(crate) fn lines(part: Part<'_>, ends: &mut Wiped<u32>) {
    let mut at = part.start;
    while at < part.end() {
        let ended = part.char(at) == '\n';
        at = part.run(at, |c, _| (c == '\n') == ended);
        ends.push(at as u32);
    }
}
