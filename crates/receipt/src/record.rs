//! The record of one answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Digest, Error, Kind, Setting, Word, canonical, other, sha256};

/// The version of the record that this crate writes and reads.
pub const SCHEMA: u32 = 1;

/// What ran and what came out. Digests and numbers; never a word of the prompt or the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The weights.
    pub model: Model,
    /// The architecture text.
    pub architecture: Architecture,
    /// The program that computed.
    pub engine: Engine,
    /// SHA-256 of the chat template's text; `None` in completion mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// SHA-256 of the tokenizer (`docs/receipts.md` says of which bytes); `None` in records that
    /// do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Digest>,
    /// The options as they were in effect, the seed among them.
    pub options: BTreeMap<String, Setting>,
    /// SHA-256 of the prompt's token ids, each as four little-endian bytes.
    pub input: Digest,
    /// Digests of the answer.
    pub output: Output,
    /// How much was read and written.
    pub usage: Usage,
    /// Why the answer ended.
    pub finish: Finish,
    /// How long it took.
    pub times: Times,
}

/// The weights that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name the user gave.
    pub asked: String,
    /// The file's name, without its folder; of a model in several files, the first one's.
    pub file: String,
    /// Its size in bytes; of several files, all of them.
    pub size: u64,
    /// SHA-256 over all of its bytes; of several files, what [`of_files`] makes of theirs.
    pub digest: Digest,
    /// Whether that run computed the digest or knew it; `None` in records that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_origin: Option<Origin>,
    /// Where the weights lay that computed; `None` in records that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Held>,
    /// What was said of this model's parts before it ran, and whether it was so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Verdict>,
    /// Each file of a model in several, in order; empty for a model in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Shard>,
}

/// Who said by its digest what a part of the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claimant {
    /// A lock file.
    Lock,
    /// The store that the file lies in, by the file's name or by a list.
    Store,
    /// Whoever opened the model.
    Caller,
}

/// A part of a model that has a digest of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All bytes of a model file.
    Weights,
    /// What makes token ids of text.
    Tokenizer,
    /// The chat template's text.
    Template,
    /// The arch file's text.
    Architecture,
    /// The instructions that the model's store keeps beside it.
    System,
    /// The parameters that the store keeps.
    Parameters,
    /// The example messages that the store keeps.
    Messages,
}

impl Part {
    /// Parts that only a store has: they are no part of a model file.
    pub const OF_STORES: [Part; 3] = [Part::System, Part::Parameters, Part::Messages];

    /// The word for it, as in records.
    pub fn name(self) -> &'static str {
        match self {
            Part::Weights => "weights",
            Part::Tokenizer => "tokenizer",
            Part::Template => "template",
            Part::Architecture => "architecture",
            Part::System => "system",
            Part::Parameters => "parameters",
            Part::Messages => "messages",
        }
    }
}

/// A claim beside what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Who claimed it.
    pub by: Claimant,
    /// Of which part.
    pub part: Part,
    /// Which of the model's files, from 0; left out for the first.
    #[serde(default, skip_serializing_if = "is_first")]
    pub file: u64,
    /// What it was claimed to be; `None` for a part that should not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether it was so.
    #[serde(rename = "match")]
    pub matches: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_first(file: &u64) -> bool {
    *file == 0
}

/// One file of a model in several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The file's name, without its folder.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 over all of its bytes.
    pub digest: Digest,
    /// Whether that run computed the digest or knew it.
    pub digest_origin: Origin,
}

/// The digest of a model by those of its files: of one file its own, of several the SHA-256 of
/// their digests, each as 64 hexadecimal digits and a line break.
pub fn of_files(digests: &[Digest]) -> Digest {
    match digests {
        [one] => *one,
        _ => {
            let lines: String = digests.iter().map(|digest| format!("{digest}\n")).collect();
            sha256(lines.as_bytes())
        }
    }
}

/// Where a digest comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It was computed over the bytes that ran.
    Computed,
    /// It was computed in an earlier run, over a file of the same device, inode, size and times.
    Cached,
}

impl Origin {
    /// The word for it, as in records.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Computed => "computed",
            Origin::Cached => "cached",
        }
    }
}

/// Where weights lie while they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// In the mapped file.
    Mapped,
    /// In a private copy that nobody writes to; the digest is that of the copy.
    Pinned,
}

impl Held {
    /// The word for it, as in records.
    pub fn name(self) -> &'static str {
        match self {
            Held::Mapped => "mapped",
            Held::Pinned => "pinned",
        }
    }
}

/// The architecture text that was compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Its name.
    pub name: String,
    /// Where the text came from.
    pub source: Source,
    /// SHA-256 of the text.
    pub digest: Digest,
    /// Metadata keys that were let pass by name although the text does not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_keys: Vec<String>,
}

/// Where an architecture text came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// It is part of the program.
    BuiltIn,
    /// A file of the user's.
    Path(String),
}

/// The program that computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Its version.
    pub version: String,
    /// Revision of the numbers' definition (`docs/determinism.md`): with another one, the same
    /// model and input may give other bits.
    pub numerics: u32,
    /// The CPU level of the kernels.
    pub level: String,
    /// SHA-256 of the file that holds the engine's code: the executable, or the shared library.
    pub object: Digest,
    /// What the program is by what it holds, such as `recinto-local`; `None` in records that do not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Word>,
}

/// Digests of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// SHA-256 of the token ids, each as four little-endian bytes.
    pub ids: Digest,
    /// SHA-256 of the text in UTF-8.
    pub text: Digest,
}

/// Token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// Why an answer ended, in the engine's words: `end`, `stop`, `length`, `cancelled`...
pub type Finish = Word;

/// When it ran and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// Milliseconds to open the model.
    pub load_ms: u64,
    /// Milliseconds to read the prompt.
    pub prefill_ms: u64,
    /// Milliseconds to write the answer.
    pub decode_ms: u64,
    /// Milliseconds of CPU time, all threads together.
    pub cpu_ms: u64,
}

impl Receipt {
    /// The canonical bytes: JSON in UTF-8, keys sorted by their bytes, no blanks, whole numbers,
    /// fractions as text, nothing after the last brace.
    pub fn to_bytes(&self) -> Vec<u8> {
        canonical::to_bytes(self)
    }

    /// Reads canonical bytes; one line break after them is allowed, any other byte is not. Records
    /// of other kinds are read by [`Record::from_bytes`](crate::Record::from_bytes).
    ///
    /// # Errors
    ///
    /// Bytes that are no such receipt; [`Kind::Remote`] for that of an answer from elsewhere, which
    /// cannot be replayed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Receipt, Error> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        match other::head(bytes)?.as_deref() {
            None => {}
            Some("remote") => return Err(other::remote()),
            Some(_) => {
                return Err(Error::new(Kind::NotReceipt, "not a receipt of an answer")
                    .hint("it is a record of another kind, such as a scoring"));
            }
        }
        let receipt: Receipt = serde_json::from_slice(bytes).map_err(|e| not_receipt(&e))?;
        if receipt.to_bytes() != bytes {
            return Err(other::not_canonical());
        }
        Ok(receipt)
    }

    /// SHA-256 of the canonical bytes.
    pub fn digest(&self) -> Digest {
        sha256(&self.to_bytes())
    }
}

/// The message of `serde_json` may repeat what it read, so only the place is kept.
pub(crate) fn not_receipt(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    Error::new(Kind::NotReceipt, format!("not a receipt (line {line}, column {column})"))
}
