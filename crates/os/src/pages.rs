//! A private copy of bytes in large pages: filled once, then read-only.
//!
//! The copy is anonymous memory of this process alone: nobody who writes to the file changes it.

use std::{
    fs, io,
    ops::{ControlFlow, Deref, DerefMut},
    os::unix::fs::FileExt,
    sync::mpsc,
};

use memmap2::{Advice, Mmap, MmapMut};

/// Bytes of a large page.
pub const LARGE: usize = 2 << 20;

/// Memory that begins at the border of a large page, all zeros, still to be filled.
///
/// The system gives large pages where it can (`/sys/kernel/mm/transparent_hugepage/enabled` says
/// `always` or `madvise`), small ones else; no byte depends on it.
pub struct Pages {
    memory: MmapMut,
    start: usize,
    len: usize,
}

impl Pages {
    /// Room for `len` bytes; none of it is resident before it is written.
    pub fn new(len: usize) -> io::Result<Pages> {
        let too_long = || io::Error::from(io::ErrorKind::OutOfMemory);
        let room = len.checked_next_multiple_of(LARGE).ok_or_else(too_long)?;
        // One more, so that the border of a page lies inside wherever the system puts it.
        let memory = MmapMut::map_anon(room.checked_add(LARGE).ok_or_else(too_long)?)?;
        let address = memory.as_ptr().addr();
        let start = address.next_multiple_of(LARGE) - address;
        // Before the first touch, or small pages are already there; a refusal changes no byte.
        let _ = memory.advise_range(Advice::HugePage, start, room);
        Ok(Pages { memory, start, len })
    }

    /// Fills a copy of `source` from its front. `see` is shown every byte of the copy, in order,
    /// while the next ones are being read, and may break off with
    /// [`Interrupted`](io::ErrorKind::Interrupted).
    pub(crate) fn copy(
        source: Source<'_>,
        len: usize,
        see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> io::Result<Pages> {
        let mut pages = Pages::new(len)?;
        // Two chunks ahead: what is shown is then still in the caches.
        let (send, receive) = mpsc::sync_channel::<&[u8]>(2);
        std::thread::scope(|scope| -> io::Result<()> {
            let bytes = &mut pages[..];
            let read = std::thread::Builder::new().name("recinto-copy".into());
            let read = read.spawn_scoped(scope, move || -> io::Result<()> {
                let mut at = 0;
                for chunk in bytes.chunks_mut(LARGE) {
                    source.read(chunk, at)?;
                    at += chunk.len();
                    if send.send(chunk).is_err() {
                        return Ok(());
                    }
                }
                Ok(())
            })?;
            let mut flow = ControlFlow::Continue(());
            for chunk in &receive {
                flow = see(chunk);
                if flow.is_break() {
                    break;
                }
            }
            // A sender that waits for room wakes up and ends.
            drop(receive);
            let broken = || io::Error::other("the copying thread failed");
            read.join().map_err(|_| broken())??;
            match flow {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(io::ErrorKind::Interrupted.into()),
            }
        })?;
        Ok(pages)
    }

    /// No more writing, by nobody: the system refuses it from here on.
    ///
    /// Not sealed (`mseal`): a seal cannot be taken off, so a model that is dropped would keep its
    /// memory until the process ends.
    pub fn read_only(self) -> io::Result<Pinned> {
        let Pages { memory, start, len } = self;
        Ok(Pinned { memory: memory.make_read_only()?, start, len })
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// A filled copy that nobody writes to any more.
pub struct Pinned {
    memory: Mmap,
    start: usize,
    len: usize,
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

/// Where a copy's bytes come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// By reading, not through a mapping: a file that was cut short is an error then, and none
    /// of its pages become this process's.
    File(&'a fs::File),
    Bytes(&'a [u8]),
}

impl Source<'_> {
    fn read(self, out: &mut [u8], at: usize) -> io::Result<()> {
        match self {
            Source::File(file) => file.read_exact_at(out, at as u64),
            Source::Bytes(bytes) => {
                let end = at.checked_add(out.len());
                let part = end.and_then(|end| bytes.get(at..end));
                out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn copies_of_every_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("modelo");
        let cases = [
            ("nothing", 0),
            ("one", 1),
            ("a small page and one", 4097),
            ("one less", LARGE - 1),
            ("a page", LARGE),
            ("one more", LARGE + 1),
            ("several and a bit", 3 * LARGE + 12_345),
        ];
        for (name, len) in cases {
            let want = pattern(len);
            fs::write(&path, &want).unwrap();
            let file = fs::File::open(&path).unwrap();
            for source in [Source::File(&file), Source::Bytes(&want)] {
                let mut seen = Vec::new();
                let mut see = |bytes: &[u8]| {
                    seen.extend_from_slice(bytes);
                    ControlFlow::Continue(())
                };
                let pages = Pages::copy(source, len, &mut see).unwrap();
                assert!(*pages == want[..] && seen == want, "{name}");
                let pinned = pages.read_only().unwrap();
                assert!(*pinned == want[..], "{name}");
                assert!(pinned.as_ptr().addr().is_multiple_of(LARGE), "{name}");
            }
        }
        assert!(Pages::new(usize::MAX - 5).is_err());
        assert!(Pages::new(usize::MAX / 2).is_err());
    }

    #[test]
    fn a_short_file_and_a_caller_who_breaks_off() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &pattern(LARGE)).unwrap();
        let mut all = |_: &[u8]| ControlFlow::Continue(());
        let error = Pages::copy(Source::File(&file), LARGE + 1, &mut all).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let bytes = pattern(20 * LARGE);
        let mut count = 0;
        let mut third = |_: &[u8]| {
            count += 1;
            if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let error = Pages::copy(Source::Bytes(&bytes), bytes.len(), &mut third).err().unwrap();
        assert_eq!((error.kind(), count), (io::ErrorKind::Interrupted, 3));
    }

    #[test]
    fn pages_are_large_where_the_system_gives_them() {
        let enabled = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !enabled.is_ok_and(|text| text.contains("[always]") || text.contains("[madvise]")) {
            println!("skipped: the system gives no large pages");
            return;
        }
        let mut pages = Pages::new(16 * LARGE).unwrap();
        pages.fill(1);
        let pinned = pages.read_only().unwrap();
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let address = pinned.as_ptr().addr() as u64;
        let (mut large, mut inside) = (0u64, false);
        for line in smaps.lines() {
            let bounds = line.split(' ').next().and_then(|word| word.split_once('-'));
            let hex = |text| u64::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = bounds.map(|(a, b)| (hex(a), hex(b))) {
                inside = (from..to).contains(&address);
            } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
                large += rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
        }
        assert!(large > 0, "no large page at {address:x}");
    }
}
