//! Ollama's templates: Go's `text/template` over the data that Ollama gives it.
//!
//! A template that speaks of `.Messages` sees the whole conversation. An older one sees `.System`,
//! `.Prompt` and `.Response`, and is run once for each turn. Facts: the documentation of Go's
//! `text/template`; `docs/template.mdx` and `template/template.go` of Ollama. Strings carry marks
//! as in the other interpreter, so what is data stays known as data.

mod data;
mod exec;
mod functions;
mod lex;
mod parse;
mod tree;
mod value;

use std::ops::Range;

use crate::error::Error;
use crate::message::{Message, Role};
use crate::moment::Moment;
use crate::template::RenderOptions;
use crate::text::Text;
use exec::Run;
use parse::Templates;
use tree::{Branch, Node, NodeKind, Operand, Pipe};
use value::{Look, Value};

/// The name of a property of a tool's parameters, for messages and for `toTypeScriptType`.
const PROPERTY: &str = "property";
/// Variables that say whether to think, and how much; the first that is given counts.
const THINK: [&str; 3] = ["enable_thinking", "thinking", "think"];
const EFFORT: [&str; 2] = ["reasoning_effort", "think_level"];

/// A Go template, compiled.
pub(crate) struct Program {
    templates: Templates,
    /// Whether it sees whole conversations.
    messages: bool,
    /// The outermost nodes up to where the model's answer goes.
    open: Vec<Node>,
}

/// What is to be filled in.
pub(crate) struct Gap<'a> {
    pub prompt: &'a str,
    pub suffix: &'a str,
}

impl Program {
    pub fn new(source: &str) -> Result<Program, Error> {
        let mut templates = parse::parse(source)?;
        let mut names = Vec::new();
        for nodes in templates.values() {
            mentioned(nodes, &mut names);
        }
        let speaks = |word: &str| names.iter().any(|name| name.eq_ignore_ascii_case(word));
        let (messages, response) = (speaks("messages"), speaks("response"));
        let outermost = templates.entry(String::new()).or_default();
        if !messages && !response {
            let operand = Operand::Field(vec!["Response".to_owned()]);
            let commands = vec![tree::Command(vec![operand])];
            let at = source.len() as u32;
            let pipe = Pipe { at, variables: Vec::new(), assigns: false, commands };
            outermost.push(Node { at, kind: NodeKind::Action(pipe) });
        }
        let mut open = outermost.clone();
        cut(&mut open, &mut false);
        Ok(Program { templates, messages, open })
    }

    /// The text of a conversation, with the ranges of it that are data.
    pub fn render(
        &self,
        messages: &[Message],
        options: &RenderOptions,
        date: Moment,
    ) -> Result<(String, Vec<Range<usize>>), Error> {
        let mut joined = data::join(messages)?;
        let mut run = Run::new(&self.templates, date);
        let whole = &self.templates[""];
        let think = think(options);
        if self.messages {
            let mut entries = vec![
                ("System", Value::Str(joined.system.clone())),
                ("Tools", data::tools(&options.tools)?),
                ("Response", Value::plain("")),
            ];
            entries.push(("Messages", joined.values()));
            run.execute(whole, &root(entries, &think))?;
            return Ok(run.out.into_parts());
        }
        let empty = || Text::plain("");
        let [mut system, mut prompt, mut response] = [empty(), empty(), empty()];
        for (role, content, _) in joined.messages {
            let full = match role {
                Role::System => prompt.len() > 0 || response.len() > 0,
                Role::User => response.len() > 0,
                Role::Assistant | Role::Tool => false,
            };
            if full {
                run.execute(whole, &turn([&system, &prompt, &response], &think))?;
                [system, prompt, response] = [empty(), empty(), empty()];
            }
            match role {
                Role::System => system = content,
                Role::User => prompt = content,
                Role::Assistant => response = content,
                Role::Tool => {}
            }
        }
        run.execute(&self.open, &turn([&system, &prompt, &response], &think))?;
        Ok(run.out.into_parts())
    }

    /// The text for a model that fills a gap.
    pub fn infill(
        &self,
        gap: &Gap,
        options: &RenderOptions,
        date: Moment,
    ) -> Result<(String, Vec<Range<usize>>), Error> {
        let mut run = Run::new(&self.templates, date);
        let entries = vec![
            ("Prompt", Value::Str(Text::data(gap.prompt))),
            ("Suffix", Value::Str(Text::data(gap.suffix))),
            ("Response", Value::plain("")),
        ];
        run.execute(&self.templates[""], &root(entries, &think(options)))?;
        Ok(run.out.into_parts())
    }

    /// Whether the template has a place for the text after a gap.
    pub fn fills(&self) -> bool {
        let mut names = Vec::new();
        self.templates.values().for_each(|nodes| mentioned(nodes, &mut names));
        names.iter().any(|name| name.eq_ignore_ascii_case("suffix"))
    }
}

/// `.Think`, `.ThinkLevel` and `.IsThinkSet` by the variables that were given.
fn think(options: &RenderOptions) -> [(&'static str, Value); 3] {
    let given = |names: &[&str]| names.iter().find_map(|name| options.variables.get(*name));
    let switch = given(&THINK).and_then(serde_json::Value::as_bool);
    let effort = given(&EFFORT).and_then(serde_json::Value::as_str);
    let level = effort.filter(|_| switch != Some(false)).unwrap_or_default();
    [
        ("Think", Value::Bool(switch.unwrap_or(effort.is_some()))),
        ("ThinkLevel", Value::Str(Text::data(level))),
        ("IsThinkSet", Value::Bool(switch.is_some() || effort.is_some())),
    ]
}

fn root(entries: Vec<(&str, Value)>, think: &[(&'static str, Value)]) -> Value {
    let mut entries: Vec<(Text, Value)> = entries
        .into_iter()
        .chain(think.iter().cloned())
        .map(|(name, value)| (Text::plain(name), value))
        .collect();
    entries.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
    data::map(entries, Look::Fmt)
}

fn turn([system, prompt, response]: [&Text; 3], think: &[(&'static str, Value)]) -> Value {
    let text = |text: &Text| Value::Str(text.clone());
    let entries =
        vec![("System", text(system)), ("Prompt", text(prompt)), ("Response", text(response))];
    root(entries, think)
}

/// Names of fields and variables, as far as Ollama looks for them.
fn mentioned<'a>(nodes: &'a [Node], names: &mut Vec<&'a str>) {
    for node in nodes {
        match &node.kind {
            NodeKind::Action(pipe) | NodeKind::Template(_, pipe) => in_pipe(pipe, names),
            NodeKind::If(branch) | NodeKind::With(branch) | NodeKind::Range(branch) => {
                in_pipe(&branch.pipe, names);
                mentioned(&branch.body, names);
                mentioned(branch.otherwise.as_deref().unwrap_or_default(), names);
            }
            NodeKind::Text(_) | NodeKind::Break | NodeKind::Continue => {}
        }
    }
}

fn in_pipe<'a>(pipe: &'a Pipe, names: &mut Vec<&'a str>) {
    for operand in pipe.commands.iter().flat_map(|command| &command.0) {
        match operand {
            Operand::Field(fields) => names.extend(fields.iter().map(String::as_str)),
            Operand::Variable(name, fields) => {
                names.push(name);
                names.extend(fields.iter().map(String::as_str));
            }
            Operand::Pipe(inner) => in_pipe(inner, names),
            _ => {}
        }
    }
}

/// Takes away everything behind the first `.Response` that is written, conditions apart.
fn cut(nodes: &mut Vec<Node>, found: &mut bool) {
    nodes.retain_mut(|node| {
        if *found {
            return false;
        }
        match &mut node.kind {
            NodeKind::Action(pipe) => cut_pipe(pipe, found),
            NodeKind::If(branch) | NodeKind::With(branch) | NodeKind::Range(branch) => {
                cut_branch(branch, found);
                true
            }
            _ => true,
        }
    });
}

fn cut_branch(branch: &mut Branch, found: &mut bool) {
    cut(&mut branch.body, found);
    if let Some(otherwise) = &mut branch.otherwise {
        cut(otherwise, found);
    }
}

/// Whether anything of the pipeline is left.
fn cut_pipe(pipe: &mut Pipe, found: &mut bool) -> bool {
    for command in &mut pipe.commands {
        command.0.retain_mut(|operand| match operand {
            Operand::Field(names) if names.iter().any(|name| name == "Response") => {
                *found = true;
                true
            }
            _ if *found => false,
            Operand::Pipe(inner) => cut_pipe(inner, found),
            _ => true,
        });
    }
    pipe.commands.iter().all(|command| !command.0.is_empty())
}
