//! Blocks of 256 values as whole numbers: what the types with codebooks, and those of three
//! values, have in common.

pub use crate::blocks::whole::*;

/// A block: value `i` is `scale · scales[i / 16] · numbers[i]`.
pub struct Whole {
    /// Scale of the block.
    pub scale: f32,
    /// Scales of 16 values each, 1 … 31.
    pub scales: [i8; 16],
    /// The numbers.
    pub numbers: [i8; 256],
}

impl Whole {
    /// The values. Each product is exact, so that their order says nothing.
    pub(crate) fn expand(&self, out: &mut [f32; 256]) {
        for (i, value) in out.iter_mut().enumerate() {
            let step = self.scale * f32::from(self.scales[i / 16]);
            *value = step * f32::from(self.numbers[i]);
        }
    }
}

/// Declares `expand` out of `whole`, for blocks of `$bytes` bytes.
macro_rules! expand_whole {
    ($bytes:literal) => {
        pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
            let blocks = bytes.as_chunks::<$bytes>().0.iter();
            for (block, out) in blocks.zip(out.as_chunks_mut::<256>().0) {
                whole(block).expand(out);
            }
        }
    };
}
pub(crate) use expand_whole;

/// The eight signs that seven bits stand for: bit `i` set takes the number `i` away, and the last
/// one is set where the others that are set are odd in number.
pub(crate) fn eight_signs(seven: u8) -> u8 {
    seven | (seven.count_ones() as u8 & 1) << 7
}

/// Puts a group from a codebook where it belongs, with the signs of its numbers.
pub(crate) fn put_group(to: &mut [i8], group: &[u8], signs: u8) {
    for (i, (number, byte)) in to.iter_mut().zip(group).enumerate() {
        *number = if signs >> i & 1 == 1 { -(*byte as i8) } else { *byte as i8 };
    }
}

/// Scales of 16 values each from half bytes, lower half first: odd numbers.
pub(crate) fn odd_scales(halves: &[u8]) -> [i8; 16] {
    std::array::from_fn(|j| 2 * (halves[j / 2] >> (4 * (j % 2)) & 15) as i8 + 1)
}
