//! Decisions by a cascade of two models of this process: which one answers, and by which margin.

use std::{fs, path::PathBuf};

use recinto_engine::OpenOptions;
use recinto_provider::{Flags, Provider, Settings, Surroundings, Task, open_choice_in};
use recinto_tasks::{Decision, Input, Kind, Label, Labels, Method, Outcome, Stop, decide};

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

fn file(below: &str, then: &str) -> String {
    let (fast, slow) = (tiny("qwen2-quant"), tiny("qwen2-plain"));
    format!(
        "[profiles]\nfast = \"local/{fast}\"\nslow = \"local/{slow}\"\nfar = \"openai/m\"\n\
         alone = \"local/{slow}\"\n[cascade]\n\
         twice = {{ first = \"fast\", below = {below}, then = \"{then}\" }}\n\
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
    assert!(text.contains("cascade `twice` wants 2") && !text.contains("canary"), "{text}");
}
