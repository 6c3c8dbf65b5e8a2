//! One program for all providers: the same steps through the same calls, the same types and kinds
//! of outcome. What differs is in the table [`STEPS`], which `docs/providers.md` repeats.
//!
//! Services are recordings on loopback; `local` is a tiny model, and the real ones of
//! `RECINTO_TEST_MODELS`.

use crate::conform;

use std::{collections::BTreeMap, path::Path, time::Instant};

use conform::{COLUMNS, STEPS, providers};

#[test]
fn every_provider_goes_through_every_step() {
    let mut wrong = Vec::new();
    for who in providers() {
        let began = Instant::now();
        for step in STEPS {
            let ready = who.ready(step);
            let found = (step.run)(&ready);
            let wanted = step.outcomes[who.column];
            let (name, column) = (&who.name, COLUMNS[who.column]);
            if !wanted.split(" or ").any(|one| one == found) {
                wrong.push(format!("{name} ({column}), {}: {found}, not {wanted}", step.name));
            }
            ready.sends_what_it_should(step, &found);
        }
        println!("{}: {:.1} s", who.name, began.elapsed().as_secs_f64());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page for readers has the very table.
#[test]
fn the_page_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let part = page.split("## One program for all").nth(1).expect("its heading");
    let rows = part.split("\n## ").next().expect("its rows").lines();
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner.split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    let found: Vec<Vec<String>> = rows
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .map(cells)
        .collect();
    let head = [&["step", "what is asked"][..], &COLUMNS[..]].concat();
    assert_eq!(found.first().expect("a head"), &head);
    let wanted: Vec<Vec<String>> = STEPS
        .iter()
        .map(|step| {
            let about = step.about.replace('`', "");
            let cells = [&[step.name, &about][..], &step.outcomes[..]].concat();
            cells.into_iter().map(str::to_owned).collect()
        })
        .collect();
    assert_eq!(&found[1..], &wanted[..], "rows of docs/providers.md (left), of the code (right)");
}

/// Each step's name is its own, and no outcome is said of a step that nobody could meet.
#[test]
fn the_table_is_in_order() {
    let mut names = BTreeMap::new();
    for step in STEPS {
        assert!(names.insert(step.name, ()).is_none(), "{}: twice", step.name);
        for outcome in step.outcomes {
            assert!(!outcome.is_empty() && outcome.is_ascii(), "{}: {outcome:?}", step.name);
        }
    }
    assert!(names.len() > 15);
}
