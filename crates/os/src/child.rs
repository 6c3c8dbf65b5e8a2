//! Another process, run to its end: what it wrote, how long it took, what it used.
//!
//! It gets a process group of its own, so that ending it ends whatever it started too. When it ends
//! by itself, whatever it left behind in its group ends with it.

use std::{
    ffi::{c_int, c_long},
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::retry_on_intr,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

/// A started process.
pub struct Running {
    child: std::process::Child,
    began: Instant,
}

/// A finished process.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// From before it was started until it was gone.
    pub wall: Duration,
    /// What it wrote to standard output.
    pub out: Vec<u8>,
    /// What it used, with all of its own children that it waited for.
    pub used: Used,
}

/// What a process used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// The most memory that was resident at once, in bytes. The system counts the memory of
    /// whoever started the process in, as it was at that moment: start it from a small one.
    pub peak: u64,
}

/// Names a process that runs, so that another thread can end it.
#[derive(Clone, Copy, Debug)]
pub struct Group(Pid);

impl Group {
    /// Ends the process and all others of its group at once.
    pub fn end(self) {
        // It may be gone already.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// Starts `command` with nothing to read; its standard output is kept.
pub fn start(mut command: Command) -> io::Result<Running> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    let began = Instant::now();
    Ok(Running { child: command.spawn()?, began })
}

impl Running {
    /// The process's name for [`Group::end`].
    pub fn group(&self) -> Option<Group> {
        Pid::from_raw(self.child.id().try_into().ok()?).map(Group)
    }

    /// Waits for the end. More than `most` bytes of output are an error, and the process is
    /// ended then.
    pub fn wait(mut self, most: usize) -> io::Result<Ended> {
        let group = self.group().ok_or(io::ErrorKind::InvalidInput)?;
        let pipe = self.child.stdout.take();
        let (began, pid) = (self.began, self.child.id());
        let (out, ended) = std::thread::scope(|scope| {
            let end = std::thread::Builder::new().spawn_scoped(scope, move || {
                // Its number is not given to anybody else before it is waited for.
                let still = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                let gone = retry_on_intr(|| waitid(WaitId::Pid(group.0), still));
                let wall = began.elapsed();
                // Who was left behind could hold the pipe open.
                group.end();
                gone.map_err(io::Error::from).and_then(|_| Ok((wall, wait(pid)?)))
            });
            let mut out = Vec::new();
            let read = pipe.map_or(Ok(0), |pipe| pipe.take(most as u64 + 1).read_to_end(&mut out));
            if read.is_err() || end.is_err() || out.len() > most {
                group.end();
            }
            let ended = match end {
                Ok(end) => end.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())),
                Err(refused) => wait(pid).and(Err(refused)),
            };
            (read.map(|_| out), ended)
        });
        let (out, (wall, (status, used))) = (out?, ended?);
        if out.len() > most {
            let what = format!("more than {most} bytes of output");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        Ok(Ended { status, wall, out, used })
    }
}

/// `struct rusage` of `getrusage(2)` on Linux: two times, then counts, the first of which is the
/// peak in KiB.
#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [c_long; 2],
    system: [c_long; 2],
    peak: c_long,
    others: [c_long; 13],
}

unsafe extern "C" {
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int;
}

fn wait(pid: u32) -> io::Result<(ExitStatus, Used)> {
    let pid = c_int::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let (mut status, mut usage) = (0, Usage::default());
    loop {
        // SAFETY: both pointers are to live values of the sizes that the C interface states.
        let done = unsafe { wait4(pid, &raw mut status, 0, &raw mut usage) };
        if done == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let time = |[seconds, micros]: [c_long; 2]| {
        let part = |n: c_long| u64::try_from(n).unwrap_or(0);
        Duration::from_secs(part(seconds)) + Duration::from_micros(part(micros))
    };
    let used = Used {
        cpu: time(usage.user) + time(usage.system),
        peak: u64::try_from(usage.peak).unwrap_or(0).saturating_mul(1024),
    };
    Ok((ExitStatus::from_raw(status), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        start(command).unwrap()
    }

    #[test]
    fn what_it_wrote_and_how_it_ended() {
        let cases = [
            ("text", "echo año", Some(0), "año\n"),
            ("code", "exit 7", Some(7), ""),
            ("signal", "kill -9 $$", None, ""),
        ];
        for (name, line, code, out) in cases {
            let ended = shell(line).wait(100).unwrap();
            assert_eq!(
                (ended.status.code(), ended.out.as_slice()),
                (code, out.as_bytes()),
                "{name}"
            );
            assert!(ended.used.peak > 100 << 10, "{name}: {:?}", ended.used);
        }
        assert!(shell("sleep 0.1").wait(0).unwrap().wall >= Duration::from_millis(100));
    }

    #[test]
    fn memory_and_time_are_its_own() {
        let ended =
            shell("head -c 60000000 /dev/zero | tail -c 60000000 | wc -c").wait(99).unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.out).trim(), "60000000");
        assert!(ended.used.peak >= 60_000_000, "{:?}", ended.used);
        assert!(ended.used.cpu > Duration::ZERO && ended.used.cpu < Duration::from_secs(60));
    }

    #[test]
    fn what_it_left_behind_ends_with_it() {
        let cases = [
            ("holds the pipe", "sleep 61 & echo $!"),
            ("lets go of it", "sleep 62 >/dev/null & echo $!"),
            ("ends badly", "sleep 63 & echo $!; exit 3"),
        ];
        for (name, line) in cases {
            let ended = shell(line).wait(100).unwrap();
            assert!(ended.wall < Duration::from_secs(20), "{name}: {:?}", ended.wall);
            let pid: u32 = String::from_utf8(ended.out).unwrap().trim().parse().unwrap();
            // Gone, or about to be collected by whoever adopted it.
            let until = Instant::now() + Duration::from_secs(10);
            let runs = || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.is_ok_and(|stat| !stat.contains(") Z "))
            };
            while runs() {
                assert!(Instant::now() < until, "{name}: {pid} still runs");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn a_flood_and_a_sleeper_are_ended() {
        let began = Instant::now();
        assert!(shell("yes; sleep 60").wait(1000).unwrap_err().to_string().contains("1000 bytes"));
        let running = shell("sleep 60 | sleep 60");
        let group = running.group().unwrap();
        let waiter = std::thread::spawn(move || running.wait(10).unwrap().status.signal());
        std::thread::sleep(Duration::from_millis(50));
        group.end();
        assert_eq!(waiter.join().unwrap(), Some(9));
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
