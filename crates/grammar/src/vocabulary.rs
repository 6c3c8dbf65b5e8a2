//! A vocabulary as the compiler sees it: a tree of the bytes of its tokens.

use recinto_engine::Model;
use recinto_tokenizer::Tokenizer;
use toktrie::{TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::error::{Error, Kind};

/// The vocabulary of one model, or of bytes.
pub(crate) struct Vocabulary {
    /// `None` where every byte is a token.
    model: Option<Model>,
    trie: TokTrie,
    /// Whether text that goes on is encoded as the model would write it.
    canonical: bool,
}

impl Vocabulary {
    /// Reads every token's bytes; tokens that content can never make are set apart.
    pub fn new(model: &Model) -> Result<Vocabulary, Error> {
        let tokenizer = model.tokenizer();
        let ends = tokenizer.ends();
        let Some(first) = ends.first().copied() else {
            let what = "the vocabulary has no token that ends a reply, so no shape can end";
            return Err(Error::new(Kind::Vocabulary, what));
        };
        let words: Vec<Vec<u8>> =
            (0..tokenizer.size() as u32).map(|id| word(tokenizer, id)).collect();
        let size = u32::try_from(words.len())
            .map_err(|_| Error::new(Kind::Vocabulary, "the vocabulary has too many tokens"))?;
        let trie = TokTrie::from(&TokRxInfo::new(size, first), &words).with_eos_tokens(ends);
        let canonical = continues(tokenizer);
        Ok(Vocabulary { model: Some(model.clone()), trie, canonical })
    }

    /// Whether text that goes on is encoded as the model would write it.
    pub fn canonical(&self) -> bool {
        self.canonical
    }

    /// Each byte a token, and one that ends.
    pub fn bytes() -> Vocabulary {
        let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let end = words.len() as u32;
        words.push(vec![TokTrie::SPECIAL_TOKEN_MARKER, b'e']);
        let trie = TokTrie::from(&TokRxInfo::new(end + 1, end), &words).with_eos_tokens(&[end]);
        Vocabulary { model: None, trie, canonical: false }
    }
}

/// The bytes of a token; marked where no text of an answer may become it.
fn word(tokenizer: &Tokenizer, id: u32) -> Vec<u8> {
    let bytes = tokenizer.bytes(id).map(|bytes| bytes.to_vec()).unwrap_or_default();
    if !tokenizer.is_special(id) && !tokenizer.ends().contains(&id) {
        return bytes;
    }
    let mut marked = vec![TokTrie::SPECIAL_TOKEN_MARKER];
    marked.extend_from_slice(&bytes);
    marked
}

/// Whether encoding a text by itself gives the ids it has in the middle of another: not where the
/// vocabulary puts a space before every text.
fn continues(tokenizer: &Tokenizer) -> bool {
    let probe = |text: &str| {
        let tokens = tokenizer.encode_plain(text).ok()?;
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        let bytes = ids.iter().filter_map(|id| tokenizer.bytes(*id));
        Some(bytes.flat_map(|bytes| bytes.to_vec()).collect::<Vec<u8>>())
    };
    ["a", "\"", "{"].iter().all(|text| probe(text).as_deref() == Some(text.as_bytes()))
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let encode = |text: &str| {
            let tokens = self.model.as_ref()?.tokenizer().encode_plain(text).ok()?;
            Some(tokens.iter().map(|token| token.id).collect())
        };
        match std::str::from_utf8(bytes).ok().filter(|_| self.canonical).and_then(encode) {
            Some(ids) => ids,
            // Part of a character: its pieces, longest first.
            None => self.trie.greedy_tokenize(bytes),
        }
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.canonical
    }
}
