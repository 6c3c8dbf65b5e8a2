//! Where time goes: how long each instruction of a program took, summed by line of the arch file.

use std::time::{Duration, Instant};

use recinto_arch::Program;
use serde::Serialize;

use crate::{cost::Cost, session::Session};

/// Times of one session's instructions. While one is kept, every line runs alone: steps that are
/// fused otherwise are told apart, and the whole is a little slower than without.
pub struct Profile {
    spent: Vec<Spent>,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    time: Duration,
    calls: u64,
}

/// One line of the arch file, its repeats in all layers summed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// From 1.
    pub line: u32,
    /// As it stands in the file, without the blanks around it.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// Layers it ran in; 0 for a line outside of them.
    pub layers: usize,
    /// Milliseconds of all calls.
    pub ms: f64,
    /// Operations and bytes of all calls.
    pub cost: Cost,
}

impl Profile {
    pub(crate) fn new(program: &Program) -> Profile {
        Profile { spent: vec![Spent::default(); program.instructions.len()] }
    }

    /// Notes that instruction `index` ran from `began` until now.
    pub(crate) fn note(&mut self, index: usize, began: Instant) {
        if let Some(spent) = self.spent.get_mut(index) {
            spent.time += began.elapsed();
            spent.calls += 1;
        }
    }

    /// Time of all instructions.
    pub fn total(&self) -> Duration {
        self.spent.iter().map(|spent| spent.time).sum()
    }

    /// The lines of `program` in the file's order. `costs` holds what each instruction cost in
    /// all of its calls, see [`Model::cost`](crate::Model::cost).
    pub fn lines(&self, program: &Program, costs: &[Cost]) -> Vec<Line> {
        let mut lines: Vec<(Line, Option<u32>)> = Vec::new();
        for (at, (instruction, spent)) in program.instructions.iter().zip(&self.spent).enumerate() {
            let found = lines.iter().position(|(line, _)| line.line == instruction.line);
            let place = found.unwrap_or_else(|| {
                let (line, cost) = (instruction.line, Cost::default());
                let text = program.line(line).to_owned();
                lines.push((Line { line, text, calls: 0, layers: 0, ms: 0.0, cost }, None));
                lines.len() - 1
            });
            let (line, layer) = &mut lines[place];
            line.calls += spent.calls;
            line.ms += spent.time.as_secs_f64() * 1e3;
            line.cost = line.cost.and(costs.get(at).copied().unwrap_or_default());
            if instruction.layer.is_some() && *layer != instruction.layer {
                (line.layers, *layer) = (line.layers + 1, instruction.layer);
            }
        }
        lines.sort_by_key(|(line, _)| line.line);
        lines.into_iter().map(|(line, _)| line).collect()
    }
}

impl Session {
    /// Keeps a profile from now on, or an empty one again.
    pub fn start_profile(&mut self) {
        self.batch.buffers.profile = Some(Profile::new(self.model.program()));
    }

    /// Ends a profile; `None` where there was none.
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.batch.buffers.profile.take()
    }

    /// Positions of one block, the unit in which a prompt is read.
    pub fn block(&self) -> usize {
        self.batch.block
    }
}
