//! Pinned copies: the file's bytes are seen once and whole, and only what was asked is rewritten.

use crate::raw;

use std::{num::NonZeroUsize, ops::ControlFlow, path::Path};

use recinto_weights::{File, Kind, Rewrite, TensorInfo};

/// Two tensors of bytes (q8_0 blocks of 34) with a gap, and a tail, `size` bytes in all.
fn file_of(size: usize) -> Vec<u8> {
    let rows = size / 34 / 32 / 3;
    let first = (rows * 34 * 32) as u64;
    let mut bytes = raw::Raw::new(2, 1)
        .key("general.name", raw::STR)
        .str("año")
        .tensor("uno", &[32 * 32, rows as u64], 8, 0)
        .tensor("dos", &[32 * 32, rows as u64], 8, (first + 64).next_multiple_of(32))
        .pad(32)
        .0;
    assert!(bytes.len() < size && rows > 0, "the size must hold two tensors");
    let header = bytes.len();
    bytes.extend((header..size).map(|i| (i * 7 % 253) as u8));
    bytes
}

fn write(folder: &Path, bytes: &[u8]) -> File {
    let path = folder.join("modelo.gguf");
    std::fs::write(&path, bytes).unwrap();
    File::open(&path).unwrap()
}

fn pin(file: File, rewrite: &dyn Rewrite) -> (File, Vec<u8>) {
    let mut seen = Vec::new();
    let mut see = |_: usize, bytes: &[u8]| {
        seen.extend_from_slice(bytes);
        ControlFlow::Continue(())
    };
    let file = file.pin(3, rewrite, &mut see).unwrap();
    (file, seen)
}

/// Every tensor stays as the file has it.
struct AsStored;

impl Rewrite for AsStored {
    fn piece(&self, _: &TensorInfo) -> Option<NonZeroUsize> {
        None
    }

    fn rewrite(&self, _: &TensorInfo, _: usize, _: &[u8], _: &mut [u8]) {}
}

/// Turns the pieces of one tensor round.
struct Reverse(&'static str, usize);

impl Rewrite for Reverse {
    fn piece(&self, tensor: &TensorInfo) -> Option<NonZeroUsize> {
        (tensor.name == self.0).then_some(NonZeroUsize::new(self.1).unwrap())
    }

    fn rewrite(&self, tensor: &TensorInfo, at: usize, stored: &[u8], out: &mut [u8]) {
        assert_eq!((tensor.name.as_str(), at % self.1), (self.0, 0));
        assert_eq!(stored, out, "what was there before");
        out.copy_from_slice(stored);
        out.reverse();
    }
}

#[test]
fn a_copy_holds_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    const LARGE: usize = 2 << 20;
    let cases = [
        ("small", 40_000),
        ("one page", LARGE),
        ("a byte less", LARGE - 1),
        ("a byte more", LARGE + 1),
        ("several", 2 * LARGE + 77),
    ];
    for (name, size) in cases {
        let want = file_of(size);
        for file in [write(folder.path(), &want), File::from_bytes(want.clone()).unwrap()] {
            let identity = file.shards()[0].identity();
            let (file, seen) = pin(file, &AsStored);
            assert!(seen == want && file.shards()[0].bytes() == want && file.is_pinned(), "{name}");
            assert_eq!(file.shards()[0].identity(), identity, "{name}");
            assert_eq!(file.metadata().str("general.name").unwrap(), Some("año"), "{name}");
            for (index, tensor) in file.tensors().iter().enumerate() {
                let bytes = file.tensor(index).bytes;
                assert_eq!(bytes.len(), tensor.bytes(), "{name}");
                let inside = file.shards()[0].bytes().as_ptr_range();
                assert!(inside.contains(&bytes.as_ptr()), "{name}: tensors lie in the copy");
            }
            std::fs::write(folder.path().join("modelo.gguf"), "x").unwrap();
            let kept = file.shards()[0].bytes() == want;
            assert!(file.unchanged() && kept, "{name}: the file no longer counts");
        }
    }
}

#[test]
fn one_tensor_is_rewritten_and_all_bytes_are_seen_as_stored() {
    let folder = tempfile::tempdir().unwrap();
    let want = file_of(200_000);
    for (name, size) in [("uno", 34), ("dos", 34 * 32 + 1), ("dos", usize::MAX), ("none", 1)] {
        let before = write(folder.path(), &want);
        let index = before.find(name);
        let (file, seen) = pin(before, &Reverse(name, size));
        assert!(seen == want, "{name}, {size}: seen before it is rewritten");
        let stored = File::from_bytes(want.clone()).unwrap();
        for (i, tensor) in stored.tensors().iter().enumerate() {
            let mut bytes = stored.tensor(i).bytes.to_vec();
            if Some(i) == index {
                bytes.chunks_mut(size).for_each(<[u8]>::reverse);
            }
            assert!(file.tensor(i).bytes == bytes, "{name}, {size}: tensor {}", tensor.name);
        }
    }
}

#[test]
fn what_cannot_be_copied_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = file_of(100_000);
    let path = folder.path().join("modelo.gguf");
    type Change = fn(&Path, &[u8]);
    let cases: [(&str, Change, Kind, &str); 2] = [
        ("cut", |path, bytes| std::fs::write(path, &bytes[..999]).unwrap(), Kind::Truncated, "cut"),
        (
            "longer",
            |path, bytes| std::fs::write(path, [bytes, b"more"].concat()).unwrap(),
            Kind::Io,
            "changed while it was copied",
        ),
    ];
    for (name, change, kind, says) in cases {
        let file = write(folder.path(), &bytes);
        change(&path, &bytes);
        let mut all = |_: usize, _: &[u8]| ControlFlow::Continue(());
        let error = file.pin(1, &AsStored, &mut all).err().expect(name);
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    let file = write(folder.path(), &bytes);
    let error = file.pin(1, &AsStored, &mut |_, _| ControlFlow::Break(())).err().unwrap();
    assert!(error.to_string().contains("broken off"), "{error}");
}
