//! A Go template as a tree.

/// Where a node stands: its byte offset in the source.
pub(super) type At = u32;

#[derive(Clone)]
pub(super) struct Node {
    pub at: At,
    pub kind: NodeKind,
}

#[derive(Clone)]
pub(super) enum NodeKind {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template(String, Pipe),
    Break,
    Continue,
}

#[derive(Clone)]
pub(super) struct Branch {
    pub pipe: Pipe,
    pub body: Vec<Node>,
    pub otherwise: Option<Vec<Node>>,
}

/// Commands, each given the value of the one before, and variables that keep the result.
#[derive(Clone)]
pub(super) struct Pipe {
    pub at: At,
    /// Names with their `$`.
    pub variables: Vec<String>,
    /// `=` and not `:=`.
    pub assigns: bool,
    pub commands: Vec<Command>,
}

#[derive(Clone)]
pub(super) struct Command(pub Vec<Operand>);

#[derive(Clone)]
pub(super) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    /// `.A.B`.
    Field(Vec<String>),
    /// `$x.A.B`: the name with its `$`, then fields.
    Variable(String, Vec<String>),
    Function(String),
    Pipe(Box<Pipe>),
    /// `(…).A.B`.
    Chain(Box<Operand>, Vec<String>),
}
