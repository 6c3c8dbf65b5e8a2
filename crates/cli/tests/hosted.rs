//! `recinto judge` with a service, which is one on loopback here: the published example, variants of
//! the wire, what is missing, and what may not leave.

use crate::shell;

use recinto_testkit::service::{Act, Service};
use serde_json::{Value, json};
use shell::Shell;

const QUESTIONS: &str = r#"{
  "is_bug": {"type": "noul", "instructions": "Is the ticket about a fault?"},
  "team": {"type": "choice", "instructions": "Who should read `ticket`?", "criteria":
    {"payments": "charges, cards", "frontend": "pages that do not show", "account": null}},
  "urgency": {"type": "score", "instructions": "How urgent is it?",
    "criteria": ["can wait", "this week", "today"]}
}"#;
const STATE: &str = r#"{"customer_tier": "enterprise", "ticket":
  "My checkout page shows a blank screen after I click Pay. ¿Señor Núñez, canary?"}"#;

/// The published answer to these questions.
fn answer() -> Value {
    json!({
        "id": "gen-1", "provider": "typesafe", "model": "jev-1.13.0",
        "answers": {
            "q1": {"type": "noul", "noul": 0.96},
            "q2": {"type": "choice", "choice": "payments", "confidence": 0.67,
                "probabilities": {"payments": 0.78, "frontend": 0.22, "account": 0.0}},
            "q3": {"type": "score", "score": 1.99, "confidence": 0.99,
                "probabilities": {"0": 0.0, "1": 0.01, "2": 0.99},
                "legend": {"0": "can wait", "1": "this week", "2": "today"}},
        },
        "usage": {"input_tokens": 476, "output_tokens": 70, "cost": 0.000019992},
    })
}

fn page(status: u16, body: &str) -> Act {
    let head =
        "content-type: application/json\r\nconnection: close\r\nx-typesafe-request-id: req-7";
    let length = body.len();
    Act::Send(
        format!("HTTP/1.1 {status} X\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").into(),
    )
}

fn shell(to: &Service, service: &str) -> Shell {
    let shell = Shell::new();
    shell.write("recinto.toml", to.policy(service));
    shell.write("q.json", QUESTIONS);
    shell
        .env("RECINTO_JUDGE_PROVIDER", "hosted")
        .env("RECINTO_JUDGE_SERVICE", service)
        .env("RECINTO_JUDGE_MODEL", "jev-1.13.0")
        .env("RECINTO_JUDGE_BASE_URL", &format!("http://{}", to.host()))
        .env("RECINTO_JUDGE_API_KEY", "ts-canary-own")
        .env("RECINTO_API_KEY", "sk-canary-other")
        .env("RECINTO_MODEL", "/canary/other.gguf")
        .env("RECINTO_RETRIES", "0")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
}

const JUDGE: [&str; 5] = ["judge", "--json", "--json-state", "-Q", "q.json"];

#[test]
fn the_published_example() {
    for (service, body) in [
        ("typesafe", answer()),
        ("openrouter", answer()),
        ("cloudflare", json!({"result": answer(), "success": true, "errors": []})),
        ("systemone", answer()),
    ] {
        let to = Service::start(vec![page(200, &body.to_string())]);
        let shell = shell(&to, service);
        let ran = shell.pipe(&JUDGE, STATE.as_bytes());
        assert_eq!(ran.code, Some(3), "{service}: no gate, so nothing passes: {}", ran.err);
        let told = ran.json();
        let near = |path: &str, want: f64| {
            let found = told.pointer(path).and_then(Value::as_f64);
            let found = found.unwrap_or_else(|| panic!("{service}: {path}: {told}"));
            assert!((found - want).abs() < 0.006, "{service}: {path}: {found}");
        };
        near("/answers/is_bug/answer/value/yes", 0.96);
        near("/answers/team/answer/probabilities/0/p", 0.78);
        near("/answers/team/answer/probabilities/1/p", 0.22);
        near("/answers/team/answer/confidence", 0.67);
        near("/answers/urgency/answer/value/expected", 1.99);
        near("/answers/urgency/answer/confidence", 0.985);
        assert_eq!(told["answers"]["team"]["answer"]["value"]["index"], 0);
        assert_eq!(told["usage"], json!({"input_tokens": 476, "output_tokens": 70}));
        assert_eq!(told["reader"]["host"], to.host());
        assert_eq!(
            told["reader"]["identity"]["model"],
            json!({"kind": "hosted", "name": "jev-1.13.0"})
        );
        let answers = &told["answers"];
        for id in ["is_bug", "team", "urgency"] {
            let answer = &answers[id]["answer"];
            assert!(answer.get("option_mass").is_none(), "{service}: nobody knows it: {answer}");
            assert!(answer.get("calibrated").is_none() && answer.get("order").is_none());
        }
        let seen = to.seen();
        assert_eq!(seen.len(), 1, "{service}: one request for all questions");
        let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
        assert_eq!(body["model"], "jev-1.13.0");
        assert_eq!(body["state"]["customer_tier"], "enterprise");
        assert_eq!(body["questions"]["q2"]["criteria"]["account"], Value::Null);
        let all = format!("{seen:?}");
        let text = String::from_utf8_lossy(&seen[0].body);
        assert!(!text.contains("is_bug") && !text.contains("urgency"), "ids stay here");
        assert!(all.contains("ts-canary-own") && !all.contains("sk-canary"), "{service}");
        assert!(!ran.err.contains("canary") && !told.to_string().contains("canary"), "{service}");
        let log = std::fs::read_to_string(shell.path().join(".local/state/recinto/egress.jsonl"));
        let log = log.unwrap();
        assert_eq!(log.lines().count(), 1, "{service}");
        assert!(log.contains(&format!("\"provider\":\"{service}\"")) && !log.contains("Núñez"));
    }
}

#[test]
fn a_list_of_decisions() {
    let body = json!({
        "model": "jev-1.13.0",
        "answers": [
            {"type": "predicate", "name": "q1", "probability": 0.96},
            {"type": "refusal", "name": "q2"},
            {"type": "score", "name": "q3", "score": 1.99, "probabilities": [
                {"value": 0, "label": "0", "probability": 0.0},
                {"value": 1, "label": "1", "probability": 0.01},
                {"value": 2, "label": "2", "probability": 0.99}]},
        ],
    });
    let to = Service::start(vec![page(200, &body.to_string())]);
    let ran = shell(&to, "openai").pipe(&JUDGE, STATE.as_bytes());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let told = ran.json();
    assert!(told["answers"]["is_bug"]["answer"]["value"]["yes"].as_f64().unwrap() > 0.9);
    assert_eq!(told["answers"]["team"]["answer"], Value::Null);
    assert_eq!(told["answers"]["team"]["gate"]["reason"]["why"], "refused");
    assert_eq!(told["answers"]["urgency"]["answer"]["value"]["likeliest"], 2);
    assert_eq!(to.seen()[0].line, "POST /decisions HTTP/1.1");
}

#[test]
fn what_is_missing_is_unavailable() {
    let without = |path: &str, key: &str| {
        let mut body = answer();
        body.pointer_mut(path).unwrap().as_object_mut().unwrap().shift_remove(key);
        body
    };
    // The body, the question, and why it has no answer; null: it has one.
    let cases = [
        ("an answer", without("/answers", "q1"), "is_bug", json!("no-answer")),
        ("a noul", without("/answers/q1", "noul"), "is_bug", json!("no-answer")),
        ("probabilities", without("/answers/q2", "probabilities"), "team", json!("no-answer")),
        ("a label", without("/answers/q2/probabilities", "account"), "team", json!("not-a-number")),
        ("levels", without("/answers/q3", "probabilities"), "urgency", json!("no-answer")),
        ("confidence", without("/answers/q2", "confidence"), "team", Value::Null),
        ("choice", without("/answers/q2", "choice"), "team", Value::Null),
        ("a score", without("/answers/q3", "score"), "urgency", Value::Null),
        ("a legend", without("/answers/q3", "legend"), "urgency", Value::Null),
        ("usage", without("", "usage"), "team", Value::Null),
        ("the model", without("", "model"), "team", Value::Null),
        ("all answers", without("", "answers"), "team", json!("no-answer")),
    ];
    for (name, body, id, want) in cases {
        let to = Service::start(vec![page(200, &body.to_string())]);
        let ran = shell(&to, "typesafe").pipe(&JUDGE, STATE.as_bytes());
        let told = ran.json();
        let found = &told["answers"][id];
        assert_eq!(found["gate"]["reason"]["why"], want, "{name}: {told}");
        assert_eq!(found["answer"].is_null(), !want.is_null(), "{name}: no number is made up");
        assert_eq!(ran.code, Some(if want.is_null() { 3 } else { 4 }), "{name}: {}", ran.err);
    }
}

#[test]
fn errors_are_told_beside_the_answers() {
    let quoted = r#"{"detail":[{"loc":["body","state"],"msg":"bad value canary of Núñez"}]}"#;
    let cases = [
        (401, "", "failed", "typesafe: the key is not taken"),
        (422, quoted, "failed", "it says: state: bad value … of …"),
        (413, "", "no-room", "status 413"),
        (400, r#"{"detail":{"error_type":"max_tokens_exceeded"}}"#, "no-room", "max_tokens"),
        (503, "", "offline", "status 503"),
        (429, "", "offline", "it asks to wait"),
        (200, "nada", "offline", "cannot be read"),
    ];
    for (status, body, why, words) in cases {
        let to = Service::start(vec![page(status, body)]);
        let ran = shell(&to, "typesafe").pipe(&JUDGE, STATE.as_bytes());
        assert_eq!(ran.code, Some(4), "{status}: {}", ran.err);
        let told = ran.json();
        assert_eq!(told["answers"]["team"]["gate"]["reason"]["why"], why, "{status}: {told}");
        let trouble = told["trouble"].as_str().unwrap_or_default();
        assert!(trouble.contains(words), "{status}: {trouble}");
        let all = format!("{told}{}", ran.err);
        for word in ["canary", "Núñez", "checkout"] {
            assert!(!all.contains(word), "{status}: {all}");
        }
    }
}

#[test]
fn what_may_not_leave_does_not() {
    let to = Service::start(vec![page(200, &answer().to_string())]);
    let shell = shell(&to, "typesafe");
    // Code, and words of the error.
    #[allow(clippy::type_complexity, reason = "a table")]
    let cases: [(&str, Option<&str>, &[&str], i32, &str); 7] = [
        ("no policy", Some(""), &[], 4, "no policy"),
        (
            "another provider's",
            Some(
                "[[policy.allow]]\nprovider = \"openai\"\nhost = \"HOST\"\nlabels = [\"unlabelled\"]\n",
            ),
            &[],
            4,
            "may not go to typesafe",
        ),
        (
            "another label",
            Some(
                "[[policy.allow]]\nprovider = \"typesafe\"\nhost = \"HOST\"\nlabels = [\"internal\"]\n",
            ),
            &[],
            4,
            "names other labels",
        ),
        (
            "a budget",
            Some(
                "[[policy.allow]]\nprovider = \"typesafe\"\nhost = \"HOST\"\nlabels = [\"unlabelled\"]\n[budget]\ntokens = 10\n",
            ),
            &[],
            4,
            "budget",
        ),
        ("no model", None, &["--judge-model", ""], 2, "model"),
        ("context", None, &["--context", "9"], 2, "--context is not for hosted"),
        ("strict", None, &["--strict"], 2, "--strict is for laya"),
    ];
    let usual = to.policy("typesafe");
    for (name, policy, more, code, words) in cases {
        let text = policy.map_or(usual.clone(), |text| text.replace("HOST", &to.host()));
        shell.write("recinto.toml", text);
        let args = [&JUDGE[..], more].concat();
        let ran = shell.pipe(&args, STATE.as_bytes());
        assert_eq!(ran.code, Some(code), "{name}: {} {}", ran.out(), ran.err);
        let all = format!("{}{}", ran.out(), ran.err);
        assert!(all.contains(words), "{name}: {all}");
        assert!(!all.contains("canary") && !all.contains("checkout"), "{name}: {all}");
        assert!(to.seen().is_empty(), "{name}: a byte left");
    }
}

#[test]
fn status_says_which_key_is_sent() {
    let to = Service::start(vec![page(200, "{}")]);
    let ran = shell(&to, "typesafe").run(&["status"]);
    let text = format!("{}{}", ran.out(), ran.err);
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(
        line("RECINTO_JUDGE_API_KEY is set").ends_with("sent with a judge's questions"),
        "{text}"
    );
    assert!(line("RECINTO_API_KEY is set").ends_with("nothing here uses it"), "{text}");
    assert!(line("judge_service").contains("typesafe"), "{text}");
    assert!(!text.contains("canary-own") && to.seen().is_empty());
    let plain = Shell::new().run(&["status"]);
    assert!(!plain.out().contains("judge_service"), "{}", plain.out());
}

/// A calibration holds for the very model that answered, so it is not made under an alias.
#[test]
fn a_calibration_names_the_model_that_answered() {
    let record = |at: usize| {
        let (text, label) = [("charge", "payments"), ("blank page", "frontend")][at % 2];
        let label = if at.is_multiple_of(7) { "account" } else { label };
        format!("{{\"state\":\"{text} {at}\",\"labels\":{{\"team\":\"{label}\"}}}}\n")
    };
    let records: String = (0..60).map(record).collect();
    // The service is right two times of three, and its numbers differ.
    let pages: Vec<Act> = (0..400)
        .map(|at| {
            let (first, second) = (0.5 + 0.006 * (at % 60) as f64, 0.02);
            let labels = match at % 3 {
                0 => ["frontend", "payments"],
                _ if at % 2 == 0 => ["payments", "frontend"],
                _ => ["frontend", "payments"],
            };
            let rest = 1.0 - first - second;
            let p = json!({labels[0]: first, labels[1]: rest, "account": second});
            let answer = json!({"q1": {"type": "choice", "probabilities": p}});
            page(200, &json!({"model": "jev-1.13.0", "answers": answer}).to_string())
        })
        .collect();
    for (model, code) in [("jev-latest", 4), ("jev-1.13.0", 0)] {
        let to = Service::start(pages.clone());
        let shell = shell(&to, "typesafe").env("RECINTO_JUDGE_MODEL", model);
        shell.write("l.jsonl", &records);
        let args = ["judge", "calibrate", "-Q", "q.json", "--data", "l.jsonl", "-o", "c"];
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(code), "{model}: {} {}", ran.out(), ran.err);
        assert_eq!(ran.err.contains("jev-1.13.0 answered"), code == 4, "{model}: {}", ran.err);
        if code == 0 {
            // It is not for another model.
            let args = ["judge", "-Q", "q.json", "--calibration", "c", "--judge-model", "jev-2"];
            let again = shell.pipe(&args, b"charge");
            assert!(again.err.contains("was made for another model"), "{}", again.err);
            assert_eq!(again.code, Some(4), "{}", again.err);
        }
    }
}

#[test]
fn orders_of_options_are_requests_of_their_own() {
    let again = json!({"model": "jev-1.13.0", "answers": {"q1": answer()["answers"]["q2"]}});
    let pages = [answer(), again].map(|body| page(200, &body.to_string()));
    let to = Service::start(pages.to_vec());
    let args = [&JUDGE[..], &["--orders", "two"]].concat();
    let ran = shell(&to, "typesafe").pipe(&args, STATE.as_bytes());
    let told = ran.json();
    assert_eq!(told["answers"]["team"]["answer"]["order"]["readings"], 2, "{told}");
    for id in ["is_bug", "urgency"] {
        let answer = &told["answers"][id]["answer"];
        assert!(answer["value"].is_object() && answer.get("order").is_none(), "{id}: {answer}");
    }
    let seen = to.seen();
    assert_eq!(seen.len(), 2);
    let labels = |at: usize| -> Vec<String> {
        let body: Value = serde_json::from_slice(&seen[at].body).unwrap();
        let questions = body["questions"].as_object().unwrap();
        let choice = questions.values().find(|question| question["type"] == "choice").unwrap();
        choice["criteria"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(labels(0), ["payments", "frontend", "account"]);
    assert_eq!(labels(1), ["account", "frontend", "payments"]);
}

/// A key that is not taken or an empty account ends a run at its first record; an answer that is
/// left out is asked for again the next time, and stands nowhere as done.
#[test]
fn runs_end_where_no_request_can_succeed() {
    let records: String = (0..5).map(|at| format!("{{\"state\":\"charge {at}\"}}\n")).collect();
    let args = ["judge", "run", "-Q", "q.json", "--in", "r.jsonl", "--out", "j", "--json"];
    for (status, told) in [(401, "the key is not taken"), (402, "status 402"), (404, "status 404")]
    {
        let to = Service::start(vec![page(status, ""); 9]);
        let shell = shell(&to, "typesafe");
        shell.write("r.jsonl", &records);
        let ran = shell.run(&args);
        assert!(!matches!(ran.code, Some(0 | 5)), "{status}: {:?} {}", ran.code, ran.err);
        assert!(ran.err.contains(told) || ran.out().contains(told), "{status}: {}", ran.err);
        assert_eq!(to.seen().len(), 1, "{status}: nothing else is sent");
        for part in ["decided", "person", "unavailable", "bad"] {
            let text = std::fs::read_to_string(shell.path().join(format!("j/{part}.jsonl")));
            assert_eq!(text.unwrap_or_default(), "", "{status}: {part}");
        }
    }
    let mut without = answer();
    without["answers"].as_object_mut().unwrap().shift_remove("q1");
    let whole = page(200, &answer().to_string());
    let pages = [page(200, &without.to_string()), whole.clone(), whole];
    let to = Service::start(pages.to_vec());
    let shell = shell(&to, "typesafe");
    let two: String = records.lines().take(2).map(|line| format!("{line}\n")).collect();
    shell.write("r.jsonl", two);
    let first = shell.run(&args);
    assert_eq!(
        (first.code, &first.json()["records"]["bad"]),
        (Some(5), &json!(1)),
        "{}",
        first.err
    );
    assert!(first.err.contains("left out an answer"), "{}", first.err);
    let counts = shell.run(&args).json();
    assert_eq!(counts["records"]["person"], 1, "{counts}");
    assert_eq!(counts["records"]["skipped"], 1, "{counts}");
}
