//! Ctrl-C and a request to end: the first one asks to stop, the second one ends the process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use recinto_engine::Stop;

use crate::{exit::Exit, failure::Failure};

/// Whether somebody asked to stop.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// How often a wait looks up.
    pub const STEP: Duration = Duration::from_millis(50);

    /// Starts listening.
    pub fn listen() -> Result<Interrupt, Failure> {
        let flag = recinto_os::signal::interrupts()
            .map_err(|e| Failure::running(format!("cannot listen for signals: {e}")))?;
        Ok(Interrupt(flag))
    }

    /// For commands that compute no answer: the first one ends the process, whatever it does.
    pub fn at_once() -> Result<Interrupt, Failure> {
        recinto_os::signal::end_at_once()
            .map_err(|e| Failure::running(format!("cannot listen for signals: {e}")))?;
        Ok(Interrupt(Arc::default()))
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Forgets the last one, before the next answer.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// The same for the engine.
    pub fn stop(&self) -> Stop {
        Stop::new(Arc::clone(&self.0), None)
    }

    /// Runs `work` that cannot be interrupted on a thread of its own, and waits for it or for
    /// Ctrl-C, whichever comes first.
    pub fn wait_for<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = mpsc::sync_channel(1);
        std::thread::spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(Interrupt::STEP) {
                Ok(done) => return Ok(done),
                Err(mpsc::RecvTimeoutError::Timeout) if self.is_set() => {
                    return Err(Failure::silent(Exit::Interrupted));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::running("reading ended unexpectedly"));
                }
            }
        }
    }
}
