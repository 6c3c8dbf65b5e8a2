//! Small stores of models as other tools keep them, written for tests; lies and links included.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use recinto_receipt::sha256;

fn write(path: &Path, bytes: &[u8]) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
    fs::write(path, bytes).expect("a file");
    path.to_owned()
}

/// Everything below `folder`, with sizes, times and link targets: two are equal when nothing was
/// written.
pub fn trace(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry"))
        {
            let (path, meta) = (entry.path(), entry.metadata().expect("facts"));
            let (size, time, to) = (meta.len(), meta.modified().ok(), fs::read_link(&path).ok());
            found.push(format!("{} {size} {time:?} {to:?}", path.display()));
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// An Ollama store.
pub struct Ollama(pub PathBuf);

impl Ollama {
    /// A blob; gives the digits of its digest.
    pub fn blob(&self, bytes: &[u8]) -> String {
        let digest = sha256(bytes).to_string();
        write(&self.0.join("blobs").join(format!("sha256-{digest}")), bytes);
        digest
    }

    /// Where the blob of these digits is.
    pub fn path(&self, digest: &str) -> PathBuf {
        self.0.join("blobs").join(format!("sha256-{digest}"))
    }

    /// A manifest's text with these layers; their blobs are written.
    pub fn text(&self, layers: &[(&str, &[u8])]) -> String {
        let layers: Vec<String> = layers
            .iter()
            .map(|(kind, bytes)| {
                let (digest, size) = (self.blob(bytes), bytes.len());
                let media = format!("application/vnd.ollama.image.{kind}");
                format!(r#"{{"mediaType":"{media}","digest":"sha256:{digest}","size":{size}}}"#)
            })
            .collect();
        format!(r#"{{"schemaVersion":2,"layers":[{}]}}"#, layers.join(","))
    }

    /// A manifest at `place` (`host/namespace/model/tag`) with these layers.
    pub fn model(&self, place: &str, layers: &[(&str, &[u8])]) -> PathBuf {
        let text = self.text(layers);
        self.manifest(place, &text)
    }

    /// A manifest at `place` with any text.
    pub fn manifest(&self, place: &str, text: &str) -> PathBuf {
        write(&self.0.join("manifests").join(place), text.as_bytes())
    }

    /// A manifest of a newer store: a link from `place` to a blob with this text.
    pub fn newer(&self, place: &str, text: &str) -> PathBuf {
        let blob = self.path(&self.blob(text.as_bytes()));
        let path = self.0.join("manifests-v2").join(place);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        symlink(blob, &path).expect("a link");
        path
    }
}

/// A repository in the Hugging Face cache.
pub struct Repository(pub PathBuf);

impl Repository {
    /// The folder of `org/repo` in the cache at `root`.
    pub fn new(root: &Path, name: &str) -> Repository {
        Repository(root.join(format!("models--{}", name.replace('/', "--"))))
    }

    /// A branch or tag whose file has this text.
    pub fn reference(self, name: &str, text: &str) -> Repository {
        write(&self.0.join("refs").join(name), text.as_bytes());
        self
    }

    /// A file as a link to a blob that is called by its SHA-256.
    pub fn file(self, commit: &str, path: &str, bytes: &[u8]) -> Repository {
        let digest = sha256(bytes).to_string();
        write(&self.0.join("blobs").join(&digest), bytes);
        self.link(commit, path, &digest)
    }

    /// A link to a blob, there or not.
    pub fn link(self, commit: &str, path: &str, blob: &str) -> Repository {
        let at = self.0.join("snapshots").join(commit).join(path);
        fs::create_dir_all(at.parent().expect("a folder above")).expect("a folder");
        let up = "../".repeat(2 + path.matches('/').count());
        symlink(format!("{up}blobs/{blob}"), at).expect("a link");
        self
    }

    /// A real file, as where links are not possible.
    pub fn plain(self, commit: &str, path: &str, bytes: &[u8]) -> Repository {
        write(&self.0.join("snapshots").join(commit).join(path), bytes);
        self
    }
}
