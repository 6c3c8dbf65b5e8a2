//! Matrix products of every storage type: against the oracle of `recinto-quant`, and bit for bit
//! between levels, numbers of threads and splits of the positions.

use crate::common;

use common::{Random, TYPES, is_scale, machines, same, weights};
use recinto_kernels::{
    DType, Form, Job, Kernels, Level, Machine, Prepared, Rows, Stop, interleave,
};

/// One product with positions fed `chunk` at a time.
fn product(
    machine: &Machine,
    weights: Rows<'_>,
    bias: Option<&[f32]>,
    x: &[f32],
    chunk: usize,
) -> Vec<f32> {
    let (cols, rows) = (weights.cols(), weights.rows());
    let mut all = vec![0.0; x.len() / cols * rows];
    let mut prepared = Prepared::new();
    for (x, out) in x.chunks(chunk * cols).zip(all.chunks_mut(chunk * rows)) {
        let stop = Stop::never();
        prepared.clear();
        let form = weights.dtype().layout().form;
        machine.prepare(&stop, x, cols, &[form], &mut prepared).unwrap();
        let mut jobs = [Job { weights, bias, out }];
        machine.linear(&stop, x, cols, &prepared, &mut jobs).unwrap();
    }
    all
}

/// Columns of a test: whole blocks, a number of blocks that four does not divide.
fn widths(dtype: DType) -> Vec<usize> {
    let blocks: &[usize] = match dtype.layout().form {
        Form::F32 => &[1, 15, 16, 40, 517],
        Form::A32 => &[1, 3, 4, 29],
        Form::B256 => &[1, 3, 4, 5],
    };
    blocks.iter().map(|blocks| blocks * dtype.layout().values).collect()
}

#[test]
fn agrees_with_the_oracle() {
    let mut random = Random(1);
    for (dtype, _) in TYPES {
        for cols in widths(*dtype) {
            let (rows, n) = (19, 5);
            let bytes = weights(&mut random, *dtype, rows * cols);
            let w = Rows::new(&bytes, *dtype, rows, cols).unwrap();
            let mut plain = vec![0.0; rows * cols];
            recinto_quant::expand(*dtype, &bytes, &mut plain).unwrap();
            // Whole numbers with 127 in every block of 32 pass through the bytes unchanged.
            let mut x: Vec<f32> = (0..n * cols).map(|_| random.below(255) as f32 - 127.0).collect();
            x.iter_mut().step_by(32).for_each(|x| *x = -127.0);
            let bias = random.values(rows);
            for (name, machine) in machines() {
                for chunk in [1, n] {
                    let got = product(&machine, w, Some(&bias), &x, chunk);
                    for (p, x) in x.chunks(cols).enumerate() {
                        for (r, plain) in plain.chunks(cols).enumerate() {
                            let terms = || plain.iter().zip(x).map(|(w, x)| (*w * *x) as f64);
                            let want = terms().sum::<f64>() + f64::from(bias[r]);
                            let size = terms().map(f64::abs).sum::<f64>() + 1.0;
                            let error = (f64::from(got[p * rows + r]) - want).abs() / size;
                            assert!(error < 2e-6, "{name} {dtype:?} {cols}: {error:e}");
                        }
                    }
                }
            }
        }
    }
}

/// Kinds of input that could tell levels apart.
const KINDS: &[&str] = &["ordinary", "any bytes", "zero blocks", "huge", "nan", "extreme", "tiny"];

fn input(
    kind: &str,
    random: &mut Random,
    dtype: DType,
    len: (usize, usize),
) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = weights(random, dtype, len.0);
    let mut x = random.values(len.1);
    match kind {
        "ordinary" => {}
        "any bytes" => bytes = random.bytes(bytes.len()),
        "zero blocks" => {
            x.chunks_mut(96).for_each(|x| x.fill(0.0));
            x.iter_mut().skip(70).step_by(331).for_each(|x| *x = 3.5);
        }
        "huge" => x.iter_mut().for_each(|x| *x *= 8e37),
        "nan" => {
            x[len.1 / 2] = f32::NAN;
            x[len.1 / 3] = f32::INFINITY;
        }
        "extreme" => {
            // The largest sums: every byte and every activation at its end.
            let fill = if random.below(2) == 0 { 0xff } else { 0x80 };
            fill_numbers(&mut bytes, dtype, |_| fill);
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            x.fill(sign * 1.5);
        }
        "tiny" => x.iter_mut().for_each(|x| *x *= 1e-29),
        other => panic!("no kind {other}"),
    }
    (bytes, x)
}

/// Every byte of a block that is not a floating scale, by its place.
fn fill_numbers(bytes: &mut [u8], dtype: DType, fill: impl Fn(usize) -> u8) {
    for block in bytes.chunks_exact_mut(dtype.layout().bytes) {
        for (i, byte) in block.iter_mut().enumerate() {
            if !is_scale(dtype, i) {
                *byte = fill(i);
            }
        }
    }
}

/// Bytes whose bits, nibbles, pairs and table places are the ends of every type's numbers.
const ENDS: [u8; 5] = [0x00, 0x77, 0x7f, 0x80, 0xff];

/// All numbers and sub-scales at an end, all activations at ±127: where a sum of bytes in 16 bits,
/// or of a block in 32, would overflow, a level would differ from the plain integers.
#[test]
fn the_largest_sums_do_not_overflow() {
    let machines = machines();
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let mut random = Random(5);
    for (dtype, _) in TYPES.iter().filter(|row| row.0.layout().form != Form::F32) {
        let each = dtype.layout().values;
        let (rows, cols, n) = (3, 5 * each, 5);
        let mut bytes = weights(&mut random, *dtype, rows * cols);
        // Numbers and sub-scales stand in different halves of a block.
        for (first, last) in ENDS.iter().flat_map(|a| ENDS.iter().map(move |b| (*a, *b))) {
            let half = dtype.layout().bytes / 2;
            fill_numbers(&mut bytes, *dtype, |i| if i < half { first } else { last });
            let w = Rows::new(&bytes, *dtype, rows, cols).unwrap();
            let mut plain = vec![0.0; rows * cols];
            recinto_quant::expand(*dtype, &bytes, &mut plain).unwrap();
            // All of one sign; then each with the sign of the first row's number.
            let signs: [&dyn Fn(usize) -> f32; 4] = [
                &|_| 127.0,
                &|_| -127.0,
                &|i| if plain[i % cols] < 0.0 { -127.0 } else { 127.0 },
                &|i| if plain[i % cols] < 0.0 { 127.0 } else { -127.0 },
            ];
            for (kind, sign) in signs.iter().enumerate() {
                let x: Vec<f32> = (0..n * cols).map(sign).collect();
                let want = product(&slow, w, None, &x, n);
                for (r, plain) in plain.chunks(cols).enumerate() {
                    let terms = || plain.iter().zip(&x).map(|(w, x)| f64::from(*w * *x));
                    let size = terms().map(f64::abs).sum::<f64>() + 1e-9;
                    let error = (f64::from(want[r]) - terms().sum::<f64>()).abs() / size;
                    assert!(error < 2e-6, "{dtype:?} {first:02x} {last:02x} {kind}: {error:e}");
                }
                for (name, machine) in &machines {
                    for chunk in [1, n] {
                        let got = product(machine, w, None, &x, chunk);
                        same(&got, &want).unwrap_or_else(|e| {
                            panic!("{name} {dtype:?} {first:02x} {last:02x} {kind} {chunk}: {e}")
                        });
                    }
                }
            }
        }
    }
}

/// One row for each byte that MXFP4 can store as its scale's exponent.
#[test]
fn every_exponent_of_mxfp4() {
    let (rows, cols, n) = (256, 5 * 32, 4);
    let mut random = Random(6);
    let mut bytes = random.bytes(rows * 5 * 17);
    for (i, block) in bytes.chunks_exact_mut(17).enumerate() {
        block[0] = (i / 5) as u8;
    }
    let w = Rows::new(&bytes, DType::MXFP4, rows, cols).unwrap();
    let mut x: Vec<f32> = (0..n * cols).map(|_| random.below(255) as f32 - 127.0).collect();
    x.iter_mut().step_by(32).for_each(|x| *x = -127.0);
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let plain = product(&slow, w, None, &x, 1);
    for (name, machine) in machines() {
        for chunk in [1, n] {
            let got = product(&machine, w, None, &x, chunk);
            same(&got, &plain).unwrap_or_else(|e| panic!("{name} {chunk}: {e}"));
            for (i, got) in got.iter().enumerate() {
                let (p, e) = (i / rows, i % rows);
                if e > 240 {
                    continue; // a partial sum may be beyond f32
                }
                let mut sum = 0;
                for (j, x) in x[p * cols..(p + 1) * cols].iter().enumerate() {
                    let byte = bytes[(e * 5 + j / 32) * 17 + 1 + j % 16];
                    let code = byte >> (j % 32 / 16 * 4) & 15;
                    let number = recinto_quant::MXFP4_NUMBERS[usize::from(code)];
                    sum += i32::from(number) * *x as i32;
                }
                // Every partial sum is a whole number below 2²⁴ times one power of two.
                let want = (f64::from(sum) * 2f64.powi(e as i32 - 128)) as f32;
                assert_eq!(got.to_bits(), want.to_bits(), "{name} {chunk}: exponent {e}");
            }
        }
    }
}

#[test]
fn same_bits_everywhere() {
    let machines = machines();
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let mut random = Random(2);
    for (dtype, _) in TYPES {
        for kind in KINDS {
            for (rows, n) in [(1, 1), (7, 2), (9, 3), (33, 5), (16, 8), (40, 17), (18, 64)] {
                let all = widths(*dtype);
                let cols = all[(rows + n) % all.len()];
                let (bytes, x) = input(kind, &mut random, *dtype, (rows * cols, n * cols));
                let w = Rows::new(&bytes, *dtype, rows, cols).unwrap();
                let want = product(&slow, w, None, &x, 1);
                let mut bytes = bytes.clone();
                let from = bytes.clone();
                let beside = interleave(*dtype, rows, cols, &from, &mut bytes);
                let beside = beside.and_then(|()| Rows::interleaved(&bytes, *dtype, rows, cols));
                for (name, machine) in &machines {
                    for chunk in [n, 1, 3, 6, 7, 16] {
                        for (order, w) in [("", Ok(w)), (" interleaved", beside)] {
                            let Ok(w) = w else { continue };
                            let got = product(machine, w, None, &x, chunk);
                            if let Err(e) = same(&got, &want) {
                                let size = format!("{dtype:?}{order} {rows}x{cols}");
                                panic!("{name}, {size}, {kind}, {n} by {chunk}: {e}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn jobs_of_one_region_are_what_they_are_alone() {
    let mut random = Random(3);
    let (cols, n) = (512, 6);
    let x = random.values(n * cols);
    let owned: Vec<(DType, usize, Vec<u8>)> = TYPES
        .iter()
        .enumerate()
        .map(|(i, (dtype, _))| {
            let rows = 5 + 9 * i;
            (*dtype, rows, weights(&mut random, *dtype, rows * cols))
        })
        .collect();
    for (name, machine) in machines() {
        for n in [1, n] {
            let x = &x[..n * cols];
            let stop = Stop::never();
            let mut prepared = Prepared::new();
            let forms = [Form::A32, Form::B256, Form::F32];
            machine.prepare(&stop, x, cols, &forms, &mut prepared).unwrap();
            let mut outs: Vec<Vec<f32>> = owned.iter().map(|o| vec![0.0; n * o.1]).collect();
            let mut jobs: Vec<Job<'_>> = owned
                .iter()
                .zip(&mut outs)
                .map(|((dtype, rows, bytes), out)| Job {
                    weights: Rows::new(bytes, *dtype, *rows, cols).unwrap(),
                    bias: None,
                    out,
                })
                .collect();
            machine.linear(&stop, x, cols, &prepared, &mut jobs).unwrap();
            for ((dtype, rows, bytes), out) in owned.iter().zip(&outs) {
                let w = Rows::new(bytes, *dtype, *rows, cols).unwrap();
                let alone = product(&machine, w, None, x, n);
                same(out, &alone).unwrap_or_else(|e| panic!("{name} {dtype:?} {n}: {e}"));
            }
        }
    }
}

/// Bits that must never change while `NUMERICS` stays, on any level and machine.
#[test]
fn bits_are_those_of_this_revision() {
    let (first, rest) = TYPES.split_at(11);
    let (later, last) = rest.split_at(5);
    let cases = [
        (first, 0xe919_3b17_b64d_0c46),
        (later, 0x94c1_db04_2200_1416),
        (last, 0xb6bd_a109_603f_f017),
    ];
    for ((name, machine), (types, want)) in
        machines().iter().flat_map(|machine| cases.map(|case| (machine, case)))
    {
        let (mut random, mut sum) = (Random(4), 0u64);
        for (dtype, _) in types {
            let (rows, cols, n) = (21, 1280, 6);
            let bytes = weights(&mut random, *dtype, rows * cols);
            let w = Rows::new(&bytes, *dtype, rows, cols).unwrap();
            let x = random.values(n * cols);
            for value in product(machine, w, None, &x, n) {
                let bits = u64::from(value.to_bits());
                sum = (sum.rotate_left(7) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        assert_eq!(sum, want, "{name}: {sum:#x}");
    }
}

#[test]
fn rows_are_whole() {
    let cases = [
        ("two rows", DType::Q8_0, 2, 32, 68, true),
        ("no rows", DType::Q8_0, 0, 32, 0, true),
        ("half a block", DType::Q8_0, 1, 16, 34, false),
        ("one byte short", DType::Q6K, 1, 256, 209, false),
        ("one byte more", DType::Q6K, 1, 256, 211, false),
        ("no columns", DType::F32, 1, 0, 0, false),
        ("absurd rows", DType::F32, usize::MAX, 4, 16, false),
        ("absurd columns", DType::F32, 1, usize::MAX, 4, false),
    ];
    for (name, dtype, rows, cols, len, want) in cases {
        let bytes = vec![0; len];
        assert_eq!(Rows::new(&bytes, dtype, rows, cols).is_ok(), want, "{name}");
    }
}

#[test]
fn a_stop_ends_a_product() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    let machine = Machine::new(Kernels::detect(), 2);
    let bytes = vec![0; 34 * 4 * 64];
    let w = Rows::new(&bytes, DType::Q8_0, 64, 128).unwrap();
    let x = vec![1.0; 128];
    let mut prepared = Prepared::new();
    machine.prepare(&Stop::never(), &x, 128, &[Form::A32], &mut prepared).unwrap();
    let stop = Stop::new(Arc::new(AtomicBool::new(true)), None);
    let mut out = vec![0.0; 64];
    let mut jobs = [Job { weights: w, bias: None, out: &mut out }];
    assert!(machine.linear(&stop, &x, 128, &prepared, &mut jobs).is_err());
    assert!(machine.prepare(&stop, &x, 128, &[Form::B256], &mut prepared).is_err());
    assert!(!prepared.has(Form::B256, 1, 128), "a form that was not finished is not there");
}
