//! What must hold for any text.

use crate::common;

use std::sync::LazyLock;

use common::{CONTROL, NORMAL, USER, build, byte_level, scored};
use proptest::prelude::*;
use recinto_tokenizer::{Stream, Tokenizer};

/// Every word of `tokenizer.ggml.pre` whose splitter is another one.
const PRES: &[&str] = &[
    "default",
    "gpt-2",
    "llama-bpe",
    "qwen2",
    "qwen35",
    "seed-coder",
    "ufakzeka",
    "laguna",
    "minicpm5",
    "smollm",
    "falcon",
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
    "spark2_5",
    "afmoe",
    "gpt-4o",
    "tekken",
    "granite-embed-multi-97m",
    "tiny_aya",
    "youtu",
    "bloom",
    "viking",
    "jina-v2-es",
    "jais-2",
    "exaone-moe",
    "kimi-k2",
    "superbpe",
    "chameleon",
];

static BYTE_LEVEL: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let merges = [("a", "a"), (" ", " "), ("e", "s"), (" ", "es"), ("aa", "aa"), ("\n", "\n")];
    let extra = [("<|fin|>", CONTROL), ("<think>", USER), ("   ", USER)];
    PRES.iter().map(|pre| build(&byte_level(pre, &merges, &extra))).collect()
});

static SCORED: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let rows = [
        ("▁", -1.0, NORMAL),
        ("es", -2.0, NORMAL),
        ("▁es", -3.0, NORMAL),
        ("e", -9.0, NORMAL),
        ("s", -9.0, NORMAL),
        ("<|fin|>", 0.0, CONTROL),
    ];
    let bare = scored(&rows).key("tokenizer.ggml.add_space_prefix", false);
    vec![build(&scored(&rows)), build(&bare)]
});

fn text() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "a",
        "aaaa",
        "es",
        " es",
        "ñandú",
        "¿Qué?",
        "É",
        "EÉe",
        "ABCdef",
        "'s",
        "'LL",
        "12345",
        "½",
        "٣",
        "中文",
        "かな",
        "हिन्दी",
        "e\u{301}",
        "😀",
        "👩‍💻",
        "<|fin|>",
        "<think>",
        "<|f<|fin|>in|>",
        " ",
        "   ",
        "\t",
        "\n",
        "\r\n",
        "\u{a0}",
        "\u{3000}",
        "/",
        "...",
        "(x)",
        "\0",
        "\u{1c}",
    ];
    let part = prop_oneof![
        8 => prop::sample::select(PARTS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

fn check(tokenizer: &Tokenizer, text: &str, cut: (usize, usize)) {
    let content = cut.0.min(text.len())..cut.1.max(cut.0).min(text.len());
    let tokens = tokenizer.encode(text, std::slice::from_ref(&content)).expect("encodes");
    let mut at = 0;
    for token in tokens.iter() {
        assert!(token.start == at && token.end >= at, "{:?}", &tokens[..]);
        at = token.end;
        let touches = !content.is_empty()
            && (token.start as usize) < content.end
            && content.start < token.end as usize;
        assert!(!(touches && tokenizer.is_special(token.id)), "special in content: {token:?}");
    }
    assert_eq!(at as usize, text.len(), "{:?}", &tokens[..]);
    let mut stream = Stream::new().show_specials(true);
    let mut decoded = String::new();
    for token in tokens.iter() {
        decoded.push_str(stream.push(tokenizer, token.id).expect("an id"));
    }
    decoded.push_str(&stream.finish());
    if tokenizer.describe().model == "gpt2" {
        assert_eq!(decoded, text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn byte_level_texts_come_back(text in text(), cut in (0usize..60, 0usize..60)) {
        for tokenizer in BYTE_LEVEL.iter() {
            check(tokenizer, &text, cut);
        }
    }

    #[test]
    fn scored_texts_are_covered(text in text(), cut in (0usize..60, 0usize..60)) {
        for tokenizer in SCORED.iter() {
            check(tokenizer, &text, cut);
        }
        let bare = &SCORED[1];
        let tokens = bare.encode_plain(&text).expect("encodes");
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        // `▁` and a space are one piece; nothing can tell them apart afterwards.
        prop_assert_eq!(bare.decode(&ids).expect("ids"), text.replace('▁', " "));
    }

    #[test]
    fn streams_agree_with_the_whole(ids in prop::collection::vec(0u32..262, 0..40)) {
        for tokenizer in [&BYTE_LEVEL[0], &SCORED[0]] {
            let mut bytes = Vec::new();
            let mut stream = Stream::new().show_specials(true).continuing();
            let mut text = String::new();
            for id in &ids {
                bytes.extend_from_slice(&tokenizer.bytes(*id).expect("an id"));
                text.push_str(stream.push(tokenizer, *id).expect("an id"));
            }
            text.push_str(&stream.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn long_runs_through_every_splitter() {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        for (pre, tokenizer) in PRES.iter().zip(BYTE_LEVEL.iter()) {
            for c in ["A", "a", " ", "7", "中", "\n", "É", "'", "Aa", "\u{301}", "é7"] {
                let start = std::time::Instant::now();
                let tokens = tokenizer.encode(&c.repeat(100_000), &[]).expect("encodes");
                assert!(!tokens.is_empty(), "{pre} {c:?}");
                assert!(start.elapsed().as_secs() < 5, "{pre} {c:?}: {:?}", start.elapsed());
            }
        }
    });
    thread.expect("a thread").join().expect("no overflow, no panic");
}
