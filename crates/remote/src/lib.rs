//! Answers from elsewhere: the wires of OpenAI and Anthropic, and those of services that decide, over
//! HTTP and TLS, behind a call that blocks, can be stopped, and sends to one host only.
//!
//! [`Remote::open`] checks the settings and sends nothing; [`Remote::ask`] sends one request with a
//! [`recinto_policy::Pass`]. [`Decider`] does the same for typed questions. Redirects are not followed, and no variable of the environment is looked at: a key,
//! a proxy or a list of certificates is a value that the caller gives.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod ask;
mod config;
mod decide;
mod draft;
mod error;
mod key;
mod line;
mod net;
mod plan;
mod roots;
mod schema;
mod sorted;
mod sse;
mod vendor;
mod wipe;
mod wire;

pub use address::Address;
pub use answer::{Answer, Facts, Finish, Token};
pub use ask::Remote;
pub use config::{Config, SILENCE, Unsupported};
pub use decide::{Decided, Decider, DecisionConfig, SERVICES, Service, TIME};
pub use error::{Error, Kind};
pub use key::Key;
pub use plan::Ask;
pub use schema::{Invalid, Schema};
pub use vendor::{VENDORS, Vendor};
pub use wire::Wire;
