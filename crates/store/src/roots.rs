//! Where stores are: folders as values, so that a test can give trees of its own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::Store;

/// Where Ollama's service for Linux keeps its models; other users often may not read it.
const SERVICE: &str = "/usr/share/ollama/.ollama/models";

/// The folders in which names are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// What relative paths start from.
    pub here: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Ollama's stores, each with `manifests` and `blobs`; the first that has a name wins.
    pub ollama: Vec<PathBuf>,
    /// The Hugging Face cache, with a `models--…` folder for each repository.
    pub hub: Option<PathBuf>,
}

/// A folder in which names are looked up, and what leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Whose it is.
    pub store: Store,
    /// The folder, whole.
    pub path: PathBuf,
    /// The variable that leads there; else whose folder it is.
    pub from: &'static str,
    /// Whether somebody named this very folder, so that it should be there.
    pub named: bool,
}

impl Root {
    /// What leads to the folder of Ollama's service, where no variable does.
    pub const SERVICE: &str = "the service's";
    /// What leads to the folders below the home.
    pub const OWN: &str = "this user's";

    /// The folders that an environment names, seen from the folder `here`.
    ///
    /// Ollama: `OLLAMA_MODELS`, else `.ollama/models` of the home and then the folder of the Linux
    /// service. Hugging Face: `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `HF_HOME/hub`,
    /// `XDG_CACHE_HOME/huggingface/hub`, else `.cache/huggingface/hub` of the home. An empty
    /// variable counts as none, as it does for those tools.
    ///
    /// Source: the documentation of both tools.
    pub fn from_env(environment: &dyn Fn(&str) -> Option<OsString>, here: &Path) -> Vec<Root> {
        let look = |name: &str| environment(name).filter(|value| !value.is_empty());
        let home = home(environment);
        let folder = |name: &str| {
            let path = PathBuf::from(look(name)?);
            let below_home = path.strip_prefix("~").ok().zip(home.as_ref());
            Some(below_home.map_or_else(|| here.join(&path), |(rest, home)| home.join(rest)))
        };
        let at_home = |below: &str| Some(home.as_ref()?.join(below));
        let mut out = Vec::new();
        let mut add = |store, path: Option<PathBuf>, from, named| {
            out.extend(path.map(|path| Root { store, path, from, named }));
        };
        match folder("OLLAMA_MODELS") {
            Some(folder) => add(Store::Ollama, Some(folder), "OLLAMA_MODELS", true),
            None => {
                add(Store::Ollama, at_home(".ollama/models"), Root::OWN, false);
                add(Store::Ollama, Some(SERVICE.into()), Root::SERVICE, false);
            }
        }
        // The first that is set leads; of the last two, only what is below is the cache.
        let hub = [
            ("HF_HUB_CACHE", "", true),
            ("HUGGINGFACE_HUB_CACHE", "", true),
            ("HF_HOME", "hub", false),
            ("XDG_CACHE_HOME", "huggingface/hub", false),
        ];
        let set = hub.iter().find_map(|row| Some((row, folder(row.0)?)));
        match set {
            Some(((from, "", named), path)) => add(Store::Hub, Some(path), from, *named),
            Some(((from, below, named), path)) => {
                add(Store::Hub, Some(path.join(below)), from, *named);
            }
            None => add(Store::Hub, at_home(".cache/huggingface/hub"), Root::OWN, false),
        }
        out
    }
}

/// The home of this user, where it is told by its whole path.
fn home(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    environment("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

impl Roots {
    /// The folders that an environment names, seen from the folder `here`, as
    /// [`Root::from_env`] says.
    pub fn from_env(environment: &dyn Fn(&str) -> Option<OsString>, here: &Path) -> Roots {
        let mut roots =
            Roots { here: here.to_owned(), home: home(environment), ..Roots::default() };
        for root in Root::from_env(environment, here) {
            match root.store {
                Store::Hub => roots.hub = Some(root.path),
                _ => roots.ollama.push(root.path),
            }
        }
        roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, variables, folders of Ollama, folder of the cache.
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], Option<PathBuf>);

    #[test]
    fn variables_name_folders() {
        let hub = |path: &str| Some(PathBuf::from(path));
        let cases: &[Case<'_>] = &[
            ("nothing", &[], &[SERVICE], None),
            (
                "home",
                &[("HOME", "/h/Núñez")],
                &["/h/Núñez/.ollama/models", SERVICE],
                hub("/h/Núñez/.cache/huggingface/hub"),
            ),
            (
                "all of them",
                &[
                    ("HOME", "/h"),
                    ("OLLAMA_MODELS", "/o"),
                    ("HF_HUB_CACHE", "/a"),
                    ("HUGGINGFACE_HUB_CACHE", "/b"),
                    ("HF_HOME", "/c"),
                    ("XDG_CACHE_HOME", "/d"),
                ],
                &["/o"],
                hub("/a"),
            ),
            (
                "older name",
                &[("HUGGINGFACE_HUB_CACHE", "/b"), ("HF_HOME", "/c")],
                &[SERVICE],
                hub("/b"),
            ),
            ("its home", &[("HF_HOME", "/c"), ("XDG_CACHE_HOME", "/d")], &[SERVICE], hub("/c/hub")),
            ("cache folder", &[("XDG_CACHE_HOME", "/d")], &[SERVICE], hub("/d/huggingface/hub")),
            (
                "below the home, and relative",
                &[("HOME", "/h"), ("HF_HOME", "~/hf"), ("OLLAMA_MODELS", "modelos")],
                &["/here/modelos"],
                hub("/h/hf/hub"),
            ),
            ("empty is none", &[("OLLAMA_MODELS", ""), ("HF_HUB_CACHE", "")], &[SERVICE], None),
        ];
        for (name, pairs, ollama, want) in cases {
            let look = |key: &str| pairs.iter().find(|row| row.0 == key).map(|row| row.1.into());
            let roots = Roots::from_env(&look, Path::new("/here"));
            let found: Vec<&str> = roots.ollama.iter().map(|path| path.to_str().unwrap()).collect();
            assert_eq!((found.as_slice(), &roots.hub), (*ollama, want), "{name}");
        }
    }
}
