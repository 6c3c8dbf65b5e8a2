//! Which arch file comes nearest to a model that none serves, by the names of its tensors, and a
//! text to begin with. A likeness of names says nothing about what is computed with them.

use std::collections::{BTreeMap, BTreeSet};

use recinto_weights::File;

use crate::{
    ArchFile, Archs, Error, Kind, Origin,
    archs::architecture,
    compile::like,
    keys::{Meaning, meaning},
    parse::{Ast, GivenValue, Input, Part, Step},
    program::OutputKind,
};

/// Most names of one kind that a text lists.
const LISTED: usize = 60;
/// Columns of a line of comment.
const COLUMNS: usize = 96;

/// An arch file beside a model that it does not serve. Names of tensors stand without `.weight`,
/// those of all layers once, as `blk.*.attn_q`.
#[derive(Clone, Debug)]
pub struct Nearest<'a> {
    /// The arch file.
    pub arch: &'a ArchFile,
    /// What the model calls its architecture.
    pub stated: String,
    /// Other arch files whose tensors are named as much like the model's.
    pub alike: Vec<String>,
    /// Tensors that both have.
    pub shared: Vec<String>,
    /// Tensors that lines of the arch file need and the model lacks.
    pub lacking: Vec<String>,
    /// Tensors of the model that no line names, with the dimensions of the first.
    pub unnamed: Vec<String>,
    /// Keys of the model that no line reads and that may change what is computed.
    pub unread: Vec<String>,
}

impl Archs {
    /// The arch file whose tensors are named most like those of `model`: most names in common among
    /// all that either has; of those that are alike, the first by name. A model that does not say
    /// that its tokens see those after them is held beside arch files that write, where there are
    /// any.
    ///
    /// # Errors
    /// The model does not say its architecture, or no arch file can be used.
    pub fn nearest(&self, model: &File) -> Result<Nearest<'_>, Error> {
        let stated = architecture(model.metadata())?;
        let there = Tensors::of(model);
        let causal = model.metadata().bool(&format!("{stated}.attention.causal"));
        let writes = causal.ok().flatten() != Some(false);
        let names = self.list().filter(|row| row.error.is_none()).map(|row| row.name);
        let (writers, readers): (Vec<&str>, Vec<&str>) = names.partition(|name| {
            self.get(name).is_ok_and(|arch| arch.ast().output.0 == OutputKind::Logits)
        });
        let names =
            if writes && !writers.is_empty() { writers } else { [writers, readers].concat() };
        let mut best: Option<Nearest<'_>> = None;
        for name in names {
            let near = there.beside(self.get(name)?, stated, model);
            match &mut best {
                Some(best) if best.is_nearer(&near) => {}
                Some(best) if !near.is_nearer(best) => best.alike.push(name.to_owned()),
                _ => best = Some(near),
            }
        }
        best.ok_or_else(|| Error::new(Kind::NoMatch, "no arch file can be used"))
    }
}

impl Nearest<'_> {
    /// Names in common, and names of either.
    fn share(&self) -> (usize, usize) {
        let common = self.shared.len();
        (common, common + self.lacking.len() + self.unnamed.len())
    }

    fn is_nearer(&self, other: &Nearest<'_>) -> bool {
        let ((a, all), (b, of_all)) = (self.share(), other.share());
        a * of_all.max(1) > b * all.max(1)
    }

    /// A text to begin with: that of the arch file, for the model's architecture, and above it what
    /// fits and what does not.
    ///
    /// # Errors
    /// What the model calls its architecture cannot stand in an arch file.
    pub fn text(&self) -> Result<String, Error> {
        let Nearest { arch, stated, alike, shared, lacking, unnamed, unread } = self;
        let source = arch.text().strip_prefix('\u{feff}').unwrap_or(arch.text());
        let mut out = String::new();
        let mut said = false;
        for line in source.lines() {
            match line.strip_prefix("arch ") {
                Some(_) if !said => {
                    said = true;
                    let (shown, from) = (stated.escape_debug(), arch.name());
                    comment(
                        &mut out,
                        &format!(
                            "A beginning for `{shown}`, made of `{from}`, whose tensors are named most \
                         like its own. That says nothing of what is computed: hold every line \
                         against the model's paper or code."
                        ),
                    );
                    let lists = [
                        ("Others as near by these names", alike),
                        ("Tensors that both have", shared),
                        ("Tensors that lines below need and the model lacks", lacking),
                        ("Tensors of the model that no line names", unnamed),
                        ("Keys of the model that no line reads", unread),
                    ];
                    for (title, names) in lists {
                        comment(&mut out, &listed(title, names));
                    }
                    out.push_str(&format!("arch {stated}\n"));
                }
                _ => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        ArchFile::new(stated, &out, Origin::BuiltIn).map_err(|_| {
            let what = format!("`{}` cannot be the name of an arch file", stated.escape_debug());
            Error::new(Kind::Value, what).hint("it is what `general.architecture` says")
        })?;
        Ok(out)
    }
}

/// `TITLE (COUNT): NAME, NAME, …`.
fn listed(title: &str, names: &[String]) -> String {
    let count = names.len();
    let shown: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    match count.saturating_sub(LISTED) {
        _ if count == 0 => format!("{title}: none"),
        0 => format!("{title} ({count}): {}", shown.join(", ")),
        more => format!("{title} ({count}): {} and {more} more", shown.join(", ")),
    }
}

/// Adds `text` as lines of comment.
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split(' ') {
        if line.len() > 1 && line.chars().count() + word.chars().count() >= COLUMNS {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

/// A model's tensors by general names.
struct Tensors {
    /// Name, and dimensions of the first that has it.
    names: BTreeMap<String, Vec<u64>>,
}

impl Tensors {
    fn of(model: &File) -> Tensors {
        let mut names = BTreeMap::new();
        for tensor in model.tensors() {
            names.entry(general(&tensor.name)).or_insert_with(|| tensor.dims.to_vec());
        }
        Tensors { names }
    }

    fn beside<'a>(&self, arch: &'a ArchFile, stated: &str, model: &File) -> Nearest<'a> {
        let ast = arch.ast();
        let lines = Lines::of(ast);
        let (mut shared, mut unnamed) = (Vec::new(), Vec::new());
        for (name, dims) in &self.names {
            let whole = format!("{name}.weight");
            let skipped = |pattern: &str| like(pattern, name) || like(pattern, &whole);
            if lines.names.iter().any(|line| like(line, name)) {
                shared.push(name.escape_debug().to_string());
            } else if !ast.skips.iter().any(|(pattern, _)| skipped(pattern)) {
                unnamed.push(format!("{} {dims:?}", name.escape_debug()));
            }
        }
        let there = |line: &String| self.names.keys().any(|name| like(line, name));
        let lacking = lines.needed.iter().filter(|ways| !ways.iter().any(there));
        let lacking: BTreeSet<String> = lacking.map(|ways| ways.join(" or ")).collect();
        let prefix = format!("{stated}.");
        let read = ast.mentioned(&prefix);
        let metadata = model.metadata();
        let matters = |key: &str, value| {
            !read.contains(key) && !matches!(meaning(&prefix, key, value), Meaning::Harmless)
        };
        let unread = metadata.iter().filter(|(key, value)| matters(key, *value));
        let unread = unread.map(|(key, _)| key);
        Nearest {
            arch,
            stated: stated.to_owned(),
            alike: Vec::new(),
            shared,
            lacking: lacking.into_iter().collect(),
            unnamed,
            unread: unread.map(|key| key.escape_debug().to_string()).collect(),
        }
    }
}

/// A tensor's name without `.weight`, of any layer.
fn general(name: &str) -> String {
    let bare = name.strip_suffix(".weight").unwrap_or(name);
    let layer = bare.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    match layer {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("blk.*.{rest}")
        }
        _ => bare.to_owned(),
    }
}

/// Tensors that an arch file's lines name, as patterns of general names.
#[derive(Default)]
struct Lines {
    /// All of them.
    names: BTreeSet<String>,
    /// The ways to say each that must be there.
    needed: Vec<Vec<String>>,
}

impl Lines {
    fn of(ast: &Ast) -> Lines {
        let mut lines = Lines::default();
        let steps = ast.parts.iter().flat_map(|part| match part {
            Part::Step(step) => vec![(step, "")],
            Part::Each(each) => each.steps.iter().map(|step| (step, "blk.*.")).collect(),
        });
        let steps: Vec<(&Step, &str)> = steps.collect();
        let written: BTreeSet<&str> = steps.iter().map(|(step, _)| step.out.as_str()).collect();
        for (step, above) in steps {
            let bias = step.options.iter().any(|given| given.name == "bias");
            for input in &step.inputs {
                let register = |name: &str| written.contains(name);
                if !input.names.iter().any(|name| !name.literal && register(&name.text)) {
                    lines.add(input, above, bias);
                }
            }
            for given in &step.options {
                if let GivenValue::Tensor(input) = &given.value {
                    lines.add(input, above, false);
                }
            }
        }
        lines
    }

    fn add(&mut self, input: &Input, above: &str, bias: bool) {
        let ways = input.names.iter().map(|name| match name.text.strip_prefix('/') {
            Some(text) => pattern(text),
            None => format!("{above}{}", pattern(&name.text)),
        });
        let ways: Vec<String> = ways.collect();
        for way in &ways {
            if bias {
                self.names.insert(format!("{way}.bias"));
            }
            self.names.insert(way.clone());
        }
        if !input.optional {
            self.needed.push(ways);
        }
    }
}

/// A name of a line as a pattern: what stands in braces is anything.
fn pattern(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.strip_suffix(".weight").unwrap_or(text);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push('*');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    out + rest
}
