//! Where a request goes: one host, read narrowly.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use reqwest::Url;

use crate::error::{Error, Kind};

/// Longest address.
const LONGEST: usize = 2048;

/// The address of a service, or of a proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    host: String,
}

impl Address {
    /// Reads an address such as `https://api.example.com/v1`; `what` names the setting in errors.
    ///
    /// # Errors
    ///
    /// [`Kind::Setting`]: it is no such address, or holds a name or a password, a query or a
    /// fragment. The address is not repeated: it may hold a key.
    pub fn read(provider: &'static str, what: &str, text: &str) -> Result<Address, Error> {
        let bad = |why: &str| {
            Error::new(provider, Kind::Setting, format!("{what} cannot be used: {why}"))
                .hint("as in `https://api.example.com/v1` or `http://localhost:8080/v1`")
        };
        let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'\\' | b'%');
        if text.len() > LONGEST || !text.bytes().all(plain) {
            return Err(bad("it is too long, or not of plain ASCII letters"));
        }
        if !(text.starts_with("https://") || text.starts_with("http://")) {
            return Err(bad("it begins neither with https:// nor with http://"));
        }
        let url = Url::parse(text).map_err(|_| bad("no host can be read in it"))?;
        if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
            return Err(bad("it holds a name or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it has a query or a fragment"));
        }
        let name = url.host_str().ok_or_else(|| bad("no host can be read in it"))?.to_owned();
        // What another reader could take for another host: `http://0x7f.1` is not what it shows.
        let written = text.split_once("://").map_or("", |(_, rest)| rest);
        let end = written.find(['/', '?', '#']).unwrap_or(written.len());
        let authority = &written[..end];
        let shown = match url.port() {
            Some(port) => format!("{name}:{port}"),
            None => name.clone(),
        };
        let own = if url.scheme() == "https" { ":443" } else { ":80" };
        let written = authority.strip_suffix(own).unwrap_or(authority).to_ascii_lowercase();
        if written != shown {
            return Err(bad("its host is not in its plain form"));
        }
        Ok(Address { url, host: shown })
    }

    /// Refuses `http` to other machines than this one and those of private networks.
    pub(crate) fn near(self, provider: &'static str, what: &str) -> Result<Address, Error> {
        if !self.is_plain() || self.url.host_str().is_some_and(is_near) {
            return Ok(self);
        }
        let why = format!(
            "{what} cannot be used: what is sent over http:// can be read on the way; it is used \
             only for this machine (localhost, 127.0.0.1) and addresses of private networks"
        );
        Err(Error::new(provider, Kind::Setting, why).hint("take an https:// address"))
    }

    /// The host, with its port where that is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether what is sent there is not encrypted.
    pub fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// The address of `path` below it.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/');
        let whole = format!("{base}/{path}");
        url.set_path(&whole);
        url
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }
}

/// Whether a host is this machine, or an address that leaves no private network (RFC 1918, 4193).
fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || Ipv4Addr::is_private(&ip),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || Ipv6Addr::is_unique_local(&ip),
        Err(_) => host == "localhost",
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let cases = [
            ("usual", "https://api.example.com/v1", Some("api.example.com")),
            ("a slash at the end", "https://api.example.com/v1/", Some("api.example.com")),
            ("own port", "https://api.example.com:443/v1", Some("api.example.com")),
            ("another port", "https://API.example.com:8443", Some("api.example.com:8443")),
            ("this machine", "http://localhost:8080/v1", Some("localhost:8080")),
            ("its number", "http://127.0.0.1:8080", Some("127.0.0.1:8080")),
            ("IPv6", "http://[::1]:8080/v1", Some("[::1]:8080")),
            ("a private network", "http://10.1.2.3/v1", Some("10.1.2.3")),
            ("not encrypted", "http://api.example.com/v1", None),
            ("another notation", "http://0x7f.1/v1", None),
            ("a password", "https://user:canary@api.example.com/v1", None),
            ("an empty name", "https://@api.example.com/v1", None),
            ("a query", "https://api.example.com/v1?key=canary", None),
            ("a fragment", "https://api.example.com/v1#canary", None),
            ("no scheme", "api.example.com/v1", None),
            ("another scheme", "file:///etc/passwd", None),
            ("a letter that looks alike", "https://аpi.example.com/v1", None),
            ("a percent sign", "https://api%2eexample.com/v1", None),
            ("a backslash", "https://api.example.com\\@evil.example/v1", None),
            ("no host", "https:///v1", None),
            ("too long", &format!("https://a.example/{}", "x".repeat(3000)), None),
        ];
        for (name, text, want) in cases {
            let read = Address::read("openai", "base_url", text);
            match read.and_then(|address| address.near("openai", "base_url")) {
                Ok(address) => {
                    assert_eq!(Some(address.host()), want, "{name}");
                    let path = address.join("chat/completions").path().to_owned();
                    assert!(path.ends_with("/chat/completions") && !path.contains("//"), "{path}");
                }
                Err(error) => {
                    assert!(want.is_none(), "{name}: {error}");
                    assert!(!error.to_string().contains("canary"), "{name}: {error}");
                }
            }
        }
    }
}
