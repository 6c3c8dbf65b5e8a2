//! Requests and answers of both wires, and all that can be missing in them.

use recinto_judge::{Choice, Questions};

use super::*;

fn questions() -> Vec<(Question, Vec<usize>)> {
    let whether = r#"{"a": {"type": "noul", "instructions": "¿Es un fallo?",
        "criteria": {"true": "la página falla", "false": {"otro": 1}}}}"#;
    let whether = Questions::from_json(whether).unwrap();
    let whether = whether.iter().next().unwrap().1.clone();
    let options = [Choice::new("pagos", "cobros"), Choice::plain("envíos")];
    let choose = Question::choose("¿De qué va?", options).or_nothing();
    let rate = Question::rate("¿Cuánta prisa?", ["ninguna", "alguna", "mucha"]);
    vec![(whether, vec![0, 1]), (choose, vec![2, 0, 1]), (rate, vec![0, 1, 2])]
}

fn with<T>(run: impl FnOnce(&[Shown<'_>]) -> T) -> T {
    let all = questions();
    let shown: Vec<Shown<'_>> =
        all.iter().map(|(question, order)| Shown { question, order }).collect();
    run(&shown)
}

#[test]
fn requests_on_each_wire() {
    let state = State::from_json(r#"{"texto": "No abre", "n": 1.50}"#).unwrap();
    let systemone = json!({
        "model": "jev-1.13.0",
        "state": {"texto": "No abre", "n": 1.5},
        "questions": {
            "q1": {"type": "noul", "instructions": "¿Es un fallo?",
                "criteria": {"true": "la página falla", "false": {"otro": 1}}},
            "q2": {"type": "choice", "instructions": "¿De qué va?", "criteria": {
                "none": "None of the options fits the state", "pagos": "cobros", "envíos": null}},
            "q3": {"type": "score", "instructions": "¿Cuánta prisa?",
                "criteria": ["ninguna", "alguna", "mucha"]},
        },
    });
    let decisions = json!({
        "model": "jev-1.13.0",
        "input": "{\"texto\":\"No abre\",\"n\":1.5}",
        "questions": [
            {"type": "predicate", "name": "q1",
                "instructions": "¿Es un fallo?\nYes: la página falla\nNo: {\"otro\":1}"},
            {"type": "choice", "name": "q2", "instructions": "¿De qué va?", "choices": [
                {"value": "none", "description": "None of the options fits the state"},
                {"value": "pagos", "description": "cobros"}, {"value": "envíos"}]},
            {"type": "score", "name": "q3", "instructions": "¿Cuánta prisa?", "levels": [
                {"label": "0", "description": "ninguna"}, {"label": "1", "description": "alguna"},
                {"label": "2", "description": "mucha"}]},
        ],
    });
    for (wire, want) in [(Wire::SystemOne, systemone), (Wire::Decisions, decisions)] {
        let body = with(|shown| wire.body("jev-1.13.0", &state, shown));
        // As text: the order of keys is seen by the model.
        assert_eq!(body.to_string(), want.to_string(), "{}", wire.name());
        assert_eq!(Wire::from_name(wire.name()), Some(wire));
    }
    assert_eq!(Wire::from_name("chat"), None);
}

/// Probabilities in the slots of the questions above, or why there are none.
fn read(wire: Wire, answer: &Value) -> Vec<Result<Vec<f64>, Unavailable>> {
    let readings = with(|shown| wire.readings(answer, shown));
    let p = |reading: Reading| match reading.evidence {
        Evidence::Probabilities(p) => p,
        Evidence::Logits(_) => panic!("services tell probabilities"),
    };
    readings.into_iter().map(|reading| reading.map(p)).collect()
}

#[test]
fn answers_on_each_wire() {
    let systemone = json!({
        "model": "jev-1.13.0", "id": "x", "provider": "y",
        "answers": {
            "q1": {"type": "noul", "noul": 0.96},
            "q2": {"type": "choice", "choice": "pagos", "confidence": 0.67,
                "probabilities": {"pagos": 0.78, "envíos": 0.22, "none": 0.0}},
            "q3": {"type": "score", "score": 1.99, "confidence": 0.99, "more": [1],
                "probabilities": {"0": 0.0, "1": 0.01, "2": 0.99},
                "legend": {"0": "ninguna", "1": "alguna", "2": "mucha"}},
        },
        "usage": {"input_tokens": 476, "output_tokens": 70, "cost": 0.000019992},
    });
    let decisions = json!({
        "model": "jev-1.13.0",
        "answers": [
            {"type": "predicate", "name": "q1", "probability": 0.96},
            {"type": "score", "name": "q3", "score": 1.99, "probabilities": [
                {"value": 0, "label": "0", "probability": 0.0},
                {"value": 1, "label": "1", "probability": 0.01},
                {"value": 2, "label": "2", "probability": 0.99}]},
            {"type": "choice", "name": "q2", "choice": "pagos", "confidence": 0.67, "probabilities":
                [{"value": "envíos", "probability": 0.22}, {"value": "pagos", "probability": 0.78},
                {"value": "none", "probability": 0.0}]},
        ],
        "usage": {"prompt_tokens": 476, "completion_tokens": 70},
    });
    for (wire, answer) in [(Wire::SystemOne, systemone), (Wire::Decisions, decisions)] {
        let name = wire.name();
        let found = read(wire, &answer);
        let near = |yes: f64| (yes - 0.04).abs() < 1e-12;
        let first = found[0].as_ref().unwrap();
        assert!(near(first[0]) && first[1] == 0.96, "{name}: {first:?}");
        // In the slots, where "none" stands first.
        assert_eq!(found[1], Ok(vec![0.0, 0.78, 0.22]), "{name}");
        assert_eq!(found[2], Ok(vec![0.0, 0.01, 0.99]), "{name}");
        let readings = with(|shown| wire.readings(&answer, shown));
        let all: Vec<Reading> = readings.into_iter().map(Result::unwrap).collect();
        assert_eq!(all[0].model, Some(Model::Hosted { name: "jev-1.13.0".into() }), "{name}");
        assert_eq!(all[0].usage, Usage { input_tokens: 476, output_tokens: 70 }, "{name}");
        assert_eq!(all[1].usage, Usage::default(), "{name}: it counts once");
        assert!(all.iter().all(|reading| reading.mass.is_none()), "{name}: nobody knows it");
    }
}

#[test]
fn what_is_missing_is_no_number() {
    use Unavailable::{NoAnswer, NotANumber, Refused};
    let choice = |p: Value| json!({"answers": {"q2": {"type": "choice", "probabilities": p}}});
    let even = json!({"pagos": 0.5, "envíos": 0.5, "none": 0});
    // The answer, the place of a question, what comes of it.
    let cases: Vec<(&str, Value, usize, Unavailable)> = vec![
        ("nothing", json!({}), 0, NoAnswer),
        ("null", Value::Null, 0, NoAnswer),
        ("a list", json!([]), 1, NoAnswer),
        ("answers that are null", json!({"answers": null}), 0, NoAnswer),
        ("answers that are a list", json!({"answers": []}), 0, NoAnswer),
        ("no such question", json!({"answers": {"q9": {"noul": 0.5}}}), 0, NoAnswer),
        ("an unknown type", json!({"answers": {"q1": {"type": "box", "noul": 0.5}}}), 0, NoAnswer),
        ("another type", json!({"answers": {"q1": {"type": "choice", "noul": 0.5}}}), 0, NoAnswer),
        ("a refusal", json!({"answers": {"q1": {"type": "refusal"}}}), 0, Refused),
        ("no noul", json!({"answers": {"q1": {"type": "noul"}}}), 0, NoAnswer),
        ("a noul that is null", json!({"answers": {"q1": {"noul": null}}}), 0, NoAnswer),
        ("a noul that is text", json!({"answers": {"q1": {"noul": "0.5"}}}), 0, NotANumber),
        ("a noul beyond 1", json!({"answers": {"q1": {"noul": 1.5}}}), 0, NotANumber),
        ("a choice alone", json!({"answers": {"q2": {"choice": "pagos"}}}), 1, NoAnswer),
        ("probabilities that are null", choice(Value::Null), 1, NoAnswer),
        ("probabilities that are text", choice("x".into()), 1, NotANumber),
        ("a label is missing", choice(json!({"pagos": 0.9, "none": 0.1})), 1, NotANumber),
        ("other labels", choice(json!({"a": 0.9, "b": 0.1, "c": 0})), 1, NotANumber),
        ("below 0", choice(json!({"pagos": 1.1, "envíos": -0.1, "none": 0})), 1, NotANumber),
        ("a sum of 2", choice(json!({"pagos": 1, "envíos": 1, "none": 0})), 1, NotANumber),
        ("a sum of 0", choice(json!({"pagos": 0, "envíos": 0, "none": 0})), 1, NotANumber),
        (
            "a choice that is not the first",
            json!({"answers": {"q2": {"choice": "none", "probabilities": even}}}),
            1,
            NotANumber,
        ),
        (
            "a choice of no label",
            json!({"answers": {"q2": {"choice": "x", "probabilities": even}}}),
            1,
            NotANumber,
        ),
        (
            "a score from 0 to 1",
            json!({"answers": {"q3": {"score": 0.99,
                "probabilities": {"0": 0, "1": 0.01, "2": 0.99}}}}),
            2,
            NotANumber,
        ),
        (
            "a level is missing",
            json!({"answers": {"q3": {"probabilities": {"2": 1}}}}),
            2,
            NotANumber,
        ),
        ("a score alone", json!({"answers": {"q3": {"type": "score", "score": 2}}}), 2, NoAnswer),
    ];
    for (name, answer, at, want) in cases {
        let found = read(Wire::SystemOne, &answer);
        assert_eq!(found[at], Err(want), "{name}");
    }
    // One fault is no fault of the others; neither usage nor model nor confidence is needed.
    let answer = json!({"answers": {"q1": {"noul": 2}, "q2": {"probabilities": even}}});
    let found = read(Wire::SystemOne, &answer);
    assert_eq!(found[1], Ok(vec![0.0, 0.5, 0.5]));
    assert!(found[0].is_err() && found[2].is_err());
    // Answers of a list without names are in the order of the questions, or belong to nobody.
    let unnamed = json!({"answers": [{"type": "predicate", "name": null, "probability": 1}]});
    assert_eq!(read(Wire::Decisions, &unnamed)[0], Ok(vec![0.0, 1.0]));
    let mixed = json!({"answers": [{"probability": 1}, {"name": "q2", "probability": 1}]});
    assert_eq!(read(Wire::Decisions, &mixed)[0], Err(NoAnswer));
    let refused = json!({"answers": [{"type": "refusal", "name": "q1"}]});
    assert_eq!(read(Wire::Decisions, &refused)[0], Err(Refused));
}
