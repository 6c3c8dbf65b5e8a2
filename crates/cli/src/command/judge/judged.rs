//! One state judged: answers, what the gate says of each, and of all together.

use recinto_judge::{
    Answer, Ask, Backend, Gate, Judge, Outcome, Question, Questions, Reason, Rounds, State,
    Unavailable, Usage, Value, check::Finding,
};
use serde::Serialize;
use serde_json::{Map, json};

use crate::{exit::Exit, failure::Failure, interrupt::Interrupt};

/// One question with its answer and what the gate says.
pub struct Judged {
    pub id: String,
    pub question: Question,
    pub answer: Result<Answer, Unavailable>,
    pub outcome: Outcome,
    /// Where the gate is one by sets: the options that stay possible, by their indexes.
    pub set: Option<Vec<usize>>,
    /// How a choice of many options went.
    pub rounds: Option<Rounds>,
    /// Whether the answer is the expected one, where one is expected.
    pub expected: Option<bool>,
}

/// All questions about one state.
pub struct Judgements {
    pub all: Vec<Judged>,
    pub warnings: Vec<Finding>,
    pub usage: Usage,
}

/// Judges `state`: questions of at most `group` options in one call, choices of more by rounds.
pub fn judge(
    judge: &mut Judge<Box<dyn Backend>>,
    state: &State,
    questions: &Questions,
    gate: Option<&Gate>,
    group: Option<usize>,
    interrupt: &Interrupt,
) -> Result<Judgements, Failure> {
    let by_rounds = |question: &Question| {
        let many = group.is_some_and(|group| question.options() > group);
        many && matches!(question.ask, Ask::Choose { .. })
    };
    let mut once = Questions::new();
    for (id, question) in questions.iter().filter(|(_, question)| !by_rounds(question)) {
        // Ids are distinct here as they are there.
        once = once.with(id, question.clone()).unwrap_or_default();
    }
    let mut out = Judgements { all: Vec::new(), warnings: Vec::new(), usage: Usage::default() };
    let mut answers = Vec::new();
    if !once.is_empty() {
        let judgement = judge.judge(state, &once)?;
        (answers, out.warnings, out.usage) =
            (judgement.answers, judgement.warnings, judgement.usage);
    }
    let mut answers = answers.into_iter();
    for (id, question) in questions.iter() {
        let id = id.to_owned();
        let judged = match group.filter(|_| by_rounds(question)) {
            None => {
                let answer = answers.next().map_or(Err(Unavailable::NoAnswer), |(_, a)| a);
                let outcome = match gate {
                    Some(gate) => gate.decide(answer.as_ref()),
                    None => ungated(&answer),
                };
                let (question, set) = (question.clone(), set(gate, &answer));
                Judged { id, question, answer, outcome, set, rounds: None, expected: None }
            }
            Some(group) => {
                let among = judge.among(state, &id, question, group)?;
                let outcome = match gate {
                    Some(gate) => among.decide(gate),
                    None => ungated(&among.answer),
                };
                out.usage = out.usage.plus(among.usage);
                out.warnings.extend(among.warnings);
                let (question, answer) = (among.question, among.answer);
                let (rounds, set) = (Some(among.rounds), set(gate, &answer));
                Judged { id, question, answer, outcome, set, rounds, expected: None }
            }
        };
        out.all.push(judged);
    }
    if interrupt.is_set() {
        return Err(Failure::silent(Exit::Interrupted));
    }
    Ok(out)
}

/// The options that a gate by sets leaves.
fn set(gate: Option<&Gate>, answer: &Result<Answer, Unavailable>) -> Option<Vec<usize>> {
    gate?.set(answer.as_ref().ok()?)
}

/// Absence of a gate never passes one.
fn ungated(answer: &Result<Answer, Unavailable>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Review { reasons: vec![Reason::NoGate] },
        Err(why) => Outcome::Unavailable { reason: why.clone() },
    }
}

impl Judgements {
    /// The worst of all outcomes, which is how the command ends.
    pub fn exit(&self) -> Exit {
        let any = |is: &dyn Fn(&Judged) -> bool| self.all.iter().any(is);
        if any(&|judged| matches!(judged.outcome, Outcome::Unavailable { .. })) {
            Exit::Failed
        } else if any(&|judged| !judged.outcome.is_pass()) {
            Exit::Person
        } else if any(&|judged| judged.expected == Some(false)) {
            Exit::No
        } else {
            Exit::Done
        }
    }

    /// Answers by the ids of their questions.
    pub fn to_json(&self) -> Map<String, serde_json::Value> {
        self.all.iter().map(|judged| (judged.id.clone(), judged.to_json())).collect()
    }

    /// Warnings of the checks.
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.iter().map(Warning::of).collect()
    }
}

/// A finding of a check, as envelopes have it.
#[derive(Serialize)]
pub struct Warning {
    code: &'static str,
    question: String,
    /// The option's index, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<usize>,
    says: &'static str,
    hint: &'static str,
}

impl Warning {
    fn of(finding: &Finding) -> Warning {
        let Finding { check, id, option, .. } = finding;
        Warning {
            code: check.code,
            question: id.clone(),
            option: *option,
            says: check.says,
            hint: check.hint,
        }
    }
}

impl Judged {
    /// What was answered, in a word.
    pub fn word(&self) -> String {
        let Ok(answer) = &self.answer else { return "-".into() };
        match answer.value() {
            Value::Nothing => "none".into(),
            Value::Level { expected, likeliest } => format!("{likeliest} ({expected:.2})"),
            Value::Whether { yes } => if *yes > 0.5 { "yes" } else { "no" }.into(),
            Value::Option { .. } => answer.label().unwrap_or("-").to_owned(),
        }
    }

    /// The index of the likeliest option.
    pub fn likeliest(&self) -> Option<usize> {
        likeliest(self.answer.as_ref().ok()?)
    }

    /// All reasons in one line, and the options that stay possible, the first of them.
    pub fn why(&self) -> String {
        /// A line has room for so many.
        const NAMED: usize = 8;
        let (Some(set), Ok(answer)) = (&self.set, &self.answer) else { return self.reasons() };
        let shares = answer.probabilities();
        let word = |at: &usize| answer.form().word(*at, &shares[*at].label);
        let named: Vec<String> = set.iter().take(NAMED).map(word).collect();
        let more = match set.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = if named.is_empty() { "nothing".into() } else { named.join(", ") };
        match &self.outcome {
            Outcome::Pass { .. } => format!("only {named} stays possible"),
            _ => format!("{}; possible: {named}{more}", self.reasons()),
        }
    }

    fn reasons(&self) -> String {
        match &self.outcome {
            Outcome::Pass { confidence, threshold } => {
                format!("confidence {confidence:.4} reaches {threshold:.4}")
            }
            Outcome::Review { reasons } => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                reasons.join("; ")
            }
            Outcome::Unavailable { reason } => reason.to_string(),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let mut out = Map::new();
        out.insert("answer".into(), json!(self.answer.as_ref().ok()));
        out.insert("gate".into(), json!(self.outcome));
        out.insert("why".into(), self.why().into());
        if let (Some(set), Ok(answer)) = (&self.set, &self.answer) {
            let labels = set.iter().map(|at| answer.probabilities()[*at].label.clone());
            out.insert("set".into(), labels.collect::<Vec<_>>().into());
        }
        if let Some(rounds) = &self.rounds {
            out.insert("rounds".into(), json!(rounds));
        }
        if let Some(expected) = self.expected {
            out.insert("expected".into(), expected.into());
        }
        out.into()
    }
}

/// The index of an answer's likeliest option, the first of equals.
pub fn likeliest(answer: &Answer) -> Option<usize> {
    let p: Vec<f64> = answer.probabilities().iter().map(|share| share.p).collect();
    recinto_judge::readout::first_largest(&p)
}
