//! What each program is made of: `recinto-local` of no crate that could open a socket, and of no
//! function of the system that does; `recinto` of no C but ring's.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Crates of which any would mean that something could be sent.
const NETWORK: &[&str] = &[
    "reqwest",
    "hyper",
    "hyper-util",
    "hyper-rustls",
    "h2",
    "h3",
    "quinn",
    "rustls",
    "tokio-rustls",
    "ring",
    "aws-lc-rs",
    "aws-lc-sys",
    "native-tls",
    "openssl",
    "openssl-sys",
    "tokio",
    "mio",
    "socket2",
    "async-std",
    "smol",
    "ureq",
    "curl",
    "curl-sys",
    "isahc",
    "attohttpc",
    "minreq",
    "tungstenite",
    "tonic",
    "axum",
    "genai",
    "recinto-remote",
];

/// Crates that nothing here may bring: other people's C, or a second TLS.
const NEVER: &[&str] = &["aws-lc-sys", "aws-lc-rs", "openssl-sys", "native-tls", "onig_sys"];

/// Functions of the C library that reach another machine. Not among them is `socketpair`, whose
/// two ends are both in this process: the standard library starts other programs with it.
const CALLS: &[&str] =
    &["socket", "connect", "bind", "listen", "accept", "accept4", "getaddrinfo", "sendto"];

fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The crates that a program is made of on this machine, build scripts included.
fn crates(args: &[&str]) -> Vec<String> {
    let fixed = ["tree", "--locked", "--offline", "-e", "normal,build", "--prefix", "none"];
    let lines = cargo(&[&fixed, args].concat());
    lines.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

#[test]
fn crates_of_each_program() {
    let none: &[(&str, &[&str])] = &[
        ("recinto-local", &["-p", "recinto-local"]),
        ("the command without its default", &["-p", "recinto-cli", "--no-default-features"]),
        ("the library", &["-p", "recinto"]),
        ("the providers", &["-p", "recinto-provider"]),
    ];
    for (name, args) in none {
        let found = crates(args);
        assert!(found.len() > 20 && found.contains(&"recinto-engine".to_owned()), "{name}");
        let bad: Vec<&String> = found.iter().filter(|n| NETWORK.contains(&n.as_str())).collect();
        assert!(bad.is_empty(), "{name} is made of {bad:?}");
    }
    // The list has names that mean something.
    let all = crates(&["-p", "recinto-cli"]);
    for name in ["reqwest", "rustls", "ring", "tokio", "recinto-remote"] {
        assert!(NETWORK.contains(&name) && all.iter().any(|found| found == name), "{name}");
    }
    let bad: Vec<&String> = all.iter().filter(|name| NEVER.contains(&name.as_str())).collect();
    assert!(bad.is_empty(), "recinto is made of {bad:?}");
}

#[test]
fn the_only_c_is_rings() {
    let above = cargo(&[
        "tree",
        "--locked",
        "--offline",
        "-p",
        "recinto-cli",
        "-e",
        "normal,build",
        "-i",
        "cc",
        "--depth",
        "1",
        "--prefix",
        "none",
    ]);
    let names: Vec<&str> = above
        .lines()
        .skip(1)
        .filter_map(|l| l.split(' ').next())
        .filter(|n| !n.is_empty())
        .collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.starts_with('[')).collect();
    assert_eq!(names, ["ring"], "who compiles C: {above}");
}

/// Whether a program of ELF with 64 bits takes `function` from a library of the system: whether it
/// is among the names of its dynamic symbols. Other tables hold names of its own.
fn names(bytes: &[u8], function: &str) -> bool {
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0usize, |n, byte| n << 8 | usize::from(*byte))
    };
    assert_eq!(
        (&bytes[..4], bytes[4], bytes[5]),
        (&b"\x7fELF"[..], 2, 1),
        "64 bits, little end first"
    );
    let (table, size, count) = (number(0x28, 8), number(0x3A, 2), number(0x3C, 2));
    let section = |index: usize| table + index * size;
    // Type 11 holds dynamic symbols; its link is the section of their names.
    let symbols = (0..count).map(section).find(|at| number(at + 4, 4) == 11).expect("symbols");
    let names = section(number(symbols + 0x28, 4));
    let (from, len) = (number(names + 0x18, 8), number(names + 0x20, 8));
    bytes[from..from + len].split(|byte| *byte == 0).any(|name| name == function.as_bytes())
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn recinto_local_calls_nothing_that_sends() {
    // Alone: together with `recinto` it would share the features of that.
    let built = ["build", "--quiet", "--locked", "--offline", "--profile", "imports"];
    cargo(&[&built[..], &["-p", "recinto-local"]].concat());
    let recinto = PathBuf::from(env!("CARGO_BIN_EXE_recinto"));
    let local = recinto.parent().unwrap().with_file_name("imports").join("recinto-local");
    let (recinto, bytes) = (std::fs::read(&recinto).unwrap(), std::fs::read(&local).unwrap());
    for function in ["open64", "mmap64"] {
        assert!(names(&bytes, function) || names(&bytes, &function[..4]), "{function}: no control");
    }
    for function in CALLS {
        assert!(!names(&bytes, function), "recinto-local calls {function}");
    }
    for function in ["socket", "connect", "getaddrinfo"] {
        assert!(names(&recinto, function), "recinto calls {function}");
    }
    let run = |args: &[&str]| {
        let output = Command::new(&local)
            .args(args)
            .env_clear()
            .env("OPENAI_API_KEY", "sk-canary")
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), out, String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, _) = run(&["--version"]);
    assert!(code == Some(0) && out.starts_with("recinto-local "), "{out}");
    // Built without `otel`: asked for spans, it says so and does nothing.
    let (code, out, err) = run(&["ask", "canary", "--trace-file", "s.jsonl", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["error"]["kind"]), (Some(2), &serde_json::json!("not-built")), "{err}");
    assert!(err.contains("feature `otel`") && !err.contains("canary"), "{err}");
    let args = ["ask", "--provider", "openai", "-m", "gpt-4.1", "hola", "--json"];
    let (code, out, err) = run(&args);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["error"]["kind"]), (Some(2), &serde_json::json!("not-built")), "{err}");
    assert!(!err.contains("canary") && err.contains("recinto-local"), "{err}");
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state.txt");
    std::fs::write(&state, "canary").unwrap();
    let ask = ["--whether", "¿canary?", "--json", "-f", state.to_str().unwrap()];
    let judge = ["judge", "--judge-provider", "hosted", "--judge-model", "jev-1.13.0"];
    let (code, out, err) = run(&[&judge[..], &ask].concat());
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["error"]["kind"]), (Some(2), &serde_json::json!("not-built")), "{err}");
    assert!(!err.contains("canary") && err.contains("recinto-local"), "{err}");
}

/// Licences that let anybody use, change and pass on.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "0BSD",
    "Unlicense",
    "BSL-1.0",
    "MIT-0",
];

#[test]
fn licences_of_others_are_open() {
    let text = cargo(&[
        "metadata",
        "--locked",
        "--offline",
        "--format-version",
        "1",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]);
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = told["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    for package in packages {
        let name = &package["name"];
        let licence = package["license"].as_str().unwrap_or_default().replace('/', " OR ");
        let plain = licence.replace(['(', ')'], " ").replace(" WITH LLVM-exception", "");
        // One of several will do; of those that hold together, each must.
        let open = plain
            .split(" OR ")
            .any(|all| all.split(" AND ").all(|one| LICENCES.contains(&one.trim())));
        assert!(open, "{name}: {licence}");
    }
}
