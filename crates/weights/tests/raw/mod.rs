//! Writes GGUF byte by byte, so that a test can lie about any of them.
#![allow(dead_code)]

/// A file in the making.
#[derive(Clone)]
pub struct Raw(pub Vec<u8>);

/// GGUF's numbers of value types.
pub const U8: u32 = 0;
pub const U32: u32 = 4;
pub const I32: u32 = 5;
pub const F32: u32 = 6;
pub const BOOL: u32 = 7;
pub const STR: u32 = 8;
pub const ARRAY: u32 = 9;
pub const U64: u32 = 10;

impl Raw {
    /// Magic, version 3 and the two counts.
    pub fn new(tensors: u64, keys: u64) -> Raw {
        Raw::version(3, tensors, keys)
    }

    pub fn version(version: u32, tensors: u64, keys: u64) -> Raw {
        Raw(b"GGUF".to_vec()).u32(version).u64(tensors).u64(keys)
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Raw {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u32(self, value: u32) -> Raw {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Raw {
        self.bytes(&value.to_le_bytes())
    }

    pub fn str(self, text: &str) -> Raw {
        self.u64(text.len() as u64).bytes(text.as_bytes())
    }

    /// A key's name and type; the value follows.
    pub fn key(self, name: &str, kind: u32) -> Raw {
        self.str(name).u32(kind)
    }

    /// A tensor's entry; the last dimension given is the outermost.
    pub fn tensor(self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Raw {
        let entry = self.str(name).u32(dims.len() as u32);
        dims.iter().fold(entry, |raw, dim| raw.u64(*dim)).u32(kind).u64(offset)
    }

    /// Zeros up to a multiple of `alignment`.
    pub fn pad(mut self, alignment: usize) -> Raw {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self
    }
}

/// A small file with a value of every type and two tensors; its last byte is a weight's.
pub fn valid() -> Raw {
    Raw::new(2, 16)
        .key("general.architecture", STR)
        .str("diminuto")
        .key("n.u8", U8)
        .bytes(&[200])
        .key("n.i8", 1)
        .bytes(&[0x80])
        .key("n.u16", 2)
        .bytes(&[0x34, 0x12])
        .key("n.i16", 3)
        .bytes(&[0xfe, 0xff])
        .key("n.u32", U32)
        .u32(70_000)
        .key("n.i32", I32)
        .u32(-5i32 as u32)
        .key("n.f32", F32)
        .bytes(&0.5f32.to_le_bytes())
        .key("n.bool", BOOL)
        .bytes(&[1])
        .key("n.u64", U64)
        .u64(u64::MAX)
        .key("n.i64", 11)
        .u64(i64::MIN as u64)
        .key("n.f64", 12)
        .bytes(&(-0.25f64).to_le_bytes())
        .key("a.str", ARRAY)
        .u32(STR)
        .u64(3)
        .str("año")
        .str("")
        .str("¿qué?")
        .key("a.i32", ARRAY)
        .u32(I32)
        .u64(2)
        .u32(1)
        .u32(-1i32 as u32)
        .key("a.bool", ARRAY)
        .u32(BOOL)
        .u64(2)
        .bytes(&[0, 1])
        .key("a.array", ARRAY)
        .u32(ARRAY)
        .u64(1)
        .u32(U8)
        .u64(2)
        .bytes(&[7, 8])
        .tensor("uno", &[32, 2], 8, 0)
        .tensor("dos.ñ", &[3], 0, 96)
        .pad(32)
        .bytes(&[0; 68])
        .bytes(&[0; 28])
        .bytes(&[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40])
}
