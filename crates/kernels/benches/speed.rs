//! How fast the products are: G operations a second (multiply and add counted) for matrix
//! products, GB/s of weights for one position. `cargo bench -p recinto-kernels [-- WORD]` shows
//! the rows whose name contains the word.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Random, TYPES, weights};
use recinto_kernels::{Attend, Form, Job, Kernels, Kv, Level, Machine, Prepared, Rows, Stop};

/// The best of the runs that fit in a moment.
fn best(mut run: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), f64::MAX);
    while start.elapsed() < Duration::from_millis(250) {
        let once = Instant::now();
        run();
        best = best.min(once.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |name: &str| word.as_ref().is_none_or(|word| name.contains(word));
    let mut random = Random(7);
    let stop = Stop::never();
    let detect = best(|| {
        std::hint::black_box(Kernels::detect());
    });
    println!("{:32} {:8.1} us", "detect", detect * 1e6);
    for kernels in Kernels::available() {
        let level = kernels.level();
        for threads in [1, 2] {
            let machine = Machine::new(kernels, threads);
            let title = |what: &str| format!("{} {threads}t {what}", level.name());
            for (dtype, _) in TYPES {
                // Wide enough to stream from memory, in whole blocks of 256.
                let cases = [("gemm", 256, 4864, 256), ("dot", 8192, 2048, 1)];
                for (kind, rows, cols, n) in cases {
                    let name = title(&format!("{kind} {}", dtype.name()));
                    if !wanted(&name) || (level == Level::Portable && n > 1 && word.is_none()) {
                        continue;
                    }
                    let bytes = weights(&mut random, *dtype, rows * cols);
                    let weights = Rows::new(&bytes, *dtype, rows, cols).unwrap();
                    let x = random.values(n * cols);
                    let (mut prepared, mut out) = (Prepared::new(), vec![0.0; n * rows]);
                    let forms = [Form::A32, Form::B256];
                    machine.prepare(&stop, &x, cols, &forms, &mut prepared).unwrap();
                    let seconds = best(|| {
                        let mut jobs = [Job { weights, bias: None, out: &mut out }];
                        machine.linear(&stop, &x, cols, &prepared, &mut jobs).unwrap();
                    });
                    let operations = 2.0 * (n * rows * cols) as f64 / seconds / 1e9;
                    let stream = bytes.len() as f64 / seconds / 1e9;
                    println!("{name:32} {operations:8.1} Gop/s {stream:8.2} GB/s");
                }
            }
            for (what, n, start) in [("prefill", 256, 256), ("decode", 1, 1023)] {
                let name = title(&format!("attend {what}"));
                if !wanted(&name) {
                    continue;
                }
                let (heads, kv_heads, dim) = (14, 2, 64);
                let mut kv = Kv::new(kv_heads, dim, dim);
                kv.reserve(start + n).unwrap();
                let k = random.values((start + n) * kv_heads * dim);
                kv.store(0, &k, &k);
                let q = random.values(n * heads * dim);
                let mut out = vec![0.0; q.len()];
                let a = Attend { heads, window: None, scale: 0.125, softcap: None };
                let seconds = best(|| machine.attend(&stop, &q, &kv, start, &a, &mut out).unwrap());
                let seen: usize = (start + 1..=start + n).sum();
                let operations = 4.0 * (seen * heads * dim) as f64 / seconds / 1e9;
                println!("{name:32} {operations:8.1} Gop/s {:8.1} us", seconds * 1e6);
            }
            let mut values = random.values(256 * 4864);
            let other = random.values(values.len());
            let mut prepared = Prepared::new();
            type Run<'a> = Box<dyn FnMut(&mut [f32]) + 'a>;
            let mut rows: Vec<(&str, Run<'_>)> = vec![
                ("silu", Box::new(|x| machine.silu(&stop, x).unwrap())),
                (
                    "geglu",
                    Box::new(|x| {
                        let gelu = recinto_kernels::Gate::Gelu;
                        machine.gated(&stop, x, &other, gelu).unwrap();
                    }),
                ),
                ("rms norm", Box::new(|x| machine.rms_norm(&stop, x, 4864, None, 1e-6).unwrap())),
                (
                    "prepare a32",
                    Box::new(|x| {
                        prepared.clear();
                        let forms = [Form::A32];
                        machine.prepare(&stop, x, 4864, &forms, &mut prepared).unwrap();
                    }),
                ),
            ];
            for (what, run) in &mut rows {
                let name = title(what);
                if wanted(&name) {
                    let seconds = best(|| run(&mut values));
                    let rate = values.len() as f64 / seconds / 1e9;
                    println!("{name:32} {rate:8.2} G values/s");
                }
            }
            let name = title("region");
            if wanted(&name) {
                let mut small = vec![1.0; 16384];
                let seconds = best(|| {
                    for _ in 0..100 {
                        machine.scale(&stop, &mut small, 1.0).unwrap();
                    }
                });
                println!("{name:32} {:8.2} us", seconds * 1e4);
            }
        }
    }
}
