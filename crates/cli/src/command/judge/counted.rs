//! A reader of this process within the operator's budget. What is begun is finished: a state is
//! read while something is left, and what it took counts then.

use recinto_engine::Stop;
use recinto_judge::{Abilities, Backend, Form, Model, Reading, Shown, State, Unavailable};
use recinto_provider::Counted;

/// A backend that counts.
pub struct Metered {
    inner: Box<dyn Backend>,
    budget: Counted,
    /// Why the budget did not hold the last call.
    refused: Option<String>,
}

impl Metered {
    pub fn new(inner: Box<dyn Backend>, budget: Counted) -> Metered {
        Metered { inner, budget, refused: None }
    }
}

impl Backend for Metered {
    fn model(&self) -> Model {
        self.inner.model()
    }

    fn reading(&self) -> String {
        self.inner.reading()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn temperature(&self, form: Form, options: usize) -> f64 {
        self.inner.temperature(form, options)
    }

    fn reorders(&self, form: Form) -> bool {
        self.inner.reorders(form)
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        self.refused = None;
        let inner = &mut self.inner;
        let read = self.budget.spend(
            // How a backend frames a state is its own matter: something must be left.
            1,
            &Stop::never(),
            |_| inner.read(state, shown),
            |read| {
                let readings = read.iter().flatten().flatten();
                let tokens = readings
                    .map(|one| one.usage.input_tokens.saturating_add(one.usage.output_tokens));
                tokens.fold(0, u64::saturating_add)
            },
        );
        read.unwrap_or_else(|error| {
            self.refused = Some(error.to_string());
            Err(Unavailable::Failed)
        })
    }

    fn trouble(&self) -> Option<String> {
        self.refused.clone().or_else(|| self.inner.trouble())
    }

    fn ended(&self) -> bool {
        self.refused.is_some() || self.inner.ended()
    }
}
