//! `normalizer` of `tokenizer.json`.

use super::part::{Part, invalid};
use crate::{
    Error,
    charsmap::{Charsmap, base64},
    families,
    forms::Form,
    normal::{Normal, Pattern},
    split,
};

/// All rules, in order.
pub(crate) fn normalizer(root: &Part<'_>) -> Result<Vec<Normal>, Error> {
    let mut out = Vec::new();
    if let Some(part) = root.get("normalizer") {
        add(&part, &mut out)?;
    }
    Ok(out)
}

fn add(part: &Part<'_>, out: &mut Vec<Normal>) -> Result<(), Error> {
    let form = |compatible, composed| Normal::Form(Form { compatible, composed });
    let rule = match part.kind()? {
        "Sequence" => {
            for part in part.need("normalizers")?.array()? {
                add(&part, out)?;
            }
            return Ok(());
        }
        "NFC" => form(false, true),
        "NFD" => form(false, false),
        "NFKC" => form(true, true),
        "NFKD" => form(true, false),
        "Lowercase" => Normal::Lowercase,
        "StripAccents" => Normal::StripMarks { all: true },
        "Nmt" => Normal::Nmt,
        "Strip" => Normal::Trim {
            left: part.flag("strip_left", true)?,
            right: part.flag("strip_right", true)?,
        },
        "Prepend" => Normal::Prepend(part.need("prepend")?.str()?.to_owned()),
        "Replace" => Normal::Replace {
            from: pattern(&part.need("pattern")?)?,
            to: part.need("content")?.str()?.to_owned(),
        },
        "Precompiled" => {
            let text = part.text("precompiled_charsmap")?.unwrap_or_default();
            let bytes = base64(text).ok_or_else(|| invalid("the charsmap is not base64"))?;
            Normal::Charsmap(Charsmap::new(&bytes)?)
        }
        "BertNormalizer" => {
            let lowercase = part.flag("lowercase", true)?;
            out.extend(families::bert(
                part.flag("clean_text", true)?,
                part.flag("handle_chinese_chars", true)?,
                part.flag("strip_accents", lowercase)?,
                lowercase,
            ));
            return Ok(());
        }
        other => return Err(part.unsupported("the normalizer", other)),
    };
    out.push(rule);
    Ok(())
}

fn pattern(part: &Part<'_>) -> Result<Pattern, Error> {
    if let Some(text) = part.text("String")? {
        if text.is_empty() {
            return Err(part.unsupported("the pattern", ""));
        }
        return Ok(Pattern::Literal(text.to_owned()));
    }
    let expression = part.need("Regex")?.str()?;
    let known = split::REPLACED.iter().find(|row| row.0 == expression);
    let (_, class, least) = *known.ok_or_else(|| part.unsupported("the expression", expression))?;
    Ok(Pattern::Run { class, least })
}
