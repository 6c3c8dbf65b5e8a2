//! Reads `tokenizer.json`, the format of Hugging Face's `tokenizers`.
//!
//! Every step it names becomes one of ours or is refused by its name and its place; so is a
//! regular expression that is not in the table of known ones. Source: that library's
//! documentation and what its version 0.23 does.

mod cuts;
mod frames;
mod model;
mod normals;
mod part;

use crate::{
    Error, PieceKind, Tokenizer,
    build::{byte_ids, guards},
    families::Spelling,
    flow::{self, Flow},
    kinds,
    normal::Normal,
    pieces::Pieces,
    special::{Special, Specials, Strip},
    tokenizer::Model,
    traced::Traced,
};

use part::{Part, invalid};

/// See [`Tokenizer::from_json`].
pub(crate) fn read(bytes: &[u8]) -> Result<Tokenizer, Error> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| {
        // Never the parser's own text: it may hold words of the file.
        invalid(format!("not JSON at line {} column {}", error.line(), error.column()))
    })?;
    let root = Part::root(&value);
    let added = added(&root)?;
    let vocabulary = model::vocabulary(&root.need("model")?)?;
    let texts = vocabulary.with(&added)?;
    let pieces = Pieces::from_list(&texts)?;
    let mut all = vec![PieceKind::Normal; pieces.len()];
    for (id, kind) in all.iter_mut().enumerate() {
        if pieces.get(id as u32) == Some("") {
            *kind = PieceKind::Unused;
        }
    }
    vocabulary.mark_bytes(&pieces, &mut all);
    for Added { id, special, .. } in &added {
        all[*id as usize] = if *special { PieceKind::Control } else { PieceKind::UserDefined };
    }
    if let Some(unknown) = vocabulary.unknown {
        all[unknown as usize] = PieceKind::Unknown;
    }
    let frame = frames::frame(&root, &pieces)?;
    let bounds = frames::bounds(&frame);
    let guarded = guards(&pieces, &all, |id| bounds.contains(&Some(id)));
    let barred = |id: u32| guarded[id as usize / 64] >> (id % 64) & 1 == 1;
    let normal = normals::normalizer(&root)?;
    let (cuts, seen) = cuts::pre_tokenizer(&root, &normal)?;
    model::decoder(&root)?;
    // A piece such as `<0x0A>` is never spelled.
    let spelled = |id: u32| barred(id) || all[id as usize] == PieceKind::Byte;
    let model = vocabulary.model(&pieces, spelled)?;
    let spelling = match &model {
        flow::Model::WordPiece(_) => Spelling::Prefixed(vocabulary.joint.clone()),
        _ if seen.bytes => Spelling::Alphabet,
        _ if seen.marks => Spelling::Escaped,
        _ => Spelling::Plain,
    };
    let prefixed = seen.prefixed || matches!(model, flow::Model::WordPiece(_));
    let (raw, rewritten) = specials(&added, &normal, barred)?;
    let flow = Flow { normal, added: rewritten, cuts, model, prefixed };
    let [bos, eos] = bounds;
    let mut ends: Vec<u32> = kinds::ENDS
        .iter()
        .filter_map(|text| pieces.find(text.as_bytes()))
        .filter(|id| all[*id as usize] == PieceKind::Control)
        .chain(eos)
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let mut notes = Vec::new();
    for name in ["truncation", "padding"] {
        if root.get(name).is_some() {
            notes.push(format!("the file asks for {name}, which is left to the caller"));
        }
    }
    Ok(Tokenizer {
        model: Model::Flow(Box::new(flow)),
        specials: raw,
        leftmost: true,
        frame,
        spelling,
        bytes: byte_ids(&pieces, true, false, |id| all[id as usize] != PieceKind::Byte),
        unknown: vocabulary.unknown,
        guarded,
        model_word: vocabulary.word.into(),
        pre_word: "tokenizer.json".into(),
        bos,
        eos,
        add_bos: bos.is_some(),
        add_eos: eos.is_some(),
        ends,
        notes,
        pieces,
        kinds: all,
    })
}

/// One of `added_tokens`.
pub(crate) struct Added<'j> {
    id: u32,
    content: &'j str,
    special: bool,
    /// Looked for in the normalized text, not in the raw one.
    normalized: bool,
    word: bool,
    strip: Strip,
}

fn added<'j>(root: &Part<'j>) -> Result<Vec<Added<'j>>, Error> {
    let Some(list) = root.get("added_tokens") else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for part in list.array()? {
        let special = part.flag("special", false)?;
        out.push(Added {
            id: part.need("id")?.id()?,
            content: part.need("content")?.str()?,
            special,
            normalized: part.flag("normalized", !special)?,
            word: part.flag("single_word", false)?,
            strip: Strip {
                before: part.flag("lstrip", false)?,
                after: part.flag("rstrip", false)?,
            },
        });
    }
    Ok(out)
}

/// The pieces that are looked for in raw text, and those in normalized text.
fn specials(
    added: &[Added<'_>],
    normal: &[Normal],
    barred: impl Fn(u32) -> bool,
) -> Result<(Specials, Option<Specials>), Error> {
    let texts: Vec<String> = added.iter().map(|added| rewritten(added, normal)).collect();
    let pick = |normalized: bool| -> Result<Specials, Error> {
        let rows: Vec<Special<'_>> = added
            .iter()
            .zip(&texts)
            .filter(|(added, _)| added.normalized == normalized)
            .map(|(added, piece)| Special {
                piece,
                id: added.id,
                guarded: barred(added.id),
                strip: added.strip,
                word: added.word,
            })
            .collect();
        Specials::new(&rows)
    };
    let any = added.iter().any(|added| added.normalized);
    Ok((pick(false)?, if any { Some(pick(true)?) } else { None }))
}

/// The text of an added piece as it stands in the text it is looked for in.
fn rewritten(added: &Added<'_>, normal: &[Normal]) -> String {
    let (mut text, mut other) = (Traced::default(), Traced::default());
    text.read(added.content, 0);
    for rule in normal.iter().filter(|_| added.normalized) {
        other.clear();
        rule.apply(&text, &mut other);
        std::mem::swap(&mut text, &mut other);
    }
    text.as_str().to_owned()
}
