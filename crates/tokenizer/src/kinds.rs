//! Which pieces are special, which end a reply, and which content can never make.
//!
//! Published files often mark a piece wrongly. The tables below are the reference's corrections:
//! they go by the piece's text because the files say nothing better.

use crate::{PieceKind, pieces::Pieces};

/// Pieces that end a reply wherever they are in the vocabulary.
pub(crate) const ENDS: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];

/// Fill-in-the-middle pieces: key, whether they end a reply, and the texts that are recognised
/// when the key is absent.
const MIDDLE: &[(&str, bool, &[&str])] = &[
    (
        "fim_pre",
        false,
        &[
            "<|fim_prefix|>",
            "<fim-prefix>",
            "<fim_prefix>",
            "<｜fim▁begin｜>",
            "<PRE>",
            "▁<PRE>",
            "<|code_prefix|>",
            "<|prefix|>",
        ],
    ),
    (
        "fim_suf",
        false,
        &[
            "<|fim_suffix|>",
            "<fim-suffix>",
            "<fim_suffix>",
            "<｜fim▁hole｜>",
            "<SUF>",
            "▁<SUF>",
            "<|code_suffix|>",
            "<|suffix|>",
        ],
    ),
    (
        "fim_mid",
        false,
        &[
            "<|fim_middle|>",
            "<fim-middle>",
            "<fim_middle>",
            "<｜fim▁end｜>",
            "<MID>",
            "▁<MID>",
            "<|code_middle|>",
            "<|middle|>",
        ],
    ),
    ("fim_pad", true, &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"]),
    ("fim_rep", true, &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"]),
    ("fim_sep", true, &["<|file_sep|>"]),
];

/// Marks that are shown to the reader's program: they divide channels, they end nothing.
const SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// Elements of HTML that vocabularies add as plain text; they are text, not marks.
const HTML: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// The ids of the file's own keys that matter here.
pub(crate) struct Named<'f> {
    /// `eos`, `eot`, `eom`: whatever of them the file names.
    pub ends: &'f [u32],
    /// Looks up `fim_…` keys of the file.
    pub middle: &'f dyn Fn(&str) -> Option<u32>,
}

/// Corrects `kinds` and returns the ids that end a reply, in order.
pub(crate) fn settle(pieces: &Pieces, kinds: &mut [PieceKind], named: &Named<'_>) -> Vec<u32> {
    let find = |piece: &str| pieces.find(piece.as_bytes());
    let mut ends: Vec<u32> = Vec::new();
    for (key, ends_reply, texts) in MIDDLE {
        let id = (named.middle)(key).or_else(|| {
            let id = texts.iter().filter_map(|text| find(text)).min()?;
            kinds[id as usize] = PieceKind::Control;
            Some(id)
        });
        ends.extend(id.filter(|_| *ends_reply));
    }
    for id in ENDS.iter().filter_map(|text| find(text)) {
        kinds[id as usize] = PieceKind::Control;
        ends.push(id);
    }
    for id in SHOWN.iter().filter_map(|text| find(text)) {
        kinds[id as usize] = PieceKind::UserDefined;
    }
    ends.extend_from_slice(named.ends);
    ends.sort_unstable();
    ends.dedup();
    let has = |ends: &[u32], text: &str| find(text).filter(|id| ends.contains(id));
    let mut drop = |ends: &mut Vec<u32>, text: &str, kind: PieceKind| {
        if let Some(id) = has(ends, text) {
            ends.retain(|end| *end != id);
            kinds[id as usize] = kind;
        }
    };
    let all = |ends: &[u32], texts: &[&str]| texts.iter().all(|text| has(ends, text).is_some());
    // Where calls and returns have their own marks, `<|end|>` only ends a message.
    let called = all(&ends, &["<|call|>"]) || all(&ends, &["<|calls|>"]);
    if called && (all(&ends, &["<|return|>"]) || all(&ends, &["<|flush|>"])) {
        drop(&mut ends, "<|end|>", PieceKind::UserDefined);
    }
    // Vocabularies with these have `</s>` as a piece of HTML.
    if all(&ends, &["<|tool_response>"]) || all(&ends, &["<|plamo:eos|>"]) {
        drop(&mut ends, "</s>", PieceKind::Normal);
    }
    ends
}

/// Whether content can never make this piece, by its kind and shape: control and unknown pieces,
/// and pieces shaped as marks that are user-defined or reserved.
pub(crate) fn guarded(piece: &str, kind: PieceKind) -> bool {
    match kind {
        PieceKind::Control | PieceKind::Unknown => true,
        PieceKind::UserDefined | PieceKind::Unused => is_mark(piece),
        PieceKind::Normal | PieceKind::Byte => false,
    }
}

/// `<…>` or `[…]`, elements of HTML too.
pub(crate) fn has_the_shape_of_a_mark(piece: &str) -> bool {
    let inside = |open, close| piece.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let element = inside('<', '>').map(|name| name.strip_prefix('/').unwrap_or(name));
    element.or(inside('[', ']')).is_some_and(|name| !name.is_empty())
}

/// The shape of a mark, and not an element of HTML.
fn is_mark(piece: &str) -> bool {
    let element = piece.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let element = element.map(|name| name.strip_prefix('/').unwrap_or(name));
    has_the_shape_of_a_mark(piece) && !element.is_some_and(|name| HTML.contains(&name))
}
