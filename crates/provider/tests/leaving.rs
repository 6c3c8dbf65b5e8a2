//! Ten thousand requests with labels of chance, under policies of chance, against services on
//! loopback: what they received is what an independent model of the policies allows, tries, streams,
//! tools and shapes included. The same for the second legs of cascades, whatever their margins.

use std::{collections::BTreeSet, fs, ops::ControlFlow, path::Path};

use recinto_engine::{OpenOptions, Piece, Request, Stop};
use recinto_policy::{Kind as Outside, OPTION_MASS};
use recinto_provider::{
    Clarity, Elsewhere, Error, Flags, Kind, Next, Provider, Settings, Shape, Surroundings, Task,
    Turn, open_choice_in,
};
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

/// Writes policies of chance into `folder`, one of the machine's and one of the project's, which
/// begins with `text`.
fn policies(
    folder: &Path,
    service: &Service,
    provider: usize,
    text: &str,
    chance: &mut Chance,
) -> Vec<Vec<Row>> {
    let mut policies: Vec<Vec<Row>> = Vec::new();
    for (name, table, text) in
        [("raíz/etc/recinto/policy.toml", "allow", ""), ("recinto.toml", "policy.allow", text)]
    {
        let mut rows: Vec<Row> = Vec::new();
        if chance.below(4) > 0 {
            for _ in 0..1 + chance.below(4) {
                // A world in which nothing may leave shows little: half of the rows are for who is
                // asked.
                rows.push(match chance.below(2) {
                    0 => (provider, true, chance.labels(1)),
                    _ => (chance.below(PROVIDERS.len()), chance.below(5) > 0, chance.labels(1)),
                });
            }
        }
        if rows.is_empty() && text.is_empty() {
            continue;
        }
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.to_owned() + &written(&rows, table, service)).unwrap();
        if !rows.is_empty() {
            policies.push(rows);
        }
    }
    policies
}

/// Labels of a request. Beside another one `unlabelled` would be a contradiction, and an error of
/// its own.
fn labels(chance: &mut Chance) -> Vec<&'static str> {
    let mut labels = chance.labels(0);
    if labels.len() > 1 {
        labels.retain(|label| *label != "unlabelled");
    }
    labels
}

fn turn(request: Request, labels: &[&str]) -> Turn {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    Turn { labels, ..Turn::from(request) }
}

fn is_refused(error: &Error) -> bool {
    *error.kind() == Kind::Outside(Outside::Refused)
}

fn around(folder: &Path, service: &Service, variables: &[(&str, &str)]) -> Surroundings {
    let state = folder.join("estado").display().to_string();
    let url = service.base_url();
    let own = [
        ("RECINTO_BASE_URL", url.as_str()),
        ("RECINTO_API_KEY", "sk-propia"),
        ("RECINTO_RETRIES", "1"),
        ("XDG_STATE_HOME", state.as_str()),
    ];
    let variables = own.iter().chain(variables).map(|(name, value)| (name.into(), value.into()));
    Surroundings { variables: variables.collect(), here: folder.into(), root: folder.join("raíz") }
}

fn open(folder: &Path, service: &Service, provider: &str, chance: &mut Chance) -> Elsewhere {
    let stream = if chance.below(2) == 0 { "on" } else { "off" };
    let variables =
        [("RECINTO_PROVIDER", provider), ("RECINTO_MODEL", "m"), ("RECINTO_STREAM", stream)];
    let around = around(folder, service, &variables);
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
        let policies = policies(folder.path(), &service, provider, "", &mut chance);
        let elsewhere = open(folder.path(), &service, PROVIDERS[provider], &mut chance);
        let log = folder.path().join("estado/recinto/egress.jsonl");
        let mut lines = 0;
        for at in 0..REQUESTS {
            let labels = labels(&mut chance);
            let mut request = Request::user("¿Cuándo abre la ventanilla?");
            if chance.below(3) == 0 {
                request.tools = vec![json!({ "type": "function", "function": { "name": "hora",
                    "parameters": { "type": "object", "properties": {} } } })];
            }
            let mut turn = turn(request, &labels);
            if chance.below(3) == 0 {
                turn = turn.shaped(Shape::Regex("[a-zñ]+".into()));
            }
            let before = service.seen().len();
            let mut quiet = |_: Piece<'_>| ControlFlow::Continue(());
            let reply = elsewhere.complete(&turn, &Stop::never(), &mut quiet);
            let seen = service.seen().len() - before;
            let name = format!("{policies:?}, {} {labels:?}", PROVIDERS[provider]);
            let no = reply.err().is_some_and(|error| is_refused(&error));
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

/// A margin that decides.
const BELOW: f64 = 0.25;

#[test]
fn the_second_leg_of_a_cascade_is_behind_the_wall_too() {
    let model =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny/qwen2-quant.gguf");
    let model = model.canonicalize().expect("a tiny model of this repository");
    let margins =
        [None, Some(f64::NAN), Some(-1.0), Some(0.0), Some(0.249), Some(BELOW), Some(1.0)];
    let mut chance = Chance(11);
    let (mut held, mut sent, mut undecided, mut late) = (0, 0, 0, 0);
    for world in 0..WORLDS {
        let provider = chance.below(PROVIDERS.len());
        let stays = chance.below(6) == 0;
        let wire = if PROVIDERS[provider] == "anthropic" { "messages-whole" } else { "chat-whole" };
        let service = Service::of(&[wire]);
        let folder = tempfile::tempdir().unwrap();
        let model = model.display();
        let text = format!(
            "stream = \"off\"\n[profiles]\nfast = \"local/{model}\"\nslow = \"local/{model}\"\n\
             careful = \"{}/m\"\n[cascade]\ntwice = {{ first = \"fast\", below = {BELOW}, \
             then = \"{}\" }}\n[tasks]\ndecide = \"twice\"\n",
            PROVIDERS[provider],
            if stays { "slow" } else { "careful" },
        );
        let policies = policies(folder.path(), &service, provider, &text, &mut chance);
        let around = around(folder.path(), &service, &[]);
        let settings = Settings::resolve_from(&Flags::default(), &around).unwrap();
        let choice = settings.choose_in(Some(Task::Decide), &around).unwrap();
        let opened = open_choice_in(&choice, OpenOptions::default(), &around).unwrap();
        let cascaded = opened.cascaded().expect("a cascade");
        for at in 0..REQUESTS / 4 {
            let labels = labels(&mut chance);
            let margin = margins[chance.below(margins.len())];
            let option_mass = margins[chance.below(margins.len())];
            let clear = |figure: Option<f64>, least: f64| figure.is_some_and(|f| f >= least);
            let holds = clear(margin, BELOW) && clear(option_mass, OPTION_MASS);
            let first = Clarity { margin, option_mass };
            let may = stays || allowed(&policies, provider, &labels);
            let name = format!("{world} {at}: {policies:?}, {} {labels:?}", PROVIDERS[provider]);
            let words: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            let second = match cascaded.next(first, &words).unwrap_or_else(|e| panic!("{e}")) {
                Next::Holds => {
                    assert!(holds, "{name}");
                    held += 1;
                    continue;
                }
                Next::Undecided(why) => {
                    assert!(!may && why.is_some(), "{name}");
                    undecided += 1;
                    continue;
                }
                Next::Ask(second) => second,
            };
            assert!(may && !holds, "{name}");
            if stays {
                assert!(second.local().is_some(), "{name}");
                continue;
            }
            // Whoever holds the second one and says other labels meets the wall again.
            let said = if chance.below(2) == 0 { labels } else { self::labels(&mut chance) };
            let before = service.seen().len();
            let mut quiet = |_: Piece<'_>| ControlFlow::Continue(());
            let turn = turn(Request::user("¿Pagos o acceso?"), &said);
            let reply = second.complete(&turn, &Stop::never(), &mut quiet);
            let seen = service.seen().len() - before;
            if allowed(&policies, provider, &said) {
                assert!(reply.is_ok() && seen == 1, "{name}: {said:?}");
                sent += 1;
            } else {
                assert!(
                    reply.err().is_some_and(|e| is_refused(&e)) && seen == 0,
                    "{name}: {said:?}"
                );
                late += 1;
            }
        }
        let log = folder.path().join("estado/recinto/egress.jsonl");
        let lines = fs::read_to_string(&log).map_or(0, |text| text.lines().count());
        assert_eq!(lines, service.seen().len(), "{world}: a line for each send");
    }
    let counts = (held, sent, undecided, late);
    assert!(held > 30 && sent > 100 && undecided > 300 && late > 20, "{counts:?}");
}
