//! Runs a compiled template: statements, scopes, output.

use std::ops::Range;
use std::rc::Rc;

use crate::error::{Error, Kind};
use crate::functions::{self, Arguments};
use crate::lower::{CALLER, KWARGS, LOOP, VARARGS};
use crate::meter;
use crate::moment::Moment;
use crate::text::{Builder, Text};
use crate::tree::*;
use crate::value::{Closure, Form, Loop, Value};
use crate::{expr, format};

/// One rendering.
pub(crate) struct Run<'p> {
    pub program: &'p Program,
    pub date: Moment,
    /// The template's constants as values.
    pub consts: Vec<Value>,
    /// Variables of the outermost scope, by name.
    globals: Vec<Option<Value>>,
    /// Inner scopes, innermost last.
    scopes: Vec<Vec<(Sym, Value)>>,
    out: Vec<Builder>,
    /// What filter blocks captured.
    captured: Vec<Value>,
    pub depth: u32,
}

/// What a statement does to the loop around it.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'p> Run<'p> {
    pub fn new(program: &'p Program, date: Moment) -> Run<'p> {
        let constant = |constant: &Const| match constant {
            Const::None => Value::None,
            Const::Bool(yes) => Value::Bool(*yes),
            Const::Int(int) => Value::Int(*int),
            Const::Float(float) => Value::Float(*float),
            Const::Str(text) => Value::plain(text),
        };
        let mut run = Run {
            program,
            date,
            consts: program.consts.iter().map(constant).collect(),
            globals: vec![None; program.names.len()],
            scopes: Vec::new(),
            out: Vec::new(),
            captured: Vec::new(),
            depth: 0,
        };
        for (name, function) in functions::GLOBALS {
            run.define(name, Value::Function(*function));
        }
        run
    }

    /// Gives the template a variable, if it ever asks for it.
    pub fn define(&mut self, name: &str, value: Value) {
        if let Some(sym) = self.program.names.iter().position(|known| &**known == name) {
            self.globals[sym] = Some(value);
        }
    }

    /// Everything the template writes, and which bytes of it are data.
    pub fn render(&mut self) -> Result<(String, Vec<Range<usize>>), Error> {
        self.out.push(Builder::new());
        let program = self.program;
        self.block(&program.body)?;
        Ok(self.out.pop().unwrap_or_default().into_parts())
    }

    pub fn name(&self, sym: Sym) -> &'p str {
        &self.program.names[sym as usize]
    }

    pub fn variable(&self, sym: Sym) -> Value {
        for scope in self.scopes.iter().rev() {
            if let Some((_, value)) = scope.iter().rev().find(|(name, _)| *name == sym) {
                return value.clone();
            }
        }
        self.globals[sym as usize].clone().unwrap_or(Value::Undefined(Some(sym)))
    }

    fn assign(&mut self, sym: Sym, value: Value) {
        let Some(scope) = self.scopes.last_mut() else {
            self.globals[sym as usize] = Some(value);
            return;
        };
        match scope.iter_mut().find(|(name, _)| *name == sym) {
            Some(slot) => slot.1 = value,
            None => scope.push((sym, value)),
        }
    }

    fn bind(&mut self, target: &Target, value: Value) -> Result<(), Error> {
        match target {
            Target::Name(sym) => self.assign(*sym, value),
            Target::Attr(sym, attr) => {
                let Value::Namespace(namespace) = self.variable(*sym) else {
                    return Err(Error::operation("only a namespace has names to assign to"));
                };
                functions::keep(&namespace, *attr, value)?;
            }
            Target::Many(targets) => {
                let items = value.items()?;
                if items.len() != targets.len() {
                    return Err(Error::operation(format!(
                        "{} values for {} names",
                        items.len(),
                        targets.len()
                    )));
                }
                for (target, item) in targets.iter().zip(items) {
                    self.bind(target, item)?;
                }
            }
        }
        Ok(())
    }

    fn scoped<T>(
        &mut self,
        scope: Vec<(Sym, Value)>,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.scopes.push(scope);
        let done = work(self);
        self.scopes.pop();
        done
    }

    /// What `body` writes, as a value.
    fn capture(&mut self, body: &'p [Stmt]) -> Result<Value, Error> {
        self.out.push(Builder::new());
        let done = self.block(body);
        let text = self.out.pop().unwrap_or_default().finish();
        done?;
        Ok(Value::Str(text))
    }

    fn write(&mut self, text: &Text) -> Result<(), Error> {
        let Some(out) = self.out.last_mut() else { return Ok(()) };
        if out.len() + text.len() > meter::MAX_TEXT {
            return Err(Error::limit(format!("more than {} MiB of output", meter::MAX_TEXT >> 20)));
        }
        meter::step(text.len() as u64 / 32)?;
        out.push_text(text);
        Ok(())
    }

    fn block(&mut self, body: &'p [Stmt]) -> Result<Flow, Error> {
        self.depth += 1;
        if self.depth > meter::MAX_DEPTH {
            return Err(Error::limit("the template nests or calls itself too deep"));
        }
        let mut flow = Flow::Next;
        for stmt in body {
            meter::step(1)?;
            flow = self.stmt(stmt).map_err(|error| error.at(stmt.at))?;
            if flow != Flow::Next {
                break;
            }
        }
        self.depth -= 1;
        Ok(flow)
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Result<Flow, Error> {
        match &stmt.kind {
            StmtKind::Raw(text) => {
                meter::step(text.len() as u64 / 32)?;
                if let Some(out) = self.out.last_mut() {
                    if out.len() + text.len() > meter::MAX_TEXT {
                        return Err(Error::limit("too much output"));
                    }
                    out.push_plain(text);
                }
            }
            StmtKind::Emit(expr) => {
                let value = self.eval(expr)?;
                match &value {
                    Value::Str(text) => self.write(text)?,
                    value => self.write(&format::display(value)?)?,
                }
            }
            StmtKind::If(branches) => {
                for (test, body) in branches {
                    let taken = match test {
                        Some(test) => self.eval(test)?.is_true(),
                        None => true,
                    };
                    if taken {
                        return self.block(body);
                    }
                }
            }
            StmtKind::For(node) => self.run_loop(node)?,
            StmtKind::With(assignments, body) => {
                let mut values = Vec::with_capacity(assignments.len());
                for (_, expr) in assignments {
                    values.push(self.eval(expr)?);
                }
                return self.scoped(Vec::new(), |run| {
                    for ((target, _), value) in assignments.iter().zip(values) {
                        run.bind(target, value)?;
                    }
                    run.block(body)
                });
            }
            StmtKind::Scope(body) => return self.scoped(Vec::new(), |run| run.block(body)),
            StmtKind::Set(target, expr) => {
                let value = self.eval(expr)?;
                self.bind(target, value)?;
            }
            StmtKind::SetBlock(target, filter, body) => {
                let mut value = self.scoped(Vec::new(), |run| run.capture(body))?;
                if let Some(filter) = filter {
                    value = self.filtered(filter, value)?;
                }
                self.bind(target, value)?;
            }
            StmtKind::Filter(filter, body) => {
                let value = self.scoped(Vec::new(), |run| run.capture(body))?;
                let value = self.filtered(filter, value)?;
                let text = format::display(&value)?;
                self.write(&text)?;
            }
            StmtKind::Macro(name, id) => {
                let closure = self.closure(*id);
                self.assign(*name, closure);
            }
            StmtKind::Call(call, id) => {
                let caller = self.closure(*id);
                let value = expr::call_with(self, call, Some(caller))?;
                let text = format::display(&value)?;
                self.write(&text)?;
            }
            StmtKind::Do(expr) => {
                self.eval(expr)?;
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn filtered(&mut self, filter: &'p Expr, value: Value) -> Result<Value, Error> {
        self.captured.push(value);
        let done = self.eval(filter);
        self.captured.pop();
        done
    }

    pub fn captured(&self) -> Value {
        self.captured.last().cloned().unwrap_or(Value::Undefined(None))
    }

    fn run_loop(&mut self, node: &'p For) -> Result<(), Error> {
        let mut items = self.eval(&node.iter)?.items()?;
        if let Some(filter) = &node.filter {
            let mut kept = Vec::new();
            for item in items {
                let keep = self.scoped(Vec::new(), |run| {
                    run.bind(&node.target, item.clone())?;
                    run.eval(filter)
                })?;
                if keep.is_true() {
                    kept.push(item);
                }
            }
            items = kept;
        }
        if items.is_empty() {
            return self.scoped(Vec::new(), |run| run.block(&node.otherwise)).map(drop);
        }
        let bytes = items.capacity() * size_of::<Value>();
        meter::room(bytes)?;
        let state = Rc::new(Loop { items, index: 0.into(), changed: None.into() });
        for (index, item) in state.items.iter().enumerate() {
            meter::step(1)?;
            state.index.set(index);
            let flow = self.scoped(vec![(LOOP, Value::Loop(state.clone()))], |run| {
                run.bind(&node.target, item.clone())?;
                run.block(&node.body)
            })?;
            if flow == Flow::Break {
                break;
            }
        }
        Ok(())
    }

    fn closure(&self, id: MacroId) -> Value {
        Value::Macro(Rc::new(Closure { id, scopes: self.scopes.clone() }))
    }

    /// Calls a macro: its arguments in a scope of their own, its output as the value.
    pub fn call_macro(&mut self, closure: &Closure, args: Arguments) -> Result<Value, Error> {
        let program = self.program;
        let node = &program.macros[closure.id as usize];
        let Arguments { positional, named } = args;
        let mut scope: Vec<(Sym, Value)> = Vec::with_capacity(node.args.len() + 3);
        let mut positional = positional.into_iter();
        for (&sym, value) in node.args.iter().zip(positional.by_ref()) {
            scope.push((sym, value));
        }
        let rest: Vec<Value> = positional.collect();
        if !rest.is_empty() && !node.open {
            return Err(Error::operation(format!(
                "a macro of {} arguments was given {} more",
                node.args.len(),
                rest.len()
            )));
        }
        let mut extra = Vec::new();
        for (name, value) in named {
            let sym = node.args.iter().copied().find(|&sym| self.name(sym) == &*name);
            match sym {
                Some(sym) if scope.iter().any(|(known, _)| *known == sym) => {
                    return Err(Error::operation("a macro was given an argument twice"));
                }
                Some(sym) => scope.push((sym, value)),
                None if node.calls && &*name == self.name(CALLER) => scope.push((CALLER, value)),
                None => extra.push((Value::plain(&name), value)),
            }
        }
        if !extra.is_empty() && !node.open {
            return Err(Error::operation("a macro was given an argument it does not have"));
        }
        scope.push((VARARGS, Value::sequence(rest, Form::Tuple)?));
        scope.push((KWARGS, Value::map(extra)?));
        let outer = std::mem::replace(&mut self.scopes, closure.scopes.clone());
        let first_default = node.args.len() - node.defaults.len();
        let done = self.scoped(scope, |run| {
            for (place, &sym) in node.args.iter().enumerate() {
                let given = |scope: &Vec<(Sym, Value)>| scope.iter().any(|(name, _)| *name == sym);
                if run.scopes.last().is_some_and(given) {
                    continue;
                }
                let value = match place.checked_sub(first_default) {
                    Some(place) => run.eval(&node.defaults[place])?,
                    None => Value::Undefined(Some(sym)),
                };
                run.assign(sym, value);
            }
            run.capture(&node.body)
        });
        self.scopes = outer;
        done
    }

    /// The error for using what is not there.
    pub fn undefined(&self, name: Option<Sym>) -> Error {
        let what = match name {
            Some(sym) => format!("`{}` is undefined", self.name(sym)),
            None => "an undefined value was used".to_owned(),
        };
        Error::new(Kind::Undefined, what)
    }
}
