//! Builds a tokenizer from a file's metadata: reads, corrects, checks.

use recinto_weights::Metadata;

use crate::{
    Error, PieceKind, Tokenizer,
    bytes::CHARS,
    error::{Kind, shown},
    kinds, load,
    merge::{BARRED, NONE},
    merges::Merges,
    pieces::Pieces,
    special::{Special, Specials, Strip},
    split::{self, Pre},
    tokenizer::Model,
};

/// See [`Tokenizer::check`].
pub(crate) fn check(m: Metadata<'_>) -> Result<(), Error> {
    match model_word(m)? {
        "llama" => {}
        word => drop(find_pre(word, load::text(m, "pre")?, &mut Vec::new())?),
    }
    load::pieces(m).map(drop)
}

/// See [`Tokenizer::from_metadata`].
pub(crate) fn build(m: Metadata<'_>) -> Result<Tokenizer, Error> {
    use PieceKind::{Control, Unknown};
    let mut notes = Vec::new();
    let model_word = model_word(m)?;
    let pre_word = load::text(m, "pre")?;
    let pre = match model_word {
        "llama" => None,
        _ => Some(find_pre(model_word, pre_word, &mut notes)?),
    };
    let pieces = Pieces::new(load::pieces(m)?)?;
    if pieces.repeated > 0 {
        let repeated = pieces.repeated;
        notes.push(format!("{repeated} pieces appear more than once; the last id is used"));
    }
    let kinds = load::kinds(m, pieces.len())?;
    if kinds.is_none() {
        notes.push("the file does not say what kind its pieces are".into());
    }
    let mut kinds = kinds.unwrap_or_else(|| vec![PieceKind::Normal; pieces.len()]);
    let named = Named::read(m, &kinds, pre.is_none())?;
    let ends = kinds::settle(
        &pieces,
        &mut kinds,
        &kinds::Named {
            ends: &named.ends(),
            middle: &|name| named.middle.iter().find(|row| row.0 == name).map(|row| row.1),
        },
    );
    let mut borders = ends.clone();
    borders.extend(named.bos.into_iter().chain(named.eos));
    let bounds = |id: u32| borders.contains(&id);
    let guarded = guards(&pieces, &kinds, bounds);
    let barred = |id: u32| guarded[id as usize / 64] >> (id % 64) & 1 == 1;
    let model = model(m, pre, &pieces, barred)?;
    let specials = specials(m, pre, &pieces, &kinds, bounds, barred)?;
    let escaped = pre.is_none_or(|pre| pre.escaped);
    let refused = |id: u32| bounds(id) || matches!(kinds[id as usize], Control | Unknown);
    let bytes = byte_ids(&pieces, escaped, pre.is_none(), refused);
    // Some bytes never occur in UTF-8.
    let needed = |byte: usize| !matches!(byte, 0xc0 | 0xc1 | 0xf5..);
    let count = |what| (0..256).filter(|byte| needed(*byte) && bytes[*byte] == what).count();
    match count(NONE) {
        0 => {}
        _ if escaped => {}
        missing => notes.push(format!("{missing} bytes have no piece and give no id")),
    }
    match count(BARRED) {
        0 => {}
        barred => notes.push(format!("{barred} bytes have only a special piece and no other")),
    }
    // What stands for the unknown may come from content; a mark that means something else, or
    // what begins or ends a text, may not.
    let stands = |id: &u32| !bounds(*id) && (kinds[*id as usize] == Unknown || !barred(*id));
    let add_bos = load::flag(m, "add_bos_token")?.unwrap_or(pre.is_none_or(|pre| pre.add_bos));
    // As in the reference: files of this kind that say otherwise are mistaken.
    let add_bos = add_bos || pre.is_some_and(|pre| pre.escaped);
    let add_eos = load::flag(m, "add_eos_token")?.unwrap_or(false);
    for (flag, id, name) in [(add_bos, named.bos, "bos"), (add_eos, named.eos, "eos")] {
        if flag && id.is_none() {
            notes.push(format!("{name} should be added but the file names none; it is not"));
        }
    }
    Ok(Tokenizer {
        model,
        specials,
        bytes,
        unknown: named.unknown.filter(stands),
        guarded,
        model_word: model_word.into(),
        pre_word: pre.map_or("default", |_| pre_word.unwrap_or("default")).into(),
        bos: named.bos,
        eos: named.eos,
        add_bos: add_bos && named.bos.is_some(),
        add_eos: add_eos && named.eos.is_some(),
        ends,
        notes,
        pieces,
        kinds,
    })
}

fn model_word(m: Metadata<'_>) -> Result<&str, Error> {
    match load::text(m, "model")? {
        Some(word @ ("llama" | "gpt2" | "gemma4")) => Ok(word),
        Some(other) => {
            let what = format!("tokenizer `{}` is not supported", shown(other));
            Err(Error::new(Kind::Unsupported, what)
                .hint("`gpt2`, `llama` and `gemma4` in `tokenizer.ggml.model` are"))
        }
        None => Err(Error::new(Kind::Missing, "key `tokenizer.ggml.model` is missing")
            .hint("the file holds no tokenizer")),
    }
}

/// The ids that keys of the file name.
struct Named {
    bos: Option<u32>,
    eos: Option<u32>,
    eot: Option<u32>,
    eom: Option<u32>,
    unknown: Option<u32>,
    middle: Vec<(&'static str, u32)>,
}

impl Named {
    fn read(m: Metadata<'_>, kinds: &[PieceKind], scored: bool) -> Result<Named, Error> {
        let id = |name| load::id(m, name, kinds.len());
        // SentencePiece's own defaults, where those pieces are what they should be.
        let usual = |id: u32, kind| (scored && kinds.get(id as usize) == Some(&kind)).then_some(id);
        let mut middle = Vec::new();
        for (name, key) in MIDDLE_KEYS {
            middle.extend(id(key)?.map(|id| (*name, id)));
        }
        Ok(Named {
            bos: id("bos")?.or(usual(1, PieceKind::Control)),
            eos: id("eos")?.or(usual(2, PieceKind::Control)),
            eot: id("eot")?,
            eom: id("eom")?,
            unknown: id("unknown")?.or(usual(0, PieceKind::Unknown)),
            middle,
        })
    }

    fn ends(&self) -> Vec<u32> {
        [self.eos, self.eot, self.eom].into_iter().flatten().collect()
    }
}

/// A bit for each piece that content can never make; `bounds` tells what begins or ends a text.
fn guards(pieces: &Pieces, kinds: &[PieceKind], bounds: impl Fn(u32) -> bool) -> Vec<u64> {
    let mut out = vec![0u64; kinds.len().div_ceil(64)];
    for (id, kind) in (0u32..).zip(kinds) {
        let plain = matches!(kind, PieceKind::Normal | PieceKind::Byte);
        let guarded = || kinds::guarded(pieces.get(id).unwrap_or_default(), *kind);
        if bounds(id) || !plain && guarded() {
            out[id as usize / 64] |= 1 << (id % 64);
        }
    }
    out
}

fn model(
    m: Metadata<'_>,
    pre: Option<&'static Pre>,
    pieces: &Pieces,
    barred: impl Fn(u32) -> bool,
) -> Result<Model, Error> {
    if let Some(pre) = pre {
        let merges = Merges::new(load::strings(m, "merges")?, pieces, barred)?;
        return Ok(Model::Bpe { merges, pre });
    }
    let priorities = load::priorities(m, pieces.len())?
        .ok_or_else(|| Error::new(Kind::Missing, "key `tokenizer.ggml.scores` is missing"))?;
    let prefix = load::flag(m, "add_space_prefix")?.unwrap_or(true);
    Ok(Model::Spm { priorities, prefix })
}

fn specials(
    m: Metadata<'_>,
    pre: Option<&'static Pre>,
    pieces: &Pieces,
    kinds: &[PieceKind],
    bounds: impl Fn(u32) -> bool,
    barred: impl Fn(u32) -> bool,
) -> Result<Specials, Error> {
    use PieceKind::{Control, Unknown, UserDefined};
    let strips = strips(m, pieces, pre)?;
    let mut specials = Vec::new();
    for (id, kind) in (0u32..).zip(kinds) {
        // What begins or ends a text is barred too.
        if *kind != UserDefined && !barred(id) {
            continue;
        }
        let piece = pieces.get(id).unwrap_or_default();
        // A file without kinds marks nothing, and its template still writes the marks.
        let marked = || bounds(id) && kinds::has_the_shape_of_a_mark(piece);
        if matches!(kind, Control | Unknown | UserDefined) || marked() {
            specials.push(Special { piece, id, guarded: barred(id), strip: strips(piece) });
        }
    }
    Specials::new(&specials)
}

/// Names of fill-in-the-middle pieces and the keys, new and old, that give them.
const MIDDLE_KEYS: &[(&str, &str)] = &[
    ("fim_pre", "fim_pre"),
    ("fim_suf", "fim_suf"),
    ("fim_mid", "fim_mid"),
    ("fim_pad", "fim_pad"),
    ("fim_rep", "fim_rep"),
    ("fim_sep", "fim_sep"),
    ("fim_pre", "prefix"),
    ("fim_suf", "suffix"),
    ("fim_mid", "middle"),
];

fn find_pre(
    model: &str,
    word: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<&'static Pre, Error> {
    match word {
        _ if model == "gemma4" => Ok(&split::GEMMA4),
        None | Some("") => {
            notes.push("the file names no pre-tokenizer; the default one is used".into());
            Ok(&split::DEFAULT)
        }
        Some(word) => split::find(word).ok_or_else(|| {
            let what = format!("pre-tokenizer `{}` is not known", shown(word));
            Error::new(Kind::Unsupported, what)
                .hint("key `tokenizer.ggml.pre`; another splitter would give wrong ids silently")
        }),
    }
}

/// The id that stands for each byte; [`BARRED`] where it is one that `refused` names.
fn byte_ids(
    pieces: &Pieces,
    escaped: bool,
    plain: bool,
    refused: impl Fn(u32) -> bool,
) -> [u32; 256] {
    let mut out = [NONE; 256];
    for (byte, id) in out.iter_mut().enumerate() {
        let found = if escaped {
            let hex = format!("<0x{byte:02X}>");
            let itself = [byte as u8];
            let itself = if plain { &itself[..] } else { &[] };
            pieces.find(hex.as_bytes()).or_else(|| pieces.find(itself))
        } else {
            pieces.find(CHARS[byte].encode_utf8(&mut [0; 4]).as_bytes())
        };
        *id = match found {
            Some(found) if refused(found) => BARRED,
            found => found.unwrap_or(NONE),
        };
    }
    out
}

/// Which specials swallow white space. The files do not say: the reference goes by the model's
/// name and the pre-tokenizer's word, and so must this.
fn strips(
    m: Metadata<'_>,
    pieces: &Pieces,
    pre: Option<&'static Pre>,
) -> Result<impl Fn(&str) -> Strip + use<>, Error> {
    let name = m.str("general.name")?.unwrap_or_default().to_lowercase();
    let before = pre.map_or(&[][..], |pre| pre.strips_before);
    let phi3 = before.is_empty() && (name.contains("phi-3") || name.contains("phi3"));
    let phi3 = phi3 && pieces.find(b"</s>").is_some();
    Ok(move |piece: &str| Strip {
        before: before.contains(&piece),
        after: phi3 && !matches!(piece, "<unk>" | "<s>" | "<|endoftext|>"),
    })
}
