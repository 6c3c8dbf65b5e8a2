//! How many threads to use: what the system shows, minus what it does not let us have.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use crate::cgroup::{self, Version};

/// What limits the number of threads, each limit by itself, and the number that follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// CPUs that are online.
    pub visible: usize,
    /// CPUs the scheduler may put this process on; `None` when not known.
    pub affinity: Option<usize>,
    /// CPUs that all of these leave.
    pub allowed: usize,
    /// CPU seconds per second that the control groups allow; `None` when unlimited.
    pub quota: Option<f64>,
    /// CPUs of the control group's set; `None` when there is none.
    pub cpuset: Option<usize>,
    /// Physical cores among the CPUs that are left.
    pub cores: usize,
    /// Threads to use: one a core, no more than the quota's whole CPUs, at least one.
    pub threads: usize,
}

/// Lets every other thread go before the calling one, for good: what is left of the CPUs is its
/// share. Taking that back would need a privilege.
pub fn yield_to_others() -> io::Result<()> {
    // On Linux a priority belongs to a thread, and none named is the calling one.
    Ok(rustix::process::setpriority_process(None, 19)?)
}

/// The limits as `proc` and `sys` below `root` tell them; `/` is this process's machine.
///
/// Two threads on one core share its multipliers, so a core counts once. A slow core counts
/// like a fast one. The quota is rounded down: threads that wait for each other lose more from
/// being stopped in the middle than from being fewer.
pub fn limits(root: &Path) -> Limits {
    let affinity = affinity(root);
    let online = cgroup::read(root, "sys/devices/system/cpu/online")
        .and_then(|text| cgroup::cpu_list(&text))
        .or_else(|| affinity.clone())
        .unwrap_or_else(|| BTreeSet::from([0]));
    let cpuset = cpuset(root);
    let mut allowed = online.clone();
    for limit in [&affinity, &cpuset].into_iter().flatten() {
        let both: BTreeSet<usize> = allowed.intersection(limit).copied().collect();
        // A limit that leaves nothing describes another machine than the rest does.
        if !both.is_empty() {
            allowed = both;
        }
    }
    let quota = quota_at(root).map(|(quota, _)| quota);
    let cores = cores(root, &allowed);
    let whole = quota.map_or(usize::MAX, |cpus| (cpus as usize).max(1));
    Limits {
        visible: online.len(),
        affinity: affinity.map(|set| set.len()),
        allowed: allowed.len(),
        quota,
        cpuset: cpuset.map(|set| set.len()),
        cores,
        threads: cores.min(whole),
    }
}

fn affinity(root: &Path) -> Option<BTreeSet<usize>> {
    if root == Path::new("/")
        && let Ok(set) = rustix::thread::sched_getaffinity(None)
    {
        let cpus = 0..rustix::thread::CpuSet::MAX_CPU;
        return Some(cpus.filter(|cpu| set.is_set(*cpu)).collect());
    }
    let status = cgroup::read(root, "proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    cgroup::cpu_list(list)
}

fn cpuset(root: &Path) -> Option<BTreeSet<usize>> {
    // The nearest group that says something has already been cut to its ancestors.
    cgroup::folders(root, "cpuset").into_iter().find_map(|(version, folder)| {
        let names: &[&str] = match version {
            Version::Two => &["cpuset.cpus.effective", "cpuset.cpus"],
            Version::One => &["cpuset.effective_cpus", "cpuset.cpus"],
        };
        names.iter().find_map(|name| cgroup::cpu_list(&cgroup::read(&folder, name)?))
    })
}

/// The smallest quota of a control group, in CPUs, and the file that says it.
pub fn quota_at(root: &Path) -> Option<(f64, PathBuf)> {
    let quotas = cgroup::folders(root, "cpu").into_iter().filter_map(|(version, folder)| {
        let (name, quota, period) = match version {
            Version::Two => {
                let text = cgroup::read(&folder, "cpu.max")?;
                let mut parts = text.split_whitespace();
                let quota: f64 = parts.next()?.parse().ok()?;
                let period = parts.next().map_or(Some(100_000.0), |part| part.parse().ok())?;
                ("cpu.max", quota, period)
            }
            Version::One => (
                "cpu.cfs_quota_us",
                cgroup::number(&folder, "cpu.cfs_quota_us")? as f64,
                cgroup::number(&folder, "cpu.cfs_period_us")? as f64,
            ),
        };
        let cpus = quota / period;
        (cpus.is_finite() && cpus > 0.0).then(|| (cpus, folder.join(name)))
    });
    quotas.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether cores of this machine run several threads each; `None` when the system does not say.
pub fn smt(root: &Path) -> Option<bool> {
    match cgroup::number(&root.join("sys/devices/system/cpu/smt"), "active")? {
        0 => Some(false),
        _ => Some(true),
    }
}

fn cores(root: &Path, cpus: &BTreeSet<usize>) -> usize {
    let cores: BTreeSet<String> = cpus.iter().map(|cpu| core(root, *cpu)).collect();
    cores.len()
}

/// A name for the core of `cpu`: the list of CPUs on it, or package and core number where the
/// list is missing. Core numbers alone repeat from package to package.
fn core(root: &Path, cpu: usize) -> String {
    let folder: PathBuf =
        root.join("sys/devices/system/cpu").join(format!("cpu{cpu}")).join("topology");
    for name in ["core_cpus_list", "thread_siblings_list"] {
        if let Some(list) = cgroup::read(&folder, name)
            && cgroup::cpu_list(&list).is_some_and(|set| set.contains(&cpu))
        {
            return format!("cpus {}", list.trim());
        }
    }
    let id = |name| cgroup::number(&folder, name);
    match (id("physical_package_id"), id("core_id")) {
        (Some(package), Some(core)) => format!("package {package} core {core}"),
        _ => format!("cpu {cpu}"),
    }
}

#[cfg(test)]
#[path = "cpus/tests.rs"]
mod tests;
