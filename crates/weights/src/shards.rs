//! The files of one model: a whole one, or shards that belong together and are all there.
//!
//! Source: the keys `split.no`, `split.count` and `split.tensors.count` and the names
//! `NAME-00001-of-00003.gguf` that the ggml project's tools write when they divide a model.

use std::{
    collections::HashMap,
    ops::Range,
    path::{Path, PathBuf},
};

use recinto_os::{Advice, Identity, Map};

use crate::{
    Error, File, Kind,
    file::refused,
    gguf::{self, Header, MAX_SHARDS, MAX_TENSORS, Split},
    safetensors,
};

/// Most missing files that an error lists by name.
const SHOWN: usize = 8;

/// One file of an opened model.
pub struct Shard {
    pub(crate) map: Map,
    pub(crate) path: Option<PathBuf>,
    pub(crate) data: usize,
}

impl Shard {
    /// Every byte of the file, as mapped; of a pinned copy, with what was rewritten in it.
    pub fn bytes(&self) -> &[u8] {
        self.map.bytes()
    }

    /// Where the tensors' bytes lie: from the end of the header, padding passed, to the end of
    /// the file.
    pub fn data_range(&self) -> Range<usize> {
        self.data..self.map.bytes().len()
    }

    /// The file's identity when it was mapped; `None` for bytes in memory.
    pub fn identity(&self) -> Option<Identity> {
        self.map.identity()
    }

    /// Whether the file on disk is still the one that was mapped; true for a pinned copy.
    pub fn unchanged(&self) -> bool {
        self.map.unchanged().unwrap_or(false)
    }

    /// The path it was opened by; `None` for bytes in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// A file whose own header is sound; whether others belong to it is not settled yet.
pub(crate) struct Part {
    pub map: Map,
    pub path: Option<PathBuf>,
    pub header: Header,
}

impl Part {
    pub fn new(map: Map, path: Option<PathBuf>) -> Result<Part, Error> {
        let bytes = map.bytes();
        let header = match safetensors::begins(bytes) {
            true => safetensors::parse(bytes)?,
            false => gguf::parse(bytes)?,
        };
        Ok(Part { map, path, header })
    }

    pub fn open(path: &Path) -> Result<Part, Error> {
        let map = Map::open(path).map_err(|e| refused(path, &e))?;
        // Before the first touch: what is not cached yet then comes in large pages where the file
        // system has them. A refusal changes nothing.
        let _ = map.advise(Advice::HugePage);
        Part::new(map, Some(path.to_owned()))
    }

    /// How errors call it: by its file's name, or as what it says it is.
    fn called(&self) -> String {
        match (&self.path, &self.header.split) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(split)) => numbered(split.no, split.count),
            (None, None) => "a file".into(),
        }
    }
}

/// `shard 2 of 3`, counted from 1 as in the names of files.
fn numbered(no: u64, count: u64) -> String {
    format!("shard {} of {count}", no + 1)
}

/// The model that `part`, opened from `path`, belongs to; the rest of it lies beside.
pub(crate) fn beside(part: Part, path: &Path) -> Result<File, Error> {
    let Some(split) = part.header.split else { return together(1, [Ok(part)]) };
    let (called, this) = (path.display(), numbered(split.no, split.count));
    let Some(name) = Name::of(path) else {
        let what = format!("{called} is {this}, and its name does not lead to the others");
        return Err(Error::new(Kind::Unsupported, what)
            .hint("shards are found by names that end in `-00001-of-00003.gguf` and the like"));
    };
    if (name.no, name.count) != (split.no + 1, split.count) {
        let what = format!(
            "{called} is {this} by what it holds, and by its name shard {} of {}",
            name.no, name.count
        );
        return Err(Error::new(Kind::Invalid, what).hint("give the file its former name"));
    }
    let others = (0..split.count).map(|no| (no, path.with_file_name(name.with(no))));
    let gone = |path: &Path| {
        std::fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
    };
    let missing = others.clone().filter(|(no, path)| *no != split.no && gone(path));
    let missing: Vec<String> = missing.map(|(_, path)| path.display().to_string()).collect();
    if !missing.is_empty() {
        let what = format!("{called} is {this}, and beside it {} missing", listed(&missing));
        return Err(Error::new(Kind::Missing, what).hint("all shards must be in one folder"));
    }
    let mut this = Some(part);
    let parts = others.map(|(no, path)| match this.take_if(|_| no == split.no) {
        Some(part) => Ok(part),
        None => Part::open(&path).map_err(|e| e.within(&path.display().to_string())),
    });
    together(split.count as usize, parts)
}

/// `A is`, `A and B are`, and so on; many are counted.
fn listed(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        [all @ .., last] if names.len() <= SHOWN => format!("{} and {last} are", all.join(", ")),
        _ => format!("{} and {} more are", names[..SHOWN].join(", "), names.len() - SHOWN),
    }
}

/// A file's name as the ggml project's tools write it for a shard.
struct Name<'a> {
    stem: &'a str,
    no: u64,
    count: u64,
}

impl Name<'_> {
    fn of(path: &Path) -> Option<Name<'_>> {
        let name = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
        let number = |digits: &str| {
            let sound = digits.len() == 5 && digits.bytes().all(|c| c.is_ascii_digit());
            sound.then(|| digits.parse().ok())?
        };
        let (rest, count) = name.rsplit_once("-of-")?;
        let (stem, no) = rest.rsplit_once('-')?;
        Some(Name { stem, no: number(no)?, count: number(count)? })
    }

    /// The name of shard `no`, counted from 0, of the same set.
    fn with(&self, no: u64) -> String {
        format!("{}-{:05}-of-{:05}.gguf", self.stem, no + 1, self.count)
    }
}

/// The files of a model in several, by the name of one of them, itself included; empty when it has
/// no such name. Whether they are there, and belong together, is not asked.
pub fn siblings(path: &Path) -> Vec<PathBuf> {
    match Name::of(path) {
        Some(name) if (1..=MAX_SHARDS).contains(&name.count) => {
            (0..name.count).map(|no| path.with_file_name(name.with(no))).collect()
        }
        _ => Vec::new(),
    }
}

/// One model of `count` parts in their order; each is opened when its turn comes.
pub(crate) fn together(
    count: usize,
    parts: impl IntoIterator<Item = Result<Part, Error>>,
) -> Result<File, Error> {
    if count == 0 || count as u64 > MAX_SHARDS {
        let what = format!("{count} files given; a model has 1 to {MAX_SHARDS}");
        return Err(Error::new(Kind::Invalid, what));
    }
    let parts = parts.into_iter().collect::<Result<Vec<Part>, Error>>()?;
    match &parts[..] {
        [one] if one.header.split.is_none() => {}
        _ => one_set(&parts)?,
    }
    let mut shards = Vec::with_capacity(parts.len());
    let mut header: Option<Header> = None;
    for (index, Part { map, path, header: own }) in parts.into_iter().enumerate() {
        shards.push(Shard { map, path, data: own.data });
        let Some(header) = &mut header else {
            header = Some(own);
            continue;
        };
        for mut info in own.tensors {
            info.shard = index;
            header.names.insert(info.name.clone(), header.tensors.len());
            header.tensors.push(info);
        }
    }
    match header {
        Some(header) => Ok(File { header, shards, checkpoint: None }),
        None => Err(Error::new(Kind::Invalid, "no file given")),
    }
}

/// Refuses what is not exactly one whole set of shards in order.
fn one_set(parts: &[Part]) -> Result<(), Error> {
    let bad = |what: String| Err(Error::new(Kind::Invalid, what));
    let mut splits: Vec<Split> = Vec::with_capacity(parts.len());
    for part in parts {
        let Some(split) = part.header.split else {
            return bad(format!("{} is a whole model, not a shard of one", part.called()));
        };
        splits.push(split);
    }
    let (first, count) = (&parts[0], splits[0].count);
    let names: Vec<Option<Name<'_>>> =
        parts.iter().map(|part| part.path.as_deref().and_then(Name::of)).collect();
    let stem = names.iter().flatten().map(|name| name.stem).next();
    let apart = |part: &Part, why: &str| {
        let (a, b) = (first.called(), part.called());
        let what = format!("{a} and {b} are not of one model: {why}");
        Err(Error::new(Kind::Invalid, what).hint("give the shards of one model, all of them"))
    };
    let mut places: HashMap<u64, &Part> = HashMap::new();
    for ((part, split), name) in parts.iter().zip(&splits).zip(&names) {
        if split.count != count {
            return apart(part, &format!("one is in {count} files, the other in {}", split.count));
        }
        if split.tensors.is_some() && split.tensors != splits[0].tensors {
            return apart(part, "they say different numbers of tensors");
        }
        if name.as_ref().is_some_and(|name| Some(name.stem) != stem) {
            return apart(part, "their names differ in more than the number");
        }
        if let Some(other) = places.insert(split.no, part) {
            let (a, b) = (other.called(), part.called());
            return bad(format!("{a} and {b} are both {}", numbered(split.no, count)));
        }
    }
    let missing = (0..count).filter(|no| !places.contains_key(no));
    let missing: Vec<String> = missing.map(|no| numbered(no, count)).collect();
    if !missing.is_empty() {
        let what = format!("{}: {} missing", first.called(), listed(&missing));
        let hint = "give all files of the model, or any one of them beside the others";
        return Err(Error::new(Kind::Missing, what).hint(hint));
    }
    let mut order = (1..).zip(parts.iter().zip(&splits));
    if let Some((place, (part, split))) = order.find(|(at, (_, split))| split.no + 1 != *at) {
        let (called, this) = (part.called(), numbered(split.no, count));
        let what = format!("{called} is {this}, and is given in place {place}");
        return Err(Error::new(Kind::Invalid, what).hint("give the shards in their order"));
    }
    for part in &parts[1..] {
        if let Some(key) = differing(first, part) {
            return apart(part, &format!("they differ in key `{key}`"));
        }
    }
    tensors(parts, splits[0].tensors)
}

/// The first key of a later shard that the first one does not have with the same value. What
/// describes the shard itself may differ.
fn differing<'p>(first: &Part, part: &'p Part) -> Option<&'p str> {
    let own = |name: &str| name.starts_with("split.") || name == "general.alignment";
    let stored = |part: &Part, at: usize| {
        let key = &part.header.keys[at];
        part.map.bytes()[key.start..key.range.end].to_vec()
    };
    let keys = part.header.keys.iter().enumerate();
    let mut keys = keys.filter(|(_, key)| !own(&key.name));
    let differs = |at: usize, name: &str| match first.header.key_index.get(name) {
        Some(&there) => stored(first, there) != stored(part, at),
        None => true,
    };
    keys.find(|(at, key)| differs(*at, &key.name)).map(|(_, key)| key.name.as_str())
}

/// All tensors are there, and none twice.
fn tensors(parts: &[Part], announced: Option<u64>) -> Result<(), Error> {
    let called = parts[0].called();
    let Some(announced) = announced else {
        let what = format!("{called}: key `split.tensors.count` is missing");
        return Err(Error::new(Kind::Missing, what));
    };
    let found: u64 = parts.iter().map(|part| part.header.tensors.len() as u64).sum();
    if found != announced || found > MAX_TENSORS {
        let what = format!(
            "{called}: key `split.tensors.count` is {announced}, and the shards have {found} \
             tensors; {MAX_TENSORS} are allowed"
        );
        return Err(Error::new(Kind::Invalid, what));
    }
    let mut holders: HashMap<&str, &Part> = HashMap::new();
    for part in parts {
        for info in &part.header.tensors {
            if let Some(other) = holders.insert(&info.name, part) {
                let (a, b) = (other.called(), part.called());
                let what = format!("tensor `{}` is in {a} and in {b}", info.name);
                return Err(Error::new(Kind::Invalid, what));
            }
        }
    }
    Ok(())
}
