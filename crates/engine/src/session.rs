//! One conversation's memory: keys and values of what was fed, and where it stands.

use recinto_arch::Cache;
use recinto_kernels::{Kv, PAGE, Stop, first_non_finite};
use recinto_os::Wiped;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Kind, guarded},
    exec::{Block, Buffers, Halt, bad_id},
    model::Model,
};

/// Context of a session whose file states none.
const DEFAULT_CONTEXT: u64 = 4096;

/// How a session is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionOptions {
    /// Most positions; the trained context when `None`.
    pub context: Option<usize>,
}

/// Which positions of a [`Session::feed`] the caller wants logits of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// No position.
    None,
    /// The last one.
    Last,
    /// All of them.
    All,
}

/// One conversation's memory. Positions that were fed stay until [`Session::truncate`].
pub struct Session {
    pub(crate) model: Model,
    context: usize,
    caches: Vec<Kv>,
    pub(crate) buffers: Buffers,
    ids: Wiped<u32>,
    /// Logits of all positions, when they were wanted.
    rows: Wiped<f32>,
    pub(crate) block: usize,
}

impl Session {
    pub(crate) fn new(model: &Model, options: &SessionOptions) -> Result<Session, Error> {
        let program = model.program();
        let trained = program.context.unwrap_or(DEFAULT_CONTEXT);
        let context = options.context.unwrap_or(usize::try_from(trained).unwrap_or(usize::MAX));
        if context == 0 {
            return Err(Error::new(Kind::Request, "a context of 0 positions holds nothing"));
        }
        if let Some(trained) = program.context
            && context as u64 > trained
        {
            let what = format!("a context of {context} positions; the model knows {trained}");
            return Err(Error::new(Kind::Request, what));
        }
        if options.context.is_some() {
            let pages = context.div_ceil(PAGE);
            let bytes = program.caches.iter().map(|shape| pages.saturating_mul(page_bytes(shape)));
            let bytes = bytes.fold(0, usize::saturating_add);
            model.afford(bytes as u64, &format!("a context of {context} positions"))?;
        }
        let caches = program
            .caches
            .iter()
            .map(|cache| {
                let mut kv = Kv::new(cache.kv_heads, cache.key_dim, cache.value_dim);
                if model.0.lock_memory {
                    kv.lock();
                }
                kv
            })
            .collect();
        Ok(Session {
            model: model.clone(),
            context,
            caches,
            buffers: Buffers::new(model.0.lock_memory),
            ids: Wiped::new(model.0.lock_memory),
            rows: Wiped::new(model.0.lock_memory),
            block: 256,
        })
    }

    /// Positions fed so far: the next id stands here.
    pub fn position(&self) -> usize {
        self.ids.len()
    }

    /// Most positions of this session.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The ids fed so far.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Bytes that the keys and values take now.
    pub fn kv_bytes(&self) -> usize {
        self.caches.iter().map(Kv::bytes).sum()
    }

    /// Forgets every position from `position` on.
    pub fn truncate(&mut self, position: usize) {
        self.ids.truncate(position);
    }

    /// Feeds `ids` at the next positions and gives the logits of those that are wanted,
    /// position-major, [`Program::vocabulary`](recinto_arch::Program) values each.
    ///
    /// On an error the session stands at the last block that was read whole (blocks of
    /// [`Options::block`](crate::Options) positions); its position says where.
    pub fn feed(&mut self, ids: &[u32], want: Want, stop: &Stop) -> Result<&mut [f32], Error> {
        guarded(|| self.advance(ids, want, stop))?;
        match want {
            Want::None => Ok(&mut []),
            Want::Last => Ok(self.buffers.output_mut(self.model.program().output.slot)),
            Want::All => Ok(&mut self.rows),
        }
    }

    fn advance(&mut self, ids: &[u32], want: Want, stop: &Stop) -> Result<(), Error> {
        self.admit(ids)?;
        if want == Want::All {
            let output = self.model.program().output;
            let len = ids.len() * output.width;
            self.model.afford(len as u64 * 4, "logits of all positions")?;
            self.rows.clear();
            self.rows.try_reserve(len).map_err(|_| self.model.no_memory())?;
            for chunk in ids.chunks(self.block) {
                self.block_of(chunk, chunk.len(), stop)?;
                self.rows.extend_from_slice(self.buffers.output(output.slot));
            }
            return Ok(());
        }
        let last = (ids.len() - 1) / self.block * self.block;
        for chunk in ids[..last].chunks(self.block) {
            self.block_of(chunk, 0, stop)?;
        }
        self.block_of(&ids[last..], usize::from(want == Want::Last), stop)
    }

    /// Refuses what cannot be fed before anything is computed.
    fn admit(&self, ids: &[u32]) -> Result<(), Error> {
        if ids.is_empty() {
            return Err(Error::new(Kind::Request, "no token to feed"));
        }
        let available = self.context - self.position();
        if ids.len() > available {
            let what = format!("{} positions needed, {available} available", ids.len());
            let kind = Kind::Overflow { needed: ids.len(), available };
            return Err(Error::new(kind, what).hint(self.more_room()));
        }
        let vocabulary = self.model.program().vocabulary;
        match ids.iter().find(|id| **id as usize >= vocabulary) {
            Some(id) => Err(bad_id(*id, vocabulary)),
            None => Ok(()),
        }
    }

    /// One block: reserve, run, commit.
    fn block_of(&mut self, ids: &[u32], wanted: usize, stop: &Stop) -> Result<(), Error> {
        let start = self.position();
        self.make_room(ids.len(), wanted)?;
        for cache in &mut self.caches {
            cache.reserve(start + ids.len()).map_err(|_| self.model.no_memory())?;
        }
        let bound = &self.model.0.bound;
        let block = Block { ids, start, wanted, checked: false };
        let outcome = bound.run(block, &mut self.buffers, &mut self.caches, stop);
        let outcome = outcome.and_then(|()| {
            let output = self.buffers.output(bound.program.output.slot);
            match wanted > 0 && first_non_finite(output).is_some() {
                true => Err(Halt::NonFinite),
                false => Ok(()),
            }
        });
        match outcome {
            Ok(()) => self.remember(ids),
            Err(Halt::Stopped) => Err(stopped(stop)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Memory) => Err(self.model.no_memory()),
            Err(Halt::NonFinite) => {
                self.model.whole()?;
                // Once more with every result looked at, to say where.
                let block = Block { checked: true, wanted: wanted.max(1), ..block };
                match bound.run(block, &mut self.buffers, &mut self.caches, stop) {
                    Err(Halt::Failed(error)) => Err(error),
                    Err(Halt::Stopped) => Err(stopped(stop)),
                    _ => {
                        let kind = Kind::NonFinite { line: 0, layer: None };
                        Err(Error::new(kind, "the logits are not numbers"))
                    }
                }
            }
        }
    }

    /// What to do when the context is full.
    pub(crate) fn more_room(&self) -> String {
        match self.model.program().context {
            Some(most) if self.context as u64 >= most => {
                format!("the model knows no more than {most} positions; shorten the text")
            }
            Some(most) => format!("shorten the text, or ask for a context of up to {most}"),
            None => "shorten the text, or ask for a larger context".into(),
        }
    }

    /// Compares what the next block may need with what this process may still use; only when
    /// something has to grow.
    fn make_room(&self, n: usize, wanted: usize) -> Result<(), Error> {
        let program = self.model.program();
        let pages = (self.position() + n).div_ceil(PAGE);
        let caches = program.caches.iter().zip(&self.caches);
        let keys: usize = caches
            .map(|(shape, kv)| {
                pages.saturating_sub(kv.capacity() / PAGE).saturating_mul(page_bytes(shape))
            })
            .fold(0, usize::saturating_add);
        let grown = self.buffers.growth(program, n, wanted);
        match keys.saturating_add(grown) {
            0 => Ok(()),
            bytes => self.model.afford(bytes as u64, "keys, values and working memory"),
        }
    }

    fn remember(&mut self, ids: &[u32]) -> Result<(), Error> {
        let len = self.ids.len() + ids.len();
        self.ids.try_reserve(len).map_err(|_| self.model.no_memory())?;
        if self.ids.refused() || self.buffers.refused() {
            return Err(self.model.no_memory());
        }
        self.ids.extend_from_slice(ids);
        Ok(())
    }
}

/// Bytes of one position of one layer's keys and values, two a value.
pub(crate) fn position_bytes(shape: &Cache) -> usize {
    let width = shape.key_dim.saturating_add(shape.value_dim).saturating_mul(shape.kv_heads);
    width.saturating_mul(2)
}

/// Bytes of one page of the same.
fn page_bytes(shape: &Cache) -> usize {
    position_bytes(shape).saturating_mul(PAGE)
}

/// Which of the two reasons stopped a block.
pub(crate) fn stopped(stop: &Stop) -> Error {
    match stop.cancelled() {
        true => Error::new(Kind::Cancelled, "cancelled"),
        false => Error::new(Kind::Deadline, "the deadline passed while the prompt was being read"),
    }
}
