//! `recinto lock`: write down what models are by their digests, and check that they still are.

use std::path::{Path, PathBuf};

use recinto_engine::{Digest, Part, Pin, Verify};
use recinto_provider::{
    LockFile, Setting, Settings, Source,
    lock::{self, Entry, InForce, Lock, Row},
};
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::{Failure, Told},
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::Screen,
    write::Target,
};

const EXAMPLES: &str = "\
Relative paths begin at the lock's folder, wherever the command runs.
A model in the lock that is no longer what it was is not run: both digests are named. With --strict
neither is one that is not in the lock, or whose files everybody may change. docs/lock.md says more.

Examples:
  recinto lock ./qwen.gguf
  recinto lock --strict
  recinto lock --check --json
  recinto lock --remove ./old.gguf";

/// Write down what models are, so that a changed byte keeps them from running; or check it
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Models by their names; without one, the model that is set (--check: all in the lock)
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Compare and change nothing; exit code 1 says that something is not as it is locked
    #[arg(long, conflicts_with_all = ["remove", "strict", "no_strict"])]
    check: bool,

    /// Take the names out of the lock
    #[arg(long, requires = "names")]
    remove: bool,

    /// From now on refuse what is not in the lock, and files that everybody may change
    #[arg(long, conflicts_with = "no_strict")]
    strict: bool,

    /// From now on say so only
    #[arg(long)]
    no_strict: bool,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.model.settings()?;
    let path = InForce::place(&settings)?.ok_or_else(|| unwanted(&settings))?;
    match args.check {
        true => check(&args, &settings, path, screen),
        false => write(&args, &settings, path, screen),
    }
}

/// A lock is asked for where a setting says that there is none.
fn unwanted(settings: &Settings) -> Failure {
    let source = settings.lock.as_ref().map_or(&Source::Default, |setting| &setting.source);
    let away = match source {
        Source::Flag(_) => "leave `--no-lock` or `--lock none` out".into(),
        Source::Environment(name) => {
            format!("unset {name}, or give `--lock FILE`, which goes before it")
        }
        other => format!("take it out of {other}, or give `--lock FILE`, which goes before it"),
    };
    let what = format!("no lock file is wanted: `none` ({source})");
    Failure::usage(what).hint(&away)
}

/// No lock is where one would be.
fn absent(path: &Path) -> Failure {
    Failure::usage(format!("{}: there is no lock file", path.display()))
        .hint("`recinto lock NAME` makes one there; `--lock FILE` names another place")
}

#[derive(Serialize)]
struct Written<'a> {
    lock: String,
    strict: bool,
    models: &'a std::collections::BTreeMap<String, Entry>,
    warnings: Vec<String>,
}

/// Adds, renews or removes entries.
fn write(
    args: &Args,
    settings: &Settings,
    path: PathBuf,
    mut screen: Screen,
) -> Result<Exit, Failure> {
    let target = Target::new(&path, &open::files_read(settings, &[]))?;
    let found = InForce::of_writer(path.clone())?;
    if args.remove && found.is_none() {
        return Err(absent(&path));
    }
    let there = found.is_some();
    let mut lock = found.map_or_else(Lock::default, |found| found.lock);
    let before = lock.clone();
    lock.strict = (lock.strict || args.strict) && !args.no_strict;
    let mut warnings = Vec::new();
    if args.remove {
        for name in &args.names {
            if lock.models.remove(&known_as(&lock, &path, name)).is_none() {
                let what = format!("{name} is not in {}", path.display());
                return Err(Failure::usage(what).hint(&known(&lock)));
            }
        }
    } else {
        for name in names(args, settings, there)? {
            let (entry, said) = opened(args, settings, &name)?;
            lock.models.insert(own_name(&path, &name)?, entry);
            warnings.extend(said);
        }
    }
    target.write(lock.to_text().as_bytes())?;
    if lock.strict && lock.models.is_empty() {
        warnings.push("nothing runs under a strict lock without models: lock one by name".into());
    }
    warnings.iter().for_each(|warning| screen.note(warning));
    let shown = path.display().to_string();
    if args.output.json {
        let body = Written { lock: shown, strict: lock.strict, models: &lock.models, warnings };
        envelope::print(&mut screen, "lock", body)?;
        return Ok(Exit::Done);
    }
    let strict = if lock.strict { "strict, " } else { "" };
    screen.row(&format!("{shown}: {strict}{}", models(lock.models.len())))?;
    for (name, entry) in &lock.models {
        let word = match before.models.get(name) {
            None => "new",
            Some(old) if old.compare(entry).iter().all(|row| row.matches) => "as it was",
            Some(_) => "changed",
        };
        screen.row(&format!("  {name:<30} {word}"))?;
    }
    Ok(Exit::Done)
}

/// The models that are meant: those named, else the one that is set, else none where there is a lock
/// whose strictness alone was to change.
fn names(args: &Args, settings: &Settings, there: bool) -> Result<Vec<String>, Failure> {
    match (&args.names[..], &settings.model) {
        ([], None) if (args.strict || args.no_strict) && there => Ok(Vec::new()),
        ([], _) => Ok(vec![settings.model()?.value.clone()]),
        (names, _) => Ok(names.to_vec()),
    }
}

fn models(count: usize) -> String {
    match count {
        0 => "no models".into(),
        1 => "1 model".into(),
        n => format!("{n} models"),
    }
}

fn known(lock: &Lock) -> String {
    let names: Vec<&str> = lock.models.keys().map(String::as_str).collect();
    format!("in it: {}", if names.is_empty() { "nothing".into() } else { names.join(", ") })
}

/// The name that a lock in the file `path` has for what `name` means here.
fn own_name(path: &Path, name: &str) -> Result<String, Failure> {
    let here = std::env::current_dir()
        .map_err(|e| Failure::usage(format!("the working directory is gone: {e}")))?;
    lock::named_from(path, name, &here).ok_or_else(|| {
        let what = format!("{name} has no name that begins at the folder of {}", path.display());
        Failure::usage(what).hint("give its whole path; a lock's names are UTF-8")
    })
}

/// The same, or `name` as it stands in the lock where only that is in it.
fn known_as(lock: &Lock, path: &Path, name: &str) -> String {
    let own = own_name(path, name).ok().filter(|own| lock.models.contains_key(own));
    own.unwrap_or_else(|| name.to_owned())
}

/// What the model called `name` is now, whatever a lock says, and what to know of its files.
fn opened(args: &Args, settings: &Settings, name: &str) -> Result<(Entry, Vec<String>), Failure> {
    let source = Source::Flag("NAME");
    let mut settings = settings.clone();
    settings.model = Some(Setting { value: name.to_owned(), source: source.clone() });
    settings.lock = Some(Setting { value: LockFile::Ignored, source: source.clone() });
    settings.pin = Some(Setting { value: Pin::Off, source: source.clone() });
    settings.verify = Some(Setting { value: Verify::Always, source });
    let opened = args.model.open_any(&settings)?;
    Ok((Entry::of_model(&opened.value, opened.files.store.name())?, opened.warnings))
}

/// One model of the lock beside what it is now.
#[derive(Serialize)]
struct Checked {
    name: String,
    ok: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    lock: String,
    strict: bool,
    ok: bool,
    models: &'a [Checked],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
}

/// Compares entries with what is there.
fn check(
    args: &Args,
    settings: &Settings,
    path: PathBuf,
    mut screen: Screen,
) -> Result<Exit, Failure> {
    let found = InForce::of_writer(path.clone())?;
    let InForce { path, lock } = found.ok_or_else(|| absent(&path))?;
    let names: Vec<String> = match args.names.is_empty() {
        true => lock.models.keys().cloned().collect(),
        false => args.names.clone(),
    };
    let mut all = Vec::new();
    for name in names {
        let name = known_as(&lock, &path, &name);
        let Some(entry) = lock.models.get(&name) else {
            let what = format!("{name} is not in {}", path.display());
            return Err(Failure::usage(what).hint(&known(&lock)));
        };
        let meant = lock::whole(&path, &name).unwrap_or_else(|| name.clone());
        all.push(compare(args, settings, (&name, &meant), entry, lock.strict));
    }
    let bad = all.iter().filter(|model| !model.ok).count();
    let failure = (bad > 0).then(|| {
        let shown = path.display();
        Failure::no(format!("{bad} of {} not as in {shown}", models(all.len())))
    });
    if args.output.json {
        let error = failure.as_ref().map(Failure::tell);
        let (lock_path, strict) = (path.display().to_string(), lock.strict);
        let body = Body { lock: lock_path, strict, ok: bad == 0, models: &all, error };
        envelope::print(&mut screen, "lock", body)?;
    } else {
        if all.is_empty() {
            let strict = if lock.strict { ", and it is strict: nothing runs under it" } else { "" };
            screen.row(&format!("{}: no models in it{strict}", path.display()))?;
        }
        all.iter().try_for_each(|model| lines(&mut screen, model, &path))?;
    }
    failure.map_or(Ok(Exit::Done), |failure| Err(failure.told()))
}

/// The model `name` of the lock, which means `meant` wherever one is.
fn compare(
    args: &Args,
    settings: &Settings,
    (name, meant): (&str, &str),
    entry: &Entry,
    strict: bool,
) -> Checked {
    let name = name.to_owned();
    let opened = opened(args, settings, meant).and_then(|(found, warnings)| {
        match entry.elsewhere(&name, &found.store) {
            Some(error) => Err(error.into()),
            None => Ok((found, warnings)),
        }
    });
    match opened {
        Ok((found, warnings)) => {
            let parts = entry.compare(&found);
            let safe = !strict || warnings.is_empty();
            let ok = safe && parts.iter().all(|row| row.matches);
            Checked { name, ok, parts, error: None, warnings }
        }
        Err(failure) => {
            let error = Some(failure.tell());
            Checked { name, ok: false, parts: Vec::new(), error, warnings: Vec::new() }
        }
    }
}

fn lines(screen: &mut Screen, model: &Checked, lock: &Path) -> Result<(), Failure> {
    let word = match (&model.error, model.ok) {
        (Some(_), _) => "cannot be opened",
        (None, true) => "as it is locked",
        (None, false) => "NOT as it is locked",
    };
    screen.row(&format!("{:<30} {word}", model.name))?;
    let shown = |digest: Option<Digest>| digest.map_or("none".into(), |d| d.to_string());
    for row in model.parts.iter().filter(|row| !row.matches) {
        let part = match (row.part, row.file) {
            (Part::Weights, file) if file > 0 => format!("weights of file {}", file + 1),
            (part, _) => part.name().into(),
        };
        screen.row(&format!("  {part:<13} {} found", shown(row.found)))?;
        screen.row(&format!("  {:<13} {} in {}", "", shown(row.locked), lock.display()))?;
    }
    if let Some(error) = &model.error {
        screen.row(&format!("  {}", error.message()))?;
    }
    model.warnings.iter().try_for_each(|warning| screen.row(&format!("  warning       {warning}")))
}
