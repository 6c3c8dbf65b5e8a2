//! Seeded inputs and comparisons for the tests of the kernels.
#![allow(dead_code)]

use recinto_kernels::{DType, Kernels, Level, Machine};

/// A small generator (xorshift64*), the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Roughly normal, mean 0.
    pub fn value(&mut self) -> f32 {
        (0..4).map(|_| self.below(2001) as f32 / 1000.0 - 1.0).sum()
    }

    pub fn values(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.value()).collect()
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// Every storage type, with the places of the half scales in its block (MXFP4 has one byte, NVFP4
/// four, IQ1_M quarters of a half).
pub const TYPES: &[(DType, &[usize])] = &[
    (DType::F32, &[]),
    (DType::F16, &[]),
    (DType::BF16, &[]),
    (DType::Q4_0, &[0]),
    (DType::Q4_1, &[0, 2]),
    (DType::Q5_0, &[0]),
    (DType::Q5_1, &[0, 2]),
    (DType::Q8_0, &[0]),
    (DType::Q4K, &[0, 2]),
    (DType::Q5K, &[0, 2]),
    (DType::Q6K, &[208]),
    (DType::Q2K, &[80, 82]),
    (DType::Q3K, &[108]),
    (DType::IQ4NL, &[0]),
    (DType::IQ4XS, &[0]),
    (DType::MXFP4, &[]),
    (DType::IQ1S, &[0]),
    (DType::IQ1M, &[]),
    (DType::IQ2XXS, &[0]),
    (DType::IQ2XS, &[0]),
    (DType::IQ2S, &[0]),
    (DType::IQ3XXS, &[0]),
    (DType::IQ3S, &[0]),
    (DType::TQ1_0, &[52]),
    (DType::TQ2_0, &[64]),
    (DType::NVFP4, &[]),
    (DType::Q1_0, &[0]),
];

/// Whether byte `i` of a block belongs to a scale in floating point.
pub fn is_scale(dtype: DType, i: usize) -> bool {
    let halves = TYPES.iter().find(|row| row.0 == dtype).unwrap().1;
    let others = match dtype {
        DType::MXFP4 => 0..1,
        DType::NVFP4 => 0..4,
        DType::IQ1M => 48..56,
        _ => 0..0,
    };
    halves.iter().any(|at| (*at..at + 2).contains(&i)) || others.contains(&i)
}

/// Random weights of `values` values whose scales are ordinary numbers.
pub fn weights(random: &mut Random, dtype: DType, values: usize) -> Vec<u8> {
    let len = dtype.bytes_for(values as u64).unwrap() as usize;
    let scales = TYPES.iter().find(|row| row.0 == dtype).unwrap().1;
    match dtype {
        DType::F32 => (0..values).flat_map(|_| random.value().to_le_bytes()).collect(),
        DType::F16 => (0..values).flat_map(|_| recinto_quant::f32_to_f16(random.value())).collect(),
        DType::BF16 => {
            (0..values).flat_map(|_| recinto_quant::f32_to_bf16(random.value())).collect()
        }
        _ => {
            let mut bytes = random.bytes(len);
            for block in bytes.chunks_exact_mut(dtype.layout().bytes) {
                for at in scales.iter() {
                    let scale = recinto_quant::f32_to_f16(random.value() * 0.02);
                    block[*at..at + 2].copy_from_slice(&scale);
                }
                if dtype == DType::MXFP4 {
                    block[0] = 116 + random.below(8) as u8; // 2⁻¹² … 2⁻⁵
                }
                if dtype == DType::IQ1M {
                    // The lowest quarter of the half first.
                    let half = recinto_quant::f32_to_f16(random.value() * 0.02);
                    let quarters = [half[0] & 15, half[0] >> 4, half[1] & 15, half[1] >> 4];
                    for (i, quarter) in quarters.into_iter().enumerate() {
                        block[49 + 2 * i] = block[49 + 2 * i] & 15 | quarter << 4;
                    }
                }
            }
            bytes
        }
    }
}

/// Every level of this machine with 1, 2 and 3 threads, named.
///
/// Under an emulator that is too much: `RECINTO_TEST_LEVELS` (names, comma between them) keeps
/// some levels, which must then be there, `RECINTO_TEST_THREADS` sets the largest number of
/// threads.
pub fn machines() -> Vec<(String, Machine)> {
    let levels = std::env::var("RECINTO_TEST_LEVELS").ok();
    let most = std::env::var("RECINTO_TEST_THREADS").map_or(3, |n| n.parse().expect("a number"));
    let kernels: Vec<Kernels> = match &levels {
        None => Kernels::available(),
        Some(names) => names
            .split(',')
            .map(|name| Level::from_name(name).unwrap_or_else(|| panic!("no level {name}")))
            .map(|level| Kernels::at(level).unwrap_or_else(|| panic!("not here: {level:?}")))
            .collect(),
    };
    let mut all = Vec::new();
    for kernels in kernels {
        for threads in 1..=most {
            let name = format!("{} {threads} threads", kernels.level().name());
            all.push((name, Machine::new(kernels, threads)));
        }
    }
    all
}

/// Bit for bit; a NaN equals any NaN.
pub fn same(a: &[f32], b: &[f32]) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{} values against {}", a.len(), b.len()));
    }
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        if a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()) {
            return Err(format!("value {i}: {a:e} against {b:e}"));
        }
    }
    Ok(())
}
