//! Evaluates expressions: names, attributes, items, slices, calls.

use std::rc::Rc;

use crate::error::{Error, Kind};
use crate::functions::{self, Arguments};
use crate::meter;
use crate::methods;
use crate::ops;
use crate::run::Run;
use crate::text::Text;
use crate::tree::*;
use crate::value::{Form, Loop, Value, compare, equal};

impl<'p> Run<'p> {
    pub fn eval(&mut self, expr: &'p Expr) -> Result<Value, Error> {
        self.depth += 1;
        if self.depth > meter::MAX_DEPTH {
            return Err(Error::limit("the template nests or calls itself too deep").at(expr.at));
        }
        meter::step(1).map_err(|error| error.at(expr.at))?;
        let value = self.eval_kind(expr).map_err(|error| error.at(expr.at))?;
        self.depth -= 1;
        Ok(value)
    }

    fn eval_kind(&mut self, expr: &'p Expr) -> Result<Value, Error> {
        Ok(match &expr.kind {
            ExprKind::Const(place) => self.consts[*place as usize].clone(),
            ExprKind::Var(sym) => self.variable(*sym),
            ExprKind::Captured => self.captured(),
            ExprKind::Not(inner) => Value::Bool(!self.eval(inner)?.is_true()),
            ExprKind::Neg(inner) => {
                let value = self.eval(inner)?;
                self.defined(&value)?;
                ops::negate(&value)?
            }
            ExprKind::And(pair) => {
                let left = self.eval(&pair.0)?;
                if left.is_true() { self.eval(&pair.1)? } else { left }
            }
            ExprKind::Or(pair) => {
                let left = self.eval(&pair.0)?;
                if left.is_true() { left } else { self.eval(&pair.1)? }
            }
            ExprKind::Binary(op, pair) => {
                let (left, right) = (self.eval(&pair.0)?, self.eval(&pair.1)?);
                if *op != Binary::Concat {
                    self.defined(&left)?;
                    self.defined(&right)?;
                }
                ops::binary(*op, &left, &right)?
            }
            ExprKind::Compare(first, rest) => {
                let mut left = self.eval(first)?;
                for (op, right) in rest {
                    let right = self.eval(right)?;
                    if !self.comparison(*op, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            ExprKind::If(parts) => {
                let (test, then, otherwise) = &**parts;
                match (self.eval(test)?.is_true(), otherwise) {
                    (true, _) => self.eval(then)?,
                    (false, Some(otherwise)) => self.eval(otherwise)?,
                    (false, None) => Value::Undefined(None),
                }
            }
            ExprKind::Filter(filter, subject, args) => {
                let subject = self.eval(subject)?;
                let args = self.arguments(args)?;
                (filter.run)(self, subject, args)?
            }
            ExprKind::Test(test, subject, args) => {
                let subject = self.eval(subject)?;
                let args = self.arguments(args)?;
                Value::Bool((test.holds)(self, &subject, args)?)
            }
            ExprKind::Missing(what) => return Err(Error::unsupported(&**what)),
            ExprKind::Attr(subject, sym) => {
                let subject = self.eval(subject)?;
                self.attribute(&subject, self.name(*sym), Some(*sym))?
            }
            ExprKind::Item(pair) => {
                let subject = self.eval(&pair.0)?;
                let key = self.eval(&pair.1)?;
                self.item(&subject, &key)?
            }
            ExprKind::Slice(parts) => {
                let subject = self.eval(&parts.0)?;
                let mut bounds = [None, None, None];
                for (bound, expr) in bounds.iter_mut().zip(&parts.1) {
                    if let Some(expr) = expr {
                        *bound = self.bound(expr)?;
                    }
                }
                self.defined(&subject)?;
                slice(&subject, bounds)?
            }
            ExprKind::Call(..) => call_with(self, expr, None)?,
            ExprKind::List(items) => Value::list(self.values(items)?)?,
            ExprKind::Tuple(items) => Value::tuple(self.values(items)?)?,
            ExprKind::Map(entries) => {
                let mut pairs = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    pairs.push((self.eval(key)?, self.eval(value)?));
                }
                Value::map(pairs)?
            }
        })
    }

    fn values(&mut self, items: &'p [Expr]) -> Result<Vec<Value>, Error> {
        items.iter().map(|item| self.eval(item)).collect()
    }

    fn bound(&mut self, expr: &'p Expr) -> Result<Option<i128>, Error> {
        match self.eval(expr)? {
            Value::None => Ok(None),
            value => match value.as_int() {
                Some(int) => Ok(Some(int)),
                None => Err(Error::operation(format!("a slice bound of {}", value.type_name()))),
            },
        }
    }

    /// An error if the value is undefined.
    pub fn defined(&self, value: &Value) -> Result<(), Error> {
        match value {
            Value::Undefined(name) => Err(self.undefined(*name)),
            _ => Ok(()),
        }
    }

    pub fn comparison(&self, op: Comparison, a: &Value, b: &Value) -> Result<bool, Error> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        if !matches!(op, Comparison::Eq | Comparison::Ne | Comparison::In | Comparison::NotIn) {
            self.defined(a)?;
            self.defined(b)?;
        }
        Ok(match op {
            Comparison::Eq => equal(a, b),
            Comparison::Ne => !equal(a, b),
            Comparison::Lt => compare(a, b)? == Some(Less),
            Comparison::Le => matches!(compare(a, b)?, Some(Less | Equal)),
            Comparison::Gt => compare(a, b)? == Some(Greater),
            Comparison::Ge => matches!(compare(a, b)?, Some(Greater | Equal)),
            Comparison::In => ops::contains(b, a)?,
            Comparison::NotIn => !ops::contains(b, a)?,
        })
    }

    fn arguments(&mut self, args: &'p Args) -> Result<Arguments, Error> {
        let mut out = Arguments::default();
        for arg in &args.0 {
            match arg {
                Arg::Positional(expr) => out.positional.push(self.eval(expr)?),
                Arg::Named(sym, expr) => {
                    let value = self.eval(expr)?;
                    out.named.push((self.name(*sym).into(), value));
                }
                Arg::Splat(expr) => out.positional.extend(self.eval(expr)?.items()?),
                Arg::NamedSplat(expr) => {
                    let Value::Map(map) = self.eval(expr)? else {
                        return Err(Error::operation("`**` needs a dict"));
                    };
                    for (key, value) in map.entries() {
                        let Value::Str(key) = key else {
                            return Err(Error::operation("`**` needs names as keys"));
                        };
                        if key.has_data() {
                            // A name of an argument has no marks to keep.
                            return Err(Error::unsupported("`**` with names from the messages"));
                        }
                        out.named.push((key.as_str().into(), value.clone()));
                    }
                }
            }
        }
        Ok(out)
    }

    /// `subject.name`: Python's attribute first, then the item.
    pub fn attribute(&self, subject: &Value, name: &str, sym: Option<Sym>) -> Result<Value, Error> {
        self.defined(subject)?;
        if let Some(value) = self.own_attribute(subject, name) {
            return Ok(value);
        }
        if let Value::Map(map) = subject {
            // What would change a dict is out of reach, and hides an entry of that name.
            let reachable = !methods::CHANGES_DICT.contains(&name) && !name.starts_with("__");
            if let Some(value) = map.get_str(name).filter(|_| reachable) {
                return Ok(value.clone());
            }
        }
        Ok(Value::Undefined(sym))
    }

    /// Attributes as Python objects have them: methods, names of a namespace, a loop's state.
    fn own_attribute(&self, subject: &Value, name: &str) -> Option<Value> {
        match subject {
            Value::Namespace(namespace) => {
                let names = namespace.0.borrow();
                let found = names.iter().find(|(known, _)| self.name(*known) == name);
                found.map(|(_, value)| value.clone())
            }
            Value::Loop(state) => loop_attribute(state, name).or_else(|| {
                let methods = ["cycle", "changed"];
                let method = methods.into_iter().find(|method| *method == name)?;
                Some(Value::Method(Rc::new((subject.clone(), method))))
            }),
            _ => {
                let method = methods::find(subject, name)?;
                Some(Value::Method(Rc::new((subject.clone(), method))))
            }
        }
    }

    /// `subject[key]`: the item first, then Python's attribute.
    pub fn item(&self, subject: &Value, key: &Value) -> Result<Value, Error> {
        self.defined(subject)?;
        let found = match (subject, key) {
            (Value::Map(map), key) => map.get(key).cloned(),
            (Value::List(list), key) if matches!(list.form, Form::List | Form::Tuple) => key
                .as_int()
                .and_then(|index| place(index, list.items.len()))
                .map(|index| list.items[index].clone()),
            (Value::Str(text), key) => match key.as_int() {
                Some(index) => character(text, index)?.map(Value::Str),
                None => None,
            },
            _ => None,
        };
        match (found, key) {
            (Some(value), _) => Ok(value),
            (None, Value::Str(name)) => {
                Ok(self.own_attribute(subject, name.as_str()).unwrap_or(Value::Undefined(None)))
            }
            (None, _) => Ok(Value::Undefined(None)),
        }
    }

    pub fn call_value(&mut self, callee: &Value, args: Arguments) -> Result<Value, Error> {
        match callee {
            Value::Macro(closure) => self.call_macro(closure, args),
            Value::Function(function) => functions::call(self, *function, args),
            Value::Method(bound) => methods::call(&bound.0, bound.1, args),
            Value::Undefined(name) => Err(self.undefined(*name)),
            _ => Err(Error::operation(format!("{} cannot be called", callee.type_name()))),
        }
    }
}

/// Evaluates a call; `caller` is the body of a `{% call %}` around it.
pub(crate) fn call_with<'p>(
    run: &mut Run<'p>,
    expr: &'p Expr,
    caller: Option<Value>,
) -> Result<Value, Error> {
    let ExprKind::Call(callee, args) = &expr.kind else {
        return Err(Error::new(Kind::Syntax, "not a call"));
    };
    let callee = run.eval(callee)?;
    let mut args = run.arguments(args)?;
    if let Some(caller) = caller {
        args.named.push(("caller".into(), caller));
    }
    run.call_value(&callee, args)
}

/// Python's index, from the end when negative.
fn place(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(length as i128)? } else { index };
    usize::try_from(index).ok().filter(|&index| index < length)
}

fn character(text: &Text, index: i128) -> Result<Option<Text>, Error> {
    let string = text.as_str();
    meter::step(string.len() as u64 / 64)?;
    let length = if string.is_ascii() { string.len() } else { string.chars().count() };
    let Some(index) = place(index, length) else { return Ok(None) };
    let found = string.char_indices().nth(index);
    Ok(found.map(|(at, c)| text.slice(at..at + c.len_utf8())))
}

/// Python's slice of a string, list or tuple.
fn slice(subject: &Value, bounds: [Option<i128>; 3]) -> Result<Value, Error> {
    let [start, stop, step] = bounds;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Error::operation("a slice step of 0"));
    }
    match subject {
        Value::Str(text) => {
            let string = text.as_str();
            meter::room(string.len())?;
            let ends: Vec<usize> =
                string.char_indices().map(|(at, _)| at).chain([string.len()]).collect();
            let indices = indices(start, stop, step, ends.len() - 1);
            if step == 1 {
                let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
                    return Ok(Value::Str(text.slice(0..0)));
                };
                return Ok(Value::Str(text.slice(ends[*first]..ends[last + 1])));
            }
            let mut out = crate::text::Builder::new();
            for index in indices {
                out.push_range(text, ends[index]..ends[index + 1]);
            }
            Ok(Value::Str(out.finish()))
        }
        Value::List(list) if matches!(list.form, Form::List | Form::Tuple) => {
            let indices = indices(start, stop, step, list.items.len());
            meter::room(indices.len() * size_of::<Value>())?;
            let items = indices.into_iter().map(|index| list.items[index].clone()).collect();
            Value::sequence(items, list.form)
        }
        _ => Err(Error::operation(format!("{} has no slices", subject.type_name()))),
    }
}

fn indices(start: Option<i128>, stop: Option<i128>, step: i128, length: usize) -> Vec<usize> {
    let length = length as i128;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let fit = |bound: i128| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(low, high)
    };
    let start = start.map_or(if step > 0 { low } else { high }, fit);
    let stop = stop.map_or(if step > 0 { high } else { low }, fit);
    let mut out = Vec::new();
    let mut index = start;
    while if step > 0 { index < stop } else { index > stop } {
        out.push(index as usize);
        index = index.saturating_add(step);
    }
    out
}

fn loop_attribute(state: &Loop, name: &str) -> Option<Value> {
    let (index, length) = (state.index.get(), state.items.len());
    let number = |n: usize| Some(Value::Int(n as i128));
    match name {
        "index" => number(index + 1),
        "index0" => number(index),
        "revindex" => number(length - index),
        "revindex0" => number(length - index - 1),
        "first" => Some(Value::Bool(index == 0)),
        "last" => Some(Value::Bool(index + 1 == length)),
        "length" => number(length),
        // Loops that are not recursive are all of depth 1.
        "depth" => number(1),
        "depth0" => number(0),
        "previtem" => index.checked_sub(1).map(|index| state.items[index].clone()),
        "nextitem" => state.items.get(index + 1).cloned(),
        _ => None,
    }
}
