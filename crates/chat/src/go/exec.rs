//! Runs a Go template over its data.

use super::PROPERTY;
use super::functions;
use super::parse::Templates;
use super::tree::{Branch, Command, Node, NodeKind, Operand, Pipe};
use super::value::{Look, Value};
use crate::error::Error;
use crate::meter;
use crate::moment::Moment;
use crate::text::{Builder, Text};

/// One rendering.
pub(super) struct Run<'p> {
    pub templates: &'p Templates,
    pub date: Moment,
    pub out: Builder,
    variables: Vec<(&'p str, Value)>,
    depth: u32,
}

/// What a node does to the loop around it.
#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'p> Run<'p> {
    pub fn new(templates: &'p Templates, date: Moment) -> Run<'p> {
        Run { templates, date, out: Builder::new(), variables: Vec::new(), depth: 0 }
    }

    /// Writes `nodes` over `data`, which is the dot and `$`.
    pub fn execute(&mut self, nodes: &'p [Node], data: &Value) -> Result<(), Error> {
        self.variables = vec![("$", data.clone())];
        self.list(nodes, data).map(drop)
    }

    fn list(&mut self, nodes: &'p [Node], dot: &Value) -> Result<Flow, Error> {
        self.depth += 1;
        if self.depth > meter::MAX_DEPTH {
            return Err(Error::limit("the template nests or calls itself too deep"));
        }
        let mut flow = Flow::Next;
        for node in nodes {
            meter::step(1)?;
            flow = self.node(node, dot).map_err(|error| error.at(node.at))?;
            if flow != Flow::Next {
                break;
            }
        }
        self.depth -= 1;
        Ok(flow)
    }

    fn node(&mut self, node: &'p Node, dot: &Value) -> Result<Flow, Error> {
        match &node.kind {
            NodeKind::Text(text) => {
                self.room(text.len())?;
                self.out.push_plain(text);
            }
            NodeKind::Action(pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.variables.is_empty() {
                    if let Value::Str(text) = &value {
                        self.room(text.len())?;
                    }
                    value.print(&mut self.out, true)?;
                    self.room(0)?;
                }
            }
            NodeKind::If(branch) => return self.branch(branch, dot, false),
            NodeKind::With(branch) => return self.branch(branch, dot, true),
            NodeKind::Range(branch) => {
                let known = self.variables.len();
                let done = self.range(branch, dot);
                self.variables.truncate(known);
                return done;
            }
            NodeKind::Template(name, pipe) => {
                let Some(body) = self.templates.get(name) else {
                    return Err(Error::unsupported("a template is used that is not defined"));
                };
                let value = self.pipe(pipe, dot)?;
                let outer = std::mem::replace(&mut self.variables, vec![("$", value.clone())]);
                self.list(body, &value)?;
                self.variables = outer;
            }
            NodeKind::Break => return Ok(Flow::Break),
            NodeKind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn room(&self, more: usize) -> Result<(), Error> {
        if self.out.len().saturating_add(more) > meter::MAX_TEXT {
            return Err(Error::limit(format!("more than {} MiB of output", meter::MAX_TEXT >> 20)));
        }
        meter::step(more as u64 / 32)
    }

    fn branch(&mut self, branch: &'p Branch, dot: &Value, with: bool) -> Result<Flow, Error> {
        let known = self.variables.len();
        let value = self.pipe(&branch.pipe, dot)?;
        let flow = if value.is_true() {
            self.list(&branch.body, if with { &value } else { dot })?
        } else {
            match &branch.otherwise {
                Some(nodes) => self.list(nodes, dot)?,
                None => Flow::Next,
            }
        };
        self.variables.truncate(known);
        Ok(flow)
    }

    fn range(&mut self, branch: &'p Branch, dot: &Value) -> Result<Flow, Error> {
        let value = self.commands(&branch.pipe, dot)?;
        let items: Vec<(Value, Value)> = match &value {
            Value::Nil => Vec::new(),
            Value::Int(count) => {
                if branch.pipe.variables.len() > 1 {
                    return Err(Error::operation("a number gives a loop one variable only"));
                }
                let count = usize::try_from(*count).unwrap_or(0);
                meter::room(count.saturating_mul(size_of::<Value>()))?;
                (0..count as i64).map(|int| (Value::Int(int), Value::Int(int))).collect()
            }
            Value::List(list) => {
                meter::step(list.items().len() as u64)?;
                let numbered = list.items().iter().enumerate();
                numbered.map(|(at, item)| (Value::Int(at as i64), item.clone())).collect()
            }
            Value::Map(map) if map.look != Look::Address => {
                meter::step(map.entries.len() as u64)?;
                let pair = |(key, value): &(Text, Value)| (Value::Str(key.clone()), value.clone());
                map.entries.iter().map(pair).collect()
            }
            _ => return Err(Error::operation(format!("a loop over {}", value.kind()))),
        };
        if items.is_empty() {
            // The names are known in the `else` too.
            self.bind(&branch.pipe, &value)?;
            return match &branch.otherwise {
                Some(nodes) => self.list(nodes, dot),
                None => Ok(Flow::Next),
            };
        }
        for (key, item) in items {
            meter::step(1)?;
            let known = self.variables.len();
            match branch.pipe.variables.as_slice() {
                [] => {}
                [name] => self.set(name, item.clone(), branch.pipe.assigns)?,
                [first, second, ..] => {
                    self.set(first, key, branch.pipe.assigns)?;
                    self.set(second, item.clone(), branch.pipe.assigns)?;
                }
            }
            let flow = self.list(&branch.body, &item)?;
            self.variables.truncate(known);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn set(&mut self, name: &'p str, value: Value, assigns: bool) -> Result<(), Error> {
        if !assigns {
            self.variables.push((name, value));
            return Ok(());
        }
        match self.variables.iter_mut().rev().find(|(known, _)| *known == name) {
            Some(slot) => slot.1 = value,
            None => return Err(Error::operation("a variable is assigned that was not declared")),
        }
        Ok(())
    }

    fn bind(&mut self, pipe: &'p Pipe, value: &Value) -> Result<(), Error> {
        for name in &pipe.variables {
            self.set(name, value.clone(), pipe.assigns)?;
        }
        Ok(())
    }

    fn pipe(&mut self, pipe: &'p Pipe, dot: &Value) -> Result<Value, Error> {
        let value = self.commands(pipe, dot)?;
        self.bind(pipe, &value)?;
        Ok(value)
    }

    fn commands(&mut self, pipe: &'p Pipe, dot: &Value) -> Result<Value, Error> {
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(command, dot, value).map_err(|error| error.at(pipe.at))?);
        }
        Ok(value.unwrap_or(Value::Nil))
    }

    /// One command; `last` is the value of the one before.
    fn command(
        &mut self,
        command: &'p Command,
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, Error> {
        meter::step(1)?;
        let Some((first, rest)) = command.0.split_first() else { return Ok(Value::Nil) };
        if let Operand::Function(name) = first {
            if name == "and" || name == "or" {
                return self.logic(name == "or", rest, dot, last);
            }
            let mut args = Vec::with_capacity(rest.len() + 1);
            for operand in rest {
                args.push(self.operand(operand, dot)?);
            }
            args.extend(last);
            return functions::call(name, args, self.date);
        }
        if !rest.is_empty() || last.is_some() {
            return Err(Error::operation("a value is given to something that takes none"));
        }
        match first {
            Operand::Nil => Err(Error::operation("nil alone is no value")),
            first => self.operand(first, dot),
        }
    }

    /// `and` and `or`: the first value that settles it, or the last.
    fn logic(
        &mut self,
        or: bool,
        operands: &'p [Operand],
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, Error> {
        let mut value = None;
        for operand in operands {
            let next = self.operand(operand, dot)?;
            if next.is_true() == or {
                return Ok(next);
            }
            value = Some(next);
        }
        last.or(value).ok_or_else(|| Error::operation("`and` and `or` need a value"))
    }

    fn operand(&mut self, operand: &'p Operand, dot: &Value) -> Result<Value, Error> {
        Ok(match operand {
            Operand::Dot => dot.clone(),
            Operand::Nil => Value::Nil,
            Operand::Bool(yes) => Value::Bool(*yes),
            Operand::Int(int) => Value::Int(*int),
            Operand::Float(float) => Value::Float(*float),
            Operand::Str(text) => Value::plain(text),
            Operand::Field(names) => fields(dot.clone(), names)?,
            Operand::Variable(name, names) => {
                let found = self.variables.iter().rev().find(|(known, _)| known == name);
                let Some((_, value)) = found else {
                    return Err(Error::operation("a variable that was not declared"));
                };
                fields(value.clone(), names)?
            }
            Operand::Function(name) if name == "and" || name == "or" => {
                return Err(Error::operation("`and` and `or` need a value"));
            }
            Operand::Function(name) => functions::call(name, Vec::new(), self.date)?,
            Operand::Pipe(pipe) => {
                self.depth += 1;
                if self.depth > meter::MAX_DEPTH {
                    return Err(Error::limit("the template nests or calls itself too deep"));
                }
                let value = self.pipe(pipe, dot)?;
                self.depth -= 1;
                value
            }
            Operand::Chain(inner, names) => {
                let value = self.operand(inner, dot)?;
                fields(value, names)?
            }
        })
    }
}

fn fields(mut value: Value, names: &[String]) -> Result<Value, Error> {
    for name in names {
        value = field(&value, name)?;
    }
    Ok(value)
}

/// A field of a value, or what a method of Ollama's types gives.
fn field(value: &Value, name: &str) -> Result<Value, Error> {
    let look = match value {
        Value::List(list) => list.look,
        Value::Map(map) => map.look,
        Value::Struct(inner) => inner.look,
        _ => Look::Fmt,
    };
    if name == "String" && matches!(look, Look::Json | Look::Types) {
        let mut out = Builder::new();
        value.print(&mut out, false)?;
        return Ok(Value::Str(out.finish()));
    }
    match value {
        Value::Struct(inner) if name == "ToTypeScriptType" && inner.name == PROPERTY => {
            return Ok(Value::plain(&functions::type_script(value)));
        }
        Value::Struct(inner) => {
            if let Some(field) = inner.fields.iter().find(|field| field.name == name) {
                return Ok(field.value.clone());
            }
        }
        Value::Map(map) if map.look != Look::Address => {
            meter::step(map.entries.len() as u64 / 8)?;
            return Ok(map.get(name).unwrap_or(&map.missing).clone());
        }
        _ => {}
    }
    Err(Error::operation(format!("{} has no field `{name}`", value.kind())))
}
