//! Attention over stored keys and values: a block of a prompt, and one position of an answer.

use divan::{
    Bencher,
    counter::{BytesCount, ItemsCount},
};
use recinto_kernels::{Attend, Kv, Stop};

use crate::{
    case::{self, Case},
    common::Random,
};

const HEADS: usize = 14;
const KV_HEADS: usize = 2;
const DIM: usize = 64;

#[divan::bench(args = case::all())]
fn prefill_256_after_256(bencher: Bencher<'_, '_>, case: Case) {
    attend(bencher, case, 256, 256);
}

#[divan::bench(args = case::all())]
fn decode_after_1023(bencher: Bencher<'_, '_>, case: Case) {
    attend(bencher, case, 1, 1023);
}

#[divan::bench(args = case::all())]
fn decode_after_4095(bencher: Bencher<'_, '_>, case: Case) {
    attend(bencher, case, 1, 4095);
}

fn attend(bencher: Bencher<'_, '_>, case: Case, n: usize, start: usize) {
    let (mut random, machine, stop) = (Random(7), case.machine(), Stop::never());
    let mut kv = Kv::new(KV_HEADS, DIM, DIM);
    kv.reserve(start + n).expect("memory");
    let k = random.values((start + n) * KV_HEADS * DIM);
    kv.store(0, &k, &k);
    let q = random.values(n * HEADS * DIM);
    let mut out = vec![0.0; q.len()];
    let how = Attend { heads: HEADS, window: None, scale: 0.125, softcap: None };
    let seen: usize = (start + 1..=start + n).sum();
    bencher
        .counter(BytesCount::new((start + n) * KV_HEADS * DIM * 2 * 2))
        .counter(ItemsCount::new(4 * seen * HEADS * DIM))
        .bench_local(|| machine.attend(&stop, &q, &kv, start, &how, &mut out));
}
