//! The shipped files against real models; see `RECINTO_TEST_MODELS`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use recinto_arch::{Archs, Options, Output, Pairs, Program, compile};
use recinto_weights::File;

struct Case {
    name: &'static str,
    file: &'static str,
    arch: &'static str,
    layers: usize,
    instructions: usize,
    slots: usize,
    output: usize,
    windows: usize,
    ropes: usize,
    pairs: Pairs,
}

const CASES: &[Case] = &[
    Case {
        name: "smollm2",
        file: "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
        arch: "llama",
        layers: 30,
        instructions: 30 * 15 + 3,
        slots: 6,
        output: 49152,
        windows: 0,
        ropes: 1,
        pairs: Pairs::Adjacent,
    },
    Case {
        name: "qwen05",
        file: "qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        arch: "qwen2",
        layers: 24,
        instructions: 24 * 15 + 3,
        slots: 6,
        output: 151936,
        windows: 0,
        ropes: 1,
        pairs: Pairs::Half,
    },
    Case {
        name: "gemma3",
        file: "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
        arch: "gemma3",
        layers: 18,
        instructions: 18 * 19 + 4,
        slots: 6,
        output: 262144,
        windows: 15,
        ropes: 2,
        pairs: Pairs::Half,
    },
];

fn open(folder: &Path, case: &Case) -> Option<File> {
    let path = folder.join(case.file);
    if !path.exists() {
        println!("skipped: {}: {} is not there", case.name, path.display());
        return None;
    }
    Some(File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", case.name)))
}

#[test]
fn real_models_compile() {
    let Some(folder) = recinto_testkit::models() else {
        recinto_testkit::skipped("real_models_compile", "RECINTO_TEST_MODELS is not set");
        return;
    };
    let archs = Archs::built_in();
    for case in CASES {
        let name = case.name;
        let Some(file) = open(&folder, case) else { continue };
        let arch = archs.find(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut took = Duration::MAX;
        let mut bound = None;
        for _ in 0..10 {
            let start = Instant::now();
            bound = Some(compile(arch, &file, &Options::default()));
            took = took.min(start.elapsed());
        }
        let program: Program = bound.unwrap().unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{name}: {} slots {:?} in {took:?}", program.slots.len(), program.slots);
        assert_eq!(program.name, case.arch, "{name}");
        assert_eq!(program.layers, case.layers, "{name}");
        assert_eq!(program.instructions.len(), case.instructions, "{name}");
        assert_eq!(program.slots.len(), case.slots, "{name}");
        let Output { width, .. } = program.output;
        assert_eq!((width, program.vocabulary), (case.output, case.output), "{name}");
        let windows = program.caches.iter().filter(|c| c.window.is_some()).count();
        assert_eq!((program.caches.len(), windows), (case.layers, case.windows), "{name}");
        assert_eq!(program.ropes.len(), case.ropes, "{name}");
        let pairs = program.instructions.iter().find_map(|i| match i.op {
            recinto_arch::Op::Rope { pairs, .. } => Some(pairs),
            _ => None,
        });
        assert_eq!(pairs, Some(case.pairs), "{name}");
        assert!(program.allowed_keys.is_empty(), "{name}");
        assert!(took.as_micros() < 1000, "{name} took {took:?}");
    }
}
