//! Writes GGUF, version 3: keys as another model has them and some more, then tensors that come one
//! after another, so that no file is ever held in memory.
//!
//! Source: the GGUF specification of the ggml project.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use recinto_quant::DType;

use crate::{
    Error, Kind, Metadata, entries::Entries, gguf::MAX_TENSORS, json::Json, reader::named,
};

/// Tensors begin at multiples of this many bytes, as readers suppose where no key says otherwise.
const ALIGNMENT: u64 = 32;

/// What a file is to hold.
#[derive(Default)]
pub struct Draft {
    entries: Entries,
    keys: HashSet<String>,
    /// Entries of another file, as they are stored.
    copied: Vec<u8>,
    tensors: Vec<Planned>,
    names: HashSet<String>,
}

/// A tensor that is to be written.
struct Planned {
    name: String,
    dims: Vec<u64>,
    dtype: DType,
    bytes: u64,
}

impl Draft {
    /// A file without keys or tensors.
    pub fn new() -> Draft {
        Draft::default()
    }

    /// Takes over all keys of `metadata` that `wanted` chooses, as they are stored.
    ///
    /// # Errors
    ///
    /// A key that is there already.
    pub fn copy(
        &mut self,
        metadata: Metadata<'_>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        // A file's own layout is no part of what it says.
        let wanted = |key: &str| key != "general.alignment" && wanted(key);
        for (key, _) in metadata.iter().filter(|(key, _)| wanted(key)) {
            self.key(key)?;
        }
        metadata.stored(wanted).for_each(|entry| self.copied.extend_from_slice(entry));
        Ok(())
    }

    /// Adds a key with a text.
    ///
    /// # Errors
    ///
    /// A key that is there already, or has no name.
    pub fn text(&mut self, key: &str, text: &str) -> Result<(), Error> {
        self.key(key)?;
        self.entries.text(key, text)
    }

    /// Adds a key with a whole number.
    ///
    /// # Errors
    ///
    /// As [`Draft::text`].
    pub fn number(&mut self, key: &str, number: u64) -> Result<(), Error> {
        self.key(key)?;
        self.entries.value(key, &Json::U64(number))
    }

    /// Adds a tensor; tensors are written in the order in which they were added. `dims` begin with
    /// the length of a row.
    ///
    /// # Errors
    ///
    /// A name that is there already, a size that no file can have, rows that are no whole blocks.
    pub fn tensor(&mut self, name: &str, dims: &[u64], dtype: DType) -> Result<(), Error> {
        named(name, "name of a tensor")?;
        let bad = |what: &str| Err(Error::new(Kind::Invalid, format!("tensor `{name}`: {what}")));
        let per = dtype.layout().values as u64;
        let values = dims.iter().try_fold(1u64, |all, dim| all.checked_mul(*dim));
        let blocks = dims.first().is_some_and(|row| row.is_multiple_of(per));
        let bytes = values.filter(|values| *values > 0).and_then(|v| dtype.bytes_for(v));
        let (Some(bytes), true, 1..=4) = (bytes, blocks, dims.len()) else {
            return bad("its shape does not fit its storage type");
        };
        if self.tensors.len() as u64 >= MAX_TENSORS || !self.names.insert(name.into()) {
            return bad("it is there already, or there are too many");
        }
        self.tensors.push(Planned { name: name.into(), dims: dims.into(), dtype, bytes });
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Error> {
        match self.keys.insert(key.to_owned()) {
            true => Ok(()),
            false => Err(Error::new(Kind::Invalid, format!("key `{key}` is there already"))),
        }
    }

    /// Writes the file: `fill` is called for each tensor in order, and writes all of its bytes.
    /// Gives the bytes of the file.
    ///
    /// # Errors
    ///
    /// What `out` and `fill` give; a tensor that was not filled to its size.
    pub fn write<W: Write>(
        &self,
        out: &mut W,
        mut fill: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut out = Counted { out, at: 0 };
        out.write_all(b"GGUF")?;
        out.write_all(&3u32.to_le_bytes())?;
        out.write_all(&(self.tensors.len() as u64).to_le_bytes())?;
        out.write_all(&(self.keys.len() as u64).to_le_bytes())?;
        out.write_all(&self.copied)?;
        out.write_all(&self.entries.bytes)?;
        let mut offset = 0u64;
        for Planned { name, dims, dtype, bytes } in &self.tensors {
            out.write_all(&(name.len() as u64).to_le_bytes())?;
            out.write_all(name.as_bytes())?;
            out.write_all(&(dims.len() as u32).to_le_bytes())?;
            for dim in dims {
                out.write_all(&dim.to_le_bytes())?;
            }
            out.write_all(&dtype.layout().id.to_le_bytes())?;
            out.write_all(&offset.to_le_bytes())?;
            offset = offset.saturating_add(*bytes).next_multiple_of(ALIGNMENT);
        }
        for (index, tensor) in self.tensors.iter().enumerate() {
            out.align()?;
            let begun = out.at;
            fill(index, &mut out)?;
            if out.at - begun != tensor.bytes {
                let what = format!("tensor `{}` was not written whole", tensor.name);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        // Readers may want the last tensor padded too.
        out.align()?;
        Ok(out.at)
    }
}

/// Counts what is written.
struct Counted<'a, W> {
    out: &'a mut W,
    at: u64,
}

impl<W: Write> Counted<'_, W> {
    fn align(&mut self) -> io::Result<()> {
        let missing = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.write_all(&[0; ALIGNMENT as usize][..missing as usize])
    }
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::File;

    fn written(draft: &Draft, tensors: &[&[u8]]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let bytes = draft.write(&mut out, |index, out| out.write_all(tensors[index]))?;
        assert_eq!(bytes, out.len() as u64);
        Ok(out)
    }

    #[test]
    fn what_was_written_is_read_again() {
        let mut draft = Draft::new();
        draft.text("general.architecture", "año").unwrap();
        draft.number("año.layers", 3).unwrap();
        draft.tensor("norm", &[3], DType::F32).unwrap();
        draft.tensor("rows.weight", &[32, 2], DType::Q8_0).unwrap();
        let (norm, rows) = ([1u8; 12], [7u8; 68]);
        let first = File::from_bytes(written(&draft, &[&norm, &rows]).unwrap()).unwrap();
        // Once more, from what was read.
        let mut next = Draft::new();
        next.copy(first.metadata(), |key| key != "año.layers").unwrap();
        next.number("año.layers", 4).unwrap();
        next.tensor("rows.weight", &[32, 2], DType::Q8_0).unwrap();
        next.tensor("norm", &[3], DType::F32).unwrap();
        let second = File::from_bytes(written(&next, &[&rows, &norm]).unwrap()).unwrap();
        for (name, file, layers) in [("first", &first, 3), ("second", &second, 4)] {
            assert_eq!(file.metadata().str("general.architecture").unwrap(), Some("año"), "{name}");
            assert_eq!(file.metadata().u64("año.layers").unwrap(), Some(layers), "{name}");
            let found = |tensor: &str| file.tensor(file.find(tensor).unwrap()).bytes.to_vec();
            assert_eq!((found("norm"), found("rows.weight")), (norm.into(), rows.into()), "{name}");
        }
        assert!(next.copy(first.metadata(), |_| true).is_err(), "keys twice");
    }

    #[test]
    fn what_no_file_can_hold() {
        let mut draft = Draft::new();
        draft.tensor("a", &[32], DType::Q8_0).unwrap();
        let cases: [(&str, &str, &[u64], DType); 6] = [
            ("twice", "a", &[32], DType::Q8_0),
            ("no name", "", &[32], DType::Q8_0),
            ("part of a block", "b", &[33], DType::Q8_0),
            ("no values", "b", &[32, 0], DType::F32),
            ("no shape", "b", &[], DType::F32),
            ("a size that overflows", "b", &[1 << 40, 1 << 40], DType::F32),
        ];
        for (case, name, dims, dtype) in cases {
            assert!(draft.tensor(name, dims, dtype).is_err(), "{case}");
        }
        for (case, bytes) in [("too few", 33), ("too many", 35)] {
            assert!(written(&draft, &[&vec![0; bytes]]).is_err(), "{case}");
        }
    }
}
