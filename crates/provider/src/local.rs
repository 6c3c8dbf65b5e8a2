//! The provider that is this process: an opened model, no socket.

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{Model, OpenOptions, Piece, Reply, Request, SessionOptions, Stop};

use crate::{Error, Identity, Name, Provider, Settings};

/// A model of this disk, opened in this process.
pub struct Local {
    model: Model,
    name: String,
    path: PathBuf,
    session: SessionOptions,
}

impl Local {
    /// Opens the model that `settings` names. What `settings` says of threads, level, arch files,
    /// pinning and verifying goes before what `options` says; sessions store keys and values as
    /// `settings` has it and have the context that `options` asks for.
    ///
    /// # Errors
    ///
    /// No model is set, its name leads to no file, or the file cannot be run.
    pub fn open(settings: &Settings, options: OpenOptions) -> Result<Local, Error> {
        let name = settings.model()?.value.clone();
        let path = recinto_store::resolve(&name)?.weights;
        let options = OpenOptions {
            arch_dir: settings.arch_dir.as_ref().map(|s| s.value.clone()).or(options.arch_dir),
            threads: settings.threads.as_ref().map(|s| s.value).or(options.threads),
            level: settings.level.as_ref().map(|s| s.value).or(options.level),
            pin: settings.pin.as_ref().map_or(options.pin, |s| s.value),
            verify: settings.verify.as_ref().map_or(options.verify, |s| s.value),
            name: Some(name.clone()),
            session: settings.session(options.session.context),
            ..options
        };
        let model = Model::open(&path, &options)?;
        Ok(Local { model, name, path, session: options.session })
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
}

impl Provider for Local {
    fn identity(&self) -> Identity {
        Identity { provider: Name::Local, model: self.name.clone(), path: Some(self.path.clone()) }
    }

    fn complete(
        &self,
        request: &Request,
        stop: &Stop,
        sink: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Reply, Error> {
        Ok(self.model.session(&self.session)?.reply(request, stop, sink)?)
    }
}
