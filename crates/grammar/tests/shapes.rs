//! Shapes: what they accept, what they refuse and how, on a tiny vocabulary.

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{Constraint, Finish, Mask, Model, OpenOptions, Options, Piece, Request, Stop};
use recinto_grammar::{Grammars, Kind, Shape};
use serde_json::{Value, json};

fn model(name: &str) -> Model {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join(format!("../../tests/golden/tiny/{name}.gguf"));
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    Model::open(&path, &options).expect(name)
}

fn grammars() -> Grammars {
    Grammars::new(&model("qwen2-quant")).expect("a vocabulary")
}

fn address() -> Value {
    json!({
        "type": "object",
        "properties": {
            "number": {"type": "number"},
            "street_name": {"type": "string"},
            "street_type": {"enum": ["Street", "Avenue", "Boulevard"]}
        },
        "additionalProperties": false
    })
}

#[test]
fn texts_of_a_shape() {
    let grammars = grammars();
    let labels = || Shape::Labels(vec!["sí".into(), "sí, claro".into(), "¿\"no\"?\n".into()]);
    let regex = |text: &str| Shape::Regex(text.into());
    let pattern = |text: &str| Shape::Schema(json!({"type": "string", "pattern": text}));
    let long = |n: usize| format!("\"{}\"", "a".repeat(n));
    let cases: Vec<(&str, Shape, Vec<&str>, Vec<&str>)> = vec![
        ("labels", labels(), vec!["sí", "sí, claro", "¿\"no\"?\n"], vec!["s", "sí,", "no", ""]),
        ("regex", regex("[a-zñ]+[0-9]{2}"), vec!["año12"], vec!["año1", "12", "año123"]),
        (
            "lark",
            Shape::Lark("start: \"a\" start \"b\" | \"c\"".into()),
            vec!["c", "acb", "aacbb"],
            vec!["acbb", "ab", ""],
        ),
        (
            "any subset of members",
            Shape::Schema(address()),
            vec![
                "{}",
                r#"{"number": 12}"#,
                r#"{"street_name":"Peñíscola"}"#,
                "{\n    \"number\": 1,\n    \"street_type\": \"Avenue\"\n}",
            ],
            vec![r#"{"street_type":"Lane"}"#, r#"{"direction":"N"}"#, "{", "{}}", "  {}"],
        ),
        (
            "null or a word",
            Shape::Schema(json!({"anyOf": [{"enum": ["edit", "overwrite"]}, {"type": "null"}]})),
            vec!["\"edit\"", "null"],
            vec!["edit", "\"\\\"edit\\\"\""],
        ),
        (
            "a pattern that escapes what need not be",
            pattern("^hello there indeed!$"),
            vec!["\"hello there indeed!\""],
            vec!["\"hello there indeed\"", "\"x\""],
        ),
        (
            "letters that JSON has by number only are left out, not skipped",
            pattern("^[^b-~]{2}$"),
            vec!["\"aa\"", "\"\\n \"", "\"ñé\""],
            vec!["\"a\"", "\"\"", "\"\\u0001\\u0001\"", "\"ab\""],
        ),
        (
            "a name has one spelling",
            Shape::Schema(json!({
                "properties": {"año": {"type": "integer"}},
                "additionalProperties": {"type": "boolean"},
                "type": "object"
            })),
            vec![r#"{"año":1}"#, r#"{"año":1,"mes":true}"#, r#"{"a\"o":true}"#],
            vec![r#"{"año":true}"#, r#"{"a\u00f1o":true}"#, r#"{"\u0061ño":true}"#],
        ),
        ("every value", Shape::Schema(json!(true)), vec!["1", "[null, {}]"], vec!["", "nul"]),
    ];
    for (name, shape, good, bad) in cases {
        let grammar = grammars.compile(&shape).unwrap_or_else(|e| panic!("{name}: {e}"));
        for text in good {
            assert!(grammar.accepts(text.as_bytes()), "{name}: {text} is one");
        }
        for text in bad {
            assert!(!grammar.accepts(text.as_bytes()), "{name}: {text} is none");
        }
    }
    for most in [128, 129, 200] {
        let shape = pattern(&format!("^[^\\n\\r]{{1,{most}}}$"));
        let grammar = grammars.compile(&shape).unwrap_or_else(|e| panic!("{most}: {e}"));
        assert!(grammar.accepts(long(most).as_bytes()), "{most}");
        assert!(!grammar.accepts(long(most + 1).as_bytes()), "{most} + 1");
    }
}

#[test]
fn what_cannot_be_kept_is_refused_by_name() {
    let grammars = grammars();
    let schema = Shape::Schema;
    let nested = |n: usize| format!("start: {}\"a\"{}", "(".repeat(n), ")".repeat(n));
    let open = |n: usize| format!("start: {}\"a\"", "(".repeat(n));
    let mut deep = json!({"type": "null"});
    for _ in 0..500 {
        deep = json!({"items": deep});
    }
    let cases: Vec<(&str, Shape, Kind, &str)> = vec![
        ("no label", Shape::Labels(vec![]), Kind::Empty, "no label"),
        ("an empty label", Shape::Labels(vec!["a".into(), "".into()]), Kind::Empty, "label 2"),
        ("twice", Shape::Labels(vec!["a".into(), "a".into()]), Kind::Empty, "twice"),
        (
            "a keyword",
            schema(json!({"type": "array", "uniqueItems": true})),
            Kind::Unsupported,
            "uniqueItems",
        ),
        (
            "a format",
            schema(json!({"type": "string", "format": "idn-email"})),
            Kind::Unsupported,
            "idn-email",
        ),
        (
            "our own word",
            schema(json!({"x-guidance": {"lenient": true}})),
            Kind::Unsupported,
            "x-g",
        ),
        ("nothing", schema(json!(false)), Kind::Empty, "no value"),
        ("no schema", schema(json!(3)), Kind::Invalid, "object"),
        ("too deep a schema", schema(deep), Kind::TooLarge, "deep"),
        ("no regex", Shape::Regex("a(".into()), Kind::Invalid, ""),
        ("no grammar", Shape::Lark("start = a".into()), Kind::Invalid, ""),
        ("no way out", Shape::Lark("start: start".into()), Kind::Empty, "never"),
        ("in a circle", Shape::Lark("start: a\na: b\nb: a".into()), Kind::Empty, "never"),
        ("sixty thousand brackets", Shape::Lark(nested(60_000)), Kind::TooLarge, "deep"),
        ("open brackets", Shape::Lark(open(30_000)), Kind::TooLarge, "deep"),
        ("a schema of its own", schema(json!({"$ref": "#/nowhere"})), Kind::Unsupported, "nowhere"),
    ];
    for (name, shape, kind, word) in cases {
        let error = grammars.compile(&shape).err().unwrap_or_else(|| panic!("{name}: accepted"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(word), "{name}: {error}");
    }
}

#[test]
fn replies_keep_to_their_shape() {
    for name in ["qwen2-quant", "llama-plain", "gemma3-1b-like"] {
        let model = model(name);
        let grammars = Grammars::new(&model).expect("a vocabulary");
        let shapes = [
            Shape::Labels(vec!["café".into(), "cafetería".into(), "té".into()]),
            Shape::Schema(json!({
                "type": "object",
                "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "maximum": 9}},
                "required": ["ok", "n"],
                "additionalProperties": false
            })),
        ];
        for shape in shapes {
            let grammar = grammars.compile(&shape).expect("a grammar");
            for seed in 0..6 {
                let options = Options {
                    temperature: 3.0,
                    seed: Some(seed),
                    max_tokens: 80,
                    ..Options::default()
                };
                let request = Request { options, ..Request::user("¿Qué?") };
                let mut session = model.session(&Default::default()).expect("a session");
                let mut running = grammar.fresh();
                let reply = session
                    .reply_within(&request, Some(&mut running), &Stop::never(), &mut |_: Piece| {
                        ControlFlow::Continue(())
                    })
                    .expect("a reply");
                let text = reply.text.as_bytes();
                match reply.complete {
                    Some(true) => assert!(grammar.accepts(text), "{name} {seed}: {}", reply.text),
                    _ => assert_eq!(reply.finish, Finish::Length, "{name} {seed}"),
                }
                if matches!(shape, Shape::Labels(_)) {
                    assert_eq!(reply.complete, Some(true), "{name} {seed}");
                }
            }
        }
    }
}

/// A model that likes blanks best comes to an end all the same.
#[test]
fn blanks_are_bounded() {
    let model = model("qwen2-quant");
    let grammar = Grammars::new(&model).expect("a vocabulary");
    let mut grammar = grammar.compile(&Shape::Schema(address())).expect("a grammar");
    let blank = |id: u32| {
        let bytes = model.tokenizer().bytes(id).unwrap_or_default();
        bytes.iter().filter(|byte| byte.is_ascii_whitespace()).count() * 1000 / bytes.len().max(1)
    };
    let mut text = Vec::new();
    for _ in 0..400 {
        let mut mask = Mask::new(model.program().vocabulary);
        grammar.allowed(&mut mask).expect("a mask");
        let allowed = (0..model.program().vocabulary as u32).filter(|id| mask.contains(*id));
        // Blanks first, then whatever ends soonest.
        let end = |id: &u32| model.tokenizer().ends().contains(id);
        let closing = |id: &u32| model.tokenizer().bytes(*id).is_some_and(|b| b[..] == *b"}");
        let best = allowed.max_by_key(|id| (blank(*id), end(id), closing(id), u32::MAX - id));
        let id = best.expect("an id");
        if end(&id) {
            break;
        }
        text.extend_from_slice(&model.tokenizer().bytes(id).expect("bytes"));
        let follow = grammar.commit(id).expect("goes on");
        for id in &follow.forced {
            text.extend_from_slice(&model.tokenizer().bytes(*id).expect("bytes"));
        }
        if follow.complete {
            break;
        }
    }
    let text = String::from_utf8(text).expect("text");
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text:?}");
    let longest = text.split(|c: char| !c.is_whitespace()).map(str::len).max();
    assert!(longest <= Some(13), "{text:?}");
}

/// SO-03: kept exactly, or refused by name; never something else.
#[test]
fn rules_that_meet_are_kept_or_refused() {
    let schema = json!({
        "type": "object",
        "properties": {
            "score": {"type": "integer", "multipleOf": 5},
            "tags": {
                "type": "array",
                "items": {"type": "string", "minLength": 10, "maxLength": 20}
            }
        },
        "required": ["score", "tags"],
        "additionalProperties": false,
        "patternProperties": {"^score$": {"type": "integer"}}
    });
    match grammars().compile(&Shape::Schema(schema)) {
        Err(error) => assert_eq!(error.kind(), Kind::Unsupported, "{error}"),
        Ok(grammar) => {
            let cases = [
                (r#"{"score": 15, "tags": ["diez letras"]}"#, true),
                (r#"{"score": 15, "tags": []}"#, true),
                (r#"{"score": 7, "tags": ["diez letras"]}"#, false),
                (r#"{"score": 15, "tags": ["corto"]}"#, false),
                (r#"{"score": 15}"#, false),
                ("{ ", false),
            ];
            for (text, good) in cases {
                assert_eq!(grammar.accepts(text.as_bytes()), good, "{text}");
            }
        }
    }
}
