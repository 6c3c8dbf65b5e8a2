//! Answers for people: a table, and with `-v` every probability.

use recinto_judge::Rule;

use super::judged::{Judged, Judgements};
use crate::{
    failure::Failure,
    screen::{Screen, escaped},
    table::{self, Column},
};

const COLUMNS: [Column; 7] = [
    Column { head: "QUESTION", goes: 0, right: false },
    Column { head: "ANSWER", goes: 0, right: false },
    Column { head: "P", goes: 0, right: true },
    Column { head: "CONFIDENCE", goes: 3, right: true },
    Column { head: "MASS", goes: 4, right: true },
    Column { head: "GATE", goes: 0, right: false },
    Column { head: "WHY", goes: 1, right: false },
];

/// The table on stdout.
pub fn table(screen: &mut Screen, found: &Judgements) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = found.all.iter().map(cells).collect();
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &rows, width).iter().try_for_each(|line| screen.row(line))
}

fn cells(judged: &Judged) -> Vec<String> {
    let number = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => "-".into(),
    };
    let answer = judged.answer.as_ref().ok();
    let gate = match judged.expected {
        Some(false) if judged.outcome.is_pass() => "pass, not expected",
        _ => judged.outcome.name(),
    };
    let cells = [
        judged.id.clone(),
        judged.word(),
        number(answer.map(|answer| answer.answer_confidence()), 4),
        number(answer.map(|answer| answer.confidence()), 3),
        number(answer.and_then(|answer| answer.facts().option_mass), 3),
        gate.into(),
        judged.why(),
    ];
    cells.iter().map(|cell| escaped(cell).into_owned()).collect()
}

/// Everything else about the answers, on stderr with `-v`.
pub fn details(screen: &Screen, found: &Judgements) {
    for judged in &found.all {
        let Ok(answer) = &judged.answer else { continue };
        let (form, facts) = (answer.form(), answer.facts());
        let shares: Vec<String> = answer
            .probabilities()
            .iter()
            .enumerate()
            .map(|(at, share)| format!("{} {:.4}", form.word(at, &share.label), share.p))
            .collect();
        screen.detail(&format!("{}: {}", judged.id, shares.join(", ")));
        let calibrated = match facts.calibrated {
            Some(digest) => format!("calibrated by {digest}"),
            None => "not calibrated".into(),
        };
        let orders = match facts.order {
            Some(order) => format!(
                "{} orders, {} gave another answer, largest difference {:.4}",
                order.readings, order.flips, order.spread
            ),
            None => "one order".into(),
        };
        let rounds = judged.rounds.map_or(String::new(), |rounds| {
            format!(
                "; {} options in groups of {}, {} rounds, {} groups",
                rounds.options, rounds.group, rounds.rounds, rounds.asked
            )
        });
        let windows = facts.truncation.windows.map_or(String::new(), |windows| {
            format!(
                "; {} windows of {} tokens, {} of them shared, the {} answers",
                windows.count,
                windows.size,
                windows.overlap,
                match windows.rule {
                    Rule::LargestYes => "one with the largest yes",
                    Rule::MostConfident => "surest one",
                }
            )
        });
        screen.detail(&format!("  {calibrated}; {orders}{rounds}{windows}"));
    }
}
