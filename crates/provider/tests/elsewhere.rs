//! Services elsewhere as providers: whose key goes where, answers held to their shapes, errors of
//! the kinds that every provider has. The service is one on loopback.

use crate::kept;

use std::{fs, ops::ControlFlow, path::PathBuf};

use recinto_engine::{OpenOptions, Piece, Request, Stop};
use recinto_policy::{REMOTES, Remote};
use recinto_provider::{
    Elsewhere, Error, Finish, Flags, Kind, Name, Provider, Reply, Settings, Shape, Surroundings,
    Turn,
};
use recinto_remote::VENDORS;
use recinto_testkit::service::{Act, Service, recording};
use serde_json::{Value, json};

/// A folder with an environment of its own.
struct Place {
    dir: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn variable(mut self, name: &'static str, value: &str) -> Place {
        self.variables.push((name, value.into()));
        self
    }

    fn file(self, name: &str, text: &str) -> Place {
        fs::write(self.dir.path().join(name), text).unwrap();
        self
    }

    fn around(&self) -> Surroundings {
        let pairs = self.variables.iter().map(|(name, value)| (name.into(), value.into()));
        let here: PathBuf = self.dir.path().into();
        Surroundings { variables: pairs.collect(), root: here.join("root"), here }
    }

    fn settings(&self) -> Settings {
        Settings::resolve_from(&Flags::default(), &self.around()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn open(&self) -> Result<Elsewhere, Error> {
        Elsewhere::open_in(&self.settings(), &self.around())
    }
}

/// The settings for a service on loopback.
fn at(service: &Service, provider: &str) -> Place {
    let place = Place::new();
    let state = place.dir.path().display().to_string();
    place
        .file("recinto.toml", &service.policy(provider))
        .variable("XDG_STATE_HOME", &state)
        .variable("RECINTO_PROVIDER", provider)
        .variable("RECINTO_MODEL", "gpt-4.1")
        .variable("RECINTO_BASE_URL", &service.base_url())
        .variable("RECINTO_RETRIES", "0")
}

fn complete(provider: &Elsewhere, turn: &Turn) -> (Result<Reply, Error>, String) {
    let mut seen = String::new();
    let reply = provider.complete(turn, &Stop::never(), &mut |piece| {
        if let Piece::Text(text) = piece {
            seen.push_str(text);
        }
        ControlFlow::Continue(())
    });
    (reply, seen)
}

fn answers(text: &str) -> Vec<u8> {
    let text = serde_json::to_string(text).unwrap();
    let body = format!(
        "{{\"id\":\"x\",\"model\":\"gpt-4.1\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\
         \"assistant\",\"content\":{text}}},\"finish_reason\":\"stop\"}}]}}"
    );
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{body}").into_bytes()
}

#[test]
fn whose_key_goes_where() {
    let both = |place: Place| {
        place.variable("OPENAI_API_KEY", "sk-vendor").variable("ANTHROPIC_API_KEY", "sk-ant-other")
    };
    let service = Service::of(&["chat-whole"]);
    let elsewhere = || at(&service, "openai");
    let own = |provider: &str| {
        Place::new().variable("RECINTO_PROVIDER", provider).variable("RECINTO_MODEL", "m")
    };
    let file = "\nANTHROPIC_API_KEY=sk-ant-line\nRECINTO_API_KEY=sk-line\n";
    // What is sent to the service on loopback, or where the key of the vendor's own comes from.
    let cases = [
        ("a vendor's key stays with the vendor", both(elsewhere()), None),
        ("this program's key", both(elsewhere()).variable("RECINTO_API_KEY", "sk-own"), {
            Some("sk-own")
        }),
        ("a line of .env", elsewhere().file(".env", file), Some("sk-line")),
        (
            "the environment first",
            { elsewhere().file(".env", file).variable("RECINTO_API_KEY", "sk-own") },
            Some("sk-own"),
        ),
        (
            "a file first of all",
            {
                elsewhere()
                    .file("key", "sk-file\n")
                    .variable("RECINTO_API_KEY_FILE", "./key")
                    .variable("RECINTO_API_KEY", "sk-own")
            },
            Some("sk-file"),
        ),
    ];
    for (name, place, want) in cases {
        let provider = place.open().unwrap_or_else(|e| panic!("{name}: {e}"));
        let before = service.seen().len();
        complete(&provider, &Turn::from(Request::user("¿Qué?"))).0.unwrap();
        let seen = &service.seen()[before];
        let want = want.map(|key| format!("Bearer {key}"));
        assert_eq!(seen.header("authorization"), want.as_deref(), "{name}");
        assert_eq!(seen.header("x-api-key"), None, "{name}");
        let shown = format!("{:?}", place.settings());
        assert!(!shown.contains("sk-"), "{name}: settings hold no key");
    }
    let places = [
        ("openai's own", both(own("openai")), Some("OPENAI_API_KEY (environment")),
        ("anthropic's own", both(own("anthropic")), Some("ANTHROPIC_API_KEY (environment")),
        ("only another's", own("openai").variable("ANTHROPIC_API_KEY", "sk-ant-other"), None),
    ];
    for (name, place, want) in places {
        let found = Elsewhere::key_place(&place.settings());
        match want {
            Some(start) => assert!(found.as_ref().unwrap().starts_with(start), "{name}: {found:?}"),
            None => {
                assert_eq!(found, None, "{name}");
                let error = place.open().err().unwrap();
                assert_eq!(error.kind(), &Kind::Auth, "{name}: {error}");
                assert!(error.to_string().contains("set OPENAI_API_KEY or RECINTO_API_KEY"));
            }
        }
    }
    // A key put into the wrong variable is not sent, and not shown.
    let wrong = own("openai").variable("RECINTO_API_KEY", "sk-ant-canary");
    let error = wrong.open().err().unwrap();
    assert!(error.kind() == &Kind::Auth && !error.to_string().contains("canary"), "{error}");
}

#[test]
fn nobody_is_guessed() {
    let place = Place::new().variable("OPENAI_API_KEY", "sk-x").variable("RECINTO_MODEL", "gpt-4");
    assert_eq!(place.settings().provider().name(), "local");
    let place = Place::new().variable("RECINTO_PROVIDER", "anthropic");
    let error = recinto_provider::open(&place.settings(), OpenOptions::default()).err().unwrap();
    assert_eq!(error.kind(), &Kind::NoModel);
    assert!(error.to_string().contains("RECINTO_MODEL"), "{error}");
}

#[test]
fn shapes_are_kept_or_it_is_an_error() {
    let labels = || Shape::Labels(vec!["sí".into(), "no".into()]);
    let schema = || {
        Shape::Schema(json!({
            "type": "object", "properties": { "año": { "type": "integer" } },
            "required": ["año"], "additionalProperties": false
        }))
    };
    let regex = || Shape::Regex("[0-9]{4}".into());
    let cases = [
        ("a label", labels(), "{\"answer\":\"sí\"}", Some("sí")),
        ("no label", labels(), "{\"answer\":\"canary\"}", None),
        ("an object", schema(), "{\"año\":2024}", Some("{\"año\":2024}")),
        ("another object", schema(), "{\"año\":\"canary\"}", None),
        ("words", schema(), "canary", None),
        ("a year", regex(), "{\"answer\":\"2024\"}", Some("2024")),
        ("no year", regex(), "{\"answer\":\"canary\"}", None),
    ];
    for (name, shape, text, want) in cases {
        let service = Service::start(vec![Act::Send(answers(text))]);
        let provider = at(&service, "openai").open().unwrap();
        let turn = Turn::from(Request::user("¿Qué?")).shaped(shape);
        let (reply, seen) = complete(&provider, &turn);
        match (reply, want) {
            (Ok(reply), Some(want)) => {
                assert_eq!((reply.text.as_str(), reply.complete), (want, Some(true)), "{name}");
                assert_eq!(seen, want, "{name}: pieces");
            }
            (Err(error), None) => {
                assert_eq!(error.kind(), &Kind::InvalidOutput, "{name}: {error}");
                assert!(!error.to_string().contains("canary") && seen.is_empty(), "{name}");
            }
            (reply, _) => panic!("{name}: {:?}", reply.err()),
        }
        let sent: Value = serde_json::from_slice(&service.seen()[0].body).unwrap();
        assert_eq!(sent["response_format"]["type"], "json_schema", "{name}");
        assert_eq!(sent["response_format"]["json_schema"]["strict"], true, "{name}");
    }
    // What cannot be kept is refused before anything is sent, as in this process.
    let service = Service::of(&["chat-whole"]);
    let provider = at(&service, "openai").open().unwrap();
    let odd = Shape::Schema(json!({ "type": "string", "format": "ninguno" }));
    let error = complete(&provider, &Turn::from(Request::user("¿Qué?")).shaped(odd)).0.err();
    assert!(matches!(error.unwrap().kind(), Kind::Shape(_)));
    assert!(service.seen().is_empty());
}

#[test]
fn recorded_answers_of_shapes() {
    let labels = Shape::Labels(vec!["sí".into(), "no".into()]);
    for (provider, name) in [
        ("openai", "chat-form-stream"),
        ("anthropic", "messages-form-stream"),
        ("anthropic", "messages-form-whole"),
    ] {
        let service = Service::of(&[name]);
        let stream = if name.ends_with("whole") { "off" } else { "on" };
        let place = at(&service, provider).variable("RECINTO_STREAM", stream);
        let turn = Turn::from(Request::user("¿Sí o no?")).shaped(labels.clone());
        let reply = complete(&place.open().unwrap(), &turn).0.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((reply.text.as_str(), reply.complete), ("sí", Some(true)), "{name}");
        assert_eq!(reply.finish, Finish::End, "{name}");
    }
    // One that was cut is incomplete, and no label.
    let text = String::from_utf8(recording("chat-form-stream")).unwrap();
    let cut = text
        .replace("í\\\"}", "")
        .replace("\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\"");
    let service = Service::start(vec![Act::Send(cut.into_bytes())]);
    let turn = Turn::from(Request::user("¿Sí o no?")).shaped(labels);
    let reply = complete(&at(&service, "openai").open().unwrap(), &turn).0.unwrap();
    assert_eq!((reply.complete, &reply.finish), (Some(false), &Finish::Length));
}

#[test]
fn kinds_are_those_of_every_provider() {
    let cases = [
        ("openai", "openai-401", Kind::Auth),
        ("openai", "openai-429-bare", Kind::RateLimited(None)),
        ("openai", "openai-400-context", Kind::Overflow),
        ("openai", "chat-refusal-stream", Kind::Refused),
        ("anthropic", "anthropic-404", Kind::NotFound),
        ("anthropic", "anthropic-529", Kind::Unavailable),
        ("anthropic", "anthropic-400-credit", Kind::Budget),
    ];
    for (provider, name, kind) in cases {
        let service = Service::of(&[name]);
        let turn = Turn::from(Request::user("canary"));
        let error = complete(&at(&service, provider).open().unwrap(), &turn).0.err().unwrap();
        assert_eq!(error.kind(), &kind, "{name}: {error}");
        let text = error.to_string();
        assert!(text.starts_with(provider) && !text.contains("canary"), "{text}");
    }
    let service = Service::of(&["chat-whole"]);
    let provider = at(&service, "openai").open().unwrap();
    let turn = Turn::from(Request::user("¿Qué?"));
    let error = provider.score(&turn, &["sí".into()], &Stop::never()).err().unwrap();
    assert_eq!(error.kind(), &Kind::Unable);
    assert!(!provider.abilities().scores);
}

#[test]
fn likelihoods_are_told() {
    let service = Service::of(&["chat-logprobs-stream"]);
    let mut request = Request::user("¿Qué?");
    request.options.logprobs = Some(2);
    let reply = complete(&at(&service, "openai").open().unwrap(), &Turn::from(request)).0.unwrap();
    let told = serde_json::to_value(&reply.logprobs).unwrap();
    assert_eq!(told[1]["text"], "í");
    assert_eq!(told[1]["logprob"], -0.0078125);
    assert_eq!(told[0]["top"][1]["text"], "N");
    assert!(told[0].get("id").is_none());
    let service = reply.service().unwrap();
    assert_eq!((service.wire.as_str(), service.requests), ("chat", 1));
}

/// What goes elsewhere is a span as what stays here is, without a word of it.
#[test]
fn an_answer_from_elsewhere_is_a_span() {
    let service = Service::of(&["chat-whole"]);
    let provider = at(&service, "openai").open().unwrap();
    let (_, spans) = kept::spans(|| {
        complete(&provider, &Turn::from(Request::user("Historia 4711"))).0.unwrap();
    });
    assert_eq!(spans.len(), 1);
    for (name, want) in [
        ("gen_ai.provider.name", "\"openai\""),
        ("gen_ai.request.model", "\"gpt-4.1\""),
        ("gen_ai.usage.input_tokens", "19"),
        ("gen_ai.response.finish_reasons", "\"end\""),
    ] {
        assert_eq!(spans[0].get(name).map(String::as_str), Some(want), "{name}");
    }
    let all = format!("{spans:?}");
    assert!(!all.contains("4711") && !all.contains("Núñez"), "{all}");
}

/// Who can be asked, who can be named in a policy, and who can be set are one list, with the same
/// hosts.
#[test]
fn policies_and_lines_know_the_same_services() {
    // Services that only decide are in policies, and answer no prompts.
    let writes = |remote: &&Remote| VENDORS.iter().any(|vendor| vendor.name == remote.name);
    let of_policy: Vec<(&str, Option<&str>)> =
        REMOTES.iter().filter(writes).map(|remote| (remote.name, remote.host)).collect();
    let host = |url: &'static str| url.split('/').nth(2).expect("an address");
    let of_lines: Vec<(&str, Option<&str>)> =
        VENDORS.iter().map(|vendor| (vendor.name, vendor.base_url.map(host))).collect();
    assert_eq!(of_policy, of_lines);
    let known = Name::from_name("-").unwrap_err().to_string();
    let (_, known) = known.split_once("known: ").expect("a list of names");
    let remote: Vec<&str> =
        known.split(", ").filter(|name| Name::from_name(name).is_ok_and(Name::is_remote)).collect();
    assert_eq!(remote, of_policy.iter().map(|row| row.0).collect::<Vec<_>>());
}
