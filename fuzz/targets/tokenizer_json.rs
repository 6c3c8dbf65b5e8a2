//! Any `tokenizer.json`, and any text for sound ones.
//!
//! What begins with `{` is a file. All else is a text with ranges of content.
#![no_main]

use std::{ops::Range, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use recinto_tokenizer::{PieceKind, Stream, Token, Tokenizer};

/// What a file from anywhere is tried with.
const TEXT: &str = "¿Qué hora es, señor?  aaa 12345 <s>[SEP]\r\n\t中文 e\u{301} 😀 <0x0A>▁</s> ﬁ½";

static SOUND: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let files: [&[u8]; 6] = [
        include_bytes!("../../crates/tokenizer/tests/golden/json/wordpiece-uncased.json"),
        include_bytes!("../../crates/tokenizer/tests/golden/json/bpe-roberta.json"),
        include_bytes!("../../crates/tokenizer/tests/golden/json/bpe-digits.json"),
        include_bytes!("../../crates/tokenizer/tests/golden/json/bpe-llama2.json"),
        include_bytes!("../../crates/tokenizer/tests/golden/json/unigram-xlm.json"),
        include_bytes!("../../crates/tokenizer/tests/golden/json/unigram-bytes.json"),
    ];
    files.map(|bytes| Tokenizer::from_json(bytes).expect("a sound file")).into()
});

fuzz_target!(|bytes: &[u8]| {
    if bytes.first() == Some(&b'{') {
        return any(bytes);
    }
    let Some((cuts, rest)) = bytes.split_first_chunk::<4>() else { return };
    let text = String::from_utf8_lossy(rest);
    let range = |a: u8, b: u8| {
        let (a, b) = (usize::from(a.min(b)), usize::from(a.max(b)));
        a.min(text.len())..b.min(text.len())
    };
    let content = [range(cuts[0], cuts[1]), range(cuts[2], cuts[3])];
    for tokenizer in &*SOUND {
        for content in [&content[..], &[0..text.len()], &[]] {
            let tokens = tokenizer.encode(&text, content).expect("the unknown has a piece");
            sound(tokenizer, &text, content, &tokens);
        }
    }
});

/// A file from anywhere.
fn any(bytes: &[u8]) {
    let tokenizer = match Tokenizer::from_json(bytes) {
        Ok(tokenizer) => tokenizer,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for content in [&[][..], &[0..TEXT.len()], &[10..20, 50..56]] {
        let Ok(tokens) = tokenizer.encode(TEXT, content) else { continue };
        sound(&tokenizer, TEXT, content, &tokens);
        let placed = tokenizer.frame(&tokens, None).expect("a frame for one text");
        let size = tokenizer.size();
        assert!(placed.iter().all(|placed| (placed.token.id as usize) < size));
        let _ = tokenizer.frame(&tokens, Some(&tokens));
    }
    for id in (0..tokenizer.size().min(300) as u32).chain([u32::MAX]) {
        let inside = (id as usize) < tokenizer.size();
        assert_eq!(tokenizer.bytes(id).is_some(), inside);
        assert_eq!(tokenizer.decode(&[id, id]).is_ok(), inside);
    }
}

/// What holds of any encoding, and that its ids decode.
fn sound(tokenizer: &Tokenizer, text: &str, content: &[Range<usize>], tokens: &[Token]) {
    let all = content.contains(&(0..text.len()));
    let mut stream = Stream::new();
    for token in tokens {
        assert!((token.id as usize) < tokenizer.size(), "{token:?}");
        assert!(token.start <= token.end && token.end as usize <= text.len(), "{token:?}");
        let stands = tokenizer.kind(token.id) == Some(PieceKind::Unknown);
        assert!(!all || stands || !tokenizer.is_special(token.id), "a special in content");
        stream.push(tokenizer, token.id).expect("its own id");
    }
    stream.finish();
}
