//! Leave to send to one host.

/// Leave to send one request to one host: nothing goes out without it, and to no other host.
///
/// The one place where policy and transport meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    host: String,
}

impl Permit {
    /// Leave for `host`, as [`Remote::host`](crate::Remote::host) writes it. Whoever makes one
    /// answers for it.
    pub fn for_host(host: impl Into<String>) -> Permit {
        Permit { host: host.into() }
    }

    pub(crate) fn allows(&self, host: &str) -> bool {
        self.host == host
    }
}
