//! Attention over whole texts: against f64, bit for bit on every level and number of threads, and
//! the same for a text alone and among others.

use crate::common;

use common::{Random, machines, same};
use recinto_kernels::{Kernels, Level, Machine, Places, Stop, Text};

/// Heads, key-value heads, sizes of keys and of values.
type Shape = [usize; 4];

struct Case<'a> {
    name: &'a str,
    shape: Shape,
    reach: Option<usize>,
    n: usize,
    queries: Option<Vec<u32>>,
    /// Positions and parts of tokens.
    places: Option<(Vec<u32>, Vec<u32>)>,
}

fn case(name: &str, shape: Shape, reach: Option<usize>, n: usize) -> Case<'_> {
    Case { name, shape, reach, n, queries: None, places: None }
}

fn cases() -> Vec<Case<'static>> {
    let split = || {
        let positions = vec![0, 1, 2, 3, 4, 5, 2, 3, 4, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13];
        let parts = vec![0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0];
        Some((positions, parts))
    };
    vec![
        case("one token", [2, 2, 8, 8], None, 1),
        case("odd sizes", [3, 3, 5, 7], None, 23),
        case("a head of 64", [2, 2, 64, 64], None, 129),
        case("grouped", [6, 2, 16, 16], None, 40),
        case("a reach", [2, 1, 16, 16], Some(8), 75),
        case("a reach of 0", [1, 1, 4, 4], Some(0), 20),
        case("a reach beyond the text", [1, 1, 16, 16], Some(1 << 40), 33),
        Case {
            queries: Some(vec![0, 13, 14, 40, 74]),
            ..case("some queries", [2, 2, 16, 16], Some(8), 75)
        },
        Case { queries: Some(vec![]), ..case("no query", [2, 2, 16, 16], None, 9) },
        Case { places: split(), ..case("parts", [2, 2, 16, 16], None, 19) },
        Case { places: split(), ..case("parts and a reach", [2, 2, 16, 16], Some(3), 19) },
        Case {
            places: split(),
            queries: Some(vec![2, 6, 9]),
            ..case("parts, some queries", [4, 2, 8, 24], Some(4), 19)
        },
    ]
}

impl Case<'_> {
    fn text(&self) -> Text<'_> {
        let places = self.places.as_ref();
        Text {
            n: self.n,
            queries: self.queries.as_deref(),
            places: places.map(|(positions, parts)| Places { positions, parts }),
        }
    }

    fn rows(&self) -> Vec<usize> {
        match &self.queries {
            Some(queries) => queries.iter().map(|q| *q as usize).collect(),
            None => (0..self.n).collect(),
        }
    }

    fn inputs(&self, random: &mut Random) -> [Vec<f32>; 3] {
        let [heads, kv_heads, key, value] = self.shape;
        [self.rows().len() * heads * key, self.n * kv_heads * key, self.n * kv_heads * value]
            .map(|len| random.values(len))
    }

    fn see(&self, a: usize, b: usize) -> bool {
        let (far, apart) = match &self.places {
            None => (a.abs_diff(b), false),
            Some((at, part)) => {
                let apart = part[a] != part[b] && part[a] != 0 && part[b] != 0;
                (at[a].abs_diff(at[b]) as usize, apart)
            }
        };
        !apart && self.reach.is_none_or(|reach| far <= reach)
    }

    /// The definition, in f64.
    fn truth(&self, [q, k, v]: &[Vec<f32>; 3], scale: f64) -> Vec<f64> {
        let [heads, kv_heads, key, value] = self.shape;
        let mut out = Vec::new();
        for (row, token) in self.rows().into_iter().enumerate() {
            for head in 0..heads {
                let group = head / (heads / kv_heads);
                let q = &q[(row * heads + head) * key..][..key];
                let score = |j: usize| {
                    let k = &k[(j * kv_heads + group) * key..][..key];
                    let dot = q.iter().zip(k).map(|(q, k)| f64::from(*q) * f64::from(*k));
                    scale * dot.sum::<f64>()
                };
                let seen: Vec<usize> = (0..self.n).filter(|j| self.see(token, *j)).collect();
                let most = seen.iter().map(|j| score(*j)).fold(f64::MIN, f64::max);
                let e: Vec<f64> = seen.iter().map(|j| (score(*j) - most).exp()).collect();
                let sum: f64 = e.iter().sum();
                for d in 0..value {
                    let at = |j: usize| f64::from(v[(j * kv_heads + group) * value + d]);
                    out.push(seen.iter().zip(&e).map(|(j, e)| e * at(*j)).sum::<f64>() / sum);
                }
            }
        }
        out
    }
}

fn attend(machine: &Machine, cases: &[&Case<'_>], inputs: &[[Vec<f32>; 3]]) -> Vec<f32> {
    let all = |at: usize| -> Vec<f32> { inputs.iter().flat_map(|i| i[at].clone()).collect() };
    let (q, k, v) = (all(0), all(1), all(2));
    let [heads, kv_heads, _, value] = cases[0].shape;
    let texts: Vec<Text<'_>> = cases.iter().map(|case| case.text()).collect();
    let rows: usize = cases.iter().map(|case| case.rows().len()).sum();
    let mut out = vec![f32::NAN; rows * heads * value];
    let (stop, of) = (Stop::never(), [heads, kv_heads]);
    machine.attend_whole(&stop, [&q, &k, &v], &texts, of, cases[0].reach, 0.3, &mut out).unwrap();
    out
}

#[test]
fn agrees_with_f64_and_bit_for_bit() {
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let (machines, mut random) = (machines(), Random(5));
    for case in cases() {
        let inputs = [case.inputs(&mut random)];
        let want = attend(&slow, &[&case], &inputs);
        for (got, want) in want.iter().zip(case.truth(&inputs[0], f64::from(0.3f32))) {
            let far = (f64::from(*got) - want).abs();
            assert!(far < 1e-5, "{}: {got} for {want}", case.name);
        }
        for (name, machine) in &machines {
            let got = attend(machine, &[&case], &inputs);
            same(&got, &want).unwrap_or_else(|e| panic!("{name}, {}: {e}", case.name));
        }
    }
}

/// Lengths across every border of tiles; a text has the same bits whatever stands beside it.
#[test]
fn alone_and_among_others() {
    let (machines, mut random) = (machines(), Random(6));
    let lengths = [1usize, 15, 16, 17, 33, 64, 100];
    for reach in [None, Some(7)] {
        let cases: Vec<Case<'_>> =
            lengths.iter().map(|n| case("several", [4, 2, 16, 16], reach, *n)).collect();
        let inputs: Vec<[Vec<f32>; 3]> = cases.iter().map(|c| c.inputs(&mut random)).collect();
        let all: Vec<&Case<'_>> = cases.iter().collect();
        for (name, machine) in &machines {
            let together = attend(machine, &all, &inputs);
            let alone: Vec<f32> = (all.iter().zip(&inputs))
                .flat_map(|(case, inputs)| attend(machine, &[case], std::slice::from_ref(inputs)))
                .collect();
            same(&together, &alone).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

/// What a window leaves out is not computed; the bits are those of all scores with a mask, which is
/// how tokens with places of their own are read.
#[test]
fn a_window_is_the_whole_with_a_mask() {
    let (machines, mut random) = (machines(), Random(9));
    for (name, reach, n) in [
        ("a short window", Some(3), 100),
        ("tiles apart", Some(16), 257),
        ("Laya's window", Some(64), 300),
        ("a window as long as the text", Some(80), 80),
    ] {
        let window = case(name, [4, 2, 16, 16], reach, n);
        let row: Vec<u32> = (0..n as u32).collect();
        let masked = Case { places: Some((row, vec![0; n])), ..case(name, window.shape, reach, n) };
        let inputs = [window.inputs(&mut random)];
        for (level, machine) in &machines {
            let [got, want] = [&window, &masked].map(|case| attend(machine, &[case], &inputs));
            same(&got, &want).unwrap_or_else(|e| panic!("{level}, {name}: {e}"));
        }
    }
}

/// Rows of queries that are left out change no bit of the others.
#[test]
fn chosen_rows_are_those_of_all() {
    let (machines, mut random) = (machines(), Random(7));
    let whole = case("all", [4, 4, 16, 16], Some(9), 90);
    let inputs = whole.inputs(&mut random);
    let chosen = [0u32, 1, 31, 32, 88];
    let some = Case { queries: Some(chosen.to_vec()), ..case("some", whole.shape, Some(9), 90) };
    let pick = |x: &[f32]| -> Vec<f32> {
        chosen.iter().flat_map(|row| x[*row as usize * 64..][..64].to_vec()).collect()
    };
    for (name, machine) in &machines {
        let all = attend(machine, &[&whole], std::slice::from_ref(&inputs));
        let fewer = [pick(&inputs[0]), inputs[1].clone(), inputs[2].clone()];
        let got = attend(machine, &[&some], &[fewer]);
        same(&got, &pick(&all)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_stop_ends_it() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let (stop, mut random) = (Stop::new(flag, None), Random(8));
    let case = case("stopped", [2, 2, 8, 8], None, 50);
    let [q, k, v] = case.inputs(&mut random);
    for (_, machine) in machines() {
        let mut out = vec![0.0; q.len()];
        let all = [&q[..], &k[..], &v[..]];
        let ended = machine.attend_whole(&stop, all, &[case.text()], [2, 2], None, 1.0, &mut out);
        assert!(ended.is_err());
    }
}
