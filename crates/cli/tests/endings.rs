//! How answers end, and what is said about it. The tiny models' own words mean nothing, so the
//! words are forced, by a bias on their ids.

use crate::shell;

use std::{fs, path::Path};

use shell::Shell;

/// The one id of `piece`.
fn id(shell: &Shell, model: &str, piece: &str) -> u64 {
    let ran = shell.run(&["tokenize", "-m", model, "--special", "--json", piece]);
    let json = ran.json();
    assert_eq!(json["count"], 1, "{piece}: {json}");
    json["tokens"][0]["id"].as_u64().unwrap()
}

/// Options that make the answer `x`, `z` and then, by the order of `third`, the end or `x` on:
/// a token that was there is worth 20 less from then on, and the end stands in every prompt.
fn forced(shell: &Shell, model: &str, third: Option<&str>) -> [String; 4] {
    let mut bias = format!("{}:1000,{}:995", id(shell, model, "x"), id(shell, model, "z"));
    if let Some(piece) = third {
        bias += &format!(",{}:1003", id(shell, model, piece));
    }
    let options = ["-o", &format!("logit_bias={bias}"), "-o", "presence_penalty=20"];
    options.map(ToOwned::to_owned)
}

#[test]
fn an_answer_ends_in_one_of_three_ways() {
    let test = "an_answer_ends_in_one_of_three_ways";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new().env("RECINTO_MODEL", model);
    let on = forced(&shell, model, None);
    let end = forced(&shell, model, Some("<|im_end|>"));
    struct Case<'c> {
        name: &'c str,
        forced: &'c [String],
        args: &'c [&'c str],
        text: &'c str,
        finish: &'c str,
        stop: Option<u64>,
        tokens: u64,
    }
    let case = Case {
        name: "limit",
        forced: &on,
        args: &["--max-tokens", "5"],
        text: "xzxxx",
        finish: "length",
        stop: None,
        tokens: 5,
    };
    let stop = Case { finish: "stop", args: &[], ..case };
    let cases = [
        Case { name: "stop", args: &["--stop", "z"], text: "x", stop: Some(0), tokens: 2, ..stop },
        Case {
            name: "the second stop, over two tokens",
            args: &["--stop", "ñ", "--stop", "zx"],
            text: "x",
            stop: Some(1),
            tokens: 3,
            ..stop
        },
        Case {
            name: "stop at once",
            args: &["--stop", "x"],
            text: "",
            stop: Some(0),
            tokens: 1,
            ..stop
        },
        Case { name: "end", forced: &end, text: "xz", finish: "end", tokens: 3, ..case },
        Case { name: "one token", args: &["--max-tokens", "1"], text: "x", tokens: 1, ..case },
        case,
    ];
    for Case { name, forced, args, text, finish, stop, tokens } in cases {
        let forced = forced.iter().map(String::as_str);
        let args: Vec<&str> =
            ["ask", "¿hola?"].into_iter().chain(forced).chain(args.iter().copied()).collect();
        let ran = shell.run(&[&args[..], &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let json = ran.json();
        assert_eq!(json["text"], text, "{name}");
        assert_eq!(json["finish"], finish, "{name}: always one word");
        assert_eq!(json.get("stop_index").and_then(|index| index.as_u64()), stop, "{name}");
        assert_eq!(json["usage"]["output_tokens"], tokens, "{name}");
        let cut = json["notes"].to_string().contains("max_tokens");
        assert_eq!(cut, finish == "length", "{name}: {}", json["notes"]);
        let ran = shell.run(&args);
        assert_eq!(ran.out(), format!("{text}\n"), "{name}");
        assert_eq!(ran.err.contains("note: the reply reached max_tokens"), cut, "{name}");
    }
}

#[test]
fn a_conversation_goes_on() {
    let Some(model) = shell::tiny("a_conversation_goes_on", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new().env("RECINTO_MODEL", model);
    let end = forced(&shell, model, Some("<|im_end|>"));
    let talk = "hola\n¿qué tal?\n//x\n/system Sé breve.\nhola\n¿y tú?\n".as_bytes();
    let args: Vec<&str> = ["chat"].into_iter().chain(end.iter().map(String::as_str)).collect();
    // From the second turn on `x` and `z` stand in the prompt, and the end is worth most.
    let ran = shell.pipe(&args, talk);
    assert_eq!((ran.code, ran.out()), (Some(0), "xz\n\n\nxz\n\n"), "{}", ran.err);
    let ran = shell.pipe(&[&args[..], &["--json", "--lock-memory"]].concat(), talk);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let turns: Vec<serde_json::Value> =
        ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = turns.iter().filter_map(|turn| turn["text"].as_str()).collect();
    assert_eq!(texts, ["xz", "", "", "xz", ""]);
    assert!(turns.iter().all(|turn| turn["finish"] == "end" && turn["command"] == "chat"));
    let count = |turn: usize, key: &str| turns[turn]["usage"][key].as_u64().unwrap();
    for (turn, before) in [(1, 0), (2, 1), (4, 3)] {
        // All that was read and said before stands before the new line, and is not read again.
        assert!(count(turn, "prompt_tokens") > count(before, "prompt_tokens"), "{turn}");
        assert!(count(turn, "cached_tokens") >= count(before, "prompt_tokens"), "{turn}");
    }
    // `/system` begins anew: nothing is kept past the marks that begin any conversation.
    assert!(count(3, "cached_tokens") < 4, "{}", count(3, "cached_tokens"));
}

/// A copy of `model` in the shell's folder in which `key` has another name of the same length,
/// one that no reader looks for.
fn without(shell: &Shell, model: &Path, key: &str) -> String {
    let mut bytes = fs::read(model).unwrap();
    let found: Vec<usize> = (0..bytes.len() - key.len())
        .filter(|at| bytes[*at..].starts_with(key.as_bytes()))
        .collect();
    let [at] = found[..] else { panic!("{key} is there {} times", found.len()) };
    bytes[at + key.len() - 1] = b'_';
    shell.write("changed.gguf", bytes).to_str().unwrap().to_owned()
}

#[test]
fn a_model_without_a_template_continues_the_text() {
    let test = "a_model_without_a_template_continues_the_text";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new();
    let bare = without(&shell, &model, "tokenizer.chat_template");
    let model = model.to_str().unwrap();
    let said = "the model has no chat template: it continued the text as it stands";
    let ask = ["ask", "-m", &bare, "--max-tokens", "4", "¿hola?"];
    let ran = shell.run(&ask);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains(&format!("note: {said}\n")), "{}", ran.err);
    let json = shell.run(&[&ask[..], &["--json"]].concat()).json();
    assert_eq!(json["mode"], "completion");
    assert_eq!(json["notes"][0], said);
    assert!(json["digests"]["template"].is_null());
    let asked = ["ask", "-m", model, "--json", "--max-tokens", "4", "--completion", "¿hola?"];
    let same = shell.run(&asked).json();
    assert_eq!((&same["text"], &same["mode"]), (&json["text"], &json["mode"]), "as when asked to");
    assert!(!same["notes"].to_string().contains("template"), "who asks for it knows");
    let ran = shell.run(&["status", "-m", &bare]);
    assert!(ran.out().contains("template      none: texts are continued"), "{}", ran.out());
    let ran = shell.run(&["render", "-m", &bare, "--plain", "¿hola?"]);
    assert_eq!(ran.out(), "¿hola?", "{}", ran.err);
    let ran = shell.pipe(&["chat", "-m", &bare, "--max-tokens", "2"], b"hola\nhola\n");
    assert_eq!(ran.code, Some(4), "a second turn needs a template");
    assert!(ran.err.contains("no chat template"), "{}", ran.err);
}

#[test]
fn what_is_unusual_about_a_vocabulary_is_said() {
    let test = "what_is_unusual_about_a_vocabulary_is_said";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new();
    let changed = without(&shell, &model, "tokenizer.ggml.pre");
    let note = "the file names no pre-tokenizer; the default one is used";
    let ask = ["ask", "-m", &changed, "--max-tokens", "1", "hola"];
    let cases: [(&str, &[&str], bool); 5] = [
        ("inspect", &["inspect", &changed], true),
        ("status", &["status", "-m", &changed], true),
        ("ask", &[&ask[..], &["-v"]].concat(), false),
        ("tokenize", &["tokenize", "-m", &changed, "-v", "hola"], false),
        ("render", &["render", "-m", &changed, "-v", "hola"], false),
    ];
    for (name, args, out) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        assert_eq!((ran.out().contains(note), ran.err.contains(note)), (out, !out), "{name}");
    }
    assert!(!shell.run(&ask).err.contains(note), "an answer is not about it");
    let json = shell.run(&["inspect", &changed, "--json"]).json();
    assert_eq!(json["tokenizer_notes"], serde_json::json!([note]));
    let json = shell.run(&["status", "-m", &changed, "--json"]).json();
    assert_eq!(json["opened"]["tokenizer_notes"], serde_json::json!([note]));
    let json = shell.run(&["inspect", model.to_str().unwrap(), "--json"]).json();
    assert_eq!(json["tokenizer_notes"], serde_json::json!([]), "nothing unusual");
}
