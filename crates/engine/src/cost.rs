//! What a block of positions costs: the operations and the bytes that program and file ask for.
//!
//! Counted, not measured: matrix products, attention, and what each reads once. Single values
//! (norms, gates, sums) are left out of the operations, activations out of the bytes; both are
//! small, and stay in the cache.

use std::ops::Range;

use recinto_arch::{Instruction, Op};
use recinto_kernels::KvType;
use serde::Serialize;

use crate::{mark::first_seen, model::Model, session::position_bytes};

/// Work of one instruction, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Multiplications and additions, two a product.
    pub operations: u64,
    /// Bytes of weights, and of keys and values, that have to be read once.
    pub bytes: u64,
}

impl Cost {
    /// Both added.
    #[must_use]
    pub fn and(self, other: Cost) -> Cost {
        Cost {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// The sum of many.
    pub fn sum(all: &[Cost]) -> Cost {
        all.iter().fold(Cost::default(), |sum, cost| sum.and(*cost))
    }
}

impl Model {
    /// The cost of each instruction of the program when one block is fed: the positions `fed` of
    /// one session each, which share one pass over the weights. Of each session the last `wanted`
    /// positions give logits; after the last attention only those are computed. Keys and values
    /// are stored as `kv`.
    pub fn cost(&self, fed: &[Range<usize>], wanted: usize, kv: KvType) -> Vec<Cost> {
        let instructions = &self.program().instructions;
        let last = self.0.bound.last_attend;
        let kept: Vec<Range<usize>> =
            fed.iter().map(|all| all.end - wanted.min(all.len())..all.end).collect();
        let costs = instructions.iter().enumerate().map(|(index, instruction)| {
            // Without attention every row stands alone, so wanted ones are the only ones.
            let all = last.is_some_and(|last| index < last);
            self.cost_of(instruction, if all { fed } else { &kept }, kv)
        });
        costs.collect()
    }

    /// The same for a prompt that is read in blocks of `block` positions, of which the last one
    /// gives logits.
    pub fn cost_of_prompt(&self, fed: Range<usize>, block: usize, kv: KvType) -> Vec<Cost> {
        let mut sum = vec![Cost::default(); self.program().instructions.len()];
        let mut start = fed.start;
        while start < fed.end {
            let end = fed.end.min(start.saturating_add(block.max(1)));
            let one = start..end;
            let costs = self.cost(std::slice::from_ref(&one), usize::from(end == fed.end), kv);
            for (sum, cost) in sum.iter_mut().zip(costs) {
                *sum = sum.and(cost);
            }
            start = end;
        }
        sum
    }

    fn cost_of(&self, instruction: &Instruction, fed: &[Range<usize>], kv: KvType) -> Cost {
        let rows = fed.iter().map(|one| one.len() as u64).fold(0, u64::saturating_add);
        if rows == 0 {
            return Cost::default();
        }
        let bytes_of = |id: usize| self.file().tensor(id).info.bytes() as u64;
        match instruction.op {
            Op::Embed { table, width, .. } => {
                let dtype = self.file().tensor(table.0).info.dtype;
                let row = dtype.bytes_for(width as u64).unwrap_or(0);
                Cost { operations: 0, bytes: rows.saturating_mul(row) }
            }
            Op::Norm { weight, bias, .. } => {
                let bytes = [weight, bias].iter().flatten().map(|id| bytes_of(id.0)).sum();
                Cost { operations: 0, bytes }
            }
            Op::Linear { weight, bias, rows: height, cols, .. } => {
                let one = (height as u64).saturating_mul(cols as u64).saturating_mul(2);
                let bias = bias.map_or(0, |id| bytes_of(id.0));
                let bytes = bytes_of(weight.0).saturating_add(bias);
                Cost { operations: one.saturating_mul(rows), bytes }
            }
            Op::Attend { heads, cache, .. } => {
                let shape = &self.program().caches[cache];
                let products = (heads as u64)
                    .saturating_mul(shape.key_dim.saturating_add(shape.value_dim) as u64);
                let costs = fed.iter().filter(|one| !one.is_empty()).map(|one| {
                    let seen = one.clone().map(|p| (p + 1 - first_seen(shape, p)) as u64);
                    let read = (one.end - first_seen(shape, one.start)) as u64;
                    Cost {
                        operations: products.saturating_mul(2).saturating_mul(seen.sum()),
                        bytes: read.saturating_mul(position_bytes(shape, kv) as u64),
                    }
                });
                costs.fold(Cost::default(), Cost::and)
            }
            _ => Cost::default(),
        }
    }
}
