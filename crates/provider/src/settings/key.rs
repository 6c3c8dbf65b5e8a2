//! One name for a setting: its flag, its variable and its key in a file follow from the same word.

/// A setting's names and what is said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Key in `recinto.toml`, such as `arch_dir`.
    pub name: &'static str,
    /// Flag of the command line, such as `--arch-dir`.
    pub flag: &'static str,
    /// Name in the environment and in a `.env` file, such as `RECINTO_ARCH_DIR`.
    pub variable: &'static str,
    /// The flag's short form.
    pub short: Option<char>,
    /// A word for the value, as help shows it.
    pub value: &'static str,
    /// A value as it may stand in `recinto.toml`.
    pub example: &'static str,
    /// What holds where nobody says anything.
    pub default: Fallback,
    /// What it sets, in one sentence without a full stop.
    pub about: &'static str,
}

/// What holds where nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value.
    Value(&'static str),
    /// What these words say.
    Words(&'static str),
    /// Nothing: there is an error where it is needed.
    Nothing,
}

impl Fallback {
    /// As text, where there is something.
    pub fn text(self) -> Option<&'static str> {
        match self {
            Fallback::Value(text) | Fallback::Words(text) => Some(text),
            Fallback::Nothing => None,
        }
    }

    /// The value, where it is one.
    pub fn value(self) -> Option<&'static str> {
        match self {
            Fallback::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// What every variable of this program begins with.
pub(crate) const PREFIX: &str = "RECINTO_";
const DASHES: &str = "--";

/// Length of the variable of a setting called `name`.
pub(crate) const fn variable_len(name: &str) -> usize {
    PREFIX.len() + name.len()
}

/// Length of the flag of a setting called `name`.
pub(crate) const fn flag_len(name: &str) -> usize {
    DASHES.len() + name.len()
}

/// The variable: the prefix, then the name in capitals. `N` is [`variable_len`].
pub(crate) const fn variable<const N: usize>(name: &str) -> [u8; N] {
    joined(PREFIX, name, true)
}

/// The flag: two dashes, then the name with dashes for underscores. `N` is [`flag_len`].
pub(crate) const fn flag<const N: usize>(name: &str) -> [u8; N] {
    joined(DASHES, name, false)
}

const fn joined<const N: usize>(front: &str, name: &str, capitals: bool) -> [u8; N] {
    let (front, name) = (front.as_bytes(), name.as_bytes());
    let mut out = [0; N];
    let mut at = 0;
    while at < N {
        out[at] = if at < front.len() {
            front[at]
        } else {
            match name[at - front.len()] {
                byte if capitals => byte.to_ascii_uppercase(),
                b'_' => b'-',
                byte => byte,
            }
        };
        at += 1;
    }
    out
}

/// The bytes as text; they are ASCII.
pub(crate) const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a setting's name is ASCII"),
    }
}
