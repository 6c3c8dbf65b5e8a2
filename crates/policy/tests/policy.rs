//! Policies and the wall: what is read, what is refused and why, and that no policy loosens another.

use std::{cell::Cell, path::Path};

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use recinto_policy::{Destination, Kind, Labels, Policy, REMOTES, Wall, Why, tree};

const FILE: &str = "/etc/recinto/policy.toml";

fn policy(text: &str) -> Policy {
    Policy::parse(Path::new(FILE), text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn labels(texts: &[&str]) -> Labels {
    Labels::new(texts).unwrap()
}

fn to(provider: &str, url: Option<&str>, model: &str) -> Destination {
    Destination::new(provider, url, model).unwrap()
}

#[test]
fn what_each_row_lets_through() {
    let rows = "\
[[allow]]
provider = \"anthropic\"
labels = [\"unlabelled\", \"internal\"]

[[allow]]
provider = \"anthropic\"
model = \"claude\"
labels = [\"client:acme\"]

[[allow]]
provider = \"openai-compatible\"
host = \"localhost:8080\"
labels = [\"phi\"]
";
    const HERE: Option<&str> = Some("http://localhost:8080/v1");
    const PROXY: Option<&str> = Some("https://proxy.example/v1");
    let compatible = "openai-compatible";
    type Case<'a> = (&'a str, &'a str, Option<&'a str>, &'a str, &'a [&'a str], Option<usize>);
    // The last one is the line that refuses; none where it passes.
    let cases: [Case<'_>; 13] = [
        ("nobody labelled it", "anthropic", None, "x", &[], None),
        ("by name", "anthropic", None, "x", &["internal"], None),
        ("another label", "anthropic", None, "x", &["phi"], Some(2)),
        ("one of two", "anthropic", None, "x", &["internal", "phi"], Some(2)),
        ("two rows together", "anthropic", None, "claude", &["internal", "client:acme"], None),
        ("for another model", "anthropic", None, "x", &["client:acme"], Some(2)),
        ("a part of a label", "anthropic", None, "claude", &["client:ac"], Some(2)),
        ("its host is not this one", "anthropic", PROXY, "x", &[], Some(2)),
        ("this machine is remote, too", "anthropic", HERE, "x", &[], Some(2)),
        ("by host", compatible, HERE, "x", &["phi"], None),
        ("another port", compatible, Some("http://localhost:8081"), "x", &["phi"], Some(11)),
        ("unlabelled is a label", compatible, HERE, "x", &[], Some(11)),
        ("no row", "openai", None, "x", &[], Some(1)),
    ];
    let wall = Wall::new([policy(rows)]);
    for (name, provider, url, model, set, refused) in cases {
        let (to, labels) = (to(provider, url, model), labels(set));
        match (wall.check(&to, &labels), refused) {
            (Ok(permit), None) => assert_eq!(permit.destination(), &to, "{name}"),
            (Err(refused), Some(line)) => {
                assert_eq!(refused.why().place().unwrap().line, line, "{name}: {refused}");
                let text = refused.to_string();
                for part in [provider, to.host().as_str(), FILE, refused.label().as_str(), "hint"] {
                    assert!(text.contains(part), "{name}: {part} not in: {text}");
                }
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
        let closed = Wall::default();
        let refused = closed.check(&to, &labels).expect_err(name);
        assert_eq!(refused.why(), &Why::NoPolicy, "{name}");
        assert!(Wall::new([policy("")]).check(&to, &labels).is_err(), "{name}: an empty policy");
    }
    let permit =
        wall.check(&to("anthropic", None, "claude"), &labels(&["internal", "client:acme"]));
    let lines: Vec<usize> = permit.unwrap().rules().iter().map(|place| place.line).collect();
    assert_eq!(lines, [6, 2], "the rows that allowed it, by label");
}

#[test]
fn why_not() {
    let text = "[[allow]]\nprovider = \"openai\"\nmodel = \"a\"\nlabels = [\"internal\"]\n";
    let wall = Wall::new([policy(text)]);
    let why = |provider, model, set: &[&str]| {
        wall.check(&to(provider, None, model), &labels(set)).unwrap_err().why().clone()
    };
    assert!(matches!(why("openai", "a", &["phi"]), Why::OtherLabels(at) if at.line == 2));
    assert!(matches!(why("openai", "b", &["internal"]), Why::Elsewhere(at) if at.line == 2));
    assert!(matches!(why("anthropic", "a", &["internal"]), Why::NoRow(at) if at.line == 1));
    // The kind of the error that others make of it.
    let refused = wall.check(&to("anthropic", None, "a"), &labels(&[])).unwrap_err();
    let error = recinto_policy::Error::from(refused.clone());
    assert_eq!((error.kind(), error.to_string()), (Kind::Refused, refused.to_string()));
}

#[test]
fn what_may_leave_is_what_all_allow() {
    let row = |labels: &str| format!("[[allow]]\nprovider = \"openai\"\nlabels = [{labels}]\n");
    let wide = policy(&row("\"internal\", \"phi\", \"unlabelled\""));
    let narrow = policy(&(row("\"internal\"") + "model = \"gpt\"\n"));
    let leaves = |policies: Vec<Policy>| -> Vec<(Option<String>, String)> {
        let all = Wall::new(policies).leaves();
        let labels = |leave: &recinto_policy::Leave| {
            leave.labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        all.iter().map(|leave| (leave.model.clone(), labels(leave))).collect()
    };
    let gpt = || Some("gpt".to_owned());
    assert_eq!(leaves(vec![]), []);
    assert_eq!(leaves(vec![policy("")]), []);
    assert_eq!(leaves(vec![wide.clone()]), [(None, "internal phi unlabelled".into())]);
    assert_eq!(leaves(vec![narrow.clone()]), [(gpt(), "internal".into())]);
    assert_eq!(leaves(vec![wide.clone(), narrow.clone()]), [(gpt(), "internal".into())]);
    assert_eq!(leaves(vec![narrow, wide, policy("")]), []);
}

#[test]
fn faults_have_a_line() {
    let row = |rest: &str| format!("# año\n[[allow]]\nprovider = \"openai\"\n{rest}\n");
    let good = row("labels = [\"internal\"]");
    let cases = [
        ("no TOML", "allow = [\n".into(), "line 1", ""),
        ("word", "allows = []\n".into(), "line 1, column 1: unknown word `allows`", "known: allow"),
        ("deny", "[[deny]]\nlabels = [\"phi\"]\n".into(), "line 1, column 3: unknown word", ""),
        (
            "no list",
            "allow = 'openai'\n".into(),
            "line 1, column 9: `allow` is a list",
            "[[allow]]",
        ),
        ("texts", "allow = ['openai']\n".into(), "`allow` is a list of tables", ""),
        ("an empty row", "[[allow]]\n".into(), "line 1", "a row of `allow` without `provider`"),
        ("unknown provider", row("").replace("openai", "opneai"), "line 3, column 12", "anthropic"),
        ("local", row("").replace("openai", "local"), "line 3", "`local` needs no permission"),
        (
            "no labels",
            row("model = 'x'"),
            "line 3, column 1: a row of `allow` without `labels`",
            "",
        ),
        ("empty labels", row("labels = []"), "line 4, column 10: `labels`: the list is empty", ""),
        ("one text", row("labels = 'phi'"), "line 4", "a list of texts is needed"),
        ("a number", row("labels = [1]"), "line 4", "only texts"),
        ("wildcard", row("labels = ['*']"), "line 4", "there is no wildcard"),
        ("accent", row("labels = ['clínico']"), "line 4", "no label"),
        ("twice", row("labels = ['phi', 'phi']"), "line 4", "`phi` stands there twice"),
        ("host", row("host = 'https://a.com'\nlabels = ['a']"), "line 4", "a host is needed"),
        ("any host", row("host = '*'\nlabels = ['a']"), "line 4", "no wildcard"),
        ("any model", row("model = 'gpt*'\nlabels = ['a']"), "line 4", "no wildcard"),
        ("empty model", row("model = ''\nlabels = ['a']"), "line 4", "a text is needed"),
        ("word of a row", row("label = ['a']"), "line 4, column 1: unknown word `label`", "labels"),
        (
            "host needed",
            row("labels = ['a']").replace("openai", "openai-compatible"),
            "without `host`",
            "no host of its own",
        ),
        ("half a path", "egress_log = 'x.jsonl'\n".into(), "line 1", "a whole path is needed"),
        ("sync", "egress_sync = 'yes'\n".into(), "line 1", "true or false is needed"),
        (
            "budget",
            "[budget]\ntoken = 1\n".into(),
            "line 2, column 1: unknown word `token`",
            "tokens",
        ),
        ("prices", "[prices]\ncurrency = 'usd'\n".into(), "line 2", "three capital letters"),
    ];
    policy(&good);
    for (name, text, part, other) in cases {
        let error = Policy::parse(Path::new(FILE), &text).expect_err(name);
        assert_eq!(error.kind(), Kind::Policy, "{name}");
        let text = error.to_string();
        assert!(text.starts_with(FILE) && text.contains(part), "{name}: {part} not in: {text}");
        assert!(text.contains(other), "{name}: {other} not in: {text}");
    }
    // Of a recinto.toml the table has rows only: where the log lies is for settings to say.
    let entries = tree::parse("egress_log = '/x'\n", |_| false).unwrap();
    assert!(Policy::of_table(Path::new("recinto.toml"), 7, &entries).is_err());
    let file =
        "egress_log = '/v/l'\negress_key = '/v/k'\negress_sync = true\n[budget]\ntokens = 1\n";
    let read = policy(file);
    assert_eq!(read.log.log.as_deref(), Some(Path::new("/v/l")));
    assert_eq!(read.log.key.as_deref(), Some(Path::new("/v/k")));
    assert!(read.log.sync && read.limits.unwrap().process.tokens == Some(1));
    let many = "[[allow]]\n".repeat(1001);
    assert!(
        Policy::parse(Path::new(FILE), &many).unwrap_err().what().contains("more than 1000 rows")
    );
}

#[derive(Clone, Debug)]
struct Rule {
    provider: &'static str,
    host: Option<&'static str>,
    model: Option<&'static str>,
    labels: Vec<&'static str>,
}

const PROVIDERS: [&str; 3] = ["anthropic", "openai", "openai-compatible"];
const HOSTS: [&str; 3] = ["api.anthropic.com", "api.openai.com", "localhost:8080"];
const MODELS: [&str; 2] = ["a", "b"];
const WORDS: [&str; 4] = ["internal", "phi", "client:acme", "unlabelled"];

fn rule() -> impl Strategy<Value = Rule> {
    let host = option::weighted(0.4, select(&HOSTS[..]));
    let model = option::weighted(0.3, select(&MODELS[..]));
    let labels = subsequence(&WORDS[..], 1..=4);
    (select(&PROVIDERS[..]), host, model, labels).prop_map(|(provider, host, model, labels)| {
        // A provider without a host of its own has one in each row.
        let host = host.or((provider == PROVIDERS[2]).then_some(HOSTS[2]));
        Rule { provider, host, model, labels }
    })
}

fn text_of(rules: &[Rule]) -> String {
    let line = |key: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!("{key} = \"{value}\"\n"))
    };
    let row = |rule: &Rule| {
        let front = line("provider", Some(rule.provider));
        let (host, model) = (line("host", rule.host), line("model", rule.model));
        format!("[[allow]]\n{front}{host}{model}labels = {:?}\n", rule.labels)
    };
    rules.iter().map(row).collect()
}

/// What a request may do, said once more and in other words.
fn model(policies: &[Vec<Rule>], provider: &str, host: &str, model: &str, set: &[&str]) -> bool {
    let set = if set.is_empty() { &["unlabelled"][..] } else { set };
    let mut forbidden = policies.is_empty();
    for (rules, label) in policies.iter().flat_map(|rules| set.iter().map(move |l| (rules, l))) {
        let usual = match provider {
            "anthropic" => HOSTS[0],
            "openai" => HOSTS[1],
            _ => "",
        };
        let found = rules.iter().filter(|rule| {
            rule.provider == provider
                && rule.host.unwrap_or(usual) == host
                && (rule.model.is_none() || rule.model == Some(model))
        });
        forbidden |= found.filter(|rule| rule.labels.contains(label)).count() == 0;
    }
    !forbidden
}

#[test]
fn ten_thousand_requests_against_a_model() {
    const CASES: u32 = 10_000;
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    // None, the machine's, the project's, or both; each up to six rows.
    let policies = vec(vec(rule(), 0..=6), 0..=2);
    let urls = ["https://api.anthropic.com/v1", "https://api.openai.com", "http://localhost:8080"];
    let request = (
        select(&PROVIDERS[..]),
        0..HOSTS.len(),
        select(&MODELS[..]),
        subsequence(&WORDS[..3], 0..=3),
    );
    let (passed, refused) = (Cell::new(0u32), Cell::new(0u32));
    let outcome = runner.run(&(policies, request), |(policies, (provider, host, name, set))| {
        let want = model(&policies, provider, HOSTS[host], name, &set);
        let wall = Wall::new(policies.iter().map(|rules| policy(&text_of(rules))));
        let found = wall.check(&to(provider, Some(urls[host]), name), &labels(&set)).is_ok();
        prop_assert_eq!(found, want);
        let count = if want { &passed } else { &refused };
        count.set(count.get() + 1);
        // A further policy never lets more through.
        let tighter = Wall::new(wall.policies().iter().cloned().chain([policy("")]));
        prop_assert!(tighter.check(&to(provider, Some(urls[host]), name), &labels(&set)).is_err());
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(passed.get() + refused.get(), CASES);
    assert!(passed.get() > 200 && refused.get() > 5000, "{passed:?} passed, {refused:?} refused");
}

#[test]
fn names_of_remotes_are_words() {
    for remote in REMOTES {
        assert!(remote.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{remote:?}");
        assert_ne!(remote.name, recinto_policy::LOCAL);
    }
}
