//! Which chat template a model is asked through: its store's, its file's, or none.

use std::path::Path;

use recinto_chat::Template;
use recinto_tokenizer::Tokenizer;
use recinto_weights::File;

use crate::{
    error::{Error, Kind},
    open::{StoreTemplate, TemplateSource},
};

/// The template in use.
pub(crate) struct Chosen {
    pub template: Option<Template>,
    /// Why the file's template cannot be carried out, where it is the one that is meant: nothing
    /// can be asked through it, and texts can still be continued.
    pub broken: Option<Error>,
    /// Its source text.
    pub text: Option<String>,
    pub source: TemplateSource,
    /// The store that keeps it.
    pub store: Option<String>,
    /// Why the store's template is not the one in use, where it has one.
    pub refused: Option<String>,
}

impl Chosen {
    /// The store's template where there is one and it can be carried out; else the file's.
    pub fn find(
        file: &File,
        tokenizer: &Tokenizer,
        stored: Option<&StoreTemplate>,
    ) -> Result<Chosen, Error> {
        let mut refused = None;
        if let Some(StoreTemplate::Go { text, store }) = stored {
            match Template::from_go(text) {
                Ok(template) => {
                    return Ok(Chosen {
                        template: Some(template),
                        broken: None,
                        text: Some(text.clone()),
                        source: TemplateSource::Store,
                        store: Some(store.clone()),
                        refused,
                    });
                }
                Err(error) => {
                    let text = error.to_string();
                    refused = Some(text.lines().next().unwrap_or_default().to_owned());
                }
            }
        }
        let text = file.metadata().str("tokenizer.chat_template")?.map(str::to_owned);
        let piece = |id: Option<u32>| id.and_then(|id| tokenizer.piece(id)).unwrap_or("");
        let read =
            |text: &String| Template::new(text, piece(tokenizer.bos()), piece(tokenizer.eos()));
        let (template, broken) = match text.as_ref().map(read) {
            Some(Ok(template)) => (Some(template), None),
            Some(Err(error)) => (None, Some(error.into())),
            None => (None, None),
        };
        let source = match text {
            Some(_) => TemplateSource::File,
            None => TemplateSource::None,
        };
        Ok(Chosen { template, broken, text, source, store: None, refused })
    }

    /// An error of the template in use, for whoever must know whose it is and how to go on. `file`
    /// is the model's, which may have a template of its own.
    pub fn fault(&self, error: Error, file: &Path) -> Error {
        let (Kind::Template, Some(store)) = (error.kind(), &self.store) else { return error };
        let what = format!("the chat template of the {store}: {}", error.what());
        Error::new(Kind::Template, what).hint(format!(
            "`--completion` goes without a template; by its path the file is asked through its \
             own, if it has one: {}",
            file.display()
        ))
    }
}
