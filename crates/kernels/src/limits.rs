//! What this machine can do at the most: the rates that measured speeds are held against.
//!
//! Each is a loop that does nothing else: sums of 8-bit products that never leave the registers,
//! and reading bytes once, in order, a contiguous part a thread. Threads are started for the call
//! and are not those of a pool, so nothing of ours can slow them down.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::level::{Kernels, Level};

/// How long [`read_rate`] reads at least; small inputs are read several times.
const READ: Duration = Duration::from_millis(30);

/// Turns of a loop between two looks at the clock.
const TURNS: u64 = 20_000;

/// Multiplications and additions of 8-bit numbers a second that `threads` threads reach with the
/// instructions of the level, for at least `time`. Each product counts as two operations.
///
/// The sequence is the one with the fewest instructions a product. With AVX2 that is a product of
/// pairs added up in 16 bits, as kernels of 4- and 5-bit weights do it for a few steps at a time;
/// widening the sums to 32 bits is left out. The portable level has no instruction of its own:
/// there it is what the compiler makes of a plain loop.
pub fn int8_rate(kernels: Kernels, threads: usize, time: Duration) -> f64 {
    let (turn, operations) = spin_of(kernels.level());
    let (turns, seconds) = together(threads, |_| {
        let (began, mut turns) = (Instant::now(), 0);
        while began.elapsed() < time {
            turn(TURNS);
            turns += TURNS;
        }
        turns
    });
    turns as f64 * operations / seconds
}

/// Bytes a second at which `threads` threads read `bytes` where they lie, the better of plain
/// reading and reading with prefetch; 0 for no bytes. The first pass, which brings in pages, is
/// not counted.
pub fn read_rate(bytes: &[u8], threads: usize) -> f64 {
    if bytes.is_empty() {
        return 0.0;
    }
    black_box(sum(bytes));
    plain_rate(bytes, threads).max(ahead_rate(bytes, threads))
}

fn plain_rate(bytes: &[u8], threads: usize) -> f64 {
    passes(bytes, threads, sum)
}

fn passes(bytes: &[u8], threads: usize, read: fn(&[u8]) -> u64) -> f64 {
    let part = bytes.len().div_ceil(threads.max(1)).next_multiple_of(64);
    let (read, seconds) = together(threads, |thread| {
        let part = bytes.chunks(part).nth(thread).unwrap_or(&[]);
        let (began, mut count) = (Instant::now(), 0);
        while !part.is_empty() && (count == 0 || began.elapsed() < READ) {
            black_box(read(black_box(part)));
            count += part.len() as u64;
        }
        count
    });
    read as f64 / seconds
}

/// Runs `work` on `threads` threads at once: the sum of what it gives, and the seconds of the
/// longest one.
fn together(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> (u64, f64) {
    let threads = threads.max(1);
    let (barrier, work) = (&Barrier::new(threads), &work);
    let timed = move |thread: usize| {
        barrier.wait();
        let began = Instant::now();
        (work(thread), began.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || timed(n))).collect();
        let first = timed(0);
        let ends = others.into_iter().map(|t| t.join().unwrap_or_default());
        ends.fold(first, |(sum, most), (n, time)| (sum + n, f64::max(most, time)))
    })
}

/// The sum of all words: what reading everything costs when nothing is computed.
fn sum(bytes: &[u8]) -> u64 {
    let (lines, rest) = bytes.as_chunks::<64>();
    let mut sums = [0u64; 8];
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    let rest = rest.iter().fold(0u64, |a, b| a.wrapping_add(u64::from(*b)));
    sums.iter().fold(rest, |a, b| a.wrapping_add(*b))
}

/// One turn of the plain loop: this many products.
const PLAIN: usize = 256;

fn plain(turns: u64) {
    let (mut a, b) = ([3i8; PLAIN], black_box([5i8; PLAIN]));
    let mut total = 0i32;
    for _ in 0..turns.div_ceil(16) {
        let a = black_box(&mut a);
        let products = a.iter().zip(&b).map(|(x, y)| i32::from(*x) * i32::from(*y));
        total = total.wrapping_add(products.sum::<i32>());
    }
    black_box(total);
}

/// A loop of some turns, and the operations of one turn.
type Spin = (fn(u64), f64);

/// The loop of a level; a new level names the instructions that multiply its bytes.
fn spin_of(level: Level) -> Spin {
    match level {
        Level::Portable => (plain, 2.0 * PLAIN as f64 / 16.0),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (x86_64::pairs, 6.0 * 64.0),
        #[cfg(target_arch = "x86_64")]
        Level::AvxVnni => (x86_64::fours_of_32, 12.0 * 64.0),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => (x86_64::pairs_of_64, 6.0 * 128.0),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vnni => (x86_64::fours, 12.0 * 128.0),
        #[cfg(not(target_arch = "x86_64"))]
        _ => (plain, 2.0 * PLAIN as f64 / 16.0),
    }
}

#[cfg(target_arch = "x86_64")]
fn ahead_rate(bytes: &[u8], threads: usize) -> f64 {
    passes(bytes, threads, x86_64::sum_ahead)
}

#[cfg(not(target_arch = "x86_64"))]
fn ahead_rate(_: &[u8], _: usize) -> f64 {
    0.0
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    /// Bytes of one stretch, and how far ahead of it memory is asked for.
    const STRETCH: usize = 4096;

    /// As [`super::sum`], each line asked for a stretch before it is read.
    pub(super) fn sum_ahead(bytes: &[u8]) -> u64 {
        let mut all = 0u64;
        for stretch in bytes.chunks(STRETCH) {
            for line in stretch.chunks(64) {
                let ahead = line.as_ptr().wrapping_add(STRETCH);
                // SAFETY: a prefetch reads nothing and faults nowhere, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) };
            }
            all = all.wrapping_add(super::sum(stretch));
        }
        all
    }

    /// A loop of some turns. The lines spread the seed from `xmm12` over registers 12 and 13, then
    /// open the loop with label 2 and say what one turn does.
    macro_rules! spin {
        ($(#[$doc:meta])* $name:ident, $level:literal, $seed:literal: $($line:expr),* $(,)?) => {
            $(#[$doc])*
            #[doc = concat!("Called for levels with ", $level, " only.")]
            pub(super) fn $name(turns: u64) {
                // SAFETY: called for levels that have the instructions. Registers only, all of
                // them named below, no memory, no stack; the loop ends after `turns` turns, of
                // which there is at least one.
                unsafe {
                    asm!(
                        "vmovd xmm12, {seed:e}",
                        $($line,)*
                        "dec {turns}",
                        "jnz 2b",
                        "vzeroupper",
                        seed = in(reg) $seed,
                        turns = inout(reg) turns.max(1) => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _,
                        options(nomem, nostack),
                    );
                }
            }
        };
    }

    /// One turn of twelve chains of `vpdpbusd`, in registers of a width, encoded as `$how` says.
    macro_rules! fours {
        ($how:literal, $w:literal) => {
            concat!(
                fours!($how, $w, "0"),
                fours!($how, $w, "1"),
                fours!($how, $w, "2"),
                fours!($how, $w, "3"),
                fours!($how, $w, "4"),
                fours!($how, $w, "5"),
                fours!($how, $w, "6"),
                fours!($how, $w, "7"),
                fours!($how, $w, "8"),
                fours!($how, $w, "9"),
                fours!($how, $w, "10"),
                fours!($how, $w, "11"),
            )
        };
        ($how:literal, $w:literal, $n:literal) => {
            concat!($how, "vpdpbusd ", $w, "mm", $n, ", ", $w, "mm12, ", $w, "mm13\n")
        };
    }

    /// One turn of six chains of `vpmaddubsw` and `vpaddw`, in registers of a width.
    macro_rules! pairs {
        ($w:literal) => {
            concat!(
                pairs!($w, "6"),
                pairs!($w, "7"),
                pairs!($w, "8"),
                pairs!($w, "9"),
                pairs!($w, "10"),
                pairs!($w, "11"),
                pairs!($w, "0", "6"),
                pairs!($w, "1", "7"),
                pairs!($w, "2", "8"),
                pairs!($w, "3", "9"),
                pairs!($w, "4", "10"),
                pairs!($w, "5", "11"),
            )
        };
        ($w:literal, $n:literal) => {
            concat!("vpmaddubsw ", $w, "mm", $n, ", ", $w, "mm12, ", $w, "mm13\n")
        };
        ($w:literal, $to:literal, $n:literal) => {
            concat!("vpaddw ", $w, "mm", $to, ", ", $w, "mm", $to, ", ", $w, "mm", $n, "\n")
        };
    }

    spin!(
        /// Six independent chains of `vpmaddubsw` and `vpaddw` on 32 bytes.
        pairs, "AVX2", 3u32:
        "vpbroadcastb ymm12, xmm12", "vmovdqa ymm13, ymm12", "2:", pairs!("y"),
    );
    spin!(
        /// Six independent chains of `vpmaddubsw` and `vpaddw` on 64 bytes.
        pairs_of_64, "AVX-512", 3u32:
        "vpbroadcastb zmm12, xmm12", "vmovdqa64 zmm13, zmm12", "2:", pairs!("z"),
    );
    spin!(
        /// Twelve independent chains of `vpdpbusd` on 32 bytes, as AVX-VNNI encodes them.
        fours_of_32, "AVX-VNNI", 0x0102_0304u32:
        "vpbroadcastd ymm12, xmm12", "vmovdqa ymm13, ymm12", "2:", fours!("{{vex}} ", "y"),
    );
    spin!(
        /// Twelve independent chains of `vpdpbusd` on 64 bytes.
        fours, "AVX-512 VNNI", 0x0102_0304u32:
        "vpbroadcastd zmm12, xmm12", "vmovdqa64 zmm13, zmm12", "2:", fours!("", "z"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_has_a_rate() {
        for len in [0, 1, 63, 64, 100_000, 1 << 20] {
            let bytes = vec![7u8; len];
            for threads in [1, 2, 3] {
                let rate = read_rate(&bytes, threads);
                assert_eq!(rate > 0.0, len > 0, "{len} bytes, {threads} threads: {rate}");
                assert!(rate.is_finite(), "{len} bytes, {threads} threads");
            }
            #[cfg(target_arch = "x86_64")]
            assert_eq!(x86_64::sum_ahead(&bytes), sum(&bytes), "{len}");
        }
        assert_eq!(sum(&[1; 65]), 0x0101_0101_0101_0101 * 8 + 1);
    }
}
