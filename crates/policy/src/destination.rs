//! Where a request would go: provider, host and model, each checked.
//!
//! Addresses are read narrowly. What another reader could take for another host is refused: names
//! and passwords before the host, backslashes, blanks, percent signs, letters outside ASCII.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
};

use crate::{
    error::{Error, Kind},
    remotes::Remote,
};

/// Longest address that is read.
const MAX_URL: usize = 2048;
/// Longest host (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;
/// Longest name of a model.
const MAX_MODEL: usize = 200;

/// A host as policies and the log write it: `api.example.com`, with `:8443` where the port is not
/// the scheme's own, and with `http://` before it where it is not this machine and the way there
/// is not encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The host of an address that begins with `https://` or `http://`.
    ///
    /// # Errors
    ///
    /// Any other address, and one that can be read in two ways. It is not repeated: it may hold a
    /// key.
    pub fn of_url(url: &str) -> Result<Host, Error> {
        let bad = |what: &str| {
            Error::new(Kind::Destination, format!("an address that is not used: {what}"))
                .hint("as in `https://api.example.com/v1` or `http://localhost:8080`")
        };
        if url.len() > MAX_URL || !url.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return Err(bad("it is too long, or not plain ASCII without blanks and backslashes"));
        }
        let (rest, tls) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (rest, true),
            (_, Some(rest)) => (rest, false),
            _ => return Err(bad("neither https:// nor http://")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Host::from_authority(&rest[..end], tls).map_err(bad)
    }

    /// A host as a row of a policy writes it.
    pub(crate) fn from_row(text: &str) -> Result<Host, &'static str> {
        let wrong = "a host is needed, as in `api.example.com` or `localhost:8080`, in small letters \
                     and without a path; there is no wildcard";
        let (rest, tls) = match text.strip_prefix("http://") {
            Some(rest) => (rest, false),
            None => (text, true),
        };
        let host = Host::from_authority(rest, tls).map_err(|_| wrong)?;
        // One host has one spelling.
        if host.0 == text { Ok(host) } else { Err(wrong) }
    }

    fn from_authority(authority: &str, tls: bool) -> Result<Host, &'static str> {
        let (name, port) = match (authority.rfind(']'), authority.rfind(':')) {
            (Some(end), _) if end + 1 == authority.len() => (authority, None),
            (Some(end), Some(colon)) if colon != end + 1 => {
                return Err("no host can be read in it");
            }
            (_, Some(colon)) => (&authority[..colon], Some(&authority[colon + 1..])),
            (_, None) => (authority, None),
        };
        let name = name.to_ascii_lowercase();
        let local = check_name(&name)?;
        let port = match port {
            None => None,
            Some(digits) if digits.len() > 5 || !digits.bytes().all(|b| b.is_ascii_digit()) => {
                return Err("its port is no number");
            }
            Some(digits) => match digits.parse::<u16>() {
                Ok(0) | Err(_) => return Err("its port is no number from 1 to 65535"),
                Ok(port) => Some(port),
            },
        };
        let own = if tls { 443 } else { 80 };
        let front = if tls || local { "" } else { "http://" };
        Ok(Host(match port.filter(|port| *port != own) {
            Some(port) => format!("{front}{name}:{port}"),
            None => format!("{front}{name}"),
        }))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the name of a host is one of this machine; an error where it is no host.
fn check_name(name: &str) -> Result<bool, &'static str> {
    if let Some(inner) = name.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or("no host can be read in it")?;
        let read: Ipv6Addr = inner.parse().map_err(|_| "its host is no IPv6 address")?;
        return match read.to_string() == inner {
            true => Ok(read.is_loopback()),
            false => Err("its IPv6 address is not in the short form of RFC 5952"),
        };
    }
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let part = |part: &str| (1..=63).contains(&part.len()) && part.bytes().all(plain);
    if name.len() > MAX_HOST || !name.split('.').all(part) {
        return Err("its host is none, or has other letters than a-z, 0-9, `-`, `_` and `.`");
    }
    // A name that ends in a number is an address to most readers, in more than one notation.
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        let read: Ipv4Addr = name.parse().map_err(|_| "its host is no plain IPv4 address")?;
        return Ok(read.is_loopback());
    }
    Ok(name == "localhost")
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `text` can be the name of a model at a provider: visible ASCII, and no wildcard.
pub(crate) fn is_model(text: &str) -> bool {
    (1..=MAX_MODEL).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'*')
}

/// Where a request would go. A host of this very machine counts as remote: another process
/// listens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    remote: &'static Remote,
    host: Host,
    model: String,
}

impl Destination {
    /// The model `model` of the provider called `provider`, at the address `base_url`, or at the
    /// provider's own.
    ///
    /// # Errors
    ///
    /// An unknown provider, an address that cannot be used, none where the provider has none of
    /// its own, a model's name with other letters than visible ASCII.
    pub fn new(provider: &str, base_url: Option<&str>, model: &str) -> Result<Destination, Error> {
        let fault = |what: &str| Error::new(Kind::Destination, what);
        let remote = Remote::from_name(provider).ok_or_else(|| {
            fault("a provider that no policy can name")
                .hint(format!("known: {}; `local` needs no permission", Remote::known()))
        })?;
        let host = match (base_url, remote.host) {
            (Some(url), _) => Host::of_url(url)?,
            (None, Some(own)) => Host(own.into()),
            (None, None) => {
                let what = format!("{} has no address of its own, and none is set", remote.name);
                return Err(fault(&what).hint("set the address of the service"));
            }
        };
        if !is_model(model) {
            return Err(fault("a model's name of more than 200 letters, or not of visible ASCII"));
        }
        Ok(Destination { remote, host, model: model.into() })
    }

    /// The provider's name.
    pub fn provider(&self) -> &'static str {
        self.remote.name
    }

    /// The host, with its port where that is not the usual one.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Whether the host is the provider's own.
    pub fn is_usual(&self) -> bool {
        self.remote.host == Some(self.host.as_str())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}, model {}", self.remote.name, self.host, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_addresses() {
        let cases = [
            ("plain", "https://api.anthropic.com", Some("api.anthropic.com")),
            ("a path", "https://api.anthropic.com/v1?a=b#c", Some("api.anthropic.com")),
            ("capitals", "https://API.Anthropic.com/", Some("api.anthropic.com")),
            ("its own port", "https://a.com:443/", Some("a.com")),
            ("another port", "https://a.com:8443", Some("a.com:8443")),
            ("not encrypted", "http://a.com", Some("http://a.com")),
            ("not encrypted, port", "http://a.com:443", Some("http://a.com:443")),
            ("this machine", "http://localhost:8080/v1", Some("localhost:8080")),
            ("this machine, port", "http://127.0.0.1:80", Some("127.0.0.1")),
            ("IPv6", "http://[::1]:11434", Some("[::1]:11434")),
            ("IPv6, far", "http://[2001:db8::1]", Some("http://[2001:db8::1]")),
            ("a slash in the query", "https://a.com?x=/@b.com", Some("a.com")),
            ("a user", "https://api.anthropic.com@evil.com/", None),
            ("a password", "https://u:p@evil.com/", None),
            ("a backslash", "https://evil.com\\@api.anthropic.com/", None),
            ("percent", "https://api.anthropic.com%2eevil.com", None),
            ("blank", "https://a.com /", None),
            ("a tab", "https://a\t.com", None),
            ("a line", "https://a.com\n", None),
            ("ñ", "https://españa.es", None),
            ("a dot at the end", "https://a.com.", None),
            ("no host", "https:///v1", None),
            ("no scheme", "api.anthropic.com", None),
            ("another scheme", "ftp://a.com", None),
            ("capital scheme", "HTTPS://a.com", None),
            ("one slash", "https:/a.com", None),
            ("port 0", "https://a.com:0", None),
            ("port too large", "https://a.com:65536", None),
            ("port of words", "https://a.com:x", None),
            ("empty port", "https://a.com:", None),
            ("octal", "https://0177.0.0.1", None),
            ("hexadecimal", "https://0x7f.1", None),
            ("one number", "https://2130706433", None),
            ("three numbers", "https://127.0.1", None),
            ("long IPv6", "https://[0:0:0:0:0:0:0:1]", None),
            ("a zone", "https://[fe80::1%25eth0]", None),
            ("open bracket", "https://[::1", None),
            ("after the bracket", "https://[::1]x:1", None),
            ("wildcard", "https://*.com", None),
            ("long", &format!("https://a.com/{}", "x".repeat(MAX_URL)), None),
        ];
        for (name, url, want) in cases {
            let found = Host::of_url(url);
            assert_eq!(found.as_ref().ok().map(Host::as_str), want, "{name}: {found:?}");
            if let Err(error) = found {
                assert!(!error.to_string().contains(url), "{name}: {error}");
            }
        }
    }

    #[test]
    fn hosts_of_rows() {
        let cases = [
            ("a.com", true),
            ("a.com:8443", true),
            ("localhost:8080", true),
            ("http://ollama:11434", true),
            ("A.com", false),
            ("a.com:443", false),
            ("a.com:0443", false),
            ("https://a.com", false),
            ("http://localhost", false),
            ("a.com/", false),
            ("*", false),
            ("*.a.com", false),
            ("", false),
        ];
        for (text, want) in cases {
            assert_eq!(Host::from_row(text).is_ok(), want, "{text}");
        }
        for remote in crate::REMOTES {
            assert!(remote.host.is_none_or(|host| Host::from_row(host).is_ok()), "{remote:?}");
        }
    }

    #[test]
    fn destinations() {
        let new = Destination::new;
        let own = new("anthropic", None, "claude").unwrap();
        assert!(
            own.is_usual() && own.to_string() == "anthropic at api.anthropic.com, model claude"
        );
        assert!(new("anthropic", Some("https://api.anthropic.com/v1"), "x").unwrap().is_usual());
        assert!(!new("anthropic", Some("http://api.anthropic.com/v1"), "x").unwrap().is_usual());
        assert!(!new("anthropic", Some("http://localhost:1"), "x").unwrap().is_usual());
        assert!(!new("openai", Some("https://api.anthropic.com"), "x").unwrap().is_usual());
        for (name, provider, url, model) in [
            ("local", "local", None, "x"),
            ("unknown", "año", None, "x"),
            ("no host", "openai-compatible", None, "x"),
            ("no model", "openai", None, ""),
            ("a wildcard", "openai", None, "gpt*"),
            ("a line", "openai", None, "a\nb"),
            ("ñ", "openai", None, "ñ"),
        ] {
            assert_eq!(new(provider, url, model).unwrap_err().kind(), Kind::Destination, "{name}");
        }
    }
}
