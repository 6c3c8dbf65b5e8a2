//! The policies, the log of sends, its key, and the operator's budgets and profiles.

use std::{io, path::Path};

use recinto_os::owner::{self, Facts};
use recinto_policy::{EgressKey, Wall};
use recinto_provider::{Error, Settings, Surroundings, policies};

use super::check::Check;

const POLICY: &str = "policy";

/// Whether each of them can be read and used.
pub fn checks(settings: &Settings, around: &Surroundings) -> Vec<Check> {
    let wall = match policies::wall(settings, around) {
        Ok(wall) => wall,
        Err(error) => {
            return vec![fault("policies", &error, "nothing may leave until it is right")];
        }
    };
    let mut out = vec![in_force(&wall)];
    // Where nothing may leave nobody needs a log.
    if !wall.leaves().is_empty() {
        match policies::places(settings, around, &wall) {
            Ok((path, key)) => {
                out.push(log(&path));
                out.push(self::key(key.as_deref()));
            }
            Err(error) => out.push(fault("egress log", &error, "nothing may leave without it")),
        }
    }
    if let Err(error) = policies::budget(settings, &wall) {
        out.push(fault("budget", &error, "correct the files"));
    }
    if let Err(error) = policies::profiles(settings) {
        out.push(fault("profiles", &error, "correct the files"));
    }
    out
}

fn fault(name: &str, error: &Error, otherwise: &str) -> Check {
    let text = error.to_string();
    let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, otherwise));
    Check::ok(POLICY, name, what).fault(hint)
}

fn in_force(wall: &Wall) -> Check {
    let places: Vec<String> =
        wall.policies().iter().map(|policy| policy.place().to_string()).collect();
    match (places.is_empty(), wall.leaves().len()) {
        (true, _) => Check::ok(POLICY, "policies", "none, so nothing may leave"),
        (false, 0) => {
            Check::ok(POLICY, "policies", format!("{}; nothing may leave", places.join("; ")))
        }
        (false, n) => {
            let may = if n == 1 { "1 place" } else { &format!("{n} places") };
            Check::ok(POLICY, "policies", format!("{}; data may go to {may}", places.join("; ")))
        }
    }
}

/// Whether a line could be written; none is.
fn log(path: &Path) -> Check {
    let check =
        |found: &str| Check::ok(POLICY, "egress log", format!("{}: {found}", path.display()));
    const REFUSED: &str = "nothing is sent without it: correct it, or name another as `egress_log`";
    match (Facts::of_link(path), path.symlink_metadata()) {
        (Ok(_), Ok(meta)) if meta.is_symlink() => check("it is a link").fault(REFUSED),
        (Ok(_), Ok(meta)) if !meta.is_file() => check("it is no regular file").fault(REFUSED),
        (Ok(facts), Ok(_)) if !facts.is_mine() => {
            check("it belongs to another user").fault(REFUSED)
        }
        (Ok(facts), Ok(_)) if facts.mode & 0o077 != 0 => {
            check(&format!("others may read or write it (mode {:04o})", facts.mode))
                .fault("`chmod 600`: nothing is sent until then")
        }
        (Ok(_), Ok(_)) => check("this user's own"),
        (Err(e), _) | (_, Err(e)) if e.kind() == io::ErrorKind::NotFound => {
            let above = path.ancestors().skip(1).find(|path| path.exists());
            match above.is_some_and(owner::may_write) {
                true => check("made when first used"),
                false => check("it cannot be made there").fault(REFUSED),
            }
        }
        (Err(e), _) | (_, Err(e)) => check(&e.to_string()).fault(REFUSED),
    }
}

fn key(path: Option<&Path>) -> Check {
    let Some(path) = path else {
        return Check::ok(POLICY, "egress key", "none, so the log has no digests")
            .note("`egress_key` names a file with a key; `head -c 32 /dev/urandom` makes one");
    };
    match EgressKey::read(path) {
        Ok(_) => Check::ok(POLICY, "egress key", path.display().to_string()),
        Err(error) => fault("egress key", &error.into(), "nothing is sent until it is right"),
    }
}
