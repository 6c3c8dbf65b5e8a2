//! Int8: which precision a model computes in, and a file of an encoder whose layers do.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use recinto_arch::{Op, Program};
use recinto_quant::{DType, Form, expand, pack};
use recinto_receipt::Digest;
use recinto_weights::{Draft, File, Tensor};
use serde::Serialize;

use crate::{
    encoder::Encoder,
    error::{Error, Kind, guarded},
    model::VERSION,
};

/// What matrices become: rows of signed bytes with a scale for every 32.
const TO: DType = DType::Q8_0;
/// The key with the digest of the weights that a file was made of.
const SOURCE: &str = "recinto.quantized.source";
/// The key with the engine that made it.
const BY: &str = "recinto.quantized.by";
/// Keys that say how a GGUF file is stored, with the numbers that the format has for it.
const STORED: [(&str, u64); 2] = [("general.file_type", 7), ("general.quantization_version", 2)];

/// In what matrix products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Plain floats, all of them: the reference.
    F32,
    /// Signed bytes: weights as stored, activations rounded to eight bits a block. Norms, sums,
    /// attention and what stands outside of the layers may still be floats.
    Int8,
}

impl Precision {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Int8 => "int8",
        }
    }

    /// That of a program over a file: one product in bytes, and not all is in floats.
    pub(crate) fn of(program: &Program, file: &File) -> Precision {
        let whole = |id: usize| file.tensor(id).info.dtype.layout().form == Form::F32;
        let plain = program.instructions.iter().all(|instruction| match instruction.op {
            Op::Linear { weight, .. } => whole(weight.0),
            _ => true,
        });
        if plain { Precision::F32 } else { Precision::Int8 }
    }
}

/// What came of [`Encoder::quantize`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quantized {
    /// Bytes of the new file.
    pub bytes: u64,
    /// Matrices that are bytes now.
    pub matrices: usize,
    /// Tensors that are as they were.
    pub kept: usize,
    /// Digest of the weights that it was made of; it stands in the new file.
    pub source: Digest,
}

impl Encoder {
    /// Writes a GGUF file of this encoder with the matrices of its layers as bytes (`q8_0`), to be
    /// opened as this was: all its keys are in it, and the digest of what it was made of. Tables of
    /// embeddings, norms, biases and what stands outside of layers stay as they are. The same
    /// encoder gives the same bytes.
    ///
    /// # Errors
    ///
    /// No matrix that could become bytes, or a weight that bytes cannot stand for; weights in a
    /// private copy; what `out` gives; and as [`Encoder::digests`].
    pub fn quantize(&self, mut out: &mut dyn Write) -> Result<Quantized, Error> {
        guarded(|| self.quantized(&mut out))
    }

    fn quantized(&self, out: &mut impl Write) -> Result<Quantized, Error> {
        let model = self.model();
        let (file, program) = (model.file(), model.program());
        if file.is_pinned() {
            return Err(Error::new(Kind::Request, "the weights are in another order in memory")
                .hint("open the model without `--pin memory`"));
        }
        let chosen = matrices(program, file);
        if chosen.is_empty() {
            let what = "no matrix of its layers can become bytes: none is f32, f16 or bf16 with \
                        rows of whole blocks of 32";
            let precision = Precision::of(program, file);
            return Err(Error::new(Kind::Request, what)
                .hint(format!("it computes in {} as it is", precision.name())));
        }
        let source = self.digests()?.weights;
        let mut draft = Draft::new();
        let ours = |key: &str| key.starts_with("recinto.quantized.");
        let stored = |key: &str| STORED.iter().any(|row| row.0 == key);
        // A model in several files is one here.
        let split = |key: &str| key.starts_with("split.");
        draft.copy(file.metadata(), |key| !ours(key) && !stored(key) && !split(key))?;
        for (key, number) in STORED {
            draft.number(key, number)?;
        }
        draft.text(SOURCE, &format!("sha256:{source}"))?;
        draft.text(BY, &format!("recinto {VERSION}"))?;
        let read = read(program);
        // What the program skips would only be carried along.
        let kept: Vec<usize> = (0..file.tensors().len()).filter(|id| read.contains(id)).collect();
        for id in &kept {
            let info = file.tensor(*id).info;
            let dtype = if chosen.contains(id) { TO } else { info.dtype };
            draft.tensor(&info.name, &info.dims, dtype)?;
        }
        let threads = self.facts().threads;
        let mut failed = None;
        let bytes = draft.write(out, |index, out| {
            let (id, mut packed) = (kept[index], Vec::new());
            let tensor = file.tensor(id);
            if !chosen.contains(&id) {
                return out.write_all(tensor.bytes);
            }
            if let Err(error) = packed_rows(&tensor, threads, &mut packed) {
                failed = Some(error);
                return Err(io::ErrorKind::InvalidData.into());
            }
            out.write_all(&packed)
        });
        let bytes = match (bytes, failed) {
            (_, Some(error)) => return Err(error),
            (Ok(bytes), None) => bytes,
            (Err(error), None) => {
                return Err(Error::new(Kind::Transfer, format!("cannot write the file: {error}")));
            }
        };
        model.whole()?;
        let matrices = chosen.len();
        Ok(Quantized { bytes, matrices, kept: kept.len() - matrices, source })
    }
}

/// Tensors that the program reads.
pub(crate) fn read(program: &Program) -> BTreeSet<usize> {
    let of = program.instructions.iter().flat_map(|instruction| match instruction.op {
        Op::Embed { table, .. } => [Some(table), None],
        Op::Norm { weight, bias, .. } => [weight, bias],
        Op::Linear { weight, bias, .. } => [Some(weight), bias],
        _ => [None, None],
    });
    of.flatten().map(|id| id.0).collect()
}

/// Matrices of layers that are plain floats in rows of whole blocks, and that no step reads in
/// another way. What stands outside of layers, such as a scorer, gives the answer itself and is
/// small: it stays.
fn matrices(program: &Program, file: &File) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut otherwise = BTreeSet::new();
    for instruction in &program.instructions {
        match instruction.op {
            Op::Linear { weight, .. } if instruction.layer.is_some() => {
                found.insert(weight.0);
            }
            Op::Linear { weight, .. } => {
                otherwise.insert(weight.0);
            }
            Op::Embed { table, .. } => {
                otherwise.insert(table.0);
            }
            _ => {}
        }
    }
    let per = TO.layout().values as u64;
    found.retain(|id| {
        let info = file.tensor(*id).info;
        let floats = info.dtype.layout().form == Form::F32;
        let rows = info.dims.first().is_some_and(|row| row.is_multiple_of(per));
        floats && rows && !otherwise.contains(id)
    });
    found
}

/// A matrix as bytes, row after row; several threads take some rows each.
fn packed_rows(tensor: &Tensor<'_>, threads: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let info = tensor.info;
    let bad = |what: &str| Error::new(Kind::Open, format!("tensor `{}`: {what}", info.name));
    let size = TO.bytes_for(info.values()).ok_or_else(|| bad("a wrong size"))? as usize;
    let row = info.dims.first().map_or(0, |row| *row as usize);
    let (from, to) = (info.dtype.bytes_for(row as u64), TO.bytes_for(row as u64));
    let (Some(from), Some(to)) = (from, to) else { return Err(bad("a wrong size")) };
    let (from, to) = (from as usize, to as usize);
    out.try_reserve_exact(size).map_err(|_| Error::new(Kind::Memory, "no memory for a matrix"))?;
    out.resize(size, 0);
    let rows = (size / to).div_ceil(threads.max(1)).max(1);
    let some = |(stored, packed): (&[u8], &mut [u8])| -> Result<(), &'static str> {
        let mut values = vec![0.0f32; row];
        for (stored, packed) in stored.chunks_exact(from).zip(packed.chunks_exact_mut(to)) {
            expand(info.dtype, stored, &mut values).map_err(|_| "a wrong size")?;
            // Beyond this a block's scale is no half float any more.
            if !values.iter().all(|value| value.abs() <= 127.0 * 65504.0) {
                return Err("a value is no number, or too large for bytes with a scale");
            }
            pack(TO, &values, packed).map_err(|_| "a wrong size")?;
        }
        Ok(())
    };
    let parts = tensor.bytes.chunks(rows * from).zip(out.chunks_mut(rows * to));
    std::thread::scope(|scope| {
        let all: Vec<_> = parts.map(|part| scope.spawn(|| some(part))).collect();
        all.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done.map_err(&bad),
            Err(_) => Err(Error::new(Kind::Internal, "a thread that packs weights ended early")),
        })
    })
}
