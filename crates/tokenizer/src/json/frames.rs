//! `post_processor` of `tokenizer.json`: what stands around texts.

use super::part::{Part, invalid};
use crate::{
    Error,
    error::shown,
    frame::{Frame, Place},
    pieces::Pieces,
};

/// What stands around one text and around two; the bare texts where the file says nothing.
pub(crate) fn frame(root: &Part<'_>, pieces: &Pieces) -> Result<Frame, Error> {
    let mut out = None;
    if let Some(part) = root.get("post_processor") {
        add(&part, pieces, &mut out)?;
    }
    // The library's form where the file has none.
    let bare = Frame::around(None, None, Some(&[]), 1);
    Ok(out.unwrap_or(bare))
}

/// The pieces a framed text begins and ends with.
pub(crate) fn bounds(frame: &Frame) -> [Option<u32>; 2] {
    let id = |place: Option<&Place>| match place {
        Some(Place::Piece { id, .. }) => Some(*id),
        _ => None,
    };
    [id(frame.single.first()), id(frame.single.last())]
}

fn add(part: &Part<'_>, pieces: &Pieces, out: &mut Option<Frame>) -> Result<(), Error> {
    let frame = match part.kind()? {
        "Sequence" => {
            for part in part.need("processors")?.array()? {
                add(&part, pieces, out)?;
            }
            return Ok(());
        }
        // Only changes offsets, which here are always of the text itself.
        "ByteLevel" => return Ok(()),
        "BertProcessing" => {
            let (first, last) = (named(part, "cls", pieces)?, named(part, "sep", pieces)?);
            Frame::around(Some(first), Some(last), Some(&[]), 1)
        }
        "RobertaProcessing" => {
            let (first, last) = (named(part, "cls", pieces)?, named(part, "sep", pieces)?);
            Frame::around(Some(first), Some(last), Some(&[last]), 0)
        }
        "TemplateProcessing" => Frame {
            single: template(part, "single", pieces)?,
            pair: template(part, "pair", pieces)?,
        },
        other => return Err(part.unsupported("the post-processor", other)),
    };
    if out.replace(frame).is_some() {
        return Err(part.unsupported("the second of two post-processors,", part.kind()?));
    }
    Ok(())
}

fn inside(id: u32, pieces: &Pieces) -> Result<u32, Error> {
    if id as usize >= pieces.len() {
        let what = format!("the post-processor names id {id} of {} pieces", pieces.len());
        return Err(invalid(what));
    }
    Ok(id)
}

/// A pair of a piece and its id.
fn named(part: &Part<'_>, name: &str, pieces: &Pieces) -> Result<u32, Error> {
    let pair = part.need(name)?;
    let id = pair.array()?.nth(1).ok_or_else(|| invalid(format!("`{name}` has no id")))?;
    inside(id.id()?, pieces)
}

fn template(part: &Part<'_>, name: &str, pieces: &Pieces) -> Result<Vec<Place>, Error> {
    let mut out = Vec::new();
    for place in part.need(name)?.array()? {
        if let Some(text) = place.get("Sequence") {
            let number = match text.need("id")?.str()? {
                "A" => 0,
                "B" if name == "pair" => 1,
                other => return Err(text.unsupported("the sequence", other)),
            };
            let type_id = text.get("type_id").map_or(Ok(0), |part| part.id())?;
            out.push(Place::Text { number, type_id });
            continue;
        }
        let special = place.need("SpecialToken")?;
        let word = special.need("id")?.str()?;
        let type_id = special.get("type_id").map_or(Ok(0), |part| part.id())?;
        let all = part.need("special_tokens")?;
        let entry = all.get(word).ok_or_else(|| {
            invalid(format!("the post-processor does not say what `{}` is", shown(word)))
        })?;
        for id in entry.need("ids")?.array()? {
            out.push(Place::Piece { id: inside(id.id()?, pieces)?, type_id });
        }
    }
    Ok(out)
}
