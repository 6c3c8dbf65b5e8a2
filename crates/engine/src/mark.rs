//! Going back and going on twice: marks, rewinding, truncating, forks.
//!
//! What a session stands on is its ids and, for each layer, reference-counted pages of keys and
//! values. A mark and a fork share those pages; nobody writes into a page that another holds.

use recinto_arch::{Cache, Program};
use recinto_kernels::{Kv, KvType, Stop};
use recinto_os::Wiped;

use crate::{
    batch::Batch,
    error::{Error, Kind},
    model::Model,
    session::{Session, Want},
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

/// How many ids two sequences begin with alike.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
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
        self.forget_marks_behind(needed);
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
        self.forget_marks_behind(position);
        Ok(())
    }

    fn forget_marks_behind(&mut self, position: usize) {
        for mark in [&mut self.anchor, &mut self.shared] {
            *mark = mark.take().filter(|mark| mark.position() <= position);
        }
    }

    /// Goes back to the last place that agrees with `ids` and can be reached, and says where that
    /// is; at least one of `ids` is left to be fed. Where a window does not let it go back as far
    /// as both agree, that place is marked when it is read again.
    pub(crate) fn go_back_to(&mut self, ids: &[u32]) -> Result<usize, Error> {
        let most = ids.len().saturating_sub(1);
        let common = common(self.ids(), ids).min(most);
        self.meeting = None;
        match self.truncate(common) {
            Err(error) if *error.kind() != Kind::Forgotten => return Err(error),
            Err(_) => {
                self.meeting = Some(common);
                let marks = [self.anchor.take(), self.shared.take()];
                let fits = |mark: &&Mark| mark.position() <= most && ids.starts_with(mark.ids());
                let best = marks.iter().flatten().filter(fits).max_by_key(|mark| mark.position());
                match best {
                    Some(mark) => self.rewind(mark)?,
                    None => self.truncate(0)?,
                }
                let [anchor, shared] = marks;
                let here = self.position();
                self.anchor = anchor.filter(|mark| mark.position() <= here);
                self.shared = shared.filter(|mark| mark.position() <= here);
            }
            Ok(()) => {}
        }
        Ok(self.position())
    }

    /// Reads `ids`, what is left of a prompt, as far as the place that is to be marked, and says
    /// how many that were. Bits do not depend on the pieces in which a prompt is read.
    pub(crate) fn read_to_meeting(&mut self, ids: &[u32], stop: &Stop) -> Result<usize, Error> {
        let count = self.meeting.take().and_then(|place| place.checked_sub(self.position()));
        let Some(count) = count.filter(|count| (1..ids.len()).contains(count)) else {
            return Ok(0);
        };
        self.feed(&ids[..count], Want::None, stop)?;
        self.shared = Some(self.mark()?);
        Ok(count)
    }

    /// How many of `ids` this session holds from its first position on.
    pub fn common(&self, ids: &[u32]) -> usize {
        common(self.ids(), ids)
    }

    /// Lets go of the memory that holds no position: working memory, and pages of keys and values
    /// behind the last one. It is wiped, and taken again with the next feed.
    pub fn trim(&mut self) {
        let block = self.batch.block;
        self.batch = Batch::new(&self.model, block);
        let positions = self.position();
        self.state.caches.iter_mut().for_each(|kv| kv.shorten(positions));
    }

    /// Marks this place for the next reply, in a model whose windows would not let it return.
    pub(crate) fn set_anchor(&mut self) -> Result<(), Error> {
        let windowed = self.model.program().caches.iter().any(|shape| shape.window.is_some());
        self.anchor = if windowed { Some(self.mark()?) } else { None };
        Ok(())
    }
}
