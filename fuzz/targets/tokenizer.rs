//! Any vocabulary, and any text for a sound one.
//!
//! What begins with `GGUF` is a file. What begins with `v` is a vocabulary in lines, one key or
//! piece each, of which a file is made. All else is a text with ranges of content.
#![no_main]

use std::{ops::Range, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use recinto_testkit::gguf::{Builder, Value};
use recinto_tokenizer::{PieceKind, Stream, Token, Tokenizer};
use recinto_weights::File;

/// What a vocabulary from anywhere is tried with.
const TEXT: &str = "¿Qué hora es, señor?  aaa 12345 <s><|fin|>\r\n\t中文 e\u{301} 😀 <0x0A>▁</s>";

static SOUND: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let files: [&[u8]; 4] = [
        include_bytes!("../../tests/golden/tiny/llama-plain.gguf"),
        include_bytes!("../../tests/golden/tiny/qwen2-plain.gguf"),
        include_bytes!("../../tests/golden/tiny/llama-spm.gguf"),
        include_bytes!("../../tests/golden/tiny/gemma3-quant.gguf"),
    ];
    files.map(|bytes| built(bytes.to_vec()).expect("a sound vocabulary")).into()
});

fuzz_target!(|bytes: &[u8]| {
    match bytes {
        [b'G', b'G', b'U', b'F', ..] => any(bytes.to_vec()),
        [b'v', lines @ ..] => any(written(lines)),
        _ => texts(bytes),
    }
});

/// The tokenizer of a file; `None` where the file or its vocabulary is refused.
fn built(bytes: Vec<u8>) -> Option<Tokenizer> {
    let file = File::from_bytes(bytes).ok()?;
    match Tokenizer::from_metadata(file.metadata()) {
        Ok(tokenizer) => Some(tokenizer),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// A file of lines: `M` model, `P` splitter, `K` name and number of a key, `B` all bytes, a digit
/// (the type) and a score's digit before a piece, `m` a merge.
fn written(lines: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(lines);
    let mut file = Builder::new().key("general.architecture", "any");
    let (mut pieces, mut kinds, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut merges = Vec::new();
    for line in text.split('\n').take(4096) {
        let mut rest = line.chars();
        let (first, second) = (rest.next(), rest.next());
        let (Some(first), after) = (first, line.get(1..).unwrap_or("")) else { continue };
        match first {
            'M' => file = file.key("tokenizer.ggml.model", after),
            'P' => file = file.key("tokenizer.ggml.pre", after),
            'm' => merges.push(Value::Str(after.into())),
            'K' => {
                let (name, number) = after.split_once(' ').unwrap_or((after, "1"));
                let name = format!("tokenizer.ggml.{name}");
                file = match (number.parse::<u32>(), number) {
                    (Ok(number), _) => file.key(&name, number),
                    (_, "true" | "false") => file.key(&name, number == "true"),
                    _ => file.key(&name, number),
                };
            }
            'B' => {
                for byte in 0..=255u8 {
                    let piece = match second {
                        Some('x') => format!("<0x{byte:02X}>"),
                        _ => alphabet(byte).to_string(),
                    };
                    pieces.push(piece);
                    kinds.push(if second == Some('x') { 6i32 } else { 1 });
                    scores.push(0.0f32);
                }
            }
            '0'..='9' => {
                pieces.push(rest.as_str().to_owned());
                kinds.push(first as i32 - '0' as i32);
                scores.push(-((second.map_or(0, u32::from) % 64) as f32));
            }
            _ => {}
        }
    }
    if !pieces.is_empty() {
        file = file
            .key("tokenizer.ggml.tokens", pieces)
            .key("tokenizer.ggml.token_type", kinds)
            .key("tokenizer.ggml.scores", scores);
    }
    file.key("tokenizer.ggml.merges", Value::ArrayOf(8, merges)).build()
}

/// The printable character of a byte in GPT-2's alphabet.
fn alphabet(byte: u8) -> char {
    let prints = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if prints(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|b| !prints(*b)).count() as u32;
    char::from_u32(0x100 + before).expect("a character")
}

/// A vocabulary from anywhere.
fn any(bytes: Vec<u8>) {
    let Some(tokenizer) = built(bytes) else { return };
    let size = tokenizer.size();
    for content in [&[][..], &[0..TEXT.len()], &[10..20, 50..56]] {
        let Ok(tokens) = tokenizer.encode(TEXT, content) else { continue };
        sound(&tokenizer, TEXT, &tokens);
        // In content there is no special. The piece for the unknown may stand for what has no
        // piece; other bytes without one belong to a neighbour's range, so a range tells less here.
        let stands = |id| tokenizer.kind(id) == Some(PieceKind::Unknown);
        let bad = |token: &&Token| tokenizer.is_special(token.id) && !stands(token.id);
        if content.contains(&(0..TEXT.len())) {
            assert_eq!(tokens.iter().find(bad), None, "a special in content");
        }
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        tokenizer.decode(&ids).expect("its own ids");
    }
    for id in (0..size.min(300) as u32).chain([size as u32, u32::MAX]) {
        let inside = (id as usize) < size;
        assert_eq!(tokenizer.piece(id).is_some(), inside);
        assert_eq!(tokenizer.bytes(id).is_some(), inside);
        assert_eq!(tokenizer.decode(&[id, id]).is_ok(), inside);
    }
    let named = [tokenizer.bos(), tokenizer.eos()];
    let named = named.into_iter().flatten().chain(tokenizer.ends().iter().copied());
    assert!(named.into_iter().all(|id| (id as usize) < size));
}

/// What holds of the ranges of any encoding.
fn sound(tokenizer: &Tokenizer, text: &str, tokens: &[Token]) {
    let mut at = 0;
    for token in tokens {
        assert!((token.id as usize) < tokenizer.size(), "{token:?}");
        assert!(token.start >= at && token.end >= token.start, "{token:?} after {at}");
        at = token.end;
    }
    assert!(at as usize <= text.len());
}

/// Any text and two ranges of content for vocabularies that hold every byte.
fn texts(bytes: &[u8]) {
    let Some((cuts, rest)) = bytes.split_first_chunk::<4>() else { return };
    let text = String::from_utf8_lossy(rest);
    let range = |a: u8, b: u8| {
        let (a, b) = (usize::from(a.min(b)), usize::from(a.max(b)));
        a.min(text.len())..b.min(text.len())
    };
    let content = [range(cuts[0], cuts[1]), range(cuts[2], cuts[3])];
    for tokenizer in &*SOUND {
        for content in [&content[..], &[0..text.len()], &[]] {
            let tokens = tokenizer.encode(&text, content).expect("every byte has a piece");
            sound(tokenizer, &text, &tokens);
            let mut at = 0;
            for token in tokens.iter() {
                assert_eq!(token.start, at, "a gap");
                at = token.end;
                let touches = |range: &Range<usize>| {
                    !range.is_empty()
                        && (token.start as usize) < range.end
                        && range.start < token.end as usize
                };
                let special = tokenizer.is_special(token.id);
                assert!(!(special && content.iter().any(touches)), "a special in content");
            }
            assert_eq!(at as usize, text.len());
            let mut stream = Stream::new().show_specials(true);
            let mut decoded = String::new();
            for token in tokens.iter() {
                decoded.push_str(stream.push(tokenizer, token.id).expect("its own id"));
            }
            decoded.push_str(&stream.finish());
            if tokenizer.describe().model == "gpt2" {
                assert_eq!(decoded, text);
            } else if content.contains(&(0..text.len())) {
                // `▁` and a space are one piece; nothing tells them apart afterwards.
                assert_eq!(decoded, text.replace('▁', " "));
            }
        }
    }
}
