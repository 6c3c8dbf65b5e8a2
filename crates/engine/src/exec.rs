//! Runs a program over a block of positions: one table call an instruction.
//!
//! This is the unfused interpreter; whatever is made faster later is held to its bits.

use std::time::Instant;

use recinto_arch::{Activation, Instruction, Map, NormKind, Op, Program, Slot, TensorId};
use recinto_kernels::{
    Angles, Attend, Gate, Job, Kv, Machine, Prepared, Rows, Stop, first_non_finite,
};
use recinto_os::Wiped;
use recinto_quant::{Form, expand};
use recinto_weights::File;

use crate::error::{Error, Kind};
use crate::profile::Profile;

/// What an opened model computes with: the file, the program and small vectors as floats.
pub(crate) struct Bound {
    pub file: File,
    pub program: Program,
    pub machine: Machine,
    /// Norm scales and biases, by tensor; everything one-dimensional that the program reads.
    vectors: Vec<Option<Box<[f32]>>>,
    /// For each instruction, how many from it on run as one (see [`linear_group`]).
    groups: Vec<usize>,
    /// Index of the last attention step: after it only wanted rows are computed.
    last_attend: Option<usize>,
}

/// Working buffers of one session, reused from block to block.
pub(crate) struct Buffers {
    lock: bool,
    slots: Vec<Buffer>,
    angles: Vec<Turn>,
    /// Where to note how long each instruction takes; each then runs alone.
    pub profile: Option<Profile>,
}

/// The angles of a rotary setting, and the rows they are for.
#[derive(Default)]
struct Turn {
    angles: Angles,
    rows: Option<Span>,
}

struct Buffer {
    values: Wiped<f32>,
    width: usize,
    prepared: Prepared,
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

/// One block of ids at consecutive positions.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub ids: &'a [u32],
    pub start: usize,
    /// How many of the last rows the caller wants the output of.
    pub wanted: usize,
    /// Look at every result; the slow way, to find where numbers went wrong.
    pub checked: bool,
}

impl Bound {
    pub fn new(file: File, program: Program, machine: Machine) -> Result<Bound, Error> {
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

    /// Runs one block. The output rows (`wanted` of them) are in the returned range of
    /// [`Buffers::output`]. On a halt the caches hold nothing a later block would read.
    pub fn run(
        &self,
        block: Block<'_>,
        buffers: &mut Buffers,
        caches: &mut [Kv],
        stop: &Stop,
    ) -> Result<(), Halt> {
        buffers.begin(&self.program);
        let mut rows = Span { n: block.ids.len(), start: block.start };
        if self.last_attend.is_none() {
            return self.without_attention(block, buffers, caches, stop);
        }
        let instructions = &self.program.instructions[..];
        let mut index = 0;
        while let Some(instruction) = instructions.get(index) {
            let began = buffers.start();
            if let Op::Attend { .. } = instruction.op {
                self.store(instruction, buffers, caches, rows, block)?;
            }
            if Some(index) == self.last_attend {
                if block.wanted == 0 {
                    return self.sound(instruction, buffers);
                }
                buffers.keep_last(block.wanted);
                rows = Span { n: block.wanted, start: rows.start + rows.n - block.wanted };
            }
            let group = self.groups[index];
            if group > 1 && !block.checked && buffers.profile.is_none() {
                self.linear(&instructions[index..index + group], rows, buffers, stop)?;
                index += group;
                continue;
            }
            self.step(instruction, block, rows, buffers, caches, stop)?;
            if block.checked {
                self.inspect(instruction, instruction.out(), buffers)?;
            }
            buffers.end(index, began);
            index += 1;
        }
        Ok(())
    }

    /// A program without attention: every row stands alone, so only wanted ones are computed.
    fn without_attention(
        &self,
        block: Block<'_>,
        buffers: &mut Buffers,
        caches: &mut [Kv],
        stop: &Stop,
    ) -> Result<(), Halt> {
        let skip = block.ids.len() - block.wanted;
        let tail = Block { ids: &block.ids[skip..], start: block.start + skip, ..block };
        let rows = Span { n: tail.ids.len(), start: tail.start };
        if rows.n == 0 {
            return Ok(());
        }
        for (index, instruction) in self.program.instructions.iter().enumerate() {
            let began = buffers.start();
            self.step(instruction, tail, rows, buffers, caches, stop)?;
            if block.checked {
                self.inspect(instruction, instruction.out(), buffers)?;
            }
            buffers.end(index, began);
        }
        Ok(())
    }

    /// Puts keys and values of an attention step into its cache.
    fn store(
        &self,
        instruction: &Instruction,
        buffers: &mut Buffers,
        caches: &mut [Kv],
        rows: Span,
        block: Block<'_>,
    ) -> Result<(), Halt> {
        let Op::Attend { k, v, cache, .. } = instruction.op else { return Ok(()) };
        let (keys, values) = (&buffers.slots[k.0].values, &buffers.slots[v.0].values);
        if block.checked {
            self.inspect(instruction, k, buffers)?;
            self.inspect(instruction, v, buffers)?;
        }
        caches[cache].store(rows.start, keys, values);
        Ok(())
    }

    /// The last sight of a block whose output nobody asked for: a value that went wrong in any
    /// earlier step has reached the keys and values of the last attention.
    fn sound(&self, instruction: &Instruction, buffers: &Buffers) -> Result<(), Halt> {
        let Op::Attend { k, v, .. } = instruction.op else { return Ok(()) };
        let bad = |slot: Slot| first_non_finite(&buffers.slots[slot.0].values).is_some();
        if bad(k) || bad(v) { Err(Halt::NonFinite) } else { Ok(()) }
    }

    fn step(
        &self,
        instruction: &Instruction,
        block: Block<'_>,
        rows: Span,
        buffers: &mut Buffers,
        caches: &[Kv],
        stop: &Stop,
    ) -> Result<(), Halt> {
        let machine = &self.machine;
        if stop.stopped() {
            return Err(Halt::Stopped);
        }
        match instruction.op {
            Op::Embed { out, table, width } => {
                let out = buffers.write(out, width, rows.n)?;
                // The last rows of the block: the only ones left after the last attention.
                let ids = &block.ids[block.ids.len() - rows.n..];
                self.embed(table, width, ids, out)?;
            }
            Op::Norm { out, x, width, size, weight, bias, eps, kind } => {
                let out = buffers.copy(out, x, width, rows.n)?;
                let weight = weight.and_then(|id| self.vector(id));
                let bias = bias.and_then(|id| self.vector(id));
                match kind {
                    NormKind::Rms => machine.rms_norm(stop, out, size, weight, eps)?,
                    NormKind::Layer => machine.layer_norm(stop, out, size, weight, bias, eps)?,
                }
            }
            Op::Linear { .. } => {
                self.linear(std::slice::from_ref(instruction), rows, buffers, stop)?;
            }
            Op::Rope { out, x, width, size, rope, pairs } => {
                let mut turn = std::mem::take(&mut buffers.angles[rope]);
                // Many steps share one setting; its angles are made once a block.
                if turn.rows != Some(rows) {
                    let setting = &self.program.ropes[rope];
                    let (frequencies, magnitude) = (&setting.frequencies, setting.magnitude);
                    turn.angles.fill(frequencies, magnitude, rows.start, rows.n);
                    turn.rows = Some(rows);
                }
                let target = buffers.copy(out, x, width, rows.n)?;
                machine.rope(stop, target, width, size, kernel_pairs(pairs), &turn.angles)?;
                buffers.angles[rope] = turn;
            }
            Op::Attend { out, q, heads, cache, scale, softcap, .. } => {
                let shape = self.program.caches[cache];
                let width = heads * shape.value_dim;
                let mut target = buffers.take(out, q, width, rows.n)?;
                let attend = Attend { heads, window: shape.window, scale, softcap };
                let queries = &buffers.slots[q.0].values;
                machine.attend(stop, queries, &caches[cache], rows.start, &attend, &mut target)?;
                buffers.give(out, width, target);
            }
            Op::Add { out, a, b, width } => {
                buffers.two([out, a, b], width, rows.n, |a, b| machine.add(stop, a, b))?;
            }
            Op::Mul { out, a, b, width } => {
                buffers.two([out, a, b], width, rows.n, |a, b| machine.mul(stop, a, b))?;
            }
            Op::Map { out, x, width, map } => {
                let out = buffers.copy(out, x, width, rows.n)?;
                match map {
                    Map::Scale(by) => machine.scale(stop, out, by)?,
                    Map::Softcap(cap) => machine.softcap(stop, out, cap)?,
                    Map::Silu => machine.silu(stop, out)?,
                    Map::Gelu => machine.gelu(stop, out)?,
                    Map::Relu => machine.relu(stop, out)?,
                    Map::Sigmoid => machine.sigmoid(stop, out)?,
                    Map::Tanh => machine.tanh(stop, out)?,
                }
            }
            Op::Gated { out, g, u, width, activation } => {
                let gate = match activation {
                    Activation::Silu => Gate::Silu,
                    Activation::Gelu => Gate::Gelu,
                };
                let run = |g: &mut [f32], u: &[f32]| machine.gated(stop, g, u, gate);
                buffers.two([out, g, u], width, rows.n, run)?;
            }
        }
        Ok(())
    }

    /// Linear steps over one input, in one parallel region; activations are quantized once.
    fn linear(
        &self,
        group: &[Instruction],
        rows: Span,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let Some((x, cols)) = group.first().and_then(|first| first.linear_input()) else {
            return Ok(());
        };
        let mut targets = Vec::with_capacity(group.len());
        let mut forms = Vec::with_capacity(2);
        for instruction in group {
            let Op::Linear { out, weight, bias, rows: height, .. } = instruction.op else {
                continue;
            };
            let tensor = self.file.tensor(weight.0);
            let dtype = tensor.info.dtype;
            let weights = Rows::new(tensor.bytes, dtype, height, cols)
                .map_err(|_| Halt::Failed(mismatch(instruction)))?;
            let form = dtype.layout().form;
            if form != Form::F32 && !forms.contains(&form) {
                forms.push(form);
            }
            let memory = buffers.take(out, x, height, rows.n)?;
            targets.push((out, height, weights, bias.and_then(|id| self.vector(id)), memory));
        }
        let source = &mut buffers.slots[x.0];
        if !forms.is_empty() {
            self.machine.prepare(stop, &source.values, cols, &forms, &mut source.prepared)?;
        }
        let mut jobs: Vec<Job<'_>> = targets
            .iter_mut()
            .map(|(_, _, weights, bias, out)| Job { weights: *weights, bias: *bias, out })
            .collect();
        self.machine.linear(stop, &source.values, cols, &source.prepared, &mut jobs)?;
        for (out, height, _, _, memory) in targets {
            buffers.give(out, height, memory);
        }
        Ok(())
    }

    fn vector(&self, id: TensorId) -> Option<&[f32]> {
        self.vectors[id.0].as_deref()
    }

    /// Rows of the embedding table; ids were checked when they came in.
    fn embed(
        &self,
        table: TensorId,
        width: usize,
        ids: &[u32],
        out: &mut [f32],
    ) -> Result<(), Halt> {
        let tensor = self.file.tensor(table.0);
        let row = tensor.info.bytes() / tensor.info.dims.get(1).copied().unwrap_or(1) as usize;
        for (id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
            let bytes = tensor.bytes.get(*id as usize * row..).and_then(|rest| rest.get(..row));
            let done = bytes.and_then(|bytes| expand(tensor.info.dtype, bytes, out).ok());
            if done.is_none() {
                return Err(Halt::Failed(bad_id(*id, self.program.vocabulary)));
            }
        }
        Ok(())
    }

    fn inspect(
        &self,
        instruction: &Instruction,
        slot: Slot,
        buffers: &Buffers,
    ) -> Result<(), Halt> {
        match first_non_finite(&buffers.slots[slot.0].values) {
            Some(_) => Err(Halt::Failed(self.located(instruction))),
            None => Ok(()),
        }
    }

    fn located(&self, instruction: &Instruction) -> Error {
        let layer = instruction.layer.map_or(String::new(), |layer| format!(", layer {layer}"));
        let (name, line) = (&self.program.name, instruction.line);
        let text = self.program.text.lines().nth(line as usize - 1).unwrap_or("").trim();
        let what = format!("a value stopped being a number at {name}.arch:{line}{layer}: `{text}`");
        Error::new(Kind::NonFinite { line, layer: instruction.layer }, what)
            .hint("the file's weights are damaged, or the architecture does not fit them")
    }
}

/// Which rows of the block are being computed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    n: usize,
    start: usize,
}

impl Buffers {
    pub fn new(lock: bool) -> Buffers {
        Buffers { lock, slots: Vec::new(), angles: Vec::new(), profile: None }
    }

    /// When an instruction begins, where somebody wants to know.
    fn start(&self) -> Option<Instant> {
        self.profile.as_ref().map(|_| Instant::now())
    }

    /// Notes the time of instruction `index`.
    fn end(&mut self, index: usize, began: Option<Instant>) {
        if let (Some(profile), Some(began)) = (&mut self.profile, began) {
            profile.note(index, began);
        }
    }

    fn begin(&mut self, program: &Program) {
        let lock = self.lock;
        self.slots.resize_with(program.slots.len(), || Buffer {
            values: Wiped::new(lock),
            width: 0,
            prepared: Prepared::new(),
        });
        self.angles.resize_with(program.ropes.len(), Turn::default);
    }

    /// Bytes that a block of `n` positions can make the buffers grow by, at the most.
    pub fn growth(&self, program: &Program, n: usize, wanted: usize) -> usize {
        let output = program.output.slot;
        let widths = program.slots.iter().enumerate();
        let grown = widths.map(|(index, width)| {
            // The output is computed for wanted rows only; other slots for all of them.
            let rows = if index == output.0 { wanted } else { n };
            let held = self.slots.get(index).map_or(0, |slot| slot.values.room());
            width.saturating_mul(rows).saturating_sub(held)
        });
        grown.fold(0, usize::saturating_add).saturating_mul(4)
    }

    /// Whether the system once refused to lock a buffer.
    pub fn refused(&self) -> bool {
        self.slots.iter().any(|slot| slot.values.refused())
    }

    /// The rows a program gave, position-major.
    pub fn output(&self, slot: Slot) -> &[f32] {
        &self.slots[slot.0].values
    }

    /// The same, to be changed in place by the sampler.
    pub fn output_mut(&mut self, slot: Slot) -> &mut [f32] {
        &mut self.slots[slot.0].values
    }

    fn write(&mut self, slot: Slot, width: usize, n: usize) -> std::io::Result<&mut [f32]> {
        let buffer = &mut self.slots[slot.0];
        buffer.width = width;
        buffer.prepared.clear();
        buffer.values.try_resize(width * n)?;
        Ok(&mut buffer.values)
    }

    /// Makes `out` a copy of `x` (nothing to do when they are one slot) and lends it.
    fn copy(&mut self, out: Slot, x: Slot, width: usize, n: usize) -> std::io::Result<&mut [f32]> {
        let target = self.write(out, width, n)?.len();
        if let Ok([to, from]) = self.slots.get_disjoint_mut([out.0, x.0]) {
            to.values.copy_from_slice(&from.values[..target]);
        }
        Ok(&mut self.slots[out.0].values)
    }

    /// Memory for a result, apart from its slot, so that other slots can be read meanwhile. A
    /// slot that is an input too keeps its values until [`Buffers::give`].
    fn take(&mut self, out: Slot, x: Slot, width: usize, n: usize) -> std::io::Result<Wiped<f32>> {
        let fresh = Wiped::new(self.lock);
        let mut memory = match out == x {
            true => fresh,
            false => std::mem::replace(&mut self.slots[out.0].values, fresh),
        };
        memory.try_resize(width * n)?;
        Ok(memory)
    }

    fn give(&mut self, slot: Slot, width: usize, values: Wiped<f32>) {
        let buffer = &mut self.slots[slot.0];
        buffer.width = width;
        buffer.prepared.clear();
        buffer.values = values;
    }

    /// `out = a`, then `run(out, b)`; the three may be one slot.
    fn two(
        &mut self,
        [out, a, b]: [Slot; 3],
        width: usize,
        n: usize,
        run: impl FnOnce(&mut [f32], &[f32]) -> Result<(), recinto_kernels::Stopped>,
    ) -> Result<(), Halt> {
        if out != b {
            self.copy(out, a, width, n)?;
            let [target, other] =
                self.slots.get_disjoint_mut([out.0, b.0]).expect("two slots of one program");
            return Ok(run(&mut target.values, &other.values)?);
        }
        // The second operand is overwritten: it has to move aside first.
        let mut other = Wiped::new(self.lock);
        other.try_reserve(width * n)?;
        other.extend_from_slice(&self.slots[b.0].values);
        self.copy(out, a, width, n)?;
        Ok(run(&mut self.slots[out.0].values, &other)?)
    }

    /// Keeps the last `wanted` rows of every slot: all that later steps need.
    fn keep_last(&mut self, wanted: usize) {
        for buffer in &mut self.slots {
            let keep = wanted * buffer.width;
            if let Some(drop) = buffer.values.len().checked_sub(keep)
                && drop > 0
            {
                buffer.values.drop_front(drop);
                buffer.prepared.clear();
            }
        }
    }
}

/// How many of the first instructions are linear steps over one input that none of them writes,
/// each with a result of its own.
fn linear_group(instructions: &[Instruction]) -> usize {
    let Some((x, _)) = instructions.first().and_then(Instruction::linear_input) else { return 1 };
    let mut outs = Vec::with_capacity(4);
    for instruction in instructions {
        let same = instruction.linear_input().is_some_and(|(input, _)| input == x);
        if !same || instruction.out() == x || outs.contains(&instruction.out()) {
            break;
        }
        outs.push(instruction.out());
    }
    outs.len().max(1)
}

fn floats(file: &File, id: usize) -> Result<Box<[f32]>, Error> {
    let tensor = file.tensor(id);
    let mut out = vec![0.0; tensor.info.values() as usize];
    expand(tensor.info.dtype, tensor.bytes, &mut out).map_err(|_| {
        Error::new(Kind::Open, format!("tensor `{}` has a wrong size", tensor.info.name))
    })?;
    Ok(out.into())
}

fn kernel_pairs(pairs: recinto_arch::Pairs) -> recinto_kernels::Pairs {
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
