//! Every test of this crate that needs no process of its own, linked once.

mod answers;
mod build;
mod calibrate;
mod canary;
mod doctor;
mod egress;
#[cfg(feature = "remote")]
mod elsewhere;
mod embed;
mod endings;
mod gates;
#[cfg(feature = "remote")]
mod hosted;
mod hostile;
#[cfg(feature = "remote")]
mod hosts;
mod judge;
mod kv;
mod loading;
mod lock;
mod manners;
mod models;
mod network;
#[cfg(feature = "remote")]
mod prior;
mod profiles;
mod quantize;
mod records;
mod scored;
mod selftest;
mod settings;
mod shell;
mod tasks;
mod trace;
