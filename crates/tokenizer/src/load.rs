//! Reads `tokenizer.ggml.*` with every type and count checked.

use recinto_weights::{Array, Element, Metadata, Value};

use crate::{Error, PieceKind, error::Kind};

/// Most pieces a vocabulary may have; far above any published one.
pub(crate) const MAX_PIECES: usize = 1 << 22;

fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

/// The array called `name`, whose elements must be one of `wanted`.
fn array<'m>(m: Metadata<'m>, name: &str, wanted: &[Element]) -> Result<Option<Array<'m>>, Error> {
    let key = key(name);
    let Some(array) = m.array(&key)? else { return Ok(None) };
    if !wanted.contains(&array.element()) {
        let names: Vec<&str> = wanted.iter().map(|element| element.name()).collect();
        let what = format!(
            "wrong element type: `{key}` is an array of {}, not of {}",
            array.element().name(),
            names.join(" or ")
        );
        return Err(Error::new(Kind::WrongType, what));
    }
    Ok(Some(array))
}

/// An array of strings that must be there.
pub(crate) fn strings<'m>(m: Metadata<'m>, name: &str) -> Result<Array<'m>, Error> {
    array(m, name, &[Element::Str])?
        .ok_or_else(|| Error::new(Kind::Missing, format!("key `{}` is missing", key(name))))
}

/// The pieces, in the order of their ids.
pub(crate) fn pieces<'m>(m: Metadata<'m>) -> Result<Array<'m>, Error> {
    let pieces = strings(m, "tokens")?;
    match pieces.len() {
        0 => Err(Error::new(Kind::Invalid, "key `tokenizer.ggml.tokens` has no pieces")),
        1..=MAX_PIECES => Ok(pieces),
        many => {
            let what = format!(
                "key `tokenizer.ggml.tokens` has {many} pieces; at most {MAX_PIECES} are allowed"
            );
            Err(Error::new(Kind::Invalid, what))
        }
    }
}

fn counted(name: &str, found: usize, pieces: usize) -> Result<(), Error> {
    if found == pieces {
        return Ok(());
    }
    let what = format!("key `{}` has {found} values for {pieces} pieces", key(name));
    Err(Error::new(Kind::Invalid, what))
}

/// The kind of each piece; all normal when the file does not say.
pub(crate) fn kinds(m: Metadata<'_>, pieces: usize) -> Result<Option<Vec<PieceKind>>, Error> {
    let Some(array) = array(m, "token_type", &[Element::I32, Element::U32])? else {
        return Ok(None);
    };
    counted("token_type", array.len(), pieces)?;
    let mut out = Vec::with_capacity(pieces);
    let signed = array.element() == Element::I32;
    for (id, word) in array.words().enumerate() {
        let number = u32::from_le_bytes(word);
        let number = if signed { i64::from(number as i32) } else { i64::from(number) };
        out.push(PieceKind::from_id(number).ok_or_else(|| {
            let what = format!("piece {id} has type {number}; 0 to 6 are known");
            Error::new(Kind::Invalid, what)
        })?);
    }
    Ok(Some(out))
}

/// The score of each piece.
fn scores(m: Metadata<'_>, pieces: usize) -> Result<Option<Vec<f32>>, Error> {
    let Some(array) = array(m, "scores", &[Element::F32, Element::I32])? else {
        return Ok(None);
    };
    counted("scores", array.len(), pieces)?;
    let whole = array.element() == Element::I32;
    let score = |(id, word): (usize, [u8; 4])| {
        let score = if whole { i32::from_le_bytes(word) as f32 } else { f32::from_le_bytes(word) };
        if score.is_nan() {
            let what = format!("the score of piece {id} is not a number");
            return Err(Error::new(Kind::Invalid, what));
        }
        Ok(score)
    };
    array.words().enumerate().map(score).collect::<Result<_, _>>().map(Some)
}

/// The score of each piece, which must be there.
pub(crate) fn needed_scores(m: Metadata<'_>, pieces: usize) -> Result<Vec<f32>, Error> {
    scores(m, pieces)?
        .ok_or_else(|| Error::new(Kind::Missing, "key `tokenizer.ggml.scores` is missing"))
}

/// The scores turned into priorities: small is first, equal scores stay equal.
pub(crate) fn priorities(m: Metadata<'_>, pieces: usize) -> Result<Vec<u32>, Error> {
    let priority = |score: f32| {
        // Adding zero makes -0 and 0 one score.
        let bits = (score + 0.0).to_bits();
        let rising = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        !rising
    };
    Ok(needed_scores(m, pieces)?.into_iter().map(priority).collect())
}

/// An array of bytes.
pub(crate) fn bytes(m: Metadata<'_>, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let Some(array) = array(m, name, &[Element::U8, Element::I8])? else { return Ok(None) };
    let byte = |value: Value<'_>| match value {
        Value::U8(byte) => byte,
        Value::I8(byte) => byte as u8,
        _ => 0,
    };
    Ok(Some(array.scalars().into_iter().flatten().map(byte).collect()))
}

/// The id a key such as `eos_token_id` names.
pub(crate) fn id(m: Metadata<'_>, name: &str, pieces: usize) -> Result<Option<u32>, Error> {
    let key = key(&format!("{name}_token_id"));
    let Some(id) = m.u64(&key)? else { return Ok(None) };
    if id >= pieces as u64 {
        let what = format!("key `{key}` is {id}; the vocabulary has {pieces} pieces");
        return Err(Error::new(Kind::Invalid, what));
    }
    Ok(Some(id as u32))
}

/// A truth value of the vocabulary.
pub(crate) fn flag(m: Metadata<'_>, name: &str) -> Result<Option<bool>, Error> {
    Ok(m.bool(&key(name))?)
}

/// A text of the vocabulary.
pub(crate) fn text<'m>(m: Metadata<'m>, name: &str) -> Result<Option<&'m str>, Error> {
    Ok(m.str(&key(name))?)
}
