//! Memory: how much may be used, how much is used, and keeping it from the swap.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::cgroup::{self, Version};

/// Memory of the machine and of the control groups this process is in, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Memory of the machine.
    pub total: u64,
    /// The smallest limit of a control group, when one is below `total`.
    pub limit: Option<Limit>,
    /// The limit that leaves no more than `available`; `None` where the machine itself has no
    /// more. It need not be the smallest: a larger group can be fuller.
    pub bound: Option<Limit>,
    /// What can be taken without swapping. Pages that only cache files count as free: the
    /// system gives them up, and a mapped model is such pages itself.
    pub available: u64,
}

/// A limit of a control group and where it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes that all processes of the group may have.
    pub bytes: u64,
    /// The file that says so, such as `/sys/fs/cgroup/box/memory.max`.
    pub file: PathBuf,
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
    let available = kib("MemAvailable").or_else(guess)?;
    let mut out = Memory { total, limit: None, bound: None, available };
    for (version, folder) in cgroup::folders(root, "memory") {
        let (limits, usage): (&[&str], _) = match version {
            Version::Two => (&["memory.max", "memory.high"], "memory.current"),
            Version::One => (&["memory.limit_in_bytes"], "memory.usage_in_bytes"),
        };
        let limits = limits.iter().filter_map(|name| Some((cgroup::number(&folder, name)?, name)));
        // Version 1 writes "no limit" as a number larger than any machine.
        let smallest = limits.min_by_key(|limit| limit.0).filter(|limit| limit.0 < total);
        let Some((bytes, name)) = smallest else { continue };
        let file = folder.join(name);
        let file = Path::new("/").join(file.strip_prefix(root).unwrap_or(&file));
        let limit = Limit { bytes, file };
        let used = cgroup::number(&folder, usage).unwrap_or(0);
        let left = bytes.saturating_sub(used.saturating_sub(file_pages(&folder)));
        if left < out.available {
            (out.available, out.bound) = (left, Some(limit.clone()));
        }
        if out.limit.as_ref().is_none_or(|before| bytes < before.bytes) {
            out.limit = Some(limit);
        }
    }
    Some(out)
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
        let limit = Limit { bytes: gib(28.0), file: "/sys/fs/cgroup/box/memory.max".into() };
        assert_eq!((found.limit.as_ref(), found.bound.as_ref()), (Some(&limit), Some(&limit)));
        assert!(found.available.abs_diff(gib(28.0 - 0.66)) < 1 << 20, "{found:?}");
    }

    #[test]
    fn the_smallest_group_counts() {
        let root = machine(32.0, 30.0);
        group(root.path(), "box/inner", &gib(8.0).to_string(), 1.0, "anon 1\n");
        group(root.path(), "box", &gib(4.0).to_string(), 3.0, "active_file 0\ninactive_file 0\n");
        let found = memory(root.path()).unwrap();
        let smallest = |memory: &Memory| memory.limit.as_ref().map(|limit| limit.bytes);
        assert_eq!((smallest(&found), found.available), (Some(gib(4.0)), gib(1.0)));
        // A larger group that is fuller leaves less than the smallest one.
        group(root.path(), "box", &gib(9.0).to_string(), 8.5, "anon 1\n");
        let found = memory(root.path()).unwrap();
        assert_eq!((smallest(&found), found.available), (Some(gib(8.0)), gib(0.5)));
        assert_eq!(found.bound.unwrap().file, Path::new("/sys/fs/cgroup/box/memory.max"));
        // Shared memory is kept in `file` and cannot be given up.
        let stat = format!("file {}\nshmem {}\n", gib(2.0), gib(1.5));
        group(root.path(), "box", &gib(4.0).to_string(), 3.0, &stat);
        assert_eq!(memory(root.path()).unwrap().available, gib(1.5));
        // More in use than allowed, as after a limit was lowered.
        group(root.path(), "box", &GIB.to_string(), 3.0, "");
        assert_eq!(memory(root.path()).unwrap().available, 0);
        add(root.path(), "sys/fs/cgroup/memory.high", "1000\n");
        let limit = memory(root.path()).unwrap().limit.unwrap();
        assert_eq!(limit, Limit { bytes: 1000, file: "/sys/fs/cgroup/memory.high".into() });
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
        let (limit, bound) = (None, None);
        assert_eq!(found, Memory { total: 1_024_000, limit, bound, available: 921_600 });
        add(root.path(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "712000\n");
        let found = memory(root.path()).unwrap();
        assert_eq!(found.available, 200_010);
        let file = Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes");
        assert_eq!(found.bound.map(|limit| limit.file).as_deref(), Some(file));
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
