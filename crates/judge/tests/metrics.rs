//! Metrics and fits against the values of netcal, scikit-learn, MAPIE, scipy and Laya's runtime.

use crate::common;

use common::{golden, near, number, rows, scored, trials};
use proptest::prelude::*;
use recinto_judge::{
    Form, Kind, Row, Scored, Trial,
    calibrate::{self, Fitted, Method},
    gate::{Refusal, Score, Sets, Test, fixed_sequence_on, risk_control_on, selective},
    metrics::{self, calibration_error, equal_count, equal_width, largest_gap},
};

#[test]
fn metrics_of_the_published_rows() {
    let want = golden("metrics.json");
    let (rows, want) = (rows(), &want);
    let all = scored(&rows, 1.0);
    let t = trials(&all);
    let bins = |n| calibration_error(&equal_width(&t, n));
    let cases = [
        ("ece 10", bins(10), number(want, &["ece", "10_right", "ece"])),
        ("ece 15", bins(15), number(want, &["ece", "15_right", "ece"])),
        ("ece 10, netcal", bins(10), number(want, &["netcal", "ece_10"])),
        ("mce 10", largest_gap(&equal_width(&t, 10)), number(want, &["ece", "10_right", "mce"])),
        ("mce 15", largest_gap(&equal_width(&t, 15)), number(want, &["netcal", "mce_15"])),
        ("adaptive", calibration_error(&equal_count(&t, 15)), number(want, &["adaptive_ece_15"])),
        ("brier", metrics::brier(&all), number(want, &["brier_sum_over_classes"])),
        ("brier, top", metrics::brier_of_confidence(&t), number(want, &["brier_top_label"])),
        ("loss", metrics::log_loss(&all), number(want, &["sklearn", "log_loss"])),
        ("accuracy", metrics::accuracy(&t), number(want, &["runtime", "accuracy"])),
    ];
    for (name, got, want) in cases {
        near(name, got, want, 1e-12);
    }
    // The runtime computed in single precision.
    near("ece, runtime", bins(15), number(want, &["runtime", "ece15_top_label"]), 1e-6);
    let test = trials(&scored(&rows[200..], 1.0));
    let s = &want["selective"];
    near("aurc", metrics::risk_area(&test), number(s, &["aurc"]), 1e-12);
    near("best", metrics::least_risk_area(&test), number(s, &["optimal_aurc"]), 1e-12);
    for (risk, text) in [(0.05, "0.05"), (0.1, "0.1"), (0.2, "0.2")] {
        let got = metrics::coverage_at_risk(&test, risk);
        near(text, got, number(s, &["coverage_at_risk", text]), 1e-12);
    }
}

#[test]
fn temperature_of_the_published_rows() {
    let (want, rows) = (golden("metrics.json"), rows());
    let fitted = calibrate::fit_temperature(&rows[..200]).unwrap();
    let at = &want["temperature_nll_on_cal"];
    // Found by its slope; the reference looks at the loss alone, which is flat there.
    near("T", fitted.fitted, number(at, &["T"]), 1e-7);
    near("loss", fitted.loss, number(at, &["nll"]), 1e-14);
    let after = scored(&rows[200..], fitted.fitted);
    let of = &want["after_T_on_test"];
    near("loss after", metrics::log_loss(&after), number(of, &["nll"]), 1e-7);
    let ece = calibration_error(&equal_width(&trials(&after), 15));
    near("ece after", ece, number(of, &["ece_15_right"]), 1e-7);
    let all = calibrate::fit_temperature(&rows).unwrap();
    let runtime = &want["runtime"];
    // The runtime stops in single precision a little before the least loss.
    near("T of all", all.fitted, number(runtime, &["fitted_temperature"]), 2e-3);
    near("loss of all", all.loss, number(runtime, &["nll_after"]), 1e-6);
    assert!(all.loss <= number(runtime, &["nll_after"]) + 1e-9);
}

#[test]
fn thresholds_of_the_published_rows() {
    let (want, rows) = (golden("metrics.json"), rows());
    let (cal, test) = (scored(&rows[..200], 1.0), scored(&rows[200..], 1.0));
    let (t, held) = (trials(&cal), trials(&test));
    for (risk, key) in [(0.1, "r=0.1"), (0.15, "r=0.15"), (0.2, "r=0.2")] {
        assert!(want["sgr"][format!("{key} delta=0.05")].is_null());
        assert!(selective(&t, risk, 0.05).is_err(), "{key}");
    }
    let got = selective(&t, 0.3, 0.05).unwrap();
    let at = &want["sgr"]["r=0.3 delta=0.05"];
    near("sgr threshold", got.threshold.0, number(at, &["threshold"]), 1e-14);
    near("sgr bound", got.bound.0, number(at, &["bound"]), 1e-12);
    near("sgr coverage", got.accepted as f64 / 200.0, number(at, &["coverage"]), 1e-12);

    let grid: Vec<f64> = (0..15).map(|i| f64::from(95 - 5 * i) / 100.0).collect();
    for (risk, key) in [(0.1, "alpha=0.1"), (0.2, "alpha=0.2"), (0.3, "alpha=0.3")] {
        let at = &want["ltt_fixed_sequence_selective_error"][format!("{key} delta=0.05")];
        let got = fixed_sequence_on(&t, risk, 0.05, Test::HoeffdingBentkus, &grid);
        assert_eq!(got.map(|c| c.threshold.0).ok(), at["lambda"].as_f64(), "{key}");
        for step in at["sequence"].as_array().unwrap() {
            let (n, errors) = recinto_judge::gate::count(&t, step[0].as_f64().unwrap());
            assert_eq!(n, step[1].as_u64().unwrap());
            let p = recinto_judge::bounds::hoeffding_bentkus(errors, n, risk);
            near("p-value", p, step[2].as_f64().unwrap(), 1e-10);
        }
    }

    let grid: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    for (risk, key) in [(0.05, "alpha=0.05"), (0.1, "alpha=0.1"), (0.2, "alpha=0.2")] {
        let at = &want["crc_unconditional_error"][key];
        let got = risk_control_on(&t, risk, &grid).unwrap();
        near(key, got.threshold.0, number(at, &["lambda"]), 1e-12);
        let (n, errors) = recinto_judge::gate::count(&held, got.threshold.0);
        near(key, n as f64 / 200.0, number(at, &["test_coverage"]), 1e-12);
        near(key, errors as f64 / 200.0, number(at, &["test_loss"]), 1e-12);
    }
}

#[test]
fn sets_of_the_published_rows() {
    let (want, rows) = (golden("metrics.json"), rows());
    let (cal, test) = (scored(&rows[..200], 1.0), scored(&rows[200..], 1.0));
    for (miss, key) in [(0.05, "alpha=0.05"), (0.1, "alpha=0.1"), (0.2, "alpha=0.2")] {
        for (score, short) in [(Score::LeastAmbiguous, "lac"), (Score::Adaptive, "aps")] {
            let sets = Sets::fit(score, &cal, miss).unwrap();
            let at =
                |name: &str| number(&want["split_conformal"][key], &[&format!("{short}_{name}")]);
            near(key, sets.quantile.0, at("q"), 1e-12);
            let drawn: Vec<Vec<usize>> = test.iter().map(|row| sets.set(&row.p)).collect();
            let held = drawn.iter().zip(&test).filter(|(set, row)| set.contains(&row.label));
            near(key, held.count() as f64 / 200.0, at("coverage"), 1e-12);
            let size: usize = drawn.iter().map(Vec::len).sum();
            near(key, size as f64 / 200.0, at("mean_size"), 1e-12);
        }
    }
    let few = Sets::fit(Score::Adaptive, &cal[..9], 0.05);
    assert_eq!(few, Err(Refusal::TooFew { rows: 9, missing: 10 }));
    assert!(Sets::fit(Score::Adaptive, &cal[..19], 0.05).is_ok());
    let sets = Sets::fit(Score::LeastAmbiguous, &cal, 0.1).unwrap();
    assert_eq!(sets.set(&[0.99, f64::NAN]), [0, 1], "nothing is ruled out by what is no number");
}

fn whether(z: f64, yes: bool) -> Row {
    Row::new(Form::Whether, vec![0.0, z], usize::from(yes)).unwrap()
}

#[test]
fn maps_for_yes_or_no_as_scipy_and_scikit_learn_have_them() {
    let file = golden("fits.json");
    let list = |name: &str| -> Vec<f64> {
        file[name].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let rows: Vec<Row> =
        list("logits").iter().zip(list("yes")).map(|(z, y)| whether(*z, y == 1.0)).collect();
    let platt = calibrate::fit(Method::Platt, &rows).unwrap();
    let Fitted::Platt(line) = &platt else { panic!("{platt:?}") };
    near("slope", line.slope.0, list("platt")[0], 1e-6);
    near("offset", line.offset.0, list("platt")[1], 1e-6);
    let isotonic = calibrate::fit(Method::Isotonic, &rows).unwrap();
    let edge = number(&file, &["edge"]);
    for (z, want) in list("isotonic_at").into_iter().zip(list("isotonic")) {
        // Ends are held within 1 / (N + 2), so the pools there differ by that much.
        near(&format!("at {z}"), isotonic.apply(&[0.0, z])[1], want, 2.0 * edge);
    }
    let p = isotonic.apply(&[0.0, 100.0]);
    assert!(p[0] > 0.0 && p[1] < 1.0 && (p[0] + p[1] - 1.0).abs() < 1e-15);
    // Both are better than nothing on what they were fitted on.
    let loss = |map: &Fitted| {
        let scored: Vec<Scored> = rows
            .iter()
            .map(|row| Scored { p: map.apply(row.logits()), label: row.label() })
            .collect();
        metrics::log_loss(&scored)
    };
    let plain = metrics::log_loss(&scored(&rows, 1.0));
    let temperature = calibrate::fit(Method::Temperature, &rows).unwrap();
    assert!(loss(&platt) < loss(&temperature) && loss(&temperature) < plain);
}

#[test]
fn what_labels_do_not_determine() {
    let choose = |z: &[f64], label| Row::new(Form::Choose, z.to_vec(), label).unwrap();
    let right: Vec<Row> = (0..20).map(|_| choose(&[2.0, 0.0], 0)).collect();
    let flat: Vec<Row> = (0..20).map(|i| choose(&[1.0, 1.0], i % 2)).collect();
    let wrong: Vec<Row> = (0..20).map(|i| choose(&[2.0, 0.0], usize::from(i != 0))).collect();
    let same: Vec<Row> = (0..2000).map(|i| whether(f64::from(i) / 100.0, true)).collect();
    let falling: Vec<Row> = (0..2000).map(|i| whether(f64::from(i), i < 1000)).collect();
    let rate = Row::new(Form::Rate, vec![1.0, 0.0], 0).unwrap();
    let mixed: Vec<Row> = wrong.iter().cloned().chain([rate]).collect();
    let rising: Vec<Row> = (0..999).map(|i| whether(f64::from(i % 7), i % 3 > 0)).collect();
    let cases = [
        ("nine rows", Method::Temperature, wrong[..9].to_vec(), Kind::NotDetermined),
        ("all right", Method::Temperature, right, Kind::NotDetermined),
        ("flat", Method::Temperature, flat, Kind::NotDetermined),
        ("against the labels", Method::Temperature, wrong.clone(), Kind::NotDetermined),
        ("two forms", Method::Temperature, mixed, Kind::Rows),
        ("a line for a choice", Method::Platt, wrong, Kind::Rows),
        ("one label, line", Method::Platt, same.clone(), Kind::NotDetermined),
        ("one label, steps", Method::Isotonic, same, Kind::NotDetermined),
        ("falling, line", Method::Platt, falling.clone(), Kind::NotDetermined),
        ("falling, steps", Method::Isotonic, falling, Kind::NotDetermined),
        ("999 rows for steps", Method::Isotonic, rising, Kind::NotDetermined),
    ];
    for (name, method, rows, want) in cases {
        assert_eq!(calibrate::fit(method, &rows).unwrap_err().kind(), want, "{name}");
    }
}

/// Rows of one confidence cannot be told apart, so no bin parts them.
#[test]
fn adaptive_error_with_ties() {
    let tie = |confidence: f64, hits: usize, rows: usize| {
        (0..rows).map(move |i| Trial { confidence, correct: i < hits })
    };
    let of = |parts: &[(f64, usize, usize)]| -> Vec<Trial> {
        parts.iter().flat_map(|(c, hits, rows)| tie(*c, *hits, *rows)).collect()
    };
    // Name, (confidence, hits, rows) of each tie, bins, rows of each bin, error.
    type Case<'a> = (&'a str, &'a [(f64, usize, usize)], usize, &'a [u64], f64);
    let cases: [Case<'_>; 8] = [
        ("one confidence", &[(0.8668, 867, 1000)], 15, &[1000], 0.0002),
        ("two", &[(0.5, 5, 10), (0.9, 9, 10)], 15, &[10, 10], 0.0),
        ("two, three bins", &[(0.5, 5, 10), (0.9, 8, 10)], 3, &[10, 10], 0.05),
        ("an edge moves on", &[(0.5, 1, 3), (0.6, 2, 4), (0.7, 3, 3)], 2, &[7, 3], 0.18),
        ("two decimals", &[(0.7, 70, 100), (0.71, 71, 100), (0.99, 99, 100)], 2, &[200, 100], 0.0),
        ("a tie at the end", &[(0.6, 1, 1), (0.8, 4, 5)], 3, &[6], 0.4 / 6.0),
        ("no ties", &[(0.6, 0, 1), (0.7, 1, 1), (0.8, 1, 1), (0.9, 1, 1)], 2, &[2, 2], 0.15),
        ("no ties, uneven", &[(0.6, 1, 1), (0.7, 1, 1), (0.8, 1, 1)], 2, &[2, 1], 0.3),
    ];
    for (name, parts, bins, rows, want) in cases {
        let (mut all, back) = (of(parts), of(parts).into_iter().rev().collect::<Vec<_>>());
        let found = equal_count(&all, bins);
        let counts: Vec<u64> = found.iter().map(|bin| bin.rows).collect();
        assert_eq!(counts, rows, "{name}");
        near(name, calibration_error(&found), want, 1e-12);
        assert_eq!(equal_count(&back, bins), found, "{name}: the other way round");
        let middle = all.len() / 2;
        all.rotate_left(middle);
        assert_eq!(equal_count(&all, bins), found, "{name}: turned");
    }
}

#[test]
fn metrics_without_rows_are_no_numbers() {
    let none: [Trial; 0] = [];
    for value in [
        calibration_error(&equal_width(&none, 10)),
        calibration_error(&equal_count(&none, 10)),
        largest_gap(&equal_width(&none, 10)),
        metrics::accuracy(&none),
        metrics::risk_area(&none),
        metrics::least_risk_area(&none),
        metrics::brier(&[]),
        metrics::log_loss(&[]),
        metrics::ranked_score(&[]),
    ] {
        assert!(value.is_nan());
    }
    assert_eq!(metrics::coverage_at_risk(&none, 0.5), 0.0);
    let lost = [Trial { confidence: f64::NAN, correct: true }];
    assert!(calibration_error(&equal_width(&lost, 10)).is_nan());
    assert!(calibration_error(&equal_count(&lost, 10)).is_nan());
    assert!(largest_gap(&equal_width(&lost, 10)).is_nan());
    assert_eq!(metrics::coverage_at_risk(&lost, 0.5), 0.0, "never acted on");
    let sure = Scored { p: vec![1.0, 0.0], label: 1 };
    assert_eq!(metrics::log_loss(&[sure]), f64::INFINITY, "nothing is clipped");
}

/// RPS by hand: levels 0.2, 0.5, 0.3 and the middle one right.
#[test]
fn ranked_score_by_hand() {
    let row = Scored { p: vec![0.2, 0.5, 0.3], label: 1 };
    near("rps", metrics::ranked_score(&[row]), (0.04 + 0.09) / 2.0, 1e-15);
}

proptest! {
    #[test]
    fn the_order_of_rows_changes_nothing(
        rows in prop::collection::vec((0u8..=10, any::<bool>()), 1..80),
        seed in any::<u64>(),
    ) {
        let trials: Vec<Trial> = rows
            .iter()
            .map(|(c, correct)| Trial { confidence: f64::from(*c) / 10.0, correct: *correct })
            .collect();
        let mut other = trials.clone();
        let mut stream = recinto_judge::rows::Stream::new(seed);
        for i in (1..other.len()).rev() {
            other.swap(i, (stream.next() * (i + 1) as f64) as usize);
        }
        let all = |t: &[Trial]| [
            calibration_error(&equal_width(t, 15)),
            calibration_error(&equal_count(t, 15)),
            metrics::risk_area(t),
            metrics::coverage_at_risk(t, 0.3),
        ];
        for (a, b) in all(&trials).into_iter().zip(all(&other)) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        let count: u64 = equal_width(&trials, 15).iter().map(|bin| bin.rows).sum();
        prop_assert_eq!(count, trials.len() as u64);
        let area = metrics::risk_area(&trials);
        prop_assert!(metrics::least_risk_area(&trials) <= area + 1e-12 && area <= 1.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn temperature_finds_the_one_that_was_put_in(t in 0.6f64..4.5, seed in any::<u64>()) {
        let mut stream = recinto_judge::rows::Stream::new(seed);
        let rows: Vec<Row> = (0..4000).map(|_| {
            let z: Vec<f64> = (0..4).map(|_| stream.next() * 6.0).collect();
            let p = recinto_judge::readout::softmax(&z, 1.0);
            let (mut label, mut rest) = (0, stream.next());
            while label < 3 && rest >= p[label] {
                rest -= p[label];
                label += 1;
            }
            // The model shows logits that are t times too large.
            Row::new(Form::Choose, z.iter().map(|z| z * t).collect(), label).unwrap()
        }).collect();
        let fitted = calibrate::fit_temperature(&rows).unwrap();
        prop_assert!((fitted.fitted / t - 1.0).abs() < 0.15, "{} {t}", fitted.fitted);
        let offset: Vec<Row> = rows.iter().map(|row| {
            let z = row.logits().iter().map(|z| z + 1e4).collect();
            Row::new(Form::Choose, z, row.label()).unwrap()
        }).collect();
        let same = calibrate::fit_temperature(&offset).unwrap();
        prop_assert!((same.fitted - fitted.fitted).abs() < 1e-6, "an offset changes nothing");
    }
}
