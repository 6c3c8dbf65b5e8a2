//! What may leave: the operator's policy, permits for sends and their log, budgets, profiles.
//!
//! The same program talks to this process or to a service by one setting. So what decides whether
//! data may leave stands apart from the program: a [`Wall`] of the operator's policies gives a
//! [`Permit`] for one send, or refuses it before a byte leaves. A transport takes a [`Cleared`],
//! which only a permit that was written into the [`EgressLog`] becomes:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use recinto_policy::{Cleared, Destination, EgressLog, Labels, Policy, Wall};
//!
//! fn post(cleared: Cleared<'_>) -> usize {
//!     cleared.body().len() // A transport would send it here.
//! }
//!
//! let text = "[[allow]]\nprovider = \"anthropic\"\nlabels = [\"internal\"]\n";
//! let wall = Wall::new([Policy::parse("policy.toml".as_ref(), text)?]);
//! let to = Destination::new("anthropic", None, "claude")?;
//! assert!(wall.check(&to, &Labels::new(["phi"])?).is_err());
//!
//! # let dir = tempfile::tempdir()?;
//! let log = EgressLog::new(dir.path().join("egress.jsonl"), None, false);
//! let permit = wall.check(&to, &Labels::new(["internal"])?)?;
//! assert_eq!(post(permit.record(&log, b"hola")?), 4);
//! # Ok(())
//! # }
//! ```
//!
//! A permit is for one send. It is not made by hand, and neither copied nor used again:
//!
//! ```compile_fail,E0382
//! # use recinto_policy::*;
//! fn twice(permit: Permit<'_>, log: &EgressLog) {
//!     let _ = permit.record(log, b"uno");
//!     let _ = permit.record(log, b"dos");
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use recinto_policy::*;
//! fn copied<'w>(permit: Permit<'w>) -> [Permit<'w>; 2] {
//!     [permit.clone(), permit]
//! }
//! ```
//!
//! ```compile_fail,E0451
//! # use recinto_policy::*;
//! fn forged<'b>(to: Destination, body: &'b [u8]) -> Cleared<'b> {
//!     Cleared { to, body, digest: None }
//! }
//! ```
//!
//! ```compile_fail,E0597
//! # use recinto_policy::*;
//! fn kept(to: &Destination) -> usize {
//!     let permit = {
//!         let wall = Wall::default();
//!         wall.check(to, &Labels::default())
//!     };
//!     permit.map_or(0, |permit| permit.rules().len())
//! }
//! ```
//!
//! This room opens no socket. `docs/policy.md` says who may set what.
#![forbid(unsafe_code)]

mod amount;
mod budget;
mod destination;
mod error;
mod key;
mod label;
mod log;
mod policy;
mod prices;
mod profiles;
mod read;
mod remotes;
mod report;
mod task;
mod time;
pub mod tree;
mod wall;

pub use amount::{Currency, Money};
pub use budget::{Budget, Ceilings, Exhausted, Limits, Reservation, Scope, Usage};
pub use destination::{Destination, Host};
pub use error::{Error, Kind};
pub use key::EgressKey;
pub use label::{Label, Labels, UNLABELLED};
pub use log::{EgressLog, FORM, MAX_LINE};
pub use policy::{LogRules, Policy, Row};
pub use prices::{Price, Prices};
pub use profiles::{
    Cascade, Clarity, Lack, Layer, Mapped, OPTION_MASS, Profile, Profiles, Step, Target,
    check_cascades, check_tasks, read_profile,
};
pub use read::{Place, is_name};
pub use remotes::{LOCAL, REMOTES, Remote};
pub use report::{Report, Sum};
pub use task::{TASKS, Task};
pub use time::is_day;
pub use wall::{Cleared, Leave, Pass, Permit, Refused, Wall, Why};
