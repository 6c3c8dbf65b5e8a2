//! Files of settings by their text alone: whether they would be read. For editors and for fuzzing;
//! who owns a file, and what the settings lead to, is not looked at.

use std::path::Path;

use crate::{Error, config, env_file};

/// Whether `text` can stand in a `.env` file.
///
/// # Errors
///
/// The line that cannot be read, or that sets something nobody knows.
pub fn env_file(text: &str) -> Result<(), Error> {
    env_file::of_text(Path::new(".env"), text).map(drop)
}

/// Whether `text` can stand in a `recinto.toml`.
///
/// # Errors
///
/// The place that cannot be read, or has a word that nobody knows.
pub fn config(text: &str) -> Result<(), Error> {
    config::of_text(Path::new(crate::FILE_NAME), text).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_or_refused() {
        type Read = fn(&str) -> Result<(), Error>;
        let cases: [(Read, &str, Option<&str>); 5] = [
            (env_file, "RECINTO_MODEL='año'\n", None),
            (env_file, "A=1\nRECINTO_MODLE=x\n", Some(".env, line 2: unknown key RECINTO_MODLE")),
            (config, "model = \"./año.gguf\"\n", None),
            (config, "modle = 1\n", Some("recinto.toml, line 1, column 1: unknown key `modle`")),
            (config, "a = [", Some("recinto.toml, line 1")),
        ];
        for (read, text, want) in cases {
            match (read(text), want) {
                (Ok(()), None) => {}
                (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
