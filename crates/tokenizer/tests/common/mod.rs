//! Small vocabularies built in memory.
#![allow(dead_code)] // Each test file uses its own part.

use std::time::{Duration, Instant};

use recinto_testkit::gguf::{Builder, Value};
use recinto_tokenizer::{Error, Tokenizer};
use recinto_weights::File;

/// Most time of its own that a text of a million characters may take. On an idle core each takes
/// less than one second; neighbours on the same core and cache make the same work longer, so two
/// are allowed. What is quadratic takes hours.
pub const LONGEST: Duration = Duration::from_secs(2);

/// What this thread has computed: the processor's time, which waiting for a core does not raise.
pub struct Spent {
    processor: Option<Duration>,
    clock: Instant,
}

impl Spent {
    pub fn now() -> Spent {
        Spent { processor: processor_time(), clock: Instant::now() }
    }

    pub fn so_far(&self) -> Duration {
        let now = processor_time().zip(self.processor);
        now.map_or(self.clock.elapsed(), |(now, then)| now.saturating_sub(then))
    }
}

/// From the first field of the kernel's own record, nanoseconds; not every kernel keeps it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

pub const NORMAL: i32 = 1;
pub const UNKNOWN: i32 = 2;
pub const CONTROL: i32 = 3;
pub const USER: i32 = 4;
pub const UNUSED: i32 = 5;
pub const BYTE: i32 = 6;

/// The printable character of a byte, as GPT-2's alphabet has it.
pub fn alphabet(byte: u8) -> char {
    let prints = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if prints(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|b| !prints(*b)).count() as u32;
    char::from_u32(0x100 + before).expect("a character")
}

/// A text in the alphabet.
pub fn written(text: &str) -> String {
    text.bytes().map(alphabet).collect()
}

/// A byte-level vocabulary: all bytes (ids 0 to 255), then the merged pieces, then `extra`.
pub fn byte_level(pre: &str, merges: &[(&str, &str)], extra: &[(&str, i32)]) -> Builder {
    let mut tokens: Vec<String> = (0..=255).map(|byte| alphabet(byte).to_string()).collect();
    let mut kinds = vec![NORMAL; 256];
    let mut lines = Vec::new();
    for (left, right) in merges {
        let (left, right) = (written(left), written(right));
        tokens.push(format!("{left}{right}"));
        kinds.push(NORMAL);
        lines.push(format!("{left} {right}"));
    }
    for (piece, kind) in extra {
        tokens.push((*piece).into());
        kinds.push(*kind);
    }
    Builder::new()
        .key("general.architecture", "tiny")
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", pre)
        .key("tokenizer.ggml.tokens", tokens)
        .key("tokenizer.ggml.token_type", kinds)
        .key(
            "tokenizer.ggml.merges",
            Value::ArrayOf(8, lines.into_iter().map(Value::Str).collect()),
        )
}

/// A SentencePiece-style vocabulary: `<unk>`, `<s>`, `</s>`, all bytes (ids 3 to 258), then
/// `pieces` with their scores and kinds.
pub fn scored(pieces: &[(&str, f32, i32)]) -> Builder {
    let mut all: Vec<(String, f32, i32)> = vec![
        ("<unk>".into(), 0.0, UNKNOWN),
        ("<s>".into(), 0.0, CONTROL),
        ("</s>".into(), 0.0, CONTROL),
    ];
    all.extend((0..=255).map(|byte| (format!("<0x{byte:02X}>"), 0.0, BYTE)));
    all.extend(pieces.iter().map(|(piece, score, kind)| ((*piece).into(), *score, *kind)));
    Builder::new()
        .key("general.architecture", "tiny")
        .key("tokenizer.ggml.model", "llama")
        .key("tokenizer.ggml.tokens", all.iter().map(|row| row.0.clone()).collect::<Vec<_>>())
        .key("tokenizer.ggml.scores", all.iter().map(|row| row.1).collect::<Vec<_>>())
        .key("tokenizer.ggml.token_type", all.iter().map(|row| row.2).collect::<Vec<_>>())
}

pub fn try_build(builder: &Builder) -> Result<Tokenizer, Error> {
    let file = File::from_bytes(builder.build()).expect("a well-formed file");
    Tokenizer::from_metadata(file.metadata())
}

pub fn build(builder: &Builder) -> Tokenizer {
    try_build(builder).expect("a sound vocabulary")
}

/// The pieces `text` becomes, scaffold everywhere.
pub fn pieces(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    named(tokenizer, text, &[])
}

/// The pieces `text` becomes with `content`.
pub fn named(tokenizer: &Tokenizer, text: &str, content: &[std::ops::Range<usize>]) -> Vec<String> {
    let tokens = tokenizer.encode(text, content).expect("an encodable text");
    tokens.iter().map(|token| tokenizer.piece(token.id).expect("a piece").into()).collect()
}
