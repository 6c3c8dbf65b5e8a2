//! `tokenizer.json`: ids, ranges and frames are those of the library that writes it; what is not
//! known is refused by its name.

use recinto_tokenizer::{Kind, Token, Tokenizer};
use serde_json::{Value, json};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/json/ids.json")).expect("JSON")
}

fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/json");
    std::fs::read(format!("{folder}/{name}.json")).expect(name)
}

fn ids(tokens: &[Token]) -> Vec<u32> {
    tokens.iter().map(|token| token.id).collect()
}

fn numbers(row: &Value) -> Vec<u32> {
    serde_json::from_value(row.clone()).expect("ids")
}

/// Compares a tokenizer with its golden rows.
fn compare(name: &str, tokenizer: &Tokenizer, texts: &Value, pairs: &Value, rows: &Value) {
    let texts: Vec<&str> =
        texts.as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    for (at, text) in texts.iter().enumerate() {
        let tokens = tokenizer.encode(text, &[]).expect(name);
        assert_eq!(ids(&tokens), numbers(&rows["ids"][at]), "{name}: {text:?}");
        let framed = tokenizer.frame(&tokens, None).expect(name);
        let framed: Vec<u32> = framed.iter().map(|placed| placed.token.id).collect();
        assert_eq!(framed, numbers(&rows["framed"][at]), "{name}, framed: {text:?}");
        let content = tokenizer.encode_plain(text).expect(name);
        assert_eq!(ids(&content), numbers(&rows["content"][at]), "{name}, content: {text:?}");
        if name.contains("wordpiece") || name.contains("minilm") {
            let got: Vec<[u32; 2]> = tokens.iter().map(|t| [t.start, t.end]).collect();
            let want: Vec<[u32; 2]> =
                serde_json::from_value(rows["offsets"][at].clone()).expect("ranges");
            assert_eq!(got, want, "{name}, ranges: {text:?}");
        }
        for token in tokens.iter() {
            let (start, end) = (token.start as usize, token.end as usize);
            assert!(start <= end && end <= text.len(), "{name}: {token:?} of {text:?}");
        }
    }
    for (pair, row) in
        pairs.as_array().expect("pairs").iter().zip(rows["pairs"].as_array().expect("rows"))
    {
        let encode =
            |at: usize| tokenizer.encode(pair[at].as_str().expect("a text"), &[]).expect(name);
        let placed = tokenizer.frame(&encode(0), Some(&encode(1))).expect(name);
        let got: Vec<u32> = placed.iter().map(|placed| placed.token.id).collect();
        let types: Vec<u32> = placed.iter().map(|placed| placed.type_id).collect();
        assert_eq!(got, numbers(&row[0]), "{name}: {pair}");
        assert_eq!(types, numbers(&row[1]), "{name}: {pair}");
    }
}

#[test]
fn small_files_give_the_ids_of_the_library() {
    let golden = golden();
    let files = golden["files"].as_object().expect("files");
    assert!(files.len() >= 10, "{} files", files.len());
    for (name, rows) in files {
        let tokenizer = Tokenizer::from_json(&file(name)).expect(name);
        compare(name, &tokenizer, &golden["texts"], &golden["pairs"], rows);
    }
}

#[test]
fn real_files_give_the_ids_of_the_library() {
    let test = "real_files_give_the_ids_of_the_library";
    let Some(models) = recinto_testkit::models() else {
        return recinto_testkit::skipped(test, "RECINTO_TEST_MODELS is not set");
    };
    let golden = golden();
    for (name, rows) in golden["models"].as_object().expect("models") {
        let path = models.join(rows["path"].as_str().expect("a path"));
        let Ok(bytes) = std::fs::read(&path) else {
            recinto_testkit::skipped(test, &format!("{name} is not there"));
            continue;
        };
        let tokenizer = Tokenizer::from_json(&bytes).expect(name);
        compare(name, &tokenizer, &golden["texts"], &golden["pairs"], rows);
        assert_eq!(tokenizer.notes().len(), 2, "truncation and padding: {:?}", tokenizer.notes());
    }
}

#[test]
fn texts_come_back() {
    for name in ["bpe-llama3", "bpe-llama2", "bpe-metaspace"] {
        let tokenizer = Tokenizer::from_json(&file(name)).expect(name);
        for text in ["Hola, ¿qué tal?", "la señora 中文 😀", "x  y\tz"] {
            let tokens = tokenizer.encode_plain(text).expect(name);
            assert_eq!(tokenizer.decode(&ids(&tokens)).expect(name), text, "{name}");
        }
    }
    // These put a space before the text, which decoding drops again.
    for name in ["wordpiece-cased", "bpe-roberta", "unigram-xlm"] {
        let tokenizer = Tokenizer::from_json(&file(name)).expect(name);
        let tokens = tokenizer.encode_plain("la mañana").expect("encodes");
        assert_eq!(tokenizer.decode(&ids(&tokens)).expect("ids"), "la mañana", "{name}");
    }
}

/// huggingface/tokenizers#1392: the Ö of an added word was read as a byte.
#[test]
fn added_words_come_back_whole() {
    let words = json!([{"id": 450, "content": "ilÖveyou"}]);
    let tokenizer = Tokenizer::from_json(&changed("bpe-llama3", "/added_tokens", words));
    let tokenizer = tokenizer.expect("a sound file");
    for text in ["ilÖveyou", "¿ilÖveyou? sí, ilÖveyou", "Öl"] {
        let tokens = ids(&tokenizer.encode_plain(text).expect("encodes"));
        assert_eq!(tokens.contains(&450), text.len() > 3, "{text}");
        assert_eq!(tokenizer.decode(&tokens).expect("ids"), text);
    }
}

/// A file that is changed in one place.
fn changed(name: &str, pointer: &str, value: Value) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&file(name)).expect(name);
    *file.pointer_mut(pointer).expect(pointer) = value;
    serde_json::to_vec(&file).expect("JSON")
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let bpe = |pointer: &str, value: Value| changed("bpe-llama3", pointer, value);
    let split = |pattern: Value, behavior: &str| {
        let split = json!({"type": "Split", "pattern": pattern, "behavior": behavior});
        bpe("/pre_tokenizer", split)
    };
    use Kind::{Invalid, Missing, Unsupported, WrongType};
    let cases: Vec<(&str, Vec<u8>, Kind, &str)> = vec![
        ("not JSON", b"{\"model\": ".to_vec(), Invalid, "line 1"),
        ("not UTF-8", vec![b'{', 0xff, b'}'], Invalid, "line 1"),
        ("deep", vec![b'['; 100_000], Invalid, "not JSON"),
        ("no model", b"{}".to_vec(), Missing, "`model`"),
        ("a model", bpe("/model/type", json!("WordLevel")), Unsupported, "`WordLevel`"),
        ("a normalizer", bpe("/normalizer", json!({"type": "Zeta"})), Unsupported, "`Zeta`"),
        (
            "a normalizer in a list",
            bpe("/normalizer", json!({"type": "Sequence", "normalizers": [{"type": "Zeta"}]})),
            Unsupported,
            "normalizer.normalizers[0]",
        ),
        (
            "a pre-tokenizer",
            bpe("/pre_tokenizer", json!({"type": "UnicodeScripts"})),
            Unsupported,
            "`UnicodeScripts`",
        ),
        (
            "a post-processor",
            bpe("/post_processor", json!({"type": "Zeta"})),
            Unsupported,
            "`Zeta`",
        ),
        ("a decoder", bpe("/decoder", json!({"type": "CTC"})), Unsupported, "`CTC`"),
        ("an expression", split(json!({"Regex": "(a+)+$"}), "Isolated"), Unsupported, "`(a+)+$`"),
        ("a behavior", split(json!({"String": "a"}), "Zeta"), Unsupported, "`Zeta`"),
        (
            "a behavior for an expression",
            split(json!({"Regex": "\\p{N}"}), "Removed"),
            Unsupported,
            "`Removed`",
        ),
        ("an empty pattern", split(json!({"String": ""}), "Isolated"), Unsupported, "pattern"),
        ("dropout", bpe("/model/dropout", json!(0.5)), Unsupported, "`dropout`"),
        ("a suffix", bpe("/model/end_of_word_suffix", json!("</w>")), Unsupported, "suffix"),
        ("an id", bpe("/model/vocab/a", json!(1u64 << 40)), Invalid, "1099511627776"),
        ("an id below zero", bpe("/model/vocab/a", json!(-1)), WrongType, "not an id"),
        ("a merge of one", bpe("/model/merges/0", json!("ab")), Invalid, "merge 0"),
        ("a merge of nothing", bpe("/model/merges/3", json!(["a", "§"])), Invalid, "merge 3"),
        ("merges", bpe("/model/merges", json!(7)), WrongType, "`model.merges`"),
        ("no piece for it", bpe("/model/unk_token", json!("¿?")), Invalid, "unk_token"),
        ("an added id", bpe("/added_tokens/0/id", json!("0")), WrongType, "added_tokens[0].id"),
        (
            "an endless piece",
            bpe("/added_tokens/0/content", json!("x".repeat(600))),
            Invalid,
            "600 bytes",
        ),
        (
            "no unknown",
            changed("wordpiece-cased", "/model/unk_token", Value::Null),
            Invalid,
            "unk_token",
        ),
        (
            "a charsmap",
            changed(
                "unigram-xlm",
                "/normalizer/normalizers/0/precompiled_charsmap",
                json!("////AAAA"),
            ),
            Invalid,
            "charsmap",
        ),
        ("a score", changed("unigram-xlm", "/model/vocab/5/1", json!("x")), WrongType, "[5][1]"),
        ("its unknown", changed("unigram-xlm", "/model/unk_id", json!(5000)), Invalid, "unk_id"),
    ];
    for (name, bytes, kind, part) in cases {
        let error =
            Tokenizer::from_json(&bytes).err().unwrap_or_else(|| panic!("{name}: accepted"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

/// Rules that double a text forty times: an error, not all of the memory.
#[test]
fn texts_do_not_grow_without_end() {
    let double = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let normalizers = vec![double; 40];
    let rules = json!({"type": "Sequence", "normalizers": normalizers});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false});
    let cuts = json!({"type": "Sequence", "pretokenizers": vec![bytes; 40]});
    for (pointer, value) in [("/normalizer", rules), ("/pre_tokenizer", cuts)] {
        let tokenizer = Tokenizer::from_json(&changed("bpe-llama3", pointer, value));
        let tokenizer = tokenizer.expect("a sound file");
        let error = tokenizer.encode_plain(&"año".repeat(10_000)).expect_err(pointer);
        assert_eq!(error.kind(), Kind::Argument, "{pointer}: {error}");
        assert!(!error.to_string().contains("año"), "{error}");
    }
}

#[test]
fn content_never_makes_a_special() {
    for (name, mark) in [
        ("wordpiece-uncased", "[SEP]"),
        ("bpe-roberta", "<mask>"),
        ("bpe-llama3", "<|end|>"),
        ("bpe-metaspace", "</s>"),
        ("unigram-xlm", "<mask>"),
    ] {
        let tokenizer = Tokenizer::from_json(&file(name)).expect(name);
        let id = tokenizer.find(mark).expect(mark);
        let text = format!("uno {mark} dos {mark}");
        let scaffold = ids(&tokenizer.encode(&text, &[]).expect(name));
        assert_eq!(scaffold.iter().filter(|found| **found == id).count(), 2, "{name}");
        let content = ids(&tokenizer.encode_plain(&text).expect(name));
        assert!(!content.contains(&id), "{name}");
        let half = ids(&tokenizer.encode(&text, std::slice::from_ref(&(0..10))).expect(name));
        assert_eq!(half.iter().filter(|found| **found == id).count(), 1, "{name}: in part");
    }
}
