//! One step bound: its tensors found, its shapes checked.

use recinto_quant::DType;

use crate::{
    compile::{Binder, Block, Bound, Given, MAX_FREQUENCIES, MAX_WIDTH},
    error::{Error, Kind, Span},
    expr::{Node, Reader},
    lex,
    op::{self, Action},
    parse::{GivenValue, Input, Step, TensorName},
    program::{By, Cache, Map, NormKind, Op, Pairs, Rope, Slot, TensorId},
    rope::{self, Scaling},
};

/// Replaced by the value's number when the step is placed.
const OUT: Slot = Slot(usize::MAX);

type Result<T> = std::result::Result<T, Error>;

/// What both kinds of attention have.
struct Heads {
    q: usize,
    k: usize,
    v: usize,
    heads: usize,
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    scale: f32,
}

impl<'a> Binder<'a> {
    pub(crate) fn bind(&mut self, step: &'a Step, block: Option<Block<'a>>) -> Result<Bound> {
        let given = Given { step, index: block.map(|b| b.index), block };
        // The step was checked against the table when the file was read.
        let Some(row) = op::find(&step.op) else {
            return Err(self.error(Kind::Unknown, step.op_span, "an unknown operation"));
        };
        match row.action {
            Action::Embed => self.embed(&given),
            Action::Norm => self.norm(&given),
            Action::Linear => self.linear(&given),
            Action::Rope => self.rope(&given),
            Action::Attend => self.attend(&given),
            Action::AttendBoth => self.attend_both(&given),
            Action::Slice => self.slice(&given),
            Action::Rows => {
                let x = self.input(&given, 0)?;
                let width = self.widths[x];
                self.whole = true;
                Ok(Bound::New(Op::Rows { out: OUT, x: Slot(x), width }, width))
            }
            Action::Add | Action::Mul | Action::Gated(_) => self.pair(&given, row.action),
            Action::Scale => {
                let by = self.number(&given, "by")?.unwrap_or(1.0) as f32;
                self.map(&given, Map::Scale(by))
            }
            Action::Softcap => {
                let cap = self.number(&given, "cap")?.unwrap_or(0.0) as f32;
                if cap < 0.0 {
                    let what = format!("a soft cap of {cap}");
                    return Err(self.error(Kind::Value, given.span("cap"), what));
                }
                if cap == 0.0 {
                    return self.input(&given, 0).map(Bound::Same);
                }
                self.map(&given, Map::Softcap(cap))
            }
            Action::Map(map) => self.map(&given, map),
        }
    }

    fn input(&self, given: &Given<'a>, place: usize) -> Result<usize> {
        let name = &given.step.inputs[place].names[0];
        self.register(&name.text, name.span)
    }

    fn whole(&self, given: &Given<'a>, name: &str) -> Result<Option<usize>> {
        let Some(expr) = given.expr(name) else { return Ok(None) };
        let value = self.scope.whole(expr, given.index)?;
        let far = matches!(name, "window" | "reach");
        let limit = if far { u64::from(u32::MAX) } else { MAX_WIDTH as u64 };
        if value > limit {
            let what = format!("`{name}` is {value}; {limit} is the limit");
            return Err(self.error(Kind::Limit, given.span(name), what));
        }
        Ok(Some(value as usize))
    }

    fn number(&self, given: &Given<'a>, name: &str) -> Result<Option<f64>> {
        given.expr(name).map(|expr| self.scope.number(expr, given.index)).transpose()
    }

    fn word(given: &Given<'a>, name: &str) -> &'a str {
        match given.expr(name).map(|expr| &expr.node) {
            Some(Node::Name(word)) => word,
            _ => "",
        }
    }

    fn embed(&mut self, given: &Given<'a>) -> Result<Bound> {
        let input = &given.step.inputs[0];
        let table = self.tensor(input, given)?;
        let (width, rows) = self.matrix(table, input.span)?;
        if let Some(wanted) = self.whole(given, "width")?
            && wanted != width
        {
            let what = format!("{} has rows of {width}, not {wanted}", self.named(table));
            return Err(self.error(Kind::Shape, input.span, what));
        }
        let from = self.whole(given, "from")?.unwrap_or(0);
        let by = match Self::word(given, "by") {
            "positions" => By::Positions,
            "types" => By::Types,
            _ => By::Ids,
        };
        if from >= rows || (from > 0 && by == By::Ids) {
            let what = format!("row {from} is not where rows of {} begin", self.named(table));
            return Err(self.error(Kind::Value, given.span("from"), what));
        }
        match by {
            By::Ids => {
                self.vocabulary = Some(self.vocabulary.map_or(rows, |known| known.min(rows)));
            }
            By::Positions => {
                let rows = (rows - from) as u64;
                self.positions = Some(self.positions.map_or(rows, |known| known.min(rows)));
            }
            By::Types => {
                self.whole = true;
                self.types = Some(self.types.map_or(rows - from, |known| known.min(rows - from)));
            }
        }
        Ok(Bound::New(Op::Embed { out: OUT, table, width, by, from }, width))
    }

    fn slice(&mut self, given: &Given<'a>) -> Result<Bound> {
        let x = self.input(given, 0)?;
        let of = self.widths[x];
        let from = self.whole(given, "from")?.unwrap_or(0);
        let width = self.whole(given, "width")?.unwrap_or(0);
        if width == 0 || from + width > of {
            let what = format!("values {from} to {} of a width of {of}", from + width);
            return Err(self.error(Kind::Shape, given.step.span, what));
        }
        if width == of {
            return Ok(Bound::Same(x));
        }
        Ok(Bound::New(Op::Slice { out: OUT, x: Slot(x), from, width, of }, width))
    }

    fn norm(&mut self, given: &Given<'a>) -> Result<Bound> {
        let x = self.input(given, 0)?;
        let width = self.widths[x];
        let size = self.whole(given, "size")?.unwrap_or(width);
        if size == 0 || !width.is_multiple_of(size) {
            let what = format!("groups of {size} do not fill a width of {width}");
            return Err(self.error(Kind::Shape, given.span("size"), what));
        }
        let weight = match given.step.inputs.get(1) {
            None => None,
            Some(input) => match self.find(input, given)? {
                Some(weight) => Some(weight),
                None => {
                    let may = given.expr("in");
                    let may = may.map(|expr| self.scope.truth(expr, given.index)).transpose()?;
                    if !input.optional || may == Some(false) {
                        return Err(self.missing(input, given));
                    }
                    return Ok(Bound::Same(x));
                }
            },
        };
        if let Some(weight) = weight {
            self.vector(weight, size, given.step.inputs[1].span)?;
        }
        let bias = self.bias(given, weight, size)?;
        let eps = self.number(given, "eps")?.unwrap_or(0.0);
        if !(0.0..1.0).contains(&eps) {
            let what = format!("an epsilon of {eps}; 0 to 1 is possible");
            return Err(self.error(Kind::Value, given.span("eps"), what));
        }
        let layer = Self::word(given, "kind") == "layer";
        let kind = if layer { NormKind::Layer } else { NormKind::Rms };
        let (x, eps) = (Slot(x), eps as f32);
        Ok(Bound::New(Op::Norm { out: OUT, x, width, size, weight, bias, eps, kind }, width))
    }

    fn linear(&mut self, given: &Given<'a>) -> Result<Bound> {
        let x = self.input(given, 0)?;
        let cols = self.widths[x];
        let input = &given.step.inputs[1];
        let weight = self.tensor(input, given)?;
        let (row, rows) = self.matrix(weight, input.span)?;
        let wanted = self.whole(given, "rows")?.unwrap_or(rows);
        if row != cols || rows != wanted {
            let name = self.named(weight);
            let what = format!("{name} is [{row}, {rows}]; this step needs [{cols}, {wanted}]");
            return Err(self.error(Kind::Shape, input.span, what));
        }
        let bias = self.bias(given, Some(weight), rows)?;
        self.work += rows as u128 * cols as u128;
        Ok(Bound::New(Op::Linear { out: OUT, x: Slot(x), weight, bias, rows, cols }, rows))
    }

    /// The bias beside `weight`, where the step asks for one.
    fn bias(
        &mut self,
        given: &Given<'a>,
        weight: Option<TensorId>,
        size: usize,
    ) -> Result<Option<TensorId>> {
        let Some(GivenValue::Flag { optional }) = given.find("bias") else { return Ok(None) };
        let span = given.span("bias");
        let Some(weight) = weight else {
            return Err(self.error(Kind::Syntax, span, "a bias without a weight"));
        };
        let name = &self.file.tensors()[weight.0].name;
        // Some writers name both without a dot: `in_proj_weight`, `in_proj_bias`.
        let name = match name.strip_suffix("_weight") {
            Some(stem) => format!("{stem}_bias"),
            None => format!("{}.bias", name.strip_suffix(".weight").unwrap_or(name)),
        };
        match self.file.find(&name) {
            Some(index) => {
                self.used[index] = true;
                self.vector(TensorId(index), size, span)?;
                Ok(Some(TensorId(index)))
            }
            None if *optional => Ok(None),
            None => {
                let what = format!("missing tensor `{name}`");
                let hint = "`bias?` is a bias that may be missing";
                Err(self.error(Kind::MissingTensor, span, what).hint(hint))
            }
        }
    }

    fn rope(&mut self, given: &Given<'a>) -> Result<Bound> {
        let x = self.input(given, 0)?;
        let width = self.widths[x];
        let size = self.whole(given, "size")?.unwrap_or(0);
        if size == 0 || !width.is_multiple_of(size) {
            let what = format!("heads of {size} do not fill a width of {width}");
            return Err(self.error(Kind::Shape, given.span("size"), what));
        }
        let rotated = self.whole(given, "rotated")?.unwrap_or(size);
        if rotated > size || rotated % 2 != 0 {
            let what =
                format!("{rotated} rotated values in a head of {size}; an even part is needed");
            return Err(self.error(Kind::Shape, given.span("rotated"), what));
        }
        let base = self.number(given, "base")?.unwrap_or(0.0);
        if !(base > 1.0 && base <= 1e15) {
            let what = format!("a rotary base of {base}; it must be above 1");
            return Err(self.error(Kind::Value, given.span("base"), what));
        }
        let scaling = match given.expr("scaling") {
            Some(expr) => self.scope.scaling(expr, given.index)?,
            None => Scaling::NONE,
        };
        let factors = match given.find("factors") {
            Some(GivenValue::Tensor(input)) => match self.find(input, given)? {
                None if !input.optional => return Err(self.missing(input, given)),
                found => found,
            },
            _ => None,
        };
        if rotated == 0 {
            return Ok(Bound::Same(x));
        }
        let key = (base.to_bits(), rotated, scaling.bits(), factors.map(|tensor| tensor.0));
        let rope = match self.rope_index.get(&key) {
            Some(rope) => *rope,
            None => {
                self.frequencies += rotated / 2;
                if self.frequencies > MAX_FREQUENCIES {
                    let what = format!("more than {MAX_FREQUENCIES} rotary frequencies");
                    return Err(self.error(Kind::Limit, given.step.span, what));
                }
                let values = match factors {
                    Some(tensor) => Some(self.factors(tensor, rotated / 2, given)?),
                    None => None,
                };
                let frequencies = rope::frequencies(base, rotated, &scaling, values.as_deref());
                if !frequencies.iter().all(|f| f.is_finite()) {
                    let what = "a rotary frequency that is not finite";
                    return Err(self.error(Kind::Value, given.step.span, what));
                }
                self.ropes.push(Rope { frequencies, magnitude: scaling.scale() });
                self.rope_index.insert(key, self.ropes.len() - 1);
                self.ropes.len() - 1
            }
        };
        let half = Self::word(given, "pairs") == "half";
        let pairs = if half { Pairs::Half } else { Pairs::Adjacent };
        Ok(Bound::New(Op::Rope { out: OUT, x: Slot(x), width, size, rope, pairs }, width))
    }

    /// The values of a rotary factors tensor: one positive divisor a pair.
    fn factors(&self, id: TensorId, pairs: usize, given: &Given<'a>) -> Result<Vec<f32>> {
        let span = given.span("factors");
        self.vector(id, pairs, span)?;
        let tensor = self.file.tensor(id.0);
        if tensor.info.dtype != DType::F32 {
            let what = format!("{} must be stored as f32", self.named(id));
            return Err(self.error(Kind::Shape, span, what));
        }
        let (chunks, _) = tensor.bytes.as_chunks::<4>();
        let values: Vec<f32> = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if values.len() != pairs || !values.iter().all(|v| (1e-6..1e6).contains(v)) {
            let what = format!("{} holds a divisor that is not positive", self.named(id));
            return Err(self.error(Kind::Value, span, what));
        }
        Ok(values)
    }

    /// Queries, keys and values of an attention, its heads, and the sizes of a key and a value.
    fn heads(&self, given: &Given<'a>) -> Result<Heads> {
        let [q, k, v] = [self.input(given, 0)?, self.input(given, 1)?, self.input(given, 2)?];
        let heads = self.whole(given, "heads")?.unwrap_or(0);
        let kv_heads = self.whole(given, "kv_heads")?.unwrap_or(0);
        if kv_heads == 0 || heads == 0 || heads % kv_heads != 0 {
            let what = format!("{heads} heads over {kv_heads} key-value heads");
            return Err(self.error(Kind::Shape, given.step.span, what));
        }
        let [qw, kw, vw] = [q, k, v].map(|value| self.widths[value]);
        let (key_dim, value_dim) = (kw / kv_heads, vw / kv_heads);
        let fits =
            kw % kv_heads == 0 && vw % kv_heads == 0 && Some(qw) == heads.checked_mul(key_dim);
        if !fits {
            let what = format!(
                "q, k and v of {qw}, {kw} and {vw} values do not fit {heads} heads over \
                 {kv_heads} key-value heads"
            );
            return Err(self.error(Kind::Shape, given.step.span, what));
        }
        let scale = match self.number(given, "scale")? {
            Some(scale) => scale as f32,
            None => 1.0 / (key_dim as f32).sqrt(),
        };
        if !scale.is_finite() {
            let what = "an attention scale that is not possible";
            return Err(self.error(Kind::Value, given.step.span, what));
        }
        Ok(Heads { q, k, v, heads, kv_heads, key_dim, value_dim, scale })
    }

    fn attend_both(&mut self, given: &Given<'a>) -> Result<Bound> {
        let Heads { q, k, v, heads, kv_heads, key_dim, value_dim, scale } = self.heads(given)?;
        let reach = self.whole(given, "reach")?.filter(|reach| *reach != 0);
        let together = Self::word(given, "parts") == "together";
        if together && reach.is_some() {
            let what = "parts together and a reach, which is measured in positions of parts";
            return Err(self.error(Kind::Value, given.span("parts"), what));
        }
        self.whole = true;
        let [q, k, v] = [q, k, v].map(Slot);
        let out = OUT;
        let op = Op::AttendBoth {
            out,
            q,
            k,
            v,
            heads,
            kv_heads,
            key_dim,
            value_dim,
            reach,
            together,
            scale,
        };
        Ok(Bound::New(op, heads * value_dim))
    }

    fn attend(&mut self, given: &Given<'a>) -> Result<Bound> {
        let Heads { q, k, v, heads, kv_heads, key_dim, value_dim, scale } = self.heads(given)?;
        let softcap = self.number(given, "softcap")?.filter(|cap| *cap != 0.0);
        if softcap.is_some_and(|cap| cap < 0.0) {
            let what = "an attention soft cap that is not possible";
            return Err(self.error(Kind::Value, given.step.span, what));
        }
        let window = self.whole(given, "window")?.filter(|window| *window != 0);
        self.caches.push(Cache { kv_heads, key_dim, value_dim, window });
        let cache = self.caches.len() - 1;
        let softcap = softcap.map(|cap| cap as f32);
        let [q, k, v] = [q, k, v].map(Slot);
        let op = Op::Attend { out: OUT, q, k, v, heads, cache, scale, softcap };
        Ok(Bound::New(op, heads * value_dim))
    }

    fn pair(&mut self, given: &Given<'a>, action: Action) -> Result<Bound> {
        let (a, b) = (self.input(given, 0)?, self.input(given, 1)?);
        let (width, other) = (self.widths[a], self.widths[b]);
        if width != other {
            let what = format!("widths of {width} and {other} differ");
            return Err(self.error(Kind::Shape, given.step.span, what));
        }
        let (a, b) = (Slot(a), Slot(b));
        let op = match action {
            Action::Add => Op::Add { out: OUT, a, b, width },
            Action::Gated(activation) => Op::Gated { out: OUT, g: a, u: b, width, activation },
            _ => Op::Mul { out: OUT, a, b, width },
        };
        Ok(Bound::New(op, width))
    }

    fn map(&mut self, given: &Given<'a>, map: Map) -> Result<Bound> {
        let x = self.input(given, 0)?;
        let width = self.widths[x];
        Ok(Bound::New(Op::Map { out: OUT, x: Slot(x), width, map }, width))
    }

    fn named(&self, id: TensorId) -> String {
        format!("tensor `{}`", self.file.tensors()[id.0].name)
    }

    /// Sizes of a matrix: values a row, rows.
    fn matrix(&self, id: TensorId, span: Span) -> Result<(usize, usize)> {
        let dims = &self.file.tensors()[id.0].dims;
        let (row, rows) = (dims.first().copied().unwrap_or(1), dims.get(1).copied().unwrap_or(1));
        let possible = |v: u64| v > 0 && v <= MAX_WIDTH as u64;
        if dims.iter().skip(2).any(|v| *v != 1) || !possible(row) || !possible(rows) {
            let what =
                format!("{} has the dimensions {dims:?}; a matrix is needed", self.named(id));
            return Err(self.error(Kind::Shape, span, what));
        }
        Ok((row as usize, rows as usize))
    }

    fn vector(&self, id: TensorId, size: usize, span: Span) -> Result<()> {
        let dims = &self.file.tensors()[id.0].dims;
        let values = dims.first().copied().unwrap_or(1);
        if values != size as u64 || dims.iter().skip(1).any(|v| *v != 1) {
            let what =
                format!("{} has the dimensions {dims:?}; {size} values are needed", self.named(id));
            return Err(self.error(Kind::Shape, span, what));
        }
        Ok(())
    }

    /// The full names that a line's name may have: with the block's prefixes and `.weight`, a
    /// quoted one as it stands; `/` in front leaves the prefix out.
    fn full_names(&self, name: &TensorName, given: &Given<'a>) -> Result<Vec<String>> {
        let text = if name.literal { self.expand(name, given)? } else { name.text.clone() };
        let end = if name.literal { "" } else { ".weight" };
        Ok(match (text.strip_prefix('/'), given.block) {
            (Some(text), _) => vec![format!("{text}{end}")],
            (None, Some(block)) => {
                let prefixes = block.at.iter().map(String::as_str);
                let prefixes = prefixes.chain(block.at.is_empty().then_some("blk"));
                let number = block.index.value;
                prefixes.map(|at| format!("{at}.{number}.{text}{end}")).collect()
            }
            (None, None) => vec![format!("{text}{end}")],
        })
    }

    /// A quoted name with its `{EXPR}` settled.
    fn expand(&self, name: &TensorName, given: &Given<'a>) -> Result<String> {
        let mut out = String::new();
        let mut rest = name.text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, after)) = after.split_once('}') else {
                return Err(self.error(Kind::Syntax, name.span, "`{` without `}` in a name"));
            };
            let inside = lex::line(self.scope.source, name.span.line, inside)
                .map_err(|e| self.error(Kind::Syntax, name.span, e.message()))?;
            let mut reader = Reader::new(self.scope.source, &inside, name.span);
            let expr = reader.expr().and_then(|expr| reader.want_end().map(|()| expr));
            let value = expr.and_then(|expr| self.scope.whole(&expr, given.index));
            let value = value.map_err(|e| self.error(e.kind(), name.span, e.message()))?;
            out.push_str(before);
            out.push_str(&value.to_string());
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The first of the alternatives that the file has.
    fn find(&mut self, input: &Input, given: &Given<'a>) -> Result<Option<TensorId>> {
        for name in &input.names {
            for name in self.full_names(name, given)? {
                if let Some(index) = self.file.find(&name) {
                    self.used[index] = true;
                    return Ok(Some(TensorId(index)));
                }
            }
        }
        Ok(None)
    }

    fn tensor(&mut self, input: &Input, given: &Given<'a>) -> Result<TensorId> {
        match self.find(input, given)? {
            Some(id) => Ok(id),
            None => Err(self.missing(input, given)),
        }
    }

    fn missing(&self, input: &Input, given: &Given<'a>) -> Error {
        let names = input.names.iter().map(|name| self.full_names(name, given));
        match names.collect::<Result<Vec<_>>>() {
            Ok(names) => {
                let names: Vec<String> =
                    names.iter().flatten().map(|name| format!("`{name}`")).collect();
                let mut what = format!("missing tensor {}", names.join(" or "));
                let stored = self.file.others().iter();
                let mut stored = stored.filter(|o| names.contains(&format!("`{}`", o.name)));
                if let Some(other) = stored.next() {
                    what = format!(
                        "tensor `{}` is stored as {}, which is not read",
                        other.name, other.stored
                    );
                }
                let serves = self.scope.prefix.trim_end_matches('.');
                let hint = format!(
                    "this file says it is {serves}; `recinto inspect MODEL` lists its tensors"
                );
                self.error(Kind::MissingTensor, input.span, what).hint(hint)
            }
            Err(error) => error,
        }
    }
}
