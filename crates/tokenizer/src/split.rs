//! Pre-tokenizers: where text is cut before merging, one row a word of `tokenizer.ggml.pre`.
//!
//! Splitters are scanners written by hand over Unicode general categories. Each takes linear time,
//! none calls itself, and each cuts where the regular expressions of the reference cut.

mod cased;
mod chars;
mod runs;
mod words;

use recinto_os::Wiped;

pub(crate) use chars::Chars;
use chars::{L, M, N, P, S, W};
use runs::Lead;

/// One pass over the text; each cuts inside the pieces of the one before.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    /// GPT-2's expression.
    Gpt2,
    /// The family of Llama 3 and Qwen 2.
    Words(words::Rule),
    /// The family of o200k: words are cut where the case changes.
    Cased(cased::Rule),
    /// DeepSeek V3's last expression; `tail`: line ends stay with the punctuation before them.
    Marks { tail: bool },
    /// Runs of a class, at most `most` long; what lies between stays whole.
    Runs { lead: Lead, class: Class, most: u32 },
    /// Digits in threes, counted from the right.
    Threes,
    /// White space at the end.
    Tail,
    /// Lines and runs of line ends.
    Lines,
}

/// A set of characters, from the character and its class bits.
pub(crate) type Class = fn(char, u8) -> bool;

/// One pre-tokenizer.
#[derive(Clone, Copy)]
pub(crate) struct Pre {
    /// Every word of `tokenizer.ggml.pre` that means it.
    pub words: &'static [&'static str],
    pub stages: &'static [Stage],
    /// A word that is a piece is taken whole.
    pub whole: bool,
    /// BOS is added unless the file says otherwise.
    pub add_bos: bool,
    /// Spaces become `▁` and bytes have pieces such as `<0x0A>`; else the byte-level alphabet.
    pub escaped: bool,
    /// Special pieces that swallow the white space before them.
    pub strips_before: &'static [&'static str],
}

const PLAIN: Pre = Pre {
    words: &[],
    stages: &[Stage::Gpt2],
    whole: false,
    add_bos: false,
    escaped: false,
    strips_before: &[],
};

const fn any(class: Class) -> Stage {
    Stage::Runs { lead: Lead::None, class, most: u32::MAX }
}

const fn upto(most: u32, class: Class) -> Stage {
    Stage::Runs { lead: Lead::None, class, most }
}

const fn led(lead: Lead, class: Class) -> Stage {
    Stage::Runs { lead, class, most: u32::MAX }
}

const LETTER: Class = |_, bits| bits & L != 0;
const NUMBER: Class = |_, bits| bits & N != 0;
const PUNCTUATION: Class = |_, bits| bits & P != 0;
const LINE_END: Class = |c, _| matches!(c, '\r' | '\n');
/// Punctuation and some ASCII symbols, for the default pre-tokenizer and Falcon's.
const POINTS: Class =
    |c, bits| bits & P != 0 || matches!(c, '$' | '+' | '<'..='>' | '^' | '~' | '|');
const FALCON: Class = |c, bits| POINTS(c, bits) || c == '`';
/// Chinese as DeepSeek cuts it, which is wider than Chinese.
const HAN: Class =
    |c, bits| bits & W == 0 && matches!(c, '\u{800}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7ff}');
const HAN_KANA: Class = |c, _| matches!(c, '\u{4e00}'..='\u{9fa5}' | '\u{3040}'..='\u{30ff}');
const DEEPSEEK_POINTS: Class = |c, _| {
    matches!(c, '!'..='/' | ':'..='~' | '！'..='／' | '：'..='～' | '\u{2018}'..='\u{201f}'
        | '\u{3001}'..='\u{3002}')
};
const CASED_LETTER: Class = |c, _| chars::within(chars::CASED, c);
const UNPOINTED: Class = |c, bits| {
    bits & W == 0
        && !matches!(
            c,
            '(' | '|' | '.' | ',' | '!' | '?' | '…' | '。' | '，' | '、' | '।' | '۔' | '،' | ')'
        )
};
const AFMOE: Class = |c, _| {
    matches!(c, '\u{4e00}'..='\u{faff}' | '\u{3400}'..='\u{4dbf}' | '\u{3040}'..='\u{30ff}'
        | '\u{ff65}'..='\u{ff9f}' | '\u{2f00}'..='\u{2fdf}' | '\u{e40}'..='\u{eff}'
        | '\u{1780}'..='\u{17ff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}')
};

const GPT2_DIGITS: &[Stage] = &[upto(1, NUMBER), Stage::Gpt2];
const LLAMA3: &[Stage] = &[Stage::Words(words::Rule { digits: 3, ..words::PLAIN })];
const QWEN2: &[Stage] = &[Stage::Words(words::PLAIN)];
const O200K: &[Stage] = &[Stage::Cased(cased::O200K)];
const DEEPSEEK3: &[Stage] = &[upto(3, NUMBER), any(HAN_KANA), Stage::Marks { tail: true }];

/// The splitter of files that name none.
pub(crate) const DEFAULT: Pre = Pre {
    words: &["default"],
    stages: &[
        any(POINTS),
        Stage::Gpt2,
        any(NUMBER),
        Stage::Runs { lead: Lead::Exact(3), class: |c, _| c.is_ascii_digit(), most: 3 },
    ],
    ..PLAIN
};

/// `gemma4` as a model word: lines, spaces escaped.
pub(crate) const GEMMA4: Pre =
    Pre { words: &["gemma4"], stages: &[Stage::Lines], escaped: true, add_bos: true, ..PLAIN };

/// Every pre-tokenizer; the only place that knows their words.
pub(crate) const TABLE: &[Pre] = &[
    DEFAULT,
    Pre {
        words: &[
            "gpt-2",
            "phi-2",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "exaone4",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
        ],
        ..PLAIN
    },
    Pre { words: &["jina-es", "jina-de", "jina-v1-en", "roberta-bpe"], ..PLAIN },
    Pre {
        words: &["jina-v2-es", "jina-v2-de", "jina-v2-code"],
        strips_before: &["<mask>"],
        ..PLAIN
    },
    Pre {
        words: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        stages: LLAMA3,
        whole: true,
        add_bos: true,
        ..PLAIN
    },
    Pre { words: &["dbrx", "smaug-bpe", "chatglm-bpe"], stages: LLAMA3, ..PLAIN },
    Pre { words: &["glm4", "glm5"], stages: LLAMA3, whole: true, ..PLAIN },
    Pre {
        words: &[
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "stablelm2",
            "megrez",
            "hunyuan",
            "solar-open",
            "grok-2",
            "bailingmoe",
            "bailingmoe2",
            "llada-moe",
        ],
        stages: QWEN2,
        ..PLAIN
    },
    Pre {
        words: &["qwen35"],
        stages: &[Stage::Words(words::Rule { marks: true, ..words::PLAIN })],
        ..PLAIN
    },
    Pre {
        words: &["seed-coder"],
        stages: &[Stage::Words(words::Rule { tail: false, ..words::PLAIN })],
        ..PLAIN
    },
    Pre {
        words: &["ufakzeka"],
        stages: &[Stage::Words(words::Rule { contractions: false, ..words::PLAIN })],
        ..PLAIN
    },
    Pre { words: &["laguna"], stages: &[Stage::Lines, Stage::Words(words::PLAIN)], ..PLAIN },
    Pre {
        words: &["minicpm5"],
        stages: &[upto(3, NUMBER), Stage::Words(words::Rule { digits: u32::MAX, ..words::PLAIN })],
        whole: true,
        ..PLAIN
    },
    Pre {
        words: &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        stages: GPT2_DIGITS,
        ..PLAIN
    },
    Pre {
        words: &["falcon"],
        stages: &[
            any(FALCON),
            Stage::Gpt2,
            Stage::Runs { lead: Lead::Exact(3), class: |c, _| c.is_ascii_digit(), most: 3 },
        ],
        ..PLAIN
    },
    Pre {
        words: &["deepseek-llm"],
        stages: &[
            upto(1, LINE_END),
            led(Lead::White, CASED_LETTER),
            led(Lead::White, DEEPSEEK_POINTS),
            Stage::Tail,
            any(HAN),
            any(NUMBER),
        ],
        ..PLAIN
    },
    Pre {
        words: &["deepseek-coder"],
        stages: &[
            upto(1, LINE_END),
            led(Lead::White, LETTER),
            led(Lead::White, PUNCTUATION),
            any(HAN),
            upto(1, NUMBER),
        ],
        ..PLAIN
    },
    Pre {
        words: &["deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"],
        stages: DEEPSEEK3,
        ..PLAIN
    },
    Pre {
        words: &["spark2_5"],
        stages: &[upto(3, NUMBER), any(HAN_KANA), Stage::Marks { tail: false }, upto(1, NUMBER)],
        ..PLAIN
    },
    Pre {
        words: &["afmoe"],
        stages: &[Stage::Threes, any(AFMOE), Stage::Marks { tail: true }],
        ..PLAIN
    },
    Pre { words: &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], stages: O200K, ..PLAIN },
    Pre {
        words: &["tekken"],
        stages: &[Stage::Cased(cased::Rule { contractions: false, digits: 1, ..cased::O200K })],
        whole: true,
        add_bos: true,
        ..PLAIN
    },
    Pre {
        words: &["granite-embed-multi-97m"],
        stages: &[Stage::Cased(cased::Rule { marks: true, ..cased::O200K })],
        whole: true,
        ..PLAIN
    },
    Pre {
        words: &["tiny_aya", "cohere2moe"],
        stages: &[
            Stage::Threes,
            Stage::Cased(cased::Rule { marks: true, cases: false, ..cased::O200K }),
        ],
        ..PLAIN
    },
    Pre {
        words: &["youtu"],
        stages: &[
            any(|c, _| matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{3131}'..='\u{318e}')),
            any(|c, _| {
                matches!(c, '！' | '…' | '“' | '”' | '‘' | '’' | '—' | '：' | '；' | '，'
                    | '\u{3001}'..='\u{303f}' | '\u{fe30}'..='\u{fe4f}')
            }),
            any(|c, _| matches!(c, '\u{3105}'..='\u{312f}')),
            any(HAN_KANA),
            Stage::Cased(cased::Rule { marks: true, cases: false, digits: 1, ..cased::O200K }),
        ],
        whole: true,
        ..PLAIN
    },
    Pre {
        words: &["poro-chat", "bloom", "gpt3-finnish"],
        stages: &[led(Lead::Space, UNPOINTED)],
        ..PLAIN
    },
    Pre { words: &["viking"], stages: &[led(Lead::Space, UNPOINTED), upto(1, NUMBER)], ..PLAIN },
    Pre { words: &["gemma4", "granite-embed-multi-311m"], ..GEMMA4 },
];

/// The pre-tokenizer with this word.
pub(crate) fn find(word: &str) -> Option<&'static Pre> {
    TABLE.iter().find(|pre| pre.words.contains(&word))
}

/// Cuts `chars` by all stages; `ends` gets the end of each piece, in characters.
pub(crate) fn cut(chars: &Chars, stages: &[Stage], ends: &mut Wiped<u32>) {
    ends.clear();
    if chars.len() == 0 {
        return;
    }
    ends.push(chars.len());
    let mut before = Wiped::default();
    for stage in stages {
        std::mem::swap(ends, &mut before);
        ends.clear();
        let mut start = 0;
        for end in before.iter().copied() {
            let part = chars.part(start, end);
            match *stage {
                Stage::Gpt2 => words::gpt2(part, ends),
                Stage::Words(rule) => words::words(part, rule, ends),
                Stage::Cased(rule) => cased::cased(part, rule, ends),
                Stage::Marks { tail } => words::marks(part, tail, ends),
                Stage::Runs { lead, class, most } => runs::runs(part, lead, class, most, ends),
                Stage::Threes => runs::threes(part, ends),
                Stage::Tail => runs::tail(part, ends),
                Stage::Lines => runs::lines(part, ends),
            }
            start = end;
        }
    }
}

/// Bits that are neither white space nor letter nor number.
#[inline]
fn other(bits: u8) -> bool {
    bits & (W | L | N) == 0
}

#[inline]
fn mark_or_letter(bits: u8) -> bool {
    bits & (L | M) != 0
}

#[inline]
fn point_or_symbol(bits: u8) -> bool {
    bits & (P | S) != 0
}

#[cfg(test)]
mod tests;
