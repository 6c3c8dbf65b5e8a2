//! Small files of this user alone, such as a cache: read only when nobody else can have written
//! them, replaced whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

use crate::owner::Facts;

/// A file beside the place that is this much older or younger than now was left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

fn mine(facts: Facts) -> io::Result<()> {
    match facts.is_mine() && !facts.writable_by_others() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// A folder that is this user's, and that only this user may write to.
fn trusted(folder: &Path) -> io::Result<()> {
    mine(Facts::at(folder)?)?;
    // A link has an owner too, who can lead it elsewhere; its mode says nothing.
    let link = Facts::of_link(folder)?;
    match link.is_mine() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The bytes of the file `name` in `folder`, `most` at the most. Refused when file or folder
/// belong to somebody else or may be written by others, and when it is no regular file.
pub fn read(folder: &Path, name: &str, most: usize) -> io::Result<Vec<u8>> {
    trusted(folder)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let path = folder.join(name);
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    mine(Facts::of(&file)?)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Replaces the file `name` in `folder` by what `next` makes of its bytes (see [`read`]; `None`
/// when they cannot be had). Folder (mode 0700) and file (0600) are made where they are missing.
/// Of several processes at once one writes and the others fail with
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists).
pub fn replace(
    folder: &Path,
    name: &str,
    most: usize,
    next: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
) -> io::Result<()> {
    make(folder)?;
    trusted(folder)?;
    let beside = folder.join(format!(".{name}.new"));
    let file = match create(&beside) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_left_behind(&beside) => {
            fs::remove_file(&beside)?;
            create(&beside)?
        }
        other => other?,
    };
    // From here to the rename it is this process's turn.
    let written = write(file, &next(read(folder, name, most).ok()));
    let done = written.and_then(|()| fs::rename(&beside, folder.join(name)));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Makes the folder where it is missing, but not below one of another user: root who acts with
/// somebody's `HOME` would leave a folder there that this user cannot write to.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    // The last part above a relative path is the working folder.
    let at = |path: &Path| if path == Path::new("") { Path::new(".") } else { path }.to_owned();
    let above = folder.ancestors().find_map(|path| Facts::at(&at(path)).ok());
    match above {
        Some(facts) if facts.is_mine() || facts.owner == 0 => {}
        _ => return Err(io::ErrorKind::PermissionDenied.into()),
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn write(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

fn is_left_behind(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    // A clock may have been ahead when it was made.
    let away = |at| SystemTime::now().duration_since(at).unwrap_or_else(|early| early.duration());
    age.is_ok_and(|at| away(at) > LEFT_BEHIND)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn it_is_made_for_one_user_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("caché/recinto");
        let write = |bytes: &'static [u8]| replace(&folder, "x", 10, |_| bytes.to_vec());
        write(b"uno").unwrap();
        assert_eq!((mode(&folder), mode(&folder.join("x"))), (0o700, 0o600));
        assert_eq!(read(&folder, "x", 3).unwrap(), b"uno");
        assert_eq!(read(&folder, "x", 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let double = |old: Option<Vec<u8>>| [&old.unwrap()[..], b" dos"].concat();
        replace(&folder, "x", 10, double).unwrap();
        assert_eq!(read(&folder, "x", 10).unwrap(), b"uno dos");
        replace(&folder, "x", 3, |old| vec![u8::from(old.is_none())]).unwrap();
        assert_eq!(read(&folder, "x", 10).unwrap(), [1], "too large to be read back");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        // Another process has the turn; one that died long ago has not.
        let beside = folder.join(".x.new");
        fs::write(&beside, "").unwrap();
        assert_eq!(write(b"tres").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for long in [SystemTime::now() - 2 * LEFT_BEHIND, SystemTime::now() + 2 * LEFT_BEHIND] {
            fs::write(&beside, "").unwrap();
            File::open(&beside).unwrap().set_modified(long).unwrap();
            write(b"tres").unwrap();
            assert_eq!(read(&folder, "x", 10).unwrap(), b"tres");
        }
    }

    #[test]
    fn what_others_may_write_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("recinto");
        replace(&folder, "x", 10, |_| b"bien".to_vec()).unwrap();
        let file = folder.join("x");
        let cases = [
            ("both private", 0o700, 0o600, true),
            ("readable", 0o755, 0o644, true),
            ("file for everybody", 0o700, 0o602, false),
            ("folder for everybody", 0o707, 0o600, false),
        ];
        for (name, of_folder, of_file, want) in cases {
            chmod(&folder, of_folder);
            chmod(&file, of_file);
            assert_eq!(read(&folder, "x", 10).is_ok(), want, "{name}");
            let written = replace(&folder, "x", 10, |_| b"bien".to_vec());
            assert_eq!(written.is_ok(), of_folder != 0o707, "{name}: writing");
        }
        chmod(&folder, 0o700);
        fs::rename(&file, folder.join("y")).unwrap();
        symlink("y", &file).unwrap();
        assert!(read(&folder, "x", 10).is_err(), "a link");
        fs::remove_file(&file).unwrap();
        assert!(read(&folder, "x", 10).is_err(), "nothing");
        fs::create_dir(&file).unwrap();
        assert!(read(&folder, "x", 10).is_err(), "a folder");
        let link = dir.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(read(&link, "y", 10).unwrap(), b"bien", "a folder behind my own link");
        // Who is not root cannot give files away.
        const SOMEBODY: u32 = 64_242;
        if chown(folder.join("y"), Some(SOMEBODY), None).is_ok() {
            assert!(read(&folder, "y", 10).is_err(), "a file of somebody else");
            chown(folder.join("y"), Some(crate::owner::user()), None).unwrap();
            std::os::unix::fs::lchown(&link, Some(SOMEBODY), None).unwrap();
            assert!(read(&link, "y", 10).is_err(), "a link of somebody else");
            chown(&folder, Some(SOMEBODY), None).unwrap();
            assert!(read(&folder, "y", 10).is_err(), "a folder of somebody else");
            assert!(replace(&folder, "y", 10, |_| vec![]).is_err(), "writing there");
            let below = folder.join("a/b");
            assert!(replace(&below, "y", 10, |_| vec![]).is_err(), "writing below");
            assert!(!folder.join("a").exists(), "nothing is made there");
        } else {
            println!("note: not root, so no file of somebody else could be made");
        }
    }
}
