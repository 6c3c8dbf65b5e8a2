//! Checks of questions before a token is spent: a table, one row a kind of fault.
//!
//! Errors are what the hosted API and Laya's runtime refuse, or what cannot be answered at all.
//! Warnings are what one pass of a model is known to be bad at.

mod rules;
mod words;

use std::fmt;

use crate::{Question, Questions, State, question};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can be asked; the answer deserves less trust.
    Warning,
    /// It is not asked.
    Error,
}

/// How the options will be read, which decides about labels that begin each other, and about
/// questions without instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readout {
    /// By letters or codes, or by a service: labels are only shown.
    #[default]
    Marks,
    /// By an encoder's markers behind the instructions, which it never reads without.
    Markers,
    /// By the likelihood of the labels themselves.
    Keys,
}

/// What a rule looks at.
pub(crate) struct Ask<'a> {
    question: &'a Question,
    state: &'a State,
    readout: Readout,
}

/// Where in a question: an option by its index, or the question as a whole.
type Place = Option<usize>;

/// One row of the table.
pub struct Check {
    /// Its code, which stays the same between versions.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub says: &'static str,
    /// What to do.
    pub hint: &'static str,
    find: fn(&Ask<'_>) -> Vec<Place>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.severity, self.code)
    }
}

use Severity::{Error, Warning};

/// All checks. `docs/judge.md` has the same table.
pub const CHECKS: &[Check] = &[
    Check {
        code: "empty-instructions",
        severity: Error,
        says: "nothing says what to answer",
        hint: "write instructions, or describe the options",
        find: rules::empty_instructions,
    },
    Check {
        code: "no-instructions",
        severity: Error,
        says: "no instructions, and this model reads no question without",
        hint: "write instructions; descriptions of the options are not enough for it",
        find: rules::no_instructions,
    },
    Check {
        code: "one-option",
        severity: Error,
        says: "fewer than two options",
        hint: "a choice of one is always sure; give two, or use or_nothing",
        find: rules::one_option,
    },
    Check {
        code: "too-many-options",
        severity: Error,
        says: "more than 255 options",
        hint: "--group 16 asks by rounds; or keep a shortlist",
        find: rules::too_many_options,
    },
    Check {
        code: "blank-label",
        severity: Error,
        says: "a label without a character",
        hint: "labels are the keys of the answer",
        find: rules::blank_label,
    },
    Check {
        code: "duplicate-label",
        severity: Error,
        says: "the label of an earlier option again",
        hint: "labels are the keys of the answer; with or_nothing, `none` is taken",
        find: rules::duplicate_label,
    },
    Check {
        code: "prefix-key",
        severity: Error,
        says: "a label that begins another, while labels are read by likelihood",
        hint: "the shorter one always wins; rename one, or read by letters",
        find: rules::prefix_key,
    },
    Check {
        code: "same-words",
        severity: Error,
        says: "words for yes and no that are blank or the same",
        hint: "two different words",
        find: rules::same_words,
    },
    Check {
        code: "level-count",
        severity: Error,
        says: "fewer than 2 or more than 10 levels",
        hint: "2 to 10 levels",
        find: rules::level_count,
    },
    Check {
        code: "null-level",
        severity: Error,
        says: "a level without a description",
        hint: "describe every level, lowest first",
        find: rules::null_level,
    },
    Check {
        code: "missing-path",
        severity: Error,
        says: "a path in back-ticks that leads to nothing in the state",
        hint: "check its spelling; in a state of plain text there are no paths",
        find: rules::missing_path,
    },
    Check {
        code: "missing-word",
        severity: Warning,
        says: "a word in back-ticks that is no key of the state and no label",
        hint: "back-ticks point into the state",
        find: rules::missing_word,
    },
    Check {
        code: "empty-state",
        severity: Warning,
        says: "a state with nothing in it",
        hint: "the answer will be the model's prejudice",
        find: rules::empty_state,
    },
    Check {
        code: "prefix-label",
        severity: Warning,
        says: "a label that begins another",
        hint: "labels that are whole words of their own are told apart better",
        find: rules::prefix_label,
    },
    Check {
        code: "similar-label",
        severity: Warning,
        says: "a label that differs from an earlier one in case, accents or blanks only",
        hint: "rename one of them",
        find: rules::similar_label,
    },
    Check {
        code: "same-description",
        severity: Warning,
        says: "the description of an earlier option again",
        hint: "say what tells the two apart",
        find: rules::same_description,
    },
    Check {
        code: "many-options",
        severity: Warning,
        says: "more than 20 options",
        hint: "small encoders tell some 20 apart; --group 16 asks by rounds, or keep a shortlist",
        find: rules::many_options,
    },
    Check {
        code: "negation",
        severity: Warning,
        says: "instructions with a negation",
        hint: "ask for the positive and turn the answer around",
        find: rules::negation,
    },
    Check {
        code: "arithmetic",
        severity: Warning,
        says: "instructions that ask to count or to calculate",
        hint: "calculate it first and put the result into the state",
        find: rules::arithmetic,
    },
    Check {
        code: "several-questions",
        severity: Warning,
        says: "instructions that ask more than one thing",
        hint: "one question for each; they share the cost of the state",
        find: rules::several_questions,
    },
    Check {
        code: "special-marks",
        severity: Warning,
        says: "text in the state or the question that looks like a model's special token",
        hint: "it may steer the answer; use a backend that keeps content apart",
        find: rules::special_marks,
    },
];

/// One fault of one question.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The row of the table.
    pub check: &'static Check,
    /// The question's id.
    pub id: String,
    /// The option by its index; `None` for the question as a whole.
    pub option: Option<usize>,
    place: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.check.severity == Error { "error" } else { "warning" };
        write!(f, "{word}: {}: ", self.place)?;
        if let Some(at) = self.option {
            write!(f, "option {}: ", at + 1)?;
        }
        write!(f, "{} ({})\nhint: {}", self.check.says, self.check.code, self.check.hint)
    }
}

impl Finding {
    /// The finding as an error: which question, what is wrong, what to do.
    pub(crate) fn as_error(&self) -> crate::Error {
        let what = self.to_string();
        let what = what.lines().next().unwrap_or_default();
        let what = what.split_once(": ").map_or(what, |(_, what)| what);
        crate::Error::new(crate::Kind::Question, what).with_hint(self.check.hint)
    }
}

/// All findings of all questions, in the order of the questions and then of the table.
pub fn check(questions: &Questions, state: &State, readout: Readout) -> Vec<Finding> {
    let mut out = Vec::new();
    for (at, (id, question)) in questions.iter().enumerate() {
        let ask = Ask { question, state, readout };
        for check in CHECKS {
            for option in (check.find)(&ask) {
                let place = question::name(id, at);
                out.push(Finding { check, id: id.to_owned(), option, place });
            }
        }
    }
    out
}
