//! The memory that a model and one session will take, known from the header alone, and whether it
//! is there.

use std::path::Path;

use recinto_arch::Program;
use recinto_kernels::KvType;
use recinto_os::memory::{Memory, memory};
use recinto_receipt::Held;
use recinto_weights::File;
use serde::Serialize;

use crate::{
    batch::BLOCK,
    buffers::Buffers,
    error::{Error, Kind},
    open::{OpenOptions, Pin},
    quantize,
    session::{context_bytes, kv_word},
};

/// A pinned copy is made of pages of this size.
const LARGE_PAGE: u64 = 2 << 20;
/// Bytes that the tables of a vocabulary take for each piece and each merge, besides the texts.
const PER_PIECE: u64 = 32;

/// Memory that a model takes together with the session that is meant to be made, in bytes.
///
/// What other sessions, longer prompts and forks take is asked for when it is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Weights: of mapped ones what the program reads, which the system keeps in its page cache;
    /// of a pinned copy all of it, which is this process's own.
    pub weights: u64,
    /// Which of the two.
    pub held: Held,
    /// Keys and values of [`Need::positions`] positions.
    pub keys_values: u64,
    /// The context that was asked for; else one block, since pages are taken as they fill.
    pub positions: usize,
    /// How keys and values are stored.
    #[serde(serialize_with = "kv_word")]
    pub kv: KvType,
    /// Working memory of a block of 256 positions.
    pub buffers: u64,
    /// Tables of the vocabulary.
    pub vocabulary: u64,
}

impl Need {
    /// What `program` over `file` needs with the session in `options`.
    pub(crate) fn of(file: &File, program: &Program, options: &OpenOptions) -> Result<Need, Error> {
        let (held, weights) = match options.pin {
            Pin::Off => (Held::Mapped, read(file, program)),
            Pin::Memory => {
                let sizes = file.shards().iter().map(|shard| shard.bytes().len() as u64);
                let pages = sizes.map(|size| size.div_ceil(LARGE_PAGE).saturating_mul(LARGE_PAGE));
                (Held::Pinned, pages.fold(0, u64::saturating_add))
            }
        };
        let trained = program.context.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let kv = options.session.kv;
        // More than the model knows is refused when the session is made.
        let positions = options.session.context.unwrap_or(BLOCK).min(trained);
        let buffers = Buffers::new(false).growth(program, BLOCK.min(positions.max(1)), 1);
        Ok(Need {
            weights,
            held,
            keys_values: context_bytes(&program.caches, positions, kv) as u64,
            positions,
            kv,
            buffers: buffers as u64,
            vocabulary: vocabulary(file)?,
        })
    }

    /// All of it.
    pub fn sum(&self) -> u64 {
        let all = [self.weights, self.keys_values, self.buffers, self.vocabulary];
        all.into_iter().fold(0, u64::saturating_add)
    }

    /// Refuses what the memory that `root` tells of does not hold. Where the system tells nothing,
    /// nothing is refused.
    pub(crate) fn fits(&self, root: &Path) -> Result<(), Error> {
        match memory(root) {
            Some(memory) if self.sum() > memory.available => Err(self.refusal(&memory)),
            _ => Ok(()),
        }
    }

    /// Refuses a file of which the model reads but a little: all of it would be hashed, and of a
    /// damaged download most may be a hole.
    pub(crate) fn fills(&self, file: &File) -> Result<(), Error> {
        let (size, read) = (file.size(), self.weights);
        if size <= read.saturating_mul(SPARE).saturating_add(SPARE_BYTES) {
            return Ok(());
        }
        let (whole, read) = (mib_above(size), mib_above(read));
        let what = format!("the file has {whole} MiB, of which the model reads {read}");
        Err(Error::new(Kind::Open, what).hint(
            "it may be padded or damaged (`ls -ls` shows what of it is on the disk): fetch it \
             again; `--any-size` opens it, and its digest takes its time",
        ))
    }

    /// The sum, line by line, in whole MiB that add up: what is needed rounded up, what is there
    /// down.
    fn refusal(&self, memory: &Memory) -> Error {
        let there = |bytes: u64| bytes >> 20;
        let held = match self.held {
            Held::Mapped => "mapped: pages of the file's cache",
            Held::Pinned => "a copy in this process",
        };
        let kept = format!("{} positions as {}", self.positions, self.kv.name());
        let mut rows: Vec<(&str, u64, String)> = vec![
            ("weights", mib_above(self.weights), held.into()),
            ("keys and values", mib_above(self.keys_values), kept),
            ("buffers", mib_above(self.buffers), "a block of positions".into()),
            ("vocabulary", mib_above(self.vocabulary), "its tables".into()),
        ];
        let needed = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        let free = there(memory.available);
        rows.push(("sum", needed, String::new()));
        rows.push(("free", free, "what only caches files counts as free".into()));
        match (&memory.bound, &memory.limit) {
            (Some(limit), _) | (None, Some(limit)) => {
                rows.push(("limit", there(limit.bytes), limit.file.display().to_string()));
            }
            (None, None) => {
                rows.push(("limit", there(memory.total), "the machine's memory".into()))
            }
        }
        let mut what = format!("not enough memory: {needed} MiB needed, {free} MiB free");
        for (name, mib, note) in rows {
            let note = if note.is_empty() { note } else { format!("  {note}") };
            what += &format!("\n  {name:<16}{mib:>8} MiB{note}");
        }
        Error::new(Kind::Memory, what).hint(self.hint())
    }

    /// What takes less, of what was asked for.
    fn hint(&self) -> String {
        let ways = [
            (self.positions > BLOCK, "a smaller `--context`"),
            (self.positions > BLOCK && self.kv != KvType::Q8_0, "`--kv q8_0`"),
            (self.held == Held::Pinned, "`--pin off`"),
            (true, "a smaller model"),
        ];
        let ways: Vec<&str> = ways.into_iter().filter(|way| way.0).map(|way| way.1).collect();
        match &ways[..] {
            [one] => format!("{one} needs less"),
            [all @ .., last] => format!("{} or {last} needs less", all.join(", ")),
            [] => String::new(),
        }
    }
}

/// Whole MiB that hold `bytes`.
pub(crate) fn mib_above(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Bytes of the tensors that a program reads: of each one once, of those that are skipped none.
fn read(file: &File, program: &Program) -> u64 {
    let bytes = quantize::read(program).into_iter().map(|id| file.tensor(id).info.bytes() as u64);
    bytes.fold(0, u64::saturating_add)
}

/// A file may have so many times what is read of it, and so many bytes more: other tensors, the
/// header, padding.
const SPARE: u64 = 4;
const SPARE_BYTES: u64 = 1 << 30;
/// Bytes of the tables that are made of the vocabulary.
fn vocabulary(file: &File) -> Result<u64, Error> {
    let mut sum = 0u64;
    if let Some(text) = file.metadata().str("tokenizer.huggingface.json")? {
        // Read as JSON first, which takes some times its length for a while.
        sum = sum.saturating_add(4 * text.len() as u64);
    }
    for (key, texts) in [("tokenizer.ggml.tokens", true), ("tokenizer.ggml.merges", false)] {
        let Some(array) = file.metadata().array(key)? else { continue };
        // Pieces are copied with their texts; merges become numbers.
        let text = if texts { array.text_len() as u64 } else { 0 };
        sum = sum.saturating_add(text).saturating_add(PER_PIECE.saturating_mul(array.len() as u64));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests;
