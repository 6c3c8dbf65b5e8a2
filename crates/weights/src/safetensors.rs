//! Reads the header of a safetensors file; every number in it is distrusted.
//!
//! Eight bytes of length, a JSON map from names to type, shape and offsets, then the values of all
//! tensors, little-endian, last dimension contiguous, without gaps. Source: the format's
//! description in huggingface/safetensors.

use std::collections::HashMap;

use recinto_quant::DType;

use crate::{
    Error, Kind, Other, TensorInfo,
    file::index,
    gguf::{Header, MAX_TENSORS},
    json::Json,
    reader::named,
};

/// Most bytes of a header: some 200 for each of the most tensors a file may have.
const MAX_HEADER: u64 = 32 << 20;
/// Most dimensions of a tensor; those that are read have at most four.
const MAX_DIMS: usize = 8;

/// Every type that the format has: its word, bits of a value, and ours where it is read.
const TYPES: &[(&str, u64, Option<DType>)] = &[
    ("F32", 32, Some(DType::F32)),
    ("F16", 16, Some(DType::F16)),
    ("BF16", 16, Some(DType::BF16)),
    ("F64", 64, None),
    ("I64", 64, None),
    ("I32", 32, None),
    ("I16", 16, None),
    ("I8", 8, None),
    ("U64", 64, None),
    ("U32", 32, None),
    ("U16", 16, None),
    ("U8", 8, None),
    ("BOOL", 8, None),
    ("C64", 64, None),
    ("F8_E4M3", 8, None),
    ("F8_E5M2", 8, None),
    ("F8_E8M0", 8, None),
    ("F6_E2M3", 6, None),
    ("F6_E3M2", 6, None),
    ("F4", 4, None),
];

/// Whether `bytes` begin as such a file does: eight bytes of a length, then a map.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first));
    length.is_some_and(|length| length < 1 << 48) && bytes.get(8) == Some(&b'{')
}

/// Reads the header; an error names the tensor.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, Error> {
    let Some(length) = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first)) else {
        let what = format!("truncated header: 8 bytes needed, {} in the file", bytes.len());
        return Err(Error::new(Kind::Truncated, what).at(0));
    };
    if length > MAX_HEADER {
        let what = format!("a header of {length} bytes; {MAX_HEADER} are allowed");
        return Err(Error::new(Kind::Invalid, what).at(0));
    }
    let data = 8 + length as usize;
    let Some(header) = bytes.get(8..data) else {
        let what = format!("truncated header: {length} bytes announced, {} left", bytes.len() - 8);
        return Err(Error::new(Kind::Truncated, what).at(8));
    };
    if header.first() != Some(&b'{') {
        return Err(Error::new(Kind::Invalid, "the header is no JSON map").at(8));
    }
    let Json::Map(entries) = Json::parse(header, "the header").map_err(|e| e.at(8))? else {
        return Err(Error::new(Kind::Invalid, "the header is no JSON map").at(8));
    };
    let (mut tensors, mut others, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    for (name, entry) in entries {
        if name == "__metadata__" {
            notes(&entry)?;
            continue;
        }
        if tensors.len() + others.len() >= MAX_TENSORS as usize {
            let what = format!("more than {MAX_TENSORS} tensors");
            return Err(Error::new(Kind::Invalid, what));
        }
        named(&name, "name of a tensor").map_err(|e| e.at(8))?;
        let found = tensor(&name, &entry, bytes.len() - data)?;
        ranges.push((found.begin, found.end, name.clone()));
        match found.dtype {
            Ok(dtype) => {
                let range = data + found.begin..data + found.end;
                tensors.push(TensorInfo { name, dims: found.dims, dtype, shard: 0, range });
            }
            Err(stored) => others.push(Other { name, stored }),
        }
    }
    covered(ranges, data, bytes.len())?;
    // No key of a JSON map is there twice.
    let names = index(tensors.iter().map(|info| info.name.as_str())).unwrap_or_default();
    let (keys, key_index) = (Vec::new(), HashMap::new());
    Ok(Header { version: 0, keys, key_index, tensors, others, names, data, split: None })
}

/// What a writer notes: texts by name, of which nothing is used.
fn notes(entry: &Json) -> Result<(), Error> {
    match entry {
        Json::Map(notes) if notes.iter().all(|(_, note)| note.str().is_some()) => Ok(()),
        _ => Err(Error::new(Kind::Invalid, "`__metadata__` is no map of texts").at(8)),
    }
}

/// One entry, its offsets inside the values.
struct Found {
    dtype: Result<DType, &'static str>,
    dims: Vec<u64>,
    begin: usize,
    end: usize,
}

fn tensor(name: &str, entry: &Json, room: usize) -> Result<Found, Error> {
    let bad = |kind, what: String| Error::new(kind, format!("tensor `{name}`: {what}")).at(8);
    let invalid = |what: &str| bad(Kind::Invalid, what.into());
    let Json::Map(fields) = entry else { return Err(invalid("its entry is no map")) };
    if let Some((field, _)) =
        fields.iter().find(|(field, _)| !["dtype", "shape", "data_offsets"].contains(&&**field))
    {
        named(field, "name of a field")?;
        return Err(invalid(&format!("its entry has an unknown field `{field}`")));
    }
    let word = entry.get("dtype").and_then(Json::str);
    let word = word.ok_or_else(|| invalid("its entry has no `dtype`"))?;
    let Some((word, bits, dtype)) = TYPES.iter().find(|row| row.0 == word) else {
        let plain =
            word.len() <= 16 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let word = if plain { format!("`{word}` ") } else { String::new() };
        let what = format!("storage type {word}is not one of the format's");
        return Err(bad(Kind::Unsupported, what));
    };
    let numbers = |field: &str| match entry.get(field) {
        Some(Json::List(list)) => list.iter().map(Json::u64).collect::<Option<Vec<u64>>>(),
        _ => None,
    };
    let shape = numbers("shape").ok_or_else(|| invalid("its `shape` is no list of numbers"))?;
    if shape.len() > MAX_DIMS {
        let what = format!("{} dimensions; at most {MAX_DIMS} are allowed", shape.len());
        return Err(bad(Kind::Invalid, what));
    }
    let offsets = numbers("data_offsets");
    let Some(&[begin, end]) = offsets.as_deref() else {
        return Err(invalid("its `data_offsets` are no two numbers"));
    };
    if begin > end {
        return Err(invalid(&format!("it begins at byte {begin} and ends before, at {end}")));
    }
    if end > room as u64 {
        let what =
            format!("it ends at byte {end} of the values, which are {room}; truncated file?");
        return Err(bad(Kind::Truncated, what));
    }
    let values = shape.iter().try_fold(1u64, |all, dim| all.checked_mul(*dim));
    let all = values.and_then(|values| values.checked_mul(*bits));
    let all =
        all.filter(|all| all.is_multiple_of(8)).ok_or_else(|| invalid("its size overflows"))?;
    if all / 8 != end - begin {
        let what = format!("its shape needs {} bytes, its offsets hold {}", all / 8, end - begin);
        return Err(bad(Kind::Invalid, what));
    }
    // A tensor without values is in some files; no step can use one.
    let dtype = if all == 0 { Err("nothing") } else { dtype.ok_or(*word) };
    // The last dimension is contiguous there, the first one here; one value is a vector of one.
    let mut dims: Vec<u64> = shape.into_iter().rev().collect();
    if dims.is_empty() {
        dims.push(1);
    }
    Ok(Found { dtype, dims, begin: begin as usize, end: end as usize })
}

/// The values are the tensors' and nothing else: none overlap, and there is no gap.
fn covered(mut ranges: Vec<(usize, usize, String)>, data: usize, len: usize) -> Result<(), Error> {
    ranges.sort();
    let (mut at, mut before) = (0, "the header");
    for (begin, end, name) in &ranges {
        if *begin < at {
            let what = format!("tensors `{before}` and `{name}` overlap");
            return Err(Error::new(Kind::Invalid, what).at((data + begin) as u64));
        }
        if *begin > at {
            let what = format!("{} bytes before tensor `{name}` belong to none", begin - at);
            return Err(Error::new(Kind::Invalid, what).at((data + at) as u64));
        }
        (at, before) = (*end, name);
    }
    if data + at < len {
        let what = format!("{} bytes at the end belong to no tensor", len - data - at);
        return Err(Error::new(Kind::Invalid, what).at((data + at) as u64));
    }
    Ok(())
}
