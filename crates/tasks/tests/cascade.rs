//! Decisions by a cascade of two models of this process: which one answers, and by which margin.

use std::{fs, path::PathBuf};

use recinto_engine::OpenOptions;
use recinto_provider::{Flags, Provider, Settings, Surroundings, Task, open_choice_in};
use recinto_tasks::{Decision, Input, Kind, Label, Labels, Lack, Method, Outcome, Stop, decide};

fn tiny(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    folder.join(format!("{name}.gguf")).canonicalize().expect("a tiny model").display().to_string()
}

/// A provider for `decide`, as the text of a `recinto.toml` says.
fn open(text: &str) -> Box<dyn Provider> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("recinto.toml"), text).unwrap();
    let here = folder.path().to_owned();
    let around = Surroundings { variables: Vec::new(), root: here.join("root"), here };
    let settings = Settings::resolve_from(&Flags::default(), &around).unwrap();
    let choice = settings.choose_in(Some(Task::Decide), &around).unwrap();
    open_choice_in(&choice, OpenOptions::default(), &around).unwrap_or_else(|e| panic!("{e}"))
}

/// What a tiny model's labels hold together is next to nothing: no mass is asked for.
fn file(below: &str, then: &str) -> String {
    masses(below, "0", then)
}

fn masses(below: &str, mass: &str, then: &str) -> String {
    let (fast, slow) = (tiny("qwen2-quant"), tiny("qwen2-plain"));
    format!(
        "[profiles]\nfast = \"local/{fast}\"\nslow = \"local/{slow}\"\nfar = \"openai/m\"\n\
         alone = \"local/{slow}\"\n[cascade]\n\
         twice = {{ first = \"fast\", below = {below}, option_mass = {mass}, then = \"{then}\" }}\n\
         [tasks]\ndecide = \"twice\"\n"
    )
}

fn decided(provider: &dyn Provider, method: Method) -> Decision {
    let outcome = decide(provider, &Input::new("¿Qué?"), &labels(), method, &Stop::never());
    outcome.unwrap_or_else(|e| panic!("{e}")).value().unwrap_or_else(|e| panic!("{e}"))
}

fn labels() -> Labels {
    Labels::new(["pagos", "acceso", "otro"].map(Label::new)).unwrap()
}

#[test]
fn the_margin_says_who_answers() {
    let first = decided(open(&file("0.000001", "slow")).as_ref(), Method::Score);
    let leg = first.leg.as_ref().expect("a cascade");
    let mut best: Vec<f64> = first.scores.iter().map(|score| score.probability).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(leg.margin, Some(best[0] - best[1]));
    let found = (leg.cascade.as_str(), leg.profile.as_str(), leg.escalated);
    assert_eq!(found, ("twice", "fast", false));
    // Exactly at the border it holds; a little above it does not.
    let margin = leg.margin.unwrap();
    let at = decided(open(&file(&format!("{margin:?}"), "slow")).as_ref(), Method::Score);
    assert!(!at.leg.as_ref().unwrap().escalated);
    assert_eq!(at.scores, first.scores);
    let above = format!("{:?}", margin * (1.0 + 1e-12));
    let provider = open(&file(&above, "slow"));
    assert!(provider.cascaded().unwrap().second().is_none(), "not opened before it is needed");
    let second = decided(provider.as_ref(), Method::Score);
    let leg = second.leg.as_ref().unwrap();
    assert_eq!((leg.profile.as_str(), leg.margin, leg.escalated), ("slow", Some(margin), true));
    // Its answer is that of the second alone, bit for bit; the tokens are those of both.
    let alone = file("1", "slow").replace("decide = \"twice\"", "decide = \"alone\"");
    let alone = open(&alone);
    assert!(alone.cascaded().is_none());
    let alone = decided(alone.as_ref(), Method::Score);
    assert_eq!((&second.label, &second.scores), (&alone.label, &alone.scores));
    let all = first.usage.prompt_tokens + alone.usage.prompt_tokens;
    assert_eq!((second.usage.prompt_tokens, alone.leg.is_none()), (all, true));
}

#[test]
fn nobody_else_may_be_asked() {
    let provider = open(&file("2", "far"));
    let outcome = decide(
        provider.as_ref(),
        &Input::new("canary"),
        &labels(),
        Method::Generate,
        &Stop::never(),
    );
    let Ok(Outcome::Undecided(undecided)) = outcome else { panic!("{:?}", outcome.err()) };
    assert_eq!(undecided.scores.len(), 3);
    assert!(undecided.why.contains("no policy says what may leave"), "{}", undecided.why);
    let error = Outcome::<Decision>::Undecided(undecided).value().unwrap_err();
    assert_eq!(error.kind(), &Kind::Undecided);
    let text = error.to_string();
    assert!(text.contains("cascade `twice`: margin 0.") && text.contains(" of 2, and"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

/// What an answer of these figures lacks, by a first leg that is the same each time.
#[test]
fn a_margin_of_next_to_nothing_is_none() {
    let provider = open(&masses("0.000001", "0", "slow"));
    let free = decided(provider.as_ref(), Method::Score);
    let mass = free.mass.expect("scored");
    assert!(mass < 0.5, "a tiny model would say something else: {mass}");
    let (at, above) = (format!("{mass:?}"), format!("{:?}", mass * (1.0 + 1e-9)));
    let cases = [
        ("at the border", "0.000001", at.as_str(), vec![]),
        ("above it", "0.000001", above.as_str(), vec![Lack::OptionMass]),
        ("the margin alone", "2", at.as_str(), vec![Lack::Margin]),
        ("both", "2", "1", vec![Lack::Margin, Lack::OptionMass]),
    ];
    for (name, below, least, lacks) in cases {
        let decision = decided(open(&masses(below, least, "slow")).as_ref(), Method::Score);
        let leg = decision.leg.as_ref().unwrap();
        assert_eq!((leg.escalated, &leg.lacks), (!lacks.is_empty(), &lacks), "{name}");
        assert_eq!((leg.option_mass, leg.least_mass), (Some(mass), least.parse().unwrap()));
        let profile = if lacks.is_empty() { "fast" } else { "slow" };
        assert_eq!(leg.profile, profile, "{name}");
    }
    // Where nobody says one, it is that of a judge's gate; the outcome says which of both it was.
    let text = file("0.000001", "far").replace(", option_mass = 0", "");
    let provider = open(&text);
    let input = Input::new("¿Qué?");
    let outcome =
        decide(provider.as_ref(), &input, &labels(), Method::Score, &Stop::never()).unwrap();
    let Outcome::Undecided(undecided) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        (undecided.leg.least_mass, &undecided.leg.lacks[..]),
        (0.5, &[Lack::OptionMass][..])
    );
    let text = undecided.error().to_string();
    assert!(
        text.contains("cascade `twice`: option mass ") && text.contains(" of 0.5, and"),
        "{text}"
    );
    assert!(!text.contains("margin"), "{text}");
}
