//! The provider that is this process: an opened model, no socket.

use std::{borrow::Cow, path::PathBuf, sync::OnceLock};

use recinto_engine::{
    Constraint, Message, Model, OpenOptions, Options, Reply as EngineReply, Request, Role, Scores,
    Session, SessionOptions, Stop, StoreTemplate, TemplateSource,
};
use recinto_grammar::{Grammar, Grammars, Shape};
use recinto_store::{
    Files, Form, Roots,
    licence::{self, Allowed, Licence},
};

use crate::{
    Abilities, Error, Identity, Kind, Name, Provider, Reply, Setting, Settings, Sink, Turn,
    defaults::{self, Defaults},
    held::Held,
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
    /// Made when the first shape is asked for: it reads the whole vocabulary.
    grammars: OnceLock<Result<Grammars, Error>>,
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
        let name = settings.model()?.value.clone();
        let files = recinto_store::resolve(&name, roots)?;
        let paths = gguf_files(&files)?;
        let held = Held::of(settings, &name, &paths[0])?;
        let mut claims = options.claims;
        claims.extend(held.claims(&files));
        let options = OpenOptions {
            arch_dir: settings.arch_dir.as_ref().map(|s| s.value.clone()).or(options.arch_dir),
            threads: settings.threads.as_ref().map(|s| s.value).or(options.threads),
            level: settings.level.as_ref().map(|s| s.value).or(options.level),
            pin: settings.pin.as_ref().map_or(options.pin, |s| s.value),
            verify: held.verify(settings).unwrap_or(options.verify),
            name: Some(name.clone()),
            build: Some(crate::BUILD),
            claims,
            session: settings.session(options.session.context),
            template: files.layers.template.clone().map(StoreTemplate::Go).or(options.template),
            ..options
        };
        let model = Model::open_files(paths, &options)?;
        let warnings = held.warnings(paths, &model)?;
        let said = |key: &str| model.file().metadata().str(key).ok().flatten();
        let licences =
            licence::stated(&files, said("general.license"), said("general.license.name"));
        let facts = model.facts();
        let defaults = defaults::of(&files.layers.params, facts.vocabulary, facts.context);
        let mut notes: Vec<String> = files.notes.iter().map(ToString::to_string).collect();
        notes.extend(defaults.notes.iter().map(ToString::to_string));
        if let Some(why) = model.template_refused() {
            let instead = match model.template_source() {
                TemplateSource::None => "the file has none, so texts are continued as they stand",
                _ => "the one in the file is used",
            };
            notes.push(format!("the store's chat template cannot be used ({why}); {instead}"));
        }
        let session = options.session;
        let grammars = OnceLock::new();
        let local =
            Local { model, name, files, defaults, licences, notes, session, warnings, grammars };
        if let Some(allowed) = &settings.licenses {
            local.allowed(allowed)?;
        }
        Ok(local)
    }

    /// The same with sessions made by `options`.
    pub fn with_session(mut self, options: SessionOptions) -> Local {
        self.session = options;
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
        let context = self.session.context.or(self.defaults.context);
        Ok(self.model.session(&SessionOptions { context, ..self.session.clone() })?)
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

    /// Answers `request` in `session`.
    ///
    /// # Errors
    ///
    /// As [`Session::reply`].
    pub fn reply(
        &self,
        session: &mut Session,
        request: &Request,
        stop: &Stop,
        sink: &mut Sink<'_>,
    ) -> Result<EngineReply, Error> {
        Ok(session.reply(&self.request(request), stop, sink)?)
    }

    /// Compiles what an answer of this model may be, before any token is spent.
    ///
    /// # Errors
    ///
    /// [`Kind::Shape`]: it is broken, or cannot be kept exactly.
    pub fn shape(&self, shape: &Shape) -> Result<Grammar, Error> {
        let made = self.grammars.get_or_init(|| Ok(Grammars::new(&self.model)?));
        Ok(made.as_ref().map_err(Error::clone)?.compile(shape)?)
    }

    /// Whether the operator's list lets the model run.
    fn allowed(&self, list: &Setting<Allowed>) -> Result<(), Error> {
        if list.value.licences(&self.licences) {
            return Ok(());
        }
        let digest = self.model.digests()?.weights;
        if list.value.digest(&digest) {
            return Ok(());
        }
        let stated: Vec<String> =
            self.licences.iter().map(|licence| format!("`{licence}`")).collect();
        let stated = match stated.len() {
            0 => "it states no licence".into(),
            1 => format!("its licence is {}", stated[0]),
            _ => format!("its licences are {}", stated.join(" and ")),
        };
        let (name, source, listed) = (&self.name, &list.source, &list.value);
        let what = format!("{name} may not run here: {stated}, its digest sha256:{digest}");
        Err(Error::new(Kind::Licence, what)
            .hint(format!("allowed are {listed} ({source}); add the licence or the digest there")))
    }
}

/// The GGUF files of a model, at least one, in the order of shards.
///
/// # Errors
///
/// The model is a checkpoint.
pub fn gguf_files(files: &Files) -> Result<&[PathBuf], Error> {
    if files.form == Form::Gguf && !files.weights.is_empty() {
        return Ok(&files.weights);
    }
    let what = format!("the model is a checkpoint of safetensors, not GGUF: {}", files.name);
    Err(Error::new(Kind::Files, what)
        .hint("checkpoints are not opened yet; take a GGUF of the same model"))
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
        let request = self.request(&turn.request);
        Ok(self.session()?.reply_within(&request, constraint, stop, sink)?.into())
    }

    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
        Ok(self.session()?.score(&self.request(&turn.request), labels, stop)?)
    }
}
