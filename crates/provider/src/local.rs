//! The provider that is this process: an opened model, no socket.

use std::{borrow::Cow, ops::ControlFlow};

use recinto_engine::{
    Message, Model, OpenOptions, Options, Piece, Reply, Request, Role, Session, SessionOptions,
    Stop, TemplateSource,
};
use recinto_store::{Files, Roots, licence::Licence};

use crate::{
    Error, Identity, Name, Opened, Provider, Settings,
    defaults::{self, Defaults},
    opened::open_in,
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
        Ok(Local { model, name, files, defaults, licences, notes, session, warnings })
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
        sink: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Reply, Error> {
        Ok(session.reply(&self.request(request), stop, sink)?)
    }
}

impl Provider for Local {
    fn identity(&self) -> Identity {
        Identity {
            provider: Name::Local,
            model: self.name.clone(),
            path: self.files.weights.first().cloned(),
            warnings: self.warnings.clone(),
        }
    }

    fn complete(
        &self,
        request: &Request,
        stop: &Stop,
        sink: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Reply, Error> {
        self.reply(&mut self.session()?, request, stop, sink)
    }
}
