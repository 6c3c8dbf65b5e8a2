//! `recinto doctor`: looks at the machine and the settings before anybody waits for an answer.
//!
//! It reads and asks, and changes nothing: no file is written, no socket opened, no model mapped.

mod check;
mod machine;
mod places;
mod policy;
mod process;
mod stores;

use recinto_os::memory;
use recinto_provider::Surroundings;
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::{Failure, Told},
    interrupt::Interrupt,
    open::{ModelArgs, OutputArgs},
    screen::{self, Screen},
};
use check::{Check, State};

const EXAMPLES: &str = "\
Nothing is written and no model is opened; `recinto status` tries one. Exit code 1 says that a check
found a fault; a note is no fault.

Examples:
  recinto doctor
  recinto doctor --level avx2 --threads 4
  recinto doctor --json";

/// Look at CPU, threads, memory, folders and settings, with a hint for each fault
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    ok: bool,
    checks: &'a [Check],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let around = Surroundings::now()?;
    // A profile that cannot be chosen is one fault among others: `policy` names it.
    let settings = args.model.said().map(|said| match said.choose(None) {
        Ok(choice) => choice.settings,
        Err(_) => said,
    });
    let found = settings.as_ref().ok();
    let mut checks = machine::cpu(found);
    checks.extend(machine::threads(&around.root, found));
    checks.extend(machine::memory(&around.root, memory::lock_limit(), args.model.lock_memory));
    checks.extend(places::settings(&settings));
    checks.extend(found.into_iter().flat_map(|settings| policy::checks(settings, &around)));
    checks.extend(places::stores(&around));
    checks.push(places::cache(&around));
    checks.extend(process::sandbox(&recinto_os::probe::sandbox(&around.root)));
    checks.extend(process::limits(&around.root));
    let faults = checks.iter().filter(|check| check.state == State::Fault).count();
    let failure = (faults > 0).then(|| {
        Failure::no(match faults {
            1 => "one check says no".to_owned(),
            _ => format!("{faults} checks say no"),
        })
    });
    if args.output.json {
        let error = failure.as_ref().map(Failure::tell);
        let body = Body { ok: failure.is_none(), checks: &checks, error };
        envelope::print(&mut screen, "doctor", body)?;
    } else if !args.output.quiet {
        table(&mut screen, &checks)?;
    }
    failure.map_or(Ok(Exit::Done), |failure| Err(failure.told()))
}

/// A heading for each area, a line for each check, and below it what to do.
fn table(screen: &mut Screen, checks: &[Check]) -> Result<(), Failure> {
    let mut area = "";
    for check in checks {
        if check.area != area {
            let gap = if area.is_empty() { "" } else { "\n" };
            area = check.area;
            screen.line(&format!("{gap}{area}"))?;
        }
        let found = screen::escaped(&check.found);
        screen.row(&format!("  {:<6} {:<16} {found}", check.state.name(), check.name))?;
        for hint in check.hint.iter().flat_map(|hint| hint.lines()) {
            screen.row(&format!("  {:<6} {:<16} hint: {hint}", "", ""))?;
        }
    }
    Ok(())
}
