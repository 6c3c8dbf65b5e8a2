//! The table `[profiles]`: names for who answers; where one is a table, its words are settings of
//! the one provider, under the same checks.

use std::{path::Path, sync::Arc};

use recinto_policy::{LOCAL, Profile, Remote, read_profile};

use super::{Entry, Fault, nearest};
use crate::{
    settings::{PREFIX, Settings},
    surroundings::FILE_NAME,
};

/// What a profile's table may say besides `model`, and the setting that each word is.
pub const WORDS: &[(&str, &str)] = &[
    ("base_url", "base_url"),
    ("key_file", "api_key_file"),
    ("wire", "wire"),
    ("silence", "silence"),
    ("retries", "retries"),
    ("proxy", "proxy"),
    ("ca_file", "ca_file"),
    ("stream", "stream"),
    ("unsupported", "unsupported"),
];
/// The word that names the variable which holds the key: of profiles alone.
pub(crate) const KEY_ENV: &str = "key_env";
/// Words that make a host and a key of a profile's own: they go together.
const LINE: [&str; 3] = ["base_url", "key_file", KEY_ENV];
/// Words under which somebody might write a key itself.
const KEYS: [&str; 8] =
    ["key", "apikey", "token", "secret", "password", "auth", "authorization", "bearer"];
/// Longest name of a variable.
const LONGEST: usize = 100;

/// The setting that a word of a profile's table is.
pub(crate) fn setting_of(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|row| row.0 == word).map(|row| row.1)
}

/// Whether a profile has a host or a key of its own.
pub(crate) fn has_line(profile: &Profile) -> bool {
    profile.words.iter().any(|word| LINE.contains(&word.key.as_str()))
}

/// Whether the entries of `[profiles]` can be profiles.
pub(super) fn check(entries: &[Entry]) -> Result<(), Fault> {
    let file: Arc<Path> = Arc::from(Path::new(FILE_NAME));
    entries.iter().try_for_each(|entry| {
        let profile = read_profile(&file, entry)?;
        profile.words.iter().try_for_each(|entry| word(&profile, entry))?;
        whole(&profile, entry)
    })
}

/// Whether a word with its value can stand in the table of `profile`.
fn word(profile: &Profile, entry: &Entry) -> Result<(), Fault> {
    let (name, at) = (&profile.name, entry.value_at);
    let fault = |what: String| Fault::new(at, format!("profile `{name}`: {what}"));
    if KEYS.contains(&entry.key.to_ascii_lowercase().as_str()) {
        let what = format!("`{}` is a secret, and its place is not here", entry.key);
        return Err(fault(what).hint(
            "`key_file` names a file that holds the key, `key_env` a variable of the environment",
        ));
    }
    let setting = setting_of(&entry.key);
    if setting.is_none() && entry.key != KEY_ENV {
        let known: Vec<&str> =
            ["model", KEY_ENV].into_iter().chain(WORDS.iter().map(|row| row.0)).collect();
        return Err(Fault::unknown(entry.at, "word of a profile", &entry.key)
            .hint(nearest(&entry.key, &known)));
    }
    if profile.provider == LOCAL {
        let what = format!("`{}` is of a service, and `{LOCAL}` sends nothing", entry.key);
        return Err(fault(what).hint("take it away, or name another provider in `model`"));
    }
    let Some(text) = entry.value.single().filter(|text| !text.trim().is_empty()) else {
        return Err(fault(format!("`{}`: one value is needed that is not empty", entry.key)));
    };
    let judged = match setting {
        Some(setting) => Settings::check(setting, text).map_err(|error| error.to_string()),
        None => variable(text).map_err(ToOwned::to_owned),
    };
    judged.map_err(|text| {
        let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        let fault = fault(format!("`{}`: {what}", entry.key));
        if hint.is_empty() { fault } else { fault.hint(hint) }
    })
}

/// Whether a text is the name of a variable; what has another form may be the key itself.
fn variable(text: &str) -> Result<(), &'static str> {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let named = text.len() <= LONGEST && text.bytes().all(plain) && text.contains('_');
    match named && !text.starts_with(|c: char| c.is_ascii_digit()) {
        true if text.starts_with(PREFIX) => Err("variables of this program's own are no keys of \
             profiles\nhint: name another one, as in `EXAMPLE_API_KEY`"),
        true => Ok(()),
        false => Err("the name of a variable is needed, in capitals and with a `_`, and this may \
             be a key\nhint: as in `EXAMPLE_API_KEY`; the key itself stands in the environment"),
    }
}

/// Whether the words of a table go together.
fn whole(profile: &Profile, entry: &Entry) -> Result<(), Fault> {
    let says = |word: &str| profile.words.iter().any(|entry| entry.key == word);
    let fault = |what: String| Fault::new(entry.at, format!("profile `{}`: {what}", profile.name));
    if says("key_file") && says(KEY_ENV) {
        let what = "`key_file` and `key_env` are both there";
        return Err(fault(what.into()).hint("a profile has one key: take one of them away"));
    }
    let own = Remote::from_name(&profile.provider).and_then(|remote| remote.host);
    if has_line(profile) && own.is_none() && !says("base_url") {
        let what =
            format!("{} has no host of its own, and `base_url` is missing", profile.provider);
        return Err(fault(what).hint("a key goes to one host: say which"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KEYS, secret::is_secret};

    #[test]
    fn words_are_settings() {
        for (word, setting) in WORDS {
            assert!(KEYS.iter().any(|key| key.name == *setting), "{word}");
            assert!(!is_secret(word) && !KEYS.iter().any(|key| is_secret(key.name)), "{word}");
        }
        assert!(!is_secret(KEY_ENV) && setting_of(KEY_ENV).is_none());
    }

    #[test]
    fn names_of_variables() {
        let cases = [
            ("TEAM_API_KEY", true),
            ("_X", true),
            ("A1_2", true),
            ("team_api_key", false),
            ("TEAMKEY", false),
            ("1_A", false),
            ("sk-ant-api03-canary_A", false),
            ("AÑO_CLAVE", false),
            ("A B_C", false),
            ("", false),
            ("RECINTO_CLAVE", false),
            (&"A_".repeat(51), false),
        ];
        for (text, named) in cases {
            let judged = variable(text);
            assert_eq!(judged.is_ok(), named, "{text}");
            assert!(judged.err().is_none_or(|why| !why.contains("canary")), "{text}");
        }
    }
}
