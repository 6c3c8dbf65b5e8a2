//! `recinto egress`: what was sent to remote providers, as the log of sends has it.

use std::{collections::BTreeMap, path::Path};

use clap::Subcommand;
use recinto_policy::{Report, Sum};
use recinto_provider::{Surroundings, policies};
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::OutputArgs,
    screen::Screen,
    setting_args::{FileArgs, SettingArgs},
};

const EXAMPLES: &str = "\
The log has a line for each send, written before a byte left: when, how much, to whom, under which
labels and by which line of which policy. It has no word of what was sent. docs/policy.md says more.

Examples:
  recinto egress report
  recinto egress report --since 2026-01-31 --json
  recinto egress report --egress-log /var/log/recinto/egress.jsonl";

/// Show what was sent to remote providers
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand, Debug)]
enum Task {
    /// Sum up the log of sends by provider, label and day
    Report {
        /// Count from this day on, as 2026-01-31, in UTC
        #[arg(long, value_name = "DAY")]
        since: Option<String>,
        /// The log; without it the one that is in use [variable: RECINTO_EGRESS_LOG]
        #[arg(long, value_name = "FILE")]
        egress_log: Option<String>,
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
}

#[derive(Serialize)]
struct Body<'a> {
    log: String,
    there: bool,
    since: Option<&'a str>,
    #[serde(flatten)]
    report: &'a Report,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let Task::Report { since, egress_log, files, output } = args.task;
    if since.as_deref().is_some_and(|day| !recinto_policy::is_day(day)) {
        let failure = Failure::usage("--since: a day of the calendar is needed");
        return Err(failure.hint("as in `--since 2026-01-31`"));
    }
    let mut screen = Screen::new(output.quiet, output.verbose)?;
    let path = match egress_log {
        // The very file that is named: a log that was moved away can be read, too.
        Some(path) => path.into(),
        None => {
            let (settings, around) =
                (SettingArgs::default().resolve(&files)?, Surroundings::now()?);
            let wall = policies::wall(&settings, &around)?;
            policies::places(&settings, &around, &wall)?.0
        }
    };
    let report = Report::read(&path, since.as_deref())?;
    let there = path.symlink_metadata().is_ok();
    if output.json {
        let log = path.display().to_string();
        let body = Body { log, there, since: since.as_deref(), report: &report };
        envelope::print(&mut screen, "egress report", body)?;
    } else if !output.quiet {
        lines(&mut screen, &path, there, &report)?;
    }
    Ok(Exit::Done)
}

fn lines(screen: &mut Screen, path: &Path, there: bool, report: &Report) -> Result<(), Failure> {
    let none = if there { "" } else { " (not there: nothing was sent)" };
    screen.row(&format!("log           {}{none}", path.display()))?;
    screen.row(&format!("sent          {}", sum(&report.all)))?;
    let tables: [(&str, &BTreeMap<String, Sum>); 3] =
        [("providers", &report.providers), ("labels", &report.labels), ("days", &report.days)];
    for (head, rows) in tables.iter().filter(|(_, rows)| !rows.is_empty()) {
        screen.line(&format!("\n{head}"))?;
        for (name, row) in *rows {
            screen.row(&format!("  {name:<45} {}", sum(row)))?;
        }
    }
    let of = |n: u64, one: &str, more: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {more}"),
    };
    if report.without_digest > 0 {
        let count = of(report.without_digest, "send has", "sends have");
        screen.note(&format!("{count} no digest: there was no key (`egress_key`)"));
    }
    if report.damaged > 0 {
        let named: Vec<String> = report.damaged_lines.iter().map(u64::to_string).collect();
        let more = if report.damaged > named.len() as u64 { ", …" } else { "" };
        let count = of(report.damaged, "line is damaged and does", "lines are damaged and do");
        screen.note(&format!("{count} not count: line {}{more}", named.join(", ")));
    }
    if report.cut {
        screen.note("the last line has no end: it was cut, or is being written");
    }
    Ok(())
}

fn sum(sum: &Sum) -> String {
    let times = if sum.sends == 1 { "send" } else { "sends" };
    format!("{} {times}, {} bytes", sum.sends, sum.bytes)
}
