//! Fake machines for the tests: files under a temporary root.

use std::path::Path;

/// A temporary root that holds `files`, each a path relative to it and its text.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        add(root.path(), path, text);
    }
    root
}

/// One more file.
pub(crate) fn add(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
