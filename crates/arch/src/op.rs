//! The table of operations: a row says what an operation takes and gives.

use crate::program::{Activation, Map};

/// One operation.
pub(crate) struct Row {
    pub name: &'static str,
    pub inputs: &'static [Takes],
    pub options: &'static [Opt],
    /// What it computes and which widths must fit, for the page on the format.
    pub about: &'static str,
    pub action: Action,
}

/// What stands at a place among the inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Register,
    Tensor,
    /// A tensor that may be left out of the line.
    TensorOrNone,
}

/// An option and the type of its value.
pub(crate) struct Opt {
    pub name: &'static str,
    pub value: Takable,
    pub required: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takable {
    Whole,
    Number,
    /// A rotary scaling from `linear(…)` or `yarn(…)`.
    Scaling,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A bare word; with `?` what it asks for may be missing.
    Flag,
    /// A quoted tensor name.
    Tensor,
    /// A table that says in which layers the tensor may be missing.
    Layers,
}

/// What the compiler does with a step.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Embed,
    Norm,
    Linear,
    Rope,
    Attend,
    Add,
    Mul,
    Scale,
    Softcap,
    AttendBoth,
    Slice,
    Rows,
    Map(Map),
    Gated(Activation),
}

const fn need(name: &'static str, value: Takable) -> Opt {
    Opt { name, value, required: true }
}

const fn may(name: &'static str, value: Takable) -> Opt {
    Opt { name, value, required: false }
}

const ONE: &[Takes] = &[Takes::Register];
const TWO: &[Takes] = &[Takes::Register, Takes::Register];

const fn map(name: &'static str, about: &'static str, map: Map) -> Row {
    Row { name, inputs: ONE, options: &[], about, action: Action::Map(map) }
}

/// Every operation.
pub(crate) const TABLE: &[Row] = &[
    Row {
        name: "embed",
        inputs: &[Takes::Tensor],
        options: &[
            may("width", Takable::Whole),
            may("by", Takable::Word(&["ids", "positions", "types"])),
            may("from", Takable::Whole),
        ],
        about: "rows of the tensor for the token ids (its second size is the vocabulary), for \
                their positions, the first at row `from`, or for the types of segments",
        action: Action::Embed,
    },
    Row {
        name: "norm",
        inputs: &[Takes::Register, Takes::TensorOrNone],
        options: &[
            need("eps", Takable::Number),
            may("size", Takable::Whole),
            may("kind", Takable::Word(&["rms", "layer"])),
            may("bias", Takable::Flag),
            may("in", Takable::Layers),
        ],
        about: "root mean square (or layer) norm over groups of `size`, by default the whole width",
        action: Action::Norm,
    },
    Row {
        name: "linear",
        inputs: &[Takes::Register, Takes::Tensor],
        options: &[may("rows", Takable::Whole), may("bias", Takable::Flag)],
        about: "matrix times input; the tensor is [width of the input, rows]",
        action: Action::Linear,
    },
    Row {
        name: "rope",
        inputs: ONE,
        options: &[
            need("base", Takable::Number),
            need("size", Takable::Whole),
            need("pairs", Takable::Word(&["adjacent", "half"])),
            may("rotated", Takable::Whole),
            may("scaling", Takable::Scaling),
            may("factors", Takable::Tensor),
        ],
        about: "turns pairs of values by position in heads of `size`; only the first `rotated`",
        action: Action::Rope,
    },
    Row {
        name: "attend",
        inputs: &[Takes::Register, Takes::Register, Takes::Register],
        options: &[
            need("heads", Takable::Whole),
            need("kv_heads", Takable::Whole),
            may("window", Takable::Whole),
            may("scale", Takable::Number),
            may("softcap", Takable::Number),
        ],
        about: "attention of q to all earlier k and v; window 0 sees all, soft cap 0 is none",
        action: Action::Attend,
    },
    Row {
        name: "attend_both",
        inputs: &[Takes::Register, Takes::Register, Takes::Register],
        options: &[
            need("heads", Takable::Whole),
            need("kv_heads", Takable::Whole),
            may("reach", Takable::Whole),
            may("scale", Takable::Number),
            may("parts", Takable::Word(&["apart", "together"])),
        ],
        about: "attention of q to the k and v of the whole text, on both sides; reach 0 sees all, \
                else those at most so many positions away; parts that a caller keeps apart see \
                each other only if `together`, which has no reach",
        action: Action::AttendBoth,
    },
    Row {
        name: "slice",
        inputs: ONE,
        options: &[need("from", Takable::Whole), need("width", Takable::Whole)],
        about: "`width` values of each position, from value `from` on",
        action: Action::Slice,
    },
    Row {
        name: "rows",
        inputs: ONE,
        options: &[],
        about: "only the positions that the caller asks about; all steps behind it see no others",
        action: Action::Rows,
    },
    Row {
        name: "add",
        inputs: TWO,
        options: &[],
        about: "sum of two registers of one width",
        action: Action::Add,
    },
    Row {
        name: "mul",
        inputs: TWO,
        options: &[],
        about: "product, value by value",
        action: Action::Mul,
    },
    Row {
        name: "scale",
        inputs: ONE,
        options: &[need("by", Takable::Number)],
        about: "x * by",
        action: Action::Scale,
    },
    Row {
        name: "softcap",
        inputs: ONE,
        options: &[need("cap", Takable::Number)],
        about: "cap * tanh(x / cap); cap 0 leaves x as it is",
        action: Action::Softcap,
    },
    map("silu", "x / (1 + exp(-x))", Map::Silu),
    map("gelu", "gelu in its tanh form", Map::Gelu),
    map("gelu_erf", "gelu in its exact form, x * Phi(x)", Map::GeluErf),
    map("relu", "max(x, 0)", Map::Relu),
    map("sigmoid", "1 / (1 + exp(-x))", Map::Sigmoid),
    map("tanh", "hyperbolic tangent", Map::Tanh),
    Row {
        name: "swiglu",
        inputs: TWO,
        options: &[],
        about: "silu(g) * u",
        action: Action::Gated(Activation::Silu),
    },
    Row {
        name: "geglu",
        inputs: TWO,
        options: &[],
        about: "gelu(g) * u, gelu in its tanh form",
        action: Action::Gated(Activation::Gelu),
    },
    Row {
        name: "geglu_erf",
        inputs: TWO,
        options: &[],
        about: "gelu(g) * u, gelu in its exact form",
        action: Action::Gated(Activation::GeluErf),
    },
];

/// Operations that the format names and this version does not have.
pub(crate) const LATER: &[&str] = &[
    "clamp", "concat", "conv", "exp", "experts", "head", "latent", "pool", "relu2", "route",
    "scan", "softplus", "split",
];

/// The row called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// Whether `word` may stand bare in a step of operation `name`.
pub(crate) fn is_flag(name: &str, word: &str) -> bool {
    let options = find(name).map_or(&[][..], |row| row.options);
    options.iter().any(|o| o.name == word && o.value == Takable::Flag)
}

/// An operation as shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// How a step is written, after `register = `; parts in brackets may be left out.
    pub form: String,
    /// What it computes.
    pub about: &'static str,
}

/// All operations of this version, in the table's order.
pub fn operations() -> impl Iterator<Item = Operation> {
    TABLE.iter().map(|row| {
        let mut form = row.name.to_owned();
        for (place, takes) in row.inputs.iter().enumerate() {
            form.push_str(match takes {
                Takes::Register => [" a", " b", " c"][place],
                Takes::Tensor => " TENSOR",
                Takes::TensorOrNone => " [TENSOR]",
            });
        }
        for option in row.options {
            let value = match option.value {
                Takable::Whole => "=WHOLE".to_owned(),
                Takable::Number => "=NUMBER".to_owned(),
                Takable::Scaling => "=SCALING".to_owned(),
                Takable::Word(words) => format!("={}", words.join("|")),
                Takable::Flag => "[?]".to_owned(),
                Takable::Tensor => "='TENSOR'[?]".to_owned(),
                Takable::Layers => "=TABLE".to_owned(),
            };
            let (open, close) = if option.required { ("", "") } else { ("[", "]") };
            form.push_str(&format!(" {open}{}{value}{close}", option.name));
        }
        Operation { name: row.name, form, about: row.about }
    })
}
