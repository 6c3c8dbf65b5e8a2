//! Calls of tools in what a model answered, by the form that its own template teaches.
//!
//! Each family of models writes calls in a form of its own. [`CallFormat::of`] finds the form from
//! marks in the template's text, row by row of one table (`tools/families.rs`), never from a
//! model's name. [`CallFormat::parse`] takes an answer apart: thoughts, text, calls. What begins
//! as a call and does not end is [`Part::Unfinished`], what ends and is not a call is an error;
//! neither becomes text. A call inside the thoughts is a thought.

mod channels;
mod elements;
mod families;
mod json;
mod literal;
mod named;
mod scan;
mod typed;
mod whole;

use std::fmt;

use zeroize::Zeroize;

use crate::error::{Error, Kind};
use crate::message::ToolCall;
use families::{FAMILIES, Family, Form, THOUGHTS};
use scan::{Scan, Stop};

/// How the models of one family write calls of tools.
#[derive(Clone, Copy)]
pub struct CallFormat {
    family: &'static Family,
    /// The marks around thoughts, where the template speaks of them.
    thoughts: Option<(&'static str, &'static str)>,
}

/// One stretch of an answer.
#[derive(Clone, PartialEq)]
pub enum Part {
    /// What the model thought, without the marks around it.
    Thought(String),
    /// What it said.
    Text(String),
    /// A call, complete and well formed; its arguments are an object.
    Call(ToolCall),
    /// A call that begins here and that the answer does not end, marks included. Always last.
    Unfinished(String),
}

/// An answer, taken apart. Nothing of it is lost but marks, and white space beside calls.
///
/// Its text is wiped when it is dropped, and never shown by `Debug`; who wants parts of his own
/// takes them (`std::mem::take(&mut answer.parts)`).
#[derive(Clone, Default, PartialEq)]
pub struct Answer {
    /// In the order of the answer.
    pub parts: Vec<Part>,
}

impl Answer {
    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer ends inside a call.
    pub fn is_unfinished(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Unfinished(_)))
    }

    /// What was said before the first call; everything that was said where there is none.
    pub fn before(&self) -> String {
        let first = self.first_call().unwrap_or(self.parts.len());
        said(&self.parts[..first])
    }

    /// What was said after the first call began, between calls included.
    pub fn after(&self) -> String {
        said(&self.parts[self.first_call().unwrap_or(self.parts.len())..])
    }

    fn first_call(&self) -> Option<usize> {
        self.parts.iter().position(|part| matches!(part, Part::Call(_) | Part::Unfinished(_)))
    }
}

fn said(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

impl CallFormat {
    /// The form that `template` (Jinja or Go) teaches.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] for a template with the marks of no known family.
    pub fn of(template: &str) -> Result<CallFormat, Error> {
        let fits = |family: &&Family| family.marks.iter().all(|mark| template.contains(mark));
        let Some(family) = FAMILIES.iter().find(fits) else {
            return Err(Error::unsupported(
                "the template writes calls of tools in no form that is known here",
            )
            .hint("the answers of this model are text only"));
        };
        let thoughts = THOUGHTS.iter().find(|[mark, ..]| template.contains(mark));
        let thoughts = thoughts.map(|[_, open, close]| (*open, *close));
        Ok(CallFormat { family, thoughts })
    }

    /// The family's name, for messages.
    pub fn name(&self) -> &'static str {
        self.family.name
    }

    /// Takes an answer apart. It must hold the special pieces that the model wrote, as text.
    ///
    /// `tools` are the definitions that were offered (see [`crate::RenderOptions::tools`]). Where
    /// a family writes arguments without their types, a declared `string` keeps its words as they
    /// are; what is not declared is read as JSON where it is JSON, and is a string otherwise.
    ///
    /// # Errors
    /// [`Kind::Call`] for a call that is complete and not well formed. The error holds no text of
    /// the answer.
    pub fn parse(&self, answer: &str, tools: &[serde_json::Value]) -> Result<Answer, Error> {
        let mut out = Parts::new(self.family);
        let rest = self.thoughts(answer, &mut out);
        let mut scan = Scan::new(rest, tools);
        let done = match &self.family.form {
            Form::Json(row) => marked(&mut scan, &mut out, &row.starts(), |s| json::read(row, s)),
            Form::Named(row) => marked(&mut scan, &mut out, &row.starts(), |s| named::read(row, s)),
            Form::Elements(row) => {
                marked(&mut scan, &mut out, &row.starts(), |s| elements::read(row, s))
            }
            Form::Nested => {
                marked(&mut scan, &mut out, &[elements::NESTED_OPEN], elements::read_nested)
            }
            Form::Python(row) => {
                marked(&mut scan, &mut out, &[row.open], |s| literal::read_python(row, s))
            }
            Form::Braces(row) => {
                marked(&mut scan, &mut out, &[row.open], |s| literal::read_braces(row, s))
            }
            Form::Whole => whole::read_whole(&mut scan, &mut out),
            Form::Recipients => whole::read_recipients(&mut scan, &mut out),
            Form::Channels => channels::read(&mut scan, &mut out),
        };
        done.map_err(|what| Error::new(Kind::Call, format!("{what} ({})", self.family.name)))?;
        Ok(out.answer)
    }

    /// Takes the thoughts at the beginning; gives the rest.
    fn thoughts<'a>(&self, answer: &'a str, out: &mut Parts) -> &'a str {
        let Some((open, close)) = self.thoughts else { return answer };
        let (opened, inner) = match answer.trim_start().strip_prefix(open) {
            Some(inner) => (true, inner),
            None => (false, answer),
        };
        // The opening mark may stand in the template already.
        match inner.split_once(close) {
            Some((thought, rest)) if opened || !thought.contains(open) => {
                out.thought(thought.trim());
                rest
            }
            None if opened => {
                out.thought(inner.trim());
                ""
            }
            _ => answer,
        }
    }
}

/// What has been found so far.
struct Parts {
    answer: Answer,
    family: &'static Family,
}

impl Parts {
    fn new(family: &'static Family) -> Parts {
        Parts { answer: Answer::default(), family }
    }

    fn thought(&mut self, text: &str) {
        if !text.is_empty() {
            self.answer.parts.push(Part::Thought(text.to_owned()));
        }
    }

    /// Adds text as it is; white space alone beside a call is left out.
    fn text(&mut self, text: &str) {
        let mut text = text.to_owned();
        for wrap in self.family.wraps {
            text = text.replace(wrap, "");
        }
        match self.answer.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(&text),
            _ if text.trim().is_empty() => {}
            _ => self.answer.parts.push(Part::Text(text)),
        }
    }

    fn calls(&mut self, calls: Vec<ToolCall>) {
        self.answer.parts.extend(calls.into_iter().map(Part::Call));
    }

    fn unfinished(&mut self, text: &str) {
        self.answer.parts.push(Part::Unfinished(text.to_owned()));
    }
}

/// Text and calls in turn, where calls begin with one of `starts`.
fn marked<'a>(
    scan: &mut Scan<'a>,
    out: &mut Parts,
    starts: &[&str],
    mut read: impl FnMut(&mut Scan<'a>) -> Result<Vec<ToolCall>, Stop>,
) -> Result<(), &'static str> {
    let mut from = scan.at();
    loop {
        let Some(begin) = scan.find_any(starts) else {
            let rest = scan.since(from);
            let cut = scan::partial(rest, starts);
            out.text(&rest[..cut]);
            if cut < rest.len() {
                out.unfinished(&rest[cut..]);
            }
            return Ok(());
        };
        scan.go(begin);
        match read(scan) {
            Ok(calls) => {
                out.text(scan.between(from, begin));
                out.calls(calls);
                from = scan.at();
            }
            Err(Stop::Text) => {
                // An ordinary word that looks like a mark: go on behind it.
                scan.go(begin);
                scan.step();
            }
            Err(Stop::Unfinished) => {
                out.text(scan.between(from, begin));
                out.unfinished(scan.since(begin));
                return Ok(());
            }
            Err(Stop::Malformed(what)) => return Err(what),
        }
    }
}

impl fmt::Debug for CallFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallFormat").field(&self.family.name).finish()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Thought(_) => "Thought",
            Part::Text(_) => "Text",
            Part::Call(_) => "Call",
            Part::Unfinished(_) => "Unfinished",
        })
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.parts).finish()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        for part in &mut self.parts {
            match part {
                Part::Thought(text) | Part::Text(text) | Part::Unfinished(text) => text.zeroize(),
                // Wipes itself.
                Part::Call(_) => {}
            }
        }
    }
}
