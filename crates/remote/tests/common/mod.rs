//! A line to a service on loopback, and what most tests ask of it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::ControlFlow;

use recinto_engine::{Piece, Request, Stop};
use recinto_policy::{Destination, EgressLog, Labels, Pass, Policy, Wall};
use recinto_remote::{Address, Answer, Ask, Config, Error, Key, Remote, Vendor, Wire};
use recinto_testkit::service::Service;
use serde_json::{Value, json};

/// A wire by its name.
pub fn wire(name: &str) -> Wire {
    Wire::all().find(|wire| wire.name() == name).expect("a wire")
}

/// The settings for `service` on `wire`.
pub fn config(service: &Service, wire: Wire) -> Config {
    let name = if wire == Wire::Messages { "anthropic" } else { "openai" };
    let vendor = Vendor::from_name(name).unwrap();
    let mut config = Config::new(vendor, "gpt-4.1");
    config.base_url = Some(Address::read(name, "base_url", &service.base_url()).unwrap());
    config.wire = Some(wire);
    config.key = Some(Key::new(vendor, "sk-secreto").unwrap());
    config.silence = std::time::Duration::from_secs(20);
    config
}

/// Asks `request` with no limit of its own; the answer, and the pieces as they came.
pub fn ask(config: Config, request: &Request) -> (Result<Answer, Error>, String) {
    ask_form(config, request, None)
}

pub fn ask_form(
    config: Config,
    request: &Request,
    form: Option<&Value>,
) -> (Result<Answer, Error>, String) {
    let remote = Remote::open(config).unwrap_or_else(|e| panic!("{e}"));
    let mut pieces = String::new();
    let leave = Leave::to(&remote);
    let answer = remote.ask(&Ask { request, form }, &leave.pass(), &Stop::never(), &mut |piece| {
        if let Piece::Text(text) = piece {
            pieces.push_str(text);
        }
        ControlFlow::Continue(())
    });
    (answer, pieces)
}

/// Leave for what nobody labelled, to one place; its sends stand in a log of its own.
pub struct Leave {
    wall: Wall,
    log: EgressLog,
    to: Destination,
    pub dir: tempfile::TempDir,
}

impl Leave {
    /// Leave for the place that `remote` goes to.
    pub fn to(remote: &Remote) -> Leave {
        Leave::for_place(remote.destination().unwrap())
    }

    pub fn for_place(to: Destination) -> Leave {
        let (provider, host) = (to.provider(), to.host());
        let row = format!(
            "[[allow]]\nprovider = \"{provider}\"\nhost = \"{host}\"\nlabels = [\"unlabelled\"]\n"
        );
        let dir = tempfile::tempdir().unwrap();
        let policy = Policy::parse(&dir.path().join("policy.toml"), &row).unwrap();
        let log = EgressLog::new(dir.path().join("egress.jsonl"), None, false);
        Leave { wall: Wall::new([policy]), log, to, dir }
    }

    pub fn pass(&self) -> Pass<'_> {
        Pass::new(&self.wall, &self.log, &self.to, &Labels::default()).unwrap()
    }

    /// Lines of the log.
    pub fn sends(&self) -> usize {
        std::fs::read_to_string(self.log.path()).map_or(0, |text| text.lines().count())
    }
}

/// A conversation with instructions and the two tools of the recordings.
pub fn request() -> Request {
    let mut request = Request::user("¿Cuándo abre la ventanilla?").system("Responde en español.");
    request.options.stop = vec!["fin".into(), "señal".into()];
    let function = |name: &str, parameters: Value| {
        json!({ "type": "function", "function": {
            "name": name, "description": "Año", "parameters": parameters
        }})
    };
    let city = json!({
        "type": "object", "properties": { "ciudad": { "type": "string" } },
        "required": ["ciudad"]
    });
    let nothing = json!({ "type": "object", "properties": {} });
    request.tools = vec![function("buscar_casa", city), function("hora", nothing)];
    request
}
