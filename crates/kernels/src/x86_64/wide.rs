//! The portable loops compiled for a level: same source, so same bits; wider instructions.

/// `P` neighbouring parts of `size` values, from the one numbered `first`.
///
/// A loop, for the library's `from_fn` is not inlined into functions of a level.
#[inline(always)]
pub(super) fn each<const P: usize, T>(all: &[T], first: usize, size: usize) -> [&[T]; P] {
    let mut parts: [&[T]; P] = [&[]; P];
    for (p, part) in parts.iter_mut().enumerate() {
        *part = &all[(first + p) * size..][..size];
    }
    parts
}

/// Value `b` of each.
#[inline(always)]
pub(super) fn at<'a, const P: usize, T>(all: &[&'a [T]; P], b: usize) -> [&'a T; P] {
    let mut values = [&all[0][b]; P];
    for (value, all) in values.iter_mut().zip(all) {
        *value = &all[b];
    }
    values
}

/// Declares the functions that a level takes over from `all` with its own instructions.
macro_rules! widened {
    ($features:literal) => {
        use crate::all::{attend, norm, point, quantize, rotate};
        use crate::rope::Pairs;

        widened! { $features,
            quantize::a32 = quantize_a32(x: &[f32], q: &mut [i8], d: &mut [f32], s: &mut [i32]);
            quantize::b256 = quantize_b256(
                x: &[f32], q: &mut [i8], d: &mut [f32], sums: &mut [i16]
            );
            norm::rms_norm = rms_norm(x: &mut [f32], size: usize, w: Option<&[f32]>, eps: f32);
            norm::layer_norm = layer_norm(
                x: &mut [f32], size: usize, w: Option<&[f32]>, b: Option<&[f32]>, eps: f32
            );
            rotate::rope = rope(
                x: &mut [f32], size: usize, pairs: Pairs, cos: &[f32], sin: &[f32]
            );
            point::add = add(x: &mut [f32], y: &[f32]);
            point::mul = mul(x: &mut [f32], y: &[f32]);
            point::scale = scale(x: &mut [f32], by: f32);
            point::softcap = softcap(x: &mut [f32], cap: f32);
            point::silu = silu(x: &mut [f32]);
            point::gelu = gelu(x: &mut [f32]);
            point::gelu_erf = gelu_erf(x: &mut [f32]);
            point::relu = relu(x: &mut [f32]);
            point::sigmoid = sigmoid(x: &mut [f32]);
            point::tanh = tanh(x: &mut [f32]);
            point::swiglu = swiglu(x: &mut [f32], y: &[f32]);
            point::geglu = geglu(x: &mut [f32], y: &[f32]);
            point::geglu_erf = geglu_erf(x: &mut [f32], y: &[f32]);
            attend::largest = largest(x: &[f32]) -> f32;
            attend::soften = soften(s: &mut [f32], m: f32, from: usize, to: usize) -> f32;
        }
    };
    ($features:literal, $(
        $source:path = $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;
    )*) => {$(
        #[target_feature(enable = $features)]
        fn $name($($arg: $type),*) $(-> $ret)? {
            $source($($arg),*)
        }
    )*};
}
pub(super) use widened;
