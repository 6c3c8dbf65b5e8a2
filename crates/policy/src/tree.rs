//! The text of a `recinto.toml` or of a policy as a tree in which everything has its place.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A place in a file: line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: At,
    /// The value.
    pub value: Value,
    /// Where the value stands.
    pub value_at: At,
}

/// A value of TOML 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A number, true, false or a date, as text: what reads it judges it.
    Word(String),
    /// An array.
    List(Vec<Value>),
    /// A table, in the order of its keys.
    Table(Vec<Entry>),
}

impl Value {
    /// The text of a single value.
    pub fn single(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Word(text) => Some(text),
            Value::List(_) | Value::Table(_) => None,
        }
    }
}

/// What is wrong in a file, and where; then what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: At,
    /// What.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault at a place.
    pub fn new(at: At, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into(), hint: None }
    }

    /// An unknown word. What is long may be no word at all, and is not repeated.
    pub fn unknown(at: At, what: &str, word: &str) -> Fault {
        let shown = word.chars().count() <= 40 && !word.chars().any(char::is_control);
        match shown {
            true => Fault::new(at, format!("unknown {what} `{word}`")),
            false => Fault::new(at, format!("an unknown {what}")),
        }
    }

    /// The same with what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }
}

/// What to do about a secret in a file of settings.
const SECRET: &str = "put it into .env, as NAME=value, or into the environment";

/// The entries of the file's top.
///
/// # Errors
///
/// What is no TOML, and a key whose name says that its value is a secret: `is_secret` judges that.
pub fn parse(text: &str, is_secret: fn(&str) -> bool) -> Result<Vec<Entry>, Fault> {
    let lines = Lines::of(text);
    let parsed = DeTable::parse(text).map_err(|e| {
        let at = lines.at(e.span().map_or(0, |span| span.start));
        // The first line alone: others could show the file's text.
        Fault::new(at, e.message().lines().next().unwrap_or("this is no TOML"))
    })?;
    Reader { lines, is_secret }.table(parsed.get_ref())
}

struct Reader<'a> {
    lines: Lines<'a>,
    is_secret: fn(&str) -> bool,
}

impl Reader<'_> {
    fn table(&self, table: &DeTable<'_>) -> Result<Vec<Entry>, Fault> {
        let mut out = Vec::with_capacity(table.len());
        for (key, value) in table {
            let at = self.lines.at(key.span().start);
            if (self.is_secret)(key.get_ref()) {
                let name: String =
                    key.get_ref().chars().take(40).flat_map(char::escape_debug).collect();
                let what = format!("`{name}` is a secret, and its place is not here");
                return Err(Fault::new(at, what).hint(SECRET));
            }
            out.push(Entry {
                key: key.get_ref().clone().into_owned(),
                at,
                value: self.of(value)?,
                value_at: self.lines.at(value.span().start),
            });
        }
        // In the file's order, so that the first fault is reported first.
        out.sort_by_key(|entry| (entry.at.line, entry.at.column));
        Ok(out)
    }

    fn of(&self, value: &Spanned<DeValue<'_>>) -> Result<Value, Fault> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let read = i128::from_str_radix(number.as_str(), number.radix());
                let too_large =
                    |_| Fault::new(self.lines.at(value.span().start), "the number is too large");
                Value::Word(read.map_err(too_large)?.to_string())
            }
            DeValue::Float(number) => Value::Word(number.as_str().to_owned()),
            DeValue::Boolean(yes) => Value::Word(yes.to_string()),
            DeValue::Datetime(time) => Value::Word(time.to_string()),
            DeValue::Array(list) => {
                Value::List(list.iter().map(|value| self.of(value)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(inner) => Value::Table(self.table(inner)?),
        })
    }
}

/// Where lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl Lines<'_> {
    fn of(text: &str) -> Lines<'_> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines { text, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The place of the byte `offset`.
    fn at(&self, offset: usize) -> At {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let before = self.text.get(start..offset).map_or(0, |text| text.chars().count());
        At { line, column: before + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Entry>, Fault> {
        super::parse(text, |name| name.to_uppercase().ends_with("KEY") || name == "hf_token")
    }

    #[test]
    fn values_have_their_places() {
        let text = "# año\nmodel = \"ñ.gguf\"\nthreads = 0x10\n\n[options]\nstop = [\"a\", \"b\"]\n\
                    \"ñ\".x = 1_000.5\ndate = 2026-01-31\n  seed = 1\n";
        let top = parse(text).unwrap();
        let keys: Vec<(&str, usize, usize)> =
            top.iter().map(|e| (e.key.as_str(), e.at.line, e.value_at.column)).collect();
        assert_eq!(keys[..2], [("model", 2, 9), ("threads", 3, 11)]);
        assert_eq!(top[0].value, Value::Text("ñ.gguf".into()));
        assert_eq!(top[1].value, Value::Word("16".into()));
        let Value::Table(options) = &top[2].value else { panic!("{top:?}") };
        let texts: Vec<Option<&str>> = options.iter().map(|e| e.value.single()).collect();
        assert_eq!(texts, [None, None, Some("2026-01-31"), Some("1")]);
        assert_eq!(options[3].at, At { line: 9, column: 3 });
        let Value::Table(inner) = &options[1].value else { panic!("{options:?}") };
        assert_eq!(inner[0].value, Value::Word("1000.5".into()));
    }

    #[test]
    fn what_is_no_toml() {
        let deep = format!("a = {}", "[".repeat(100_000));
        let cases = [
            ("no value", "model = \n", 1),
            ("bare text", "a = 1\nhola canary\n", 2),
            ("no quotes", "\nmodel = canary.gguf\n", 2),
            ("twice", "a = 1\nb = 2\na = 3\n", 3),
            ("a table twice", "[a]\n[b]\n[a]\n", 3),
            ("open string", "a = \"canary\n", 1),
            ("huge number", "a = 999999999999999999999999999999999999999999\n", 1),
            ("NUL", "a = 1\n\0 = 2\n", 2),
            ("without end", &deep, 1),
        ];
        for (name, text, line) in cases {
            let fault = parse(text).expect_err(name);
            assert_eq!(fault.at.line, line, "{name}: {fault:?}");
            assert!(!fault.what.contains("canary"), "{name}: {fault:?}");
        }
        let many: String = (0..20_000).map(|n| format!("[t{n}]\nx = 1\n")).collect();
        assert_eq!(parse(&many).unwrap().len(), 20_000);
    }

    #[test]
    fn secrets_are_refused_wherever_they_stand() {
        let cases = [
            ("top", "a = 1\nANTHROPIC_API_KEY = \"canary\"\n", 2),
            ("a table", "[options]\napi-key = \"canary\"\n", 2),
            ("deep", "x = [{ y = { hf_token = \"canary\" } }]\n", 1),
        ];
        for (name, text, line) in cases {
            let fault = parse(text).expect_err(name);
            assert_eq!(fault.at.line, line, "{name}");
            assert!(fault.what.contains("is a secret"), "{name}: {fault:?}");
            assert!(fault.hint.as_deref().unwrap().contains(".env"), "{name}");
            assert!(!format!("{fault:?}").contains("canary"), "{name}: {fault:?}");
        }
    }
}
