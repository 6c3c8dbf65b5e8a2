//! Memory for what must not stay behind: wiped whenever it is given back, and kept out of the
//! swap where that is asked for.
//!
//! A plain vector that grows leaves its old content on the heap; this one moves, then wipes.

use std::{fmt, io, ops};

use zeroize::Zeroize;

use crate::memory;

/// Values that are wiped when they are dropped, cleared, shortened or moved to a larger place.
pub struct Wiped<T: Zeroize + Copy + Default> {
    values: Vec<T>,
    lock: bool,
    refused: bool,
}

impl<T: Zeroize + Copy + Default> Wiped<T> {
    /// Empty, nothing allocated. With `lock`, every place it ever takes is locked in memory.
    pub fn new(lock: bool) -> Wiped<T> {
        Wiped { values: Vec::new(), lock, refused: false }
    }

    /// Whether the system once refused to lock; the values are then only wiped.
    pub fn refused(&self) -> bool {
        self.refused
    }

    /// Values there is room for without moving.
    pub fn room(&self) -> usize {
        self.values.capacity()
    }

    /// Room for `len` values in all; an error when there is no memory for them.
    pub fn try_reserve(&mut self, len: usize) -> io::Result<()> {
        if len <= self.values.capacity() {
            return Ok(());
        }
        let room = len.max(self.values.len().saturating_mul(2)).max(64);
        let mut larger: Vec<T> = Vec::new();
        larger.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if self.lock {
            // Only initialised values can be lent; the length goes back right after.
            larger.resize(room, T::default());
            self.refused |= memory::lock(&larger).is_err();
            larger.clear();
        }
        larger.extend_from_slice(&self.values);
        self.values.zeroize();
        self.values = larger;
        Ok(())
    }

    /// Adds one value.
    pub fn push(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }

    /// Adds values at the end.
    ///
    /// # Panics
    /// When there is no memory; [`Wiped::try_reserve`] before it is the way without one.
    pub fn extend_from_slice(&mut self, more: &[T]) {
        let len = self.values.len().checked_add(more.len()).expect("a length in memory");
        self.try_reserve(len).expect("memory");
        self.values.extend_from_slice(more);
    }

    /// Makes it `len` values long, new ones with their default; an error without memory.
    pub fn try_resize(&mut self, len: usize) -> io::Result<()> {
        self.truncate(len);
        self.try_reserve(len)?;
        self.values.resize(len, T::default());
        Ok(())
    }

    /// Forgets every value from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if let Some(tail) = self.values.get_mut(len..) {
            tail.iter_mut().for_each(Zeroize::zeroize);
            self.values.truncate(len);
        }
    }

    /// Forgets the first `len` values and moves the rest to the front.
    pub fn drop_front(&mut self, len: usize) {
        let len = len.min(self.values.len());
        self.values.copy_within(len.., 0);
        self.truncate(self.values.len() - len);
    }

    /// Forgets every value; the room stays.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl<T: Zeroize + Copy + Default> Default for Wiped<T> {
    fn default() -> Wiped<T> {
        Wiped::new(false)
    }
}

impl<T: Zeroize + Copy + Default> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.values.zeroize();
    }
}

impl<T: Zeroize + Copy + Default> ops::Deref for Wiped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Zeroize + Copy + Default> ops::DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Shows the length only.
impl<T: Zeroize + Copy + Default> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiped").field("len", &self.values.len()).finish_non_exhaustive()
    }
}

/// Text that is wiped like [`Wiped`].
#[derive(Default)]
pub struct WipedText(Wiped<u8>);

impl WipedText {
    /// Empty, nothing allocated; see [`Wiped::new`].
    pub fn new(lock: bool) -> WipedText {
        WipedText(Wiped::new(lock))
    }

    /// Whether the system once refused to lock.
    pub fn refused(&self) -> bool {
        self.0.refused()
    }

    /// Adds text at the end.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Forgets the first `len` bytes.
    ///
    /// # Panics
    /// When that is not the border of a character.
    pub fn drop_front(&mut self, len: usize) {
        assert!(self.as_str().is_char_boundary(len), "a character's border");
        self.0.drop_front(len);
    }

    /// Forgets every byte from `len` on.
    ///
    /// # Panics
    /// When that is not the border of a character.
    pub fn truncate(&mut self, len: usize) {
        assert!(len >= self.0.len() || self.as_str().is_char_boundary(len), "a character's border");
        self.0.truncate(len);
    }

    /// Forgets all of it; the room stays.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Only whole texts go in, and only whole characters are taken off.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl ops::Deref for WipedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for WipedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_behaves_as_a_vector() {
        let mut ids: Wiped<u32> = Wiped::new(false);
        for i in 0..1000 {
            ids.push(i);
        }
        assert_eq!(ids.iter().sum::<u32>(), 499_500);
        ids.drop_front(10);
        assert_eq!((ids[0], ids.len()), (10, 990));
        ids.truncate(1);
        assert_eq!(&ids[..], [10]);
        ids.try_resize(3).unwrap();
        assert_eq!(&ids[..], [10, 0, 0]);
        ids.drop_front(9);
        assert!(ids.is_empty() && format!("{ids:?}").contains("len: 0"));
        assert!(ids.try_reserve(usize::MAX / 8).is_err());
    }

    #[test]
    fn text_keeps_whole_characters() {
        let mut text = WipedText::new(false);
        text.push_str("¿Qué ");
        text.push_str("mañana?");
        text.drop_front("¿".len());
        assert_eq!(&*text, "Qué mañana?");
        text.truncate("Qué".len());
        assert_eq!(text.as_str(), "Qué");
        assert!(!format!("{text:?}").contains("Qu"));
    }

    #[test]
    fn locking_shows_in_the_process_or_is_told() {
        let before = memory::resident().unwrap().locked;
        let mut values: Wiped<u8> = Wiped::new(true);
        values.try_resize(64 << 10).unwrap();
        let after = memory::resident().unwrap().locked;
        assert!(values.refused() || after >= before + (60 << 10), "{before} {after}");
    }
}
