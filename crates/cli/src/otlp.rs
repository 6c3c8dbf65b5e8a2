//! Spans as OTLP in JSON, a line each, in a file that a collector reads: the form of OpenTelemetry's
//! file exporter (specification, "OpenTelemetry Protocol File Exporter"). Opens no socket.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, hash_map::RandomState},
    fmt,
    hash::BuildHasher,
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use zeroize::Zeroize;

/// How long a line waits for another process that writes to the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most spans that are open at once; further ones are not written.
const MOST: usize = 4096;
/// Whose spans these are.
const TARGET: &str = "recinto";
/// Attributes of ours that are lists in the conventions.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];
/// The numbers that OTLP has for kinds of spans.
const KINDS: [(&str, u8); 5] =
    [("internal", 1), ("server", 2), ("client", 3), ("producer", 4), ("consumer", 5)];

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static WITHIN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Writes each span when it is closed.
pub struct Exporter {
    path: PathBuf,
    open: Mutex<HashMap<u64, Open>>,
    next: AtomicU64,
    /// Whether a line could not be written, which is said once.
    lost: AtomicBool,
}

/// A span that is not closed yet.
struct Open {
    trace: [u64; 2],
    id: u64,
    parent: Option<u64>,
    name: &'static str,
    begun: SystemTime,
    fields: Fields,
    handles: usize,
}

/// Values by name; wiped when they are dropped, since they may hold words that were asked for.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, Item>);

/// A value as OTLP has it.
enum Item {
    Text(String),
    Whole(i64),
    Real(f64),
    Truth(bool),
}

impl Drop for Fields {
    fn drop(&mut self) {
        for value in self.0.values_mut() {
            if let Item::Text(text) = value {
                text.zeroize();
            }
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), Item::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), Item::Whole(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        // OTLP has no whole number beyond this one: a text keeps every digit.
        let value = i64::try_from(value).map_or(Item::Text(value.to_string()), Item::Whole);
        self.0.insert(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name(), Item::Real(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), Item::Truth(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), Item::Text(format!("{value:?}")));
    }
}

impl Item {
    fn json(&self) -> Value {
        match self {
            Item::Text(text) => json!({ "stringValue": text }),
            // Whole numbers of 64 bits are texts in JSON of protocol buffers.
            Item::Whole(value) => json!({ "intValue": value.to_string() }),
            Item::Real(value) if value.is_finite() => json!({ "doubleValue": value }),
            Item::Real(value) => json!({ "stringValue": value.to_string() }),
            Item::Truth(value) => json!({ "boolValue": value }),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A number that is never 0: such ids count as none.
fn random() -> u64 {
    static SEED: OnceLock<RandomState> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    SEED.get_or_init(RandomState::new).hash_one((count, SystemTime::now())).max(1)
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

impl Exporter {
    /// Makes one that writes to `path`; the file is made, and must be one that only its owner
    /// reads.
    fn new(path: &Path) -> io::Result<Exporter> {
        recinto_os::append::add(path, b"", PATIENCE, false)?;
        Ok(Exporter {
            path: path.to_owned(),
            open: Mutex::default(),
            next: AtomicU64::new(1),
            lost: AtomicBool::new(false),
        })
    }

    /// Has the spans of this process written to `path` from now on.
    ///
    /// # Errors
    ///
    /// As [`recinto_os::append::add`].
    pub fn start(path: &Path) -> io::Result<()> {
        let exporter = Exporter::new(path)?;
        // A second call comes of the same settings: what was started goes on.
        let _ = tracing::subscriber::set_global_default(exporter);
        Ok(())
    }

    fn spans(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, span: &Open) {
        let mut line = line(span, SystemTime::now());
        let done = recinto_os::append::add(&self.path, line.as_bytes(), PATIENCE, false);
        line.zeroize();
        if let (Err(error), false) = (done, self.lost.swap(true, Ordering::Relaxed)) {
            eprintln!("warning: spans cannot be written to {}: {error}", self.path.display());
        }
    }
}

/// One line of the file: a message `TracesData` with one span.
fn line(span: &Open, end: SystemTime) -> String {
    let mut name = span.name;
    let (mut kind, mut status) = (1, Map::new());
    let mut attributes = Vec::new();
    for (key, value) in &span.fields.0 {
        match (*key, value.text()) {
            ("otel.name", Some(text)) => name = text,
            ("otel.kind", Some(text)) => {
                kind = KINDS.iter().find(|row| row.0 == text).map_or(1, |row| row.1);
            }
            ("otel.status_code", Some(text)) => {
                let code = if text == "ERROR" { 2 } else { 1 };
                status.insert("code".into(), code.into());
            }
            (key, _) if LISTS.contains(&key) => {
                let values = json!({ "arrayValue": { "values": [value.json()] } });
                attributes.push(json!({ "key": key, "value": values }));
            }
            (key, _) => attributes.push(json!({ "key": key, "value": value.json() })),
        }
    }
    let mut one = json!({
        "traceId": format!("{:016x}{:016x}", span.trace[0], span.trace[1]),
        "spanId": format!("{:016x}", span.id),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(end),
        "attributes": attributes,
        "status": status,
    });
    if let Some(parent) = span.parent {
        one["parentSpanId"] = format!("{parent:016x}").into();
    }
    let text = |key: &str, text: &str| json!({ "key": key, "value": { "stringValue": text } });
    let version = env!("CARGO_PKG_VERSION");
    let whole = json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", recinto_provider::BUILD), text("service.version", version),
        ] },
        "scopeSpans": [{ "scope": { "name": TARGET, "version": version }, "spans": [one] }],
    }] });
    format!("{whole}\n")
}

impl Subscriber for Exporter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == TARGET
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut spans = self.spans();
        let parent = match (attributes.parent(), attributes.is_root()) {
            (Some(id), _) => Some(id.into_u64()),
            (None, true) => None,
            (None, false) => WITHIN.with_borrow(|within| within.last().copied()),
        };
        let parent = parent.and_then(|number| spans.get(&number)).map(|span| (span.trace, span.id));
        let span = Open {
            trace: parent.map_or_else(|| [random(), random()], |parent| parent.0),
            id: random(),
            parent: parent.map(|parent| parent.1),
            name: attributes.metadata().name(),
            begun: SystemTime::now(),
            fields,
            handles: 1,
        };
        if spans.len() < MOST {
            spans.insert(number, span);
        }
        Id::from_u64(number)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        WITHIN.with_borrow_mut(|within| within.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        WITHIN.with_borrow_mut(|within| {
            if let Some(at) = within.iter().rposition(|one| *one == id.into_u64()) {
                within.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            span.handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let closed = {
            let mut spans = self.spans();
            let Some(span) = spans.get_mut(&id.into_u64()) else { return false };
            span.handles -= 1;
            match span.handles {
                0 => spans.remove(&id.into_u64()),
                _ => None,
            }
        };
        if let Some(span) = &closed {
            self.write(span);
        }
        closed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tracing::Dispatch;

    use super::*;

    #[test]
    fn a_line_is_a_span_of_otlp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spans.jsonl");
        let dispatch = Dispatch::new(Exporter::new(&path).unwrap());
        tracing::dispatcher::with_default(&dispatch, || {
            let outer = tracing::info_span!(
                target: "recinto", "gen_ai", otel.name = "chat año", otel.kind = "client",
                gen_ai.usage.input_tokens = 7u64, gen_ai.request.temperature = 0.5, big = u64::MAX,
                gen_ai.response.finish_reasons = "end", otel.status_code = tracing::field::Empty,
            );
            outer.in_scope(|| {
                tracing::info_span!(target: "recinto", "inner", "error.type" = "x\"ñ")
                    .record("error.type", "y");
                tracing::info_span!(target: "other", "not ours");
                tracing::info!(target: "recinto", "no span");
            });
            outer.record("otel.status_code", "ERROR");
            drop(outer.clone());
            assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1, "one is open");
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [inner, outer] = &lines[..] else { panic!("{text}") };
        let span = |line: &Value| line["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone();
        let (inner, outer) = (span(inner), span(outer));
        assert_eq!(outer["name"], "chat año");
        assert_eq!((&outer["kind"], &outer["status"]["code"]), (&json!(3), &json!(2)));
        assert_eq!((&inner["kind"], &inner["status"]), (&json!(1), &json!({})));
        assert_eq!(inner["traceId"], outer["traceId"]);
        assert_eq!(inner["parentSpanId"], outer["spanId"]);
        assert!(outer.get("parentSpanId").is_none());
        for (id, length) in [(&outer["traceId"], 32), (&outer["spanId"], 16)] {
            let id = id.as_str().unwrap();
            assert!(id.len() == length && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        }
        let times = ["startTimeUnixNano", "endTimeUnixNano"]
            .map(|key| outer[key].as_str().unwrap().parse::<u64>().unwrap());
        assert!(times[0] <= times[1] && times[0] > 1_600_000_000_000_000_000, "{times:?}");
        let attribute = |span: &Value, key: &str| {
            let all = span["attributes"].as_array().unwrap();
            all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone())
        };
        let cases = [
            ("gen_ai.usage.input_tokens", json!({ "intValue": "7" })),
            ("gen_ai.request.temperature", json!({ "doubleValue": 0.5 })),
            ("big", json!({ "stringValue": u64::MAX.to_string() })),
            (
                "gen_ai.response.finish_reasons",
                json!({
                    "arrayValue": { "values": [{ "stringValue": "end" }] }
                }),
            ),
        ];
        for (key, want) in cases {
            assert_eq!(attribute(&outer, key), Some(want), "{key}");
        }
        assert_eq!(attribute(&outer, "otel.kind"), None, "what OTLP has a place for");
        assert_eq!(attribute(&inner, "error.type"), Some(json!({ "stringValue": "y" })));
        let service = &lines[0]["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(service["value"]["stringValue"], recinto_provider::BUILD);
    }

    #[test]
    fn a_file_that_others_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spans.jsonl");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Exporter::new(&path).is_err());
        assert!(Exporter::new(dir.path()).is_err(), "a folder");
    }
}
