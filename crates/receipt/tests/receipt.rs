//! Receipts through their bytes: one spelling, nothing unknown, nothing repeated in errors.

use std::collections::BTreeMap;

use recinto_receipt::{
    Architecture, Claimant, Engine, Held, Kind, Label, Model, Named, Origin, Output, Part, Program,
    Receipt, Record, Remote, SCHEMA, Scored, Setting, Shard, Source, Times, Usage, Verdict, Word,
    of_files, sha256, sha256_ids,
};

fn receipt() -> Receipt {
    Receipt {
        schema: SCHEMA,
        model: Model {
            asked: "modelos/pequeño.gguf".into(),
            file: "pequeño.gguf".into(),
            size: 491_400_064,
            digest: sha256(b"weights"),
            digest_origin: Some(Origin::Cached),
            weights: Some(Held::Mapped),
            claims: vec![
                Verdict {
                    by: Claimant::Lock,
                    part: Part::Weights,
                    file: 0,
                    digest: Some(sha256(b"weights")),
                    matches: true,
                },
                Verdict {
                    by: Claimant::Store,
                    part: Part::Weights,
                    file: 1,
                    digest: None,
                    matches: false,
                },
            ],
            shards: Vec::new(),
        },
        architecture: Architecture {
            name: "qwen2".into(),
            source: Source::BuiltIn,
            digest: sha256(b"arch"),
            allowed_keys: Vec::new(),
        },
        engine: Engine {
            version: "0.1.0".into(),
            numerics: 1,
            level: "avx2".into(),
            object: sha256(b"program"),
            build: None,
        },
        template: Some(sha256(b"template")),
        tokenizer: Some(sha256(b"tokenizer")),
        options: BTreeMap::from([
            ("seed".into(), Setting::from(u64::MAX)),
            ("temperature".into(), Setting::from(0.7f32)),
            ("mode".into(), Setting::word("chat")),
            ("stop".into(), Setting::from(vec![sha256("¿fin?".as_bytes())])),
        ]),
        input: sha256_ids(&[1, 2, 3]),
        output: Output { ids: sha256_ids(&[4, 5]), text: sha256("sí".as_bytes()) },
        usage: Usage { prompt_tokens: 3, output_tokens: 2 },
        finish: Word::new("end"),
        times: Times {
            started: 1_700_000_000,
            load_ms: 9,
            prefill_ms: 40,
            decode_ms: 80,
            cpu_ms: 200,
        },
    }
}

#[test]
fn the_bytes_are_written_down() {
    let text = String::from_utf8(receipt().to_bytes()).unwrap();
    let d = |bytes: &[u8]| format!("\"sha256:{}\"", sha256(bytes));
    let want = [
        r#"{"architecture":{"digest":"#,
        &d(b"arch"),
        r#","name":"qwen2","source":"built-in"},"engine":{"level":"avx2","numerics":1,"object":"#,
        &d(b"program"),
        r#","version":"0.1.0"},"finish":"end","input":"#,
        &d(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
        r#","model":{"asked":"modelos/pequeño.gguf","claims":[{"by":"lock","digest":"#,
        &d(b"weights"),
        r#","match":true,"part":"weights"},"#,
        r#"{"by":"store","file":1,"match":false,"part":"weights"}],"digest":"#,
        &d(b"weights"),
        r#","digest_origin":"cached","file":"pequeño.gguf","size":491400064,"weights":"mapped"}"#,
        r#","options":{"mode":"chat","#,
        r#""seed":18446744073709551615,"stop":["#,
        &d("¿fin?".as_bytes()),
        r#"],"temperature":"0.7"},"output":{"ids":"#,
        &d(&[4, 0, 0, 0, 5, 0, 0, 0]),
        r#","text":"#,
        &d("sí".as_bytes()),
        r#"},"schema":1,"template":"#,
        &d(b"template"),
        r#","times":{"cpu_ms":200,"decode_ms":80,"load_ms":9,"prefill_ms":40,"#,
        r#""started":1700000000},"tokenizer":"#,
        &d(b"tokenizer"),
        r#","usage":{"output_tokens":2,"prompt_tokens":3}}"#,
    ];
    assert_eq!(text, want.concat());
    assert_eq!(receipt().digest(), sha256(text.as_bytes()));
}

#[test]
fn a_model_in_several_files_has_them_all_in_its_record() {
    let shard = |no: u64, origin| Shard {
        file: format!("año-0000{no}-of-00002.gguf"),
        size: no,
        digest: sha256(&no.to_le_bytes()),
        digest_origin: origin,
    };
    let shards = vec![shard(1, Origin::Computed), shard(2, Origin::Cached)];
    let digests: Vec<_> = shards.iter().map(|shard| shard.digest).collect();
    // As `sha256sum FILES | cut -c1-64 | sha256sum` has it.
    let list = format!("{}\n{}\n", digests[0], digests[1]);
    let digest = of_files(&digests);
    assert_eq!(digest, sha256(list.as_bytes()));
    assert_eq!(of_files(&digests[..1]), digests[0], "one file is its own digest");
    let record = Receipt { model: Model { digest, shards, ..receipt().model }, ..receipt() };
    let text = String::from_utf8(record.to_bytes()).unwrap();
    let second = format!(
        r#"{{"digest":"sha256:{}","digest_origin":"cached","file":"{}","size":2}}"#,
        digests[1], "año-00002-of-00002.gguf"
    );
    assert!(text.contains(&format!(r#","shards":[{{"digest":"sha256:{}","#, digests[0])), "{text}");
    assert!(text.contains(&second), "{text}");
    assert_eq!(Receipt::from_bytes(text.as_bytes()).unwrap(), record);
    // Records of builds that knew one file only, and no vocabulary, are still read.
    let older = Receipt { tokenizer: None, ..receipt() };
    let text = String::from_utf8(older.to_bytes()).unwrap();
    assert!(!text.contains("shards") && !text.contains("tokenizer"), "{text}");
    assert_eq!(Receipt::from_bytes(text.as_bytes()).unwrap(), older);
}

#[test]
fn bytes_come_back() {
    let path = Source::Path("/casa/año/llama.arch".into());
    let negative = BTreeMap::from([("bias".into(), Setting::from(vec![-3i64, 3]))]);
    let cases = [
        ("all", receipt()),
        ("no template", Receipt { template: None, ..receipt() }),
        (
            "computed and pinned",
            Receipt {
                model: Model {
                    digest_origin: Some(Origin::Computed),
                    weights: Some(Held::Pinned),
                    ..receipt().model
                },
                ..receipt()
            },
        ),
        (
            "an earlier record, which does not tell",
            Receipt {
                model: Model {
                    digest_origin: None,
                    weights: None,
                    claims: Vec::new(),
                    ..receipt().model
                },
                tokenizer: None,
                ..receipt()
            },
        ),
        ("no options", Receipt { options: BTreeMap::new(), ..receipt() }),
        ("negative options", Receipt { options: negative, ..receipt() }),
        (
            "own architecture",
            Receipt {
                architecture: Architecture { source: path, ..receipt().architecture },
                ..receipt()
            },
        ),
        (
            "a key let pass",
            Receipt {
                architecture: Architecture {
                    allowed_keys: vec!["qwen2.año".into()],
                    ..receipt().architecture
                },
                ..receipt()
            },
        ),
        (
            "odd names",
            Receipt {
                model: Model { asked: "a\"\\\n\u{7f}\u{2028}".into(), ..receipt().model },
                ..receipt()
            },
        ),
    ];
    for (name, receipt) in cases {
        let mut bytes = receipt.to_bytes();
        assert_eq!(Receipt::from_bytes(&bytes).unwrap(), receipt, "{name}");
        bytes.push(b'\n');
        assert_eq!(Receipt::from_bytes(&bytes).unwrap(), receipt, "{name}, as a line");
    }
}

#[test]
fn other_bytes_are_refused() {
    let text = String::from_utf8(receipt().to_bytes()).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let arch = sha256(b"arch").to_string();
    let pretty: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = [
        ("empty", String::new(), Kind::NotReceipt),
        ("another file", "secreto".into(), Kind::NotReceipt),
        ("a number", "1".into(), Kind::NotReceipt),
        ("cut", text[..text.len() - 1].into(), Kind::NotReceipt),
        ("more after it", text.clone() + "{}", Kind::NotReceipt),
        ("unknown field", with("{\"architecture\"", "{\"x\":1,\"architecture\""), Kind::NotReceipt),
        ("unknown inner field", with("\"size\"", "\"words\":1,\"size\""), Kind::NotReceipt),
        ("missing field", with("\"finish\":\"end\",", ""), Kind::NotReceipt),
        ("a field twice", with("\"schema\":1", "\"schema\":1,\"schema\":1"), Kind::NotReceipt),
        ("capitals in a digest", with(&arch, &arch.to_uppercase()), Kind::NotReceipt),
        ("a digest without kind", with("sha256:", ""), Kind::NotReceipt),
        ("a fraction", with("\"started\":17", "\"started\":0.17"), Kind::NotReceipt),
        ("deep", "[".repeat(100_000), Kind::NotReceipt),
        ("schema 2", with("\"schema\":1", "\"schema\":2"), Kind::Schema),
        ("pretty", format!("{pretty:#}"), Kind::NotCanonical),
        ("a blank", with("\"schema\":1", "\"schema\": 1"), Kind::NotCanonical),
        ("two line breaks", text.clone() + "\n\n", Kind::NotCanonical),
        (
            "order",
            with("\"finish\":\"end\",", "").replacen("{\"arch", "{\"finish\":\"end\",\"arch", 1),
            Kind::NotCanonical,
        ),
        ("another escape", with("peque\u{f1}o", "peque\\u00f1o"), Kind::NotCanonical),
        (
            "null template",
            {
                let none = Receipt { template: None, ..receipt() }.to_bytes();
                String::from_utf8(none).unwrap().replacen("{\"arch", "{\"template\":null,\"arch", 1)
            },
            Kind::NotCanonical,
        ),
    ];
    for (name, bytes, kind) in cases {
        let error = Receipt::from_bytes(bytes.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(!error.to_string().contains("secreto"), "{name}: {error}");
    }
}

#[test]
fn every_part_counts() {
    let base = receipt().digest();
    let text = String::from_utf8(receipt().to_bytes()).unwrap();
    // Changing any digit of the record gives another digest or no receipt at all.
    for (at, digit) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        let mut other = text.clone();
        other.replace_range(at..at + 1, if digit == '7' { "3" } else { "7" });
        if let Ok(changed) = Receipt::from_bytes(other.as_bytes()) {
            assert_ne!(changed.digest(), base, "at {at}");
        }
    }
}

fn scored() -> Scored {
    let Receipt { schema, model, architecture, engine, template, input, usage, .. } = receipt();
    let labels = [("sí", -0.25), ("no", -1.5e-7)];
    Scored {
        schema,
        record: Scored::RECORD,
        model,
        architecture,
        engine,
        template,
        tokenizer: sha256(b"tokenizer"),
        options: BTreeMap::from([("mode".into(), Setting::word("chat"))]),
        input,
        labels: labels
            .map(|(text, logprob)| Label {
                text: sha256(text.as_bytes()),
                logprob: Setting::from(logprob),
            })
            .to_vec(),
        option_mass: Setting::from(1.8e-7),
        usage,
        started: 1_700_000_000,
        whole_ms: 12,
    }
}

fn remote(key: Option<&str>) -> Remote {
    let keyed = |digit: &str| key.map(|_| format!("hmac-sha256:{}", digit.repeat(64)));
    Remote {
        schema: SCHEMA,
        record: Remote::RECORD,
        provider: "openai-compatible".into(),
        host: "localhost:8080".into(),
        wire: "chat".into(),
        model: Named { asked: "m".into(), told: None, weights: Word::new("unknown") },
        program: Program { build: Word::new("recinto"), version: "0.1.0".into() },
        id: Some("chatcmpl-1".into()),
        request_id: None,
        fingerprint: None,
        rules: vec!["/etc/recinto/policy.toml:3".into()],
        options: BTreeMap::from([("stop".into(), Setting::from(2usize))]),
        not_sent: vec!["temperature".into()],
        input: keyed("a"),
        output: keyed("b"),
        requests: 2,
        usage: Usage { prompt_tokens: 30, output_tokens: 5 },
        finish: Word::new("end"),
        started: 1_700_000_000,
        whole_ms: 812,
    }
}

#[test]
fn records_of_each_kind() {
    let cases = [
        ("an answer", receipt().to_bytes(), true),
        ("a scoring", scored().to_bytes(), true),
        ("from elsewhere", remote(Some("k")).to_bytes(), false),
        ("from elsewhere, no key", remote(None).to_bytes(), false),
    ];
    for (name, bytes, replayable) in &cases {
        let record = Record::from_bytes(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = match &record {
            Record::Answer(found) => (found.to_bytes(), found.digest()),
            Record::Scored(found) => (found.to_bytes(), found.digest()),
            Record::Remote(found) => (found.to_bytes(), found.digest()),
        };
        assert_eq!(again, (bytes.clone(), sha256(bytes)), "{name}");
        match record.replayable() {
            Ok(()) => assert!(replayable, "{name}"),
            Err(error) => {
                assert!(!replayable && error.kind() == Kind::Remote, "{name}: {error}");
                let text = error.to_string();
                assert!(text.starts_with("the receipt cannot be replayed: remote\n"), "{text}");
            }
        }
        let mut line = bytes.clone();
        line.push(b'\n');
        assert!(Record::from_bytes(&line).is_ok(), "{name}: a line break");
        let text = String::from_utf8(bytes.clone()).unwrap();
        let broken = [
            ("blank", text.replacen(':', ": ", 1), Kind::NotCanonical),
            ("cut", text[..text.len() - 1].to_owned(), Kind::NotReceipt),
            ("unknown", text.replacen('{', "{\"aaa\":1,", 1), Kind::NotReceipt),
            ("schema", text.replace("\"schema\":1", "\"schema\":2"), Kind::Schema),
            ("twice", format!("{text}{text}"), Kind::NotReceipt),
        ];
        for (what, text, kind) in broken {
            let error = Record::from_bytes(text.as_bytes()).expect_err(what);
            assert_eq!(error.kind(), kind, "{name}, {what}: {error}");
        }
    }
    // Who wants an answer of this process is told what the record is in its place.
    let of = |bytes: &[u8]| Receipt::from_bytes(bytes).unwrap_err();
    assert_eq!(of(&cases[1].1).kind(), Kind::NotReceipt);
    assert_eq!(of(&cases[2].1).kind(), Kind::Remote);
    let text = String::from_utf8(scored().to_bytes()).unwrap();
    let other = text.replace("\"record\":\"scored\"", "\"record\":\"canary\"");
    let error = Record::from_bytes(other.as_bytes()).unwrap_err();
    assert!(error.kind() == Kind::Schema && !error.to_string().contains("canary"), "{error}");
}
