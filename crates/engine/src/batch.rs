//! Many sequences in one step: one pass over the weights serves all of them.
//!
//! No bit of a session's logits depends on what else is in the step.

use std::ops::Range;

use recinto_kernels::{Stop, first_non_finite};
use recinto_os::Wiped;

use crate::{
    buffers::Buffers,
    error::{Error, Kind, guarded},
    exec::{Halt, Segment, bad_id},
    model::Model,
    session::{Session, Want},
};

/// Positions that are computed at once where nobody says otherwise.
pub(crate) const BLOCK: usize = 256;

/// What one session is fed in a step.
pub struct Feed<'a> {
    /// The session; its next positions are fed.
    pub session: &'a mut Session,
    /// Token ids, at least one.
    pub ids: &'a [u32],
    /// Which of these positions logits are wanted of.
    pub want: Want,
}

/// Working memory of [`Model::step`] and the logits of the last one. It is reused from step to
/// step, grows to the largest and is wiped when it is dropped.
pub struct Batch {
    model: Model,
    /// Positions that are computed at once.
    pub(crate) block: usize,
    pub(crate) buffers: Buffers,
    /// Logits of wanted rows, where several passes gave them.
    rows: Wiped<f32>,
    /// Whether they lie in the buffers, not in `rows`.
    inside: bool,
    /// Rows of each feed's logits.
    spans: Vec<Range<usize>>,
    pieces: Vec<Piece>,
}

/// Part of one feed in one pass.
#[derive(Clone, Copy)]
struct Piece {
    feed: usize,
    from: usize,
    to: usize,
    wanted: usize,
}

impl Model {
    /// Working memory for [`Model::step`]. `block` is how many positions, of all sequences
    /// together, are computed at once: from 1 to 4096, 256 is a good number. It changes speed and
    /// memory, never a bit.
    pub fn batch(&self, block: usize) -> Result<Batch, Error> {
        match block {
            1..=4096 => Ok(Batch::new(self, block)),
            _ => Err(Error::new(Kind::Request, "a block must be from 1 to 4096 positions")),
        }
    }

    /// Feeds several sessions at once. They may stand anywhere, be fed different numbers of ids
    /// and keep their keys and values in different types; the logits of each are those it would
    /// have got alone, bit for bit, and wait in [`Batch::logits`].
    ///
    /// What cannot be fed is found before anything is computed, for all of them. On an error
    /// after that, every session stands behind the last of its positions that was read in whole;
    /// its position says where.
    pub fn step(
        &self,
        batch: &mut Batch,
        feeds: &mut [Feed<'_>],
        stop: &Stop,
    ) -> Result<(), Error> {
        guarded(|| batch.step(self, feeds, stop))
    }
}

impl Batch {
    pub(crate) fn new(model: &Model, block: usize) -> Batch {
        let lock = model.0.lock_memory;
        Batch {
            model: model.clone(),
            block,
            buffers: Buffers::new(lock),
            rows: Wiped::new(lock),
            inside: true,
            spans: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Logits of feed number `feed` of the last step, position-major,
    /// [`Program::vocabulary`](recinto_arch::Program) values each; empty where none were wanted
    /// and after a step that failed. They may be changed in place, as a sampler does.
    pub fn logits(&mut self, feed: usize) -> &mut [f32] {
        let output = self.model.program().output;
        let Some(rows) = self.spans.get(feed).filter(|rows| !rows.is_empty()) else {
            return &mut [];
        };
        let range = rows.start * output.width..rows.end * output.width;
        match self.inside {
            true => &mut self.buffers.output_mut(output.slot)[range],
            false => &mut self.rows[range],
        }
    }

    /// Bytes of working memory: it follows the block and the logits that were wanted, not the
    /// length of a prompt.
    pub fn bytes(&self) -> usize {
        self.buffers.bytes() + 4 * self.rows.room()
    }

    pub(crate) fn step(
        &mut self,
        model: &Model,
        feeds: &mut [Feed<'_>],
        stop: &Stop,
    ) -> Result<(), Error> {
        self.spans.clear();
        let same = |other: &Model| std::sync::Arc::ptr_eq(&model.0, &other.0);
        if !same(&self.model) || !feeds.iter().all(|feed| same(&feed.session.model)) {
            let what = "sessions and working memory of a step must be of its own model";
            return Err(Error::new(Kind::Request, what));
        }
        for feed in &*feeds {
            feed.session.admit(feed.ids)?;
        }
        let width = model.program().output.width;
        // Logits stay where they are made unless more than one pass makes some.
        let total = feeds.iter().map(|feed| feed.ids.len()).sum::<usize>();
        let wanted = feeds.iter().map(|feed| feed.want.rows(feed.ids.len())).sum::<usize>();
        let last = feeds.last().is_some_and(|feed| feed.want == Want::Last);
        self.inside = total <= self.block || (wanted == 1 && last);
        self.rows.clear();
        if !self.inside {
            let len = wanted.saturating_mul(width);
            if len > self.rows.room() {
                model.afford((len as u64).saturating_mul(4), "logits of all positions")?;
            }
            self.rows.try_reserve(len).map_err(|_| model.no_memory())?;
            if self.rows.refused() {
                return Err(model.no_memory());
            }
        }
        let mut at = (0, 0);
        while at.0 < feeds.len() {
            at = self.plan(feeds, at);
            self.pass(model, feeds, stop)?;
            if !self.inside && self.pieces.iter().any(|piece| piece.wanted > 0) {
                self.rows.extend_from_slice(self.buffers.output(model.program().output.slot));
            }
        }
        if wanted > 0 {
            // Logits are the first thing of the weights that anybody sees.
            model.vouch(stop)?;
        }
        let mut row = 0;
        for feed in feeds {
            let rows = feed.want.rows(feed.ids.len());
            self.spans.push(row..row + rows);
            row += rows;
        }
        Ok(())
    }

    /// The pieces of the next pass, from feed and id `at` on; where the one after begins.
    fn plan(&mut self, feeds: &[Feed<'_>], (mut feed, mut from): (usize, usize)) -> (usize, usize) {
        self.pieces.clear();
        let mut room = self.block;
        while room > 0
            && let Some(Feed { ids, want, .. }) = feeds.get(feed)
        {
            let to = ids.len().min(from + room);
            let wanted = match want {
                Want::None => 0,
                Want::Last => usize::from(to == ids.len()),
                Want::All => to - from,
            };
            self.pieces.push(Piece { feed, from, to, wanted });
            room -= to - from;
            (feed, from) = if to == ids.len() { (feed + 1, 0) } else { (feed, to) };
        }
        (feed, from)
    }

    /// One pass: make room, run, commit.
    fn pass(&mut self, model: &Model, feeds: &mut [Feed<'_>], stop: &Stop) -> Result<(), Error> {
        let bound = &model.0.bound;
        model.still_whole()?;
        self.make_room(feeds)?;
        let pieces = &self.pieces[..];
        let outcome = match pieces {
            [one] => {
                let segment = one.segment(&mut feeds[one.feed]);
                run(bound, &mut [segment], &mut self.buffers, stop)
            }
            _ => {
                let mut left = pieces.iter().peekable();
                let mut segments = Vec::with_capacity(pieces.len());
                for (index, feed) in feeds.iter_mut().enumerate() {
                    if let Some(piece) = left.next_if(|piece| piece.feed == index) {
                        segments.push(piece.segment(feed));
                    }
                }
                run(bound, &mut segments, &mut self.buffers, stop)
            }
        };
        match outcome {
            Ok(()) if self.buffers.refused() => Err(model.no_memory()),
            Ok(()) => {
                for piece in pieces {
                    let Feed { session, ids, .. } = &mut feeds[piece.feed];
                    session.remember(&ids[piece.from..piece.to]);
                }
                Ok(())
            }
            Err(Halt::Stopped) => Err(stopped(stop)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Memory) => Err(model.no_memory()),
            Err(Halt::NonFinite) => {
                model.whole()?;
                let kind = Kind::NonFinite { line: 0, layer: None };
                Err(Error::new(kind, "the logits are not numbers"))
            }
        }
    }

    /// Takes the memory of the next pass: compares what may grow with what this process may
    /// still use, then makes room for keys, values and ids.
    fn make_room(&self, feeds: &mut [Feed<'_>]) -> Result<(), Error> {
        let n = self.pieces.iter().map(|piece| piece.to - piece.from).sum();
        let wanted = self.pieces.iter().map(|piece| piece.wanted).sum();
        let grown = self.buffers.growth(self.model.program(), n, wanted);
        let keys = self.pieces.iter().map(|piece| {
            let session = &feeds[piece.feed].session;
            session.missing(piece.to - piece.from)
        });
        let bytes = keys.fold(grown, usize::saturating_add);
        if bytes > 0 {
            self.model.afford(bytes as u64, "keys, values and working memory")?;
        }
        for piece in &self.pieces {
            feeds[piece.feed].session.make_room(piece.to - piece.from)?;
        }
        Ok(())
    }
}

impl Piece {
    fn segment<'a>(&self, feed: &'a mut Feed<'_>) -> Segment<'a> {
        let start = feed.session.position();
        let caches = feed.session.caches();
        Segment { ids: &feed.ids[self.from..self.to], start, wanted: self.wanted, caches }
    }
}

/// Runs one block; where numbers went wrong, once more to say in which line.
fn run(
    bound: &crate::exec::Bound,
    segments: &mut [Segment<'_>],
    buffers: &mut Buffers,
    stop: &Stop,
) -> Result<(), Halt> {
    let outcome = bound.run(segments, false, buffers, stop).and_then(|()| {
        let wanted = segments.iter().any(|segment| segment.wanted > 0);
        let output = buffers.output(bound.program.output.slot);
        match wanted && first_non_finite(output).is_some() {
            true => Err(Halt::NonFinite),
            false => Ok(()),
        }
    });
    if !matches!(outcome, Err(Halt::NonFinite)) || !bound.file.unchanged() {
        return outcome;
    }
    segments.iter_mut().for_each(|segment| segment.wanted = segment.wanted.max(1));
    match bound.run(segments, true, buffers, stop) {
        Err(halt) => Err(halt),
        Ok(()) => Err(Halt::NonFinite),
    }
}

/// Which of the two reasons stopped a block.
pub(crate) fn stopped(stop: &Stop) -> Error {
    match stop.cancelled() {
        true => Error::new(Kind::Cancelled, "cancelled"),
        false => Error::new(Kind::Deadline, "the deadline passed while the prompt was being read"),
    }
}

/// The refusal of ids before anything is computed.
pub(crate) fn unknown_id(ids: &[u32], vocabulary: usize) -> Result<(), Error> {
    match ids.iter().find(|id| **id as usize >= vocabulary) {
        Some(id) => Err(bad_id(*id, vocabulary)),
        None => Ok(()),
    }
}
