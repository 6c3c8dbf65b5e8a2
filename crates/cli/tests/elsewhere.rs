//! Commands with a service elsewhere, which is one on loopback here.

use crate::shell;

use recinto_receipt::{Receipt, Record};
use recinto_testkit::service::{Act, Service, recording};
use serde_json::{Value, json};
use shell::Shell;

/// A shell whose settings lead to `service`, with keys and proxies around that must not be used.
fn shell(service: &Service, provider: &str) -> Shell {
    let shell = Shell::new();
    shell.write("recinto.toml", service.policy(provider));
    shell
        .env("RECINTO_PROVIDER", provider)
        .env("RECINTO_MODEL", "gpt-4.1")
        .env("RECINTO_BASE_URL", &service.base_url())
        .env("RECINTO_RETRIES", "0")
        .env("RECINTO_API_KEY", "sk-canary-own")
        .env("OPENAI_API_KEY", "sk-canary-openai")
        .env("ANTHROPIC_API_KEY", "sk-ant-canary")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
}

#[test]
fn ask() {
    let cases = [
        ("openai", "chat", "chat-stream", "¡Hola, señora Núñez! ¿Qué tal?", 19),
        ("openai", "responses", "responses-stream", "¡Buenos días! ¿Mañana?", 36),
        ("openai-compatible", "chat", "chat-whole", "¡Hola, señora Núñez! ¿Qué tal?", 19),
        ("anthropic", "messages", "messages-stream", "Sí, mañana a las ocho.", 29),
    ];
    for (provider, wire, name, text, tokens) in cases {
        let service = Service::of(&[name]);
        let shell = shell(&service, provider).env("RECINTO_WIRE", wire);
        let ran = shell.pipe(&["ask", "-"], "¿Qué?".as_bytes());
        assert_eq!((ran.code, ran.out()), (Some(0), format!("{text}\n").as_str()), "{}", ran.err);
        let ran = shell.pipe(&["ask", "-", "--json", "-s", "En español."], "¿Qué?".as_bytes());
        let told = ran.json();
        let facts = [
            (&told["provider"], json!(provider)),
            (&told["build"], json!("recinto")),
            (&told["text"], json!(text)),
            (&told["finish"], json!("end")),
            (&told["usage"]["prompt_tokens"], json!(tokens)),
            (&told["service"]["host"], json!(service.host())),
            (&told["service"]["wire"], json!(wire)),
            (&told["service"]["requests"], json!(1)),
        ];
        for (found, want) in facts {
            assert_eq!(found, &want, "{name}: {told}");
        }
        for local in ["digests", "engine", "architecture", "times", "kv"] {
            assert!(told.get(local).is_none(), "{name}: {local}");
        }
        let sent = format!("{:?}", service.seen());
        assert!(sent.contains("canary-own") && !sent.contains("canary-openai"), "{name}");
        assert!(!sent.contains("sk-ant"), "{name}: another vendor's key");
        assert!(!format!("{told}{}", ran.err).contains("canary"), "{name}");
    }
}

#[test]
fn chat_tells_the_conversation_anew() {
    let service = Service::of(&["messages-stream", "messages-whole"]);
    let ran = shell(&service, "anthropic").pipe(&["chat"], "¿Cuándo?\n¿Seguro?\n".as_bytes());
    assert_eq!((ran.code, ran.out().lines().count()), (Some(0), 2), "{}", ran.err);
    let body: Value = serde_json::from_slice(&service.seen()[1].body).unwrap();
    let want = json!([
        { "role": "user", "content": "¿Cuándo?" },
        { "role": "assistant", "content": "Sí, mañana a las ocho." },
        { "role": "user", "content": "¿Seguro?" },
    ]);
    assert_eq!(body["messages"], want);
}

#[test]
fn status_sends_nothing_unless_it_is_asked_to() {
    let service = Service::of(&["chat-whole"]);
    let shell = shell(&service, "openai");
    let ran = shell.run(&["status"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "build         recinto\n",
        "provider      openai (environment",
        "key           RECINTO_API_KEY (environment",
        "it is the key that is sent",
        "OPENAI_API_KEY is set (environment, OPENAI_API_KEY); nothing here uses it",
        "is not encrypted",
        "answers       not asked",
    ] {
        assert!(ran.out().contains(part), "{part}: {}", ran.out());
    }
    assert!(!ran.out().contains("canary") && service.seen().is_empty());
    let told = shell.run(&["status", "--json"]).json();
    assert_eq!(
        (&told["can_answer"], &told["asked"]["host"]),
        (&json!(null), &json!(service.host()))
    );
    assert!(service.seen().is_empty());
    let told = shell.run(&["status", "--json", "--probe"]).json();
    assert_eq!(told["can_answer"], true, "{told}");
    assert_eq!(service.seen().len(), 1);
    let refused = Service::of(&["openai-401"]);
    let ran = self::shell(&refused, "openai").run(&["status", "--probe"]);
    assert_eq!(ran.code, Some(4), "{}", ran.out());
    assert!(ran.out().contains("answers       no\n") && !ran.err.contains("canary"), "{}", ran.err);
}

#[test]
fn failures_have_their_kinds() {
    let cases = [
        ("openai", "openai-401", "auth", 4),
        ("openai", "openai-404", "not-found", 4),
        ("openai", "openai-429", "rate-limited", 4),
        ("openai", "openai-429-quota", "budget", 4),
        ("openai", "openai-400-context", "overflow", 4),
        ("openai", "openai-400-other", "usage", 2),
        ("openai", "openai-500", "unavailable", 4),
        ("openai", "chat-refusal-stream", "refused", 4),
        ("anthropic", "anthropic-529", "unavailable", 4),
        ("anthropic", "messages-refusal-stream", "refused", 4),
    ];
    for (provider, name, kind, exit) in cases {
        let service = Service::of(&[name]);
        let ran = shell(&service, provider).pipe(&["ask", "-", "--json"], b"canary del texto");
        let error = &ran.json()["error"];
        assert_eq!((&error["kind"], ran.code), (&json!(kind), Some(exit)), "{name}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(provider), "{error}");
        assert!(!format!("{error}{}", ran.err).contains("canary"), "{name}: {error}");
    }
    let service = Service::start(vec![Act::Hang(recording("chat-stream")[..1500].to_vec())]);
    let ran = shell(&service, "openai")
        .env("RECINTO_SILENCE", "0.3")
        .pipe(&["ask", "-", "--json"], "¿Qué?".as_bytes());
    assert_eq!(ran.json()["error"]["kind"], "unavailable");
    let ran = shell(&service, "openai").pipe(&["ask", "-", "--json", "--completion"], b"x");
    assert_eq!((&ran.json()["error"]["kind"], ran.code), (&json!("unable"), Some(2)));
    let ran = shell(&service, "openai").run(&["status", "--receipt", "r.json"]);
    assert!(ran.code == Some(2) && ran.err.contains("gives no receipt"), "{}", ran.err);
    let ran = Shell::new().run(&["ask", "x", "--provider", "mock", "--receipt", "r.json"]);
    assert!(ran.code == Some(2) && ran.err.contains("gives no receipt"), "{}", ran.err);
    let ran = shell(&service, "openai").run(&["tokenize", "-m", "gpt-4.1", "x"]);
    assert_ne!(ran.code, Some(0));
    let ran = Shell::new().env("RECINTO_PROVIDER", "openai").run(&["ask", "-m", "gpt-4.1", "x"]);
    assert!(ran.code == Some(4) && ran.err.contains("openai: no key is set"), "{}", ran.err);
}

#[test]
fn an_interrupt_keeps_what_was_answered() {
    let service = Service::start(vec![Act::Hang(recording("chat-stream")[..2400].to_vec())]);
    let shell = shell(&service, "openai");
    let child = shell.command(&["ask", "¿Qué?", "--json"]).spawn().unwrap();
    while service.seen().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    shell::kill(&child, "INT");
    let ran = shell::finish(child);
    let told = ran.json();
    assert_eq!((ran.code, &told["finish"]), (Some(130), &json!("cancelled")), "{told}");
    assert!(told["text"].as_str().unwrap().starts_with("¡Hola"), "{told}");
}

#[test]
fn the_mock_answers_without_a_model() {
    let run = || Shell::new().pipe(&["ask", "-", "--provider", "mock", "-q"], "¿Qué?".as_bytes());
    let (first, second) = (run(), run());
    assert_eq!((first.code, first.out()), (Some(0), second.out()), "{}", first.err);
    assert_eq!(first.out().split_whitespace().count(), 6);
    let ran = Shell::new().run(&["status", "--provider", "mock", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// A label that no policy allows there stops each command before a byte leaves, and is named.
#[test]
fn labels_hold_in_every_command() {
    let service = Service::of(&["chat-whole"]);
    let shell = shell(&service, "openai");
    shell.write("s.json", r#"{"type":"object","properties":{"año":{"type":"integer"}}}"#);
    let commands: [&[&str]; 5] = [
        &["ask", "-"],
        &["chat"],
        &["decide", "-", "-l", "sí", "-l", "no"],
        &["extract", "-", "--schema", "s.json"],
        &["complete", "-", "--regex", "[a-z]+"],
    ];
    for command in commands {
        let args = [command, &["--data-label", "phi", "--data-label", "privado"]].concat();
        let ran = shell.pipe(&args, "Historia de la señora Núñez\n".as_bytes());
        assert_eq!(ran.code, Some(4), "{command:?}: {}", ran.err);
        for part in ["label `phi` may not go to", "recinto.toml", "names other labels"] {
            assert!(ran.err.contains(part), "{command:?}: {part} in {}", ran.err);
        }
        assert!(ran.out.is_empty() && !ran.err.contains("Núñez"), "{command:?}");
        assert!(service.seen().is_empty(), "{command:?}");
    }
    // Without any policy nothing leaves at all.
    std::fs::remove_file(shell.path().join("recinto.toml")).unwrap();
    let ran = shell.pipe(&["ask", "-", "--json"], "¿Qué?".as_bytes());
    let told = ran.json();
    assert_eq!((ran.code, &told["error"]["kind"]), (Some(4), &json!("refused")), "{}", ran.err);
    assert!(told.to_string().contains("no policy says what may leave"), "{told}");
    assert!(service.seen().is_empty());
}

/// An answer from elsewhere has digests of what was sent and of what came, under the operator's key
/// alone, and none without one.
#[test]
fn digests_of_answers_are_keyed() {
    let service = Service::of(&["chat-form-stream"]);
    let shell = shell(&service, "openai");
    let args = ["decide", "-", "-l", "sí", "-l", "no", "--json"];
    let text = "¿Sí o no, señora Núñez?".as_bytes();
    let told = shell.pipe(&args, text).json();
    assert_eq!(
        (&told["label"], &told["service"]["wire"]),
        (&json!("sí"), &json!("chat")),
        "{told}"
    );
    assert!(told["service"].get("request_digest").is_none(), "{told}");
    let key = shell.write("clave", "x".repeat(32));
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let policy = service.policy("openai");
    let head = "egress_log = \"l.jsonl\"\negress_key = \"./clave\"\n";
    shell.write("recinto.toml", format!("{head}{policy}"));
    let told = shell.pipe(&args, text).json();
    let line = std::fs::read_to_string(shell.path().join("l.jsonl")).unwrap();
    let line: Value = serde_json::from_str(line.trim_end()).unwrap();
    let made = &told["service"];
    assert!(line["digest"].as_str().is_some_and(|digest| digest.starts_with("hmac-sha256:")));
    assert_eq!(made["request_digest"], line["digest"], "{told}");
    let answer = made["answer_digest"].as_str().expect("a digest");
    assert!(answer.starts_with("hmac-sha256:") && made["request_digest"] != answer, "{told}");
    // Anybody could compute a plain one.
    assert!(!told.to_string().contains(&recinto_receipt::sha256("sí".as_bytes()).to_string()));
}

/// The receipt of an answer from elsewhere: who, what was asked for and told, keyed digests as in
/// the log of sends or none, no words; and that it cannot be replayed.
#[test]
fn receipts_from_elsewhere() {
    let labels = ["-l", "sí", "-l", "no"];
    let schema = ["--schema", "s.json"];
    type Case<'a> = (&'a str, &'a str, &'a str, &'a str, Vec<&'a str>, &'a str);
    let cases: [Case<'_>; 5] = [
        ("openai", "chat", "chat-stream", "ask", vec![], "¡Hola, señora Núñez! ¿Qué tal?"),
        ("openai", "responses", "responses-whole", "ask", vec![], "¡Buenos días! ¿Mañana?"),
        ("anthropic", "messages", "messages-whole", "ask", vec![], "Sí, mañana a las ocho."),
        ("openai", "chat", "chat-form-stream", "decide", labels.to_vec(), "sí"),
        ("openai", "chat", "chat-object-stream", "extract", schema.to_vec(), "2024"),
    ];
    let text = "¿Cuándo llega, señora Núñez?";
    for (provider, wire, name, command, more, said) in cases {
        for keyed in [true, false] {
            let service = Service::of(&[name]);
            let stream = if name.ends_with("stream") { "on" } else { "off" };
            let shell =
                shell(&service, provider).env("RECINTO_WIRE", wire).env("RECINTO_STREAM", stream);
            shell.write("s.json", r#"{"type":"object","properties":{"año":{"type":"integer"}}}"#);
            let key = shell.write("clave", "x".repeat(32));
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&key, mode).unwrap();
            let line = if keyed { "egress_key = \"./clave\"\n" } else { "" };
            let policy = service.policy(provider);
            shell.write("recinto.toml", format!("egress_log = \"l.jsonl\"\n{line}{policy}"));
            let head = [command, "-", "--json", "--receipt", "r.json", "--stop", "secreto"];
            let ran = shell.pipe(&[&head[..], &more].concat(), text.as_bytes());
            let case = format!("{name}, {command}, {keyed}");
            assert_eq!(ran.code, Some(0), "{case}: {}", ran.err);
            let told = ran.json();
            let bytes = std::fs::read(shell.path().join("r.json")).unwrap();
            let Ok(Record::Remote(found)) = Record::from_bytes(&bytes) else { panic!("{case}") };
            let log = std::fs::read_to_string(shell.path().join("l.jsonl")).unwrap();
            let log: Value = serde_json::from_str(log.trim_end()).unwrap();
            let made = &told["service"];
            let facts = [
                (json!(found.provider), json!(provider)),
                (json!(found.model.asked), json!("gpt-4.1")),
                (json!(found.model.told), made["model"].clone()),
                (json!(found.model.weights), json!("unknown")),
                (json!(found.program.build), json!("recinto")),
                (json!(found.host), json!(service.host())),
                (json!(found.wire), json!(wire)),
                (json!(found.id), made["id"].clone()),
                (json!(found.request_id), made["request_id"].clone()),
                (json!(found.input), log["digest"].clone()),
                (json!(found.output), made.get("answer_digest").cloned().unwrap_or_default()),
                (json!(found.rules), log["rules"].clone()),
                (json!(found.finish), told["finish"].clone()),
                (json!(found.usage.output_tokens), told["usage"]["output_tokens"].clone()),
                (json!(found.options["stop"]), json!(1)),
                (json!(found.rules.len()), json!(1)),
            ];
            for (at, (found, want)) in facts.iter().enumerate() {
                assert_eq!(found, want, "{case}, {at}: {told}");
            }
            assert_eq!((found.input.is_some(), found.output.is_some()), (keyed, keyed), "{case}");
            let shown = String::from_utf8(bytes.clone()).unwrap();
            let plain = [said, text, "secreto"].map(|word| {
                let digest = recinto_receipt::sha256(word.as_bytes()).to_string();
                (word, digest)
            });
            for (word, digest) in plain {
                assert!(!shown.contains(&digest), "{case}: anybody could compute it");
                assert!(word == "sí" || !shown.contains(word), "{case}: {word}");
            }
            // Whoever would compute it again is told why not.
            let error = Receipt::from_bytes(&bytes).unwrap_err();
            assert_eq!(error.kind(), recinto_receipt::Kind::Remote, "{case}");
            assert!(error.to_string().contains("cannot be replayed: remote"), "{case}: {error}");
        }
    }
}
