//! A text of a regular expression or of a grammar.

use recinto_engine::Stop;
use recinto_provider::{Provider, Shape};

use crate::{
    error::{Error, Kind},
    input::Input,
    outcome::{self, Answer, Outcome},
    wording,
};

/// Answers `input` with a text of `shape`, a regular expression or a Lark grammar.
///
/// # Errors
///
/// A shape of another kind, or one that cannot be kept; [`Kind::Unable`] where the provider cannot;
/// whatever it meets otherwise.
pub fn complete(
    provider: &dyn Provider,
    input: &Input,
    shape: &Shape,
    stop: &Stop,
) -> Result<Outcome<Answer<String>>, Error> {
    if !matches!(shape, Shape::Regex(_) | Shape::Lark(_)) {
        let what = "a text is completed by a regular expression or a Lark grammar";
        return Err(Error::new(Kind::Task, what)
            .hint("labels are a matter of `decide`, schemas of `extract`"));
    }
    outcome::needs(provider, provider.abilities().grammars, "keep an answer to a grammar")?;
    let turn = input.turn(wording::complete(input, shape), Some(shape.clone()));
    outcome::ask(provider, &turn, stop)?
        .then(|reply| Ok(Answer { value: reply.text.clone(), reply }))
}
