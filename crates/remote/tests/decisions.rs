//! Typed questions to a service on loopback: every status, every envelope, tries, and bodies that
//! come slowly, broken or without end. No error holds a word of what was sent, or of the key.

use crate::common;

use std::time::{Duration, Instant};

use common::Leave;
use recinto_engine::Stop;
use recinto_policy::{EgressLog, Labels, Pass, Policy, Wall};
use recinto_remote::{
    Address, Decided, Decider, DecisionConfig, Error, Key, Kind, SERVICES, Service,
};
use recinto_testkit::service::{Act, Seen, Service as Loopback};
use serde_json::{Value, json};

/// An answer of HTTP.
fn page(status: u16, headers: &[&str], body: &str) -> Vec<u8> {
    let close = ["connection: close"];
    let more: String = headers.iter().chain(&close).map(|line| format!("{line}\r\n")).collect();
    format!("HTTP/1.1 {status} X\r\n{more}content-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn sent(pages: &[Vec<u8>]) -> Loopback {
    Loopback::start(pages.iter().cloned().map(Act::Send).collect())
}

fn config(to: &Loopback, service: &'static Service) -> DecisionConfig {
    let url = format!("http://{}", to.host());
    let mut config = DecisionConfig::new(service, "jev-1.13.0");
    config.base_url = Some(Address::read(service.name, "`judge_base_url`", &url).unwrap());
    config.key = Some(Key::read(service.name, "ts-canary-clave").unwrap());
    config.time = Duration::from_secs(20);
    config
}

fn typesafe() -> &'static Service {
    Service::from_name("typesafe").unwrap()
}

fn body() -> Value {
    json!({
        "model": "jev-1.13.0",
        "state": "La señora Núñez canary paga 4417 €",
        "questions": {"q1": {"type": "noul", "instructions": "¿canary urgente?"}},
    })
}

fn ask(config: DecisionConfig) -> (Result<Decided, Error>, usize) {
    let decider = Decider::open(config).unwrap_or_else(|e| panic!("{e}"));
    let leave = Leave::for_place(decider.destination().unwrap());
    let answer = decider.ask(body(), &leave.pass(), &Stop::never());
    (answer, leave.sends())
}

/// An error in which nothing that was sent comes back.
fn refused(config: DecisionConfig, name: &str) -> Error {
    let error = ask(config).0.err().unwrap_or_else(|| panic!("{name}: an answer"));
    for text in [error.to_string(), format!("{error:?}")] {
        for word in ["canary", "Núñez", "4417", "urgente", "clave"] {
            assert!(!text.contains(word), "{name}: {text}");
        }
    }
    error
}

const ANSWER: &str = r#"{"model":"jev-1.13.0","answers":{"q1":{"type":"noul","noul":0.96}}}"#;

/// Status, headers, body, kind, requests with two retries, words of the error.
type Case<'a> = (u16, &'a [&'a str], &'a str, Kind, usize, &'a str);

#[test]
fn statuses() {
    let now: &[&str] = &["retry-after-ms: 5"];
    let wait = Kind::RateLimited(Some(Duration::from_millis(5)));
    let detail = r#"{"detail":{"error_type":"unknown_model","message":"Unknown model"}}"#;
    let bare = r#"{"detail":{"error_type":"max_tokens_exceeded"}}"#;
    let schema = r#"{"detail":[{"loc":["body","questions","q1","score","criteria"],
        "msg":"at most 10 levels","type":"too_long","input":"canary","ctx":{"x":"Núñez"}}]}"#;
    let quoted = r#"{"error":{"message":"no label canary of Núñez, 4417, for ts-canary-clave"}}"#;
    let quota = r#"{"error":{"code":"insufficient_quota","message":"Top up"}}"#;
    let upstream = r#"{"error":{"code":429,"message":"Rate limited upstream"}}"#;
    let html = "<html><h1>502 Bad Gateway</h1></html>";
    #[rustfmt::skip]
    let cases: Vec<Case<'_>> = vec![
        (400, &[], detail, Kind::Request, 1, "it says: Unknown model"),
        (400, &[], bare, Kind::Overflow, 1, "max_tokens_exceeded"),
        (401, &[], "", Kind::Auth, 1, "status 401"),
        (401, &[], r#"{"detail":"Invalid key ts-canary-clave"}"#, Kind::Auth, 1, "it says: Invalid key …-…-…"),
        (402, &[], "", Kind::Budget, 1, "status 402"),
        (403, &[], r#"{"message":"Forbidden"}"#, Kind::Auth, 1, "it says: Forbidden"),
        (404, &[], r#""not found""#, Kind::NotFound, 1, "it says: not found"),
        (408, now, "", Kind::Unavailable, 3, "status 408"),
        (409, now, "", Kind::Request, 1, "status 409"),
        (413, &[], "", Kind::Overflow, 1, "status 413"),
        (422, &[], schema, Kind::Request, 1, "it says: questions.q1.score.criteria: at most 10 levels"),
        (422, &[], quoted, Kind::Request, 1, "status 422"),
        (429, now, "", wait, 3, "status 429"),
        (429, now, quota, Kind::Budget, 1, "insufficient_quota"),
        (500, now, "", Kind::Unavailable, 3, "status 500"),
        (501, now, r#"{"error":{"message":"not supported"}}"#, Kind::Unavailable, 3, "status 501"),
        (502, now, html, Kind::Unavailable, 3, "502 Bad Gateway"),
        (503, now, "", Kind::Unavailable, 3, "status 503"),
        (529, now, "", Kind::Unavailable, 3, "status 529"),
        (599, now, "", Kind::Unavailable, 3, "status 599"),
        (301, &["location: http://127.0.0.1:1/"], "", Kind::Unavailable, 1, "redirect"),
        // A good status that tells an error.
        (200, now, upstream, wait, 3, "it says: Rate limited upstream"),
        (200, &[], r#"{"error":"No answer today"}"#, Kind::Unavailable, 3, "it says: No answer today"),
        (200, &[], r#"{"result":null,"success":false,"errors":[{"code":7003,"message":"No route"}]}"#,
            Kind::Unavailable, 3, "it says: No route"),
        (200, &[], "<html>canary</html>", Kind::Unavailable, 1, "cannot be read"),
        (200, &[], "", Kind::Unavailable, 1, "cannot be read"),
        (200, &[], "{\"answers\":", Kind::Unavailable, 1, "cannot be read"),
    ];
    for (status, headers, body, kind, count, words) in cases {
        let name = format!("{status} {body}");
        let headers = [headers, &["x-typesafe-request-id: req-7"]].concat();
        let service = sent(&[page(status, &headers, body)]);
        let error = refused(config(&service, typesafe()), &name);
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{name}: {text}");
        assert_eq!(service.seen().len(), count, "{name}: requests");
        assert!(text.contains(words) && text.contains("request req-7"), "{name}: {text}");
        assert!(text.starts_with("typesafe: "), "{name}: {text}");
    }
}

#[test]
fn a_sentence_is_cut() {
    let long = format!(r#"{{"message":"too long {}"}}"#, "dato ".repeat(5000));
    let service = sent(&[page(400, &[], &long)]);
    let text = refused(config(&service, typesafe()), "long").to_string();
    assert!(text.contains("it says: too long dato") && text.len() < 400, "{text}");
    // A page of an error that is larger than any is not read to its end.
    let huge = format!(r#"{{"message":"{}"}}"#, "x".repeat(1 << 20));
    let service = sent(&[page(400, &[], &huge)]);
    let error = refused(config(&service, typesafe()), "huge");
    assert_eq!(error.kind(), Kind::Request, "{error}");
    assert!(error.to_string().len() < 300);
}

#[test]
fn each_service_at_its_path_with_its_key() {
    for service in SERVICES {
        let name = service.name;
        let to = sent(&[page(200, &[], ANSWER)]);
        let (answer, sends) = ask(config(&to, service));
        let answer = answer.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((answer.requests, sends), (1, 1), "{name}");
        let seen: Vec<Seen> = to.seen();
        assert_eq!(seen[0].line, format!("POST /{} HTTP/1.1", service.path), "{name}");
        let (header, front) = service.header;
        let want = format!("{front}ts-canary-clave");
        assert_eq!(seen[0].header(header), Some(want.as_str()), "{name}");
        assert_eq!(seen[0].header("content-type"), Some("application/json"), "{name}");
        assert_eq!(serde_json::from_slice::<Value>(&seen[0].body).unwrap(), body(), "{name}");
        // Without the key and the address of its own nothing is opened where both are needed.
        let bare = Decider::open(DecisionConfig::new(service, "x")).err();
        let kind = if service.base_url.is_some() { Kind::Auth } else { Kind::Setting };
        let error = bare.unwrap_or_else(|| panic!("{name}: opened"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        let hint = error.what_to_do().unwrap();
        assert!(
            hint.contains("RECINTO_JUDGE_API_KEY") || hint.contains("judge_base_url"),
            "{hint}"
        );
    }
    // Another vendor's key never goes to a vendor's own service.
    let mut config = DecisionConfig::new(typesafe(), "x");
    config.key = Some(Key::read("typesafe", "sk-ant-canary").unwrap());
    assert_eq!(Decider::open(config).err().map(|e| e.kind()), Some(Kind::Auth));
}

#[test]
fn envelopes_and_usage() {
    let answers = r#""answers":{"q1":{"type":"noul","noul":0.96}}"#;
    let cases = [
        ("bare", format!("{{{answers}}}"), None),
        (
            "usage",
            format!("{{{answers},\"usage\":{{\"input_tokens\":476,\"output_tokens\":70}}}}"),
            Some((476, 70)),
        ),
        (
            "a gateway's usage",
            format!("{{{answers},\"usage\":{{\"prompt_tokens\":9}}}}"),
            Some((9, 0)),
        ),
        ("usage without numbers", format!("{{{answers},\"usage\":{{\"cost\":0.1}}}}"), None),
        ("usage that is null", format!("{{{answers},\"usage\":null}}"), None),
        (
            "in a result",
            format!("{{\"result\":{{{answers}}},\"success\":true,\"errors\":[]}}"),
            None,
        ),
        ("with an error that is null", format!("{{{answers},\"error\":null,\"más\":[1]}}"), None),
    ];
    for (name, body, usage) in cases {
        let service = sent(&[page(200, &["x-typesafe-request-id: req-7"], &body)]);
        let answer = ask(config(&service, typesafe())).0.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(answer.body()["answers"]["q1"]["noul"], 0.96, "{name}");
        assert_eq!(answer.usage(), usage, "{name}");
        assert_eq!(answer.request_id.as_deref(), Some("req-7"), "{name}");
    }
}

#[test]
fn it_is_sent_again() {
    let good = page(200, &[], ANSWER);
    let past = "retry-after: Sun, 06 Nov 1994 08:49:37 GMT";
    // The header, and how long is waited at least and at most.
    let cases: [(&str, &[&str], u64, u64); 6] = [
        ("milliseconds first", &["retry-after-ms: 30", "retry-after: 50"], 30, 5000),
        ("seconds", &["retry-after: 1"], 1000, 9000),
        ("a date that has passed", &[past], 0, 5000),
        ("nothing said", &[], 375, 6000),
        ("longer than is obeyed", &["retry-after: 3600"], 375, 6000),
        ("no time at all", &["retry-after: mañana"], 375, 6000),
    ];
    for (name, headers, least, most) in cases {
        let service = sent(&[page(429, headers, ""), good.clone()]);
        let begun = Instant::now();
        let (answer, sends) = ask(config(&service, typesafe()));
        let answer = answer.unwrap_or_else(|e| panic!("{name}: {e}"));
        let took = begun.elapsed().as_millis() as u64;
        assert!((least..most).contains(&took), "{name}: {took} ms");
        assert_eq!((answer.requests, sends), (2, 2), "{name}: a line of the log each");
        let seen = service.seen();
        assert_eq!(seen[0].body, seen[1].body, "{name}");
        let count = |at: usize| seen[at].header("x-typesafe-retry-count");
        assert_eq!((count(0), count(1)), (None, Some("1")), "{name}");
    }
    // A line that broke, and silence, are tried again too: to decide twice changes nothing.
    let broken = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"answers\":".to_vec();
    for (name, act) in [
        ("closed", Act::Send(Vec::new())),
        ("cut", Act::Send(broken)),
        ("silent", Act::Hang(Vec::new())),
        ("silent after the head", Act::Hang(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())),
        ("drop by drop", Act::Drip(page(200, &[], ANSWER), Duration::from_millis(40))),
    ] {
        let service = Loopback::start(vec![act, Act::Send(good.clone())]);
        let config =
            DecisionConfig { time: Duration::from_millis(2500), ..config(&service, typesafe()) };
        let answer = ask(config).0.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(answer.requests, 2, "{name}");
    }
    // No retries, no second request; and a wait ends when the caller says so.
    let service = sent(&[page(503, &[], ""), good.clone()]);
    let none = DecisionConfig { retries: 0, ..config(&service, typesafe()) };
    refused(none, "no retries");
    assert_eq!(service.seen().len(), 1);
    let service = sent(&[page(503, &["retry-after: 50"], ""), good]);
    let decider = Decider::open(config(&service, typesafe())).unwrap();
    let leave = Leave::for_place(decider.destination().unwrap());
    let stop = Stop::never().with_deadline(Some(Instant::now() + Duration::from_millis(700)));
    let begun = Instant::now();
    let error = decider.ask(body(), &leave.pass(), &stop).err().unwrap();
    assert_eq!(error.kind(), Kind::Deadline);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn slow_and_endless_answers_end() {
    let drip = |bytes: Vec<u8>| Act::Drip(bytes, Duration::from_millis(30));
    let endless = {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n{\"answers\":\"".to_vec();
        bytes.resize(bytes.len() + (33 << 20), b'x');
        bytes
    };
    let deep = page(200, &[], &"[".repeat(200_000));
    for (name, act, count) in [
        ("drop by drop", drip(page(200, &[], ANSWER)), 2),
        ("an error, drop by drop", drip(page(503, &["retry-after-ms: 1"], ANSWER)), 2),
        ("more than an answer can be", Act::Send(endless), 1),
        ("deeper than any", Act::Send(deep), 1),
    ] {
        let service = Loopback::start(vec![act]);
        let mut config = config(&service, typesafe());
        config.retries = 1;
        if count == 2 {
            config.time = Duration::from_millis(600);
        }
        let begun = Instant::now();
        let error = refused(config, name);
        assert_eq!(error.kind(), Kind::Unavailable, "{name}: {error}");
        assert_eq!(service.seen().len(), count, "{name}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn nobody_there() {
    let free = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let mut config = DecisionConfig::new(typesafe(), "x");
    let url = format!("http://{free}");
    config.base_url = Some(Address::read("typesafe", "`judge_base_url`", &url).unwrap());
    config.retries = 1;
    let (answer, sends) = ask(config);
    let error = answer.err().unwrap();
    assert_eq!((error.kind(), sends), (Kind::Unavailable, 2));
    assert!(error.what_to_do().unwrap().contains("judge_base_url"), "{error}");
}

#[test]
fn no_byte_leaves_without_leave() {
    let service = sent(&[page(200, &[], ANSWER)]);
    let decider = Decider::open(config(&service, typesafe())).unwrap();
    let to = decider.destination().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let log = EgressLog::new(dir.path().join("egress.jsonl"), None, false);
    // A policy for another host, for other labels, and none.
    let row = |host: &str, label: &str| {
        let rows = format!(
            "[[allow]]\nprovider = \"typesafe\"\nhost = \"{host}\"\nlabels = [\"{label}\"]\n"
        );
        Policy::parse(&dir.path().join("policy.toml"), &rows).unwrap()
    };
    let own = Policy::parse(
        &dir.path().join("policy.toml"),
        "[[allow]]\nprovider = \"typesafe\"\nlabels = [\"unlabelled\"]\n",
    );
    let walls = [
        ("no policy", Wall::new([])),
        ("another host", Wall::new([row("localhost:1", "unlabelled")])),
        ("the service's own host", Wall::new([own.unwrap()])),
        ("another label", Wall::new([row(decider.host(), "internal")])),
    ];
    for (name, wall) in walls {
        let pass = Pass::new(&wall, &log, &to, &Labels::default());
        assert!(pass.is_err(), "{name}");
    }
    // A log that cannot be written stops it too.
    let wall = Wall::new([row(decider.host(), "unlabelled")]);
    let closed = EgressLog::new(dir.path().join("no/folder/egress.jsonl"), None, false);
    std::fs::write(dir.path().join("no"), "x").unwrap();
    let pass = Pass::new(&wall, &closed, &to, &Labels::default()).unwrap();
    let error = decider.ask(body(), &pass, &Stop::never()).err().unwrap();
    assert!(matches!(error.kind(), Kind::Policy(_)), "{error}");
    assert!(service.seen().is_empty(), "a byte left");
}
