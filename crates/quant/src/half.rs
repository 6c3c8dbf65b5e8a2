//! 16-bit floats to 32 bits and back, bit by bit; scales that are exponents.

/// An IEEE half in little-endian bytes to f32; exact, NaN payloads kept.
pub fn f16_to_f32(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let sign = (bits & 0x8000) << 16;
    let exponent = (bits >> 10) & 0x1f;
    let fraction = bits & 0x3ff;
    match (exponent, fraction) {
        (0, 0) => f32::from_bits(sign),
        (0, _) => {
            // Subnormal: the fraction counts steps of 2^-24, which f32 holds exactly.
            let value = fraction as f32 * f32::from_bits(0x3380_0000);
            f32::from_bits(value.to_bits() | sign)
        }
        (0x1f, _) => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

/// f32 to an IEEE half, round half to even; overflow becomes infinity.
pub fn f32_to_f16(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return (sign | 0x7e00).to_le_bytes();
    }
    if magnitude >= 0x4780_0000 {
        return (sign | 0x7c00).to_le_bytes();
    }
    if magnitude < 0x3880_0000 {
        // Below the smallest normal half: scale so that f32's own rounding does the work.
        let scaled = f32::from_bits(magnitude) + f32::from_bits(0x3f00_0000);
        return (sign | (scaled.to_bits() - 0x3f00_0000) as u16).to_le_bytes();
    }
    let rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    (sign | ((rounded - 0x3800_0000) >> 13) as u16).to_le_bytes()
}

/// A brain float in little-endian bytes to f32; exact.
pub fn bf16_to_f32(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

/// f32 to a brain float, round half to even; NaN stays NaN.
pub fn f32_to_bf16(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    if value.is_nan() {
        return (((bits >> 16) as u16) | 0x40).to_le_bytes();
    }
    (((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16).to_le_bytes()
}

/// Half of the scale that MXFP4 stores as an exponent: 2^(byte − 128), exact. The byte 255, NaN to
/// the format's authors, is 2¹²⁷ here as in other readers of GGUF.
pub fn half_exponent_to_f32(byte: u8) -> f32 {
    match u32::from(byte) {
        byte @ 0..2 => f32::from_bits(0x0020_0000 << byte), // subnormal
        byte => f32::from_bits((byte - 1) << 23),
    }
}

/// Half of the scale that NVFP4 stores as a float without a sign: four exponent bits that count
/// from 2⁻⁷, three fraction bits; exact. The byte 127, NaN to the format's authors, is 0 here as in
/// other readers of GGUF; the top bit is not looked at otherwise.
pub fn half_e4m3_to_f32(byte: u8) -> f32 {
    if byte == 0x7f {
        return 0.0;
    }
    // The bits of an f32 2¹¹⁹ times too small, subnormal where the stored one is.
    f32::from_bits(u32::from(byte & 0x7f) << 20) * f32::from_bits((119 + 127) << 23)
}
