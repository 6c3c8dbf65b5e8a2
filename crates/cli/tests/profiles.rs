//! Who answers by the operator's profiles, tasks and cascades: what is followed, what goes before
//! it, and that no way around it lets a forbidden request leave.

use crate::shell;

use std::{fs, path::Path};

use recinto_provider::TASKS;
use recinto_testkit::service::{Act, Service};
use serde_json::{Value, json};
use shell::{Ran, Shell};

/// An answer to what asks for one of some labels.
fn answers(label: &str) -> Vec<u8> {
    let content = json!({ "answer": label }).to_string();
    let body = json!({
        "id": "x", "model": "m-2026", "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": content }
        }],
        "usage": { "prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35 }
    });
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{body}").into_bytes()
}

/// A service that says `pagos`.
fn service() -> Service {
    Service::start(vec![Act::Send(answers("pagos"))])
}

/// The operator's file: the service gets what nobody labelled; a cascade that wants `below`.
fn file(model: &Path, service: &Service, below: f64) -> String {
    tables(model, service, below) + &service.policy("openai-compatible")
}

/// The same without a policy.
fn tables(model: &Path, service: &Service, below: f64) -> String {
    let (url, model) = (service.base_url(), model.display());
    format!(
        "base_url = \"{url}\"\nretries = 0\n\n[profiles]\nfast = \"local/{model}\"\n\
         careful = \"openai-compatible/m\"\n\n[cascade]\n\
         twice = {{ first = \"fast\", below = {below}, option_mass = 0, then = \"careful\" }}\n\n[tasks]\n\
         decide = \"twice\"\nask = \"careful\"\n\n"
    )
}

const DECIDE: &[&str] = &["decide", "-", "-l", "pagos", "-l", "acceso"];
const TEXT: &[u8] = "¿Por qué hay dos cobros a la señora Núñez?".as_bytes();

fn decide(shell: &Shell, more: &[&str]) -> Ran {
    shell.pipe(&[DECIDE, more].concat(), TEXT)
}

/// More than any margin is.
const NEVER: f64 = 2.0;
/// Less than any margin that is not zero.
const ALWAYS: f64 = 1e-12;

#[test]
fn a_cascade_asks_the_second_where_the_first_is_unclear() {
    let Some(model) = shell::tiny("cascade", "qwen2-quant") else { return };
    let clear = service();
    let shell = Shell::new();
    shell.write("recinto.toml", file(&model, &clear, ALWAYS));
    let told = decide(&shell, &["--json"]).json();
    let route = &told["route"];
    let path = shell.path().join("recinto.toml");
    for (key, want) in [
        ("rule", json!("task")),
        ("source", json!(format!("{}, line 12", path.display()))),
        ("profile", json!("fast")),
        ("cascade", json!("twice")),
        ("below", json!(ALWAYS)),
        ("lacks", json!([])),
        ("least_mass", json!(0.0)),
        ("escalated", json!(false)),
    ] {
        assert_eq!(route[key], want, "{key}: {told}");
    }
    let mut scores: Vec<f64> = told["scores"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["probability"].as_f64())
        .collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(route["margin"].as_f64(), Some(scores[0] - scores[1]), "{told}");
    assert_eq!(route["option_mass"], told["mass"], "{told}");
    assert_eq!((&told["provider"], &told["outcome"]), (&json!("local"), &json!("decided")));
    assert!(clear.seen().is_empty(), "a clear answer stays here");

    let unclear = service();
    shell.write("recinto.toml", file(&model, &unclear, NEVER));
    let ran = decide(&shell, &[]);
    assert_eq!((ran.code, ran.out()), (Some(0), "pagos\n"), "{}", ran.err);
    assert_eq!(unclear.seen().len(), 1);
    let told = decide(&shell, &["--json"]).json();
    let route = &told["route"];
    assert_eq!(
        (&route["profile"], &route["escalated"]),
        (&json!("careful"), &json!(true)),
        "{told}"
    );
    assert_eq!((&told["label"], &told["model"]), (&json!("pagos"), &json!("m")), "{told}");
    assert_eq!(
        (&told["provider"], &told["method"]),
        (&json!("openai-compatible"), &json!("generate"))
    );
    assert!(route["margin"].as_f64().is_some_and(|margin| margin < NEVER), "{told}");

    // The wall does not let it go there: nothing is decided, and nothing left.
    let before = unclear.seen().len();
    let ran = decide(&shell, &["--data-label", "phi"]);
    assert_eq!((ran.code, ran.out()), (Some(3), ""), "{}", ran.err);
    for part in ["undecided: cascade `twice`: margin 0.", " of 2", "label `phi` may not go to"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let ran = decide(&shell, &["--data-label", "phi", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["outcome"]), (Some(3), &json!("undecided")), "{told}");
    assert!(told.get("label").is_none() && told.get("error").is_none(), "{told}");
    assert_eq!(told["scores"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(told["route"]["profile"], "fast", "{told}");
    assert_eq!(told["route"]["lacks"], json!(["margin"]), "{told}");
    // A margin among labels that the model would hardly say is none.
    let usual = file(&model, &unclear, ALWAYS).replace("option_mass = 0,", "");
    shell.write("recinto.toml", usual);
    let told = decide(&shell, &["--data-label", "phi", "--json"]).json();
    assert_eq!(told["route"]["lacks"], json!(["option_mass"]), "{told}");
    assert_eq!(
        (&told["route"]["least_mass"], &told["outcome"]),
        (&json!(0.5), &json!("undecided"))
    );
    // Without any policy, too.
    shell.write("recinto.toml", tables(&model, &unclear, NEVER));
    let ran = decide(&shell, &[]);
    assert_eq!((ran.code, ran.out()), (Some(3), ""), "{}", ran.err);
    assert!(ran.err.contains("no policy says what may leave"), "{}", ran.err);
    assert_eq!(unclear.seen().len(), before);
}

#[test]
fn both_legs_count_towards_one_budget() {
    let Some(model) = shell::tiny("budget of a cascade", "qwen2-quant") else { return };
    let service = service();
    let shell = Shell::new();
    let wants = |below: f64, budget: &str| {
        let text = file(&model, &service, below);
        shell.write("recinto.toml", format!("{text}\n[budget]\n{budget}\n"));
    };
    let with = |budget: &str| wants(NEVER, budget);
    // Room for the first leg, and not for both.
    let small = ["--json", "--max-tokens", "8", "-o", "thinking_tokens=1"];
    wants(ALWAYS, "tokens = 400");
    assert_eq!(decide(&shell, &small).code, Some(0));
    with("tokens = 400");
    let ran = decide(&shell, &small);
    assert_eq!(
        (ran.code, &ran.json()["error"]["kind"]),
        (Some(4), &json!("budget")),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("the budget of this process is 400 tokens"), "{}", ran.err);
    with("tokens = 1");
    let ran = decide(&shell, &["--json"]);
    assert_eq!(
        (ran.code, &ran.json()["error"]["kind"]),
        (Some(4), &json!("budget")),
        "{}",
        ran.err
    );
    with("identity = { tokens = 1 }");
    let ran = decide(&shell, &["--json", "--identity", "íñigo"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["error"]["kind"]), (Some(4), &json!("budget")), "{}", ran.err);
    assert!(ran.err.contains("of this identity is 1 tokens") && !ran.err.contains("íñigo"));
    with("money = \"1 EUR\"");
    let ran = decide(&shell, &[]);
    assert!(ran.code == Some(4) && ran.err.contains("has no price"), "{}", ran.err);
    assert!(service.seen().is_empty());
    with("tokens = 100000\nseconds = 500");
    let ran = decide(&shell, &[]);
    assert_eq!((ran.code, ran.out()), (Some(0), "pagos\n"), "{}", ran.err);
}

/// What says who answers, by what is said for the run: the rule, and the profile.
#[test]
fn what_is_said_nearer_goes_first() {
    let Some(model) = shell::tiny("order of profiles", "qwen2-quant") else { return };
    let service = service();
    let name = model.to_str().unwrap();
    type Case<'a> = (&'a str, &'a [&'a str], Option<(&'a str, &'a str)>, &'a str, [&'a str; 2]);
    let cases: [Case<'_>; 9] = [
        ("the task", &[], None, "", ["task", "fast"]),
        ("a flag", &["-m", name], None, "", ["settings", ""]),
        (
            "a flag of the provider",
            &["--provider", "local", "-m", name],
            None,
            "",
            ["settings", ""],
        ),
        ("a variable", &[], Some(("RECINTO_MODEL", name)), "", ["settings", ""]),
        ("a line of .env", &[], None, "RECINTO_MODEL={}\n", ["settings", ""]),
        ("a profile by flag", &["--profile", "otro"], None, "", ["profile", "otro"]),
        ("a profile by variable", &[], Some(("RECINTO_PROFILE", "otro")), "", ["profile", "otro"]),
        ("flag over variable", &["--profile", "otro"], Some(("RECINTO_MODEL", "/no")), "", {
            ["profile", "otro"]
        }),
        ("variable over line", &[], Some(("RECINTO_PROFILE", "otro")), "RECINTO_MODEL=/no\n", {
            ["profile", "otro"]
        }),
    ];
    for (case, args, variable, line, [rule, profile]) in cases {
        let shell = Shell::new();
        let shell = variable.into_iter().fold(shell, |shell, (name, value)| shell.env(name, value));
        let text = file(&model, &service, ALWAYS);
        let text = text.replace("[cascade]", &format!("otro = \"local/{name}\"\n[cascade]"));
        // What stands at the top of the file comes after the task's own row.
        shell.write("recinto.toml", format!("model = \"/no\"\n{text}"));
        if !line.is_empty() {
            shell.write(".env", line.replace("{}", name));
        }
        let ran = decide(&shell, &[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{case}: {}", ran.err);
        let route = ran.json()["route"].clone();
        assert_eq!(
            (route["rule"].as_str(), route["profile"].as_str().unwrap_or("")),
            { (Some(rule), profile) },
            "{case}: {route}"
        );
    }
    assert!(service.seen().is_empty());
}

#[test]
fn no_line_of_env_moves_what_policy_keeps() {
    let Some(model) = shell::tiny("env and profiles", "qwen2-quant") else { return };
    let service = service();
    let url = service.base_url();
    let lines = [
        ("a profile", "RECINTO_PROFILE=careful\n".to_owned()),
        ("a provider", "RECINTO_PROVIDER=openai-compatible\nRECINTO_MODEL=m\n".to_owned()),
        ("an address", format!("RECINTO_PROFILE=careful\nRECINTO_BASE_URL={url}\n")),
        ("a file", "RECINTO_CONFIG=otro.toml\n".to_owned()),
    ];
    for (case, line) in lines {
        let shell = Shell::new();
        shell.write("recinto.toml", file(&model, &service, NEVER));
        // Its own policy would let it go.
        let policy = service.policy("openai-compatible").replace("unlabelled", "phi");
        let otro = tables(&model, &service, NEVER).replace("\"twice\"", "\"careful\"");
        shell.write("otro.toml", otro + &policy);
        shell.write(".env", line);
        let ran = decide(&shell, &["--data-label", "phi", "--json"]);
        let kind = &ran.json()["error"]["kind"];
        let refused = kind == "refused" || kind == "usage";
        assert!(refused && matches!(ran.code, Some(2 | 4)), "{case}: {}", ran.err);
        assert!(service.seen().is_empty(), "{case}");
    }
}

#[test]
fn names_that_lead_nowhere_have_a_line() {
    let Some(model) = shell::tiny("unknown profiles", "qwen2-quant") else { return };
    let service = service();
    let usual = file(&model, &service, NEVER);
    type Case<'a> = (&'a str, String, &'a [&'a str], &'a str);
    let cases: [Case<'_>; 9] = [
        (
            "a flag",
            usual.clone(),
            &["--profile", "nadie"],
            "--profile: unknown profile or cascade `nadie`",
        ),
        ("known ones", usual.clone(), &["--profile", "nadie"], "known: fast, careful, twice"),
        ("no name", usual.clone(), &["--profile", "a b"], "a name of letters"),
        ("both", usual.clone(), &["--profile", "fast", "-m", "x"], "a model is set there, too"),
        ("a method", usual.clone(), &["--method", "generate"], "a cascade goes by scores"),
        ("a receipt", usual.clone(), &["--receipt", "recinto.toml"], "it is the same file as"),
        (
            "a line",
            format!("profile = \"nadie\"\n{}", usual.replace("decide = \"twice\"", "")),
            &[],
            { "recinto.toml, line 1: profile: unknown profile or cascade `nadie`" },
        ),
        ("a task", usual.replace("\"twice\"", "\"thrice\""), &[], {
            "recinto.toml, line 12: unknown profile or cascade `thrice`"
        }),
        ("no margin", usual.replace("ask = \"careful\"", "ask = \"twice\""), &[], {
            "recinto.toml, line 13: `ask` has no margin, and `twice` is a cascade"
        }),
    ];
    for (case, text, args, part) in cases {
        let shell = Shell::new();
        shell.write("recinto.toml", text);
        let ran = decide(&shell, args);
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{case}: {}", ran.err);
        assert!(ran.err.contains(part), "{case}: {}", ran.err);
    }
    let shell = Shell::new();
    shell.write("recinto.toml", usual);
    let ran = shell.run(&["ask", "¿Qué?", "--profile", "twice"]);
    assert!(ran.code == Some(2) && ran.err.contains("`twice` is a cascade"), "{}", ran.err);
    let ran =
        shell.run(&["judge", "--whether", "¿Sí?", "--profile", "careful", "-f", "recinto.toml"]);
    assert!(ran.code == Some(2) && ran.err.contains("asks openai-compatible"), "{}", ran.err);
    // What looks into a model looks into the first one's.
    let ran = shell.run(&["tokenize", "año", "--profile", "twice"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(service.seen().is_empty());
}

/// Every task of the list is a command that follows its row; there is no other list.
#[test]
fn every_task_is_followed() {
    let args: [(&str, &[&str]); 7] = [
        ("ask", &["¿Qué?"]),
        ("chat", &[]),
        ("decide", &["¿Qué?", "-l", "sí", "-l", "no"]),
        ("extract", &["¿Qué?", "--schema", "s.json"]),
        ("complete", &["¿Qué?", "--regex", "[a-z]+"]),
        ("score", &["¿Qué?", "-l", "sí"]),
        ("judge", &["--whether", "¿Sí?", "-f", "s.json"]),
    ];
    assert_eq!(args.map(|row| row.0), *TASKS.iter().map(|row| row.1).collect::<Vec<_>>());
    for (task, args) in args {
        let shell = Shell::new();
        shell.write("s.json", r#"{"type":"boolean"}"#);
        let text =
            format!("[profiles]\nf = \"local/./falta-{task}.gguf\"\n[tasks]\n{task} = \"f\"\n");
        shell.write("recinto.toml", text);
        let ran = shell.run(&[&[task], args].concat());
        let part = format!("falta-{task}.gguf does not exist");
        assert!(ran.code == Some(4) && ran.err.contains(&part), "{task}: {}", ran.err);
    }
}

#[test]
fn status_shows_what_is_mapped() {
    let Some(model) = shell::tiny("status of profiles", "qwen2-quant") else { return };
    let service = service();
    let shell = Shell::new().env("RECINTO_PROFILE", "fast");
    let text = file(&model, &service, 0.25).replace("decide = \"twice\"", "extract = \"fast\"");
    let path = shell.write("recinto.toml", text);
    let ran = shell.run(&["status"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let at = path.display();
    for line in [
        "profile       fast (environment, RECINTO_PROFILE)\n".to_owned(),
        format!("model         {} ({at}, line 5)\n", model.display()),
        format!("profile       careful = openai-compatible/m ({at}, line 6)\n"),
        format!(
            "cascade       twice = fast, below 0.25 or option mass 0 then careful ({at}, line 9)\n"
        ),
        format!("task          ask not by careful ({at}, line 13): environment, RECINTO_PROFILE"),
    ] {
        assert!(ran.out().contains(&line), "{line} in {}", ran.out());
    }
    let told = shell.run(&["status", "--json"]).json();
    let mapping = &told["settings"]["mapping"];
    assert_eq!(mapping["cascades"][0]["below"], 0.25, "{mapping}");
    let tasks = mapping["tasks"].as_array().unwrap();
    let extract = tasks.iter().find(|row| row["task"] == "extract").unwrap();
    assert_eq!((&extract["rule"], &extract["mapped"]["name"]), (&json!("profile"), &json!("fast")));
    // A profile that leads nowhere is told, after the settings.
    let shell = Shell::new();
    fs::copy(&path, shell.path().join("recinto.toml")).unwrap();
    let ran = shell.run(&["status", "--profile", "nadie", "--json"]);
    let told: Value = ran.json();
    assert_eq!((ran.code, &told["can_answer"]), (Some(2), &json!(false)), "{told}");
    assert!(told["error"]["message"].as_str().unwrap().contains("`nadie`"), "{told}");
    assert_eq!(told["settings"]["retries"]["value"], "0", "{told}");
}
