//! Metadata values as they lie in the file; arrays are views, not copies.

/// The type of a value or of an array's elements, by GGUF's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum Element {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    Str = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl Element {
    const ALL: [Element; 13] = [
        Element::U8,
        Element::I8,
        Element::U16,
        Element::I16,
        Element::U32,
        Element::I32,
        Element::F32,
        Element::Bool,
        Element::Str,
        Element::Array,
        Element::U64,
        Element::I64,
        Element::F64,
    ];

    /// The type with GGUF's number `id`.
    pub fn from_id(id: u32) -> Option<Element> {
        Element::ALL.get(id as usize).copied()
    }

    /// Bytes of one element; `None` for strings and arrays.
    pub fn size(self) -> Option<usize> {
        Some(match self {
            Element::U8 | Element::I8 | Element::Bool => 1,
            Element::U16 | Element::I16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
            Element::Str | Element::Array => return None,
        })
    }

    /// Name for error texts.
    pub fn name(self) -> &'static str {
        match self {
            Element::U8 => "u8",
            Element::I8 => "i8",
            Element::U16 => "u16",
            Element::I16 => "i16",
            Element::U32 => "u32",
            Element::I32 => "i32",
            Element::F32 => "f32",
            Element::Bool => "bool",
            Element::Str => "string",
            Element::Array => "array",
            Element::U64 => "u64",
            Element::I64 => "i64",
            Element::F64 => "f64",
        }
    }
}

/// A metadata value, borrowed from the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Str(&'a str),
    Array(Array<'a>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl<'a> Value<'a> {
    /// The value as a whole number, if it is one that is not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Value::U8(v) => Some(v.into()),
            Value::U16(v) => Some(v.into()),
            Value::U32(v) => Some(v.into()),
            Value::U64(v) => Some(v),
            Value::I8(v) => v.try_into().ok(),
            Value::I16(v) => v.try_into().ok(),
            Value::I32(v) => v.try_into().ok(),
            Value::I64(v) => v.try_into().ok(),
            _ => None,
        }
    }

    /// The value as a number, if it is one.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Value::F32(v) => Some(v.into()),
            Value::F64(v) => Some(v),
            Value::I8(v) => Some(v.into()),
            Value::I16(v) => Some(v.into()),
            Value::I32(v) => Some(v.into()),
            Value::I64(v) => Some(v as f64),
            other => other.as_u64().map(|v| v as f64),
        }
    }

    /// The value as a truth value, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        if let Value::Bool(v) = self { Some(v) } else { None }
    }

    /// The value as text, if it is text.
    pub fn as_str(self) -> Option<&'a str> {
        if let Value::Str(v) = self { Some(v) } else { None }
    }

    /// The value as an array, if it is one.
    pub fn as_array(self) -> Option<Array<'a>> {
        if let Value::Array(v) = self { Some(v) } else { None }
    }

    /// Name of the value's type.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::U8(_) => "u8",
            Value::I8(_) => "i8",
            Value::U16(_) => "u16",
            Value::I16(_) => "i16",
            Value::U32(_) => "u32",
            Value::I32(_) => "i32",
            Value::F32(_) => "f32",
            Value::Bool(_) => "bool",
            Value::Str(_) => "string",
            Value::Array(_) => "array",
            Value::U64(_) => "u64",
            Value::I64(_) => "i64",
            Value::F64(_) => "f64",
        }
    }
}

/// An array in the file; every element is known to lie inside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array<'a> {
    pub(crate) element: Element,
    pub(crate) len: usize,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// Number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The type of the elements.
    pub fn element(self) -> Element {
        self.element
    }

    /// The elements as strings in order; `None` when they are not strings.
    pub fn strings(self) -> Option<impl ExactSizeIterator<Item = &'a str> + Clone> {
        let strings = StoredStrings { rest: self.bytes, left: self.len };
        (self.element == Element::Str).then_some(Strings(strings))
    }

    /// The elements as they lie in the file when they are strings: eight bytes of length, then
    /// the text. That it is UTF-8 was settled when the file was opened and is not asked again.
    pub fn stored_strings(self) -> Option<impl ExactSizeIterator<Item = &'a [u8]> + Clone> {
        (self.element == Element::Str).then_some(StoredStrings { rest: self.bytes, left: self.len })
    }

    /// Bytes of all strings together; 0 when the elements are not strings.
    pub fn text_len(self) -> usize {
        // Each string has its length before it, in eight bytes.
        if self.element == Element::Str { self.bytes.len() - self.len * 8 } else { 0 }
    }

    /// The elements when they are strings, otherwise nothing.
    pub(crate) fn strings_or_none(self) -> Strings<'a> {
        let left = if self.element == Element::Str { self.len } else { 0 };
        Strings(StoredStrings { rest: self.bytes, left })
    }

    /// The elements as they lie in the file when they take four bytes each, otherwise nothing.
    pub fn words(self) -> impl ExactSizeIterator<Item = [u8; 4]> + Clone {
        let bytes = if self.element.size() == Some(4) { self.bytes } else { &[] };
        bytes.as_chunks::<4>().0.iter().copied()
    }

    /// The elements as scalar values in order; `None` for arrays of strings or arrays.
    pub fn scalars(self) -> Option<impl ExactSizeIterator<Item = Value<'a>> + Clone> {
        let size = self.element.size()?;
        Some(self.bytes.chunks_exact(size).map(move |bytes| scalar(self.element, bytes)))
    }
}

#[derive(Clone)]
pub(crate) struct Strings<'a>(StoredStrings<'a>);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        std::str::from_utf8(&self.0.next()?[8..]).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Strings<'_> {}

#[derive(Clone)]
pub(crate) struct StoredStrings<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Iterator for StoredStrings<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        // Lengths were checked when the file was opened.
        let len = u64::from_le_bytes(*self.rest.first_chunk::<8>()?);
        let (stored, rest) = self.rest.split_at_checked((len as usize).checked_add(8)?)?;
        self.rest = rest;
        Some(stored)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for StoredStrings<'_> {}

/// One scalar from exactly its bytes.
pub(crate) fn scalar(element: Element, bytes: &[u8]) -> Value<'static> {
    fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(bytes);
        out
    }
    match element {
        Element::U8 => Value::U8(bytes[0]),
        Element::I8 => Value::I8(bytes[0] as i8),
        Element::Bool => Value::Bool(bytes[0] != 0),
        Element::U16 => Value::U16(u16::from_le_bytes(take(bytes))),
        Element::I16 => Value::I16(i16::from_le_bytes(take(bytes))),
        Element::U32 => Value::U32(u32::from_le_bytes(take(bytes))),
        Element::I32 => Value::I32(i32::from_le_bytes(take(bytes))),
        Element::F32 => Value::F32(f32::from_le_bytes(take(bytes))),
        Element::U64 => Value::U64(u64::from_le_bytes(take(bytes))),
        Element::I64 => Value::I64(i64::from_le_bytes(take(bytes))),
        Element::F64 => Value::F64(f64::from_le_bytes(take(bytes))),
        Element::Str | Element::Array => unreachable!("not a scalar"),
    }
}
