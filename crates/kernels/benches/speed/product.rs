//! Matrix products: one position (`dot`, waits for memory), a block of positions (`gemm`), and
//! making the activations ready (`quantize`).

use divan::{
    Bencher,
    counter::{BytesCount, ItemsCount},
};
use recinto_kernels::{Form, Job, Prepared, Rows, Stop};

use crate::{
    case::{self, Case, Typed},
    common::{Random, weights},
};

#[divan::bench(args = case::typed())]
fn dot(bencher: Bencher<'_, '_>, typed: Typed) {
    // Large enough to come from memory, in whole blocks of 256.
    product(bencher, typed, 8192, 2048, 1);
}

#[divan::bench(args = case::typed_fast())]
fn gemm(bencher: Bencher<'_, '_>, typed: Typed) {
    product(bencher, typed, 256, 4864, 256);
}

fn product(bencher: Bencher<'_, '_>, typed: Typed, rows: usize, cols: usize, n: usize) {
    let (mut random, stop) = (Random(7), Stop::never());
    let bytes = weights(&mut random, typed.dtype, rows * cols);
    let weights = Rows::new(&bytes, typed.dtype, rows, cols).expect("whole blocks");
    let x = random.values(n * cols);
    let (machine, mut prepared) = (typed.case.machine(), Prepared::new());
    machine.prepare(&stop, &x, cols, &[Form::A32, Form::B256], &mut prepared).expect("no stop");
    let mut out = vec![0.0; n * rows];
    bencher
        .counter(BytesCount::new(bytes.len()))
        .counter(ItemsCount::new(2 * n * rows * cols))
        .bench_local(|| {
            let mut jobs = [Job { weights, bias: None, out: &mut out }];
            machine.linear(&stop, &x, cols, &prepared, &mut jobs)
        });
}

#[divan::bench(args = case::all())]
fn quantize_a32(bencher: Bencher<'_, '_>, case: Case) {
    quantize(bencher, case, Form::A32);
}

#[divan::bench(args = case::all())]
fn quantize_b256(bencher: Bencher<'_, '_>, case: Case) {
    quantize(bencher, case, Form::B256);
}

fn quantize(bencher: Bencher<'_, '_>, case: Case, form: Form) {
    const COLS: usize = 4864;
    let (machine, stop) = (case.machine(), Stop::never());
    let x = Random(7).values(64 * COLS);
    let mut prepared = Prepared::new();
    bencher.counter(ItemsCount::new(x.len())).bench_local(|| {
        prepared.clear();
        machine.prepare(&stop, &x, COLS, &[form], &mut prepared)
    });
}
