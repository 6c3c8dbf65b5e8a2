//! Architectures against an independent engine: tiny seeded models, one a variant.
//!
//! What the files are, how they were made and what the tolerances mean: tests/golden/README.md.

use crate::goldens;

use std::{path::PathBuf, process::Command};

use goldens::{
    best, completion, floats, folder, gap, greedy, ids, number, open, record, rows, same_ids,
    session, within,
};
use recinto_engine::{Level, Model, OpenOptions, Request};
use recinto_kernels::Kernels;

/// Every case by name: a lost file must not pass.
const CASES: &[&str] = &[
    "llama-plain",
    "llama-tied",
    "llama-spm",
    "llama-rope-freqs",
    "llama-mistral-head",
    "llama-linear",
    "llama-scale-linear",
    "llama-yarn",
    "llama-bias",
    "llama-mlp-bias",
    "llama-partial-rotary",
    "llama-quant",
    "llama-low-bits",
    "llama-q2_k",
    "llama-mxfp4",
    "llama-codebooks",
    "llama-ternary",
    "qwen2-plain",
    "qwen2-tied",
    "qwen2-yarn",
    "qwen2-quant",
    "qwen2-q3_k",
    "qwen3-plain",
    "qwen3-tied",
    "qwen3-yarn",
    "qwen3-quant",
    "qwen3-iq4_xs",
    "gemma3-1b-like",
    "gemma3-swa-base",
    "gemma3-linear",
    "gemma3-pattern-array",
    "gemma3-pattern-number",
    "gemma3-softcap",
    "gemma3-ollama-keys",
    "gemma3-27b",
    "gemma3-quant",
    "gemma3-iq4_nl",
];

fn path(name: &str, extension: &str) -> PathBuf {
    folder().join("tiny").join(format!("{name}.{extension}"))
}

fn one_thread() -> OpenOptions {
    OpenOptions { threads: Some(1), ..OpenOptions::default() }
}

/// What is wrong with one case; nothing when all is well.
fn faults(name: &str) -> Vec<String> {
    let golden = record(&path(name, "json"));
    let model = match open(&path(name, "gguf"), &one_thread()) {
        Ok(model) => model,
        Err(error) => return vec![error],
    };
    let mut faults = Vec::new();
    if let Err(error) = goldens::same_file(&model, &golden) {
        faults.push(error);
    }
    let prompt = ids(&golden["ids"]);
    faults.extend(same_ids(&model, completion(&golden), &golden).err());
    let messages = serde_json::from_value(golden["chat"]["messages"].clone()).expect("messages");
    let chat = Request { messages, ..Request::default() };
    faults.extend(same_ids(&model, chat, &golden["chat"]).err());
    let mut session = session(&model, 256);
    let ours = match rows(&mut session, &prompt, &[]) {
        Ok(rows) => rows,
        Err(error) => {
            faults.push(error.to_string());
            return faults;
        }
    };
    let (logits, width) = (floats(&path(name, "f32")), number(&golden["vocabulary"]) as usize);
    let tolerance = &golden["tolerance"];
    let (most, rms) = gap(&ours, &logits);
    let (most_allowed, rms_allowed) = (number(&tolerance["max"]), number(&tolerance["rms"]));
    println!(
        "{name}: largest difference {most:.4} of {most_allowed}, rms {rms:.5} of {rms_allowed}"
    );
    if !(within(most, most_allowed) && within(rms, rms_allowed)) {
        let at = ours.chunks(width).zip(logits.chunks(width));
        let at = at.map(|(a, b)| gap(a, b).0).position(|d| !within(d, most_allowed));
        faults.push(format!(
            "logits differ by {most:.4} (allowed {most_allowed}), rms {rms:.5} (allowed \
             {rms_allowed}); first position beyond: {at:?}"
        ));
    }
    let tie = 2.0 * most_allowed;
    for (position, (a, b)) in ours.chunks(width).zip(logits.chunks(width)).enumerate() {
        let ((ours, _), (golden, margin)) = (best(a), best(b));
        if ours != golden && !within(margin, tie) {
            let what = format!("position {position}: id {ours}, golden {golden} by {margin:.3}");
            faults.push(what);
        }
    }
    let last = ours[ours.len() - width..].to_vec();
    greedy(&mut session, last, &golden, tie, &mut faults);
    faults
}

#[test]
fn logits_ids_and_greedy_text_agree_with_an_independent_engine() {
    let mut all = Vec::new();
    for name in CASES {
        all.extend(faults(name).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn the_list_of_cases_is_the_folder() {
    let folder = folder().join("tiny");
    let mut there: Vec<String> = std::fs::read_dir(&folder)
        .expect("tests/golden/tiny")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    let mut listed: Vec<String> = CASES.iter().map(|name| name.to_string()).collect();
    there.sort();
    listed.sort();
    assert_eq!(there, listed);
}

fn bits(model: &Model, prompt: &[u32], pieces: &[usize]) -> Vec<u32> {
    let mut session = session(model, 256);
    let rows = rows(&mut session, prompt, pieces).expect("logits");
    rows.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn no_bit_depends_on_pieces_threads_or_level() {
    for name in CASES {
        let prompt = ids(&record(&path(name, "json"))["ids"]);
        let file = path(name, "gguf");
        let model = open(&file, &one_thread()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let whole = bits(&model, &prompt, &[]);
        for pieces in [&[1][..], &[7, 1, 16, 3, 5], &[40, 1], &[33]] {
            assert!(bits(&model, &prompt, pieces) == whole, "{name}: pieces of {pieces:?}");
        }
        let mut session = session(&model, 256);
        rows(&mut session, &prompt, &[]).expect("logits");
        session.truncate(20).unwrap();
        let again = rows(&mut session, &prompt[20..], &[4]).expect("logits");
        let width = whole.len() / prompt.len();
        let again: Vec<u32> = again.iter().map(|v| v.to_bits()).collect();
        assert!(again == whole[20 * width..], "{name}: fed again after truncate");
        for threads in [2, 5] {
            let options = OpenOptions { threads: Some(threads), ..OpenOptions::default() };
            let model = open(&file, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(bits(&model, &prompt, &[]) == whole, "{name}: {threads} threads");
        }
        for kernels in Kernels::available() {
            let level: Level = kernels.level();
            let options = OpenOptions { level: Some(level), ..one_thread() };
            let model = open(&file, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(bits(&model, &prompt, &[]) == whole, "{name}: level {}", level.name());
        }
    }
}

/// A script that makes goldens must be able to find its parts; nothing here runs the reference.
#[test]
fn the_scripts_parse() {
    let tools = folder().join("../../tools/goldens");
    let scripts = ["models.py", "real.py", "perplexity.py", "tiny_cases.py", "reference.py"];
    let code = "import ast, sys\nfor p in sys.argv[1:]: ast.parse(open(p).read(), p)";
    let mut python = Command::new("python3");
    python.args(["-c", code]).args(scripts.map(|script| tools.join(script)));
    match python.output() {
        Err(_) => recinto_testkit::skipped("the_scripts_parse", "python3 is not there"),
        Ok(out) => {
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
    }
}
