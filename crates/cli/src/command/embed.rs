//! `recinto embed`: texts as vectors.

use std::borrow::Cow;

use recinto_engine::{Embedding, Encoder, Pooling, Precision, Shape, Stop};
use recinto_judge::json;
use recinto_provider::Counted;
use serde::Serialize;
use serde_json::Value;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::TextArgs,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    options,
    screen::Screen,
};

/// Texts that are read before their vectors are written.
const TOGETHER: usize = 64;
/// Values of a vector that a table shows.
const SHOWN: usize = 4;

const EXAMPLES: &str = "\
The model is an encoder: a folder with config.json and model.safetensors, or a GGUF file. Without
--lines or --jsonl all of the input is one text. Marks of the model that stand in a text, such as
[SEP], are letters like any other. A line is written for each text: its place, the number of tokens
and the vector.

Examples:
  recinto embed -m ./all-MiniLM-L6-v2 \"¿Dónde está mi pedido?\"
  recinto embed -m ./all-MiniLM-L6-v2 --lines -f preguntas.txt > vectors.jsonl
  recinto embed --jsonl --pooling cls --no-normalize < texts.jsonl
  recinto embed --table \"uno\"";

/// Turn texts into vectors, for search and comparison
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    text: TextArgs,

    /// Each line of the input is a text
    #[arg(long, conflicts_with = "jsonl")]
    lines: bool,

    /// Each line of the input is JSON: a text, or a map with `text` and perhaps `id`
    #[arg(long)]
    jsonl: bool,

    /// Which rows a vector is made of: the model's own way where nothing is said
    #[arg(long, value_parser = ["mean", "cls", "last"])]
    pooling: Option<String>,

    /// Divide vectors by their length; the model's own way where nothing is said
    #[arg(long, overrides_with = "no_normalize")]
    normalize: bool,

    /// Leave the length of vectors as it is
    #[arg(long, overrides_with = "normalize")]
    no_normalize: bool,

    /// Leave out the end of a text that is too long, rather than to refuse it
    #[arg(long)]
    truncate: bool,

    /// For whom this is asked: the operator's budget counts for each by itself
    #[arg(long, value_name = "NAME", value_parser = options::identity)]
    identity: Option<String>,

    /// A table for people, with the first values of each vector
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    table: bool,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// One text of the input.
struct Item<'a> {
    text: Cow<'a, str>,
    /// What the input calls it.
    id: Option<Value>,
}

/// One text of the output.
#[derive(Serialize)]
struct Row<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    tokens: usize,
    embedding: &'a [f32],
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    precision: Precision,
    dimensions: usize,
    pooling: Pooling,
    normalize: bool,
    weights: String,
    embeddings: Vec<Row<'a>>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.model.settings()?;
    settings.model()?;
    let input = args.text.read(args.model.lock_memory, &interrupt)?;
    let items = args.items(&input)?;
    let opened = args.model.open_encoder(&settings)?;
    open::introduce_encoder(&screen, &opened, &opened.value);
    let encoder = &opened.value;
    let budget = Counted::open(&settings, args.identity.as_deref())?;
    let shape = args.shape(encoder)?;
    if args.table {
        screen.line(&format!("{:>6}  {:>6}  first values", "text", "tokens"))?;
    }
    let mut all: Vec<Embedding> = Vec::new();
    for (part, items) in items.chunks(TOGETHER).enumerate() {
        let texts: Vec<&str> = items.iter().map(|item| &*item.text).collect();
        let found = budget.spend(
            known(encoder, &texts, &budget)?,
            &Stop::never(),
            |stop| encoder.embed(&texts, shape, args.truncate, stop),
            |found| found.iter().flatten().map(|one| one.tokens as u64).sum(),
        )?;
        if let Some(error) = found.as_ref().err().and_then(|_| budget.exhausted()) {
            return Err(error.into());
        }
        let found = found.map_err(|error| match (items.len(), part) {
            (_, 0) => Failure::from(error),
            // Places are counted from the first text of all.
            _ => Failure::from(error).hint(&format!("counted from text {}", part * TOGETHER + 1)),
        })?;
        if args.output.json {
            all.extend(found);
            continue;
        }
        for (at, (item, embedding)) in items.iter().zip(&found).enumerate() {
            let row = row(part * TOGETHER + at, item, embedding);
            match args.table {
                true => screen.row(&shown(&row))?,
                false => {
                    let line = serde_json::to_string(&row)
                        .map_err(|_| Failure::running("a vector cannot be written as JSON"))?;
                    screen.line(&line)?;
                }
            }
        }
    }
    if args.output.json {
        let body = Body {
            model: &opened.name,
            precision: encoder.model().precision(),
            dimensions: encoder.width(),
            pooling: shape.pooling,
            normalize: shape.normalize,
            weights: format!("sha256:{}", encoder.digests()?.weights),
            embeddings: items
                .iter()
                .zip(&all)
                .enumerate()
                .map(|(index, (item, embedding))| row(index, item, embedding))
                .collect(),
        };
        envelope::print(&mut screen, "embed", body)?;
    }
    screen.detail(&format!(
        "{} texts, {} dimensions, pooling {}, {}",
        items.len(),
        encoder.width(),
        shape.pooling.name(),
        if shape.normalize { "of length 1" } else { "of any length" }
    ));
    Ok(Exit::Done)
}

/// Tokens that these texts have at least, where it is worth counting them: those of a text that is
/// cut are as many as the model has room for.
fn known(encoder: &Encoder, texts: &[&str], budget: &Counted) -> Result<u64, Failure> {
    if !budget.limits_tokens() {
        return Ok(0);
    }
    let room = encoder.facts().context.unwrap_or(u64::MAX);
    let tokenizer = encoder.model().tokenizer();
    texts.iter().try_fold(0u64, |sum, text| {
        let ids = tokenizer.encode_plain(text)?;
        Ok(sum.saturating_add((ids.len() as u64).min(room)))
    })
}

fn row<'a>(index: usize, item: &'a Item<'_>, embedding: &'a Embedding) -> Row<'a> {
    let Embedding { vector, tokens } = embedding;
    Row { index, id: item.id.as_ref(), tokens: *tokens, embedding: vector }
}

fn shown(row: &Row<'_>) -> String {
    let first: Vec<String> =
        row.embedding.iter().take(SHOWN).map(|value| format!("{value:>9.5}")).collect();
    let more = if row.embedding.len() > SHOWN { " …" } else { "" };
    let name = row.id.map_or_else(|| row.index.to_string(), ToString::to_string);
    format!("{name:>6}  {:>6}  {}{more}", row.tokens, first.join(" "))
}

impl Args {
    /// The texts of the input.
    fn items<'a>(&self, input: &'a str) -> Result<Vec<Item<'a>>, Failure> {
        if !self.lines && !self.jsonl {
            return Ok(vec![Item { text: Cow::Borrowed(input), id: None }]);
        }
        let lines = input.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let items = lines.map(|(at, line)| match self.jsonl {
            true => item(line, at + 1),
            false => Ok(Item { text: Cow::Borrowed(line), id: None }),
        });
        let items = items.collect::<Result<Vec<_>, _>>()?;
        match items.is_empty() {
            true => Err(Failure::usage("the input has no line with a text")),
            false => Ok(items),
        }
    }

    /// The model's own way, where flags do not say another.
    fn shape(&self, encoder: &Encoder) -> Result<Shape, Failure> {
        let asked = |name: &String| Pooling::ALL.iter().find(|row| row.0 == name).map(|row| row.1);
        let pooling = self.pooling.as_ref().and_then(asked);
        let own = match (encoder.shape(), pooling) {
            (Ok(own), _) => own,
            // Only the pooling may be one that is not known.
            (Err(_), Some(pooling)) => Shape { pooling, normalize: true },
            (Err(error), None) => return Err(error.into()),
        };
        let normalize = match (self.normalize, self.no_normalize) {
            (true, _) => true,
            (_, true) => false,
            _ => own.normalize,
        };
        Ok(Shape { pooling: pooling.unwrap_or(own.pooling), normalize })
    }
}

/// A line of JSON: a text, or a map with one.
fn item(line: &str, number: usize) -> Result<Item<'static>, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("line {number} of the input {why}"))
            .hint("a line is a text in quotes, or a map such as {\"id\": 7, \"text\": \"…\"}")
    };
    match json::parse(line, "a text or a map") {
        Ok(Value::String(text)) => Ok(Item { text: Cow::Owned(text), id: None }),
        Ok(Value::Object(mut map)) => match map.remove("text") {
            Some(Value::String(text)) => Ok(Item { text: Cow::Owned(text), id: map.remove("id") }),
            _ => Err(wrong("has no `text`")),
        },
        Ok(_) => Err(wrong("is no text and no map")),
        Err(fault) => Err(wrong(&format!("is {}", fault.what()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_json() {
        let sound: [(&str, &str, Option<Value>); 4] = [
            (r#""¿Qué año?""#, "¿Qué año?", None),
            (r#"{"text":"ñandú"}"#, "ñandú", None),
            (r#"{"id":7,"text":"a","x":[1]}"#, "a", Some(7.into())),
            (r#"{"text":"","id":"é"}"#, "", Some("é".into())),
        ];
        for (line, text, id) in sound {
            let item = item(line, 1).unwrap();
            assert_eq!((&*item.text, item.id), (text, id), "{line}");
        }
        for line in [
            "7",
            "[]",
            "{\"text\":\"a\",\"text\":\"secreto\"}",
            "{}",
            "{\"text\":1}",
            "secreto",
            "{\"text\":\"secreto\"",
        ] {
            let failure = item(line, 3).err().expect(line);
            let text = failure.text.unwrap();
            assert!(text.contains("line 3") && !text.contains("secreto"), "{text}");
        }
    }
}
