//! Everything that can go wrong on the line is an error of its kind, and none holds a word of what
//! was sent, of the key, or of the vendor's sentences.

use crate::common;

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use common::{Leave, ask, config, request};
use recinto_engine::{Message, Piece, Request, Role, Stop};
use recinto_remote::{Address, Ask, Config, Error, Finish, Key, Kind, Remote, Vendor, Wire};
use recinto_testkit::service::{Act, Service, recording};

const CHAT: Wire = Wire::Chat;
const MESSAGES: Wire = Wire::Messages;

/// The error of one request whose words must not come back.
fn refused(config: Config, name: &str) -> Error {
    let mut request = Request::user("canary del texto").system("canary del sistema");
    request.options.seed = None;
    let error = ask(config, &request).0.err().unwrap_or_else(|| panic!("{name}: an answer"));
    for text in [error.to_string(), format!("{error:?}")] {
        for word in ["canary", "secreto", "platform.openai"] {
            assert!(!text.contains(word), "{name}: {text}");
        }
    }
    assert!(error.what_to_do().is_some() || error.kind() == Kind::Request, "{name}: {error}");
    error
}

#[test]
fn statuses() {
    let wait = |ms| Kind::RateLimited(Some(Duration::from_millis(ms)));
    // Recording, wire, kind, requests that are sent with two retries.
    let cases = [
        ("openai-401", CHAT, Kind::Auth, 1),
        ("openai-404", CHAT, Kind::NotFound, 1),
        ("openai-429", CHAT, wait(50), 3),
        ("openai-429-bare", CHAT, Kind::RateLimited(None), 3),
        ("openai-429-long", CHAT, Kind::RateLimited(Some(Duration::from_secs(3600))), 1),
        ("openai-429-quota", CHAT, Kind::Budget, 1),
        ("openai-400-context", CHAT, Kind::Overflow, 1),
        ("openai-400-other", CHAT, Kind::Request, 1),
        ("openai-500", CHAT, Kind::Unavailable, 3),
        ("openai-500", Wire::Responses, Kind::Unavailable, 3),
        ("anthropic-401", MESSAGES, Kind::Auth, 1),
        ("anthropic-404", MESSAGES, Kind::NotFound, 1),
        ("anthropic-429", MESSAGES, wait(50), 3),
        ("anthropic-500", MESSAGES, Kind::Unavailable, 3),
        ("anthropic-529", MESSAGES, Kind::Unavailable, 3),
        ("anthropic-400-long", MESSAGES, Kind::Overflow, 1),
        ("anthropic-400-credit", MESSAGES, Kind::Budget, 1),
        ("anthropic-overloaded-stream", MESSAGES, Kind::Unavailable, 3),
        ("redirect", CHAT, Kind::Unavailable, 1),
        ("chat-refusal-stream", CHAT, Kind::Refused, 1),
        ("responses-refusal-whole", Wire::Responses, Kind::Refused, 1),
        ("messages-refusal-stream", MESSAGES, Kind::Refused, 1),
    ];
    for (name, wire, kind, sent) in cases {
        let service = Service::of(&[name]);
        let error = refused(config(&service, wire), name);
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert_eq!(service.seen().len(), sent, "{name}: requests");
    }
    let service = Service::of(&["anthropic-401"]);
    let text = refused(config(&service, MESSAGES), "words").to_string();
    let want = "anthropic: the key is not taken, or may not do this (authentication_error, \
                status 401, request req_011CZabcDEF23456789)\nhint: ";
    assert!(text.starts_with(want), "{text}");
}

#[test]
fn it_is_sent_again_where_that_is_safe() {
    for (wire, name, answer) in [
        (CHAT, "openai-429", "chat-stream"),
        (CHAT, "openai-500", "chat-whole"),
        (MESSAGES, "anthropic-529", "messages-stream"),
        (MESSAGES, "anthropic-overloaded-stream", "messages-whole"),
    ] {
        let service = Service::of(&[name, answer]);
        let answer = ask(config(&service, wire), &Request::user("¿Qué?")).0.unwrap();
        assert_eq!(answer.facts.requests, 2, "{name}");
        let seen = service.seen();
        assert_eq!(seen[0].body, seen[1].body, "{name}");
    }
    // Not when the settings say so, and not when the caller says stop meanwhile.
    let service = Service::of(&["openai-429", "chat-whole"]);
    let error = refused(Config { retries: 0, ..config(&service, CHAT) }, "no retries");
    assert_eq!((service.seen().len(), error.kind()), {
        (1, Kind::RateLimited(Some(Duration::from_millis(50))))
    });
}

#[test]
fn broken_answers() {
    let cut = |name: &str, keep: &str| {
        let bytes = recording(name);
        let at = bytes.windows(keep.len()).position(|window| window == keep.as_bytes()).unwrap();
        bytes[..at].to_vec()
    };
    let page = |status: u16, kind: &str, body: &str| {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n");
        format!("{head}\r\n{body}").into_bytes()
    };
    let events = |body: &str| page(200, "text/event-stream", body);
    let promised = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"id\":".to_vec();
    let huge = format!("<p>{}</p>", "canary ".repeat(200_000));
    let cases: Vec<(&str, Wire, Vec<u8>)> = vec![
        ("a stream that ends early", CHAT, cut("chat-stream", "data: [DONE]\n\n")[..900].to_vec()),
        ("a stream without its end", MESSAGES, cut("messages-stream", "event: message_stop")),
        ("before the reason", MESSAGES, cut("messages-stream", "event: message_delta")),
        ("a response without its end", Wire::Responses, {
            cut("responses-stream", "event: response.completed")
        }),
        ("done without an answer", MESSAGES, events("data: [DONE]\n\n")),
        ("a body that ends early", CHAT, promised),
        ("events that are no JSON", CHAT, events("data: canary\n\n")),
        ("events of another wire", CHAT, events("data: {\"canary\":1}\n\n")),
        ("text that is a number", CHAT, {
            events("data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n")
        }),
        (
            "arguments of no call",
            MESSAGES,
            events(
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\
             \"input_json_delta\",\"partial_json\":\"canary\"}}\n\n",
            ),
        ),
        ("lines that are no events", CHAT, events("canary\n\n")),
        ("not UTF-8", CHAT, [events("data: "), b"\xff\n\n".to_vec()].concat()),
        ("a page", CHAT, page(200, "text/html", "<html>canary</html>")),
        ("JSON of something else", CHAT, page(200, "application/json", "{\"canary\":true}")),
        ("an empty body", MESSAGES, page(200, "application/json", "")),
        ("nothing at all", CHAT, Vec::new()),
        ("no HTTP", CHAT, b"SSH-2.0-canary\r\n".to_vec()),
        ("a huge page of an error", CHAT, page(503, "text/html", &huge)),
        ("a huge header", CHAT, {
            format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "canary".repeat(200_000)).into_bytes()
        }),
    ];
    for (name, wire, bytes) in cases {
        let service = Service::start(vec![Act::Send(bytes)]);
        let error = refused(Config { retries: 0, ..config(&service, wire) }, name);
        assert_eq!(error.kind(), Kind::Unavailable, "{name}: {error}");
    }
}

#[test]
fn a_call_that_is_not_well_formed_is_no_answer() {
    let bytes = recording("chat-tools-stream");
    let text = String::from_utf8(bytes).unwrap();
    let cases = [
        ("arguments that are no JSON", text.replace("ño\\\"}", "ño")),
        ("a tool that was not offered", text.replace("buscar_casa", "canary")),
    ];
    for (name, bytes) in cases {
        let service = Service::start(vec![Act::Send(bytes.into_bytes())]);
        let error = ask(config(&service, CHAT), &request()).0.err().unwrap();
        assert_eq!(error.kind(), Kind::InvalidOutput, "{name}: {error}");
        assert!(!error.to_string().contains("canary"), "{name}: {error}");
    }
}

#[test]
fn silence_is_heard() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let half = recording("chat-stream")[..1500].to_vec();
    let cases = [
        ("no answer", Act::Hang(Vec::new()), false),
        ("a head only", Act::Hang(head.into()), false),
        ("half an answer", Act::Hang(half), true),
    ];
    for (name, act, begun) in cases {
        let service = Service::start(vec![act]);
        let silence = Duration::from_millis(300);
        let started = Instant::now();
        let error = refused(Config { silence, ..config(&service, CHAT) }, name);
        assert_eq!(error.kind(), Kind::Unavailable, "{name}: {error}");
        assert_eq!(error.to_string().contains("broke off"), begun, "{name}: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{name}");
        assert_eq!(
            service.seen().len(),
            1,
            "{name}: what may have been worked on is not sent again"
        );
    }
    // Slow is not silent: every byte counts.
    let bytes = recording("chat-length");
    let service = Service::start(vec![Act::Drip(bytes, Duration::from_millis(1))]);
    let silence = Duration::from_millis(800);
    let answer = ask(Config { silence, ..config(&service, CHAT) }, &Request::user("¿Qué?")).0;
    assert_eq!(answer.unwrap().text, "El año tiene");
}

#[test]
fn stopping() {
    let half = recording("chat-stream")[..1500].to_vec();
    for (name, act, begun) in
        [("before", Act::Hang(Vec::new()), false), ("within", Act::Hang(half), true)]
    {
        for by_flag in [true, false] {
            let service = Service::start(vec![act.clone()]);
            let remote = Remote::open(config(&service, CHAT)).unwrap();
            let leave = Leave::to(&remote);
            let flag = Arc::new(AtomicBool::new(false));
            let mut request = Request::user("¿Qué?");
            if by_flag {
                let flag = Arc::clone(&flag);
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(300));
                    flag.store(true, std::sync::atomic::Ordering::Relaxed);
                });
            } else {
                request.options.deadline = Some(Duration::from_millis(300));
            }
            let started = Instant::now();
            let ask = Ask { request: &request, form: None };
            let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
            let answer = remote.ask(&ask, &leave.pass(), &Stop::new(flag, None), &mut sink);
            assert!(started.elapsed() < Duration::from_secs(10), "{name}");
            let (kind, finish) = match by_flag {
                true => (Kind::Cancelled, Finish::Cancelled),
                false => (Kind::Deadline, Finish::Deadline),
            };
            match answer {
                Ok(answer) => {
                    assert!(begun && answer.text.starts_with("¡Hola"), "{name}: {}", answer.text);
                    assert_eq!(answer.finish, finish, "{name}");
                }
                Err(error) => assert_eq!((begun, error.kind()), (false, kind), "{name}"),
            }
        }
    }
}

#[test]
fn nobody_there() {
    let service = Service::of(&["chat-whole"]);
    let mut nobody = config(&service, CHAT);
    // A port of this machine where nobody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    nobody.base_url = Some(Address::read("openai", "base_url", &url).unwrap());
    nobody.retries = 1;
    let error = refused(nobody, "nobody");
    assert_eq!(error.kind(), Kind::Unavailable);
    assert!(error.to_string().contains("nobody answers at 127.0.0.1:"), "{error}");
}

#[test]
fn settings_are_checked_before_anything_is_sent() {
    let openai = Vendor::from_name("openai").unwrap();
    let anthropic = Vendor::from_name("anthropic").unwrap();
    let any = Vendor::from_name("openai-compatible").unwrap();
    let key = |text| Some(Key::new(openai, text).unwrap());
    let at = |url| Some(Address::read("openai", "base_url", url).unwrap());
    let base = |vendor| Config::new(vendor, "modelo");
    let cases = [
        ("no key", base(openai), Kind::Auth, "OPENAI_API_KEY"),
        ("another's", Config { key: key("sk-ant-x"), ..base(openai) }, Kind::Auth, "another"),
        ("no address", base(any), Kind::Setting, "base_url"),
        (
            "not encrypted",
            Config { base_url: at("http://api.example.com"), ..base(any) },
            { Kind::Setting },
            "http://",
        ),
        (
            "another wire",
            Config { wire: Some(CHAT), key: key("x"), ..base(anthropic) },
            { Kind::Setting },
            "known: messages",
        ),
        (
            "no certificate",
            Config { ca: Some(b"hola".to_vec()), key: key("x"), ..base(openai) },
            { Kind::Setting },
            "ca_file",
        ),
        (
            "a proxy for nothing",
            {
                let proxy = at("http://proxy.example.com:3128");
                Config { base_url: at("http://localhost:1/v1"), proxy, ..base(any) }
            },
            Kind::Setting,
            "proxy",
        ),
    ];
    for (name, config, kind, part) in cases {
        let error = Remote::open(config).err().unwrap_or_else(|| panic!("{name}: opened"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
    // Without a key where the service is not the vendor's own.
    let service = Service::of(&["chat-whole"]);
    ask(Config { key: None, ..config(&service, CHAT) }, &Request::user("¿Qué?")).0.unwrap();
    assert_eq!(service.seen()[0].header("authorization"), None);
}

#[test]
fn requests_that_no_service_is_asked() {
    let service = Service::of(&["messages-whole"]);
    let late = Request {
        messages: vec![Message::new(Role::User, "a"), Message::new(Role::System, "b")],
        ..Request::default()
    };
    let mut hot = Request::user("a");
    hot.options.temperature = -1.0;
    let mut nameless = Request::user("a");
    nameless.tools = vec![serde_json::json!({ "type": "function" })];
    let text = Request { completion: true, ..Request::user("a") };
    let cases = [
        ("no message", Request::default(), Kind::Request),
        ("only instructions", Request::default().system("a"), Kind::Request),
        ("late instructions", late, Kind::Request),
        ("a temperature", hot, Kind::Request),
        ("a tool without a name", nameless, Kind::Request),
        ("a text to continue", text, Kind::Unable),
    ];
    for (name, request, kind) in cases {
        let error = ask(config(&service, MESSAGES), &request).0.err().expect(name);
        assert_eq!(error.kind(), kind, "{name}: {error}");
    }
    assert!(service.seen().is_empty());
}
