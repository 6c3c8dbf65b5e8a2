//! Expressions of the header and of options: tree and parser.

use crate::{
    error::{Error, Kind, Span},
    lex::{Source, Token, TokenKind},
};

/// Parentheses within parentheses, signs and alternatives included.
const MAX_DEPTH: u32 = 32;

/// Words that begin a form; they cannot be names.
pub(crate) const FORMS: [&str; 5] = ["cycle", "first", "every", "where", "match"];

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Whole(i64),
    Float(f64),
    Text(String),
    /// A name of the header, else a key without the architecture's prefix.
    Name(String),
    /// A key with its full name.
    Key(String),
    Negative(Box<Expr>),
    Binary(char, Box<Expr>, Box<Expr>),
    /// The first whose key is there.
    Else(Vec<Expr>),
    Call(String, Vec<(Option<String>, Expr)>),
    Cycle(Vec<Expr>),
    /// `first COUNT VALUE … rest VALUE`.
    First(Vec<(Expr, Expr)>, Box<Expr>),
    Every(Box<Expr>, Box<Expr>, Box<Expr>),
    Where(Box<Expr>, Box<Expr>, Box<Expr>),
    Match(Box<Expr>, Vec<(Vec<Case>, Expr)>, Option<Box<Expr>>),
}

/// What a value is compared with in `match`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Case {
    Number(f64),
    Word(String),
}

impl Expr {
    /// Calls `visit` with this expression and everything inside it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match &self.node {
            Node::Negative(a) => a.walk(visit),
            Node::Binary(_, a, b) => [a, b].into_iter().for_each(|e| e.walk(visit)),
            Node::Else(list) | Node::Cycle(list) => list.iter().for_each(|e| e.walk(visit)),
            Node::Call(_, list) => list.iter().for_each(|(_, e)| e.walk(visit)),
            Node::First(parts, rest) => {
                for (count, value) in parts {
                    count.walk(visit);
                    value.walk(visit);
                }
                rest.walk(visit);
            }
            Node::Every(a, b, c) | Node::Where(a, b, c) => {
                [a, b, c].into_iter().for_each(|e| e.walk(visit));
            }
            Node::Match(on, cases, otherwise) => {
                on.walk(visit);
                cases.iter().for_each(|(_, e)| e.walk(visit));
                otherwise.iter().for_each(|e| e.walk(visit));
            }
            Node::Whole(_) | Node::Float(_) | Node::Text(_) | Node::Name(_) | Node::Key(_) => {}
        }
    }
}

/// Reads tokens of one line from left to right.
pub(crate) struct Reader<'a> {
    pub source: Source<'a>,
    pub tokens: &'a [Token],
    pub at: usize,
    /// Where the line ends, for errors there.
    pub end: Span,
    depth: u32,
}

impl<'a> Reader<'a> {
    pub fn new(source: Source<'a>, tokens: &'a [Token], end: Span) -> Reader<'a> {
        Reader { source, tokens, at: 0, end, depth: 0 }
    }

    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at);
        self.at += 1;
        token
    }

    pub fn span(&self) -> Span {
        self.peek().map_or(self.end, |token| token.span)
    }

    pub fn is(&self, symbol: char) -> bool {
        self.peek().is_some_and(|token| token.is(symbol))
    }

    pub fn eat(&mut self, symbol: char) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().and_then(Token::word) == Some(word);
        self.at += usize::from(found);
        found
    }

    /// The error that `wanted` stands not here.
    pub fn expected(&self, wanted: &str) -> Error {
        let found = self.peek().map_or("the end of the line".to_owned(), Token::show);
        self.source.error(Kind::Syntax, self.span(), format!("expected {wanted}, found {found}"))
    }

    pub fn want(&mut self, symbol: char) -> Result<(), Error> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    pub fn want_word(&mut self, wanted: &str) -> Result<(String, Span), Error> {
        match self.peek() {
            Some(Token { span, kind: TokenKind::Word(word) }) => {
                self.at += 1;
                Ok((word.clone(), *span))
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// Nothing may be left.
    pub fn want_end(&self) -> Result<(), Error> {
        match self.peek() {
            None => Ok(()),
            Some(token) => {
                let what = format!("{} does not belong here", token.show());
                Err(self.source.error(Kind::Syntax, token.span, what))
            }
        }
    }

    /// A whole expression, forms and `else` included.
    pub fn expr(&mut self) -> Result<Expr, Error> {
        self.nest(|r| {
            let first = r.form()?;
            if !r.at_else() {
                return Ok(first);
            }
            let start = first.span;
            let mut list = vec![first];
            while r.eat_word("else") {
                list.push(r.form()?);
            }
            let span = start.to(list[list.len() - 1].span);
            Ok(Expr { span, node: Node::Else(list) })
        })
    }

    fn nest<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            let what = format!("more than {MAX_DEPTH} expressions inside one another");
            return Err(self.source.error(Kind::Limit, self.span(), what));
        }
        self.depth += 1;
        let out = read(self);
        self.depth -= 1;
        out
    }

    fn form(&mut self) -> Result<Expr, Error> {
        let start = self.span();
        let word = self.peek().and_then(Token::word).filter(|word| FORMS.contains(word));
        let Some(word) = word else { return self.sum() };
        self.at += 1;
        let node = match word {
            "cycle" => {
                let mut list = vec![self.unary()?];
                while self.peek().is_some_and(|t| !t.is(')')) && !self.at_else() {
                    list.push(self.unary()?);
                }
                Node::Cycle(list)
            }
            "first" => {
                let mut parts = Vec::new();
                while !self.eat_word("rest") {
                    parts.push((self.unary()?, self.unary()?));
                }
                Node::First(parts, Box::new(self.unary()?))
            }
            "every" => {
                let (step, value) = (Box::new(self.unary()?), Box::new(self.unary()?));
                if !self.eat_word("rest") {
                    return Err(self.expected("`rest`"));
                }
                Node::Every(step, value, Box::new(self.unary()?))
            }
            "where" => {
                let (table, yes) = (Box::new(self.unary()?), Box::new(self.sum()?));
                if !self.eat_word("else") {
                    return Err(self.expected("`else`"));
                }
                Node::Where(table, yes, Box::new(self.sum()?))
            }
            _ => self.matching()?,
        };
        let last = self.tokens[..self.at.min(self.tokens.len())].last();
        Ok(Expr { span: last.map_or(start, |token| start.to(token.span)), node })
    }

    fn at_else(&self) -> bool {
        self.peek().and_then(Token::word) == Some("else")
    }

    fn matching(&mut self) -> Result<Node, Error> {
        let on = Box::new(self.unary()?);
        let mut cases = Vec::new();
        while self.peek().is_some_and(|t| !t.is(')')) && !self.at_else() {
            let mut values = vec![self.case()?];
            while self.eat('|') {
                values.push(self.case()?);
            }
            self.want(':')?;
            cases.push((values, self.sum()?));
        }
        if cases.is_empty() {
            return Err(self.expected("`VALUE: EXPR`"));
        }
        let otherwise = if self.eat_word("else") { Some(Box::new(self.sum()?)) } else { None };
        Ok(Node::Match(on, cases, otherwise))
    }

    fn case(&mut self) -> Result<Case, Error> {
        let sign = if self.eat('-') { -1.0 } else { 1.0 };
        let case = match self.peek().map(|token| &token.kind) {
            Some(TokenKind::Whole(v)) => Case::Number(sign * *v as f64),
            Some(TokenKind::Float(v)) => Case::Number(sign * v),
            Some(TokenKind::Word(v) | TokenKind::Text(v)) => Case::Word(v.clone()),
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        Ok(case)
    }

    fn sum(&mut self) -> Result<Expr, Error> {
        self.chain(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expr, Error> {
        self.chain(['*', '/'], Self::unary)
    }

    fn chain(
        &mut self,
        signs: [char; 2],
        part: fn(&mut Self) -> Result<Expr, Error>,
    ) -> Result<Expr, Error> {
        let mut left = part(self)?;
        let mut long = 0;
        while let Some(sign) = signs.into_iter().find(|sign| self.is(*sign)) {
            // The tree leans to the left: a long chain is as deep as it is long.
            long += 1;
            if long > MAX_DEPTH {
                let what = format!("more than {MAX_DEPTH} terms in one sum or product");
                return Err(self.source.error(Kind::Limit, self.span(), what));
            }
            self.at += 1;
            let right = part(self)?;
            let span = left.span.to(right.span);
            left = Expr { span, node: Node::Binary(sign, Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Error> {
        let start = self.span();
        if self.eat('-') {
            let inner = self.nest(Self::unary)?;
            let span = start.to(inner.span);
            return Ok(Expr { span, node: Node::Negative(Box::new(inner)) });
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr, Error> {
        let span = self.span();
        let node = match self.peek().map(|token| &token.kind) {
            Some(TokenKind::Whole(v)) => Node::Whole(*v),
            Some(TokenKind::Float(v)) => Node::Float(*v),
            Some(TokenKind::Text(v)) => Node::Text(v.clone()),
            Some(TokenKind::Quote(v)) => Node::Key(v.clone()),
            Some(TokenKind::Symbol('(')) => {
                self.at += 1;
                let mut inner = self.expr()?;
                let end = self.span();
                self.want(')')?;
                inner.span = span.to(end);
                return Ok(inner);
            }
            Some(TokenKind::Word(word)) => {
                let reserved = ["else", "rest", "end", "each"].contains(&word.as_str());
                if reserved || FORMS.contains(&word.as_str()) {
                    let hint = "forms such as `cycle` stand first, or inside parentheses";
                    return Err(self.expected("a value").hint(hint));
                }
                self.at += 1;
                if self.is('(') {
                    return self.call(word.clone(), span);
                }
                return Ok(Expr { span, node: Node::Name(word.clone()) });
            }
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        Ok(Expr { span, node })
    }

    fn call(&mut self, name: String, start: Span) -> Result<Expr, Error> {
        self.want('(')?;
        let mut arguments = Vec::new();
        while !self.is(')') {
            let named = self.tokens.get(self.at + 1).is_some_and(|t| t.is('='));
            let name = match self.peek().and_then(Token::word).filter(|_| named) {
                Some(word) => {
                    self.at += 2;
                    Some(word.to_owned())
                }
                None => None,
            };
            arguments.push((name, self.expr()?));
            if !self.eat(',') {
                break;
            }
        }
        let end = self.span();
        self.want(')')?;
        Ok(Expr { span: start.to(end), node: Node::Call(name, arguments) })
    }
}
