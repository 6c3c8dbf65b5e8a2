//! What a model's store says of how answers are made, as options of the engine.

use recinto_engine::Options;
use recinto_store::{Note, Params};

/// Below the user's own options, above the engine's.
pub(crate) struct Defaults {
    pub options: Options,
    /// Positions of a session.
    pub context: Option<usize>,
    /// Parameters that could not be taken over.
    pub notes: Vec<Note>,
}

/// The parameters that are within their bounds, for a model with so many pieces that was trained on
/// so many positions.
pub(crate) fn of(params: &Params, vocabulary: usize, trained: Option<u64>) -> Defaults {
    let mut options = Options { stop: params.stop.clone(), ..Options::default() };
    let mut notes = Vec::new();
    let mut set = |name: &str, change: &dyn Fn(&mut Options)| {
        let mut changed = options.clone();
        change(&mut changed);
        match changed.check(vocabulary) {
            Ok(()) => options = changed,
            Err(_) => notes.push(Note::UnusableParameter { name: name.into() }),
        }
    };
    type Field = fn(&mut Options) -> &mut f32;
    let floats: [(&str, Option<f64>, Field); 6] = [
        ("temperature", params.temperature, |o| &mut o.temperature),
        ("top_p", params.top_p, |o| &mut o.top_p),
        ("min_p", params.min_p, |o| &mut o.min_p),
        ("repeat_penalty", params.repeat_penalty, |o| &mut o.repeat_penalty),
        ("presence_penalty", params.presence_penalty, |o| &mut o.presence_penalty),
        ("frequency_penalty", params.frequency_penalty, |o| &mut o.frequency_penalty),
    ];
    for (name, value, field) in floats {
        if let Some(value) = value {
            set(name, &|options| *field(options) = value as f32);
        }
    }
    // Negative: off, all recent tokens, and no limit but the context.
    let whole = |value: i64, negative: usize| usize::try_from(value).unwrap_or(negative);
    if let Some(n) = params.top_k {
        set("top_k", &|options| options.top_k = whole(n, 0));
    }
    if let Some(n) = params.repeat_last_n {
        set("repeat_last_n", &|options| options.repeat_last_n = whole(n, u32::MAX as usize));
    }
    if let Some(n) = params.num_predict {
        set("num_predict", &|options| options.max_tokens = whole(n, u32::MAX as usize));
    }
    if let Some(n) = params.seed.and_then(|seed| u64::try_from(seed).ok()) {
        set("seed", &|options| options.seed = Some(n));
    }
    let context = params.num_ctx.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    if params.num_ctx.is_some() && context.is_none() {
        notes.push(Note::UnusableParameter { name: "num_ctx".into() });
    }
    let most = trained.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    Defaults { options, context: context.map(|n| n.min(most)), notes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_options() {
        let params = Params {
            stop: vec!["¡fin!".into()],
            temperature: Some(0.6),
            top_k: Some(-1),
            top_p: Some(0.95),
            min_p: Some(0.05),
            repeat_penalty: Some(1.1),
            repeat_last_n: Some(-1),
            seed: Some(42),
            num_ctx: Some(1 << 40),
            num_predict: Some(-1),
            ..Params::default()
        };
        let Defaults { options, context, notes } = of(&params, 100, Some(512));
        let want = Options {
            stop: vec!["¡fin!".into()],
            temperature: 0.6,
            top_p: 0.95,
            min_p: 0.05,
            repeat_penalty: 1.1,
            repeat_last_n: u32::MAX as usize,
            seed: Some(42),
            max_tokens: u32::MAX as usize,
            ..Options::default()
        };
        assert_eq!((options, context, notes), (want, Some(512), vec![]));
    }

    #[test]
    fn what_cannot_be_is_left_out_and_said() {
        let params = Params {
            temperature: Some(-1.0),
            top_p: Some(7.0),
            min_p: Some(0.5),
            num_predict: Some(0),
            num_ctx: Some(-4),
            seed: Some(-1),
            ..Params::default()
        };
        let Defaults { options, context, notes } = of(&params, 100, None);
        assert_eq!(options, Options { min_p: 0.5, ..Options::default() });
        assert_eq!(context, None);
        let named = |name: &str| Note::UnusableParameter { name: name.into() };
        assert_eq!(notes, ["temperature", "top_p", "num_predict", "num_ctx"].map(named));
    }
}
