//! Profiles and costs: every line is timed as often as it ran, the bits stay what they are, and
//! the counted work is that of the file.

use crate::common;
use crate::goldens;

use common::bits;
use goldens::{open, session};
use recinto_engine::{Cost, KvType, Model, OpenOptions, SessionOptions, Stop, Want};

/// A tiny model of the goldens.
fn tiny(name: &str) -> Model {
    open(&common::tiny(name), &OpenOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_profile_times_every_line_and_changes_no_bit() {
    for name in ["llama-plain", "qwen2-plain", "gemma3-1b-like"] {
        let model = tiny(name);
        let ids: Vec<u32> = (0..20).map(|i| 3 + i % 50).collect();
        let mut plain = session(&model, 32);
        let want: Vec<u32> = bits(plain.feed(&ids, Want::Last, &Stop::never()).unwrap());
        let mut watched = session(&model, 32);
        assert!(watched.take_profile().is_none(), "{name}");
        watched.start_profile();
        assert_eq!(bits(watched.feed(&ids, Want::Last, &Stop::never()).unwrap()), want, "{name}");
        let profile = watched.take_profile().unwrap();
        let program = model.program();
        let costs = model.cost_of_prompt(0..ids.len(), watched.block(), watched.kv());
        let lines = profile.lines(program, &costs);
        let calls: u64 = lines.iter().map(|line| line.calls).sum();
        assert_eq!(calls as usize, program.instructions.len(), "{name}: each ran once");
        assert!(lines.is_sorted_by_key(|line| line.line), "{name}: in the file's order");
        for line in &lines {
            let text = program.text.lines().nth(line.line as usize - 1).unwrap().trim();
            assert_eq!(line.text, text, "{name}:{}", line.line);
            assert!(line.ms > 0.0, "{name}:{}", line.line);
            assert_eq!(line.calls as usize, line.layers.max(1), "{name}: {text}");
        }
        let sum: f64 = lines.iter().map(|line| line.ms).sum();
        assert!((sum - profile.total().as_secs_f64() * 1e3).abs() < 1e-6, "{name}");
        // Nothing is kept afterwards.
        watched.feed(&[3], Want::Last, &Stop::never()).unwrap();
        assert!(watched.take_profile().is_none(), "{name}");
    }
}

#[test]
fn the_counted_work_is_that_of_the_file() {
    let model = tiny("qwen2-plain");
    let (file, program) = (model.file(), model.program());
    // Every tensor is read once a token, but for the table, of which one row is.
    let table = file.tensors().iter().find(|t| t.name == "token_embd.weight").unwrap();
    let tied = !file.tensors().iter().any(|t| t.name == "output.weight");
    let row = table.bytes() / table.dims[1] as usize;
    let all: usize = file.tensors().iter().map(|t| t.bytes()).sum();
    let weights = (all - if tied { 0 } else { table.bytes() } + row) as u64;
    let kv = model.facts().kv_bytes_per_position as u64;
    let at = |start: usize| {
        let one = start..start + 1;
        Cost::sum(&model.cost(std::slice::from_ref(&one), 1, KvType::Bf16))
    };
    for start in [0, 1, 700] {
        assert_eq!(at(start).bytes, weights + kv * (start as u64 + 1), "position {start}");
    }
    // Keys and values cost what they take, whatever their type.
    for kind in KvType::ALL {
        let one = Cost::sum(&model.cost(std::slice::from_ref(&(255..256)), 1, kind));
        let options = SessionOptions { context: Some(256), kv: kind };
        let mut session = model.session(&options).unwrap();
        session.feed(&[3], Want::None, &Stop::never()).unwrap();
        assert_eq!(one.bytes, weights + session.kv_bytes() as u64, "{kind}");
    }
    let matrices: u64 = program
        .instructions
        .iter()
        .filter_map(|i| match i.op {
            recinto_arch::Op::Linear { rows, cols, .. } => Some((rows * cols) as u64),
            _ => None,
        })
        .sum();
    let attention = at(1).operations - at(0).operations;
    assert_eq!(at(0).operations, 2 * matrices + attention);
    // One pass over the weights serves many sessions.
    let eight = Cost::sum(&model.cost(&vec![5..6; 8], 1, KvType::Bf16));
    assert_eq!(eight.operations, 8 * at(5).operations);
    assert_eq!(eight.bytes, at(5).bytes + 7 * (6 * kv + row as u64));
    // A prompt whose blocks want nothing but the last row.
    let whole = Cost::sum(&model.cost_of_prompt(0..300, 300, KvType::Bf16)).operations;
    let blocks = Cost::sum(&model.cost_of_prompt(0..300, 256, KvType::Bf16));
    let each: u64 = (0..300).map(|p| at(p).operations).sum();
    assert!(whole < each, "{whole} {each}");
    assert_eq!(blocks.operations, whole, "one row after the last attention, either way");
    assert!(blocks.bytes < 2 * weights + 600 * kv + 600 * row as u64, "{blocks:?}");
    assert_eq!(Cost::sum(&model.cost(&[], 1, KvType::Bf16)), Cost::default());
}
