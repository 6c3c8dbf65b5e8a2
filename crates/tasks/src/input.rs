//! What a task is about: a text that is data, and how its answer is made.

use recinto_engine::{Message, Options, Request, Role};
use recinto_provider::{Shape, Turn};

/// Most tokens of a thought before an answer, where the options do not say.
pub const THOUGHT: usize = 512;

/// A text that is data, and how the answer is made.
#[derive(Clone)]
pub struct Input {
    /// The text: the one message of the user, whatever it says.
    pub text: Message,
    /// What the caller asks for beyond the task itself.
    pub instructions: Option<String>,
    /// How the answer is made. A thought has a budget of its own: [`Options::thinking_tokens`], or
    /// else [`THOUGHT`], beside [`Options::max_tokens`]; without `thinking` there is none where the
    /// model's template lets it be switched off.
    pub options: Options,
    /// What the data is; policy says by it what may leave. See [`Turn::labels`].
    pub data_labels: Vec<String>,
    /// For whom this is asked; the operator's budget counts by it. See [`Turn::identity`].
    pub identity: Option<String>,
}

impl Input {
    /// A text, greedily answered.
    pub fn new(text: impl Into<String>) -> Input {
        Input::from(Message::new(Role::User, text))
    }

    /// The same with instructions.
    pub fn instructed(mut self, instructions: impl Into<String>) -> Input {
        self.instructions = Some(instructions.into());
        self
    }

    /// The same with other options.
    pub fn with(mut self, options: Options) -> Input {
        self.options = options;
        self
    }

    /// The turn that asks for this: `system` first, the text alone after it.
    pub(crate) fn turn(&self, system: String, shape: Option<Shape>) -> Turn {
        let mut options = self.options.clone();
        options.thinking.get_or_insert(false);
        // A template may open a thought all the same; what it takes is not taken from the answer.
        let thought = *options.thinking_tokens.get_or_insert(THOUGHT);
        options.max_tokens = options.max_tokens.saturating_add(thought);
        let mut messages = Vec::with_capacity(2);
        if !system.is_empty() {
            messages.push(Message::new(Role::System, system));
        }
        messages.push(self.text.clone());
        let request = Request { messages, options, ..Request::default() };
        Turn { request, shape, labels: self.data_labels.clone(), identity: self.identity.clone() }
    }
}

impl From<Message> for Input {
    fn from(text: Message) -> Input {
        Input {
            text,
            instructions: None,
            options: Options::default(),
            data_labels: Vec::new(),
            identity: None,
        }
    }
}
