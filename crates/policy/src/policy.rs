//! A policy: rows that say which labels may reach whom. What no row allows by name is denied.
//!
//! The file `policy.toml` of the machine is one, and so is the table `[policy]` of a
//! `recinto.toml`. Beside its rows the machine's file says where sends are logged, and may hold
//! budgets and prices.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    budget::Limits,
    destination::{self, Destination, Host},
    error::Error,
    label::Label,
    prices::Prices,
    read::{self, Place},
    remotes::{LOCAL, Remote},
    tree::{self, At, Entry, Fault, Value},
};

/// Most rows of one policy.
const MAX_ROWS: usize = 1000;
const ROW_WORDS: [&str; 4] = ["provider", "host", "model", "labels"];

/// One row: some labels may reach a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    remote: &'static Remote,
    host: Option<Host>,
    model: Option<String>,
    labels: BTreeSet<Label>,
    place: Place,
}

impl Row {
    /// The provider's name.
    pub fn provider(&self) -> &'static str {
        self.remote.name
    }

    /// The host; where the row names none, the provider's own.
    pub fn host(&self) -> &str {
        self.host.as_ref().map(Host::as_str).or(self.remote.host).unwrap_or_default()
    }

    /// The model, where the row is for one only.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The labels that may go there.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter()
    }

    /// Where the row stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the row is about `to`.
    pub(crate) fn covers(&self, to: &Destination) -> bool {
        let host = match &self.host {
            Some(host) => host == to.host(),
            None => to.is_usual(),
        };
        let model = self.model.as_ref().is_none_or(|model| model == to.model());
        self.remote.name == to.provider() && host && model
    }

    pub(crate) fn allows(&self, label: &Label) -> bool {
        self.labels.contains(label)
    }
}

/// How sends are logged, as far as the machine's policy says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRules {
    /// The log's file.
    pub log: Option<PathBuf>,
    /// The file with the key of its digests.
    pub key: Option<PathBuf>,
    /// Whether each line must have reached the disk before anything is sent.
    pub sync: bool,
}

/// The rows of one file. A policy without rows denies everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    place: Place,
    rows: Vec<Row>,
    /// How sends are logged.
    pub log: LogRules,
    /// Ceilings that the machine sets.
    pub limits: Option<Limits>,
    /// Prices that the machine sets.
    pub prices: Option<Prices>,
}

impl Policy {
    /// Reads the text of a `policy.toml`.
    ///
    /// # Errors
    ///
    /// What is no TOML, unknown words, values that cannot be; with file, line and column.
    pub fn parse(file: &Path, text: &str) -> Result<Policy, Error> {
        let entries = tree::parse(text, |_| false).map_err(|fault| Error::in_file(file, fault))?;
        Policy::of_file(file, &entries).map_err(|fault| Error::in_file(file, fault))
    }

    fn of_file(file: &Path, entries: &[Entry]) -> Result<Policy, Fault> {
        let mut out = Policy::empty(file, 1);
        for entry in entries {
            match entry.key.as_str() {
                "allow" => out.rows = rows(&out.place.file, entry)?,
                "egress_log" => out.log.log = Some(whole_path(entry)?),
                "egress_key" => out.log.key = Some(whole_path(entry)?),
                "egress_sync" => out.log.sync = read::yes(entry)?,
                "budget" => out.limits = Some(Limits::read(read::table(entry)?)?),
                "prices" => out.prices = Some(Prices::read(read::table(entry)?)?),
                word => {
                    let known = "allow, egress_log, egress_key, egress_sync, budget, prices";
                    return Err(read::unknown(entry.at, "word", word, known));
                }
            }
        }
        Ok(out)
    }

    /// Reads the entries of a table `[policy]` that begins in `line` of `file`.
    ///
    /// # Errors
    ///
    /// Unknown words, values that cannot be.
    pub fn of_table(file: &Path, line: usize, entries: &[Entry]) -> Result<Policy, Fault> {
        let mut out = Policy::empty(file, line);
        for entry in entries {
            match entry.key.as_str() {
                "allow" => out.rows = rows(&out.place.file, entry)?,
                word => return Err(read::unknown(entry.at, "word", word, "allow")),
            }
        }
        Ok(out)
    }

    fn empty(file: &Path, line: usize) -> Policy {
        let place = Place { file: Arc::from(file), line };
        Policy { place, rows: Vec::new(), log: LogRules::default(), limits: None, prices: None }
    }

    /// Where it begins.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Its rows, in the file's order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

fn rows(file: &Arc<Path>, entry: &Entry) -> Result<Vec<Row>, Fault> {
    let form = || {
        Fault::new(entry.value_at, "`allow` is a list of tables").hint(
            "as in `[[allow]]`, or `[[policy.allow]]` in a recinto.toml, with `provider` and \
             `labels` below",
        )
    };
    let Value::List(list) = &entry.value else { return Err(form()) };
    if list.len() > MAX_ROWS {
        return Err(Fault::new(entry.value_at, format!("more than {MAX_ROWS} rows")));
    }
    let read = list.iter().map(|value| match value {
        Value::Table(entries) => row(file, entry.value_at, entries),
        _ => Err(form()),
    });
    read.collect()
}

fn row(file: &Arc<Path>, list: At, entries: &[Entry]) -> Result<Row, Fault> {
    let at = entries.first().map_or(list, |entry| entry.at);
    let (mut remote, mut host, mut model, mut labels) = (None, None, None, None);
    for entry in entries {
        match entry.key.as_str() {
            "provider" => remote = Some(provider(entry)?),
            "host" => {
                let read = Host::from_row(read::text(entry)?);
                host = Some(
                    read.map_err(|what| Fault::new(entry.value_at, format!("`host`: {what}")))?,
                );
            }
            "model" => {
                let text = read::text(entry)?;
                if !destination::is_model(text) {
                    let what = "`model`: a whole name of visible ASCII is needed";
                    return Err(Fault::new(entry.value_at, what).hint("there is no wildcard"));
                }
                model = Some(text.to_owned());
            }
            "labels" => labels = Some(self::labels(entry)?),
            word => return Err(read::unknown(entry.at, "word", word, &ROW_WORDS.join(", "))),
        }
    }
    let needed = |word: &str| Fault::new(at, format!("a row of `allow` without `{word}`"));
    let remote = remote.ok_or_else(|| needed("provider"))?;
    let labels = labels.ok_or_else(|| {
        needed("labels").hint("`labels = [\"unlabelled\"]` allows what nobody labelled")
    })?;
    if host.is_none() && remote.host.is_none() {
        let why = format!("{} has no host of its own", remote.name);
        return Err(needed("host").hint(why));
    }
    let place = Place { file: file.clone(), line: at.line };
    Ok(Row { remote, host, model, labels, place })
}

fn provider(entry: &Entry) -> Result<&'static Remote, Fault> {
    let text = read::text(entry)?;
    if text == LOCAL {
        let what = "`local` needs no permission: nothing leaves with it";
        return Err(Fault::new(entry.value_at, what).hint("remove the row"));
    }
    Remote::from_name(text)
        .ok_or_else(|| read::unknown(entry.value_at, "provider", text, &Remote::known()))
}

fn labels(entry: &Entry) -> Result<BTreeSet<Label>, Fault> {
    let fault = |what: &str| Fault::new(entry.value_at, format!("`labels`: {what}"));
    let Value::List(list) = &entry.value else {
        return Err(fault("a list of texts is needed").hint("as in `labels = [\"internal\"]`"));
    };
    let mut out = BTreeSet::new();
    for value in list {
        let Value::Text(text) = value else { return Err(fault("only texts stand in the list")) };
        let label: Label = text
            .parse()
            .map_err(|e: Error| fault(e.what()).hint(e.what_to_do().unwrap_or_default()))?;
        if let Some(twice) = out.replace(label) {
            return Err(fault(&format!("`{twice}` stands there twice")));
        }
    }
    match out.is_empty() {
        true => Err(fault("the list is empty, and allows nothing").hint("remove the row")),
        false => Ok(out),
    }
}

fn whole_path(entry: &Entry) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(read::text(entry)?);
    match path.is_absolute() {
        true => Ok(path),
        false => {
            let what = format!("`{}`: a whole path is needed, from `/` on", entry.key);
            Err(Fault::new(entry.value_at, what))
        }
    }
}
