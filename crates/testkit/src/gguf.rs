//! Writes GGUF files (version 3, little-endian) for tests.
//!
//! It writes what it is told, lies included: a test of a reader needs files no exporter makes.
//! Source: the GGUF specification of the ggml project.

use recinto_quant::DType;

/// A metadata value to write.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Str(String),
    U64(u64),
    I64(i64),
    F64(f64),
    /// An array; its element type is the first element's, or u32 when it is empty: an empty array
    /// of another type is an [`Value::ArrayOf`].
    Array(Vec<Value>),
    /// An array that announces element type `.0`, whatever its elements are (or none).
    ArrayOf(u32, Vec<Value>),
}

impl Value {
    /// GGUF's number of the type.
    pub fn type_id(&self) -> u32 {
        match self {
            Value::U8(_) => 0,
            Value::I8(_) => 1,
            Value::U16(_) => 2,
            Value::I16(_) => 3,
            Value::U32(_) => 4,
            Value::I32(_) => 5,
            Value::F32(_) => 6,
            Value::Bool(_) => 7,
            Value::Str(_) => 8,
            Value::Array(_) | Value::ArrayOf(..) => 9,
            Value::U64(_) => 10,
            Value::I64(_) => 11,
            Value::F64(_) => 12,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::U8(v) => out.push(*v),
            Value::I8(v) => out.extend(v.to_le_bytes()),
            Value::U16(v) => out.extend(v.to_le_bytes()),
            Value::I16(v) => out.extend(v.to_le_bytes()),
            Value::U32(v) => out.extend(v.to_le_bytes()),
            Value::I32(v) => out.extend(v.to_le_bytes()),
            Value::F32(v) => out.extend(v.to_le_bytes()),
            Value::Bool(v) => out.push(u8::from(*v)),
            Value::Str(v) => write_str(out, v),
            Value::U64(v) => out.extend(v.to_le_bytes()),
            Value::I64(v) => out.extend(v.to_le_bytes()),
            Value::F64(v) => out.extend(v.to_le_bytes()),
            Value::Array(values) => {
                write_array(out, values.first().map_or(4, Value::type_id), values);
            }
            Value::ArrayOf(id, values) => write_array(out, *id, values),
        }
    }
}

fn write_array(out: &mut Vec<u8>, type_id: u32, values: &[Value]) {
    out.extend(type_id.to_le_bytes());
    out.extend((values.len() as u64).to_le_bytes());
    for value in values {
        value.write(out);
    }
}

macro_rules! from {
    ($($kind:ty => $name:ident),*) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Value {
                Value::$name(value.into())
            }
        }
    )*};
}
from!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, f32 => F32,
    bool => Bool, &str => Str, String => Str, u64 => U64, i64 => I64, f64 => F64);

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(values: &[T]) -> Value {
        values.to_vec().into()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

fn write_str(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

struct Tensor {
    name: String,
    dims: Vec<u64>,
    type_id: u32,
    bytes: Vec<u8>,
}

/// Collects keys and tensors, then writes the file.
///
/// ```
/// let bytes = recinto_testkit::gguf::Builder::new()
///     .key("general.architecture", "tiny")
///     .key("tiny.block_count", 1u32)
///     .key("tokenizer.ggml.tokens", vec!["<s>", "a"])
///     .tensor("w", &[4, 2], recinto_quant::DType::F32, &[0; 32])
///     .build();
/// assert!(bytes.starts_with(b"GGUF"));
/// ```
#[derive(Default)]
pub struct Builder {
    keys: Vec<(String, Value)>,
    tensors: Vec<Tensor>,
    alignment: Option<u64>,
}

impl Builder {
    /// An empty file.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Adds a key; a name given before is written twice (see [`Builder::replace`]).
    pub fn key(mut self, name: &str, value: impl Into<Value>) -> Builder {
        self.keys.push((name.into(), value.into()));
        self
    }

    /// Sets a key, in the place of an earlier one with its name if there is one.
    pub fn replace(mut self, name: &str, value: impl Into<Value>) -> Builder {
        match self.keys.iter_mut().find(|(key, _)| key == name) {
            Some(key) => key.1 = value.into(),
            None => self.keys.push((name.into(), value.into())),
        }
        self
    }

    /// Leaves out the key called `name`.
    pub fn without(mut self, name: &str) -> Builder {
        self.keys.retain(|(key, _)| key != name);
        self
    }

    /// Adds a tensor; `dims` in GGUF's order (the first one is contiguous). The byte count is
    /// not checked.
    pub fn tensor(self, name: &str, dims: &[u64], dtype: DType, bytes: &[u8]) -> Builder {
        self.tensor_raw(name, dims, dtype.layout().id, bytes)
    }

    /// The same with any number as storage type.
    pub fn tensor_raw(mut self, name: &str, dims: &[u64], type_id: u32, bytes: &[u8]) -> Builder {
        let (name, dims, bytes) = (name.into(), dims.to_vec(), bytes.to_vec());
        self.tensors.push(Tensor { name, dims, type_id, bytes });
        self
    }

    /// Adds a tensor of 32-bit floats.
    pub fn floats(self, name: &str, dims: &[u64], values: &[f32]) -> Builder {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor_raw(name, dims, 0, &bytes)
    }

    /// Aligns tensors to `bytes` instead of 32 and writes `general.alignment`.
    pub fn alignment(mut self, bytes: u32) -> Builder {
        self.alignment = Some(bytes.max(1).into());
        self.replace("general.alignment", bytes)
    }

    /// The file's bytes.
    pub fn build(&self) -> Vec<u8> {
        let align = self.alignment.unwrap_or(32);
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.keys.len() as u64).to_le_bytes());
        for (name, value) in &self.keys {
            write_str(&mut out, name);
            out.extend(value.type_id().to_le_bytes());
            value.write(&mut out);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            write_str(&mut out, &tensor.name);
            out.extend((tensor.dims.len() as u32).to_le_bytes());
            for dim in &tensor.dims {
                out.extend(dim.to_le_bytes());
            }
            out.extend(tensor.type_id.to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset = (offset + tensor.bytes.len() as u64).next_multiple_of(align);
        }
        for tensor in &self.tensors {
            out.resize((out.len() as u64).next_multiple_of(align) as usize, 0);
            out.extend(&tensor.bytes);
        }
        // Readers may want the data's start aligned even when there are no tensors.
        out.resize((out.len() as u64).next_multiple_of(align) as usize, 0);
        out
    }
}
