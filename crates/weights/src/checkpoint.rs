//! Folders with a checkpoint: safetensors files, and beside them small files of JSON whose values
//! become keys (`docs/checkpoints.md`).

use std::path::{Path, PathBuf};

use recinto_os::Map;

use crate::{
    Error, File, Kind,
    entries::Entries,
    file::{index, refused},
    gguf::{Header, MAX_SHARDS, MAX_TENSORS},
    json::Json,
    reader::named,
    safetensors,
    shards::{Part, Shard},
};

/// What a small file's values are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Keys of the architecture, under this name.
    Architecture(&'static str),
    /// Keys under this name alone.
    Apart(&'static str),
    /// The vocabulary, one text: [`VOCABULARY`].
    Vocabulary,
}

/// The key that holds a whole `tokenizer.json`, by the name that GGUF gives it.
pub(crate) const VOCABULARY: &str = "tokenizer.huggingface.json";
/// The key of the architecture's name.
const ARCHITECTURE: &str = "general.architecture";

/// One small file: its path below the folder, what it is, the most bytes it may have.
type Document = (&'static str, Role, u64);

/// A kind of checkpoint: the file that marks it and must be there, the architecture's name where
/// `model_type` of that file does not say it, and the files that are read where they are there.
pub(crate) struct Layout {
    marker: &'static str,
    architecture: Option<&'static str>,
    documents: &'static [Document],
}

const SMALL: u64 = 4 << 20;
const LARGE: u64 = 128 << 20;

/// The kinds of checkpoints, the special ones first.
const LAYOUTS: &[Layout] = &[
    Layout {
        marker: "rl_agent_config.json",
        architecture: Some("laya"),
        documents: &[
            ("rl_agent_config.json", Role::Architecture("config"), SMALL),
            ("encoder/config.json", Role::Architecture("encoder"), SMALL),
            ("tokenizer/tokenizer.json", Role::Vocabulary, LARGE),
            ("tokenizer/tokenizer_config.json", Role::Apart("tokenizer.config"), SMALL),
        ],
    },
    Layout {
        marker: "config.json",
        architecture: None,
        documents: &[
            ("config.json", Role::Architecture("config"), SMALL),
            ("tokenizer.json", Role::Vocabulary, LARGE),
            ("tokenizer_config.json", Role::Apart("tokenizer.config"), SMALL),
            ("modules.json", Role::Apart("modules"), SMALL),
            ("1_Pooling/config.json", Role::Apart("pooling"), SMALL),
            ("sentence_bert_config.json", Role::Apart("sentence"), SMALL),
        ],
    },
];

/// Which parts of a checkpoint there are.
const INDEX: &str = "model.safetensors.index.json";

/// The small files in `folder` that decide with the weights what a checkpoint there is and says:
/// those of every kind of checkpoint, links too.
pub fn papers(folder: &Path) -> Vec<PathBuf> {
    let documents = LAYOUTS.iter().flat_map(|layout| layout.documents).map(|document| document.0);
    let files = documents.chain([INDEX]).map(|file| folder.join(file));
    files.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// Values that only repeat what the vocabulary says, by the thousands.
const LEFT_OUT: &[&str] = &["added_tokens_decoder"];

/// A small file of an opened checkpoint.
pub(crate) struct Paper {
    pub map: Map,
    pub path: Option<PathBuf>,
    /// Its place among the documents of its layout.
    pub document: usize,
}

/// What a checkpoint's files are, kept for those who copy them.
#[derive(Clone)]
pub(crate) struct Plan {
    pub layout: &'static Layout,
    /// How many of the files hold tensors; the small ones come after them.
    pub weights: usize,
    /// The documents that the others are.
    pub documents: Vec<usize>,
}

/// The checkpoint in `folder`: `model.safetensors`, or the files that
/// `model.safetensors.index.json` names, or the only `.safetensors` file.
pub(crate) fn open(folder: &Path) -> Result<File, Error> {
    let at = |name: &str| folder.join(name);
    if at("model.safetensors").exists() {
        return around(folder, vec![at("model.safetensors")], None);
    }
    if at(INDEX).exists() {
        let map = small(&at(INDEX), 64 << 20)?;
        let index = Index::read(map.bytes())?;
        let paths = index.files.iter().map(|file| at(file)).collect();
        return around(folder, paths, Some(&index));
    }
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|e| refused(folder, &e))?;
    let safetensors = |path: &PathBuf| path.extension().is_some_and(|end| end == "safetensors");
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(safetensors).collect();
    found.sort();
    match found.len() {
        1 => around(folder, found, None),
        0 => Err(Error::new(Kind::Missing, format!("{shown} has no .safetensors file"))
            .hint("a checkpoint is a folder with `config.json` and `model.safetensors`")),
        n => {
            let what = format!("{shown} has {n} .safetensors files and no index of them");
            Err(Error::new(Kind::Unsupported, what)
                .hint("`model.safetensors.index.json` says which belong together"))
        }
    }
}

/// The checkpoint of the weights in `paths`, whose small files are in `folder`.
pub(crate) fn around(
    folder: &Path,
    paths: Vec<PathBuf>,
    index: Option<&Index>,
) -> Result<File, Error> {
    let marked = |layout: &&Layout| folder.join(layout.marker).exists();
    let Some(layout) = LAYOUTS.iter().find(marked) else {
        let markers: Vec<&str> = LAYOUTS.iter().map(|layout| layout.marker).collect();
        let (shown, markers) = (folder.display(), markers.join("` nor `"));
        let what = format!("{shown} has neither `{markers}`, which say what the weights are");
        return Err(Error::new(Kind::Missing, what).hint("they belong beside the weights"));
    };
    let weights = paths.into_iter().map(|path| {
        Part::open(&path).and_then(Part::safetensors).map_err(|e| e.within(&shown(&path)))
    });
    let weights = weights.collect::<Result<Vec<Part>, Error>>()?;
    if let Some(index) = index {
        index.holds(&weights)?;
    }
    let mut papers = Vec::new();
    for (document, (name, role, most)) in layout.documents.iter().enumerate() {
        let path = folder.join(name);
        if path.exists() {
            papers.push(Paper { map: small(&path, *most)?, path: Some(path), document });
        } else if let Role::Architecture(_) = role {
            // Without it every key that the architecture wants would be missing.
            return Err(Error::new(Kind::Missing, format!("{} does not exist", path.display()))
                .hint(format!("`{}` beside it says what the model is", layout.marker)));
        }
    }
    assemble(layout, weights, papers)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Maps a small file.
fn small(path: &Path, most: u64) -> Result<Map, Error> {
    let map = Map::open(path).map_err(|e| refused(path, &e))?;
    let size = map.bytes().len() as u64;
    if size > most {
        let what = format!("{} has {size} bytes; {most} are allowed", path.display());
        return Err(Error::new(Kind::Invalid, what));
    }
    Ok(map)
}

/// One model of the weights and the small files.
pub(crate) fn assemble(
    layout: &'static Layout,
    weights: Vec<Part>,
    papers: Vec<Paper>,
) -> Result<File, Error> {
    let mut entries = Entries::default();
    read(layout, &papers, &mut entries)?;
    let key_index = index(entries.keys.iter().map(|key| key.name.as_str())).map_err(|at| {
        let what = format!("key `{}` comes of two values", entries.keys[at].name);
        Error::new(Kind::Invalid, what)
    })?;
    let mut header = Header { key_index, keys: entries.keys, ..Header::default() };
    let plan = Plan {
        layout,
        weights: weights.len(),
        documents: papers.iter().map(|paper| paper.document).collect(),
    };
    let mut shards = Vec::with_capacity(weights.len() + papers.len());
    for (shard, Part { map, path, header: own }) in weights.into_iter().enumerate() {
        for mut info in own.tensors {
            info.shard = shard;
            if header.names.insert(info.name.clone(), header.tensors.len()).is_some() {
                let what = format!("tensor `{}` is in two files", info.name);
                return Err(Error::new(Kind::Invalid, what));
            }
            header.tensors.push(info);
        }
        header.others.extend(own.others);
        shards.push(Shard { map, path, data: own.data });
    }
    if header.tensors.len() as u64 > MAX_TENSORS {
        let what = format!("{} tensors; {MAX_TENSORS} are allowed", header.tensors.len());
        return Err(Error::new(Kind::Invalid, what));
    }
    for Paper { map, path, .. } in papers {
        let data = map.bytes().len();
        shards.push(Shard { map, path, data });
    }
    Ok(File { header, shards, checkpoint: Some((plan, entries.bytes.into())) })
}

/// Makes keys of the small files.
fn read(layout: &Layout, papers: &[Paper], entries: &mut Entries) -> Result<(), Error> {
    let mut values = Vec::with_capacity(papers.len());
    for paper in papers {
        let (name, role, _) = layout.documents[paper.document];
        let called = paper.path.as_deref().map_or(name.to_owned(), shown);
        values.push(match role {
            Role::Vocabulary => {
                let text = std::str::from_utf8(paper.map.bytes());
                let bad = |_| Error::new(Kind::Invalid, format!("{called} is not UTF-8"));
                Json::Str(text.map_err(bad)?.to_owned())
            }
            _ => Json::parse(paper.map.bytes(), &called)?,
        });
    }
    let found = |paper: &&Paper| layout.documents[paper.document].0 == layout.marker;
    let marker = papers.iter().position(|paper| found(&paper)).map(|at| &values[at]);
    let architecture = match layout.architecture {
        Some(name) => name,
        None => model_type(marker.unwrap_or(&Json::Null))?,
    };
    entries.text(ARCHITECTURE, architecture)?;
    for (paper, value) in papers.iter().zip(&values) {
        let (name, role, _) = layout.documents[paper.document];
        let prefix = match role {
            Role::Architecture(name) => format!("{architecture}.{name}"),
            Role::Apart(name) => name.to_owned(),
            Role::Vocabulary => VOCABULARY.to_owned(),
        };
        match (role, value) {
            (Role::Architecture(_) | Role::Apart(_), Json::Map(map)) => {
                entries.map(&prefix, map, LEFT_OUT)?;
            }
            (Role::Apart(_), Json::List(_)) | (Role::Vocabulary, _) => {
                entries.value(&prefix, value)?;
            }
            _ => return Err(Error::new(Kind::Invalid, format!("{name} is no JSON map"))),
        }
    }
    Ok(())
}

/// The architecture that a `config.json` names.
fn model_type(config: &Json) -> Result<&str, Error> {
    let Some(name) = config.get("model_type").and_then(Json::str) else {
        let what = "config.json does not say what the model is: no `model_type`";
        return Err(Error::new(Kind::Missing, what));
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        let what = "`model_type` of config.json is no name of letters, digits, `-` and `_`";
        return Err(Error::new(Kind::Invalid, what));
    }
    Ok(name)
}

/// `model.safetensors.index.json`: which file has which tensor.
pub(crate) struct Index {
    /// Each tensor with the place of its file.
    tensors: Vec<(String, usize)>,
    /// Names of files, sorted.
    files: Vec<String>,
}

impl Index {
    fn read(bytes: &[u8]) -> Result<Index, Error> {
        let what = "model.safetensors.index.json";
        let bad = |why: &str| Error::new(Kind::Invalid, format!("{what}: {why}"));
        let index = Json::parse(bytes, what)?;
        let Some(Json::Map(map)) = index.get("weight_map") else {
            return Err(bad("its `weight_map` is no map"));
        };
        let mut rows = Vec::with_capacity(map.len());
        for (tensor, file) in map {
            named(tensor, "name of a tensor")?;
            let file = file.str().ok_or_else(|| bad("a tensor's file is no text"))?;
            named(file, "name of a file")?;
            if !file.ends_with(".safetensors") || file.contains(['/', '\\']) {
                return Err(bad("a file is named that is not beside it, or no .safetensors"));
            }
            rows.push((tensor, file));
        }
        let mut files: Vec<String> = rows.iter().map(|row| row.1.to_owned()).collect();
        files.sort();
        files.dedup();
        if files.is_empty() || files.len() as u64 > MAX_SHARDS {
            return Err(bad(&format!("{} files; 1 to {MAX_SHARDS} are allowed", files.len())));
        }
        let place = |file: &str| files.binary_search_by(|f| f.as_str().cmp(file)).unwrap_or(0);
        let tensors = rows.iter().map(|(name, file)| ((*name).clone(), place(file))).collect();
        Ok(Index { tensors, files })
    }

    /// Whether every file has the tensors that the index says, and no other.
    fn holds(&self, weights: &[Part]) -> Result<(), Error> {
        let has = |part: &Part, name: &str| {
            let other = || part.header.others.iter().any(|other| other.name == name);
            part.header.names.contains_key(name) || other()
        };
        for (name, file) in &self.tensors {
            if !weights.get(*file).is_some_and(|part| has(part, name)) {
                let file = &self.files[*file];
                let what = format!("tensor `{name}` is not in {file}, where the index has it");
                return Err(Error::new(Kind::Invalid, what));
            }
        }
        let count = |part: &Part| part.header.tensors.len() + part.header.others.len();
        let all: usize = weights.iter().map(count).sum();
        if all != self.tensors.len() {
            let what = format!("the files have {all} tensors, their index {}", self.tensors.len());
            return Err(Error::new(Kind::Invalid, what));
        }
        Ok(())
    }
}

impl Part {
    /// The same, if it holds tensors of safetensors.
    fn safetensors(self) -> Result<Part, Error> {
        match safetensors::begins(self.map.bytes()) {
            true => Ok(self),
            false => Err(Error::new(Kind::Unsupported, "not a safetensors file")),
        }
    }
}
