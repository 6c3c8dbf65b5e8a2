//! Every lie a header can tell. Cases named GGUF-xx are those of
//! `docs/cases.md`.

use crate::raw;

use proptest::prelude::*;
use raw::{ARRAY, BOOL, F32, I32, Raw, STR, U8, U32, U64, valid};
use recinto_quant::expand;
use recinto_weights::{Error, File, Format, Kind, Value};

struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    kind: Kind,
    says: &'static str,
}

fn case(name: &'static str, raw: Raw, kind: Kind, says: &'static str) -> Case {
    Case { name, bytes: raw.0, kind, says }
}

/// Headers that go on in a hole of the file as large as a disk: refused, not read through.
#[test]
fn holes_of_a_terabyte() {
    const SIZE: u64 = 1 << 40;
    let long = SIZE / 2;
    let cases = [
        ("a string", Raw::new(0, 1).key("a", STR).u64(long)),
        ("strings", Raw::new(0, 1).key("a", ARRAY).u32(STR).u64(long / 8)),
        ("booleans", Raw::new(0, 1).key("a", ARRAY).u32(BOOL).u64(long)),
        ("bytes", Raw::new(0, 1).key("tokenizer.x", ARRAY).u32(U8).u64(long)),
        ("arrays", Raw::new(0, 1).key("a", ARRAY).u32(ARRAY).u64(long / 12)),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (name, raw) in cases {
        let path = dir.path().join(name);
        std::fs::write(&path, &raw.0).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        if file.set_len(SIZE).is_err() {
            let why = "the file system has no files of this size";
            return println!("skipped: holes_of_a_terabyte: {why}");
        }
        let began = std::time::Instant::now();
        let error = File::open(&path).err().unwrap_or_else(|| panic!("{name}: was opened"));
        let (text, took) = (error.to_string(), began.elapsed().as_secs());
        assert!(text.contains("beyond the 512 MiB of a header"), "{name}: {text}");
        assert!(took < 60, "{name}: {took} s");
    }
}

fn open(bytes: &[u8]) -> Result<File, Error> {
    File::from_bytes(bytes.to_vec())
}

fn check(cases: Vec<Case>) {
    for Case { name, bytes, kind, says } in cases {
        let Err(error) = open(&bytes) else { panic!("{name}: was opened") };
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{name}: {text}");
        assert!(text.contains(says), "{name}: {text:?} does not say {says:?}");
        assert!(!text.trim_end().ends_with('.'), "{name}: {text}");
        assert!(text.len() < 2000, "{name}: {} bytes of text", text.len());
    }
}

/// Looks at everything a file has.
fn walk(file: &File) {
    for (name, value) in file.metadata().iter() {
        assert!(!name.is_empty());
        if let Value::Array(array) = value {
            let strings = array.strings().map_or(0, |strings| strings.map(str::len).count());
            let scalars = array.scalars().map_or(0, |scalars| scalars.count());
            assert!(strings + scalars == array.len() || array.element().name() == "array");
        }
    }
    let mut values = Vec::new();
    for index in 0..file.tensors().len() {
        let tensor = file.tensor(index);
        assert_eq!(
            tensor.info.dtype.bytes_for(tensor.info.values()),
            Some(tensor.bytes.len() as u64)
        );
        assert_eq!(file.find(&tensor.info.name), Some(index));
        let row = tensor.info.dtype.layout();
        if tensor.bytes.len() >= row.bytes {
            values.resize(row.values, 0.0);
            expand(tensor.info.dtype, &tensor.bytes[..row.bytes], &mut values).unwrap();
        }
    }
}

#[test]
fn headers() {
    let mut cases = Vec::new();
    // GGUF-01
    for length in [0, 1, 3, 4, 8, 23] {
        let raw = Raw(valid().0[..length].to_vec());
        cases.push(case("GGUF-01", raw, Kind::Truncated, "truncated header"));
    }
    // GGUF-15
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
                   size 12345\n";
    let pointer = Raw(pointer.as_bytes().to_vec());
    cases.push(case("GGUF-15", pointer, Kind::NotGguf, "this is a pointer, not the model"));
    let hostile = Raw(b"version https://git-lfs\noid \x1b[2Jx\n".to_vec());
    cases.push(case("a pointer with an escape", hostile, Kind::NotGguf, "not the model"));
    let other = Raw(b"PK\x03\x04 this is some other file".to_vec());
    cases.push(case("another format", other, Kind::NotGguf, "not a GGUF file"));
    cases.push(case("short, another format", Raw(b"ab".to_vec()), Kind::NotGguf, "not a GGUF"));
    for (version, says) in [(0, "version 0"), (1, "version 1"), (4, "version 4")] {
        cases.push(case("version", Raw::version(version, 0, 0), Kind::Unsupported, says));
    }
    for version in 1..=3u32 {
        let raw = Raw::version(version.swap_bytes(), 0, 0);
        cases.push(case("byte order", raw, Kind::Unsupported, "big-endian"));
    }
    check(cases);
    let text =
        open(b"version https://git-lfs\noid sha256:abc\nsize 1\n").err().unwrap().to_string();
    assert!(text.contains("sha256:abc"), "{text}");
    let text = open(b"version https://git-lfs\noid \x1b[2Jx\n").err().unwrap().to_string();
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn counts() {
    let huge = 1 << 63;
    let array = |kind, count| Raw::new(0, 1).key("k", ARRAY).u32(kind).u64(count);
    check(vec![
        // GGUF-03
        case("GGUF-03 array", array(U8, huge), Kind::Truncated, "key `k`"),
        case("GGUF-03 wide array", array(U64, huge), Kind::Invalid, "overflow"),
        case("GGUF-03 strings", array(STR, huge), Kind::Truncated, "cannot fit"),
        case("GGUF-03 arrays", array(ARRAY, huge), Kind::Truncated, "cannot fit"),
        case("GGUF-03 keys", Raw::new(0, huge), Kind::Invalid, "key count"),
        case("GGUF-03 tensors", Raw::new(huge, 0), Kind::Invalid, "tensor count"),
        case("GGUF-03 string", Raw::new(0, 1).key("k", STR).u64(huge), Kind::Truncated, "key `k`"),
        case("GGUF-03 name", Raw::new(0, 1).u64(huge).u64(0), Kind::Truncated, "name of a key"),
        case("all bits", Raw::new(u64::MAX, u64::MAX), Kind::Invalid, "tensor count"),
        case("keys announced", Raw::new(0, 1000), Kind::Truncated, "key count is 1000"),
        case("tensors announced", Raw::new(1000, 0), Kind::Truncated, "tensor count is 1000"),
        case("u64 elements", array(U64, u64::MAX / 8), Kind::Truncated, "key `k`"),
        case("a string at the top", array(STR, 1).u64(u64::MAX), Kind::Truncated, "key `k`"),
    ]);
}

/// Strings are checked in long runs together with their lengths; each is still judged alone.
#[test]
fn one_string_among_thousands() {
    let long = "ñ".repeat(100);
    let wide = "中".repeat(9000);
    let short = ["año", "", "🦙", &long, "a"];
    let text = |n: usize| if n % 500 == 5 { &wide } else { short[n % short.len()] };
    let texts: Vec<&str> = (0..4000).map(text).collect();
    let with = |place: usize, bytes: &[u8]| {
        let head = Raw::new(0, 1).key("k", ARRAY).u32(STR).u64(texts.len() as u64);
        let start = head.0.len() + texts[..place].iter().map(|text| text.len() + 8).sum::<usize>();
        let raw = texts.iter().enumerate().fold(head, |raw, (n, text)| {
            let text = if n == place { bytes } else { text.as_bytes() };
            raw.u64(text.len() as u64).bytes(text)
        });
        (raw, start)
    };
    let file = open(&with(0, texts[0].as_bytes()).0.0).unwrap();
    let strings = file.metadata().strings("k").unwrap().unwrap();
    assert!(strings.eq(texts.iter().copied()));
    let array = file.metadata().array("k").unwrap().unwrap();
    let stored = array.stored_strings().unwrap().map(|stored| &stored[8..]);
    assert!(stored.eq(texts.iter().map(|text| text.as_bytes())));
    assert_eq!(array.text_len(), texts.iter().map(|text| text.len()).sum::<usize>());
    let faults: [(&str, Vec<u8>); 6] = [
        ("cut off before a length", b"a\xc3".to_vec()),
        ("goes on from nothing", b"\xb1a".to_vec()),
        ("a surrogate", b"\xed\xa0\x80".to_vec()),
        ("long, cut off", [&b"a".repeat(199)[..], b"\xf0\x9f"].concat()),
        ("long, from nothing", [b"\x80", &b"a".repeat(199)[..]].concat()),
        ("very long, in the middle", [&b"a".repeat(40_000)[..], b"\xff", b"z"].concat()),
    ];
    for (name, bytes) in &faults {
        for place in [0, 1, 499, 505, 1234, 3998, 3999] {
            let (raw, start) = with(place, bytes);
            let error = open(&raw.0).err().unwrap_or_else(|| panic!("{name} at {place}: opened"));
            assert_eq!(error.kind(), Kind::Invalid, "{name} at {place}: {error}");
            assert_eq!(error.offset(), Some(start as u64), "{name} at {place}: {error}");
            assert!(error.to_string().contains("value of key `k` is not UTF-8"), "{error}");
        }
    }
    // The last string has more bytes than the file.
    let (raw, _) = with(3999, b"a");
    let error = open(&raw.0[..raw.0.len() - 1]).err().unwrap();
    assert_eq!(error.kind(), Kind::Truncated, "{error}");
}

#[test]
fn keys() {
    let one = |kind| Raw::new(0, 1).key("k", kind);
    let number = |name: &str, value| Raw::new(0, 1).key(name, U32).u32(value);
    let mut cases = vec![
        case("no name", Raw::new(0, 1).key("", U32).u32(1), Kind::Invalid, "0 bytes"),
        case(
            "name not UTF-8",
            Raw::new(0, 1).u64(2).bytes(b"\xff\xfe\0\0\0\0"),
            Kind::Invalid,
            "UTF-8",
        ),
        case("name with an escape", number("a\x1b[31m", 1), Kind::Invalid, "control character"),
        case("long name", number(&"a".repeat(1025), 1), Kind::Invalid, "1025 bytes"),
        case("text not UTF-8", one(STR).u64(1).bytes(&[0xf1]), Kind::Invalid, "`k` is not UTF-8"),
        case("type 13", one(13).u64(0), Kind::Invalid, "13 is not one of 0 to 12"),
        case("type -1", one(u32::MAX).u64(0), Kind::Invalid, "4294967295"),
        case("boolean 2", one(BOOL).bytes(&[2]), Kind::Invalid, "a boolean is 2"),
        case("element type 13", one(ARRAY).u32(13).u64(0), Kind::Invalid, "13"),
        case(
            "boolean 255 in an array",
            one(ARRAY).u32(BOOL).u64(3).bytes(&[0, 1, 255]),
            Kind::Invalid,
            "255, not 0 or 1",
        ),
        case(
            "array of text not UTF-8",
            one(ARRAY).u32(STR).u64(1).u64(1).bytes(&[0x80]),
            Kind::Invalid,
            "UTF-8",
        ),
        case(
            "a character over two strings",
            one(ARRAY).u32(STR).u64(2).u64(1).bytes(b"\xc3").u64(1).bytes(b"\xb1"),
            Kind::Invalid,
            "UTF-8",
        ),
        case(
            "a character whose rest is a length",
            one(ARRAY).u32(STR).u64(2).u64(1).bytes(b"\xc3").u64(0x80).bytes(&[b'a'; 0x80]),
            Kind::Invalid,
            "UTF-8",
        ),
        case(
            "a key twice",
            Raw::new(0, 2).key("año", U32).u32(1).key("año", U8).bytes(&[1]).pad(32),
            Kind::Invalid,
            "key `año` appears twice",
        ),
        case(
            "one of three shards",
            Raw::new(0, 2).key("split.count", 2).bytes(&[3, 0]).key("split.no", 2).bytes(&[1, 0]),
            Kind::Missing,
            "shard 2 of 3",
        ),
        case("a shard", number("split.count", 2), Kind::Missing, "without its number"),
        case("too many shards", number("split.count", 513), Kind::Invalid, "in 513 files"),
        case(
            "a number too high",
            Raw::new(0, 2).key("split.count", 2).bytes(&[3, 0]).key("split.no", 2).bytes(&[3, 0]),
            Kind::Invalid,
            "`split.no` is 3 in a model of 3 files",
        ),
        case(
            "a number of shards as text",
            Raw::new(0, 1).key("split.count", STR).str("2"),
            Kind::Invalid,
            "`split.count` is not a whole number",
        ),
        case(
            "alignment as text",
            Raw::new(0, 1).key("general.alignment", STR).str("32"),
            Kind::Invalid,
            "whole number",
        ),
    ];
    // GGUF-05
    for alignment in [0, 1, 3, 4, 24, 31, 1 << 17, 1 << 30, 1 << 31, u32::MAX] {
        let raw = number("general.alignment", alignment);
        cases.push(case("GGUF-05", raw, Kind::Invalid, "general.alignment"));
    }
    let wide = Raw::new(0, 1).key("general.alignment", U64).u64(1 << 63);
    cases.push(case("GGUF-05 2^63", wide, Kind::Invalid, "general.alignment"));
    // GGUF-19
    let deep = |levels: usize| {
        (0..levels).fold(Raw::new(0, 1).key("k", ARRAY), |raw, _| raw.u32(ARRAY).u64(1))
    };
    cases.push(case("GGUF-19 depth", deep(100_000), Kind::Invalid, "nested deeper"));
    let inner = deep(2).u32(U64).u64(1 << 62);
    cases.push(case("GGUF-19 inner count", inner, Kind::Invalid, "overflow"));
    check(cases);
    for alignment in [8, 16, 32, 64, 4096, 65536] {
        open(&number("general.alignment", alignment).0).unwrap();
    }
    open(&number("split.count", 1).0).unwrap();
    open(&deep(3).u32(U8).u64(1).bytes(&[1]).0).unwrap();
}

#[test]
fn tensors() {
    let one = |dims: &[u64], kind, offset| {
        Raw::new(1, 0).tensor("año", dims, kind, offset).pad(32).bytes(&[0; 128])
    };
    let two = |a: u64, b: u64| {
        let raw = Raw::new(2, 0).tensor("a", &[16], 0, a).tensor("b", &[16], 0, b);
        raw.pad(32).bytes(&[0; 128])
    };
    let named = |name| Raw::new(1, 0).tensor(name, &[1], 0, 0).pad(32).bytes(&[0; 4]);
    let mut cases = vec![
        // GGUF-09
        case("GGUF-09", one(&[1 << 40, 1 << 40], 0, 0), Kind::Invalid, "size overflows"),
        case("bytes overflow", one(&[1 << 62], 0, 0), Kind::Invalid, "size overflows"),
        case("product 2^64", one(&[1 << 32, 1 << 32], 0, 0), Kind::Invalid, "size overflows"),
        case("product 0", one(&[0, u64::MAX], 0, 0), Kind::Invalid, "dimension is 0"),
        case("row of half a block", one(&[16, 2], 8, 0), Kind::Invalid, "do not fill q8_0 blocks"),
        case("type 7654", one(&[32], 7654, 0), Kind::Unsupported, "type 7654 is not known"),
        case("f64", one(&[8], 28, 0), Kind::Unsupported, "f64 (28) is not read"),
        case("i32", one(&[8], 26, 0), Kind::Unsupported, "whole numbers are no weights"),
        case("a type that is gone", one(&[32], 31, 0), Kind::Unsupported, "q4_0_4_4 (31)"),
        case("type -1", one(&[32], u32::MAX, 0), Kind::Unsupported, "4294967295"),
        case("past the end", one(&[33], 0, 0), Kind::Truncated, "truncated file"),
        case("starts past the end", one(&[1], 0, 1 << 40), Kind::Truncated, "truncated file"),
        case("offset overflows", one(&[1], 0, u64::MAX - 31), Kind::Invalid, "offset overflows"),
        case("offset not aligned", one(&[1], 0, 4), Kind::Invalid, "offset 4 is not a multiple"),
        case("overlap", two(0, 32), Kind::Invalid, "`a` and `b` overlap"),
        case("overlap, other order", two(32, 0), Kind::Invalid, "`b` and `a` overlap"),
        case("the same bytes", two(0, 0), Kind::Invalid, "overlap"),
        case("name not UTF-8", Raw::new(1, 0).u64(1).bytes(&[0xf1; 32]), Kind::Invalid, "UTF-8"),
        case("no name", named(""), Kind::Invalid, "0 bytes"),
        case("name with a line break", named("a\nhint: x"), Kind::Invalid, "control character"),
        case(
            "a tensor twice",
            Raw::new(2, 0).tensor("a", &[8], 0, 0).tensor("a", &[8], 0, 32).pad(32).bytes(&[0; 64]),
            Kind::Invalid,
            "tensor `a` appears twice",
        ),
    ];
    // GGUF-07
    for dims in [0, 5, 9, 1_000_000, u32::MAX] {
        let raw = Raw::new(1, 0).str("t").u32(dims).bytes(&[1; 100]);
        cases.push(case("GGUF-07", raw, Kind::Invalid, "dimensions; 1 to 4 are allowed"));
    }
    check(cases);
    open(&two(0, 64).0).unwrap();
    open(&two(64, 0).0).unwrap();
}

#[test]
fn element_types() {
    // GGUF-11: right count, wrong type.
    let tokens = |kind: u32, bytes: &[u8]| {
        let raw = Raw::new(0, 1).key("tokenizer.ggml.token_type", ARRAY).u32(kind).u64(2);
        open(&raw.bytes(bytes).0).unwrap()
    };
    let key = "tokenizer.ggml.token_type";
    let file = tokens(U8, &[1, 2]);
    let error = file.metadata().i32s(key).err().unwrap();
    assert_eq!(error.kind(), Kind::WrongType);
    let want = "key `tokenizer.ggml.token_type` is an array of u8, not of i32";
    assert_eq!(error.to_string(), want);
    assert!(file.metadata().f32s(key).is_err() && file.metadata().strings(key).is_err());
    assert!(file.metadata().array_of(key, &[recinto_weights::Element::U8]).is_ok());
    assert!(file.metadata().u64(key).is_err() && file.metadata().str(key).is_err());
    assert!(file.metadata().i32s("otra").unwrap().is_none());
    let file = tokens(I32, &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    let found: Vec<i32> = file.metadata().i32s(key).unwrap().unwrap().collect();
    assert_eq!(found, [1, -1]);
    let file = tokens(F32, &[0, 0, 0, 0xbf, 0, 0, 0x80, 0x7f]);
    let found: Vec<f32> = file.metadata().f32s(key).unwrap().unwrap().collect();
    assert_eq!(found, [-0.5, f32::INFINITY]);
    let empty = Raw::new(0, 1).key(key, ARRAY).u32(U32).u64(0);
    let file = open(&empty.0).unwrap();
    assert_eq!(file.metadata().strings(key).unwrap().unwrap().count(), 0, "empty, any type");
    assert_eq!(file.metadata().i32s(key).unwrap().unwrap().count(), 0, "empty, any type");
}

#[test]
fn the_small_file_is_whole_and_every_prefix_is_refused() {
    let bytes = valid().0;
    let file = open(&bytes).unwrap();
    walk(&file);
    let meta = file.metadata();
    let values = [
        ("n.u8", Value::U8(200)),
        ("n.i8", Value::I8(-128)),
        ("n.u16", Value::U16(0x1234)),
        ("n.i16", Value::I16(-2)),
        ("n.u32", Value::U32(70_000)),
        ("n.i32", Value::I32(-5)),
        ("n.f32", Value::F32(0.5)),
        ("n.bool", Value::Bool(true)),
        ("n.u64", Value::U64(u64::MAX)),
        ("n.i64", Value::I64(i64::MIN)),
        ("n.f64", Value::F64(-0.25)),
        ("general.architecture", Value::Str("diminuto")),
    ];
    for (name, value) in values {
        assert_eq!(meta.get(name), Some(value), "{name}");
    }
    let strings: Vec<&str> = meta.strings("a.str").unwrap().unwrap().collect();
    assert_eq!(strings, ["año", "", "¿qué?"]);
    assert_eq!(meta.texts("a.str").unwrap(), ["año", "", "¿qué?"]);
    assert_eq!(meta.texts("general.architecture").unwrap(), ["diminuto"]);
    assert_eq!(meta.texts("otra").unwrap(), [""; 0]);
    assert!(meta.texts("a.bool").is_err() && meta.texts("n.u8").is_err());
    let bools = meta.array("a.bool").unwrap().unwrap().scalars().unwrap();
    assert_eq!(bools.collect::<Vec<_>>(), [Value::Bool(false), Value::Bool(true)]);
    let tensor = file.tensor(file.find("dos.ñ").unwrap());
    let mut out = [0.0; 3];
    expand(tensor.info.dtype, tensor.bytes, &mut out).unwrap();
    assert_eq!(out, [1.0, 2.0, 3.0]);
    assert_eq!(file.shards()[0].data_range(), bytes.len() - 108..bytes.len());
    for length in 0..bytes.len() {
        let error = open(&bytes[..length]).err().unwrap_or_else(|| panic!("{length} bytes"));
        assert_eq!(error.kind(), Kind::Truncated, "{length} bytes: {error}");
    }
    // Version 2 has the same layout.
    let mut two = bytes;
    two[4] = 2;
    assert_eq!(open(&two).unwrap().format(), Format::Gguf(2));
}

#[test]
fn memory_stays_in_proportion() {
    let before = recinto_os::memory::resident().unwrap().peak;
    let lies = [1u64 << 63, 1 << 40, u64::MAX, 1 << 31, 1 << 20];
    for count in lies {
        let _ = open(&Raw::new(count, count).bytes(&[0; 4096]).0);
        for kind in 0..13 {
            let raw = Raw::new(0, 1).key("k", ARRAY).u32(kind).u64(count).bytes(&[0; 4096]);
            let _ = open(&raw.0);
        }
        let raw = Raw::new(1, 0).tensor("t", &[count], 0, 0).pad(32).bytes(&[0; 4096]);
        let _ = open(&raw.0);
    }
    // A megabyte of empty arrays, and one of empty strings.
    for kind in [ARRAY, STR] {
        let raw = Raw::new(0, 1).key("k", ARRAY).u32(kind).u64(80_000).bytes(&vec![0; 1 << 20]);
        walk(&open(&raw.0).unwrap());
    }
    let grown = recinto_os::memory::resident().unwrap().peak - before;
    assert!(grown < 32 << 20, "{grown} bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_change_is_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)
    ) {
        let mut bytes = valid().0;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(file) = File::from_bytes(bytes) {
            walk(&file);
        }
    }

    #[test]
    fn an_array_of_texts_is_read_exactly_when_each_is_one(
        texts in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(prop_oneof![Just(b'a'), Just(0xc3), Just(0xb1)], 0..4),
                proptest::collection::vec(Just(b'x'), 120..140),
                "\\PC{0,50}".prop_map(String::into_bytes),
            ],
            0..6,
        )
    ) {
        let start = Raw::new(0, 1).key("k", ARRAY).u32(STR).u64(texts.len() as u64);
        let add = |raw: Raw, text: &Vec<u8>| raw.u64(text.len() as u64).bytes(text);
        let bytes = texts.iter().fold(start, add).pad(32).0;
        let good = texts.iter().all(|text| std::str::from_utf8(text).is_ok());
        match File::from_bytes(bytes) {
            Ok(file) => {
                prop_assert!(good);
                let read = file.metadata().strings("k").unwrap().unwrap();
                let read: Vec<&[u8]> = read.map(str::as_bytes).collect();
                prop_assert_eq!(read, texts);
            }
            Err(error) => prop_assert!(!good && error.to_string().contains("UTF-8"), "{}", error),
        }
    }

    #[test]
    fn any_number_is_read_or_refused(
        place in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![0u64, 1, 255, 1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX])
    ) {
        let mut bytes = valid().0;
        let place = place.index(bytes.len() - 8);
        bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
        if let Ok(file) = File::from_bytes(bytes) {
            walk(&file);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(tail in proptest::collection::vec(any::<u8>(), 0..256)) {
        let mut bytes = Raw::new(1, 2).0;
        bytes.extend(tail);
        if let Ok(file) = File::from_bytes(bytes) {
            walk(&file);
        }
    }
}
