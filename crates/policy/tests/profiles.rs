//! Profiles, tasks and cascades: the operator's mapping alone, and every name is one that is there.

use std::path::Path;

use recinto_policy::{
    Clarity, Labels, Lack, Layer, OPTION_MASS, Policy, Profile, Profiles, Step, TASKS, Target,
    Task, Wall,
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
inside = { first = \"fast\", below = 3, option_mass = 0, then = \"prudente_ñ\" }
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
    // The margin, the option mass, and what of both is too small.
    const BOTH: &[Lack] = &[Lack::Margin, Lack::OptionMass];
    const MARGIN: &[Lack] = &[Lack::Margin];
    const MASS: &[Lack] = &[Lack::OptionMass];
    type Case<'a> = (&'a str, [f64; 2], &'a Labels, &'a Wall, Step<'a>, &'a [Lack]);
    let (up, none) = (Step::Escalate(careful), Step::Undecided);
    let cases: [Case<'_>; 18] = [
        ("clear", [0.9, 0.99], &internal, &open, Step::Use(fast), &[]),
        ("clear, whatever the wall says", [0.9, 0.99], &phi, &closed, Step::Use(fast), &[]),
        ("at both borders", [0.2, 0.5], &internal, &open, Step::Use(fast), &[]),
        ("below", [0.199, 0.99], &internal, &open, up, MARGIN),
        ("zero", [0.0, 0.99], &internal, &open, up, MARGIN),
        ("negative", [-1.0, 0.99], &internal, &open, up, MARGIN),
        ("infinite", [f64::INFINITY, 0.99], &internal, &open, Step::Use(fast), &[]),
        ("no number", [f64::NAN, 0.99], &internal, &open, up, MARGIN),
        ("a clear margin of next to nothing", [0.999, 1.8e-7], &internal, &open, up, MASS),
        ("a mass just below", [0.999, 0.499_999], &internal, &open, up, MASS),
        ("no mass", [0.999, 0.0], &internal, &open, up, MASS),
        ("a mass that is no number", [0.999, f64::NAN], &internal, &open, up, MASS),
        ("neither", [0.1, 0.1], &internal, &open, up, BOTH),
        ("neither is a number", [f64::NAN, f64::NAN], &internal, &open, up, BOTH),
        ("another label", [0.1, 0.99], &phi, &open, none, MARGIN),
        ("another label, and no mass", [0.999, 1.8e-7], &phi, &open, none, MASS),
        ("no policy", [0.1, 0.99], &internal, &closed, none, MARGIN),
        ("no number, and no leave", [f64::NAN, 0.99], &phi, &open, none, MARGIN),
    ];
    let of = |[margin, mass]: [f64; 2]| Clarity { margin: Some(margin), option_mass: Some(mass) };
    for (name, figures, labels, wall, want, lacks) in cases {
        assert_eq!(twice.decide(of(figures), there.as_ref(), labels, wall), want, "{name}");
        assert_eq!(twice.lacks(of(figures)), lacks, "{name}");
    }
    let missing = Clarity::default();
    assert_eq!(twice.decide(missing, there.as_ref(), &internal, &open), up);
    assert_eq!(twice.lacks(missing), BOTH);
    // Where none is asked for, nobody need know the mass.
    let clear = Clarity { margin: Some(3.0), option_mass: None };
    assert_eq!((inside.option_mass, inside.lacks(clear)), (0.0, vec![]));
    assert_eq!((twice.option_mass, twice.lacks(clear)), (OPTION_MASS, vec![Lack::OptionMass]));
    // A second profile that is said to stay here does not, and one at another address may not.
    let (none, less) = (Clarity::default(), of([2.9, 0.9]));
    assert_eq!(twice.decide(none, None, &internal, &open), Step::Undecided);
    assert_eq!(twice.decide(none, elsewhere.as_ref(), &internal, &open), Step::Undecided);
    assert_eq!(inside.decide(less, None, &phi, &closed), Step::Escalate(slow));
    assert_eq!(inside.decide(less, there.as_ref(), &internal, &open), Step::Undecided);
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
        (
            "itself",
            with("[cascade]\nx = { first='a', below=1, then='x' }"),
            "line 5, column 32: `then`: `x` is a cascade",
        ),
        (
            "itself first",
            with("[cascade]\nx = { first='x', below=1, then='b' }"),
            "`first`: `x` is a cascade\nhint: a cascade is of two profiles",
        ),
        (
            "another cascade",
            with(
                "[cascade]\nx = { first='a', below=1, then='y' }\ny = { first='a', below=1, then='x' }",
            ),
            "`then`: `y` is a cascade",
        ),
        (
            "twice the same",
            with("[cascade]\nx = { first='a', below=1, then='a' }"),
            "`then`: `a` is asked first already",
        ),
        (
            "three",
            with("[cascade]\nx = { first='a', below=1, then='b', last='a' }"),
            "unknown word `last`",
        ),
        (
            "a list",
            with("[cascade]\nx = { first='a', below=1, then=['b', 'a'] }"),
            "`then`: a text is needed",
        ),
        ("then", with("[cascade]\nx = { first='a', below=1, then='z' }"), "unknown profile `z`"),
        ("word", with("[cascade]\nx = { first='a', under=1, then='b' }"), "unknown word `under`"),
        ("below", with("[cascade]\nx = { first='a', below=0, then='b' }"), "a number above 0"),
        ("below", with("[cascade]\nx = { first='a', below=nan, then='b' }"), "a number above 0"),
        ("below", with("[cascade]\nx = { first='a', below='1', then='b' }"), "a number above 0"),
        (
            "mass",
            with("[cascade]\nx = { first='a', below=1, option_mass=1.1, then='b' }"),
            "line 5, column 39: `option_mass`: a number from 0 to 1",
        ),
        (
            "mass, no number",
            with("[cascade]\nx = { first='a', below=1, option_mass=nan, then='b' }"),
            "a number from 0 to 1",
        ),
        (
            "mass, a text",
            with("[cascade]\nx = { first='a', below=1, option_mass='0.5', then='b' }"),
            "a number from 0 to 1",
        ),
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
        (
            "a number",
            "[profiles]\nx = 5\n".into(),
            "line 2, column 5: profile `x`: a text PROVIDER/MODEL or a table is needed\nhint: PROVIDER/MODEL, as in",
        ),
        ("a list", "[profiles]\nx = ['local/m']\n".into(), "a text PROVIDER/MODEL or a table"),
        ("a list of tables", "[[profiles.x]]\nmodel = 'local/m'\n".into(), "or a table"),
        ("nothing", "[profiles]\nx = ''\n".into(), "no `/` stands in it"),
        (
            "a table of nothing",
            "[profiles.x]\n".into(),
            "line 1, column 11: profile `x`: `model` is missing",
        ),
        (
            "a model that is none",
            "[profiles.x]\nmodel = true\n".into(),
            "line 2, column 9: profile `x`: `model`: a text",
        ),
        ("a model that is a table", "[profiles.x.model]\na = 1\n".into(), "`model`: a text"),
        (
            "provider of a table",
            "[profiles.x]\nmodel = 'otro/m'\n".into(),
            "line 2, column 9: unknown provider `otro`",
        ),
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

#[test]
fn very_many_are_read_and_not_listed() {
    let mut text = String::from("[profiles]\n");
    for n in 0..10_000 {
        text.push_str(&format!("p{n} = 'local/m{n}.gguf'\n"));
    }
    text.push_str("[cascade]\n");
    for n in 0..2_000 {
        text.push_str(&format!("c{n} = {{ first = 'p{n}', below = 1, then = 'p{}' }}\n", n + 1));
    }
    let all = read(&[("p.toml", &text)]).unwrap();
    assert_eq!((all.profiles().len(), all.cascades().len()), (10_000, 2_000));
    assert_eq!(all.profile("p9999").unwrap().model, "m9999.gguf");
    let Some(Target::Cascade(last)) = all.named("c1999") else { panic!("the last") };
    assert_eq!((last.first.name.as_str(), last.then.name.as_str()), ("p1999", "p2000"));
    text.push_str("[tasks]\nask = 'nadie'\n");
    let error = read(&[("p.toml", &text)]).unwrap_err().to_string();
    assert!(error.contains("p0, p1, ") && error.contains(" and 11980 more"), "{error}");
    assert!(error.len() < 500, "{}", error.len());
}

#[test]
fn words_of_a_table_are_kept() {
    let text = "[profiles.x]\nbase_url = 'http://localhost:1/v1'\nmodel = 'openai-compatible/a/b'\n\
                key_env = 'UNA_CLAVE'\n";
    let all = read(&[("p.toml", text), ("far.toml", "[profiles.x]\nmodel = 'local/m'\n")]).unwrap();
    let x = all.profile("x").unwrap();
    assert_eq!((x.provider.as_str(), x.model.as_str()), ("openai-compatible", "a/b"));
    let words: Vec<(&str, usize)> =
        x.words.iter().map(|word| (word.key.as_str(), word.at.line)).collect();
    assert_eq!(words, [("base_url", 2), ("key_env", 4)], "of the nearest file alone");
}
