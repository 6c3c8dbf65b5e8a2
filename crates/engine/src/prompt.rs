//! A request to ids: messages through the model's own template, data marked as data.

use std::ops::Range;

use recinto_chat::{Message, Moment, RenderOptions};
use recinto_os::{Wiped, WipedText};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::{
    error::{Error, Kind, guarded},
    model::Model,
    options::Options,
};

/// Words with which a template asks for the date.
const ASK_DATE: [&str; 3] = ["strftime_now", "currentDate", "yesterdayDate"];

/// Words of templates that the option `thinking` reaches, in Jinja and in Go.
const SWITCHES: [&str; 3] = ["enable_thinking", ".Think", ".IsThinkSet"];

/// What is asked.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// How the reply is made.
    #[serde(default)]
    pub options: Options,
    /// Continue the text of the messages as it stands, without the model's template.
    #[serde(default)]
    pub completion: bool,
    /// Tools the model may call, as JSON Schema objects for its template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<serde_json::Value>,
}

/// How the model was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Through its own chat template.
    Chat,
    /// By continuing a text.
    Completion,
}

/// A request as the model will read it; text and ids are wiped when it is dropped.
pub struct Prompt {
    /// The text.
    pub text: WipedText,
    /// Byte ranges of `text` that are data: no special token can come from them.
    pub content: Vec<Range<usize>>,
    /// The ids, the beginning-of-text token included where the model wants one.
    pub ids: Wiped<u32>,
    /// Through a template or not.
    pub mode: Mode,
    /// What a reader of the reply should know.
    pub notes: Vec<String>,
}

impl Request {
    /// One message of the user's.
    pub fn user(text: impl Into<String>) -> Request {
        let message = Message::new(recinto_chat::Role::User, text);
        Request { messages: vec![message], ..Request::default() }
    }

    /// Puts instructions before the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Request {
        self.messages.insert(0, Message::new(recinto_chat::Role::System, text));
        self
    }
}

impl Model {
    /// Renders and encodes a request; computes nothing.
    pub fn prompt(&self, request: &Request) -> Result<Prompt, Error> {
        guarded(|| self.render(request, &self.dated(&request.options)))
    }

    /// The options with today's date filled in where the model's template asks for one, so that
    /// a reply says which day it was made for.
    pub(crate) fn dated(&self, options: &Options) -> Options {
        let mut options = options.clone();
        let asks = |text: &str| ASK_DATE.iter().any(|word| text.contains(word));
        if options.date.is_none() && self.template().is_some_and(asks) {
            let now = Moment::now();
            options.date = Some(format!("{:04}-{:02}-{:02}", now.year, now.month, now.day));
        }
        options
    }

    pub(crate) fn render(&self, request: &Request, options: &Options) -> Result<Prompt, Error> {
        if request.messages.is_empty() {
            return Err(Error::new(Kind::Request, "a request without messages"));
        }
        let lock = self.0.lock_memory;
        let mut prompt = Prompt {
            text: WipedText::new(lock),
            content: Vec::new(),
            ids: Wiped::new(lock),
            mode: Mode::Chat,
            notes: Vec::new(),
        };
        if let Some(error) = self.0.template.broken.as_ref().filter(|_| !request.completion) {
            let error = error.clone();
            return Err(match error.what_to_do() {
                Some(_) => error,
                None => error.hint("`--completion` goes without a template"),
            });
        }
        match (self.chat_template(), request.completion) {
            (Some(template), false) => {
                let settings = render_options(request, options)?;
                let fault = |error: Error| self.0.template.fault(error, self.path());
                let rendered = template.render(&request.messages, &settings);
                let mut rendered = rendered.map_err(|error| fault(error.into()))?;
                prompt.text.push_str(&rendered.text);
                prompt.content = std::mem::take(&mut rendered.content);
                let said = request.messages.iter().any(|m| !m.content.trim().is_empty());
                if said && prompt.content.is_empty() {
                    let what = "the model's chat template leaves every message out";
                    let error = Error::new(Kind::Template, what)
                        .hint("completion mode continues the text without a template");
                    return Err(fault(error));
                }
            }
            _ => completion(request, self.template().is_some(), &mut prompt)?,
        }
        prompt.notes.extend(self.unheard(options, prompt.mode));
        self.encode(&mut prompt)?;
        if prompt.ids.is_empty() {
            return Err(Error::new(Kind::Request, "an empty prompt"));
        }
        if prompt.text.refused() || prompt.ids.refused() {
            return Err(self.no_memory());
        }
        Ok(prompt)
    }

    /// Options on thinking that have no effect with this model's template, a sentence each.
    fn unheard(&self, options: &Options, mode: Mode) -> Vec<String> {
        let text = self.template().unwrap_or_default();
        let switch = SWITCHES.iter().any(|word| text.contains(word));
        let (chat, thinks) = (mode == Mode::Chat, self.thinks());
        let ends = self.tokenizer().find("</think>").is_some();
        // Not to think is what a model does that cannot.
        let asked = options.thinking.is_some_and(|on| on || thinks);
        // Nor is a limit of thoughts missed where none are wanted and none can come.
        let limited =
            options.thinking_tokens.is_some() && (thinks || options.thinking != Some(false));
        let rows = [
            ("thinking", asked && !(chat && switch), "no switch for it"),
            (
                "thinking_tokens",
                limited && !(chat && thinks && ends),
                "no token that ends a thought",
            ),
        ];
        let why = |lacks: &str| match (chat, thinks || switch) {
            (false, _) => "a text is continued without the chat template".to_owned(),
            (true, false) => "the model's chat template has no place for thoughts".to_owned(),
            (true, true) => format!("the model thinks, but has {lacks}"),
        };
        let unheard = rows.into_iter().filter(|row| row.1);
        unheard.map(|row| format!("option `{}` has no effect: {}", row.0, why(row.2))).collect()
    }

    /// Fills in the ids; the beginning-of-text token stands first exactly once.
    fn encode(&self, prompt: &mut Prompt) -> Result<(), Error> {
        let tokenizer = self.tokenizer();
        let mut tokens = tokenizer.encode(&prompt.text, &prompt.content)?;
        let bos = tokenizer.bos().filter(|_| tokenizer.add_bos());
        let missing = bos.filter(|bos| tokens.first().map(|token| token.id) != Some(*bos));
        prompt.ids.try_reserve(tokens.len() + 1).map_err(|_| self.no_memory())?;
        if let Some(bos) = missing {
            prompt.ids.push(bos);
        }
        for token in tokens.iter_mut() {
            prompt.ids.push(token.id);
            token.zeroize();
        }
        Ok(())
    }
}

fn render_options(request: &Request, settings: &Options) -> Result<RenderOptions, Error> {
    let mut options = RenderOptions::new();
    options.add_generation_prompt = true;
    options.tools.clone_from(&request.tools);
    if let Some(thinking) = settings.thinking {
        options.variables.insert("enable_thinking".into(), thinking.into());
    }
    if let Some(date) = &settings.date {
        options.date = Some(Moment::from_date(date).ok_or_else(|| {
            Error::new(Kind::Request, "option `date` must be a day as YYYY-MM-DD")
        })?);
    }
    Ok(options)
}

/// The messages as one text to continue, all of it data.
fn completion(request: &Request, has_template: bool, prompt: &mut Prompt) -> Result<(), Error> {
    if request.messages.iter().any(|m| m.role == recinto_chat::Role::Assistant) && !has_template {
        let what = "the model has no chat template, so it cannot continue a conversation";
        return Err(Error::new(Kind::Template, what).hint("ask with one text, or use completion"));
    }
    prompt.mode = Mode::Completion;
    if !has_template {
        let note = "the model has no chat template: it continued the text as it stands";
        prompt.notes.push(note.into());
    }
    for message in &request.messages {
        if !prompt.text.is_empty() {
            prompt.text.push_str("\n\n");
        }
        prompt.text.push_str(&message.content);
    }
    prompt.content.push(0..prompt.text.len());
    Ok(())
}
