//! `recinto ask`: one question, one answer.

use std::{ops::ControlFlow, path::PathBuf};

use recinto_chat::{Message, Role};
use recinto_engine::{Finish, Piece, Reply, Request};
use recinto_provider::Provider;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, TextArgs},
    interrupt::Interrupt,
    open::{ModelArgs, OutputArgs},
    options::AnswerArgs,
    screen::Screen,
    write::Target,
};

const EXAMPLES: &str = "\
Examples:
  recinto ask -m ./qwen.gguf \"What is the capital of Peru?\"
  recinto ask -f question.txt --system-file rules.txt
  cat letter.txt | recinto ask \"Summarise this letter:\"
  recinto ask --json --receipt receipt.json - < question.txt
  recinto ask --completion \"Once upon a time\" --max-tokens 40

Arguments can be seen by other users of this machine (ps). Give private text by stdin or --file.";

/// Answer one question
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    text: TextArgs,

    /// Continue the text as it stands, without the model's chat template
    #[arg(long)]
    completion: bool,

    /// Print the answer when it is whole, also on a terminal
    #[arg(long)]
    no_stream: bool,

    /// Write the receipt (digests and options, no words) to this file
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,

    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    // What can be refused at once is refused before anything is read or computed.
    let options = args.answer.options()?;
    let receipt = args.receipt.as_deref().map(Target::new).transpose()?;
    let settings = args.model.settings()?;
    settings.model()?;
    let system = args.answer.system(args.text.encoding, &interrupt)?;
    if args.completion && system.is_some() {
        return Err(Failure::usage("--completion has no place for --system"));
    }
    let text = args.text.read(&interrupt)?;
    #[cfg(debug_assertions)]
    crate::fault::trip(&text);
    let mut messages = Vec::with_capacity(2);
    if let Some(system) = system {
        messages.push(Message::new(Role::System, input::uncover(system)));
    }
    messages.push(Message::new(Role::User, input::uncover(text)));
    let request =
        Request { messages, options, completion: args.completion, ..Request::default() };
    let local = args.model.open_with(&settings)?.with_session(args.answer.session());
    let facts = local.model().facts();
    screen.detail(&format!(
        "{} ({}), {} threads, level {}, opened in {:.0} ms",
        facts.name, facts.architecture, facts.threads, facts.level, facts.load_ms
    ));
    let streaming = screen.terminal && !args.no_stream && !args.output.json;
    let mut broken = None;
    let mut sink = |piece: Piece<'_>| match streaming.then(|| screen.piece(piece)) {
        Some(Err(failure)) => {
            broken = Some(failure);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let reply = local.complete(&request, &interrupt.stop(), &mut sink);
    if streaming {
        screen.end()?;
    }
    if let Some(failure) = broken {
        return Err(failure);
    }
    let reply = reply?;
    if args.output.json {
        let identity = local.identity();
        let body = envelope::Answer::new(&reply, &identity, &facts);
        envelope::print(&mut screen, "ask", body)?;
    } else if !streaming {
        screen.answer(&reply.text)?;
    }
    remarks(&screen, &reply, args.output.json);
    if let Some(target) = receipt {
        target.write(&reply.receipt.to_bytes())?;
    }
    Ok(exit_of(&reply.finish))
}

/// How a command with this reply ends.
pub fn exit_of(finish: &Finish) -> Exit {
    match finish {
        Finish::Cancelled => Exit::Interrupted,
        Finish::Deadline => Exit::Failed,
        _ => Exit::Done,
    }
}

/// What a person should know about a reply; the envelope has it already.
pub fn remarks(screen: &Screen, reply: &Reply, json: bool) {
    if !json {
        reply.notes.iter().for_each(|note| screen.note(note));
        match reply.finish {
            Finish::Cancelled => screen.note("interrupted; the answer stops here"),
            Finish::Deadline => screen.note("the time is over; the answer stops here"),
            _ => {}
        }
    }
    let (usage, times) = (&reply.usage, &reply.times);
    let rate = |tokens: usize, ms: f64| if ms > 0.0 { tokens as f64 * 1e3 / ms } else { 0.0 };
    let fed = usage.prompt_tokens - usage.cached_tokens;
    screen.detail(&format!(
        "prompt {} tokens ({} cached) in {:.0} ms ({:.0}/s), answer {} tokens in {:.0} ms ({:.1}/s)",
        usage.prompt_tokens,
        usage.cached_tokens,
        times.prefill_ms,
        rate(fed, times.prefill_ms),
        usage.output_tokens,
        times.decode_ms,
        rate(usage.output_tokens.saturating_sub(1), times.decode_ms),
    ));
}
