//! Where stores are: folders as values, so that a test can give trees of its own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

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

impl Roots {
    /// The folders that an environment names, seen from the folder `here`.
    ///
    /// Ollama: `OLLAMA_MODELS`, else `.ollama/models` of the home and then the folder of the Linux
    /// service. Hugging Face: `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `HF_HOME/hub`,
    /// `XDG_CACHE_HOME/huggingface/hub`, else `.cache/huggingface/hub` of the home. An empty
    /// variable counts as none, as it does for those tools.
    ///
    /// Source: the documentation of both tools.
    pub fn from_env(environment: &dyn Fn(&str) -> Option<OsString>, here: &Path) -> Roots {
        let look = |name: &str| environment(name).filter(|value| !value.is_empty());
        let home = look("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let folder = |name: &str| {
            let path = PathBuf::from(look(name)?);
            let below_home = path.strip_prefix("~").ok().zip(home.as_ref());
            Some(below_home.map_or_else(|| here.join(&path), |(rest, home)| home.join(rest)))
        };
        let at_home = |below: &str| Some(home.as_ref()?.join(below));
        let ollama = match folder("OLLAMA_MODELS") {
            Some(folder) => vec![folder],
            None => at_home(".ollama/models").into_iter().chain([SERVICE.into()]).collect(),
        };
        let hub = folder("HF_HUB_CACHE")
            .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| Some(folder("HF_HOME")?.join("hub")))
            .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("huggingface/hub")))
            .or_else(|| at_home(".cache/huggingface/hub"));
        Roots { here: here.to_owned(), home, ollama, hub }
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
