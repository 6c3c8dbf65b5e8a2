//! From settings to something opened of a model's files: the name resolved, the lock and the claims
//! held against it, its licences allowed.

use std::path::PathBuf;

use recinto_engine::{Digest, Model, OpenOptions, StoreTemplate};
use recinto_store::{
    Files, Roots,
    licence::{self, Allowed, Licence},
};

use crate::{Error, Kind, Setting, Settings, held::Held, lock};

/// What was opened of a model, and what should be known about it.
pub struct Opened<T> {
    /// The thing itself: a model, an encoder, a judge.
    pub value: T,
    /// The name as asked for.
    pub name: String,
    /// Where it led.
    pub files: Files,
    /// Every licence that the file or its store states.
    pub licences: Vec<Licence>,
    /// What should be known of the files: who else may change them, and that no lock names them.
    pub warnings: Vec<String>,
    /// What a user should know about how the name was resolved.
    pub notes: Vec<String>,
}

/// Opens with `open` what `settings` name, in the stores that the environment names; `model` shows
/// the model in it.
///
/// # Errors
///
/// No model is set, its name leads to no file, its licence is not allowed, the file cannot be
/// opened, or the lock cannot be read or does not let it run.
pub fn open_as<T>(
    settings: &Settings,
    options: OpenOptions,
    open: impl FnOnce(&[PathBuf], &OpenOptions) -> Result<T, recinto_engine::Error>,
    model: impl Fn(&T) -> &Model,
) -> Result<Opened<T>, Error> {
    open_in(settings, &crate::roots()?, options, open, model)
}

/// The same in the stores of `roots`.
pub(crate) fn open_in<T>(
    settings: &Settings,
    roots: &Roots,
    options: OpenOptions,
    open: impl FnOnce(&[PathBuf], &OpenOptions) -> Result<T, recinto_engine::Error>,
    model: impl Fn(&T) -> &Model,
) -> Result<Opened<T>, Error> {
    let name = settings.model()?.value.clone();
    let files = lock::files_in(settings, &name, roots)?;
    let paths = model_files(&files)?;
    let held = Held::of(settings, &name, &files, roots)?;
    let mut claims = options.claims;
    claims.extend(held.claims(&files));
    let options = OpenOptions {
        arch_dir: settings.arch_folder()?.map(ToOwned::to_owned).or(options.arch_dir),
        threads: settings.threads.as_ref().map(|s| s.value).or(options.threads),
        level: settings.level.as_ref().map(|s| s.value).or(options.level),
        pin: settings.pin.as_ref().map_or(options.pin, |s| s.value),
        verify: held.verify(settings).unwrap_or(options.verify),
        name: Some(name.clone()),
        build: Some(crate::BUILD),
        claims,
        beside: lock::beside(&files.layers),
        session: settings.session(options.session.context),
        template: store_template(&files).or(options.template),
        ..options
    };
    let value = open(paths, &options)?;
    let (warnings, licences) = {
        let model = model(&value);
        let licences = licence::stated(&files, Some(model.file().metadata()));
        if let Some(list) = &settings.licenses {
            allowed(list, &files, &name, &licences, model)?;
        }
        (held.warnings(&files, model)?, licences)
    };
    let notes = files.notes.iter().map(ToString::to_string).collect();
    Ok(Opened { value, name, files, licences, warnings, notes })
}

/// The files of a model's weights, at least one: of GGUF in the order of shards, of a checkpoint
/// those in its folder.
///
/// # Errors
///
/// The name led to no file.
pub fn model_files(files: &Files) -> Result<&[PathBuf], Error> {
    match files.weights.is_empty() {
        false => Ok(&files.weights),
        true => Err(Error::new(Kind::Files, format!("no file holds weights: {}", files.name))),
    }
}

/// Whether the operator's list lets the model run.
fn allowed(
    list: &Setting<Allowed>,
    files: &Files,
    name: &str,
    licences: &[Licence],
    model: &Model,
) -> Result<(), Error> {
    if list.value.licences(licences) {
        return Ok(());
    }
    let digest = model.digests()?.weights;
    if list.value.digest(&digest) {
        return Ok(());
    }
    let stated: Vec<String> = licences.iter().map(|licence| format!("`{licence}`")).collect();
    let stated = match stated.len() {
        0 => "it states no licence".into(),
        1 => format!("its licence is {}", stated[0]),
        _ => format!("its licences are {}", stated.join(" and ")),
    };
    let (source, listed) = (&list.source, &list.value);
    let way = way_in(licences, &digest);
    let read = match &files.card.link {
        Some(link) => format!("; its text: {link}"),
        None => String::new(),
    };
    let what = format!("{name} may not run here: {stated}, its digest sha256:{digest}");
    Err(Error::new(Kind::Licence, what)
        .hint(format!("allowed are {listed} ({source}); {way}{read}")))
}

/// The chat template that a store keeps beside the weights.
fn store_template(files: &Files) -> Option<StoreTemplate> {
    let text = files.layers.template.clone()?;
    let store = format!("{} {}", files.store.title(), files.root.display());
    Some(StoreTemplate::Go { text, store })
}

/// What can be put in a list of allowed licences, so that a model with these runs.
fn way_in(stated: &[Licence], digest: &Digest) -> String {
    let words: Option<Vec<String>> =
        stated.iter().map(|licence| Some(format!("`{}`", licence.word()?))).collect();
    let digest = format!("`sha256:{digest}`");
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("add {}, or the digest {digest}", words.join(" and ")),
        // Nothing that is stated has a name that the list could hold.
        None => format!("add the digest {digest}: no word stands for what it states"),
    }
}
