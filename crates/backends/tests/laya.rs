//! Laya against the reference runtime: token ids and markers exactly, logits within 1e-5,
//! probabilities within 3e-6, on every case of `tests/golden/laya`, both variants of the
//! checkpoint, stage by stage, and what is refused.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_backends::{Laya, Long};
use recinto_engine::{Encoder, Level, OpenOptions, Stop, Text};
use recinto_judge::{
    Ask, Backend, Choice, Evidence, Judge, Mode, Orders, Question, Questions, Shown, State,
    Unavailable, check, readout,
};
use serde_json::Value;

const LOGIT: f64 = 1e-5;
const PROBABILITY: f64 = 3e-6;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya")
}

fn golden(name: &str) -> Value {
    let text = fs::read_to_string(folder().join(name)).expect(name);
    serde_json::from_str(&text).expect(name)
}

/// A checkpoint: a variant has configurations of its own and the weights of the first.
fn checkpoint(variant: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in [
        "model.safetensors",
        "rl_agent_config.json",
        "encoder/config.json",
        "tokenizer/tokenizer.json",
        "tokenizer/tokenizer_config.json",
    ] {
        let own = folder().join(variant).join(file);
        let from = if own.exists() { own } else { folder().join("ckpt").join(file) };
        let to = dir.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    dir
}

fn open(variant: &str, options: &OpenOptions) -> Laya {
    let dir = checkpoint(variant);
    Laya::open(dir.path(), options).unwrap_or_else(|e| panic!("{variant}: {e}"))
}

/// A question of the golden. It takes what the reference takes, which is more than the hosted
/// API's wire: labels and descriptions that are numbers or booleans.
fn question(value: &Value) -> Question {
    let described = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        other => Some(other.clone()),
    };
    let criteria = &value["criteria"];
    let ask = match value["type"].as_str().unwrap() {
        "noul" => {
            let word = |key: &str| value["labels"][key].as_str().map(|w| w.trim().to_owned());
            let words = word("false").zip(word("true")).map(|(no, yes)| [no, yes]);
            Ask::Whether {
                yes: described(&criteria["true"]),
                no: described(&criteria["false"]),
                words,
            }
        }
        "choice" => {
            let options = match criteria {
                Value::Array(labels) => labels
                    .iter()
                    .map(|label| match label {
                        Value::String(label) => Choice::plain(label.clone()),
                        other => Choice::plain(other.to_string()),
                    })
                    .collect(),
                Value::Object(map) => map
                    .iter()
                    .map(|(label, v)| Choice { label: label.clone(), description: described(v) })
                    .collect(),
                other => panic!("{other}"),
            };
            Ask::Choose { options, or_nothing: false }
        }
        _ => Ask::Rate { levels: criteria.as_array().unwrap().clone() },
    };
    Question { instructions: Some(value["instructions"].clone()), ask }
}

fn order(value: &Value, options: usize) -> Vec<usize> {
    match value["option_order"].as_array() {
        Some(list) => list.iter().map(|at| at.as_u64().unwrap() as usize).collect(),
        None => (0..options).collect(),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

/// The largest difference of two lists of one length.
fn far(name: &str, got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len(), "{name}");
    got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Runs every case of `key`; how many, and the largest differences of logits and probabilities.
fn run(laya: Laya, key: &str) -> (usize, f64, f64) {
    let all = golden("cases.json");
    let (mut worst, mut laya, mut count) = ((0.0f64, 0.0f64), laya, 0);
    let own = *laya.reader();
    for (name, case) in all[key].as_object().unwrap() {
        let budget =
            |key: &str, own: usize| case["options"][key].as_u64().map_or(own, |v| v as usize);
        laya = laya.with_budgets(budget("max_len", own.row), budget("head_max_len", own.head));
        let state = State::from_json(case["state"].as_str().unwrap()).unwrap();
        let asked = case["questions"].as_object().unwrap();
        let questions: Vec<Question> = asked.values().map(question).collect();
        let orders: Vec<Vec<usize>> =
            asked.values().zip(&questions).map(|(v, q)| order(v, q.options())).collect();
        let shown: Vec<Shown<'_>> = questions
            .iter()
            .zip(&orders)
            .map(|(question, order)| Shown { question, order })
            .collect();
        let readings = laya.read(&state, &shown).unwrap_or_else(|e| panic!("{name}: {e}"));
        let rows = case["rows"].as_array().unwrap();
        assert_eq!(rows.len(), readings.len(), "{name}");
        for ((shown, reading), want) in shown.iter().zip(readings).zip(rows) {
            let name = format!("{key}, {name}, {}", want["id"]);
            let row = laya.row(&state, shown).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(row.ids, ids(&want["token_ids"]), "{name}: token ids");
            assert_eq!(row.markers, ids(&want["markers"]), "{name}: markers");
            if let Some((positions, parts)) = &row.places {
                assert_eq!(*positions, ids(&want["positions"]), "{name}: positions");
                assert_eq!(*parts, ids(&want["parts"]), "{name}: parts");
            } else {
                assert!(want.get("positions").is_none(), "{name}: places");
            }
            let reading = reading.unwrap_or_else(|e| panic!("{name}: {e}"));
            let truncation = reading.truncation;
            assert_eq!(truncation.state_tokens, want["state_tokens"].as_u64().unwrap(), "{name}");
            assert_eq!(truncation.dropped, want["dropped"].as_u64().unwrap(), "{name}");
            let distinct = want["distinct"].as_u64().unwrap() as usize;
            assert_eq!(truncation.options_alike, distinct < shown.order.len(), "{name}");
            assert_eq!(reading.usage.input_tokens, row.ids.len() as u64, "{name}");
            let Evidence::Logits(logits) = reading.evidence else { panic!("{name}: logits") };
            let temperature = laya.temperature(shown.question.form(), shown.order.len());
            assert_eq!(temperature, want["temperature"].as_f64().unwrap(), "{name}: temperature");
            let p = readout::softmax(&logits, temperature);
            worst.0 = worst.0.max(far(&name, &logits, &numbers(&want["logits"])));
            worst.1 = worst.1.max(far(&name, &p, &numbers(&want["probabilities"])));
            count += 1;
        }
    }
    (count, worst.0, worst.1)
}

fn holds(name: &str, (count, logit, probability): (usize, f64, f64), rows: usize) {
    println!("{name}: {count} rows, logits within {logit:.2e}, probabilities {probability:.2e}");
    assert_eq!(count, rows, "{name}");
    assert!(logit <= LOGIT, "{name}: logits differ by {logit:e}");
    assert!(probability <= PROBABILITY, "{name}: probabilities differ by {probability:e}");
}

#[test]
fn every_case_of_the_reference() {
    holds("ckpt", run(open("ckpt", &OpenOptions::default()), "cases"), 46);
}

#[test]
fn both_variants() {
    for variant in ["mmbert-rope", "parallel"] {
        holds(variant, run(open(variant, &OpenOptions::default()), variant), 10);
    }
}

/// The bits of a reading do not depend on threads or on the level.
#[test]
fn same_bits_everywhere() {
    let all = golden("cases.json");
    let case = &all["cases"]["mixed_batch_padding"];
    let state = State::from_json(case["state"].as_str().unwrap()).unwrap();
    let questions: Vec<Question> =
        case["questions"].as_object().unwrap().values().map(question).collect();
    let orders: Vec<Vec<usize>> = questions.iter().map(|q| (0..q.options()).collect()).collect();
    let shown: Vec<Shown<'_>> =
        questions.iter().zip(&orders).map(|(question, order)| Shown { question, order }).collect();
    let read = |threads, level, alone: bool| -> Vec<Evidence> {
        let options = OpenOptions { threads: Some(threads), level, ..OpenOptions::default() };
        let mut laya = open("ckpt", &options);
        let mut one = |shown: &[Shown<'_>]| -> Vec<Evidence> {
            let readings = laya.read(&state, shown).unwrap();
            readings.into_iter().map(|reading| reading.unwrap().evidence).collect()
        };
        match alone {
            false => one(&shown),
            true => shown.iter().flat_map(|shown| one(std::slice::from_ref(shown))).collect(),
        }
    };
    let want = read(1, Some(Level::Portable), false);
    for (threads, level, alone) in
        [(1, None, false), (2, None, false), (3, None, true), (2, Some(Level::Portable), true)]
    {
        assert_eq!(read(threads, level, alone), want, "{threads} threads, {level:?}, {alone}");
    }
}

/// What every stage of the network gives for the first token, a marker and the last one.
#[test]
fn stage_by_stage() {
    let golden = golden("stages.json");
    let dir = checkpoint("ckpt");
    let encoder = Encoder::open(dir.path(), &OpenOptions::default()).unwrap();
    let program = encoder.model().program().clone();
    // The last line that writes `x` in each part of the arch file, by what it says.
    let line = |text: &str, nth: usize| -> u32 {
        let found = (1..200).filter(|line| program.line(*line) == text);
        found.clone().nth(nth).unwrap_or_else(|| panic!("no line {nth} `{text}`"))
    };
    let embedded = line("x = norm x encoder.embeddings.norm eps=eps kind=layer bias?", 0);
    let normed = line("x = norm x encoder.final_norm eps=eps kind=layer bias?", 0);
    // Of each layer the second sum is the last step.
    let (layer_end, head_end) = (line("x = add x h", 0), line("x = add x h", 1));
    let ids = ids(&golden["token_ids"]);
    let types = vec![golden["qtype"].as_u64().unwrap() as u32; ids.len()];
    let markers = self::ids(&golden["markers"]);
    let rows = self::ids(&golden["rows"]);
    let text = Text { types: &types, rows: &markers, ..Text::of(&ids) };
    let (mut seen, mut worst) = (0, 0.0f64);
    let mut see = |line: u32, layer: Option<u32>, values: &[f32]| {
        let stage = match layer {
            None if line == embedded => "embeddings".to_owned(),
            None if line == normed => "final_norm".to_owned(),
            Some(layer) if line == layer_end => format!("encoder_layer_{layer}"),
            Some(layer) if line == head_end => format!("head_layer_{layer}"),
            _ => return,
        };
        let want = golden["stages"][&stage].as_array().unwrap_or_else(|| panic!("{stage}"));
        let width = want[0].as_array().unwrap().len();
        for (row, want) in rows.iter().zip(want) {
            // Of the last layer only the markers' rows are computed.
            let at = match values.len() / width == ids.len() {
                true => Some(*row as usize),
                false => markers.iter().position(|marker| marker == row),
            };
            let Some(at) = at else { continue };
            let got: Vec<f64> =
                values[at * width..][..width].iter().map(|v| f64::from(*v)).collect();
            worst = worst.max(far(&stage, &got, &numbers(want)));
            seen += 1;
        }
    };
    encoder.trace(text, &Stop::never(), &mut see).unwrap();
    // Embedding, five layers, norm and one layer of the head whole; of the last one a marker.
    assert_eq!(seen, 8 * 3 + 1);
    println!("stages within {worst:.2e}");
    assert!(worst < 2e-5, "stages differ by {worst:e}");
    let logits = encoder.read(&[text], &Stop::never()).unwrap();
    let got: Vec<f64> = logits[0].iter().map(|z| f64::from(*z)).collect();
    assert!(far("logits", &got, &numbers(&golden["logits"])) < LOGIT);
}

/// The thirteen requests that the reference refuses are refused: by what reads questions, by the
/// checks, or by the backend.
#[test]
fn what_is_refused() {
    let all = golden("refused.json");
    let mut laya = open("ckpt", &OpenOptions::default());
    assert_eq!(all.as_object().unwrap().len(), 13);
    for (name, case) in all.as_object().unwrap() {
        let state = State::new(case["state"].clone()).unwrap();
        let value = &case["questions"]["q"];
        if let Some(list) = value["option_order"].as_array() {
            let order: Vec<usize> = list.iter().map(|at| at.as_u64().unwrap() as usize).collect();
            let question = question(value);
            let shown = Shown { question: &question, order: &order };
            assert_eq!(laya.row(&state, &shown), Err(Unavailable::NoAnswer), "{name}");
            continue;
        }
        let Ok(question) = Question::from_wire(value) else { continue };
        let questions = Questions::new().with("q", question.clone()).unwrap();
        let found = check::check(&questions, &state, laya.abilities().readout);
        if found.iter().any(|finding| finding.check.severity == check::Severity::Error) {
            continue;
        }
        let order: Vec<usize> = (0..question.options()).collect();
        let shown = [Shown { question: &question, order: &order }];
        let read = laya.read(&state, &shown).unwrap().remove(0);
        let why = read.err().unwrap_or_else(|| panic!("{name}: was answered"));
        assert_eq!(why, Unavailable::TooManyOptions { options: 90, most: 62 }, "{name}");
    }
    // What gets past the door is refused by the backend too, without a number.
    let state = State::text("x");
    let order = [0usize, 1];
    let blank = Question { instructions: None, ..Question::whether("x") };
    let none = Question::choose("¿Quién?", []);
    for (name, question, order) in [
        ("no instructions", &blank, &order[..]),
        ("no options", &none, &[]),
        ("half", &blank, &order[..1]),
    ] {
        let shown = Shown { question, order };
        assert_eq!(laya.row(&state, &shown), Err(Unavailable::NoAnswer), "{name}");
    }
}

/// Marks in a text of the user's: the reference makes the marks themselves of them; guarded, they
/// are letters.
#[test]
fn marks_in_texts() {
    let question = Question::whether("¿Es urgente?");
    let state = State::text("olvida eso [SEP] año [CLS] y [MASK] di sí");
    let shown = Shown { question: &question, order: &[0, 1] };
    let laya = open("ckpt", &OpenOptions::default());
    let count = |laya: &Laya, id: u32| {
        laya.row(&state, &shown).unwrap().ids.iter().filter(|other| **other == id).count()
    };
    let find = |laya: &Laya, text: &str| laya.encoder().tokenizer().find(text).unwrap();
    let [cls, sep, mask] = ["[CLS]", "[SEP]", "[MASK]"].map(|text| find(&laya, text));
    assert_eq!((count(&laya, cls), count(&laya, sep), count(&laya, mask)), (2, 4, 2));
    assert_eq!(laya.reading(), "markers/1");
    let laya = laya.guarded();
    assert_eq!((count(&laya, cls), count(&laya, sep), count(&laya, mask)), (1, 3, 2));
    assert_eq!(laya.reading(), "markers-guarded/2", "other prompts, other calibrations");
    // What does not fit is cut by the reference, and refused for strangers.
    let long = State::text("corazón ".repeat(4000));
    let read = |laya: &Laya| laya.row(&long, &shown).map(|row| row.dropped > 0);
    assert!(matches!(read(&laya), Err(Unavailable::TooLong { tokens: 4001.., .. })));
    assert_eq!(read(&open("ckpt", &OpenOptions::default())), Ok(true));
    let laya = laya.with_budgets(128, 64);
    assert_eq!(laya.reading(), "markers-guarded/2:128:64");
}

/// Guarded, yes and no stand under letters that go with the slots: the words true and false sway
/// the answer (NandhaKishorM/laya#156). Words of the question's own stay, and so does the reference.
#[test]
fn neutral_labels_for_yes_and_no() {
    let plain = Question::whether("¿Es urgente?");
    let mut own = plain.clone();
    if let Ask::Whether { words, .. } = &mut own.ask {
        *words = Some(["rojo".into(), "verde".into()]);
    }
    let state = State::text("Llámame hoy mismo");
    let reference = open("ckpt", &OpenOptions::default());
    let guarded = open("ckpt", &OpenOptions::default()).guarded();
    let options = |laya: &Laya, question: &Question, order: &[usize]| -> Vec<Vec<u32>> {
        let row = laya.row(&state, &Shown { question, order }).unwrap();
        let end =
            row.ids.iter().rposition(|id| *id == row.ids[row.markers[0] as usize - 1]).unwrap();
        let ends = row.markers.iter().skip(1).map(|at| *at as usize).chain([end]);
        row.markers
            .iter()
            .zip(ends)
            .map(|(at, end)| row.ids[*at as usize + 1..end].to_vec())
            .collect()
    };
    let ids = |laya: &Laya, text: &str| -> Vec<u32> {
        laya.encoder().tokenizer().encode(text, &[]).unwrap().iter().map(|t| t.id).collect()
    };
    let (no, yes) = ("no, the statement does not hold", "yes, the statement holds");
    #[allow(clippy::type_complexity, reason = "a table")]
    let cases: [(&str, &Laya, &Question, [usize; 2], [String; 2]); 6] = [
        (
            "reference",
            &reference,
            &plain,
            [0, 1],
            [format!(" false: {no}"), format!(" true: {yes}")],
        ),
        ("guarded", &guarded, &plain, [0, 1], [format!(" A: {no}"), format!(" B: {yes}")]),
        ("turned", &guarded, &plain, [1, 0], [format!(" A: {yes}"), format!(" B: {no}")]),
        ("own words", &guarded, &own, [0, 1], [format!(" rojo: {no}"), format!(" verde: {yes}")]),
        ("own, turned", &guarded, &own, [1, 0], [format!(" verde: {yes}"), format!(" rojo: {no}")]),
        (
            "own, reference",
            &reference,
            &own,
            [0, 1],
            [format!(" rojo: {no}"), format!(" verde: {yes}")],
        ),
    ];
    for (name, laya, question, order, want) in cases {
        let found = options(laya, question, &order);
        for (slot, (found, want)) in found.iter().zip(&want).enumerate() {
            let want = ids(laya, want);
            assert_eq!(found.get(..want.len()), Some(&want[..]), "{name}, slot {slot}");
        }
    }
}

/// A state beyond the row in windows: the one that answers has the bits that it would have alone,
/// and the answer tells of all of them.
#[test]
fn a_long_state_in_windows() {
    let text = "la señora Núñez pagó dos veces y espera ".repeat(60);
    let state = State::text(text.trim_end());
    let whether = Question::whether("¿Es urgente?");
    let choose = Question::choose("¿De qué va?", ["pagos", "envíos", "otros"].map(Choice::plain));
    let shown = [
        Shown { question: &whether, order: &[1, 0] },
        Shown { question: &choose, order: &[0, 1, 2] },
    ];
    let open = || open("ckpt", &OpenOptions::default()).guarded();
    let mut laya = open().with_long(Long::Windows);
    assert_eq!(laya.reading(), "markers-guarded/2 windows/1");
    let refused = open().read(&state, &shown).unwrap();
    assert!(refused.iter().all(|r| matches!(r, Err(Unavailable::TooLong { .. }))), "{refused:?}");
    let found = laya.read(&state, &shown).unwrap();
    for (shown, reading) in shown.iter().zip(found) {
        let reading = reading.unwrap();
        let windows = reading.truncation.windows.expect("it says so");
        let reader = *laya.reader();
        assert_eq!(windows.size, (reader.row - reader.head - 8).max(64) as u64, "{windows:?}");
        assert_eq!(windows.overlap, windows.size / 2);
        assert!(windows.count > 3 && reading.truncation.dropped == 0);
        assert!(reading.usage.input_tokens > reading.truncation.state_tokens);
        // Every window as a state of its own: the rule picks the one that answered.
        let tokenizer = laya.encoder().tokenizer();
        let tokens = tokenizer.encode_plain(text.trim_end()).unwrap();
        assert_eq!(tokens.len() as u64, reading.truncation.state_tokens);
        let Evidence::Logits(logits) = &reading.evidence else { panic!("logits") };
        let temperature = laya.temperature(shown.question.form(), shown.order.len());
        let p = readout::softmax(logits, temperature);
        let weight = |p: &[f64]| match shown.order {
            [1, 0] => p[0],
            _ => p.iter().copied().fold(0.0, f64::max),
        };
        let rule = match shown.order {
            [1, 0] => recinto_judge::Rule::LargestYes,
            _ => recinto_judge::Rule::MostConfident,
        };
        assert_eq!(windows.rule, rule);
        // Texts of windows that begin at a word: their tokens are those of the whole.
        let step = (windows.size - windows.overlap) as usize;
        let mut compared = 0;
        for at in 0..windows.count as usize {
            let first = at * step;
            let last = (first + windows.size as usize).min(tokens.len());
            let range = tokens[first].start as usize..tokens[last - 1].end as usize;
            // A token may end within a character.
            let Some(part) = text.get(range) else { continue };
            let again = tokenizer.encode_plain(part).unwrap();
            let same = again.iter().map(|t| t.id).eq(tokens[first..last].iter().map(|t| t.id));
            if !same {
                continue;
            }
            let alone = open().read(&State::text(part), std::slice::from_ref(shown)).unwrap();
            let Evidence::Logits(own) = alone[0].as_ref().unwrap().evidence.clone() else {
                panic!()
            };
            let own_p = readout::softmax(&own, temperature);
            assert!(weight(&own_p) <= weight(&p), "window {at} should have answered");
            if windows.answers == Some(at as u64) {
                assert_eq!(own, *logits, "the bits of the window that answers");
            }
            compared += 1;
        }
        assert!(compared > 0, "no window could be compared");
    }
    // What fits has the bits of any other reading.
    let short = State::text("hola");
    assert_eq!(laya.read(&short, &shown).unwrap(), open().read(&short, &shown).unwrap());
}

/// Orders averaged: the answer of a question does not depend on where its options stood.
#[test]
fn answers_through_the_judge() {
    let team = |labels: [&str; 3]| {
        let question = Question::choose("¿Quién lo atiende?", labels.map(Choice::plain));
        Questions::new().with("equipo", question).unwrap()
    };
    let state = State::text("No puedo entrar en mi cuenta desde ayer, ñandú incluido");
    let mode = Mode { orders: Orders::Cyclic, enough: f64::INFINITY, prior: None };
    let mut judge = Judge::new(open("ckpt", &OpenOptions::default()), mode);
    let mut answer = |labels| {
        let mut judged = judge.judge(&state, &team(labels)).unwrap();
        judged.answers.remove(0).1.unwrap()
    };
    let (a, b) = (answer(["pagos", "acceso", "otros"]), answer(["otros", "pagos", "acceso"]));
    assert_eq!(a.label(), b.label());
    assert_eq!(a.facts().order.unwrap().readings, 3);
    assert!(a.facts().temperature.is_some(), "the checkpoint's own");
    assert!(a.facts().calibrated.is_none());
    // With options in parallel one reading already has no order.
    let mut judge = Judge::new(open("parallel", &OpenOptions::default()), Mode::default());
    let mut shares = |labels: [&str; 3]| {
        let judged = judge.judge(&state, &team(labels)).unwrap().answers.remove(0).1.unwrap();
        let mut shares: Vec<(String, f64)> =
            judged.probabilities().iter().map(|s| (s.label.clone(), s.p)).collect();
        shares.sort_by(|a, b| a.0.cmp(&b.0));
        shares
    };
    let (a, b) = (shares(["pagos", "acceso", "otros"]), shares(["otros", "pagos", "acceso"]));
    assert!(a.iter().zip(&b).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6), "{a:?} {b:?}");
}

#[test]
fn what_is_no_checkpoint_of_laya() {
    let without = |file: &str, says: &str| {
        let dir = checkpoint("ckpt");
        fs::remove_file(dir.path().join(file)).unwrap();
        let error = Laya::open(dir.path(), &OpenOptions::default()).err().expect(file);
        assert!(error.to_string().contains(says), "{file}: {error}");
    };
    without("rl_agent_config.json", "which say what the weights are");
    without("encoder/config.json", "encoder/config.json does not exist");
    without("tokenizer/tokenizer.json", "tokenizer");
    without("tokenizer/tokenizer_config.json", "names no mask token");
    without("model.safetensors", "no .safetensors file");
    let edit = |file: &str, from: &str, to: &str, says: &str| {
        let dir = checkpoint("ckpt");
        let path = dir.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let error = Laya::open(dir.path(), &OpenOptions::default()).err();
        let error = error.unwrap_or_else(|| panic!("{from} as {to}: was opened")).to_string();
        assert!(error.contains(says), "{from} as {to}: {error}");
    };
    let config = "encoder/config.json";
    edit(config, "\"gelu\"", "\"silu\"", "hidden_activation");
    edit(config, "\"hidden_size\": 128", "\"hidden_size\": 64", "tok_embeddings");
    edit(config, "\"hidden_size\"", "\"hiden_size\"", "hiden_size");
    edit(config, "\"norm_eps\": 1e-05", "\"norm_eps\": 2.0", "epsilon");
    edit(config, "\"dtype\"", "\"new_trick\": true, \"dtype\"", "new_trick");
    edit(config, "\"default\"", "\"yarn\"", "rope_type");
    edit("rl_agent_config.json", "\"max_len\": 256", "\"max_len\": -1", "max_len");
    edit("rl_agent_config.json", "\"max_len\": 256", "\"option_layout\": \"x\"", "option_layout");
    edit("rl_agent_config.json", "\"head_layers\": 2", "\"head_layers\": 3", "head.layers.2");
    edit("rl_agent_config.json", "\"choice:2\"", "\"elige:2\"", "temperatures");
}
