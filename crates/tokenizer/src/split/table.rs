//! The table of pre-tokenizers: one row a word of `tokenizer.ggml.pre`.
//!
//! Source of words and flags: the reference's loader of vocabularies; of the splitters: the regular
//! expressions published with the models, as the reference reads them.

use super::{
    Class, Pre, Stage,
    cased::{self, Cases},
    chars::{self, L, N, P, W},
    matches,
    runs::Lead,
    words,
};

pub(crate) const PLAIN: Pre = Pre {
    words: &[],
    stages: GPT2,
    whole: false,
    add_bos: false,
    escaped: false,
    lines_whole: false,
    strips_before: &[],
};

pub(crate) const fn any(class: Class) -> Stage {
    Stage::Runs { lead: Lead::None, class, most: u32::MAX }
}

pub(crate) const fn upto(most: u32, class: Class) -> Stage {
    Stage::Runs { lead: Lead::None, class, most }
}

pub(crate) const fn led(lead: Lead, class: Class) -> Stage {
    Stage::Runs { lead, class, most: u32::MAX }
}

pub(crate) const LETTER: Class = |_, bits| bits & L != 0;
pub(crate) const NUMBER: Class = |_, bits| bits & N != 0;
pub(crate) const PUNCTUATION: Class = |_, bits| bits & P != 0;
pub(crate) const LINE_END: Class = |c, _| matches!(c, '\r' | '\n');
/// Punctuation and some ASCII symbols, for the default pre-tokenizer and Falcon's.
pub(crate) const POINTS: Class =
    |c, bits| bits & P != 0 || matches!(c, '$' | '+' | '<'..='>' | '^' | '~' | '|');
pub(crate) const FALCON: Class = |c, bits| POINTS(c, bits) || c == '`';
/// Chinese as DeepSeek cuts it, which is wider than Chinese.
pub(crate) const HAN: Class =
    |c, bits| bits & W == 0 && matches!(c, '\u{800}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7ff}');
pub(crate) const HAN_KANA: Class =
    |c, _| matches!(c, '\u{4e00}'..='\u{9fa5}' | '\u{3040}'..='\u{30ff}');
pub(crate) const DEEPSEEK_POINTS: Class = |c, _| {
    matches!(c, '!'..='/' | ':'..='~' | '！'..='／' | '：'..='～' | '\u{2018}'..='\u{201f}'
        | '\u{3001}'..='\u{3002}')
};
pub(crate) const CASED_LETTER: Class = |c, _| chars::within(chars::CASED, c);
pub(crate) const UNPOINTED: Class = |c, bits| {
    bits & W == 0
        && !matches!(
            c,
            '(' | '|' | '.' | ',' | '!' | '?' | '…' | '。' | '，' | '、' | '।' | '۔' | '،' | ')'
        )
};
pub(crate) const AFMOE: Class = |c, _| {
    matches!(c, '\u{4e00}'..='\u{faff}' | '\u{3400}'..='\u{4dbf}' | '\u{3040}'..='\u{30ff}'
        | '\u{ff65}'..='\u{ff9f}' | '\u{2f00}'..='\u{2fdf}' | '\u{e40}'..='\u{eff}'
        | '\u{1780}'..='\u{17ff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}')
};

pub(crate) const GPT2: &[Stage] = &[Stage::Gpt2];
pub(crate) const GPT2_DIGITS: &[Stage] = &[upto(1, NUMBER), Stage::Gpt2];
pub(crate) const LLAMA3: &[Stage] = &[Stage::Words(words::Rule { digits: 3, ..words::PLAIN })];
pub(crate) const QWEN2: &[Stage] = &[Stage::Words(words::PLAIN)];
pub(crate) const QWEN35: &[Stage] = &[Stage::Words(words::Rule { marks: true, ..words::PLAIN })];
pub(crate) const SEED: &[Stage] = &[Stage::Words(words::Rule { tail: false, ..words::PLAIN })];
/// Three ASCII digits, no more and no fewer.
pub(crate) const THREE: Stage =
    Stage::Runs { lead: Lead::Exact(3), class: |c, _| c.is_ascii_digit(), most: 3 };
pub(crate) const O200K: &[Stage] = &[Stage::Cased(cased::O200K)];
pub(crate) const DEEPSEEK3: &[Stage] =
    &[upto(3, NUMBER), any(HAN_KANA), Stage::Marks { tail: true }];

/// The splitter of files that name none.
pub(crate) const DEFAULT: Pre =
    Pre { words: &["default"], stages: &[any(POINTS), Stage::Gpt2, any(NUMBER), THREE], ..PLAIN };

/// `gemma4` as a model word: lines, spaces escaped.
pub(crate) const GEMMA4: Pre = Pre {
    words: &["gemma4"],
    stages: &[Stage::Lines],
    escaped: true,
    lines_whole: true,
    add_bos: true,
    ..PLAIN
};

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
    Pre { words: &["qwen35"], stages: QWEN35, ..PLAIN },
    Pre { words: &["seed-coder"], stages: SEED, ..PLAIN },
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
    Pre { words: &["falcon"], stages: &[any(FALCON), Stage::Gpt2, THREE], ..PLAIN },
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
            Stage::Cased(cased::Rule { marks: true, cases: Cases::None, ..cased::O200K }),
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
            Stage::Cased(cased::Rule {
                marks: true,
                cases: Cases::None,
                digits: 1,
                ..cased::O200K
            }),
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
    Pre { words: &["sarvam-moe"], stages: &[Stage::Lines], escaped: true, ..PLAIN },
    Pre {
        words: &["jais-2"],
        stages: &[Stage::Words(words::Rule { digits: 3, halves: true, ..words::PLAIN })],
        ..PLAIN
    },
    Pre { words: &["exaone-moe"], stages: &[Stage::Phrases], ..PLAIN },
    Pre { words: &["kimi-k2"], stages: &[Stage::Kimi], ..PLAIN },
    Pre { words: &["superbpe"], stages: &[any(NUMBER), Stage::Groups], ..PLAIN },
    Pre {
        words: &["chameleon"],
        stages: &[
            Stage::Matches(matches::sentinel),
            Stage::Matches(matches::image),
            Stage::Matches(matches::blank),
            upto(1, NUMBER),
            upto(1, |c, bits| bits & P != 0 || c.is_ascii_punctuation()),
            Stage::Gpt2,
        ],
        add_bos: true,
        ..PLAIN
    },
    // Its model word, `whitespace` too, drops the white space itself.
    Pre { words: &["whitespace"], stages: &[any(|_, bits| bits & W == 0)], ..PLAIN },
];
