//! What a name leads to: files, what their store says of them, and what a reader should know.

use std::{fmt, path::PathBuf};

use recinto_receipt::{Digest, of_files};

use crate::{error::shown, layers::Layers};

/// Who keeps a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Store {
    /// Nobody: it was named by its path.
    Path,
    /// An Ollama store.
    Ollama,
    /// The Hugging Face cache.
    Hub,
}

impl Store {
    /// Every kind, and the word that is its prefix in names.
    pub const NAMES: &[(&str, Store)] =
        &[("path", Store::Path), ("ollama", Store::Ollama), ("hf", Store::Hub)];

    /// The word for it, as in prefixes of names.
    pub fn name(self) -> &'static str {
        Store::NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Store::Path => "path",
            Store::Ollama => "Ollama store",
            Store::Hub => "Hugging Face cache",
        }
    }
}

/// How the weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// GGUF, in one file or in several.
    Gguf,
    /// A folder with `.safetensors` files, and `config.json` or another file that says what they
    /// are.
    Checkpoint,
}

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Who keeps the model.
    pub store: Store,
    /// A whole name that leads to the same files again, with its prefix: `path:/…`,
    /// `ollama:host/…`, `hf:…@commit:…`.
    pub name: String,
    /// The store's folder; of a path, the folder it is in.
    pub root: PathBuf,
    /// How the weights are stored.
    pub form: Form,
    /// The weights: whole paths of regular files, parts of a split model in their order.
    pub weights: Vec<PathBuf>,
    /// What the store claims each file's SHA-256 to be: to be verified, not a fact. As many as
    /// `weights`.
    pub claimed: Vec<Option<Digest>>,
    /// Other files that decide what the name is: the manifest of Ollama, the file of a branch, the
    /// configuration and the tokenizer of a checkpoint.
    pub beside: Vec<PathBuf>,
    /// What Ollama keeps beside the weights; empty for other stores.
    pub layers: Layers,
    /// What a model card beside the files says of its licence.
    pub card: Card,
    /// What a reader should know.
    pub notes: Vec<Note>,
}

/// What a model card says of the licence; empty where there is no card, or it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Ids or names, each as it stands there.
    pub licences: Vec<String>,
    /// Where its text is: an address, or a file beside the card.
    pub link: Option<String>,
}

impl Files {
    /// What the store claims the digest of the whole model to be, as [`of_files`] makes it of those
    /// of its files; `None` where it says nothing of one of them.
    pub fn claimed_digest(&self) -> Option<Digest> {
        let claims: Vec<Digest> = self.claimed.iter().copied().collect::<Option<_>>()?;
        (!claims.is_empty()).then(|| of_files(&claims))
    }

    /// Bytes of the weights on disk, as far as they can be looked at.
    pub fn bytes(&self) -> u64 {
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |meta| meta.len());
        self.weights.iter().map(size).fold(0, u64::saturating_add)
    }
}

/// Something about the files that is no fault but should be said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Nothing says which revision is meant; the only one was taken.
    OnlySnapshot {
        /// Its commit.
        commit: String,
    },
    /// Another file of the same repository cannot be used.
    BrokenFile {
        /// The file, below its snapshot.
        file: String,
        /// Why.
        why: String,
    },
    /// A folder of the snapshot that cannot be read; what is in it is not known.
    ClosedFolder {
        /// The folder, below its snapshot.
        folder: String,
        /// Why.
        why: String,
    },
    /// Another store that goes by the same name could not be looked at.
    ClosedStore {
        /// The store.
        store: Store,
        /// Its folder.
        root: PathBuf,
        /// Why.
        why: String,
    },
    /// Layers of a kind that this version does not carry out.
    UnsupportedLayers {
        /// The kind: `adapter`, `projector`, ….
        kind: String,
        /// How many.
        count: usize,
    },
    /// A parameter of the store that this engine has no use for.
    IgnoredParameter {
        /// Its name.
        name: String,
    },
    /// A parameter of the store with a value it cannot have.
    UnusableParameter {
        /// Its name.
        name: String,
    },
    /// A manifest list offers the weights in several forms; this one was taken.
    Chosen {
        /// The program the form is made for.
        runner: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::OnlySnapshot { commit } => {
                write!(
                    f,
                    "the cache does not say which revision is meant; {commit} is the only one"
                )
            }
            Note::BrokenFile { file, why } => write!(f, "{file} beside it cannot be used: {why}"),
            Note::ClosedFolder { folder, why } => {
                write!(f, "the folder {folder} of its snapshot cannot be read: {why}")
            }
            Note::ClosedStore { store, root, why } => {
                let (title, root) = (store.title(), shown(root));
                write!(f, "the {title} {root} may have this name too; it cannot be read: {why}")
            }
            Note::UnsupportedLayers { kind, count } => {
                let layers = if *count == 1 { "layer is" } else { "layers are" };
                write!(f, "{count} {kind} {layers} left out: this version does not read them")
            }
            Note::IgnoredParameter { name } => {
                write!(f, "the model's parameter `{name}` is ignored: this engine has none like it")
            }
            Note::UnusableParameter { name } => {
                write!(f, "the model's parameter `{name}` is ignored: its value cannot be used")
            }
            Note::Chosen { runner } => {
                write!(f, "of several forms of this model, the GGUF made for {runner} is used")
            }
        }
    }
}
