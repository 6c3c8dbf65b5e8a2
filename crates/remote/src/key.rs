//! A key of a service: held, sent as a header, wiped, and never shown.

use std::fmt;

use reqwest::header::HeaderValue;
use zeroize::Zeroizing;

use crate::{
    error::{Error, Kind},
    vendor::Vendor,
};

/// Longest key.
const LONGEST: usize = 4096;

/// Beginnings that say whose key it is; the first that fits counts.
const FORMS: &[(&str, &str)] =
    &[("sk-ant-", "anthropic"), ("sk-proj-", "openai"), ("sk-svcacct-", "openai"), ("AIza", "")];

/// A key. Its copy here is wiped when it is dropped; those that the HTTP and TLS libraries make of
/// the header while they send it are not ours to wipe.
#[derive(Clone)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// The key that `text` is, blanks around it apart.
    ///
    /// # Errors
    ///
    /// [`Kind::Setting`]: it is empty, too long, or has other letters than visible ASCII. It is not
    /// repeated.
    pub fn new(vendor: &Vendor, text: &str) -> Result<Key, Error> {
        Key::read(vendor.name, text)
    }

    /// The same for the service called `provider`.
    ///
    /// # Errors
    ///
    /// As [`Key::new`].
    pub fn read(provider: &'static str, text: &str) -> Result<Key, Error> {
        let text = text.trim();
        let visible = text.bytes().all(|b| b.is_ascii_graphic());
        if text.is_empty() || text.len() > LONGEST || !visible {
            let what = "the key is empty, too long, or not of visible ASCII letters";
            return Err(Error::new(provider, Kind::Setting, what)
                .hint("look at where it is set, with an editor that shows every letter"));
        }
        Ok(Key(Zeroizing::new(text.to_owned())))
    }

    /// Refuses a key that has the form of another vendor's, where it would go to `provider`'s own
    /// service.
    pub(crate) fn check(&self, provider: &'static str) -> Result<(), Error> {
        match FORMS.iter().find(|(start, _)| self.0.starts_with(start)) {
            Some((_, owner)) if *owner != provider => {
                let what = "the key has the form of another vendor's, and was not sent";
                Err(Error::new(provider, Kind::Auth, what)
                    .hint(format!("set {provider}'s own key, or another provider")))
            }
            _ => Ok(()),
        }
    }

    /// The key, for a look at whether something else holds it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The value of a header, marked as one that is never shown.
    pub(crate) fn header(&self, front: &str) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("{front}{}", *self.0));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let openai = Vendor::from_name("openai").unwrap();
        let anthropic = Vendor::from_name("anthropic").unwrap();
        let cases = [
            ("plain", "sk-abc", true, true, true),
            ("blanks around", " sk-abc\n", true, true, true),
            ("anthropic's", "sk-ant-canary", true, false, true),
            ("openai's", "sk-proj-canary", true, true, false),
            ("nobody's here", "AIzacanary", true, false, false),
            ("empty", "  ", false, false, false),
            ("a line break within", "sk-a\nX: canary", false, false, false),
            ("not ASCII", "contraseña", false, false, false),
        ];
        for (name, text, read, for_openai, for_anthropic) in cases {
            match Key::new(openai, text) {
                Ok(key) => {
                    assert!(read, "{name}");
                    assert_eq!(key.check(openai.name).is_ok(), for_openai, "{name}");
                    assert_eq!(key.check(anthropic.name).is_ok(), for_anthropic, "{name}");
                    assert_eq!(format!("{key:?}"), "Key");
                    let header = key.header("Bearer ").unwrap();
                    assert!(!format!("{header:?}").contains("sk-"), "{name}");
                }
                Err(error) => {
                    assert!(!read && !error.to_string().contains("canary"), "{name}: {error}");
                }
            }
        }
    }
}
