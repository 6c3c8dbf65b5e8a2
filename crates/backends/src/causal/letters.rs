//! The marks that options stand under, A to Z and then AA to ZZ, as far as each is one token.

use recinto_tokenizer::Tokenizer;

use crate::error::Error;

/// The most options of one question, as the hosted API has it.
const MOST: usize = 255;

/// Marks and the tokens that say them.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    /// The marks, in their order.
    pub marks: Vec<String>,
    /// The ids of each, without and with a blank before it: whichever the model writes, it means
    /// the mark, and both probabilities count.
    pub ids: Vec<Vec<u32>>,
}

impl Letters {
    /// The marks that `tokenizer` has in one token, in the same forms as the first of them.
    pub fn of(tokenizer: &Tokenizer) -> Result<Letters, Error> {
        let one = 'A'..='Z';
        let two = one.clone().flat_map(|a| ('A'..='Z').map(move |b| format!("{a}{b}")));
        let mut letters = Letters { marks: Vec::new(), ids: Vec::new() };
        for mark in one.map(String::from).chain(two) {
            if letters.marks.len() == MOST {
                break;
            }
            let ids = forms(tokenizer, &mark)?;
            // A mark that lacks a form would lose the probability of it.
            let least = letters.ids.first().map_or(1, Vec::len);
            let known = |id: &u32| letters.ids.iter().flatten().any(|other| other == id);
            if ids.len() >= least && !ids.iter().any(known) {
                letters.marks.push(mark);
                letters.ids.push(ids);
            }
        }
        Ok(letters)
    }
}

/// The single tokens that say `mark`.
fn forms(tokenizer: &Tokenizer, mark: &str) -> Result<Vec<u32>, Error> {
    let mut ids: Vec<u32> = tokenizer.find(mark).into_iter().collect();
    for text in [mark.to_owned(), format!(" {mark}")] {
        if let [token] = tokenizer.encode_plain(&text)?[..] {
            ids.push(token.id);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    // A token for what is unknown says nothing, and a special one is no text.
    ids.retain(|id| {
        let says = tokenizer.decode(&[*id]).is_ok_and(|text| text.trim() == mark);
        says && !tokenizer.is_special(*id)
    });
    Ok(ids)
}
