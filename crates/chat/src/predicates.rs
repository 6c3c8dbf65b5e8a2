//! Tests, what stands after `is`: one row each.

use crate::error::Error;
use crate::functions::{Arguments, string};
use crate::ops;
use crate::run::Run;
use crate::tree::Comparison;
use crate::value::{Form, Value, equal};
use crate::{filters, methods};

/// A named test.
pub(crate) struct Predicate {
    pub name: &'static str,
    pub holds: fn(&mut Run, &Value, Arguments) -> Result<bool, Error>,
}

/// A test without arguments.
macro_rules! plain {
    ($name:literal, $value:pat => $holds:expr) => {
        Predicate {
            name: $name,
            holds: |_, value, args| {
                args.none($name)?;
                let $value = value;
                Ok($holds)
            },
        }
    };
}

/// A test that compares with its argument.
macro_rules! comparison {
    ($name:literal, $op:expr) => {
        Predicate {
            name: $name,
            holds: |run, value, args| {
                let other = args.one($name)?;
                run.comparison($op, value, &other)
            },
        }
    };
}

const PREDICATES: &[Predicate] = &[
    plain!("defined", value => !matches!(value, Value::Undefined(_))),
    plain!("undefined", value => matches!(value, Value::Undefined(_))),
    plain!("none", value => matches!(value, Value::None)),
    plain!("boolean", value => matches!(value, Value::Bool(_))),
    plain!("true", value => matches!(value, Value::Bool(true))),
    plain!("false", value => matches!(value, Value::Bool(false))),
    plain!("integer", value => matches!(value, Value::Int(_))),
    plain!("float", value => matches!(value, Value::Float(_))),
    plain!("number", value => value.as_float().is_some()),
    plain!("string", value => matches!(value, Value::Str(_))),
    plain!("mapping", value => matches!(value, Value::Map(_))),
    plain!("iterable", value => {
        matches!(value, Value::Str(_) | Value::List(_) | Value::Map(_) | Value::Undefined(_))
    }),
    plain!("sequence", value => match value {
        Value::List(list) => matches!(list.form, Form::List | Form::Tuple),
        value => matches!(value, Value::Str(_) | Value::Map(_) | Value::Undefined(_)),
    }),
    plain!("callable", value => {
        matches!(value, Value::Macro(_) | Value::Method(_) | Value::Function(_))
    }),
    plain!("escaped", value => matches!(value, Value::Str(text) if text.is_markup())),
    plain!("lower", value => match value {
        Value::Str(text) => text.as_str() == methods::lower(text).as_str()
            && text.as_str().chars().any(char::is_lowercase),
        _ => false,
    }),
    plain!("upper", value => match value {
        Value::Str(text) => text.as_str() == methods::upper(text).as_str()
            && text.as_str().chars().any(char::is_uppercase),
        _ => false,
    }),
    plain!("even", value => value.as_int().map(|n| n % 2 == 0).ok_or_else(|| integer("even"))?),
    plain!("odd", value => value.as_int().map(|n| n % 2 != 0).ok_or_else(|| integer("odd"))?),
    Predicate {
        name: "divisibleby",
        holds: |_, value, args| match (value.as_int(), args.one("divisibleby")?.as_int()) {
            (_, Some(0)) => Err(Error::operation("division by zero")),
            (Some(value), Some(by)) => Ok(value.checked_rem(by).is_none_or(|rest| rest == 0)),
            _ => Err(integer("divisibleby")),
        },
    },
    Predicate {
        name: "sameas",
        holds: |_, value, args| {
            let other = args.one("sameas")?;
            Ok(std::mem::discriminant(value) == std::mem::discriminant(&other)
                && equal(value, &other))
        },
    },
    Predicate { name: "in", holds: |_, value, args| ops::contains(&args.one("in")?, value) },
    Predicate {
        name: "filter",
        holds: |_, value, args| {
            args.none("filter")?;
            Ok(filters::find(string("filter", Some(value.clone()))?.as_str()).is_some())
        },
    },
    Predicate {
        name: "test",
        holds: |_, value, args| {
            args.none("test")?;
            Ok(find(string("test", Some(value.clone()))?.as_str()).is_some())
        },
    },
    comparison!("eq", Comparison::Eq),
    comparison!("equalto", Comparison::Eq),
    comparison!("==", Comparison::Eq),
    comparison!("ne", Comparison::Ne),
    comparison!("!=", Comparison::Ne),
    comparison!("lt", Comparison::Lt),
    comparison!("lessthan", Comparison::Lt),
    comparison!("<", Comparison::Lt),
    comparison!("le", Comparison::Le),
    comparison!("<=", Comparison::Le),
    comparison!("gt", Comparison::Gt),
    comparison!("greaterthan", Comparison::Gt),
    comparison!(">", Comparison::Gt),
    comparison!("ge", Comparison::Ge),
    comparison!(">=", Comparison::Ge),
];

fn integer(test: &str) -> Error {
    Error::operation(format!("`{test}` needs an integer"))
}

pub(crate) fn find(name: &str) -> Option<&'static Predicate> {
    PREDICATES.iter().find(|row| row.name == name)
}
