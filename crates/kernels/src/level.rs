//! CPU levels, and the handle that exists only for a level this CPU has.

use recinto_quant::{DType, LAYOUTS};

use crate::{check, table::Table};

/// A set of CPU instructions kernels exist for, slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Plain code, any CPU.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// AVX2 and AVX-VNNI.
    AvxVnni,
    /// x86-64 with AVX-512 F, BW, VL and DQ.
    Avx512,
    /// AVX-512 and its VNNI.
    Avx512Vnni,
}

/// Name and variant of every level, slowest first.
const NAMES: &[(&str, Level)] = &[
    ("portable", Level::Portable),
    ("avx2", Level::Avx2),
    ("avx-vnni", Level::AvxVnni),
    ("avx512", Level::Avx512),
    ("avx512-vnni", Level::Avx512Vnni),
];

impl Level {
    /// Name as in options, receipts and error texts.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// The level called `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Level> {
        NAMES.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// Every level, slowest first, whether this CPU has it or not.
    pub fn all() -> impl DoubleEndedIterator<Item = Level> {
        NAMES.iter().map(|row| row.1)
    }

    /// The CPU features this level needs, each with whether it is here; `None` when the level
    /// belongs to another family of CPUs.
    pub fn features(self) -> Option<Vec<(&'static str, bool)>> {
        match self {
            Level::Portable => Some(Vec::new()),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            _ => Some(crate::x86_64::features(self)),
            #[cfg(any(not(target_arch = "x86_64"), test))]
            _ => None,
        }
    }
}

/// The kernels of one level; made only for a level this CPU has and that has just computed the
/// same bits as the portable one.
#[derive(Clone, Copy)]
pub struct Kernels {
    pub(crate) table: &'static Table,
}

/// Every storage type there is.
pub(crate) fn every_type() -> Vec<DType> {
    LAYOUTS.iter().map(|row| row.dtype).collect()
}

impl Kernels {
    /// The fastest level of this CPU that agrees with the portable one.
    pub fn detect() -> Kernels {
        Kernels::detect_for(&every_type())
    }

    /// The same for weights of `types` only: what no tensor has is not compared, which would take
    /// most of the time.
    pub fn detect_for(types: &[DType]) -> Kernels {
        let found = Level::all().rev().find_map(|level| Kernels::at_for(level, types));
        found.unwrap_or(Kernels { table: Table::portable() })
    }

    /// The kernels of `level`, if this CPU has it and it agrees with the portable one.
    pub fn at(level: Level) -> Option<Kernels> {
        Kernels::at_for(level, &every_type())
    }

    /// The same for weights of `types` only.
    pub fn at_for(level: Level, types: &[DType]) -> Option<Kernels> {
        let table = Table::at(level)?;
        check::agrees(table, types).then_some(Kernels { table })
    }

    /// Every level that can be used here, slowest first.
    pub fn available() -> Vec<Kernels> {
        Level::all().filter_map(Kernels::at).collect()
    }

    /// Which level this is.
    pub fn level(self) -> Level {
        self.table.level
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernels({})", self.level().name())
    }
}
