//! Models of stores, as a shell sees them: the list, names in commands, licences.

use crate::shell;

use std::{fs, path::PathBuf, time::Instant};

use recinto_testkit::{
    gguf::Builder,
    stores::{Ollama, Repository, trace},
};
use shell::{Ran, Shell};

const COMMIT: &str = "1111111111111111111111111111111111111111";

fn place(tag: &str) -> String {
    format!("registry.ollama.ai/library/{tag}")
}

/// A shell whose home has both stores; the models in them are a tiny one that runs, and others.
fn stocked(tiny: &[u8]) -> Shell {
    let shell = Shell::new();
    let models = shell.path().join(".ollama/models");
    let shell = shell.env("OLLAMA_MODELS", models.to_str().unwrap());
    let store = Ollama(models);
    let apache = b"Apache License\nVersion 2.0, January 2004";
    store.model(&place("orca/7b"), &[("model", tiny), ("license", apache)]);
    let layers: [(&str, &[u8]); 4] = [
        ("model", tiny),
        ("license", b"Gemma Terms of Use"),
        ("system", "Responde en español.".as_bytes()),
        ("params", br#"{"temperature":0.5,"seed":7,"num_predict":3}"#),
    ];
    store.model(&place("told/latest"), &layers);
    store.manifest(&place("orca/cero"), "");
    let phi = Builder::new()
        .key("general.architecture", "phi9")
        .key("general.file_type", 15u32)
        .key("phi9.context_length", 4096u32)
        .floats("w", &[4], &[0.0; 4]);
    let repo = |name: &str| Repository::new(&shell.path().join(".cache/huggingface/hub"), name);
    let other = Builder::new()
        .key("general.architecture", "qwen2")
        .key("general.license", "cc-by-nc-4.0")
        .tensor_raw("w", &[256], 31, &[0; 144]);
    repo("o/n")
        .reference("main", COMMIT)
        .file(COMMIT, "m-Q4_K_M.gguf", &phi.build())
        .file(COMMIT, "m-IQ2_XXS.gguf", &other.build())
        .link(COMMIT, "m-Q8_0.gguf", &"0".repeat(64));
    repo("o/año").reference("main", COMMIT).file(COMMIT, "m.gguf", tiny);
    let wordless = tokenizer_of(tiny, "qwen9");
    repo("o/one").reference("main", COMMIT).file(COMMIT, "one.gguf", &wordless);
    shell
}

/// The model with another pre-tokenizer of a name that is as long.
fn tokenizer_of(tiny: &[u8], name: &str) -> Vec<u8> {
    let key = b"tokenizer.ggml.pre";
    let at = tiny.windows(key.len()).position(|part| part == key).expect("the key") + key.len();
    let start = at + 4 + 8;
    let length = usize::from(tiny[at + 4]);
    let mut bytes = tiny.to_vec();
    bytes[start..start + length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

fn tiny(test: &str) -> Option<Vec<u8>> {
    shell::tiny(test, "qwen2-plain").map(|path| fs::read(path).unwrap())
}

#[track_caller]
fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

#[test]
fn the_list_says_what_runs_and_why_not() {
    let Some(tiny) = tiny("the_list_says_what_runs_and_why_not") else { return };
    let shell = stocked(&tiny);
    let before = trace(shell.path());
    let json = ok(shell.run(&["models", "--json"])).json();
    let models = json["models"].as_array().unwrap();
    let row = |name: &str| models.iter().find(|row| row["name"] == name).expect(name);
    let names: Vec<&str> = models.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let want =
        ["orca:7b", "orca:cero", "told:latest", "o/n:IQ2_XXS", "o/n:Q4_K_M", "o/n:Q8_0", "o/one"];
    assert_eq!(names, want, "a repository whose name cannot be one is not listed");
    assert_eq!(row("orca:7b")["runs"], true);
    assert_eq!(row("orca:7b")["architecture"], "qwen2");
    assert_eq!(row("orca:7b")["allows"], "open");
    assert_eq!(row("orca:7b")["bytes"], tiny.len() as u64);
    let digest = format!("sha256:{}", recinto_receipt_of(&tiny));
    assert_eq!(row("orca:7b")["claimed_digests"][0], digest.as_str());
    assert_eq!(row("told:latest")["allows"], "terms of use");
    let cases = [
        ("orca:cero", "file", "its manifest "),
        ("o/n:Q8_0", "file", "m-Q8_0.gguf is a link to"),
        ("o/n:Q4_K_M", "architecture", "no arch file serves the architecture `phi9`"),
        ("o/n:IQ2_XXS", "type", "q4_0_4_4"),
        ("o/one", "tokenizer", "qwen9"),
    ];
    for (name, what, why) in cases {
        assert_eq!(row(name)["runs"], false, "{name}");
        assert_eq!(row(name)["lacks"]["what"], what, "{name}: {}", row(name));
        let said = row(name)["lacks"]["why"].as_str().unwrap();
        assert!(said.contains(why), "{name}: {said}");
    }
    // Headers are shown of models that cannot be opened.
    assert_eq!(row("o/n:IQ2_XXS")["architecture"], "qwen2");
    assert_eq!(row("o/n:IQ2_XXS")["allows"], "non-commercial");
    assert_eq!(
        (&row("o/n:Q4_K_M")["quantization"], &row("o/n:Q4_K_M")["context"]),
        (&"Q4_K_M".into(), &4096.into())
    );
    let left = &json["omitted"];
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    assert_eq!((&left[0]["store"], &left[0]["reason"]), (&"hf".into(), &"name".into()));
    assert!(left[0]["first"].as_str().unwrap().ends_with("models--o--año"), "{left}");
    let table = ok(shell.run(&["models"]));
    let said = "1 entry is left out: its name cannot be one of a model (";
    assert!(table.err.contains(said), "{}", table.err);
    let lines: Vec<&str> = table.out().lines().collect();
    assert!(lines[0].starts_with("NAME ") && lines[0].contains("CLAIMED DIGEST"), "{}", lines[0]);
    assert_eq!(lines.len(), want.len() + 1);
    for part in ["orca:cero", "broken: its manifest", "gemma (terms of use)", "  yes"] {
        assert!(table.out().contains(part), "{part} not in: {}", table.out());
    }
    assert!(table.err.contains("note: an architecture is added by an arch file"), "{}", table.err);
    let only = ok(shell.run(&["models", "--json", "--store", "ollama"])).json();
    assert_eq!(only["models"].as_array().unwrap().len(), 3);
    let listed = shell.command(&["models", "--json"]).env("RECINTO_LICENSES", "apache-2.0").spawn();
    let json = ok(shell::finish(listed.unwrap())).json();
    let runs: Vec<&str> = json["models"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["runs"] == true)
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(runs, ["orca:7b"]);
    assert_eq!(trace(shell.path()), before, "nothing was written");
}

fn recinto_receipt_of(bytes: &[u8]) -> String {
    recinto_receipt::sha256(bytes).to_string()
}

#[test]
fn names_of_stores_in_commands() {
    let Some(tiny) = tiny("names_of_stores_in_commands") else { return };
    let shell = stocked(&tiny);
    let json = ok(shell.run(&["ask", "-m", "told", "--json", "¿Qué tal?"])).json();
    assert_eq!((&json["model"], &json["options"]["seed"]), (&"told".into(), &7.into()));
    assert_eq!(json["options"]["max_tokens"], 3, "the store's own limit");
    assert_eq!(json["options"]["temperature"], 0.5);
    let args = ["ask", "-m", "told", "--json", "hola", "--temperature", "0", "--stop", "¡fin!"];
    let json = ok(shell.run(&args)).json();
    assert_eq!(json["options"]["temperature"], 0.0, "the user's goes before it");
    let text = ok(shell.run(&["render", "-m", "told", "--plain", "hola"]));
    assert!(text.out().contains("Responde en español."), "{}", text.out());
    ok(shell.run(&["tokenize", "-m", "orca:7b", "hola"]));
    let text = ok(shell.run(&["inspect", "told"]));
    let parts = [
        "store         Ollama store ",
        "ollama:registry.ollama.ai/library/told:latest",
        "(claimed by the store)",
        "  system      \"Responde en español.\"",
        "  parameter   num_predict = 3",
        "licence       gemma: terms of use (layer)",
    ];
    for part in parts {
        assert!(text.out().contains(part), "{part} not in: {}", text.out());
    }
    let json = ok(shell.run(&["inspect", "--json", "told"])).json();
    assert_eq!(json["store"]["kind"], "ollama");
    assert_eq!(json["store"]["parameters"]["temperature"], 0.5);
    let text = ok(shell.run(&["status", "-m", "told"]));
    for part in ["store         Ollama store ", "weights matches (store)", "gemma (terms of use)"] {
        assert!(text.out().contains(part), "{part} not in: {}", text.out());
    }
    let ran = shell.run(&["ask", "-m", "tolt", "hola"]);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    for part in [
        "error: no model on this machine is called `tolt`\nhint: nothing is downloaded; ",
        ": 3 models, nearest: told:latest, orca:7b",
        "  Hugging Face cache ",
    ] {
        assert!(ran.err.contains(part), "{part} not in: {}", ran.err);
    }
    let ran = shell.run(&["ask", "-m", "told", "--licenses", "mit", "hola"]);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(
        ran.err.contains("its licence is `gemma`") && ran.err.contains("--licenses"),
        "{}",
        ran.err
    );
    let ran = shell.run(&["ask", "-m", "told", "--licenses", "mit,,x", "hola"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn a_home_without_models() {
    let shell = Shell::new().env("OLLAMA_MODELS", "/nowhere/at all");
    let ran = ok(shell.run(&["models"]));
    assert_eq!(ran.out(), "");
    for part in ["note: no models; looked in", "note: Ollama store /nowhere/at all: not there"] {
        assert!(ran.err.contains(part), "{part} not in: {}", ran.err);
    }
    assert_eq!(ok(shell.run(&["models", "-q"])).err, "");
}

/// The model with `to` where `from` stands, which is as long.
fn replaced(tiny: &[u8], from: &str, to: &[u8]) -> Vec<u8> {
    let at = tiny.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
    let mut bytes = tiny.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

/// `RUNS` says what a command would say.
#[test]
fn what_runs_is_what_commands_run() {
    let Some(tiny) = tiny("what_runs_is_what_commands_run") else { return };
    let shell = Shell::new();
    let models = shell.path().join("modelos");
    let shell = shell.env("OLLAMA_MODELS", models.to_str().unwrap());
    let store = Ollama(models);
    let model = |name: &str, layers: &[(&str, &[u8])]| {
        store.model(&place(&format!("{name}/latest")), layers);
    };
    let broken = replaced(&tiny, "endfor", b"endfrr");
    // Type, type of the elements, their number, and the length of the first stand before it.
    let key = b"tokenizer.ggml.merges";
    let merges = tiny.windows(key.len()).position(|part| part == key).unwrap() + key.len() + 24;
    let mut unknown = tiny.clone();
    unknown[merges] = 1;
    // The character may have had more bytes.
    let rest = unknown[merges + 1..].iter_mut().take_while(|byte| **byte & 0xc0 == 0x80);
    rest.for_each(|byte| *byte = 1);
    let missing = replaced(&tiny, "blk.0.ffn_up.weight", b"blk.0.ffn_ux.weight");
    model("sano", &[("model", &tiny)]);
    model("plantilla", &[("model", &broken)]);
    model("suya", &[("model", &broken), ("template", b"{{ .Prompt }}")]);
    model("rota", &[("model", &tiny), ("template", b"{{ .Prompt ")]);
    model("merges", &[("model", &unknown)]);
    model("tensor", &[("model", &missing)]);
    let bert =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert");
    let mut repo = Repository::new(&shell.path().join(".cache/huggingface/hub"), "o/bert");
    for file in ["config.json", "model.safetensors", "tokenizer.json", "modules.json"] {
        repo = repo.file(COMMIT, file, &fs::read(bert.join(file)).unwrap());
    }
    drop(repo.reference("main", COMMIT));
    let cases = [
        ("sano:latest", "ask", "", ""),
        ("plantilla:latest", "", "template", "its chat template: "),
        ("suya:latest", "ask", "", ""),
        ("rota:latest", "ask", "", ""),
        ("merges:latest", "", "tokenizer", "merge 0 "),
        ("tensor:latest", "", "architecture", "blk.0.ffn_up.weight"),
        ("o/bert", "embed", "", ""),
    ];
    let ran = ok(shell.run(&["models", "--json"]));
    let json = ran.json();
    let rows = json["models"].as_array().unwrap();
    assert_eq!(rows.len(), cases.len(), "{json}");
    for (name, command, what, why) in cases {
        let row = rows.iter().find(|row| row["name"] == name).expect(name);
        assert_eq!(row["runs"], !command.is_empty(), "{name}: {row}");
        let args = match command {
            "embed" => vec!["embed", "-m", name, "hola"],
            _ => vec!["ask", "-m", name, "--max-tokens", "1", "hola"],
        };
        let ran = shell.run(&args);
        assert_eq!(ran.code == Some(0), row["runs"] == true, "{name}: {}", ran.err);
        if command.is_empty() {
            assert_eq!(row["lacks"]["what"], what, "{name}: {row}");
            assert!(row["lacks"]["why"].as_str().unwrap().contains(why), "{name}: {row}");
        } else {
            assert_eq!(row["for"], command, "{name}: {row}");
        }
    }
    let ran = ok(shell.run(&["models"]));
    assert!(!ran.err.contains("arch new"), "no arch file is missing: {}", ran.err);
    assert!(ran.out().contains("yes: for embed\n"), "{}", ran.out());
    let args = ["ask", "-m", "plantilla", "--max-tokens", "1", "hola"];
    let ran = shell.run(&args);
    assert!(ran.err.contains("--completion"), "{}", ran.err);
    ok(shell.run(&[&args[..], &["--completion"]].concat()));
}

/// How long a store of 200 models takes is printed, and asserted nowhere.
#[test]
fn two_hundred_models() {
    let Some(tiny) = tiny("two_hundred_models") else { return };
    let shell = Shell::new();
    let models: PathBuf = shell.path().join("modelos");
    let shell = shell.env("OLLAMA_MODELS", models.to_str().unwrap());
    let store = Ollama(models);
    for at in 0..200 {
        let mut bytes = tiny.clone();
        // Each has a digest of its own.
        bytes.extend((at as u32).to_le_bytes());
        store.model(&place(&format!("m{at}/latest")), &[("model", &bytes), ("license", b"MIT")]);
    }
    let began = Instant::now();
    let json = ok(shell.run(&["models", "--json"])).json();
    println!("200 models: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let rows = json["models"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["runs"] == true).count(), 200);
}
