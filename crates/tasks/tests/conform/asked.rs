//! Every provider, ready for a step: models of this process stay open from step to step, a service
//! is played anew for each.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_engine::{OpenOptions, SessionOptions};
use recinto_provider::{Elsewhere, Flags, Local, Mock, Name, Provider, Settings, Surroundings};
use recinto_testkit::service::Service;

use super::{COLUMNS, Step};

/// Real models, by their folders in `RECINTO_TEST_MODELS`, and how each writes a call of the tool
/// `hora`; `None` where its template has no place for tools.
const REAL: [(&str, Option<&str>); 2] = [
    ("smollm2-135m-instruct", None),
    (
        "qwen2.5-coder-0.5b-instruct",
        Some("<tool_call>\n{\"name\": \"hora\", \"arguments\": {}}\n</tool_call>"),
    ),
];

/// Positions of a model's sessions here: what is too long is so with a short text.
const CONTEXT: usize = 768;

/// Somebody who answers.
pub struct Who {
    /// Its place among the columns.
    pub column: usize,
    pub name: String,
    made: Made,
}

enum Made {
    /// In this process; a text that calls a tool.
    Here(Box<dyn Provider>, Option<&'static str>),
    /// A service by provider and wire; which recordings of a step are its own.
    There { provider: &'static str, wire: &'static str, recordings: usize },
}

/// One provider in one step.
pub struct Ready<'a> {
    pub provider: Played<'a>,
    /// How the model writes a call, where it can and must be made to.
    pub call: Option<&'static str>,
    pub service: Option<Service>,
    _place: Option<tempfile::TempDir>,
}

/// Open before, or for this step alone.
pub enum Played<'a> {
    Open(&'a dyn Provider),
    New(Box<Elsewhere>),
}

impl Ready<'_> {
    pub fn provider(&self) -> &dyn Provider {
        match &self.provider {
            Played::Open(provider) => *provider,
            Played::New(provider) => &**provider,
        }
    }

    /// Nothing leaves where the step is settled here; else one request a recording that is played.
    pub fn sends_what_it_should(&self, step: &Step, found: &str) {
        let Some(service) = &self.service else { return };
        let seen = service.seen().len();
        assert_eq!(seen, step.sent, "{}: {found}: requests", step.name);
    }
}

/// Every provider of this machine.
pub fn providers() -> Vec<Who> {
    let column = |name: &str| COLUMNS.iter().position(|one| *one == name).expect("a column");
    let here = |name: &str, column, provider: Box<dyn Provider>, call| Who {
        column,
        name: name.into(),
        made: Made::Here(provider, call),
    };
    let there = |name: &'static str, provider, wire, recordings| Who {
        column: column(name),
        name: name.into(),
        made: Made::There { provider, wire, recordings },
    };
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let mut all = vec![
        here("mock", column("mock"), Box::new(Mock::new(None)), None),
        there("openai, chat", "openai", "chat", 0),
        there("openai, responses", "openai", "responses", 1),
        there("anthropic", "anthropic", "messages", 2),
        there("openai-compatible", "openai-compatible", "chat", 0),
    ];
    for name in ["qwen2-quant", "llama-plain"] {
        let local = open(&tiny.join(format!("{name}.gguf")));
        all.push(here(name, column("local"), Box::new(local), None));
    }
    for (folder, call) in REAL {
        match real(folder) {
            Some(path) => all.push(here(folder, column("local"), Box::new(open(&path)), call)),
            None => recinto_testkit::skipped(
                "every_provider_goes_through_every_step",
                &format!("RECINTO_TEST_MODELS is not set or has no {folder}"),
            ),
        }
    }
    all
}

fn real(folder: &str) -> Option<PathBuf> {
    let files = fs::read_dir(recinto_testkit::models()?.join(folder)).ok()?;
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "gguf"))
}

fn open(path: &Path) -> Local {
    let path = path.canonicalize().expect("a model");
    let here: PathBuf = path.parent().expect("its folder").into();
    let flags = Flags { model: Some(path.display().to_string()), ..Flags::default() };
    let around = Surroundings { variables: Vec::new(), root: here.join("none"), here };
    let settings = Settings::resolve_from(&flags, &around).expect("settings");
    let session = SessionOptions { context: Some(CONTEXT), ..SessionOptions::default() };
    let options = OpenOptions { session, ..OpenOptions::default() };
    Local::open_in(&settings, &Default::default(), options).expect("a model")
}

impl Who {
    /// This provider, with what `step` wants around it.
    pub fn ready(&self, step: &Step) -> Ready<'_> {
        let (provider, wire, recordings) = match &self.made {
            Made::Here(provider, call) => {
                let provider = Played::Open(&**provider);
                return Ready { provider, call: *call, service: None, _place: None };
            }
            Made::There { provider, wire, recordings } => (*provider, *wire, *recordings),
        };
        let service = Service::of(&[step.recordings[recordings]]);
        let place = tempfile::tempdir().expect("a folder");
        let file = format!("{}\n{}", service.policy(provider), step.config);
        fs::write(place.path().join("recinto.toml"), file).expect("its settings");
        let stream = if step.recordings[recordings].ends_with("whole") { "off" } else { "on" };
        let base = service.base_url();
        let state = place.path().display().to_string();
        let variables = [
            ("XDG_STATE_HOME", state.as_str()),
            ("RECINTO_PROVIDER", provider),
            ("RECINTO_WIRE", wire),
            ("RECINTO_MODEL", "m"),
            ("RECINTO_BASE_URL", &base),
            ("RECINTO_RETRIES", "0"),
            ("RECINTO_STREAM", stream),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).to_vec();
        let here: PathBuf = place.path().into();
        let around = Surroundings { variables, root: here.join("root"), here };
        let settings = Settings::resolve_from(&Flags::default(), &around)
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let opened =
            Elsewhere::open_in(&settings, &around).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        assert_eq!(opened.identity().provider, Name::from_name(provider).expect("a provider"));
        let provider = Played::New(Box::new(opened));
        Ready { provider, call: None, service: Some(service), _place: Some(place) }
    }
}
