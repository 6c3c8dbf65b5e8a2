//! Working buffers of a program: one a slot, reused from step to step.
//!
//! They grow to the largest block they have seen and hold what was computed last until they are
//! dropped, which wipes them. No step of a block that fits allocates.

use std::time::Instant;

use recinto_arch::{Program, Slot};
use recinto_kernels::{Angles, Prepared, Stopped};
use recinto_os::Wiped;

use crate::{exec::Halt, profile::Profile};

/// Working buffers of one caller.
pub(crate) struct Buffers {
    lock: bool,
    slots: Vec<Buffer>,
    /// Where a result goes whose slot is an input too.
    spare: Wiped<f32>,
    pub angles: Vec<Turn>,
    /// Where to note how long each instruction takes; each then runs alone.
    pub profile: Option<Profile>,
}

/// The angles of a rotary setting, and whether they are of the rows in hand.
#[derive(Default)]
pub(crate) struct Turn {
    pub angles: Angles,
    pub ready: bool,
}

pub(crate) struct Buffer {
    /// At least `len` values; what lies behind is of no meaning.
    values: Wiped<f32>,
    len: usize,
    width: usize,
    pub prepared: Prepared,
}

impl Buffer {
    /// The values of all rows in hand, position-major.
    pub fn rows(&self) -> &[f32] {
        &self.values[..self.len]
    }

    /// The same beside the forms that matrix products take them in.
    pub fn prepare(&mut self) -> (&[f32], &mut Prepared) {
        (&self.values[..self.len], &mut self.prepared)
    }
}

/// Makes room for `len` values; what they are is not defined.
fn grow(values: &mut Wiped<f32>, len: usize) -> std::io::Result<()> {
    match values.len() < len {
        true => values.try_resize(len),
        false => Ok(()),
    }
}

impl Buffers {
    /// Nothing allocated. With `lock`, all of it is kept out of the swap.
    pub fn new(lock: bool) -> Buffers {
        Buffers {
            lock,
            slots: Vec::new(),
            spare: Wiped::new(lock),
            angles: Vec::new(),
            profile: None,
        }
    }

    /// When an instruction begins, where somebody wants to know.
    pub fn start(&self) -> Option<Instant> {
        self.profile.as_ref().map(|_| Instant::now())
    }

    /// Notes the time of instruction `index`.
    pub fn end(&mut self, index: usize, began: Option<Instant>) {
        if let (Some(profile), Some(began)) = (&mut self.profile, began) {
            profile.note(index, began);
        }
    }

    /// Makes ready for another block.
    pub fn begin(&mut self, program: &Program) {
        let lock = self.lock;
        self.slots.resize_with(program.slots.len(), || Buffer {
            values: Wiped::new(lock),
            len: 0,
            width: 0,
            prepared: Prepared::new(),
        });
        // A block that ended early may have left a slot without its memory.
        for slot in &mut self.slots {
            (slot.len, slot.width) = (0, 0);
            slot.prepared.clear();
        }
        self.angles.resize_with(program.ropes.len(), Turn::default);
        self.turn();
    }

    /// Other rows are in hand: their angles are not known yet.
    pub fn turn(&mut self) {
        self.angles.iter_mut().for_each(|turn| turn.ready = false);
    }

    /// Bytes that a block of `n` positions can make the buffers grow by, at the most.
    pub fn growth(&self, program: &Program, n: usize, wanted: usize) -> usize {
        let output = program.output.slot;
        let widths = program.slots.iter().enumerate();
        let grown = widths.map(|(index, width)| {
            // The output is computed for wanted rows only; other slots for all of them.
            let rows = if index == output.0 { wanted } else { n };
            let held = self.slots.get(index).map_or(0, |slot| slot.values.room());
            width.saturating_mul(rows).saturating_sub(held)
        });
        grown.fold(0, usize::saturating_add).saturating_mul(4)
    }

    /// Whether buffers are kept out of the swap.
    pub fn locked(&self) -> bool {
        self.lock
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.values.room());
        4 * (slots.sum::<usize>() + self.spare.room())
    }

    /// Whether the system once refused to lock a buffer.
    pub fn refused(&self) -> bool {
        self.spare.refused() || self.slots.iter().any(|slot| slot.values.refused())
    }

    /// A slot as it stands.
    pub fn slot(&self, slot: Slot) -> &Buffer {
        &self.slots[slot.0]
    }

    /// The same, to prepare its values.
    pub fn slot_mut(&mut self, slot: Slot) -> &mut Buffer {
        &mut self.slots[slot.0]
    }

    /// The rows a program gave, position-major.
    pub fn output(&self, slot: Slot) -> &[f32] {
        self.slots[slot.0].rows()
    }

    /// The same, to be changed in place by the sampler.
    pub fn output_mut(&mut self, slot: Slot) -> &mut [f32] {
        let buffer = &mut self.slots[slot.0];
        &mut buffer.values[..buffer.len]
    }

    /// Lends a slot for `n` rows of `width` values; what it held stays where it fits.
    pub fn write(&mut self, slot: Slot, width: usize, n: usize) -> std::io::Result<&mut [f32]> {
        let buffer = &mut self.slots[slot.0];
        (buffer.width, buffer.len) = (width, width * n);
        buffer.prepared.clear();
        grow(&mut buffer.values, width * n)?;
        Ok(&mut buffer.values[..width * n])
    }

    /// Makes `out` a copy of `x` (nothing to do when they are one slot) and lends it.
    pub fn copy(
        &mut self,
        out: Slot,
        x: Slot,
        width: usize,
        n: usize,
    ) -> std::io::Result<&mut [f32]> {
        self.write(out, width, n)?;
        if let Ok([to, from]) = self.slots.get_disjoint_mut([out.0, x.0]) {
            to.values[..width * n].copy_from_slice(&from.values[..width * n]);
        }
        Ok(&mut self.slots[out.0].values[..width * n])
    }

    /// Memory for a result of at least `len` values, apart from its slot, so that other slots can
    /// be read meanwhile. A slot that is an input too keeps its values until [`Buffers::give`].
    pub fn take(&mut self, out: Slot, x: Slot, len: usize) -> std::io::Result<Wiped<f32>> {
        let from = match out == x {
            true => &mut self.spare,
            false => &mut self.slots[out.0].values,
        };
        let mut memory = std::mem::replace(from, Wiped::new(self.lock));
        grow(&mut memory, len)?;
        Ok(memory)
    }

    /// Puts a result of `n` rows of `width` values in its place.
    pub fn give(&mut self, slot: Slot, width: usize, n: usize, values: Wiped<f32>) {
        let buffer = &mut self.slots[slot.0];
        (buffer.width, buffer.len) = (width, width * n);
        buffer.prepared.clear();
        let before = std::mem::replace(&mut buffer.values, values);
        if before.room() > 0 {
            self.spare = before;
        }
    }

    /// `out = a`, then `run(out, b)`; the three may be one slot.
    pub fn two(
        &mut self,
        [out, a, b]: [Slot; 3],
        width: usize,
        n: usize,
        run: impl FnOnce(&mut [f32], &[f32]) -> Result<(), Stopped>,
    ) -> Result<(), Halt> {
        let len = width * n;
        if out != b {
            self.copy(out, a, width, n)?;
            let [target, other] =
                self.slots.get_disjoint_mut([out.0, b.0]).expect("two slots of one program");
            return Ok(run(&mut target.values[..len], &other.values[..len])?);
        }
        // The second operand is overwritten: the result is made beside it.
        let mut memory = self.take(out, b, len)?;
        memory[..len].copy_from_slice(&self.slots[a.0].values[..len]);
        let done = run(&mut memory[..len], &self.slots[b.0].values[..len]);
        self.give(out, width, n, memory);
        Ok(done?)
    }

    /// Keeps `rows`, ascending, of every slot that holds `all` of them. One whose memory is lent
    /// out ([`Buffers::take`]) holds none.
    pub fn keep_rows(&mut self, all: usize, rows: &[usize]) {
        if rows.len() == all {
            return;
        }
        for Buffer { values, len, width, prepared } in &mut self.slots {
            if *len != *width * all || values.len() < *len {
                continue;
            }
            for (to, from) in rows.iter().enumerate() {
                values.copy_within(from * *width..(from + 1) * *width, to * *width);
            }
            *len = rows.len() * *width;
            prepared.clear();
        }
        self.turn();
    }

    /// Keeps some rows of every slot, all that later steps need: of each of `pieces` (rows, and
    /// how many of its last ones) in turn.
    pub fn keep_last(&mut self, pieces: impl Iterator<Item = (usize, usize)> + Clone) {
        if pieces.clone().all(|(rows, keep)| rows == keep) {
            return;
        }
        let all: usize = pieces.clone().map(|(rows, _)| rows).sum();
        for Buffer { values, len, width, prepared } in &mut self.slots {
            // Only slots that hold all rows; others were not written in this block.
            if *len != *width * all {
                continue;
            }
            let (mut to, mut from) = (0, 0);
            for (rows, keep) in pieces.clone() {
                let (first, last) = ((from + rows - keep) * *width, (from + rows) * *width);
                values.copy_within(first..last, to);
                to += last - first;
                from += rows;
            }
            *len = to;
            prepared.clear();
        }
        self.turn();
    }
}
