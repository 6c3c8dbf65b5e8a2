//! Norms, turns and functions of single values; items are values.

use divan::{Bencher, counter::ItemsCount};
use recinto_kernels::{Angles, Gate, Machine, Pairs, Stop, Stopped};

use crate::{
    case::{self, Case},
    common::Random,
};

/// Values of one position.
const WIDTH: usize = 4864;
/// Positions.
const N: usize = 64;
/// Values of one head.
const SIZE: usize = 64;

/// Times `run` on fresh values each time: repeated on its own result, a gate would end at 0.
fn values(
    bencher: Bencher<'_, '_>,
    case: Case,
    mut run: impl FnMut(&Machine, &Stop, &mut [f32]) -> Result<(), Stopped>,
) {
    let (machine, stop) = (case.machine(), Stop::never());
    let start = Random(7).values(N * WIDTH);
    bencher
        .counter(ItemsCount::new(start.len()))
        .with_inputs(|| start.clone())
        .bench_local_refs(|x| run(&machine, &stop, x));
}

#[divan::bench(args = case::all())]
fn rms_norm(bencher: Bencher<'_, '_>, case: Case) {
    let weight = Random(9).values(WIDTH);
    values(bencher, case, |m, stop, x| m.rms_norm(stop, x, WIDTH, Some(&weight), 1e-6));
}

#[divan::bench(args = case::all())]
fn layer_norm(bencher: Bencher<'_, '_>, case: Case) {
    values(bencher, case, |m, stop, x| m.layer_norm(stop, x, WIDTH, None, None, 1e-6));
}

#[divan::bench(args = case::all())]
fn rope(bencher: Bencher<'_, '_>, case: Case) {
    let frequencies: Vec<f64> = (0..SIZE / 2).map(|i| 0.9f64.powi(i as i32)).collect();
    let mut angles = Angles::default();
    angles.fill(&frequencies, 1.0, 0, N);
    values(bencher, case, |m, stop, x| m.rope(stop, x, WIDTH, SIZE, Pairs::Half, &angles));
}

#[divan::bench(args = case::all())]
fn silu(bencher: Bencher<'_, '_>, case: Case) {
    values(bencher, case, |m, stop, x| m.silu(stop, x));
}

#[divan::bench(args = case::all())]
fn swiglu(bencher: Bencher<'_, '_>, case: Case) {
    let other = vec![1.0; N * WIDTH];
    values(bencher, case, |m, stop, x| m.gated(stop, x, &other, Gate::Silu));
}

#[divan::bench(args = case::all())]
fn geglu(bencher: Bencher<'_, '_>, case: Case) {
    let other = vec![1.0; N * WIDTH];
    values(bencher, case, |m, stop, x| m.gated(stop, x, &other, Gate::Gelu));
}

#[divan::bench(args = case::all())]
fn add(bencher: Bencher<'_, '_>, case: Case) {
    let other = Random(9).values(N * WIDTH);
    values(bencher, case, |m, stop, x| m.add(stop, x, &other));
}

#[divan::bench(args = case::all())]
fn softcap(bencher: Bencher<'_, '_>, case: Case) {
    values(bencher, case, |m, stop, x| m.softcap(stop, x, 30.0));
}
