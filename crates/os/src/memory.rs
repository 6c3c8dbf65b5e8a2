//! Memory: how much may be used, how much is used, and keeping it from the swap.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::cgroup::{self, Version};

/// Memory of the machine and of the control groups this process is in, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Memory of the machine.
    pub total: u64,
    /// The smallest limit of a control group, when one is below `total`.
    pub limit: Option<u64>,
    /// What can be taken without swapping. Pages that only cache files count as free: the
    /// system gives them up, and a mapped model is such pages itself.
    pub available: u64,
}

/// The memory that `proc` and `sys` below `root` tell of; `None` when they do not.
pub fn memory(root: &Path) -> Option<Memory> {
    let info = cgroup::read(root, "proc/meminfo")?;
    let kib = |key| cgroup::field(&info, key).map(|n| n.saturating_mul(1024));
    let total = kib("MemTotal")?;
    let guess = || {
        let cached = kib("Cached")?.saturating_sub(kib("Shmem").unwrap_or(0));
        Some(kib("MemFree")?.saturating_add(cached).saturating_add(kib("Buffers")?))
    };
    let mut out = Memory { total, limit: None, available: kib("MemAvailable").or_else(guess)? };
    for (version, folder) in cgroup::folders(root, "memory") {
        let usage = match version {
            Version::Two => "memory.current",
            Version::One => "memory.usage_in_bytes",
        };
        let Some((limit, _)) = limit_of(version, &folder, total) else { continue };
        out.limit = Some(out.limit.map_or(limit, |before| before.min(limit)));
        let used = cgroup::number(&folder, usage).unwrap_or(0);
        let kept = used.saturating_sub(file_pages(&folder));
        out.available = out.available.min(limit.saturating_sub(kept));
    }
    Some(out)
}

/// The smallest limit of one group, where it is below `total`, and the file that says it.
fn limit_of(version: Version, folder: &Path, total: u64) -> Option<(u64, PathBuf)> {
    let names: &[&str] = match version {
        Version::Two => &["memory.max", "memory.high"],
        Version::One => &["memory.limit_in_bytes"],
    };
    let limits = names.iter().filter_map(|name| Some((cgroup::number(folder, name)?, *name)));
    // Version 1 writes "no limit" as a number larger than any machine.
    let (limit, name) = limits.min().filter(|(limit, _)| *limit < total)?;
    Some((limit, folder.join(name)))
}

/// The smallest limit of a control group in bytes, as in [`Memory::limit`], and the file that
/// says it.
pub fn limit_at(root: &Path) -> Option<(u64, PathBuf)> {
    let total = memory(root)?.total;
    let folders = cgroup::folders(root, "memory").into_iter();
    folders.filter_map(|(version, folder)| limit_of(version, &folder, total)).min()
}

/// Pages of a group that cache files and can be given up; shared memory is not among them.
fn file_pages(folder: &Path) -> u64 {
    let Some(stat) = cgroup::read(folder, "memory.stat") else { return 0 };
    for prefix in ["total_", ""] {
        let field = |name: &str| cgroup::field(&stat, &format!("{prefix}{name}"));
        if let (Some(active), Some(inactive)) = (field("active_file"), field("inactive_file")) {
            return active.saturating_add(inactive);
        }
    }
    let field = |name| cgroup::field(&stat, name).unwrap_or(0);
    field("file").saturating_sub(field("shmem"))
}

/// Memory of this process that is present now, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub now: u64,
    /// The most there ever was.
    pub peak: u64,
    /// Its own: heap, stacks.
    pub anon: u64,
    /// Mapped files, a model's weights among them.
    pub file: u64,
    /// Shared memory.
    pub shared: u64,
    /// Own memory that has gone to the swap.
    pub swapped: u64,
    /// Kept from the swap by [`lock`].
    pub locked: u64,
}

/// Resident memory of this process.
pub fn resident() -> io::Result<Resident> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    resident_from(&status)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no VmRSS in /proc/self/status"))
}

fn resident_from(status: &str) -> Option<Resident> {
    let kib = |key| cgroup::field(status, key).map(|n| n.saturating_mul(1024));
    let now = kib("VmRSS")?;
    Some(Resident {
        now,
        peak: kib("VmHWM").unwrap_or(now).max(now),
        anon: kib("RssAnon").unwrap_or(0),
        file: kib("RssFile").unwrap_or(0),
        shared: kib("RssShmem").unwrap_or(0),
        swapped: kib("VmSwap").unwrap_or(0),
        locked: kib("VmLck").unwrap_or(0),
    })
}

/// Keeps the pages of `values` in memory, never in the swap, until [`unlock`] or until they are
/// returned to the system. Fails when `RLIMIT_MEMLOCK` (see [`lock_limit`]) does not allow it.
pub fn lock<T>(values: &[T]) -> io::Result<()> {
    if size_of_val(values) == 0 {
        return Ok(());
    }
    // SAFETY: the range is one live slice; locking pages changes no byte of them.
    Ok(unsafe { rustix::mm::mlock(values.as_ptr().cast_mut().cast(), size_of_val(values)) }?)
}

/// Undoes [`lock`] for the pages of `values`, whatever else lies on them.
pub fn unlock<T>(values: &[T]) -> io::Result<()> {
    if size_of_val(values) == 0 {
        return Ok(());
    }
    // SAFETY: the range is one live slice; unlocking pages changes no byte of them.
    Ok(unsafe { rustix::mm::munlock(values.as_ptr().cast_mut().cast(), size_of_val(values)) }?)
}

/// The most bytes this process may lock; `None` when there is no limit.
pub fn lock_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{add, tree};

    const GIB: u64 = 1 << 30;

    fn gib(x: f64) -> u64 {
        (x * GIB as f64) as u64
    }

    fn machine(total: f64, available: f64) -> tempfile::TempDir {
        let info = format!(
            "MemTotal:       {} kB\nMemFree:  1024 kB\nMemAvailable:   {} kB\n",
            gib(total) / 1024,
            gib(available) / 1024
        );
        tree(&[
            ("proc/meminfo", &info),
            ("proc/self/cgroup", "0::/box/inner\n"),
            ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ])
    }

    fn group(root: &Path, name: &str, max: &str, current: f64, stat: &str) {
        let folder = format!("sys/fs/cgroup/{name}");
        add(root, &format!("{folder}/memory.max"), max);
        add(root, &format!("{folder}/memory.current"), &gib(current).to_string());
        add(root, &format!("{folder}/memory.stat"), stat);
    }

    #[test]
    fn cached_files_are_free_memory() {
        // SYS-05 of docs/cases.md.
        let root = machine(32.77, 30.0);
        let stat = format!("anon {}\nfile {}\nshmem 0\n", gib(0.66), gib(25.03));
        group(root.path(), "box/inner", "max\n", 25.69, &stat);
        let found = memory(root.path()).unwrap();
        assert_eq!(found.limit, None);
        assert!(found.available >= gib(29.99), "{found:?}");

        // The same use under a limit: what is not file counts, nothing else.
        group(root.path(), "box", &format!("{}\n", gib(28.0)), 25.69, &stat);
        let found = memory(root.path()).unwrap();
        assert_eq!(found.limit, Some(gib(28.0)));
        assert!(found.available.abs_diff(gib(28.0 - 0.66)) < 1 << 20, "{found:?}");
    }

    #[test]
    fn the_smallest_group_counts() {
        let root = machine(32.0, 30.0);
        group(root.path(), "box/inner", &gib(8.0).to_string(), 1.0, "anon 1\n");
        group(root.path(), "box", &gib(4.0).to_string(), 3.0, "active_file 0\ninactive_file 0\n");
        let found = memory(root.path()).unwrap();
        assert_eq!((found.limit, found.available), (Some(gib(4.0)), gib(1.0)));
        let file = root.path().join("sys/fs/cgroup/box/memory.max");
        assert_eq!(limit_at(root.path()), Some((gib(4.0), file)));
        // Shared memory is kept in `file` and cannot be given up.
        let stat = format!("file {}\nshmem {}\n", gib(2.0), gib(1.5));
        group(root.path(), "box", &gib(4.0).to_string(), 3.0, &stat);
        assert_eq!(memory(root.path()).unwrap().available, gib(1.5));
        // More in use than allowed, as after a limit was lowered.
        group(root.path(), "box", &GIB.to_string(), 3.0, "");
        assert_eq!(memory(root.path()).unwrap().available, 0);
        add(root.path(), "sys/fs/cgroup/memory.high", "1000\n");
        assert_eq!(memory(root.path()).unwrap().limit, Some(1000));
    }

    #[test]
    fn version_1_writes_no_limit_as_a_number() {
        let root = tree(&[
            ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n"),
            ("proc/self/cgroup", "4:memory:/\n"),
            ("proc/self/mountinfo", "32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "512000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_active_file 1\ntotal_inactive_file 9\n"),
        ]);
        let found = memory(root.path()).unwrap();
        assert_eq!(found, Memory { total: 1_024_000, limit: None, available: 921_600 });
        add(root.path(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "712000\n");
        assert_eq!(memory(root.path()).unwrap().available, 200_010);
    }

    #[test]
    fn nothing_known_is_said() {
        let cases = [("", false), ("MemTotal: x kB\n", false), ("MemTotal: 10 kB\n", false)];
        for (text, want) in cases {
            let root = tree(&[("proc/meminfo", text)]);
            assert_eq!(memory(root.path()).is_some(), want, "{text:?}");
        }
        let old = "MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 1 kB\nCached: 20 kB\nShmem: 5 kB\n";
        let root = tree(&[("proc/meminfo", old)]);
        assert_eq!(memory(root.path()).unwrap().available, 26 * 1024, "no MemAvailable");
    }

    #[test]
    fn this_process_grows() {
        let before = resident().unwrap();
        let block = vec![1u8; 64 << 20];
        let with = resident().unwrap();
        assert!(block.iter().step_by(4096).all(|b| *b == 1));
        assert!(with.anon >= before.anon + (60 << 20), "{before:?} {with:?}");
        assert!(with.peak >= with.now && with.now >= with.anon);
        assert_eq!(resident_from("Name:\tx\n"), None);
        assert!(memory(Path::new("/")).is_some_and(|m| m.available > 0 && m.available <= m.total));
    }

    #[test]
    fn pages_can_be_locked() {
        lock::<u8>(&[]).unwrap();
        let block = vec![1u8; 16 << 10];
        match lock(&block) {
            Ok(()) => {
                assert!(resident().unwrap().locked >= 16 << 10);
                unlock(&block).unwrap();
            }
            Err(e) => assert!(lock_limit().is_some_and(|limit| limit < 64 << 10), "{e}"),
        }
    }
}
