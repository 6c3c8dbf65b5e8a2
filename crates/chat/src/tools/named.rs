//! Calls as a name and then JSON, with marks between.

use super::scan::{Scan, Stop, call};
use crate::message::ToolCall;

/// A row of this form. Marks that a family does not have are empty.
pub(super) struct Named {
    /// Around all calls of an answer.
    pub section: (&'static str, &'static str),
    pub open: &'static str,
    /// Between the name and the arguments.
    pub arguments: &'static str,
    /// After the arguments, in order.
    pub close: &'static [&'static str],
    pub header: Header,
}

/// What stands between the opening mark and the arguments.
pub(super) enum Header {
    Name,
    /// The name, and after this mark perhaps the identity.
    NameThenId(&'static str),
    /// The identity, this mark, the name.
    IdThenName(&'static str),
    /// The word `function`, this mark, the name.
    KindThenName(&'static str),
    /// `functions.NAME:INDEX`, which is the identity too.
    Dotted,
}

impl Named {
    pub fn starts(&self) -> Vec<&'static str> {
        [self.section.0, self.open].into_iter().filter(|mark| !mark.is_empty()).collect()
    }
}

/// Reads all calls of a section, or one where there are no sections.
pub(super) fn read(row: &Named, scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    if row.section.0.is_empty() || !scan.eat(row.section.0) {
        return Ok(vec![read_one(row, scan)?]);
    }
    let mut calls = Vec::new();
    loop {
        scan.skip_space();
        if !calls.is_empty() && !scan.sees(row.open) {
            scan.close(row.section.1)?;
            return Ok(calls);
        }
        if row.open.starts_with(scan.rest()) {
            return Err(Stop::Unfinished);
        }
        calls.push(read_one(row, scan)?);
    }
}

fn read_one(row: &Named, scan: &mut Scan) -> Result<ToolCall, Stop> {
    if !scan.eat(row.open) {
        return Err(Stop::Malformed("a list of tool calls holds something else"));
    }
    let header = scan.until(row.arguments)?;
    let (id, name) = match row.header {
        Header::Name => (None, header),
        Header::NameThenId(mark) => match header.split_once(mark) {
            Some((name, id)) => (Some(id), name),
            None => (None, header),
        },
        Header::IdThenName(mark) => match header.split_once(mark) {
            Some((id, name)) => (Some(id), name),
            None => return Err(Stop::Malformed("a tool call has no name")),
        },
        Header::KindThenName(mark) => match header.split_once(mark) {
            Some((_, name)) => (None, name),
            None => return Err(Stop::Malformed("a tool call has no name")),
        },
        Header::Dotted => (Some(header), dotted(header)),
    };
    scan.skip_space();
    let arguments = scan.json()?;
    let id = id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let call = call(id, name, arguments)?;
    for mark in row.close {
        scan.close(mark)?;
    }
    Ok(call)
}

/// The name in `functions.NAME:INDEX`.
fn dotted(header: &str) -> &str {
    let header = header.trim();
    let name = header.strip_prefix("functions.").unwrap_or(header);
    match name.rsplit_once(':') {
        Some((name, index)) if index.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    }
}
