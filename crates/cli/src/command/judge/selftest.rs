//! `recinto judge selftest`: the reference's own requests on a checkpoint that is here, and how far
//! the answers are from the published ones.

use std::path::{Path, PathBuf};

use recinto_judge::{Backend, Evidence, Form, Question, Questions, Reading, Shown, State, readout};
use recinto_provider::{Reader, Settings};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::{Screen, escaped},
    table::{self, Column},
    write,
};

const EXAMPLES: &str = "\
It runs as the reference does: one order, marks in a text act as marks. The requests are a JSON list
as package laya-decision 0.2.19 has it in tests/golden_e2e (english.json, multilingual.json,
typed-decisions.json), one file a checkpoint:

  [{\"state\": …, \"questions\": {ID: …}, \"result\": {\"answers\": {ID: …}, \"usage\": …}}, …]

Exit code 0 says that every probability is within the tolerance; 1 that one is not.

Examples:
  recinto judge selftest -m ./laya --golden english.json
  RECINTO_JUDGE_MODEL=./laya recinto judge selftest --golden english.json --json";

/// The most bytes of the requests.
const LONGEST: u64 = 16 << 20;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Requests with the answers of the reference, for this very checkpoint
    #[arg(long, value_name = "FILE")]
    golden: Option<PathBuf>,

    /// How far a probability may be off
    #[arg(long, value_name = "P", default_value_t = 2e-3, allow_negative_numbers = true)]
    tolerance: f64,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A request with what the reference answered.
struct Request {
    state: State,
    questions: Questions,
    /// Probabilities of each question in the declared order.
    wanted: Vec<Vec<f64>>,
    /// Tokens that the reference read for all questions, where it says so.
    tokens: Option<u64>,
}

/// One line of the table.
#[derive(Serialize)]
struct Line {
    /// The request, from 1.
    request: usize,
    question: String,
    expected: Vec<f64>,
    /// Null where there is no answer.
    got: Option<Vec<f64>>,
    /// The largest difference of one probability.
    difference: Option<f64>,
    within: bool,
}

const COLUMNS: [Column; 6] = [
    Column { head: "REQUEST", goes: 0, right: true },
    Column { head: "QUESTION", goes: 0, right: false },
    Column { head: "EXPECTED", goes: 1, right: true },
    Column { head: "GOT", goes: 1, right: true },
    Column { head: "DIFFERENCE", goes: 0, right: true },
    Column { head: "", goes: 0, right: false },
];

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    if !(0.0..=1.0).contains(&args.tolerance) {
        return Err(Failure::usage("--tolerance: a number from 0 to 1 is needed"));
    }
    let settings = checkpoint(args.model.settings()?)?;
    let Some(golden) = &args.golden else {
        return Err(Failure::usage("no requests to compare with are named").hint(
            "--golden FILE: the published ones are in package laya-decision 0.2.19, \
             tests/golden_e2e; english.json goes with the checkpoint of that name",
        ));
    };
    let requests = read(golden)?;
    let opened = args.model.open_laya(&settings, interrupt.stop())?;
    open::introduce_encoder(&screen, &opened, opened.value.encoder());
    let mut laya = opened.value;
    let (mut lines, mut tokens) = (Vec::new(), Vec::new());
    for (at, request) in requests.iter().enumerate() {
        let read = ask(&mut laya, request, at + 1, args.tolerance, &mut lines);
        if interrupt.is_set() {
            return Err(Failure::silent(Exit::Interrupted));
        }
        if let Some(wanted) = request.tokens.filter(|wanted| *wanted != read) {
            tokens.push(json!({ "request": at + 1, "expected": wanted, "got": read }));
        }
    }
    let off = lines.iter().filter(|line| !line.within).count();
    let worst = lines.iter().filter_map(|line| line.difference).fold(0.0, f64::max);
    let exit = if off + tokens.len() == 0 { Exit::Done } else { Exit::No };
    if args.output.json {
        let body = json!({
            "identity": laya.model(), "reading": laya.reading(), "tolerance": args.tolerance,
            "requests": requests.len(), "answers": lines, "off": off, "worst": worst,
            "tokens": tokens, "exit_code": exit as u8,
        });
        envelope::print(&mut screen, "judge selftest", body)?;
        return Ok(exit);
    }
    let rows: Vec<Vec<String>> = lines.iter().map(cells).collect();
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &rows, width).iter().try_for_each(|line| screen.row(line))?;
    for other in &tokens {
        let of = |key: &str| other[key].as_u64().unwrap_or(0);
        let (request, wanted, got) = (of("request"), of("expected"), of("got"));
        screen.note(&format!("request {request}: {got} tokens, and the reference reads {wanted}"));
    }
    let (count, tolerance) = (lines.len(), args.tolerance);
    screen.note(&format!(
        "{} of {count} answers within {tolerance}; the largest difference is {worst:.6}",
        count - off
    ));
    Ok(exit)
}

/// The settings, with a checkpoint of Laya as the model.
fn checkpoint(settings: Settings) -> Result<Settings, Failure> {
    if let Some(other) = &settings.judge_provider
        && other.value != Reader::Laya
    {
        let what = format!("the selftest is of laya, and judge provider `{}` is set", other.value);
        return Err(Failure::usage(what).hint("give --judge-provider laya, and its --judge-model"));
    }
    let settings = settings.for_judge();
    match settings.model {
        Some(_) => Ok(settings),
        None => Err(Failure::usage("no checkpoint of Laya is named").hint(
            "download one, such as convaiinnovations/laya, and name its folder with --judge-model \
             or RECINTO_JUDGE_MODEL; in it must be model.safetensors, rl_agent_config.json, \
             encoder/config.json, tokenizer/tokenizer.json and tokenizer/tokenizer_config.json",
        )),
    }
}

/// Asks one request, a line each question; the tokens that were read.
fn ask(
    laya: &mut recinto_backends::Laya,
    request: &Request,
    number: usize,
    tolerance: f64,
    lines: &mut Vec<Line>,
) -> u64 {
    let orders: Vec<Vec<usize>> =
        request.questions.iter().map(|(_, question)| (0..question.options()).collect()).collect();
    let shown: Vec<Shown<'_>> = request
        .questions
        .iter()
        .zip(&orders)
        .map(|((_, question), order)| Shown { question, order })
        .collect();
    let readings = match laya.read(&request.state, &shown) {
        Ok(readings) => readings,
        Err(why) => shown.iter().map(|_| Err(why.clone())).collect(),
    };
    let mut tokens = 0;
    for (((id, question), reading), wanted) in
        request.questions.iter().zip(readings).zip(&request.wanted)
    {
        let temperature = laya.temperature(question.form(), question.options());
        let got = reading.ok().and_then(|reading: Reading| {
            tokens += reading.usage.input_tokens;
            match reading.evidence {
                Evidence::Logits(logits) => Some(readout::softmax(&logits, temperature)),
                Evidence::Probabilities(_) => None,
            }
        });
        let difference = got
            .as_ref()
            .filter(|got| got.len() == wanted.len())
            .map(|got| got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
        lines.push(Line {
            request: number,
            question: id.to_owned(),
            expected: wanted.clone(),
            got,
            difference,
            within: difference.is_some_and(|difference| difference <= tolerance),
        });
    }
    tokens
}

fn cells(line: &Line) -> Vec<String> {
    let numbers = |p: &[f64]| match p {
        [_, yes] => format!("{yes:.4}"),
        p => p.iter().map(|p| format!("{p:.4}")).collect::<Vec<_>>().join(" "),
    };
    vec![
        line.request.to_string(),
        escaped(&line.question).into_owned(),
        numbers(&line.expected),
        line.got.as_deref().map_or("-".into(), numbers),
        line.difference.map_or("-".into(), |difference| format!("{difference:.6}")),
        if line.within { "" } else { "differs" }.into(),
    ]
}

/// The requests of a file. No word of them is in an error.
fn read(path: &Path) -> Result<Vec<Request>, Failure> {
    let place = path.display();
    let bytes = write::bytes(path, LONGEST)?;
    let wrong = |what: String| {
        Failure::usage(format!("{place}: {what}"))
            .hint("`recinto judge selftest --help` shows what stands in it")
    };
    let all: Value = serde_json::from_slice(&bytes).map_err(|_| wrong("not JSON".into()))?;
    let all = all.as_array().filter(|all| !all.is_empty());
    let all = all.ok_or_else(|| wrong("no list of requests".into()))?;
    let one = |(at, value): (usize, &Value)| {
        request(value).map_err(|what| wrong(format!("request {}: {what}", at + 1)))
    };
    all.iter().enumerate().map(one).collect()
}

fn request(value: &Value) -> Result<Request, String> {
    let state = State::from_json(&value["state"].to_string()).map_err(|e| e.what().to_owned())?;
    let questions = Questions::from_wire(&value["questions"]).map_err(|e| e.what().to_owned())?;
    let answers = &value["result"]["answers"];
    let wanted = questions
        .iter()
        .enumerate()
        .map(|(at, (id, question))| {
            let found = expected(&answers[id], question);
            found.ok_or_else(|| format!("no whole answer to question {}", at + 1))
        })
        .collect::<Result<_, _>>()?;
    let tokens = value["result"]["usage"]["input_tokens"].as_u64();
    Ok(Request { state, questions, wanted, tokens })
}

/// Probabilities in the declared order; none where one is missing.
fn expected(answer: &Value, question: &Question) -> Option<Vec<f64>> {
    let number = |value: &Value| value.as_f64().filter(|p| (0.0..=1.0).contains(p));
    if question.form() == Form::Whether {
        let yes = number(&answer["noul"])?;
        return Some(vec![1.0 - yes, yes]);
    }
    let shares = answer["probabilities"].as_object()?;
    question.labels().iter().map(|label| number(shares.get(label)?)).collect()
}
