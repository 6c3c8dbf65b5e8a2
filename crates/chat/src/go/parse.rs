//! Words to a tree.

use std::collections::HashMap;

use super::functions;
use super::lex::{Token, Word, lex};
use super::tree::{Branch, Command, Node, NodeKind, Operand, Pipe};
use crate::error::{Error, Kind};

/// Blocks, `else if` and brackets that are open at once.
const MAX_OPEN: usize = 150;

/// The named templates of one source; the outermost has no name.
pub(super) type Templates = HashMap<String, Vec<Node>>;

pub(super) fn parse(source: &str) -> Result<Templates, Error> {
    let tokens = lex(source)?;
    let mut parser = Parser {
        tokens,
        next: 0,
        variables: vec!["$".to_owned()],
        templates: HashMap::new(),
        open: 0,
        loops: 0,
        end: source.len() as u32,
    };
    let (body, end) = parser.list(true)?;
    if end != End::Source {
        return Err(parser.wrong("an `end` or `else` without its beginning"));
    }
    let mut templates = parser.templates;
    templates.insert(String::new(), body);
    Ok(templates)
}

/// What ended a list of nodes.
#[derive(PartialEq)]
enum End {
    Source,
    Closed,
    Else,
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    /// Variables that may be used here.
    variables: Vec<String>,
    templates: Templates,
    open: usize,
    /// Loops around this place.
    loops: usize,
    end: u32,
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    fn at(&self) -> u32 {
        self.tokens.get(self.next).map_or(self.end, |token| token.at)
    }

    fn take(&mut self) -> Option<Word> {
        let token = self.tokens.get(self.next)?;
        self.next += 1;
        Some(token.kind.clone())
    }

    fn eat(&mut self, word: &Word) -> bool {
        let there = self.peek() == Some(word);
        self.next += usize::from(there);
        there
    }

    /// A fault at the word just taken.
    fn wrong(&self, what: impl Into<String>) -> Error {
        let at = self.tokens.get(self.next.saturating_sub(1)).map_or(self.end, |token| token.at);
        Error::new(Kind::Syntax, what).at(at)
    }

    fn close(&mut self) -> Result<(), Error> {
        match self.take() {
            Some(Word::Close) => Ok(()),
            _ => Err(self.wrong("an action holds more than it can")),
        }
    }

    fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Parser) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.open += 1;
        if self.open > MAX_OPEN {
            return Err(Error::limit("the template nests too deep").at(self.at()));
        }
        let done = work(self)?;
        self.open -= 1;
        Ok(done)
    }

    /// Nodes up to the source's end, or to `end` or `else`; of an `else` the rest is not taken.
    fn list(&mut self, outermost: bool) -> Result<(Vec<Node>, End), Error> {
        let mut nodes = Vec::new();
        loop {
            let at = self.at();
            match self.take() {
                None if outermost => return Ok((nodes, End::Source)),
                None => return Err(self.wrong("a block has no `end`")),
                Some(Word::Text(text)) => nodes.push(Node { at, kind: NodeKind::Text(text) }),
                Some(Word::Open) => {
                    let word = match self.peek() {
                        Some(Word::Name(word)) => word.clone(),
                        _ => String::new(),
                    };
                    match word.as_str() {
                        "end" => {
                            self.next += 1;
                            self.close()?;
                            return Ok((nodes, End::Closed));
                        }
                        "else" => {
                            self.next += 1;
                            return Ok((nodes, End::Else));
                        }
                        "define" => {
                            self.next += 1;
                            self.define()?;
                        }
                        word => {
                            let kind = self.action(word)?;
                            nodes.push(Node { at, kind });
                        }
                    }
                }
                Some(_) => return Err(self.wrong("not a template")),
            }
        }
    }

    fn action(&mut self, word: &str) -> Result<NodeKind, Error> {
        let control: Option<fn(Branch) -> NodeKind> = match word {
            "if" => Some(NodeKind::If),
            "with" => Some(NodeKind::With),
            "range" => Some(NodeKind::Range),
            _ => None,
        };
        if let Some(kind) = control {
            self.next += 1;
            return Ok(kind(self.branch(word)?));
        }
        match word {
            "break" | "continue" => {
                self.next += 1;
                if self.loops == 0 {
                    return Err(self.wrong(format!("`{word}` outside a `range`")));
                }
                self.close()?;
                Ok(if word == "break" { NodeKind::Break } else { NodeKind::Continue })
            }
            "template" => {
                self.next += 1;
                let name = self.name()?;
                match self.rest()? {
                    Some(pipe) => Ok(NodeKind::Template(name, pipe)),
                    // Ollama refuses it too.
                    None => {
                        let at = self.tokens[self.next - 1].at;
                        Err(Error::unsupported("a `template` without a value").at(at))
                    }
                }
            }
            "block" => {
                self.next += 1;
                let name = self.name()?;
                let Some(pipe) = self.rest()? else {
                    return Err(self.wrong("a `block` without a value"));
                };
                self.body(&name)?;
                Ok(NodeKind::Template(name, pipe))
            }
            _ => {
                let pipe = self.pipe(&Word::Close, 1)?;
                Ok(NodeKind::Action(pipe))
            }
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        match self.take() {
            Some(Word::Str(name)) => Ok(name),
            _ => Err(self.wrong("a template's name is a string")),
        }
    }

    /// A pipeline, if anything stands before the end of the action.
    fn rest(&mut self) -> Result<Option<Pipe>, Error> {
        if self.eat(&Word::Close) {
            return Ok(None);
        }
        self.pipe(&Word::Close, 0).map(Some)
    }

    fn define(&mut self) -> Result<(), Error> {
        let name = self.name()?;
        self.close()?;
        self.body(&name)
    }

    /// The body of a `define` or `block`.
    fn body(&mut self, name: &str) -> Result<(), Error> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, end) = self.deeper(|parser| parser.list(false))?;
        if end != End::Closed {
            return Err(self.wrong("an `else` without its `if`"));
        }
        (self.variables, self.loops) = (variables, loops);
        self.templates.insert(name.to_owned(), nodes);
        Ok(())
    }

    fn branch(&mut self, word: &str) -> Result<Branch, Error> {
        let known = self.variables.len();
        let range = usize::from(word == "range");
        let branch = self.deeper(|parser| {
            let pipe = parser.pipe(&Word::Close, 1 + range)?;
            parser.loops += range;
            let (body, end) = parser.list(false)?;
            parser.loops -= range;
            let otherwise = match end {
                End::Else => Some(parser.otherwise(word)?),
                _ => None,
            };
            Ok(Branch { pipe, body, otherwise })
        })?;
        self.variables.truncate(known);
        Ok(branch)
    }

    /// What follows an `else`, up to the `end`.
    fn otherwise(&mut self, word: &str) -> Result<Vec<Node>, Error> {
        let at = self.at();
        let chained = match self.peek() {
            Some(Word::Name(next)) if next == word && word != "range" => true,
            Some(Word::Close) => false,
            _ => return Err(self.wrong("an `else` followed by something else")),
        };
        self.next += 1;
        if chained {
            // The chain has one `end` for all, which the inner branch takes.
            let branch = self.branch(word)?;
            let kind = if word == "if" { NodeKind::If(branch) } else { NodeKind::With(branch) };
            return Ok(vec![Node { at, kind }]);
        }
        match self.list(false)? {
            (nodes, End::Closed) => Ok(nodes),
            _ => Err(self.wrong("a second `else`")),
        }
    }

    /// A pipeline up to `end`, which is taken; it may declare up to `most` variables.
    fn pipe(&mut self, end: &Word, most: usize) -> Result<Pipe, Error> {
        let mut pipe =
            Pipe { at: self.at(), variables: Vec::new(), assigns: false, commands: Vec::new() };
        if most > 0 {
            self.variables(&mut pipe, most)?;
        }
        loop {
            let mut operands = Vec::new();
            let ended = loop {
                if self.eat(end) {
                    break true;
                }
                if self.eat(&Word::Pipe) {
                    break false;
                }
                let spaced = self.tokens.get(self.next).is_some_and(|token| token.spaced);
                if !operands.is_empty() && !spaced {
                    return Err(self.wrong("a value without a space before it"));
                }
                operands.push(self.operand()?);
            };
            let callable = matches!(
                operands.first(),
                Some(Operand::Function(_) | Operand::Field(_) | Operand::Variable(..))
            );
            if operands.is_empty() {
                return Err(self.wrong("a value is missing"));
            }
            if !pipe.commands.is_empty() && !callable && !matches!(operands[0], Operand::Chain(..))
            {
                return Err(self.wrong("a value is given to something that takes none"));
            }
            pipe.commands.push(Command(operands));
            if ended {
                break;
            }
        }
        if !pipe.assigns {
            self.variables.extend(pipe.variables.iter().cloned());
        }
        Ok(pipe)
    }

    /// `$x :=`, `$x =`, and for loops `$i, $x :=`.
    fn variables(&mut self, pipe: &mut Pipe, most: usize) -> Result<(), Error> {
        let start = self.next;
        let mut names = Vec::new();
        while let Some(Word::Variable(name)) = self.peek() {
            names.push(name.clone());
            self.next += 1;
            if names.len() < most && self.eat(&Word::Comma) {
                continue;
            }
            match self.peek() {
                Some(Word::Declare) => {}
                Some(Word::Assign) => pipe.assigns = true,
                _ => break,
            }
            if pipe.assigns && names.iter().any(|name| !self.variables.contains(name)) {
                return Err(self.wrong("a variable is assigned that was not declared"));
            }
            self.next += 1;
            pipe.variables = names;
            return Ok(());
        }
        self.next = start;
        Ok(())
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        let operand = match self.take() {
            Some(Word::Dot) => Operand::Dot,
            Some(Word::Int(int)) => Operand::Int(int),
            Some(Word::Float(float)) => Operand::Float(float),
            Some(Word::Str(text)) => Operand::Str(text),
            Some(Word::Field(name)) => Operand::Field(vec![name]),
            Some(Word::Variable(name)) => {
                if !self.variables.contains(&name) {
                    return Err(self.wrong("a variable that was not declared"));
                }
                Operand::Variable(name, Vec::new())
            }
            Some(Word::Name(name)) => match name.as_str() {
                "true" => Operand::Bool(true),
                "false" => Operand::Bool(false),
                "nil" => Operand::Nil,
                "if" | "else" | "end" | "range" | "with" | "define" | "block" | "template"
                | "break" | "continue" => {
                    return Err(self.wrong(format!("`{name}` where a value should be")));
                }
                _ if functions::is_known(&name) => Operand::Function(name),
                _ => {
                    let error = Error::unsupported(format!("unknown function `{name}`"));
                    return Err(error.at(self.tokens[self.next - 1].at));
                }
            },
            Some(Word::ParenOpen) => {
                let pipe = self.deeper(|parser| parser.pipe(&Word::ParenClose, 0))?;
                Operand::Pipe(Box::new(pipe))
            }
            _ => return Err(self.wrong("a value is missing")),
        };
        let mut names = Vec::new();
        while let Some(token) = self.tokens.get(self.next) {
            match &token.kind {
                Word::Field(name) if !token.spaced => names.push(name.clone()),
                _ => break,
            }
            self.next += 1;
        }
        Ok(match operand {
            operand if names.is_empty() => operand,
            Operand::Field(mut first) => {
                first.append(&mut names);
                Operand::Field(first)
            }
            Operand::Variable(name, _) => Operand::Variable(name, names),
            Operand::Pipe(_) => Operand::Chain(Box::new(operand), names),
            _ => return Err(self.wrong("a field of something that has none")),
        })
    }
}
