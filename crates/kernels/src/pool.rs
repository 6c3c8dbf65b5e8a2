//! Threads for parallel regions: they spin for a moment after a region, then sleep.
//!
//! A region is `tiles` calls of one function, each made exactly once by some thread; the calling
//! thread takes part. A thread that wakes late finds the region closed and is never waited for,
//! so a busy machine costs speed and nothing else.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a thread looks for work before it sleeps: longer than the gap between two regions of
/// one step, shorter than anybody notices.
const SPIN: Duration = Duration::from_micros(40);
/// Within that, how long it does so without offering the core to others.
const HOT: Duration = Duration::from_micros(15);

/// `state`: bits 0–30 threads inside, bit 31 open, bits 32–63 number of the region.
const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;

type Task = dyn Fn(usize, usize) + Sync;

/// What a region does. Written while closed and empty, read by those inside.
struct Region {
    task: *const Task,
    tiles: usize,
    caller: Thread,
}

struct Shared {
    state: AtomicU64,
    next: AtomicUsize,
    region: UnsafeCell<Option<Region>>,
    /// The caller sleeps until the last thread leaves.
    waiting: AtomicBool,
    quit: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    asleep: Vec<AtomicBool>,
}

// SAFETY: `region` is written only by the holder of `Pool::turn` while the state is closed with
// nobody inside, and read only by threads counted inside; the state's atomics order the two.
// Its raw pointer is to a `Sync` function that outlives the region.
unsafe impl Sync for Shared {}
// SAFETY: as above; nothing in it belongs to one thread.
unsafe impl Send for Shared {}

thread_local! {
    /// Whether this thread is running a tile: a region inside a region runs on the spot.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A fixed set of threads. Dropping it ends and joins them.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    turn: Mutex<()>,
}

impl Pool {
    /// A pool of `threads` threads, the caller's among them (so `threads − 1` are started). Where
    /// the system refuses a thread, the pool has fewer.
    pub fn new(threads: usize) -> Pool {
        let others = threads.clamp(1, 4096) - 1;
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            region: UnsafeCell::new(None),
            waiting: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            panic: Mutex::new(None),
            asleep: (0..others).map(|_| AtomicBool::new(false)).collect(),
        });
        let mut threads = Vec::with_capacity(others);
        for worker in 1..=others {
            let shared = shared.clone();
            let name = format!("recinto-{worker}");
            match std::thread::Builder::new().name(name).spawn(move || serve(&shared, worker)) {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
        Pool { shared, threads, turn: Mutex::new(()) }
    }

    /// Threads that take part, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Calls `task(tile)` once for every tile in `0..tiles`, on all threads; returns when all are
    /// done. If a task panics, the rest is skipped and the panic goes on here.
    pub fn run(&self, tiles: usize, task: &(dyn Fn(usize) + Sync)) {
        self.run_with(tiles, &|_, tile| task(tile));
    }

    /// As [`Pool::run`] with the thread's number first: below [`Pool::threads`]. Two calls with
    /// one number may overlap only from different callers.
    pub(crate) fn run_with(&self, tiles: usize, task: &(dyn Fn(usize, usize) + Sync)) {
        if tiles <= 1 || self.threads.is_empty() || BUSY.get() {
            for tile in 0..tiles {
                task(0, tile);
            }
            return;
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        // SAFETY: only the lifetime is forgotten; nobody is inside after `close` returns, and
        // `close` runs before this function returns or unwinds.
        let task: *const Task =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize, usize) + Sync), _>(task) };
        let region = Region { task, tiles, caller: std::thread::current() };
        // SAFETY: `turn` is held, the state is closed and nobody is inside: no other reference.
        unsafe { *shared.region.get() = Some(region) };
        shared.next.store(0, Ordering::Relaxed);
        let number = (shared.state.load(Ordering::Relaxed) >> 32) as u32;
        let open = (u64::from(number.wrapping_add(1)) << 32) | OPEN;
        shared.state.store(open, Ordering::SeqCst);
        for (asleep, thread) in shared.asleep.iter().zip(&self.threads).take(tiles - 1) {
            if asleep.swap(false, Ordering::SeqCst) {
                thread.thread().unpark();
            }
        }
        work(shared, task, tiles, 0);
        close(shared);
        let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(turn);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A worker catches every panic of a task; there is nothing to learn from the join.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} threads)", self.threads())
    }
}

/// Takes tiles until there are none; keeps a panic for the caller and ends the region.
fn work(shared: &Shared, task: *const Task, tiles: usize, worker: usize) {
    BUSY.set(true);
    let done = catch_unwind(AssertUnwindSafe(|| {
        loop {
            let tile = shared.next.fetch_add(1, Ordering::Relaxed);
            if tile >= tiles {
                break;
            }
            // SAFETY: the caller keeps the task alive until nobody is inside the region.
            unsafe { (*task)(worker, tile) };
        }
    }));
    BUSY.set(false);
    if let Err(panic) = done {
        // Far above any count, and far from wrapping round.
        shared.next.store(usize::MAX / 2, Ordering::Relaxed);
        let mut first = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(panic);
    }
}

/// Lets nobody in any more and waits until those inside have left.
fn close(shared: &Shared) {
    shared.state.fetch_and(!OPEN, Ordering::SeqCst);
    let empty = || shared.state.load(Ordering::SeqCst) & INSIDE == 0;
    if spin_until(empty) {
        return;
    }
    shared.waiting.store(true, Ordering::SeqCst);
    while !empty() {
        std::thread::park();
    }
    shared.waiting.store(false, Ordering::SeqCst);
}

/// Looks at `ready` for [`SPIN`]; whether it came true.
fn spin_until(ready: impl Fn() -> bool) -> bool {
    let mut start = None;
    loop {
        for _ in 0..32 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        let spent = start.get_or_insert_with(Instant::now).elapsed();
        if spent > SPIN {
            return false;
        }
        if spent > HOT {
            std::thread::yield_now();
        }
    }
}

/// The life of a started thread.
fn serve(shared: &Shared, worker: usize) {
    let asleep = &shared.asleep[worker - 1];
    let mut seen = 0u64;
    loop {
        let new = || {
            let state = shared.state.load(Ordering::SeqCst);
            (state & OPEN != 0 && state >> 32 != seen) || shared.quit.load(Ordering::SeqCst)
        };
        if !spin_until(new) {
            // First say so, then look once more: the caller opens first, then looks who sleeps.
            asleep.store(true, Ordering::SeqCst);
            while !new() {
                std::thread::park();
                asleep.store(true, Ordering::SeqCst);
            }
            asleep.store(false, Ordering::SeqCst);
        }
        if shared.quit.load(Ordering::SeqCst) {
            return;
        }
        let mut state = shared.state.load(Ordering::SeqCst);
        while state & OPEN != 0 && state >> 32 != seen {
            let entered = shared.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
            match entered {
                Ok(_) => {
                    seen = state >> 32;
                    serve_region(shared, worker);
                    break;
                }
                Err(now) => state = now,
            }
        }
    }
}

/// One region, by a thread that has been counted in.
fn serve_region(shared: &Shared, worker: usize) {
    // SAFETY: counted inside, so nobody writes the region until this thread has left.
    let region = unsafe { (*shared.region.get()).as_ref() };
    let Some(Region { task, tiles, caller }) = region else { return };
    // Cloned before leaving: afterwards the region may be another one.
    let (task, tiles, caller) = (*task, *tiles, caller.clone());
    work(shared, task, tiles, worker);
    let before = shared.state.fetch_sub(1, Ordering::SeqCst);
    if before & INSIDE == 1 && shared.waiting.load(Ordering::SeqCst) {
        caller.unpark();
    }
}
