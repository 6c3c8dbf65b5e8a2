//! `recinto chat`: a conversation, line by line. No history file is kept.

use std::{io::IsTerminal, time::SystemTime};

use recinto_chat::{Message, Role};
use recinto_engine::{Options, Request, Session};
use recinto_os::WipedText;
use recinto_provider::{Finish, Provider, Reply, Route, Task, Turn as Asked};

use crate::{
    command::ask,
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, Lines, Reading},
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs, ReceiptArgs, Receipts},
    options::AnswerArgs,
    screen::{self, Screen},
    text::Encoding,
};

const EXAMPLES: &str = "\
In the conversation:
  /reset          forget the conversation, keep the instructions
  /system TEXT    new instructions; forgets the conversation (without TEXT: none)
  /exit           end (also Ctrl-D)
  //TEXT          a line that begins with /
Ctrl-C stops an answer; what was said of it stays in the conversation. When lines are piped in, one
that fails does not end the rest; the exit code is the worst of all.

Examples:
  recinto chat -m ./qwen.gguf -s \"Answer in Spanish.\"
  recinto chat < questions.txt";

const COMMANDS: &str = "commands: /reset, /system TEXT, /exit; `//` sends text that starts with /";

/// Talk with a model, line by line
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Encoding of --system-file and stdin
    #[arg(long, value_enum, default_value_t)]
    encoding: Encoding,

    /// Print each answer when it is whole, also on a terminal
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
    let screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let choice = args.model.choice(Task::Chat)?;
    let settings = &choice.settings;
    args.answer.options(settings, Options::default())?;
    settings.named()?;
    let receipts = args.receipt.target(settings, &[args.answer.system_file.as_deref()])?;
    let how = Reading { encoding: args.encoding, lock: args.model.lock_memory };
    let system = args.answer.system(how, &interrupt)?;
    let provider = args.model.provider_of(&choice, args.answer.session(settings))?;
    let options = args.answer.options(settings, provider.defaults())?;
    let session = provider.local().map(|local| local.session()).transpose()?;
    open::present(&screen, provider.as_ref());
    let person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if person && !args.output.quiet {
        let name = match provider.local() {
            Some(local) => local.model().facts().name,
            None => provider.identity().model,
        };
        screen.say(&format!("{} — /exit or Ctrl-D ends\n", screen::escaped(&name)));
    }
    let streaming = screen.terminal && !args.no_stream && !args.output.json;
    let mut talk = Talk {
        screen,
        provider,
        session,
        options,
        labels: args.answer.data_label.clone(),
        identity: args.answer.identity.clone(),
        route: choice.route.clone(),
        messages: Vec::new(),
        system,
        streaming,
        json: args.output.json,
        receipts,
        lock: how.lock,
    };
    talk.restart()?;
    let lines = Lines::start(how)?;
    let mut worst = Exit::Done;
    loop {
        if person {
            talk.screen.say("> ");
        }
        let line = match lines.next(&interrupt) {
            Ok(Some(line)) => line,
            Ok(None) => {
                if person {
                    talk.screen.say("\n");
                }
                return Ok(worst);
            }
            Err(failure) => {
                if person {
                    talk.screen.say("\n");
                }
                return Err(failure);
            }
        };
        interrupt.clear();
        match talk.turn(line, &interrupt) {
            Ok(Turn::End) => return Ok(worst),
            Ok(Turn::Next(_)) if person => {}
            Ok(Turn::Next(Exit::Interrupted)) => return Ok(Exit::Interrupted),
            Ok(Turn::Next(exit)) => worst = worse(worst, exit),
            // The other lines can still be answered. A person has seen it; a script learns of it
            // by the exit code.
            Err(failure) if failure.leaves_the_rest() => {
                screen::fail(&failure);
                if talk.json && failure.is_untold() {
                    envelope::fail(&mut talk.screen, "chat", &failure)?;
                }
                if !person {
                    worst = worse(worst, failure.exit);
                }
            }
            Err(failure) => return Err(failure),
        }
        interrupt.clear();
    }
}

/// The exit code that says more: what could not be done goes before what was asked wrongly.
fn worse(a: Exit, b: Exit) -> Exit {
    if b as u8 > a as u8 { b } else { a }
}

/// What comes after a line.
enum Turn {
    Next(Exit),
    End,
}

/// A conversation.
struct Talk {
    screen: Screen,
    provider: Box<dyn Provider>,
    /// What this process remembers of the conversation; others are told it anew each time.
    session: Option<Session>,
    options: Options,
    /// What the data of the whole conversation is.
    labels: Vec<String>,
    identity: Option<String>,
    route: Route,
    messages: Vec<Message>,
    system: Option<WipedText>,
    streaming: bool,
    json: bool,
    receipts: Receipts,
    lock: bool,
}

impl Talk {
    fn restart(&mut self) -> Result<(), Failure> {
        self.messages.clear();
        if let Some(session) = &mut self.session {
            session.truncate(0)?;
        }
        if let Some(text) = &self.system {
            self.messages.push(input::message(Role::System, text, self.lock)?);
        }
        Ok(())
    }

    /// Takes one line: a command or something to answer.
    fn turn(&mut self, line: WipedText, interrupt: &Interrupt) -> Result<Turn, Failure> {
        let next = Ok(Turn::Next(Exit::Done));
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        match word {
            "" if rest.trim().is_empty() => next,
            "/exit" => Ok(Turn::End),
            "/reset" => {
                self.restart()?;
                next
            }
            "/system" => {
                let mut text = WipedText::new(self.lock);
                text.push_str(rest);
                self.system = Some(text).filter(|text| !text.trim().is_empty());
                self.restart()?;
                next
            }
            "/help" => {
                self.screen.note(COMMANDS);
                next
            }
            word if word.starts_with('/') && !word.starts_with("//") => {
                Err(Failure::usage("a line that begins with / is no known command").hint(COMMANDS))
            }
            _ => {
                let text = line.strip_prefix('/').filter(|_| word.starts_with("//"));
                let text = text.unwrap_or(&line);
                self.messages.push(input::message(Role::User, text, self.lock)?);
                match self.answer(interrupt) {
                    Ok(exit) => Ok(Turn::Next(exit)),
                    Err(failure) => {
                        // The conversation stands where it stood.
                        self.messages.pop();
                        Err(failure)
                    }
                }
            }
        }
    }

    fn answer(&mut self, interrupt: &Interrupt) -> Result<Exit, Failure> {
        let request = Request {
            messages: self.messages.clone(),
            options: self.options.clone(),
            ..Request::default()
        };
        let begun = SystemTime::now();
        let (labels, identity) = (self.labels.clone(), self.identity.clone());
        let turn = Asked { labels, identity, ..Asked::from(request) };
        let (provider, session, stop) = (&self.provider, &mut self.session, interrupt.stop());
        let reply =
            self.screen.stream(self.streaming, |sink| match (provider.local(), session) {
                (Some(local), Some(session)) => {
                    local.reply(session, &turn, &stop, sink).map(Reply::from)
                }
                _ => provider.complete(&turn, &stop, sink),
            })?;
        let facts = self.provider.local().map(|local| local.model().facts());
        let mut reply = reply.map_err(|e| Failure::from(e).with_room(facts.as_ref()))?;
        self.show(&reply)?;
        self.receipts.reply(&reply, self.provider.as_ref(), begun).map_err(Failure::told)?;
        let exit = ask::exit_of(&reply.finish);
        if reply.finish == Finish::Cancelled && reply.text.is_empty() {
            self.messages.pop();
            return Ok(exit);
        }
        let mut message = Message::new(Role::Assistant, std::mem::take(&mut reply.text));
        if !reply.reasoning.is_empty() {
            message.reasoning = Some(std::mem::take(&mut reply.reasoning));
        }
        self.messages.push(message);
        Ok(exit)
    }

    fn show(&mut self, reply: &Reply) -> Result<(), Failure> {
        if self.json {
            let identity = self.provider.identity();
            let facts = self.provider.local().map(|local| local.model().facts());
            let body = envelope::Answer::new(reply, &self.route, &identity, facts.as_ref());
            envelope::print(&mut self.screen, "chat", body)?;
        } else if !self.streaming {
            self.screen.answer(&reply.text)?;
        }
        ask::remarks(&self.screen, reply, self.json);
        Ok(())
    }
}
