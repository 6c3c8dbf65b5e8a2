//! Choices of more options than are asked at once: rounds, and a gate that they never pass.

use crate::common;

use recinto_judge::{
    Choice, Fraction, Gate, Judge, Kind, Mock, Mode, Outcome, Question, Questions, Reason, State,
    Trial, Unavailable,
    gate::{Cell, Demands, Promise, Terms},
};

const STATE: &str = "un paquete azul de año nuevo";

fn options(count: usize, best: usize) -> Vec<Choice> {
    let option = |at| match at == best {
        true => Choice::new("el-bueno", "paquete azul nuevo"),
        false => Choice::plain(format!("opción {at:04}")),
    };
    (0..count).map(option).collect()
}

fn judge() -> Judge<Mock> {
    Judge::new(Mock::default(), Mode::default())
}

/// A gate that passes everything of the bucket of few options.
fn open_gate(judge: &Judge<Mock>, question: &Question) -> Gate {
    let trial = Trial { confidence: 0.3, correct: true };
    let rows: Vec<(Cell, Trial)> = (0..500).map(|_| (question.bucket().into(), trial)).collect();
    let terms = Terms {
        promise: Promise::Selective,
        risk: Fraction(0.05),
        delta: Fraction(0.05),
        sides: false,
        any_question: false,
    };
    let rows = common::draws(&rows, question.digest());
    Gate::fit(judge.identity(), None, 0, &rows, terms, Demands::default()).expect("a gate")
}

#[test]
fn the_best_wins_and_never_passes() {
    let state = State::text(STATE);
    for (count, best, rounds) in [(40, 0, 2), (300, 299, 3), (1000, 512, 3), (16, 7, 1)] {
        let question = Question::choose("¿Cuál?", options(count, best));
        let mut judge = judge();
        let among = judge.among(&state, "q", &question, 16).expect("a judgement");
        let name = format!("{count} options");
        assert_eq!((among.rounds.options, among.rounds.rounds), (count as u64, rounds), "{name}");
        let answer = among.answer.as_ref().expect("an answer");
        assert_eq!(answer.label(), Some("el-bueno"), "{name}");
        assert!(answer.probabilities().len() <= 16, "{name}");
        assert_eq!(judge.backend().calls, rounds, "{name}: one call a round");
        let gate = open_gate(&judge, &among.question);
        assert!(gate.decide(Ok(answer)).is_pass(), "{name}: the gate alone would let it pass");
        match among.decide(&gate) {
            Outcome::Review { reasons } => {
                let options = count as u64;
                assert_eq!(reasons, [Reason::Rounds { options, rounds }], "{name}");
            }
            other => assert!(rounds == 1 && other.is_pass(), "{name}: {other:?}"),
        }
    }
}

#[test]
fn nothing_is_asked_for_at_the_end() {
    let question = Question::choose("¿Cuál?", options(40, 100)).or_nothing();
    let among = judge().among(&State::text("x y"), "q", &question, 16).expect("a judgement");
    assert_eq!(among.answer.expect("an answer").label(), None, "none fits");
}

#[test]
fn what_has_no_rounds() {
    let state = State::text(STATE);
    let twice = [options(30, 3), options(1, 100)].concat();
    let cases = [
        ("no choice", Question::whether("¿Sí?"), 16),
        ("a group of one", Question::choose("¿Cuál?", options(30, 3)), 1),
        ("no option", Question::choose("¿Cuál?", []), 16),
        ("a label twice, far apart", Question::choose("¿Cuál?", twice), 16),
    ];
    for (name, question, group) in cases {
        let mut judge = judge();
        let error = judge.among(&state, "q", &question, group).expect_err(name);
        assert_eq!(error.kind(), Kind::Question, "{name}: {error}");
        assert_eq!(judge.backend().calls, 0, "{name}: before a token is spent");
    }
    let mut short = Judge::new(Mock { room: 2, ..Mock::default() }, Mode::default());
    let question = Question::choose("¿Cuál?", options(40, 3));
    let among = short.among(&state, "q", &question, 16).expect("no error");
    assert!(matches!(among.answer, Err(Unavailable::TooLong { .. })), "{:?}", among.answer);
}

/// A part of a choice has not all labels: what the instructions name is a label of the whole.
#[test]
fn parts_are_not_checked_again() {
    let mut all = options(40, 3);
    all[30].label = "v1.2".into();
    for (name, text, want) in [
        ("a label with a dot", "¿Cuál, si `v1.2` es la versión del año?", true),
        ("a path to nothing", "¿Cuál, si `v9.9` es la versión del año?", false),
    ] {
        let question = Question::choose(text, all.clone());
        let found = judge().among(&State::text(STATE), "q", &question, 16);
        match want {
            true => {
                let among = found.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(among.answer.expect(name).label(), Some("el-bueno"), "{name}");
                assert!(among.warnings.is_empty(), "{name}: {:?}", among.warnings);
            }
            false => {
                let error = found.expect_err(name).to_string();
                assert!(error.contains("missing-path") && error.contains("`q`"), "{name}: {error}");
            }
        }
    }
}

/// Logits stand beside answers, and are what probabilities are made of.
#[test]
fn logits_of_answers() {
    let questions = Questions::new()
        .with("a", Question::choose("¿Cuál?", options(5, 2)))
        .and_then(|q| q.with("b", Question::whether("azul")))
        .expect("two ids");
    let judgement = judge().judge(&State::text(STATE), &questions).expect("a judgement");
    assert_eq!(judgement.logits.len(), 2);
    for ((_, answer), logits) in judgement.answers.iter().zip(&judgement.logits) {
        let p = recinto_judge::readout::softmax(logits.as_ref().expect("logits"), 1.0);
        let answer = answer.as_ref().expect("an answer");
        for (share, p) in answer.probabilities().iter().zip(p) {
            assert!((share.p - p).abs() < 1e-12);
        }
    }
    let mut short = Judge::new(Mock { room: 2, ..Mock::default() }, Mode::default());
    let judgement = short.judge(&State::text(STATE), &questions).expect("a judgement");
    assert_eq!(judgement.logits, [None, None]);
}
