//! Numbers, text and dates come out as Python writes them, and a template of Ollama's old kind ends
//! where the answer stands.

use recinto_chat::{Message, Moment, RenderOptions, Role, Template};
use serde_json::{Value, json};

/// What `source` gives with `x` as a variable, on the sixth of July 2024.
fn given(source: &str, x: Value) -> Result<String, recinto_chat::Error> {
    let mut options = RenderOptions::new();
    options.date = Some(Moment { hour: 15, minute: 4, second: 9, ..Moment::day(2024, 7, 6) });
    options.variables.insert("x".to_owned(), x);
    let template = Template::new(source, "", "")?;
    Ok(template.render(&[Message::new(Role::User, "p")], &options)?.text.clone())
}

#[test]
fn floats() {
    let cases = [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e16, "1e+16"),
        (123456789012345680.0, "1.2345678901234568e+17"),
        (9999999999999998.0, "9999999999999998.0"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (1e300, "1e+300"),
    ];
    for (number, want) in cases {
        assert_eq!(given("{{ x }}", json!(number)).unwrap(), want);
    }
}

#[test]
fn what_cannot_be_printed_is_escaped_in_a_list() {
    let cases = [
        ("ñ", "ñ"),
        ("\u{301}", "\u{301}"),
        ("😊", "😊"),
        ("\u{200b}", r"\u200b"),
        ("\u{a0}", r"\xa0"),
        ("\u{7f}", r"\x7f"),
        ("\u{f0041}", r"\U000f0041"),
    ];
    for (text, want) in cases {
        assert_eq!(given("{{ [x] }}", json!(text)).unwrap(), format!("['{want}']"), "{text:?}");
    }
}

#[test]
fn dates() {
    let cases = [
        ("llama 3", "%d %b %Y", "06 Jul 2024"),
        ("iso", "%Y-%m-%d", "2024-07-06"),
        ("long", "%A, %B %-d, %Y", "Saturday, July 6, 2024"),
        ("clock", "%I:%M:%S %p", "03:04:09 PM"),
        ("day of year", "%j %w %u %y %%", "188 6 6 24 %"),
        ("plain", "año", "año"),
    ];
    for (name, pattern, want) in cases {
        assert_eq!(given("{{ strftime_now(x) }}", json!(pattern)).unwrap(), want, "{name}");
    }
    for pattern in ["%", "%Q"] {
        assert!(given("{{ strftime_now(x) }}", json!(pattern)).is_err(), "{pattern}");
    }
    assert!(Moment::now().is_valid());
    assert!(!Moment::day(2023, 2, 29).is_valid());
    let days =
        [((2024, 3, 1), (2024, 2, 29)), ((2023, 1, 1), (2022, 12, 31)), ((1, 1, 1), (1, 1, 1))];
    for ((y, m, d), (year, month, day)) in days {
        assert_eq!(Moment::day(y, m, d).day_before(), Moment::day(year, month, day));
    }
}

#[test]
fn integers_divide() {
    // (x, y, x // y, x % y)
    let cases = [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -3, -2, 0)];
    for (x, y, quotient, remainder) in cases {
        let got = given("{{ x[0] // x[1] }} {{ x[0] % x[1] }}", json!([x, y])).unwrap();
        assert_eq!(got, format!("{quotient} {remainder}"), "{x} and {y}");
    }
    for source in ["{{ 1 % 0 }}", "{{ 1 // 0 }}", "{{ 10 ** 99 }}"] {
        assert!(given(source, json!(null)).is_err(), "{source}");
    }
}

#[test]
fn the_answer_s_place_ends_an_older_template() {
    let cases = [
        ("{{ .Prompt }}", "p"),
        ("<{{ .Prompt }}>{{ .Response }}</s>", "<p>"),
        ("{{ if .Response }}R{{ end }}{{ .Prompt }}{{ .Response }}x", "p"),
        ("{{ .Prompt }}{{ with .System }}{{ $.Response }}{{ end }}x", "px"),
    ];
    for (source, want) in cases {
        let messages = [Message::new(Role::User, "p")];
        let template = Template::from_go(source).unwrap();
        let rendered = template.render(&messages, &RenderOptions::new()).unwrap();
        assert_eq!(rendered.text, want, "{source}");
    }
}
