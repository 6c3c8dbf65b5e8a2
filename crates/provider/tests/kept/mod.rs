//! A subscriber that keeps every field of every span.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

pub type Fields = BTreeMap<String, String>;

/// Keeps every field of every span.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Fields>>>);

/// Runs `act` and returns the spans of this thread.
///
/// While there is a single subscriber, a place in the code that another thread comes to first is
/// switched off for all of them when that thread has none. A second subscriber, kept to the end
/// of the process, makes every subscriber count.
pub fn spans<T>(act: impl FnOnce() -> T) -> (T, Vec<Fields>) {
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    let kept = Kept::default();
    let first = Dispatch::new(kept.clone());
    SECOND.get_or_init(|| Dispatch::new(Kept::default()));
    let value = tracing::dispatcher::with_default(&first, act);
    let spans = std::mem::take(&mut *kept.0.lock().unwrap());
    (value, spans)
}

struct Sorted<'a>(&'a mut Fields);

impl Visit for Sorted<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

impl Subscriber for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().unwrap();
        let mut fields = Fields::new();
        attributes.record(&mut Sorted(&mut fields));
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut spans = self.0.lock().unwrap();
        values.record(&mut Sorted(&mut spans[id.into_u64() as usize - 1]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
