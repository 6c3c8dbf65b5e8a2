//! `recinto render`: the prompt as the model will read it, its data marked.

use recinto_chat::Role;
use recinto_engine::Request;
use zeroize::Zeroizing;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, Reading, TextArgs},
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    options::AnswerArgs,
    screen::Screen,
};

/// Around data, where the reader sees it: the first pair of which no part is in the text.
const MARKS: [[&str; 2]; 4] = [["⟦", "⟧"], ["⦃", "⦄"], ["⟪", "⟫"], ["⁅", "⁆"]];

const EXAMPLES: &str = "\
Text between ⟦ and ⟧ is data: nothing in it can become a special token. A text that has these
signs itself is shown with others, which are named on stderr. --json is exact: it has the byte
ranges.

Examples:
  recinto render -m ./qwen.gguf -s \"Be brief.\" \"¿Qué es esto?\"
  recinto render --plain -f question.txt > prompt.txt
  recinto render --json \"Hello\"";

/// Show the exact prompt that the model's chat template makes, data marked
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    text: TextArgs,

    /// The exact text alone, without marks
    #[arg(long)]
    plain: bool,

    /// The text as it stands, without the model's chat template
    #[arg(long)]
    completion: bool,

    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(serde::Serialize)]
struct Body<'a> {
    mode: recinto_engine::Mode,
    text: &'a str,
    /// Byte ranges of `text`, first to one past the last.
    content: Vec<[usize; 2]>,
    tokens: &'a [u32],
    notes: &'a [String],
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.model.settings()?;
    args.answer.options(&settings, recinto_engine::Options::default())?;
    settings.model()?;
    let lock = args.model.lock_memory;
    let how = Reading { encoding: args.text.encoding, lock };
    let system = args.answer.system(how, &interrupt)?;
    let text = args.text.read(lock, &interrupt)?;
    let mut messages = Vec::with_capacity(2);
    if let Some(system) = system {
        messages.push(input::message(Role::System, &system, lock)?);
    }
    messages.push(input::message(Role::User, &text, lock)?);
    let local = args.model.open_with(&settings)?;
    let options = args.answer.options(&settings, local.options())?;
    let request = Request { messages, options, completion: args.completion, ..Request::default() };
    open::introduce(&screen, &local, &local.model().facts());
    let prompt = local.model().prompt(&local.request(&request))?;
    if args.output.json {
        let body = Body {
            mode: prompt.mode,
            text: &prompt.text,
            content: prompt.content.iter().map(|range| [range.start, range.end]).collect(),
            tokens: &prompt.ids,
            notes: &prompt.notes,
        };
        envelope::print(&mut screen, "render", body)?;
        return Ok(Exit::Done);
    }
    prompt.notes.iter().for_each(|note| screen.note(note));
    screen.detail(&format!("{} tokens", prompt.ids.len()));
    if args.plain {
        screen.text(&prompt.text)?;
        return Ok(Exit::Done);
    }
    let [open, close] = marks(&prompt.text);
    if open != MARKS[0][0] {
        screen.note(&format!("data stands between {open} and {close}"));
    }
    let room = prompt.text.len() + (open.len() + close.len()) * prompt.content.len();
    let mut marked = Zeroizing::new(String::with_capacity(room));
    let mut end = 0;
    for range in &prompt.content {
        marked.push_str(&prompt.text[end..range.start]);
        marked.push_str(&open);
        marked.push_str(&prompt.text[range.clone()]);
        marked.push_str(&close);
        end = range.end;
    }
    marked.push_str(&prompt.text[end..]);
    screen.answer(&marked)?;
    Ok(Exit::Done)
}

/// Marks that `text` does not have.
fn marks(text: &str) -> [String; 2] {
    let free = |pair: &&[&str; 2]| !pair.iter().any(|mark| text.contains(mark));
    if let Some(pair) = MARKS.iter().find(free) {
        return pair.map(ToOwned::to_owned);
    }
    // A text has as many different numbers as its length allows, so one is free.
    let mut number = 0_u64;
    loop {
        let pair = [format!("⟦{number}:"), format!(":{number}⟧")];
        if !pair.iter().any(|mark| text.contains(mark.as_str())) {
            return pair;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mark_is_in_the_text() {
        let all: String = MARKS.concat().concat();
        let cases = [
            ("plain", "¿qué?".to_owned(), "⟦"),
            ("the open one", "a ⟦ b".into(), "⦃"),
            ("the closing one", "⟧".into(), "⦃"),
            ("two pairs", "⟧⦃".into(), "⟪"),
            ("all", all.clone(), "⟦0:"),
            ("numbers too", format!("{all}⟦0: :1⟧"), "⟦2:"),
        ];
        for (name, text, want) in cases {
            let [open, close] = marks(&text);
            assert_eq!(open, want, "{name}");
            assert!(!text.contains(&open) && !text.contains(&close), "{name}");
        }
    }
}
