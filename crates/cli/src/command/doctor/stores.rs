//! Whether a store's folder is one, and whether this user can use what is in it.

use std::{fs, io, path::Path};

use recinto_store::Store;

/// Entries of a folder that are looked at.
const MOST: usize = 10_000;
/// How entries of the Hugging Face cache begin. Source: its documentation.
const OF_HUB: [&str; 6] =
    ["models--", "datasets--", "spaces--", ".locks", "version.txt", "CACHEDIR.TAG"];

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// It can be used; what is worth saying of it.
    Ok(&'static str),
    Absent,
    /// Something else lies there.
    NoStore,
    /// This user may not read this part of it.
    Closed(String),
    /// It can be used but for this.
    Partly(String),
    /// It cannot be used.
    Broken(String),
}

/// Looks at the folder `path` of a store.
pub fn look(store: Store, path: &Path) -> Look {
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Look::Absent,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Look::Closed("it".into()),
        Err(e) => return Look::Broken(e.to_string()),
        Ok(meta) if !meta.is_dir() => return Look::Broken("it is no folder".into()),
        Ok(_) => {}
    }
    // To pass through a folder is another right than to list it.
    match (enter(path), store) {
        (Enter::Closed, _) => Look::Closed("it".into()),
        (_, Store::Hub) => hub(path),
        _ => ollama(path),
    }
}

/// Whether this user may go through a folder.
enum Enter {
    Open,
    Closed,
    Absent,
}

fn enter(folder: &Path) -> Enter {
    match fs::metadata(folder.join(".")) {
        Ok(_) => Enter::Open,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Enter::Closed,
        Err(_) => Enter::Absent,
    }
}

/// The names in a folder; `None` where it may not be listed.
fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?.take(MOST).flatten();
    Some(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// A store without anything, or a folder of something else.
fn bare(names: Option<&[String]>) -> Look {
    match names {
        Some([]) => Look::Ok("empty"),
        _ => Look::NoStore,
    }
}

fn ollama(root: &Path) -> Look {
    let mut lists = 0;
    let mut unlisted = None;
    for name in ["manifests-v2", "manifests"] {
        let folder = root.join(name);
        match enter(&folder) {
            Enter::Absent => continue,
            Enter::Closed => return Look::Closed(format!("its folder `{name}`")),
            Enter::Open => {}
        }
        lists += 1;
        if names(&folder).is_none() {
            unlisted =
                Some(format!("its folder `{name}` cannot be listed; whole names lead there"));
        }
    }
    match (lists, enter(&root.join("blobs"))) {
        (0, Enter::Absent) => bare(names(root).as_deref()),
        (0, Enter::Open) => Look::Ok("no model in it"),
        (_, Enter::Closed) => Look::Closed("its folder `blobs`".into()),
        (_, Enter::Absent) => Look::Broken("its folder `blobs` is missing".into()),
        (_, Enter::Open) => unlisted.map_or(Look::Ok("readable"), Look::Partly),
    }
}

fn hub(root: &Path) -> Look {
    let Some(names) = names(root) else {
        return Look::Partly("it cannot be listed; whole names lead there".into());
    };
    if !names.iter().any(|name| OF_HUB.iter().any(|start| name.starts_with(start))) {
        return bare(Some(&names));
    }
    let repositories: Vec<&String> =
        names.iter().filter(|name| name.starts_with("models--")).collect();
    let closed = |name: &&&String| {
        let snapshots = root.join(name).join("snapshots");
        let denied = |e: io::Error| e.kind() == io::ErrorKind::PermissionDenied;
        matches!(enter(&snapshots), Enter::Closed) || fs::read_dir(&snapshots).is_err_and(denied)
    };
    let shut: Vec<&&String> = repositories.iter().filter(closed).collect();
    match (shut.first(), repositories.len()) {
        (None, 0) => Look::Ok("no model in it"),
        (None, _) => Look::Ok("readable"),
        (Some(_), all) if all == shut.len() => Look::Closed("the snapshots in it".into()),
        (Some(first), all) => {
            let few = shut.len();
            let what = "repositories cannot be read by this user, such as this one";
            Look::Partly(format!("{few} of its {all} {what}: {first}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_stores_and_others() {
        type Made = &'static [&'static str];
        let ok = Look::Ok;
        let cases: [(&str, Store, Made, Look); 11] = [
            ("empty", Store::Ollama, &[], ok("empty")),
            ("something else", Store::Ollama, &["año"], Look::NoStore),
            ("whole", Store::Ollama, &["manifests", "blobs"], ok("readable")),
            ("newer", Store::Ollama, &["manifests-v2", "blobs"], ok("readable")),
            ("nothing pulled", Store::Ollama, &["blobs"], ok("no model in it")),
            (
                "without blobs",
                Store::Ollama,
                &["manifests"],
                Look::Broken("its folder `blobs` is missing".into()),
            ),
            ("empty cache", Store::Hub, &[], ok("empty")),
            ("no cache", Store::Hub, &["manifests"], Look::NoStore),
            ("cache", Store::Hub, &["models--o--n/snapshots/1"], ok("readable")),
            ("no models", Store::Hub, &["datasets--o--n"], ok("no model in it")),
            ("half a repository", Store::Hub, &["models--o--n/refs"], ok("readable")),
        ];
        for (name, store, made, want) in cases {
            let root = tempfile::tempdir().unwrap();
            made.iter().for_each(|folder| fs::create_dir_all(root.path().join(folder)).unwrap());
            assert_eq!(look(store, root.path()), want, "{name}");
        }
        let root = tempfile::tempdir().unwrap();
        assert_eq!(look(Store::Hub, &root.path().join("no")), Look::Absent);
    }
}
