//! What shuts this process in, and what it leaves to others.

use std::path::Path;

use recinto_os::{probe, shield};

use super::check::{Check, size};

const SANDBOX: &str = "sandbox";
const PROCESS: &str = "process";
/// Files that an answer has open at once, with room to spare.
const FILES: u64 = 64;
/// What most systems give.
const USUAL_FILES: u64 = 1024;
const RAISE: &str = "`ulimit -n 1024`";

/// Ways to shut a process in, of which this version uses none by itself.
pub fn sandbox(found: &probe::Sandbox) -> Vec<Check> {
    let landlock = match found.landlock {
        Some(version) => Check::ok(SANDBOX, "landlock", format!("version {version}")),
        None => Check::ok(SANDBOX, "landlock", "not here")
            .note("a kernel from 5.13 has it, where `lsm=` at boot does not leave it out"),
    };
    let seccomp = match found.seccomp {
        true => Check::ok(SANDBOX, "seccomp", "system calls can be filtered"),
        false => {
            Check::ok(SANDBOX, "seccomp", "not here").note("the kernel needs CONFIG_SECCOMP_FILTER")
        }
    };
    let namespaces = match found.namespaces_refused {
        None => Check::ok(SANDBOX, "user namespaces", "nothing forbids them"),
        Some(why) => Check::ok(SANDBOX, "user namespaces", format!("refused: {why}"))
            .note("`unshare -rn`, which shows that nothing needs a network, does not work here"),
    };
    vec![landlock, seccomp, namespaces]
}

/// Core files, other processes in this memory, open files.
pub fn limits(root: &Path) -> Vec<Check> {
    let pattern = std::fs::read_to_string(root.join("proc/sys/kernel/core_pattern"));
    let pattern = pattern.map_or("unknown".into(), |text| text.trim().to_owned());
    let core = match shield::core_limit() {
        Some(0) => Check::ok(PROCESS, "core files", "none: this program's limit is 0"),
        limit => {
            let limit = limit.map_or("without limit".into(), size);
            Check::ok(PROCESS, "core files", format!("{limit}, to `{pattern}`"))
                .fault("a crash would write text to disk: `ulimit -c 0`")
        }
    };
    let scope = match probe::ptrace_scope(root) {
        Some(scope) => format!("kernel.yama.ptrace_scope {scope}"),
        None => "no Yama".into(),
    };
    let attach = match shield::is_dumpable() {
        Ok(false) => {
            let found = format!("other processes of this user are kept out ({scope})");
            Check::ok(PROCESS, "memory", found)
        }
        _ => Check::ok(PROCESS, "memory", format!("others of this user can read it ({scope})"))
            .fault("set kernel.yama.ptrace_scope to 1 or more"),
    };
    let files = match probe::open_files() {
        None => Check::ok(PROCESS, "open files", "any number"),
        Some(most) => {
            let check = Check::ok(PROCESS, "open files", format!("{most} at most"));
            match most {
                0..FILES => check.fault(format!("an answer needs {FILES}: {RAISE}")),
                FILES..USUAL_FILES => check.note(format!("more is usual: {RAISE}")),
                _ => check,
            }
        }
    };
    vec![core, attach, files]
}

#[cfg(test)]
mod tests {
    use super::{super::check::State, *};

    #[test]
    fn what_is_missing_is_a_note() {
        let none = probe::Sandbox {
            landlock: None,
            seccomp: false,
            namespaces_refused: Some("user.max_user_namespaces is 0"),
        };
        let all = probe::Sandbox { landlock: Some(7), seccomp: true, namespaces_refused: None };
        for (name, found, state) in [("none", none, State::Note), ("all", all, State::Ok)] {
            for check in sandbox(&found) {
                assert_eq!(check.state, state, "{name}: {check:?}");
                assert_eq!(check.hint.is_some(), state == State::Note, "{name}: {check:?}");
            }
        }
    }

    #[test]
    fn a_process_without_shield_is_a_fault() {
        // Of the test's own process, which nobody has shielded.
        let checks = limits(Path::new("/"));
        if shield::is_dumpable().unwrap() {
            assert_eq!(checks[1].state, State::Fault, "{checks:?}");
        }
        shield::not_dumpable().unwrap();
        shield::no_core_files().unwrap();
        let checks = limits(Path::new("/"));
        assert!(checks[..2].iter().all(|check| check.state == State::Ok), "{checks:?}");
    }
}
