//! Global functions of a template, and the arguments of every call.

use std::rc::Rc;

use crate::error::{Error, Kind};
use crate::meter;
use crate::run::Run;
use crate::text::Text;
use crate::tree::Sym;
use crate::value::{Namespace, Value};

/// The longest `range` the reference's sandbox allows.
const MAX_RANGE: u128 = 100_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Dict,
    Namespace,
    RaiseException,
    Range,
    StrftimeNow,
}

pub(crate) const GLOBALS: &[(&str, Function)] = &[
    ("dict", Function::Dict),
    ("namespace", Function::Namespace),
    ("raise_exception", Function::RaiseException),
    ("range", Function::Range),
    ("strftime_now", Function::StrftimeNow),
];

/// Arguments of one call, evaluated.
#[derive(Default)]
pub(crate) struct Arguments {
    pub positional: Vec<Value>,
    pub named: Vec<(Box<str>, Value)>,
}

impl Arguments {
    /// The arguments by the names of their places; `None` where one is not given.
    pub fn bind<const N: usize>(
        self,
        what: &str,
        names: [&str; N],
    ) -> Result<[Option<Value>; N], Error> {
        let mut out = [const { None }; N];
        if self.positional.len() > N {
            return Err(Error::operation(format!("`{what}` takes at most {N} arguments")));
        }
        for (slot, value) in out.iter_mut().zip(self.positional) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let place = names.iter().position(|known| **known == *name);
            match place.map(|place| &mut out[place]) {
                Some(slot) if slot.is_none() => *slot = Some(value),
                Some(_) => {
                    return Err(Error::operation(format!("`{what}` got an argument twice")));
                }
                None => {
                    return Err(Error::operation(format!(
                        "`{what}` got an argument it does not have"
                    )));
                }
            }
        }
        Ok(out)
    }

    /// Like [`Arguments::bind`] for one argument that must be there.
    pub fn one(self, what: &str) -> Result<Value, Error> {
        let [value] = self.bind(what, [""])?;
        value.ok_or_else(|| Error::operation(format!("`{what}` needs an argument")))
    }

    pub fn none(self, what: &str) -> Result<(), Error> {
        self.bind::<0>(what, []).map(drop)
    }
}

/// The string of an argument.
pub(crate) fn string(what: &str, value: Option<Value>) -> Result<Text, Error> {
    match value {
        Some(Value::Str(text)) => Ok(text),
        Some(other) => {
            Err(Error::operation(format!("`{what}` needs a string, not {}", other.type_name())))
        }
        None => Err(Error::operation(format!("`{what}` needs an argument"))),
    }
}

/// The integer of an argument, or `default` where it is not given.
pub(crate) fn integer(what: &str, value: Option<Value>, default: i128) -> Result<i128, Error> {
    match value {
        None => Ok(default),
        Some(value) => value.as_int().ok_or_else(|| {
            Error::operation(format!("`{what}` needs an integer, not {}", value.type_name()))
        }),
    }
}

pub(crate) fn call(run: &mut Run, function: Function, args: Arguments) -> Result<Value, Error> {
    match function {
        Function::Dict => {
            let mut pairs = Vec::new();
            if args.positional.len() > 1 {
                return Err(Error::operation("`dict` takes one argument and names"));
            }
            match args.positional.first() {
                None => {}
                Some(Value::Map(map)) => pairs.extend_from_slice(map.entries()),
                Some(list) => {
                    for pair in list.items()? {
                        let Ok([key, value]) = <[Value; 2]>::try_from(pair.items()?) else {
                            return Err(Error::operation("`dict` needs pairs"));
                        };
                        pairs.push((key, value));
                    }
                }
            }
            pairs.extend(args.named.into_iter().map(|(name, v)| (Value::plain(&name), v)));
            Value::map(pairs)
        }
        Function::Namespace => {
            let namespace = Namespace::default();
            if let Some(Value::Map(map)) = args.positional.first() {
                for (key, value) in map.entries() {
                    if let Value::Str(key) = key {
                        keep_named(run, &namespace, key.as_str(), value.clone())?;
                    }
                }
            } else if !args.positional.is_empty() {
                return Err(Error::operation("`namespace` takes a dict and names"));
            }
            for (name, value) in args.named {
                keep_named(run, &namespace, &name, value)?;
            }
            Ok(Value::Namespace(Rc::new(namespace)))
        }
        Function::RaiseException => {
            let message = match args.one("raise_exception")? {
                Value::Str(text) => text,
                _ => Text::plain("raise_exception"),
            };
            if message.has_data() {
                return Err(Error::new(
                    Kind::Raised,
                    "its reason quotes the messages and is not repeated here",
                ));
            }
            Err(Error::new(Kind::Raised, message.as_str()))
        }
        Function::Range => {
            let [a, b, step] = args.bind("range", ["start", "stop", "step"])?;
            let (start, stop) = match b {
                Some(b) => (integer("range", a, 0)?, integer("range", Some(b), 0)?),
                None if a.is_none() => return Err(Error::operation("`range` needs an argument")),
                None => (0, integer("range", a, 0)?),
            };
            range(start, stop, integer("range", step, 1)?)
        }
        Function::StrftimeNow => {
            let pattern = string("strftime_now", Some(args.one("strftime_now")?))?;
            let text = run.date.format(pattern.as_str())?;
            // A pattern made of data gives data.
            Ok(Value::Str(if pattern.has_data() { Text::data(&text) } else { Text::plain(&text) }))
        }
    }
}

fn range(start: i128, stop: i128, step: i128) -> Result<Value, Error> {
    if step == 0 {
        return Err(Error::operation("a `range` step of 0"));
    }
    let forward = step > 0;
    let span = if (forward && start < stop) || (!forward && start > stop) {
        start.abs_diff(stop)
    } else {
        0
    };
    let length = span.div_ceil(step.unsigned_abs());
    if length > MAX_RANGE {
        return Err(Error::limit(format!("a `range` of more than {MAX_RANGE} numbers")));
    }
    meter::room(length as usize * size_of::<Value>())?;
    Value::list((0..length as i128).map(|i| Value::Int(start + i * step)).collect())
}

fn keep_named(run: &Run, namespace: &Namespace, name: &str, value: Value) -> Result<(), Error> {
    // A name that the template never writes can never be asked for.
    match run.program.names.iter().position(|known| &**known == name) {
        Some(sym) => keep(namespace, sym as Sym, value),
        None => Ok(()),
    }
}

/// Puts a value into a namespace.
pub(crate) fn keep(namespace: &Namespace, name: Sym, value: Value) -> Result<(), Error> {
    if !value.may_be_kept() {
        return Err(Error::unsupported("a namespace, macro or loop inside a namespace"));
    }
    let mut names = namespace.0.borrow_mut();
    match names.iter_mut().find(|(known, _)| *known == name) {
        Some(slot) => slot.1 = value,
        None => names.push((name, value)),
    }
    Ok(())
}
