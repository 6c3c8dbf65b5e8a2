//! Machines that others counted wrongly, as fake trees.

use super::*;
use crate::tree::{add, tree};

const TWO: (&str, &str) =
    ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
const OWN: (&str, &str) = ("proc/self/cgroup", "0::/box/inner\n");

/// Cores of `per_core` CPUs each, numbered as Linux does: first threads first.
fn topology(root: &Path, cores: usize, per_core: usize) {
    add(root, "sys/devices/system/cpu/online", &format!("0-{}\n", cores * per_core - 1));
    for cpu in 0..cores * per_core {
        let core = cpu % cores;
        let siblings: Vec<String> =
            (0..per_core).map(|thread| (core + thread * cores).to_string()).collect();
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        add(root, &format!("{folder}/core_cpus_list"), &format!("{}\n", siblings.join(",")));
        add(root, &format!("{folder}/core_id"), &format!("{core}\n"));
        add(root, &format!("{folder}/physical_package_id"), "0\n");
    }
}

#[test]
fn limits_of_control_groups() {
    // SYS-01 of docs/cases.md, and its neighbours: 8 CPUs on 8 cores.
    type Files<'a> = &'a [(&'a str, &'a str)];
    let inner = "sys/fs/cgroup/box/inner/cpu.max";
    let outer = "sys/fs/cgroup/box/cpu.max";
    let set = "sys/fs/cgroup/box/inner/cpuset.cpus.effective";
    let status = "proc/self/status";
    let cases: [(&str, Files<'_>, usize); 15] = [
        ("nothing", &[], 8),
        ("quota of 4", &[(inner, "400000 100000\n")], 4),
        ("no quota", &[(inner, "max 100000\n")], 8),
        ("quota of an ancestor", &[(inner, "max 100000\n"), (outer, "300000 100000\n")], 3),
        ("the smaller of two", &[(inner, "500000 100000\n"), (outer, "200000 100000\n")], 2),
        ("quota of one and a half", &[(inner, "150000 100000\n")], 1),
        ("quota of a tenth", &[(inner, "10000 100000\n")], 1),
        ("quota above the machine", &[(inner, "6400000 100000\n")], 8),
        ("quota with no period", &[(inner, "200000\n")], 2),
        ("quota of zero", &[(inner, "0 100000\n")], 8),
        ("period of zero", &[(inner, "100000 0\n")], 8),
        ("nonsense", &[(inner, "ñ\n")], 8),
        ("cpuset 0-3", &[(set, "0-3\n")], 4),
        ("cpuset of an ancestor", &[("sys/fs/cgroup/box/cpuset.cpus.effective", "1,5\n")], 2),
        ("affinity and cpuset", &[(set, "0-3\n"), (status, "Cpus_allowed_list:\t3-7\n")], 1),
    ];
    for (name, files, want) in cases {
        let root = tree(&[TWO, OWN]);
        topology(root.path(), 8, 1);
        for (path, text) in files {
            add(root.path(), path, text);
        }
        let found = limits(root.path());
        let at = quota_at(root.path());
        assert_eq!(found.quota, at.as_ref().map(|at| at.0), "{name}");
        assert!(at.is_none_or(|(_, file)| file.is_file()), "{name}");
        assert_eq!((found.visible, found.threads), (8, want), "{name}: {found:?}");
    }
}

#[test]
fn limits_of_version_1() {
    let mounts = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  32 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
    let own = "4:cpuset:/box\n3:cpu,cpuacct:/box\n";
    let cases = [("unlimited", "-1\n", "", 8), ("2.5", "250000\n", "", 2), ("set", "-1", "2-4", 3)];
    for (name, quota, set, want) in cases {
        let root = tree(&[
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", own),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", quota),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpuset/box/cpuset.cpus", set),
        ]);
        topology(root.path(), 8, 1);
        assert_eq!(limits(root.path()).threads, want, "{name}");
    }
}

#[test]
fn cores_count_once() {
    let root = tree(&[]);
    topology(root.path(), 4, 2);
    let found = limits(root.path());
    assert_eq!((found.visible, found.cores, found.threads), (8, 4, 4), "two threads a core");
    // Both threads of one core, and one of another.
    add(root.path(), "proc/self/status", "Cpus_allowed_list:\t1-2,5\n");
    assert_eq!(limits(root.path()).cores, 2, "half a core is a core");

    // SYS-03 of docs/cases.md: 20 CPUs, one thread a core, 8 fast and 12 slow.
    let root = tree(&[]);
    topology(root.path(), 20, 1);
    for cpu in 0..20 {
        let capacity = if cpu < 8 { "1024\n" } else { "512\n" };
        add(root.path(), &format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    assert_eq!(limits(root.path()).threads, 20, "fast and slow cores");

    // Old kernels: no lists; core numbers repeat in the second package.
    let root = tree(&[("sys/devices/system/cpu/online", "0-7\n")]);
    for cpu in 0..8 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        add(root.path(), &format!("{folder}/core_id"), &format!("{}\n", cpu % 2));
        add(root.path(), &format!("{folder}/physical_package_id"), &format!("{}\n", cpu / 4));
    }
    assert_eq!(limits(root.path()).cores, 4, "two packages of two cores of two threads");

    let root = tree(&[("sys/devices/system/cpu/online", "0-5\n")]);
    assert_eq!(limits(root.path()).cores, 6, "no topology");
}

#[test]
fn an_empty_machine_has_one_thread() {
    let root = tree(&[]);
    assert_eq!(limits(root.path()).threads, 1);
    let root = tree(&[
        ("sys/devices/system/cpu/online", "0-1"),
        ("proc/self/status", "Cpus_allowed_list:\t64-65\n"),
    ]);
    assert_eq!(limits(root.path()).threads, 2, "a limit of another machine");
}

#[test]
fn this_machine_answers() {
    let found = limits(Path::new("/"));
    let known = std::thread::available_parallelism().unwrap().get();
    assert!(found.threads >= 1 && found.threads <= known, "{found:?}, {known} in all");
    assert!(found.cores <= found.visible && found.affinity.is_some_and(|n| n >= 1));
}

#[test]
fn a_thread_can_go_last_and_no_other_follows() {
    let mine = || rustix::process::getpriority_process(None).unwrap();
    let before = mine();
    let there = std::thread::spawn(move || {
        yield_to_others().unwrap();
        mine()
    });
    assert_eq!((there.join().unwrap(), mine()), (19, before));
}
