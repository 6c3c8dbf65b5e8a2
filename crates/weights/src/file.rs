//! An opened model: metadata, tensors, bytes, of one file or of several shards.

use std::{
    collections::HashMap,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use recinto_os::{Advice, Map};
use recinto_quant::DType;

use crate::{
    Array, Element, Error, Kind, Value,
    checkpoint::{self, Plan},
    gguf::{self, Header},
    safetensors,
    shards::{self, Part, Shard},
    value,
};

/// An opened model; every bound is settled.
///
/// It lies in one GGUF file, or in several shards, of which the first one has the metadata; or it
/// is a checkpoint, of safetensors files and small files whose values are its metadata.
pub struct File {
    /// All keys, and the tensors of all shards.
    pub(crate) header: Header,
    /// In their order; at least one. Of a checkpoint those with tensors, then the small ones.
    pub(crate) shards: Vec<Shard>,
    /// Of a checkpoint: what the shards are, and the entries of its keys.
    pub(crate) checkpoint: Option<(Plan, Box<[u8]>)>,
}

/// How a model is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GGUF of this version.
    Gguf(u32),
    /// A checkpoint of safetensors.
    Safetensors,
}

/// A tensor whose values no step can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Name as in the file.
    pub name: String,
    /// The file's word for its storage type.
    pub stored: &'static str,
}

/// What a path must lead to.
const NEEDED: &str = "a path to a .gguf file is needed";

/// The error for a path that the system does not open.
pub(crate) fn refused(path: &Path, error: &io::Error) -> Error {
    let path = path.display();
    let (reason, hint) = match error.kind() {
        io::ErrorKind::NotFound => ("no such file".into(), NEEDED),
        io::ErrorKind::PermissionDenied => {
            ("permission denied".into(), "the file must be readable by the user that runs this")
        }
        _ => (error.to_string(), NEEDED),
    };
    Error::new(Kind::Io, format!("cannot open {path}: {reason}")).hint(hint)
}

/// A tensor's name, shape and place.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// Name as in the file.
    pub name: String,
    /// Dimensions in GGUF's order: the first one is contiguous (a row's length).
    pub dims: Vec<u64>,
    /// Storage type.
    pub dtype: DType,
    /// Index in [`File::shards`] of the file it lies in.
    pub shard: usize,
    pub(crate) range: Range<usize>,
}

impl TensorInfo {
    /// Number of values.
    pub fn values(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> usize {
        self.range.len()
    }
}

/// A borrowed look at one tensor.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    /// Name, dimensions and type.
    pub info: &'a TensorInfo,
    /// The values as stored; exactly as many bytes as the dimensions need.
    pub bytes: &'a [u8],
}

impl File {
    /// Maps `path` read-only and checks header, metadata and tensor table. When it says that it is
    /// one shard of several, whichever it is, the others are taken from beside it by their names.
    ///
    /// A folder, or a safetensors file with its `config.json` beside it, is opened as a checkpoint
    /// (`docs/checkpoints.md`).
    ///
    /// # Errors
    ///
    /// No such file, no sound file, or not the whole of a model; missing shards are named.
    pub fn open(path: &Path) -> Result<File, Error> {
        if path.is_dir() {
            return checkpoint::open(path);
        }
        let part = Part::open(path)?;
        match safetensors::begins(part.map.bytes()) {
            true => checkpoint::around(folder(path), vec![path.to_owned()], None),
            false => shards::beside(part, path),
        }
    }

    /// The model in `paths`: one file, as [`File::open`], or all its shards in their order. Several
    /// safetensors files lead to the checkpoint of their folder.
    ///
    /// # Errors
    ///
    /// As [`File::open`]; and shards in another order, of different models, twice or too few.
    pub fn open_all(paths: &[PathBuf]) -> Result<File, Error> {
        match paths {
            [one] => File::open(one),
            [first, ..] if first.extension().is_some_and(|end| end == "safetensors") => {
                checkpoint::open(folder(first))
            }
            _ => {
                let part = |path: &PathBuf| {
                    Part::open(path).map_err(|e| e.within(&path.display().to_string()))
                };
                shards::together(paths.len(), paths.iter().map(part))
            }
        }
    }

    /// The same over bytes in memory, for tests and fuzzing.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<File, Error> {
        File::from_shards(vec![bytes])
    }

    /// A model of several shards over bytes in memory.
    ///
    /// # Errors
    ///
    /// As [`File::open_all`].
    pub fn from_shards(shards: Vec<Vec<u8>>) -> Result<File, Error> {
        let parts = shards.into_iter().map(|bytes| Part::new(Map::from_bytes(bytes), None));
        shards::together(parts.len(), parts)
    }

    /// The files it lies in, in their order; one where the model is not split.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Bytes of all files together.
    pub fn size(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes().len() as u64).sum()
    }

    /// Tells the system how the bytes will be read; advice only, a refusal changes nothing.
    pub fn advise(&self, advice: Advice) {
        for shard in &self.shards {
            let _ = shard.map.advise(advice);
        }
    }

    /// How it is stored.
    pub fn format(&self) -> Format {
        match &self.checkpoint {
            None => Format::Gguf(self.header.version),
            Some(_) => Format::Safetensors,
        }
    }

    /// The named values.
    pub fn metadata(&self) -> Metadata<'_> {
        let bytes = match &self.checkpoint {
            None => self.shards[0].bytes(),
            Some((_, entries)) => entries,
        };
        Metadata { bytes, header: &self.header }
    }

    /// All tensors, in the order of the files and of each file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.header.tensors
    }

    /// Tensors of storage types that are not read, such as whole numbers in a checkpoint.
    pub fn others(&self) -> &[Other] {
        &self.header.others
    }

    /// The index of the tensor called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.header.names.get(name).copied()
    }

    /// The tensor at `index` in [`File::tensors`].
    pub fn tensor(&self, index: usize) -> Tensor<'_> {
        let info = &self.header.tensors[index];
        Tensor { info, bytes: &self.shards[info.shard].bytes()[info.range.clone()] }
    }

    /// Whether every file on disk is still the one that was mapped; true for a pinned copy, which
    /// no file can change.
    pub fn unchanged(&self) -> bool {
        self.shards.iter().all(|shard| shard.map.unchanged().unwrap_or(false))
    }
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The named values of a file.
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    bytes: &'a [u8],
    header: &'a Header,
}

impl<'a> Metadata<'a> {
    /// All keys in the file's order, with their values.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.header.keys.iter().map(move |key| (key.name.as_str(), self.value(key)))
    }

    /// The bytes of all entries whose keys `wanted` chooses, in the file's order, each as it is
    /// stored: the key's length and text, the type, the value.
    pub fn stored(self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &'a [u8]> {
        let keys = self.header.keys.iter().filter(move |key| wanted(&key.name));
        keys.map(move |key| &self.bytes[key.start..key.range.end])
    }

    /// The value called `key`.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let index = *self.header.key_index.get(key)?;
        Some(self.value(&self.header.keys[index]))
    }

    /// The value called `key` as a whole number; an error when it has another type.
    pub fn u64(self, key: &str) -> Result<Option<u64>, Error> {
        self.typed(key, "a whole number", Value::as_u64)
    }

    /// The value called `key` as a number; an error when it has another type.
    pub fn f64(self, key: &str) -> Result<Option<f64>, Error> {
        self.typed(key, "a number", Value::as_f64)
    }

    /// The value called `key` as a truth value; an error when it has another type.
    pub fn bool(self, key: &str) -> Result<Option<bool>, Error> {
        self.typed(key, "a boolean", Value::as_bool)
    }

    /// The value called `key` as text; an error when it has another type.
    pub fn str(self, key: &str) -> Result<Option<&'a str>, Error> {
        self.typed(key, "a string", Value::as_str)
    }

    /// The texts called `key`: a string is one, an array of strings all that are in it; none where
    /// there is no such key. An error when it has another type.
    pub fn texts(self, key: &str) -> Result<Vec<&'a str>, Error> {
        match self.get(key).and_then(Value::as_str) {
            Some(text) => Ok(vec![text]),
            None => Ok(self.strings(key)?.into_iter().flatten().collect()),
        }
    }

    /// The value called `key` as an array; an error when it has another type.
    pub fn array(self, key: &str) -> Result<Option<Array<'a>>, Error> {
        self.typed(key, "an array", Value::as_array)
    }

    /// The value called `key` as an array whose elements are one of `wanted`; an error when it
    /// has another type.
    pub fn array_of(self, key: &str, wanted: &[Element]) -> Result<Option<Array<'a>>, Error> {
        let Some(array) = self.array(key)? else { return Ok(None) };
        // An array without elements has no type to be wrong about.
        if array.is_empty() || wanted.contains(&array.element()) {
            return Ok(Some(array));
        }
        let names: Vec<&str> = wanted.iter().map(|element| element.name()).collect();
        let (found, names) = (array.element().name(), names.join(" or "));
        let what = format!("key `{key}` is an array of {found}, not of {names}");
        Err(Error::new(Kind::WrongType, what))
    }

    /// The value called `key` as strings; an error when it has another type.
    pub fn strings(
        self,
        key: &str,
    ) -> Result<Option<impl ExactSizeIterator<Item = &'a str> + Clone>, Error> {
        let array = self.array_of(key, &[Element::Str])?;
        Ok(array.map(|array| array.strings_or_none()))
    }

    /// The value called `key` as 32-bit floats; an error when it has another type.
    pub fn f32s(
        self,
        key: &str,
    ) -> Result<Option<impl ExactSizeIterator<Item = f32> + Clone>, Error> {
        let array = self.array_of(key, &[Element::F32])?;
        Ok(array.map(|array| array.words().map(f32::from_le_bytes)))
    }

    /// The value called `key` as signed 32-bit numbers; an error when it has another type.
    pub fn i32s(
        self,
        key: &str,
    ) -> Result<Option<impl ExactSizeIterator<Item = i32> + Clone>, Error> {
        let array = self.array_of(key, &[Element::I32])?;
        Ok(array.map(|array| array.words().map(i32::from_le_bytes)))
    }

    fn typed<T>(
        self,
        key: &str,
        wanted: &str,
        read: impl Fn(Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| {
            let what = format!("key `{key}` is {}, not {wanted}", value.type_name());
            Error::new(Kind::WrongType, what)
        })
    }

    fn value(self, key: &gguf::Key) -> Value<'a> {
        let bytes = &self.bytes[key.range.clone()];
        match (key.element, key.array) {
            (_, Some((element, len))) => Value::Array(Array { element, len, bytes }),
            (Element::Str, None) => Value::Str(std::str::from_utf8(bytes).unwrap_or_default()),
            (element, None) => value::scalar(element, bytes),
        }
    }
}

/// Indexes names; the position of the first one that appears twice, if any.
pub(crate) fn index<'n>(
    names: impl Iterator<Item = &'n str>,
) -> Result<HashMap<String, usize>, usize> {
    let mut out = HashMap::new();
    for (position, name) in names.enumerate() {
        if out.insert(name.to_owned(), position).is_some() {
            return Err(position);
        }
    }
    Ok(out)
}
