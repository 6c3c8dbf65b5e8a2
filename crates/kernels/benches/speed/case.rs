//! The cases: levels of this CPU, threads, storage types.

use std::fmt;

use recinto_kernels::{DType, Kernels, Level, Machine};

use crate::common::TYPES;

/// Numbers of threads that are timed.
const THREADS: [usize; 2] = [1, 2];

/// One level with a number of threads.
#[derive(Clone, Copy)]
pub struct Case {
    pub level: Level,
    pub threads: usize,
}

impl Case {
    pub fn machine(self) -> Machine {
        let kernels = Kernels::at(self.level).expect("a level of this CPU");
        Machine::new(kernels, self.threads)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}t", self.level.name(), self.threads)
    }
}

/// A case with a storage type of weights.
#[derive(Clone, Copy)]
pub struct Typed {
    pub case: Case,
    pub dtype: DType,
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.case, self.dtype.name())
    }
}

/// Every level of this CPU with every number of threads.
pub fn all() -> Vec<Case> {
    let levels = Kernels::available().into_iter().map(Kernels::level);
    levels.flat_map(|level| THREADS.map(|threads| Case { level, threads })).collect()
}

/// The same for every storage type.
pub fn typed() -> Vec<Typed> {
    let each = |case: Case| TYPES.iter().map(move |(dtype, _)| Typed { case, dtype: *dtype });
    all().into_iter().flat_map(each).collect()
}

/// Without the portable level, where one run would take seconds.
pub fn typed_fast() -> Vec<Typed> {
    typed().into_iter().filter(|typed| typed.case.level != Level::Portable).collect()
}
