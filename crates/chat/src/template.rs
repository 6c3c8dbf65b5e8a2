//! The door: a template is compiled once and renders many conversations.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

use crate::error::{Error, Kind};
use crate::message::{Message, wipe};
use crate::moment::Moment;
use crate::run::Run;
use crate::text::Text;
use crate::tools::CallFormat;
use crate::tree::Program;
use crate::value::Value;
use crate::{check, go, lower};

/// Bytes of a template; the largest in use have some 20 KB.
const MAX_SOURCE: usize = 4 << 20;
/// Stack of the thread that compiles or renders. The parser and the interpreter recurse, both
/// within limits, and the caller's stack may be small; only touched pages are ever used.
const STACK: usize = 16 << 20;
/// Names a template may use for what the model thought; the first that it mentions is given.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// A chat template, compiled. Shareable between threads.
pub struct Template {
    body: Body,
    /// Byte offsets at which lines start.
    lines: Vec<usize>,
    bos: String,
    eos: String,
    reasoning: &'static str,
    format: Option<CallFormat>,
}

/// The two languages of templates.
enum Body {
    Jinja(Program),
    Go(go::Program),
}

/// What a rendering is given besides the messages.
#[derive(Clone, Default)]
pub struct RenderOptions {
    /// End with the start of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Definitions of tools, usually `{"type": "function", "function": {…}}`. Data, like
    /// messages.
    pub tools: Vec<serde_json::Value>,
    /// Further variables, such as `enable_thinking`; their strings are data.
    pub variables: serde_json::Map<String, serde_json::Value>,
    /// What `strftime_now` gives; the present moment in UTC when `None`.
    pub date: Option<Moment>,
}

/// The text of a conversation, and which of its bytes are data.
///
/// Wiped when it is dropped, and never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// What the model is to read.
    pub text: String,
    /// Byte ranges of `text` that came from messages, tools or variables: sorted, disjoint, on
    /// character borders. Characters that JSON or HTML escaping put in place of a data
    /// character count as that character.
    pub content: Vec<Range<usize>>,
}

impl RenderOptions {
    /// No generation prompt, no tools, no variables, today.
    pub fn new() -> RenderOptions {
        RenderOptions::default()
    }
}

impl fmt::Debug for RenderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderOptions")
            .field("add_generation_prompt", &self.add_generation_prompt)
            .field("tools", &self.tools.len())
            .field("variables", &self.variables.len())
            .field("date", &self.date)
            .finish()
    }
}

impl Drop for RenderOptions {
    fn drop(&mut self) {
        self.tools.iter_mut().for_each(wipe);
        wipe(&mut serde_json::Value::Object(std::mem::take(&mut self.variables)));
    }
}

impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("bytes", &self.text.len())
            .field("content", &self.content.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Rendered {
    fn drop(&mut self) {
        self.text.zeroize();
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}

impl Template {
    /// Compiles `source`; `bos` and `eos` are the pieces it knows as `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// [`Kind::Syntax`] or [`Kind::Unsupported`] with the line, [`Kind::Limit`] for a template
    /// beyond 4 MiB or nested too deep.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Template, Error> {
        let format = CallFormat::of(source).ok();
        let source = check::normalize(sized(source)?);
        let lines = lines(&source);
        let compiled = on_own_stack(|| lower::compile(check::tags(source)?));
        let program = compiled.map_err(|error| located(&lines, error))?;
        let mentions = |key: &&str| program.mentions(key);
        let reasoning = REASONING.into_iter().find(mentions).unwrap_or(REASONING[0]);
        let (bos, eos) = (bos.to_owned(), eos.to_owned());
        Ok(Template { body: Body::Jinja(program), lines, bos, eos, reasoning, format })
    }

    /// Compiles a template in Go's language over the names that Ollama gives it, as the layer
    /// `template` of an Ollama model holds it.
    ///
    /// It always ends with the start of the assistant's turn, and names no BOS: the tokenizer
    /// puts one where the model wants one. `.Think` follows the variable `enable_thinking`,
    /// `.ThinkLevel` the variable `reasoning_effort`; other variables have no name in it.
    ///
    /// # Errors
    /// As [`Template::new`]; [`Kind::Unsupported`] names what this interpreter lacks, with its
    /// line, so that a caller can take another template of the model and say so.
    pub fn from_go(source: &str) -> Result<Template, Error> {
        let format = CallFormat::of(source).ok();
        let source = sized(source)?;
        let lines = lines(source);
        let compiled = on_own_stack(|| go::Program::new(source));
        let body = Body::Go(compiled.map_err(|error| located(&lines, error))?);
        let (bos, eos) = (String::new(), String::new());
        Ok(Template { body, lines, bos, eos, reasoning: REASONING[0], format })
    }

    /// The text with which a model fills the gap between `prompt` and `suffix`.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] for a template without a place for what follows the gap, as every one
    /// in Jinja; else as [`Template::render`].
    pub fn render_infill(
        &self,
        prompt: &str,
        suffix: &str,
        options: &RenderOptions,
    ) -> Result<Rendered, Error> {
        let date = moment(options)?;
        let program = match &self.body {
            Body::Go(program) if program.fills() => program,
            _ => return Err(Error::unsupported("the template has no place for a suffix")),
        };
        let gap = go::Gap { prompt, suffix };
        on_own_stack(|| {
            let (text, content) = program.infill(&gap, options, date)?;
            Ok(Rendered { text, content })
        })
        .map_err(|error| located(&self.lines, error))
    }

    /// How the models of this template write calls of tools.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] for a template with the marks of no known family.
    pub fn call_format(&self) -> Result<CallFormat, Error> {
        // Without marks the reason is the same for every template.
        self.format.map_or_else(|| CallFormat::of(""), Ok)
    }

    /// The text of `messages`.
    ///
    /// # Errors
    /// What the template refuses ([`Kind::Raised`]), gets wrong ([`Kind::Undefined`],
    /// [`Kind::Operation`]), asks of an interpreter that lacks it ([`Kind::Unsupported`]) or
    /// exceeds ([`Kind::Limit`]), with its line; [`Kind::Option`] for a date that does not exist
    /// or a variable that would replace the template's own.
    pub fn render(&self, messages: &[Message], options: &RenderOptions) -> Result<Rendered, Error> {
        let date = moment(options)?;
        on_own_stack(|| {
            let (text, content) = match &self.body {
                Body::Jinja(program) => {
                    let mut run = Run::new(program, date);
                    for (name, value) in self.variables(messages, options)? {
                        run.define(name, value);
                    }
                    run.render()?
                }
                Body::Go(program) => program.render(messages, options, date)?,
            };
            Ok(Rendered { text, content })
        })
        .map_err(|error| located(&self.lines, error))
    }

    /// Everything the template can see, as the reference names it.
    fn variables<'a>(
        &self,
        messages: &[Message],
        options: &'a RenderOptions,
    ) -> Result<Vec<(&'a str, Value)>, Error> {
        let messages = messages.iter().map(|message| self.message(message));
        let tools = match options.tools.as_slice() {
            [] => Value::None,
            tools => Value::list(tools.iter().map(Value::from_json).collect::<Result<_, _>>()?)?,
        };
        let mut variables = vec![
            ("messages", Value::list(messages.collect::<Result<_, _>>()?)?),
            ("tools", tools),
            ("documents", Value::None),
            ("add_generation_prompt", Value::Bool(options.add_generation_prompt)),
            ("bos_token", Value::plain(&self.bos)),
            ("eos_token", Value::plain(&self.eos)),
        ];
        let own = variables.len();
        for (name, value) in &options.variables {
            // `documents` may be given; the others have their own way in.
            let taken = variables[..own].iter().any(|(known, _)| known == name);
            if taken && name != "documents" {
                return Err(Error::new(
                    Kind::Option,
                    "a variable has the name of one that the template is always given",
                )
                .hint("messages, tools and tokens have options of their own"));
            }
            variables.push((name, Value::from_json(value)?));
        }
        Ok(variables)
    }

    fn message(&self, message: &Message) -> Result<Value, Error> {
        let data = |text: &str| Value::Str(Text::data(text));
        let entry = |key: &str, value| (Value::plain(key), value);
        let mut pairs = vec![
            entry("role", Value::plain(message.role.word())),
            entry("content", data(&message.content)),
        ];
        if let Some(reasoning) = &message.reasoning {
            pairs.push(entry(self.reasoning, data(reasoning)));
        }
        if !message.tool_calls.is_empty() {
            let mut calls = Vec::with_capacity(message.tool_calls.len());
            for call in &message.tool_calls {
                let mut pairs = Vec::with_capacity(3);
                if let Some(id) = &call.id {
                    pairs.push(entry("id", data(id)));
                }
                pairs.push(entry("type", Value::plain("function")));
                let function = vec![
                    entry("name", data(&call.name)),
                    entry("arguments", Value::from_json(&call.arguments)?),
                ];
                pairs.push(entry("function", Value::map(function)?));
                calls.push(Value::map(pairs)?);
            }
            pairs.push(entry("tool_calls", Value::list(calls)?));
        }
        if let Some(name) = &message.name {
            pairs.push(entry("name", data(name)));
        }
        if let Some(id) = &message.tool_call_id {
            pairs.push(entry("tool_call_id", data(id)));
        }
        Value::map(pairs)
    }
}

fn sized(source: &str) -> Result<&str, Error> {
    if source.len() > MAX_SOURCE {
        return Err(Error::limit(format!("more than {} MiB of source", MAX_SOURCE >> 20)));
    }
    Ok(source)
}

/// Byte offsets at which lines start.
fn lines(source: &str) -> Vec<usize> {
    let mut lines = Vec::from([0]);
    lines.extend(source.match_indices('\n').map(|(at, _)| at + 1));
    lines
}

/// The moment to render at.
fn moment(options: &RenderOptions) -> Result<Moment, Error> {
    let date = options.date.unwrap_or_else(Moment::now);
    match date.is_valid() {
        true => Ok(date),
        false => Err(Error::new(Kind::Option, "the date given does not exist")),
    }
}

fn located(lines: &[usize], error: Error) -> Error {
    match error.offset() {
        Some(at) => error.on_line(lines.partition_point(|&start| start <= at as usize)),
        None => error,
    }
}

/// Runs `work` on a thread with a stack of known size and counters of its own.
fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("recinto-chat".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|_| Error::limit("the system gives no thread to render on"))?
            .join()
            .unwrap_or_else(|_| Err(Error::unsupported("a fault of the interpreter itself")))
    })
}
