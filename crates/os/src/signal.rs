//! Ctrl-C and a polite request to end: a flag first, the end of the process the second time.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// The exit code of an interrupted process, as shells count it.
pub const INTERRUPTED: i32 = 130;

/// A flag that SIGINT or SIGTERM sets. A SIGINT that finds it already set ends the process at
/// once with [`INTERRUPTED`]; who has answered the first one clears the flag.
pub fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Actions run in the order of registration: look at the flag before it is set.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&interrupted))?;
    flag::register(SIGINT, Arc::clone(&interrupted))?;
    flag::register(SIGTERM, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

#[cfg(test)]
mod tests {
    use std::{process::Command, sync::atomic::Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    const CHILD: &str = "RECINTO_OS_SIGNAL_TEST";

    /// Runs in a process of its own: the parent starts this very test again.
    fn child(script: &str) -> ! {
        let flag = interrupts().unwrap();
        for letter in script.chars() {
            match letter {
                'i' => kill_process(getpid(), Signal::INT).unwrap(),
                't' => kill_process(getpid(), Signal::TERM).unwrap(),
                'c' => flag.store(false, Ordering::SeqCst),
                _ => unreachable!(),
            }
            // Any thread may take the signal; wait until the flag shows it.
            let want = letter != 'c';
            for _ in 0..1000 {
                if flag.load(Ordering::SeqCst) == want {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            if flag.load(Ordering::SeqCst) != want {
                std::process::exit(9);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::process::exit(7);
    }

    #[test]
    fn the_second_interrupt_ends() {
        if let Ok(script) = std::env::var(CHILD) {
            child(&script);
        }
        let cases = [
            ("one interrupt", "i", 7),
            ("one request to end", "t", 7),
            ("two interrupts", "ii", INTERRUPTED),
            ("answered in between", "ici", 7),
            ("answered, then twice", "icii", INTERRUPTED),
            ("two requests to end", "tt", 7),
            ("a request, then an interrupt", "ti", INTERRUPTED),
        ];
        for (name, script, want) in cases {
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["signal::tests::the_second_interrupt_ends", "--exact", "--nocapture"])
                .env(CHILD, script)
                .output()
                .unwrap()
                .status;
            assert_eq!(status.code(), Some(want), "{name}");
        }
    }
}
