//! Who, besides this user and root, could change the files that a model is made of.

use std::path::{Path, PathBuf};

use recinto_os::owner::Facts;

/// What should be said of `paths`, a sentence each: of the files, of links that lead to them, and
/// of the folders above. What cannot be looked at is reported when it is opened.
pub(crate) fn warnings<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Vec<String> {
    let mut out = Vec::new();
    for path in paths {
        let path = &std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let whole = path.canonicalize();
        let found = [Facts::of_link(path).ok(), Facts::at(path).ok()].into_iter().flatten();
        for facts in found {
            let foreign = !facts.is_mine() && !facts.is_roots();
            if foreign {
                say(&mut out, path, &format!("another user owns it (number {})", facts.owner));
            }
        }
        if let Ok(facts) = Facts::at(path)
            && facts.writable_by_all()
        {
            say(&mut out, path, &format!("everybody may write to it (mode {:04o})", facts.mode));
        }
        let folders = [Some(path.to_owned()), whole.ok()].into_iter().flatten();
        for folder in folders.flat_map(|path| above(&path)) {
            if let Ok(facts) = Facts::at(&folder)
                && facts.replaceable_by_all()
            {
                let mode = facts.mode;
                let what =
                    format!("everybody may replace what is in this folder (mode {mode:04o})");
                say(&mut out, &folder, &what);
            }
        }
    }
    out
}

fn above(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).filter(|f| *f != Path::new("")).map(Path::to_owned).collect()
}

/// Adds a sentence that was not said before.
fn say(out: &mut Vec<String>, path: &Path, what: &str) {
    let sentence = format!("{}: {what}", path.display());
    if !out.contains(&sentence) {
        out.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, chown, lchown, symlink},
    };

    use super::*;

    #[test]
    fn who_else_could_change_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (outer, inner) = (root.join("fuera"), root.join("fuera/dentro"));
        let (file, link) = (inner.join("año.gguf"), root.join("link.gguf"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        let chmod = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let cases: [(&str, u32, u32, u32, &[&str]); 9] = [
            ("mine", 0o600, 0o700, 0o700, &[]),
            ("readable", 0o644, 0o755, 0o755, &[]),
            ("for a group", 0o664, 0o775, 0o775, &[]),
            ("file for everybody", 0o666, 0o755, 0o755, &["año.gguf: everybody may write"]),
            ("a sticky file", 0o1666, 0o755, 0o755, &["año.gguf: everybody may write"]),
            ("its folder", 0o644, 0o777, 0o755, &["dentro: everybody may replace"]),
            ("its folder, sticky", 0o644, 0o1777, 0o755, &[]),
            ("a folder above", 0o644, 0o755, 0o777, &["fuera: everybody may replace"]),
            (
                "all of them",
                0o646,
                0o757,
                0o707,
                &["año.gguf: everybody", "dentro: everybody", "fuera: everybody"],
            ),
        ];
        for (name, of_file, of_inner, of_outer, want) in cases {
            chmod(&file, of_file);
            chmod(&inner, of_inner);
            chmod(&outer, of_outer);
            for path in [&file, &link] {
                let found = warnings([path.as_path(), path.as_path()]);
                assert_eq!(found.len(), want.len(), "{name}: {found:?}");
                for (sentence, part) in found.iter().zip(want) {
                    let part =
                        part.replace("año.gguf", &path.file_name().unwrap().to_string_lossy());
                    assert!(sentence.contains(&part), "{name}: {sentence}");
                }
            }
        }
        for (path, mode) in [(&file, 0o644), (&inner, 0o755), (&outer, 0o755)] {
            chmod(path, mode);
        }
        assert!(warnings([Path::new("/nada/año.gguf")]).is_empty());
        // Who is not root cannot give files away.
        const SOMEBODY: u32 = 64_242;
        if lchown(&link, Some(SOMEBODY), None).is_ok() {
            assert!(warnings([link.as_path()])[0].contains("link.gguf: another user owns it"));
            assert!(warnings([file.as_path()]).is_empty());
            chown(&file, Some(SOMEBODY), None).unwrap();
            assert!(warnings([file.as_path()])[0].ends_with("owns it (number 64242)"));
        }
    }
}
