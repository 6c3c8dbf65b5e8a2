//! What the shipped files make of the variants that are about.

use crate::common;

use common::{Key, key, tiny, tiny_of};
use recinto_arch::{Archs, Map, Op, Options, Program, compile};
use recinto_testkit::gguf::Value;
use recinto_weights::File;

fn program(file: &File) -> Program {
    let archs = Archs::built_in();
    let arch = archs.find(file).unwrap_or_else(|e| panic!("{e}"));
    compile(arch, file, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn bound(arch: &str, keys: &[Key], tensors: &[(&str, &[u64])]) -> Program {
    program(&tiny(arch, keys, tensors))
}

fn scales(program: &Program) -> Vec<f32> {
    let scale = |op: &Op| if let Op::Attend { scale, .. } = op { Some(*scale) } else { None };
    program.instructions.iter().filter_map(|i| scale(&i.op)).collect()
}

/// The rotary setting of each layer's queries.
fn turns(program: &Program) -> Vec<usize> {
    let rope = |op: &Op| if let Op::Rope { rope, .. } = op { Some(*rope) } else { None };
    program.instructions.iter().filter_map(|i| rope(&i.op)).step_by(2).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

fn close(got: &[f64], want: &[f64], name: &str) {
    assert_eq!(got.len(), want.len(), "{name}");
    assert!(got.iter().zip(want).all(|(a, b)| near(*a, *b)), "{name}: {got:?}, not {want:?}");
}

#[test]
fn llama_rotary() {
    struct Case {
        name: &'static str,
        keys: Vec<Key>,
        tensors: &'static [(&'static str, &'static [u64])],
        frequencies: Vec<f64>,
        magnitude: f32,
    }
    let plain = vec![1.0, 0.01];
    let grown = (1.0 + 0.1 * 4f64.ln()) as f32;
    let yarn = || {
        vec![
            key("rope.scaling.type", "yarn"),
            key("rope.scaling.factor", 4.0f32),
            key("rope.scaling.original_context_length", 4096u32),
        ]
    };
    let and = |mut keys: Vec<Key>, more: Key| {
        keys.push(more);
        keys
    };
    let case = |name, keys, frequencies, magnitude| Case {
        name,
        keys,
        tensors: &[],
        frequencies,
        magnitude,
    };
    let cases = [
        case("plain", vec![], plain.clone(), 1.0),
        case("base", vec![key("rope.freq_base", 1e6f32)], vec![1.0, 0.001], 1.0),
        case("partial", vec![key("rope.dimension_count", 2u32)], vec![1.0], 1.0),
        case("linear", vec![key("rope.scaling.factor", 4.0f32)], vec![0.25, 0.0025], 1.0),
        case("old name", vec![key("rope.scale_linear", 2.0f32)], vec![0.5, 0.005], 1.0),
        case("zero is none", vec![key("rope.scaling.factor", 0.0f32)], plain.clone(), 1.0),
        case(
            "none",
            vec![key("rope.scaling.type", "none"), key("rope.scaling.factor", 4.0f32)],
            plain.clone(),
            1.0,
        ),
        case(
            "attention factor",
            vec![key("rope.scaling.factor", 4.0f32), key("rope.scaling.attn_factor", 1.5f32)],
            vec![0.25, 0.0025],
            1.5,
        ),
        // The ramp by the formula of the paper, with the standard library.
        case("yarn", yarn(), yarn_by_hand(4.0, 4096.0, 32.0, 1.0), grown),
        case(
            "yarn, turns",
            and(yarn(), key("rope.scaling.yarn_beta_fast", 4.0f32)),
            yarn_by_hand(4.0, 4096.0, 4.0, 1.0),
            grown,
        ),
        case(
            "yarn, logarithm",
            and(yarn(), key("rope.scaling.yarn_log_multiplier", 1.0f32)),
            yarn_by_hand(4.0, 4096.0, 32.0, 1.0),
            1.0,
        ),
        case(
            "yarn without ramp",
            and(yarn(), key("rope.scaling.yarn_ext_factor", 0.0f32)),
            vec![0.25, 0.0025],
            1.0,
        ),
        Case {
            name: "factors tensor",
            keys: vec![],
            tensors: &[("rope_freqs.weight", &[2])], // holds 1 and 2
            frequencies: vec![1.0, 0.005],
            magnitude: 1.0,
        },
    ];
    for Case { name, keys, tensors, frequencies, magnitude } in cases {
        let program = bound("llama", &keys, tensors);
        assert_eq!(program.ropes.len(), 1, "{name}");
        close(&program.ropes[0].frequencies, &frequencies, name);
        assert_eq!(program.ropes[0].magnitude, magnitude, "{name}");
    }
}

/// The formula of the paper for heads of four values, with the standard library's functions.
fn yarn_by_hand(factor: f64, original: f64, fast: f64, slow: f64) -> Vec<f64> {
    let size = 4.0;
    let base = 10000f64;
    let pair =
        |turns: f64| size * (original / (turns * std::f64::consts::TAU)).ln() / (2.0 * base.ln());
    let (low, high) = (pair(fast).floor().max(0.0), pair(slow).ceil().min(size - 1.0));
    [0.0, 1.0]
        .map(|i| {
            let plain = base.powf(-2.0 * i / size);
            let share = 1.0 - ((i - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
            plain / factor * (1.0 - share) + plain * share
        })
        .to_vec()
}

#[test]
fn llama_shapes() {
    // Mistral: heads of their own size, a window.
    let keys = [
        key("attention.key_length", 6u32),
        key("attention.value_length", 2u32),
        key("attention.sliding_window", 16u32),
        key("attention.scale", 0.5f32),
    ];
    let sizes: Vec<(String, Vec<u64>)> = (0..3)
        .flat_map(|layer| {
            let sized =
                |name: &str, dims: [u64; 2]| (format!("blk.{layer}.{name}.weight"), dims.to_vec());
            [
                sized("attn_q", [8, 12]),
                sized("attn_k", [8, 6]),
                sized("attn_v", [8, 2]),
                sized("attn_output", [4, 8]),
            ]
        })
        .collect();
    let sizes: Vec<(&str, &[u64])> = sizes.iter().map(|(n, d)| (n.as_str(), &d[..])).collect();
    let program = bound("llama", &keys, &sizes);
    let cache = program.caches[2];
    assert_eq!((cache.kv_heads, cache.key_dim, cache.value_dim), (1, 6, 2));
    assert_eq!(cache.window, Some(16));
    assert_eq!(scales(&program), [0.5; 3]);

    // The usual scale, no window, tied output, no biases.
    let program = bound("llama", &[key("attention.sliding_window", 0u32)], &[]);
    assert_eq!(scales(&program), [0.5; 3]);
    assert!(program.caches.iter().all(|cache| cache.window.is_none()));
    assert_eq!((program.vocabulary, program.output.width, program.context), (10, 10, Some(64)));
    let last = |program: &Program| match &program.instructions[program.instructions.len() - 1].op {
        Op::Linear { weight, bias, .. } => (weight.0, *bias),
        other => panic!("{other:?}"),
    };
    let file = tiny("llama", &[], &[]);
    assert_eq!(last(&program).0, file.find("token_embd.weight").unwrap());
    let file = tiny("llama", &[], &[("output.weight", &[8, 10])]);
    assert_eq!(last(&self::program(&file)).0, file.find("output.weight").unwrap());
}

#[test]
fn biases_where_the_file_has_them() {
    let biases = |program: &Program| {
        let has = |op: &Op| matches!(op, Op::Linear { bias: Some(_), .. });
        program.instructions.iter().filter(|i| has(&i.op)).count()
    };
    let names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];
    let sizes = [8, 4, 4, 8, 16, 16, 8];
    let all: Vec<(String, [u64; 1])> = names
        .iter()
        .zip(sizes)
        .map(|(name, size)| (format!("blk.1.{name}.bias"), [size]))
        .collect();
    let all: Vec<(&str, &[u64])> = all.iter().map(|(n, d)| (n.as_str(), &d[..])).collect();
    assert_eq!(biases(&bound("llama", &[], &[])), 0);
    assert_eq!(biases(&bound("llama", &[], &all)), 7);
    assert_eq!(biases(&bound("qwen2", &[], &all[..3])), 3);
}

#[test]
fn qwen3_norms_heads() {
    let program = bound("qwen3", &[], &[("output.weight", &[8, 10])]);
    let heads = |op: &Op| matches!(op, Op::Norm { size: 4, .. });
    let per_head = program.instructions.iter().filter(|i| heads(&i.op)).count();
    assert_eq!(per_head, 6);
    assert_eq!(program.name, "qwen3");
}

#[test]
fn gemma3_windows_and_bases() {
    struct Case {
        name: &'static str,
        keys: Vec<Key>,
        /// `l` local, `g` global.
        layers: &'static str,
        far: f64,
        near: f64,
    }
    let window = || key("attention.sliding_window", 8u32);
    let array = Value::from([true, false, true, true, false, true, true, false]);
    let cases = [
        Case { name: "default", keys: vec![window()], layers: "lllllgll", far: 1e6, near: 1e4 },
        Case {
            name: "number",
            keys: vec![window(), key("attention.sliding_window_pattern", 2u32)],
            layers: "lglglglg",
            far: 1e6,
            near: 1e4,
        },
        Case {
            name: "array",
            keys: vec![window(), key("attention.sliding_window_pattern", array)],
            layers: "lgllgllg",
            far: 1e6,
            near: 1e4,
        },
        Case {
            name: "first spelling",
            keys: vec![window(), key("rope.freq_base", 5e5f32), key("rope.freq_base_swa", 2e4f32)],
            layers: "lllllgll",
            far: 5e5,
            near: 2e4,
        },
        Case {
            name: "second spelling",
            keys: vec![
                window(),
                key("rope.global.freq_base", 5e5f32),
                key("rope.local.freq_base", 2e4f32),
            ],
            layers: "lllllgll",
            far: 5e5,
            near: 2e4,
        },
        Case { name: "no window", keys: vec![], layers: "gggggggg", far: 1e6, near: 1e4 },
    ];
    for Case { name, mut keys, layers, far, near: near_base } in cases {
        keys.push(key("rope.scaling.type", "linear"));
        keys.push(key("rope.scaling.factor", 8.0f32));
        keys.push(("attention.layer_norm_rms_epsilon", None));
        let program = program(&tiny_of("gemma3", 8, &keys, &[]));
        for (layer, (kind, turn)) in layers.chars().zip(turns(&program)).enumerate() {
            let (base, factor, window) = match kind {
                'l' => (near_base, 1.0, Some(8)),
                _ => (far, 8.0, None),
            };
            let want = [1.0 / factor, base.powf(-0.5) / factor];
            close(&program.ropes[turn].frequencies, &want, name);
            assert_eq!(program.caches[layer].window, window, "{name}, layer {layer}");
        }
        let eps = |op: &Op| if let Op::Norm { eps, .. } = op { Some(*eps) } else { None };
        let eps: Vec<f32> = program.instructions.iter().filter_map(|i| eps(&i.op)).collect();
        assert!(eps.iter().all(|eps| *eps == 1e-6), "{name}");
    }
}

/// Keys that files leave out, what is taken instead, and that it is said.
#[test]
fn what_gemma3_files_leave_out_is_assumed_aloud() {
    let window = || key("attention.sliding_window", 8u32);
    let far = || key("rope.freq_base", 1e6f32);
    let near = || key("rope.freq_base_swa", 1e4f32);
    let context = |n: u32| key("context_length", n);
    let eps = "attention.layer_norm_rms_epsilon";
    // Layers, keys, the factor of global layers, and what the notes name.
    type Row = (&'static str, u32, Vec<Key>, f64, &'static [&'static str]);
    let rows: [Row; 11] = [
        ("all is there", 8, vec![far(), near()], 1.0, &[]),
        ("bases", 8, vec![], 1.0, &["rope.freq_base is missing", "rope.freq_base_swa is missing"]),
        (
            "bases in the other spelling",
            8,
            vec![key("rope.global.freq_base", 1e6f32), key("rope.local.freq_base", 1e4f32)],
            1.0,
            &[],
        ),
        ("epsilon", 8, vec![far(), near(), (eps, None)], 1.0, &["layer_norm_rms_epsilon; 1e-6"]),
        ("a short context", 8, vec![far(), near(), context(32768)], 1.0, &[]),
        ("a long context", 8, vec![far(), near(), context(131072)], 8.0, &["rope.scaling.factor"]),
        ("by its layers", 34, vec![far(), near(), context(8192)], 8.0, &["rope.scaling.factor"]),
        (
            "the factor is there",
            34,
            vec![far(), near(), context(131072), key("rope.scaling.factor", 4.0f32)],
            4.0,
            &[],
        ),
        (
            "its old name",
            34,
            vec![far(), near(), context(131072), key("rope.scale_linear", 2.0f32)],
            2.0,
            &[],
        ),
        (
            "none is wanted",
            34,
            vec![far(), near(), context(131072), key("rope.scaling.type", "none")],
            1.0,
            &[],
        ),
        ("nothing", 34, vec![(eps, None)], 8.0, &["1e-6", "1000000", "10000 for local", "factor"]),
    ];
    for (name, layers, mut keys, factor, says) in rows {
        keys.push(window());
        let program = program(&tiny_of("gemma3", layers, &keys, &[]));
        let turns = turns(&program);
        // The sixth layer is the first global one.
        let scaled = [1.0 / factor, 1e6f64.powf(-0.5) / factor];
        close(&program.ropes[turns[5]].frequencies, &scaled, name);
        close(&program.ropes[turns[0]].frequencies, &[1.0, 1e4f64.powf(-0.5)], name);
        let notes = &program.notes;
        let said = |part: &&str| {
            let words: Vec<&str> = part.split("; ").collect();
            notes.iter().any(|note| words.iter().all(|word| note.contains(word)))
        };
        assert!(says.iter().all(said) && notes.len() == says.len(), "{name}: {notes:?}");
    }
}

/// `arch NAME|NAME`: other spellings of one architecture, whose keys have the spelling as prefix.
#[test]
fn an_architecture_may_have_several_spellings() {
    let text = "recinto-arch 1\narch gpt-oss|gptoss when not other\n\
                dim = embedding_length\nskip *\nx = embed token_embd width=dim\n\
                logits = linear x token_embd\noutput logits\n";
    let origin = recinto_arch::Origin::BuiltIn;
    let arch = recinto_arch::ArchFile::new("gpt-oss", text, origin).unwrap();
    assert_eq!(arch.serves(), "gpt-oss");
    let allow_keys = ["feed_forward_length", "attention.head_count", "attention.head_count_kv"];
    let more = ["attention.key_length", "attention.value_length"];
    let eps = ["attention.layer_norm_rms_epsilon"];
    let allow_keys = allow_keys.iter().chain(&more).chain(&eps).map(|k| (*k).to_owned()).collect();
    let options = Options { allow_keys };
    for (name, notes) in [("gpt-oss", 0), ("gptoss", 1)] {
        let program = compile(&arch, &tiny(name, &[], &[]), &options).unwrap();
        assert_eq!((program.context, program.notes.len()), (Some(64), notes), "{name}");
        assert!(program.notes.iter().all(|note| note.contains("`gptoss`; it is `gpt-oss`")));
    }
    let other = tiny("gptoss", &[key("other", 1u32)], &[]);
    let error = compile(&arch, &other, &options).unwrap_err().to_string();
    assert!(error.contains("with `other` absent"), "{error}");
    let error = compile(&arch, &tiny("gptos", &[], &[]), &options).unwrap_err().to_string();
    assert!(error.contains("serves `gpt-oss`, `gptoss`"), "{error}");
    // Found in a folder, and a broken one still stands for its spellings.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mía.arch");
    for (text, fine) in [(text.to_owned(), true), (text.replace("embed", "embeed"), false)] {
        std::fs::write(&path, &text).unwrap();
        let archs = Archs::with_dir(folder.path()).unwrap();
        for name in ["gpt-oss", "gptoss"] {
            let file = tiny(name, &[], &[]);
            assert_eq!(archs.find(&file).is_ok(), fine, "{name}");
        }
    }
    for (names, says) in [("a||b", "letters, digits"), ("a|b|c|d|e|f|g|h|i", "9 spellings")] {
        let text = text.replace("gpt-oss|gptoss", names);
        let error = recinto_arch::check("x", &text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn gemma3_sizes() {
    let program = bound("gemma3", &[], &[("v.blk.0.attn_q.weight", &[4, 4]), ("mm.a", &[4])]);
    let factor = |op: &Op| match op {
        Op::Map { map: Map::Scale(by), .. } => Some(*by),
        _ => None,
    };
    let factors: Vec<f32> = program.instructions.iter().filter_map(|i| factor(&i.op)).collect();
    assert_eq!(factors, [8f32.sqrt()]);
    assert_eq!(scales(&program), [0.5; 3]);
    let capped = bound("gemma3", &[key("final_logit_softcapping", 30.0f32)], &[]);
    let last = &capped.instructions[capped.instructions.len() - 1];
    assert!(matches!(last.op, Op::Map { map: Map::Softcap(30.0), .. }));
    // The logits' slot is shared with nothing else.
    assert_eq!(capped.slots[capped.output.slot.0], 10);
    let writes = capped.instructions.iter().filter(|i| i.out() == capped.output.slot).count();
    assert_eq!(writes, 2);

    // 62 layers: width per head, not the head size; heads of 2 in a width of 8 with two heads.
    let keys = [
        key("attention.key_length", 2u32),
        key("attention.value_length", 2u32),
        key("rope.scaling.factor", 8.0f32),
    ];
    let mut sizes: Vec<(String, Vec<u64>)> = Vec::new();
    for layer in 0..62 {
        for (name, dims) in [
            ("attn_q", &[8, 4][..]),
            ("attn_k", &[8, 2]),
            ("attn_v", &[8, 2]),
            ("attn_output", &[4, 8]),
            ("attn_q_norm", &[2]),
            ("attn_k_norm", &[2]),
        ] {
            sizes.push((format!("blk.{layer}.{name}.weight"), dims.to_vec()));
        }
    }
    let sizes: Vec<(&str, &[u64])> = sizes.iter().map(|(n, d)| (n.as_str(), &d[..])).collect();
    let program = self::program(&tiny_of("gemma3", 62, &keys, &sizes));
    assert_eq!(scales(&program), [0.5; 62]);
}

/// Runs the slots as the engine would and finds that every input still holds its value.
#[test]
fn slots_hold_what_is_read() {
    for arch in ["llama", "qwen2", "qwen3", "gemma3"] {
        let program = bound(arch, &[], &[]);
        let mut written = vec![None; program.slots.len()];
        for (at, instruction) in program.instructions.iter().enumerate() {
            let (reads, width) = match &instruction.op {
                Op::Embed { width, .. } => (vec![], *width),
                Op::Norm { x, width, .. }
                | Op::Rope { x, width, .. }
                | Op::Map { x, width, .. } => (vec![(*x, *width)], *width),
                Op::Linear { x, rows, cols, out, .. } => {
                    assert_ne!(x, out, "{arch} {at}");
                    (vec![(*x, *cols)], *rows)
                }
                Op::Attend { q, k, v, heads, cache, out, .. } => {
                    let c = program.caches[*cache];
                    assert!(![q, k, v].contains(&out), "{arch} {at}");
                    let kv = c.kv_heads;
                    let reads =
                        vec![(*q, heads * c.key_dim), (*k, kv * c.key_dim), (*v, kv * c.value_dim)];
                    (reads, heads * c.value_dim)
                }
                Op::Add { a, b, width, .. } | Op::Mul { a, b, width, .. } => {
                    (vec![(*a, *width), (*b, *width)], *width)
                }
                Op::Gated { g, u, width, .. } => (vec![(*g, *width), (*u, *width)], *width),
                other => panic!("{arch} {at}: {other:?} in a model that writes"),
            };
            for (slot, width) in reads {
                assert_eq!(written[slot.0], Some(width), "{arch} {at}: {:?}", instruction.op);
            }
            let out = instruction.out().0;
            assert!(program.slots[out] >= width, "{arch} {at}");
            written[out] = Some(width);
        }
        assert_eq!(written[program.output.slot.0], Some(program.output.width));
        assert!(program.slots.len() <= 6, "{arch}: {:?}", program.slots);
        let lines: Vec<u32> = program.instructions.iter().map(|i| i.line).collect();
        assert!(lines.iter().all(|line| *line > 3), "{arch}");
    }
}
