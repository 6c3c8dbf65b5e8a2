//! `recinto decide`: one of some labels, or nothing.

use std::path::{Path, PathBuf};

use recinto_engine::{Digest, Digests, Mode, Usage};
use recinto_judge::json;
use recinto_provider::{Provider, Task};
use recinto_tasks::{
    Decision, Label, Labels, Lack, Method, Nothing, Outcome, Scored, Undecided, decide,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    recorded::Scoring,
    task::{self, Asked, Made, Ready, TaskArgs},
};

const EXAMPLES: &str = "\
Examples:
  recinto decide \"¿Por qué hay dos cobros?\" --label pagos --label acceso
  recinto decide -f mail.txt --label \"pagos=cobros y tarjetas\" --label acceso --nothing
  recinto decide - --labels labels.txt --method score --json < mail.txt

A line of the file of --labels is a label, or LABEL=DESCRIPTION. A file that ends in .json has a
list of labels, or an object of labels with their descriptions. Their order changes nothing.";

/// Decide which label fits a text
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What can be answered, perhaps with what it means; repeatable
    #[arg(short = 'l', long, value_name = "LABEL[=DESCRIPTION]", allow_hyphen_values = true)]
    label: Vec<String>,

    /// A file of labels
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    /// The answer may be `nothing`: none of the labels fits
    #[arg(long)]
    nothing: bool,

    /// The same in words of its own
    #[arg(long, value_name = "LABEL[=DESCRIPTION]", conflicts_with = "nothing")]
    #[arg(allow_hyphen_values = true)]
    nothing_as: Option<String>,

    /// How the label is found: written under constraint, or by the probabilities of all of them
    /// [default: generate; a cascade's first profile scores]
    #[arg(long, value_enum)]
    method: Option<How>,

    #[command(flatten)]
    task: TaskArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum How {
    Generate,
    Score,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    asked: Asked,
    /// `decided` or `undecided`.
    outcome: &'static str,
    /// `null` where none of the labels fits; left out where nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Option<&'a str>>,
    method: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scores: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mass: Option<f64>,
    #[serde(flatten)]
    account: Account<'a>,
}

/// A reply's own account, or the tokens alone where there is no reply.
#[derive(Serialize)]
#[serde(untagged)]
enum Account<'a> {
    Reply(Box<Made<'a>>),
    Scores {
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        digests: Option<Box<Digests>>,
    },
}

#[derive(Serialize)]
struct Row<'a> {
    label: Option<&'a str>,
    probability: f64,
    logprob: f64,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let begun = args.task.begin(Task::Decide, &[args.labels.as_deref()])?;
    if args.label.is_empty() && args.labels.is_none() {
        return Err(Failure::usage("no label was given")
            .hint("`--label LABEL` for each of them, or `--labels FILE`"));
    }
    let mut labels: Vec<Label> = args.label.iter().map(|text| split(text)).collect();
    if let Some(path) = &args.labels {
        labels.extend(read(path, &begun.file(path)?)?);
    }
    let mut labels = Labels::new(labels)?;
    if args.nothing {
        labels = labels.or_nothing(Nothing::default())?;
    }
    if let Some(text) = &args.nothing_as {
        labels = labels.or_nothing(Nothing(split(text)))?;
    }
    let cascade = begun.choice.then.is_some();
    let method = match args.method {
        Some(How::Generate) if cascade => {
            return Err(Failure::usage("a cascade goes by scores, and --method is generate")
                .hint("leave --method out, or name a profile with --profile"));
        }
        Some(How::Score) => Method::Score,
        None if cascade => Method::Score,
        _ => Method::Generate,
    };
    begun.run("decide", |ready| one(ready, &labels, method))
}

fn one(ready: &mut Ready, labels: &Labels, method: Method) -> Result<Exit, Failure> {
    let stop = ready.interrupt.stop();
    let outcome = decide(ready.provider.as_ref(), &ready.input, labels, method, &stop);
    let decision = match outcome.map_err(|error| ready.failed(error))? {
        Outcome::Done(decision) => decision,
        Outcome::Incomplete(incomplete) => return Err(ready.incomplete(&incomplete)),
        Outcome::Undecided(undecided) => return self::undecided(ready, &undecided, labels),
    };
    if ready.json {
        let body = body(ready, &decision)?;
        envelope::print(&mut ready.screen, "decide", body)?;
    } else {
        let nothing = labels.nothing().map_or("", |label| label.name.as_str());
        ready.screen.answer(decision.label.as_deref().unwrap_or(nothing))?;
    }
    details(ready, &decision.scores);
    if let Some(leg) = &decision.leg {
        let figures: Vec<String> =
            [Lack::Margin, Lack::OptionMass].map(|figure| leg.told(figure)).into();
        let (figures, by) = (figures.join(", "), &leg.profile);
        ready.screen.detail(&format!("cascade {}: {figures}; {by} answered", leg.cascade));
    }
    let answered = answered(ready.provider.as_ref(), &decision);
    if let Some(reply) = &decision.reply {
        ready.remarks(reply);
        ready.record_of(reply, answered).map_err(Failure::told)?;
    } else {
        let Decision { scores, mass, input, usage, .. } = &decision;
        let scoring = scoring(labels, scores, mass.unwrap_or_default(), *input, *usage);
        ready.record_scores(&scoring, answered).map_err(Failure::told)?;
    }
    Ok(Exit::Done)
}

/// A scoring of labels for its receipt.
fn scoring<'a>(
    labels: &'a Labels,
    scores: &'a [Scored],
    mass: f64,
    input: Option<Digest>,
    usage: Usage,
) -> Scoring<'a> {
    let nothing = labels.nothing().map_or("", |label| label.name.as_str());
    let row = |score: &'a Scored| (score.label.as_deref().unwrap_or(nothing), score.logprob);
    // A decision has instructions, so it goes through a template.
    Scoring { labels: scores.iter().map(row).collect(), mass, input, usage, mode: Mode::Chat }
}

fn details(ready: &Ready, scores: &[Scored]) {
    for score in scores {
        let name = score.label.as_deref().unwrap_or("(nothing)");
        ready.screen.detail(&format!("{:.6} {name}", score.probability));
    }
}

/// Who answered: of a cascade perhaps the second one.
fn answered<'a>(provider: &'a dyn Provider, decision: &Decision) -> &'a dyn Provider {
    let escalated = decision.leg.as_ref().is_some_and(|leg| leg.escalated);
    let second = provider.cascaded().filter(|_| escalated).and_then(|cascaded| cascaded.second());
    second.unwrap_or(provider)
}

impl<'a> From<&'a Scored> for Row<'a> {
    fn from(Scored { label, probability, logprob }: &'a Scored) -> Row<'a> {
        Row { label: label.as_deref(), probability: *probability, logprob: *logprob }
    }
}

fn body<'a>(ready: &Ready, decision: &'a Decision) -> Result<Body<'a>, Failure> {
    let provider = answered(ready.provider.as_ref(), decision);
    Ok(Body {
        asked: ready.asked_of(provider, decision.leg.as_ref()),
        outcome: "decided",
        label: Some(decision.label.as_deref()),
        method: decision.method.name(),
        scores: decision.scores.iter().map(Row::from).collect(),
        mass: decision.mass,
        account: match &decision.reply {
            Some(reply) => Account::Reply(Box::new(Made::of(reply))),
            None => Account::Scores {
                usage: decision.usage,
                digests: task::digests(provider)?.map(Box::new),
            },
        },
    })
}

/// Ends without a label on stdout: a person decides, or nobody does.
fn undecided(ready: &mut Ready, undecided: &Undecided, labels: &Labels) -> Result<Exit, Failure> {
    details(ready, &undecided.scores);
    let failure = Failure::from(undecided.error());
    // What ran is on record all the same.
    let Undecided { scores, mass, input, usage, .. } = undecided;
    let scoring = scoring(labels, scores, *mass, *input, *usage);
    ready.record_scores(&scoring, ready.provider.as_ref())?;
    if !ready.json {
        return Err(failure);
    }
    let digests = task::digests(ready.provider.as_ref())?;
    let body = Body {
        asked: ready.asked_of(ready.provider.as_ref(), Some(&undecided.leg)),
        outcome: "undecided",
        label: None,
        method: Method::Score.name(),
        scores: undecided.scores.iter().map(Row::from).collect(),
        mass: Some(undecided.mass),
        account: Account::Scores { usage: undecided.usage, digests: digests.map(Box::new) },
    };
    envelope::print(&mut ready.screen, "decide", body)?;
    Err(failure.told())
}

/// `LABEL` or `LABEL=DESCRIPTION`.
fn split(text: &str) -> Label {
    match text.split_once('=') {
        Some((name, description)) => Label::new(name.trim()).described(description.trim()),
        None => Label::new(text.trim()),
    }
}

/// The labels of a file.
fn read(path: &Path, text: &str) -> Result<Vec<Label>, Failure> {
    let place = path.display();
    if path.extension().is_none_or(|extension| extension != "json") {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        return Ok(lines.map(split).collect());
    }
    let wrong = || Failure::usage(format!("{place}: a list of texts, or an object of texts"));
    let value = json::parse(text, "labels")
        .map_err(|fault| Failure::usage(format!("{place}: {}", fault.what())))?;
    let named = |name: &str, description: &Value| {
        description.as_str().map(|text| Label::new(name).described(text))
    };
    let labels: Option<Vec<Label>> = match &value {
        Value::Array(names) => names.iter().map(|name| name.as_str().map(Label::new)).collect(),
        Value::Object(labels) => labels.iter().map(|(name, text)| named(name, text)).collect(),
        _ => None,
    };
    labels.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_files() {
        let plain = |names: &[&str]| names.iter().map(|name| Label::new(*name)).collect::<Vec<_>>();
        let told = vec![Label::new("año").described("de un cobro = fecha"), Label::new("otro")];
        let cases = [
            ("lines", "l.txt", "uno\n\n  dos \r\n", Some(plain(&["uno", "dos"]))),
            ("described", "l", "año = de un cobro = fecha\notro", Some(told)),
            ("a list", "l.json", r#"["a=b", "ñ"]"#, Some(plain(&["a=b", "ñ"]))),
            ("an object", "l.json", r#"{"a": "b"}"#, Some(vec![Label::new("a").described("b")])),
            ("numbers", "l.json", "[1]", None),
            ("a text", "l.json", "\"a\"", None),
            ("no JSON", "l.json", "a\nb", None),
            ("a label twice", "l.json", r#"{"a": "b", "a": "c"}"#, None),
        ];
        for (name, path, text, want) in cases {
            assert_eq!(read(Path::new(path), text).ok(), want, "{name}");
        }
    }
}
