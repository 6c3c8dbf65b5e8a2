//! Sessions that are kept between requests, so that what several prompts begin with (instructions,
//! examples, a schema) is read once.
//!
//! Bits do not depend on it (`docs/determinism.md`): a prompt that goes on from a kept session has
//! the logits that it has when it is read from the start.

use std::sync::{Mutex, MutexGuard, PoisonError};

use recinto_engine::{Error, Session};

/// Most sessions that are kept.
const MOST: usize = 4;

/// Kept sessions of one model. Those that are kept and those in use are together never more than
/// were in use at once before, nor more than [`MOST`] unless so many are in use: one request after
/// another keeps one session, whose memory is that of the session a model is opened for.
pub(crate) struct Kept {
    on: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The one used last is last.
    idle: Vec<Idle>,
    used: usize,
    peak: usize,
}

struct Idle {
    session: Session,
    /// What the data was that it read. It serves data of the same labels only: how much of a
    /// prompt was read before tells of the one before.
    labels: Vec<String>,
}

impl State {
    /// How many may be kept beside those in use.
    fn room(&self) -> usize {
        self.peak.min(MOST).saturating_sub(self.used)
    }

    fn shrink(&mut self) {
        let over = self.idle.len().saturating_sub(self.room());
        self.idle.drain(..over);
    }

    fn best(&self, ids: &[u32], labels: &[String]) -> Option<usize> {
        let serves = |row: &(usize, &Idle)| row.1.labels == labels;
        let rows = self.idle.iter().enumerate().filter(serves);
        rows.max_by_key(|(_, idle)| idle.session.common(ids)).map(|row| row.0)
    }
}

impl Kept {
    /// Keeps sessions, or none where it is not `on`.
    pub fn new(on: bool) -> Kept {
        Kept { on, state: Mutex::default() }
    }

    /// A place for one request's session; `labels` say what its data is.
    pub fn seat<'a>(&'a self, labels: &'a [String]) -> Seat<'a> {
        let mut state = self.state();
        state.used += 1;
        state.peak = state.peak.max(state.used);
        Seat { kept: self, labels, session: None }
    }

    /// Lets go of every session that is kept.
    pub fn clear(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        drop(idle);
    }

    /// Nothing in here can be left half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request's session.
pub(crate) struct Seat<'a> {
    kept: &'a Kept,
    labels: &'a [String],
    session: Option<Session>,
}

impl Seat<'_> {
    /// The kept session that holds most of what `ids` begin with, else one that `make` makes.
    pub fn take(
        &mut self,
        ids: &[u32],
        make: impl FnOnce() -> Result<Session, Error>,
    ) -> Result<&mut Session, Error> {
        let found = {
            let mut state = self.kept.state();
            let best = state.best(ids, self.labels);
            let found = best.map(|at| state.idle.remove(at).session);
            state.shrink();
            found
        };
        let session = match found {
            Some(session) => session,
            None => make()?,
        };
        Ok(self.session.insert(session))
    }

    /// Keeps the session for requests to come; one that is dropped instead is wiped.
    pub fn keep(mut self) {
        let session = self.session.take().filter(|_| self.kept.on);
        let Some(mut session) = session else { return };
        session.trim();
        let labels = self.labels.to_vec();
        let mut state = self.kept.state();
        state.idle.push(Idle { session, labels });
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.kept.state();
        state.used = state.used.saturating_sub(1);
        state.shrink();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use recinto_engine::{Model, OpenOptions, Stop, Want};

    use super::*;

    fn model() -> Model {
        let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
        let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
        Model::open(&tiny.join("llama-plain.gguf"), &options).unwrap()
    }

    /// Reads `ids` in the session that a seat takes; how many were there.
    fn read(seat: &mut Seat<'_>, model: &Model, ids: &[u32]) -> usize {
        let session = seat.take(ids, || model.session(&Default::default())).unwrap();
        let common = session.common(ids);
        session.truncate(common).unwrap();
        if common < ids.len() {
            session.feed(&ids[common..], Want::None, &Stop::never()).unwrap();
        }
        common
    }

    #[test]
    fn as_many_are_kept_as_were_in_use() {
        let model = model();
        let kept = Kept::new(true);
        let count = || kept.state().idle.len();
        let one = |ids: &[u32]| {
            let mut seat = kept.seat(&[]);
            let common = read(&mut seat, &model, ids);
            seat.keep();
            common
        };
        assert_eq!([one(&[1, 2, 3]), one(&[1, 2, 4]), one(&[5])], [0, 2, 0]);
        assert_eq!(count(), 1, "one after another");
        let many: Vec<Seat<'_>> = (0..6)
            .map(|at| {
                let mut seat = kept.seat(&[]);
                read(&mut seat, &model, &[at, at + 1]);
                assert_eq!(count(), 0, "{at}: one in use is not kept beside");
                seat
            })
            .collect();
        many.into_iter().for_each(Seat::keep);
        assert_eq!(count(), MOST);
        // The ones that were used last, and of them the one that fits.
        assert_eq!([one(&[5, 6, 7]), one(&[3, 4]), one(&[0, 1])], [2, 2, 0]);
        assert!(count() <= MOST);
        kept.clear();
        assert_eq!((count(), one(&[5, 6])), (0, 0));
    }

    #[test]
    fn nothing_is_kept_where_that_is_off_or_goes_wrong() {
        let model = model();
        for on in [false, true] {
            let kept = Kept::new(on);
            let mut seat = kept.seat(&[]);
            read(&mut seat, &model, &[1, 2]);
            match on {
                false => seat.keep(),
                true => drop(seat),
            }
            assert!(kept.state().idle.is_empty(), "{on}");
            assert_eq!(kept.state().used, 0, "{on}");
        }
    }
}
