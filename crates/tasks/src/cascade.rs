//! A decision by the operator's cascade: the first profile scores; an answer that is not clear
//! enough goes to the second, where policy lets it.

use std::time::Instant;

use recinto_engine::Stop;
use recinto_provider::{Cascaded, Clarity, Next};

use crate::{
    decide::{self, Decision, Leg, Method, Scored},
    error::Error,
    input::Input,
    labels::Labels,
    outcome::{Outcome, Undecided},
};

/// Decides as the cascade says.
pub(crate) fn decide(
    cascaded: &Cascaded,
    input: &Input,
    labels: &Labels,
    stop: &Stop,
) -> Result<Outcome<Decision>, Error> {
    // One time for both.
    let end = input.options.deadline.and_then(|time| Instant::now().checked_add(time));
    let stop = &stop.with_deadline(end);
    let first = decide::one(cascaded.first(), input, labels, Method::Score, stop)?;
    let Outcome::Done(first) = first else { return Ok(first) };
    let cascade = cascaded.cascade();
    let clarity = Clarity { margin: margin(&first.scores), option_mass: first.mass };
    let leg = |escalated: bool| {
        let profile = if escalated { &cascade.then } else { &cascade.first };
        Leg {
            cascade: cascade.name.clone(),
            profile: profile.name.clone(),
            margin: clarity.margin,
            below: cascade.below,
            option_mass: clarity.option_mass,
            least_mass: cascade.option_mass,
            lacks: cascade.lacks(clarity),
            escalated,
        }
    };
    let second = match cascaded.next(clarity, &input.data_labels)? {
        Next::Holds => {
            return Ok(Outcome::Done(Decision { leg: Some(leg(false)), ..first }));
        }
        Next::Undecided(refused) => {
            let refused = refused.map(|refused| refused.to_string()).unwrap_or_default();
            let why = refused.split("\nhint: ").next().unwrap_or_default().to_owned();
            return Ok(Outcome::Undecided(Box::new(Undecided {
                scores: first.scores,
                mass: first.mass.unwrap_or_default(),
                leg: leg(false),
                why,
                input: first.input,
                usage: first.usage,
            })));
        }
        Next::Ask(second) => second,
    };
    let method = match second.abilities().scores {
        true => Method::Score,
        false => Method::Generate,
    };
    Ok(match decide::one(second, input, labels, method, stop)? {
        Outcome::Done(second) => {
            // The first answer was paid for, too.
            let mut usage = second.usage;
            usage.prompt_tokens += first.usage.prompt_tokens;
            usage.cached_tokens += first.usage.cached_tokens;
            usage.output_tokens += first.usage.output_tokens;
            Outcome::Done(Decision { leg: Some(leg(true)), usage, ..second })
        }
        other => other,
    })
}

/// The probability of the likeliest answer less that of the second; one answer alone has no rival.
fn margin(scores: &[Scored]) -> Option<f64> {
    let mut sorted: Vec<f64> = scores.iter().map(|score| score.probability).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let best = sorted.first()?;
    Some(best - sorted.get(1).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_less_second() {
        let cases: [(&str, &[f64], Option<f64>); 5] = [
            ("none", &[], None),
            ("alone", &[1.0], Some(1.0)),
            ("two", &[0.25, 0.75], Some(0.5)),
            ("three", &[0.25, 0.5, 0.25], Some(0.25)),
            ("equal", &[0.5, 0.5], Some(0.0)),
        ];
        for (name, probabilities, want) in cases {
            let scored = |probability: &f64| Scored {
                label: Some("ñ".into()),
                probability: *probability,
                logprob: probability.ln(),
            };
            let scores: Vec<Scored> = probabilities.iter().map(scored).collect();
            assert_eq!(margin(&scores), want, "{name}");
        }
    }
}
