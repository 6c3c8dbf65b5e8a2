//! What handing work over to the other threads costs, and finding out what this CPU can.

use divan::{Bencher, black_box};
use recinto_kernels::{Kernels, Pool};

/// An empty region of as many tiles as threads.
#[divan::bench(args = [1, 2, 4])]
fn hand_over(bencher: Bencher<'_, '_>, threads: usize) {
    let pool = Pool::new(threads);
    bencher.bench_local(|| {
        pool.run(threads, &|tile| {
            black_box(tile);
        })
    });
}

#[divan::bench]
fn detect() -> Kernels {
    Kernels::detect()
}
