//! Models of this process that read a judge's questions: each is a [`recinto_judge::Backend`].
#![forbid(unsafe_code)]

mod causal;
mod error;
mod laya;

pub use causal::{Causal, Fed};
pub use error::{Error, Kind};
pub use laya::{Laya, Layout, Reader, Row};
