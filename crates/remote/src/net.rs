//! Requests over HTTP and TLS on a thread of their own; the caller waits for news, and can stop
//! waiting at any time.

use std::{
    error::Error as _,
    io,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use reqwest::{Client, Proxy, Request, header::HeaderMap, redirect::Policy};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::{runtime, sync::oneshot, task::AbortHandle};

use recinto_engine::{Stop, VERSION};

use crate::{
    address::Address,
    error::{Error, Kind},
};
use recinto_policy::Cleared;

/// How often a wait looks up.
const STEP: Duration = Duration::from_millis(20);
/// Most bytes of one answer, events and all.
const LARGEST: usize = 64 << 20;
/// Longest time to a connection.
const CONNECT: Duration = Duration::from_secs(30);

/// What happened on the line.
pub(crate) enum News {
    /// The status and the headers of the answer.
    Head(u16, HeaderMap),
    /// Some of its body.
    Bytes(Bytes),
    /// All of its body is there.
    End,
    /// It failed.
    Failed(Trouble),
}

/// Why a request failed on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The host's name leads nowhere.
    Name,
    /// Nobody was reached; nothing was sent.
    Connect,
    /// The other end is not who it should be.
    Tls(&'static str),
    /// The line broke after something may have been sent.
    Broken,
    /// More bytes than an answer has.
    TooLarge,
}

/// Why a wait ended without news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {
    /// The caller said stop, or its deadline passed.
    Stopped,
    /// Nothing came for too long.
    Silent,
}

/// The line to one service.
pub(crate) struct Net {
    host: String,
    client: Client,
    runtime: runtime::Handle,
    /// Dropped with this, which ends the thread.
    _alive: oneshot::Sender<()>,
}

impl Net {
    /// A line to `address`, through `proxy` where there is one, and through no other: variables of
    /// the environment that name one are not looked at. `roots` are those who may vouch for the
    /// other end.
    pub fn new(
        provider: &'static str,
        address: &Address,
        proxy: Option<&Address>,
        roots: RootCertStore,
    ) -> Result<Net, Error> {
        let fault = |what: &str| Error::new(provider, Kind::Unavailable, what);
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|_| fault("TLS cannot be set up"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .connect_timeout(CONNECT)
            .user_agent(format!("recinto/{VERSION}"));
        if let Some(proxy) = proxy {
            let proxy =
                Proxy::all(proxy.url().clone()).map_err(|_| fault("the proxy's address"))?;
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|_| fault("the HTTP client cannot be set up"))?;
        let (alive, ended) = oneshot::channel::<()>();
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| fault("the system gave no means to wait for the network"))?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name("recinto-remote".into())
            .spawn(move || {
                let _ = runtime.block_on(ended);
                // A name that is still looked up is not waited for.
                runtime.shutdown_background();
            })
            .map_err(|_| fault("the system gave no thread"))?;
        Ok(Net { host: address.host().to_owned(), client, runtime: handle, _alive: alive })
    }

    /// Sends `request`, which is cleared, to the host of this line and to no other.
    pub fn send(&self, request: Request, cleared: Cleared<'_>) -> Option<Exchange> {
        let url = request.url();
        let host = match (url.host_str(), url.port()) {
            (Some(name), Some(port)) => format!("{name}:{port}"),
            (Some(name), None) => name.to_owned(),
            (None, _) => return None,
        };
        let sent = request.body().and_then(reqwest::Body::as_bytes);
        if host != self.host || sent != Some(cleared.body()) {
            return None;
        }
        let (sender, news) = mpsc::channel();
        let client = self.client.clone();
        let task = self.runtime.spawn(async move {
            let failed = |error: reqwest::Error| News::Failed(trouble(&error));
            let mut response = match client.execute(request).await {
                Ok(response) => response,
                Err(error) => return drop(sender.send(failed(error))),
            };
            let head = News::Head(response.status().as_u16(), response.headers().clone());
            if sender.send(head).is_err() {
                return;
            }
            let mut size = 0usize;
            loop {
                let news = match response.chunk().await {
                    Ok(Some(bytes)) => {
                        size = size.saturating_add(bytes.len());
                        match size > LARGEST {
                            true => News::Failed(Trouble::TooLarge),
                            false => News::Bytes(bytes),
                        }
                    }
                    Ok(None) => News::End,
                    Err(error) => failed(error),
                };
                let last = !matches!(news, News::Bytes(_));
                if sender.send(news).is_err() || last {
                    return;
                }
            }
        });
        Some(Exchange { news, task: task.abort_handle() })
    }
}

/// A request under way. Dropping it ends it.
pub(crate) struct Exchange {
    news: mpsc::Receiver<News>,
    task: AbortHandle,
}

impl Exchange {
    /// Waits for what comes next, at most for `silence`.
    pub fn next(&self, stop: &Stop, silence: Duration) -> Result<News, Quiet> {
        let begun = Instant::now();
        loop {
            if stop.stopped() {
                return Err(Quiet::Stopped);
            }
            match self.news.recv_timeout(STEP.min(silence)) {
                Ok(news) => return Ok(news),
                Err(RecvTimeoutError::Timeout) if begun.elapsed() >= silence => {
                    return Err(Quiet::Silent);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(News::Failed(Trouble::Broken)),
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for `time`, or until `stop` says so; whether the whole time passed.
pub(crate) fn wait(time: Duration, stop: &Stop) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if stop.stopped() {
            return false;
        }
        thread::sleep(STEP.min(time.saturating_sub(begun.elapsed())));
    }
    !stop.stopped()
}

/// A number from 0 to 1 that is another one for each who draws it.
pub(crate) fn draw() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let draw = std::hash::RandomState::new().build_hasher().finish();
    (draw >> 11) as f64 / (1u64 << 53) as f64
}

/// What an error of the HTTP library means. Its own text holds the address, and is not used.
fn trouble(error: &reqwest::Error) -> Trouble {
    let mut source = error.source();
    let mut connecting = error.is_connect();
    while let Some(error) = source {
        if let Some(tls) = tls_of(error) {
            return Trouble::Tls(tls_word(tls));
        }
        let refused = error.downcast_ref::<io::Error>().map(io::Error::kind);
        connecting |= refused == Some(io::ErrorKind::ConnectionRefused);
        source = error.source();
    }
    match (error.is_dns(), connecting) {
        (true, _) => Trouble::Name,
        (_, true) => Trouble::Connect,
        _ => Trouble::Broken,
    }
}

/// The TLS error that `error` is or holds: an `io::Error` does not name its inner one as a source.
fn tls_of<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    tls_of(inner)
}

fn tls_word(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer => "nobody who is trusted here vouches for it",
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            CertificateError::Revoked => "its certificate is revoked",
            _ => "its certificate is not valid",
        },
        rustls::Error::PeerIncompatible(_) => "it speaks no version of TLS that is used here",
        _ => "its TLS cannot be understood",
    }
}
