//! What settings are looked up in: the environment, the working directory, the machine.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::error::{Error, Kind};

/// Name of the files with settings.
pub const FILE_NAME: &str = "recinto.toml";

/// The environment, the working directory and the root of the machine's files.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Every variable.
    pub variables: Vec<(OsString, OsString)>,
    /// The working directory, absolute.
    pub here: PathBuf,
    /// What `/` is to this process; another folder in tests.
    pub root: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    ///
    /// # Errors
    ///
    /// When the working directory is gone.
    pub fn now() -> Result<Surroundings, Error> {
        let here = env::current_dir().map_err(|e| {
            Error::new(Kind::Setting, format!("the working directory is gone: {e}"))
        })?;
        Ok(Surroundings { variables: env::vars_os().collect(), here, root: "/".into() })
    }

    /// A variable's value.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let row = self.variables.iter().find(|(key, _)| key == name)?;
        Some(&row.1)
    }

    /// The same, to be kept.
    pub fn value(&self, name: &str) -> Option<OsString> {
        self.variable(name).map(ToOwned::to_owned)
    }

    /// The home of this user, where it is told by its whole path.
    pub fn home(&self) -> Option<PathBuf> {
        self.whole("HOME")
    }

    /// The user's file of settings: `recinto/recinto.toml` in the user's configuration folder.
    pub fn user_file(&self) -> Option<PathBuf> {
        Some(self.own_folder("XDG_CONFIG_HOME", ".config")?.join(FILE_NAME))
    }

    /// The machine's file of settings.
    pub fn machine_file(&self) -> PathBuf {
        self.root.join("etc/recinto").join(FILE_NAME)
    }

    /// The folder in which digests of model files are remembered: `recinto` in the user's cache
    /// folder. `None` when the environment names no such folder by its whole path.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.own_folder("XDG_CACHE_HOME", ".cache")
    }

    /// The machine's policy.
    pub fn policy_file(&self) -> PathBuf {
        self.root.join("etc/recinto/policy.toml")
    }

    /// The folder for what this program writes down: `recinto` in the user's state folder.
    pub fn state_folder(&self) -> Option<PathBuf> {
        self.own_folder("XDG_STATE_HOME", ".local/state")
    }

    /// `recinto` below the folder that `variable` names, or below `usual` in the home
    /// (XDG Base Directory Specification 0.8: relative paths are ignored).
    fn own_folder(&self, variable: &str, usual: &str) -> Option<PathBuf> {
        let folder = self.whole(variable).or_else(|| Some(self.home()?.join(usual)))?;
        Some(folder.join("recinto"))
    }

    fn whole(&self, variable: &str) -> Option<PathBuf> {
        self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// What `path` in a file of `folder` means: a path from there, `~/` the home.
    pub(crate) fn rebased(&self, path: &str, folder: &Path) -> String {
        let expanded = match (path.strip_prefix("~/"), self.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            // As it was given, where it means the same from the working directory.
            _ if folder == self.here => return path.into(),
            _ => folder.join(path),
        };
        expanded.to_str().map_or_else(|| path.into(), ToOwned::to_owned)
    }
}

/// As [`Surroundings::cache_folder`], with a function that gives variables.
pub fn digest_cache(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let names = ["XDG_CACHE_HOME", "HOME"];
    let pairs = names.iter().filter_map(|name| Some(((*name).into(), environment(name)?)));
    Surroundings { variables: pairs.collect(), ..Surroundings::default() }.cache_folder()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Surroundings {
        let variables = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Surroundings { variables, here: "/here".into(), root: "/system".into() }
    }

    #[test]
    fn folders_of_the_user() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: [(&str, Pairs, Option<&str>); 6] = [
            ("its own variable", &[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/recinto")),
            ("home", &[("HOME", "/h/Núñez")], Some("/h/Núñez/.cache/recinto")),
            (
                "no whole path",
                &[("XDG_CACHE_HOME", "x"), ("HOME", "/h")],
                Some("/h/.cache/recinto"),
            ),
            ("empty", &[("XDG_CACHE_HOME", ""), ("HOME", "/h")], Some("/h/.cache/recinto")),
            ("a home that is none", &[("HOME", "h")], None),
            ("nothing", &[], None),
        ];
        for (name, pairs, want) in cases {
            let around = environment(pairs);
            assert_eq!(around.cache_folder(), want.map(PathBuf::from), "{name}");
            let look = |name: &str| around.variable(name).map(ToOwned::to_owned);
            assert_eq!(digest_cache(&look), around.cache_folder(), "{name}");
        }
        let around = environment(&[("XDG_CONFIG_HOME", "/c"), ("HOME", "/h")]);
        assert_eq!(around.user_file(), Some("/c/recinto/recinto.toml".into()));
        assert_eq!(environment(&[("HOME", "/h")]).user_file().unwrap().parent(), {
            Some(Path::new("/h/.config/recinto"))
        });
        assert_eq!(around.state_folder(), Some("/h/.local/state/recinto".into()));
        assert_eq!(around.policy_file(), Path::new("/system/etc/recinto/policy.toml"));
        assert_eq!(around.machine_file(), Path::new("/system/etc/recinto/recinto.toml"));
    }

    #[test]
    fn paths_in_files_begin_at_the_file() {
        let around = environment(&[("HOME", "/h")]);
        let cases = [
            ("the working directory's file", "./m.gguf", "/here", "./m.gguf"),
            ("a file elsewhere", "./año.gguf", "/etc/recinto", "/etc/recinto/./año.gguf"),
            ("up", "../m.gguf", "/a/b", "/a/b/../m.gguf"),
            ("whole", "/m.gguf", "/a", "/m.gguf"),
            ("home", "~/m.gguf", "/a", "/h/m.gguf"),
            ("home, from here", "~/m.gguf", "/here", "/h/m.gguf"),
        ];
        for (name, path, folder, want) in cases {
            assert_eq!(around.rebased(path, Path::new(folder)), want, "{name}");
        }
    }
}
