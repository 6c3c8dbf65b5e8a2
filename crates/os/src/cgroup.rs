//! Control groups, versions 1 and 2: the folders whose limits hold for this process.
//!
//! Source: the kernel's documents `cgroup-v2.rst`, `cgroup-v1/` and `cgroups(7)`.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

/// CPUs beyond this number do not exist; a list that names them is cut there.
const MAX_CPU: usize = 1 << 16;

/// Which version of control groups a folder belongs to; the file names differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// The folders that limit this process for `controller`, its own first, then every ancestor up
/// to the mount point. Unreadable or absent: no folders.
pub(crate) fn folders(root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let own = read(root, "proc/self/cgroup").unwrap_or_default();
    let mounts = mounts(root);
    let mut out = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let version = if names.is_empty() { Version::Two } else { Version::One };
        if version == Version::One && !names.split(',').any(|name| name == controller) {
            continue;
        }
        for mount in mounts.iter().filter(|m| m.version == version) {
            if version == Version::One && !mount.options.split(',').any(|o| o == controller) {
                continue;
            }
            // A container may see only the subtree it was given: then the mount is its own.
            let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
            let mut below = PathBuf::from_iter(
                below.components().filter(|part| matches!(part, Component::Normal(_))),
            );
            loop {
                out.push((version, root.join(&mount.point).join(&below)));
                if !below.pop() {
                    break;
                }
            }
        }
    }
    out
}

struct Mount {
    version: Version,
    root: PathBuf,
    /// Relative to `/`, so that it can be joined to any root.
    point: PathBuf,
    options: String,
}

fn mounts(root: &Path) -> Vec<Mount> {
    let Some(text) = read(root, "proc/self/mountinfo") else {
        let point = PathBuf::from("sys/fs/cgroup");
        let top = PathBuf::from("/");
        return vec![Mount { version: Version::Two, root: top, point, options: String::new() }];
    };
    let mut out = Vec::new();
    for line in text.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(top), Some(point), Some(kind)) = (left.get(3), left.get(4), right.first()) else {
            continue;
        };
        let version = match *kind {
            "cgroup2" => Version::Two,
            "cgroup" => Version::One,
            _ => continue,
        };
        out.push(Mount {
            version,
            root: PathBuf::from(top),
            point: PathBuf::from(point.trim_start_matches('/')),
            options: (*right.get(2).unwrap_or(&"")).to_owned(),
        });
    }
    out
}

/// A small text file below `root`, or `None`.
pub(crate) fn read(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path)).ok()
}

/// The first whole number in a small file; `max` and `-1` give `None`.
pub(crate) fn number(folder: &Path, name: &str) -> Option<u64> {
    read(folder, name)?.split_whitespace().next()?.parse().ok()
}

/// The value of `key` in a file of lines `key value`.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix([' ', ':']))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The CPUs of a list such as `0-3,8`; `None` when it is empty or not such a list.
pub(crate) fn cpu_list(text: &str) -> Option<BTreeSet<usize>> {
    let mut out = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        out.extend(first..last.saturating_add(1).min(MAX_CPU));
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tree;

    #[test]
    fn lists() {
        let cases: [(&str, Option<&[usize]>); 9] = [
            ("0", Some(&[0])),
            ("0-3\n", Some(&[0, 1, 2, 3])),
            ("0-1,4,6-7", Some(&[0, 1, 4, 6, 7])),
            ("", None),
            ("\n", None),
            ("3-1", None),
            ("a-b", None),
            ("0,,1", None),
            ("99999999999999999999", None),
        ];
        for (text, want) in cases {
            let want = want.map(|cpus| cpus.iter().copied().collect());
            assert_eq!(cpu_list(text), want, "{text:?}");
        }
        assert_eq!(cpu_list("0-18446744073709551615").map(|set| set.len()), Some(MAX_CPU));
    }

    #[test]
    fn the_own_folder_and_its_ancestors() {
        let two = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let one = "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                   32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let bound = "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let cases: [(&str, &str, &str, &[&str]); 7] = [
            ("version 2", "0::/a/b\n", two, &["/a/b", "/a", ""]),
            ("at the top", "0::/\n", two, &[""]),
            ("version 1", "4:memory:/m\n3:cpu,cpuacct:/c\n", one, &["/cpu/c", "/cpu"]),
            ("not this controller", "4:memory:/m\n", one, &[]),
            ("a bound subtree", "0::/docker/abc/x\n", bound, &["/x", ""]),
            ("outside the namespace", "0::/../other\n", two, &["/other", ""]),
            ("nonsense", "::::\n\nabc\n", two, &[""]),
        ];
        for (name, own, mounts, want) in cases {
            let root = tree(&[("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)]);
            let found: Vec<PathBuf> =
                folders(root.path(), "cpu").into_iter().map(|(_, path)| path).collect();
            let base = root.path().join("sys/fs/cgroup");
            let want: Vec<PathBuf> =
                want.iter().map(|path| base.join(path.trim_start_matches('/'))).collect();
            assert_eq!(found, want, "{name}");
        }
        assert!(folders(Path::new("/nonexistent"), "cpu").is_empty());
    }
}
