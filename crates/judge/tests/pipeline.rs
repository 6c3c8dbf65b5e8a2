//! From a question to an outcome through the mock: orders, prior, calibration, artefacts, gate.

use crate::common;

use proptest::prelude::*;
use recinto_judge::{
    Abilities, Answer, Artefact, Backend, Bucket, Calibration, Choice, Evidence, Facts, Form,
    Fraction, Gate, Identity, Judge, Kind, Mock, Mode, Model, Orders, Outcome, Question, Questions,
    Reading, Row, Settings, Shown, State, Trial, Truncation, Unavailable, Usage, Value,
    calibrate::Method,
    check::Readout,
    gate::{Demand, Demands, Finding, Promise, Refusal, Terms},
    rows::Stream,
};

fn team() -> Question {
    Question::choose(
        "Who should read this?",
        [
            Choice::new("pagos", "cobros tarjetas facturas"),
            Choice::new("acceso", "contraseña cuenta entrar"),
            Choice::new("envíos", "paquete pedido entrega"),
        ],
    )
}

fn one(question: Question) -> Questions {
    Questions::new().with("q", question).unwrap()
}

fn ask<B: Backend>(judge: &mut Judge<B>, state: &str, q: Question) -> Result<Answer, Unavailable> {
    judge.judge(&State::text(state), &one(q)).unwrap().answers.remove(0).1
}

#[test]
fn the_three_forms() {
    let state = State::text("¿Por qué hay dos cobros y facturas? Es un error grave, devuélvanlo");
    let questions = one(team())
        .with("urgente", Question::whether("error grave cobros"))
        .unwrap()
        .with("enojo", Question::rate("¿Cuánto enojo?", ["calma", "molestia", "error grave"]))
        .unwrap()
        .with(
            "otra",
            Question::choose("x y", [Choice::plain("mar"), Choice::plain("sol")]).or_nothing(),
        )
        .unwrap();
    let mut judge = Judge::new(Mock::default(), Mode::default());
    let judgement = judge.judge(&state, &questions).unwrap();
    assert_eq!(judge.backend().calls, 1, "one call for all questions");
    assert!(judgement.usage.input_tokens > 0);
    let answers: Vec<&Answer> =
        judgement.answers.iter().map(|(_, answer)| answer.as_ref().unwrap()).collect();
    assert_eq!(answers[0].value(), &Value::Option { index: 0 });
    assert_eq!(answers[0].label(), Some("pagos"));
    assert!(matches!(answers[1].value(), Value::Whether { yes } if *yes > 0.9));
    assert!(
        matches!(answers[2].value(), Value::Level { likeliest: 2, expected } if *expected > 1.5)
    );
    assert_eq!((answers[3].value(), answers[3].label()), (&Value::Nothing, None));
    for answer in &answers {
        let sum: f64 = answer.probabilities().iter().map(|share| share.p).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert_eq!(answer.facts().calibrated, None, "nobody calibrated it");
        let json = serde_json::to_string(answer).unwrap();
        assert_eq!(&Answer::from_json(&json).unwrap(), *answer, "to the bit: {json}");
        assert_eq!(Answer::from_json(&json).unwrap().digest(), answer.digest());
    }
    let again = Judge::new(Mock::default(), Mode::default()).judge(&state, &questions).unwrap();
    assert_eq!(again.answers, judgement.answers, "the same again");
    // As the hosted API writes it.
    let wire = answers[1].to_hosted(&Question::whether("x"), 2);
    assert!(wire.get("confidence").is_none(), "noul has none: {wire}");
    let question = Question::rate("x", ["calma", "molestia", "error grave"]);
    let wire = answers[2].to_hosted(&question, 2);
    assert_eq!(wire["legend"]["2"], "error grave");
    assert_eq!(answers[3].to_hosted(&team(), 4)["choice"], "none");
}

#[test]
fn an_edited_answer_is_refused() {
    let mut judge = Judge::new(Mock::default(), Mode::default());
    let answer = ask(&mut judge, "dos cobros", team()).unwrap();
    let json = serde_json::to_string(&answer).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    type Edit = (&'static str, fn(&mut serde_json::Value));
    let edits: [Edit; 8] = [
        ("confidence", |v| v["confidence"] = 0.999.into()),
        ("max p", |v| v["answer_confidence"] = 0.999.into()),
        ("value", |v| v["value"]["index"] = 1.into()),
        ("probability", |v| v["probabilities"][0]["p"] = 5.0.into()),
        ("form", |v| v["type"] = "score".into()),
        ("another key", |v| v["more"] = 1.into()),
        ("mass", |v| v["option_mass"] = 2.0.into()),
        ("no digest", |v| v["identity"] = "md5:00".into()),
    ];
    for (name, edit) in edits {
        let mut edited = value.clone();
        edit(&mut edited);
        assert!(Answer::from_json(&edited.to_string()).is_err(), "{name}");
    }
    assert!(Answer::from_json(&value.to_string()).is_ok());
}

#[test]
fn orders_cancel_a_preference_for_places() {
    let leaning = || Mock { lean: 6.0, ..Mock::default() };
    let mode = |orders| Mode { orders, enough: f64::INFINITY, prior: None };
    let state = "mi paquete, mi pedido";
    let mut biased = Judge::new(leaning(), mode(Orders::Declared));
    assert_eq!(ask(&mut biased, state, team()).unwrap().label(), Some("pagos"), "the first place");
    let mut fair = Judge::new(leaning(), mode(Orders::Cyclic));
    let answer = ask(&mut fair, state, team()).unwrap();
    assert_eq!(answer.label(), Some("envíos"));
    let order = answer.facts().order.unwrap();
    assert_eq!(order.readings, 3);
    assert!(order.flips > 0, "and it is said that the order mattered");
    let mut straight = Judge::new(Mock::default(), mode(Orders::Cyclic));
    let unbiased = ask(&mut straight, state, team()).unwrap();
    for (a, b) in answer.probabilities().iter().zip(unbiased.probabilities()) {
        assert!((a.p - b.p).abs() < 1e-9, "{a:?} {b:?}");
    }
    // A clear answer is not read again and again.
    let mut quick = Judge::new(Mock::default(), Mode { enough: 1.0, ..mode(Orders::Cyclic) });
    ask(&mut quick, state, team()).unwrap();
    assert_eq!(quick.backend().calls, 1);
}

#[test]
fn what_cannot_be_answered_says_why() {
    let mut long = Judge::new(Mock { room: 2, ..Mock::default() }, Mode::default());
    let why = ask(&mut long, "uno dos tres cuatro cinco seis", team()).unwrap_err();
    assert!(matches!(why, Unavailable::TooLong { tokens: 6, room: 2 }), "{why:?}");
    let cuts = Mock { room: 2, cuts: true, ..Mock::default() };
    let answer = ask(&mut Judge::new(cuts, Mode::default()), "uno dos tres", team()).unwrap();
    assert_eq!(answer.facts().truncation.dropped, 1);
    let broken = |evidence: Evidence| {
        let mut judge = Judge::new(Fixed { evidence, few: false }, Mode::default());
        ask(&mut judge, "x", team()).unwrap_err()
    };
    for evidence in [
        Evidence::Logits(vec![0.0, f64::NAN, 1.0]),
        Evidence::Logits(vec![0.0, f64::INFINITY, 1.0]),
        Evidence::Logits(vec![0.0, 1.0]),
        Evidence::Logits(vec![]),
        Evidence::Probabilities(vec![0.5, 0.7, -0.2]),
        Evidence::Probabilities(vec![0.5, f64::NAN, 0.5]),
    ] {
        assert_eq!(broken(evidence.clone()), Unavailable::NotANumber, "{evidence:?}");
    }
    let silent = Fixed { evidence: Evidence::Logits(vec![]), few: true };
    let why = ask(&mut Judge::new(silent, Mode::default()), "x", team()).unwrap_err();
    assert_eq!(why, Unavailable::NoAnswer);
    let options = (0..30).map(|i| Choice::plain(format!("o{i:02}")));
    let small = Fixed { evidence: Evidence::Logits(vec![]), few: false };
    let many = Question::choose("x", options);
    let why = ask(&mut Judge::new(small, Mode::default()), "x", many).unwrap_err();
    assert_eq!(why, Unavailable::TooManyOptions { options: 30, most: 20 });
    let mut judge = Judge::new(Mock::default(), Mode::default());
    let error = judge.judge(&State::text("x"), &one(Question::whether(" "))).unwrap_err();
    assert_eq!(error.kind(), Kind::Question);
    assert_eq!(judge.backend().calls, 0, "before a token is spent");
    assert!(judge.judge(&State::text("x"), &Questions::new()).is_err());
}

/// A backend that always says the same.
struct Fixed {
    evidence: Evidence,
    few: bool,
}

impl Backend for Fixed {
    fn model(&self) -> Model {
        Model::Hosted { name: "fixed-1.0.0".into() }
    }

    fn reading(&self) -> String {
        "fixed/1".into()
    }

    fn abilities(&self) -> Abilities {
        Abilities { options: 20, readout: Readout::Marks }
    }

    fn read(
        &mut self,
        _: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        let reading = || Reading {
            evidence: self.evidence.clone(),
            mass: None,
            truncation: Truncation::default(),
            model: None,
            usage: Usage::default(),
        };
        let count = if self.few { 0 } else { shown.len() };
        Ok((0..count).map(|_| Ok(reading())).collect())
    }
}

#[test]
fn a_service_gives_probabilities() {
    let evidence = Evidence::Probabilities(vec![0.78, 0.22, 0.0]);
    let mut judge = Judge::new(Fixed { evidence, few: false }, Mode::default());
    let answer = ask(&mut judge, "x", team()).unwrap();
    assert!((answer.confidence() - 0.67).abs() < 1e-5, "the published 0.67");
    assert_eq!(answer.facts().option_mass, None, "nobody can know");
    let wire = answer.to_hosted(&team(), 2);
    assert_eq!(wire["probabilities"]["pagos"], 0.78);
    assert_eq!(wire["confidence"], 0.67);
}

#[test]
fn a_prior_weakens_what_is_always_said() {
    let mode = Mode { prior: Some(1.0), ..Mode::default() };
    let evidence = Evidence::Logits(vec![2.0, 0.0, 0.0]);
    let mut judge = Judge::new(Fixed { evidence, few: false }, mode);
    let first = ask(&mut judge, "x", team()).unwrap();
    assert!(first.facts().prior_inputs.is_none() && first.answer_confidence() > 0.7);
    let mut last = first;
    for _ in 0..10 {
        last = ask(&mut judge, "x", team()).unwrap();
    }
    assert_eq!(last.facts().prior_inputs, Some(11));
    assert!((last.answer_confidence() - 1.0 / 3.0).abs() < 1e-9);
}

/// Rows of a model that is twice as sure as it should be.
fn rows(form: Form, options: usize, n: usize, seed: u64) -> Vec<Row> {
    let mut stream = Stream::new(seed);
    (0..n)
        .map(|_| {
            let z: Vec<f64> = (0..options).map(|_| stream.next() * 5.0).collect();
            let p = recinto_judge::readout::softmax(&z, 1.0);
            let (mut label, mut rest) = (0, stream.next());
            while label + 1 < options && rest >= p[label] {
                rest -= p[label];
                label += 1;
            }
            Row::new(form, z.iter().map(|z| z * 2.0).collect(), label).unwrap()
        })
        .collect()
}

fn identity() -> Identity {
    Judge::new(Mock::default(), Mode::default()).identity()
}

#[test]
fn a_calibration_is_bound_to_its_model() {
    let mut all = rows(Form::Choose, 3, 5000, 1);
    all.extend(rows(Form::Choose, 8, 300, 2));
    all.extend(rows(Form::Whether, 2, 3000, 3));
    all.extend(rows(Form::Rate, 4, 6, 4));
    let settings = Settings { whether: Method::Platt, ..Settings::default() };
    let (calibration, skipped) = Calibration::fit(identity(), 1_800_000_000, &all, &settings);
    let buckets: Vec<String> = calibration.buckets().keys().map(Bucket::to_string).collect();
    assert_eq!(buckets, ["choice:3-5"], "others have fewer than 2,000 rows to fit on");
    assert_eq!(calibration.forms().len(), 2);
    assert!(skipped.iter().any(|s| s.form == Form::Rate && s.bucket.is_none()), "6 rows");
    let entry = &calibration.buckets()[&"choice:3-5".parse().unwrap()];
    let temperature = entry.map.temperature().unwrap();
    assert!((temperature - 2.0).abs() < 0.15, "{temperature}");
    let (before, after) = (entry.before.unwrap(), entry.after.unwrap());
    assert!(after.ece.0 < before.ece.0 && after.loss.0 < before.loss.0, "on rows left out");
    assert!(calibration.map(Form::Choose, 8).is_some(), "the map of the form");
    assert!(calibration.map(Form::Rate, 4).is_none());

    let bytes = calibration.to_bytes();
    assert_eq!(Calibration::from_bytes(&bytes).unwrap(), calibration);
    assert_eq!(Calibration::from_bytes(&bytes).unwrap().digest(), calibration.digest());
    let text = String::from_utf8(bytes).unwrap();
    let edits: [(&str, String, Kind); 8] = [
        ("blank", text.replacen(':', ": ", 1), Kind::NotCanonical),
        ("schema", text.replacen("\"schema\":1", "\"schema\":2", 1), Kind::Schema),
        ("key", text.replacen("{\"buckets\"", "{\"a\":1,\"buckets\"", 1), Kind::Json),
        ("nan", text.replacen(&format!("{temperature:?}"), "NaN", 1), Kind::Json),
        ("far", text.replacen(&format!("{temperature:?}"), "0.1", 1), Kind::Number),
        ("bucket", text.replacen("choice:3-5", "choice:3-6", 1), Kind::Json),
        ("cut", text[..text.len() - 1].to_owned(), Kind::Json),
        ("empty", String::new(), Kind::Json),
    ];
    for (name, edited, want) in edits {
        assert_ne!(edited, text, "{name}");
        let error = Calibration::from_bytes(edited.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), want, "{name}: {error}");
    }

    let judge = |mock: Mock, mode: Mode| Judge::new(mock, mode).calibrated(calibration.clone());
    let others = [
        ("weights", Mock { seed: 9, ..Mock::default() }, Mode::default()),
        ("orders", Mock::default(), Mode { orders: Orders::Two, ..Mode::default() }),
        ("prior", Mock::default(), Mode { prior: Some(0.75), ..Mode::default() }),
    ];
    for (name, mock, mode) in others {
        let error = judge(mock, mode).err().unwrap();
        assert_eq!(error.kind(), Kind::OtherModel, "{name}");
        assert!(error.what().contains(name), "{name}: {error}");
    }
    let mut calibrated = judge(Mock::default(), Mode::default()).unwrap();
    let mut plain = Judge::new(Mock::default(), Mode::default());
    let state = "dos cobros en mi cuenta";
    let (a, b) =
        (ask(&mut calibrated, state, team()).unwrap(), ask(&mut plain, state, team()).unwrap());
    assert_eq!(a.facts().calibrated, Some(calibration.digest()));
    assert_eq!(a.facts().temperature, Some(temperature));
    assert!(a.answer_confidence() < b.answer_confidence() && a.label() == b.label());
    let rate = Question::rate("¿Cuánto enojo?", ["poco", "algo", "mucho"]);
    let answer = ask(&mut calibrated, state, rate).unwrap();
    assert_eq!(answer.facts().calibrated, None, "no map for it, and the answer says so");
}

/// A map holds for counts of options like those that it was fitted on, and for no others.
#[test]
fn a_map_holds_for_counts_it_has_seen() {
    let fit = |counts: &[usize], bucket_rows: usize| {
        let n = if bucket_rows == 0 { 400 } else { 200 };
        let all: Vec<Row> = counts
            .iter()
            .enumerate()
            .flat_map(|(at, count)| rows(Form::Choose, *count, n, at as u64))
            .collect();
        let settings = Settings { bucket_rows, ..Settings::default() };
        Calibration::fit(identity(), 0, &all, &settings).0
    };
    // Fitted on; with a map for each bucket or for the form alone; asked; mapped.
    let cases: [(&[usize], usize, usize, bool); 17] = [
        (&[2], 2000, 2, true),
        (&[2], 2000, 3, false),
        (&[2], 2000, 60, false),
        (&[3], 2000, 4, true),
        (&[3], 2000, 5, true),
        (&[3], 2000, 6, false),
        (&[3], 2000, 2, false),
        (&[2, 8], 2000, 4, false),
        (&[2, 8], 2000, 10, true),
        (&[2, 20], 2000, 7, false),
        (&[12, 40], 2000, 20, true),
        (&[12, 40], 2000, 11, false),
        (&[12, 40], 2000, 41, false),
        (&[12, 40], 2000, 255, false),
        (&[12, 40], 0, 20, true),
        (&[12, 40], 0, 41, false),
        (&[3, 8], 0, 2, false),
    ];
    for (counts, bucket_rows, asked, want) in cases {
        let fitted = fit(counts, bucket_rows);
        let name = format!("fitted on {counts:?}, {bucket_rows}, asked about {asked}");
        assert_eq!(fitted.buckets().is_empty(), bucket_rows > 0, "{name}");
        assert_eq!(fitted.map(Form::Choose, asked).is_some(), want, "{name}");
        assert_eq!(Calibration::from_bytes(&fitted.to_bytes()).unwrap(), fitted, "{name}");
        // The same said by an answer.
        let digest = fitted.digest();
        let mut judge = Judge::new(Mock::default(), Mode::default()).calibrated(fitted).unwrap();
        let options = (0..asked).map(|i| Choice::plain(format!("opción {i:03}")));
        let answer = ask(&mut judge, "un año", Question::choose("¿Cuál?", options)).unwrap();
        assert_eq!(answer.facts().calibrated, want.then_some(digest), "{name}");
    }
    let text = String::from_utf8(fit(&[3, 12], 2000).to_bytes()).unwrap();
    for (name, from, to) in [
        ("of another bucket", "\"choice:3-5\":[3,3]", "\"choice:3-5\":[3,6]"),
        ("the wrong way round", "\"choice:11+\":[12,12]", "\"choice:11+\":[12,11]"),
        ("of another form", "\"choice:3-5\":[3,3]", "\"score:3-5\":[3,3]"),
    ] {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{name}");
        let error = Calibration::from_bytes(edited.as_bytes()).expect_err(name);
        assert_eq!(error.kind(), Kind::Number, "{name}: {error}");
    }
}

#[test]
fn dtype_and_kind_of_model_are_told_apart() {
    let local = |dtype: &str| Identity {
        model: Model::Local { digest: recinto_receipt::sha256(b"w"), dtype: dtype.into() },
        reading: "letters/1".into(),
        orders: Orders::Declared,
        prior: recinto_judge::Correction::None,
    };
    let hosted =
        |name: &str| Identity { model: Model::Hosted { name: name.into() }, ..local("f32") };
    assert!(local("f32").must_be(&local("f32"), "x").is_ok());
    for (a, b, word) in [
        (local("q8_0"), local("f32"), "dtype"),
        (hosted("jev-1.13.0"), hosted("jev-1.14.0"), "model"),
        (hosted("jev-1.13.0"), local("f32"), "model"),
        (Identity { reading: "letters/2".into(), ..local("f32") }, local("f32"), "readout"),
    ] {
        let error = a.must_be(&b, "the gate").unwrap_err();
        assert!(error.what().contains(word), "{error}");
    }
}

fn facts(identity: &Identity) -> Facts {
    common::facts(identity, b"x", b"x")
}

fn terms(promise: Promise) -> Terms {
    Terms {
        promise,
        risk: Fraction(0.05),
        delta: Fraction(0.05),
        sides: false,
        any_question: false,
    }
}

/// A gate of three options whose threshold is near 0.8; two options are refused.
fn gate(promise: Promise) -> Gate {
    let few = Bucket::of(Form::Choose, 3);
    let two = Bucket::of(Form::Choose, 2);
    let mut stream = Stream::new(5);
    let mut rows = Vec::new();
    for _ in 0..4000 {
        let confidence = 1.0 / 3.0 + stream.next() * 2.0 / 3.0;
        let right = if confidence > 0.8 { 0.995 } else { 0.5 };
        rows.push((few.into(), Trial { confidence, correct: stream.next() < right }));
        rows.push((two.into(), Trial { confidence, correct: stream.next() < 0.5 }));
    }
    let rows = common::draws(&rows, recinto_receipt::sha256(b"x"));
    let demands = Demands::default();
    Gate::fit(identity(), None, 1_800_000_000, &rows, terms(promise), demands).unwrap()
}

#[test]
fn a_gate_decides() {
    let gate = gate(Promise::Selective);
    let few = &gate.cells()[&Bucket::of(Form::Choose, 3).into()].finding;
    let Finding::Certified(certificate) = few else { panic!("{few:?}") };
    let threshold = certificate.threshold.0;
    assert!((0.7..0.85).contains(&threshold), "{threshold}");
    let two = &gate.cells()[&Bucket::of(Form::Choose, 2).into()].finding;
    assert!(matches!(two, Finding::Refused(Refusal::TooManyErrors { .. })), "{two:?}");

    let of = |p: &[f64], change: &dyn Fn(&mut Facts)| {
        let mut facts = facts(&identity());
        change(&mut facts);
        let labels = (0..p.len()).map(|i| Choice::plain(format!("o{i}")));
        Answer::new(&Question::choose("x", labels), p, facts)
    };
    let sure = [0.95, 0.03, 0.02];
    type Change<'a> = &'a dyn Fn(&mut Facts);
    let order = |flips| recinto_judge::debias::Sensitivity { readings: 3, flips, spread: 0.4 };
    let cases: [(&str, &[f64], Change<'_>, &str); 15] = [
        ("sure", &sure, &|_| {}, "pass"),
        ("unsure", &[0.6, 0.3, 0.1], &|_| {}, "below-threshold"),
        ("just below", &[threshold - 1e-9, 1.0 - threshold, 1e-9], &|_| {}, "below-threshold"),
        ("a tie", &[0.5, 0.5, 0.0], &|_| {}, "tie"),
        ("no threshold", &[0.99, 0.01], &|_| {}, "no-threshold"),
        ("unknown bucket", &[0.99, 0.01, 0.0, 0.0, 0.0, 0.0], &|_| {}, "no-threshold"),
        ("cut", &sure, &|f| f.truncation.dropped = 1, "truncated"),
        ("alike", &sure, &|f| f.truncation.options_alike = true, "truncated"),
        ("order", &sure, &|f| f.order = Some(order(1)), "order-sensitive"),
        ("steady", &sure, &|f| f.order = Some(order(0)), "pass"),
        ("mass", &sure, &|f| f.option_mass = Some(0.4), "low-mass"),
        ("mass unknown", &sure, &|f| f.option_mass = None, "pass"),
        (
            "another question",
            &sure,
            &|f| f.question = recinto_receipt::sha256(b"q"),
            "other-question",
        ),
        ("another model", &sure, &|f| f.identity = recinto_receipt::sha256(b"y"), "other-model"),
        (
            "calibrated",
            &sure,
            &|f| f.calibrated = Some(recinto_receipt::sha256(b"c")),
            "other-calibration",
        ),
    ];
    for (name, p, change, want) in cases {
        let answer = of(p, change).unwrap();
        let outcome = gate.decide(Ok(&answer));
        let json = serde_json::to_value(&outcome).unwrap();
        let why = match &outcome {
            Outcome::Pass { .. } => json["outcome"].clone(),
            Outcome::Review { .. } => json["reasons"][0]["why"].clone(),
            Outcome::Unavailable { .. } => json["reason"]["why"].clone(),
        };
        assert_eq!(why, want, "{name}: {json}");
        assert_eq!(serde_json::from_value::<Outcome>(json).unwrap(), outcome, "{name}");
        assert_eq!(outcome.is_pass(), want == "pass", "{name}");
    }
    for why in [Unavailable::NoAnswer, Unavailable::Offline, Unavailable::NotANumber] {
        assert_eq!(gate.decide(Err(&why)), Outcome::Unavailable { reason: why });
    }
    for p in [[0.9, f64::NAN, 0.1], [0.9, 0.9, 0.9], [f64::INFINITY, 0.0, 0.0], [1.2, -0.2, 0.0]] {
        assert_eq!(of(&p, &|_| {}).unwrap_err(), Unavailable::NotANumber, "{p:?}");
    }
    let nan_mass = of(&sure, &|f| f.option_mass = Some(f64::NAN));
    assert_eq!(nan_mass.unwrap_err(), Unavailable::NotANumber);
    // What may not pass for another reason is no evidence about what may.
    let demands = Demands::default();
    let draw = demands.draw(&of(&sure, &|f| f.truncation.dropped = 1).unwrap(), 0, 0);
    assert!(draw.trial().confidence.is_nan() && draw.unmet == Some(Demand::Whole));
    let draw = demands.draw(&of(&sure, &|_| {}).unwrap(), 0, 0);
    assert_eq!((draw.cell.to_string().as_str(), draw.trial().confidence), ("choice:3-5", 0.95));
    assert!(draw.trial().correct && draw.unmet.is_none());
}

const PROMISES: [Promise; 5] = [
    Promise::Selective,
    Promise::FixedSequence,
    Promise::Multistart,
    Promise::RiskControl,
    Promise::Sets,
];

#[test]
fn a_gate_is_an_artefact() {
    for promise in PROMISES {
        let gate = gate(promise);
        let bytes = gate.to_bytes();
        assert_eq!(Gate::from_bytes(&bytes).unwrap(), gate);
        assert_eq!(
            Gate::from_bytes(&[&bytes[..], b"\n"].concat()).unwrap().digest(),
            gate.digest()
        );
    }
    let gate = gate(Promise::Selective);
    let text = String::from_utf8(gate.to_bytes()).unwrap();
    let edits = [
        ("a looser risk", text.replacen("\"risk\":\"0.05\"", "\"risk\":\"0.0001\"", 1)),
        ("no risk", text.replacen("\"risk\":\"0.05\"", "\"risk\":\"0.0\"", 1)),
        ("a bucket", text.replacen("choice:3-5", "choice:tres", 1)),
        ("a key", text.replacen('{', "{\"a\":1,", 1)),
        ("a blank", text.replacen(',', ", ", 1)),
        ("one that never was", text.replacen("\"calibrated\":false", "\"calibrated\":true", 1)),
        ("sets", text.replacen("\"selective\"", "\"sets\"", 1)),
        ("more left out than there are", text.replacen("\"repeated\":0", "\"repeated\":9999", 1)),
        ("of an earlier version", text.replacen("\"schema\":2", "\"schema\":1", 1)),
    ];
    for (name, edited) in edits {
        assert_ne!(edited, text, "{name}");
        assert!(Gate::from_bytes(edited.as_bytes()).is_err(), "{name}");
    }
    let old = text.replacen("\"schema\":2", "\"schema\":1", 1);
    let old = Gate::from_bytes(old.as_bytes()).unwrap_err();
    assert_eq!(old.kind(), Kind::Schema);
    assert!(old.to_string().contains("a gate of schema 1; this version reads 2"), "{old}");
    assert!(old.hint().unwrap().contains("fit it again"), "{old}");
    let fit = |risk: f64, delta: f64, confidence: f64| {
        let rows = [(Bucket::of(Form::Choose, 3).into(), Trial { confidence, correct: true })];
        let terms = Terms {
            promise: Promise::Selective,
            risk: Fraction(risk),
            delta: Fraction(delta),
            sides: false,
            any_question: false,
        };
        let rows = common::draws(&rows, recinto_receipt::sha256(b"x"));
        Gate::fit(identity(), None, 0, &rows, terms, Demands::default())
    };
    for (risk, delta, confidence) in [
        (0.0, 0.05, 0.9),
        (1.0, 0.05, 0.9),
        (f64::NAN, 0.05, 0.9),
        (0.05, 0.0, 0.9),
        (0.05, 0.05, 7.0),
    ] {
        assert!(fit(risk, delta, confidence).is_err(), "{risk} {delta} {confidence}");
    }
    let gate = fit(0.05, 0.05, 0.9).unwrap();
    let finding = &gate.cells()[&Bucket::of(Form::Choose, 3).into()].finding;
    let Finding::Refused(Refusal::TooFew { rows: 1, missing }) = finding else {
        panic!("{finding:?}")
    };
    assert!(*missing > 50);
}

/// Yes is right when it is sure; no is wrong one time in five, however sure.
#[test]
fn a_zone_of_two_thresholds() {
    let demands = Demands::default();
    let at = |yes: f64, state: &[u8]| {
        let facts = Facts { state: recinto_receipt::sha256(state), ..facts(&identity()) };
        Answer::new(&Question::whether("x"), &[1.0 - yes, yes], facts).unwrap()
    };
    let of = |yes: f64| at(yes, b"x");
    let mut stream = Stream::new(77);
    let rows: Vec<_> = (0..6000u32)
        .map(|state| {
            let yes = stream.next();
            let right = if yes > 0.9 { 0.998 } else { 0.8 };
            let answer = at(yes, &state.to_le_bytes());
            let right = stream.next() < right;
            demands.draw(&answer, usize::from((yes > 0.5) == right), 0)
        })
        .collect();
    let fit = |sides| {
        let terms = Terms { sides, ..terms(Promise::Selective) };
        Gate::fit(identity(), None, 0, &rows, terms, demands).unwrap()
    };
    let (zone, both) = (fit(true), fit(false));
    let names: Vec<String> = zone.cells().keys().map(ToString::to_string).collect();
    assert_eq!(names, ["noul:2:no", "noul:2:yes"]);
    assert!(zone.decide(Ok(&of(0.99))).is_pass());
    for (name, yes) in [("a sure no", 0.01), ("unsure", 0.6), ("a tie", 0.5)] {
        assert_eq!(zone.decide(Ok(&of(yes))).name(), "review", "{name}");
    }
    assert!(!both.decide(Ok(&of(0.99))).is_pass(), "together, the errors of no are in the way");
    assert_eq!(Gate::from_bytes(&zone.to_bytes()).unwrap(), zone);
}

proptest! {
    #[test]
    fn nothing_passes_below_its_threshold(
        z in prop::collection::vec(-8.0f64..8.0, 2..12),
        mass in 0.0f64..=1.0,
    ) {
        let gate = gate_once();
        let labels = (0..z.len()).map(|i| Choice::plain(format!("o{i}")));
        let p = recinto_judge::readout::softmax(&z, 1.0);
        let made = Facts { option_mass: Some(mass), ..facts(&identity()) };
        let answer = Answer::new(&Question::choose("x", labels), &p, made).unwrap();
        let outcome = gate.decide(Ok(&answer));
        if let Outcome::Pass { confidence, threshold } = outcome {
            prop_assert!(confidence >= threshold && mass >= 0.5);
            prop_assert!((3..=5).contains(&z.len()), "the only bucket with a threshold");
        }
        prop_assert_eq!(gate.decide(Ok(&answer)), outcome, "a pure function");
    }
}

fn gate_once() -> &'static Gate {
    static GATE: std::sync::OnceLock<Gate> = std::sync::OnceLock::new();
    GATE.get_or_init(|| gate(Promise::Selective))
}
