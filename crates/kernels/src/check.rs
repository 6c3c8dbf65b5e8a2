//! Whether a level computes the same bits as the portable one, on this very CPU: a fraction of a
//! millisecond when a level is chosen, instead of trust in every CPU and emulator there will be.

use recinto_quant::{DType, Form, LAYOUTS};

use crate::acts::{Acts, SUMS};
use crate::interleave::interleave;
use crate::level::Level;
use crate::page::{GROUP, PAGE, Stored};
use crate::rope::Pairs;
use crate::scratch::Work;
use crate::table::{Gather, Meet, Scores, TILE, Table, Weigh};

/// Rows: more than half a tile, and not all of it.
const ROWS: usize = 11;
/// Positions: every width of a position tile.
const N: usize = 13;

/// A small generator (a step of splitmix64).
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 29)
    }

    fn values(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }
}

/// Runs every function of `table` beside the portable one; products of weights of `types` only.
pub(crate) fn agrees(table: &Table, types: &[DType]) -> bool {
    if table.level == Level::Portable {
        return true;
    }
    let slow = Table::portable();
    let mut bytes = Bytes(1);
    LAYOUTS.iter().filter(|row| types.contains(&row.dtype)).all(|row| {
        // Many positions of few blocks, and one of so many that a level's longest step is used.
        let (few, many) = match row.dtype.layout().form {
            Form::F32 => (37, 37),
            Form::A32 => (2 * row.values, 9 * row.values),
            Form::B256 => (256, 5 * 256),
        };
        products_agree(table, slow, row.dtype, few, N, &mut bytes)
            && products_agree(table, slow, row.dtype, many, 1, &mut bytes)
    }) && points_agree(table, slow, &mut bytes)
        && attention_agrees(table, slow, &mut bytes)
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

/// Random weights whose scales are halves between 2⁻¹² and 2⁻³, either sign.
fn weights(dtype: DType, cols: usize, bytes: &mut Bytes) -> Vec<u8> {
    let layout = dtype.layout();
    let mut all: Vec<u8> =
        (0..TILE * cols / layout.values * layout.bytes).map(|_| bytes.next() as u8).collect();
    let scales: &[usize] = match dtype {
        DType::F32 | DType::F16 | DType::BF16 | DType::MXFP4 | DType::NVFP4 | DType::IQ1M => &[],
        DType::Q4_0 | DType::Q5_0 | DType::Q8_0 | DType::IQ4NL | DType::IQ4XS => &[0],
        DType::IQ2XXS | DType::IQ2XS | DType::IQ2S | DType::IQ3XXS | DType::IQ3S => &[0],
        DType::IQ1S | DType::Q1_0 => &[0],
        DType::TQ1_0 => &[52],
        DType::TQ2_0 => &[64],
        DType::Q4_1 | DType::Q5_1 | DType::Q4K | DType::Q5K => &[0, 2],
        DType::Q2K => &[80, 82],
        DType::Q3K => &[108],
        DType::Q6K => &[208],
    };
    for block in all.chunks_exact_mut(layout.bytes) {
        for at in scales {
            block[at + 1] = block[at + 1] & 0x9f | 0x0c;
        }
        if dtype == DType::MXFP4 {
            block[0] = block[0] & 7 | 112; // 2⁻¹⁶ … 2⁻⁹
        }
        if dtype == DType::IQ1M {
            // The upper quarters of the half scale: its exponent.
            (block[53], block[55]) = (block[53] | 0xc0, block[55] & 0x9f);
        }
    }
    all
}

/// `n` positions of `cols` values.
fn products_agree(
    table: &Table,
    slow: &Table,
    dtype: DType,
    cols: usize,
    n: usize,
    bytes: &mut Bytes,
) -> bool {
    let form = dtype.layout().form;
    let blocks = match form {
        Form::F32 => cols,
        Form::A32 => cols / 32,
        Form::B256 => cols / 256,
    };
    let mut x = bytes.values(n * cols);
    x[..cols].fill(1.0); // the largest sums
    let (mut q, mut d) = (vec![0; n * cols], vec![0.0; n * blocks]);
    let (mut s, mut sums) = (vec![0; n * blocks], vec![0; n * blocks * SUMS]);
    match form {
        Form::F32 => {}
        Form::A32 => (0..n).for_each(|p| {
            let (x, q) = (&x[p * cols..][..cols], &mut q[p * cols..][..cols]);
            let (d, s) = (&mut d[p * blocks..][..blocks], &mut s[p * blocks..][..blocks]);
            slow.quantize_a32(x, q, d, s);
        }),
        Form::B256 => slow.quantize_b256(&x, &mut q, &mut d, &mut sums),
    }
    let acts = match form {
        Form::F32 => Acts::plain(n, cols, &x),
        Form::A32 => Acts { n, cols, blocks, x: &[], q: &q, d: &d, s: &s, sums: &[] },
        Form::B256 => Acts { n, cols, blocks, x: &[], q: &q, d: &d, s: &[], sums: &sums },
    };
    let all = weights(dtype, cols, bytes);
    let stride = all.len() / TILE;
    let rows = &all[..ROWS * stride];
    let mut want = vec![0.0; n * TILE];
    let mut got = want.clone();
    let mut work = Work::default();
    slow.gemm(dtype, rows, stride, &acts, &mut work, &mut want);
    table.gemm(dtype, rows, stride, &acts, &mut work, &mut got);
    let mut group = vec![0; all.len()];
    let interleaved = interleave(dtype, TILE, cols, &all, &mut group).is_ok();
    let mut beside = want.clone();
    if interleaved {
        table.gemm_interleaved(dtype, &group, &acts, &mut work, &mut beside);
    }
    (0..n).all(|p| {
        let want = &want[p * TILE..p * TILE + ROWS];
        if interleaved {
            let mut dots = [0.0; TILE];
            table.dot_interleaved(dtype, &group, &acts.range(p, 1), &mut work, &mut dots);
            if !same(&dots[..ROWS], want) || !same(&beside[p * TILE..][..TILE], &dots) {
                return false;
            }
        }
        let mut dots = [0.0; ROWS];
        table.dot(dtype, rows, stride, &acts.range(p, 1), &mut dots);
        same(&got[p * TILE..p * TILE + ROWS], want) && same(&dots, want)
    })
}

/// Operations on values: one after another on one slot, with the same input for both levels.
fn points_agree(table: &Table, slow: &Table, bytes: &mut Bytes) -> bool {
    const LEN: usize = 4 * 39;
    let (x, y) = (bytes.values(LEN), bytes.values(LEN));
    type Run = fn(&Table, &mut [f32], &[f32]);
    let runs: &[Run] = &[
        |t, x, y| t.add(x, y),
        |t, x, y| t.mul(x, y),
        |t, x, _| t.scale(x, 5.3),
        |t, x, _| t.softcap(x, 0.7),
        |t, x, _| t.silu(x),
        |t, x, _| t.gelu(x),
        |t, x, _| t.relu(x),
        |t, x, _| t.sigmoid(x),
        |t, x, _| t.tanh(x),
        |t, x, y| t.swiglu(x, y),
        |t, x, y| t.geglu(x, y),
        |t, x, _| t.gelu_erf(x),
        |t, x, y| t.geglu_erf(x, y),
        |t, x, y| t.rms_norm(x, 39, Some(&y[..39]), 1e-5),
        |t, x, y| t.layer_norm(x, 39, Some(&y[..39]), Some(&y[39..78]), 1e-5),
        |t, x, y| t.rope(x, 39, Pairs::Half, &y[..19], &y[19..38]),
        |t, x, y| t.rope(x, 39, Pairs::Adjacent, &y[..19], &y[19..38]),
        |t, x, _| x[0] = t.largest(x),
        // Five queries of a head of 6, then 4 of 11 values, over 16 of 48 and 13 of 16 positions.
        |t, x, y| {
            let k: Vec<f32> = y.iter().chain(&*x).copied().collect();
            let (dim, stride, from, to, scale) = (6, 48, 16, 48, 0.3);
            let (q, mut s) = (&y[..30], vec![0.0; 5 * stride]);
            t.meet(&Meet { q, dim, k: &k[..288], stride, from, to, scale }, &mut s);
            x.copy_from_slice(&s[..LEN]);
        },
        |t, x, y| {
            let (stride, dim, from, to) = (16, 11, 2, 13);
            let gather = Gather { e: &y[..64], stride, v: y, dim, from, to };
            t.gather(&gather, &mut x[..44]);
        },
        |t, x, _| x[0] = t.soften(&mut x[16..], 0.9, 3, 117),
        |t, x, _| {
            let (mut q, mut d, mut s) = ([0; 160], [0.0; 5], [0; 5]);
            t.quantize_a32(x, &mut q, &mut d, &mut s);
            (0..LEN).for_each(|i| x[i] = f32::from(q[i]) + d[i / 32] + s[i / 32] as f32);
        },
        |t, x, _| {
            let (mut q, mut d, mut sums) = ([0; 256], [0.0; 1], [0; SUMS]);
            t.quantize_b256(x, &mut q, &mut d, &mut sums);
            (0..LEN).for_each(|i| x[i] = f32::from(q[i]) + d[0] + f32::from(sums[i % SUMS]));
        },
    ];
    runs.iter().all(|run| {
        let (mut got, mut want) = (x.clone(), x.clone());
        run(table, &mut got, &y);
        run(slow, &mut want, &y);
        same(&got, &want)
    })
}

fn attention_agrees(table: &Table, slow: &Table, bytes: &mut Bytes) -> bool {
    // Heads that neither 16 columns nor a group of bytes divides.
    const KEY: usize = 34;
    const VALUE: usize = 82;
    let (from, stride) = (16, PAGE);
    let q = bytes.values(6 * VALUE);
    let halves = |bytes: &mut Bytes, len: usize| -> Vec<u16> {
        let half = |x: &f32| u16::from_le_bytes(recinto_quant::f32_to_f16(*x));
        bytes.values(len).iter().map(half).collect()
    };
    let words: Vec<u16> =
        bytes.values(VALUE * PAGE).iter().map(|x| (x.to_bits() >> 16) as u16).collect();
    let smaller = halves(bytes, VALUE * PAGE);
    let codes: Vec<i8> = (0..VALUE * PAGE).map(|_| (bytes.next() % 255) as u8 as i8).collect();
    let scales = halves(bytes, VALUE.div_ceil(GROUP) * PAGE);
    let bytes = Stored::Q8 { codes: &codes, scales: &scales };
    // Every number of queries that share what is loaded.
    let all: [(Stored<'_>, &[usize]); 3] =
        [(Stored::Bf16(&words), &[1, 2, 3, 4, 5, 6]), (Stored::F16(&smaller), &[3]), (bytes, &[5])];
    let mut runs = all.into_iter().flat_map(|(kv, many)| many.iter().map(move |n| (kv, *n)));
    runs.all(|(kv, queries)| {
        let (keys, scale) = (&q[..queries * KEY], 0.3);
        let k = match kv {
            Stored::Bf16(all) => Stored::Bf16(&all[..KEY * PAGE]),
            Stored::F16(all) => Stored::F16(&all[..KEY * PAGE]),
            Stored::Q8 { codes, scales } => Stored::Q8 {
                codes: &codes[..KEY * PAGE],
                scales: &scales[..KEY.div_ceil(GROUP) * PAGE],
            },
        };
        // One or two queries take more positions at a time than several; and some more.
        let to = if queries <= 2 { 96 } else { 64 };
        let scores = Scores { q: keys, queries, key_dim: KEY, k, from, to, scale, stride };
        let (mut got, mut want) = (vec![0.0; queries * PAGE], vec![0.0; queries * PAGE]);
        table.scores(&scores, &mut got);
        slow.scores(&scores, &mut want);
        if !same(&got, &want) {
            return false;
        }
        let (q, from, to) = (&q[..queries * VALUE], 19, 30);
        let weigh = Weigh { e: &want, stride, queries, v: kv, value_dim: VALUE, from, to };
        let (mut got, mut want) = (q.to_vec(), q.to_vec());
        table.weigh(&weigh, &mut got);
        slow.weigh(&weigh, &mut want);
        same(&got, &want)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::every_type;

    #[test]
    fn a_level_that_is_wrong_is_not_chosen() {
        fn wrong_dot(rows: &[u8], stride: usize, _: &Acts<'_>, out: &mut [f32]) {
            out[..rows.len() / stride].fill(0.5);
        }
        fn wrong_silu(x: &mut [f32]) {
            x.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits() ^ 1));
        }
        let right = Table { level: Level::Avx2, ..crate::all::TABLE };
        assert!(agrees(&right, &every_type()));
        let q6_k = crate::table::Linear { dot: wrong_dot, ..crate::all::TABLE.q6_k };
        assert!(!agrees(&Table { level: Level::Avx2, q6_k, ..crate::all::TABLE }, &every_type()));
        assert!(!agrees(
            &Table { level: Level::Avx2, silu: wrong_silu, ..crate::all::TABLE },
            &every_type()
        ));
    }
}
