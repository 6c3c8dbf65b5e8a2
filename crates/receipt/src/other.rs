//! Records of what is no answer of this process: a scoring, and an answer from elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Architecture, Digest, Engine, Error, Finish, Kind, Model, Receipt, SCHEMA, Setting, Usage,
    Word, canonical, record::not_receipt, sha256,
};

/// How likely each of some labels was as the whole answer, and what ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// [`SCHEMA`].
    pub schema: u32,
    /// [`Scored::RECORD`].
    pub record: Word,
    /// The weights.
    pub model: Model,
    /// The architecture text.
    pub architecture: Architecture,
    /// The program that computed.
    pub engine: Engine,
    /// SHA-256 of the chat template's text; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// SHA-256 of the tokenizer.
    pub tokenizer: Digest,
    /// What of the options can change a bit of a scoring.
    pub options: BTreeMap<String, Setting>,
    /// SHA-256 of the prompt's token ids, each as four little-endian bytes.
    pub input: Digest,
    /// One a label, in the order in which they were read.
    pub labels: Vec<Label>,
    /// The probability that the model answers with any of them, as text.
    pub option_mass: Setting,
    /// How much was read.
    pub usage: Usage,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Milliseconds from then to the scores.
    pub whole_ms: u64,
}

/// One label of a scoring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// SHA-256 of its text in UTF-8.
    pub text: Digest,
    /// Natural logarithm of its probability as the whole answer, as text.
    pub logprob: Setting,
}

/// An answer of a service elsewhere. Nobody here knows which weights made it, so it can be neither
/// replayed nor checked against a file; what it says of words is keyed, as in the log of sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// [`SCHEMA`].
    pub schema: u32,
    /// [`Remote::RECORD`].
    pub record: Word,
    /// The provider.
    pub provider: String,
    /// Where it was sent.
    pub host: String,
    /// How it was spoken to.
    pub wire: String,
    /// The model.
    pub model: Named,
    /// What this program is, and its version.
    pub program: Program,
    /// The answer's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The request's id, for questions to the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What the service says of its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The rows of policies that let it leave, each as `file:line`.
    pub rules: Vec<String>,
    /// Options that were asked for; texts among them by their number alone.
    pub options: BTreeMap<String, Setting>,
    /// Options that were given and not sent.
    pub not_sent: Vec<String>,
    /// HMAC-SHA-256 of the body that was sent last, under the operator's key, as in the log of
    /// sends; `None` where there is no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The same of the answer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Requests that were sent for it, failed ones included.
    pub requests: u32,
    /// Tokens, as the service counts them.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Milliseconds from then to its end, waits included.
    pub whole_ms: u64,
}

/// A model of which only names are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name that was asked for.
    pub asked: String,
    /// The one that the answer says, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// Which weights it has: `unknown`.
    pub weights: Word,
}

/// The program that asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What it is by what it holds.
    pub build: Word,
    /// Its version.
    pub version: String,
}

/// Any record that this version reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An answer of this process.
    Answer(Box<Receipt>),
    /// A scoring of this process.
    Scored(Box<Scored>),
    /// An answer from elsewhere.
    Remote(Box<Remote>),
}

/// Canonical bytes and their digest, the same for each kind of record.
macro_rules! canonical {
    ($($kind:ident $word:literal,)*) => {
        $(impl $kind {
            /// The word in the field `record`.
            pub const RECORD: Word = Word::new($word);

            /// The canonical bytes, as [`Receipt::to_bytes`].
            pub fn to_bytes(&self) -> Vec<u8> {
                canonical::to_bytes(self)
            }

            /// SHA-256 of the canonical bytes.
            pub fn digest(&self) -> Digest {
                sha256(&self.to_bytes())
            }
        })*

        impl Record {
            /// Reads the canonical bytes of a record; one line break after them is allowed.
            ///
            /// # Errors
            ///
            /// Bytes that are no record, of another schema, of a kind that this version does not
            /// know, or not canonical.
            pub fn from_bytes(bytes: &[u8]) -> Result<Record, Error> {
                let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                match head(bytes)?.as_deref() {
                    None => Ok(Record::Answer(Box::new(Receipt::from_bytes(bytes)?))),
                    $(Some($word) => {
                        let read: $kind =
                            serde_json::from_slice(bytes).map_err(|e| not_receipt(&e))?;
                        match read.to_bytes() == bytes {
                            true => Ok(Record::$kind(Box::new(read))),
                            false => Err(not_canonical()),
                        }
                    })*
                    Some(_) => Err(Error::new(Kind::Schema, "a record of an unknown kind")
                        .hint("a newer version of this program may know it")),
                }
            }
        }
    };
}

canonical! {
    Scored "scored",
    Remote "remote",
}

impl Record {
    /// Whether the same can be computed again from what the record names.
    ///
    /// # Errors
    ///
    /// [`Kind::Remote`] for an answer from elsewhere.
    pub fn replayable(&self) -> Result<(), Error> {
        match self {
            Record::Answer(_) | Record::Scored(_) => Ok(()),
            Record::Remote(_) => Err(remote()),
        }
    }
}

/// The error of whoever would replay an answer from elsewhere.
pub(crate) fn remote() -> Error {
    Error::new(Kind::Remote, "the receipt cannot be replayed: remote")
        .hint("a service answered, and nobody here has its weights; ask its vendor by `request_id`")
}

pub(crate) fn not_canonical() -> Error {
    Error::new(Kind::NotCanonical, "the receipt is not in canonical form")
        .hint("it was edited or formatted; its digest would be another one")
}

/// The kind of a record of this schema; `None` for a receipt of an answer.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<String>, Error> {
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
        #[serde(default)]
        record: Option<String>,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|e| not_receipt(&e))?;
    if head.schema != SCHEMA {
        let what = format!("a receipt of schema {}; this version reads {SCHEMA}", head.schema);
        return Err(Error::new(Kind::Schema, what));
    }
    Ok(head.record)
}
