//! What a causal model is asked, word for word. The state comes first and everything that is the
//! same for all questions before it, so that one reading of both serves every question and every
//! order of options; only what follows the state is read for each.
//!
//! A change of any of it needs another [`READING`]: calibrations and gates hold for one wording.

use std::fmt::Write;

use recinto_engine::{Message, Options, Request, Role};
use recinto_judge::{Ask, Form, Question, Shown, State, shown};

/// The word for this wording and for how its answer is read.
pub(super) const READING: &str = "letters/1";

/// What stands before the state.
const BEFORE: &str = "Read the text. Answer the question below it with the letter of one option, \
                      and nothing else.\n\nText:\n";
/// What stands between the state and the question.
const BETWEEN: &str = "\n\n";
/// What makes a model without a chat template answer.
const ANSWER: &str = "\nAnswer:";
/// A day for templates that tell one: the answer must not depend on when it was asked.
const DAY: &str = "2025-01-01";

/// How the model is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Through its own chat template.
    pub chat: bool,
}

impl Manner {
    /// The state and then `tail` as what a model reads.
    fn request(self, state: &str, tail: &str) -> Request {
        let end = if self.chat { "" } else { ANSWER };
        let text = format!("{BEFORE}{state}{BETWEEN}{tail}{end}");
        let options =
            Options { thinking: Some(false), date: Some(DAY.into()), ..Options::default() };
        let messages = vec![Message::new(Role::User, text)];
        Request { messages, options, completion: !self.chat, ..Request::default() }
    }

    /// A question about the state, its options under `marks` in the order they are shown.
    pub fn question(self, state: &str, asked: &Shown<'_>, marks: &[String]) -> Request {
        let question = asked.question;
        let mut tail = match &question.instructions {
            Some(value) => shown(value),
            None => unsaid(question.form()).to_owned(),
        };
        let texts = texts(question);
        for (mark, at) in marks.iter().zip(asked.order) {
            // Writing to a text cannot fail.
            let _ = write!(tail, "\n{mark}. {}", texts.get(*at).map_or("", String::as_str));
        }
        self.request(state, &tail)
    }

    /// Something that no question begins with: what it has in common with one is the state.
    pub fn nothing(self, state: &str) -> Request {
        self.request(state, "\u{fffd}")
    }
}

/// The state as the model reads it.
pub(super) fn state(state: &State) -> String {
    state.shown()
}

/// What is asked where the options alone say it.
fn unsaid(form: Form) -> &'static str {
    match form {
        Form::Whether => "Which is true of the text?",
        Form::Choose => "Which option fits the text?",
        Form::Rate => "Which level fits the text?",
    }
}

/// Each option's text in the declared order.
fn texts(question: &Question) -> Vec<String> {
    let words = match &question.ask {
        Ask::Whether { words: Some(words), .. } => words.to_vec(),
        Ask::Whether { .. } => vec!["no".into(), "yes".into()],
        // The place on the scale is the mark's; a number beside it could be read as another one.
        Ask::Rate { .. } => vec![String::new(); question.options()],
        Ask::Choose { .. } => question.labels(),
    };
    let described = question.descriptions();
    let text = |(word, description): (String, Option<_>)| match description {
        None => word,
        Some(value) if word.is_empty() => shown(&value),
        Some(value) => format!("{word}: {}", shown(&value)),
    };
    words.into_iter().zip(described).map(text).collect()
}

#[cfg(test)]
mod tests {
    use recinto_judge::Choice;

    use super::*;

    fn text(manner: Manner, asked: &Shown<'_>) -> String {
        let marks = ["A", "B", "C", "D"].map(str::to_owned);
        manner.question("¿Dónde está mi pedido?", asked, &marks).messages[0].content.to_string()
    }

    /// The wording of `letters/1`: whoever changes it changes the word.
    #[test]
    fn letters_1_word_for_word() {
        assert_eq!(READING, "letters/1");
        let before = "Read the text. Answer the question below it with the letter of one option, \
                      and nothing else.\n\nText:\n¿Dónde está mi pedido?\n\n";
        let whether = Question::whether("¿Es urgente?");
        let choose = Question::choose(
            "¿De qué va?",
            [Choice::new("envíos", "paquetes, pedidos"), Choice::plain("pagos")],
        );
        let rate = Question::rate("¿Cuánto enojo?", ["calma", "molestia", "ira"]);
        let unsaid = Question { instructions: None, ..choose.clone() };
        let cases: [(&str, &Question, &[usize], &str); 6] = [
            ("whether", &whether, &[0, 1], "¿Es urgente?\nA. no\nB. yes"),
            ("reversed", &whether, &[1, 0], "¿Es urgente?\nA. yes\nB. no"),
            ("choose", &choose, &[1, 0], "¿De qué va?\nA. pagos\nB. envíos: paquetes, pedidos"),
            (
                "or nothing",
                &choose.clone().or_nothing(),
                &[0, 2, 1],
                "¿De qué va?\nA. envíos: paquetes, pedidos\n\
                 B. none: None of the options fits the state\nC. pagos",
            ),
            ("rate", &rate, &[0, 1, 2], "¿Cuánto enojo?\nA. calma\nB. molestia\nC. ira"),
            (
                "nothing said",
                &unsaid,
                &[0, 1],
                "Which option fits the text?\nA. envíos: paquetes, pedidos\nB. pagos",
            ),
        ];
        for (name, question, order, want) in cases {
            let asked = Shown { question, order };
            assert_eq!(text(Manner { chat: true }, &asked), format!("{before}{want}"), "{name}");
            let want = format!("{before}{want}\nAnswer:");
            assert_eq!(text(Manner { chat: false }, &asked), want, "{name}");
        }
    }
}
