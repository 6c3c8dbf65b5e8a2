//! Ten thousand requests with labels of chance, under policies of chance, against services on
//! loopback: what they received is what an independent model of the policies allows, tries, streams,
//! tools and shapes included.
#![cfg(feature = "remote")]

use std::{collections::BTreeSet, fs, ops::ControlFlow, path::Path};

use recinto_engine::{Piece, Request, Stop};
use recinto_policy::Kind as Outside;
use recinto_provider::{Elsewhere, Flags, Kind, Provider, Settings, Shape, Surroundings, Turn};
use recinto_testkit::service::{Act, Service, recording};
use serde_json::json;

const PROVIDERS: [&str; 3] = ["openai", "openai-compatible", "anthropic"];
const LABELS: [&str; 5] = ["unlabelled", "internal", "phi", "client:acme", "public"];
const WORLDS: usize = 100;
const REQUESTS: usize = 100;

/// The numbers of one seed, one after another.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn labels(&mut self, least: usize) -> Vec<&'static str> {
        let count = least + self.below(3);
        (0..count)
            .map(|_| LABELS[self.below(LABELS.len())])
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }
}

/// A row: a provider, whether it names the service's host, and labels.
type Row = (usize, bool, Vec<&'static str>);

fn written(rows: &[Row], table: &str, service: &Service) -> String {
    let mut out = String::new();
    for (provider, here, labels) in rows {
        let host = if *here { service.host() } else { "otro.example".into() };
        let provider = PROVIDERS[*provider];
        out += &format!(
            "[[{table}]]\nprovider = \"{provider}\"\nhost = \"{host}\"\nlabels = {labels:?}\n"
        );
    }
    out
}

/// What the words of `docs/policy.md` come to.
fn allowed(policies: &[Vec<Row>], provider: usize, labels: &[&str]) -> bool {
    let labels = if labels.is_empty() { &["unlabelled"][..] } else { labels };
    let allows = |policy: &Vec<Row>, label: &&str| {
        policy.iter().any(|row| row.0 == provider && row.1 && row.2.contains(label))
    };
    !policies.is_empty() && labels.iter().all(|label| policies.iter().all(|p| allows(p, label)))
}

fn open(folder: &Path, service: &Service, provider: &str, chance: &mut Chance) -> Elsewhere {
    let stream = if chance.below(2) == 0 { "on" } else { "off" };
    let state = folder.join("estado").display().to_string();
    let url = service.base_url();
    let variables = [
        ("RECINTO_PROVIDER", provider),
        ("RECINTO_MODEL", "m"),
        ("RECINTO_BASE_URL", &url),
        ("RECINTO_API_KEY", "sk-propia"),
        ("RECINTO_STREAM", stream),
        ("RECINTO_RETRIES", "1"),
        ("XDG_STATE_HOME", &state),
    ];
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let around = Surroundings { variables, here: folder.into(), root: folder.join("raíz") };
    let settings = Settings::resolve_from(&Flags::default(), &around).unwrap();
    Elsewhere::open_in(&settings, &around).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn nothing_forbidden_leaves_and_everything_allowed_arrives() {
    let mut chance = Chance(7);
    let (mut sent, mut refused, mut again) = (0, 0, 0);
    for world in 0..WORLDS {
        let provider = chance.below(PROVIDERS.len());
        let wire = if PROVIDERS[provider] == "anthropic" { "messages-whole" } else { "chat-whole" };
        // Every third service is busy at first, so that the first request is sent twice.
        let busy = world % 3 == 0;
        let asks_to_wait = b"HTTP/1.1 429 Too Many\r\nretry-after: 0\r\n\r\n".to_vec();
        let mut acts = vec![Act::Send(recording(wire))];
        if busy {
            acts.insert(0, Act::Send(asks_to_wait));
        }
        let service = Service::start(acts);
        let folder = tempfile::tempdir().unwrap();
        let mut policies: Vec<Vec<Row>> = Vec::new();
        for (name, table) in
            [("raíz/etc/recinto/policy.toml", "allow"), ("recinto.toml", "policy.allow")]
        {
            if chance.below(4) == 0 {
                continue;
            }
            let mut rows: Vec<Row> = Vec::new();
            for _ in 0..1 + chance.below(4) {
                // A world in which nothing may leave shows little: half of the rows are for who is
                // asked.
                rows.push(match chance.below(2) {
                    0 => (provider, true, chance.labels(1)),
                    _ => (chance.below(PROVIDERS.len()), chance.below(5) > 0, chance.labels(1)),
                });
            }
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, written(&rows, table, &service)).unwrap();
            policies.push(rows);
        }
        let elsewhere = open(folder.path(), &service, PROVIDERS[provider], &mut chance);
        let log = folder.path().join("estado/recinto/egress.jsonl");
        let mut lines = 0;
        for at in 0..REQUESTS {
            let mut labels = chance.labels(0);
            if labels.len() > 1 {
                // Beside another label it would be a contradiction, and an error of its own.
                labels.retain(|label| *label != "unlabelled");
            }
            let mut request = Request::user("¿Cuándo abre la ventanilla?");
            if chance.below(3) == 0 {
                request.tools = vec![json!({ "type": "function", "function": { "name": "hora",
                    "parameters": { "type": "object", "properties": {} } } })];
            }
            let labels_of = labels.iter().map(|label| (*label).to_owned()).collect();
            let mut turn = Turn { labels: labels_of, ..Turn::from(request) };
            if chance.below(3) == 0 {
                turn = turn.shaped(Shape::Regex("[a-zñ]+".into()));
            }
            let before = service.seen().len();
            let mut quiet = |_: Piece<'_>| ControlFlow::Continue(());
            let reply = elsewhere.complete(&turn, &Stop::never(), &mut quiet);
            let seen = service.seen().len() - before;
            let name = format!("{policies:?}, {} {labels:?}", PROVIDERS[provider]);
            let no = reply.err().is_some_and(|e| *e.kind() == Kind::Outside(Outside::Refused));
            if allowed(&policies, provider, &labels) {
                let tries = if busy && lines == 0 { 2 } else { 1 };
                assert!(!no && seen == tries, "{world} {at}: {seen} of {tries} sent: {name}");
                (sent, lines, again) = (sent + 1, lines + tries, again + tries - 1);
            } else {
                assert!(no && seen == 0, "{world} {at}: {seen} sent: {name}");
                refused += 1;
            }
        }
        let written = fs::read_to_string(&log).map_or(0, |text| text.lines().count());
        assert_eq!(written, lines, "{world}: a line for each send");
    }
    assert_eq!(sent + refused, WORLDS * REQUESTS);
    assert!(sent > 1000 && refused > 1000 && again > 5, "{sent} {refused} {again}");
}
