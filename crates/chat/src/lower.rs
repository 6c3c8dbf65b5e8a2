//! The parser's tree to ours: names become numbers, filters and tests their rows.

use std::collections::HashMap;

use minijinja::machinery::{ast, parse};
use minijinja::value::ValueKind;

use crate::check;
use crate::error::{Error, Kind};
use crate::filters;
use crate::predicates;
use crate::tree::*;

/// Nesting of one template, long chains of operators included.
const MAX_NESTING: usize = 400;

/// Names that the interpreter itself uses, in this order.
pub(crate) const LOOP: Sym = 0;
pub(crate) const CALLER: Sym = 1;
pub(crate) const VARARGS: Sym = 2;
pub(crate) const KWARGS: Sym = 3;
const OWN: [&str; 4] = ["loop", "caller", "varargs", "kwargs"];

/// Compiles a source that [`check::tags`] let pass.
pub(crate) fn compile(source: String) -> Result<Program, Error> {
    let root = parse(&source, "chat template", check::syntax()?).map_err(check::parser)?;
    let ast::Stmt::Template(template) = &root else {
        return Err(Error::new(Kind::Syntax, "not a template"));
    };
    let mut lower = Lower::default();
    for name in OWN {
        lower.name(name);
    }
    lower.program.body = lower.body(&template.children)?;
    Ok(lower.program)
}

impl Program {
    /// Whether the template has `word` as an attribute, variable or string.
    pub fn mentions(&self, word: &str) -> bool {
        self.names.iter().any(|name| &**name == word)
            || self.consts.iter().any(|known| matches!(known, Const::Str(s) if &**s == word))
    }
}

#[derive(Default)]
struct Lower {
    program: Program,
    syms: HashMap<Box<str>, Sym>,
    depth: usize,
    /// Inside a branch: what does not exist there may never be reached.
    soft: bool,
    /// The macro being read names `varargs` or `kwargs`, and `caller`.
    seen: (bool, bool),
}

impl Lower {
    fn name(&mut self, name: &str) -> Sym {
        if let Some(&sym) = self.syms.get(name) {
            return sym;
        }
        let sym = self.program.names.len() as Sym;
        self.program.names.push(name.into());
        self.syms.insert(name.into(), sym);
        sym
    }

    fn nest<T>(
        &mut self,
        at: u32,
        work: impl FnOnce(&mut Lower) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Error::limit("the template nests too deep").at(at));
        }
        let done = work(self);
        self.depth -= 1;
        done.map_err(|error| error.at(at))
    }

    fn softly<T>(&mut self, work: impl FnOnce(&mut Lower) -> Result<T, Error>) -> Result<T, Error> {
        let before = std::mem::replace(&mut self.soft, true);
        let done = work(self);
        self.soft = before;
        done
    }

    fn body(&mut self, stmts: &[ast::Stmt]) -> Result<Vec<Stmt>, Error> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &ast::Stmt) -> Result<Stmt, Error> {
        let at = match stmt {
            ast::Stmt::EmitExpr(node) => node.span(),
            ast::Stmt::ForLoop(node) => node.span(),
            ast::Stmt::IfCond(node) => node.span(),
            ast::Stmt::WithBlock(node) => node.span(),
            ast::Stmt::Set(node) => node.span(),
            ast::Stmt::SetBlock(node) => node.span(),
            ast::Stmt::AutoEscape(node) => node.span(),
            ast::Stmt::FilterBlock(node) => node.span(),
            ast::Stmt::Block(node) => node.span(),
            ast::Stmt::Import(node) => node.span(),
            ast::Stmt::FromImport(node) => node.span(),
            ast::Stmt::Extends(node) => node.span(),
            ast::Stmt::Include(node) => node.span(),
            ast::Stmt::Macro(node) => node.span(),
            ast::Stmt::CallBlock(node) => node.span(),
            ast::Stmt::Do(node) => node.span(),
            ast::Stmt::EmitRaw(node) => node.span(),
            ast::Stmt::Template(node) => node.span(),
            ast::Stmt::Continue(node) => node.span(),
            ast::Stmt::Break(node) => node.span(),
        }
        .start_offset;
        self.nest(at, |this| Ok(Stmt { at, kind: this.stmt_kind(stmt)? }))
    }

    fn stmt_kind(&mut self, stmt: &ast::Stmt) -> Result<StmtKind, Error> {
        let absent = |tag: &str| {
            Err(Error::unsupported(format!("tag `{tag}`: a chat template stands alone")))
        };
        Ok(match stmt {
            ast::Stmt::EmitRaw(node) => StmtKind::Raw(node.raw.into()),
            ast::Stmt::EmitExpr(node) => StmtKind::Emit(self.expr(&node.expr)?),
            ast::Stmt::IfCond(node) => StmtKind::If(self.softly(|this| this.branches(node))?),
            ast::Stmt::ForLoop(node) => {
                if node.recursive {
                    return Err(Error::unsupported("`recursive` loops"));
                }
                StmtKind::For(Box::new(For {
                    iter: self.expr(&node.iter)?,
                    target: self.target(&node.target)?,
                    filter: self.optional(node.filter_expr.as_ref())?,
                    body: self.body(&node.body)?,
                    otherwise: self.body(&node.else_body)?,
                }))
            }
            ast::Stmt::WithBlock(node) => {
                let mut assignments = Vec::with_capacity(node.assignments.len());
                for (target, expr) in &node.assignments {
                    assignments.push((self.target(target)?, self.expr(expr)?));
                }
                StmtKind::With(assignments, self.body(&node.body)?)
            }
            ast::Stmt::Set(node) => {
                let expr = self.expr(&node.expr)?;
                StmtKind::Set(self.target(&node.target)?, expr)
            }
            ast::Stmt::SetBlock(node) => {
                let filter = self.optional(node.filter.as_ref())?;
                StmtKind::SetBlock(self.target(&node.target)?, filter, self.body(&node.body)?)
            }
            ast::Stmt::FilterBlock(node) => {
                StmtKind::Filter(self.expr(&node.filter)?, self.body(&node.body)?)
            }
            ast::Stmt::AutoEscape(node) => match node.enabled.as_const() {
                Some(value) if !value.is_true() => StmtKind::Scope(self.body(&node.body)?),
                _ => return Err(Error::unsupported("`autoescape` that is on")),
            },
            ast::Stmt::Block(node) => StmtKind::Scope(self.body(&node.body)?),
            ast::Stmt::Macro(node) => StmtKind::Macro(self.name(node.name), self.macro_body(node)?),
            ast::Stmt::CallBlock(node) => {
                let id = self.macro_body(&node.macro_decl)?;
                let at = node.call.span().start_offset;
                StmtKind::Call(Expr { at, kind: self.call(&node.call)? }, id)
            }
            ast::Stmt::Do(node) => {
                let at = node.call.span().start_offset;
                StmtKind::Do(Expr { at, kind: self.call(&node.call)? })
            }
            ast::Stmt::Continue(_) => StmtKind::Continue,
            ast::Stmt::Break(_) => StmtKind::Break,
            ast::Stmt::Import(_) | ast::Stmt::FromImport(_) => return absent("import"),
            ast::Stmt::Extends(_) => return absent("extends"),
            ast::Stmt::Include(_) => return absent("include"),
            ast::Stmt::Template(_) => return Err(Error::new(Kind::Syntax, "nested template")),
        })
    }

    /// An `if` and the `elif` that the parser nests inside its else-branch.
    fn branches(&mut self, node: &ast::IfCond) -> Result<Vec<Branch>, Error> {
        let mut branches = Vec::new();
        let mut node = node;
        loop {
            branches.push((Some(self.expr(&node.expr)?), self.body(&node.true_body)?));
            match node.false_body.as_slice() {
                [] => break,
                [ast::Stmt::IfCond(next)] => node = next,
                body => {
                    branches.push((None, self.body(body)?));
                    break;
                }
            }
        }
        Ok(branches)
    }

    fn macro_body(&mut self, node: &ast::Macro) -> Result<MacroId, Error> {
        let mut args = Vec::with_capacity(node.args.len());
        for arg in &node.args {
            match arg {
                ast::Expr::Var(var) => args.push(self.name(var.id)),
                _ => return Err(Error::new(Kind::Syntax, "a macro argument is not a name")),
            }
        }
        let defaults = node.defaults.iter().map(|e| self.expr(e)).collect::<Result<_, _>>()?;
        let before = std::mem::take(&mut self.seen);
        let body = self.body(&node.body)?;
        let (open, calls) = std::mem::replace(&mut self.seen, before);
        let macros = &mut self.program.macros;
        macros.push(Macro { args, defaults, body, open, calls });
        Ok((macros.len() - 1) as MacroId)
    }

    fn target(&mut self, expr: &ast::Expr) -> Result<Target, Error> {
        self.nest(expr.span().start_offset, |this| match expr {
            ast::Expr::Var(var) => Ok(Target::Name(this.name(var.id))),
            ast::Expr::GetAttr(attr) => match &attr.expr {
                ast::Expr::Var(var) => Ok(Target::Attr(this.name(var.id), this.name(attr.name))),
                _ => Err(Error::new(Kind::Syntax, "only `namespace.name` can be assigned to")),
            },
            ast::Expr::List(list) => {
                let parts = list.items.iter().map(|item| this.target(item));
                Ok(Target::Many(parts.collect::<Result<_, _>>()?))
            }
            _ => Err(Error::new(Kind::Syntax, "this cannot be assigned to")),
        })
    }

    fn optional(&mut self, expr: Option<&ast::Expr>) -> Result<Option<Expr>, Error> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Result<Box<Expr>, Error> {
        self.expr(expr).map(Box::new)
    }

    fn expr(&mut self, expr: &ast::Expr) -> Result<Expr, Error> {
        let at = expr.span().start_offset;
        self.nest(at, |this| Ok(Expr { at, kind: this.expr_kind(expr)? }))
    }

    fn expr_kind(&mut self, expr: &ast::Expr) -> Result<ExprKind, Error> {
        Ok(match expr {
            ast::Expr::Var(node) => {
                let sym = self.name(node.id);
                self.seen.0 |= sym == VARARGS || sym == KWARGS;
                self.seen.1 |= sym == CALLER;
                ExprKind::Var(sym)
            }
            ast::Expr::Const(node) => ExprKind::Const(self.constant(&node.value)?),
            ast::Expr::Slice(node) => {
                let bounds = [
                    self.optional(node.start.as_ref())?,
                    self.optional(node.stop.as_ref())?,
                    self.optional(node.step.as_ref())?,
                ];
                ExprKind::Slice(Box::new((self.expr(&node.expr)?, bounds)))
            }
            ast::Expr::UnaryOp(node) => {
                let inner = self.boxed(&node.expr)?;
                match node.op {
                    ast::UnaryOpKind::Not => ExprKind::Not(inner),
                    ast::UnaryOpKind::Neg => ExprKind::Neg(inner),
                }
            }
            ast::Expr::BinOp(node) => {
                let (left, right) = (self.expr(&node.left)?, self.expr(&node.right)?);
                operation(node.op, left, right)
            }
            ast::Expr::Compare(node) => {
                let first = self.boxed(&node.expr)?;
                let mut rest = Vec::with_capacity(node.ops.len());
                for op in &node.ops {
                    rest.push((comparison(op.op), self.expr(&op.expr)?));
                }
                ExprKind::Compare(first, rest)
            }
            ast::Expr::IfExpr(node) => self.softly(|this| {
                let test = this.expr(&node.test_expr)?;
                let then = this.expr(&node.true_expr)?;
                let otherwise = this.optional(node.false_expr.as_ref())?;
                Ok(ExprKind::If(Box::new((test, then, otherwise))))
            })?,
            ast::Expr::Filter(node) => {
                let subject = match &node.expr {
                    Some(expr) => self.boxed(expr)?,
                    None => {
                        Box::new(Expr { at: expr.span().start_offset, kind: ExprKind::Captured })
                    }
                };
                let args = self.args(&node.args)?;
                match filters::find(node.name) {
                    Some(row) => ExprKind::Filter(row, subject, args),
                    None => self.missing("filter", node.name)?,
                }
            }
            ast::Expr::Test(node) => {
                let subject = self.boxed(&node.expr)?;
                let args = self.args(&node.args)?;
                match predicates::find(node.name) {
                    Some(row) => ExprKind::Test(row, subject, args),
                    None => self.missing("test", node.name)?,
                }
            }
            ast::Expr::GetAttr(node) => {
                ExprKind::Attr(self.boxed(&node.expr)?, self.name(node.name))
            }
            ast::Expr::GetItem(node) => {
                let pair = (self.expr(&node.expr)?, self.expr(&node.subscript_expr)?);
                ExprKind::Item(Box::new(pair))
            }
            ast::Expr::Call(node) => self.call(node)?,
            ast::Expr::List(node) => ExprKind::List(self.exprs(&node.items)?),
            ast::Expr::Tuple(node) => ExprKind::Tuple(self.exprs(&node.items)?),
            ast::Expr::Map(node) => {
                let mut pairs = Vec::with_capacity(node.keys.len());
                for (key, value) in node.keys.iter().zip(&node.values) {
                    pairs.push((self.expr(key)?, self.expr(value)?));
                }
                ExprKind::Map(pairs)
            }
        })
    }

    fn exprs(&mut self, items: &[ast::Expr]) -> Result<Vec<Expr>, Error> {
        items.iter().map(|item| self.expr(item)).collect()
    }

    fn call(&mut self, node: &ast::Call) -> Result<ExprKind, Error> {
        Ok(ExprKind::Call(self.boxed(&node.expr)?, self.args(&node.args)?))
    }

    fn args(&mut self, args: &[ast::CallArg]) -> Result<Args, Error> {
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            out.push(match arg {
                ast::CallArg::Pos(expr) => Arg::Positional(self.expr(expr)?),
                ast::CallArg::Kwarg(name, expr) => Arg::Named(self.name(name), self.expr(expr)?),
                ast::CallArg::PosSplat(expr) => Arg::Splat(self.expr(expr)?),
                ast::CallArg::KwargSplat(expr) => Arg::NamedSplat(self.expr(expr)?),
            });
        }
        Ok(Args(out))
    }

    /// As the reference: an error now, or inside a branch only once it is reached.
    fn missing(&mut self, what: &str, name: &str) -> Result<ExprKind, Error> {
        let text = format!("unknown {what} `{name}`");
        if self.soft { Ok(ExprKind::Missing(text.into())) } else { Err(Error::unsupported(text)) }
    }

    fn constant(&mut self, value: &minijinja::Value) -> Result<u32, Error> {
        let constant = match value.kind() {
            ValueKind::None => Const::None,
            ValueKind::Bool => Const::Bool(value.is_true()),
            ValueKind::String => Const::Str(value.as_str().unwrap_or_default().into()),
            _ if value.is_integer() => Const::Int(
                i128::try_from(value.clone())
                    .map_err(|_| Error::new(Kind::Syntax, "an integer is too large"))?,
            ),
            ValueKind::Number => Const::Float(
                f64::try_from(value.clone())
                    .map_err(|_| Error::new(Kind::Syntax, "not a number"))?,
            ),
            _ => return Err(Error::unsupported("this kind of constant")),
        };
        self.program.consts.push(constant);
        Ok((self.program.consts.len() - 1) as u32)
    }
}

fn operation(op: ast::BinOpKind, left: Expr, right: Expr) -> ExprKind {
    let binary = |op, left, right| ExprKind::Binary(op, Box::new((left, right)));
    let compare = |op, left, right| ExprKind::Compare(Box::new(left), vec![(op, right)]);
    match op {
        ast::BinOpKind::ScAnd => ExprKind::And(Box::new((left, right))),
        ast::BinOpKind::ScOr => ExprKind::Or(Box::new((left, right))),
        ast::BinOpKind::Add => binary(Binary::Add, left, right),
        ast::BinOpKind::Sub => binary(Binary::Sub, left, right),
        ast::BinOpKind::Mul => binary(Binary::Mul, left, right),
        ast::BinOpKind::Div => binary(Binary::Div, left, right),
        ast::BinOpKind::FloorDiv => binary(Binary::FloorDiv, left, right),
        ast::BinOpKind::Rem => binary(Binary::Rem, left, right),
        ast::BinOpKind::Pow => binary(Binary::Pow, left, right),
        ast::BinOpKind::Concat => binary(Binary::Concat, left, right),
        ast::BinOpKind::Eq => compare(Comparison::Eq, left, right),
        ast::BinOpKind::Ne => compare(Comparison::Ne, left, right),
        ast::BinOpKind::Lt => compare(Comparison::Lt, left, right),
        ast::BinOpKind::Lte => compare(Comparison::Le, left, right),
        ast::BinOpKind::Gt => compare(Comparison::Gt, left, right),
        ast::BinOpKind::Gte => compare(Comparison::Ge, left, right),
        ast::BinOpKind::In => compare(Comparison::In, left, right),
    }
}

fn comparison(op: ast::CompareOpKind) -> Comparison {
    match op {
        ast::CompareOpKind::Eq => Comparison::Eq,
        ast::CompareOpKind::Ne => Comparison::Ne,
        ast::CompareOpKind::Lt => Comparison::Lt,
        ast::CompareOpKind::Lte => Comparison::Le,
        ast::CompareOpKind::Gt => Comparison::Gt,
        ast::CompareOpKind::Gte => Comparison::Ge,
        ast::CompareOpKind::In => Comparison::In,
        ast::CompareOpKind::NotIn => Comparison::NotIn,
    }
}
