//! The report: figures, a page that fetches nothing, a picture that is one.

use crate::common;

use common::{near, rows, scored};
use recinto_judge::{
    Bucket, Form, Fraction, Gate, Identity, Model, Orders, Report, Scored,
    gate::{Demands, Promise, Terms},
};

fn report() -> Report {
    let rows = scored(&rows(), 1.0);
    let trials: Vec<_> = rows
        .iter()
        .map(|row| (Bucket::of(Form::Choose, row.p.len()).into(), row.trial()))
        .collect();
    let identity = Identity {
        model: Model::Hosted { name: "fixed-1.0.0".into() },
        reading: "fixed/1".into(),
        orders: Orders::Declared,
        prior: recinto_judge::Correction::None,
    };
    let terms = Terms {
        promise: Promise::Selective,
        risk: Fraction(0.3),
        delta: Fraction(0.05),
        sides: false,
        any_question: false,
    };
    let draws = common::draws(&trials, recinto_receipt::sha256(b"q"));
    let gate = Gate::fit(identity, None, 0, &draws, terms, Demands::default()).unwrap();
    Report::new("Año <1> & \"más\"", Form::Choose, rows).unwrap().with_gate(gate)
}

#[test]
fn the_page_fetches_nothing() {
    let page = report().html().unwrap();
    for never in ["<script", "src=", "href=", "url(", "@import", "<1>", "<link", "<img"] {
        assert!(!page.contains(never), "{never}");
    }
    let namespace = "http://www.w3.org/2000/svg";
    assert_eq!(page.matches("http").count(), page.matches(namespace).count());
    assert!(page.contains("Año &lt;1&gt; &amp; &quot;más&quot;"));
    assert!(page.contains("<svg") && page.contains("Reliability") && page.contains("choice:3-5"));
    for tag in ["table", "tr", "td", "th", "h1", "h2", "p", "svg", "html", "body"] {
        let open =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert_eq!(report().html().unwrap(), page, "the same again");
    if let Some(folder) = std::env::var_os("RECINTO_KEEP_REPORT") {
        let folder = std::path::Path::new(&folder);
        std::fs::write(folder.join("report.html"), &page).unwrap();
        std::fs::write(folder.join("report.png"), report().png().unwrap()).unwrap();
    }
}

#[test]
fn the_picture_has_ink() {
    let file = report().png().unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!((info.width, info.height), (1000, 480));
    let count = |wanted: [u8; 3]| rgb.chunks_exact(3).filter(|p| *p == wanted).count();
    let (white, bars, points, gate) =
        (count([255; 3]), count([196, 214, 240]), count([38, 98, 190]), count([196, 60, 44]));
    assert!(white > 200_000 && bars > 5_000 && points > 1_000 && gate > 100);
    assert!(count([35, 40, 48]) > 1_500, "letters");
    assert!(file.len() < 60_000, "{}", file.len());
    assert_eq!(report().png().unwrap(), file, "the same bytes again");
}

#[test]
fn figures_and_bins() {
    let report = report();
    let figures = report.figures();
    let value = |name: &str| figures.iter().find(|f| f.name == name).unwrap().value;
    near("ece", value("ece"), 0.1325274975108359, 1e-12);
    near("rows", value("rows"), 400.0, 0.0);
    let accuracy = figures.iter().find(|f| f.name == "accuracy").unwrap();
    let both = accuracy.interval.unwrap();
    assert!(both.low < 0.66 && 0.66 < both.high && both.high - both.low < 0.1);
    let rows: u64 = report.bins().iter().map(|(bin, _)| bin.rows).sum();
    assert_eq!(rows, 400);
    assert_eq!(report.text().lines().count(), 12);
    assert!(report.text().lines().all(|line| line.chars().count() < 70));
}

#[test]
fn few_rows_and_none() {
    assert!(Report::new("x", Form::Choose, Vec::new()).is_err());
    let broken = [vec![f64::NAN, 0.5], vec![0.5], vec![2.0, 0.0]];
    for p in broken {
        assert!(Report::new("x", Form::Choose, vec![Scored { p, label: 1 }]).is_err());
    }
    for label in [0, 1] {
        let one = vec![Scored { p: vec![1.0, 0.0], label }];
        let report = Report::new("uno", Form::Rate, one).unwrap();
        assert!(report.html().is_ok() && report.png().is_ok() && !report.text().is_empty());
        assert!(report.figures().iter().any(|figure| figure.name == "rps"));
    }
}
