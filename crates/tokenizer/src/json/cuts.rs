//! `pre_tokenizer` of `tokenizer.json`.

use super::part::Part;
use crate::{
    Error,
    cut::{Cut, How, Prefix},
    normal::{Normal, Pattern},
    split::{self, Side},
};

/// What the steps say about how pieces are written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Bytes are written in the byte-level alphabet.
    pub bytes: bool,
    /// Spaces are written as `▁`.
    pub marks: bool,
    /// A text without a space in front gets one.
    pub prefixed: bool,
}

/// All steps, in order, and what they and `normal` say about pieces.
pub(crate) fn pre_tokenizer(root: &Part<'_>, normal: &[Normal]) -> Result<(Vec<Cut>, Seen), Error> {
    let (mut out, mut seen) = (Vec::new(), Seen::default());
    for rule in normal {
        match rule {
            Normal::Replace { from: Pattern::Literal(from), to } if from == " " && to == "▁" => {
                seen.marks = true;
            }
            Normal::Prepend(text) => seen.prefixed |= text == "▁",
            _ => {}
        }
    }
    if let Some(part) = root.get("pre_tokenizer") {
        add(&part, &mut out, &mut seen)?;
    }
    Ok((out, seen))
}

fn add(part: &Part<'_>, out: &mut Vec<Cut>, seen: &mut Seen) -> Result<(), Error> {
    match part.kind()? {
        "Sequence" => {
            for part in part.need("pretokenizers")?.array()? {
                add(&part, out, seen)?;
            }
        }
        "Whitespace" => out.push(Cut::Sides(split::whitespace)),
        "WhitespaceSplit" => out.push(Cut::Sides(split::white)),
        "BertPreTokenizer" => out.push(Cut::Sides(split::bert)),
        "Digits" => out.push(Cut::Sides(match part.flag("individual_digits", false)? {
            true => split::digits,
            false => split::numbers,
        })),
        "Punctuation" => out.push(Cut::Sides(points(part)?)),
        "CharDelimiterSplit" => {
            let text = part.need("delimiter")?.str()?.to_owned();
            out.push(Cut::Literal { text, how: How::Removed });
        }
        "ByteLevel" => {
            if part.flag("add_prefix_space", true)? {
                out.push(Cut::Space);
                seen.prefixed = true;
            }
            if part.flag("use_regex", true)? {
                out.push(Cut::Stages(split::GPT2));
            }
            out.push(Cut::Bytes);
            seen.bytes = true;
        }
        "Metaspace" => out.push(metaspace(part, seen)?),
        "Split" => out.push(pattern(part)?),
        other => return Err(part.unsupported("the pre-tokenizer", other)),
    }
    Ok(())
}

fn points(part: &Part<'_>) -> Result<fn(char, u8) -> Side, Error> {
    Ok(match part.text("behavior")?.unwrap_or("Isolated") {
        "Isolated" => split::punctuation,
        "Removed" => split::unpunctuated,
        "Contiguous" => split::punctuations,
        other => return Err(part.unsupported("the behavior", other)),
    })
}

fn metaspace(part: &Part<'_>, seen: &mut Seen) -> Result<Cut, Error> {
    let word = part.text("replacement")?.unwrap_or("▁");
    let mut chars = word.chars();
    let (Some(mark), None) = (chars.next(), chars.next()) else {
        return Err(part.unsupported("the replacement", word));
    };
    let old = part.flag("add_prefix_space", true)?;
    let prefix = match part.text("prepend_scheme")? {
        None if !old => Prefix::Never,
        None | Some("always") => Prefix::Always,
        Some("first") => Prefix::First,
        Some("never") => Prefix::Never,
        Some(other) => return Err(part.unsupported("the prepend scheme", other)),
    };
    seen.marks |= mark == '▁';
    seen.prefixed |= prefix != Prefix::Never;
    Ok(Cut::Marks { mark, prefix, split: part.flag("split", true)? })
}

fn pattern(part: &Part<'_>) -> Result<Cut, Error> {
    let place = part.need("pattern")?;
    let behavior = part.need("behavior")?.str()?;
    let invert = part.flag("invert", false)?;
    let how = match behavior {
        "Isolated" => How::Isolated,
        "Removed" => How::Removed,
        "Contiguous" => How::Contiguous,
        "MergedWithPrevious" => How::WithPrevious,
        "MergedWithNext" => How::WithNext,
        other => return Err(part.unsupported("the behavior", other)),
    };
    if let Some(text) = place.text("String")? {
        if text.is_empty() || invert {
            return Err(part.unsupported("the inverted or empty pattern", text));
        }
        return Ok(Cut::Literal { text: text.to_owned(), how });
    }
    let expression = place.need("Regex")?.str()?;
    let known = split::SPLIT.iter().find(|row| row.0 == expression);
    let (_, stages, covers) =
        *known.ok_or_else(|| place.unsupported("the expression", expression))?;
    // Where matches cover all text, they are all that is left when the rest is dropped.
    match how {
        How::Isolated => Ok(Cut::Stages(stages)),
        How::Removed if invert && covers => Ok(Cut::Stages(stages)),
        How::Removed if matches!(expression, r"\s+" | r"\s") => Ok(Cut::Sides(split::white)),
        How::Removed if invert && expression == r"\S+" => Ok(Cut::Sides(split::white)),
        _ => Err(part.unsupported("the behavior for this expression", behavior)),
    }
}
