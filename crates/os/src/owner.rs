//! Who owns a file and who may write to it.

use std::{fs::File, io, os::unix::fs::MetadataExt, path::Path};

/// Owner and permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// User number of the owner.
    pub owner: u32,
    /// Group number.
    pub group: u32,
    /// Permission bits, as `chmod` takes them.
    pub mode: u32,
}

impl Facts {
    /// The facts of an open file: those of what is read afterwards, whatever happens to the path.
    pub fn of(file: &File) -> io::Result<Facts> {
        file.metadata().map(|meta| Facts::from_metadata(&meta))
    }

    /// The facts of the file at `path`, symbolic links followed.
    pub fn at(path: &Path) -> io::Result<Facts> {
        std::fs::metadata(path).map(|meta| Facts::from_metadata(&meta))
    }

    /// The facts of what stands at `path` itself: of a symbolic link, not of where it leads.
    pub fn of_link(path: &Path) -> io::Result<Facts> {
        std::fs::symlink_metadata(path).map(|meta| Facts::from_metadata(&meta))
    }

    fn from_metadata(meta: &std::fs::Metadata) -> Facts {
        Facts { owner: meta.uid(), group: meta.gid(), mode: meta.mode() & 0o7777 }
    }

    /// Whether the owner is the user this process acts for.
    pub fn is_mine(self) -> bool {
        self.owner == user()
    }

    /// Whether the owner is root, who may do anything anyway.
    pub fn is_roots(self) -> bool {
        self.owner == 0
    }

    /// Whether everybody may write to this file.
    pub fn writable_by_all(self) -> bool {
        self.mode & 0o002 != 0
    }

    /// Whether everybody may replace what is in this folder: they may write to it, and no sticky
    /// bit keeps them from files of others.
    pub fn replaceable_by_all(self) -> bool {
        self.writable_by_all() && self.mode & 0o1000 == 0
    }

    /// Whether somebody who is not the owner may write. A group with the owner's own number is
    /// the owner's private group, which many systems make group-writable by default.
    pub fn writable_by_others(self) -> bool {
        let group = self.mode & 0o020 != 0 && self.group != self.owner;
        group || self.mode & 0o002 != 0
    }
}

/// Whether this process could write to what stands at `path`; nothing is written to find out.
pub fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The number of the user this process acts for.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn who_may_write() {
        let cases = [
            ("private", 1000, 1000, 0o600, false),
            ("readable", 1000, 1000, 0o644, false),
            ("own group", 1000, 1000, 0o664, false),
            ("another group", 1000, 50, 0o664, true),
            ("everybody", 1000, 1000, 0o666, true),
            ("others only", 1000, 1000, 0o602, true),
            ("group may read", 1000, 50, 0o640, false),
        ];
        for (name, owner, group, mode, want) in cases {
            assert_eq!(Facts { owner, group, mode }.writable_by_others(), want, "{name}");
        }
    }

    #[test]
    fn what_is_open_to_all() {
        let cases = [
            ("private", 0o700, false, false),
            ("for everybody", 0o777, true, true),
            ("for everybody, but sticky", 0o1777, true, false),
            ("for a group", 0o775, false, false),
            ("for others only", 0o702, true, true),
        ];
        for (name, mode, file, folder) in cases {
            let facts = Facts { owner: 7, group: 7, mode };
            let found = (facts.writable_by_all(), facts.replaceable_by_all());
            assert_eq!(found, (file, folder), "{name}");
        }
        let owned = |owner| Facts { owner, group: 0, mode: 0o644 };
        assert!(owned(0).is_roots() && !owned(7).is_roots());
    }

    #[test]
    fn a_new_file_is_mine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contraseña.env");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o646)).unwrap();
        let facts = Facts::at(&path).unwrap();
        assert!(facts.is_mine() && facts.writable_by_others());
        assert_eq!(facts.mode, 0o646);
        assert!(may_write(&path) && !may_write(&folder.path().join("none")));
        assert_eq!(Facts::of(&File::open(&path).unwrap()).unwrap(), facts);
        assert!(Facts::at(&folder.path().join("none")).is_err());
        assert!(!Facts { owner: user() ^ 1, ..facts }.is_mine());
    }
}
