//! The regular expressions of `tokenizer.json` that are known, and the stages that cut as they do.
//!
//! An expression that is not here is refused by its own text: nothing runs it, so nothing can run
//! it slowly or otherwise than it was meant.

use super::{
    Class, Stage,
    cased::{self, Cases},
    chars::{N, W},
    runs::Lead,
    table::*,
    words,
};

/// O200K with the case of every letter, as `tokenizer.json` means it.
const TRUE_CASES: cased::Rule = cased::Rule { marks: true, cases: Cases::Unicode, ..cased::O200K };

/// Expressions of `Split` and what cuts as they do, matches and gaps alike; and whether their
/// matches cover any text, so that dropping what lies between drops nothing.
pub(crate) const SPLIT: &[(&str, &[Stage], bool)] = &[
    (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        &[Stage::Gpt2],
        true,
    ),
    (
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        &[Stage::Gpt2],
        true,
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        LLAMA3,
        true,
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        QWEN2,
        true,
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        &[Stage::Words(words::Rule { digits: u32::MAX, ..words::PLAIN })],
        true,
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|",
            r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        QWEN35,
        true,
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|",
            r" ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        SEED,
        true,
    ),
    (
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        &[Stage::Cased(TRUE_CASES)],
        true,
    ),
    (
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|",
            r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        &[Stage::Cased(cased::Rule { contractions: false, digits: 1, ..TRUE_CASES })],
        true,
    ),
    (
        concat!(
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"##,
            "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|",
            "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
        ),
        &[Stage::Marks { tail: true }],
        false,
    ),
    ("[一-龥\u{3040}-ゟ゠-ヿ]+", &[any(HAN_KANA)], false),
    ("[一-龥ࠀ-一가-\u{d7ff}]+", &[any(HAN)], false),
    (r"\p{N}{1,3}", &[upto(3, NUMBER)], false),
    (r"\p{N}+", &[any(NUMBER)], false),
    (r"\p{N}", &[upto(1, NUMBER)], false),
    (r"\d+", &[any(DIGIT)], false),
    (r"\d", &[upto(1, DIGIT)], false),
    ("[0-9]", &[upto(1, ASCII_DIGIT)], false),
    ("[0-9]+", &[any(ASCII_DIGIT)], false),
    ("[0-9][0-9][0-9]", &[THREE], false),
    (r"(?=(\d{3})+(?!\d))", &[Stage::Groups], false),
    ("[\r\n]", &[upto(1, LINE_END)], false),
    (r"[\r\n]", &[upto(1, LINE_END)], false),
    (r"\n", &[upto(1, |c, _| c == '\n')], false),
    (r"\n+", &[any(|c, _| c == '\n')], false),
    (r"[^\n]+|[\n]+", &[Stage::Lines], true),
    (r"\s+", &[any(|_, bits| bits & W != 0)], false),
    (r"\s", &[upto(1, |_, bits| bits & W != 0)], false),
    (r"\S+", &[any(|_, bits| bits & W == 0)], false),
    (r"\s?\p{L}+", &[led(Lead::White, LETTER)], false),
    (r"\s?\p{P}+", &[led(Lead::White, PUNCTUATION)], false),
    (r"\s+$", &[Stage::Tail], false),
    (r" ?[^(\s|.,!?…。，、।۔،)]+", &[led(Lead::Space, UNPOINTED)], false),
    (r" ?[^(\s|[.,!?…。，、।۔،])]+", &[led(Lead::Space, UNPOINTED)], false),
    (r"[\p{P}\$\+<=>\^~\|]+", &[any(POINTS)], false),
    (r"[\p{P}\$\+<=>\^~\|`]+", &[any(FALCON)], false),
];

const ASCII_DIGIT: Class = |c, _| c.is_ascii_digit();
/// Decimal digits of any script; other numbers are none.
const DIGIT: Class = |c, bits| bits & N != 0 && is_decimal(c);

fn is_decimal(c: char) -> bool {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
    c.is_ascii_digit() || c.general_category() == GeneralCategory::DecimalNumber
}

/// Expressions of `Replace`: a class of characters, and how many of them in a row at least.
pub(crate) const REPLACED: &[(&str, Class, usize)] = &[
    (" {2,}", |c, _| c == ' ', 2),
    (" +", |c, _| c == ' ', 1),
    (r"\s+", |_, bits| bits & W != 0, 1),
    (r"\s{2,}", |_, bits| bits & W != 0, 2),
    (r"\n+", |c, _| c == '\n', 1),
];
