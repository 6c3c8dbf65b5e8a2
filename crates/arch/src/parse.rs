//! From the text of an arch file to its lines: header, blocks and steps.

use crate::{
    error::{Error, Kind, Span, nearest},
    expr::{Expr, FORMS, Reader},
    lex::{self, Source, Token, TokenKind},
    op,
    program::OutputKind,
};

/// Limits on the parts of a file, far above any real one.
const MAX_NAMES: usize = 256;
const MAX_STEPS: usize = 1000;
/// Bytes of an architecture's name, and spellings of one.
const LONGEST: usize = 64;
const SPELLINGS: usize = 8;

/// A whole arch file.
#[derive(Clone, Debug)]
pub(crate) struct Ast {
    /// The `general.architecture` that it serves, then other spellings of it.
    pub serves: Vec<String>,
    pub when: Vec<When>,
    pub header: Vec<Header>,
    pub requires: Vec<Require>,
    pub skips: Vec<(String, Span)>,
    /// Patterns of keys, without the architecture's prefix.
    pub ignores: Vec<(String, Span)>,
    pub parts: Vec<Part>,
    pub output: (OutputKind, Span),
}

/// A condition on the model file: a tensor or a key is there, or is not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct When {
    pub name: String,
    pub absent: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub name: String,
    pub span: Span,
    pub expr: Expr,
}

#[derive(Clone, Debug)]
pub(crate) struct Require {
    pub key: String,
    pub span: Span,
    pub expr: Expr,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Step(Step),
    Each(Each),
}

/// A block that is repeated.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub name: String,
    pub span: Span,
    pub count: Option<Expr>,
    pub from: Option<Expr>,
    /// Prefixes of its tensors' names, before the number; none for `blk`.
    pub at: Vec<String>,
    /// Only for layers where the table has this word.
    pub kind: Option<Select>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub table: String,
    pub word: String,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub out: String,
    pub out_span: Span,
    pub op: String,
    pub op_span: Span,
    pub inputs: Vec<Input>,
    pub options: Vec<Given>,
    pub span: Span,
}

/// An input: a register, or a tensor with its alternatives.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub names: Vec<TensorName>,
    /// Written with `?`.
    pub optional: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct TensorName {
    pub text: String,
    pub literal: bool,
    pub span: Span,
}

/// `name=value`, or a bare name.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub name: String,
    pub span: Span,
    pub value: GivenValue,
}

#[derive(Clone, Debug)]
pub(crate) enum GivenValue {
    Flag { optional: bool },
    Expr(Expr),
    Tensor(Input),
}

/// The lines of a text, without byte order mark and carriage returns.
fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
}

/// The names of the line `arch NAME|NAME`, for files whose other lines are broken.
pub(crate) fn serves(text: &str) -> Vec<&str> {
    let mut words = lines(text).map(|(_, line)| line.split_whitespace());
    let found = words.find_map(|mut w| (w.next() == Some("arch")).then(|| w.next())).flatten();
    let names = found.unwrap_or_default().split('|');
    names.filter(|name| !name.is_empty() && name.len() <= LONGEST).take(SPELLINGS).collect()
}

/// Reads a file; its byte order mark is already gone.
pub(crate) fn parse(source: Source) -> Result<Ast, Error> {
    if source.text.len() > lex::MAX_BYTES {
        let what = format!("{} has more than {} bytes", source.file, lex::MAX_BYTES);
        return Err(Error::new(Kind::Limit, what));
    }
    let mut parser = Parser::new(source);
    for (number, line) in lines(source.text) {
        parser.line(number, line)?;
    }
    parser.finish()
}

struct Parser<'a> {
    source: Source<'a>,
    versioned: bool,
    arch: Option<(Vec<String>, Vec<When>)>,
    header: Vec<Header>,
    requires: Vec<Require>,
    skips: Vec<(String, Span)>,
    ignores: Vec<(String, Span)>,
    parts: Vec<Part>,
    open: Option<Each>,
    output: Option<(OutputKind, Span)>,
    steps: usize,
    last: u32,
}

impl<'a> Parser<'a> {
    fn new(source: Source<'a>) -> Parser<'a> {
        Parser {
            source,
            versioned: false,
            arch: None,
            header: Vec::new(),
            requires: Vec::new(),
            skips: Vec::new(),
            ignores: Vec::new(),
            parts: Vec::new(),
            open: None,
            output: None,
            steps: 0,
            last: 1,
        }
    }

    fn error(&self, kind: Kind, span: Span, what: impl Into<String>) -> Error {
        self.source.error(kind, span, what)
    }

    fn line(&mut self, number: u32, line: &str) -> Result<(), Error> {
        let whole = Span { line: number, start: 0, end: line.len().min(80) as u32 };
        if number as usize > lex::MAX_LINES {
            let what = format!("more than {} lines", lex::MAX_LINES);
            return Err(self.error(Kind::Limit, whole, what));
        }
        if line.len() > lex::MAX_LINE {
            let what = format!("a line of {} bytes; {} are allowed", line.len(), lex::MAX_LINE);
            return Err(self.error(Kind::Limit, whole, what));
        }
        if !self.versioned {
            return self.version(whole, line);
        }
        let bare = line.split('#').next().unwrap_or("");
        let mut words = bare.split_whitespace();
        match (words.next(), words.next()) {
            (Some("arch"), next) if next != Some("=") => return self.arch(number, bare),
            (Some("skip"), next) if next != Some("=") => {
                return Self::patterns(self.source, number, bare, &mut self.skips);
            }
            (Some("ignore"), next) if next != Some("=") => {
                return Self::patterns(self.source, number, bare, &mut self.ignores);
            }
            _ => {}
        }
        let tokens = lex::line(self.source, number, line)?;
        let Some(first) = tokens.first() else { return Ok(()) };
        self.last = number;
        let end = Span { line: number, start: line.len() as u32, end: line.len() as u32 };
        let mut reader = Reader::new(self.source, &tokens, end);
        if self.arch.is_none() {
            return Err(reader.expected("`arch NAME`"));
        }
        let assigns = tokens.get(1).is_some_and(|t| t.is('='));
        match first.word() {
            _ if assigns => self.assignment(&mut reader),
            Some("each") => self.each(&mut reader),
            Some("end") => self.end(&mut reader),
            Some("require") => self.require(&mut reader),
            Some("output") => self.output(&mut reader),
            Some(word) => {
                let known = ["arch", "each", "end", "ignore", "output", "require", "skip"];
                let mut error = reader.expected("`name = …` or a line that begins with a keyword");
                if let Some(near) = nearest(word, known) {
                    error = error.hint(format!("did you mean `{near}`?"));
                }
                Err(error)
            }
            None => Err(reader.expected("a name")),
        }
    }

    fn version(&mut self, span: Span, line: &str) -> Result<(), Error> {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("recinto-arch"), Some("1"), None) => {
                self.versioned = true;
                Ok(())
            }
            (Some("recinto-arch"), Some(version), _) => {
                let what = format!("format version `{version}` is not known; this build reads 1");
                Err(self.error(Kind::Syntax, span, what))
            }
            _ => {
                let what = "the first line must be `recinto-arch 1`";
                Err(self.error(Kind::Syntax, span, what))
            }
        }
    }

    /// The words of a line that is not cut into tokens, with their places.
    fn words(number: u32, line: &str) -> impl Iterator<Item = (&str, Span)> {
        line.split_whitespace().map(move |word| {
            let start = word.as_ptr() as usize - line.as_ptr() as usize;
            let end = (start + word.len()) as u32;
            (word, Span { line: number, start: start as u32, end })
        })
    }

    fn arch(&mut self, number: u32, line: &str) -> Result<(), Error> {
        let whole = Span { line: number, start: 0, end: line.trim_end().len() as u32 };
        if self.arch.is_some() {
            return Err(self.error(Kind::Syntax, whole, "a second `arch` line"));
        }
        let mut words = Self::words(number, line).skip(1);
        let Some((names, span)) = words.next() else {
            return Err(self.error(Kind::Syntax, whole, "`arch` needs a name"));
        };
        let names: Vec<String> = names.split('|').map(str::to_owned).collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let sound =
            |name: &String| !name.is_empty() && name.chars().all(plain) && name.len() <= LONGEST;
        if names.len() > SPELLINGS {
            let what =
                format!("{} spellings of one architecture; at most {SPELLINGS}", names.len());
            return Err(self.error(Kind::Limit, span, what));
        }
        if !names.iter().all(sound) {
            let what = "an architecture's name has letters, digits, `-` and `_`, 64 at most";
            return Err(self.error(Kind::Syntax, span, what));
        }
        let mut when = Vec::new();
        if let Some((word, span)) = words.next() {
            if word != "when" {
                return Err(self.error(
                    Kind::Syntax,
                    span,
                    format!("expected `when`, found `{word}`"),
                ));
            }
            let mut absent = false;
            for (word, _) in words {
                if word == "not" && !absent {
                    absent = true;
                } else {
                    when.push(When { name: word.to_owned(), absent });
                    absent = false;
                }
            }
            if when.is_empty() || absent {
                let what = "`when` needs a tensor's or key's name";
                return Err(self.error(Kind::Syntax, whole, what));
            }
        }
        self.arch = Some((names, when));
        Ok(())
    }

    /// A line of patterns: names of tensors after `skip`, of keys after `ignore`.
    fn patterns(
        source: Source,
        number: u32,
        line: &str,
        out: &mut Vec<(String, Span)>,
    ) -> Result<(), Error> {
        let before = out.len();
        let mut words = Self::words(number, line);
        let keyword = words.next().map_or("", |(word, _)| word);
        out.extend(words.map(|(word, span)| (word.to_owned(), span)));
        if out.len() == before || out.len() > MAX_NAMES {
            let span = Span { line: number, start: 0, end: line.trim_end().len() as u32 };
            let of = if keyword == "skip" { "tensor names" } else { "keys" };
            let what = format!("`{keyword}` needs patterns of {of}, at most {MAX_NAMES} in all");
            return Err(source.error(Kind::Syntax, span, what));
        }
        Ok(())
    }

    fn assignment(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let tokens = reader.tokens;
        let second = tokens.get(3).is_some_and(|token| match &token.kind {
            TokenKind::Word(word) => word != "else",
            TokenKind::Quote(_) => true,
            _ => false,
        });
        let word = tokens.get(2).and_then(Token::word);
        let step = second && word.is_some_and(|word| !FORMS.contains(&word));
        let unfinished = tokens.len() == 3 && word.is_some_and(|w| op::find(w).is_some());
        if step || (unfinished && (self.open.is_some() || !self.parts.is_empty())) {
            return self.step(reader);
        }
        let (name, span) = reader.want_word("a name")?;
        reader.want('=')?;
        if self.open.is_some() || !self.parts.is_empty() {
            let what = "a header line after the first step";
            let hint = "a step is `name = operation inputs…`; header lines stand above all steps";
            return Err(self.error(Kind::Syntax, span, what).hint(hint));
        }
        if FORMS.contains(&name.as_str()) || ["layer", "else", "rest"].contains(&name.as_str()) {
            let what = format!("`{name}` is a word of the format and cannot be a name");
            return Err(self.error(Kind::Syntax, span, what));
        }
        if let Some(earlier) = self.header.iter().find(|h| h.name == name) {
            let what = format!("`{name}` is already defined in line {}", earlier.span.line);
            return Err(self.error(Kind::Syntax, span, what));
        }
        if self.header.len() == MAX_NAMES {
            let what = format!("more than {MAX_NAMES} names in the header");
            return Err(self.error(Kind::Limit, span, what));
        }
        let expr = reader.expr()?;
        reader.want_end()?;
        self.header.push(Header { name, span, expr });
        Ok(())
    }

    fn step(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let (out, out_span) = reader.want_word("a register")?;
        reader.want('=')?;
        let (op, op_span) = reader.want_word("an operation")?;
        let (mut inputs, mut options) = (Vec::new(), Vec::<Given>::new());
        while let Some(token) = reader.peek() {
            let word = token.word();
            let assigned = reader.tokens.get(reader.at + 1).is_some_and(|t| t.is('='));
            let option = assigned || word.is_some_and(|w| op::is_flag(&op, w));
            match word.filter(|_| option) {
                Some(name) => {
                    let given = Self::option(reader, name, token.span, assigned)?;
                    if options.iter().any(|o| o.name == given.name) {
                        let what = format!("option `{name}` is given twice");
                        return Err(self.error(Kind::Syntax, given.span, what));
                    }
                    options.push(given);
                }
                None if options.is_empty() => inputs.push(Self::input(reader)?),
                None => return Err(reader.expected("an option `name=value`")),
            }
        }
        let last = reader.tokens.last().map_or(op_span, |token| token.span);
        let span = out_span.to(last);
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = format!("more than {MAX_STEPS} steps");
            return Err(self.error(Kind::Limit, span, what));
        }
        let step = Step { out, out_span, op, op_span, inputs, options, span };
        match &mut self.open {
            Some(each) => each.steps.push(step),
            None => self.parts.push(Part::Step(step)),
        }
        Ok(())
    }

    fn option(reader: &mut Reader, name: &str, span: Span, assigned: bool) -> Result<Given, Error> {
        let name = name.to_owned();
        reader.at += 1;
        if !assigned {
            let optional = reader.eat('?');
            return Ok(Given { name, span, value: GivenValue::Flag { optional } });
        }
        reader.want('=')?;
        let quoted = matches!(reader.peek(), Some(Token { kind: TokenKind::Quote(_), .. }));
        let value = if quoted {
            GivenValue::Tensor(Self::input(reader)?)
        } else {
            GivenValue::Expr(reader.expr()?)
        };
        let last = reader.tokens[reader.at - 1].span;
        Ok(Given { name, span: span.to(last), value })
    }

    fn input(reader: &mut Reader) -> Result<Input, Error> {
        let mut names = Vec::new();
        loop {
            let span = reader.span();
            let (text, literal) = match reader.next().map(|token| &token.kind) {
                Some(TokenKind::Word(word)) => (word.clone(), false),
                Some(TokenKind::Quote(text)) => (text.clone(), true),
                _ => {
                    reader.at -= 1;
                    return Err(reader.expected("a register or a tensor"));
                }
            };
            names.push(TensorName { text, literal, span });
            if !reader.eat('|') {
                break;
            }
        }
        let optional = reader.eat('?');
        let span = names[0].span.to(reader.tokens[reader.at - 1].span);
        Ok(Input { names, optional, span })
    }

    fn each(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let start = reader.span();
        reader.at += 1;
        if let Some(open) = &self.open {
            let what = format!("a block inside the block of line {}", open.span.line);
            return Err(self.error(Kind::Syntax, start, what));
        }
        let (name, _) = reader.want_word("the block's name")?;
        let (mut count, mut from, mut kind, mut at) = (None, None, None, Vec::new());
        while reader.peek().is_some() {
            let (option, span) = reader.want_word("`count=`, `from=`, `at=` or a table's name")?;
            reader.want('=')?;
            match option.as_str() {
                "count" if count.is_none() => count = Some(reader.expr()?),
                "from" if from.is_none() => from = Some(reader.expr()?),
                "at" if at.is_empty() => at = Self::prefixes(reader)?,
                _ if self.header.iter().any(|h| h.name == option) && kind.is_none() => {
                    let (word, end) = reader.want_word("a word of the table")?;
                    kind = Some(Select { table: option, word, span: span.to(end) });
                }
                _ => {
                    let what = format!("`{option}` is no table of the header, or given twice");
                    return Err(self.error(Kind::Unknown, span, what));
                }
            }
        }
        let last = reader.tokens[reader.tokens.len() - 1].span;
        if name != "layer" && count.is_none() {
            let what =
                format!("`each {name}` needs `count=`; only `each layer` has one of its own");
            return Err(self.error(Kind::Syntax, start.to(last), what));
        }
        let span = start.to(last);
        self.open = Some(Each { name, span, count, from, at, kind, steps: Vec::new() });
        Ok(())
    }

    /// `'encoder.layer'`, or several with `|` between them.
    fn prefixes(reader: &mut Reader) -> Result<Vec<String>, Error> {
        let Input { names, optional, .. } = Self::input(reader)?;
        let sound = |name: &TensorName| name.literal && !name.text.contains(['{', '}']);
        if optional || !names.iter().all(sound) {
            reader.at -= 1;
            return Err(reader.expected("names in single quotes"));
        }
        Ok(names.into_iter().map(|name| name.text).collect())
    }

    fn end(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let span = reader.span();
        reader.at += 1;
        reader.want_end()?;
        let Some(each) = self.open.take() else {
            return Err(self.error(Kind::Syntax, span, "`end` without `each`"));
        };
        if each.steps.is_empty() {
            return Err(self.error(Kind::Syntax, each.span, "a block without steps"));
        }
        self.parts.push(Part::Each(each));
        Ok(())
    }

    fn require(&mut self, reader: &mut Reader) -> Result<(), Error> {
        reader.at += 1;
        let (key, span) = reader.want_word("a key")?;
        reader.want('=')?;
        let expr = reader.expr()?;
        reader.want_end()?;
        if self.requires.len() == MAX_NAMES {
            let what = format!("more than {MAX_NAMES} `require` lines");
            return Err(self.error(Kind::Limit, span, what));
        }
        self.requires.push(Require { key, span, expr });
        Ok(())
    }

    fn output(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let start = reader.span();
        reader.at += 1;
        let (word, span) = reader.want_word("`logits`, `hidden` or `scores`")?;
        reader.want_end()?;
        let Some(kind) = OutputKind::from_word(&word) else {
            let what = format!("`{word}` is no output; `logits`, `hidden` and `scores` are");
            return Err(self.error(Kind::Unknown, span, what));
        };
        if let Some(open) = &self.open {
            return Err(self.error(Kind::Syntax, open.span, "a block without its `end`"));
        }
        if self.output.is_some() {
            let what = "a second `output` line";
            return Err(self.error(Kind::Syntax, start, what));
        }
        self.output = Some((kind, span));
        Ok(())
    }

    fn finish(self) -> Result<Ast, Error> {
        let end = Span { line: self.last, start: 0, end: 0 };
        if !self.versioned {
            return Err(self.error(Kind::Syntax, end, "the first line must be `recinto-arch 1`"));
        }
        if let Some(open) = &self.open {
            return Err(self.error(Kind::Syntax, open.span, "a block without its `end`"));
        }
        let Parser { source, arch, output, header, requires, skips, ignores, parts, .. } = self;
        let Some((serves, when)) = arch else {
            return Err(source.error(Kind::Syntax, end, "the line `arch NAME` is missing"));
        };
        let Some(output) = output else {
            let what = "the line `output logits` (or `hidden`, `scores`) is missing";
            return Err(source.error(Kind::Syntax, end, what));
        };
        Ok(Ast { serves, when, header, requires, skips, ignores, parts, output })
    }
}

impl OutputKind {
    /// The word in an `output` line, which is the register's name as well.
    pub fn word(self) -> &'static str {
        match self {
            OutputKind::Logits => "logits",
            OutputKind::Hidden => "hidden",
            OutputKind::Scores => "scores",
        }
    }

    fn from_word(word: &str) -> Option<OutputKind> {
        [OutputKind::Logits, OutputKind::Hidden, OutputKind::Scores]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}
