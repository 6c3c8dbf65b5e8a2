//! What the commands with a typed answer share: their flags, their beginning and their envelope.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use recinto_chat::Role;
use recinto_engine::{Digests, Message, Options, Times, Usage};
use recinto_os::WipedText;
use recinto_provider::{BUILD, Choice, Likelihood, Provider, Reply, Route, Service, Task};
use recinto_tasks::{Answer, Error, Incomplete, Input, Leg, Outcome, WORDING};
use serde::Serialize;

use crate::{
    envelope::Engine,
    exit::Exit,
    failure::Failure,
    input::{self, Reading, TextArgs},
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs, ReceiptArgs, Receipts},
    options::AnswerArgs,
    recorded::Scoring,
    records::{self, Place},
    screen::Screen,
};

/// Flags of every such command.
#[derive(clap::Args, Debug)]
pub struct TaskArgs {
    #[command(flatten)]
    pub text: TextArgs,

    /// Ask about records in place of one text: a JSON map a line in UTF-8, {"text": …}, and perhaps
    /// "id", "data_labels" and "identity"; `-` is stdin. One JSON envelope a line comes back
    #[arg(long = "in", value_name = "FILE", conflicts_with_all = ["text", "file", "receipt"])]
    pub records: Option<PathBuf>,

    #[command(flatten)]
    receipt: ReceiptArgs,
    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A task whose flags are in order; nothing is opened yet.
pub struct Begun<'a> {
    args: &'a TaskArgs,
    pub choice: Choice,
    receipts: Receipts,
    pub interrupt: Interrupt,
    pub screen: Screen,
    pub how: Reading,
}

/// A task with its text and its model.
pub struct Ready {
    pub provider: Box<dyn Provider>,
    pub route: Route,
    pub input: Input,
    pub interrupt: Interrupt,
    pub screen: Screen,
    pub json: bool,
    /// Which record it is about.
    pub place: Place,
    receipts: Receipts,
    /// When it was asked.
    begun: SystemTime,
}

impl TaskArgs {
    /// Refuses what can be refused at once; `others` are the files that the command reads besides.
    pub fn begin(&self, task: Task, others: &[Option<&Path>]) -> Result<Begun<'_>, Failure> {
        let interrupt = Interrupt::listen()?;
        let screen = Screen::new(self.output.quiet, self.output.verbose)?;
        let choice = self.model.choice(task)?;
        let settings = &choice.settings;
        self.answer.options(settings, Options::default())?;
        settings.named()?;
        let texts = [&self.text.file, &self.answer.system_file, &self.records];
        let mut read: Vec<Option<&Path>> = texts.map(|path| path.as_deref()).to_vec();
        read.extend(others);
        // The second leg of a cascade may have a key of its own.
        let then = choice.then.as_ref().and_then(|then| then.settings.api_key_file.as_ref());
        read.push(then.map(|file| file.value.as_path()));
        let receipts = self.receipt.target(settings, &read)?;
        let how = Reading { encoding: self.text.encoding, lock: self.model.lock_memory };
        Ok(Begun { args: self, choice, receipts, interrupt, screen, how })
    }
}

impl Begun<'_> {
    /// A file that the command reads besides its text.
    pub fn file(&self, path: &Path) -> Result<WipedText, Failure> {
        let args = self.args;
        let stdin = match args.records.as_deref() {
            Some(records) => records == Path::new("-"),
            None => args.text.text.is_none() && args.text.file.is_none(),
        };
        if path == Path::new("-") && stdin {
            return Err(Failure::usage("stdin is asked for twice").hint("one `-` reads all of it"));
        }
        input::file(path, self.how, &self.interrupt)
    }

    /// Reads the text, opens the model and does `one` with both; or with each of the records.
    pub fn run(
        self,
        command: &str,
        mut one: impl FnMut(&mut Ready) -> Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        let (args, lock) = (self.args, self.how.lock);
        let instructions = args.answer.system(self.how, &self.interrupt)?;
        if let Some(path) = args.records.as_deref() {
            if lock {
                let what = "--lock-memory is not for records: their lines cannot be locked yet";
                return Err(Failure::usage(what).hint("leave it out, or turn the swap off"));
            }
            let lines = records::open(path, &self.interrupt)?;
            let ready = self.opened(instructions, Message::new(Role::User, ""))?;
            return records::run(lines, Ready { json: true, ..ready }, command, one);
        }
        let text = args.text.read(lock, &self.interrupt)?;
        #[cfg(debug_assertions)]
        crate::fault::trip(&text);
        let message = input::message(Role::User, &text, lock)?;
        drop(text);
        one(&mut self.opened(instructions, message)?)
    }

    /// Opens the model.
    fn opened(self, instructions: Option<WipedText>, message: Message) -> Result<Ready, Failure> {
        let args = self.args;
        let settings = &self.choice.settings;
        let provider = args.model.provider_of(&self.choice, args.answer.session(settings))?;
        let input = Input {
            text: message,
            instructions: instructions.map(|words| words.to_string()),
            options: args.answer.options(settings, provider.defaults())?,
            data_labels: args.answer.data_label.clone(),
            identity: args.answer.identity.clone(),
        };
        open::present(&self.screen, provider.as_ref());
        let Begun { screen, interrupt, receipts, choice, .. } = self;
        let (route, place, json) = (choice.route, Place::default(), args.output.json);
        let begun = SystemTime::now();
        Ok(Ready { provider, route, input, interrupt, screen, json, place, receipts, begun })
    }
}

impl Ready {
    /// Says where a prompt did not fit.
    pub fn failed(&self, error: Error) -> Failure {
        let facts = self.provider.local().map(|local| local.model().facts());
        Failure::from(error).with_room(facts.as_ref())
    }

    /// The answer of a task, or why there is none.
    pub fn answer<T>(
        &self,
        outcome: Result<Outcome<Answer<T>>, Error>,
    ) -> Result<Answer<T>, Failure> {
        match outcome.map_err(|error| self.failed(error))? {
            Outcome::Done(answer) => Ok(answer),
            Outcome::Incomplete(incomplete) => Err(self.incomplete(&incomplete)),
            // Only a decision has a margin.
            Outcome::Undecided(undecided) => Err(undecided.error().into()),
        }
    }

    /// Ends a command whose answer stands on stdout already.
    pub fn done(&self, reply: &Reply) -> Result<Exit, Failure> {
        self.remarks(reply);
        self.record(reply).map_err(Failure::told)?;
        Ok(Exit::Done)
    }

    /// Ends a command whose answer is no value; what ran is on record all the same.
    pub fn incomplete(&self, incomplete: &Incomplete) -> Failure {
        match self.record(&incomplete.reply) {
            Ok(()) => incomplete.error().into(),
            Err(failure) => failure,
        }
    }

    /// Writes the receipt of `reply`, where one is asked for.
    pub fn record(&self, reply: &Reply) -> Result<(), Failure> {
        self.record_of(reply, self.provider.as_ref())
    }

    /// The same of a cascade, of which `answered` answered.
    pub fn record_of(&self, reply: &Reply, answered: &dyn Provider) -> Result<(), Failure> {
        self.receipts.reply(reply, answered, self.begun)
    }

    /// Writes the receipt of a scoring by `scored`, where one is asked for.
    pub fn record_scores(
        &self,
        scoring: &Scoring<'_>,
        scored: &dyn Provider,
    ) -> Result<(), Failure> {
        self.receipts.scoring(scoring, scored, self.begun)
    }

    /// Says what a reader should know, where no envelope says it.
    pub fn remarks(&self, reply: &Reply) {
        if !self.json {
            reply.notes.iter().for_each(|note| self.screen.note(note));
        }
        let (usage, finish) = (reply.usage, reply.finish.name());
        self.screen.detail(&format!(
            "prompt {} tokens ({} cached), answer {}, ended by {finish}",
            usage.prompt_tokens, usage.cached_tokens, usage.output_tokens
        ));
    }
}

/// Who was asked, and how.
#[derive(Serialize)]
pub struct Asked {
    #[serde(flatten)]
    place: Place,
    provider: &'static str,
    model: String,
    route: Routed,
    /// The version of the words around the text.
    wording: u32,
    /// What this program is.
    build: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<Engine>,
    /// What should be known of the model's files.
    warnings: Vec<String>,
}

impl Ready {
    /// Who was asked, in envelopes.
    pub fn asked(&self) -> Asked {
        self.asked_of(self.provider.as_ref(), None)
    }

    /// The same of a cascade, of which `asked` answered.
    pub fn asked_of(&self, asked: &dyn Provider, leg: Option<&Leg>) -> Asked {
        let (route, place) = (Routed::of(&self.route, leg), self.place.clone());
        let identity = asked.identity();
        let provider = identity.provider.name();
        let engine = asked.local().map(|local| Engine::of(&local.model().facts()));
        let (model, warnings) = (identity.model.clone(), identity.warnings.clone());
        Asked { place, provider, model, route, wording: WORDING, build: BUILD, engine, warnings }
    }
}

/// What ran in this process to score, by its bytes; nothing where no model did.
pub fn digests(scored: &dyn Provider) -> Result<Option<Digests>, Failure> {
    Ok(scored.local().map(|local| local.model().digests()).transpose()?)
}

/// What said who answers, and what a cascade made of it.
#[derive(Serialize)]
struct Routed {
    #[serde(flatten)]
    route: Route,
    #[serde(flatten)]
    leg: Option<Went>,
}

/// How a cascade went.
#[derive(Serialize)]
struct Went {
    margin: Option<f64>,
    below: f64,
    option_mass: Option<f64>,
    least_mass: f64,
    /// Which of both was too small: `margin`, `option_mass`.
    lacks: Vec<&'static str>,
    escalated: bool,
}

impl Routed {
    /// As it was chosen, with the profile whose answer stands.
    fn of(route: &Route, leg: Option<&Leg>) -> Routed {
        let mut route = route.clone();
        let went = |leg: &Leg| {
            route.profile = Some(leg.profile.clone());
            Went {
                margin: leg.margin,
                below: leg.below,
                option_mass: leg.option_mass,
                least_mass: leg.least_mass,
                lacks: leg.lacks.iter().map(|lack| lack.name()).collect(),
                escalated: leg.escalated,
            }
        };
        let leg = leg.map(went);
        Routed { route, leg }
    }
}

/// What made a reply; its text stands elsewhere in the envelope.
#[derive(Serialize)]
pub struct Made<'a> {
    reasoning: &'a str,
    finish: &'static str,
    usage: Usage,
    options: &'a Options,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    logprobs: &'a [Likelihood],
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    digests: Option<&'a Digests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    /// Of a service elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a Service>,
}

impl<'a> Made<'a> {
    pub fn of(reply: &'a Reply) -> Made<'a> {
        Made {
            reasoning: &reply.reasoning,
            finish: reply.finish.name(),
            usage: reply.usage,
            options: &reply.options,
            logprobs: &reply.logprobs,
            notes: &reply.notes,
            digests: reply.local().map(|made| &made.digests),
            times: reply.local().map(|made| made.times),
            service: reply.service(),
        }
    }
}
