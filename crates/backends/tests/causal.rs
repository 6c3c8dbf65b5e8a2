//! Letters of causal models: shared readings give the bits of lone ones, at a counted cost.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use recinto_backends::{Causal, Long};
use recinto_engine::{KvType, Model, OpenOptions, Options, Request, SessionOptions, Stop, Want};
use recinto_judge::{
    Answer, Backend, Choice, Evidence, Judge, Mode, Orders, Question, Questions, Reading, Shown,
    State, Unavailable, Value, readout,
};

fn tiny(name: &str) -> Model {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    Model::open(&root.join(format!("{name}.gguf")), &options).expect(name)
}

fn real(test: &str, folder: &str) -> Option<Model> {
    let Some(root) = recinto_testkit::models() else {
        recinto_testkit::skipped(test, "RECINTO_TEST_MODELS is not set");
        return None;
    };
    let files = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    let gguf = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "gguf"));
    let Some(path) = gguf else {
        recinto_testkit::skipped(test, &format!("RECINTO_TEST_MODELS has no {folder}"));
        return None;
    };
    Some(Model::open(&path, &OpenOptions::default()).expect("a model"))
}

fn causal(model: &Model) -> Causal {
    Causal::new(model, &SessionOptions::default(), Stop::never()).expect("a backend")
}

fn questions() -> Vec<Question> {
    vec![
        Question::whether("¿Es urgente?"),
        Question::choose(
            "¿De qué va?",
            [Choice::new("pagos", "cobros"), Choice::plain("envíos"), Choice::plain("baja")],
        )
        .or_nothing(),
        Question::rate("¿Cuánto enojo?", ["calma", "molestia", "ira"]),
        Question::whether("¿Es urgente? Sí o no"),
    ]
}

fn declared(question: &Question) -> Vec<usize> {
    (0..question.options()).collect()
}

fn read(backend: &mut Causal, state: &State, questions: &[Question]) -> Vec<Reading> {
    let orders: Vec<Vec<usize>> = questions.iter().map(declared).collect();
    let shown: Vec<Shown<'_>> =
        questions.iter().zip(&orders).map(|(question, order)| Shown { question, order }).collect();
    let read = backend.read(state, &shown).expect("readings");
    read.into_iter().map(|reading| reading.expect("a reading")).collect()
}

fn bits(reading: &Reading) -> Vec<u64> {
    let Evidence::Logits(logits) = &reading.evidence else { panic!("logits") };
    logits.iter().chain(&reading.mass).map(|v| v.to_bits()).collect()
}

const STATE: &str = "Mi paquete no llegó y ya pagué dos veces. ¿Qué hago?";

/// A model of each kind of memory: plain, grouped, with windows.
const MODELS: [&str; 4] = ["llama-linear", "qwen2-quant", "qwen3-plain", "gemma3-quant"];

#[test]
fn together_as_alone() {
    let state = State::text(STATE);
    for name in MODELS {
        let model = tiny(name);
        let mut together = causal(&model);
        let all = read(&mut together, &state, &questions());
        for (at, question) in questions().into_iter().enumerate() {
            let mut alone = causal(&model);
            let one = read(&mut alone, &state, std::slice::from_ref(&question));
            assert_eq!(bits(&one[0]), bits(&all[at]), "{name}, question {at}");
        }
        // After other states, and in another order, the bits are the same.
        read(&mut together, &State::text("otra cosa"), &questions()[..1]);
        let mut turned = questions();
        turned.reverse();
        let mut again = read(&mut together, &state, &turned);
        again.reverse();
        for (at, (a, b)) in all.iter().zip(&again).enumerate() {
            assert_eq!(bits(a), bits(b), "{name}, question {at}");
        }
    }
}

/// The plain way: the whole prompt as its own text, fed at once, and the letters looked up.
#[test]
fn as_the_plain_way() {
    for name in ["qwen2-quant", "gemma3-quant"] {
        let model = tiny(name);
        let found = read(&mut causal(&model), &State::text(STATE), &questions()[..1]);
        let text = format!(
            "Read the text. Answer the question below it with the letter of one option, and \
             nothing else.\n\nText:\n{STATE}\n\n¿Es urgente?\nA. no\nB. yes"
        );
        let chat = model.template().is_some();
        let text = if chat { text } else { format!("{text}\nAnswer:") };
        let options = Options { thinking: Some(false), ..Options::default() };
        let request = Request { options, completion: !chat, ..Request::user(text) };
        let ids = model.prompt(&request).expect("a prompt").ids;
        let mut session = model.session(&SessionOptions::default()).expect("a session");
        let row = session.feed(&ids, Want::Last, &Stop::never()).expect("logits").to_vec();
        let ids = |mark: &str| {
            let forms = [mark.to_owned(), format!(" {mark}")];
            let one = |text: &String| match model.tokenizer().encode_plain(text).unwrap()[..] {
                [token] => Some(token.id),
                _ => None,
            };
            let mut ids: Vec<u32> = forms.iter().filter_map(one).collect();
            ids.extend(model.tokenizer().find(mark));
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let want = readout::read_groups(&row, &[ids("A"), ids("B")]).expect("a reading");
        assert_eq!(found[0].evidence, Evidence::Logits(want.logits), "{name}");
        assert_eq!(found[0].mass, Some(want.mass), "{name}");
    }
}

#[test]
fn the_state_is_read_once() {
    let model = tiny("qwen2-quant");
    let mut backend = causal(&model);
    let state = State::text(STATE);
    let first = read(&mut backend, &state, &questions());
    let fed = backend.fed();
    assert_eq!(fed.readings, 4);
    let used: u64 = first.iter().map(|reading| reading.usage.input_tokens).sum();
    assert_eq!(used, fed.positions(), "what is reported is what was fed");
    assert!(first.iter().all(|r| r.truncation.state_tokens > 10 && !r.truncation.is_cut()));
    // Another call about the same state, and one in another order, read none of it again.
    read(&mut backend, &state, &questions()[1..2]);
    let whether = &questions()[0];
    backend.read(&state, &[Shown { question: whether, order: &[1, 0] }]).expect("a reading");
    assert_eq!((backend.fed().shared, backend.fed().readings), (fed.shared, 6));
    // Another state keeps what stands before it.
    read(&mut backend, &State::text("Todo bien."), &questions()[..1]);
    let second = backend.fed().shared - fed.shared;
    assert!(second > 0 && second < 30, "{second}");
}

#[test]
fn text_is_data() {
    let model = tiny("qwen2-quant");
    let mut backend = causal(&model);
    let special = (0..model.tokenizer().size() as u32)
        .filter(|id| model.tokenizer().is_special(*id))
        .filter_map(|id| model.tokenizer().piece(id))
        .find(|piece| piece.len() > 4)
        .expect("a special token");
    let reading = &read(&mut backend, &State::text(special), &questions()[..1])[0];
    assert!(reading.truncation.state_tokens > 1, "{special} is letters, not a token");
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let model = tiny("qwen2-quant");
    let options = SessionOptions { context: Some(140), kv: KvType::default() };
    let mut backend = Causal::new(&model, &options, Stop::never()).expect("a backend");
    assert_eq!(backend.room(), 140);
    let long = State::text("ñandú ".repeat(200));
    let short = Question::whether("¿Sí?");
    let wordy = Question::whether("¿Es esto lo que parece? ".repeat(40));
    let order = [0, 1];
    let shown = [&short, &wordy].map(|question| Shown { question, order: &order });
    let why = backend.read(&long, &shown).expect("no failure");
    for why in why {
        assert!(
            matches!(why, Err(Unavailable::TooLong { tokens, room: 140 }) if tokens > 140),
            "{why:?}"
        );
    }
    assert_eq!(backend.fed().positions(), 0, "before a position is fed");
    // One that is too long does not stand in the way of the other.
    let read = backend.read(&State::text("hola"), &shown).expect("no failure");
    assert!(read[0].is_ok(), "{read:?}");
    assert!(matches!(read[1], Err(Unavailable::TooLong { room: 140, .. })), "{read:?}");
    let options: Vec<Choice> = (0..250).map(|at| Choice::plain(format!("o{at:03}"))).collect();
    let many = Question::choose("¿Cuál?", options);
    let order = declared(&many);
    let most = backend.abilities().options;
    if most < 250 {
        let read = backend.read(&State::text("x"), &[Shown { question: &many, order: &order }]);
        let want = Unavailable::TooManyOptions { options: 250, most: most as u64 };
        assert_eq!(read.expect("no failure"), [Err(want)]);
    }
}

/// A state beyond the context is read in windows where that is asked for: one of them answers, with
/// the bits that it would have alone, and the answer tells of all of them.
#[test]
fn a_long_state_in_windows() {
    let model = tiny("qwen2-quant");
    let options = SessionOptions { context: Some(320), kv: KvType::default() };
    let open = || Causal::new(&model, &options, Stop::never()).expect("a backend");
    let mut backend = open().with_long(Long::Windows);
    assert_eq!(backend.reading(), "letters/1 windows/1", "no calibration of another strategy");
    let words = |from: usize, to: usize| -> String {
        (from..to).map(|at| format!("ñandú{} ", at % 7)).collect()
    };
    let text = words(0, 150);
    let long = State::text(text.clone());
    let asked = questions();
    let orders: Vec<Vec<usize>> = asked.iter().map(declared).collect();
    let shown: Vec<Shown<'_>> =
        asked.iter().zip(&orders).map(|(question, order)| Shown { question, order }).collect();
    let found: Vec<Reading> = backend
        .read(&long, &shown)
        .expect("no failure")
        .into_iter()
        .map(|reading| reading.expect("a reading"))
        .collect();
    let tokens = model.tokenizer().encode_plain(&text).unwrap();
    for (at, reading) in found.iter().enumerate() {
        let windows = reading.truncation.windows.expect("it says so");
        assert!(windows.count > 2 && windows.overlap == windows.size / 2, "{windows:?}");
        assert_eq!(reading.truncation.state_tokens, tokens.len() as u64);
        assert!(!reading.truncation.is_cut(), "nothing was left out");
        // What was read for all questions counts with the first of them.
        let used = reading.usage.input_tokens;
        assert!(at > 0 || used > tokens.len() as u64, "all windows are counted: {used}");
        // The window that answers, alone.
        let (size, answers) = (windows.size as usize, windows.answers.unwrap() as usize);
        let first = answers * (size - size / 2);
        let last = (first + size).min(tokens.len()) - 1;
        let mut end = tokens[last].end as usize;
        end += (end..).take_while(|at| !text.is_char_boundary(*at)).count();
        let mut start = tokens[first].start as usize;
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let alone = open().read(&State::text(&text[start..end]), &shown[at..=at]).unwrap();
        assert_eq!(bits(alone[0].as_ref().unwrap()), bits(reading), "question {at}");
    }
    // What fits is read at once, with the bits of any other reading.
    let short = State::text("hola");
    let (windows, plain) = (backend.read(&short, &shown[..1]), open().read(&short, &shown[..1]));
    assert_eq!(
        bits(windows.unwrap()[0].as_ref().unwrap()),
        bits(plain.unwrap()[0].as_ref().unwrap())
    );
    // A question without room for a state, and more windows than anybody wants, are refused.
    let wordy = Question::whether("¿Es esto lo que parece? ".repeat(80));
    let endless = State::text(words(0, 40_000));
    let order = [0, 1];
    for (name, state, question) in [("wordy", &long, &wordy), ("endless", &endless, &asked[0])] {
        let read = backend.read(state, &[Shown { question, order: &order }]).expect("no failure");
        assert!(matches!(read[0], Err(Unavailable::TooLong { room: 320, .. })), "{name}: {read:?}");
    }
    // Without being asked for, nothing of the kind.
    let read = open().read(&long, &shown[..1]).expect("no failure");
    assert!(matches!(read[0], Err(Unavailable::TooLong { .. })), "{read:?}");
}

#[test]
fn a_reading_can_be_stopped() {
    let model = tiny("qwen2-quant");
    let flag = Arc::new(AtomicBool::new(true));
    let stop = Stop::new(flag.clone(), None);
    let mut backend = Causal::new(&model, &SessionOptions::default(), stop).expect("a backend");
    let question = Question::whether("¿Sí?");
    let shown = [Shown { question: &question, order: &[0, 1] }];
    let state = State::text(STATE);
    assert_eq!(backend.read(&state, &shown), Err(Unavailable::Failed));
    let trouble = backend.trouble().expect("why");
    assert!(!trouble.contains("paquete"), "{trouble}");
    flag.store(false, std::sync::atomic::Ordering::Relaxed);
    let read = backend.read(&state, &shown).expect("it goes on");
    assert_eq!(bits(read[0].as_ref().unwrap()), {
        let mut fresh = causal(&model);
        let want = fresh.read(&state, &shown).unwrap();
        bits(want[0].as_ref().unwrap())
    });
    assert_eq!(backend.trouble(), None);
}

#[test]
fn who_reads() {
    let model = tiny("qwen2-quant");
    let one = causal(&model);
    assert_eq!(one.reading(), "letters/1");
    let q8 = SessionOptions { kv: KvType::Q8_0, ..SessionOptions::default() };
    let other = Causal::new(&model, &q8, Stop::never()).expect("a backend");
    assert_ne!(one.model(), other.model(), "other keys and values, other numbers");
    assert_eq!(one.model(), causal(&model).model());
    assert_ne!(one.model(), causal(&tiny("qwen3-plain")).model());
}

/// About 300 tokens.
fn letter() -> String {
    let line = "I ordered a coffee machine on Monday and paid with my card. The parcel has not \
                arrived, and today I saw that I was charged twice. I wrote to you twice and got \
                no answer. ";
    format!("{}I need the machine before Friday, or I want my money back.", line.repeat(7))
}

/// Ten questions about one state cost little more than one: counted, not timed.
#[test]
fn ten_questions_cost_at_most_half_as_much_again() {
    let Some(model) = real("ten_questions", "qwen2.5-coder-0.5b-instruct") else { return };
    let state = State::text(letter());
    let asked = [
        "Is it urgent?",
        "Is the writer angry?",
        "Is it about a payment?",
        "Does the writer want money back?",
        "Has the parcel arrived?",
        "Was the card charged twice?",
        "Is a reply wanted?",
        "Is it an invitation?",
        "Is it about a holiday?",
        "Is the writer a customer?",
    ];
    let questions: Vec<Question> = asked.iter().copied().map(Question::whether).collect();
    let cost = |count: usize| {
        let mut backend = causal(&model);
        let found = read(&mut backend, &state, &questions[..count]);
        let tokens = found[0].truncation.state_tokens;
        assert!((250..350).contains(&tokens), "{tokens} tokens of state");
        assert!(found.iter().all(|reading| reading.mass.unwrap() > 0.5), "the prompt lands");
        backend.fed()
    };
    let (one, ten) = (cost(1), cost(10));
    assert_eq!(one.shared, ten.shared);
    let (one, ten) = (one.positions(), ten.positions());
    assert!(2 * ten <= 3 * one, "{ten} positions for ten questions, {one} for one");
}

fn answer(judge: &mut Judge<Causal>, state: &str, question: &Question) -> Answer {
    let questions = Questions::new().with("q", question.clone()).unwrap();
    let judgement = judge.judge(&State::text(state), &questions).expect("a judgement");
    judgement.answers.into_iter().next().unwrap().1.expect("an answer")
}

/// What half a billion weights can tell: plain cases, in two languages.
#[test]
fn plain_cases_on_a_real_model() {
    let Some(model) = real("plain_cases", "qwen2.5-coder-0.5b-instruct") else { return };
    let mode = Mode { orders: Orders::Cyclic, enough: f64::INFINITY, prior: None };
    let mut judge = Judge::new(causal(&model), mode);
    let topic = Question::choose(
        "What is the text about?",
        [Choice::plain("food"), Choice::plain("sports"), Choice::plain("weather")],
    );
    let cases = [
        ("Add two eggs and a cup of flour, then bake it for an hour.", "food"),
        ("The striker scored twice and the team won the cup.", "sports"),
        ("Mañana lloverá en el norte y hará sol en el sur.", "weather"),
        ("Añade dos huevos y una taza de harina al horno.", "food"),
    ];
    for (state, want) in cases {
        let answer = answer(&mut judge, state, &topic);
        assert_eq!(answer.label(), Some(want), "{answer:?}");
        assert!(answer.facts().option_mass.unwrap() > 0.5, "{answer:?}");
        assert_eq!(answer.facts().order.unwrap().readings, 3);
    }
    let praise = Question::whether("Is the writer satisfied?");
    let yes = |judge: &mut Judge<Causal>, state: &str| match answer(judge, state, &praise).value() {
        Value::Whether { yes } => *yes,
        other => panic!("{other:?}"),
    };
    let good = yes(&mut judge, "Great service, I am very happy with it. Thank you!");
    let bad = yes(&mut judge, "Terrible service. I want my money back, I am very angry.");
    assert!(good > 0.5 && bad < 0.5, "{good} {bad}");
}
