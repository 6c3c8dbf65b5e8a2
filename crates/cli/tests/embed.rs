//! `recinto embed`: what goes in, what comes out, and how it ends.

use crate::shell;

use std::path::Path;

use shell::Shell;

fn tiny() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert");
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_text_and_many_texts() {
    let shell = Shell::new().env("RECINTO_MODEL", &tiny());
    let one = shell.run(&["embed", "where is my order?"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let rows = lines(one.out());
    assert_eq!((rows.len(), &rows[0]["index"], &rows[0]["tokens"]), (1, &0.into(), &7.into()));
    let vector = rows[0]["embedding"].as_array().unwrap();
    let length: f64 = vector.iter().map(|v| v.as_f64().unwrap().powi(2)).sum();
    assert!(vector.len() == 24 && (length - 1.0).abs() < 1e-5);

    let texts = shell.write("textos", "where is my order?\n\n¿Qué año?\n");
    let many = shell.run(&["embed", "--lines", "-f", texts.to_str().unwrap()]);
    assert_eq!(many.code, Some(0), "{}", many.err);
    let found = lines(many.out());
    assert_eq!(found.len(), 2, "blank lines are none");
    assert_eq!(found[0]["embedding"], rows[0]["embedding"], "alone and among others");

    let json = "\"where is my order?\"\n{\"id\":\"ñ\",\"text\":\"a\"}\n";
    let json = shell.write("textos.jsonl", json);
    let args = ["embed", "--jsonl", "--json", "--no-normalize", "--pooling", "cls", "-f"];
    let ran = shell.run(&[&args[..], &[json.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let envelope = ran.json();
    assert_eq!(envelope["command"], "embed");
    assert_eq!((&envelope["pooling"], &envelope["normalize"]), (&"cls".into(), &false.into()));
    assert_eq!(envelope["dimensions"], 24);
    assert_eq!(envelope["embeddings"][1]["id"], "ñ");
    assert_ne!(envelope["embeddings"][0]["embedding"], rows[0]["embedding"]);
    assert!(envelope["weights"].as_str().unwrap().starts_with("sha256:"));

    let table = shell.run(&["embed", "--table", "a"]);
    assert!(table.out().lines().count() == 2 && table.out().contains('…'), "{}", table.out());
}

#[test]
fn what_is_refused() {
    let shell = Shell::new().env("RECINTO_MODEL", &tiny());
    let gguf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny/qwen2-plain.gguf");
    let gguf = gguf.to_str().unwrap();
    let (bad, long) = (shell.write("malo", "{\"text\":\"a\"}\nsecreto\n"), "one ".repeat(600));
    let long = shell.write("largo", long);
    let (bad, long) = (bad.to_str().unwrap(), long.to_str().unwrap());
    let cases: [(&str, Vec<&str>, i32, &str); 6] = [
        ("a model that writes", vec!["embed", "-m", gguf, "a"], 4, "is no encoder"),
        (
            "no JSON",
            vec!["embed", "--jsonl", "-f", bad],
            2,
            "line 2 of the input is not a text or a map",
        ),
        (
            "two kinds of input",
            vec!["embed", "--jsonl", "--lines", "a"],
            2,
            "cannot stand together",
        ),
        ("another pooling", vec!["embed", "--pooling", "max", "a"], 2, "one of: mean, cls, last"),
        ("too long", vec!["embed", "-f", long], 4, "602 tokens"),
        ("an encoder asked", vec!["ask", "a"], 4, "gives no logits"),
    ];
    for (name, args, code, says) in cases {
        let ran = shell.run(&args);
        assert!(ran.err.contains(says) && !ran.err.contains("secreto"), "{name}: {}", ran.err);
        assert_eq!(ran.out(), "", "{name}");
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
    }
    let cut = shell.run(&["embed", "--truncate", "-f", long]);
    assert_eq!(lines(cut.out())[0]["tokens"], 512, "{}", cut.err);
}

/// The other commands that look at a model look at a checkpoint too.
#[test]
fn a_checkpoint_can_be_looked_at() {
    let (shell, tiny) = (Shell::new(), tiny());
    let ran = shell.run(&["inspect", &tiny]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for says in
        ["safetensors", "bert-checkpoint: available", "bert.config.hidden_size = 24", "bf16"]
    {
        assert!(ran.out().contains(says), "{says}: {}", ran.out());
    }
    let ran = shell.run(&["tokenize", "-m", &tiny, "¿order?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("\" order\""), "{}", ran.out());
    let arch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../arch/archs/bert-checkpoint.arch");
    let ran = shell.run(&["arch", "check", arch.to_str().unwrap(), "--model", &tiny]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}
