//! Compiles shapes for one model, and keeps an answer to them.

use std::sync::Arc;

use llguidance::{Matcher, ParserFactory, earley::SlicedBiasComputer};
use recinto_engine::{Constraint, Error as EngineError, Follow, Kind as EngineKind, Mask, Model};
use toktrie::{InferenceCapabilities, TokEnv};

use crate::{
    error::{Error, Kind},
    shape::Shape,
    vocabulary::Vocabulary,
};

/// Compiles shapes for one model. Making it reads the whole vocabulary (some tenths of a second
/// for 150,000 tokens); compiling with it takes milliseconds.
pub struct Grammars {
    factory: ParserFactory,
}

impl Grammars {
    /// For `model`.
    ///
    /// # Errors
    ///
    /// When no token of its vocabulary ends a reply.
    pub fn new(model: &Model) -> Result<Grammars, Error> {
        Grammars::of(Vocabulary::new(model)?)
    }

    /// For texts of nobody's vocabulary: each byte is a token, and 256 ends. It compiles what a
    /// model's would, refuses what that would, and says of a text whether it is an answer.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn bytes() -> Result<Grammars, Error> {
        Grammars::of(Vocabulary::bytes())
    }

    fn of(vocabulary: Vocabulary) -> Result<Grammars, Error> {
        // What must follow can be given as tokens only where they are those the model would write.
        let able =
            InferenceCapabilities { ff_tokens: vocabulary.canonical(), ..Default::default() };
        let environment: TokEnv = Arc::new(vocabulary);
        let slices = SlicedBiasComputer::json_slices();
        let mut factory = ParserFactory::new(&environment, able, &slices)
            .map_err(|error| Error::new(Kind::Vocabulary, first_line(&error)))?;
        factory.quiet();
        // Its errors would otherwise tell what was generated.
        factory.limits_mut().verbose_errors = false;
        Ok(Grammars { factory })
    }

    /// Compiles `shape`.
    ///
    /// # Errors
    ///
    /// When the shape is empty or broken, asks for more than may be spent on it, or has a word that
    /// cannot be kept exactly: the error names it.
    pub fn compile(&self, shape: &Shape) -> Result<Grammar, Error> {
        let grammar = shape.lower()?;
        let mut matcher = Matcher::new(self.factory.create_parser(grammar));
        if let Some(error) = matcher.get_error() {
            return Err(refused(&error));
        }
        // Whatever it only warns of is not kept exactly.
        if let Some(warning) = matcher.grammar_warnings().first() {
            return Err(Error::new(Kind::Unsupported, line(warning)));
        }
        match matcher.deep_clone().compute_mask_or_eos() {
            Ok(first) if !first.is_zero() => Ok(Grammar { matcher }),
            // What it calls a bias without an extension is a mask without a token.
            Err(error) if !error.to_string().contains("NoExtensionBias") => {
                Err(Error::new(Kind::TooLarge, first_line(&error)))
            }
            _ => {
                let what = "no text is an answer of this shape: its rules never come to an end";
                Err(Error::new(Kind::Empty, what))
            }
        }
    }
}

/// One answer's shape and how far it has come.
#[derive(Clone)]
pub struct Grammar {
    matcher: Matcher,
}

impl Grammar {
    /// The same from its beginning, sharing nothing that another thread would wait for.
    pub fn fresh(&self) -> Grammar {
        Grammar { matcher: self.matcher.deep_clone() }
    }

    /// Whether `text` as a whole is an answer of this shape, from where it stands.
    pub fn accepts(&self, text: &[u8]) -> bool {
        let mut matcher = self.matcher.deep_clone();
        let Ok(environment) = matcher.tok_env() else { return false };
        let ids = environment.tok_trie().greedy_tokenize(text);
        matcher.try_consume_tokens(&ids).is_ok_and(|taken| taken == ids.len())
            && matcher.is_accepting().unwrap_or(false)
    }
}

impl Constraint for Grammar {
    fn allowed(&mut self, mask: &mut Mask) -> Result<(), EngineError> {
        let set = self.matcher.compute_mask_or_eos().map_err(|_| broken())?;
        mask.insert_words(set.as_slice());
        Ok(())
    }

    fn commit(&mut self, id: u32) -> Result<Follow, EngineError> {
        self.matcher.consume_token(id).map_err(|_| broken())?;
        let forced = self.matcher.consume_ff_tokens();
        if self.matcher.is_error() {
            return Err(broken());
        }
        Ok(Follow { forced, complete: self.matcher.is_stopped() })
    }
}

/// Generation cannot go on; the compiler's own words could quote the answer.
fn broken() -> EngineError {
    let what = "the shape of the answer took more work than one token may";
    EngineError::new(EngineKind::Constraint, what).hint("a simpler schema or grammar needs less")
}

/// What the compiler cannot keep of a schema: a piece of its words, and ours.
const REFUSED: &[(&str, &str)] = &[
    ("circular references", "`$ref` leads in a circle, with other words beside it"),
    ("oneof constraints", "`oneOf` has options that are not seen to exclude one another"),
    ("min/maxproperties", "`minProperties` or `maxProperties` stands beside optional properties"),
    ("disjoint", "`patternProperties` has patterns that may match the same name"),
    ("if regex is empty", "`pattern` is too intricate to be kept"),
    ("unicode propert", "`pattern` has a property of Unicode that is not known"),
];

/// Sorts the compiler's words into kinds.
fn refused(error: &str) -> Error {
    let text = line(error);
    let lower = text.to_lowercase();
    if let Some((_, what)) = REFUSED.iter().find(|(piece, _)| lower.contains(piece)) {
        return Error::new(Kind::Unsupported, *what)
            .hint("what cannot be kept exactly is refused; leave the word out to do without");
    }
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let kind = if has(&["unimplemented", "unknown format", "not supported", "unsupported"]) {
        Kind::Unsupported
    } else if has(&["unsatisfiable"]) {
        Kind::Empty
    } else if has(&["fuel", "too large", "too big", "too many", "limit"]) {
        Kind::TooLarge
    } else {
        Kind::Invalid
    };
    match kind {
        Kind::Unsupported => Error::new(kind, text)
            .hint("what cannot be kept exactly is refused; leave the word out to do without"),
        _ => Error::new(kind, text),
    }
}

fn first_line(error: &dyn std::fmt::Display) -> String {
    line(&error.to_string())
}

/// The first line of somebody else's words, in the manner of ours.
fn line(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).take(300).collect()
}
