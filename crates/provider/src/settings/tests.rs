//! How settings are resolved: precedence, sources, refusals.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::*;
use crate::secret::SECRETS;

/// A machine with folders for the project, the user and the system.
struct Machine {
    dir: tempfile::TempDir,
    variables: Vec<(OsString, OsString)>,
}

/// The files of settings, the nearest first, as paths below the machine's folder.
const FILES: [&str; 4] = [
    "here/.env",
    "here/recinto.toml",
    "home/.config/recinto/recinto.toml",
    "root/etc/recinto/recinto.toml",
];

impl Machine {
    fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("here")).unwrap();
        let home = dir.path().join("home").into();
        Machine { dir, variables: vec![("HOME".into(), home)] }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(self, path: &str, text: &str) -> Machine {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Machine {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn resolve(&self, flags: &Flags) -> Result<Settings, Error> {
        let (variables, here, root) = (self.variables.clone(), self.at("here"), self.at("root"));
        Settings::resolve_from(flags, &Surroundings { variables, here, root })
    }

    fn settings(&self) -> Settings {
        self.resolve(&Flags::default()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn refusal(&self, name: &str) -> String {
        self.resolve(&Flags::default()).expect_err(name).to_string()
    }
}

/// A value of each setting that is not its default.
fn other(key: &Key) -> &'static str {
    match key.name {
        "provider" => "local",
        "model" => "/año/m.gguf",
        "profile" => "prudente_ñ",
        "judge_provider" => "mock",
        "judge_model" => "/año/juez.gguf",
        "judge_service" => "systemone",
        "judge_base_url" => "http://localhost:8081",
        "judge_api_key_file" => "/año/juez.key",
        "arch_dir" => "/archs",
        "threads" => "3",
        "level" => "portable",
        "pin" => "memory",
        "verify" => "always",
        "kv" => "q8_0",
        "prompt_cache" => "off",
        "trace_file" => "/año/spans.jsonl",
        "trace_content" => "true",
        "lock" => "/otro.lock",
        "licenses" => "apache-2.0,mit",
        "egress_log" => "/año/egress.jsonl",
        "egress_key" => "/año/clave",
        "egress_sync" => "true",
        "base_url" => "http://localhost:8080/v1",
        "wire" => "responses",
        "api_key_file" => "/año/key",
        "silence" => "7.5",
        "retries" => "0",
        "proxy" => "http://proxy.example.com:3128",
        "ca_file" => "/ca.pem",
        "stream" => "off",
        "unsupported" => "error",
        name => panic!("{name}: a value for the tests is missing"),
    }
}

#[test]
fn each_source_against_each_other() {
    for key in KEYS {
        // From the nearest to the farthest: each one of two says something, or both do.
        for first in 0..6 {
            for second in first..6 {
                let mut machine = Machine::new();
                let mut flags = Flags::default();
                let value = other(key);
                for place in [first, second] {
                    machine = match place {
                        0 => {
                            assert!(flags.set(key, value.into()));
                            machine
                        }
                        1 => machine.variable(key.variable, value),
                        2 => {
                            let text = format!("# hola\n{}={value}\n", key.variable);
                            machine.file(FILES[0], &text)
                        }
                        file => {
                            let text = format!("# año\n\n{} = \"{value}\"\n", key.name);
                            machine.file(FILES[file - 2], &text)
                        }
                    };
                }
                let settings = machine.resolve(&flags).unwrap();
                let shown = settings.shown();
                let shown = shown.iter().find(|row| row.key == key).unwrap();
                let name = format!("{}: {first} over {second}", key.name);
                assert_eq!(shown.value.as_deref(), Some(value), "{name}");
                let want = match first {
                    0 => Source::Flag(key.flag),
                    1 => Source::Environment(key.variable),
                    2 => Source::EnvFile { path: machine.at(FILES[0]), line: 2 },
                    file => Source::File { path: machine.at(FILES[file - 2]), line: 3 },
                };
                assert_eq!(shown.source, &want, "{name}");
            }
        }
        let settings = Machine::new().settings();
        let shown = settings.shown();
        let row = shown.iter().find(|row| row.key == key).unwrap();
        assert_eq!((&row.value, row.source), (&None, &Source::Default), "{}", key.name);
    }
}

#[test]
fn one_word_gives_three_names() {
    for key in KEYS {
        assert_eq!(key.flag, format!("--{}", key.name.replace('_', "-")));
        assert_eq!(key.variable, format!("RECINTO_{}", key.name.to_uppercase()));
        let text = format!("{} = {}\n", key.name, key.example);
        let settings = Machine::new().file(FILES[1], &text).settings();
        let set = settings.shown().iter().filter(|row| row.value.is_some()).count();
        assert_eq!(set, 1, "{}: its example can be read", key.name);
    }
    let names: std::collections::BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
}

#[test]
fn values_arrive_with_their_types() {
    let machine =
        KEYS.iter().fold(Machine::new(), |machine, key| machine.variable(key.variable, other(key)));
    let found = machine.settings();
    let at = |key: &'static str| Source::Environment(key);
    assert_eq!(found.provider(), Name::Local);
    assert_eq!(found.model().unwrap().value, "/año/m.gguf");
    assert_eq!(found.arch_dir.as_ref().unwrap().value, Path::new("/archs"));
    assert_eq!(found.threads, Some(Setting { value: 3, source: at("RECINTO_THREADS") }));
    let level = Setting { value: Level::Portable, source: at("RECINTO_LEVEL") };
    assert_eq!(found.level, Some(level));
    assert_eq!(found.pin, Some(Setting { value: Pin::Memory, source: at("RECINTO_PIN") }));
    assert_eq!(found.silence.as_ref().unwrap().value, std::time::Duration::from_millis(7500));
    assert!(!found.stream.as_ref().unwrap().value);
    let verify = Setting { value: Verify::Always, source: at("RECINTO_VERIFY") };
    assert_eq!(found.verify, Some(verify));
    assert_eq!(found.session(Some(7)), SessionOptions { context: Some(7), kv: KvType::Q8_0 });
    assert_eq!((found.reader(), found.judge_model().unwrap()), (Reader::Mock, "/año/juez.gguf"));
    assert_eq!(found.for_judge().model().unwrap().value, "/año/juez.gguf");
    let plain = Machine::new().variable("RECINTO_MODEL", "/m.gguf").settings();
    assert_eq!((plain.reader(), plain.judge_model().unwrap()), (Reader::Gguf, "/m.gguf"));
    assert_eq!(plain.for_judge(), plain);
    let none = Machine::new().settings().judge_model().unwrap_err().to_string();
    assert!(none.contains("\nRECINTO_JUDGE_PROVIDER=gguf\nRECINTO_JUDGE_MODEL=/"), "{none}");
    // Defaults said in words are those of the engine.
    let shown = |name: &str| KEYS.iter().find(|key| key.name == name).unwrap().default.value();
    assert_eq!(shown("pin"), Some(Pin::default().name()));
    assert_eq!(shown("verify"), Some(Verify::default().name()));
    assert_eq!(shown("judge_provider"), Some(Reader::default().name()));
    assert_eq!(shown("judge_service"), Some(plain.judge_service()));
    assert_eq!(shown("kv"), Some(KvType::default().name()));
    assert_eq!(shown("provider"), Some(Machine::new().settings().provider().name()));
}

#[test]
fn keys_of_others_choose_nobody() {
    let machine = Machine::new()
        .variable("ANTHROPIC_API_KEY", "canary")
        .variable("OPENAI_API_KEY", "canary")
        .file(FILES[0], "\nHF_TOKEN=canary\nOPENAI_API_KEY=canary\nRECINTO_API_KEY=canary\n");
    let found = machine.settings();
    assert_eq!((found.provider(), &found.provider), (Name::Local, &None));
    let error = found.model().unwrap_err();
    assert_eq!(error.kind(), &Kind::NoModel);
    let text = error.to_string();
    assert!(text.contains("\nRECINTO_PROVIDER=local\nRECINTO_MODEL=/"), "{text}");
    // They are known by presence, and by nothing else.
    let path = machine.at(FILES[0]);
    let want = [
        ("RECINTO_API_KEY", Source::EnvFile { path: path.clone(), line: 4 }),
        ("ANTHROPIC_API_KEY", Source::Environment("ANTHROPIC_API_KEY")),
        ("OPENAI_API_KEY", Source::Environment("OPENAI_API_KEY")),
        ("HF_TOKEN", Source::EnvFile { path, line: 2 }),
    ];
    assert_eq!(found.secrets, want);
    assert!(SECRETS.len() > 2 && !format!("{found:?}").contains("canary"));
}

#[test]
fn options_of_files() {
    let machine = Machine::new()
        .file(FILES[1], "[options]\nseed = 7\nstop = [\"¡fin!\", \"x\"]\n")
        .file(FILES[2], "[options]\nseed = 1\ntemperature = 0.5\nstop = \"y\"\n")
        .file(FILES[3], "[options]\nlogit_bias = { 42 = -1.5, 7 = 2 }\ndate = 2026-01-31\n");
    let found = machine.settings();
    let options = found.answer_options(Options::default(), |_| false).unwrap();
    let want = Options {
        seed: Some(7),
        temperature: 0.5,
        stop: vec!["¡fin!".into(), "x".into()],
        logit_bias: [(7, 2.0), (42, -1.5)].into(),
        date: Some("2026-01-31".into()),
        ..Options::default()
    };
    assert_eq!(options, want);
    let seed = found.options.iter().find(|row| row.key == "seed").unwrap();
    assert_eq!(seed.source, Source::File { path: machine.at(FILES[1]), line: 2 });
    assert_eq!(found.table("options").count(), 3, "every file's table, for who needs it");
    assert_eq!(found.files, FILES[1..].iter().map(|path| machine.at(path)).collect::<Vec<_>>());
}

#[test]
fn paths_in_files_begin_there() {
    let cases = [
        ("a path", "./m.gguf", "HOME/.config/recinto/./m.gguf"),
        ("a bare file", "m.gguf", "HOME/.config/recinto/m.gguf"),
        ("a prefix", "path:m", "path:HOME/.config/recinto/m"),
        ("home", "~/año.gguf", "HOME/año.gguf"),
        ("whole", "/m.gguf", "/m.gguf"),
        ("a name of a store", "qwen3:0.6b", "qwen3:0.6b"),
        ("another", "hf:o/r:m.gguf", "hf:o/r:m.gguf"),
    ];
    for (name, model, want) in cases {
        let text = format!("model = \"{model}\"\narch_dir = \"archs\"\n");
        let machine = Machine::new().file(FILES[2], &text);
        let home = machine.at("home").display().to_string();
        let found = machine.settings();
        assert_eq!(found.model().unwrap().value, want.replace("HOME", &home), "{name}");
        let folder = found.arch_dir.unwrap().value;
        assert_eq!(folder, machine.at("home/.config/recinto/archs"), "{name}");
        // In the working directory they mean the same as on the command line, and stay as given.
        let machine = Machine::new().file(FILES[1], "model = \"./m.gguf\"\narch_dir = \"a\"\n");
        let found = machine.settings();
        assert_eq!(found.model().unwrap().value, "./m.gguf");
        assert_eq!(found.arch_dir.unwrap().value, Path::new("a"));
    }
    // A `.env` elsewhere, too.
    let machine = Machine::new().file("other/.env", "RECINTO_MODEL=./m.gguf\n");
    let env_file = EnvFile::At(machine.at("other/.env"));
    let found = machine.resolve(&Flags { env_file, ..Flags::default() }).unwrap();
    let want = machine.at("other/./m.gguf").display().to_string();
    assert_eq!(found.model().unwrap().value, want);
}

#[test]
fn which_file_is_the_projects() {
    let base = || {
        Machine::new()
            .file(FILES[1], "threads = 1\n")
            .file("here/otro.toml", "threads = 2\n")
            .file("cfg/more.toml", "threads = 3\n")
            .file(FILES[2], "threads = 4\nkv = \"f16\"\n")
    };
    let flag = |config| Flags { config, ..Flags::default() };
    let usual = || flag(ConfigFile::Usual);
    let cases = [
        ("usual", base(), usual(), Some(1), true),
        ("flag", base(), flag(ConfigFile::At("otro.toml".into())), Some(2), true),
        ("variable", base().variable("RECINTO_CONFIG", "../cfg/more.toml"), usual(), Some(3), true),
        ("a line", base().file(FILES[0], "RECINTO_CONFIG=otro.toml\n"), usual(), Some(2), true),
        (
            "flag over variable",
            base().variable("RECINTO_CONFIG", "none"),
            flag(ConfigFile::At("otro.toml".into())),
            Some(2),
            true,
        ),
        ("none by flag", base(), flag(ConfigFile::Ignored), None, false),
        ("none by variable", base().variable("RECINTO_CONFIG", "none"), usual(), None, false),
        (
            "variable over line",
            base().file(FILES[0], "RECINTO_CONFIG=none\n").variable("RECINTO_CONFIG", "otro.toml"),
            usual(),
            Some(2),
            true,
        ),
    ];
    for (name, machine, flags, threads, kv) in cases {
        let found = machine.resolve(&flags).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found.threads.map(|setting| setting.value), threads, "{name}");
        assert_eq!(found.kv.is_some(), kv, "{name}: the user's file");
    }
    // A file of a folder above is not looked at.
    let machine = base();
    let around = Surroundings {
        variables: machine.variables.clone(),
        here: machine.at("here/below"),
        root: machine.at("root"),
    };
    let found = Settings::resolve_from(&usual(), &around).unwrap();
    assert_eq!(found.threads.map(|setting| setting.value), Some(4));
    for (name, value, part) in [
        ("missing", "no.toml", "no.toml: cannot read it"),
        ("empty", "", "environment variable RECINTO_CONFIG: the value is empty"),
        ("a folder", "/", "it is a folder, not a file"),
    ] {
        let text = base().variable("RECINTO_CONFIG", value).refusal(name);
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[test]
fn faults_of_variables() {
    let cases: &[(&str, &str, &str, Kind, &[&str])] = &[
        (
            "unknown provider",
            "RECINTO_PROVIDER",
            "antropic",
            Kind::UnknownProvider,
            &["environment variable RECINTO_PROVIDER: unknown provider `antropic`", "known: local"],
        ),
        ("near is not equal", "RECINTO_PROVIDER", "Local", Kind::UnknownProvider, &["`Local`"]),
        ("empty", "RECINTO_MODEL", " ", Kind::Setting, &["RECINTO_MODEL: the value is empty"]),
        (
            "no thread",
            "RECINTO_THREADS",
            "0",
            Kind::Setting,
            &["from 1 to 1024 is needed, not `0`"],
        ),
        ("word", "RECINTO_THREADS", "dos", Kind::Setting, &["from 1 to 1024 is needed, not `dos`"]),
        ("half", "RECINTO_THREADS", "1.5", Kind::Setting, &["is needed, not `1.5`"]),
        ("level", "RECINTO_LEVEL", "avx", Kind::Setting, &["unknown level `avx`", "portable"]),
        ("pin", "RECINTO_PIN", "disk", Kind::Setting, &["RECINTO_PIN: one of off, memory is"]),
        ("kv", "RECINTO_KV", "q4_0", Kind::Setting, &["one of bf16, f16, q8_0 is needed, not `q4"]),
        ("kv near", "RECINTO_KV", "BF16", Kind::Setting, &["one of bf16, f16, q8_0 is needed"]),
        (
            "licenses",
            "RECINTO_LICENSES",
            "mit,,gemma",
            Kind::Name(recinto_store::Kind::Invalid),
            &["RECINTO_LICENSES: ids of licences and digests are needed", "as in `apache-2.0"],
        ),
        ("verify", "RECINTO_VERIFY", "no", Kind::Setting, &["one of cached, always is needed"]),
        (
            "unknown variable",
            "RECINTO_MODLE",
            "canary",
            Kind::Setting,
            &["environment: unknown variable RECINTO_MODLE", "the nearest is `RECINTO_MODEL`"],
        ),
    ];
    for (name, key, value, kind, parts) in cases {
        let error = Machine::new().variable(key, value).resolve(&Flags::default());
        let error = error.expect_err(name);
        assert_eq!(error.kind(), kind, "{name}");
        for part in *parts {
            assert!(error.to_string().contains(part), "{name}: {part} not in: {error}");
        }
        assert!(!error.to_string().contains("canary"), "{name}: {error}");
    }
    // What is for tests and scripts is let through.
    Machine::new().variable("RECINTO_TEST_MODELS", "/x").variable("RECINTO_BLESS", "1").settings();
    // A long value may be a key: it is not repeated. Paths, names and lists can be any text.
    let free = [
        "model",
        "profile",
        "judge_model",
        "arch_dir",
        "lock",
        "licenses",
        "egress_log",
        "trace_file",
    ];
    for key in KEYS.iter().filter(|key| !free.contains(&key.name)) {
        let secret = "sk-ant-0123456789-canary";
        let text = Machine::new().variable(key.variable, secret).refusal(key.name);
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn faults_of_files() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("key", "\nthread = 2\n", "line 2, column 1", &["key `thread`", "nearest is `threads`"]),
        ("dash", "arch-dir = 2\n", "line 1, column 1", &["`arch-dir`", "nearest is `arch_dir`"]),
        ("value", "pin = 'off'\n threads = 'dos'\n", "line 2, column 12", &["threads: a", "`dos`"]),
        ("number", "threads = -1\n", "line 1, column 11", &["threads: a number from 1", "`-1`"]),
        ("long value", "kv = 'sk-ant-0123456789-xyz'\n", "line 1", &["one of bf16, f16, q8_0"]),
        ("list", "model = ['a']\n", "line 1, column 9", &["model: one value is needed, as in `"]),
        ("table for key", "[model]\nx = 1\n", "line 1", &["model: one value is needed"]),
        ("empty", "model = ''\n", "line 1", &["model: the value is empty"]),
        (
            "table",
            "[option]\nseed = 1\n",
            "line 1, column 2",
            &["unknown table `option`", "known: "],
        ),
        ("key for table", "options = 1\n", "line 1", &["`options` is a table"]),
        ("option above", "seed = 1\n", "line 1", &["key `seed`", "stands below `[options]`"]),
        (
            "option",
            "[options]\ntemprature = 1\n",
            "line 2, column 1",
            &["nearest is `temperature`"],
        ),
        (
            "word",
            "[options]\nseed = 'uno'\n",
            "line 2, column 8",
            &["`seed` must be a whole", "uno"],
        ),
        ("bound", "[options]\ntop_p = 2\n", "line 2", &["`top_p` must be above 0", "not `2`"]),
        ("NaN", "[options]\ntemperature = nan\n", "line 2", &["`temperature` must be 0, or"]),
        ("form", "[options]\nlogit_bias = [1]\n", "line 2", &["a table of ids and numbers"]),
        ("no list", "[options]\nseed = [1]\n", "line 2", &["option `seed` must be one value"]),
        ("secret", "ANTHROPIC_API_KEY = 'canary'\n", "line 1", &["is a secret", ".env"]),
        ("no TOML", "model = canary\n", "line 1", &[]),
    ];
    for (name, text, place, parts) in cases {
        for file in &FILES[1..] {
            let machine = Machine::new().file(file, text);
            // Although a flag goes before it.
            let flags = Flags { threads: Some("1".into()), ..Flags::default() };
            let error = machine.resolve(&flags).expect_err(name).to_string();
            let path = machine.at(file).display().to_string();
            assert!(error.starts_with(&format!("{path}, {place}")), "{name}: {error}");
            for part in *parts {
                assert!(error.contains(part), "{name}: {part} not in: {error}");
            }
            assert!(!error.contains("canary") && !error.contains("sk-ant"), "{name}: {error}");
            let ignored = Flags { config: ConfigFile::Ignored, ..Flags::default() };
            assert!(machine.resolve(&ignored).is_ok(), "{name}");
        }
    }
    let text = Machine::new().file(FILES[0], "\nRECINTO_MODLE=x\n").refusal(".env");
    assert!(text.contains("line 2: unknown key RECINTO_MODLE\nhint: the nearest is"), "{text}");
}

/// A user number that the tests do not run as.
const SOMEBODY: u32 = 64_242;

#[test]
fn files_of_others_are_refused() {
    for file in FILES {
        let text = if file.ends_with(".env") { "RECINTO_KV=f16\n" } else { "kv = \"f16\"\n" };
        let machine = Machine::new().file(file, text);
        let chmod = |mode| {
            fs::set_permissions(machine.at(file), fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(0o646);
        let refused = machine.refusal(file);
        assert!(refused.contains("others may write to it (mode 0646)"), "{file}: {refused}");
        assert!(refused.contains("chmod go-w"), "{file}: {refused}");
        chmod(0o644);
        assert!(machine.settings().kv.is_some(), "{file}");
        if std::os::unix::fs::chown(machine.at(file), Some(SOMEBODY), None).is_ok() {
            let refused = machine.refusal(file);
            assert!(refused.contains("owned by another user"), "{file}: {refused}");
        }
    }
    // Only of the machine's file may root be the owner, whoever asks.
    if recinto_os::owner::user() != 0 {
        let flags = Flags { config: ConfigFile::At("/etc/hostname".into()), ..Flags::default() };
        let refused = Machine::new().resolve(&flags).unwrap_err().to_string();
        assert!(refused.contains("owned by another user"), "{refused}");
    }
    let machine = Machine::new();
    std::os::unix::fs::symlink("/nothing/there", machine.at(FILES[1])).unwrap();
    assert!(machine.refusal("a link").contains("it is a link that leads to nothing"));
}

#[test]
fn the_docs_have_every_name() {
    let docs = include_str!("../../../../docs/configuration.md");
    let written = |cells: usize| -> Vec<Vec<&str>> {
        let rows = docs.lines().filter(|line| line.starts_with("| `"));
        rows.map(|line| line.trim().trim_matches('|').split('|').map(str::trim).collect())
            .filter(|row: &Vec<&str>| row.len() == cells)
            .collect()
    };
    let code = |text: &str| format!("`{text}`");
    let settings = KEYS.iter().map(|key| {
        let default = key.default.text().unwrap_or("–");
        let flag = key.short.map_or(code(key.flag), |c| format!("`-{c}`, {}", code(key.flag)));
        let names = [code(key.name), flag, code(key.variable), code(key.example)];
        names.into_iter().chain([default.into(), key.about.into()]).collect::<Vec<String>>()
    });
    assert_eq!(written(6), settings.collect::<Vec<_>>(), "settings");
    let options =
        crate::OPTIONS.iter().map(|row| vec![code(row.key), code(row.example), row.about.into()]);
    assert_eq!(written(3), options.collect::<Vec<_>>(), "options");
    let tables = crate::TABLES
        .iter()
        .map(|table| vec![code(&format!("[{}]", table.name)), table.about.to_owned()]);
    assert_eq!(written(2), tables.collect::<Vec<_>>(), "tables");
}

#[test]
fn every_option_of_the_engine_has_its_row() {
    let keys: Vec<&str> = crate::OPTIONS.iter().map(|row| row.key).collect();
    assert_eq!(keys, Options::KEYS);
    for row in crate::OPTIONS {
        let text = format!("[options]\n{} = {}\n", row.key, row.example);
        let found = Machine::new().file(FILES[1], &text).settings();
        assert_eq!(found.options.len(), 1, "{}", row.key);
        found.answer_options(Options::default(), |_| false).unwrap();
    }
    // Examples of what has a default are the default.
    let plain = [
        "seed",
        "stop",
        "logit_bias",
        "thinking",
        "thinking_tokens",
        "logprobs",
        "date",
        "deadline",
    ];
    let text: String = crate::OPTIONS
        .iter()
        .filter(|row| !plain.contains(&row.key))
        .map(|row| format!("{} = {}\n", row.key, row.example))
        .collect();
    let found = Machine::new().file(FILES[1], &format!("[options]\n{text}")).settings();
    assert_eq!(found.answer_options(Options::default(), |_| false).unwrap(), Options::default());
}

/// Words of prompts go where the person who runs the program says, and no file can say it.
#[test]
fn no_file_can_ask_for_words_in_spans() {
    let cases = [
        ("nobody", Machine::new(), Ok(false)),
        ("environment", Machine::new().variable("RECINTO_TRACE_CONTENT", "true"), Ok(true)),
        (".env", Machine::new().file(FILES[0], "RECINTO_TRACE_CONTENT=true\n"), Err("here/.env")),
        ("a file", Machine::new().file(FILES[1], "trace_content = true\n"), Err("here/recinto")),
        ("a file, off", Machine::new().file(FILES[1], "trace_content = false\n"), Ok(false)),
    ];
    for (name, machine, want) in cases {
        match (machine.settings().traces_content(), want) {
            (Ok(found), Ok(want)) => assert_eq!(found, want, "{name}"),
            (Err(error), Err(place)) => {
                assert_eq!(error.kind(), &Kind::Setting, "{name}");
                assert!(error.to_string().contains(place), "{name}: {error}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}
