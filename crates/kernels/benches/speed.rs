//! How fast each kernel is: `cargo bench -p recinto-kernels [-- WORD]` runs those whose name, level
//! or type contains the word; `-- --help` lists what else can be asked for.
//!
//! A case is a level, a number of threads and, for products, a storage type. Bytes are those of
//! the weights (or of keys and values) that a run reads, items are operations (two a product) or
//! values. Timing needs a quiet machine.

#[path = "speed/attend.rs"]
mod attend;
#[path = "speed/case.rs"]
mod case;
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "speed/point.rs"]
mod point;
#[path = "speed/product.rs"]
mod product;
#[path = "speed/region.rs"]
mod region;

fn main() {
    divan::main();
}
