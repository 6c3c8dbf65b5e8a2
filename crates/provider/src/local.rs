//! The provider that is this process: an opened model, no socket.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Instant,
};

use recinto_engine::{
    Constraint, Message, Model, OpenOptions, Options, Reply as EngineReply, Request, Role, Scores,
    Session, SessionOptions, Stop, TemplateSource,
};
use recinto_grammar::{Grammar, Grammars, Shape};
use recinto_policy::Budget;
use recinto_store::{Files, Roots, licence::Licence};

use crate::{
    Abilities, Error, Identity, Name, Opened, Provider, Reply, Settings, Sink, Turn,
    defaults::{self, Defaults},
    kept::{Kept, Seat},
    meter::{self, Whose},
    opened::open_in,
    span::{self, Asked, Operation, Outcome},
};

/// A model of this disk, opened in this process.
pub struct Local {
    model: Model,
    name: String,
    files: Files,
    defaults: Defaults,
    licences: Vec<Licence>,
    notes: Vec<String>,
    session: SessionOptions,
    warnings: Vec<String>,
    budget: Option<Arc<Budget>>,
    /// Made when the first shape is asked for: it reads the whole vocabulary.
    grammars: OnceLock<Result<Grammars, Error>>,
    /// Sessions of [`Provider::complete`] and [`Provider::score`], for requests to come.
    kept: Kept,
    /// Whether spans hold words.
    content: bool,
}

impl Local {
    /// Opens the model that `settings` names, in the stores that the environment names.
    ///
    /// # Errors
    ///
    /// As [`Local::open_in`].
    pub fn open(settings: &Settings, options: OpenOptions) -> Result<Local, Error> {
        Local::open_in(settings, &crate::roots()?, options)
    }

    /// Opens the model that `settings` names, in the stores of `roots`. What `settings` says of
    /// threads, level, arch files, pinning and verifying goes before what `options` says; sessions
    /// store keys and values as `settings` has it and have the context that `options` asks for, or
    /// else the one that the model's store says.
    ///
    /// Where a lock holds and has the model, its parts must be what it says, and the digest of the
    /// weights is computed unless `settings` say otherwise. A file of which its store says a digest
    /// must have it.
    ///
    /// # Errors
    ///
    /// No model is set, its name leads to no file, its licence is not allowed, the file cannot be
    /// run, or the lock cannot be read or does not let it run.
    pub fn open_in(
        settings: &Settings,
        roots: &Roots,
        options: OpenOptions,
    ) -> Result<Local, Error> {
        let content = settings.traces_content()?;
        let opened = open_in(
            settings,
            roots,
            options,
            |paths, options| {
                let session = options.session.clone();
                Ok((Model::open_files(paths, options)?, session))
            },
            |opened| &opened.0,
        )?;
        let Opened { value: (model, session), name, files, licences, warnings, mut notes } = opened;
        let facts = model.facts();
        let defaults = defaults::of(&files.layers.params, facts.vocabulary, facts.context);
        notes.extend(defaults.notes.iter().map(ToString::to_string));
        if let Some(why) = model.template_refused() {
            let instead = match model.template_source() {
                TemplateSource::None => "the file has none, so texts are continued as they stand",
                _ => "the one in the file is used",
            };
            notes.push(format!("the store's chat template cannot be used ({why}); {instead}"));
        }
        let grammars = OnceLock::new();
        let budget = None;
        let kept = Kept::new(settings.prompt_cache.as_ref().is_none_or(|on| on.value));
        Ok(Local {
            model,
            name,
            files,
            defaults,
            licences,
            notes,
            session,
            warnings,
            budget,
            grammars,
            kept,
            content,
        })
    }

    /// The same with sessions made by `options`.
    pub fn with_session(mut self, options: SessionOptions) -> Local {
        self.session = options;
        self.kept.clear();
        self
    }

    /// The same within a budget, which its replies and scorings count towards. Without one nothing
    /// is counted.
    pub fn within(mut self, budget: Arc<Budget>) -> Local {
        self.budget = Some(budget);
        self
    }

    /// The opened model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Which store the name was found in, by the word that is its prefix in names.
    pub fn store(&self) -> &str {
        self.files.store.name()
    }

    /// What should be known of the files: who else may change them, and that no lock names them.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Where the name led, and what the store keeps beside the weights.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Every licence that the file or its store states.
    pub fn licences(&self) -> &[Licence] {
        &self.licences
    }

    /// What a user should know about how the name was resolved and what of the store is left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How answers are made where the user says nothing: the engine's defaults, and above them
    /// what the model's store says.
    pub fn options(&self) -> Options {
        self.defaults.options.clone()
    }

    /// A new conversation's memory. Without a context of the user's own it has the store's.
    ///
    /// # Errors
    ///
    /// As [`Model::session`].
    pub fn session(&self) -> Result<Session, Error> {
        Ok(self.made()?)
    }

    fn made(&self) -> Result<Session, recinto_engine::Error> {
        let context = self.session.context.or(self.defaults.context);
        self.model.session(&SessionOptions { context, ..self.session.clone() })
    }

    /// Does `work` with a session that is kept afterwards, if it goes well. Where memory is short,
    /// none is kept any longer.
    fn seated<T>(
        &self,
        labels: &[String],
        work: impl FnOnce(&mut Seat<'_>) -> Result<T, recinto_engine::Error>,
    ) -> Result<T, Error> {
        let mut seat = self.kept.seat(labels);
        match work(&mut seat) {
            Ok(value) => {
                seat.keep();
                Ok(value)
            }
            Err(error) => {
                if *error.kind() == recinto_engine::Kind::Memory {
                    self.kept.clear();
                }
                Err(error.into())
            }
        }
    }

    /// The request with what the store puts before a conversation: its instructions where there
    /// are none, and its examples. A text to continue stays as it is.
    pub fn request<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let layers = &self.files.layers;
        let instructed = request.messages.iter().any(|message| message.role == Role::System);
        let system = layers.system.as_ref().filter(|_| !instructed);
        if request.completion || (system.is_none() && layers.messages.is_empty()) {
            return Cow::Borrowed(request);
        }
        let mut filled = request.clone();
        if let Some(text) = system {
            filled.messages.insert(0, Message::new(Role::System, text));
        }
        let first = filled.messages.iter().position(|message| message.role != Role::System);
        let examples = layers.messages.iter().map(|example| {
            let role = match example.role.as_str() {
                "assistant" => Role::Assistant,
                "system" => Role::System,
                _ => Role::User,
            };
            Message::new(role, &example.content)
        });
        let at = first.unwrap_or(filled.messages.len());
        filled.messages.splice(at..at, examples);
        Cow::Owned(filled)
    }

    /// Answers a turn in `session`; a shape is not looked at.
    ///
    /// # Errors
    ///
    /// As [`Session::reply`]; a budget that does not hold it.
    pub fn reply(
        &self,
        session: &mut Session,
        turn: &Turn,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<EngineReply, Error> {
        let output = turn.request.options.max_tokens;
        self.metered(Operation::of(&turn.request), turn, output, |request| {
            Ok(session.reply(request, stop, sink)?)
        })
    }

    /// Compiles what an answer of this model may be, before any token is spent.
    ///
    /// # Errors
    ///
    /// [`Kind::Shape`](crate::Kind::Shape): it is broken, or cannot be kept exactly.
    pub fn shape(&self, shape: &Shape) -> Result<Grammar, Error> {
        let made = self.grammars.get_or_init(|| Ok(Grammars::new(&self.model)?));
        Ok(made.as_ref().map_err(Error::clone)?.compile(shape)?)
    }

    /// Does `work` with the turn's request, as the store completes it, in a span that names this
    /// model and within the budget.
    fn metered<T: Outcome>(
        &self,
        operation: Operation,
        turn: &Turn,
        output: usize,
        work: impl FnOnce(&Request) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (model, content) = (self.name.as_str(), self.content);
        let asked =
            Asked { operation, provider: "recinto", model, request: &turn.request, content };
        span::within(&asked, || {
            let request = self.request(&turn.request);
            let whose = Whose { identity: turn.counted(), model };
            let count = |request: &Request| Ok(self.model.prompt(request)?.ids.len() as u64);
            meter::within(self.budget.as_deref(), whose, &request, output as u64, count, work)
        })
    }
}

impl Provider for Local {
    fn identity(&self) -> Identity {
        Identity {
            provider: Name::Local,
            model: self.name.clone(),
            path: self.files.weights.first().cloned(),
            host: None,
            warnings: self.warnings.clone(),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities { schemas: true, grammars: true, scores: true, logprobs: true, tools: true }
    }

    fn defaults(&self) -> Options {
        self.options()
    }

    fn local(&self) -> Option<&Local> {
        Some(self)
    }

    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        let mut grammar = turn.shape.as_ref().map(|shape| self.shape(shape)).transpose()?;
        let constraint = grammar.as_mut().map(|grammar| grammar as &mut dyn Constraint);
        let output = turn.request.options.max_tokens;
        self.metered(Operation::of(&turn.request), turn, output, |request| {
            let reply = self.seated(&turn.labels, |seat| {
                self.model.reply_in(
                    move |ids| seat.take(ids, || self.made()),
                    request,
                    constraint,
                    stop,
                    sink,
                )
            });
            Ok(reply?.into())
        })
    }

    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
        // No label has more tokens than bytes, and each has an end.
        let output = labels.iter().map(|label| label.len() + 1).sum();
        self.metered(Operation::Score, turn, output, |request| {
            let end = request.options.deadline.and_then(|time| Instant::now().checked_add(time));
            let stop = stop.with_deadline(end);
            self.seated(&turn.labels, |seat| {
                self.model.score_in(
                    move |ids| seat.take(ids, || self.made()),
                    request,
                    labels,
                    &stop,
                )
            })
        })
    }
}
