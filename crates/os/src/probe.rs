//! What this system offers and how it is set, for whoever looks at a machine: read from `/proc`
//! and `/sys`, and asked in one call that changes nothing.
//!
//! Sources: the kernel's documents `landlock.rst`, `seccomp_filter.rst`, `transhuge.rst`,
//! `sysctl/{kernel,user}.rst`, `Yama.rst`, and `proc(5)`.

use std::path::Path;

use crate::cgroup::{field, number, read};

/// Ways to shut a process in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Version of Landlock's interface; `None` where the kernel has none for this process.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Why this user can make no user namespace; `None` when nothing forbids it.
    pub namespaces_refused: Option<&'static str>,
}

/// What the system below `root` offers. Landlock is asked only where `root` is `/`.
pub fn sandbox(root: &Path) -> Sandbox {
    let landlock = if root == Path::new("/") { landlock_version() } else { None };
    let actions = read(root, "proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let seccomp = actions.split_whitespace().any(|action| action == "errno");
    let is = |path: &str, value: u64| number(root, path) == Some(value);
    let refusals = [
        ("the kernel has none", read(root, "proc/sys/user/max_user_namespaces").is_none()),
        ("user.max_user_namespaces is 0", is("proc/sys/user/max_user_namespaces", 0)),
        (
            "kernel.unprivileged_userns_clone is 0",
            is("proc/sys/kernel/unprivileged_userns_clone", 0),
        ),
        (
            "kernel.apparmor_restrict_unprivileged_userns is 1",
            is("proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1),
        ),
    ];
    let refused = refusals.iter().find(|(_, holds)| *holds).map(|(why, _)| *why);
    Sandbox { landlock, seccomp, namespaces_refused: refused }
}

/// The version of Landlock's interface, where there is one.
fn landlock_version() -> Option<u32> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        // landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
        const CALL: i64 = 444;
        const VERSION: i64 = 1;
        let answer: i64;
        // SAFETY: with this flag the call takes no pointer, makes nothing and returns a number;
        // a kernel without it returns an error. The registers it destroys are named.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") CALL => answer,
                in("rdi") 0i64,
                in("rsi") 0i64,
                in("rdx") VERSION,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack)
            );
        }
        u32::try_from(answer).ok().filter(|version| *version > 0)
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    None
}

/// When the system gives large pages: `always`, `madvise` or `never`; `None` when it has none.
pub fn large_pages(root: &Path) -> Option<String> {
    let text = read(root, "sys/kernel/mm/transparent_hugepage/enabled")?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Bytes of swap; `None` when the system does not say.
pub fn swap(root: &Path) -> Option<u64> {
    let info = read(root, "proc/meminfo")?;
    field(&info, "SwapTotal").map(|kib| kib.saturating_mul(1024))
}

/// Who may attach to a process of the same user, by Yama's rule: 0 anybody, 1 its parent, 2 the
/// administrator, 3 nobody. `None` where Yama is not there, which is as 0.
pub fn ptrace_scope(root: &Path) -> Option<u64> {
    number(root, "proc/sys/kernel/yama/ptrace_scope")
}

/// The most files this process may have open; `None` when there is no limit.
pub fn open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tree;

    #[test]
    fn machines() {
        const USERS: &str = "proc/sys/user/max_user_namespaces";
        const CALLS: &str = "proc/sys/kernel/seccomp/actions_avail";
        type Files<'a> = &'a [(&'a str, &'a str)];
        let cases: [(&str, Files<'_>, bool, Option<&str>); 5] = [
            ("nothing", &[], false, Some("the kernel has none")),
            ("all", &[(USERS, "96365\n"), (CALLS, "trap errno log allow\n")], true, None),
            ("none by number", &[(USERS, "0\n")], false, Some("user.max_user_namespaces is 0")),
            (
                "Debian's switch",
                &[(USERS, "9\n"), ("proc/sys/kernel/unprivileged_userns_clone", "0\n")],
                false,
                Some("kernel.unprivileged_userns_clone is 0"),
            ),
            (
                "AppArmor's switch",
                &[(USERS, "9\n"), ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")],
                false,
                Some("kernel.apparmor_restrict_unprivileged_userns is 1"),
            ),
        ];
        for (name, files, seccomp, refused) in cases {
            let root = tree(files);
            let want = Sandbox { landlock: None, seccomp, namespaces_refused: refused };
            assert_eq!(sandbox(root.path()), want, "{name}");
        }
        let root = tree(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/meminfo", "MemTotal: 10 kB\nSwapTotal:  2 kB\n"),
            ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
        ]);
        assert_eq!(large_pages(root.path()).as_deref(), Some("madvise"));
        assert_eq!((swap(root.path()), ptrace_scope(root.path())), (Some(2048), Some(1)));
    }

    #[test]
    fn asking_changes_nothing() {
        let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = files();
        let first = sandbox(Path::new("/"));
        assert_eq!(first, sandbox(Path::new("/")));
        assert_eq!(files(), before, "nothing was opened");
        assert!(open_files().is_none_or(|most| most > 3));
        let listed = std::fs::read_to_string("/sys/kernel/security/lsm");
        if let (Ok(listed), None) = (&listed, first.landlock) {
            assert!(!listed.contains("landlock") || !cfg!(target_arch = "x86_64"), "{listed}");
        }
    }
}
