//! `recinto ask`: one question, one answer.

use std::time::{Duration, SystemTime};

use recinto_chat::Role;
use recinto_engine::Request;
use recinto_provider::{Finish, Reply, Task, Turn};

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, Reading, TextArgs},
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs, ReceiptArgs},
    options::AnswerArgs,
    screen::Screen,
};

const EXAMPLES: &str = "\
Examples:
  recinto ask -m ./qwen.gguf \"What is the capital of Peru?\"
  recinto ask -f question.txt --system-file rules.txt
  recinto ask \"Summarise this letter:\" - < letter.txt
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

    #[command(flatten)]
    receipt: ReceiptArgs,

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
    let choice = args.model.choice(Task::Ask)?;
    let settings = &choice.settings;
    args.answer.options(settings, recinto_engine::Options::default())?;
    settings.named()?;
    let others = [args.text.file.as_deref(), args.answer.system_file.as_deref()];
    let receipts = args.receipt.target(settings, &others)?;
    let lock = args.model.lock_memory;
    let how = Reading { encoding: args.text.encoding, lock };
    let system = args.answer.system(how, &interrupt)?;
    if args.completion && system.is_some() {
        return Err(Failure::usage("--completion has no place for --system"));
    }
    let text = args.text.read(lock, &interrupt)?;
    #[cfg(debug_assertions)]
    crate::fault::trip(&text);
    let mut messages = Vec::with_capacity(2);
    if let Some(system) = system {
        messages.push(input::message(Role::System, &system, lock)?);
    }
    messages.push(input::message(Role::User, &text, lock)?);
    drop(text);
    let provider = args.model.provider_of(&choice, args.answer.session(settings))?;
    let options = args.answer.options(settings, provider.defaults())?;
    let request = Request { messages, options, completion: args.completion, ..Request::default() };
    let labels = args.answer.data_label.clone();
    let identity = args.answer.identity.clone();
    let turn = Turn { labels, identity, ..Turn::from(request) };
    open::present(&screen, provider.as_ref());
    let streaming = screen.terminal && !args.no_stream && !args.output.json;
    let (stop, begun) = (interrupt.stop(), SystemTime::now());
    let reply = screen.stream(streaming, |sink| provider.complete(&turn, &stop, sink))?;
    let facts = provider.local().map(|local| local.model().facts());
    let reply = reply.map_err(|e| Failure::from(e).with_room(facts.as_ref()))?;
    if args.output.json {
        let identity = provider.identity();
        let body = envelope::Answer::new(&reply, &choice.route, &identity, facts.as_ref());
        envelope::print(&mut screen, "ask", body)?;
    } else if !streaming {
        screen.answer(&reply.text)?;
    }
    remarks(&screen, &reply, args.output.json);
    // The answer stands on stdout already.
    receipts.reply(&reply, provider.as_ref(), begun).map_err(Failure::told)?;
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
    if let Some(local) = reply.local() {
        speed(screen, reply, local);
    } else if let Some(service) = reply.service() {
        let seconds = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
        screen.detail(&format!(
            "{} by {}: prompt {} tokens ({} cached), answer {}, first after {:.1} s, all in \
             {:.1} s, requests {}",
            service.model.as_deref().unwrap_or("a model"),
            service.host,
            reply.usage.prompt_tokens,
            reply.usage.cached_tokens,
            reply.usage.output_tokens,
            seconds(service.first),
            seconds(service.whole),
            service.requests,
        ));
    }
}

/// How fast this process was, and with which weights.
fn speed(screen: &Screen, reply: &Reply, local: &recinto_engine::Reply) {
    let (usage, times) = (&reply.usage, &local.times);
    let rate = |tokens: usize, ms: f64| if ms > 0.0 { tokens as f64 * 1e3 / ms } else { 0.0 };
    let fed = usage.prompt_tokens - usage.cached_tokens;
    screen.detail(&format!(
        "prompt {} tokens ({} cached) in {:.0} ms ({:.0}/s), answer {} in {:.0} ms ({:.1}/s)",
        usage.prompt_tokens,
        usage.cached_tokens,
        times.prefill_ms,
        rate(fed, times.prefill_ms),
        usage.output_tokens,
        times.decode_ms,
        rate(usage.output_tokens.saturating_sub(1), times.decode_ms),
    ));
    let digests = &local.digests;
    screen.detail(&format!("weights {} ({})", digests.weights, digests.weights_origin.name()));
}
