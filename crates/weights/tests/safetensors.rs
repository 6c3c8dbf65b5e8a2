//! Checkpoints: every lie that a header, an index or a small file can tell, and what is read of
//! sound ones.

use std::{fs, path::Path};

use recinto_weights::{Error, File, Format, Kind, Value};

/// A file of a header and values.
fn file(header: &str, values: &[u8]) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(values);
    out
}

const CONFIG: &str = r#"{"model_type":"año-tiny","hidden_size":4}"#;

/// Opens a folder with these files.
fn open(files: &[(&str, &[u8])]) -> Result<File, Error> {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    File::open(dir.path())
}

/// The same of one file with a sound config beside it.
fn alone(bytes: &[u8]) -> Result<File, Error> {
    let config = CONFIG.replace("año", "a");
    open(&[("config.json", config.as_bytes()), ("model.safetensors", bytes)])
}

fn fails(name: &str, found: Result<File, Error>, kind: Kind, says: &str) {
    let Err(error) = found else { panic!("{name}: was opened") };
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{name}: {text}");
    assert!(text.contains(says), "{name}: {text:?} does not say {says:?}");
    assert!(!text.trim_end().ends_with('.') && text.len() < 2000, "{name}: {text}");
}

const SOUND: &str = r#"{"__metadata__":{"format":"pt"},
    "a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
    "b":{"dtype":"F16","shape":[],"data_offsets":[24,26]},
    "c":{"dtype":"BF16","shape":[2],"data_offsets":[26,30]},
    "ids":{"dtype":"I64","shape":[1,1],"data_offsets":[30,38]},
    "nada":{"dtype":"F32","shape":[0,4],"data_offsets":[38,38]}}   "#;

#[test]
fn a_sound_file() {
    let values: Vec<u8> = (0..38).collect();
    let opened = alone(&file(SOUND, &values)).unwrap();
    assert_eq!(opened.format(), Format::Safetensors);
    let shapes: Vec<(&str, &[u64])> =
        opened.tensors().iter().map(|t| (t.name.as_str(), &t.dims[..])).collect();
    // The last dimension of a checkpoint is contiguous: it comes first here.
    assert_eq!(shapes, [("a.weight", &[3, 2][..]), ("b", &[1]), ("c", &[2])]);
    let at = |name: &str| opened.tensor(opened.find(name).unwrap()).bytes;
    assert_eq!(
        (at("a.weight"), at("b"), at("c")),
        (&values[..24], &values[24..26], &values[26..30])
    );
    let others: Vec<(&str, &str)> =
        opened.others().iter().map(|o| (o.name.as_str(), o.stored)).collect();
    assert_eq!(others, [("ids", "I64"), ("nada", "nothing")]);
    assert_eq!(opened.shards().len(), 2, "config.json is one of the model's files");
    assert_eq!(opened.metadata().str("general.architecture").unwrap(), Some("a-tiny"));
    assert_eq!(opened.metadata().u64("a-tiny.config.hidden_size").unwrap(), Some(4));
}

#[test]
fn lies_of_a_header() {
    let one = |entry: &str| file(&format!("{{\"x\":{entry}}}"), &[0; 8]);
    let long = "x".repeat(2000);
    type Case<'a> = (&'a str, Vec<u8>, Kind, &'a str);
    let f32 = r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
    let cases: Vec<Case<'_>> = vec![
        ("cut header", file(SOUND, &[])[..60].to_vec(), Kind::Truncated, "truncated header"),
        (
            "a huge header",
            [&(1u64 << 40).to_le_bytes()[..], b"{}"].concat(),
            Kind::Invalid,
            "a header of 1099511627776 bytes",
        ),
        ("not JSON", file("{\"x\":", &[]), Kind::Invalid, "the header is not JSON"),
        (
            "not UTF-8",
            [&6u64.to_le_bytes()[..], b"{\"\xff\"}\xff"].concat(),
            Kind::Invalid,
            "header",
        ),
        (
            "a name twice",
            file(&format!("{{\"x\":{f32},\"x\":{f32}}}"), &[0; 8]),
            Kind::Invalid,
            "a key twice",
        ),
        (
            "an escape in a name",
            file(&format!("{{\"\\u001b[2J\":{f32}}}"), &[0; 8]),
            Kind::Invalid,
            "control character",
        ),
        (
            "a long name",
            file(&format!("{{\"{long}\":{f32}}}"), &[0; 8]),
            Kind::Invalid,
            "2000 bytes",
        ),
        ("no map", one("[]"), Kind::Invalid, "no map"),
        (
            "a field too many",
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}"#),
            Kind::Invalid,
            "unknown field `x`",
        ),
        ("no dtype", one(r#"{"shape":[2],"data_offsets":[0,8]}"#), Kind::Invalid, "no `dtype`"),
        (
            "an unknown dtype",
            one(r#"{"dtype":"F31","shape":[2],"data_offsets":[0,8]}"#),
            Kind::Unsupported,
            "storage type `F31`",
        ),
        (
            "an escape in a dtype",
            one(r#"{"dtype":"\u001b[2J","shape":[2],"data_offsets":[0,8]}"#),
            Kind::Unsupported,
            "storage type is not",
        ),
        (
            "a shape below 0",
            one(r#"{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "no list of numbers",
        ),
        (
            "a fraction",
            one(r#"{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "no list of numbers",
        ),
        (
            "too many dimensions",
            one(r#"{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "9 dimensions",
        ),
        (
            "a size that overflows",
            one(r#"{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "overflows",
        ),
        (
            "bits that fill no byte",
            one(r#"{"dtype":"F4","shape":[3],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "overflows",
        ),
        (
            "one offset",
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0]}"#),
            Kind::Invalid,
            "no two numbers",
        ),
        (
            "backwards",
            one(r#"{"dtype":"F32","shape":[0],"data_offsets":[8,0]}"#),
            Kind::Invalid,
            "ends before",
        ),
        (
            "beyond the end",
            one(r#"{"dtype":"F32","shape":[3],"data_offsets":[0,12]}"#),
            Kind::Truncated,
            "ends at byte 12",
        ),
        (
            "far beyond",
            one(
                r#"{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551607,18446744073709551615]}"#,
            ),
            Kind::Truncated,
            "truncated file?",
        ),
        (
            "another size",
            one(r#"{"dtype":"F16","shape":[2],"data_offsets":[0,8]}"#),
            Kind::Invalid,
            "needs 4 bytes, its offsets hold 8",
        ),
        (
            "a rest at the end",
            one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#),
            Kind::Invalid,
            "4 bytes at the end",
        ),
        (
            "a gap",
            one(r#"{"dtype":"F32","shape":[1],"data_offsets":[4,8]}"#),
            Kind::Invalid,
            "4 bytes before tensor `x`",
        ),
        (
            "an overlap",
            file(
                &format!(
                    "{{\"x\":{f32},\"y\":{}}}",
                    r#"{"dtype":"F32","shape":[1],"data_offsets":[4,8]}"#
                ),
                &[0; 8],
            ),
            Kind::Invalid,
            "tensors `x` and `y` overlap",
        ),
        (
            "notes that are no texts",
            file("{\"__metadata__\":{\"a\":1}}", &[]),
            Kind::Invalid,
            "`__metadata__`",
        ),
    ];
    for (name, bytes, kind, says) in cases {
        fails(name, alone(&bytes), kind, says);
    }
    assert!(alone(&file("{}", &[])).is_ok(), "no tensor at all");
}

/// Whatever a header holds, it is read or refused; with every byte changed, and cut everywhere.
#[test]
fn no_byte_brings_it_down() {
    let sound = file(SOUND, &(0..38).collect::<Vec<u8>>());
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), CONFIG.replace("año", "a")).unwrap();
    let path = dir.path().join("model.safetensors");
    let mut opened = 0;
    for at in 0..sound.len() {
        for change in [1u8, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] ^= change;
            fs::write(&path, &bytes).unwrap();
            opened += usize::from(File::open(dir.path()).is_ok());
        }
        fs::write(&path, &sound[..at]).unwrap();
        assert!(File::open(dir.path()).is_err(), "cut at {at}");
    }
    assert!(opened > 100, "changes of values and names do no harm: {opened}");
}

#[test]
fn keys_of_the_small_files() {
    let config = r#"{"model_type":"bert","n":7,"less":-7,"eps":1e-12,"yes":true,"none":null,
        "name":"ñandú","list":[1,2],"mixed":[1,2.5],"below":[1,-1],"kinds":["a","b"],"flags":[true],
        "rope":{"full":{"theta":160000.0}},"deep":[{"a":1},{"b":[2]}],"big":18446744073709551615}"#;
    let modules = r#"[{"idx":0,"type":"Transformer"},{"idx":1,"type":"Pooling"}]"#;
    let token =
        r#"{"mask_token":{"content":"[MASK]"},"added_tokens_decoder":{"0":{"content":"x"}}}"#;
    let opened = open(&[
        ("config.json", config.as_bytes()),
        ("model.safetensors", &file("{}", &[])),
        ("modules.json", modules.as_bytes()),
        ("1_Pooling/config.json", b"{\"pooling_mode_mean_tokens\":true}"),
        ("tokenizer_config.json", token.as_bytes()),
        ("tokenizer.json", "{\"ñ\":1}".as_bytes()),
    ]);
    let opened = opened.unwrap();
    let m = opened.metadata();
    let whole = [("n", 7), ("rope.full.theta", 160_000), ("deep.0.a", 1), ("big", u64::MAX)];
    for (key, want) in whole {
        let value = m.get(&format!("bert.config.{key}")).unwrap_or_else(|| panic!("{key}"));
        let found = value.as_u64().or(value.as_f64().map(|v| v as u64));
        assert_eq!(found, Some(want), "{key}");
    }
    assert_eq!(m.get("bert.config.less").unwrap(), Value::I64(-7));
    assert_eq!(m.get("bert.config.eps").unwrap(), Value::F64(1e-12));
    assert_eq!(m.get("bert.config.yes").unwrap(), Value::Bool(true));
    assert_eq!(m.get("bert.config.none"), None);
    assert_eq!(m.str("bert.config.name").unwrap(), Some("ñandú"));
    let kinds: Vec<&str> = m.strings("bert.config.kinds").unwrap().unwrap().collect();
    assert_eq!(kinds, ["a", "b"]);
    let scalars = |key: &str| -> Vec<Value<'_>> {
        let array = m.array(&format!("bert.config.{key}")).unwrap().unwrap();
        array.scalars().unwrap().collect()
    };
    assert_eq!(scalars("list"), [Value::U64(1), Value::U64(2)]);
    assert_eq!(scalars("mixed"), [Value::F64(1.0), Value::F64(2.5)]);
    assert_eq!(scalars("below"), [Value::I64(1), Value::I64(-1)]);
    assert_eq!(scalars("deep.1.b"), [Value::U64(2)]);
    assert_eq!(scalars("flags"), [Value::Bool(true)]);
    assert_eq!(m.str("modules.1.type").unwrap(), Some("Pooling"));
    assert_eq!(m.bool("pooling.pooling_mode_mean_tokens").unwrap(), Some(true));
    assert_eq!(m.str("tokenizer.config.mask_token.content").unwrap(), Some("[MASK]"));
    assert_eq!(m.str("tokenizer.huggingface.json").unwrap(), Some("{\"ñ\":1}"));
    let left = m.iter().any(|(key, _)| key.contains("added_tokens_decoder"));
    assert!(!left, "what the vocabulary says is not said twice");
}

#[test]
fn lies_of_the_small_files() {
    let weights = file("{}", &[]);
    let with = |config: &[u8]| open(&[("config.json", config), ("model.safetensors", &weights)]);
    let huge = format!("{{\"model_type\":\"a\",\"x\":\"{}\"}}", "x".repeat(5 << 20));
    let many: Vec<String> = (0..70_000).map(|i| format!("\"k{i}\":1")).collect();
    let many = format!("{{\"model_type\":\"a\",{}}}", many.join(","));
    let cases: Vec<(&str, Vec<u8>, Kind, &str)> = vec![
        ("no JSON", b"{".to_vec(), Kind::Invalid, "config.json is not JSON"),
        ("no map", b"[1]".to_vec(), Kind::Missing, "no `model_type`"),
        ("no type", b"{\"a\":1}".to_vec(), Kind::Missing, "no `model_type`"),
        ("a number as type", b"{\"model_type\":1}".to_vec(), Kind::Missing, "no `model_type`"),
        (
            "an escape as type",
            b"{\"model_type\":\"\\u001b\"}".to_vec(),
            Kind::Invalid,
            "no name of",
        ),
        ("ñ in the type", "{\"model_type\":\"ñ\"}".into(), Kind::Invalid, "no name of letters"),
        (
            "a key twice",
            b"{\"model_type\":\"a\",\"model_type\":\"b\"}".to_vec(),
            Kind::Invalid,
            "a key twice",
        ),
        (
            "one key of two values",
            b"{\"model_type\":\"a\",\"x.y\":1,\"x\":{\"y\":2}}".to_vec(),
            Kind::Invalid,
            "key `a.config.x.y` comes of two values",
        ),
        (
            "a control character",
            b"{\"model_type\":\"a\",\"\\u0007\":1}".to_vec(),
            Kind::Invalid,
            "control character",
        ),
        ("5 MiB", huge.into(), Kind::Invalid, "4194304 are allowed"),
        ("70000 values", many.into(), Kind::Invalid, "more than 65536 values"),
    ];
    for (name, config, kind, says) in cases {
        fails(name, with(&config), kind, says);
    }
    let none = open(&[("model.safetensors", &weights)]);
    fails("no config", none, Kind::Missing, "which say what the weights are");
    fails("nothing", open(&[("config.json", b"{}")]), Kind::Missing, "no .safetensors file");
    let two =
        open(&[("config.json", b"{}"), ("a.safetensors", &weights), ("b.safetensors", &weights)]);
    fails("two of equal rank", two, Kind::Unsupported, "no index of them");
    let gguf = open(&[("config.json", b"{\"model_type\":\"a\"}"), ("model.safetensors", b"GGUF")]);
    assert!(gguf.is_err(), "another format under that name");
    let one = open(&[("config.json", b"{\"model_type\":\"a\"}"), ("x.safetensors", &weights)]);
    assert!(one.is_ok(), "the only one, whatever its name");
    let judge = open(&[
        ("rl_agent_config.json", b"{\"head_layers\":2}"),
        ("encoder/config.json", b"{\"hidden_size\":8}"),
        ("model.safetensors", &weights),
    ]);
    let judge = judge.unwrap();
    assert_eq!(judge.metadata().str("general.architecture").unwrap(), Some("laya"));
    assert_eq!(judge.metadata().u64("laya.encoder.hidden_size").unwrap(), Some(8));
}

#[test]
fn several_files() {
    let tensor = |name: &str, value: u8| {
        let entry = r#"{"dtype":"F16","shape":[1],"data_offsets":[0,2]}"#;
        file(&format!("{{\"{name}\":{entry}}}"), &[value; 2])
    };
    let (one, two) = (tensor("a", 1), tensor("b", 2));
    let with = |index: &str, two: &[u8]| {
        open(&[
            ("config.json", b"{\"model_type\":\"a\"}"),
            ("model-00001-of-00002.safetensors", &one),
            ("model-00002-of-00002.safetensors", two),
            ("model.safetensors.index.json", index.as_bytes()),
        ])
    };
    let (x, y) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    let map = |rows: &str| format!("{{\"metadata\":{{}},\"weight_map\":{{{rows}}}}}");
    let sound = map(&format!("\"a\":\"{x}\",\"b\":\"{y}\""));
    let opened = with(&sound, &two).unwrap();
    let found: Vec<(&str, usize)> =
        opened.tensors().iter().map(|t| (t.name.as_str(), t.shard)).collect();
    assert_eq!(found, [("a", 0), ("b", 1)]);
    assert_eq!(opened.tensor(1).bytes, [2, 2]);
    let cases = [
        ("in another file", map(&format!("\"a\":\"{y}\",\"b\":\"{y}\"")), "tensor `a` is not in"),
        ("one too few", map(&format!("\"a\":\"{x}\",\"c\":\"{y}\"")), "tensor `c` is not in"),
        ("not all", map(&format!("\"a\":\"{x}\"")), ""),
        ("out of the folder", map("\"a\":\"../x.safetensors\""), "not beside it"),
        ("another kind", map("\"a\":\"x.bin\""), "no .safetensors"),
        ("no text", map("\"a\":1"), "no text"),
        ("no map", "{}".into(), "no map"),
        ("empty", map(""), "0 files"),
        ("no JSON", "{".into(), "not JSON"),
    ];
    for (name, index, says) in cases {
        match with(&index, &two) {
            Err(error) => assert!(error.to_string().contains(says), "{name}: {error}"),
            // Only the files that the index names are opened.
            Ok(opened) => assert!(name == "not all" && opened.tensors().len() == 1, "{name}"),
        }
    }
    let twice = with(&map(&format!("\"a\":\"{x}\",\"b\":\"{y}\"")), &one);
    fails("a tensor twice", twice, Kind::Invalid, "tensor `b` is not in");
    let more = map(&format!("\"a\":\"{x}\",\"b\":\"{y}\""));
    let entry = r#"{"dtype":"F16","shape":[1],"data_offsets":[0,2]}"#;
    let other = r#"{"dtype":"I16","shape":[1],"data_offsets":[2,4]}"#;
    let extra = file(&format!("{{\"b\":{entry},\"c\":{other}}}"), &[0; 4]);
    fails(
        "a tensor beyond the index",
        with(&more, &extra),
        Kind::Invalid,
        "3 tensors, their index 2",
    );
}

/// A path to the weights leads to the folder; a copy has the same bytes and keys.
#[test]
fn one_file_of_a_folder_and_a_pinned_copy() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("config.json"), "{\"model_type\":\"a\",\"n\":3}").unwrap();
    fs::write(at("model.safetensors"), file(SOUND, &(0..38).collect::<Vec<u8>>())).unwrap();
    fs::write(at("other.safetensors"), file("{}", &[])).unwrap();
    assert_eq!(File::open(&at("other.safetensors")).unwrap().tensors().len(), 0);
    let paths = [at("model.safetensors"), at("other.safetensors")];
    assert_eq!(File::open_all(&paths).unwrap().tensors().len(), 3, "the one of that name");
    let mapped = File::open(&at("model.safetensors")).unwrap();
    let keys = |file: &File| -> Vec<String> {
        file.metadata().iter().map(|(key, value)| format!("{key} {value:?}")).collect()
    };
    let (before, bytes) = (keys(&mapped), mapped.tensor(0).bytes.to_vec());
    struct Same;
    impl recinto_weights::Rewrite for Same {
        fn piece(&self, _: &recinto_weights::TensorInfo) -> Option<std::num::NonZeroUsize> {
            None
        }
        fn rewrite(&self, _: &recinto_weights::TensorInfo, _: usize, _: &[u8], _: &mut [u8]) {}
    }
    let mut seen = vec![0; 2];
    let mut see = |shard: usize, bytes: &[u8]| {
        seen[shard] += bytes.len();
        std::ops::ControlFlow::Continue(())
    };
    let pinned = mapped.pin(2, &Same, &mut see).unwrap();
    let sizes: Vec<usize> =
        ["model.safetensors", "config.json"].map(|n| fs::read(at(n)).unwrap().len()).to_vec();
    assert_eq!(seen, sizes);
    assert!(pinned.is_pinned() && keys(&pinned) == before && pinned.tensor(0).bytes == bytes);
    fs::write(at("config.json"), "{}").unwrap();
    assert!(pinned.unchanged() && pinned.others().len() == 2);
    assert!(File::open(Path::new("nada")).is_err());
}
