//! Splitters that only sort characters: what is dropped, what stands alone, what stays together.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::chars::{M, N, P, W};

/// What becomes of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It divides and is dropped.
    Drop,
    /// It is a word by itself.
    Alone,
    /// It stays with neighbours of the same number.
    With(u8),
}

/// White space divides.
pub(crate) fn white(_: char, bits: u8) -> Side {
    if bits & W != 0 { Side::Drop } else { Side::With(0) }
}

/// `\w+|[^\w\s]+`: white space divides, and words from all else.
pub(crate) fn whitespace(c: char, bits: u8) -> Side {
    if bits & W != 0 { Side::Drop } else { Side::With(u8::from(is_word(c, bits))) }
}

/// BERT's: white space divides, punctuation stands alone.
pub(crate) fn bert(c: char, bits: u8) -> Side {
    if bits & W != 0 { Side::Drop } else { punctuation(c, bits) }
}

/// Punctuation, ASCII symbols among it, stands alone.
pub(crate) fn punctuation(c: char, bits: u8) -> Side {
    if c.is_ascii_punctuation() || bits & P != 0 { Side::Alone } else { Side::With(0) }
}

/// Each digit stands alone.
pub(crate) fn digits(_: char, bits: u8) -> Side {
    if bits & N != 0 { Side::Alone } else { Side::With(0) }
}

/// Runs of digits stand apart.
pub(crate) fn numbers(_: char, bits: u8) -> Side {
    Side::With(u8::from(bits & N != 0))
}

/// Runs of punctuation stand apart.
pub(crate) fn punctuations(c: char, bits: u8) -> Side {
    Side::With(u8::from(punctuation(c, bits) == Side::Alone))
}

/// Punctuation divides and is dropped.
pub(crate) fn unpunctuated(c: char, bits: u8) -> Side {
    if punctuation(c, bits) == Side::Alone { Side::Drop } else { Side::With(0) }
}

/// What `\w` means: letters, marks, digits, connectors, joiners.
pub(crate) fn is_word(c: char, bits: u8) -> bool {
    use GeneralCategory::{ConnectorPunctuation, DecimalNumber};
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    c.is_alphabetic()
        || bits & M != 0
        || matches!(c, '\u{200c}' | '\u{200d}')
        || matches!(c.general_category(), ConnectorPunctuation | DecimalNumber)
}

/// Chinese as BERT pads it; the published ranges, one of which begins late.
pub(crate) fn is_bert_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
