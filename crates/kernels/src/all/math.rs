//! Elementary functions with fixed bits: plain arithmetic in a written order, so that every
//! compiler, library and CPU gives the same result. Errors are a few units of the last place.

/// Adding 1.5 · 2²³ leaves the nearest integer (half to even) in the low bits, |x| < 2²².
const MAGIC: f32 = 12_582_912.0;
/// The same for f64: 1.5 · 2⁵², |x| < 2⁵¹.
const MAGIC64: f64 = 6_755_399_441_055_744.0;

/// `e^x`: infinity above 88.37, zero below −87.33.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // ln 2 in two parts; the first has 9 significant bits, so that n · LN2_HI is exact.
    const LN2_HI: f32 = 355.0 / 512.0;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Fitted to e^r on |r| ≤ ln(2)/2 with relative error below 4e-9.
    const C: [f32; 5] = [0.499_999_93, 0.166_665_2, 0.041_668_39, 0.008_368_75, 0.001_381_45];
    // Out of range, the middle of the work is done on 0 and its result not used: no branch.
    let inside = (-87.33..=88.37).contains(&x);
    let t = if inside { x } else { 0.0 };
    let shifted = t * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, t));
    let mut p = C[4];
    p = p.mul_add(r, C[3]);
    p = p.mul_add(r, C[2]);
    p = p.mul_add(r, C[1]);
    p = p.mul_add(r, C[0]);
    p = p.mul_add(r, 1.0);
    p = p.mul_add(r, 1.0);
    // 2ⁿ: n is −126 … 127 here.
    let power = shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(127) << 23;
    let y = p * f32::from_bits(power);
    let outside = if x > 0.0 { f32::INFINITY } else { 0.0 };
    let y = if inside { y } else { outside };
    if x.is_nan() { x } else { y }
}

/// Hyperbolic tangent as `1 − 2 / (exp(2x) + 1)`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (exp(2.0 * x) + 1.0)
}

const LN2_HI64: f64 = 0.693_147_180_369_123_8; // 32 significant bits
const LN2_LO64: f64 = 1.908_214_929_270_587_7e-10;

/// `2^n` for −1022 ≤ n ≤ 1023.
fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `e^x` in f64.
pub fn exp_f64(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.78 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    let shifted = x * std::f64::consts::LOG2_E + MAGIC64;
    let n = shifted - MAGIC64;
    let r = n.mul_add(-LN2_LO64, n.mul_add(-LN2_HI64, x));
    // Taylor to degree 14: the rest is below 1e-18 on |r| ≤ ln(2)/2.
    let mut p = 1.0;
    for k in (1..=14).rev() {
        p = f64::mul_add(p, r / f64::from(k), 1.0);
    }
    // In two factors: 2^1024 alone is no f64.
    let n = n as i64;
    p * power_of_two(n / 2) * power_of_two(n - n / 2)
}

/// Natural logarithm in f64: −∞ of 0, NaN of negative numbers.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    // Subnormals are lifted by 2⁵⁴ first.
    let (x, lift) = if x < f64::MIN_POSITIVE { (x * power_of_two(54), 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut n = (bits >> 52) as i64 - 1023 - lift;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        n += 1;
    }
    // ln m = 2 artanh(f), f = (m − 1)/(m + 1), |f| ≤ 0.1716; the series ends below 1e-18.
    let f = (m - 1.0) / (m + 1.0);
    let f2 = f * f;
    let mut p = 0.0;
    for k in (1..=11).rev() {
        p = f64::mul_add(p, f2, 1.0 / f64::from(2 * k + 1));
    }
    let small = (2.0 * f).mul_add(p * f2, 2.0 * f);
    let n = n as f64;
    n.mul_add(LN2_HI64, n.mul_add(LN2_LO64, small))
}

/// `x^y` for positive `x`, as `exp(y · ln x)`; `pow(0, y)` is 0 for positive `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 { 1.0 } else { exp_f64(y * ln(x)) }
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
