//! `recinto inspect`: what is in a model file, without running it.

use std::{collections::BTreeMap, path::PathBuf};

use recinto_arch::{Options, compile};
use recinto_store::{
    Files, Params, Store,
    licence::{self, Licence},
};
use recinto_tokenizer::{Description, Tokenizer};
use recinto_weights::{Array, File, Format, Value};
use serde::Serialize;
use serde_json::json;

use crate::{
    command::status::Row,
    envelope,
    exit::Exit,
    failure::Failure,
    glance::Stated,
    interrupt::Interrupt,
    open::{self, ArchArgs, OutputArgs},
    screen::Screen,
};

/// Elements of an array that are shown.
const SHOWN: usize = 4;
/// Characters of a text that are shown.
const CHARACTERS: usize = 72;

const EXAMPLES: &str = "\
Examples:
  recinto inspect ./qwen.gguf
  recinto inspect qwen3:0.6b
  recinto inspect hf:org/repo:Q4_K_M
  recinto inspect ./qwen.gguf --tensors
  recinto inspect ./qwen.gguf --json | jq .metadata";

/// Show what is in a model: its files and their store, metadata, tensors, tokenizer, licence
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The model: a path, or a name of a store
    #[arg(value_name = "NAME")]
    name: String,

    /// List every tensor
    #[arg(long)]
    tensors: bool,

    #[command(flatten)]
    archs: ArchArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Tensors of one storage type.
#[derive(Default, Serialize)]
struct Kind {
    tensors: usize,
    values: u64,
    bytes: u64,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.archs.settings()?;
    let files = open::files_of(&settings, &args.name)?;
    let file = open::model_file(&files)?;
    let path = files.weights[0].clone();
    let archs = open::archs(&settings)?;
    let fits = archs.find(&file).and_then(|arch| compile(arch, &file, &Options::default()));
    let tokenizer = match &fits {
        Ok(program) => Tokenizer::with_rows(file.metadata(), program.vocabulary),
        Err(_) => Tokenizer::from_metadata(file.metadata()),
    };
    let tokenizer = tokenizer.map_err(|e| e.to_string());
    let assumed = fits.as_ref().map(|program| program.notes.clone()).unwrap_or_default();
    let architecture = fits.map(|program| program.name).map_err(|e| e.to_string());
    let (pin, verify) = (Row::of(&settings, "pin"), Row::verify(&settings));
    let licences = licence::stated(&files, Some(file.metadata()));
    let found =
        Found { files, path, file, architecture, assumed, tokenizer, licences, pin, verify };
    match args.output.json {
        true => found.json(&mut screen, args.tensors)?,
        false => found.lines(&mut screen, args.tensors)?,
    }
    Ok(Exit::Done)
}

struct Found {
    files: Files,
    path: PathBuf,
    file: File,
    architecture: Result<String, String>,
    /// What the file does not say and its arch file assumes.
    assumed: Vec<String>,
    tokenizer: Result<Tokenizer, String>,
    licences: Vec<Licence>,
    /// How an answer from this file would hold its weights, and verify them.
    pin: Row,
    verify: Row,
}

impl Found {
    fn kinds(&self) -> BTreeMap<&'static str, Kind> {
        let mut kinds = BTreeMap::<_, Kind>::new();
        for tensor in self.file.tensors() {
            let kind = kinds.entry(tensor.dtype.name()).or_default();
            kind.tensors += 1;
            kind.values += tensor.values();
            kind.bytes += tensor.bytes() as u64;
        }
        kinds
    }

    fn template(&self) -> Option<&str> {
        self.file.metadata().str("tokenizer.chat_template").ok().flatten()
    }

    /// The files it lies in, with their sizes.
    fn files(&self) -> serde_json::Value {
        let files = self.file.shards().iter();
        files.map(|shard| json!({ "file": shard.path(), "bytes": shard.bytes().len() })).collect()
    }

    /// What is unusual about the vocabulary.
    fn notes(&self) -> &[String] {
        self.tokenizer.as_ref().map_or(&[], Tokenizer::notes)
    }

    /// What the file's own keys say of its licence.
    fn licence_keys(&self) -> Vec<(&str, String)> {
        let keys = self.file.metadata().iter().filter(|(key, _)| key.contains("license"));
        keys.map(|(key, value)| (key, shown(value))).collect()
    }

    fn lines(&self, screen: &mut Screen, tensors: bool) -> Result<(), Failure> {
        let (path, bytes) = (self.path.display(), self.file.size());
        let format = match self.file.format() {
            Format::Gguf(version) => format!("GGUF {version}"),
            Format::Safetensors => "safetensors".into(),
        };
        let files = match self.file.shards().len() {
            1 => String::new(),
            n => format!(" in {n} files"),
        };
        screen.row(&format!("file          {path} ({bytes} bytes{files}, {format})"))?;
        self.store_lines(screen)?;
        screen.row(&match &self.architecture {
            Ok(name) => format!("architecture  {name}: available"),
            Err(why) => format!("architecture  not available: {}", first_line(why)),
        })?;
        for note in &self.assumed {
            screen.row(&format!("  note        {note}"))?;
        }
        screen.row(&match &self.tokenizer {
            Ok(tokenizer) => format!("tokenizer     {}", described(tokenizer)),
            Err(why) => format!("tokenizer     not available: {}", first_line(why)),
        })?;
        for note in self.notes() {
            screen.row(&format!("  note        {note}"))?;
        }
        screen.row(&match self.template() {
            Some(text) => format!("template      {} characters", text.chars().count()),
            None => "template      none: texts are continued as they stand".into(),
        })?;
        if self.licences.is_empty() {
            screen.line("licence       not stated")?;
        }
        for licence in &self.licences {
            let (allows, source) = (licence.allows.name(), licence.source);
            screen.row(&format!("licence       {licence}: {allows} ({source})"))?;
        }
        if let Some(link) = &self.files.card.link {
            screen.row(&format!("  link        {} (model card)", quoted(link)))?;
        }
        for (key, value) in self.licence_keys() {
            screen.row(&format!("  key         {key} = {value}"))?;
        }
        screen.row(&format!("pin           {}", self.pin.line()))?;
        screen.row(&format!("verify        {}", self.verify.line()))?;
        screen.line("")?;
        screen.line("tensors")?;
        for (name, kind) in self.kinds() {
            let Kind { tensors, values, bytes } = kind;
            let counts = format!("{tensors:>5} {values:>14} values {bytes:>14} bytes");
            screen.row(&format!("  {name:<6} {counts}"))?;
        }
        if tensors {
            for tensor in self.file.tensors() {
                let dims: Vec<String> = tensor.dims.iter().map(ToString::to_string).collect();
                let (name, dtype) = (&tensor.name, tensor.dtype.name());
                screen.row(&format!("  {name:<40} {dtype:<6} [{}]", dims.join(", ")))?;
            }
        }
        screen.line("")?;
        screen.line("metadata")?;
        for (key, value) in self.file.metadata().iter() {
            screen.row(&format!("  {key} = {}", shown(value)))?;
        }
        Ok(())
    }

    /// Who keeps the model, and what it keeps beside the weights.
    fn store_lines(&self, screen: &mut Screen) -> Result<(), Failure> {
        let Files { store, name, root, layers, notes, .. } = &self.files;
        let title = store.title();
        screen.row(&match store {
            Store::Path => format!("store         none: {name}"),
            _ => format!("store         {title} {}, {name}", root.display()),
        })?;
        for digest in self.files.claimed.iter().flatten() {
            screen.row(&format!("digest        sha256:{digest} (claimed by the store)"))?;
        }
        if let Some(text) = &layers.template {
            let count = text.chars().count();
            let standing = match recinto_chat::Template::from_go(text) {
                Ok(_) => "in use".into(),
                Err(error) => {
                    let why = error.to_string();
                    format!("not in use: {}", why.lines().next().unwrap_or_default())
                }
            };
            let what = format!("{count} characters of the store, in Go's language; {standing}");
            screen.row(&format!("  template    {what}"))?;
        }
        if let Some(text) = &layers.system {
            screen.row(&format!("  system      {}", quoted(text)))?;
        }
        for (name, value) in parameters(&layers.params) {
            screen.row(&format!("  parameter   {name} = {value}"))?;
        }
        if !layers.messages.is_empty() {
            let count = layers.messages.len();
            screen.row(&format!("  messages    {count} before the conversation"))?;
        }
        notes.iter().try_for_each(|note| screen.row(&format!("  note        {note}")))
    }

    fn json(&self, screen: &mut Screen, tensors: bool) -> Result<(), Failure> {
        let metadata: serde_json::Map<_, _> =
            self.file.metadata().iter().map(|(key, v)| (key.to_owned(), whole(v))).collect();
        let mut body = json!({
            "file": self.path,
            "bytes": self.file.size(),
            "files": self.files(),
            "format": match self.file.format() {
                Format::Gguf(_) => "gguf",
                Format::Safetensors => "safetensors",
            },
            "version": match self.file.format() {
                Format::Gguf(version) => Some(version),
                Format::Safetensors => None,
            },
            "architecture": self.architecture.as_ref().ok(),
            "architecture_error": self.architecture.as_ref().err(),
            "architecture_notes": self.assumed,
            "tokenizer": self.tokenizer.as_ref().ok().map(described),
            "tokenizer_error": self.tokenizer.as_ref().err(),
            "tokenizer_notes": self.notes(),
            "template": self.template(),
            "licence": self.licence_keys().into_iter().collect::<BTreeMap<_, _>>(),
            "licences": self.licences.iter().map(Stated::of).collect::<Vec<_>>(),
            "store": {
                "kind": self.files.store.name(),
                "root": self.files.root,
                "name": self.files.name,
                "files": self.files.weights,
                "claimed_digests": self.files.claimed,
                "template": self.files.layers.template,
                "system": self.files.layers.system,
                "parameters": parameters(&self.files.layers.params)
                    .into_iter().collect::<serde_json::Map<_, _>>(),
                "messages": self.files.layers.messages.len(),
                "licence_texts": self.files.layers.licences,
                "licence_link": self.files.card.link,
                "notes": self.files.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            },
            "dtypes": self.kinds(),
            "metadata": metadata,
            "settings": { "pin": self.pin, "verify": self.verify },
        });
        if tensors {
            let list = self.file.tensors().iter().map(|tensor| {
                json!({
                    "name": tensor.name,
                    "dtype": tensor.dtype.name(),
                    "dims": tensor.dims,
                    "bytes": tensor.bytes(),
                })
            });
            body["tensors"] = list.collect();
        }
        envelope::print(screen, "inspect", body)
    }
}

/// The parameters that a store sets, by their names there.
fn parameters(params: &Params) -> Vec<(String, serde_json::Value)> {
    let rows = [
        ("temperature", json!(params.temperature)),
        ("top_k", json!(params.top_k)),
        ("top_p", json!(params.top_p)),
        ("min_p", json!(params.min_p)),
        ("repeat_penalty", json!(params.repeat_penalty)),
        ("repeat_last_n", json!(params.repeat_last_n)),
        ("presence_penalty", json!(params.presence_penalty)),
        ("frequency_penalty", json!(params.frequency_penalty)),
        ("seed", json!(params.seed)),
        ("num_ctx", json!(params.num_ctx)),
        ("num_predict", json!(params.num_predict)),
        ("stop", if params.stop.is_empty() { json!(null) } else { json!(params.stop) }),
    ];
    let set = rows.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn described(tokenizer: &Tokenizer) -> String {
    let Description { model, pre, pieces, merges } = tokenizer.describe();
    format!("{model}, pre-tokenizer {pre}, {pieces} pieces, {merges} merges")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A value on one line, long ones shortened.
fn shown(value: Value<'_>) -> String {
    match value {
        Value::Str(text) => quoted(text),
        Value::Array(array) => {
            let first = match (array.strings(), array.scalars()) {
                (Some(texts), _) => texts.take(SHOWN).map(quoted).collect(),
                (_, Some(values)) => values.take(SHOWN).map(shown).collect(),
                _ => Vec::new(),
            };
            let more = if array.len() > SHOWN { ", …" } else { "" };
            format!("{} × {} [{}{more}]", array.len(), array.element().name(), first.join(", "))
        }
        other => whole(other).to_string(),
    }
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(CHARACTERS).collect();
    let more = text.chars().count().saturating_sub(CHARACTERS);
    match more {
        0 => format!("{shown:?}"),
        n => format!("{shown:?} and {n} characters more"),
    }
}

/// A value as JSON; of an array its type and length, not its elements.
fn whole(value: Value<'_>) -> serde_json::Value {
    let float = |v: f64| match serde_json::Number::from_f64(v) {
        Some(number) => number.into(),
        None => json!(v.to_string()),
    };
    match value {
        Value::U8(v) => v.into(),
        Value::I8(v) => v.into(),
        Value::U16(v) => v.into(),
        Value::I16(v) => v.into(),
        Value::U32(v) => v.into(),
        Value::I32(v) => v.into(),
        Value::U64(v) => v.into(),
        Value::I64(v) => v.into(),
        // The shortest decimal of the 32-bit value, not of its 64-bit neighbour.
        Value::F32(v) => float(v.to_string().parse().unwrap_or(f64::from(v))),
        Value::F64(v) => float(v),
        Value::Bool(v) => v.into(),
        Value::Str(v) => v.into(),
        Value::Array(array) => outline(array),
    }
}

fn outline(array: Array<'_>) -> serde_json::Value {
    json!({ "array": array.element().name(), "length": array.len() })
}
