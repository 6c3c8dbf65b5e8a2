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
    /// 4 bits into a table of 16 numbers, one scale for 32 values.
    IQ4NL = 20, "iq4_nl", 32, 18, A32, iq4_nl, None;
    /// 4 bits into the same table, in groups of 32 with 6-bit scales, 256 values.
    IQ4XS = 23, "iq4_xs", 256, 136, B256, iq4_xs, None;
    /// 16-bit brain float.
    BF16 = 30, "bf16", 1, 2, F32, bf16, Some(blocks::bf16::pack);
    /// 4-bit floats, one power of two for 32 values.
    MXFP4 = 39, "mxfp4", 32, 17, A32, mxfp4, Some(blocks::mxfp4::pack);
}

/// Storage types of GGUF that are known by name only.
const FOREIGN: &[(u32, &str)] = &[
    (9, "q8_1"),
    (15, "q8_k"),
    (16, "iq2_xxs"),
    (17, "iq2_xs"),
    (18, "iq3_xxs"),
    (19, "iq1_s"),
    (21, "iq3_s"),
    (22, "iq2_s"),
    (24, "i8"),
    (25, "i16"),
    (26, "i32"),
    (27, "i64"),
    (28, "f64"),
    (29, "iq1_m"),
    (34, "tq1_0"),
    (35, "tq2_0"),
    (40, "nvfp4"),
    (41, "q1_0"),
];

/// The name of a storage type that GGUF has and this engine does not read, for error texts.
pub fn foreign_name(id: u32) -> Option<&'static str> {
    FOREIGN.iter().find(|row| row.0 == id).map(|row| row.1)
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
