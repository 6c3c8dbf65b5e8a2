//! Profiles, tasks and cascades: the operator's mapping alone, and every name is one that is there.

use std::path::Path;

use recinto_policy::{
    Labels, Layer, Policy, Profile, Profiles, Step, TASKS, Target, Task, Wall,
    tree::{self, Entry, Value},
};

/// The tables of a text, as those of a file.
fn read(files: &[(&str, &str)]) -> Result<Profiles, recinto_policy::Error> {
    let parsed: Vec<(&str, Vec<Entry>)> =
        files.iter().map(|(file, text)| (*file, tree::parse(text, |_| false).unwrap())).collect();
    let layers = parsed.iter().map(|(file, entries)| {
        let of = |name: &str| match entries.iter().find(|entry| entry.key == name) {
            Some(Entry { value: Value::Table(entries), .. }) => entries.as_slice(),
            _ => &[],
        };
        let file = Path::new(file);
        Layer { file, profiles: of("profiles"), tasks: of("tasks"), cascades: of("cascade") }
    });
    Profiles::read(&layers.collect::<Vec<_>>())
}

const TEXT: &str = "\
[profiles]
fast = \"local/hf:o/qwen:q4.gguf\"
careful = \"anthropic/claude\"
\"prudente_ñ\" = \"local/./m.gguf\"

[tasks]
extract = \"fast\"
decide = \"twice\"

[cascade]
twice = { first = \"fast\", below = 0.2, then = \"careful\" }
inside = { first = \"fast\", below = 3, then = \"prudente_ñ\" }
";

#[test]
fn tasks_lead_to_profiles() {
    let all = read(&[("p.toml", TEXT)]).unwrap();
    let (mapped, Target::Profile(fast)) = all.task(Task::Extract).unwrap() else {
        panic!("{all:?}")
    };
    assert_eq!(mapped.place.to_string(), "p.toml, line 7");
    assert_eq!((fast.provider.as_str(), fast.model.as_str()), ("local", "hf:o/qwen:q4.gguf"));
    assert_eq!(fast.place.to_string(), "p.toml, line 2");
    assert_eq!(fast.destination(None).unwrap(), None);
    let (_, Target::Cascade(twice)) = all.task(Task::Decide).unwrap() else { panic!("{all:?}") };
    assert_eq!((twice.first.name.as_str(), twice.then.name.as_str()), ("fast", "careful"));
    let host = twice.then.destination(None).unwrap().unwrap();
    assert_eq!(host.to_string(), "anthropic at api.anthropic.com, model claude");
    assert_eq!(all.task(Task::Ask), None, "nobody mapped it");
    assert!(all.named("inside").is_some() && all.named("nadie").is_none());
    assert_eq!((all.profiles().len(), all.cascades().len(), all.tasks().len()), (3, 2, 2));
    // The nearest file's word, for each name; names of all files are known to all.
    let user = "[profiles]\nfast = \"openai/gpt\"\nslow = \"openai/o\"\n[tasks]\nask = \"slow\"\n";
    let near = "[profiles]\nfast = \"local/x.gguf\"\n[tasks]\nextract = \"slow\"\n";
    let all = read(&[("near.toml", near), ("user.toml", user)]).unwrap();
    assert_eq!(all.profile("fast").unwrap().provider, "local");
    for task in [Task::Extract, Task::Ask] {
        let (_, found) = all.task(task).unwrap();
        let slow = matches!(found, Target::Profile(Profile { name, .. }) if name == "slow");
        assert!(slow, "{task:?}");
    }
}

#[test]
fn what_follows_from_a_margin() {
    let all = read(&[("p.toml", TEXT)]).unwrap();
    let text = "[[allow]]\nprovider = \"anthropic\"\nlabels = [\"internal\"]\n";
    let open = Wall::new([Policy::parse(Path::new("/p"), text).unwrap()]);
    let closed = Wall::default();
    let (fast, careful) = (all.profile("fast").unwrap(), all.profile("careful").unwrap());
    let slow = all.profile("prudente_ñ").unwrap();
    let [twice, inside] = all.cascades() else { panic!("{all:?}") };
    let there = twice.then.destination(None).unwrap();
    let elsewhere = twice.then.destination(Some("https://evil.example")).unwrap();
    let (internal, phi) = (Labels::new(["internal"]).unwrap(), Labels::new(["phi"]).unwrap());
    type Case<'a> = (&'a str, Option<f64>, &'a Labels, &'a Wall, Step<'a>);
    let cases: [Case<'_>; 12] = [
        ("clear", Some(0.9), &internal, &open, Step::Use(fast)),
        ("clear, whatever the wall says", Some(0.9), &phi, &closed, Step::Use(fast)),
        ("at the border", Some(0.2), &internal, &open, Step::Use(fast)),
        ("below", Some(0.199), &internal, &open, Step::Escalate(careful)),
        ("zero", Some(0.0), &internal, &open, Step::Escalate(careful)),
        ("negative", Some(-1.0), &internal, &open, Step::Escalate(careful)),
        ("infinite", Some(f64::INFINITY), &internal, &open, Step::Use(fast)),
        ("no number", Some(f64::NAN), &internal, &open, Step::Escalate(careful)),
        ("missing", None, &internal, &open, Step::Escalate(careful)),
        ("another label", Some(0.1), &phi, &open, Step::Undecided),
        ("no policy", Some(0.1), &internal, &closed, Step::Undecided),
        ("no number, and no leave", Some(f64::NAN), &phi, &open, Step::Undecided),
    ];
    for (name, margin, labels, wall, want) in cases {
        assert_eq!(twice.decide(margin, there.as_ref(), labels, wall), want, "{name}");
    }
    // A second profile that is said to stay here does not, and one at another address may not.
    assert_eq!(twice.decide(None, None, &internal, &open), Step::Undecided);
    assert_eq!(twice.decide(None, elsewhere.as_ref(), &internal, &open), Step::Undecided);
    assert_eq!(inside.decide(Some(2.9), None, &phi, &closed), Step::Escalate(slow));
    assert_eq!(inside.decide(Some(2.9), there.as_ref(), &internal, &open), Step::Undecided);
}

#[test]
fn unknown_names_have_a_line() {
    let with = |more: &str| format!("[profiles]\na = \"local/m\"\nb = \"openai/gpt\"\n{more}\n");
    let cases = [
        ("task", with("[tasks]\nrouet = 'a'"), "line 5, column 1: unknown task `rouet`"),
        ("profile", with("[tasks]\nextract = 'c'"), "line 5: unknown profile or cascade `c`"),
        ("no name", with("[tasks]\nextract = \"c\\u001b\""), "line 5: an unknown profile"),
        ("form", with("[tasks]\nextract = 5"), "line 5, column 11: `extract`: a text is needed"),
        (
            "first",
            with("[cascade]\nx = { first='c', below=1, then='b' }"),
            "line 5, column 13: unk",
        ),
        ("then", with("[cascade]\nx = { first='a', below=1, then='x' }"), "unknown profile `x`"),
        ("word", with("[cascade]\nx = { first='a', under=1, then='b' }"), "unknown word `under`"),
        ("below", with("[cascade]\nx = { first='a', below=0, then='b' }"), "a number above 0"),
        ("below", with("[cascade]\nx = { first='a', below=nan, then='b' }"), "a number above 0"),
        ("below", with("[cascade]\nx = { first='a', below='1', then='b' }"), "a number above 0"),
        (
            "first elsewhere",
            with("[cascade]\nx = { first='b', below=1, then='a' }"),
            "line 5, column 13: `first`: `b` asks openai",
        ),
        (
            "no margin",
            with("[tasks]\nask = 'x'\n[cascade]\nx = { first='a', below=1, then='b' }"),
            "line 5: `ask` has no margin, and `x` is a cascade",
        ),
        ("two words", with("[cascade]\nx = { first='a', then='b' }"), "three words are needed"),
        ("no table", with("[cascade]\nx = 'a'"), "three words are needed"),
        ("both", with("[cascade]\na = { first='a', below=1, then='b' }"), "`a` is a profile, too"),
        ("provider", "[profiles]\nx = 'opneai/m'\n".into(), "line 2, column 5: unknown provider"),
        ("no model", "[profiles]\nx = 'openai'\n".into(), "no `/` stands in it"),
        ("empty", "[profiles]\nx = 'local/'\n".into(), "no model stands after"),
        ("remote model", "[profiles]\nx = 'openai/ñ'\n".into(), "visible ASCII"),
        ("a key", "[profiles]\n'a b' = 'local/m'\n".into(), "a name of letters"),
    ];
    for (name, text, part) in cases {
        let error = read(&[("/casa/p.toml", &text)]).expect_err(name);
        let text = error.to_string();
        assert!(text.starts_with("/casa/p.toml, line ") && text.contains(part), "{name}: {text}");
        assert!(!text.contains('\u{1b}'), "{name}: {text:?}");
    }
    assert_eq!(read(&[]).unwrap(), Profiles::default());
    for (task, name) in TASKS {
        assert_eq!((Task::from_name(name), task.name()), (Some(*task), *name));
    }
}
