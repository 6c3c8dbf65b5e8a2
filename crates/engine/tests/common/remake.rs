//! Writes a model file again with other keys or tensors, whole or in shards.

use std::path::{Path, PathBuf};

use recinto_testkit::gguf::{Builder, Value};
use recinto_weights::{File, Value as Stored};

/// The same value, to be written.
pub fn value(stored: Stored<'_>) -> Value {
    match stored {
        Stored::U8(v) => v.into(),
        Stored::I8(v) => v.into(),
        Stored::U16(v) => v.into(),
        Stored::I16(v) => v.into(),
        Stored::U32(v) => v.into(),
        Stored::I32(v) => v.into(),
        Stored::F32(v) => v.into(),
        Stored::Bool(v) => v.into(),
        Stored::Str(v) => v.into(),
        Stored::U64(v) => v.into(),
        Stored::I64(v) => v.into(),
        Stored::F64(v) => v.into(),
        Stored::Array(array) => {
            let texts = array.strings().into_iter().flatten().map(Value::from);
            let others = array.scalars().into_iter().flatten().map(value);
            Value::ArrayOf(array.element() as u32, texts.chain(others).collect())
        }
    }
}

/// All keys of `file`.
pub fn keys(file: &File) -> Builder {
    let keys = file.metadata().iter();
    keys.fold(Builder::new(), |builder, (name, stored)| builder.key(name, value(stored)))
}

/// `builder` and the tensors of `file` from number `from` up to `to`.
pub fn tensors(mut builder: Builder, file: &File, from: usize, to: usize) -> Builder {
    for index in from..to {
        let tensor = file.tensor(index);
        builder =
            builder.tensor(&tensor.info.name, &tensor.info.dims, tensor.info.dtype, tensor.bytes);
    }
    builder
}

/// The model in `path` with changed keys and more tensors.
pub fn changed(path: &Path, change: impl FnOnce(Builder) -> Builder) -> Vec<u8> {
    let file = File::open(path).unwrap();
    tensors(change(keys(&file)), &file, 0, file.tensors().len()).build()
}

/// Writes the model in `path` as `count` shards beside each other; the first has the metadata, and
/// no tensor.
pub fn shards(path: &Path, folder: &Path, stem: &str, count: usize) -> Vec<PathBuf> {
    let file = File::open(path).unwrap();
    let all = file.tensors().len();
    let parts = (0..count).map(|no| {
        let builder = if no == 0 { keys(&file) } else { Builder::new() };
        let builder = builder
            .key("split.no", no as u16)
            .key("split.count", count as u16)
            .key("split.tensors.count", all as i32);
        let border = |no: usize| all * no / (count - 1).max(1);
        let builder = match no.checked_sub(1) {
            Some(before) => tensors(builder, &file, border(before), border(no)),
            None => builder,
        };
        let path = folder.join(format!("{stem}-{:05}-of-{count:05}.gguf", no + 1));
        std::fs::write(&path, builder.build()).unwrap();
        path
    });
    parts.collect()
}
