//! The pool: every tile once, from any caller, whatever happens inside.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use recinto_kernels::Pool;

#[test]
fn every_tile_runs_once() {
    for threads in [0, 1, 2, 3, 8] {
        let pool = Pool::new(threads);
        assert_eq!(pool.threads(), threads.max(1));
        for tiles in [0, 1, 2, 3, 7, 64, 1000] {
            let seen: Vec<AtomicUsize> = (0..tiles).map(|_| AtomicUsize::new(0)).collect();
            pool.run(tiles, &|tile| {
                seen[tile].fetch_add(1, Ordering::Relaxed);
            });
            let all = seen.iter().all(|n| n.load(Ordering::Relaxed) == 1);
            assert!(all, "{threads} threads, {tiles} tiles");
        }
    }
}

#[test]
fn many_regions_from_two_callers() {
    // More threads than cores, two callers, and now and then a pause long enough to sleep.
    let pool = Pool::new(4);
    let total = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for caller in 0..2 {
            let (pool, total) = (&pool, &total);
            scope.spawn(move || {
                for i in 0..50_000 {
                    let inside = AtomicUsize::new(0);
                    pool.run(3, &|tile| {
                        inside.fetch_add(tile + 1, Ordering::Relaxed);
                    });
                    assert_eq!(inside.load(Ordering::Relaxed), 6);
                    total.fetch_add(1, Ordering::Relaxed);
                    if i % 10_000 == caller {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 100_000);
}

#[test]
fn a_region_inside_a_region_runs_on_the_spot() {
    let pool = Pool::new(3);
    let count = AtomicUsize::new(0);
    pool.run(5, &|_| {
        pool.run(4, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(count.load(Ordering::Relaxed), 20);
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let pool = Pool::new(3);
    for bad in [0, 3, 9] {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.run(10, &|tile| assert!(tile != bad, "tile {bad}"));
        }));
        let message = *caught.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, format!("tile {bad}"));
        let count = AtomicUsize::new(0);
        pool.run(10, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.load(Ordering::Relaxed), 10);
    }
}

#[test]
fn dropping_ends_the_threads() {
    let done = AtomicBool::new(false);
    for _ in 0..50 {
        let pool = Pool::new(4);
        pool.run(4, &|_| done.store(true, Ordering::Relaxed));
        drop(pool);
    }
    assert!(done.load(Ordering::Relaxed));
}
