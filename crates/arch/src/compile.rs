//! Binds an arch file to a model file: every step against every tensor, layer by layer.

use std::{collections::HashMap, sync::Arc};

use recinto_weights::File;

use crate::{
    archs::ArchFile,
    error::{Error, Kind, Span},
    eval::{Index, Scope},
    expr::Expr,
    keys::{self, Meaning},
    lex::Source,
    parse::{Ast, Each, GivenValue, Part, Step},
    program::{Cache, Instruction, Op, Output, OutputKind, Program, Rope, Slot},
    slots,
};

/// Limits on what a program may need; far above any published model.
const MAX_STEPS: usize = 100_000;
pub(crate) const MAX_FREQUENCIES: usize = 1 << 20;
const MAX_REPEATS: u64 = 4096;
pub(crate) const MAX_WIDTH: usize = 1 << 22;
const MAX_SLOTS: usize = 1 << 24;
const MAX_CACHE: usize = 1 << 24;
const MAX_WORK: u128 = 1 << 42;

/// What the operator decides.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keys that are let pass although no line reads them, with or without the architecture's
    /// prefix.
    pub allow_keys: Vec<String>,
}

/// Checks `arch` against `file` and gives the program.
///
/// # Errors
/// The first fault in the order of the file's lines: a missing key or tensor, a shape that does
/// not fit, a tensor that no line uses, a key that would be ignored, an impossible size, a limit.
pub fn compile(arch: &ArchFile, file: &File, options: &Options) -> Result<Program, Error> {
    let (source, ast) = (arch.source(), arch.ast());
    let metadata = file.metadata();
    let stated = arch.matches(file)?;
    let prefix = format!("{stated}.");
    let layers = keys::sane(metadata, &prefix)?;
    let allowed_keys = unread_keys(source, ast, file, &prefix, options)?;
    let scope = Scope::new(source, ast, metadata, &prefix, layers)?;
    required(&scope, ast)?;
    let mut binder = Binder {
        scope,
        file,
        used: vec![false; file.tensors().len()],
        widths: Vec::new(),
        registers: HashMap::new(),
        instructions: Vec::new(),
        ropes: Vec::new(),
        rope_index: HashMap::new(),
        caches: Vec::new(),
        vocabulary: None,
        positions: None,
        types: None,
        whole: false,
        chosen: Vec::new(),
        frequencies: 0,
        work: 0,
        steps: 0,
    };
    binder.parts(&ast.parts)?;
    binder.unused(ast)?;
    let (kind, span) = ast.output;
    let kept = binder.register(kind.word(), span)?;
    let width = binder.widths[kept];
    let Some(vocabulary) = binder.vocabulary else {
        let what = "no `embed` step: nothing reads the token ids";
        return Err(source.error(Kind::Syntax, span, what));
    };
    if kind == OutputKind::Logits && width != vocabulary {
        let what = format!("{width} logits for {vocabulary} rows of the embedding table");
        return Err(source.error(Kind::Shape, span, what));
    }
    let chosen = binder.chosen[kept];
    let Binder { scope, mut instructions, ropes, caches, widths, positions, types, whole, .. } =
        binder;
    if whole && !caches.is_empty() {
        let what = "`attend` beside steps that read whole texts (`attend_both`, `rows`, types)";
        return Err(source.error(Kind::Syntax, span, what));
    }
    let mut notes = scope.notes.into_inner();
    if stated != arch.serves() {
        let serves = arch.serves();
        notes.insert(0, format!("the file calls its architecture `{stated}`; it is `{serves}`"));
    }
    let ops = instructions.iter_mut().map(|instruction| &mut instruction.op);
    let (slots, slot) = slots::assign(ops, &widths, kept);
    let cached: usize = caches.iter().map(|c| c.kv_heads * (c.key_dim + c.value_dim)).sum();
    if slots.iter().sum::<usize>() > MAX_SLOTS || cached > MAX_CACHE {
        let what = format!("the steps need more than {MAX_SLOTS} values a position");
        return Err(Error::new(Kind::Limit, what));
    }
    Ok(Program {
        name: arch.name().to_owned(),
        origin: arch.origin().clone(),
        text: Arc::clone(arch.text()),
        slots,
        ropes,
        caches,
        instructions,
        output: Output { kind, slot, width, chosen },
        layers,
        vocabulary,
        context: keys::context(metadata, &prefix).into_iter().chain(positions).min(),
        allowed_keys,
        notes,
        whole,
        types,
    })
}

/// Refuses keys that would be ignored; gives those that were let pass by name.
fn unread_keys(
    source: Source,
    ast: &Ast,
    file: &File,
    prefix: &str,
    options: &Options,
) -> Result<Vec<String>, Error> {
    let mentioned = ast.mentioned(prefix);
    let mut allowed = Vec::new();
    for (key, value) in file.metadata().iter() {
        let short = key.strip_prefix(prefix);
        let ignored = |short| ast.ignores.iter().any(|(pattern, _)| like(pattern, short));
        if mentioned.contains(key) || short.is_some_and(ignored) {
            continue;
        }
        let meaning = keys::meaning(prefix, key, value);
        if matches!(meaning, Meaning::Harmless) {
            continue;
        }
        if options.allow_keys.iter().any(|k| k == key || Some(k.as_str()) == short) {
            allowed.push(key.to_owned());
            continue;
        }
        let what = match meaning {
            Meaning::Mathematics => format!(
                "key `{key}` changes what the model computes, and {} does not carry it out",
                source.file
            ),
            _ => format!("key `{key}` is not read by {}", source.file),
        };
        let hint = format!("`--allow-key {key}` runs the model without it; receipts will say so");
        return Err(Error::new(Kind::UnusedKey, what).hint(hint));
    }
    Ok(allowed)
}

fn required(scope: &Scope, ast: &Ast) -> Result<(), Error> {
    for require in &ast.requires {
        let key = scope.key(&require.key);
        let Some(stored) = scope.metadata.get(&key) else { continue };
        let wanted = scope.plain(&require.expr)?;
        if !scope.equals(stored, &wanted) {
            let what = format!("key `{key}` has a value that this file does not carry out");
            return Err(scope.source.error(Kind::Value, require.span, what));
        }
    }
    Ok(())
}

/// A block's name, running number and the prefix of its tensors.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub index: Index<'a>,
    /// Prefixes of its tensors' names, before the number; none for `blk`.
    pub at: &'a [String],
}

/// The state while steps are bound. Slots in instructions are numbers of values until the end.
pub(crate) struct Binder<'a> {
    pub scope: Scope<'a>,
    pub file: &'a File,
    pub used: Vec<bool>,
    pub widths: Vec<usize>,
    registers: HashMap<&'a str, usize>,
    instructions: Vec<Instruction>,
    pub ropes: Vec<Rope>,
    pub rope_index: HashMap<RopeKey, usize>,
    pub caches: Vec<Cache>,
    pub vocabulary: Option<usize>,
    /// Positions that have a row in every table of them.
    pub positions: Option<u64>,
    /// Types that have a row in every table of them.
    pub types: Option<usize>,
    /// Whether a step reads whole texts.
    pub whole: bool,
    /// Of each value, whether it is of the positions that the caller asks about.
    pub chosen: Vec<bool>,
    /// Values in all rotary settings.
    pub frequencies: usize,
    /// Multiplications a position.
    pub work: u128,
    steps: usize,
}

/// Base, rotated values, scaling and factors tensor of a rotary setting.
pub(crate) type RopeKey = (u64, usize, [u64; 8], Option<usize>);

impl<'a> Binder<'a> {
    pub fn error(&self, kind: Kind, span: Span, what: impl Into<String>) -> Error {
        self.scope.source.error(kind, span, what)
    }

    fn parts(&mut self, parts: &'a [Part]) -> Result<(), Error> {
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            at += 1;
            match part {
                Part::Step(step) => self.step(step, None)?,
                Part::Each(first) => {
                    // Blocks chosen by one table stand together and take turns.
                    let mut group = vec![first];
                    if let Some(kind) = &first.kind {
                        while let Some(Part::Each(next)) = parts.get(at)
                            && next.name == first.name
                            && next.kind.as_ref().is_some_and(|k| k.table == kind.table)
                        {
                            group.push(next);
                            at += 1;
                        }
                    }
                    self.group(&group)?;
                }
            }
        }
        Ok(())
    }

    fn group(&mut self, group: &[&'a Each]) -> Result<(), Error> {
        let first = group[0];
        for each in &group[1..] {
            if each.count.is_some() || each.from.is_some() {
                let what = "`count=` and `from=` stand in the first block of one table only";
                return Err(self.error(Kind::Syntax, each.span, what));
            }
        }
        let whole = |expr: &Option<Expr>, default: usize| match expr {
            None => Ok(default as u64),
            Some(expr) => match self.scope.plain(expr)? {
                crate::eval::Value::Whole(v) if (0..=MAX_REPEATS as i64).contains(&v) => {
                    Ok(v as u64)
                }
                _ => {
                    let what = format!("expected a whole number from 0 to {MAX_REPEATS}");
                    Err(self.error(Kind::Value, expr.span, what))
                }
            },
        };
        let from = whole(&first.from, 0)? as usize;
        let rest = self.scope.layers.saturating_sub(from);
        let count =
            whole(&first.count, if first.from.is_some() { rest } else { self.scope.layers })?;
        for value in from..from + count as usize {
            let mut ran = false;
            for each in group {
                if let Some(kind) = &each.kind
                    && self.scope.word(&kind.table, value) != Some(&kind.word)
                {
                    continue;
                }
                ran = true;
                let block = Block { index: Index { name: &each.name, value }, at: &each.at };
                for step in &each.steps {
                    self.step(step, Some(block))?;
                }
            }
            if !ran {
                let what = format!("no block is there for {} {value}", first.name);
                return Err(self.error(Kind::Unknown, first.span, what));
            }
        }
        Ok(())
    }

    /// The value in a register.
    pub fn register(&self, name: &str, span: Span) -> Result<usize, Error> {
        self.registers.get(name).copied().ok_or_else(|| {
            let what = format!("register `{name}` is read before any step writes it");
            self.error(Kind::Unknown, span, what)
        })
    }

    fn step(&mut self, step: &'a Step, block: Option<Block<'a>>) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = format!("more than {MAX_STEPS} steps, repetitions included");
            return Err(self.error(Kind::Limit, step.span, what));
        }
        let bound = self.bind(step, block)?;
        let value = match bound {
            Bound::Same(value) => value,
            Bound::New(mut op, width) => {
                if width == 0 || width > MAX_WIDTH {
                    let what = format!("a result of {width} values; 1 to {MAX_WIDTH} are possible");
                    return Err(self.error(Kind::Limit, step.span, what));
                }
                let layer = block.map(|b| b.index.value as u32);
                let chosen = self.rows_of(&mut op, step.span)?;
                *slots::operands(&mut op).0 = Slot(self.widths.len());
                self.chosen.push(chosen);
                self.widths.push(width);
                self.instructions.push(Instruction { line: step.out_span.line, layer, op });
                self.widths.len() - 1
            }
        };
        if self.work > MAX_WORK {
            let what = format!("more than {MAX_WORK} multiplications a position");
            return Err(self.error(Kind::Limit, step.span, what));
        }
        self.registers.insert(&step.out, value);
        Ok(())
    }

    /// Whether the result of `op` is of the chosen positions; an error where its inputs are not of
    /// the same ones.
    fn rows_of(&self, op: &mut Op, span: Span) -> Result<bool, Error> {
        let (selects, attends) =
            (matches!(op, Op::Rows { .. }), matches!(op, Op::AttendBoth { .. }));
        let (_, inputs) = slots::operands(op);
        let mut inputs = inputs.into_iter().flatten().map(|slot| self.chosen[slot.0]);
        let first = inputs.next().unwrap_or(false);
        if inputs.any(|other| other != first) {
            let what = "one input is of chosen rows (`rows`), the other of all";
            return Err(self.error(Kind::Shape, span, what));
        }
        if first && (selects || attends) {
            let what = "the positions were chosen before; this step needs all of them";
            return Err(self.error(Kind::Shape, span, what));
        }
        Ok(first || selects)
    }

    /// Refuses tensors that no step used and no `skip` line names.
    fn unused(&self, ast: &Ast) -> Result<(), Error> {
        let tensors = self.file.tensors().iter().map(|tensor| tensor.name.as_str());
        let others = self.file.others().iter().map(|other| (other.name.as_str(), &false));
        for (name, used) in tensors.zip(&self.used).chain(others) {
            let bare = name.strip_suffix(".weight").unwrap_or(name);
            let skipped = |pattern: &str| like(pattern, name) || like(pattern, bare);
            if !used && !ast.skips.iter().any(|(pattern, _)| skipped(pattern)) {
                let what = format!("no line of {} uses tensor `{name}`", self.scope.source.file);
                let hint = "the file may be for another variant; \
                            a line `skip PATTERN` leaves tensors out on purpose";
                return Err(Error::new(Kind::UnusedTensor, what).hint(hint));
            }
        }
        Ok(())
    }
}

/// Whether `name` fits `pattern`, where `*` stands for anything.
pub(crate) fn like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(at) = rest.find(before) else { return false };
            rest = &rest[at + before.len()..];
        }
    }
    last.map_or(rest.is_empty(), |end| rest.ends_with(end))
}

/// What a step comes to.
pub(crate) enum Bound {
    /// Nothing to do: the register takes this value.
    Same(usize),
    /// An instruction whose result has this width.
    New(Op, usize),
}

/// A step's options by name.
pub(crate) struct Given<'s> {
    pub step: &'s Step,
    pub index: Option<Index<'s>>,
    pub block: Option<Block<'s>>,
}

impl<'s> Given<'s> {
    pub fn find(&self, name: &str) -> Option<&'s GivenValue> {
        self.step.options.iter().find(|given| given.name == name).map(|given| &given.value)
    }

    pub fn expr(&self, name: &str) -> Option<&'s Expr> {
        match self.find(name)? {
            GivenValue::Expr(expr) => Some(expr),
            _ => None,
        }
    }

    /// Where the option stands, or the whole step.
    pub fn span(&self, name: &str) -> Span {
        let given = self.step.options.iter().find(|given| given.name == name);
        given.map_or(self.step.span, |given| given.span)
    }
}
