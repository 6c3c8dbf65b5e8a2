//! One conversation's memory: keys and values of what was fed, and where it stands.

use std::str::FromStr;

use recinto_arch::Cache;
use recinto_kernels::{Kv, KvType, PAGE, Stop};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    batch::{BLOCK, Batch, Feed, unknown_id},
    error::{Error, Kind, guarded},
    mark::{Mark, State},
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
    /// How keys and values are stored: `bf16`, `f16` or `q8_0`. Each type has bits of its own.
    #[serde(serialize_with = "kv_word", deserialize_with = "kv_from_word")]
    pub kv: KvType,
}

pub(crate) fn kv_word<S: Serializer>(kind: &KvType, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.name())
}

fn kv_from_word<'de, D: Deserializer<'de>>(from: D) -> Result<KvType, D::Error> {
    let word = String::deserialize(from)?;
    KvType::from_str(&word).map_err(serde::de::Error::custom)
}

/// Which positions of a feed the caller wants logits of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// No position.
    None,
    /// The last one.
    Last,
    /// All of them.
    All,
}

impl Want {
    /// How many of `n` positions.
    pub(crate) fn rows(self, n: usize) -> usize {
        match self {
            Want::None => 0,
            Want::Last => n.min(1),
            Want::All => n,
        }
    }
}

/// One conversation's memory. What was fed stays until [`Session::truncate`] or
/// [`Session::rewind`]; layers that look back over a window let go of what no position to come
/// can see.
pub struct Session {
    pub(crate) model: Model,
    context: usize,
    pub(crate) state: State,
    /// Working memory of this session's own feeds; nothing is in it before the first.
    pub(crate) batch: Batch,
    /// Where the last reply began, for models that could not go back otherwise.
    pub(crate) anchor: Option<Mark>,
    /// Where two prompts parted, for the same models.
    pub(crate) shared: Option<Mark>,
    /// Where the next prompt to be read leaves the one before, if that place is to be marked.
    pub(crate) meeting: Option<usize>,
}

impl Session {
    pub(crate) fn new(model: &Model, options: &SessionOptions) -> Result<Session, Error> {
        let program = model.program();
        if program.whole {
            let what = format!("architecture `{}` reads texts as a whole", program.name);
            return Err(Error::new(Kind::Architecture, what)
                .hint("it writes none: it is for `embed` and `judge`"));
        }
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
            let bytes = context_bytes(&program.caches, context, options.kv);
            model.afford(bytes as u64, &format!("a context of {context} positions"))?;
        }
        let state = State::new(model, options.kv);
        Ok(Session::of(model, context, state))
    }

    /// A session that stands where `state` does.
    pub(crate) fn of(model: &Model, context: usize, state: State) -> Session {
        let batch = Batch::new(model, BLOCK);
        Session {
            model: model.clone(),
            context,
            state,
            batch,
            anchor: None,
            shared: None,
            meeting: None,
        }
    }

    /// Positions fed so far: the next id stands here.
    pub fn position(&self) -> usize {
        self.state.ids.len()
    }

    /// Most positions of this session.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The ids fed so far.
    pub fn ids(&self) -> &[u32] {
        &self.state.ids
    }

    /// How keys and values are stored.
    pub fn kv(&self) -> KvType {
        self.state.kind
    }

    /// Bytes of the keys and values it holds now, alone or with forks and marks.
    pub fn kv_bytes(&self) -> usize {
        self.state.caches.iter().map(Kv::bytes).sum()
    }

    /// Bytes of its own working memory: it follows the block, not the length of a prompt.
    pub fn working_bytes(&self) -> usize {
        self.batch.bytes()
    }

    /// Feeds `ids` at the next positions and gives the logits of those that are wanted,
    /// position-major, [`Program::vocabulary`](recinto_arch::Program) values each.
    ///
    /// On an error the session stands at the last block that was read whole (blocks of
    /// [`Options::block`](crate::Options) positions); its position says where. Many sessions are
    /// fed at once with [`Model::step`].
    pub fn feed(&mut self, ids: &[u32], want: Want, stop: &Stop) -> Result<&mut [f32], Error> {
        let model = self.model.clone();
        // Working memory of its own cannot be lent while the session is.
        let mut batch = std::mem::replace(&mut self.batch, Batch::new(&model, BLOCK));
        let mut feeds = [Feed { session: self, ids, want }];
        let done = guarded(|| batch.step(&model, &mut feeds, stop));
        self.batch = batch;
        done?;
        Ok(self.batch.logits(0))
    }

    /// Refuses what cannot be fed before anything is computed.
    pub(crate) fn admit(&self, ids: &[u32]) -> Result<(), Error> {
        if ids.is_empty() {
            return Err(Error::new(Kind::Request, "no token to feed"));
        }
        let available = self.context - self.position();
        if ids.len() > available {
            let what = format!("{} positions needed, {available} available", ids.len());
            let kind = Kind::Overflow { needed: ids.len(), available };
            return Err(Error::new(kind, what).hint(self.more_room()));
        }
        unknown_id(ids, self.model.program().vocabulary)
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

    /// Bytes of keys and values that `n` more positions take.
    pub(crate) fn missing(&self, n: usize) -> usize {
        let next = self.position()..self.position() + n;
        let caches = self.state.caches.iter().map(|kv| kv.missing(next.clone()));
        caches.fold(0, usize::saturating_add)
    }

    /// Takes the memory for `n` more positions.
    pub(crate) fn make_room(&mut self, n: usize) -> Result<(), Error> {
        let next = self.position()..self.position() + n;
        let short = |_| self.model.no_memory();
        self.state.ids.try_reserve(next.end).map_err(short)?;
        if self.state.ids.refused() {
            return Err(self.model.no_memory());
        }
        for kv in &mut self.state.caches {
            kv.make_room(next.clone()).map_err(|_| self.model.no_memory())?;
        }
        Ok(())
    }

    /// The caches of all layers, to be written at the next positions.
    pub(crate) fn caches(&mut self) -> &mut [Kv] {
        &mut self.state.caches
    }

    /// Commits positions that were computed; room for them was made.
    pub(crate) fn remember(&mut self, ids: &[u32]) {
        self.state.ids.extend_from_slice(ids);
        self.state.release(self.model.program());
    }
}

/// Most bytes of keys and values that a session of `context` positions comes to.
pub(crate) fn context_bytes(caches: &[Cache], context: usize, kind: KvType) -> usize {
    let bytes = caches.iter().map(|shape| {
        let most = shape.window.map_or(context, |w| context.min(w.saturating_add(BLOCK)));
        // Positions of a window may begin and end within pages.
        let pages = most.div_ceil(PAGE) + usize::from(most < context);
        pages.saturating_mul(page_bytes(shape, kind))
    });
    bytes.fold(0, usize::saturating_add)
}

/// Bytes of one position of one layer's keys and values.
pub(crate) fn position_bytes(shape: &Cache, kind: KvType) -> usize {
    let one = kind.bytes(shape.key_dim).saturating_add(kind.bytes(shape.value_dim));
    one.saturating_mul(shape.kv_heads)
}

/// Bytes of one page of the same.
fn page_bytes(shape: &Cache, kind: KvType) -> usize {
    position_bytes(shape, kind).saturating_mul(PAGE)
}
