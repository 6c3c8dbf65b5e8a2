//! What the headers of a model's file tell, and whether this engine runs it. Nothing is computed.

use std::{cell::RefCell, collections::BTreeMap, io::Read, path::Path};

use recinto_arch::{Archs, Kind as ArchKind, Options, OutputKind, Program, compile};
use recinto_chat::Template;
use recinto_engine::Digest;
use recinto_receipt::Hasher;
use recinto_store::{
    Files,
    licence::{self, Licence},
};
use recinto_tokenizer::Tokenizer;
use recinto_weights::{File, Kind, Metadata};
use serde::Serialize;

/// Names of `general.file_type`. Source: the numbers of the ggml project's file types.
const FILE_TYPES: &[(u64, &str)] = &[
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K_S"),
    (12, "Q3_K_M"),
    (13, "Q3_K_L"),
    (14, "Q4_K_S"),
    (15, "Q4_K_M"),
    (16, "Q5_K_S"),
    (17, "Q5_K_M"),
    (18, "Q6_K"),
    (19, "IQ2_XXS"),
    (20, "IQ2_XS"),
    (21, "Q2_K_S"),
    (22, "IQ3_XS"),
    (23, "IQ3_XXS"),
    (24, "IQ1_S"),
    (25, "IQ4_NL"),
    (26, "IQ3_S"),
    (27, "IQ3_M"),
    (28, "IQ2_S"),
    (29, "IQ2_M"),
    (30, "IQ4_XS"),
    (31, "IQ1_M"),
    (32, "BF16"),
    (36, "TQ1_0"),
    (37, "TQ2_0"),
    (38, "MXFP4_MOE"),
];
/// Bytes from the start of a file that are read when its tensors cannot be.
const HEADER: u64 = 64 << 20;
/// Where the number of tensors stands in a GGUF file.
const TENSOR_COUNT: std::ops::Range<usize> = 8..16;

/// What a header tells.
#[derive(Default)]
pub struct Glance {
    pub architecture: Option<String>,
    pub quantization: Option<String>,
    /// Positions it was trained on.
    pub context: Option<u64>,
    pub licences: Vec<Licence>,
    /// The command that it is for, where this engine runs it.
    pub command: Option<&'static str>,
    /// Why this engine does not run it, if it does not.
    pub lack: Option<Lack>,
}

/// Why this engine does not run a model.
#[derive(Debug, Serialize)]
pub struct Lack {
    /// `architecture`, `type`, `tokenizer`, `template`, `licence`; `file` for one that cannot be used
    /// at all.
    pub what: &'static str,
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether there is no arch file for it: one could be written.
    #[serde(skip)]
    pub unserved: bool,
}

/// What was found out about vocabularies, by the digest of their entries: building one takes longer
/// than the rest of a glance, and many models share theirs.
#[derive(Default)]
pub struct Vocabularies(RefCell<BTreeMap<Digest, Option<String>>>);

impl Vocabularies {
    /// What is wrong with the vocabulary of `file`, if anything is.
    fn fault(&self, file: &File) -> Option<String> {
        let counts = |key: &str| {
            let template = key.starts_with("tokenizer.chat_template");
            key.starts_with("tokenizer.") && !template || key == "general.architecture"
        };
        let mut hasher = Hasher::new();
        file.metadata().stored(counts).for_each(|entry| hasher.update(entry));
        let found = || Tokenizer::from_metadata(file.metadata()).err().map(|e| e.to_string());
        self.0.borrow_mut().entry(hasher.finish()).or_insert_with(found).clone()
    }
}

/// A licence, for programs.
#[derive(Serialize)]
pub struct Stated {
    id: Option<String>,
    allows: &'static str,
    source: &'static str,
}

impl Stated {
    pub fn of(licence: &Licence) -> Stated {
        let Licence { id, allows, source } = licence;
        Stated { id: id.clone(), allows: allows.name(), source }
    }
}

impl Lack {
    /// From an error's text, whose hint stands below it.
    pub fn new(what: &'static str, text: &str) -> Lack {
        let (why, hint) = match text.split_once("\nhint: ") {
            Some((why, hint)) => (why, Some(hint.to_owned())),
            None => (text, None),
        };
        let why = why.lines().next().unwrap_or_default().to_owned();
        Lack { what, why, hint, unserved: false }
    }
}

impl Glance {
    /// What the headers of `files` tell, for the architectures at hand.
    pub fn of(files: &Files, archs: &Archs, known: &Vocabularies) -> Glance {
        let paths = match recinto_provider::model_files(files) {
            Ok(paths) => paths,
            Err(error) => {
                let told = files.weights.first().and_then(|path| metadata_alone(path));
                let lack = Some(Lack::new("file", &error.to_string()));
                return Glance { lack, ..Glance::told(files, told.as_ref()) };
            }
        };
        match File::open_all(paths) {
            Ok(file) => {
                let quantization = quantization(&file);
                let (command, lack) = match runs(files, &file, archs, known) {
                    Ok(command) => (Some(command), None),
                    Err(lack) => (None, Some(lack)),
                };
                Glance { quantization, command, lack, ..Glance::told(files, Some(&file)) }
            }
            Err(error) => {
                let what = if error.kind() == Kind::Unsupported { "type" } else { "file" };
                let told = metadata_alone(&paths[0]);
                let lack = Some(Lack::new(what, &error.to_string()));
                Glance { lack, ..Glance::told(files, told.as_ref()) }
            }
        }
    }

    /// What named values tell.
    fn told(files: &Files, file: Option<&File>) -> Glance {
        let licences = licence::stated(files, file.map(File::metadata));
        let Some(file) = file else { return Glance { licences, ..Glance::default() } };
        let architecture = file.metadata().str("general.architecture").ok().flatten();
        let architecture = architecture.map(str::to_owned);
        let context = architecture
            .as_ref()
            .and_then(|name| file.metadata().u64(&format!("{name}.context_length")).ok().flatten());
        let quantization = file_type(file.metadata());
        Glance { architecture, quantization, context, licences, ..Glance::default() }
    }
}

/// The command that the model is for; or why there is none, as far as its header tells.
fn runs(
    files: &Files,
    file: &File,
    archs: &Archs,
    known: &Vocabularies,
) -> Result<&'static str, Lack> {
    let program = archs.find(file).and_then(|arch| compile(arch, file, &Options::default()));
    let program = program.map_err(|error| Lack {
        unserved: error.kind() == ArchKind::NoMatch,
        ..Lack::new("architecture", &error.to_string())
    })?;
    let command = command(&program)
        .ok_or_else(|| Lack::new("architecture", "it gives no logits to answer with"))?;
    if let Some(fault) = known.fault(file) {
        return Err(Lack::new("tokenizer", &fault));
    }
    if !program.whole
        && let Some(fault) = template(files, file)
    {
        let hint = Some("`--completion` goes without a template".to_owned());
        let lack = Lack::new("template", &format!("its chat template: {fault}"));
        return Err(Lack { hint: lack.hint.or(hint), ..lack });
    }
    Ok(command)
}

/// What a program is for: it writes, it reads for a judge, it makes vectors.
fn command(program: &Program) -> Option<&'static str> {
    match (program.whole, program.output.kind) {
        (false, OutputKind::Logits) => Some("ask"),
        (true, _) if program.name == "laya" => Some("judge"),
        (true, _) => Some("embed"),
        (false, _) => None,
    }
}

/// Why nothing can be asked through the template in use, if that is so: the store's where it can be
/// carried out, else the file's.
fn template(files: &Files, file: &File) -> Option<String> {
    let stored = files.layers.template.as_ref();
    if stored.is_some_and(|text| Template::from_go(text).is_ok()) {
        return None;
    }
    match file.metadata().str("tokenizer.chat_template") {
        Ok(text) => Template::new(text?, "", "").err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn file_type(metadata: Metadata<'_>) -> Option<String> {
    let number = metadata.u64("general.file_type").ok().flatten()?;
    FILE_TYPES.iter().find(|row| row.0 == number).map(|row| row.1.to_owned())
}

/// What the file says its quantization is; else the storage type with most bytes.
fn quantization(file: &File) -> Option<String> {
    let counted = || {
        let mut bytes: Vec<(&'static str, u64)> = Vec::new();
        for tensor in file.tensors() {
            let (name, size) = (tensor.dtype.name(), tensor.bytes() as u64);
            match bytes.iter_mut().find(|row| row.0 == name) {
                Some(row) => row.1 = row.1.saturating_add(size),
                None => bytes.push((name, size)),
            }
        }
        bytes.into_iter().max_by_key(|row| row.1).map(|row| row.0.to_ascii_uppercase())
    };
    file_type(file.metadata()).or_else(counted)
}

/// The named values of a file whose tensors are of a type that is not read: its header, with no
/// tensor announced.
fn metadata_alone(path: &Path) -> Option<File> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(HEADER).read_to_end(&mut bytes).ok()?;
    bytes.get_mut(TENSOR_COUNT)?.fill(0);
    File::from_bytes(bytes).ok()
}
