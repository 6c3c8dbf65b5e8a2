//! Every storage type against what an independent decoder reads (`tools/goldens/quants.py`).

use recinto_quant::{DType, LAYOUTS, expand, f32_to_bf16, f32_to_f16, pack};

struct Golden {
    name: &'static str,
    given: &'static [u8],
    wanted: &'static [u8],
}

macro_rules! goldens { ($($name:literal)*) => { &[$(Golden {
    name: $name,
    given: include_bytes!(concat!("golden/", $name, ".in")),
    wanted: include_bytes!(concat!("golden/", $name, ".out")),
},)*] }; }

const GOLDENS: &[Golden] = goldens! {
    "f32" "f16" "bf16" "q4_0" "q4_1" "q5_0" "q5_1" "q8_0" "q4_k" "q5_k" "q6_k"
    "q2_k" "q3_k" "iq4_nl" "iq4_xs" "mxfp4" "iq1_s" "iq1_m" "iq2_xxs" "iq2_xs" "iq2_s" "iq3_xxs"
    "iq3_s" "tq1_0" "tq2_0" "nvfp4" "q1_0"
};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Equal bits; where the format yields NaN, any NaN (arithmetic does not define its payload).
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn row(name: &str) -> DType {
    LAYOUTS.iter().find(|row| row.name == name).map(|row| row.dtype).unwrap()
}

#[test]
fn every_type_has_a_golden() {
    for row in LAYOUTS {
        assert!(GOLDENS.iter().any(|g| g.name == row.name), "{}", row.name);
    }
}

#[test]
fn values_equal_the_independent_decoder() {
    for golden in GOLDENS {
        let wanted = floats(golden.wanted);
        assert!(wanted.len() >= 24 * 32, "{}: {} values", golden.name, wanted.len());
        let odd = |v: &f32| match golden.name {
            // No NaN here; the largest numbers are beyond f32.
            "mxfp4" => v.is_infinite(),
            // Neither; the largest scale, 480 to the format's authors, is a 0.
            "nvfp4" => v.abs() == 240.0 * 12.0,
            _ => v.is_nan(),
        };
        assert!(wanted.iter().any(odd), "{}: a NaN is among the cases", golden.name);
        let mut found = vec![0.0; wanted.len()];
        expand(row(golden.name), golden.given, &mut found).unwrap();
        for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let (f, w) = (found.to_bits(), wanted.to_bits());
            assert!(same(*found, *wanted), "{} value {i}: {f:08x}, not {w:08x}", golden.name);
        }
    }
}

/// Plain copies define even a NaN's bits.
#[test]
fn copies_keep_every_bit() {
    for name in ["f32", "bf16"] {
        let golden = GOLDENS.iter().find(|g| g.name == name).unwrap();
        let mut found = vec![0.0; golden.wanted.len() / 4];
        expand(row(name), golden.given, &mut found).unwrap();
        let found: Vec<u8> = found.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(found == golden.wanted, "{name}");
    }
}

#[test]
fn rounding_to_16_bits_equals_the_independent_one() {
    let f16 = (include_bytes!("golden/narrow_f16.in"), include_bytes!("golden/narrow_f16.out"));
    compare_rounding("f16", f16.0, f16.1, f32_to_f16, 0x7c00);
    let bf16 = (include_bytes!("golden/narrow_bf16.in"), include_bytes!("golden/narrow_bf16.out"));
    compare_rounding("bf16", bf16.0, bf16.1, f32_to_bf16, 0x7f80);
}

#[test]
fn packing_equals_the_independent_one() {
    let given = floats(include_bytes!("golden/pack_mxfp4.in"));
    let wanted = include_bytes!("golden/pack_mxfp4.out").as_chunks::<17>().0;
    assert_eq!(given.len(), wanted.len() * 32);
    for (i, (values, wanted)) in given.as_chunks::<32>().0.iter().zip(wanted).enumerate() {
        let mut found = [0; 17];
        pack(DType::MXFP4, values, &mut found).unwrap();
        assert_eq!(found, *wanted, "block {i}");
    }
}

fn compare_rounding(
    name: &str,
    given: &[u8],
    wanted: &[u8],
    narrow: fn(f32) -> [u8; 2],
    infinity: u16,
) {
    let given = floats(given);
    let wanted = wanted.as_chunks::<2>().0;
    assert_eq!(given.len(), wanted.len());
    for (value, wanted) in given.iter().zip(wanted) {
        let (found, wanted) = (u16::from_le_bytes(narrow(*value)), u16::from_le_bytes(*wanted));
        let both_nan = found & 0x7fff > infinity && wanted & 0x7fff > infinity;
        let bits = value.to_bits();
        assert!(found == wanted || both_nan, "{name} {bits:08x}: {found:04x}, not {wanted:04x}");
    }
}
