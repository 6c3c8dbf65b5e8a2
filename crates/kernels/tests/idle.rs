//! An idle pool uses no processor time. Alone in its file: the time is that of the process.

use std::time::Duration;

use recinto_kernels::Pool;

/// Processor time of this process, in ticks of the system (10 ms).
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn an_idle_pool_sleeps() {
    let pool = Pool::new(5);
    pool.run(5, &|_| {});
    std::thread::sleep(Duration::from_millis(20));
    let before = ticks();
    std::thread::sleep(Duration::from_millis(500));
    let spent = ticks() - before;
    // Four threads that spin would take some 100 ticks or more on two cores.
    assert!(spent <= 5, "{spent} ticks of an idle pool");
    pool.run(5, &|_| {});
}
