//! What is sent on each wire, and what is read of recorded answers, in pieces of any size.

use crate::common;

use std::{ops::ControlFlow, path::Path};

use common::{Leave, ask, ask_form, config, request, wire};
use recinto_engine::{Message, Options, Request, Role, Stop, ToolCall};
use recinto_policy::Destination;
use recinto_remote::{Answer, Ask, Finish, Remote, Unsupported, Wire};
use recinto_testkit::service::{Act, Service, recording};
use serde_json::{Value, json};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings"))
}

/// What every recording of an answer says; the vendors' own clients read the same
/// (`tools/check-wires.py`).
fn expected() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn word(finish: Finish) -> &'static str {
    match finish {
        Finish::End => "end",
        Finish::Length => "length",
        Finish::Stop(_) => "stop",
        Finish::Calls => "calls",
        Finish::Cancelled => "cancelled",
        _ => "deadline",
    }
}

/// The answer in the form of `expected.json`.
fn told(answer: &Answer, want: &Value) -> Value {
    let mut out = json!({
        "recording": want["recording"], "wire": want["wire"], "text": answer.text,
        "finish": word(answer.finish), "prompt_tokens": answer.usage.prompt_tokens,
        "cached_tokens": answer.usage.cached_tokens, "output_tokens": answer.usage.output_tokens,
    });
    if !answer.calls.is_empty() {
        let calls = answer
            .calls
            .iter()
            .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }));
        out["calls"] = calls.collect();
    }
    if !answer.tokens.is_empty() {
        out["logprobs"] = answer.tokens.iter().map(|t| json!([t.text, t.logprob])).collect();
        assert!(answer.tokens.iter().all(|token| token.top.len() == 2), "{want}");
    }
    if !answer.reasoning.is_empty() {
        out["reasoning"] = answer.reasoning.as_str().into();
    }
    if let Finish::Stop(Some(at)) = answer.finish {
        out["stop_index"] = at.into();
    }
    if want["form"] == true {
        out["form"] = true.into();
    }
    out
}

#[test]
fn recordings_say_what_they_say() {
    let schema = json!({
        "type": "object", "properties": { "answer": { "enum": ["sí", "no"] } },
        "required": ["answer"], "additionalProperties": false
    });
    let all = expected();
    assert!(all.len() > 20);
    for want in all {
        let name = want["recording"].as_str().unwrap();
        let wire = wire(want["wire"].as_str().unwrap());
        let form = (want["form"] == true).then_some(&schema);
        let bytes = recording(name);
        for step in [1, 7, bytes.len()] {
            let service = Service::start(vec![Act::Steps(bytes.clone(), step)]);
            let mut config = config(&service, wire);
            config.stream = name.ends_with("stream") || name.ends_with("length");
            let mut request = request();
            if form.is_some() {
                request.tools.clear();
            }
            request.options.logprobs = Some(2);
            if wire == Wire::Messages {
                request.options.logprobs = None;
            }
            let (answer, pieces) = ask_form(config, &request, form);
            let answer = answer.unwrap_or_else(|e| panic!("{name} by {step}: {e}"));
            assert_eq!(told(&answer, &want), want, "{name} by {step}");
            assert_eq!(pieces, answer.text, "{name} by {step}");
            assert!(answer.facts.request_id.is_some() && answer.facts.id.is_some(), "{name}");
            assert_eq!((answer.facts.requests, &answer.facts.host), (1, &service.host()));
        }
    }
}

/// A conversation with every kind of turn and every option that some wire has.
fn long() -> Request {
    let mut request = request();
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: Some(id.into()),
        name: name.into(),
        arguments,
    };
    let mut calls = Message::new(Role::Assistant, "Miro.");
    calls.tool_calls = vec![
        call("c1", "buscar_casa", json!({ "ciudad": "Logroño" })),
        call("c2", "hora", json!({})),
    ];
    let result = |id: &str, text: &str| {
        let mut message = Message::new(Role::Tool, text);
        message.tool_call_id = Some(id.into());
        message
    };
    request.messages.extend([
        calls,
        result("c1", "dos casas"),
        result("c2", "las ocho"),
        Message::new(Role::User, "¿Y mañana?"),
    ]);
    request.options = Options {
        temperature: 0.7,
        top_p: 0.9,
        top_k: 40,
        presence_penalty: 0.5,
        frequency_penalty: -0.25,
        logit_bias: [(42, -2.0)].into(),
        seed: Some(7),
        max_tokens: 77,
        stop: vec!["¡fin!".into()],
        logprobs: Some(3),
        ..Options::default()
    };
    request
}

/// The body that was sent, and the service that saw it.
fn sent(wire: Wire, request: &Request, form: Option<&Value>, stream: bool) -> Value {
    let answer = match wire {
        Wire::Chat => "chat-whole",
        Wire::Responses => "responses-whole",
        Wire::Messages => "messages-whole",
    };
    let service = Service::of(&[answer]);
    let mut config = config(&service, wire);
    config.stream = stream;
    let (answer, _) = ask_form(config, request, form);
    answer.unwrap_or_else(|e| panic!("{e}"));
    let seen = &service.seen()[0];
    let path = ["chat/completions", "responses", "messages"]
        .into_iter()
        .find(|path| seen.line == format!("POST /v1/{path} HTTP/1.1"));
    assert!(path.is_some(), "{}", seen.line);
    let key = match wire {
        Wire::Messages => {
            assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(seen.header("authorization"), None);
            seen.header("x-api-key")
        }
        _ => seen.header("authorization").and_then(|value| value.strip_prefix("Bearer ")),
    };
    assert_eq!(key, Some("sk-secreto"));
    serde_json::from_slice(&seen.body).unwrap()
}

/// Goldens of requests; the vendors' own types take them (`tools/check-wires.py`).
#[test]
fn requests_are_those_of_the_wires() {
    let schema = json!({
        "type": "object", "properties": { "año": { "type": "integer" } },
        "required": ["año"], "additionalProperties": false
    });
    let mut thinking = request();
    thinking.tools.clear();
    thinking.options.thinking = Some(true);
    thinking.options.thinking_tokens = Some(2000);
    thinking.options.max_tokens = 4000;
    let mut plain = request();
    plain.tools.clear();
    let cases: [(&str, Wire, &Request, Option<&Value>, bool); 10] = [
        ("chat-long", Wire::Chat, &long(), None, true),
        ("chat-form", Wire::Chat, &plain, Some(&schema), false),
        ("responses-long", Wire::Responses, &long(), None, true),
        ("responses-form", Wire::Responses, &plain, Some(&schema), false),
        ("messages-long", Wire::Messages, &long(), None, true),
        ("messages-form", Wire::Messages, &plain, Some(&schema), false),
        ("messages-form-tools", Wire::Messages, &request(), Some(&schema), false),
        ("messages-thinking", Wire::Messages, &thinking, None, true),
        ("messages-thinking-form", Wire::Messages, &thinking, Some(&schema), true),
        ("chat-short", Wire::Chat, &Request::user("¿Qué?"), None, false),
    ];
    for (name, wire, request, form, stream) in cases {
        let found = sent(wire, request, form, stream);
        let path = folder().join(format!("requests/{name}.json"));
        if std::env::var_os("RECINTO_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = serde_json::to_string_pretty(&found).unwrap();
            std::fs::write(&path, text + "\n").unwrap();
        }
        let want: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found, want, "{name}");
        let limit = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        assert!(limit.iter().any(|field| found.get(*field).is_some()), "{name}: no limit");
    }
}

#[test]
fn options_without_effect_are_told() {
    let options = Options { top_k: 5, min_p: 0.1, seed: Some(1), ..Options::default() };
    let cases = [
        (Wire::Chat, "chat-whole", vec!["top_k", "min_p"]),
        (Wire::Responses, "responses-whole", vec!["top_k", "min_p", "seed"]),
        (Wire::Messages, "messages-whole", vec!["min_p", "seed"]),
    ];
    for (wire, name, want) in cases {
        let request = Request { options: options.clone(), ..Request::user("¿Qué?") };
        let service = Service::of(&[name]);
        let answer = ask(config(&service, wire), &request).0.unwrap_or_else(|e| panic!("{e}"));
        let unsaid = (wire == Wire::Messages).then_some("temperature");
        let all: Vec<&str> = want.iter().copied().chain(unsaid).collect();
        assert_eq!(answer.facts.not_sent, all, "{name}");
        for key in &want {
            let told = format!("option `{key}` has no effect");
            assert!(answer.notes.iter().any(|note| note.starts_with(&told)), "{name}: {key}");
        }
        // Under the strict rule nothing is sent.
        let strict =
            recinto_remote::Config { unsupported: Unsupported::Error, ..config(&service, wire) };
        let error = ask(strict, &request).0.err().unwrap().to_string();
        assert!(error.contains(&format!("option `{}` has no effect", want[0])), "{error}");
        assert_eq!(service.seen().len(), 1);
    }
}

#[test]
fn options_that_a_model_refuses() {
    let cases = [
        (Wire::Chat, "openai-400-temperature", "chat-whole", "temperature"),
        (Wire::Messages, "anthropic-400-both", "messages-whole", "temperature"),
    ];
    for (wire, refusal, answer, key) in cases {
        let mut request = Request::user("¿Qué?");
        request.options.top_p = 0.5;
        request.options.temperature = 0.25;
        let service = Service::of(&[refusal, answer]);
        let found = ask(config(&service, wire), &request).0.unwrap_or_else(|e| panic!("{e}"));
        let note = format!("option `{key}` was not sent: the model does not take it");
        assert!(found.notes.contains(&note), "{:?}", found.notes);
        assert_eq!(found.facts.not_sent, [key]);
        let bodies: Vec<Value> =
            service.seen().iter().map(|s| serde_json::from_slice(&s.body).unwrap()).collect();
        assert_eq!(bodies[0][key], 0.25);
        assert!(bodies[1].get(key).is_none() && bodies[1]["top_p"] == 0.5);
        // Under the strict rule it is an error that names the option.
        let service = Service::of(&[refusal]);
        let strict =
            recinto_remote::Config { unsupported: Unsupported::Error, ..config(&service, wire) };
        let error = ask(strict, &request).0.err().unwrap();
        assert_eq!(error.kind(), recinto_remote::Kind::Request);
        assert!(error.to_string().contains(&format!("option `{key}`")), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
    // The limit is said by its other name, and never left out.
    let service = Service::of(&["openai-400-limit", "chat-whole"]);
    ask(config(&service, Wire::Chat), &Request::user("¿Qué?")).0.unwrap();
    let last: Value = serde_json::from_slice(&service.seen()[1].body).unwrap();
    assert_eq!(last["max_completion_tokens"], 1024);
    assert!(last.get("max_tokens").is_none());
}

#[test]
fn a_sink_can_say_stop() {
    for (wire, name) in [(Wire::Chat, "chat-stream"), (Wire::Messages, "messages-stream")] {
        let service = Service::of(&[name]);
        let remote = Remote::open(config(&service, wire)).unwrap();
        let leave = Leave::to(&remote);
        let request = Request::user("¿Qué?");
        let ask = Ask { request: &request, form: None };
        let mut count = 0;
        let answer = remote
            .ask(&ask, &leave.pass(), &Stop::never(), &mut |_| {
                count += 1;
                ControlFlow::Break(())
            })
            .unwrap();
        assert_eq!((answer.finish, count), (Finish::Cancelled, 1), "{name}");
    }
}

#[test]
fn nothing_goes_out_without_leave() {
    let service = Service::of(&["chat-whole"]);
    let remote = Remote::open(config(&service, Wire::Chat)).unwrap();
    let request = Request::user("¿Qué?");
    let ask = Ask { request: &request, form: None };
    for url in [None, Some("http://127.0.0.1:1/v1"), Some("https://127.0.0.1/v1")] {
        let leave = Leave::for_place(Destination::new("openai", url, "gpt-4.1").unwrap());
        let mut sink = |_: recinto_engine::Piece<'_>| ControlFlow::Continue(());
        let error = remote.ask(&ask, &leave.pass(), &Stop::never(), &mut sink).err().unwrap();
        assert!(error.to_string().contains("the permit is for"), "{error}");
    }
    assert!(service.seen().is_empty());
}

#[test]
fn several_threads_ask_one_line() {
    let service = Service::of(&["chat-stream"]);
    let remote = Remote::open(config(&service, Wire::Chat)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let request = Request::user("¿Qué?");
                let ask = Ask { request: &request, form: None };
                let leave = Leave::to(&remote);
                let mut sink = |_: recinto_engine::Piece<'_>| ControlFlow::Continue(());
                let answer = remote.ask(&ask, &leave.pass(), &Stop::never(), &mut sink).unwrap();
                assert!(answer.text.starts_with("¡Hola"));
            });
        }
    });
    assert_eq!(service.seen().len(), 4);
}
