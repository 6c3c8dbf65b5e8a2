//! Stored hashes of logits: what `docs/determinism.md` promises, held from version to version.
//!
//! One SHA-256 a tiny model, over the bits of the logits of all positions, in
//! `tests/golden/bits.json`. `RECINTO_BLESS=1` writes that file again, but never another hash
//! under the same `NUMERICS`.

use crate::goldens;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use goldens::{folder, ids, open, record, rows, session};
use recinto_engine::{Digest, NUMERICS, OpenOptions};
use recinto_kernels::{Kernels, Level};
use recinto_receipt::sha256;
use serde::{Deserialize, Serialize};

/// The file of hashes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Stored {
    numerics: u32,
    hashes: BTreeMap<String, String>,
}

fn file() -> PathBuf {
    folder().join("bits.json")
}

/// Names of the tiny models, sorted.
fn names() -> Vec<String> {
    let entries = fs::read_dir(folder().join("tiny")).expect("tests/golden/tiny");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".gguf").map(str::to_owned))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no tiny models");
    names
}

/// SHA-256 over the little-endian bits of all logits of the golden's ids.
fn hash(model: &Path, prompt: &[u32], options: &OpenOptions, pieces: &[usize]) -> Digest {
    let model = open(model, options).expect("a tiny model");
    let logits = rows(&mut session(&model, 256), prompt, pieces).expect("logits");
    assert_eq!(logits.len(), prompt.len() * model.program().vocabulary);
    // NaN has no fixed bits (docs/determinism.md), and no golden has one.
    assert!(logits.iter().all(|v| v.is_finite()), "not a number");
    let bytes: Vec<u8> = logits.iter().flat_map(|v| v.to_le_bytes()).collect();
    sha256(&bytes)
}

/// The levels of this CPU, or those that `RECINTO_TEST_LEVELS` names, which must then be there: an
/// emulator is slow (`tools/emulate.sh`).
fn kernels() -> Vec<Kernels> {
    let Ok(names) = std::env::var("RECINTO_TEST_LEVELS") else {
        return Kernels::available();
    };
    let level = |name| Level::from_name(name).unwrap_or_else(|| panic!("no level {name}"));
    let here = |level| Kernels::at(level).unwrap_or_else(|| panic!("not here: {level:?}"));
    names.split(',').map(level).map(here).collect()
}

/// The hash of one tiny model, the same on every level of this CPU and on one and two threads.
fn hash_everywhere(name: &str) -> String {
    let tiny = folder().join("tiny");
    let model = tiny.join(format!("{name}.gguf"));
    let prompt = ids(&record(&tiny.join(format!("{name}.json")))["ids"]);
    let most = std::env::var("RECINTO_TEST_THREADS").map_or(2, |n| n.parse().expect("a number"));
    let mut found: Option<(Digest, String)> = None;
    for kernels in kernels() {
        for (threads, pieces) in [(1, &[16, 7, 1, 32][..]), (2, &[40, 3, 21])] {
            if threads > most {
                continue;
            }
            let level = kernels.level();
            let options = OpenOptions {
                level: Some(level),
                threads: Some(threads),
                ..OpenOptions::default()
            };
            let here = format!("level {}, {threads} threads", level.name());
            let digest = hash(&model, &prompt, &options, pieces);
            match &found {
                None => found = Some((digest, here)),
                Some((first, there)) => {
                    assert!(digest == *first, "{name}: other bits at {here} than at {there}");
                }
            }
        }
    }
    found.expect("every machine has a level").0.to_string()
}

/// What must be written: the stored file with what may change, or the reasons why not.
fn settle(stored: Option<&Stored>, now: &Stored, bless: bool) -> Result<Stored, Vec<String>> {
    let Some(stored) = stored else {
        return match bless {
            true => Ok(now.clone()),
            false => Err(vec!["no hashes are stored; RECINTO_BLESS=1 writes them".into()]),
        };
    };
    if stored.numerics != now.numerics {
        let (was, is) = (stored.numerics, now.numerics);
        return match bless && is > was {
            true => Ok(now.clone()),
            false if is < was => Err(vec![format!("NUMERICS fell from {was} to {is}")]),
            false => Err(vec![format!(
                "the hashes are of NUMERICS {was}, the engine's is {is}; RECINTO_BLESS=1 renews \
                 them"
            )]),
        };
    }
    let mut faults = Vec::new();
    for (name, hash) in &now.hashes {
        match stored.hashes.get(name) {
            Some(old) if old != hash => faults.push(format!(
                "{name}: the bits of the logits changed and NUMERICS is still {}; if the change \
                 is wanted, NUMERICS (kernels/src/lib.rs) must rise before the hashes are renewed",
                now.numerics
            )),
            None if !bless => faults.push(format!("{name}: no hash; RECINTO_BLESS=1 adds it")),
            _ => {}
        }
    }
    for name in stored.hashes.keys().filter(|name| !now.hashes.contains_key(*name) && !bless) {
        faults.push(format!("{name}: a hash of no model; RECINTO_BLESS=1 removes it"));
    }
    if faults.is_empty() { Ok(now.clone()) } else { Err(faults) }
}

#[test]
fn the_bits_of_all_logits_are_the_stored_ones() {
    let bless = std::env::var_os("RECINTO_BLESS").is_some_and(|v| v == "1");
    let hashes = names().into_iter().map(|name| (name.clone(), hash_everywhere(&name))).collect();
    let now = Stored { numerics: NUMERICS, hashes };
    let stored: Option<Stored> = match fs::read_to_string(file()) {
        Ok(text) => Some(serde_json::from_str(&text).expect("bits.json")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => panic!("bits.json: {e}"),
    };
    let settled = settle(stored.as_ref(), &now, bless)
        .unwrap_or_else(|faults| panic!("\n{}", faults.join("\n")));
    if bless && stored.as_ref() != Some(&settled) {
        let text = serde_json::to_string_pretty(&settled).expect("JSON") + "\n";
        fs::write(file(), text).expect("bits.json can be written");
    }
}

#[test]
fn no_hash_changes_while_numerics_stays() {
    let of = |numerics, hashes: &[(&str, &str)]| Stored {
        numerics,
        hashes: hashes.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
    };
    let stored = of(1, &[("a", "1"), ("b", "2")]);
    // name, now, allowed without and with RECINTO_BLESS
    let cases = [
        ("the same", of(1, &[("a", "1"), ("b", "2")]), true, true),
        ("a changed hash", of(1, &[("a", "9"), ("b", "2")]), false, false),
        ("a changed hash beside a new one", of(1, &[("a", "9"), ("c", "3")]), false, false),
        ("a new model", of(1, &[("a", "1"), ("b", "2"), ("c", "3")]), false, true),
        ("a model that is gone", of(1, &[("a", "1")]), false, true),
        ("a higher number", of(2, &[("a", "9"), ("b", "2")]), false, true),
        ("a higher number, same hashes", of(2, &[("a", "1"), ("b", "2")]), false, true),
        ("a lower number", of(0, &[("a", "9"), ("b", "2")]), false, false),
    ];
    for (name, now, plain, blessed) in cases {
        for (bless, want) in [(false, plain), (true, blessed)] {
            let got = settle(Some(&stored), &now, bless);
            assert_eq!(got.is_ok(), want, "{name}, bless {bless}: {got:?}");
        }
    }
    assert!(settle(None, &stored, false).is_err());
    assert_eq!(settle(None, &stored, true), Ok(stored));
}
