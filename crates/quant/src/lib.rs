//! What the bytes of a weight mean: one row a storage type, and the slow truth every kernel is
//! held to.
//!
//! A storage type is one row of [`LAYOUTS`] and one file in `blocks/`. Nothing here is fast and
//! nothing here is unsafe: [`expand`] is the oracle that the kernels are compared with.
#![forbid(unsafe_code)]

mod blocks;
pub mod codebook;
mod half;
mod layout;
pub mod whole;

pub use blocks::iq4_nl::IQ4_NUMBERS;
pub use blocks::mxfp4::MXFP4_NUMBERS;
pub use half::{
    bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, half_e4m3_to_f32, half_exponent_to_f32,
};
pub use layout::{DType, Foreign, Form, LAYOUTS, Layout, Mismatch, expand, foreign, pack};
