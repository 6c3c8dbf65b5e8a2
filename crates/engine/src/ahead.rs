//! Makes pages of the mapped weights this process's before the prompt needs them.
//!
//! A page that is in the system's cache still costs a fault at its first use, some 35 ms for half
//! a gigabyte in small pages. While one thread opens the model, another core is often idle: there
//! they are touched. Where the weights are hashed beside, that does the same.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use recinto_arch::{Op, Program};
use recinto_weights::File;

/// The system maps this many bytes around one that is touched (`fault_around_bytes`).
const WINDOW: usize = 1 << 16;

/// A thread that touches weights, for as long as this value lives.
pub(crate) struct Ahead(Arc<AtomicBool>);

impl Ahead {
    /// Starts on the weights of every product of `program`, in its order. Rows of an embedding
    /// are few, and stay where they are. Without a thread to spare nothing happens.
    ///
    /// `first` is done before that: some milliseconds that the first reply would wait for.
    pub fn start(
        file: &Arc<File>,
        program: &Program,
        first: impl FnOnce() + Send + 'static,
    ) -> Ahead {
        let ended = Arc::new(AtomicBool::new(false));
        let (file, stop) = (Arc::clone(file), Arc::clone(&ended));
        let weights: Vec<usize> = products(program).collect();
        let work = move || {
            first();
            let _ = recinto_os::cpus::yield_to_others();
            weights.into_iter().for_each(|id| touch(file.tensor(id).bytes, &stop));
        };
        let _ = std::thread::Builder::new().name("recinto-ahead".into()).spawn(work);
        Ahead(ended)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn products(program: &Program) -> impl Iterator<Item = usize> {
    program.instructions.iter().filter_map(|instruction| match instruction.op {
        Op::Linear { weight, .. } => Some(weight.0),
        _ => None,
    })
}

fn touch(bytes: &[u8], stop: &AtomicBool) {
    for at in places(bytes.as_ptr().addr(), bytes.len()) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        black_box(bytes.get(at).copied());
    }
}

/// One place in each window that `len` bytes from `address` on lie in.
fn places(address: usize, len: usize) -> impl Iterator<Item = usize> {
    let second = WINDOW - address % WINDOW;
    std::iter::once(0).take(len).chain((second..len).step_by(WINDOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_is_touched_once() {
        let cases = [
            ("nothing", 3, 0),
            ("one byte", 5 * WINDOW - 1, 1),
            ("over a border", 5 * WINDOW - 1, 2),
            ("a window", 2 * WINDOW, WINDOW),
            ("a window and one", 2 * WINDOW, WINDOW + 1),
            ("several", 2 * WINDOW + 17, 3 * WINDOW),
        ];
        for (name, address, len) in cases {
            let got: Vec<usize> = places(address, len).map(|at| (address + at) / WINDOW).collect();
            let mut want: Vec<usize> = (address..address + len).map(|at| at / WINDOW).collect();
            want.dedup();
            assert_eq!(got, want, "{name}");
            assert!(places(address, len).all(|at| at < len), "{name}");
        }
    }
}
