//! Needs against machines that are folders, and against headers.

use std::{fs, path::PathBuf};

use recinto_arch::{Archs, Options as CompileOptions, compile};

use super::*;
use crate::session::SessionOptions;

const MIB: u64 = 1 << 20;

/// A machine's own account: `/proc` and control groups below a folder.
struct Root(tempfile::TempDir);

impl Root {
    fn new(available: u64) -> Root {
        let root = Root(tempfile::tempdir().unwrap());
        let info = format!("MemTotal: {} kB\nMemAvailable: {} kB\n", 16 << 20, available >> 10);
        root.file("proc/meminfo", &info)
    }

    fn file(self, path: &str, text: &str) -> Root {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Version 2, nested: `inner` within `box`.
    fn two(self) -> Root {
        self.file("proc/self/cgroup", "0::/box/inner\n")
            .file("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    }

    fn group(self, name: &str, limit: &str, used: u64, cached: u64) -> Root {
        let folder = format!("sys/fs/cgroup/{name}");
        self.file(&format!("{folder}/memory.max"), limit)
            .file(&format!("{folder}/memory.current"), &used.to_string())
            .file(&format!("{folder}/memory.stat"), &format!("file {cached}\nshmem 0\n"))
    }

    /// Version 1.
    fn one(self, limit: u64, used: u64, cached: u64) -> Root {
        let folder = "sys/fs/cgroup/memory/caja";
        self.file("proc/self/cgroup", "4:memory:/caja\n")
            .file(
                "proc/self/mountinfo",
                "32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n",
            )
            .file(&format!("{folder}/memory.limit_in_bytes"), &limit.to_string())
            .file(&format!("{folder}/memory.usage_in_bytes"), &used.to_string())
            .file(
                &format!("{folder}/memory.stat"),
                &format!("total_active_file {cached}\ntotal_inactive_file 0\n"),
            )
    }
}

fn need() -> Need {
    Need {
        weights: 1000 * MIB - 5,
        held: Held::Mapped,
        keys_values: 300 * MIB,
        positions: 8192,
        kv: KvType::Bf16,
        buffers: 20 * MIB + 1,
        vocabulary: 3 * MIB,
    }
}

#[test]
fn what_is_free_decides() {
    let max = "max\n";
    let mib = |n: u64| (n * MIB).to_string();
    // The need above is 1323 MiB and a little less.
    let cases = [
        ("free machine", Root::new(1323 * MIB), true),
        ("full machine", Root::new(1322 * MIB), false),
        ("no limit", Root::new(4000 * MIB).two().group("box/inner", max, 9000 * MIB, 0), true),
        ("its own", Root::new(4000 * MIB).two().group("box/inner", &mib(1400), 0, 0), true),
        ("small", Root::new(4000 * MIB).two().group("box/inner", &mib(1300), 0, 0), false),
        (
            "the outer one is full",
            Root::new(4000 * MIB).two().group("box/inner", max, 0, 0).group(
                "box",
                &mib(2000),
                800 * MIB,
                0,
            ),
            false,
        ),
        (
            "full of cached files",
            Root::new(4000 * MIB).two().group("box", &mib(2000), 1990 * MIB, 1500 * MIB),
            true,
        ),
        ("version 1", Root::new(4000 * MIB).one(2000 * MIB, 500 * MIB, 0), true),
        ("version 1, full", Root::new(4000 * MIB).one(2000 * MIB, 800 * MIB, 0), false),
        ("version 1, cached", Root::new(4000 * MIB).one(2000 * MIB, 800 * MIB, 400 * MIB), true),
        ("nothing known", Root(tempfile::tempdir().unwrap()), true),
    ];
    for (name, root, want) in cases {
        assert_eq!(need().fits(root.0.path()).is_ok(), want, "{name}");
    }
}

#[test]
fn the_sum_is_shown_line_by_line() {
    let root = Root::new(4000 * MIB).two().group("box", &(1200 * MIB).to_string(), 300 * MIB, 0);
    let error = need().fits(root.0.path()).unwrap_err();
    assert_eq!(*error.kind(), Kind::Memory);
    let want = "\
not enough memory: 1324 MiB needed, 900 MiB free
  weights             1000 MiB  mapped: pages of the file's cache
  keys and values      300 MiB  8192 positions as bf16
  buffers               21 MiB  a block of positions
  vocabulary             3 MiB  its tables
  sum                 1324 MiB
  free                 900 MiB  what only caches files counts as free
  limit               1200 MiB  /sys/fs/cgroup/box/memory.max
hint: a smaller `--context`, `--kv q8_0` or a smaller model needs less";
    assert_eq!(error.to_string(), want);
    let pinned = Need { held: Held::Pinned, positions: 256, kv: KvType::Q8_0, ..need() };
    let text = pinned.fits(Root::new(0).0.path()).unwrap_err().to_string();
    assert!(text.contains("256 positions as q8_0"), "{text}");
    assert!(text.contains("limit              16384 MiB  the machine's memory"), "{text}");
    assert!(text.ends_with("hint: `--pin off` or a smaller model needs less"), "{text}");
    let huge = Need { weights: u64::MAX, ..need() };
    assert!(huge.fits(root.0.path()).is_err());
}

fn of(name: &str, options: &OpenOptions) -> (File, Need) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = File::open(&root.join(format!("../../tests/golden/tiny/{name}.gguf"))).unwrap();
    let archs = Archs::built_in();
    let program = compile(archs.find(&file).unwrap(), &file, &CompileOptions::default()).unwrap();
    let need = Need::of(&file, &program, options).unwrap();
    (file, need)
}

#[test]
fn the_header_tells_it_all() {
    let (file, mapped) = of("llama-quant", &OpenOptions::default());
    let tensors: u64 = file.tensors().iter().map(|info| info.bytes() as u64).sum();
    assert_eq!((mapped.weights, mapped.held), (tensors, Held::Mapped));
    let (file, pinned) =
        of("llama-quant", &OpenOptions { pin: Pin::Memory, ..OpenOptions::default() });
    assert_eq!((pinned.weights, pinned.held), (LARGE_PAGE, Held::Pinned));
    assert!(file.size() <= LARGE_PAGE);
    // A larger context takes more, a smaller type less, and working memory stays.
    let with = |context, kv| {
        let session = SessionOptions { context: Some(context), kv };
        of("llama-quant", &OpenOptions { session, ..OpenOptions::default() }).1
    };
    let (small, large) = (with(256, KvType::Bf16), with(512, KvType::Bf16));
    assert_eq!(large.keys_values, 2 * small.keys_values);
    assert_eq!(large.buffers, small.buffers);
    assert!(with(512, KvType::Q8_0).keys_values < large.keys_values);
    assert!(small.keys_values > 0 && small.buffers > 0 && small.vocabulary > 0);
    assert_eq!(small.sum(), small.weights + small.keys_values + small.buffers + small.vocabulary);
}
