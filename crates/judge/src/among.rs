//! A choice among more options than are shown at once: rounds of groups, and an answer about the
//! last group that says how it came to be.

use serde::Serialize;

use crate::{
    Answer, Ask, Backend, Choice, Error, Gate, Judge, Judgement, Kind, Outcome, Question,
    Questions, Reason, State, Unavailable, Usage,
    check::{Finding, Severity, check},
    tournament::Tournament,
};

/// How a choice went by rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rounds {
    /// Options of the question.
    pub options: u64,
    /// The most that were shown at once.
    pub group: u64,
    /// Rounds.
    pub rounds: u64,
    /// Groups that were asked about.
    pub asked: u64,
}

/// The answer to a choice that went by rounds.
#[derive(Debug)]
pub struct Among {
    /// The options of the last round as a question of their own: the answer is about these.
    pub question: Question,
    /// How it came to be.
    pub rounds: Rounds,
    /// The answer; its distribution is over the options of the last round. The others have lost,
    /// and nothing else is known of them.
    pub answer: Result<Answer, Unavailable>,
    /// Checks of the whole question that found something.
    pub warnings: Vec<Finding>,
    /// Tokens of all rounds.
    pub usage: Usage,
}

/// Checks that rounds make up for.
const MADE_UP: [&str; 2] = ["too-many-options", "many-options"];

impl<B: Backend> Judge<B> {
    /// Answers a choice in rounds of at most `group` options, the first of each group going on.
    /// `or_nothing` is asked for in the last round.
    ///
    /// # Errors
    ///
    /// A question of another form, a group of fewer than 2, what a check of the whole question
    /// finds.
    pub fn among(
        &mut self,
        state: &State,
        id: &str,
        question: &Question,
        group: usize,
    ) -> Result<Among, Error> {
        let Ask::Choose { options, or_nothing } = &question.ask else {
            return Err(Error::new(Kind::Question, "rounds for a question that is no choice"));
        };
        let plan = Tournament::new(options.len(), group, 1);
        let Some(mut plan) = plan else {
            return Err(Error::new(Kind::Question, "groups of fewer than 2 options")
                .with_hint("16 is a good number"));
        };
        let whole = Questions::new().with(id, question.clone()).ok_or_else(|| {
            Error::new(Kind::Question, "a blank id").with_hint("an id of its own for each question")
        })?;
        let mut warnings = check(&whole, state, self.backend().abilities().readout);
        warnings.retain(|finding| !MADE_UP.contains(&finding.check.code));
        if let Some(finding) = warnings.iter().find(|f| f.check.severity == Severity::Error) {
            return Err(finding.as_error());
        }
        let (all, or_nothing) = (options.clone(), *or_nothing);
        let of = |places: &[usize], or_nothing: bool| {
            let options: Vec<Choice> = places.iter().map(|at| all[*at].clone()).collect();
            let ask = Ask::Choose { options, or_nothing };
            Question { instructions: question.instructions.clone(), ask }
        };
        let mut rounds =
            Rounds { options: all.len() as u64, group: group as u64, rounds: 1, asked: 0 };
        let mut usage = Usage::default();
        while !plan.is_final() {
            let mut groups = Questions::new();
            for (at, places) in plan.groups().iter().enumerate() {
                // Groups are told apart by their numbers, so none is there twice.
                groups = groups.with(format!("{}", at + 1), of(places, false)).unwrap_or_default();
            }
            let judgement = self.ask(state, &groups, Vec::new())?;
            usage = usage.plus(judgement.usage);
            rounds.asked += plan.groups().len() as u64;
            let mut distributions = Vec::with_capacity(judgement.answers.len());
            for (_, answer) in judgement.answers {
                match answer {
                    Ok(answer) => distributions
                        .push(answer.probabilities().iter().map(|share| share.p).collect()),
                    Err(why) => {
                        let question = of(&plan.groups()[0], or_nothing);
                        let answer = Err(why);
                        return Ok(Among { question, rounds, answer, warnings, usage });
                    }
                }
            }
            if !plan.advance(&distributions) {
                return Err(Error::new(Kind::Number, "a round that nobody won"));
            }
            rounds.rounds += 1;
        }
        let last = of(&plan.groups()[0], or_nothing);
        let asked = Questions::new().with(id, last.clone()).unwrap_or_default();
        let Judgement { mut answers, usage: more, .. } = self.ask(state, &asked, Vec::new())?;
        rounds.asked += 1;
        let answer = answers.pop().map_or(Err(Unavailable::NoAnswer), |(_, answer)| answer);
        Ok(Among { question: last, rounds, answer, warnings, usage: usage.plus(more) })
    }
}

impl Among {
    /// What to do with it. A gate's promise is about questions that were asked at once, so an
    /// answer by rounds never passes: where the gate would let it, a person looks.
    pub fn decide(&self, gate: &Gate) -> Outcome {
        let Rounds { options, rounds, .. } = self.rounds;
        match gate.decide(self.answer.as_ref()) {
            Outcome::Pass { .. } if rounds > 1 => {
                Outcome::Review { reasons: vec![Reason::Rounds { options, rounds }] }
            }
            Outcome::Review { mut reasons } if rounds > 1 => {
                // The last round asks a question that nobody could have labelled.
                reasons.retain(|reason| *reason != Reason::OtherQuestion);
                reasons.push(Reason::Rounds { options, rounds });
                Outcome::Review { reasons }
            }
            other => other,
        }
    }
}
