//! `recinto init`: a `recinto.toml` to begin with, in which every line is a comment or safe.

use recinto_policy::{REMOTES, Remote, UNLABELLED};
use recinto_provider::{FILE_NAME, KEYS, OPTIONS, TABLES};
use serde_json::json;

use crate::{
    envelope, exit::Exit, failure::Failure, interrupt::Interrupt, open::OutputArgs, screen::Screen,
    write,
};

const EXAMPLES: &str = "\
A file that is there is never overwritten, and there is no flag to force it.

Examples:
  recinto init
  recinto init --staging
  recinto init && recinto status";

/// What the file says of itself.
const HEAD: &str = "\
# Settings of recinto for this folder; `recinto status` shows each value and where it was said.
# A flag, an environment variable and a line of .env go before a line here; the files of the user
# and of the machine come after it. Paths begin at this file's folder. No secret belongs here.
";

/// What it says besides with `--staging`.
const STAGED: &str = "\
# Written for staging: answers repeat, weights are hashed in each run, and what nobody labelled may
# be sent to a remote provider that is chosen.
";

/// What `--staging` sets, by key and value: the same answer each time, from bytes that were
/// hashed in this run.
const STAGING: [(&str, &str); 4] =
    [("pin", "\"memory\""), ("verify", "\"always\""), ("temperature", "0.0"), ("seed", "1")];

/// Write a recinto.toml with every key and its comment into the working directory
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// For a trial before others depend on it: answers that repeat, weights hashed in each run, a
    /// policy that lets out what nobody labelled
    #[arg(long)]
    staging: bool,

    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let path = std::env::current_dir()
        .map_err(|e| Failure::running(format!("the working directory is gone: {e}")))?
        .join(FILE_NAME);
    write::new_file(&path, &text(args.staging))?;
    let shown = path.display().to_string();
    if args.output.json {
        envelope::print(&mut screen, "init", json!({ "path": shown, "staging": args.staging }))?;
    } else if !args.output.quiet {
        screen.row(&format!("{shown} is written; `recinto status` shows what it sets"))?;
    }
    Ok(Exit::Done)
}

/// The file's text: every key that there is, as a comment or, for staging, as it is set.
fn text(staging: bool) -> String {
    let mut out = String::from(HEAD);
    if staging {
        out.push_str(STAGED);
    }
    let entry = |key: &str, about: &str, example: &str| {
        let set = STAGING.iter().find(|row| staging && row.0 == key);
        let line = match set {
            Some((_, value)) => format!("{key} = {value}"),
            None => format!("# {key} = {example}"),
        };
        format!("\n# {about}\n{line}\n")
    };
    for key in KEYS {
        let default = key.default.text().map(|text| format!(" (default: {text})"));
        let about = format!("{}{}", key.about, default.unwrap_or_default());
        out.push_str(&entry(key.name, &about, key.example));
    }
    for table in TABLES {
        let set = if staging { staged(table.name) } else { None };
        // An empty table is not always nothing: an empty policy lets nothing out.
        let hash = if table.example.is_empty() && set.is_none() { "" } else { "# " };
        let head = format!("[{}]", table.name);
        let head = if set.is_some() { String::new() } else { format!("{hash}{head}\n") };
        out.push_str(&format!("\n{head}# {}\n", table.about));
        for row in OPTIONS.iter().filter(|_| table.name == "options") {
            out.push_str(&entry(row.key, row.about, row.example));
        }
        match set {
            Some(text) => out.push_str(&text),
            None => table.example.iter().for_each(|line| out.push_str(&format!("#   {line}\n"))),
        }
    }
    out
}

/// What `--staging` sets in a table: what nobody labelled may go to the services that have a host
/// of their own, and nothing else may. The machine's policy still holds.
fn staged(table: &str) -> Option<String> {
    let row = |remote: &Remote| {
        let (name, label) = (remote.name, UNLABELLED);
        format!("[[policy.allow]]\nprovider = \"{name}\"\nlabels = [\"{label}\"]\n")
    };
    let remotes = REMOTES.iter().filter(|remote| remote.host.is_some());
    (table == "policy").then(|| remotes.map(row).collect::<Vec<_>>().join("\n"))
}
