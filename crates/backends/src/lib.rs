//! Who reads a judge's questions: models of this process, and services behind a door that the caller
//! holds. Each is a [`recinto_judge::Backend`].
#![forbid(unsafe_code)]

mod causal;
mod error;
pub mod hosted;
mod laya;
mod long;

pub use causal::{Causal, Fed};
pub use error::{Error, Kind};
pub use hosted::Hosted;
pub use laya::{Laya, Layout, Reader, Row};
pub use long::Long;
