//! Values to slots by lifetime: a slot is used again once its value has been read for the last
//! time.

use crate::program::{Op, Slot};

/// The slot that an operation writes, and those that it reads.
pub(crate) fn operands(op: &mut Op) -> (&mut Slot, [Option<&mut Slot>; 3]) {
    match op {
        Op::Embed { out, .. } => (out, [None, None, None]),
        Op::Norm { out, x, .. }
        | Op::Linear { out, x, .. }
        | Op::Rope { out, x, .. }
        | Op::Slice { out, x, .. }
        | Op::Rows { out, x, .. }
        | Op::Map { out, x, .. } => (out, [Some(x), None, None]),
        Op::Attend { out, q, k, v, .. } | Op::AttendBoth { out, q, k, v, .. } => {
            (out, [Some(q), Some(k), Some(v)])
        }
        Op::Add { out, a, b, .. } | Op::Mul { out, a, b, .. } => (out, [Some(a), Some(b), None]),
        Op::Gated { out, g, u, .. } => (out, [Some(g), Some(u), None]),
    }
}

/// Operations that read value `i` of a position only to write value `i`, or hold a whole group
/// before they write it: their result may take the place of an input.
fn in_place(op: &Op) -> bool {
    !matches!(
        op,
        Op::Embed { .. }
            | Op::Linear { .. }
            | Op::Attend { .. }
            | Op::AttendBoth { .. }
            | Op::Slice { .. }
            | Op::Rows { .. }
    )
}

/// Values that share the slot of `kept`: what it was made from in place. Logits are much wider
/// than anything else, so nothing else may share their slot.
fn chain(ops: &mut [&mut Op], widths: &[usize], last: &[usize], kept: usize) -> Vec<bool> {
    let mut own = vec![false; widths.len()];
    let mut value = kept;
    own[value] = true;
    for (at, op) in ops.iter_mut().enumerate().rev() {
        let early = in_place(op);
        let (out, [first, ..]) = operands(op);
        if out.0 != value {
            continue;
        }
        match first {
            Some(x) if early && last[x.0] == at && widths[x.0] == widths[value] => value = x.0,
            _ => break,
        }
        own[value] = true;
    }
    own
}

/// Replaces value numbers by slots. `widths[v]` is the width of value `v`; `kept` is read after
/// the end. Gives the slots' widths and `kept`'s slot.
pub(crate) fn assign<'o>(
    ops: impl Iterator<Item = &'o mut Op>,
    widths: &[usize],
    kept: usize,
) -> (Vec<usize>, Slot) {
    let mut ops: Vec<&mut Op> = ops.collect();
    let mut last = vec![0usize; widths.len()];
    for (at, op) in ops.iter_mut().enumerate() {
        let (out, inputs) = operands(op);
        last[out.0] = at;
        inputs.into_iter().flatten().for_each(|slot| last[slot.0] = at);
    }
    last[kept] = usize::MAX;
    let own = chain(&mut ops, widths, &last, kept);
    let mut own_slot = None;
    let mut slots: Vec<usize> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut place = vec![usize::MAX; widths.len()];
    for (at, op) in ops.iter_mut().enumerate() {
        let early = in_place(op);
        let (out, inputs) = operands(op);
        let mut dead = Vec::new();
        for slot in inputs.into_iter().flatten() {
            let value = slot.0;
            *slot = Slot(place[value]);
            if last[value] == at && !own[value] && !dead.contains(&place[value]) {
                dead.push(place[value]);
            }
        }
        if early {
            free.append(&mut dead);
        }
        let value = out.0;
        let width = widths[value];
        place[value] = if own[value] {
            *own_slot.get_or_insert_with(|| {
                slots.push(width);
                slots.len() - 1
            })
        } else {
            take(&mut free, &mut slots, width)
        };
        *out = Slot(place[value]);
        free.append(&mut dead);
        if last[value] == at && !own[value] {
            free.push(place[value]);
        }
    }
    (slots, Slot(place[kept]))
}

/// The narrowest free slot that is wide enough, else the widest one made wider, else a new one.
fn take(free: &mut Vec<usize>, slots: &mut Vec<usize>, width: usize) -> usize {
    let fits = (0..free.len()).filter(|i| slots[free[*i]] >= width);
    let found = fits
        .min_by_key(|i| (slots[free[*i]], free[*i]))
        .or_else(|| (0..free.len()).max_by_key(|i| (slots[free[*i]], free[*i])));
    match found {
        Some(i) => {
            let slot = free.swap_remove(i);
            slots[slot] = slots[slot].max(width);
            slot
        }
        None => {
            slots.push(width);
            slots.len() - 1
        }
    }
}
