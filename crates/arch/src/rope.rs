//! Rotary frequencies from base and scaling, in plain arithmetic.
//!
//! Sources: RoFormer (Su and others 2021); YaRN (Peng and others 2023), with the ramp's limits and
//! the magnitude as the GGUF models expect them.

use crate::math::{ln, pow};

/// A scaling of rotary frequencies, settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaling {
    /// Frequencies are divided by it; 0 counts as 1.
    pub factor: f64,
    /// Context length of the training before the scaling.
    pub original: f64,
    /// Share of the ramp between scaled and plain frequencies; 0 is linear scaling.
    pub ext: f64,
    /// Turns within `original` from which a frequency stays plain.
    pub fast: f64,
    /// Turns within `original` below which a frequency is scaled fully.
    pub slow: f64,
    /// Multiplier of the logarithm in the magnitude; 0 for the usual one.
    pub log: f64,
    /// Magnitude without a ramp.
    pub attn: f64,
    /// Multiplies the magnitude.
    pub magnitude: f64,
}

impl Scaling {
    pub const NONE: Scaling = Scaling {
        factor: 1.0,
        original: 0.0,
        ext: 0.0,
        fast: 32.0,
        slow: 1.0,
        log: 0.0,
        attn: 1.0,
        magnitude: 1.0,
    };

    /// The scaling with a factor 0 replaced, or what is wrong with it.
    pub fn checked(self) -> Result<Scaling, String> {
        let factor = if self.factor == 0.0 { 1.0 } else { self.factor };
        if !(1e-3..=1e6).contains(&factor) {
            return Err(format!("a rotary factor of {factor}; 0.001 to 1000000 are possible"));
        }
        if !(0.0..=1.0).contains(&self.ext) {
            return Err(format!("a yarn share of {}; 0 to 1 are possible", self.ext));
        }
        let turns = |v: f64| (1e-3..=1e6).contains(&v);
        if self.ext != 0.0 && !(self.original >= 1.0 && turns(self.fast) && turns(self.slow)) {
            return Err("yarn needs an original context length and positive turns".to_owned());
        }
        for (name, value) in [("attn", self.attn), ("magnitude", self.magnitude)] {
            if !(value > 0.0 && value < 1e6) {
                return Err(format!("a rotary {name} of {value}; it must be positive"));
            }
        }
        if !(0.0..1e3).contains(&self.log) {
            return Err(format!("a yarn log multiplier of {}; 0 to 1000 are possible", self.log));
        }
        Ok(Scaling { factor, ..self })
    }

    /// The bits, to find equal settings.
    pub fn bits(&self) -> [u64; 8] {
        [
            self.factor,
            self.original,
            self.ext,
            self.fast,
            self.slow,
            self.log,
            self.attn,
            self.magnitude,
        ]
        .map(f64::to_bits)
    }

    /// The factor of sine and cosine.
    pub fn scale(&self) -> f32 {
        if self.ext == 0.0 {
            return (self.attn * self.magnitude) as f32;
        }
        let grow =
            |by: f64| if self.factor <= 1.0 { 1.0 } else { 1.0 + 0.1 * by * ln(self.factor) };
        let ratio = if self.log == 0.0 { grow(1.0) } else { grow(1.0) / grow(self.log) };
        (ratio * self.magnitude) as f32
    }
}

/// Angle per position of each pair; `rotated` is even, `base` above 1. `factors`, where given, has
/// one divisor a pair.
pub(crate) fn frequencies(
    base: f64,
    rotated: usize,
    scaling: &Scaling,
    factors: Option<&[f32]>,
) -> Vec<f64> {
    let size = rotated as f64;
    // The pair that makes `turns` turns within the original context.
    let pair = |turns: f64| {
        let two_pi = 2.0 * std::f64::consts::PI;
        size * ln(scaling.original / (turns * two_pi)) / (2.0 * ln(base))
    };
    let (low, high) = if scaling.ext == 0.0 {
        (0.0, 0.0)
    } else {
        (pair(scaling.fast).floor().max(0.0), pair(scaling.slow).ceil().min(size - 1.0))
    };
    let one = |i: usize| {
        let mut plain = pow(base, -2.0 * i as f64 / size);
        if let Some(factors) = factors {
            plain /= f64::from(factors[i]);
        }
        let scaled = plain / scaling.factor;
        if scaling.ext == 0.0 {
            return scaled;
        }
        let along = ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
        let share = (1.0 - along) * scaling.ext;
        scaled * (1.0 - share) + plain * share
    };
    (0..rotated / 2).map(one).collect()
}
