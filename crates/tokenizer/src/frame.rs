//! What stands around one text or two when a model reads them: BOS, separators, type ids.

use recinto_os::Wiped;
use zeroize::Zeroize;

use crate::{Error, Token, error::Kind};

/// A token in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
pub struct Placed {
    /// The token; its range is in its own text, and empty for one of the frame.
    pub token: Token,
    /// The segment it belongs to, as encoders count them: 0 or 1 in published models.
    pub type_id: u32,
    /// The text it comes from, 0 or 1; none for a token of the frame.
    pub text: Option<u8>,
}

/// One place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Piece { id: u32, type_id: u32 },
    Text { number: u8, type_id: u32 },
}

/// What stands around one text, and around two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub single: Vec<Place>,
    /// Empty where two texts have no form.
    pub pair: Vec<Place>,
}

impl Frame {
    /// `bos A eos`, and `bos A eos between B eos`, the second half with `type_id`.
    pub(crate) fn around(
        bos: Option<u32>,
        eos: Option<u32>,
        between: Option<&[u32]>,
        type_id: u32,
    ) -> Frame {
        let piece = |id: u32, type_id| Place::Piece { id, type_id };
        let single: Vec<Place> = (bos.map(|id| piece(id, 0)).into_iter())
            .chain([Place::Text { number: 0, type_id: 0 }])
            .chain(eos.map(|id| piece(id, 0)))
            .collect();
        let pair = between.map(|between| {
            let mut pair = single.clone();
            pair.extend(between.iter().map(|id| piece(*id, 0)));
            pair.push(Place::Text { number: 1, type_id });
            pair.extend(eos.map(|id| piece(id, type_id)));
            pair
        });
        Frame { single, pair: pair.unwrap_or_default() }
    }

    pub(crate) fn place(
        &self,
        first: &[Token],
        second: Option<&[Token]>,
    ) -> Result<Wiped<Placed>, Error> {
        let places = if second.is_some() { &self.pair } else { &self.single };
        if second.is_some() && places.is_empty() {
            return Err(Error::new(Kind::Argument, "the vocabulary has no form for two texts")
                .hint("it names no piece that divides them"));
        }
        let mut out = Wiped::default();
        for place in places {
            match *place {
                Place::Piece { id, type_id } => {
                    let token = Token { id, start: 0, end: 0 };
                    out.push(Placed { token, type_id, text: None });
                }
                Place::Text { number, type_id } => {
                    let tokens = if number == 0 { first } else { second.unwrap_or_default() };
                    for token in tokens {
                        out.push(Placed { token: *token, type_id, text: Some(number) });
                    }
                }
            }
        }
        Ok(out)
    }
}
