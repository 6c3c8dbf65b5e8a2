//! `recinto tokenize`: a text as the ids that a model would read.

use recinto_provider::lock;
use recinto_tokenizer::Tokenizer;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::TextArgs,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::Screen,
};

/// Bytes that are written at a time, and room for the line that goes beyond them.
const BLOCK: usize = 1 << 16;
const LINE: usize = 1 << 12;

const EXAMPLES: &str = "\
Without --special the text is data, as a message's content is: nothing in it can become a special
token. No beginning-of-text token is added.

Examples:
  recinto tokenize -m ./qwen.gguf \"¿Qué año es?\"
  recinto tokenize --special \"<|im_start|>user\"
  recinto tokenize --json -f letter.txt";

/// Show the token ids of a text, with their pieces and byte ranges
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    text: TextArgs,

    /// Match special tokens, as in the text of a chat template
    #[arg(long)]
    special: bool,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// One token of the text.
#[derive(Serialize)]
struct Row<'a> {
    id: u32,
    piece: &'a str,
    /// First byte of the text and one past the last.
    bytes: [u32; 2],
}

#[derive(Serialize)]
struct Body<'a> {
    special: bool,
    count: usize,
    tokens: &'a [Row<'a>],
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.model.settings()?;
    let model = &settings.model()?.value;
    let files = open::files_of(&settings, model)?;
    let text = args.text.read(args.model.lock_memory, &interrupt)?;
    // The vocabulary alone: a text can be tokenized for a model that cannot be run.
    let file = open::model_file(&files)?;
    // Ids of another vocabulary than the locked one are not shown.
    let claims = lock::claims(&settings, model, &files)?;
    recinto_engine::tokenizer_holds(model, &claims, &file)?;
    let tokenizer = Tokenizer::from_metadata(file.metadata())?;
    open::remarks(&screen, &tokenizer);
    let whole = 0..text.len();
    let content = if args.special { &[][..] } else { std::slice::from_ref(&whole) };
    let tokens = tokenizer.encode(&text, content)?;
    let rows: Vec<Row<'_>> = tokens
        .iter()
        .map(|token| Row {
            id: token.id,
            piece: tokenizer.piece(token.id).unwrap_or_default(),
            bytes: [token.start, token.end],
        })
        .collect();
    if args.output.json {
        let body = Body { special: args.special, count: rows.len(), tokens: &rows };
        envelope::print(&mut screen, "tokenize", body)?;
        return Ok(Exit::Done);
    }
    let mut lines = Zeroizing::new(String::with_capacity(BLOCK + LINE));
    for row in &rows {
        let [start, end] = row.bytes;
        let range = format!("{start}..{end}");
        // What the id stands for; half a character shows as U+FFFD.
        let bytes = tokenizer.bytes(row.id).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let shown = if bytes.is_empty() { row.piece } else { &text };
        let line = Zeroizing::new(format!("{:>8}  {range:<14} {shown:?}\n", row.id));
        lines.push_str(&line);
        if lines.len() >= BLOCK {
            screen.text(&lines)?;
            lines.clear();
        }
    }
    screen.text(&lines)?;
    screen.detail(&format!("{} tokens", rows.len()));
    Ok(Exit::Done)
}
