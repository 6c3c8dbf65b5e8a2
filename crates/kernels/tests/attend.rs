//! Attention against a naive one in f64, and bit for bit between levels, threads and chunks.

use crate::common;

use common::{Random, machines, same};
use recinto_kernels::{Attend, Kernels, Kv, KvType, Level, Machine, Sequence, Stop};

struct Case {
    name: &'static str,
    heads: usize,
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    n: usize,
    window: Option<usize>,
    softcap: Option<f32>,
}

const CASES: &[Case] = &[
    case("one position", 2, 2, 16, 16, 1, None, None),
    case("groups of seven", 14, 2, 64, 64, 40, None, None),
    case("groups of three, over a page", 9, 3, 32, 32, 270, None, None),
    case("one key head, over two pages", 4, 1, 48, 80, 530, None, None),
    case("odd sizes", 3, 3, 7, 5, 65, None, None),
    case("window within a page", 4, 2, 16, 16, 90, Some(17), None),
    case("window over page borders", 4, 1, 16, 24, 530, Some(200), None),
    case("window of one", 2, 1, 8, 8, 260, Some(1), None),
    case("window of whole pages", 2, 1, 8, 8, 530, Some(256), None),
    case("soft cap", 4, 2, 16, 16, 280, None, Some(5.0)),
    case("large group", 24, 2, 16, 16, 33, None, None),
    case("group of eleven", 11, 1, 16, 16, 33, None, None),
];

#[allow(clippy::too_many_arguments)]
const fn case(
    name: &'static str,
    heads: usize,
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    n: usize,
    window: Option<usize>,
    softcap: Option<f32>,
) -> Case {
    Case { name, heads, kv_heads, key_dim, value_dim, n, window, softcap }
}

impl Case {
    fn attend(&self) -> Attend {
        let scale = 1.0 / (self.key_dim as f32).sqrt();
        Attend { heads: self.heads, window: self.window, scale, softcap: self.softcap }
    }

    /// All positions, fed `chunk` at a time.
    fn run(
        &self,
        machine: &Machine,
        kind: KvType,
        [q, k, v]: [&[f32]; 3],
        chunk: usize,
    ) -> Vec<f32> {
        let (kw, vw) = (self.kv_heads * self.key_dim, self.kv_heads * self.value_dim);
        let (qw, ow) = (self.heads * self.key_dim, self.heads * self.value_dim);
        let mut kv = Kv::stored_as(kind, self.kv_heads, self.key_dim, self.value_dim);
        let mut out = vec![0.0; self.n * ow];
        for start in (0..self.n).step_by(chunk) {
            let end = self.n.min(start + chunk);
            kv.reserve(end).unwrap();
            kv.store(start, &k[start * kw..end * kw], &v[start * vw..end * vw]);
            let (q, out) = (&q[start * qw..end * qw], &mut out[start * ow..end * ow]);
            machine.attend(&Stop::never(), q, &kv, start, &self.attend(), out).unwrap();
        }
        out
    }

    fn inputs(&self, random: &mut Random) -> [Vec<f32>; 3] {
        [
            random.values(self.n * self.heads * self.key_dim),
            random.values(self.n * self.kv_heads * self.key_dim),
            random.values(self.n * self.kv_heads * self.value_dim),
        ]
    }
}

/// Vectors of `dim` values as they come back from a page.
fn stored(kind: KvType, x: &[f32], dim: usize) -> Vec<f64> {
    use recinto_quant::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
    let mut out = Vec::new();
    for x in x.chunks(dim) {
        match kind {
            KvType::Bf16 => out.extend(x.iter().map(|x| f64::from(bf16_to_f32(f32_to_bf16(*x))))),
            KvType::F16 => out.extend(x.iter().map(|x| f64::from(f16_to_f32(f32_to_f16(*x))))),
            KvType::Q8_0 => {
                for x in x.chunks(32) {
                    let largest = x.iter().fold(0f32, |m, x| m.max(x.abs()));
                    let scale = f64::from(f16_to_f32(f32_to_f16(largest / 127.0)));
                    let step = |x: &f32| f64::from((x * (127.0 / largest)).round_ties_even());
                    out.extend(x.iter().map(|x| step(x) * scale));
                }
            }
        }
    }
    out
}

fn naive(c: &Case, kind: KvType, q: &[f32], k: &[f32], v: &[f32]) -> Vec<f64> {
    let a = c.attend();
    let (k, v) = (stored(kind, k, c.key_dim), stored(kind, v, c.value_dim));
    let mut out = Vec::new();
    for p in 0..c.n {
        for h in 0..c.heads {
            let g = h / (c.heads / c.kv_heads);
            let first = c.window.map_or(0, |w| (p + 1).saturating_sub(w));
            let q = &q[(p * c.heads + h) * c.key_dim..][..c.key_dim];
            let scores: Vec<f64> = (first..=p)
                .map(|j| {
                    let k = &k[(j * c.kv_heads + g) * c.key_dim..][..c.key_dim];
                    let s: f64 = q.iter().zip(k).map(|(q, k)| f64::from(*q) * k).sum();
                    let s = s * f64::from(a.scale);
                    a.softcap.map_or(s, |cap| f64::from(cap) * (s / f64::from(cap)).tanh())
                })
                .collect();
            let m = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let z: f64 = scores.iter().map(|s| (s - m).exp()).sum();
            for d in 0..c.value_dim {
                let of = |j: usize| v[((first + j) * c.kv_heads + g) * c.value_dim + d];
                let sum: f64 = scores.iter().enumerate().map(|(j, s)| (s - m).exp() * of(j)).sum();
                out.push(sum / z);
            }
        }
    }
    out
}

#[test]
fn agrees_with_the_naive_one() {
    let mut random = Random(11);
    for c in CASES {
        let [q, k, v] = c.inputs(&mut random);
        for kind in KvType::ALL {
            let want = naive(c, kind, &q, &k, &v);
            for (name, machine) in machines() {
                let got = c.run(&machine, kind, [&q, &k, &v], c.n);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let error = (f64::from(*got) - want).abs();
                    let name = format!("{name}, {}, {kind}", c.name);
                    assert!(error < 2e-5, "{name}: value {i} is off by {error:e}");
                }
            }
        }
    }
}

#[test]
fn same_bits_for_any_chunking_and_level() {
    let mut random = Random(12);
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    for c in CASES {
        for (inputs, kind) in [
            ("ordinary", KvType::Bf16),
            ("ordinary", KvType::F16),
            ("ordinary", KvType::Q8_0),
            ("steep", KvType::Bf16),
            ("not a number", KvType::Bf16),
            ("not a number", KvType::F16),
            ("not a number", KvType::Q8_0),
        ] {
            let [mut q, k, mut v] = c.inputs(&mut random);
            match inputs {
                "steep" => q.iter_mut().for_each(|q| *q *= 60.0),
                "not a number" => {
                    let (half, third) = (v.len() / 2, q.len() / 3);
                    v[half] = f32::NAN;
                    v[half / 2] = f32::INFINITY;
                    q[third] = f32::INFINITY;
                    q[third / 2] = f32::NAN;
                }
                _ => {}
            }
            let want = c.run(&slow, kind, [&q, &k, &v], c.n);
            for (name, machine) in machines() {
                for chunk in [1, 3, 64, 257, c.n] {
                    // The long cases are there for the page borders, and slow.
                    let long = c.n > 100 && (chunk < 64 || inputs != "ordinary");
                    if long && chunk != c.n {
                        continue;
                    }
                    let got = c.run(&machine, kind, [&q, &k, &v], chunk);
                    if let Err(e) = same(&got, &want) {
                        panic!("{name}, {}, {inputs}, {kind}, by {chunk}: {e}", c.name);
                    }
                }
            }
        }
    }
}

#[test]
fn many_sequences_at_once_are_each_alone() {
    // More than one region holds, at positions and with numbers of queries of their own.
    let starts = [(0, 1), (5, 1), (300, 7), (255, 2), (0, 40), (511, 1), (17, 3)];
    let starts: Vec<(usize, usize)> = starts.iter().cycle().take(19).copied().collect();
    let mut random = Random(14);
    for c in CASES.iter().filter(|c| c.n > 30) {
        let (kw, vw) = (c.kv_heads * c.key_dim, c.kv_heads * c.value_dim);
        let kvs: Vec<Kv> = starts
            .iter()
            .enumerate()
            .map(|(i, (start, n))| {
                let kind = KvType::ALL[i % 3];
                let mut kv = Kv::stored_as(kind, c.kv_heads, c.key_dim, c.value_dim);
                let end = start + n;
                kv.reserve(end).unwrap();
                kv.store(0, &random.values(end * kw), &random.values(end * vw));
                kv
            })
            .collect();
        let all: usize = starts.iter().map(|(_, n)| n).sum();
        let q = random.values(all * c.heads * c.key_dim);
        for (name, machine) in machines() {
            let never = Stop::never();
            let mut want = vec![0.0; all * c.heads * c.value_dim];
            let (mut q_left, mut o_left) = (&q[..], &mut want[..]);
            for ((start, n), kv) in starts.iter().zip(&kvs) {
                let (q, o);
                (q, q_left) = q_left.split_at(n * c.heads * c.key_dim);
                (o, o_left) = o_left.split_at_mut(n * c.heads * c.value_dim);
                machine.attend(&never, q, kv, *start, &c.attend(), o).unwrap();
            }
            let sequences: Vec<Sequence<'_>> = starts
                .iter()
                .zip(&kvs)
                .map(|((start, n), kv)| Sequence { kv, start: *start, n: *n })
                .collect();
            let mut got = vec![0.0; want.len()];
            machine.attend_all(&never, &q, &sequences, &c.attend(), &mut got).unwrap();
            same(&got, &want).unwrap_or_else(|e| panic!("{name}, {}: {e}", c.name));
        }
    }
}

#[test]
fn one_query_over_many_pages_is_split_without_a_bit_changing() {
    let mut random = Random(15);
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let cases = [
        case("three heads a key head", 9, 3, 24, 24, 1100, None, None),
        case("one key head", 4, 1, 40, 50, 1300, None, Some(9.0)),
        case("a window that begins within a page", 4, 2, 16, 16, 1700, Some(1150), None),
        case("a window of whole pages", 2, 2, 16, 16, 1536, Some(1024), None),
        case("a large group", 26, 1, 8, 8, 1030, None, None),
    ];
    for c in &cases {
        for kind in KvType::ALL {
            let (kw, vw) = (c.kv_heads * c.key_dim, c.kv_heads * c.value_dim);
            let mut kv = Kv::stored_as(kind, c.kv_heads, c.key_dim, c.value_dim);
            kv.reserve(c.n).unwrap();
            kv.store(0, &random.values(c.n * kw), &random.values(c.n * vw));
            let mut q = random.values(c.heads * c.key_dim);
            for inputs in ["ordinary", "not a number"] {
                if inputs == "not a number" {
                    q[c.key_dim / 2] = f32::NAN;
                }
                let at = |machine: &Machine| {
                    let mut out = vec![0.0; c.heads * c.value_dim];
                    let a = c.attend();
                    machine.attend(&Stop::never(), &q, &kv, c.n - 1, &a, &mut out).unwrap();
                    out
                };
                // One thread does not split, so this is held to the other way of doing it.
                let want = at(&slow);
                for (name, machine) in machines() {
                    let here = format!("{name}, {}, {inputs}, {kind}", c.name);
                    same(&at(&machine), &want).unwrap_or_else(|e| panic!("{here}: {e}"));
                }
            }
        }
    }
}

#[test]
fn a_stop_ends_attention() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    let c = &CASES[1];
    let [q, k, v] = c.inputs(&mut Random(13));
    let mut kv = Kv::new(c.kv_heads, c.key_dim, c.value_dim);
    kv.reserve(c.n).unwrap();
    kv.store(0, &k, &v);
    let machine = Machine::new(Kernels::detect(), 2);
    let mut out = vec![0.0; c.n * c.heads * c.value_dim];
    let stop = Stop::new(Arc::new(AtomicBool::new(true)), None);
    assert!(machine.attend(&stop, &q, &kv, 0, &c.attend(), &mut out).is_err());
    // One query over many pages goes another way.
    let mut kv = Kv::new(c.kv_heads, c.key_dim, c.value_dim);
    kv.reserve(2000).unwrap();
    let (q, out) = (&q[..c.heads * c.key_dim], &mut out[..c.heads * c.value_dim]);
    assert!(machine.attend(&stop, q, &kv, 1999, &c.attend(), out).is_err());
    assert!(machine.attend(&Stop::never(), q, &kv, 1999, &c.attend(), out).is_ok());
}
