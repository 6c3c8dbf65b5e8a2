//! A compiled template: the parser's tree with every name turned into a number.

use crate::filters::Filter;
use crate::predicates::Predicate;

/// A name of the template: variable, attribute or keyword.
pub(crate) type Sym = u32;
/// A macro's place in `Program::macros`.
pub(crate) type MacroId = u32;

#[derive(Default)]
pub(crate) struct Program {
    pub body: Vec<Stmt>,
    pub names: Vec<Box<str>>,
    pub consts: Vec<Const>,
    pub macros: Vec<Macro>,
}

pub(crate) enum Const {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Box<str>),
}

pub(crate) struct Stmt {
    /// Byte offset in the template.
    pub at: u32,
    pub kind: StmtKind,
}

pub(crate) enum StmtKind {
    Raw(Box<str>),
    Emit(Expr),
    /// Branches in order; the last may have no test.
    If(Vec<Branch>),
    For(Box<For>),
    With(Vec<(Target, Expr)>, Vec<Stmt>),
    Set(Target, Expr),
    /// A captured body; the filters read [`ExprKind::Captured`].
    SetBlock(Target, Option<Expr>, Vec<Stmt>),
    Filter(Expr, Vec<Stmt>),
    Scope(Vec<Stmt>),
    Macro(Sym, MacroId),
    /// Calls with the macro as `caller`.
    Call(Expr, MacroId),
    Do(Expr),
    Break,
    Continue,
}

/// What is run if the test holds, or if there is none.
pub(crate) type Branch = (Option<Expr>, Vec<Stmt>);

pub(crate) struct For {
    pub target: Target,
    pub iter: Expr,
    pub filter: Option<Expr>,
    pub body: Vec<Stmt>,
    pub otherwise: Vec<Stmt>,
}

pub(crate) struct Macro {
    pub args: Vec<Sym>,
    /// For the last arguments.
    pub defaults: Vec<Expr>,
    pub body: Vec<Stmt>,
    /// Whether the body speaks of `varargs` or `kwargs`, and so takes any arguments.
    pub open: bool,
    /// Whether it speaks of `caller`, and so may stand in a `{% call %}`.
    pub calls: bool,
}

pub(crate) enum Target {
    Name(Sym),
    /// Only a namespace can be assigned to.
    Attr(Sym, Sym),
    Many(Vec<Target>),
}

pub(crate) struct Expr {
    pub at: u32,
    pub kind: ExprKind,
}

pub(crate) enum ExprKind {
    Const(u32),
    Var(Sym),
    /// What a filter block or a filtered `set` block captured.
    Captured,
    Not(Box<Expr>),
    Neg(Box<Expr>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    Binary(Binary, Box<(Expr, Expr)>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    /// Test, then, else.
    If(Box<(Expr, Expr, Option<Expr>)>),
    Filter(&'static Filter, Box<Expr>, Args),
    Test(&'static Predicate, Box<Expr>, Args),
    /// A filter or test that does not exist, in a branch that may never run.
    Missing(Box<str>),
    Attr(Box<Expr>, Sym),
    Item(Box<(Expr, Expr)>),
    /// Subject, start, stop, step.
    Slice(Box<(Expr, [Option<Expr>; 3])>),
    Call(Box<Expr>, Args),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
    Concat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

#[derive(Default)]
pub(crate) struct Args(pub Vec<Arg>);

pub(crate) enum Arg {
    Positional(Expr),
    Named(Sym, Expr),
    Splat(Expr),
    NamedSplat(Expr),
}
