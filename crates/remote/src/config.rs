//! Everything that a line to a service is made from, as values.

use std::time::Duration;

use crate::{address::Address, key::Key, vendor::Vendor, wire::Wire};

/// Longest silence before and within an answer, where nobody says.
pub const SILENCE: Duration = Duration::from_secs(120);

/// What becomes of an option that a service does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsupported {
    /// It is left out, and the answer says so.
    #[default]
    Note,
    /// The request fails.
    Error,
}

/// A service and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose service it is.
    pub vendor: &'static Vendor,
    /// The model, in the service's own words.
    pub model: String,
    /// Another address than the vendor's own.
    pub base_url: Option<Address>,
    /// What is spoken; the vendor's first where nothing is said.
    pub wire: Option<Wire>,
    /// The key. One that is missing is an error where the service is the vendor's own.
    pub key: Option<Key>,
    /// Longest time without a byte: before an answer and within it.
    pub silence: Duration,
    /// How often a request that failed before an answer began is sent again.
    pub retries: u32,
    /// Through which proxy.
    pub proxy: Option<Address>,
    /// The only certificates that may vouch for the service, in PEM; the system's otherwise.
    pub ca: Option<Vec<u8>>,
    /// Whether answers are asked for piece by piece.
    pub stream: bool,
    /// What becomes of an option that the service does not take.
    pub unsupported: Unsupported,
}

impl Config {
    /// The vendor's own service with the usual settings.
    pub fn new(vendor: &'static Vendor, model: impl Into<String>) -> Config {
        Config {
            vendor,
            model: model.into(),
            base_url: None,
            wire: None,
            key: None,
            silence: SILENCE,
            retries: 2,
            proxy: None,
            ca: None,
            stream: true,
            unsupported: Unsupported::Note,
        }
    }
}
