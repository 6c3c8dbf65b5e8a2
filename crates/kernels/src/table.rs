//! The table of a level's functions, and the one place that calls through it.
//!
//! Every function in a table is an `unsafe fn` pointer because a level's functions may only run
//! on a CPU that has the level. [`Table::at`] gives a table only where that holds, so the safe
//! methods below may call.

use recinto_quant::DType;

use crate::acts::Acts;
use crate::all;
use crate::interleave::{GROUP, take_row};
use crate::level::Level;
use crate::page::Stored;
use crate::rope::Pairs;
use crate::scratch::{Wiped, Work};

/// Rows a matrix product takes at a time: an interleaved group, where they interleave.
pub(crate) const TILE: usize = GROUP;

/// Rows (`bytes`, `stride`) against one position: one value a row.
pub(crate) type Dot = unsafe fn(&[u8], usize, &Acts<'_>, &mut [f32]);
/// At most [`TILE`] rows against many positions: value of position `p`, row `r` at `p·TILE + r`.
pub(crate) type Gemm = unsafe fn(&[u8], usize, &Acts<'_>, &mut Work, &mut [f32]);

/// One interleaved group against one position.
pub(crate) type Sixteen = unsafe fn(&[u8], &Acts<'_>, &mut [f32; TILE]);

/// Products of one storage type's interleaved groups, where the level has its own; otherwise the
/// rows are put back in order and go the ordinary way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interleaved {
    pub dot: Option<Sixteen>,
    /// As a matrix product of [`TILE`] rows; the distance of rows is not looked at.
    pub gemm: Option<Gemm>,
}

/// One storage type's products.
#[derive(Clone, Copy)]
pub(crate) struct Linear {
    pub dot: Dot,
    pub gemm: Gemm,
}

/// Scores of queries against one page of keys.
pub(crate) struct Scores<'a> {
    /// Queries side by side, `key_dim × queries`.
    pub q: &'a [f32],
    pub queries: usize,
    pub key_dim: usize,
    /// Keys of the page, `key_dim × PAGE`.
    pub k: Stored<'a>,
    /// Positions in the page, multiples of 16.
    pub from: usize,
    pub to: usize,
    pub scale: f32,
    /// Distance of two queries' scores in the output, which starts at the page's first position.
    pub stride: usize,
}

/// Values of one page weighed for several queries that see the same positions.
pub(crate) struct Weigh<'a> {
    /// Weights; query `i`, position `j` of the page at `i·stride + j`.
    pub e: &'a [f32],
    pub stride: usize,
    pub queries: usize,
    /// Values of the page, `PAGE × value_dim`.
    pub v: Stored<'a>,
    pub value_dim: usize,
    pub from: usize,
    pub to: usize,
}

/// Scores of queries of one head against the keys of a text, all of them plain floats.
pub(crate) struct Meet<'a> {
    /// Queries one after another, `queries × dim`.
    pub q: &'a [f32],
    pub dim: usize,
    /// Keys side by side, `dim × stride`.
    pub k: &'a [f32],
    pub stride: usize,
    /// Keys that are met, multiples of 16 up to `stride`.
    pub from: usize,
    pub to: usize,
    pub scale: f32,
}

/// Values of one head of a text, weighed for queries.
pub(crate) struct Gather<'a> {
    /// Weights, `queries × stride`.
    pub e: &'a [f32],
    pub stride: usize,
    /// Values of the head, one position after another, `dim` each.
    pub v: &'a [f32],
    pub dim: usize,
    pub from: usize,
    pub to: usize,
}

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident: fn($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions of one level.
        pub(crate) struct Table {
            pub level: Level,
            /// Positions from which a matrix product beats dots one by one.
            pub gemm_from: usize,
            /// Positions of one matrix product at most, so that a stop is seen in time.
            pub gemm_to: usize,
            pub f32: Linear,
            pub f16: Linear,
            pub bf16: Linear,
            pub q4_0: Linear,
            pub q4_1: Linear,
            pub q5_0: Linear,
            pub q5_1: Linear,
            pub q8_0: Linear,
            pub q2_k: Linear,
            pub q3_k: Linear,
            pub q4_k: Linear,
            pub q5_k: Linear,
            pub q6_k: Linear,
            pub iq4_nl: Linear,
            pub iq4_xs: Linear,
            pub mxfp4: Linear,
            pub iq1_s: Linear,
            pub iq1_m: Linear,
            pub iq2_xxs: Linear,
            pub iq2_xs: Linear,
            pub iq2_s: Linear,
            pub iq3_xxs: Linear,
            pub iq3_s: Linear,
            pub tq1_0: Linear,
            pub tq2_0: Linear,
            pub nvfp4: Linear,
            pub q1_0: Linear,
            /// Products over interleaved groups.
            pub interleaved: fn(DType) -> Interleaved,
            $($(#[$doc])* pub $name: unsafe fn($($type),*) $(-> $ret)?,)*
        }

        impl Table {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $name(&self, $($arg: $type),*) $(-> $ret)? {
                    // SAFETY: a table is only reachable where the CPU has its level.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

table! {
    /// Blocks of 32: values (padded by the function) to bytes, scales, sums.
    quantize_a32: fn(x: &[f32], q: &mut [i8], d: &mut [f32], s: &mut [i32]);
    /// Blocks of 256: values to bytes, scales, sums.
    quantize_b256: fn(x: &[f32], q: &mut [i8], d: &mut [f32], sums: &mut [i16]);
    /// Rms norm of groups of a size.
    rms_norm: fn(x: &mut [f32], size: usize, w: Option<&[f32]>, eps: f32);
    /// Layer norm of groups of a size.
    layer_norm: fn(x: &mut [f32], size: usize, w: Option<&[f32]>, b: Option<&[f32]>, eps: f32);
    /// Rotates the heads (of a size) of one position by cosines and sines.
    rope: fn(x: &mut [f32], size: usize, pairs: Pairs, cos: &[f32], sin: &[f32]);
    /// `x + y`.
    add: fn(x: &mut [f32], y: &[f32]);
    /// `x · y`.
    mul: fn(x: &mut [f32], y: &[f32]);
    /// `x · by`.
    scale: fn(x: &mut [f32], by: f32);
    /// `cap · tanh(x / cap)`.
    softcap: fn(x: &mut [f32], cap: f32);
    /// `x / (1 + exp(−x))`.
    silu: fn(x: &mut [f32]);
    /// Gelu, tanh form.
    gelu: fn(x: &mut [f32]);
    /// Gelu, exact form.
    gelu_erf: fn(x: &mut [f32]);
    /// `max(x, 0)`; NaN stays.
    relu: fn(x: &mut [f32]);
    /// `1 / (1 + exp(−x))`.
    sigmoid: fn(x: &mut [f32]);
    /// Hyperbolic tangent.
    tanh: fn(x: &mut [f32]);
    /// `silu(x) · y`.
    swiglu: fn(x: &mut [f32], y: &[f32]);
    /// `gelu(x) · y`.
    geglu: fn(x: &mut [f32], y: &[f32]);
    /// `gelu(x) · y`, exact form.
    geglu_erf: fn(x: &mut [f32], y: &[f32]);
    /// Scaled scores of queries against a page of keys.
    scores: fn(a: &Scores<'_>, s: &mut [f32]);
    /// Largest value; −∞ of nothing.
    largest: fn(x: &[f32]) -> f32;
    /// `exp(s − m)` in place over positions `from..to` of a page; the page's sum.
    soften: fn(s: &mut [f32], m: f32, from: usize, to: usize) -> f32;
    /// Adds weighed values of a page to the output, `queries × value_dim`.
    weigh: fn(a: &Weigh<'_>, o: &mut [f32]);
    /// Scaled scores of queries against plain keys.
    meet: fn(a: &Meet<'_>, s: &mut [f32]);
    /// Weighed sums of plain values, `queries × dim`.
    gather: fn(a: &Gather<'_>, o: &mut [f32]);
}

impl Table {
    /// The table of the portable level.
    pub fn portable() -> &'static Table {
        static PORTABLE: Table = all::TABLE;
        &PORTABLE
    }

    /// The table of `level`, where this CPU has it.
    pub fn at(level: Level) -> Option<&'static Table> {
        match level {
            Level::Portable => Some(Table::portable()),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            _ => crate::x86_64::table(level),
            #[cfg(any(not(target_arch = "x86_64"), test))]
            _ => None,
        }
    }

    fn linear(&self, dtype: DType) -> &Linear {
        match dtype {
            DType::F32 => &self.f32,
            DType::F16 => &self.f16,
            DType::BF16 => &self.bf16,
            DType::Q4_0 => &self.q4_0,
            DType::Q4_1 => &self.q4_1,
            DType::Q5_0 => &self.q5_0,
            DType::Q5_1 => &self.q5_1,
            DType::Q8_0 => &self.q8_0,
            DType::Q2K => &self.q2_k,
            DType::Q3K => &self.q3_k,
            DType::Q4K => &self.q4_k,
            DType::Q5K => &self.q5_k,
            DType::Q6K => &self.q6_k,
            DType::IQ4NL => &self.iq4_nl,
            DType::IQ4XS => &self.iq4_xs,
            DType::MXFP4 => &self.mxfp4,
            DType::IQ1S => &self.iq1_s,
            DType::IQ1M => &self.iq1_m,
            DType::IQ2XXS => &self.iq2_xxs,
            DType::IQ2XS => &self.iq2_xs,
            DType::IQ2S => &self.iq2_s,
            DType::IQ3XXS => &self.iq3_xxs,
            DType::IQ3S => &self.iq3_s,
            DType::TQ1_0 => &self.tq1_0,
            DType::TQ2_0 => &self.tq2_0,
            DType::NVFP4 => &self.nvfp4,
            DType::Q1_0 => &self.q1_0,
        }
    }

    /// Rows against one position.
    pub fn dot(&self, dtype: DType, rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
        check(dtype, rows, stride, a);
        assert!(a.n == 1 && out.len() * stride == rows.len());
        // SAFETY: a table is only reachable where the CPU has its level; lengths were checked.
        unsafe { (self.linear(dtype).dot)(rows, stride, a, out) }
    }

    /// At most [`TILE`] rows against many positions.
    pub fn gemm(
        &self,
        dtype: DType,
        rows: &[u8],
        stride: usize,
        a: &Acts<'_>,
        work: &mut Work,
        out: &mut [f32],
    ) {
        check(dtype, rows, stride, a);
        assert!(rows.len() / stride <= TILE && out.len() == a.n * TILE);
        // SAFETY: a table is only reachable where the CPU has its level; lengths were checked.
        unsafe { (self.linear(dtype).gemm)(rows, stride, a, work, out) }
    }

    /// An interleaved group against one position.
    pub fn dot_interleaved(
        &self,
        dtype: DType,
        group: &[u8],
        a: &Acts<'_>,
        work: &mut Work,
        out: &mut [f32; TILE],
    ) {
        let stride = group.len() / TILE;
        check(dtype, group, stride, a);
        assert!(a.n == 1 && group.len() == stride * TILE);
        match (self.interleaved)(dtype).dot {
            // SAFETY: a table is only reachable where the CPU has its level; lengths were checked.
            Some(dot) => unsafe { dot(group, a, out) },
            None => self.dot(dtype, in_order(dtype, group, &mut work.rows), stride, a, out),
        }
    }

    /// An interleaved group against many positions.
    pub fn gemm_interleaved(
        &self,
        dtype: DType,
        group: &[u8],
        a: &Acts<'_>,
        work: &mut Work,
        out: &mut [f32],
    ) {
        let stride = group.len() / TILE;
        check(dtype, group, stride, a);
        assert!(group.len() == stride * TILE && out.len() == a.n * TILE);
        match (self.interleaved)(dtype).gemm {
            // SAFETY: a table is only reachable where the CPU has its level; lengths were checked.
            Some(gemm) => unsafe { gemm(group, stride, a, work, out) },
            None => {
                let mut rows = std::mem::take(&mut work.rows);
                self.gemm(dtype, in_order(dtype, group, &mut rows), stride, a, work, out);
                work.rows = rows;
            }
        }
    }
}

/// The rows of an interleaved group as they are in a file.
fn in_order<'a>(dtype: DType, group: &[u8], rows: &'a mut Wiped<u8>) -> &'a [u8] {
    let stride = group.len() / TILE;
    let rows = rows.take(group.len());
    for (r, row) in rows.chunks_exact_mut(stride).enumerate() {
        take_row(dtype, group, r, row);
    }
    rows
}

/// A level without products of its own for interleaved groups.
pub(crate) fn in_order_only(_: DType) -> Interleaved {
    Interleaved::default()
}

/// What every product relies on: whole rows of whole blocks, as wide as the activations.
fn check(dtype: DType, rows: &[u8], stride: usize, a: &Acts<'_>) {
    let row = dtype.layout();
    assert!(stride > 0 && rows.len().is_multiple_of(stride));
    assert_eq!(dtype.bytes_for(a.cols as u64), Some(stride as u64));
    match row.form {
        recinto_quant::Form::F32 => assert_eq!(a.x.len(), a.n * a.cols),
        recinto_quant::Form::A32 => {
            assert!(a.cols == a.blocks * 32 && a.q.len() == a.n * a.cols);
            assert!(a.d.len() == a.n * a.blocks && a.s.len() == a.n * a.blocks);
        }
        recinto_quant::Form::B256 => {
            assert!(a.cols == a.blocks * 256 && a.q.len() == a.n * a.cols);
            assert!(a.d.len() == a.n * a.blocks);
            assert_eq!(a.sums.len(), a.n * a.blocks * crate::acts::SUMS);
        }
    }
}
