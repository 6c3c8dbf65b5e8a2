//! Time: what this process has used and how old it is.

use std::{io, time::Duration};

use rustix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // These clocks never run below zero.
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}

/// CPU time of all threads of this process so far, user and system.
pub fn cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Time since the system started this process, with the loading of the program in it. The
/// system keeps the start in steps of 10 ms.
pub fn age() -> io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "no start time in /proc/self/stat");
    let ticks = start_ticks(&stat).ok_or_else(bad)?;
    let second = rustix::param::clock_ticks_per_second().max(1);
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(second);
    let started = Duration::from_nanos(u64::try_from(nanos).map_err(|_| bad())?);
    Ok(read(ClockId::Boottime).saturating_sub(started))
}

/// Field 22 of `proc(5)`'s `stat`. The second one is a name in parentheses that may itself hold
/// blanks and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time() {
        let before = cpu_time();
        let thread = || read(ClockId::ThreadCPUTime);
        let mine = thread();
        let mut x = 1u64;
        while thread() - mine < Duration::from_millis(20) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(cpu_time() - before >= Duration::from_millis(20), "{x}");
    }

    #[test]
    fn age_grows() {
        let first = age().unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let second = age().unwrap();
        assert!(second >= first + Duration::from_millis(25), "{first:?} {second:?}");
        assert!(first < Duration::from_secs(3600), "{first:?}");
    }

    #[test]
    fn names_do_not_confuse() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        let cases = [("7 (recinto) ", Some(4711)), ("7 (a) b (ñ)) ", Some(4711)), ("7 x ", None)];
        for (start, want) in cases {
            assert_eq!(start_ticks(&format!("{start}{rest}")), want, "{start}");
        }
        assert_eq!(start_ticks("7 (a) S 1 2"), None);
    }
}
