//! Ctrl-C and a polite request to end: a flag first, the end of the process the second time.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGBUS, SIGINT, SIGTERM, SIGXFSZ},
    flag, low_level,
};

/// The exit code of an interrupted process, as shells count it.
pub const INTERRUPTED: i32 = 130;

/// A flag that SIGINT or SIGTERM sets. Either of them that finds it already set ends the process
/// at once with [`INTERRUPTED`]; who has answered the first one clears the flag.
pub fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Actions run in the order of registration: look at the flag before it is set.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// From now on the first SIGINT or SIGTERM ends the process at once with [`INTERRUPTED`], also
/// out of a write that waits for a reader.
pub fn end_at_once() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::new(true.into()))?;
    }
    Ok(())
}

unsafe extern "C" {
    /// `signal` of POSIX; a handler is an address, and 0 is the system's own (`SIG_DFL`).
    safe fn signal(signal: i32, handler: usize) -> usize;
}

/// From now on a write beyond the limit of a file's size is an error like that of a full disk; left
/// alone, the signal ends the process before it could say so and clear up. Programs that it starts
/// inherit this. For a program's `main`.
pub fn limits_are_errors() {
    // 1 is POSIX's `SIG_IGN`.
    signal(SIGXFSZ, 1);
}

/// When a mapped file loses the page that is being read, says `message` on stderr and ends the
/// process with `code`. For a program's `main`: a library must leave signals alone.
pub fn end_when_cut_short(message: &'static str, code: i32) -> io::Result<()> {
    // A copy of the descriptor: the standard library's own stderr has a lock.
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    // Rust's runtime looks for stack overflows here, and resets the signal to its default before
    // the action below is called; a second thread on a lost page would then die by the signal.
    signal(SIGBUS, 0);
    let said = AtomicBool::new(false);
    let end = move || {
        // Several threads may lose a page at once; the first one speaks, and ends them all.
        while said.swap(true, Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        let _ = (&stderr).write_all(message.as_bytes());
        low_level::exit(code);
    };
    // SAFETY: all that the action calls is write and _exit, which POSIX lists as safe in a signal
    // handler, and an atomic flag; it neither allocates nor locks, and it does not return.
    unsafe { low_level::register(SIGBUS, end) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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
            ("two requests to end", "tt", INTERRUPTED),
            ("an interrupt, then a request", "it", INTERRUPTED),
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
