//! Every test of this crate that needs no process of its own, linked once.

mod cases;
mod common;
mod go;
mod golden;
mod hostile;
mod python;
mod tools;
