//! Messages to text by the model's own template, keeping track of which characters are data.
//!
//! A model file carries a Jinja template. [`Template::new`] compiles it once, [`Template::render`]
//! turns messages into the exact text the Python reference (Jinja2 in an immutable sandbox, as
//! the `transformers` library sets it up) would give, and says which bytes of that text came
//! from the caller's data. A tokenizer suppresses special pieces inside those ranges, so a
//! message can never end its own turn.
//!
//! The template runs in a closed interpreter: no loader, no attribute that reaches outside the
//! values it was given, and limits on steps, memory, depth and output. It reads the syntax tree
//! of the `minijinja` parser and evaluates it over strings that carry marks (see `text.rs`),
//! so that trimming, splitting, joining, slicing, replacing and JSON keep the provenance exact.
//!
//! ```
//! use recinto_chat::{Message, RenderOptions, Role, Template};
//!
//! let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}";
//! let template = Template::new(source, "", "")?;
//! let messages = [Message::new(Role::User, " ¿Qué? ")];
//! let rendered = template.render(&messages, &RenderOptions::new())?;
//! assert_eq!(rendered.text, "<|user|>¿Qué?");
//! assert_eq!(rendered.content, vec![8..15]);
//! # Ok::<(), recinto_chat::Error>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod error;
mod expr;
mod filters;
mod format;
mod functions;
mod go;
mod json;
mod lower;
mod message;
mod meter;
mod methods;
mod moment;
mod ops;
mod predicates;
mod run;
mod template;
mod text;
mod tools;
mod tree;
mod value;

pub use error::{Error, Kind};
pub use message::{Message, Role, ToolCall};
pub use moment::Moment;
pub use template::{RenderOptions, Rendered, Template};
pub use tools::{Answer, CallFormat, Part};
