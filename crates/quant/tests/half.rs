//! 16-bit floats: all of them, and the roundings between them.

use proptest::prelude::*;
use recinto_quant::{
    DType, LAYOUTS, Mismatch, bf16_to_f32, expand, f16_to_f32, f32_to_bf16, f32_to_f16,
    half_e4m3_to_f32, half_exponent_to_f32, pack,
};

/// The value of a half by its definition, in f64.
fn defined(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

#[test]
fn every_half_is_its_definition_and_comes_back() {
    for bits in 0..=u16::MAX {
        let value = f16_to_f32(bits.to_le_bytes());
        let want = defined(bits);
        if want.is_nan() {
            assert!(value.is_nan(), "{bits:04x}");
            assert!(f16_to_f32(f32_to_f16(value)).is_nan(), "{bits:04x}");
            continue;
        }
        assert_eq!(f64::from(value).to_bits(), want.to_bits(), "{bits:04x}");
        assert_eq!(u16::from_le_bytes(f32_to_f16(value)), bits, "{bits:04x}");
    }
}

#[test]
fn every_brain_float_comes_back() {
    for bits in 0..=u16::MAX {
        let value = bf16_to_f32(bits.to_le_bytes());
        assert_eq!(value.to_bits(), u32::from(bits) << 16);
        let back = u16::from_le_bytes(f32_to_bf16(value));
        if value.is_nan() {
            assert!(bf16_to_f32(back.to_le_bytes()).is_nan(), "{bits:04x}");
        } else {
            assert_eq!(back, bits, "{bits:04x}");
        }
    }
}

/// Between two neighbours: the middle goes to the even one, a step off it to the nearer one.
#[test]
fn ties_go_to_the_even_half() {
    for low in 0..0x7bffu16 {
        let (a, b) = (f16_to_f32(low.to_le_bytes()), f16_to_f32((low + 1).to_le_bytes()));
        // A half has 11 significant bits, so the middle is exact in f32.
        let middle = (a + b) / 2.0;
        let even = if low.is_multiple_of(2) { low } else { low + 1 };
        let narrow = |bits: u32| u16::from_le_bytes(f32_to_f16(f32::from_bits(bits)));
        assert_eq!(narrow(middle.to_bits()), even, "{low:04x}");
        assert_eq!(narrow(middle.to_bits() - 1), low, "{low:04x}");
        assert_eq!(narrow(middle.to_bits() + 1), low + 1, "{low:04x}");
    }
    let cases = [
        ("largest", 65504.0, 0x7bff),
        ("just under the border", 65519.996, 0x7bff),
        ("the border", 65520.0, 0x7c00),
        ("huge", f32::MAX, 0x7c00),
        ("minus huge", f32::MIN, 0xfc00),
        ("half the smallest", 2f32.powi(-25), 0),
        ("a bit more", f32::from_bits(0x3300_0001), 1),
        ("f32 subnormal", -f32::from_bits(1), 0x8000),
    ];
    for (name, value, want) in cases {
        assert_eq!(u16::from_le_bytes(f32_to_f16(value)), want, "{name}");
    }
}

#[test]
fn every_exponent_is_half_its_power_of_two() {
    for byte in 0..=u8::MAX {
        let want = 2f64.powi(i32::from(byte) - 128);
        assert_eq!(f64::from(half_exponent_to_f32(byte)), want, "{byte}");
    }
}

#[test]
fn every_float_of_8_bits_is_half_its_value() {
    for byte in 0..=u8::MAX {
        let (exponent, fraction) = (i32::from(byte >> 3 & 15), f64::from(byte & 7));
        let want = match exponent {
            _ if byte == 0x7f => 0.0,
            0 => fraction * 2f64.powi(-9),
            _ => (1.0 + fraction / 8.0) * 2f64.powi(exponent - 7),
        };
        assert_eq!(f64::from(half_e4m3_to_f32(byte)), want / 2.0, "{byte}");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    for row in LAYOUTS {
        let mut out = vec![0.0; row.values * 2];
        let bytes = vec![0; row.bytes * 2];
        assert_eq!(expand(row.dtype, &bytes, &mut out), Ok(()), "{}", row.name);
        assert_eq!(expand(row.dtype, &bytes[1..], &mut out), Err(Mismatch), "{}", row.name);
        assert_eq!(expand(row.dtype, &bytes, &mut out[1..]), Err(Mismatch), "{}", row.name);
        assert_eq!(expand(row.dtype, &[], &mut []), Ok(()), "{}", row.name);
        assert_eq!(DType::from_id(row.id), Some(row.dtype), "{}", row.name);
        assert_eq!(row.dtype.layout().dtype, row.dtype, "{}", row.name);
        assert_eq!(row.dtype.bytes_for(u64::MAX), None, "{}", row.name);
    }
    for unknown in [4, 5, 9, 15, 24, 28, 31, 38, 42, u32::MAX] {
        assert_eq!(DType::from_id(unknown), None, "{unknown}");
    }
}

proptest! {
    #[test]
    fn a_half_is_the_nearest(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        let found = u16::from_le_bytes(f32_to_f16(value));
        if value.is_nan() {
            prop_assert!(defined(found).is_nan());
        } else if value.abs() < 65520.0 {
            let gap = |bits| (defined(bits) - f64::from(value)).abs();
            let magnitude = found & 0x7fff;
            prop_assert!(gap(found) <= gap((found & 0x8000) | (magnitude + 1).min(0x7bff)));
            prop_assert!(gap(found) <= gap((found & 0x8000) | magnitude.saturating_sub(1)));
        } else {
            prop_assert_eq!(found & 0x7fff, 0x7c00);
        }
    }

    #[test]
    fn any_bytes_expand(bytes in proptest::collection::vec(any::<u8>(), 210)) {
        for row in LAYOUTS {
            let mut out = vec![0.0; row.values];
            prop_assert_eq!(expand(row.dtype, &bytes[..row.bytes], &mut out), Ok(()));
        }
    }

    #[test]
    fn packing_to_8_bits_stays_within_half_a_step(
        values in proptest::collection::vec(-1e3f32..1e3, 32)
    ) {
        let (mut bytes, mut back) = (vec![0; 34], vec![0.0; 32]);
        pack(DType::Q8_0, &values, &mut bytes).unwrap();
        expand(DType::Q8_0, &bytes, &mut back).unwrap();
        let largest = values.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        for (value, back) in values.iter().zip(&back) {
            // Half a step, and what rounding the scale to a half moves the largest value by.
            prop_assert!((value - back).abs() <= largest / 127.0 * 0.57 + 1e-4);
        }
    }
}
