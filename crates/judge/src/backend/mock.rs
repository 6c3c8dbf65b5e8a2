//! A backend without a model: words that state and option share, and the weaknesses of real models
//! on request. The same state and question give the same numbers on every machine.

use std::collections::BTreeSet;

use recinto_receipt::sha256;

use super::{Abilities, Backend, Evidence, Reading, Shown, Usage};
use crate::{
    Form, Model, State, Unavailable, answer::Truncation, check::Readout, json, question::NOTHING,
};

/// A deterministic backend for tests and for trying out questions.
///
/// An option's logit is the number of its words that the state has, plus half a step of noise out
/// of a digest of both. `lean` adds to early slots, `mass` is reported as it is, and `room` is the
/// most words of a state.
#[derive(Clone, Debug)]
pub struct Mock {
    /// How much the first slot gains over the last one.
    pub lean: f64,
    /// What labels hold of all probability.
    pub mass: Option<f64>,
    /// The most words of a state that fit.
    pub room: usize,
    /// Whether longer states are cut rather than refused.
    pub cuts: bool,
    /// Another number is another model.
    pub seed: u64,
    /// Calls so far.
    pub calls: u64,
}

impl Default for Mock {
    fn default() -> Mock {
        Mock { lean: 0.0, mass: Some(0.97), room: 4096, cuts: false, seed: 0, calls: 0 }
    }
}

fn words(text: &str) -> Vec<String> {
    let split = text.split(|c: char| !c.is_alphanumeric());
    split.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}

impl Mock {
    /// Noise of −¼ to ¼ for one state and option.
    fn noise(&self, state: &State, text: &str) -> f64 {
        let mut bytes = self.seed.to_le_bytes().to_vec();
        bytes.extend_from_slice(state.digest().as_bytes());
        bytes.extend_from_slice(text.as_bytes());
        let digest = sha256(&bytes);
        f64::from(digest.as_bytes()[0]) / 510.0 - 0.25
    }

    fn logits(&self, state: &State, kept: &BTreeSet<String>, shown: &Shown<'_>) -> Vec<f64> {
        let (question, n) = (shown.question, shown.order.len());
        let (labels, descriptions) = (question.labels(), question.descriptions());
        let asked = question.instructions.as_ref().map(json::text_of).unwrap_or_default();
        let logit = |(slot, at): (usize, &usize)| {
            let label = &labels[*at];
            let described = descriptions[*at].as_ref().map(json::text_of).unwrap_or_default();
            // Yes is what the instructions say; no gains where nothing of it is found.
            let text = match question.form() {
                Form::Whether if *at == 1 => format!("{asked} {described}"),
                Form::Whether => described,
                _ => format!("{label} {described}"),
            };
            let shared = words(&text).into_iter().filter(|w| kept.contains(w)).count() as f64;
            let default = match question.form() {
                Form::Whether if *at == 0 => 1.5,
                _ if label == NOTHING => 0.5,
                _ => 0.0,
            };
            let place = self.lean * (1.0 - slot as f64 / (n.max(2) - 1) as f64);
            2.0 * shared + default + place + self.noise(state, &format!("{label}{text}"))
        };
        shown.order.iter().enumerate().map(logit).collect()
    }
}

impl Backend for Mock {
    fn model(&self) -> Model {
        let digest = sha256(format!("mock {}", self.seed).as_bytes());
        Model::Local { digest, dtype: "f64".into() }
    }

    fn reading(&self) -> String {
        "mock/1".into()
    }

    fn abilities(&self) -> Abilities {
        Abilities { options: 255, readout: Readout::Marks }
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        self.calls += 1;
        let all = words(&json::text_of(state.value()));
        let dropped = all.len().saturating_sub(self.room);
        if dropped > 0 && !self.cuts {
            let (tokens, room) = (all.len() as u64, self.room as u64);
            return Err(Unavailable::TooLong { tokens, room });
        }
        let truncation = Truncation {
            state_tokens: all.len() as u64,
            dropped: dropped as u64,
            ..Truncation::default()
        };
        let kept: BTreeSet<String> = all.into_iter().take(self.room).collect();
        let usage = Usage { input_tokens: kept.len() as u64, output_tokens: 0 };
        let read = |shown: &Shown<'_>| {
            let evidence = Evidence::Logits(self.logits(state, &kept, shown));
            Ok(Reading { evidence, mass: self.mass, truncation, model: None, usage })
        };
        Ok(shown.iter().map(read).collect())
    }
}
