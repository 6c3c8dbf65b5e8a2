//! CPU, threads and memory: what is there, what is allowed, and what follows from it.

use std::path::Path;

use recinto_kernels::{Kernels, Level};
use recinto_os::{cpus, memory, probe};
use recinto_provider::{Settings, Source};

use super::check::{Check, size};

const CPU: &str = "cpu";
const THREADS: &str = "threads";
const MEMORY: &str = "memory";

/// Less memory than this is too little for the smallest model that says anything.
const LITTLE: u64 = 256 << 20;
/// What `--lock-memory` needs at least: text, ids and a short conversation's keys and values.
const LOCKED: u64 = 64 << 20;

/// What is known of a level on this CPU.
struct Known {
    level: Level,
    /// Features it needs and whether they are here; `None` for another family of CPUs.
    features: Option<Vec<(&'static str, bool)>>,
    /// Whether its kernels computed the portable one's bits just now.
    usable: bool,
}

/// The level that is chosen and why, then each level with what it has or lacks.
pub fn cpu(settings: Option<&Settings>) -> Vec<Check> {
    let levels: Vec<Known> = Level::all()
        .map(|level| {
            let usable = Kernels::at(level).is_some();
            Known { level, features: level.features(), usable }
        })
        .collect();
    let asked = settings.and_then(|settings| settings.level.as_ref());
    let asked = asked.map(|setting| (setting.value, &setting.source));
    let mut checks = vec![chosen(&levels, asked)];
    checks.extend(levels.iter().map(one_level));
    checks
}

fn chosen(levels: &[Known], asked: Option<(Level, &Source)>) -> Check {
    let best = levels.iter().rev().find(|known| known.usable);
    let best = best.map_or("portable", |known| known.level.name());
    let Some((level, source)) = asked else {
        return Check::ok(CPU, "level", format!("{best}: the best that is usable here"));
    };
    let usable = levels.iter().any(|known| known.level == level && known.usable);
    let found = format!("{} asked for ({source})", level.name());
    match (usable, level.name() == best) {
        (false, _) => Check::ok(CPU, "level", format!("{found}: not usable on this CPU"))
            .fault(format!("take the setting away, or say `{best}`")),
        (true, true) => Check::ok(CPU, "level", format!("{found}: the best, too")),
        (true, false) => Check::ok(CPU, "level", format!("{found}: usable, not the fastest"))
            .note(format!("without the setting it is `{best}`, with the same bits")),
    }
}

fn one_level(known: &Known) -> Check {
    let name = known.level.name();
    let Some(features) = &known.features else {
        return Check::ok(CPU, name, "of another family of CPUs");
    };
    let of = |has: bool| {
        let names = features.iter().filter(|feature| feature.1 == has).map(|feature| feature.0);
        names.collect::<Vec<_>>().join(", ")
    };
    let missing = of(false);
    match (missing.is_empty(), known.usable) {
        (true, true) if features.is_empty() => Check::ok(CPU, name, "usable: plain code"),
        (true, true) => Check::ok(CPU, name, format!("usable: {} are here", of(true))),
        (true, false) => {
            Check::ok(CPU, name, "all features are here, but its kernels compute other bits")
                .fault("it is not used; please report this CPU, an emulator may be at fault")
        }
        (false, _) => Check::ok(CPU, name, format!("not usable: {missing} missing")),
    }
}

/// What limits threads, and how many there are.
pub fn threads(root: &Path, settings: Option<&Settings>) -> Vec<Check> {
    let limits = cpus::limits(root);
    let count = |n: usize, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let mut seen = format!("{} online", count(limits.visible, "CPU", "CPUs"));
    let sets = [("the scheduler", limits.affinity), ("the cpuset", limits.cpuset)];
    for (name, allowed) in sets {
        if let Some(allowed) = allowed.filter(|allowed| *allowed != limits.visible) {
            seen.push_str(&format!(", {name} allows {allowed}"));
        }
    }
    let smt = match cpus::smt(root) {
        Some(true) => "several threads a core (SMT)",
        Some(false) => "one thread a core",
        None => "SMT unknown",
    };
    let cores = format!("{} under {}, {smt}", count(limits.cores, "core", "cores"), {
        count(limits.allowed, "allowed CPU", "allowed CPUs")
    });
    let quota = match cpus::quota_at(root) {
        None => Check::ok(THREADS, "quota", "none: no control group limits CPU time"),
        Some((quota, file)) => {
            let text = format!("{quota:.2} CPUs ({})", file.display());
            let check = Check::ok(THREADS, "quota", text);
            match quota < 1.0 || quota.fract() > 0.0 && quota < limits.cores as f64 {
                true => check.note("only whole CPUs are used; a whole number loses nothing"),
                false => check,
            }
        }
    };
    let why = match limits.quota {
        Some(quota) if (quota as usize) < limits.cores => "the quota's whole CPUs",
        _ => "one a core",
    };
    let usual = limits.threads;
    let chosen = match settings.and_then(|settings| settings.threads.as_ref()) {
        None => Check::ok(THREADS, "threads", format!("{usual}: {why}")),
        Some(setting) => {
            let (asked, source) = (setting.value, &setting.source);
            let check = Check::ok(THREADS, "threads", format!("{asked} asked for ({source})"));
            match asked > usual {
                true => check.note(format!(
                    "more than {usual} ({why}) wait for each other and answer more slowly"
                )),
                false => check,
            }
        }
    };
    let rows = [("CPUs", seen), ("cores", cores)];
    let rows = rows.into_iter().map(|(name, found)| Check::ok(THREADS, name, found));
    rows.chain([quota, chosen]).collect()
}

/// Memory that can be had, large pages, swap, and what may be locked.
pub fn memory(root: &Path, lock_limit: Option<u64>, lock: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    match memory::memory(root) {
        None => checks.push(
            Check::ok(MEMORY, "available", "unknown: /proc/meminfo cannot be read")
                .note("mount /proc; without it nothing can be said before memory is gone"),
        ),
        Some(found) => {
            let (free, total) = (size(found.available), size(found.total));
            let check = Check::ok(MEMORY, "available", format!("{free} of {total}"));
            checks.push(match found.available < LITTLE {
                true => check.fault(format!("less than {}: end other programs", size(LITTLE))),
                false => check,
            });
            checks.push(match &found.limit {
                None => Check::ok(MEMORY, "limit", "none: no control group limits memory"),
                Some(limit) => {
                    let (bytes, file) = (size(limit.bytes), limit.file.display());
                    Check::ok(MEMORY, "limit", format!("{bytes} ({file})"))
                }
            });
        }
    }
    let large = probe::large_pages(root);
    let check = Check::ok(MEMORY, "large pages", large.as_deref().unwrap_or("none"));
    checks.push(match large.as_deref() {
        Some("always" | "madvise") => check,
        _ => check.note(
            "`--pin memory` is slower without them: write `madvise` to \
             /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    });
    checks.push(match probe::swap(root) {
        None | Some(0) => Check::ok(MEMORY, "swap", "none"),
        Some(bytes) if lock => Check::ok(MEMORY, "swap", size(bytes)),
        Some(bytes) => Check::ok(MEMORY, "swap", size(bytes))
            .note("text can get there; `--lock-memory` keeps it, and keys and values, out"),
    });
    let check = Check::ok(
        MEMORY,
        "may be locked",
        match lock_limit {
            None => "any amount".into(),
            Some(bytes) => size(bytes),
        },
    );
    let hint = format!("{} or more by `ulimit -l`, or LimitMEMLOCK= of a service", size(LOCKED));
    checks.push(match (lock_limit.is_some_and(|bytes| bytes < LOCKED), lock) {
        (true, true) => check.fault(format!("--lock-memory needs {hint}")),
        (true, false) => check.note(format!("--lock-memory would need {hint}")),
        _ => check,
    });
    checks
}

#[cfg(test)]
mod tests;
