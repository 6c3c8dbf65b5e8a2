//! How fast a Laya is: `cargo run --release -p recinto-backends --example laya_speed -- MODEL
//! [THREADS] [REPEATS]`. Prints CSV: opening, one question of some lengths, a block of four,
//! memory; and on stderr where the time of one question goes, line by line of the arch file.
//!
//! `bench/laya_sized.py` makes a checkpoint of the real size; a quiet machine makes the figures.

use std::{path::Path, time::Instant};

use recinto_backends::Laya;
use recinto_engine::{OpenOptions, Stop, Text};
use recinto_judge::{Backend, Choice, Question, Shown, State};

/// Tokens of the rows that are measured.
const TOKENS: [usize; 3] = [64, 80, 100];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("the path of a Laya checkpoint or file is needed")?;
    let threads = args.next().map_or(Ok(2), |text| text.parse())?;
    let repeats: usize = args.next().map_or(Ok(9), |text| text.parse())?;
    let options = OpenOptions { threads: Some(threads), ..OpenOptions::default() };
    let began = Instant::now();
    let mut laya = Laya::open(Path::new(&path), &options)?;
    let facts = laya.encoder().facts();
    let precision = facts.precision.name();
    let row = |what: &str, tokens: usize, unit: &str, all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        let (least, most) = (all[0], all[all.len() - 1]);
        let median = all[all.len() / 2];
        println!(
            "{precision},{},{threads},{what},{tokens},{unit},{median:.1},{least:.1},{most:.1},{}",
            facts.level,
            all.len()
        );
    };
    println!("precision,level,threads,what,tokens,unit,median,least,most,repeats");
    row("open_with_digest", 0, "ms", &mut vec![began.elapsed().as_secs_f64() * 1e3]);
    row("open", 0, "ms", &mut vec![facts.load_ms]);
    let labels = ["yes", "no"].map(Choice::plain);
    let question = Question::choose("Is it urgent?", labels);
    let questions = vec![question; 4];
    let order = [0, 1];
    let shown: Vec<Shown<'_>> =
        questions.iter().map(|question| Shown { question, order: &order }).collect();
    for tokens in TOKENS {
        let state = state_of(&laya, &shown[0], tokens);
        let rows = [laya.row(&state, &shown[0]).map_err(|e| format!("{e:?}"))?];
        let types = vec![2; rows[0].ids.len()];
        let texts = [Text { types: &types, rows: &rows[0].markers, ..Text::of(&rows[0].ids) }];
        for (what, many) in [("question", 1), ("block_of_four", 4)] {
            let mut times = Vec::new();
            for turn in 0..=repeats {
                let began = Instant::now();
                let read = laya.read(&state, &shown[..many]).map_err(|e| format!("{e:?}"))?;
                assert!(read.iter().all(Result::is_ok), "a reading");
                // The first one brings in pages.
                if turn > 0 {
                    times.push(began.elapsed().as_secs_f64() * 1e3);
                }
            }
            row(what, rows[0].ids.len(), "ms", &mut times);
        }
        if tokens == TOKENS[0] {
            let program = laya.encoder().model().program();
            let profile = laya.encoder().profile(&texts, &Stop::never())?;
            let mut lines = profile.lines(program, &[]);
            lines.sort_by(|a, b| b.ms.total_cmp(&a.ms));
            for line in lines.iter().take(16) {
                eprintln!("{:>8.2} ms  {:>3} calls  {}", line.ms, line.calls, line.text);
            }
            eprintln!("{:>8.2} ms  all", profile.total().as_secs_f64() * 1e3);
        }
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    for (what, key) in [("resident_peak", "VmHWM:"), ("resident", "VmRSS:")] {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0 kB");
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
        row(what, 0, "MiB", &mut vec![kib / 1024.0]);
    }
    Ok(())
}

/// A text with which a row has `tokens` tokens: words, then letters, as long as they fit.
fn state_of(laya: &Laya, shown: &Shown<'_>, tokens: usize) -> State {
    let words = ["Me", " cobraron", " dos", " veces", " y", " nadie", " responde", "."];
    let mut text = String::new();
    for parts in [&words[..], &["x"]] {
        for part in parts.iter().cycle() {
            let longer = State::text(format!("{text}{part}"));
            match laya.row(&longer, shown) {
                Ok(row) if row.ids.len() <= tokens => text.push_str(part),
                _ => break,
            }
        }
    }
    State::text(text)
}
