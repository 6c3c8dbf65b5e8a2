//! Laya with its layers in bytes, held against the same in floats: of the tiny checkpoint always,
//! and of the one in the folder that `RECINTO_TEST_LAYA` names where it is set
//! (`bench/laya_sized.py` makes one of the real size).

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_backends::Laya;
use recinto_engine::{Encoder, Kind, Level, OpenOptions, Precision, Stop, Text};
use recinto_judge::{Backend, Choice, Evidence, Question, Shown, State, readout};

/// Where two probabilities are this far apart, bytes must not turn them round.
const MARGIN: f64 = 0.02;
/// How far a probability may move.
const FAR: f64 = 0.03;

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya/ckpt")
}

/// The checkpoints that are compared.
fn checkpoints() -> Vec<PathBuf> {
    let real = std::env::var_os("RECINTO_TEST_LAYA").map(PathBuf::from);
    [Some(tiny()), real].into_iter().flatten().collect()
}

/// A file of the checkpoint with its layers in bytes.
fn quantized(from: &Path, to: &Path) -> PathBuf {
    let path = to.join("int8.gguf");
    let mut file = fs::File::create(&path).unwrap();
    let encoder = Encoder::open(from, &OpenOptions::default()).unwrap();
    let done = encoder.quantize(&mut file).unwrap();
    assert_eq!(done.bytes, fs::metadata(&path).unwrap().len());
    path
}

const STATES: [&str; 6] = [
    "We were billed twice for March. Please refund the duplicate today or we will cancel our plan.",
    "No puedo entrar en mi cuenta desde ayer. ¿Podéis mirarlo? Es urgente, mañana cierro el año.",
    "The app shows a blank page after the update, in every browser I tried.",
    "Gracias, ya está resuelto. ¡Qué rapidez!",
    "",
    "{\"order\": 4417, \"lines\": [{\"name\": \"piñata\", \"count\": 2}], \"paid\": false}",
];

fn questions() -> Vec<Question> {
    let plain = |labels: &[&str]| {
        Question::choose("Who should handle it?", labels.iter().map(|l| Choice::plain(*l)))
    };
    vec![
        Question::whether("Is it urgent?"),
        Question::whether("¿El cliente amenaza con irse?"),
        plain(&["billing", "technical", "sales", "other"]),
        plain(&["pagos", "acceso"]),
        plain(&["a", "b", "c", "d", "e", "f", "g"]),
        Question::rate("How angry is the writer?", ["calm", "annoyed", "angry", "furious"]),
    ]
}

/// The logits of every question about every state, with the probabilities they come to.
fn read(laya: &mut Laya) -> Vec<(Vec<f64>, Vec<f64>)> {
    let questions = questions();
    let orders: Vec<Vec<usize>> = questions.iter().map(|q| (0..q.options()).collect()).collect();
    let shown: Vec<Shown<'_>> =
        questions.iter().zip(&orders).map(|(question, order)| Shown { question, order }).collect();
    let mut out = Vec::new();
    for state in STATES {
        let readings = laya.read(&State::text(state), &shown).unwrap();
        for (reading, shown) in readings.into_iter().zip(&shown) {
            let Evidence::Logits(logits) = reading.unwrap().evidence else { panic!("logits") };
            let t = laya.temperature(shown.question.form(), shown.order.len());
            let p = readout::softmax(&logits, t);
            out.push((logits, p));
        }
    }
    out
}

fn first(p: &[f64]) -> usize {
    (0..p.len()).rev().max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap()
}

#[test]
fn bytes_answer_as_floats_do() {
    let dir = tempfile::tempdir().unwrap();
    for from in checkpoints() {
        let path = quantized(&from, dir.path());
        let open = |path: &Path| Laya::open(path, &OpenOptions::default()).unwrap();
        let (mut floats, mut bytes) = (open(&from), open(&path));
        for (laya, precision) in [(&floats, "f32"), (&bytes, "int8")] {
            assert_eq!(laya.encoder().model().precision().name(), precision);
            let model = format!("{:?}", laya.model());
            assert!(model.contains(&format!("\"{precision}\"")), "{model}");
        }
        let (want, got) = (read(&mut floats), read(&mut bytes));
        let (mut far, mut clear) = (0.0f64, 0);
        for (at, ((_, want), (_, got))) in want.iter().zip(&got).enumerate() {
            far = want.iter().zip(got).map(|(a, b)| (a - b).abs()).fold(far, f64::max);
            let mut sorted = want.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            if sorted[0] - sorted[1] > MARGIN {
                clear += 1;
                assert_eq!(first(got), first(want), "reading {at}: {got:?} for {want:?}");
            }
        }
        println!("{}: {} readings, {clear} clear, {far:.4}", from.display(), want.len());
        assert!(far <= FAR, "a probability moved by {far}");
        assert!(clear * 2 > want.len(), "most readings have to be clear ones");
        assert_ne!(want, got, "bytes are no floats");
    }
}

/// The bits of a reading do not depend on threads or on the level.
#[test]
fn same_bits_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = quantized(&tiny(), dir.path());
    let read = |threads, level| {
        let options = OpenOptions { threads: Some(threads), level, ..OpenOptions::default() };
        read(&mut Laya::open(&path, &options).unwrap())
    };
    let want = read(1, Some(Level::Portable));
    for (threads, level) in [(1, None), (2, None), (3, None), (2, Some(Level::Portable))] {
        assert_eq!(read(threads, level), want, "{threads} threads, {level:?}");
    }
    let pinned = OpenOptions { pin: recinto_engine::Pin::Memory, ..OpenOptions::default() };
    assert_eq!(self::read(&mut Laya::open(&path, &pinned).unwrap()), want, "a copy in memory");
}

/// What the file says and holds; and that it depends on nothing but the checkpoint.
#[test]
fn what_is_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let source = Encoder::open(&tiny(), &OpenOptions::default()).unwrap();
    let written = |threads| {
        let options = OpenOptions { threads: Some(threads), ..OpenOptions::default() };
        let mut out = Vec::new();
        let done = Encoder::open(&tiny(), &options).unwrap().quantize(&mut out).unwrap();
        (out, done)
    };
    let (bytes, done) = written(1);
    assert_eq!(written(3), (bytes.clone(), done.clone()), "threads");
    assert_eq!(done.source, source.digests().unwrap().weights);
    // Five layers of four matrices, two of the head with four.
    assert_eq!(done.matrices, 5 * 4 + 2 * 4);
    let path = dir.path().join("a.gguf");
    fs::write(&path, &bytes).unwrap();
    let encoder = Encoder::open(&path, &OpenOptions::default()).unwrap();
    let (old, new) = (source.model().file(), encoder.model().file());
    let key = |key: &str| new.metadata().str(key).unwrap().unwrap().to_owned();
    assert_eq!(key("recinto.quantized.source"), format!("sha256:{}", done.source));
    assert_eq!(encoder.model().precision(), Precision::Int8);
    for tensor in new.tensors() {
        let found = old.tensor(old.find(&tensor.name).unwrap());
        let matrix = tensor.name.contains("layers.") && tensor.dims.len() == 2;
        assert_eq!(tensor.dtype.name() == "q8_0", matrix, "{}", tensor.name);
        assert_eq!(tensor.dims, found.info.dims, "{}", tensor.name);
        if !matrix {
            let now = new.tensor(new.find(&tensor.name).unwrap());
            assert_eq!(now.bytes, found.bytes, "{}", tensor.name);
        }
    }
    assert!(new.find("act_head.0.weight").is_none(), "what is skipped is not carried along");
    // It is bytes already.
    let again = encoder.quantize(&mut Vec::new()).unwrap_err();
    assert!(again.to_string().contains("no matrix"), "{again}");
    // A byte of a matrix that another one took changes the answer, and the digest with it.
    assert_ne!(encoder.digests().unwrap().weights, done.source);
}

/// A full disk, and weights that no bytes stand for.
#[test]
fn what_cannot_be_written() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let source = Encoder::open(&tiny(), &OpenOptions::default()).unwrap();
    for room in [0, 100, 50_000] {
        let error = source.quantize(&mut Full(room)).unwrap_err();
        assert_eq!(*error.kind(), Kind::Transfer, "{room}: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    copy(&tiny(), dir.path());
    let path = dir.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    // The name of a matrix of a layer leads to its bytes by the header.
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let at = &header["encoder.layers.1.mlp.Wo.weight"]["data_offsets"][0];
    let at = 8 + length + at.as_u64().unwrap() as usize;
    bytes[at..at + 2].copy_from_slice(&0x7e00u16.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let damaged = Encoder::open(dir.path(), &OpenOptions::default()).unwrap();
    let error = damaged.quantize(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("encoder.layers.1.mlp.Wo.weight"), "{error}");
    // Nor does reading it give numbers.
    let ids = [1, 2, 3];
    let text = Text { rows: &[0], ..Text::of(&ids) };
    assert!(matches!(
        damaged.read(&[text], &Stop::never()).unwrap_err().kind(),
        Kind::NonFinite { .. }
    ));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}
