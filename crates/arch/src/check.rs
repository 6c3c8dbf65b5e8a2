//! What can be checked of an arch file without a model: names, operations, options, registers.

use std::collections::HashSet;

use crate::{
    error::{Error, Kind, Span, nearest},
    eval::{FUNCTIONS, arguments_of, required_arguments},
    expr::{Case, Expr, Node},
    lex::Source,
    op::{self, Row, Takable, Takes},
    parse::{Ast, Each, Given, GivenValue, Part, Step},
};

impl Ast {
    /// Whether `each layer NAME=word` asks for this table.
    pub fn is_selector(&self, name: &str) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Each(each) => each.kind.as_ref().is_some_and(|kind| kind.table == name),
            Part::Step(_) => false,
        })
    }

    /// Names of keys that the header mentions, with the prefix where they have none of their own.
    pub fn mentioned(&self, prefix: &str) -> HashSet<String> {
        let mut out = HashSet::new();
        // `above`: how many header lines stand above; a line may bear its own key's name.
        let mut visit = |expr: &Expr, above: usize| {
            expr.walk(&mut |e| match &e.node {
                Node::Name(name) if self.header[..above].iter().any(|h| h.name == *name) => {}
                Node::Name(name) => {
                    out.insert(format!("{prefix}{name}"));
                }
                Node::Key(key) => {
                    out.insert(key.clone());
                }
                _ => {}
            });
        };
        self.header.iter().enumerate().for_each(|(above, h)| visit(&h.expr, above));
        let all = self.header.len();
        self.requires.iter().for_each(|require| visit(&require.expr, all));
        for part in &self.parts {
            if let Part::Each(Each { count, from, .. }) = part {
                count.iter().chain(from).for_each(|expr| visit(expr, all));
            }
        }
        out.extend(self.requires.iter().map(|require| format!("{prefix}{}", require.key)));
        out
    }
}

/// Everything that needs no model.
pub(crate) fn check(source: Source, ast: &Ast) -> Result<(), Error> {
    let mut checker = Checker { source, ast, used: HashSet::new(), registers: HashSet::new() };
    checker.header()?;
    for part in &ast.parts {
        match part {
            Part::Step(step) => checker.step(step, None)?,
            Part::Each(each) => checker.each(each)?,
        }
    }
    let (kind, span) = ast.output;
    if !checker.registers.contains(kind.word()) {
        let what = format!("no step writes the output `{}`", kind.word());
        return Err(source.error(Kind::Unknown, span, what));
    }
    match ast.header.iter().find(|h| !checker.used.contains(h.name.as_str())) {
        None => Ok(()),
        Some(idle) => {
            let what = format!("`{}` is never used", idle.name);
            let hint = "a key that is read and not used would be ignored; use it or `require` it";
            Err(source.error(Kind::Unknown, idle.span, what).hint(hint))
        }
    }
}

struct Checker<'a> {
    source: Source<'a>,
    ast: &'a Ast,
    used: HashSet<&'a str>,
    registers: HashSet<&'a str>,
}

impl<'a> Checker<'a> {
    fn header(&mut self) -> Result<(), Error> {
        for (place, header) in self.ast.header.iter().enumerate() {
            self.header_expr(&header.expr, place)?;
        }
        for require in &self.ast.requires {
            self.header_expr(&require.expr, self.ast.header.len())?;
        }
        Ok(())
    }

    /// `place`: how many header lines stand above.
    fn header_expr(&mut self, expr: &'a Expr, place: usize) -> Result<(), Error> {
        self.calls(expr)?;
        let mut later = None;
        expr.walk(&mut |e| {
            if let Node::Name(name) = &e.node {
                match self.ast.header.iter().position(|h| h.name == *name) {
                    Some(at) if at < place => {
                        self.used.insert(name);
                    }
                    // Its own name is the key; a later one would be read too early.
                    Some(at) if at > place => later = later.or(Some((e.span, at))),
                    _ => {}
                }
            }
        });
        match later {
            None => Ok(()),
            Some((span, at)) => {
                let later = &self.ast.header[at];
                let what =
                    format!("`{}` is defined below, in line {}", later.name, later.span.line);
                let hint = "a header line reads keys and the names above it";
                Err(self.source.error(Kind::Unknown, span, what).hint(hint))
            }
        }
    }

    fn calls(&self, expr: &Expr) -> Result<(), Error> {
        let mut fault = None;
        expr.walk(&mut |e| {
            if fault.is_some() {
                return;
            }
            match &e.node {
                Node::Call(name, given) => fault = self.call(name, given, e.span).err(),
                Node::Match(_, cases, _) => fault = self.cases(cases, e.span).err(),
                _ => {}
            }
        });
        fault.map_or(Ok(()), Err)
    }

    fn call(&self, name: &str, given: &[(Option<String>, Expr)], span: Span) -> Result<(), Error> {
        let Some(known) = arguments_of(name) else {
            let what = format!("`{name}` is no function");
            return Err(self.unknown(span, what, name, &FUNCTIONS));
        };
        if name == "refuse" && !matches!(given, [(_, Expr { node: Node::Text(_), .. })]) {
            let what = "`refuse` takes one reason in double quotes";
            return Err(self.source.error(Kind::Syntax, span, what));
        }
        let pair = |given: &[(Option<String>, Expr)]| {
            matches!(given, [(None, _), (None, Expr { node: Node::Text(_), .. })])
        };
        if name == "assume" && !pair(given) {
            let what = "`assume` takes a value, then one reason in double quotes";
            return Err(self.source.error(Kind::Syntax, span, what));
        }
        let mut seen = HashSet::new();
        for (place, (argument, _)) in given.iter().enumerate() {
            let argument = match argument {
                Some(argument) => argument.as_str(),
                None => known.get(place).copied().unwrap_or(""),
            };
            if !known.contains(&argument) || !seen.insert(argument) {
                let what = format!("`{name}` takes {}, each once", known.join(", "));
                return Err(self.source.error(Kind::Unknown, span, what));
            }
        }
        let required = &known[..required_arguments(name)];
        match required.iter().find(|argument| !seen.contains(*argument)) {
            None => Ok(()),
            Some(missing) => {
                let what = format!("`{name}` needs `{missing}`");
                Err(self.source.error(Kind::Syntax, span, what))
            }
        }
    }

    fn cases(&self, cases: &[(Vec<Case>, Expr)], span: Span) -> Result<(), Error> {
        let all: Vec<&Case> = cases.iter().flat_map(|(values, _)| values).collect();
        if (0..all.len()).any(|i| all[..i].contains(&all[i])) {
            let what = "a value of `match` is given twice";
            return Err(self.source.error(Kind::Syntax, span, what));
        }
        Ok(())
    }

    fn unknown(&self, span: Span, what: String, word: &str, known: &[&str]) -> Error {
        let hint = match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        self.source.error(Kind::Unknown, span, what).hint(hint)
    }

    fn each(&mut self, each: &'a Each) -> Result<(), Error> {
        for expr in each.count.iter().chain(&each.from) {
            self.header_expr(expr, self.ast.header.len())?;
        }
        if let Some(kind) = &each.kind {
            self.used.insert(&kind.table);
            let table = self.ast.header.iter().find(|h| h.name == kind.table);
            let mut words = Vec::new();
            table.iter().for_each(|h| {
                h.expr.walk(&mut |e| {
                    if let Node::Name(word) = &e.node {
                        words.push(word.as_str());
                    }
                });
            });
            if !words.contains(&kind.word.as_str()) {
                let what = format!("the table `{}` has no word `{}`", kind.table, kind.word);
                return Err(self.unknown(kind.span, what, &kind.word, &words));
            }
        }
        each.steps.iter().try_for_each(|step| self.step(step, Some(&each.name)))
    }

    fn step(&mut self, step: &'a Step, block: Option<&str>) -> Result<(), Error> {
        let Some(row) = op::find(&step.op) else {
            if op::LATER.contains(&step.op.as_str()) {
                let what = format!("operation `{}` is not in this version yet", step.op);
                return Err(self.source.error(Kind::Unknown, step.op_span, what));
            }
            let what = format!("`{}` is no operation", step.op);
            let known: Vec<&str> = op::TABLE.iter().map(|row| row.name).collect();
            return Err(self.unknown(step.op_span, what, &step.op, &known));
        };
        self.inputs(step, row)?;
        for given in &step.options {
            self.option(step, row, given, block)?;
        }
        let missing = row.options.iter().filter(|o| o.required);
        for option in missing {
            if !step.options.iter().any(|given| given.name == option.name) {
                let what = format!("`{}` needs the option `{}=`", row.name, option.name);
                return Err(self.source.error(Kind::Syntax, step.span, what));
            }
        }
        if self.ast.header.iter().any(|h| h.name == step.out) || block == Some(&step.out) {
            let what = format!("`{}` is already a name of the header or block", step.out);
            return Err(self.source.error(Kind::Syntax, step.out_span, what));
        }
        self.registers.insert(&step.out);
        if self.registers.len() > 64 {
            let what = "more than 64 registers";
            return Err(self.source.error(Kind::Limit, step.out_span, what));
        }
        Ok(())
    }

    fn inputs(&self, step: &Step, row: &Row) -> Result<(), Error> {
        let least = row.inputs.iter().filter(|takes| **takes != Takes::TensorOrNone).count();
        let count = step.inputs.len();
        if count < least || count > row.inputs.len() {
            let wanted = match row.inputs.len() {
                most if most == least => least.to_string(),
                most => format!("{least} or {most}"),
            };
            let noun = if wanted == "1" { "input" } else { "inputs" };
            let what = format!("`{}` takes {wanted} {noun}, {count} given", row.name);
            return Err(self.source.error(Kind::Syntax, step.span, what));
        }
        for (input, takes) in step.inputs.iter().zip(row.inputs) {
            if *takes != Takes::Register {
                if input.optional && *takes == Takes::Tensor {
                    let what = format!("the tensor of `{}` cannot be optional", row.name);
                    return Err(self.source.error(Kind::Syntax, input.span, what));
                }
                continue;
            }
            let name = &input.names[0];
            if input.names.len() > 1 || input.optional || name.literal {
                let what = "a register stands here, not a tensor";
                return Err(self.source.error(Kind::Syntax, input.span, what));
            }
            if !self.registers.contains(name.text.as_str()) {
                let what = format!("register `{}` is read before any step writes it", name.text);
                let mut known: Vec<&str> = self.registers.iter().copied().collect();
                known.sort_unstable();
                let error = self.source.error(Kind::Unknown, name.span, what);
                return Err(match nearest(&name.text, known) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        Ok(())
    }

    fn option(
        &mut self,
        step: &'a Step,
        row: &Row,
        given: &'a Given,
        block: Option<&str>,
    ) -> Result<(), Error> {
        let Some(option) = row.options.iter().find(|o| o.name == given.name) else {
            let what = format!("`{}` has no option `{}`", row.name, given.name);
            let known: Vec<&str> = row.options.iter().map(|o| o.name).collect();
            return Err(self.unknown(given.span, what, &given.name, &known));
        };
        match (&given.value, option.value) {
            (GivenValue::Flag { .. }, Takable::Flag) => Ok(()),
            (GivenValue::Tensor(_), Takable::Tensor) => Ok(()),
            (GivenValue::Expr(expr), Takable::Word(words)) => match &expr.node {
                Node::Name(word) if words.contains(&word.as_str()) => Ok(()),
                node => {
                    let what = format!("`{}` is one of: {}", option.name, words.join(", "));
                    let word = if let Node::Name(word) = node { word } else { "" };
                    Err(self.unknown(expr.span, what, word, words))
                }
            },
            (GivenValue::Expr(expr), wanted)
                if !matches!(wanted, Takable::Flag | Takable::Tensor) =>
            {
                self.option_expr(expr, block)
            }
            (_, Takable::Flag) => {
                let what = format!("`{}` stands alone or with `?`, without a value", option.name);
                Err(self.source.error(Kind::Syntax, given.span, what))
            }
            (_, Takable::Tensor) => {
                let what = format!("`{}` takes a tensor's name in quotes", option.name);
                Err(self.source.error(Kind::Syntax, given.span, what))
            }
            _ => {
                let what = format!("`{}` of `{}` takes a value", option.name, step.op);
                Err(self.source.error(Kind::Syntax, given.span, what))
            }
        }
    }

    /// Options know the header's names and the block's number; keys are read in the header only.
    fn option_expr(&mut self, expr: &'a Expr, block: Option<&str>) -> Result<(), Error> {
        self.calls(expr)?;
        let mut fault = None;
        expr.walk(&mut |e| match &e.node {
            Node::Name(name) if block == Some(name) => {}
            Node::Name(name) => match self.ast.header.iter().find(|h| h.name == *name) {
                Some(header) => {
                    self.used.insert(&header.name);
                }
                None => fault = fault.or(Some((e.span, Some(name)))),
            },
            Node::Whole(_) | Node::Float(_) | Node::Negative(_) | Node::Binary(..) => {}
            Node::Call(name, _) if !["pattern", "refuse", "assume"].contains(&name.as_str()) => {}
            _ => fault = fault.or(Some((e.span, None))),
        });
        match fault {
            None => Ok(()),
            Some((span, Some(name))) => {
                let what = format!("`{name}` is no name of the header");
                let known = self.ast.header.iter().map(|h| h.name.as_str()).chain(block);
                let hint = match nearest(name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "steps use names; read the key in a header line".to_owned(),
                };
                Err(self.source.error(Kind::Unknown, span, what).hint(hint))
            }
            Some((span, None)) => {
                let what = "this form belongs in the header";
                let hint = "give it a name there and use the name here";
                Err(self.source.error(Kind::Syntax, span, what).hint(hint))
            }
        }
    }
}
