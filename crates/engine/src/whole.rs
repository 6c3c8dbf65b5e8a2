//! Runs a program that reads whole texts: every token sees both sides, nothing is kept.
//!
//! Rows of all texts stand one after another, without padding; only embeddings, rope, attention and
//! the choice of rows know which text a row is of.

use recinto_arch::{By, Instruction, Op, Slot};
use recinto_kernels::{Places, Stop, first_non_finite};

use crate::{
    buffers::Buffers,
    error::{Error, Kind},
    exec::{Bound, Halt, kernel_pairs},
};

/// A text as it is read: ids with all that stands around them, and what is asked about it.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// Token ids, at least one.
    pub ids: &'a [u32],
    /// The type of each token's segment; empty where all are 0.
    pub types: &'a [u32],
    /// The tokens that are asked about, ascending. Only a program with a step `rows` looks at it.
    pub rows: &'a [u32],
    /// Where tokens stand and which do not see each other; `None`: in a row, and all do.
    pub places: Option<Places<'a>>,
}

impl<'a> Text<'a> {
    /// Ids alone, without types and with nothing asked.
    pub fn of(ids: &'a [u32]) -> Text<'a> {
        Text { ids, types: &[], rows: &[], places: None }
    }

    /// The position of a token.
    fn position(&self, token: usize) -> usize {
        self.places.map_or(token, |places| places.positions[token] as usize)
    }

    /// One more than the largest position.
    fn reach(&self) -> usize {
        match self.places {
            None => self.ids.len(),
            Some(places) => places.positions.iter().max().map_or(0, |most| *most as usize + 1),
        }
    }

    /// Refuses what the program cannot read, before anything is computed.
    pub(crate) fn admit(&self, bound: &Bound) -> Result<(), Error> {
        let bad = |what: &str| Err(Error::new(Kind::Request, what));
        let (n, program) = (self.ids.len(), &bound.program);
        if n == 0 {
            return bad("a text without a token");
        }
        crate::batch::unknown_id(self.ids, program.vocabulary)?;
        let types = program.types.unwrap_or(1).max(1);
        if !self.types.is_empty()
            && (self.types.len() != n || self.types.iter().any(|t| *t as usize >= types))
        {
            return bad("types of tokens that do not fit the text or the model");
        }
        let ascending = self.rows.windows(2).all(|two| two[0] < two[1]);
        if !ascending || self.rows.last().is_some_and(|last| *last as usize >= n) {
            return bad("tokens that are asked about out of order or beyond the text");
        }
        if let Some(Places { positions, parts }) = self.places
            && (positions.len() != n || parts.len() != n)
        {
            return bad("places of tokens that do not fit the text");
        }
        let reach = self.reach();
        match program.context.and_then(|context| usize::try_from(context).ok()) {
            Some(context) if reach > context => {
                let what = format!("a text of {reach} positions; the model knows {context}");
                Err(Error::new(Kind::Overflow { needed: reach, available: context }, what)
                    .hint("shorten the text"))
            }
            _ => Ok(()),
        }
    }
}

/// The rows in hand.
struct Hand<'t> {
    texts: &'t [Text<'t>],
    /// All tokens, or, once rows were chosen, those: each text's place and the token in it.
    tokens: Vec<(usize, usize)>,
    /// Rows among all that are asked about.
    asked: Vec<usize>,
    chosen: bool,
}

impl<'t> Hand<'t> {
    fn new(texts: &'t [Text<'t>]) -> Hand<'t> {
        let (mut tokens, mut asked) = (Vec::new(), Vec::new());
        for (place, text) in texts.iter().enumerate() {
            asked.extend(text.rows.iter().map(|row| tokens.len() + *row as usize));
            tokens.extend((0..text.ids.len()).map(|token| (place, token)));
        }
        Hand { texts, tokens, asked, chosen: false }
    }

    fn n(&self) -> usize {
        self.tokens.len()
    }

    /// From here on only the rows that are asked about.
    fn choose(&mut self) {
        self.tokens = self.asked.iter().map(|row| self.tokens[*row]).collect();
        self.chosen = true;
    }

    fn each<T>(&self, value: impl Fn(&Text<'t>, usize) -> T) -> impl Iterator<Item = T> {
        self.tokens.iter().map(move |(text, token)| value(&self.texts[*text], *token))
    }
}

impl Bound {
    /// Runs the program over `texts`, which were admitted. Its output, text by text, is then in
    /// [`Buffers::output`].
    pub(crate) fn read(
        &self,
        texts: &[Text<'_>],
        checked: bool,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let mut no_sight = |_: usize, _: &[f32]| {};
        self.read_seen(texts, checked, buffers, stop, &mut no_sight)
    }

    /// The same, and shows `see` the result of each instruction by its number.
    pub(crate) fn read_seen(
        &self,
        texts: &[Text<'_>],
        checked: bool,
        buffers: &mut Buffers,
        stop: &Stop,
        see: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Halt> {
        buffers.begin(&self.program);
        let mut hand = Hand::new(texts);
        let instructions = &self.program.instructions[..];
        // After the last attention nothing mixes rows: where only chosen ones come out, others
        // need not be computed any more.
        let attends = |i: &Instruction| matches!(i.op, Op::AttendBoth { .. });
        let last = instructions.iter().rposition(attends).filter(|_| self.program.output.chosen);
        let mut index = 0;
        while let Some(instruction) = instructions.get(index) {
            if stop.stopped() {
                return Err(Halt::Stopped);
            }
            let group = self.groups[index];
            let began = buffers.start();
            if group > 1 && !checked && began.is_none() {
                self.linear(&instructions[index..index + group], hand.n(), buffers, stop)?;
                for (at, done) in instructions.iter().enumerate().skip(index).take(group) {
                    see(at, buffers.slot(done.out()).rows());
                }
                index += group;
                continue;
            }
            match instruction.op {
                Op::Embed { out, table, width, by, from } => {
                    let out = buffers.write(out, width, hand.n())?;
                    let from = from as u32;
                    match by {
                        By::Ids => {
                            self.embed(table, width, hand.each(|text, t| text.ids[t]), out)?;
                        }
                        By::Positions => {
                            let rows = hand.each(|text, t| text.position(t) as u32 + from);
                            self.embed(table, width, rows, out)?;
                        }
                        By::Types => {
                            let rows = hand.each(|text, t| text.types.get(t).unwrap_or(&0) + from);
                            self.embed(table, width, rows, out)?;
                        }
                    }
                }
                Op::Rope { out, x, width, size, rope, pairs } => {
                    let mut turn = std::mem::take(&mut buffers.angles[rope]);
                    if !turn.ready {
                        let setting = &self.program.ropes[rope];
                        turn.angles.clear(setting.frequencies.len());
                        let positions = hand.each(Text::position);
                        turn.angles.add_at(&setting.frequencies, setting.magnitude, positions);
                        turn.ready = true;
                    }
                    let target = buffers.copy(out, x, width, hand.n())?;
                    let pairs = kernel_pairs(pairs);
                    self.machine.rope(stop, target, width, size, pairs, &turn.angles)?;
                    buffers.angles[rope] = turn;
                }
                Op::AttendBoth { .. } => {
                    self.attend_both(instruction, &mut hand, last == Some(index), buffers, stop)?;
                }
                Op::Rows { out, x, width } => {
                    if hand.chosen {
                        buffers.copy(out, x, width, hand.n())?;
                    } else {
                        let rows = hand.asked.len();
                        let mut memory = buffers.take(out, x, width * rows)?;
                        pick(buffers, x, width, &hand.asked, &mut memory);
                        buffers.give(out, width, rows, memory);
                        hand.choose();
                        buffers.turn();
                    }
                }
                _ => self.rowwise(instruction, hand.n(), buffers, stop)?,
            }
            if checked {
                self.inspect(instruction, instruction.out(), buffers)?;
            }
            buffers.end(index, began);
            see(index, buffers.slot(instruction.out()).rows());
            index += 1;
        }
        Ok(())
    }

    /// One attention; with `choose`, of the rows that are asked about alone, and no other row of
    /// anything is kept.
    fn attend_both(
        &self,
        instruction: &Instruction,
        hand: &mut Hand<'_>,
        choose: bool,
        buffers: &mut Buffers,
        stop: &Stop,
    ) -> Result<(), Halt> {
        let Op::AttendBoth {
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
        } = instruction.op
        else {
            return Ok(());
        };
        let choose = choose && hand.asked.len() < hand.n();
        let texts = hand.texts.iter().map(|text| recinto_kernels::Text {
            n: text.ids.len(),
            queries: choose.then_some(text.rows),
            places: text.places.filter(|_| !together),
        });
        let texts: Vec<recinto_kernels::Text<'_>> = texts.collect();
        let rows = if choose { hand.asked.len() } else { hand.n() };
        let width = heads * value_dim;
        let mut memory = buffers.take(out, q, width * rows)?;
        let mut asked = recinto_os::Wiped::new(buffers.locked());
        if choose {
            asked.try_resize(heads * key_dim * rows)?;
            pick(buffers, q, heads * key_dim, &hand.asked, &mut asked);
        }
        let queries = if choose { &asked[..] } else { buffers.slot(q).rows() };
        let all = [queries, buffers.slot(k).rows(), buffers.slot(v).rows()];
        let (of, to) = ([heads, kv_heads], &mut memory[..width * rows]);
        self.machine.attend_whole(stop, all, &texts, of, reach, scale, to)?;
        if choose {
            buffers.keep_rows(hand.n(), &hand.asked);
            hand.choose();
        }
        buffers.give(out, width, rows, memory);
        Ok(())
    }
}

/// Copies some rows of a slot.
fn pick(buffers: &Buffers, x: Slot, width: usize, rows: &[usize], out: &mut [f32]) {
    let from = buffers.slot(x).rows();
    for (to, row) in out.chunks_exact_mut(width).zip(rows) {
        to.copy_from_slice(&from[row * width..][..width]);
    }
}

/// Runs one pass; where numbers went wrong, once more to say in which line.
pub(crate) fn run(
    bound: &Bound,
    texts: &[Text<'_>],
    buffers: &mut Buffers,
    stop: &Stop,
) -> Result<(), Halt> {
    bound.read(texts, false, buffers, stop)?;
    if first_non_finite(buffers.output(bound.program.output.slot)).is_none() {
        return Ok(());
    }
    match bound.read(texts, true, buffers, stop) {
        Err(halt) => Err(halt),
        Ok(()) => Err(Halt::NonFinite),
    }
}
