//! Judges that read in this process: each a model with its prompt and its readout.
//!
//! A backend implements [`recinto_judge::Backend`]; what it gives is mathematics for the room
//! `judge`, what it computes with is the room `engine`.
#![forbid(unsafe_code)]

mod laya;

pub use laya::{Laya, Layout, Reader, Row};
