//! The line to one service, whatever is spoken on it: its address, its key's place, who vouches for
//! it, one sending with leave, and bodies read within bounds.

use std::time::{Duration, Instant};

use bytes::Bytes;
use recinto_engine::Stop;
use recinto_policy::{Destination, Pass};
use reqwest::{Request, header::HeaderMap};
use rustls::RootCertStore;
use zeroize::Zeroizing;

use crate::{
    address::Address,
    error::{Error, Kind, is_plain},
    key::Key,
    net::{Exchange, Net, News, Quiet, Trouble},
    roots, sorted,
};

/// Names of the settings that a line is made from, for its errors.
#[derive(Debug)]
pub(crate) struct Names {
    /// That of the address.
    pub base_url: &'static str,
    /// The variable that holds a key of any service.
    pub key: &'static str,
    /// That of the file with the key.
    pub key_file: &'static str,
}

/// What a line is made from.
pub(crate) struct Ends<'a> {
    /// The service's name in errors and policies.
    pub name: &'static str,
    pub names: &'static Names,
    /// The address of the vendor's own service.
    pub own: Option<&'static str>,
    /// The variable that holds a key of this vendor and of no other.
    pub variable: Option<&'static str>,
    pub base_url: Option<&'a Address>,
    pub key: Option<&'a Key>,
    pub proxy: Option<&'a Address>,
    pub ca: Option<&'a [u8]>,
}

/// A line; nothing is sent by making one.
pub(crate) struct Line {
    name: &'static str,
    names: &'static Names,
    address: Address,
    set: Option<String>,
    own: bool,
    net: Net,
}

/// An answer that begins.
pub(crate) struct Begun {
    pub status: u16,
    pub headers: HeaderMap,
    pub exchange: Exchange,
    /// The keyed digest of what was sent, where the operator has a key.
    pub request_digest: Option<String>,
}

/// Why none begins.
pub(crate) enum Unbegun {
    /// Nothing was sent.
    Unsent(Box<Error>),
    /// The line failed.
    Line(Trouble, Box<Error>),
    /// The caller said stop, or nothing came for too long.
    Quiet(Quiet),
}

/// How a body ended that is not whole.
pub(crate) enum Unread {
    /// It is longer than it may be.
    TooLarge,
    /// The line broke.
    Broken,
    /// The caller said stop, or nothing came for too long.
    Quiet(Quiet),
}

impl Line {
    /// Checks what it is made from.
    ///
    /// # Errors
    ///
    /// No address, one that cannot be used, a key that is missing or another vendor's,
    /// certificates that cannot be read.
    pub fn open(ends: &Ends<'_>) -> Result<Line, Error> {
        let Ends { name, names, .. } = *ends;
        let fault = |what: String| Error::new(name, Kind::Setting, what);
        let address = match (ends.base_url, ends.own) {
            (Some(address), _) => address.clone(),
            (None, Some(own)) => Address::read(name, "its own address", own)?,
            (None, None) => {
                return Err(fault("it has no address of its own, and none is set".into())
                    .hint(format!("set `{}`, as in `http://localhost:8080/v1`", names.base_url)));
            }
        };
        let address = address.near(name, &format!("`{}`", names.base_url))?;
        let own = ends.own.is_some_and(|own| {
            Address::read(name, "", own).is_ok_and(|own| own.host() == address.host())
        });
        match ends.key {
            Some(key) if own => key.check(name)?,
            None if own => {
                let hint = match ends.variable {
                    Some(variable) => format!("set {variable} or {}", names.key),
                    None => format!("set {}", names.key),
                };
                return Err(Error::new(name, Kind::Auth, "no key is set").hint(format!(
                    "{hint} in the environment or in .env, or name a file with `{}`",
                    names.key_file
                )));
            }
            _ => {}
        }
        if ends.proxy.is_some() && address.is_plain() {
            return Err(fault("a proxy is used for https:// addresses only".into())
                .hint("leave out `proxy`, or take an https:// address"));
        }
        let roots = match (ends.ca, address.is_plain()) {
            (Some(pem), _) => roots::own(name, pem)?,
            (None, true) => RootCertStore::empty(),
            (None, false) => roots::system(name)?,
        };
        let net = Net::new(name, &address, ends.proxy, roots)?;
        let set = ends.base_url.map(|address| address.url().as_str().to_owned());
        Ok(Line { name, names, address, set, own, net })
    }

    /// The host, with its port where that is not the usual one.
    pub fn host(&self) -> &str {
        self.address.host()
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether the host is the vendor's own.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// What should be known of it.
    pub fn warnings(&self) -> Vec<String> {
        let plain = self
            .address
            .is_plain()
            .then(|| format!("what is sent to {} is not encrypted (http://)", self.host()));
        plain.into_iter().collect()
    }

    /// Where requests for `model` go, as policies name it.
    ///
    /// # Errors
    ///
    /// An address that no policy could name.
    pub fn destination(&self, model: &str) -> Result<Destination, Error> {
        Destination::new(self.name, self.set.as_deref(), model)
            .map_err(|error| Error::of_policy(self.name, &error))
    }

    /// Sends `request`, whose body is `body`, with leave of `pass`, which writes it down first; the
    /// head of the answer.
    pub fn begin(
        &self,
        request: Request,
        body: &Bytes,
        pass: &Pass<'_>,
        stop: &Stop,
        silence: Duration,
    ) -> Result<Begun, Unbegun> {
        let cleared = pass.clear(body).and_then(|cleared| {
            cleared.check_url(request.url().as_str())?;
            Ok(cleared)
        });
        let cleared = match cleared {
            Ok(cleared) => cleared,
            Err(error) => {
                return Err(Unbegun::Unsent(Box::new(Error::of_policy(self.name, &error))));
            }
        };
        let request_digest = cleared.digest().map(str::to_owned);
        // Once it is on its way, a stop may come too late.
        if stop.stopped() {
            return Err(Unbegun::Quiet(Quiet::Stopped));
        }
        let Some(exchange) = self.net.send(request, cleared) else {
            let what = format!("there is no leave to send to {}", self.host());
            return Err(Unbegun::Unsent(Box::new(Error::new(self.name, Kind::Request, what))));
        };
        let failed = |trouble| {
            let base_url = self.names.base_url;
            let error = sorted::of_trouble(self.name, self.host(), base_url, trouble);
            Unbegun::Line(trouble, Box::new(error))
        };
        match exchange.next(stop, silence) {
            Ok(News::Head(status, headers)) => {
                Ok(Begun { status, headers, exchange, request_digest })
            }
            Ok(News::Failed(trouble)) => Err(failed(trouble)),
            Ok(News::Bytes(_) | News::End) => Err(failed(Trouble::Broken)),
            Err(quiet) => Err(Unbegun::Quiet(quiet)),
        }
    }

    /// The error of a wait that the caller ended, by word or by deadline.
    pub fn stopped(&self, stop: &Stop) -> Error {
        match stop.cancelled() {
            true => Error::new(self.name, Kind::Cancelled, "stopped before an answer began"),
            false => {
                let what = "the time was over before an answer began";
                Error::new(self.name, Kind::Deadline, what)
            }
        }
    }

    /// The plain id of an answer's request, for questions to the vendor.
    pub fn request_id(&self, headers: &HeaderMap, name: &str) -> Option<String> {
        let id = headers.get(name).or_else(|| headers.get("x-request-id"))?;
        id.to_str().ok().filter(|id| is_plain(id)).map(str::to_owned)
    }
}

/// What is left of `time` since `begun`; nothing is waited for when that is nothing.
pub(crate) fn left(begun: Instant, time: Duration) -> Duration {
    time.saturating_sub(begun.elapsed())
}

/// A whole body of at most `most` bytes. `wait` says how long the next bytes are waited for.
pub(crate) fn body(
    exchange: &Exchange,
    most: usize,
    stop: &Stop,
    wait: impl Fn() -> Duration,
) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let mut bytes = Zeroizing::new(Vec::new());
    loop {
        match exchange.next(stop, wait()) {
            Ok(News::Bytes(more)) if bytes.len() + more.len() <= most => {
                bytes.extend_from_slice(&more);
            }
            Ok(News::End) => return Ok(bytes),
            Ok(News::Bytes(_) | News::Failed(Trouble::TooLarge)) => return Err(Unread::TooLarge),
            Ok(News::Head(..) | News::Failed(_)) => return Err(Unread::Broken),
            Err(quiet) => return Err(Unread::Quiet(quiet)),
        }
    }
}
