//! The values a template computes with: Python's, as far as chat templates go.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use crate::error::Error;
use crate::functions::Function;
use crate::meter;
use crate::text::{Text, TextKey};
use crate::tree::{MacroId, Sym};

/// Nesting of lists and maps; more is refused, so that nothing recurses without end.
const MAX_NESTING: u8 = 100;
/// Maps with more entries than this get an index.
const SMALL: usize = 12;

#[derive(Clone)]
pub(crate) enum Value {
    /// Nothing there; the name is for the message when it is used.
    Undefined(Option<Sym>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Text),
    List(Rc<List>),
    Map(Rc<Map>),
    Namespace(Rc<Namespace>),
    Macro(Rc<Closure>),
    /// A method not yet called, with what it belongs to.
    Method(Rc<(Value, &'static str)>),
    Function(Function),
    Loop(Rc<Loop>),
}

/// What kind of Python sequence a `List` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    List,
    Tuple,
    /// `dict.items()` and the like: a length, but no index.
    View,
    /// A generator: neither.
    Iter,
}

/// How deep a container nests, and whether it holds a namespace, macro or loop.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shape {
    depth: u8,
    live: bool,
}

pub(crate) struct List {
    pub items: Vec<Value>,
    pub form: Form,
    shape: Shape,
}

pub(crate) struct Map {
    entries: Vec<(Value, Value)>,
    index: HashMap<TextKey, usize>,
    shape: Shape,
}

#[derive(Default)]
pub(crate) struct Namespace(pub RefCell<Vec<(Sym, Value)>>);

/// A macro, with the inner variables that were visible where it stands.
pub(crate) struct Closure {
    pub id: MacroId,
    pub scopes: Vec<Vec<(Sym, Value)>>,
}

/// The `loop` variable.
pub(crate) struct Loop {
    pub items: Vec<Value>,
    pub index: Cell<usize>,
    pub changed: RefCell<Option<Vec<Value>>>,
}

impl Drop for List {
    fn drop(&mut self) {
        meter::release(self.items.capacity() * size_of::<Value>());
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        meter::release(self.entries.len() * 2 * size_of::<Value>());
    }
}

impl Value {
    pub fn plain(text: &str) -> Value {
        Value::Str(Text::plain(text))
    }

    pub fn sequence(items: Vec<Value>, form: Form) -> Result<Value, Error> {
        let shape = around(items.iter())?;
        meter::take(items.capacity() * size_of::<Value>());
        Ok(Value::List(Rc::new(List { items, form, shape })))
    }

    pub fn list(items: Vec<Value>) -> Result<Value, Error> {
        Value::sequence(items, Form::List)
    }

    pub fn tuple(items: Vec<Value>) -> Result<Value, Error> {
        Value::sequence(items, Form::Tuple)
    }

    /// A map; a later entry replaces an earlier one of the same key, in its place.
    pub fn map(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        let mut entries: Vec<(Value, Value)> = Vec::with_capacity(pairs.len());
        let mut index: HashMap<TextKey, usize> = HashMap::new();
        let indexed = pairs.len() > SMALL;
        for (key, value) in pairs {
            if !key.is_hashable() {
                return Err(Error::operation(format!("a map key of type {}", key.type_name())));
            }
            let found = match &key {
                Value::Str(text) if indexed => index.get(text.as_str()).copied(),
                _ => {
                    meter::step(entries.len() as u64 / 8)?;
                    entries.iter().position(|(known, _)| equal(known, &key))
                }
            };
            match found {
                Some(place) => entries[place].1 = value,
                None => {
                    if let (true, Value::Str(text)) = (indexed, &key) {
                        index.insert(TextKey(text.clone()), entries.len());
                    }
                    entries.push((key, value));
                }
            }
        }
        let shape = around(entries.iter().flat_map(|(key, value)| [key, value]))?;
        meter::take(entries.len() * 2 * size_of::<Value>());
        Ok(Value::Map(Rc::new(Map { entries, index, shape })))
    }

    /// JSON as values; every string, key or value, is data.
    pub fn from_json(json: &serde_json::Value) -> Result<Value, Error> {
        meter::step(1)?;
        Ok(match json {
            serde_json::Value::Null => Value::None,
            serde_json::Value::Bool(yes) => Value::Bool(*yes),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Value::Int(int.into()),
                (_, Some(int)) => Value::Int(int.into()),
                _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Str(Text::data(text)),
            serde_json::Value::Array(items) => {
                Value::list(items.iter().map(Value::from_json).collect::<Result<_, _>>()?)?
            }
            serde_json::Value::Object(map) => {
                let pair = |(key, value): (&String, &serde_json::Value)| {
                    Ok((Value::Str(Text::data(key)), Value::from_json(value)?))
                };
                Value::map(map.iter().map(pair).collect::<Result<_, Error>>()?)?
            }
        })
    }

    /// Python's name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "undefined",
            Value::None => "none",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "string",
            Value::List(list) => match list.form {
                Form::List => "list",
                Form::Tuple => "tuple",
                Form::View => "view of a dict",
                Form::Iter => "generator",
            },
            Value::Map(_) => "dict",
            Value::Namespace(_) => "namespace",
            Value::Macro(_) => "macro",
            Value::Method(_) => "method",
            Value::Function(_) => "function",
            Value::Loop(_) => "loop",
        }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(yes) => *yes,
            Value::Int(int) => *int != 0,
            Value::Float(float) => *float != 0.0,
            Value::Str(text) => text.len() > 0,
            Value::List(list) => list.form == Form::Iter || !list.items.is_empty(),
            Value::Map(map) => !map.entries.is_empty(),
            _ => true,
        }
    }

    fn is_hashable(&self) -> bool {
        match self {
            Value::List(list) => {
                list.form != Form::List && list.items.iter().all(Value::is_hashable)
            }
            Value::Map(_) | Value::Namespace(_) => false,
            _ => true,
        }
    }

    /// Numbers and booleans as Python's arithmetic sees them.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Bool(yes) => Some(i128::from(*yes)),
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(float) => Some(*float),
            _ => self.as_int().map(|int| int as f64),
        }
    }

    fn shape(&self) -> Shape {
        match self {
            Value::List(list) => list.shape,
            Value::Map(map) => map.shape,
            Value::Method(bound) => bound.0.shape(),
            Value::Namespace(_) | Value::Macro(_) | Value::Loop(_) => {
                Shape { depth: 0, live: true }
            }
            _ => Shape::default(),
        }
    }

    /// Whether a namespace may keep this: what leads back to a namespace could form a ring.
    pub fn may_be_kept(&self) -> bool {
        !self.shape().live
    }

    /// The items that a `for` sees.
    pub fn items(&self) -> Result<Vec<Value>, Error> {
        let items = match self {
            Value::Undefined(_) => Vec::new(),
            Value::List(list) => list.items.clone(),
            Value::Map(map) => map.entries.iter().map(|(key, _)| key.clone()).collect(),
            Value::Str(text) => {
                meter::room(text.as_str().chars().count().saturating_mul(128))?;
                let ends = text.as_str().char_indices().map(|(at, c)| (at, at + c.len_utf8()));
                ends.map(|(from, to)| Value::Str(text.slice(from..to))).collect()
            }
            _ => return Err(Error::operation(format!("{} is not iterable", self.type_name()))),
        };
        meter::step(items.len() as u64)?;
        Ok(items)
    }
}

fn around<'a>(parts: impl Iterator<Item = &'a Value>) -> Result<Shape, Error> {
    let mut shape = Shape::default();
    let mut count = 0;
    for part in parts {
        let inner = part.shape();
        shape.depth = shape.depth.max(inner.depth);
        shape.live |= inner.live;
        count += 1;
    }
    meter::step(count / 4)?;
    shape.depth += 1;
    if shape.depth > MAX_NESTING {
        return Err(Error::limit(format!("values nested more than {MAX_NESTING} deep")));
    }
    Ok(shape)
}

impl Map {
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    pub fn get(&self, key: &Value) -> Option<&Value> {
        match key {
            Value::Str(text) => self.get_str(text.as_str()),
            _ => self.entries.iter().find(|(known, _)| equal(known, key)).map(|(_, v)| v),
        }
    }

    pub fn get_str(&self, key: &str) -> Option<&Value> {
        if !self.index.is_empty() {
            return self.index.get(key).map(|&place| &self.entries[place].1);
        }
        let same = |known: &Value| matches!(known, Value::Str(text) if text.as_str() == key);
        self.entries.iter().find(|(known, _)| same(known)).map(|(_, value)| value)
    }
}

/// Python's `==`; marks do not matter.
///
/// Out of steps it says no at once, and the next node of the template reports the limit:
/// shared lists can be exponentially larger than the memory they take.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    if meter::step(1).is_err() {
        return false;
    }
    match (a, b) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
        (Value::Str(a), Value::Str(b)) => a.as_str() == b.as_str(),
        (Value::List(a), Value::List(b)) => {
            let same = |(a, b)| equal(a, b);
            Rc::ptr_eq(a, b)
                || (a.form == b.form
                    && matches!(a.form, Form::List | Form::Tuple)
                    && a.items.len() == b.items.len()
                    && a.items.iter().zip(&b.items).all(same))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.entries.len() == b.entries.len()
                && a.entries.iter().all(|(key, x)| b.get(key).is_some_and(|y| equal(x, y)))
        }
        (Value::Namespace(a), Value::Namespace(b)) => Rc::ptr_eq(a, b),
        (Value::Macro(a), Value::Macro(b)) => Rc::ptr_eq(a, b),
        (Value::Loop(a), Value::Loop(b)) => Rc::ptr_eq(a, b),
        (Value::Method(a), Value::Method(b)) => a.1 == b.1 && equal(&a.0, &b.0),
        (Value::Function(a), Value::Function(b)) => a == b,
        _ => match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => matches!((a.as_float(), b.as_float()), (Some(a), Some(b)) if a == b),
        },
    }
}

/// Python's `<` and the like; `None` where one of them is not a number.
pub(crate) fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Ok(Some(a.as_str().cmp(b.as_str()))),
        (Value::List(x), Value::List(y))
            if x.form == y.form && matches!(x.form, Form::List | Form::Tuple) =>
        {
            for (a, b) in x.items.iter().zip(&y.items) {
                if !equal(a, b) {
                    return compare(a, b);
                }
            }
            Ok(Some(x.items.len().cmp(&y.items.len())))
        }
        _ => {
            if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
                return Ok(Some(a.cmp(&b)));
            }
            match (a.as_float(), b.as_float()) {
                (Some(a), Some(b)) => Ok(a.partial_cmp(&b)),
                _ => Err(Error::operation(format!(
                    "{} and {} cannot be ordered",
                    a.type_name(),
                    b.type_name()
                ))),
            }
        }
    }
}
