//! Going back and going on twice: marks, rewinding, truncating, forks.
//!
//! What a session stands on is its ids and, for each layer, reference-counted pages of keys and
//! values. A mark and a fork share those pages; nobody writes into a page that another holds.

use recinto_arch::{Cache, Program};
use recinto_kernels::{Kv, KvType};
use recinto_os::Wiped;

use crate::{
    error::{Error, Kind},
    model::Model,
    session::Session,
};

/// What a session stands on.
pub(crate) struct State {
    pub kind: KvType,
    /// One a layer that attends, as [`Program::caches`] has them.
    pub caches: Vec<Kv>,
    pub ids: Wiped<u32>,
}

impl State {
    /// Nothing fed, nothing allocated.
    pub fn new(model: &Model, kind: KvType) -> State {
        let lock = model.0.lock_memory;
        let caches = model.program().caches.iter().map(|cache| {
            let mut kv = Kv::stored_as(kind, cache.kv_heads, cache.key_dim, cache.value_dim);
            if lock {
                kv.lock();
            }
            kv
        });
        State { kind, caches: caches.collect(), ids: Wiped::new(lock) }
    }

    /// The same again; pages are shared, ids are copied.
    fn share(&self, model: &Model) -> Result<State, Error> {
        let mut ids = Wiped::new(model.0.lock_memory);
        ids.try_reserve(self.ids.len()).map_err(|_| model.no_memory())?;
        if ids.refused() {
            return Err(model.no_memory());
        }
        ids.extend_from_slice(&self.ids);
        Ok(State { kind: self.kind, caches: self.caches.clone(), ids })
    }

    /// Lets go of pages that no position from the next one on can see.
    pub fn release(&mut self, program: &Program) {
        for (shape, kv) in program.caches.iter().zip(&mut self.caches) {
            if shape.window.is_some() {
                kv.release(first_seen(shape, self.ids.len()));
            }
        }
    }

    /// Whether all that position `position` sees before itself is there.
    fn reaches(&self, program: &Program, position: usize) -> bool {
        let mut caches = program.caches.iter().zip(&self.caches);
        caches.all(|(shape, kv)| kv.holds(first_seen(shape, position)..position))
    }
}

/// The first position that a query at `position` sees in a layer.
pub(crate) fn first_seen(shape: &Cache, position: usize) -> usize {
    shape.window.map_or(0, |window| (position + 1).saturating_sub(window).min(position))
}

/// A place to return to. It keeps alive what is needed for that, beside the session: the pages
/// of keys and values as they were. Dropping it lets go of them.
pub struct Mark {
    model: Model,
    state: State,
}

impl Mark {
    /// The position it was set at: how many ids had been fed.
    pub fn position(&self) -> usize {
        self.state.ids.len()
    }

    /// The ids fed up to there.
    pub fn ids(&self) -> &[u32] {
        &self.state.ids
    }
}

impl Session {
    /// A place to return to with [`Session::rewind`], whatever is fed or forgotten meanwhile.
    /// Copies no page; the next position fed copies the last page of each layer if it is not
    /// full.
    pub fn mark(&self) -> Result<Mark, Error> {
        Ok(Mark { model: self.model.clone(), state: self.state.share(&self.model)? })
    }

    /// Goes to where `mark` was set. It may have been set by this session or by another one of
    /// the same opened model, such as the one this was forked from.
    pub fn rewind(&mut self, mark: &Mark) -> Result<(), Error> {
        if !std::sync::Arc::ptr_eq(&self.model.0, &mark.model.0) {
            return Err(Error::new(Kind::Request, "the mark is of another model"));
        }
        let (needed, available) = (mark.position(), self.context());
        if needed > available {
            let what = format!("the mark stands at {needed}, the context has {available}");
            return Err(Error::new(Kind::Overflow { needed, available }, what));
        }
        self.state = mark.state.share(&self.model)?;
        self.anchor = self.anchor.take().filter(|anchor| anchor.position() <= needed);
        Ok(())
    }

    /// Another session that stands where this one does. Pages are shared until one of the two
    /// writes into them, so a fork costs no memory for what was fed so far.
    pub fn fork(&self) -> Result<Session, Error> {
        let state = self.state.share(&self.model)?;
        let mut fork = Session::of(&self.model, self.context(), state);
        fork.batch.block = self.batch.block;
        Ok(fork)
    }

    /// Forgets every position from `position` on.
    ///
    /// Layers that look back over a window have let go of what lies behind it: where a position
    /// before `position` would have to be seen again that is gone, this is an error and nothing
    /// changes. A mark reaches any place it was set at, and 0 can always be returned to.
    pub fn truncate(&mut self, position: usize) -> Result<(), Error> {
        if position >= self.position() {
            return Ok(());
        }
        let program = self.model.program();
        if !self.state.reaches(program, position) {
            let what = format!(
                "position {position} cannot be returned to from {}: its window is gone",
                self.position()
            );
            return Err(Error::new(Kind::Forgotten, what)
                .hint("set a mark before feeding on and rewind to it, or feed again from 0"));
        }
        self.state.ids.truncate(position);
        self.anchor = self.anchor.take().filter(|anchor| anchor.position() <= position);
        Ok(())
    }

    /// Goes back to the last place that agrees with `ids` and can be reached, and says where that
    /// is; at least one of `ids` is left to be fed.
    pub(crate) fn go_back_to(&mut self, ids: &[u32]) -> Result<usize, Error> {
        let most = ids.len().saturating_sub(1);
        let common = self.ids().iter().zip(ids).take_while(|(a, b)| a == b).count().min(most);
        match self.truncate(common) {
            Err(error) if *error.kind() != Kind::Forgotten => return Err(error),
            Err(_) => {
                let anchor = self.anchor.take();
                match &anchor {
                    Some(mark) if mark.position() <= most && ids.starts_with(mark.ids()) => {
                        self.rewind(mark)?;
                        self.anchor = anchor;
                    }
                    _ => self.truncate(0)?,
                }
            }
            Ok(()) => {}
        }
        Ok(self.position())
    }

    /// Marks this place for the next reply, in a model whose windows would not let it return.
    pub(crate) fn set_anchor(&mut self) -> Result<(), Error> {
        let windowed = self.model.program().caches.iter().any(|shape| shape.window.is_some());
        self.anchor = if windowed { Some(self.mark()?) } else { None };
        Ok(())
    }
}
