//! Profiles with a host and a key of their own: each key goes to its host and to no other one, and
//! what cannot be is a clear error that shows no key.

use crate::shell;

use std::{fs, os::unix::fs::PermissionsExt, process::Command, time::Instant};

use recinto_testkit::service::{Act, Service};
use serde_json::{Value, json};
use shell::{Ran, Shell};

/// A service whose every answer is `pagos`.
fn service() -> Service {
    let content = json!({ "answer": "pagos" }).to_string();
    let body = json!({
        "id": "x", "model": "m-2026", "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": content }
        }],
        "usage": { "prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35 }
    });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    Service::start(vec![Act::Send(format!("{head}{body}").into_bytes())])
}

/// The keys that a service was sent, in turn; an empty one where there was none.
fn keys(service: &Service) -> Vec<String> {
    let seen = service.seen();
    let key = |header: Option<&str>| header.unwrap_or_default().replace("Bearer ", "");
    seen.iter().map(|seen| key(seen.header("authorization"))).collect()
}

const TEXT: &str = "¿Por qué hay dos cobros a la señora Núñez?";

fn ask(shell: &Shell, more: &[&str]) -> Ran {
    shell.run(&[&["ask", TEXT, "--json"], more].concat())
}

/// Three hosts; the process's own, and those of two profiles.
struct Hosts {
    own: Service,
    a: Service,
    b: Service,
    shell: Shell,
}

impl Hosts {
    /// The shell with the files of all of them, and `more` in its `recinto.toml`.
    fn new(more: &str) -> Hosts {
        let (own, a, b) = (service(), service(), service());
        let shell = Shell::new()
            .env("RECINTO_API_KEY", "clave-propia")
            .env("CLAVE_B", "clave-b")
            .env("OPENAI_API_KEY", "sk-de-openai");
        // As an editor of another system leaves it.
        shell.write("a.key", "clave-a\r\n");
        shell.write(".env", "CLAVE_C=clave-c\nCLAVE_VACIA=\n");
        let policies: String =
            [&own, &a, &b].map(|service| service.policy("openai-compatible")).concat();
        let (at_a, at_b) = (a.base_url(), b.base_url());
        let text = format!(
            "base_url = \"{}\"\nretries = 0\nstream = \"off\"\n{policies}\n[profiles]\n\
             plain = \"openai-compatible/m\"\n\
             a = {{ model = \"openai-compatible/ma\", base_url = \"{at_a}\", key_file = \"a.key\" }}\n\
             b = {{ model = \"openai-compatible/mb\", base_url = \"{at_b}\", key_env = \"CLAVE_B\" }}\n\
             c = {{ model = \"openai-compatible/mc\", base_url = \"{at_b}\", key_env = \"CLAVE_C\" }}\n\
             bare = {{ model = \"openai-compatible/m\", base_url = \"{at_a}\" }}\n\
             quick = {{ model = \"openai-compatible/m\", silence = 30 }}\n{more}",
            own.base_url()
        );
        shell.write("recinto.toml", text);
        Hosts { own, a, b, shell }
    }

    fn seen(&self) -> [Vec<String>; 3] {
        [&self.own, &self.a, &self.b].map(keys)
    }
}

#[test]
fn each_key_goes_to_its_host() {
    let hosts = Hosts::new("");
    // A profile, and the keys that each host was sent by then.
    let cases: [(&str, usize, &str); 6] = [
        ("plain", 0, "clave-propia"),
        ("a", 1, "clave-a"),
        ("b", 2, "clave-b"),
        ("c", 2, "clave-c"),
        // The process's key is not for another host.
        ("bare", 1, ""),
        // Words that name neither host nor key leave both as they are.
        ("quick", 0, "clave-propia"),
    ];
    let mut want: [Vec<String>; 3] = Default::default();
    for (profile, host, key) in cases {
        let ran = ask(&hosts.shell, &["--profile", profile]);
        assert_eq!(ran.code, Some(0), "{profile}: {}", ran.err);
        want[host].push(key.to_owned());
        assert_eq!(hosts.seen(), want, "{profile}");
        assert_eq!(ran.json()["route"]["profile"], json!(profile), "{profile}");
    }
    // What is said for one run moves no key either: a flag is an error, others are not heard.
    for flag in [["--base-url", "http://localhost:1/v1"], ["--api-key-file", "./a.key"]] {
        let ran = ask(&hosts.shell, &[&["--profile", "b"][..], &flag].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("`b` has a host or a key of its own"), "{}", ran.err);
    }
    let own = hosts.own.base_url();
    hosts.shell.write(".env", format!("CLAVE_C=c\nRECINTO_BASE_URL={own}\nRECINTO_API_KEY=otra\n"));
    let ran = ask(&hosts.shell, &["--profile", "b"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    want[2].push("clave-b".into());
    assert_eq!(hosts.seen(), want);
}

#[test]
fn the_wall_judges_the_host_of_a_profile() {
    let hosts = Hosts::new("");
    let text = fs::read_to_string(hosts.shell.path().join("recinto.toml")).unwrap();
    // The rows of `a` go: it is one of this machine, and a service like any other.
    let without = text.replace(&hosts.a.policy("openai-compatible"), "");
    hosts.shell.write("recinto.toml", without);
    let ran = ask(&hosts.shell, &["--profile", "a"]);
    assert_eq!(
        (ran.code, &ran.json()["error"]["kind"]),
        (Some(4), &json!("refused")),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(&hosts.a.host()), "{}", ran.err);
    for profile in ["b", "plain"] {
        let ran = ask(&hosts.shell, &["--profile", profile]);
        assert_eq!(ran.code, Some(0), "{profile}: {}", ran.err);
    }
    assert!(hosts.a.seen().is_empty());
    // The log of sends names each host.
    let log = hosts.shell.path().join(".local/state/recinto/egress.jsonl");
    let log = fs::read_to_string(log).unwrap();
    let to: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let to: Vec<&str> = to.iter().filter_map(|line| line["host"].as_str()).collect();
    let near = |service: &Service| format!("http://{}", service.host());
    assert_eq!(to.len(), 2, "{to:?}");
    assert!(near(&hosts.b).ends_with(to[0].trim_start_matches("http://")), "{to:?}");
}

#[test]
fn cascades_reach_two_hosts() {
    let Some(model) = shell::tiny("hosts of cascades", "qwen2-quant") else { return };
    let model = model.display();
    let hosts = Hosts::new(&format!(
        "fast = \"local/{model}\"\n[cascade]\nto_a = {{ first = \"fast\", below = 2, then = \"a\" }}\n\
         to_b = {{ first = \"fast\", below = 2, then = \"b\" }}\n[tasks]\ndecide = \"to_a\"\n"
    ));
    let labels = ["decide", TEXT, "-l", "pagos", "-l", "acceso", "--json"];
    let cases: [(&str, &[&str], &str); 2] =
        [("the task's", &[], "ma"), ("another one", &["--profile", "to_b"], "mb")];
    for (name, more, want) in cases {
        let ran = hosts.shell.run(&[&labels, more].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let told = ran.json();
        let found = (&told["label"], &told["model"], &told["route"]["escalated"]);
        assert_eq!(found, (&json!("pagos"), &json!(want), &json!(true)), "{name}: {told}");
    }
    assert_eq!(hosts.seen(), [vec![], vec!["clave-a".to_owned()], vec!["clave-b".to_owned()]]);
}

#[test]
fn status_tells_of_keys_that_they_are_there() {
    let hosts = Hosts::new(
        "gone = { model = \"openai-compatible/m\", base_url = \"http://localhost:1\", \
         key_file = \"no.key\" }\n\
         unset = { model = \"openai/m\", key_env = \"CLAVE_VACIA\" }\n\
         vendor = { model = \"openai/m\", base_url = \"https://api.openai.com/v1\" }\n",
    );
    let ran = hosts.shell.run(&["status", "--provider", "mock"]);
    let (at_a, at_b) = (hosts.a.base_url(), hosts.b.base_url());
    let parts = [
        format!("a = openai-compatible/ma at {at_a}, key in a.key ("),
        format!("b = openai-compatible/mb at {at_b}, key in CLAVE_B (environment, CLAVE_B) ("),
        format!("c = openai-compatible/mc at {at_b}, key in CLAVE_C ("),
        format!("bare = openai-compatible/m at {at_a}, no key ("),
        "plain = openai-compatible/m (".to_owned(),
        "), and is not there (".to_owned(),
        "unset = openai/m, key in CLAVE_VACIA, which is not set (".to_owned(),
        "key in OPENAI_API_KEY (environment, OPENAI_API_KEY)".to_owned(),
    ];
    for part in parts {
        assert!(ran.out().contains(&part), "{part} in {}", ran.out());
    }
    for key in ["clave-", "sk-de"] {
        assert!(!ran.out().contains(key) && !ran.err.contains(key), "{}", ran.out());
    }
    let told = hosts.shell.run(&["status", "--provider", "mock", "--json"]).json();
    let rows = told["settings"]["mapping"]["profiles"].as_array().unwrap();
    let b = rows.iter().find(|row| row["name"] == "b").unwrap();
    assert_eq!(
        (&b["base_url"], &b["key"]),
        (&json!(at_b), &json!("CLAVE_B (environment, CLAVE_B)"))
    );
    assert!(rows.iter().any(|row| row["name"] == "plain" && row.get("key").is_none()), "{told}");
}

/// A table of `[profiles.x]` and what is said of it.
#[test]
fn what_no_profile_can_say() {
    let table = |words: &str| format!("[profiles.x]\nmodel = \"openai-compatible/m\"\n{words}\n");
    let at = |words: &str| table(&format!("base_url = \"http://localhost:1/v1\"\n{words}"));
    let cases = [
        ("a key", at("api_key = \"canary\""), "line 4, column 1: `api_key` is a secret"),
        ("a key of another name", at("key = \"canary\""), "profile `x`: `key` is a secret"),
        ("a token", at("Authorization = \"canary\""), "`Authorization` is a secret"),
        ("a key for a variable", at("key_env = \"sk-canary_A\""), "and this may be a key"),
        ("one of capitals", at("key_env = \"AKIACANARY\""), "and this may be a key"),
        ("a key for a file", at("key_file = \"sk-canary\""), "this may be a key"),
        (
            "a long one for a file",
            at(&format!("key_file = \"eyJ{0}.{0}.canary\"", "a".repeat(40))),
            "this may be a key",
        ),
        ("our own", at("key_env = \"RECINTO_API_KEY\""), "this program's own"),
        ("both", at("key_env = \"UNA_CLAVE\"\nkey_file = \"./a\""), "are both there"),
        ("unknown", at("keyfile = \"./canary\""), "line 4, column 1: unknown word of a profile"),
        ("near", at("wires = \"chat\""), "the nearest is `wire`"),
        ("a number", at("key_env = 5"), "the name of a variable is needed"),
        ("a list", at("key_file = [\"./a\"]"), "`key_file`: one value is needed"),
        ("a table", at("wire = { a = 1 }"), "`wire`: one value is needed"),
        ("empty", at("key_file = \"\""), "`key_file`: one value is needed that is not empty"),
        ("a wire", at("wire = \"otro\""), "`wire`: one of chat, responses, messages is needed"),
        ("retries", at("retries = -1"), "`retries`: a number from 0 to 10 is needed, not `-1`"),
        ("silence", at("silence = \"canary canary canary\""), "seconds are needed"),
        ("an address", table("base_url = \"https://u:canary@h/v1\""), "an address is needed"),
        ("no host", table("key_env = \"UNA_CLAVE\""), "and `base_url` is missing"),
        (
            "here",
            "[profiles.x]\nmodel = \"local/m\"\nretries = 1\n".into(),
            "`local` sends nothing",
        ),
        ("no model", "[profiles.x]\nwire = \"chat\"\n".into(), "`model` is missing"),
        ("a number for all", "[profiles]\nx = 5\n".into(), "line 2, column 5: profile `x`: a text"),
        ("nobody's task", at("[tasks]\nask = \"y\""), "line 5: unknown profile or cascade `y`"),
    ];
    for (name, text, part) in cases {
        let shell = Shell::new();
        shell.write("recinto.toml", text);
        let ran = shell.run(&["ask", TEXT, "--profile", "x"]);
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{name}: {}", ran.err);
        assert!(
            ran.err.contains("recinto.toml, line ") && ran.err.contains(part),
            "{name}: {}",
            ran.err
        );
        assert!(!ran.err.to_lowercase().contains("canary"), "{name}: {}", ran.err);
    }
}

/// What a key's file or variable can be, and what is said of it.
#[test]
fn what_is_no_key() {
    let to = service();
    let shell = Shell::new()
        .env("OPENAI_API_KEY", "sk-canary")
        .env("TYPESAFE_API_KEY", "canary")
        .env("CLAVE_VACIA", "")
        .env("CLAVE_LARGA", &"canary".repeat(1000))
        .env("CLAVE_ROTA", "canary\r\nX-Otra: 1");
    let path = |name: &str| shell.path().join(name);
    fs::create_dir(path("carpeta.d")).unwrap();
    assert!(Command::new("mkfifo").arg(path("tubo.f")).status().unwrap().success());
    std::os::unix::fs::symlink("nada", path("enlace.key")).unwrap();
    let files: [(&str, Vec<u8>); 7] = [
        ("vacia.key", vec![]),
        ("blancos.key", b" \r\n".to_vec()),
        ("mega.key", vec![b'k'; 1_000_000]),
        ("mas.key", vec![b'k'; (1 << 20) + 1]),
        ("dos.key", b"canary\ncanary\n".to_vec()),
        ("latin.key", b"canary-\xf1".to_vec()),
        ("abierta.key", b"canary".to_vec()),
    ];
    for (name, bytes) in &files {
        shell.write(name, bytes);
    }
    fs::set_permissions(path("abierta.key"), fs::Permissions::from_mode(0o646)).unwrap();
    let cases = [
        ("key_file", "carpeta.d", "it is a folder"),
        ("key_file", "tubo.f", "not a regular file"),
        ("key_file", "enlace.key", "a link that leads to nothing"),
        ("key_file", "no.key", "cannot read it"),
        ("key_file", "vacia.key", "the key is empty"),
        ("key_file", "blancos.key", "the key is empty"),
        ("key_file", "mega.key", "too long"),
        ("key_file", "mas.key", "larger than"),
        ("key_file", "dos.key", "not of visible ASCII"),
        ("key_file", "latin.key", "not UTF-8"),
        ("key_file", "abierta.key", "others may write to it"),
        ("key_env", "NO_ESTA", "profile `x`: NO_ESTA is not set"),
        ("key_env", "CLAVE_VACIA", "CLAVE_VACIA is not set"),
        ("key_env", "CLAVE_LARGA", "too long"),
        ("key_env", "CLAVE_ROTA", "not of visible ASCII"),
        ("key_env", "OPENAI_API_KEY", "OPENAI_API_KEY is openai's, and this host is not"),
        ("key_env", "TYPESAFE_API_KEY", "TYPESAFE_API_KEY is typesafe's"),
    ];
    let row = |word: &str, value: &str| {
        let (url, policy) = (to.base_url(), to.policy("openai-compatible"));
        let text = format!(
            "[profiles.x]\nmodel = \"openai-compatible/m\"\nbase_url = \"{url}\"\n\
             {word} = \"{value}\"\n{policy}"
        );
        shell.write("recinto.toml", text);
        shell.run(&["ask", TEXT, "--profile", "x"])
    };
    for (word, value, part) in cases {
        let ran = row(word, value);
        assert!(matches!(ran.code, Some(2 | 4)) && ran.out().is_empty(), "{value}: {}", ran.err);
        assert!(ran.err.contains(part), "{value}: {}", ran.err);
        assert!(!ran.err.contains("canary") && !ran.err.contains("kkk"), "{value}: {}", ran.err);
    }
    // Who may read anything can read this, too.
    fs::set_permissions(path("dos.key"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(path("dos.key")).is_err() {
        let ran = row("key_file", "dos.key");
        assert!(ran.code == Some(2) && ran.err.contains("cannot read it"), "{}", ran.err);
    }
    assert!(to.seen().is_empty());
}

#[test]
fn very_many_profiles() {
    let mut text = String::from("[profiles]\n");
    for n in 0..10_000 {
        text.push_str(&format!("p{n} = {{ model = \"openai/m\", key_env = \"CLAVE_{n}\" }}\n"));
    }
    let shell = Shell::new();
    shell.write("recinto.toml", text);
    let begun = Instant::now();
    let ran = shell.run(&["ask", TEXT, "--profile", "nadie"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("and 9980 more") && ran.err.len() < 1000, "{}", ran.err);
    let ran = shell.run(&["ask", TEXT, "--profile", "p9999"]);
    assert!(ran.err.contains("profile `p9999`: CLAVE_9999 is not set"), "{}", ran.err);
    let ran = shell.run(&["status", "--provider", "mock"]);
    assert!(ran.out().contains("p9999 = openai/m, key in CLAVE_9999, which is not set"));
    // Of a debug build on a busy machine; without an index it is minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
