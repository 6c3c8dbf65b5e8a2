//! The result of compiling an arch file: slots and a flat list of instructions, all numbers.
//!
//! A [`Program`] holds no names to look up: tensors are indices into the file's table, working
//! buffers are slots, and everything that varied by layer has been settled.

use std::sync::Arc;

/// A working buffer; one row of values a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub usize);

/// Index of a tensor in the file's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId(pub usize);

/// One architecture, bound to one file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The architecture's name.
    pub name: String,
    /// Where its text came from.
    pub origin: Origin,
    /// The text itself; its SHA-256 goes into receipts.
    pub text: Arc<str>,
    /// Width in values of each slot's widest use.
    pub slots: Vec<usize>,
    /// Distinct rotary settings; instructions refer to them by index.
    pub ropes: Vec<Rope>,
    /// One key-value cache an attention step.
    pub caches: Vec<Cache>,
    /// The steps in order.
    pub instructions: Vec<Instruction>,
    /// What the program gives.
    pub output: Output,
    /// Number of repeated layers.
    pub layers: usize,
    /// Rows of the embedding table: token ids below this are valid.
    pub vocabulary: usize,
    /// The trained context length, where the file states one.
    pub context: Option<u64>,
    /// Keys that were let pass by name although no line reads them.
    pub allowed_keys: Vec<String>,
    /// What the file does not say and the arch file assumes; one line each.
    pub notes: Vec<String>,
    /// Whether it reads texts as a whole, both sides of a token at once: it cannot go on from
    /// where a text stands, and has no keys and values to keep.
    pub whole: bool,
    /// Rows of the table of segment types, where there is one.
    pub types: Option<usize>,
}

impl Program {
    /// Line `line` of the text, from 1, without the blanks around it; empty where there is none.
    pub fn line(&self, line: u32) -> &str {
        let at = (line as usize).checked_sub(1);
        at.and_then(|at| self.text.lines().nth(at)).unwrap_or("").trim()
    }
}

/// Where an arch file's text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Inside the binary.
    BuiltIn,
    /// A file of the operator's.
    File(std::path::PathBuf),
}

/// What a program gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Kind of the values.
    pub kind: OutputKind,
    /// Where they are after the last instruction.
    pub slot: Slot,
    /// Values a position.
    pub width: usize,
    /// Whether it is of the positions that the caller asks about (a step `rows`), not of all.
    pub chosen: bool,
}

/// Kind of a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// One value a vocabulary entry.
    Logits,
    /// Hidden values.
    Hidden,
    /// Scores of a judge.
    Scores,
}

/// One line of the file, bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Line in the arch file, from 1.
    pub line: u32,
    /// The layer it belongs to, if it stands in a repeated block.
    pub layer: Option<u32>,
    /// What to do.
    pub op: Op,
}

/// A key-value cache that an attention step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Key and value heads.
    pub kv_heads: usize,
    /// Values of one key head.
    pub key_dim: usize,
    /// Values of one value head.
    pub value_dim: usize,
    /// Positions a query looks back, itself included; `None` sees all.
    pub window: Option<usize>,
}

/// Which values of a head turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// (0,1), (2,3), …
    Adjacent,
    /// (0, n/2), (1, n/2 + 1), …
    Half,
}

/// A rotary setting, settled: frequency `i` turns pair `i`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Angle per position of each pair, in radians; `rotated / 2` entries. Scaling by linear
    /// factor, yarn or a factors tensor is already in them.
    pub frequencies: Vec<f64>,
    /// Multiplies both sine and cosine (yarn's magnitude scale); 1 without.
    pub magnitude: f32,
}

/// An operation with its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Rows of `table` for the ids of the block, their positions or their types.
    Embed {
        /// Result, `width` values.
        out: Slot,
        /// Embedding table, `[width, rows]`.
        table: TensorId,
        /// Values a row.
        width: usize,
        /// What chooses the row.
        by: By,
        /// Added to what chooses the row.
        from: usize,
    },
    /// Root-mean-square or layer norm over groups of `size` values.
    Norm {
        /// Result.
        out: Slot,
        /// Input.
        x: Slot,
        /// Values a position.
        width: usize,
        /// Values a group; divides `width`.
        size: usize,
        /// Scale, `size` values.
        weight: Option<TensorId>,
        /// Offset, `size` values.
        bias: Option<TensorId>,
        /// Added to the mean square before the root.
        eps: f32,
        /// Which norm.
        kind: NormKind,
    },
    /// `out = weight · x + bias`.
    Linear {
        /// Result, `rows` values.
        out: Slot,
        /// Input, `cols` values.
        x: Slot,
        /// `[cols, rows]`.
        weight: TensorId,
        /// `[rows]`.
        bias: Option<TensorId>,
        /// Values out.
        rows: usize,
        /// Values in.
        cols: usize,
    },
    /// Turns pairs of values by position, in heads of `size` values.
    Rope {
        /// Result.
        out: Slot,
        /// Input.
        x: Slot,
        /// Values a position.
        width: usize,
        /// Values a head.
        size: usize,
        /// Index in [`Program::ropes`]; its pairs cover the first values of each head.
        rope: usize,
        /// Which values turn together.
        pairs: Pairs,
    },
    /// Stores keys and values, then attends to all that is seen.
    Attend {
        /// Result, `heads * value_dim` values.
        out: Slot,
        /// Queries, `heads * key_dim`.
        q: Slot,
        /// Keys of the block.
        k: Slot,
        /// Values of the block.
        v: Slot,
        /// Query heads; a multiple of the cache's `kv_heads`.
        heads: usize,
        /// Index in [`Program::caches`].
        cache: usize,
        /// Multiplies the dot products.
        scale: f32,
        /// Soft cap of the scores.
        softcap: Option<f32>,
    },
    /// Attends to the whole text, on both sides.
    AttendBoth {
        /// Result, `heads * value_dim` values.
        out: Slot,
        /// Queries, `heads * key_dim`.
        q: Slot,
        /// Keys.
        k: Slot,
        /// Values.
        v: Slot,
        /// Query heads; a multiple of `kv_heads`.
        heads: usize,
        /// Key and value heads.
        kv_heads: usize,
        /// Values of one key head.
        key_dim: usize,
        /// Values of one value head.
        value_dim: usize,
        /// How far a query sees to each side; `None` sees all.
        reach: Option<usize>,
        /// Whether parts that the caller keeps apart see each other here; then there is no reach.
        together: bool,
        /// Multiplies the dot products.
        scale: f32,
    },
    /// Some values of each position.
    Slice {
        /// Result, `width` values.
        out: Slot,
        /// Input, `of` values.
        x: Slot,
        /// The first value.
        from: usize,
        /// How many.
        width: usize,
        /// Values a position of the input.
        of: usize,
    },
    /// The positions that the caller asks about.
    Rows {
        /// Result.
        out: Slot,
        /// Input, all positions.
        x: Slot,
        /// Values a position.
        width: usize,
    },
    /// `out = a + b`.
    Add {
        /// Result.
        out: Slot,
        /// First.
        a: Slot,
        /// Second.
        b: Slot,
        /// Values a position.
        width: usize,
    },
    /// `out = a * b`, value by value.
    Mul {
        /// Result.
        out: Slot,
        /// First.
        a: Slot,
        /// Second.
        b: Slot,
        /// Values a position.
        width: usize,
    },
    /// One input, value by value.
    Map {
        /// Result.
        out: Slot,
        /// Input.
        x: Slot,
        /// Values a position.
        width: usize,
        /// Which function.
        map: Map,
    },
    /// `out = activation(g) * u`.
    Gated {
        /// Result.
        out: Slot,
        /// Gate.
        g: Slot,
        /// Up.
        u: Slot,
        /// Values a position.
        width: usize,
        /// The gate's activation.
        activation: Activation,
    },
}

/// What chooses a row of an embedding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The token's id.
    Ids,
    /// Its position.
    Positions,
    /// The type of its segment.
    Types,
}

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Root mean square.
    Rms,
    /// Mean and variance.
    Layer,
}

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    /// `x * by`.
    Scale(f32),
    /// `cap * tanh(x / cap)`.
    Softcap(f32),
    /// `x / (1 + exp(-x))`.
    Silu,
    /// Gelu, tanh form.
    Gelu,
    /// Gelu, exact form.
    GeluErf,
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
}

/// Activation of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// Gelu, tanh form.
    Gelu,
    /// Gelu, exact form.
    GeluErf,
}

impl Instruction {
    /// The slot this step writes.
    pub fn out(&self) -> Slot {
        match &self.op {
            Op::Embed { out, .. }
            | Op::Norm { out, .. }
            | Op::Linear { out, .. }
            | Op::Rope { out, .. }
            | Op::Attend { out, .. }
            | Op::AttendBoth { out, .. }
            | Op::Slice { out, .. }
            | Op::Rows { out, .. }
            | Op::Add { out, .. }
            | Op::Mul { out, .. }
            | Op::Map { out, .. }
            | Op::Gated { out, .. } => *out,
        }
    }

    /// Slot and width of the input, if this is a linear step.
    pub fn linear_input(&self) -> Option<(Slot, usize)> {
        match self.op {
            Op::Linear { x, cols, .. } => Some((x, cols)),
            _ => None,
        }
    }
}
