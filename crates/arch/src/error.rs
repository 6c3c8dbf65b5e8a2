//! What can be wrong with an arch file, or between it and a model file.

use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The arch file cannot be read, or is too large.
    File,
    /// The text is not in the format.
    Syntax,
    /// A name, operation, option or register that does not exist.
    Unknown,
    /// The tensors' shapes and the steps do not fit.
    Shape,
    /// A tensor that a step needs is not in the model file.
    MissingTensor,
    /// A tensor in the model file that no step uses.
    UnusedTensor,
    /// A key that a line needs is not in the model file.
    MissingKey,
    /// A key that would change the result and is not carried out.
    UnusedKey,
    /// A value is impossible, or not the one that the file requires.
    Value,
    /// A limit is passed.
    Limit,
    /// No arch file, or more than one, serves the model.
    NoMatch,
}

/// Where in an arch file: a line from 1 and a span of bytes in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// First byte in the line, from 0.
    pub start: u32,
    /// Byte after the last one.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`, in one line.
    pub(crate) fn to(self, other: Span) -> Span {
        Span { end: other.end.max(self.end), ..self }
    }
}

/// The place of a fault with the text of its line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: String,
    span: Span,
    text: String,
}

/// A fault: kind, what and where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    message: String,
    place: Option<Place>,
    hint: Option<String>,
}

impl Error {
    /// A fault without a place.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, message: message.into(), place: None, hint: None }))
    }

    /// The place: `text` is the whole arch file.
    pub(crate) fn at(mut self, file: &str, text: &str, span: Span) -> Error {
        let line = text.split('\n').nth(span.line.saturating_sub(1) as usize).unwrap_or("");
        let text = line.strip_suffix('\r').unwrap_or(line).to_owned();
        self.0.place = Some(Place { file: file.to_owned(), span, text });
        self
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The arch file's name, where the fault has a place in one.
    pub fn file(&self) -> Option<&str> {
        self.0.place.as_ref().map(|place| place.file.as_str())
    }

    /// Line and columns, where the fault has a place.
    pub fn span(&self) -> Option<Span> {
        self.0.place.as_ref().map(|place| place.span)
    }
}

/// The line as shown (a very long one is cut around the fault), and the caret's line below it.
fn excerpt(text: &str, span: Span) -> (String, String) {
    const SHOWN: usize = 120;
    let clean = |part: &str| -> String {
        part.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    let (start, end) = (span.start as usize, span.end as usize);
    let before: String = clean(text.get(..start).unwrap_or(text));
    let marked: String = clean(text.get(start..end).unwrap_or(""));
    let after: String = clean(text.get(end..).unwrap_or(""));
    let skip = before.chars().count().saturating_sub(SHOWN);
    let lead = if skip > 0 { "…" } else { "" };
    let before: String = lead.chars().chain(before.chars().skip(skip)).collect();
    let marked: String = marked.chars().take(SHOWN).collect();
    let tail: String = after.chars().take(SHOWN).collect();
    let carets = "^".repeat(marked.chars().count().max(1));
    let under = format!("{}{carets}", " ".repeat(before.chars().count()));
    (format!("{before}{marked}{tail}"), under)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, place, hint, .. } = &*self.0;
        f.write_str(message)?;
        if let Some(Place { file, span, text }) = place {
            let number = span.line.to_string();
            let (shown, under) = excerpt(text, *span);
            write!(f, "\n  --> {file}:{number}\n{number} | {shown}\n")?;
            write!(f, "{} | {under}", " ".repeat(number.len()))?;
        }
        if let Some(hint) = hint {
            let gap = if place.is_some() { "\n" } else { "" };
            write!(f, "{gap}\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The candidate nearest to `word`, if one is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = match word.len() {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if word.len() > 64 || candidate.len().abs_diff(word.len()) > limit {
            continue;
        }
        let far = distance(word.as_bytes(), candidate.as_bytes());
        if far <= limit && best.is_none_or(|(least, _)| far < least) {
            best = Some((far, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace, swap of neighbours) between two short words.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut least = (table[(i - 1) * width + j] + 1)
                    .min(table[i * width + j - 1] + 1)
                    .min(table[(i - 1) * width + j - 1] + same);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(table[(i - 2) * width + j - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len() * width + b.len()]
}
