//! Files named `recinto.toml`: which are read, and what each may hold.
//!
//! The top of a file holds settings; tables hold the rest, a row each in [`TABLES`].

mod answer;
mod profiles;

use std::path::{Path, PathBuf};

pub(crate) use answer::merged;
pub use answer::{LISTS, OPTIONS, OptionRow, OptionSetting};
pub use profiles::WORDS;
pub(crate) use profiles::{KEY_ENV, has_line, setting_of};
use recinto_policy::tree;
pub use recinto_policy::tree::{At, Entry, Fault, Value};

use recinto_policy::{Limits, Policy, Prices};

use crate::{
    error::{Error, Kind},
    secret::is_secret,
    settings::{KEYS, Key, Source},
    surroundings::{FILE_NAME, Surroundings},
    trusted,
};

/// A table that a file may hold.
pub struct Table {
    /// Its name, as it stands between brackets.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// How it may look, line by line, for a file to begin with; empty where [`OPTIONS`] says it.
    pub example: &'static [&'static str],
    /// Whether its entries are what they should be.
    pub check: fn(&[Entry]) -> Result<(), Fault>,
}

/// Every table there is. A new one is a row here; [`Settings::table`](crate::Settings::table)
/// gives its entries to whom it concerns.
pub const TABLES: &[Table] = &[
    Table {
        name: "options",
        about: "how answers are made, as `-o KEY=VALUE` says it",
        example: &[],
        check: answer::check,
    },
    Table {
        name: "policy",
        about: "which labels may reach which provider; what no row allows by name stays here",
        example: &[
            "[[policy.allow]]",
            "provider = \"anthropic\"",
            "labels = [\"unlabelled\", \"internal\"]",
        ],
        check: |entries| Policy::of_table(Path::new(FILE_NAME), 1, entries).map(drop),
    },
    Table {
        name: "profiles",
        about: "names for who answers, as PROVIDER/MODEL, or with a host and a key of their own",
        example: &[
            "fast = \"local/qwen3:0.6b\"",
            "[profiles.careful]",
            "model = \"openai-compatible/large\"",
            "base_url = \"https://llm.example.com/v1\"",
            "key_env = \"EXAMPLE_API_KEY\"",
        ],
        check: profiles::check,
    },
    Table {
        name: "tasks",
        about: "which profile or cascade each task uses",
        example: &["ask = \"fast\"", "decide = \"twice\""],
        check: recinto_policy::check_tasks,
    },
    Table {
        name: "cascade",
        about: "a second profile for answers of the first that are not clear",
        example: &["twice = { first = \"fast\", below = 0.2, then = \"careful\" }"],
        check: recinto_policy::check_cascades,
    },
    Table {
        name: "budget",
        about: "the most tokens, money and seconds that the process may use",
        example: &["tokens = 1000000", "money = \"5.00 USD\"", "identity = { tokens = 20000 }"],
        check: |entries| Limits::read(entries).map(drop),
    },
    Table {
        name: "prices",
        about: "what a million tokens cost, by PROVIDER/MODEL",
        example: &["currency = \"USD\"", "\"anthropic/claude-opus\" = { input = 5, output = 25 }"],
        check: |entries| Prices::read(entries).map(drop),
    },
];

/// Which `recinto.toml` files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfigFile {
    /// The project's, in the working directory and never in a folder above; then the user's; then
    /// the machine's; each where it is there. `RECINTO_CONFIG` may name another one as the
    /// project's, or say `none`.
    #[default]
    Usual,
    /// This one as the project's; it must be there.
    At(PathBuf),
    /// None at all.
    Ignored,
}

/// Flag, variable and what it is: no setting, since it says where settings are.
pub const CONFIG_FLAG: &str = "--config";
/// Names a file as the project's, or none.
pub const CONFIG_VARIABLE: &str = "RECINTO_CONFIG";
/// What the variable says to have no file read.
const NONE: &str = "none";
/// What to do about a file that is refused.
const IGNORE: &str = "`--no-config` runs without any recinto.toml";

impl ConfigFile {
    /// What a variable says, seen from `folder`.
    pub(crate) fn from_variable(value: &str, folder: &Path) -> ConfigFile {
        match value {
            NONE => ConfigFile::Ignored,
            path => ConfigFile::At(folder.join(path)),
        }
    }
}

/// What one file holds; all its keys and tables are known ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct File {
    /// The file, absolute.
    pub path: PathBuf,
    /// Settings, each with its text and the place of that.
    pub settings: Vec<(&'static Key, String, At)>,
    /// Tables by name.
    pub tables: Vec<(&'static str, At, Vec<Entry>)>,
}

impl File {
    /// The folder that paths in it begin at.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// A place in it as a source.
    pub fn source(&self, at: At) -> Source {
        Source::File { path: self.path.clone(), line: at.line }
    }

    /// An error at a place in it.
    pub fn fault(&self, fault: Fault) -> Error {
        fault_in(&self.path, fault)
    }
}

fn fault_in(path: &Path, fault: Fault) -> Error {
    let At { line, column } = fault.at;
    let what = format!("{}, line {line}, column {column}: {}", path.display(), fault.what);
    let error = Error::new(Kind::ConfigFile, what);
    match fault.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The files that `which` means, the nearest first.
pub(crate) fn read(which: &ConfigFile, around: &Surroundings) -> Result<Vec<File>, Error> {
    let (project, must) = match which {
        ConfigFile::Ignored => return Ok(Vec::new()),
        ConfigFile::Usual => (around.here.join(FILE_NAME), false),
        ConfigFile::At(path) => (around.here.join(path), true),
    };
    let mut out = Vec::new();
    let places = [
        (Some(project), must, false),
        (around.user_file(), false, false),
        (Some(around.machine_file()), false, true),
    ];
    for (path, must, root_too) in places {
        let Some(path) = path else { continue };
        let kind = Kind::ConfigFile;
        let rules = trusted::Rules { kind, must, root_too, ignore: IGNORE };
        if let Some(text) = trusted::read(&path, &rules)? {
            let (settings, tables) = of_text(&path, &text)?;
            out.push(File { path, settings, tables });
        }
    }
    Ok(out)
}

/// What the text of the file `path` says.
pub(crate) fn of_text(path: &Path, text: &str) -> Result<Contents, Error> {
    parse(text).map_err(|fault| fault_in(path, fault))
}

type Contents = (Vec<(&'static Key, String, At)>, Vec<(&'static str, At, Vec<Entry>)>);

fn parse(text: &str) -> Result<Contents, Fault> {
    let (mut settings, mut tables) = (Vec::new(), Vec::new());
    for entry in tree::parse(text, is_secret)? {
        let key = KEYS.iter().find(|key| key.name == entry.key);
        let table = TABLES.iter().find(|table| table.name == entry.key);
        match (key, table, entry.value) {
            (Some(key), _, value) => {
                let Some(text) = value.single() else {
                    let what =
                        format!("{}: one value is needed, as in `{}`", key.name, key.example);
                    return Err(Fault::new(entry.value_at, what));
                };
                settings.push((key, text.to_owned(), entry.value_at));
            }
            (None, Some(table), Value::Table(entries)) => {
                (table.check)(&entries)?;
                tables.push((table.name, entry.at, entries));
            }
            (None, Some(table), _) => {
                let what = format!("`{0}` is a table: its keys stand below `[{0}]`", table.name);
                return Err(Fault::new(entry.at, what));
            }
            (None, None, Value::Table(_)) => {
                let known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
                return Err(unknown("table", &entry.key, &known, entry.at));
            }
            (None, None, _) => {
                let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                let fault = unknown("key", &entry.key, &known, entry.at);
                // An option that stands above its table.
                let option = recinto_engine::Options::KEYS.contains(&entry.key.as_str());
                return Err(match option {
                    true => fault.hint(format!("`{}` stands below `[options]`", entry.key)),
                    false => fault,
                });
            }
        }
    }
    Ok((settings, tables))
}

/// An unknown word, with the nearest known one.
fn unknown(what: &str, word: &str, known: &[&str], at: At) -> Fault {
    Fault::unknown(at, what, word).hint(nearest(word, known))
}

/// A hint with the nearest of the known words, then all of them.
pub(crate) fn nearest(word: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    let names = known.iter().map(|name| (*name).to_owned()).collect();
    match recinto_store::nearest(word, names).first() {
        Some(near) if known.len() > 1 => format!("the nearest is `{near}`; known: {all}"),
        _ => format!("known: {all}"),
    }
}
