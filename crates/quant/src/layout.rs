//! The table of storage types: id, name, block shape, and how its values are unpacked.

use crate::blocks;

/// How the activations that meet a storage type are stored (see `docs/determinism.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Plain 32-bit floats.
    F32,
    /// Blocks of 32 signed bytes with one f32 scale.
    A32,
    /// Blocks of 256 signed bytes with one f32 scale and sums per 16 values.
    B256,
}

type Expand = fn(&[u8], &mut [f32]);
type Pack = fn(&[f32], &mut [u8]);

/// One storage type: everything the rest of the code may ask of it.
pub struct Layout {
    /// The type this row describes.
    pub dtype: DType,
    /// The number GGUF uses for it.
    pub id: u32,
    /// Lower-case name, as in file names and error texts.
    pub name: &'static str,
    /// Values in one block.
    pub values: usize,
    /// Bytes of one block.
    pub bytes: usize,
    /// The form of activations it is multiplied with.
    pub form: Form,
    /// Unpacks whole blocks; lengths are checked by [`expand`].
    pub(crate) expand: Expand,
    /// Packs whole blocks, where a test needs it; `None` elsewhere.
    pub(crate) pack: Option<Pack>,
}

macro_rules! layouts {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $id:literal, $name:literal, $values:literal, $bytes:literal, $form:ident,
        $module:ident, $pack:expr;
    )*) => {
        /// A storage type of GGUF that this engine reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DType { $($(#[$doc])* $variant,)* }

        /// Every storage type, one row each; the only place that knows ids and sizes.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            dtype: DType::$variant, id: $id, name: $name, values: $values, bytes: $bytes,
            form: Form::$form, expand: blocks::$module::expand, pack: $pack,
        },)*];
    };
}

layouts! {
    /// 32-bit float.
    F32 = 0, "f32", 1, 4, F32, f32, Some(blocks::f32::pack);
    /// 16-bit IEEE float.
    F16 = 1, "f16", 1, 2, F32, f16, Some(blocks::f16::pack);
    /// 4 bits, one scale for 32 values, symmetric around 8.
    Q4_0 = 2, "q4_0", 32, 18, A32, q4_0, None;
    /// 4 bits, scale and minimum for 32 values.
    Q4_1 = 3, "q4_1", 32, 20, A32, q4_1, None;
    /// 5 bits, one scale for 32 values, symmetric around 16.
    Q5_0 = 6, "q5_0", 32, 22, A32, q5_0, None;
    /// 5 bits, scale and minimum for 32 values.
    Q5_1 = 7, "q5_1", 32, 24, A32, q5_1, None;
    /// 8 bits, one scale for 32 values.
    Q8_0 = 8, "q8_0", 32, 34, A32, q8_0, Some(blocks::q8_0::pack);
    /// 2 bits in groups of 16 with 4-bit scales and minima, 256 values.
    Q2K = 10, "q2_k", 256, 84, B256, q2_k, None;
    /// 3 bits in groups of 16 with 6-bit scales, 256 values.
    Q3K = 11, "q3_k", 256, 110, B256, q3_k, None;
    /// 4 bits in groups of 32 with 6-bit scales and minima, 256 values.
    Q4K = 12, "q4_k", 256, 144, B256, q4_k, None;
    /// 5 bits in groups of 32 with 6-bit scales and minima, 256 values.
    Q5K = 13, "q5_k", 256, 176, B256, q5_k, None;
    /// 6 bits in groups of 16 with 8-bit scales, 256 values.
    Q6K = 14, "q6_k", 256, 210, B256, q6_k, None;
    /// 2.06 bits: indices into a codebook, signs, 4-bit scales of 32, 256 values.
    IQ2XXS = 16, "iq2_xxs", 256, 66, B256, iq2_xxs, None;
    /// 2.31 bits: a larger codebook, 4-bit scales of 16, 256 values.
    IQ2XS = 17, "iq2_xs", 256, 74, B256, iq2_xs, None;
    /// 3.06 bits: indices into a codebook, signs, 4-bit scales of 32, 256 values.
    IQ3XXS = 18, "iq3_xxs", 256, 98, B256, iq3_xxs, None;
    /// 1.56 bits: indices into a codebook, 3-bit scales of 32, 256 values.
    IQ1S = 19, "iq1_s", 256, 50, B256, iq1_s, None;
    /// 4 bits into a table of 16 numbers, one scale for 32 values.
    IQ4NL = 20, "iq4_nl", 32, 18, A32, iq4_nl, None;
    /// 3.44 bits: a larger codebook, all signs, 4-bit scales of 32, 256 values.
    IQ3S = 21, "iq3_s", 256, 110, B256, iq3_s, None;
    /// 2.56 bits: the largest codebook, all signs, 4-bit scales of 16, 256 values.
    IQ2S = 22, "iq2_s", 256, 82, B256, iq2_s, None;
    /// 4 bits into the same table, in groups of 32 with 6-bit scales, 256 values.
    IQ4XS = 23, "iq4_xs", 256, 136, B256, iq4_xs, None;
    /// 1.75 bits: the codebook of IQ1_S, 3-bit scales of 16, 256 values.
    IQ1M = 29, "iq1_m", 256, 56, B256, iq1_m, None;
    /// 16-bit brain float.
    BF16 = 30, "bf16", 1, 2, F32, bf16, Some(blocks::bf16::pack);
    /// Three values in digits of base three, one scale for 256 values.
    TQ1_0 = 34, "tq1_0", 256, 54, B256, tq1_0, None;
    /// Three values in pairs of bits, one scale for 256 values.
    TQ2_0 = 35, "tq2_0", 256, 66, B256, tq2_0, None;
    /// 4-bit floats, one power of two for 32 values.
    MXFP4 = 39, "mxfp4", 32, 17, A32, mxfp4, Some(blocks::mxfp4::pack);
    /// 4-bit floats, an 8-bit float for 16 values, 64 values.
    NVFP4 = 40, "nvfp4", 64, 36, A32, nvfp4, None;
    /// One bit, one scale for 128 values.
    Q1_0 = 41, "q1_0", 128, 18, A32, q1_0, None;
}

/// A storage type that GGUF has or had and this engine does not read.
pub struct Foreign {
    /// The number GGUF uses for it.
    pub id: u32,
    /// Lower-case name.
    pub name: &'static str,
    /// Why not, and what to do, where there is something.
    pub why: &'static str,
}

const STEP: &str = "it is for steps of a computation, not for weights";
const WHOLE: &str = "whole numbers are no weights";
const WIDE: &str = "convert the model with its 64-bit floats as f32";
const GONE: &str = "it is no longer in the format; convert the model again";
const NEW: &str = "it is newer than this engine";

macro_rules! foreign {
    ($($id:literal $name:literal $why:ident,)*) => {
        &[$(Foreign { id: $id, name: $name, why: $why },)*]
    };
}

const FOREIGN: &[Foreign] = foreign! {
    4 "q4_2" GONE,
    5 "q4_3" GONE,
    9 "q8_1" STEP,
    15 "q8_k" STEP,
    24 "i8" WHOLE,
    25 "i16" WHOLE,
    26 "i32" WHOLE,
    27 "i64" WHOLE,
    28 "f64" WIDE,
    31 "q4_0_4_4" GONE,
    32 "q4_0_4_8" GONE,
    33 "q4_0_8_8" GONE,
    36 "iq4_nl_4_4" GONE,
    37 "iq4_nl_4_8" GONE,
    38 "iq4_nl_8_8" GONE,
    42 "q2_0" NEW,
};

/// The storage type with GGUF's number `id`, if it is known by name only; for error texts.
pub fn foreign(id: u32) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|row| row.id == id)
}

impl DType {
    /// The row of this type.
    pub fn layout(self) -> &'static Layout {
        // Rows stand in the order of the variants: one macro writes both.
        &LAYOUTS[self as usize]
    }

    /// The type with GGUF's number `id`, if this engine reads it.
    pub fn from_id(id: u32) -> Option<DType> {
        LAYOUTS.iter().find(|row| row.id == id).map(|row| row.dtype)
    }

    /// Lower-case name, as in file names and error texts.
    pub fn name(self) -> &'static str {
        self.layout().name
    }

    /// Bytes of `values` values, or `None` when they do not fill whole blocks or overflow.
    pub fn bytes_for(self, values: u64) -> Option<u64> {
        let row = self.layout();
        if !values.is_multiple_of(row.values as u64) {
            return None;
        }
        (values / row.values as u64).checked_mul(row.bytes as u64)
    }
}

/// Bytes and values of a call do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes and values of a storage type do not fit each other")
    }
}

impl std::error::Error for Mismatch {}

/// Unpacks `bytes` (whole blocks of `dtype`) into `out`, in f32, exactly as the format defines.
pub fn expand(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), Mismatch> {
    if dtype.bytes_for(out.len() as u64) != Some(bytes.len() as u64) {
        return Err(Mismatch);
    }
    (dtype.layout().expand)(bytes, out);
    Ok(())
}

/// Packs `values` into `out` where the type has a packer (a plain rounding one, for tests and
/// tools; not a quantizer of quality).
pub fn pack(dtype: DType, values: &[f32], out: &mut [u8]) -> Result<(), Mismatch> {
    let Some(pack) = dtype.layout().pack else { return Err(Mismatch) };
    if dtype.bytes_for(values.len() as u64) != Some(out.len() as u64) {
        return Err(Mismatch);
    }
    pack(values, out);
    Ok(())
}
