//! Word scanners of single families: EXAONE MoE's and Kimi K2's.

use recinto_os::Wiped;

use super::{
    chars::{L, M, N, Part, W},
    other,
    words::{self, contraction, white_lines},
};

/// `contraction|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|` and
/// ` ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`
pub(crate) fn phrases(part: Part<'_>, ends: &mut Wiped<u32>) {
    let letter = |at: usize| part.bits(at) & L != 0;
    let mut at = part.start;
    while at < part.end() {
        let c = part.char(at);
        let short = contraction(part, at, |c| c.to_ascii_lowercase());
        let leads = !matches!(c, '\r' | '\n') && part.bits(at) & (L | N) == 0;
        let from = at + usize::from(leads && letter(at + 1));
        let mark = at + usize::from(c == ' ' && at + 1 < part.end());
        at = if short > 0 {
            at + short
        } else if letter(from) {
            let mut end = from;
            while letter(end) || part.char(end) == ' ' && letter(end + 1) {
                end += usize::from(part.char(end) == ' ') + 1;
                end = part.run(end, |_, bits| bits & M != 0);
            }
            end
        } else if part.bits(at) & N != 0 {
            at + 1
        } else if other(part.bits(mark)) {
            let end = part.run(mark, |_, bits| other(bits));
            end + usize::from(matches!(part.char(end), '\r' | '\n' | '/'))
        } else {
            white_lines(part, at)
        };
        ends.push(at as u32);
    }
}

/// Chinese, words without it and their contractions, three digits, and the rest as in Llama 3's.
pub(crate) fn kimi(part: Part<'_>, ends: &mut Wiped<u32>) {
    let letter = |c: char, bits: u8| bits & L != 0 && !is_han(c);
    let is_letter = |at: usize| letter(part.char(at), part.bits(at));
    let mut at = part.start;
    while at < part.end() {
        let c = part.char(at);
        let leads = !matches!(c, '\r' | '\n') && part.bits(at) & (L | N) == 0;
        let first = at + usize::from(leads);
        let mark = at + usize::from(c == ' ' && at + 1 < part.end());
        at = if is_han(c) {
            part.run(at, |c, _| is_han(c))
        } else if is_letter(first) {
            let end = part.run(first, letter);
            end + contraction(part, end, |c| c.to_ascii_lowercase())
        } else if part.bits(at) & N != 0 {
            words::digits(part, at, 3)
        } else if part.bits(mark) & W == 0 && other(part.bits(mark)) {
            let end = part.run(mark, |_, bits| other(bits));
            part.run(end, |c, _| matches!(c, '\r' | '\n'))
        } else if part.bits(at) & W != 0 {
            white_lines(part, at)
        } else {
            at + 1
        };
        ends.push(at as u32);
    }
}

/// Chinese as Kimi K2 has it.
fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b820}'..='\u{2ceaf}'
        | '\u{2ceb0}'..='\u{2ebef}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
