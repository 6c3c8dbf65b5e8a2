//! Builds a tokenizer from a file's metadata: reads, corrects, checks.

use recinto_weights::Metadata;

use crate::{
    Error, PieceKind, Tokenizer,
    bytes::CHARS,
    dna::Dna,
    error::{Kind, shown},
    families::{self, Family, Make, Spelling},
    frame::Frame,
    kinds, load,
    merge::{BARRED, NONE},
    merges::Merges,
    pieces::Pieces,
    special::{Special, Specials, Strip},
    split::{self, Pre},
    tokenizer::Model,
};

/// A whole `tokenizer.json`, where that is all there is, as in checkpoints.
fn whole(m: Metadata<'_>) -> Result<Option<&str>, Error> {
    match load::text(m, "model")? {
        Some(_) => Ok(None),
        None => Ok(m.str("tokenizer.huggingface.json")?),
    }
}

/// See [`Tokenizer::from_metadata`] and [`Tokenizer::with_rows`].
pub(crate) fn build(m: Metadata<'_>, rows: Option<usize>) -> Result<Tokenizer, Error> {
    use PieceKind::{Control, Unknown};
    if let Some(text) = whole(m)? {
        return crate::json::read(text.as_bytes());
    }
    let mut notes = Vec::new();
    let family = families::find(m)?;
    let pieces = Pieces::new(load::pieces(m)?)?;
    let (pre, pre_word) = match family.has_pre() {
        true => {
            let (pre, word) = find_pre(family.word, load::text(m, "pre")?, &pieces, &mut notes)?;
            (Some(pre), word)
        }
        false => (None, "default"),
    };
    let beyond = pieces.len() - rows.unwrap_or(usize::MAX).min(pieces.len());
    if beyond > 0 {
        let rows = pieces.len() - beyond;
        notes.push(format!("{beyond} pieces from id {rows} on have no row in the embedding"));
    }
    if pieces.repeated > 0 {
        let repeated = pieces.repeated;
        notes.push(format!("{repeated} pieces appear more than once; the last id is used"));
    }
    let kinds = load::kinds(m, pieces.len())?;
    if kinds.is_none() {
        notes.push("the file does not say what kind its pieces are".into());
    }
    let mut kinds = kinds.unwrap_or_else(|| vec![PieceKind::Normal; pieces.len()]);
    let named = Named::read(m, &kinds, family)?;
    let ends = kinds::settle(
        &pieces,
        &mut kinds,
        &kinds::Named {
            ends: &named.ends(),
            middle: &|name| named.middle.iter().find(|row| row.0 == name).map(|row| row.1),
        },
    );
    let framed = family.make == Make::WordPiece;
    if let Some(unknown) = named.unknown.filter(|_| framed) {
        // Files mark it as they mark `[SEP]`.
        kinds[unknown as usize] = Unknown;
    }
    let mut borders = ends.clone();
    borders.extend(named.bos.into_iter().chain(named.eos));
    let bounds = |id: u32| borders.contains(&id);
    let mut guarded = guards(&pieces, &kinds, bounds);
    (pieces.len() - beyond..pieces.len()).for_each(|id| guarded[id / 64] |= 1 << (id % 64));
    let barred = |id: u32| guarded[id as usize / 64] >> (id % 64) & 1 == 1;
    let model = model(m, family, pre, &pieces, &kinds, barred)?;
    if family.make == Make::Dna && matches!(model, Model::Bpe { dna: None, .. }) {
        notes.push(
            "not all pieces for genes are there as text; genes are read as other text".into(),
        );
    }
    let specials = specials(m, pre, &pieces, &kinds, bounds, barred)?;
    let escaped = pre.is_none_or(|pre| pre.escaped);
    let rowless = |id: u32| id as usize >= pieces.len() - beyond;
    let refused =
        |id: u32| bounds(id) || rowless(id) || matches!(kinds[id as usize], Control | Unknown);
    let bytes = byte_ids(&pieces, escaped, family.make == Make::Scored, refused);
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
    let stands = |id: &u32| {
        !bounds(*id) && !rowless(*id) && (kinds[*id as usize] == Unknown || !barred(*id))
    };
    let [usual_bos, usual_eos] = family.adds;
    let usual_bos = pre.map_or(usual_bos, |pre| pre.add_bos);
    let add_bos = load::flag(m, "add_bos_token")?.unwrap_or(usual_bos);
    // As in the reference: files of these kinds that say otherwise are mistaken.
    let add_bos = add_bos || framed || pre.is_some_and(|pre| pre.lines_whole);
    let add_eos = load::flag(m, "add_eos_token")?.unwrap_or(usual_eos) || framed;
    for (flag, id, name) in [(add_bos, named.bos, "bos"), (add_eos, named.eos, "eos")] {
        if flag && id.is_none() {
            notes.push(format!("{name} should be added but the file names none; it is not"));
        }
    }
    let (add_bos, add_eos) = (add_bos && named.bos.is_some(), add_eos && named.eos.is_some());
    let ends_of = |add: bool, id: Option<u32>| id.filter(|_| add);
    let between = named.between.map(|id| vec![id]).or(framed.then(Vec::new));
    let frame = Frame::around(
        ends_of(add_bos, named.bos),
        ends_of(add_eos, named.eos),
        between.as_deref(),
        u32::from(framed),
    );
    // A table's splitter may be of either kind.
    let spelling = match pre {
        Some(pre) if pre.escaped => Spelling::Escaped,
        _ => family.spelling.clone(),
    };
    Ok(Tokenizer {
        model,
        frame,
        spelling,
        leftmost: false,
        specials,
        bytes,
        unknown: named.unknown.filter(stands),
        guarded,
        model_word: family.word.into(),
        pre_word: pre_word.into(),
        bos: named.bos,
        eos: named.eos,
        add_bos,
        add_eos,
        ends,
        notes,
        pieces,
        kinds,
    })
}

/// The ids that keys of the file name.
struct Named {
    bos: Option<u32>,
    eos: Option<u32>,
    eot: Option<u32>,
    eom: Option<u32>,
    unknown: Option<u32>,
    /// What stands between two texts, besides EOS.
    between: Option<u32>,
    middle: Vec<(&'static str, u32)>,
}

impl Named {
    fn read(m: Metadata<'_>, kinds: &[PieceKind], family: &Family) -> Result<Named, Error> {
        use PieceKind::{Control, Unknown};
        let id = |name| load::id(m, name, kinds.len());
        let usual = |at: usize, wanted: &[PieceKind]| {
            let fits = |id: &u32| kinds.get(*id as usize).is_some_and(|kind| wanted.contains(kind));
            family.usual[at].filter(fits)
        };
        // The misspelling is the format's.
        let divider = id("seperator")?.or(id("separator")?);
        // BERT's first and last piece have names of their own.
        let framed = family.make == Make::WordPiece;
        let (first, last) = if framed { (id("cls")?, divider) } else { (None, None) };
        let unknowns: &[PieceKind] = if framed { &[Control, Unknown] } else { &[Unknown] };
        let mut middle = Vec::new();
        for (name, key) in MIDDLE_KEYS {
            middle.extend(id(key)?.map(|id| (*name, id)));
        }
        Ok(Named {
            bos: id("bos")?.or(first).or(usual(0, &[Control])),
            eos: last.or(id("eos")?).or(usual(1, &[Control])),
            eot: id("eot")?,
            eom: id("eom")?,
            unknown: id("unknown")?.or(usual(2, unknowns)),
            between: divider.filter(|_| !framed),
            middle,
        })
    }

    fn ends(&self) -> Vec<u32> {
        [self.eos, self.eot, self.eom].into_iter().flatten().collect()
    }
}

/// A bit for each piece that content can never make; `bounds` tells what begins or ends a text.
pub(crate) fn guards(
    pieces: &Pieces,
    kinds: &[PieceKind],
    bounds: impl Fn(u32) -> bool,
) -> Vec<u64> {
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
    family: &Family,
    pre: Option<&'static Pre>,
    pieces: &Pieces,
    kinds: &[PieceKind],
    barred: impl Fn(u32) -> bool,
) -> Result<Model, Error> {
    if let Some(pre) = pre {
        let dna = (family.make == Make::Dna).then(|| Dna::new(pieces, &barred)).flatten();
        let merges = Merges::new(load::strings(m, "merges")?, pieces, barred)?;
        return Ok(Model::Bpe { merges, pre, dna });
    }
    if family.make != Make::Scored {
        return Ok(Model::Flow(Box::new(family.flow(m, pieces, kinds, barred)?)));
    }
    let priorities = load::priorities(m, pieces.len())?;
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
            let (guarded, strip) = (barred(id), strips(piece));
            specials.push(Special { piece, id, guarded, strip, word: false });
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

/// Pieces by which a vocabulary without a pre-tokenizer's word is known, and the word. Some files
/// of Llama 3 lack it; the default splitter would give other ids.
const KNOWN_BY: &[(&[&str], &str)] =
    &[(&["<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>"], "llama-bpe")];

/// The splitter and the word it is called by.
fn find_pre<'m>(
    model: &str,
    word: Option<&'m str>,
    pieces: &Pieces,
    notes: &mut Vec<String>,
) -> Result<(&'static Pre, &'m str), Error> {
    match word {
        _ if model == "gemma4" => Ok((&split::GEMMA4, word.unwrap_or("default"))),
        None | Some("") => {
            let has = |piece: &&str| pieces.find(piece.as_bytes()).is_some();
            let known = KNOWN_BY.iter().find(|(marks, _)| marks.iter().all(has));
            if let Some((marks, word)) = known
                && let Some(pre) = split::find(word)
            {
                let mark = marks[0];
                notes.push(format!("no pre-tokenizer is named; `{mark}` tells it is `{word}`"));
                return Ok((pre, word));
            }
            notes.push("the file names no pre-tokenizer; the default one is used".into());
            Ok((&split::DEFAULT, "default"))
        }
        Some(word) => known_pre(word).map(|pre| (pre, word)),
    }
}

/// The splitter that the table has for `word`.
fn known_pre(word: &str) -> Result<&'static Pre, Error> {
    split::find(word).ok_or_else(|| {
        let what = format!("pre-tokenizer `{}` is not known", shown(word));
        Error::new(Kind::Unsupported, what)
            .hint("key `tokenizer.ggml.pre`; another splitter would give wrong ids silently")
    })
}

/// The id that stands for each byte; [`BARRED`] where it is one that `refused` names.
pub(crate) fn byte_ids(
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
    let masked = ["nomic-bert-moe", "jina-bert-v3"];
    let before: &'static [&'static str] = match m.str("general.architecture")? {
        Some(architecture) if masked.contains(&architecture) => &["<mask>"],
        _ if before.is_empty() && name.contains("modern-bert") => &["[MASK]"],
        _ => before,
    };
    let phi3 = before.is_empty() && (name.contains("phi-3") || name.contains("phi3"));
    let phi3 = phi3 && pieces.find(b"</s>").is_some();
    Ok(move |piece: &str| Strip {
        before: before.contains(&piece),
        after: phi3 && !matches!(piece, "<unk>" | "<s>" | "<|endoftext|>"),
    })
}
