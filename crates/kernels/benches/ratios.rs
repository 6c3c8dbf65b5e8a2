//! Time per weight of every quantized type's product for one position as a multiple of Q4_K's:
//! `cargo bench -p recinto-kernels --bench ratios [-- NAME...]`, on the best level of this CPU.
//!
//! Weights stay in the cache, so this is arithmetic alone. Each of many short rounds runs Q4_K and
//! then the type; the first figures are of the rounds' ratios, the last two of the least times.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Random, TYPES, weights};
use recinto_kernels::{DType, Form, Job, Kernels, Machine, Prepared, Rows, Stop};

const ROWS: usize = 32;
const COLS: usize = 2048;
const ROUNDS: usize = 401;
const RUNS: usize = 2;

/// One type's product, ready to be timed.
struct Case {
    dtype: DType,
    bytes: Vec<u8>,
    x: Vec<f32>,
    prepared: Prepared,
}

impl Case {
    fn new(machine: &Machine, dtype: DType) -> Case {
        let mut random = Random(7);
        let (bytes, x) = (weights(&mut random, dtype, ROWS * COLS), random.values(COLS));
        let mut prepared = Prepared::new();
        let form = dtype.layout().form;
        machine.prepare(&Stop::never(), &x, COLS, &[form], &mut prepared).expect("no stop");
        Case { dtype, bytes, x, prepared }
    }

    /// Seconds that some products take.
    fn time(&self, machine: &Machine, out: &mut [f32]) -> f64 {
        let stop = Stop::never();
        let weights = Rows::new(&self.bytes, self.dtype, ROWS, COLS).expect("whole blocks");
        let start = Instant::now();
        for _ in 0..RUNS {
            let mut jobs = [Job { weights, bias: None, out: &mut *out }];
            machine.linear(&stop, &self.x, COLS, &self.prepared, &mut jobs).expect("no stop");
        }
        start.elapsed().as_secs_f64()
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let kernels = Kernels::detect();
    let level = kernels.level().name();
    println!("level {level}; time per weight, Q4_K = 1");
    println!("type    median (middle half)   least by least  least, ps");
    let machine = Machine::new(kernels, 1);
    let base = Case::new(&machine, DType::Q4K);
    let mut out = vec![0.0; ROWS];
    for (dtype, _) in TYPES.iter().filter(|row| row.0.layout().form != Form::F32) {
        let name = dtype.name();
        if !names.is_empty() && !names.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            continue;
        }
        let case = Case::new(&machine, *dtype);
        let mut best = [f64::MAX; 2];
        let mut ratios: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let times = [&base, &case].map(|case| case.time(&machine, &mut out));
                best = [best[0].min(times[0]), best[1].min(times[1])];
                times[1] / times[0]
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let [low, mid, high] = [1, 2, 3].map(|quarter| ratios[ROUNDS * quarter / 4]);
        let least = best[1] / best[0];
        let picoseconds = best[1] / (RUNS * ROWS * COLS) as f64 * 1e12;
        println!("{name:8} {mid:5.2} ({low:.2} to {high:.2}) {least:13.2} {picoseconds:8.1}");
    }
}
