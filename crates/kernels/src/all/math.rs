//! Elementary functions with fixed bits: plain arithmetic in a written order, so that every
//! compiler, library and CPU gives the same result. Errors are a few units of the last place.

/// Adding 1.5 · 2²³ leaves the nearest integer (half to even) in the low bits, |x| < 2²².
const MAGIC: f32 = 12_582_912.0;
/// The same for f64: 1.5 · 2⁵², |x| < 2⁵¹.
const MAGIC64: f64 = 6_755_399_441_055_744.0;

/// `e^x`: infinity above 88.37, zero below −87.33.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Out of range, the middle of the work is done on 0 and its result not used: no branch.
    let inside = (-87.33..=88.37).contains(&x);
    let y = exp_inside(if inside { x } else { 0.0 });
    let outside = if x > 0.0 { f32::INFINITY } else { 0.0 };
    let y = if inside { y } else { outside };
    if x.is_nan() { x } else { y }
}

/// The same bits where `x` is not above 88.37, as an exponent of a softmax; a NaN stays one.
#[inline(always)]
pub(crate) fn exp_below(x: f32) -> f32 {
    let y = exp_inside(if x < -87.33 { 0.0 } else { x });
    if x < -87.33 { 0.0 } else { y }
}

/// `e^x` from −87.33 to 88.37.
#[inline(always)]
fn exp_inside(x: f32) -> f32 {
    // ln 2 in two parts; the first has 9 significant bits, so that n · LN2_HI is exact.
    const LN2_HI: f32 = 355.0 / 512.0;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Fitted to e^r on |r| ≤ ln(2)/2 with relative error below 4e-9.
    const C: [f32; 5] = [0.499_999_93, 0.166_665_2, 0.041_668_39, 0.008_368_75, 0.001_381_45];
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
    let mut p = C[4];
    p = p.mul_add(r, C[3]);
    p = p.mul_add(r, C[2]);
    p = p.mul_add(r, C[1]);
    p = p.mul_add(r, C[0]);
    p = p.mul_add(r, 1.0);
    p = p.mul_add(r, 1.0);
    // 2ⁿ: n is −126 … 127 here.
    let power = shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(power)
}

/// Hyperbolic tangent as `1 − 2 / (exp(2x) + 1)`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (exp(2.0 * x) + 1.0)
}

/// Quadrant and rest of an angle: `x = n · π/2 + r`, |r| ≤ π/4 (Cody and Waite 1980).
fn reduce(x: f64) -> (i64, f64) {
    // π/2 in three parts of 53 bits; each fused step rounds only what is left over.
    const P1: f64 = std::f64::consts::FRAC_PI_2;
    const P2: f64 = 6.123_233_995_736_766e-17;
    const P3: f64 = -1.497_384_904_859_169_8e-33;
    let n = (x * std::f64::consts::FRAC_2_PI + MAGIC64) - MAGIC64;
    let r = n.mul_add(-P3, n.mul_add(-P2, n.mul_add(-P1, x)));
    (n as i64, r)
}

/// Sine on |r| ≤ π/4, Taylor to degree 17.
fn sin_small(r: f64) -> f64 {
    let r2 = r * r;
    let mut p = 1.0;
    for k in (1..=8).rev() {
        p = f64::mul_add(p, -r2 / f64::from(2 * k * (2 * k + 1)), 1.0);
    }
    r * p
}

/// Cosine on |r| ≤ π/4, Taylor to degree 18.
fn cos_small(r: f64) -> f64 {
    let r2 = r * r;
    let mut p = 1.0;
    for k in (1..=9).rev() {
        p = f64::mul_add(p, -r2 / f64::from(2 * k * (2 * k - 1)), 1.0);
    }
    p
}

/// Sine in f64, for angles up to about 1e9 rad; NaN beyond 1e15, where a quadrant has no meaning.
pub fn sin(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1e15 {
        return f64::NAN;
    }
    let (n, r) = reduce(x);
    match n & 3 {
        0 => sin_small(r),
        1 => cos_small(r),
        2 => -sin_small(r),
        _ => -cos_small(r),
    }
}

/// Cosine in f64, as [`sin`].
pub fn cos(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1e15 {
        return f64::NAN;
    }
    let (n, r) = reduce(x);
    match n & 3 {
        0 => cos_small(r),
        1 => -sin_small(r),
        2 => -cos_small(r),
        _ => sin_small(r),
    }
}

/// Natural logarithm in f64 of a finite positive number; NaN for all others.
///
/// `x = m · 2ᵉ` with `m` within a factor √2 of 1, and `ln m = 2·artanh((m − 1)/(m + 1))` by its
/// series.
pub fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return f64::NAN;
    }
    // Numbers below the normal range are brought into it first.
    let (x, below) = if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023 - below;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    // |s| ≤ 0.1716: the term after the last is below 2⁻⁵⁵ of the first.
    let mut p = 1.0 / 21.0;
    for k in (0..10).rev() {
        p = f64::mul_add(p, s2, 1.0 / f64::from(2 * k + 1));
    }
    f64::mul_add(f64::from(exponent), std::f64::consts::LN_2, 2.0 * s * p)
}

/// `e^x` in f64: infinity above 709, zero below −708.
pub fn exp_f64(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    // ln 2 in two parts; the first has 32 significant bits, so that n · LN2_HI is exact.
    const LN2_HI: f64 = 2_977_044_471.0 / 4_294_967_296.0;
    // What the constant of the library leaves out of ln 2 is in the second as well.
    const LN2_LO: f64 = (std::f64::consts::LN_2 - LN2_HI) + 2.319_046_813_846_3e-17;
    let shifted = x.mul_add(std::f64::consts::LOG2_E, MAGIC64);
    let n = shifted - MAGIC64;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
    // Taylor on |r| ≤ ln(2)/2: the fourteenth term is below 2⁻⁵³.
    let mut p = 1.0;
    for k in (1..=13).rev() {
        p = f64::mul_add(p, r / f64::from(k), 1.0);
    }
    // In two steps, so that neither power leaves the normal range.
    let n = n as i64;
    let power = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    p * power(n / 2) * power(n - n / 2)
}
