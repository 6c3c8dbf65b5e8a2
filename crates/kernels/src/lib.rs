//! How to compute on quantized weights fast, with the same bits on every CPU level.
//!
//! The numbers are defined in `docs/determinism.md`. `all/` is the portable level: the slow,
//! safe version that explains and judges the others. A faster level is a table of the functions
//! it improves, over the table below it. [`Machine`] is what the engine calls: it splits an
//! operation over threads, never over a sum, so that no bit depends on their number.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(dead_code))]

/// Revision of the numbers: raised whenever any bit of any result changes.
pub const NUMERICS: u32 = 1;

mod acts;
mod all;
mod check;
#[allow(unsafe_code)]
mod grid;
mod interleave;
mod kv;
mod level;
#[allow(unsafe_code)]
pub mod limits;
mod machine;
mod page;
#[allow(unsafe_code)]
mod pool;
mod rope;
mod rows;
mod scratch;
mod stop;
#[allow(unsafe_code)]
mod table;
// Most of this crate's code: unit tests do without, and so are built in a tenth of the time. The
// levels are tested from outside, in `tests/`.
#[cfg(all(target_arch = "x86_64", not(test)))]
#[allow(unsafe_code)]
mod x86_64;

pub use acts::Prepared;
pub use all::math;
pub use all::point::first_non_finite;
pub use interleave::{GROUP, interleave, interleaves};
pub use kv::{Kv, OutOfMemory};
pub use level::{Kernels, Level};
pub use machine::{Attend, Gate, Job, Machine, Places, Sequence, Text};
pub use page::{KvType, PAGE, UnknownKvType};
pub use pool::Pool;
pub use recinto_quant::{DType, Form, Mismatch};
pub use rope::{Angles, Pairs};
pub use rows::Rows;
pub use stop::{Stop, Stopped};
