//! How a model is opened: what it runs on, where its weights lie, which digests are believed.

use std::path::PathBuf;

use recinto_kernels::Level;
use recinto_receipt::{Digest, Part};

use serde::Serialize;

use crate::claim::Claim;
use crate::session::SessionOptions;

/// How a model is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// A folder whose arch files are added to the built-in ones, or replace them by name.
    pub arch_dir: Option<PathBuf>,
    /// Metadata keys to let pass although no line of the arch file reads them; recorded in
    /// receipts.
    pub allow_keys: Vec<String>,
    /// Threads to compute with; `None` follows affinity, control groups and physical cores.
    pub threads: Option<usize>,
    /// CPU level to compute with; `None` takes the best one this CPU has. No bit depends on it.
    pub level: Option<Level>,
    /// Keep buffers that hold text, ids, keys and values out of the swap.
    pub lock_memory: bool,
    /// The model's name as it was asked for, for receipts; the path when `None`.
    pub name: Option<String>,
    /// What the program is that the engine runs in, a word of its own for receipts.
    pub build: Option<&'static str>,
    /// Whether the weights are copied into this process before anything is computed.
    pub pin: Pin,
    /// Whether a digest that is known from an earlier run may stand for one of this run.
    pub verify: Verify,
    /// A folder in which digests are remembered by the file's identity; it is made where it is
    /// missing. `None`, the default, reads none and writes none: the library writes no file that
    /// nobody asked for.
    pub digest_cache: Option<PathBuf>,
    /// What the model's parts must be. With any claim no logits and no text come out before the
    /// digest of the weights is there and every claim holds.
    pub claims: Vec<Claim>,
    /// What the model's store keeps beside it and whoever opens the model adds to requests:
    /// instructions, parameters, example messages, each with its digest. Nothing is done with them
    /// here but to hold claims against them.
    pub beside: Vec<Beside>,
    /// Let a false claim of a store pass: replies then have a note, and receipts say so. No other
    /// claim is let pass.
    pub allow_mismatch: bool,
    /// The session that is meant to be made: its memory is asked for together with the weights',
    /// before they are loaded. Any other can be made as well.
    pub session: SessionOptions,
    /// Open the model even if it does not fit in the memory that is free (see
    /// [`Need`](crate::Need)): mapped weights are then read from the disk again and again.
    pub any_size: bool,
    /// The chat template that the model's store keeps beside the file. See
    /// [`Model::template_source`](crate::Model::template_source) for whether it is used.
    pub template: Option<StoreTemplate>,
}

/// A part of a model that its store keeps, and no model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// One of [`Part::OF_STORES`].
    pub part: Part,
    /// SHA-256 of the layer; of several of one kind, what [`recinto_receipt::of_files`] makes of
    /// their digests.
    pub digest: Digest,
}

/// A chat template that does not stand in the model file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreTemplate {
    /// Text in the language of Go's `text/template`.
    Go {
        /// The text.
        text: String,
        /// What people call the store, and where it is; for errors.
        store: String,
    },
}

/// Where the chat template comes from that a model is asked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateSource {
    /// There is none: texts are continued as they stand.
    None,
    /// The model file.
    File,
    /// [`OpenOptions::template`].
    Store,
}

/// Where the weights lie while the model is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// In the mapped file. The digest is computed beside the first prompt; text may come before
    /// it is there.
    #[default]
    Off,
    /// In a private copy in large pages, hashed as it is made and read-only afterwards: the
    /// digest is that of the very bytes that compute, and it is there before the first token.
    Memory,
}

/// Which digests of the weights are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// One that [`OpenOptions::digest_cache`] has for the same device, inode, size and times
    /// counts, and is reported as cached.
    #[default]
    Cached,
    /// Only one that this run computed; the cache is neither read nor written.
    Always,
}

impl Pin {
    const NAMES: &[(&str, Pin)] = &[("off", Pin::Off), ("memory", Pin::Memory)];

    /// Name as in settings.
    pub fn name(self) -> &'static str {
        Pin::NAMES[self as usize].0
    }

    /// Every choice.
    pub fn all() -> impl Iterator<Item = Pin> {
        Pin::NAMES.iter().map(|row| row.1)
    }
}

impl Verify {
    const NAMES: &[(&str, Verify)] = &[("cached", Verify::Cached), ("always", Verify::Always)];

    /// Name as in settings.
    pub fn name(self) -> &'static str {
        Verify::NAMES[self as usize].0
    }

    /// Every choice.
    pub fn all() -> impl Iterator<Item = Verify> {
        Verify::NAMES.iter().map(|row| row.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_variants() {
        let pins: Vec<&str> = Pin::all().map(Pin::name).collect();
        assert_eq!(pins, ["off", "memory"]);
        let verifies: Vec<&str> = Verify::all().map(Verify::name).collect();
        assert_eq!(verifies, ["cached", "always"]);
    }
}
