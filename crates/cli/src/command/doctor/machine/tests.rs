//! Machines of others, as fake trees.

use std::fs;

use super::{super::check::State, *};

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

const TWO: (&str, &str) =
    ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
const OWN: (&str, &str) = ("proc/self/cgroup", "0::/box\n");
const EIGHT: (&str, &str) = ("sys/devices/system/cpu/online", "0-7\n");

fn found<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("{name}: {checks:?}"))
}

#[test]
fn quotas_and_sets_are_named() {
    // SYS-01 of docs/cases.md.
    const QUOTA: &str = "sys/fs/cgroup/box/cpu.max";
    const SET: &str = "sys/fs/cgroup/box/cpuset.cpus.effective";
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Files<'_>, &str, &str, &str, State); 4] = [
        ("free", &[], "none", "8: one a core", "8 CPUs online", State::Ok),
        (
            "a quota of four",
            &[(QUOTA, "400000 100000\n")],
            "4.00 CPUs (",
            "4: the quota's whole CPUs",
            "8 CPUs online",
            State::Ok,
        ),
        (
            "a broken quota",
            &[(QUOTA, "150000 100000\n")],
            "box/cpu.max)",
            "1: the quota's whole CPUs",
            "8 CPUs online",
            State::Note,
        ),
        ("a set", &[(SET, "0-3\n")], "none", "4: one a core", "the cpuset allows 4", State::Ok),
    ];
    for (name, files, quota, chosen, seen, state) in cases {
        let root = tree(&[&[TWO, OWN, EIGHT][..], files].concat());
        let checks = threads(root.path(), None);
        let of = |name| found(&checks, name);
        assert!(of("quota").found.contains(quota), "{name}: {checks:?}");
        assert_eq!(of("quota").state, state, "{name}: {checks:?}");
        assert_eq!(of("threads").found, chosen, "{name}");
        assert!(of("CPUs").found.contains(seen), "{name}: {checks:?}");
    }
}

#[test]
fn memory_and_where_its_limit_comes_from() {
    const GIB: u64 = 1 << 20;
    let info = |free: u64, swap: u64| {
        format!("MemTotal: {} kB\nMemAvailable: {free} kB\nSwapTotal: {swap} kB\n", 32 * GIB)
    };
    const LARGE: (&str, &str) =
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    const NEVER: (&str, &str) =
        ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    let good = info(30 * GIB, 0);
    let root = tree(&[TWO, OWN, LARGE, ("proc/meminfo", &good)]);
    let checks = memory(root.path(), None, false);
    assert!(checks.iter().all(|check| check.state == State::Ok), "{checks:?}");
    assert_eq!(found(&checks, "available").found, "30.0 GiB of 32.0 GiB");

    // SYS-05 of docs/cases.md: cached files are free memory.
    let (busy, current) = (info(30 * GIB, 0), (25.69 * 1024.0 * 1024.0) as u64 * 1024);
    let file = (25.03 * 1024.0 * 1024.0) as u64 * 1024;
    let (current, stat) = (current.to_string(), format!("file {file}\nshmem 0\n"));
    let root = tree(&[
        TWO,
        OWN,
        NEVER,
        ("proc/meminfo", &busy),
        ("sys/fs/cgroup/box/memory.max", "30064771072\n"),
        ("sys/fs/cgroup/box/memory.current", &current),
        ("sys/fs/cgroup/box/memory.stat", &stat),
    ]);
    let checks = memory(root.path(), Some(1 << 20), false);
    assert_eq!(found(&checks, "available").found, "27.3 GiB of 32.0 GiB");
    let limit = &found(&checks, "limit").found;
    assert!(limit.starts_with("28.0 GiB (") && limit.ends_with("box/memory.max)"), "{limit}");
    assert_eq!(found(&checks, "large pages").state, State::Note);
    assert_eq!(found(&checks, "may be locked").state, State::Note);
    assert_eq!(found(&memory(root.path(), Some(1 << 20), true), "may be locked").state, {
        State::Fault
    });

    let little = info(1000, GIB);
    let root = tree(&[("proc/meminfo", &little)]);
    let checks = memory(root.path(), None, false);
    assert_eq!(found(&checks, "available").state, State::Fault);
    assert_eq!(found(&checks, "swap").state, State::Note);
    assert_eq!(found(&memory(Path::new("/none"), None, false), "available").state, State::Note);
}

#[test]
fn levels_say_what_is_missing() {
    let known = |level, features: Option<&[(&'static str, bool)]>, usable| Known {
        level,
        features: features.map(<[_]>::to_vec),
        usable,
    };
    let levels = [
        known(Level::Portable, Some(&[]), true),
        known(Level::Avx2, Some(&[("avx2", true), ("fma", true)]), true),
        known(Level::AvxVnni, Some(&[("avx2", true), ("avxvnni", false)]), false),
        known(Level::Avx512, Some(&[("avx512f", true)]), false),
        known(Level::Avx512Vnni, None, false),
    ];
    let texts = [
        (State::Ok, "usable: plain code"),
        (State::Ok, "usable: avx2, fma are here"),
        (State::Ok, "not usable: avxvnni missing"),
        (State::Fault, "compute other bits"),
        (State::Ok, "another family"),
    ];
    for (known, (state, part)) in levels.iter().zip(texts) {
        let check = one_level(known);
        assert_eq!(check.state, state, "{check:?}");
        assert!(check.found.contains(part), "{check:?}");
    }
    let source = Source::Environment("RECINTO_LEVEL");
    let cases = [
        (None, State::Ok, "avx2: the best that is usable here"),
        (Some(Level::Avx2), State::Ok, "avx2 asked for (environment, RECINTO_LEVEL): the best"),
        (Some(Level::Portable), State::Note, "usable, not the fastest"),
        (Some(Level::Avx512), State::Fault, "not usable on this CPU"),
    ];
    for (asked, state, part) in cases {
        let check = chosen(&levels, asked.map(|level| (level, &source)));
        assert_eq!(check.state, state, "{check:?}");
        assert!(check.found.contains(part), "{check:?}");
    }
}
