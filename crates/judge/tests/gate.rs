//! What a gate is bound to, which labels it counts, and prediction sets.

use std::collections::BTreeMap;

use crate::common;
use recinto_judge::{
    Answer, Artefact, Choice, Facts, Fraction, Gate, Identity, Judge, Mock, Mode, Outcome,
    Question, Reason, Unavailable,
    gate::{Demand, Demands, Draw, Finding, Promise, Refusal, Terms},
    rows::Stream,
};
use recinto_receipt::{Digest, sha256};

fn identity() -> Identity {
    Judge::new(Mock::default(), Mode::default()).identity()
}

fn terms(promise: Promise) -> Terms {
    let (risk, delta) = (Fraction(0.1), Fraction(0.05));
    Terms { promise, risk, delta, sides: false, any_question: false }
}

/// An answer to a question about a state, with its options by number.
fn answer(question: &str, state: u32, p: &[f64], change: impl Fn(&mut Facts)) -> Answer {
    let mut facts = common::facts(&identity(), question.as_bytes(), &state.to_le_bytes());
    change(&mut facts);
    let labels = (0..p.len()).map(|i| Choice::plain(format!("opción {i}")));
    Answer::new(&Question::choose(question, labels), p, facts).unwrap()
}

const SURE: [f64; 3] = [0.95, 0.03, 0.02];

/// Labels that are all right.
fn right(n: u32, question: &str, change: impl Fn(&mut Facts)) -> Vec<Draw> {
    let of = |state| answer(question, state, &SURE, &change);
    (0..n).map(|state| Demands::default().draw(&of(state), 0, 0)).collect()
}

fn fit(draws: &[Draw], calibration: Option<Digest>, terms: Terms) -> Gate {
    Gate::fit(identity(), calibration, 0, draws, terms, Demands::default()).unwrap()
}

fn why(outcome: &Outcome) -> String {
    let json = serde_json::to_value(outcome).unwrap();
    let why = match outcome {
        Outcome::Pass { .. } => &json["outcome"],
        Outcome::Review { .. } => &json["reasons"][0]["why"],
        Outcome::Unavailable { .. } => &json["reason"]["why"],
    };
    why.as_str().unwrap().to_owned()
}

/// A calibration need not have a map for every form. Where it had none at the fit, an answer
/// without one passes; another calibration, or one too few, never does.
#[test]
fn a_gate_expects_the_calibration_that_it_was_fitted_with() {
    let (one, other) = (Some(sha256(b"calibration")), Some(sha256(b"otra")));
    // Calibration of the gate, of its rows, of an answer.
    let cases = [
        ("none anywhere", None, None, None, "pass"),
        ("none, and then one", None, None, one, "other-calibration"),
        ("with a map", one, one, one, "pass"),
        ("with a map, and then without", one, one, None, "other-calibration"),
        ("with a map, and then another", one, one, other, "other-calibration"),
        ("no map for the form", one, None, None, "pass"),
        ("no map for the form, and then one", one, None, one, "other-calibration"),
        ("no map for the form, and then another", one, None, other, "other-calibration"),
    ];
    for promise in [Promise::Multistart, Promise::Sets] {
        for (name, gate, rows, asked, want) in cases {
            let gate = fit(&right(90, "¿Qué?", |f| f.calibrated = rows), gate, terms(promise));
            let asked = answer("¿Qué?", 999, &SURE, |f| f.calibrated = asked);
            assert_eq!(why(&gate.decide(Ok(&asked))), want, "{name}, {promise:?}");
            assert_eq!(Gate::from_bytes(&gate.to_bytes()).unwrap(), gate, "{name}");
        }
    }
    // What no gate can be fitted on.
    let mixed =
        [right(50, "¿Qué?", |f| f.calibrated = Some(sha256(b"c"))), right(50, "¿Qué?", |_| {})];
    let foreign = right(50, "¿Qué?", |f| f.calibrated = Some(sha256(b"otra")));
    for draws in [mixed.concat(), foreign] {
        let calibration = Some(sha256(b"c"));
        let made = Gate::fit(
            identity(),
            calibration,
            0,
            &draws,
            terms(Promise::Selective),
            Demands::default(),
        );
        assert_eq!(made.unwrap_err().kind(), recinto_judge::Kind::Rows);
    }
}

#[test]
fn a_gate_is_for_the_questions_that_were_labelled() {
    let draws = right(120, "¿Es urgente?", |_| {});
    let gate = fit(&draws, None, terms(Promise::Selective));
    assert_eq!(gate.questions(), &BTreeMap::from([(sha256("¿Es urgente?".as_bytes()), 120)]));
    let of = |question: &str| answer(question, 999, &SURE, |_| {});
    assert!(gate.decide(Ok(&of("¿Es urgente?"))).is_pass());
    let outcome = gate.decide(Ok(&of("¿Está enfadado?")));
    assert_eq!(outcome, Outcome::Review { reasons: vec![Reason::OtherQuestion] });
    let Outcome::Review { reasons } = outcome else { unreachable!() };
    let says = reasons[0].to_string();
    assert!(says.contains("label some records of it") && says.contains("--any-question"), "{says}");
    let any = Terms { any_question: true, ..terms(Promise::Selective) };
    assert!(fit(&draws, None, any).decide(Ok(&of("¿Está enfadado?"))).is_pass());
}

/// Copies are no evidence: 60 labels about six states are six.
#[test]
fn dependent_labels_are_counted_once() {
    let ten = |draws: Vec<Draw>| draws.iter().flat_map(|d| vec![d.clone(); 10]).collect::<Vec<_>>();
    let group = |draws: Vec<Draw>| -> Vec<Draw> {
        draws.into_iter().map(|draw| Draw { group: 7, ..draw }).collect()
    };
    let cases = [
        ("apart", right(90, "¿Qué?", |_| {}), 90, true),
        ("six states, ten times each", ten(right(6, "¿Qué?", |_| {})), 6, false),
        ("90 of one customer", group(right(90, "¿Qué?", |_| {})), 1, false),
        ("90 states, ten times each", ten(right(90, "¿Qué?", |_| {})), 90, true),
    ];
    for (name, draws, counted, certified) in cases {
        for promise in [Promise::Selective, Promise::FixedSequence, Promise::Multistart] {
            let gate = fit(&draws, None, terms(promise));
            let fit = gate.cells().values().next().unwrap();
            assert_eq!(fit.labels, draws.len() as u64, "{name}");
            assert_eq!(fit.labels - fit.repeated, counted, "{name}");
            assert_eq!(fit.is_certified(), certified, "{name}, {promise:?}: {:?}", fit.finding);
            let said = fit.remarks().join("; ");
            let want = format!("{counted} independent ones of {} labels", draws.len());
            assert_eq!(said.contains(&want), fit.repeated > 0, "{name}: {said}");
        }
    }
}

/// How many labels the demands keep out, and by which of them.
#[test]
fn demands_say_what_they_keep_out() {
    let low = right(60, "¿Qué?", |f| f.option_mass = Some(0.2));
    let gate = fit(&low, None, terms(Promise::Selective));
    let of = gate.cells().values().next().unwrap();
    assert_eq!(of.finding, Finding::Refused(Refusal::KeptOut { rows: 60 }), "no more labels help");
    assert_eq!(of.kept_out, BTreeMap::from([(Demand::OptionMass, 60)]));
    assert_eq!(of.remarks(), ["60 may not pass whatever their confidence: 60 by option mass"]);
    let sets = fit(&low, None, terms(Promise::Sets));
    let refused = sets.cells().values().next().unwrap().finding;
    assert_eq!(refused, Finding::Refused(Refusal::KeptOut { rows: 60 }));
    // A part of them: twice as many labels are needed for as many that may pass.
    let mut some = right(60, "¿Qué?", |_| {});
    some.iter_mut().skip(1).step_by(2).for_each(|draw| draw.unmet = Some(Demand::Orders));
    let fixed = Terms { risk: Fraction(0.05), ..terms(Promise::FixedSequence) };
    let gate = fit(&some, None, fixed);
    let of = gate.cells().values().next().unwrap();
    let Finding::Refused(Refusal::TooFew { rows: 60, missing }) = of.finding else {
        panic!("{:?}", of.finding)
    };
    assert!((56..=60).contains(&missing), "{missing}");
    assert_eq!(of.kept_out, BTreeMap::from([(Demand::Orders, 30)]));
}

/// Where another promise that says the same finds a threshold, that is said.
#[test]
fn another_promise_is_named() {
    let wrong = |at: u32, draw: &mut Draw| {
        draw.scored.p[0] = 0.95 - f64::from(at) * 1e-5;
        draw.scored.label = usize::from(at < 20);
    };
    let mut top = right(1000, "¿Qué?", |_| {});
    (0..).zip(&mut top).for_each(|(at, draw)| wrong(at, draw));
    let mut few = right(80, "¿Qué?", |_| {});
    (0..).zip(&mut few).for_each(|(at, draw)| draw.scored.p[0] = 0.95 - f64::from(at) * 1e-5);
    let cases = [
        ("wrong on top", &top, Promise::Selective, Some(Promise::Multistart)),
        ("wrong on top", &top, Promise::FixedSequence, Some(Promise::Multistart)),
        ("wrong on top", &top, Promise::Multistart, None),
        ("too few for a median", &few, Promise::Selective, Some(Promise::FixedSequence)),
        ("too few for anything", &few[..20].to_vec(), Promise::Selective, None),
    ];
    for (name, draws, promise, want) in cases {
        let gate = fit(draws, None, Terms { risk: Fraction(0.05), ..terms(promise) });
        let of = gate.cells().values().next().unwrap();
        assert_eq!(of.instead, want, "{name}: {:?}", of.finding);
        assert_eq!(Gate::from_bytes(&gate.to_bytes()).unwrap(), gate, "{name}");
    }
}

#[test]
fn one_option_left_passes() {
    let mut stream = Stream::new(8);
    let draws: Vec<Draw> = (0..500)
        .map(|state| {
            let z: Vec<f64> = (0..3).map(|_| stream.next() * 5.0).collect();
            let p = recinto_judge::readout::softmax(&z, 1.0);
            let (mut label, mut rest) = (0, stream.next());
            while label < 2 && rest >= p[label] {
                rest -= p[label];
                label += 1;
            }
            let answer = answer("¿Qué?", state, &p, |_| {});
            Demands::default().draw(&answer, label, 0)
        })
        .collect();
    let eight = answer("¿Cuál?", 1, &[0.125; 8], |_| {});
    let draws = [draws, vec![Demands::default().draw(&eight, 0, 0)]].concat();
    let gate = fit(&draws, None, terms(Promise::Sets));
    let refused = gate.cells().values().filter(|of| !of.is_certified()).count();
    assert_eq!(refused, 1, "one row of eight options");
    let of = |p: &[f64], change: fn(&mut Facts)| answer("¿Qué?", 9999, p, change);
    let sure = of(&[0.98, 0.01, 0.01], |_| {});
    assert!(gate.decide(Ok(&sure)).is_pass());
    assert_eq!(gate.set(&sure), Some(vec![0]));
    let open = of(&[0.4, 0.35, 0.25], |_| {});
    let Outcome::Review { reasons } = gate.decide(Ok(&open)) else { panic!("{open:?}") };
    let set = gate.set(&open).unwrap();
    assert!(set.len() > 1, "{set:?}");
    assert_eq!(reasons, [Reason::Set { options: set.len() as u64 }]);
    let cases: [(&str, Answer, &str); 5] = [
        ("model", of(&[0.98, 0.01, 0.01], |f| f.identity = sha256(b"y")), "other-model"),
        ("cut", of(&[0.98, 0.01, 0.01], |f| f.truncation.dropped = 1), "truncated"),
        ("question", answer("¿Y?", 1, &[0.98, 0.01, 0.01], |_| {}), "other-question"),
        ("no sets", answer("¿Qué?", 1, &[0.98, 0.02], |_| {}), "no-threshold"),
        ("too few rows", answer("¿Cuál?", 2, &[0.125; 8], |_| {}), "tie"),
    ];
    for (name, answer, want) in cases {
        assert_eq!(why(&gate.decide(Ok(&answer))), want, "{name}");
        assert!(name == "cut" || gate.set(&answer).is_none(), "{name}");
    }
    assert_eq!(why(&gate.decide(Err(&Unavailable::Offline))), "offline");
    let text = String::from_utf8(gate.to_bytes()).unwrap();
    for (name, edited) in [
        ("no miss", text.replacen("\"miss\":\"0.1\"", "\"miss\":\"0.0\"", 1)),
        ("a larger miss", text.replacen("\"miss\":\"0.1\"", "\"miss\":\"0.5\"", 1)),
        ("another promise", text.replacen("\"promise\":\"sets\"", "\"promise\":\"selective\"", 1)),
    ] {
        assert_ne!(edited, text, "{name}");
        assert!(Gate::from_bytes(edited.as_bytes()).is_err(), "{name}");
    }
}
