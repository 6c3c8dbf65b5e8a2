//! Questions in, answers out: checks, orders, readings, prior, calibration, in this order.

use std::collections::BTreeMap;

use recinto_receipt::Digest;

use crate::{
    Answer, Artefact, Calibration, Correction, Error, Identity, Kind, Orders, Priors, Question,
    Questions, State, Unavailable,
    answer::{Facts, Truncation, Windows},
    backend::{Backend, Evidence, Reading, Shown, Usage},
    check::{Finding, Severity, check},
    debias::{self, Prior},
    readout,
    rows::LEAST,
};

/// How to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// In which orders options are shown.
    pub orders: Orders,
    /// The log margin from which on no further order is read; infinite to read all of them.
    pub enough: f64,
    /// The power of the running prior that is divided out; `None` for none. Answers then depend on
    /// the inputs before them, so no calibration and no gate holds for them; see
    /// [`Judge::with_priors`].
    pub prior: Option<f64>,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode { orders: Orders::Declared, enough: debias::ENOUGH, prior: None }
    }
}

/// A backend with the way to read it.
#[derive(Debug)]
pub struct Judge<B> {
    backend: B,
    mode: Mode,
    calibration: Option<(Calibration, Digest)>,
    priors: BTreeMap<Digest, Prior>,
    kept: Option<(Priors, Digest)>,
}

/// Answers to all questions about one state.
#[derive(Debug)]
pub struct Judgement {
    /// Each id with its answer, or with why there is none; in the order of the questions.
    pub answers: Vec<(String, Result<Answer, Unavailable>)>,
    /// Logits of each question in the declared order, averaged over orders and corrected, but
    /// divided by nothing: what calibrations are fitted on. `None` where there is no answer.
    pub logits: Vec<Option<Vec<f64>>>,
    /// Checks that found something, none of them an error.
    pub warnings: Vec<Finding>,
    /// Tokens of all readings.
    pub usage: Usage,
}

/// Readings of one question.
struct Open {
    orders: Vec<Vec<usize>>,
    /// Logits in the declared order.
    read: Vec<Vec<f64>>,
    facts: Vec<Reading>,
    failed: Option<Unavailable>,
}

impl Open {
    fn wants_more(&self, enough: f64) -> bool {
        self.failed.is_none()
            && self.read.len() < self.orders.len()
            && (self.read.is_empty() || !debias::is_settled(&self.read, enough))
    }

    fn take(&mut self, reading: Result<Reading, Unavailable>) {
        let order = &self.orders[self.read.len()];
        match reading.and_then(|reading| Ok((declared(&reading, order)?, reading))) {
            Ok((logits, reading)) => {
                self.read.push(logits);
                self.facts.push(reading);
            }
            Err(why) => self.failed = Some(why),
        }
    }
}

/// Logits of a reading, each put back to its option.
fn declared(reading: &Reading, order: &[usize]) -> Result<Vec<f64>, Unavailable> {
    let logits: Vec<f64> = match &reading.evidence {
        Evidence::Logits(logits) => logits.clone(),
        Evidence::Probabilities(p) => {
            if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
                return Err(Unavailable::NotANumber);
            }
            p.iter().map(|p| p.max(LEAST).ln()).collect()
        }
    };
    if logits.len() != order.len() || logits.iter().any(|z| !z.is_finite()) {
        return Err(Unavailable::NotANumber);
    }
    let mut out = vec![0.0; logits.len()];
    order.iter().zip(logits).for_each(|(at, z)| out[*at] = z);
    Ok(out)
}

impl<B: Backend> Judge<B> {
    /// A judge over a backend.
    pub fn new(backend: B, mode: Mode) -> Judge<B> {
        Judge { backend, mode, calibration: None, priors: BTreeMap::new(), kept: None }
    }

    /// Who reads, as calibrations and gates are bound to it.
    pub fn identity(&self) -> Identity {
        self.identity_of(None)
    }

    fn identity_of(&self, model: Option<crate::Model>) -> Identity {
        Identity {
            model: model.unwrap_or_else(|| self.backend.model()),
            reading: self.backend.reading(),
            orders: self.mode.orders,
            prior: match (&self.kept, self.mode.prior) {
                (Some((_, digest)), _) => Correction::Kept { digest: *digest },
                (None, Some(_)) => Correction::Running,
                (None, None) => Correction::None,
            },
        }
    }

    /// The judge with a prior that is kept, instead of one that runs along; before any calibration,
    /// which holds for one prior.
    ///
    /// # Errors
    ///
    /// It was gathered from another model or another way to read it.
    pub fn with_priors(mut self, priors: Priors) -> Result<Judge<B>, Error> {
        self.mode.prior = None;
        self.kept = None;
        self.identity().must_be(priors.identity(), "the prior")?;
        let digest = priors.digest();
        self.kept = Some((priors, digest));
        Ok(self)
    }

    /// The judge with a calibration, when that was fitted for this backend and mode.
    pub fn calibrated(mut self, calibration: Calibration) -> Result<Judge<B>, Error> {
        self.identity().prior.must_stay("a calibration")?;
        let calibration = calibration.for_identity(&self.identity())?;
        let digest = calibration.digest();
        self.calibration = Some((calibration, digest));
        Ok(self)
    }

    /// The digest of the calibration in use.
    pub fn calibration(&self) -> Option<Digest> {
        self.calibration.as_ref().map(|(_, digest)| *digest)
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Answers all questions about a state. An error when a check finds one, before anything is
    /// read; what cannot be answered is [`Unavailable`] in its place.
    pub fn judge(&mut self, state: &State, questions: &Questions) -> Result<Judgement, Error> {
        if questions.is_empty() {
            return Err(Error::new(Kind::Question, "no question").with_hint("ask at least one"));
        }
        let abilities = self.backend.abilities();
        let warnings = check(questions, state, abilities.readout);
        let is_error = |finding: &&Finding| finding.check.severity == Severity::Error;
        if let Some(finding) = warnings.iter().find(is_error) {
            return Err(finding.as_error());
        }
        self.ask(state, questions, warnings)
    }

    /// As [`Judge::judge`], for questions that are checked already: a part of a choice may point to
    /// a label that only the whole has.
    pub(crate) fn ask(
        &mut self,
        state: &State,
        questions: &Questions,
        warnings: Vec<Finding>,
    ) -> Result<Judgement, Error> {
        let abilities = self.backend.abilities();
        let mut open: Vec<Open> = Vec::with_capacity(questions.len());
        for (_, question) in questions.iter() {
            let (options, most) = (question.options(), abilities.options);
            let failed = (options > most).then_some(Unavailable::TooManyOptions {
                options: options as u64,
                most: most as u64,
            });
            let orders = match self.backend.reorders(question.form()) {
                true => self.mode.orders,
                false => Orders::Declared,
            };
            let orders = debias::orders(question, orders);
            open.push(Open { orders, read: Vec::new(), facts: Vec::new(), failed });
        }
        self.read_all(state, questions, &mut open);
        let usage = open
            .iter()
            .flat_map(|open| &open.facts)
            .fold(Usage::default(), |sum, reading| sum.plus(reading.usage));
        let state = state.digest();
        let (mut answers, mut logits) = (Vec::with_capacity(open.len()), Vec::new());
        for ((id, question), open) in questions.iter().zip(open) {
            let (answer, raw) = match self.answer(question, state, open) {
                Ok((answer, raw)) => (Ok(answer), Some(raw)),
                Err(why) => (Err(why), None),
            };
            answers.push((id.to_owned(), answer));
            logits.push(raw);
        }
        Ok(Judgement { answers, logits, warnings, usage })
    }

    /// Reads rounds of orders until every question has enough of them.
    fn read_all(&mut self, state: &State, questions: &Questions, open: &mut [Open]) {
        let all: Vec<&Question> = questions.iter().map(|(_, question)| question).collect();
        loop {
            let enough = self.mode.enough;
            let wanted: Vec<usize> =
                (0..open.len()).filter(|at| open[*at].wants_more(enough)).collect();
            if wanted.is_empty() {
                return;
            }
            let show = |at: &usize| {
                let order = &open[*at].orders[open[*at].read.len()];
                Shown { question: all[*at], order }
            };
            let shown: Vec<Shown<'_>> = wanted.iter().map(show).collect();
            let count = shown.len();
            match self.backend.read(state, &shown) {
                Ok(readings) if readings.len() == count => {
                    wanted.iter().zip(readings).for_each(|(at, reading)| open[*at].take(reading));
                }
                Ok(_) => wanted.iter().for_each(|at| open[*at].take(Err(Unavailable::NoAnswer))),
                Err(why) => wanted.iter().for_each(|at| open[*at].take(Err(why.clone()))),
            }
        }
    }

    fn answer(
        &mut self,
        question: &Question,
        state: Digest,
        open: Open,
    ) -> Result<(Answer, Vec<f64>), Unavailable> {
        if let Some(why) = open.failed {
            return Err(why);
        }
        // One reading keeps its logits: the average has lost their offset, which nothing needs,
        // but not a bit is to change where nothing was averaged.
        let (mean, order) = debias::average(&open.read).ok_or(Unavailable::NotANumber)?;
        let mut logits = if open.read.len() == 1 { open.read[0].clone() } else { mean };
        let digest = question.digest();
        let mut prior_inputs = None;
        let kept = self.kept.as_ref().and_then(|(priors, _)| priors.correct(&digest, &logits));
        if let Some((corrected, inputs)) = kept {
            logits = corrected;
            prior_inputs = Some(inputs);
        } else if let Some(alpha) = self.mode.prior {
            let room = self.priors.len() < crate::prior::MOST;
            if room || self.priors.contains_key(&digest) {
                let prior = self.priors.entry(digest).or_default();
                prior.observe(&readout::softmax(&logits, 1.0));
                if let Some(corrected) = prior.correct(&logits, alpha) {
                    logits = corrected;
                    prior_inputs = Some(prior.inputs());
                }
            }
        }
        let model = one_model(&open.facts)?;
        let name = match &model {
            Some(crate::Model::Hosted { name }) => Some(name.clone()),
            _ => None,
        };
        let identity = self.identity_of(model);
        let (p, calibrated, temperature) = self.apply(question, &identity, &logits)?;
        let mass = open.facts.iter().filter_map(|f| f.mass);
        // The least of all readings: a maximum would hide the one that did not land.
        let option_mass = mass.reduce(|a, b| if b.is_nan() || b < a { b } else { a });
        let facts = Facts {
            identity: identity.digest(),
            reading: identity.reading.clone(),
            model: name,
            question: digest,
            state,
            calibrated,
            temperature,
            prior_inputs,
            option_mass,
            order: (order.readings > 1).then_some(order),
            truncation: truncation(&open.facts),
        };
        Ok((Answer::new(question, &p, facts)?, logits))
    }

    /// Probabilities, the calibration that made them, and its temperature.
    #[allow(clippy::type_complexity, reason = "used once, above")]
    fn apply(
        &self,
        question: &Question,
        identity: &Identity,
        logits: &[f64],
    ) -> Result<(Vec<f64>, Option<Digest>, Option<f64>), Unavailable> {
        let own = self.backend.temperature(question.form(), question.options());
        let plain = || (readout::softmax(logits, own), None, (own != 1.0).then_some(own));
        let Some((calibration, digest)) = &self.calibration else { return Ok(plain()) };
        if calibration.identity() != identity {
            return Err(Unavailable::OtherModel);
        }
        Ok(match calibration.map(question.form(), question.options()) {
            Some(map) => (map.apply(logits), Some(*digest), map.temperature()),
            None => plain(),
        })
    }
}

/// The model that all readings name, if they name one; an error when they differ.
fn one_model(readings: &[Reading]) -> Result<Option<crate::Model>, Unavailable> {
    let mut named = readings.iter().map(|reading| &reading.model);
    let first = named.next().cloned().flatten();
    if named.any(|other| *other != first) {
        return Err(Unavailable::OtherModel);
    }
    Ok(first)
}

/// The worst of all readings.
fn truncation(readings: &[Reading]) -> Truncation {
    let mut all = readings.iter().map(|reading| reading.truncation);
    let Some(first) = all.next() else { return Truncation::default() };
    all.fold(first, |worst, one| Truncation {
        state_tokens: worst.state_tokens.max(one.state_tokens),
        dropped: worst.dropped.max(one.dropped),
        options_alike: worst.options_alike || one.options_alike,
        windows: match (worst.windows, one.windows) {
            (Some(a), Some(b)) if a.answers == b.answers => Some(a),
            (Some(windows), _) | (None, Some(windows)) => {
                Some(Windows { answers: None, ..windows })
            }
            (None, None) => None,
        },
    })
}
