//! Runs a program over rows of one or several sequences: one table call an instruction.
//!
//! This is the unfused interpreter; whatever is made faster later is held to its bits. Only rope,
//! attention and the embedding know that rows belong to sequences; all other steps see rows.

use std::sync::Arc;

use recinto_arch::{Activation, By, Instruction, Map, NormKind, Op, Program, Slot, TensorId};
use recinto_kernels::{Attend, Gate, Job, Kv, Machine, Rows, Sequence, Stop, first_non_finite};
use recinto_os::Wiped;
use recinto_quant::{Form, expand};
use recinto_weights::File;

use crate::{
    buffers::Buffers,
    error::{Error, Kind},
    order,
};

/// What an opened model computes with: the file, the program and small vectors as floats.
pub(crate) struct Bound {
    pub file: Arc<File>,
    pub program: Program,
    pub machine: Machine,
    /// Norm scales and biases, by tensor; everything one-dimensional that the program reads.
    vectors: Vec<Option<Box<[f32]>>>,
    /// For each instruction, how many from it on run as one (see [`linear_group`]).
    pub groups: Vec<usize>,
    /// Index of the last attention step: after it only wanted rows are computed.
    pub last_attend: Option<usize>,
}

/// Why a block did not finish.
pub(crate) enum Halt {
    /// The caller or the deadline said so.
    Stopped,
    /// Something was found wrong, and where.
    Failed(Error),
    /// A value is not a number; where is not known yet.
    NonFinite,
    /// There is no memory for a buffer.
    Memory,
}

impl From<std::io::Error> for Halt {
    fn from(_: std::io::Error) -> Halt {
        Halt::Memory
    }
}

impl From<recinto_kernels::Stopped> for Halt {
    fn from(_: recinto_kernels::Stopped) -> Halt {
        Halt::Stopped
    }
}

/// Ids of one sequence at consecutive positions: its rows in a block.
pub(crate) struct Segment<'a> {
    pub ids: &'a [u32],
    /// Position of the first.
    pub start: usize,
    /// How many of the last rows the caller wants the output of.
    pub wanted: usize,
    /// Keys and values of the sequence, with room for the new positions.
    pub caches: &'a mut [Kv],
}

/// The rows in hand.
#[derive(Clone, Copy)]
struct Span {
    /// Only wanted ones are left.
    tail: bool,
    /// How many, of all segments.
    n: usize,
    /// Look at every result; the slow way, to find where numbers went wrong.
    checked: bool,
}

impl Segment<'_> {
    /// Which of its ids have rows in hand.
    fn rows(&self, span: Span) -> std::ops::Range<usize> {
        let skip = if span.tail { self.ids.len() - self.wanted } else { 0 };
        skip..self.ids.len()
    }
}

/// Linear steps that run as one, at the most.
const GROUP: usize = 8;

/// Where the result of one linear step of a group goes.
struct Target<'a> {
    slot: Slot,
    weights: Rows<'a>,
    bias: Option<&'a [f32]>,
    memory: Wiped<f32>,
}

impl Bound {
    pub fn new(file: Arc<File>, program: Program, machine: Machine) -> Result<Bound, Error> {
        let mut vectors: Vec<Option<Box<[f32]>>> = Vec::new();
        vectors.resize_with(file.tensors().len(), || None);
        for instruction in &program.instructions {
            let ids = match instruction.op {
                Op::Norm { weight, bias, .. } => [weight, bias],
                Op::Linear { bias, .. } => [bias, None],
                _ => [None, None],
            };
            for TensorId(id) in ids.into_iter().flatten() {
                if vectors[id].is_none() {
                    vectors[id] = Some(floats(&file, id)?);
                }
            }
        }
        let last_attend =
            program.instructions.iter().rposition(|i| matches!(i.op, Op::Attend { .. }));
        let steps = &program.instructions;
        let groups = (0..steps.len()).map(|index| linear_group(&steps[index..])).collect();
        Ok(Bound { file, program, machine, vectors, groups, last_attend })
    }

    /// Runs one block. The output of the wanted rows, segment by segment, is then in
    /// [`Buffers::output`]. On a halt the caches hold nothing a later block would read.
    pub fn run(
        &self,
        segments: &mut [Segment<'_>],
        checked: bool,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        buffers.begin(&self.program);
        let all = segments.iter().map(|segment| segment.ids.len()).sum();
        let wanted = segments.iter().map(|segment| segment.wanted).sum();
        let mut span = Span { tail: false, n: all, checked };
        let last = Span { tail: true, n: wanted, checked };
        if self.last_attend.is_none() {
            // Without attention every row stands alone: only wanted ones are computed.
            if wanted == 0 {
                return Ok(());
            }
            span = last;
        }
        let instructions = &self.program.instructions[..];
        let mut index = 0;
        while let Some(instruction) = instructions.get(index) {
            let began = buffers.start();
            if let Op::Attend { .. } = instruction.op {
                self.store(instruction, buffers, segments, span)?;
            }
            if Some(index) == self.last_attend {
                if segments.iter().any(|segment| segment.wanted == 0) {
                    self.sound(instruction, buffers)?;
                }
                if wanted == 0 {
                    return Ok(());
                }
                buffers.keep_last(segments.iter().map(|s| (s.ids.len(), s.wanted)));
                span = last;
            }
            let group = self.groups[index];
            if group > 1 && !checked && buffers.profile.is_none() {
                self.linear(&instructions[index..index + group], span.n, buffers, stop)?;
                index += group;
                continue;
            }
            self.step(instruction, segments, span, buffers, stop)?;
            if checked {
                self.inspect(instruction, instruction.out(), buffers)?;
            }
            buffers.end(index, began);
            index += 1;
        }
        Ok(())
    }

    /// Puts keys and values of an attention step into the caches of their sequences.
    fn store(
        &self,
        instruction: &Instruction,
        buffers: &Buffers,
        segments: &mut [Segment<'_>],
        span: Span,
    ) -> Result<(), Halt> {
        let Op::Attend { k, v, cache, .. } = instruction.op else { return Ok(()) };
        if span.checked {
            self.inspect(instruction, k, buffers)?;
            self.inspect(instruction, v, buffers)?;
        }
        let shape = self.program.caches[cache];
        let (mut keys, mut values) = (buffers.slot(k).rows(), buffers.slot(v).rows());
        for segment in segments {
            let n = segment.ids.len();
            let (k, v);
            (k, keys) = keys.split_at(n * shape.kv_heads * shape.key_dim);
            (v, values) = values.split_at(n * shape.kv_heads * shape.value_dim);
            segment.caches[cache].store(segment.start, k, v);
        }
        Ok(())
    }

    /// The last sight of rows whose output nobody asked for: a value that went wrong in any
    /// earlier step has reached the keys and values of the last attention.
    fn sound(&self, instruction: &Instruction, buffers: &Buffers) -> Result<(), Halt> {
        let Op::Attend { k, v, .. } = instruction.op else { return Ok(()) };
        let bad = |slot| first_non_finite(buffers.slot(slot).rows()).is_some();
        if bad(k) || bad(v) { Err(Halt::NonFinite) } else { Ok(()) }
    }

    fn step(
        &self,
        instruction: &Instruction,
        segments: &[Segment<'_>],
        span: Span,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let (machine, n) = (&self.machine, span.n);
        if stop.stopped() {
            return Err(Halt::Stopped);
        }
        match instruction.op {
            Op::Embed { out, table, width, by, from } => {
                let mut out = buffers.write(out, width, n)?;
                for segment in segments {
                    let rows = segment.rows(span);
                    let (now, rest) = out.split_at_mut(rows.len() * width);
                    match by {
                        By::Positions => {
                            let first = segment.start + rows.start + from;
                            let places = (first..first + rows.len()).map(|at| at as u32);
                            self.embed(table, width, places, now)?;
                        }
                        // Types are steps of whole texts, which no session has.
                        _ => self.embed(table, width, segment.ids[rows].iter().copied(), now)?,
                    }
                    out = rest;
                }
            }
            Op::Rope { out, x, width, size, rope, pairs } => {
                let mut turn = std::mem::take(&mut buffers.angles[rope]);
                // Many steps share one setting; its angles are made once a block.
                if !turn.ready {
                    let setting = &self.program.ropes[rope];
                    let (frequencies, magnitude) = (&setting.frequencies, setting.magnitude);
                    turn.angles.clear(frequencies.len());
                    for segment in segments {
                        let rows = segment.rows(span);
                        let start = segment.start + rows.start;
                        turn.angles.add(frequencies, magnitude, start, rows.len());
                    }
                    turn.ready = true;
                }
                let target = buffers.copy(out, x, width, n)?;
                machine.rope(stop, target, width, size, kernel_pairs(pairs), &turn.angles)?;
                buffers.angles[rope] = turn;
            }
            Op::Attend { out, q, heads, cache, scale, softcap, .. } => {
                let shape = self.program.caches[cache];
                let width = heads * shape.value_dim;
                let mut memory = buffers.take(out, q, width * n)?;
                let attend = Attend { heads, window: shape.window, scale, softcap };
                let queries = buffers.slot(q).rows();
                let target = &mut memory[..width * n];
                let sequence = |segment: &'_ Segment<'_>| {
                    let rows = segment.rows(span);
                    let start = segment.start + rows.start;
                    (start, rows.len())
                };
                if let [segment] = segments {
                    let ((start, n), kv) = (sequence(segment), &segment.caches[cache]);
                    let one = [Sequence { kv, start, n }];
                    machine.attend_all(stop, queries, &one, &attend, target)?;
                } else {
                    let all = segments.iter().map(|segment| {
                        let ((start, n), kv) = (sequence(segment), &segment.caches[cache]);
                        Sequence { kv, start, n }
                    });
                    let all: Vec<Sequence<'_>> = all.filter(|sequence| sequence.n > 0).collect();
                    machine.attend_all(stop, queries, &all, &attend, target)?;
                }
                buffers.give(out, width, n, memory);
            }
            _ => self.rowwise(instruction, n, buffers, stop)?,
        }
        Ok(())
    }

    /// A step that computes each row of `n` alone: all but those of [`Bound::step`].
    pub(crate) fn rowwise(
        &self,
        instruction: &Instruction,
        n: usize,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let machine = &self.machine;
        match instruction.op {
            Op::Norm { out, x, width, size, weight, bias, eps, kind } => {
                let out = buffers.copy(out, x, width, n)?;
                let weight = weight.and_then(|id| self.vector(id));
                let bias = bias.and_then(|id| self.vector(id));
                match kind {
                    NormKind::Rms => machine.rms_norm(stop, out, size, weight, eps)?,
                    NormKind::Layer => machine.layer_norm(stop, out, size, weight, bias, eps)?,
                }
            }
            Op::Linear { .. } => {
                self.linear(std::slice::from_ref(instruction), n, buffers, stop)?;
            }
            Op::Slice { out, x, from, width, of } => {
                let mut memory = buffers.take(out, x, width * n)?;
                let rows = buffers.slot(x).rows();
                machine.slice(stop, rows, of, from, &mut memory[..width * n], width)?;
                buffers.give(out, width, n, memory);
            }
            Op::Add { out, a, b, width } => {
                buffers.two([out, a, b], width, n, |a, b| machine.add(stop, a, b))?;
            }
            Op::Mul { out, a, b, width } => {
                buffers.two([out, a, b], width, n, |a, b| machine.mul(stop, a, b))?;
            }
            Op::Map { out, x, width, map } => {
                let out = buffers.copy(out, x, width, n)?;
                match map {
                    Map::Scale(by) => machine.scale(stop, out, by)?,
                    Map::Softcap(cap) => machine.softcap(stop, out, cap)?,
                    Map::Silu => machine.silu(stop, out)?,
                    Map::Gelu => machine.gelu(stop, out)?,
                    Map::GeluErf => machine.gelu_erf(stop, out)?,
                    Map::Relu => machine.relu(stop, out)?,
                    Map::Sigmoid => machine.sigmoid(stop, out)?,
                    Map::Tanh => machine.tanh(stop, out)?,
                }
            }
            Op::Gated { out, g, u, width, activation } => {
                let gate = match activation {
                    Activation::Silu => Gate::Silu,
                    Activation::Gelu => Gate::Gelu,
                    Activation::GeluErf => Gate::GeluErf,
                };
                let run = |g: &mut [f32], u: &[f32]| machine.gated(stop, g, u, gate);
                buffers.two([out, g, u], width, n, run)?;
            }
            // These know which text a row is of; whoever runs them does not come here.
            Op::Embed { .. }
            | Op::Rope { .. }
            | Op::Attend { .. }
            | Op::AttendBoth { .. }
            | Op::Rows { .. } => return Err(Halt::Failed(mismatch(instruction))),
        }
        Ok(())
    }

    /// Linear steps over one input, in one parallel region; activations are quantized once.
    pub(crate) fn linear(
        &self,
        group: &[Instruction],
        n: usize,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let Some((x, cols)) = group.first().and_then(|first| first.linear_input()) else {
            return Ok(());
        };
        let mut targets: [Option<Target<'_>>; GROUP] = [const { None }; GROUP];
        let mut forms = [Form::F32; 2];
        let mut different = 0;
        for (target, instruction) in targets.iter_mut().zip(group) {
            let Op::Linear { out, weight, bias, rows: height, .. } = instruction.op else {
                continue;
            };
            let weights = order::rows(&self.file, weight.0, height, cols)
                .map_err(|_| Halt::Failed(mismatch(instruction)))?;
            let form = weights.dtype().layout().form;
            if form != Form::F32 && !forms[..different].contains(&form) {
                forms[different] = form;
                different += 1;
            }
            let memory = buffers.take(out, x, height * n)?;
            let bias = bias.and_then(|id| self.vector(id));
            *target = Some(Target { slot: out, weights, bias, memory });
        }
        let (source, prepared) = buffers.slot_mut(x).prepare();
        if different > 0 {
            self.machine.prepare(stop, source, cols, &forms[..different], prepared)?;
        }
        let mut jobs = targets.iter_mut().flatten().map(|target| Job {
            weights: target.weights,
            bias: target.bias,
            out: &mut target.memory[..target.weights.rows() * n],
        });
        let run = |jobs: &mut [Job<'_>]| self.machine.linear(stop, source, cols, prepared, jobs);
        let mut next = || jobs.next().expect("a job a step");
        match group.len() {
            1 => run(&mut [next()])?,
            2 => run(&mut [next(), next()])?,
            3 => run(&mut [next(), next(), next()])?,
            _ => run(&mut jobs.collect::<Vec<_>>())?,
        }
        for target in targets.into_iter().flatten() {
            buffers.give(target.slot, target.weights.rows(), n, target.memory);
        }
        Ok(())
    }

    fn vector(&self, id: TensorId) -> Option<&[f32]> {
        self.vectors[id.0].as_deref()
    }

    /// Rows of an embedding table; ids were checked when they came in.
    pub(crate) fn embed(
        &self,
        table: TensorId,
        width: usize,
        rows: impl Iterator<Item = u32>,
        out: &mut [f32],
    ) -> Result<(), Halt> {
        order::pick(&self.file, table.0, width, rows, out)
            .map_err(|id| Halt::Failed(bad_id(id, self.program.vocabulary)))
    }

    pub(crate) fn inspect(
        &self,
        instruction: &Instruction,
        slot: Slot,
        buffers: &Buffers,
    ) -> Result<(), Halt> {
        match first_non_finite(buffers.slot(slot).rows()) {
            Some(_) => Err(Halt::Failed(self.located(instruction))),
            None => Ok(()),
        }
    }

    fn located(&self, instruction: &Instruction) -> Error {
        let layer = instruction.layer.map_or(String::new(), |layer| format!(", layer {layer}"));
        let (name, line) = (&self.program.name, instruction.line);
        let text = self.program.line(line);
        let what = format!("a value stopped being a number at {name}.arch:{line}{layer}: `{text}`");
        Error::new(Kind::NonFinite { line, layer: instruction.layer }, what)
            .hint("the file's weights are damaged, or the architecture does not fit them")
    }
}

/// How many of the first instructions are linear steps over one input that none of them writes,
/// each with a result of its own.
fn linear_group(instructions: &[Instruction]) -> usize {
    let Some((x, _)) = instructions.first().and_then(Instruction::linear_input) else { return 1 };
    let mut outs = Vec::with_capacity(4);
    for instruction in instructions {
        let same = instruction.linear_input().is_some_and(|(input, _)| input == x);
        let full = outs.len() == GROUP;
        if !same || full || instruction.out() == x || outs.contains(&instruction.out()) {
            break;
        }
        outs.push(instruction.out());
    }
    outs.len().max(1)
}

/// All values of a vector: one row, which lies as in the file in a pinned copy too.
fn floats(file: &File, id: usize) -> Result<Box<[f32]>, Error> {
    let tensor = file.tensor(id);
    let mut out = vec![0.0; tensor.info.values() as usize];
    expand(tensor.info.dtype, tensor.bytes, &mut out).map_err(|_| {
        Error::new(Kind::Open, format!("tensor `{}` has a wrong size", tensor.info.name))
    })?;
    Ok(out.into())
}

pub(crate) fn kernel_pairs(pairs: recinto_arch::Pairs) -> recinto_kernels::Pairs {
    match pairs {
        recinto_arch::Pairs::Adjacent => recinto_kernels::Pairs::Adjacent,
        recinto_arch::Pairs::Half => recinto_kernels::Pairs::Half,
    }
}

fn mismatch(instruction: &Instruction) -> Error {
    let what = format!("line {} of the arch file: weights of a wrong size", instruction.line);
    Error::new(Kind::Architecture, what)
}

/// An id that the embedding table has no row for.
pub(crate) fn bad_id(id: u32, vocabulary: usize) -> Error {
    Error::new(Kind::Request, format!("token id {id} is not below the {vocabulary} of this model"))
}
