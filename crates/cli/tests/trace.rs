//! The setting `trace_file`: spans in a file where the program was built for it, an error else.

use crate::shell;

use shell::Shell;

#[cfg(not(feature = "otel"))]
#[test]
fn a_program_without_the_feature_says_so() {
    let shell = Shell::new();
    for args in [&["ask", "x", "--trace-file", "s.jsonl"][..], &["status", "--trace-file", "s"]] {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("this program writes no spans"), "{}", ran.err);
        assert!(ran.err.contains("feature `otel`"), "{}", ran.err);
    }
    assert!(!shell.path().join("s.jsonl").exists());
}

#[cfg(feature = "otel")]
#[test]
fn spans_are_written_and_hold_words_only_where_they_were_asked_for() {
    let Some(model) = shell::tiny("spans_are_written", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new().env("RECINTO_MODEL", model).env("RECINTO_TRACE_FILE", "s.jsonl");
    let ask = |more: &[&str]| {
        let args = ["ask", "¿Canario?", "--max-tokens", "3", "--seed", "7", "--temperature", "0.5"];
        let ran = shell.run(&[&args, more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
        let text = std::fs::read_to_string(shell.path().join("s.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        (text.lines().count(), last["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone())
    };
    let (count, span) = ask(&[]);
    assert_eq!((count, &span["kind"]), (1, &3.into()));
    assert!(span["name"].as_str().unwrap().starts_with("chat "), "{span}");
    assert!(span.to_string().contains("gen_ai.usage.output_tokens"), "{span}");
    assert!(!span.to_string().contains("Canario"), "{span}");
    let (count, span) = ask(&["--trace-content", "true"]);
    assert_eq!(count, 2, "lines are added");
    assert!(span.to_string().contains("¿Canario?"), "{span}");
    // A file of settings can name the file of spans, and cannot have words put into it.
    shell.write("recinto.toml", "trace_content = true\n");
    let ran = shell.run(&["ask", "¿Canario?"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no file can ask for it"), "{}", ran.err);
}
