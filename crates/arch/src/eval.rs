//! Settles expressions: header values from the model file's metadata, tables by layer.

use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
};

use recinto_weights::{Metadata, Value as Stored};

use crate::{
    error::{Error, Kind, Span, nearest},
    expr::{Case, Expr, Node},
    lex::Source,
    parse::Ast,
    rope::Scaling,
};

/// A settled value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Scaling(Scaling),
    /// One value a layer.
    Table(Vec<Value>),
}

impl Value {
    fn show(&self) -> String {
        match self {
            Value::Whole(v) => v.to_string(),
            Value::Float(v) => v.to_string(),
            Value::Bool(v) => v.to_string(),
            Value::Text(v) => format!("`{}`", v.chars().take(60).collect::<String>()),
            Value::Scaling(_) => "a rotary scaling".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Whole(v) => Some(*v as f64),
            Value::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// The value for one layer.
    pub fn pick(&self, layer: usize) -> Option<&Value> {
        if let Value::Table(list) = self { list.get(layer) } else { Some(self) }
    }
}

/// What names mean while a file is bound to a model.
pub(crate) struct Scope<'a> {
    pub source: Source<'a>,
    pub metadata: Metadata<'a>,
    /// `llama.` and the like.
    pub prefix: String,
    pub layers: usize,
    ast: &'a Ast,
    values: HashMap<&'a str, Value>,
    /// Reasons of what was assumed, each once.
    pub notes: RefCell<Vec<String>>,
}

/// The running number of a block, inside it.
#[derive(Clone, Copy)]
pub(crate) struct Index<'a> {
    pub name: &'a str,
    pub value: usize,
}

type Result<T> = std::result::Result<T, Error>;

impl<'a> Scope<'a> {
    /// Settles the header.
    pub fn new(
        source: Source<'a>,
        ast: &'a Ast,
        metadata: Metadata<'a>,
        prefix: &str,
        layers: usize,
    ) -> Result<Scope<'a>> {
        let (prefix, values, notes) = (prefix.to_owned(), HashMap::new(), RefCell::default());
        let mut scope = Scope { source, metadata, prefix, layers, ast, values, notes };
        for header in &ast.header {
            let words = ast.is_selector(&header.name);
            let value = scope.form(&header.expr, words)?;
            scope.values.insert(&header.name, value);
        }
        Ok(scope)
    }

    fn error(&self, span: Span, what: impl Into<String>) -> Error {
        self.source.error(Kind::Value, span, what)
    }

    /// A header expression outside of any block.
    pub fn plain(&self, expr: &Expr) -> Result<Value> {
        self.form(expr, false)
    }

    /// The table of words called `name`, for `each layer name=word`.
    pub fn word(&self, name: &str, layer: usize) -> Option<&str> {
        match self.values.get(name)?.pick(layer)? {
            Value::Text(word) => Some(word),
            _ => None,
        }
    }

    /// An option's expression: names of the header and the block's running number.
    pub fn at(&self, expr: &Expr, index: Option<Index>) -> Result<Value> {
        let value = self.eval(expr, index)?;
        if matches!(value, Value::Table(_)) {
            let what = "a table by layer outside of a block; one value is needed";
            return Err(self.error(expr.span, what));
        }
        Ok(value)
    }

    pub fn whole(&self, expr: &Expr, index: Option<Index>) -> Result<u64> {
        match self.at(expr, index)? {
            Value::Whole(v) if v >= 0 => Ok(v as u64),
            other => {
                let what = format!("expected a whole number from 0, got {}", other.show());
                Err(self.error(expr.span, what))
            }
        }
    }

    pub fn number(&self, expr: &Expr, index: Option<Index>) -> Result<f64> {
        let value = self.at(expr, index)?;
        let number = value.number().filter(|v| v.is_finite());
        number.ok_or_else(|| {
            self.error(expr.span, format!("expected a number, got {}", value.show()))
        })
    }

    pub fn scaling(&self, expr: &Expr, index: Option<Index>) -> Result<Scaling> {
        match self.at(expr, index)? {
            Value::Scaling(scaling) => Ok(scaling),
            other => {
                let what = format!("expected `linear(…)` or `yarn(…)`, got {}", other.show());
                Err(self.error(expr.span, what))
            }
        }
    }

    pub fn truth(&self, expr: &Expr, index: Option<Index>) -> Result<bool> {
        let value = self.at(expr, index)?;
        self.truth_of(&value, expr.span)
    }

    fn truth_of(&self, value: &Value, span: Span) -> Result<bool> {
        match value {
            Value::Bool(v) => Ok(*v),
            Value::Whole(v) => Ok(*v != 0),
            Value::Float(v) => Ok(*v != 0.0),
            other => {
                let what = format!("expected a number or a boolean, got {}", other.show());
                Err(self.error(span, what))
            }
        }
    }

    /// The full name of the key that `name` stands for.
    pub fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Whether an alternative before `else` is there.
    fn present(&self, expr: &Expr) -> bool {
        match &expr.node {
            Node::Name(name) => {
                self.values.contains_key(name.as_str())
                    || self.metadata.get(&self.key(name)).is_some()
            }
            Node::Key(key) => self.metadata.get(key).is_some(),
            _ => true,
        }
    }

    /// A value of a form; in a table of words an unknown name is a word.
    fn form(&self, expr: &Expr, words: bool) -> Result<Value> {
        if let (Node::Name(name), true) = (&expr.node, words)
            && !self.values.contains_key(name.as_str())
        {
            return Ok(Value::Text(name.clone()));
        }
        let by_layer = |pick: &dyn Fn(usize) -> Result<Value>| -> Result<Value> {
            Ok(Value::Table((0..self.layers).map(pick).collect::<Result<_>>()?))
        };
        match &expr.node {
            Node::Cycle(list) => {
                let list: Vec<Value> =
                    list.iter().map(|e| self.form(e, words)).collect::<Result<_>>()?;
                by_layer(&|layer| self.pick(&list[layer % list.len()], layer, expr.span))
            }
            Node::First(parts, rest) => {
                let mut table = Vec::new();
                for (count, value) in parts {
                    let count = self.whole(count, None)?;
                    let value = self.form(value, words)?;
                    let end = (table.len() as u64).saturating_add(count).min(self.layers as u64);
                    for layer in table.len()..end as usize {
                        table.push(self.pick(&value, layer, expr.span)?);
                    }
                }
                let rest = self.form(rest, words)?;
                for layer in table.len()..self.layers {
                    table.push(self.pick(&rest, layer, expr.span)?);
                }
                Ok(Value::Table(table))
            }
            Node::Every(step, value, rest) => {
                let step = self.whole(step, None)?;
                let (value, rest) = (self.form(value, words)?, self.form(rest, words)?);
                by_layer(&|layer| {
                    let chosen = step > 0 && (layer as u64 + 1).is_multiple_of(step);
                    self.pick(if chosen { &value } else { &rest }, layer, expr.span)
                })
            }
            Node::Where(table, yes, no) => {
                let table_span = table.span;
                let table = self.eval(table, None)?;
                let (yes, no) = (self.form(yes, words)?, self.form(no, words)?);
                by_layer(&|layer| {
                    let truth = self.pick(&table, layer, table_span)?;
                    let chosen = if self.truth_of(&truth, table_span)? { &yes } else { &no };
                    self.pick(chosen, layer, expr.span)
                })
            }
            Node::Match(on, cases, otherwise) => self.matching(on, cases, otherwise, words),
            Node::Else(list) => self.alternatives(list, expr.span, &|e| self.form(e, words)),
            _ => self.eval(expr, None),
        }
    }

    fn alternatives(
        &self,
        list: &[Expr],
        span: Span,
        read: &dyn Fn(&Expr) -> Result<Value>,
    ) -> Result<Value> {
        match list.iter().find(|e| self.present(e)) {
            Some(found) => read(found),
            None => {
                let names: Vec<String> = list.iter().filter_map(|e| self.key_of(e)).collect();
                let what = format!("none of the keys {} is in the file", names.join(", "));
                Err(self.source.error(Kind::MissingKey, span, what))
            }
        }
    }

    /// How an error names what an expression reads; a header's name with the key behind it.
    fn key_of(&self, expr: &Expr) -> Option<String> {
        match &expr.node {
            Node::Name(name) if self.values.contains_key(name.as_str()) => {
                let header = self.ast.header.iter().find(|h| h.name == *name)?;
                let mut key = None;
                header.expr.walk(&mut |e| match &e.node {
                    Node::Name(inner) if !self.values.contains_key(inner.as_str()) => {
                        key = key.take().or(Some(self.key(inner)));
                    }
                    Node::Key(inner) => key = key.take().or(Some(inner.clone())),
                    _ => {}
                });
                Some(key.map_or(format!("`{name}`"), |key| format!("`{name}` (key `{key}`)")))
            }
            Node::Name(name) => Some(format!("`{}`", self.key(name))),
            Node::Key(key) => Some(format!("`{key}`")),
            _ => None,
        }
    }

    fn pick(&self, value: &Value, layer: usize, span: Span) -> Result<Value> {
        value
            .pick(layer)
            .cloned()
            .ok_or_else(|| self.error(span, format!("a table has no value for layer {layer}")))
    }

    fn matching(
        &self,
        on: &Expr,
        cases: &[(Vec<Case>, Expr)],
        otherwise: &Option<Box<Expr>>,
        words: bool,
    ) -> Result<Value> {
        let missing = !self.present(on);
        if missing && otherwise.is_none() {
            return self.eval(on, None);
        }
        let value = if missing { Value::Bool(false) } else { self.eval(on, None)? };
        // Each case is settled once: a table would settle it layer by layer, and tables inside
        // tables without end.
        let mut settled: HashMap<usize, Value> = HashMap::new();
        let mut one = |value: &Value, layer: Option<usize>| -> Result<Value> {
            let found =
                cases.iter().position(|(any, _)| !missing && any.iter().any(|c| c.holds(value)));
            let expr = match (found, otherwise) {
                (Some(at), _) => &cases[at].1,
                (None, Some(expr)) => expr,
                (None, None) => {
                    let known: Vec<String> =
                        cases.iter().flat_map(|(any, _)| any).map(Case::show).collect();
                    let name = self.key_of(on).unwrap_or_else(|| "the value".to_owned());
                    let shown = value.show();
                    let what = format!("{name} is {shown}; this file handles {}", known.join(", "));
                    return Err(self.error(on.span, what));
                }
            };
            let at = found.unwrap_or(cases.len());
            if let Entry::Vacant(entry) = settled.entry(at) {
                entry.insert(self.form(expr, words)?);
            }
            match layer {
                Some(layer) => self.pick(&settled[&at], layer, on.span),
                None => Ok(settled[&at].clone()),
            }
        };
        match &value {
            Value::Table(list) => {
                let picked = list.iter().enumerate().map(|(layer, value)| one(value, Some(layer)));
                Ok(Value::Table(picked.collect::<Result<_>>()?))
            }
            value => one(value, None),
        }
    }

    fn eval(&self, expr: &Expr, index: Option<Index>) -> Result<Value> {
        match &expr.node {
            Node::Whole(v) => Ok(Value::Whole(*v)),
            Node::Float(v) => Ok(Value::Float(*v)),
            Node::Text(v) => Ok(Value::Text(v.clone())),
            Node::Name(name) => self.name(name, expr.span, index),
            Node::Key(key) => self.stored(key, expr.span),
            Node::Negative(inner) => {
                let value = self.eval(inner, index)?;
                self.binary('-', &Value::Whole(0), &value, expr.span)
            }
            Node::Binary(sign, a, b) => {
                let (a, b) = (self.eval(a, index)?, self.eval(b, index)?);
                self.binary(*sign, &a, &b, expr.span)
            }
            Node::Else(list) => self.alternatives(list, expr.span, &|e| self.eval(e, index)),
            Node::Call(name, arguments) => self.call(name, arguments, expr.span, index),
            _ => self.form(expr, false),
        }
    }

    fn name(&self, name: &str, span: Span, index: Option<Index>) -> Result<Value> {
        if let Some(index) = index {
            if name == index.name {
                return Ok(Value::Whole(index.value as i64));
            }
            if let Some(value) = self.values.get(name) {
                return self.pick(value, index.value, span);
            }
        }
        match self.values.get(name) {
            Some(value) => Ok(value.clone()),
            None => self.stored(&self.key(name), span),
        }
    }

    /// A key's value from the model file.
    fn stored(&self, key: &str, span: Span) -> Result<Value> {
        let Some(stored) = self.metadata.get(key) else {
            let what = format!("missing key `{key}`");
            let error = self.source.error(Kind::MissingKey, span, what);
            let keys = self.metadata.iter().map(|(key, _)| key);
            return Err(match nearest(key, keys) {
                Some(near) => error.hint(format!("the file has `{near}`; did you mean that?")),
                None => error.hint("`recinto inspect MODEL` lists the file's keys"),
            });
        };
        let Stored::Array(array) = stored else {
            return scalar(stored).ok_or_else(|| {
                self.error(span, format!("key `{key}` is not finite or too large"))
            });
        };
        if array.len() != self.layers {
            let (len, layers) = (array.len(), self.layers);
            let what = format!("key `{key}` has {len} values for {layers} layers");
            return Err(self.error(span, what));
        }
        if let Some(words) = array.strings() {
            return Ok(Value::Table(words.map(|word| Value::Text(word.to_owned())).collect()));
        }
        let values = array.scalars().map(|list| list.take(self.layers).map(scalar));
        let table = values.and_then(|list| list.collect::<Option<Vec<Value>>>());
        table.map(Value::Table).ok_or_else(|| {
            self.error(span, format!("key `{key}` is no array of numbers, booleans or texts"))
        })
    }

    fn binary(&self, sign: char, a: &Value, b: &Value, span: Span) -> Result<Value> {
        if let (Value::Table(_), _) | (_, Value::Table(_)) = (a, b) {
            let by_layer = (0..self.layers).map(|layer| {
                let a = self.pick(a, layer, span)?;
                self.binary(sign, &a, &self.pick(b, layer, span)?, span)
            });
            return Ok(Value::Table(by_layer.collect::<Result<_>>()?));
        }
        if let (Value::Whole(a), Value::Whole(b)) = (a, b) {
            let out = match sign {
                '+' => a.checked_add(*b),
                '-' => a.checked_sub(*b),
                '*' => a.checked_mul(*b),
                _ if *b == 0 => return Err(self.error(span, "division by zero")),
                _ if a % b != 0 => {
                    let what = format!("{b} does not divide {a}");
                    let hint = "whole numbers divide exactly; for a fraction write one as `1.0`";
                    return Err(self.error(span, what).hint(hint));
                }
                _ => a.checked_div(*b),
            };
            return out
                .map(Value::Whole)
                .ok_or_else(|| self.error(span, "the number is too large"));
        }
        let (Some(x), Some(y)) = (a.number(), b.number()) else {
            let what = format!("`{sign}` needs numbers, got {} and {}", a.show(), b.show());
            return Err(self.error(span, what));
        };
        let out = match sign {
            '+' => x + y,
            '-' => x - y,
            '*' => x * y,
            _ => x / y,
        };
        self.finite(out, span)
    }

    fn finite(&self, value: f64, span: Span) -> Result<Value> {
        if value.is_finite() {
            Ok(Value::Float(value))
        } else {
            Err(self.error(span, "the result is not a finite number"))
        }
    }

    fn call(
        &self,
        name: &str,
        arguments: &[(Option<String>, Expr)],
        span: Span,
        index: Option<Index>,
    ) -> Result<Value> {
        if name == "refuse" {
            let reason = match arguments {
                [(_, Expr { node: Node::Text(reason), .. })] => reason.as_str(),
                _ => "this model is refused",
            };
            return Err(self.error(span, reason));
        }
        if name == "assume"
            && let [(_, value), (_, Expr { node: Node::Text(reason), .. })] = arguments
        {
            let mut notes = self.notes.borrow_mut();
            if !notes.contains(reason) {
                notes.push(reason.clone());
            }
            drop(notes);
            return self.eval(value, index);
        }
        let mut given = HashMap::new();
        let names = arguments_of(name).unwrap_or(&[]);
        for (place, (argument, expr)) in arguments.iter().enumerate() {
            // Names, arity and repeats were checked when the file was read.
            let key = argument.as_deref().or(names.get(place).copied()).unwrap_or("");
            given.insert(key, self.eval(expr, index)?);
        }
        let tables = given.values().any(|v| matches!(v, Value::Table(_)));
        if name == "pattern" {
            return self.pattern(&given["x"], span);
        }
        if !tables {
            return self.function(name, &given, span);
        }
        let by_layer = (0..self.layers).map(|layer| {
            let one = given.iter().map(|(k, v)| Ok((*k, self.pick(v, layer, span)?)));
            self.function(name, &one.collect::<Result<_>>()?, span)
        });
        Ok(Value::Table(by_layer.collect::<Result<_>>()?))
    }

    /// A number N stands for: all layers but each N-th; an array is taken as it is.
    fn pattern(&self, value: &Value, span: Span) -> Result<Value> {
        match value {
            Value::Table(_) => Ok(value.clone()),
            Value::Whole(step) if *step >= 0 => {
                let step = *step as usize;
                let one = |layer: usize| Value::Bool(step == 0 || layer % step < step - 1);
                Ok(Value::Table((0..self.layers).map(one).collect()))
            }
            other => {
                let what = format!("expected a whole number or an array, got {}", other.show());
                Err(self.error(span, what))
            }
        }
    }

    fn function(&self, name: &str, given: &HashMap<&str, Value>, span: Span) -> Result<Value> {
        let number = |key: &str, default: f64| match given.get(key) {
            None => Ok(default),
            Some(value) => value.number().ok_or_else(|| {
                let what = format!("`{name}` needs a number, got {}", value.show());
                self.error(span, what)
            }),
        };
        match name {
            "sqrt" => {
                let x = number("x", 0.0)?;
                self.finite(x.sqrt(), span)
            }
            "floor" => Ok(Value::Whole(number("x", 0.0)?.floor() as i64)),
            "min" | "max" => {
                let (a, b) = (number("a", 0.0)?, number("b", 0.0)?);
                let first = if name == "min" { a <= b } else { a >= b };
                Ok(given[if first { "a" } else { "b" }].clone())
            }
            _ => {
                let scaling = Scaling {
                    factor: number("factor", 1.0)?,
                    original: number("original", 0.0)?,
                    ext: number("ext", if name == "yarn" { 1.0 } else { 0.0 })?,
                    fast: number("fast", 32.0)?,
                    slow: number("slow", 1.0)?,
                    log: number("log", 0.0)?,
                    attn: number("attn", 1.0)?,
                    magnitude: number("magnitude", 1.0)?,
                };
                let checked = scaling.checked().map_err(|what| self.error(span, what))?;
                Ok(Value::Scaling(checked))
            }
        }
    }

    /// Whether `value` is what a `require` line asks for.
    pub fn equals(&self, stored: Stored, wanted: &Value) -> bool {
        let Some(stored) = scalar(stored) else { return false };
        match (stored.number(), wanted.number()) {
            (Some(a), Some(b)) => a == b,
            _ => {
                stored == *wanted
                    || matches!((stored, wanted),
                (Value::Bool(a), Value::Text(b)) if b == if a { "true" } else { "false" })
            }
        }
    }
}

/// The arguments of the function `name` in order; `None` when there is no such function.
pub(crate) fn arguments_of(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "sqrt" | "floor" | "pattern" => &["x"],
        "min" | "max" => &["a", "b"],
        "refuse" => &["reason"],
        "assume" => &["value", "reason"],
        "linear" => &["factor", "magnitude"],
        "yarn" => &["factor", "original", "ext", "fast", "slow", "log", "attn", "magnitude"],
        _ => return None,
    })
}

/// How many of them must be given.
pub(crate) fn required_arguments(name: &str) -> usize {
    match name {
        "linear" => 1,
        "yarn" | "min" | "max" | "assume" => 2,
        _ => 1,
    }
}

/// Every function's name.
pub(crate) const FUNCTIONS: [&str; 9] =
    ["sqrt", "floor", "pattern", "min", "max", "linear", "yarn", "refuse", "assume"];

fn scalar(stored: Stored) -> Option<Value> {
    match stored {
        Stored::Bool(v) => Some(Value::Bool(v)),
        Stored::Str(v) => Some(Value::Text(v.to_owned())),
        Stored::F32(v) => v.is_finite().then_some(Value::Float(v.into())),
        Stored::F64(v) => v.is_finite().then_some(Value::Float(v)),
        Stored::I8(v) => Some(Value::Whole(v.into())),
        Stored::I16(v) => Some(Value::Whole(v.into())),
        Stored::I32(v) => Some(Value::Whole(v.into())),
        Stored::I64(v) => Some(Value::Whole(v)),
        other => other.as_u64().and_then(|v| v.try_into().ok()).map(Value::Whole),
    }
}

impl Case {
    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Case::Number(n), value) => value.number() == Some(*n),
            (Case::Word(w), Value::Text(text)) => w == text,
            (Case::Word(w), Value::Bool(b)) => w == if *b { "true" } else { "false" },
            _ => false,
        }
    }

    fn show(&self) -> String {
        match self {
            Case::Number(n) => n.to_string(),
            Case::Word(w) => w.clone(),
        }
    }
}
