//! Reads GGUF, versions 2 and 3, little-endian; every number in it is distrusted.
//!
//! Source: the GGUF specification of the ggml project.

use std::{collections::HashMap, ops::Range};

use recinto_quant::{DType, foreign};

use crate::{Element, Error, Kind, Other, TensorInfo, file::index, reader::Reader};

/// Most keys, tensors and dimensions a file may have; far above any published model.
pub(crate) const MAX_KEYS: u64 = 1 << 16;
pub(crate) const MAX_TENSORS: u64 = 1 << 17;
const MAX_DIMS: u32 = 4;
/// Most files of one model; each of them stays open.
pub(crate) const MAX_SHARDS: u64 = 512;

/// What the header says, all ranges inside the file.
#[derive(Default)]
pub(crate) struct Header {
    /// GGUF's; 0 of other formats.
    pub version: u32,
    pub keys: Vec<Key>,
    pub key_index: HashMap<String, usize>,
    pub tensors: Vec<TensorInfo>,
    /// Tensors of storage types that are not read; a GGUF file with one is refused.
    pub others: Vec<Other>,
    pub names: HashMap<String, usize>,
    /// Where the tensors' bytes begin; at most the file's length.
    pub data: usize,
    /// Set when the file is one shard of a model in several.
    pub split: Option<Split>,
}

/// What a shard says of the set it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Split {
    /// Its number, from 0 and below `count`.
    pub no: u64,
    /// Files of the whole model, at least two.
    pub count: u64,
    /// Tensors of the whole model, where it says so.
    pub tensors: Option<u64>,
}

/// A key and where its value's bytes are.
pub(crate) struct Key {
    pub name: String,
    pub element: Element,
    pub array: Option<(Element, usize)>,
    /// The value's bytes.
    pub range: Range<usize>,
    /// Where the whole entry begins: name, type and value.
    pub start: usize,
}

/// Reads the header; an error names the field and the byte.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, Error> {
    let mut reader = Reader { bytes, at: 0 };
    let version = magic(&mut reader)?;
    let tensor_count = count(&mut reader, "tensor count", MAX_TENSORS, 24)?;
    let key_count = count(&mut reader, "key count", MAX_KEYS, 13)?;
    let mut keys = Vec::new();
    for _ in 0..key_count {
        keys.push(key(&mut reader)?);
    }
    let key_index = index(keys.iter().map(|key| key.name.as_str())).map_err(|position| {
        let key = &keys[position];
        Error::new(Kind::Invalid, format!("key `{}` appears twice", key.name))
            .at(key.range.start as u64)
    })?;
    let alignment = alignment(bytes, &keys, &key_index)?;
    let split = split(bytes, &keys, &key_index)?;
    let mut found = Vec::new();
    for _ in 0..tensor_count {
        found.push(tensor(&mut reader)?);
    }
    let names = index(found.iter().map(|(info, ..)| info.name.as_str())).map_err(|position| {
        let (info, _, at) = &found[position];
        Error::new(Kind::Invalid, format!("tensor `{}` appears twice", info.name)).at(*at)
    })?;
    let data = (reader.at as u64).next_multiple_of(alignment);
    let mut tensors = Vec::with_capacity(found.len());
    for (mut info, offset, at) in found {
        place(&mut info, offset, data, alignment, bytes.len() as u64).map_err(|e| e.at(at))?;
        tensors.push(info);
    }
    overlaps(&tensors)?;
    let data = (data as usize).min(bytes.len());
    let others = Vec::new();
    Ok(Header { version, keys, key_index, tensors, others, names, data, split })
}

fn magic(reader: &mut Reader<'_>) -> Result<u32, Error> {
    let bytes = reader.bytes;
    if bytes.starts_with(b"version https://git-lfs") {
        // Only what an object name may hold: the rest could speak to the terminal.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]);
        let oid = text.lines().find_map(|line| line.strip_prefix("oid ")).unwrap_or("unknown");
        let oid: String =
            oid.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ':').take(80).collect();
        let what = format!("this is a pointer, not the model: Git LFS oid {oid}");
        return Err(Error::new(Kind::NotGguf, what)
            .at(0)
            .hint("`git lfs pull` in the folder it came from brings the model itself"));
    }
    if bytes.len() < 24 && bytes.starts_with(&b"GGUF"[..bytes.len().min(4)]) {
        let what = format!("truncated header: 24 bytes needed, {} in the file", bytes.len());
        return Err(Error::new(Kind::Truncated, what).at(0));
    }
    if !bytes.starts_with(b"GGUF") {
        return Err(Error::new(Kind::NotGguf, "not a GGUF file: it does not begin with `GGUF`")
            .at(0)
            .hint("the model must be a .gguf file"));
    }
    reader.at = 4;
    let version = reader.u32("version")?;
    match version {
        2 | 3 => Ok(version),
        _ if matches!(version.swap_bytes(), 1..=3) => {
            Err(Error::new(Kind::Unsupported, "big-endian GGUF file").at(4))
        }
        _ => Err(Error::new(Kind::Unsupported, format!("GGUF version {version}"))
            .at(4)
            .hint("versions 2 and 3 are read")),
    }
}

fn count(reader: &mut Reader<'_>, what: &str, limit: u64, least: u64) -> Result<u64, Error> {
    let at = reader.at as u64;
    let count = reader.u64(what)?;
    if count > limit {
        let what = format!("{what} is {count}; {limit} are allowed");
        return Err(Error::new(Kind::Invalid, what).at(at));
    }
    if count > reader.left() / least {
        let what = format!("truncated file: {what} is {count}, more than it can hold");
        return Err(Error::new(Kind::Truncated, what).at(at));
    }
    Ok(count)
}

fn key(reader: &mut Reader<'_>) -> Result<Key, Error> {
    let first = reader.at;
    let name = reader.name("name of a key")?;
    let element = reader.element(&format!("type of key `{name}`"))?;
    let what = format!("value of key `{name}`");
    let (array, start) = match element {
        Element::Array => {
            let inner = reader.element(&what)?;
            let len = reader.u64(&what)?;
            let start = reader.at;
            reader.pass(inner, len, &what, 1)?;
            (Some((inner, len as usize)), start)
        }
        Element::Str => {
            let text = reader.str(&what)?;
            (None, reader.at - text.len())
        }
        _ => {
            let start = reader.at;
            reader.pass(element, 1, &what, 0)?;
            (None, start)
        }
    };
    Ok(Key { name, element, array, range: start..reader.at, start: first })
}

/// The whole number called `name` and its place in the file, if the key is there.
fn whole(
    bytes: &[u8],
    keys: &[Key],
    key_index: &HashMap<String, usize>,
    name: &str,
) -> Result<Option<(u64, u64)>, Error> {
    let Some(key) = key_index.get(name).map(|&i| &keys[i]) else { return Ok(None) };
    let at = key.range.start as u64;
    let value = match key.element {
        Element::Str | Element::Array => None,
        element => crate::value::scalar(element, &bytes[key.range.clone()]).as_u64(),
    };
    let bad = || Error::new(Kind::Invalid, format!("key `{name}` is not a whole number")).at(at);
    value.map(|value| Some((value, at))).ok_or_else(bad)
}

fn alignment(bytes: &[u8], keys: &[Key], key_index: &HashMap<String, usize>) -> Result<u64, Error> {
    let name = "general.alignment";
    let Some((value, at)) = whole(bytes, keys, key_index, name)? else { return Ok(32) };
    if value.is_power_of_two() && (8..=1 << 16).contains(&value) {
        return Ok(value);
    }
    let what = format!("key `{name}` is {value}; it must be a power of two from 8 to 65536");
    Err(Error::new(Kind::Invalid, what).at(at))
}

/// What the file says of the set of shards it belongs to; `None` for a model in one file, also one
/// that was merged (its count is 0) or never divided (1).
fn split(
    bytes: &[u8],
    keys: &[Key],
    key_index: &HashMap<String, usize>,
) -> Result<Option<Split>, Error> {
    let read = |name| whole(bytes, keys, key_index, name);
    let Some((count, at)) = read("split.count")?.filter(|(count, _)| *count > 1) else {
        return Ok(None);
    };
    let bad = |what: String, at| Err(Error::new(Kind::Invalid, what).at(at));
    if count > MAX_SHARDS {
        let what = format!("a shard of a model in {count} files; {MAX_SHARDS} are allowed");
        return bad(what, at);
    }
    match read("split.no")? {
        Some((no, _)) if no < count => {
            let tensors = read("split.tensors.count")?.map(|(tensors, _)| tensors);
            Ok(Some(Split { no, count, tensors }))
        }
        Some((no, at)) => bad(format!("key `split.no` is {no} in a model of {count} files"), at),
        None => {
            let what = format!("a shard of a model in {count} files without its number");
            let error = Error::new(Kind::Missing, what).at(at);
            Err(error.hint("key `split.no` is missing"))
        }
    }
}

fn tensor(reader: &mut Reader<'_>) -> Result<(TensorInfo, u64, u64), Error> {
    let at = reader.at as u64;
    let name = reader.name("name of a tensor")?;
    let bad = |kind, what: String| Err(Error::new(kind, format!("tensor `{name}`: {what}")).at(at));
    let what = format!("entry of tensor `{name}`");
    let dim_count = reader.u32(&what)?;
    if dim_count == 0 || dim_count > MAX_DIMS {
        return bad(Kind::Invalid, format!("{dim_count} dimensions; 1 to {MAX_DIMS} are allowed"));
    }
    let mut dims = Vec::new();
    let mut values = 1u64;
    for _ in 0..dim_count {
        let dim = reader.u64(&what)?;
        if dim == 0 {
            return bad(Kind::Invalid, "a dimension is 0".into());
        }
        let Some(product) = values.checked_mul(dim).filter(|v| *v <= i64::MAX as u64) else {
            return bad(Kind::Invalid, "its size overflows".into());
        };
        values = product;
        dims.push(dim);
    }
    let id = reader.u32(&what)?;
    let Some(dtype) = DType::from_id(id) else {
        let text = match foreign(id) {
            Some(row) => {
                let (name, why) = (row.name, row.why);
                format!("storage type {name} ({id}) is not read by this engine: {why}")
            }
            None => format!("storage type {id} is not known to this engine"),
        };
        return bad(Kind::Unsupported, text);
    };
    if !dims[0].is_multiple_of(dtype.layout().values as u64) {
        let per = dtype.layout().values;
        let text =
            format!("rows of {} values do not fill {} blocks of {per}", dims[0], dtype.name());
        return bad(Kind::Invalid, text);
    }
    let offset = reader.u64(&what)?;
    Ok((TensorInfo { name, dims, dtype, shard: 0, range: 0..0 }, offset, at))
}

fn place(
    info: &mut TensorInfo,
    offset: u64,
    data: u64,
    alignment: u64,
    len: u64,
) -> Result<(), Error> {
    let bad = |kind, what: &str| Err(Error::new(kind, format!("tensor `{}`: {what}", info.name)));
    let Some(size) = info.dtype.bytes_for(info.values()) else {
        return bad(Kind::Invalid, "its size overflows");
    };
    if !offset.is_multiple_of(alignment) {
        let what = format!("its offset {offset} is not a multiple of {alignment}");
        return bad(Kind::Invalid, &what);
    }
    let end = data.checked_add(offset).and_then(|start| Some((start, start.checked_add(size)?)));
    match end {
        Some((start, end)) if end <= len => {
            info.range = start as usize..end as usize;
            Ok(())
        }
        Some((_, end)) => {
            let what = format!("it ends at byte {end}, the file at byte {len}; truncated file?");
            bad(Kind::Truncated, &what)
        }
        None => bad(Kind::Invalid, "its offset overflows"),
    }
}

fn overlaps(tensors: &[TensorInfo]) -> Result<(), Error> {
    let mut order: Vec<&TensorInfo> = tensors.iter().collect();
    order.sort_by_key(|info| info.range.start);
    for pair in order.windows(2) {
        if pair[0].range.end > pair[1].range.start {
            let what = format!("tensors `{}` and `{}` overlap", pair[0].name, pair[1].name);
            return Err(Error::new(Kind::Invalid, what).at(pair[1].range.start as u64));
        }
    }
    Ok(())
}
