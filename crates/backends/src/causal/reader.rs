//! One reading of what many prompts have in common, and one batch for what each has alone.

use recinto_engine::{Batch, Error, Feed, Kind, Model, Session, Stop, Want};

/// Sequences that are read at once: each holds a page of keys and values of its own a layer, and a
/// row of logits.
pub(super) const ROWS: usize = 32;
/// Positions that are computed at once.
const BLOCK: usize = 256;

/// Positions that were fed, for whoever counts costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Of what prompts have in common: the beginning and the state.
    pub shared: u64,
    /// Of what each has alone: question, options, and the end of the template.
    pub tails: u64,
    /// Prompts that were read.
    pub readings: u64,
}

impl Fed {
    /// All positions.
    pub fn positions(&self) -> u64 {
        self.shared + self.tails
    }
}

/// A session that stands behind what prompts have in common.
pub(super) struct Reader {
    root: Session,
    batch: Batch,
    pub fed: Fed,
}

impl Reader {
    pub fn new(model: &Model, root: Session) -> Result<Reader, Error> {
        Ok(Reader { root, batch: model.batch(BLOCK)?, fed: Fed::default() })
    }

    /// Most positions of a prompt.
    pub fn room(&self) -> usize {
        self.root.context()
    }

    /// Reads prompts whose first `common` ids are the same, at most [`ROWS`] of them, each longer
    /// than that; `take` gets the number of each and the logits behind its last id. The logits are
    /// those that each prompt would get alone, to the bit.
    pub fn read(
        &mut self,
        model: &Model,
        prompts: &[&[u32]],
        common: usize,
        stop: &Stop,
        mut take: impl FnMut(usize, &[f32]),
    ) -> Result<(), Error> {
        let Some(first) = prompts.first() else { return Ok(()) };
        let shared = &first[..common];
        let before = self.stand_behind(shared)?;
        if before < common {
            self.root.feed(&shared[before..], Want::None, stop)?;
            self.fed.shared += (common - before) as u64;
        }
        let mut forks = Vec::with_capacity(prompts.len());
        for _ in prompts {
            forks.push(self.root.fork()?);
        }
        let mut feeds: Vec<Feed<'_>> = forks
            .iter_mut()
            .zip(prompts)
            .map(|(session, ids)| Feed { session, ids: &ids[common..], want: Want::Last })
            .collect();
        model.step(&mut self.batch, &mut feeds, stop)?;
        for (at, ids) in prompts.iter().enumerate() {
            self.fed.tails += (ids.len() - common) as u64;
            self.fed.readings += 1;
            take(at, self.batch.logits(at));
        }
        Ok(())
    }

    /// Goes back to the last position that agrees with `ids`; which one that is.
    fn stand_behind(&mut self, ids: &[u32]) -> Result<usize, Error> {
        let same = common(self.root.ids(), ids);
        match self.root.truncate(same) {
            // A layer with a window has forgotten: from the beginning, then.
            Err(error) if *error.kind() == Kind::Forgotten => self.root.truncate(0)?,
            other => other?,
        }
        Ok(self.root.position())
    }
}

/// How many ids two sequences have in common at their beginning.
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
