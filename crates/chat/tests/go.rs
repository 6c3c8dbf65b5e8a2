//! Go templates give what Ollama's own packages give, and their marks are exact.

use crate::common;

use std::ops::Range;
use std::path::PathBuf;

use common::{conversations, golden_day};
use recinto_chat::{Error, Kind, Message, RenderOptions, Rendered, Role, Template};
use serde_json::{Map, Value};

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/templates")
}

fn goldens() -> Map<String, Value> {
    object(include_str!("golden/go_templates.json"))
}

fn rows() -> Map<String, Value> {
    object(include_str!("golden/go_rows.json"))
}

fn differs(want: &Value, got: &Result<Rendered, Error>) -> bool {
    match (got, want["text"].as_str()) {
        (Ok(rendered), Some(text)) => rendered.text != text,
        (Err(error), None) => error.line().is_none() && error.kind() != Kind::Limit,
        _ => true,
    }
}

#[test]
fn templates_render_as_in_ollama() {
    let (rows, mut faults, mut seen) = (rows(), Vec::new(), 0);
    for (name, golden) in &goldens() {
        let row = name.strip_prefix("row: ");
        let source = match row {
            Some(row) => rows[row].as_str().unwrap().to_owned(),
            None => std::fs::read_to_string(folder().join(name)).unwrap(),
        };
        let template = Template::from_go(&source);
        for conversation in conversations() {
            if row.is_some() && conversation.name != "calls again" {
                continue;
            }
            let want = if row.is_some() { golden } else { &golden[&conversation.name] };
            let got = match &template {
                Ok(template) => template.render(&conversation.messages, &conversation.options),
                Err(error) => Err(error.clone()),
            };
            seen += 1;
            if differs(want, &got) {
                let got = got.map(|rendered| rendered.text.clone());
                faults.push(format!("{name} / {}\n want {want}\n got  {got:?}", conversation.name));
            }
        }
    }
    assert!(seen > 150, "{seen}");
    assert!(faults.is_empty(), "{} of {seen}\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_row_has_a_golden() {
    let goldens = goldens();
    for name in rows().keys() {
        assert!(!goldens[&format!("row: {name}")].is_null(), "{name}");
    }
}

/// A letter in a private alphabet.
fn mapped(text: &str) -> String {
    let change = |c: char| match c.is_ascii_alphabetic() {
        true => char::from_u32(u32::from(c) + 0xf0000).unwrap(),
        false => c,
    };
    text.chars().map(change).collect()
}

/// Data are written in a private alphabet; exactly its letters must be marked.
#[test]
fn marks_cover_exactly_the_data() {
    for file in ["conversation.gotmpl", "turns.gotmpl"] {
        let source = std::fs::read_to_string(folder().join(file)).unwrap();
        let template = Template::from_go(&source).unwrap();
        for conversation in conversations() {
            let mut messages = conversation.messages.clone();
            for message in &mut messages {
                message.content = mapped(&message.content);
                message.reasoning = message.reasoning.as_deref().map(mapped);
                message.name = message.name.as_deref().map(mapped);
                message.tool_call_id = message.tool_call_id.as_deref().map(mapped);
            }
            let mut options = conversation.options.clone();
            options.variables.remove("reasoning_effort");
            let rendered = template.render(&messages, &options).unwrap();
            let place = format!("{file} / {}", conversation.name);
            let exact = options.tools.is_empty()
                && conversation.messages.iter().all(|message| message.tool_calls.is_empty());
            let marked =
                |at| rendered.content.iter().any(|range: &Range<usize>| range.contains(&at));
            for (at, c) in rendered.text.char_indices() {
                if u32::from(c) >= 0xf0000 {
                    assert!(marked(at), "{place}: data at {at} is not marked");
                } else if c.is_ascii_alphabetic() && exact {
                    assert!(!marked(at), "{place}: `{c}` at {at} is marked");
                }
            }
        }
    }
}

fn shown(source: &str, messages: &[Message]) -> String {
    let mut options = RenderOptions::new();
    options.date = Some(golden_day());
    let rendered = Template::from_go(source).unwrap().render(messages, &options).unwrap();
    let mut shown = rendered.text.clone();
    for range in rendered.content.iter().rev() {
        shown.insert(range.end, '⟧');
        shown.insert(range.start, '⟦');
    }
    shown
}

#[test]
fn marks_survive_every_operation() {
    let cases = [
        ("{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}", "<user>⟦añb⟧"),
        (
            "{{ range .Messages }}{{ printf \"%5s|%q|%v\" .Content .Content 1 }}{{ end }}",
            "  ⟦añb⟧|\"⟦añb⟧\"|1",
        ),
        (
            "{{ range .Messages }}{{ json .Content }}{{ slice .Content 1 3 }}{{ end }}",
            "\"⟦añb⟧\"⟦ñ⟧",
        ),
        (
            "{{ $x := \"\" }}{{ range .Messages }}{{ $x = print $x .Content \"!\" }}{{ end }}\
             {{ $x }}",
            "⟦añb⟧!",
        ),
        (
            "{{ json .Messages }}",
            "[{\"Role\":\"user\",\"Content\":\"⟦añb⟧\",\"Thinking\":\"\",\"Images\":null,\
             \"ToolCalls\":null,\"ToolName\":\"\",\"ToolCallID\":\"\"}]",
        ),
        ("{{ currentDate }} {{ yesterdayDate }} {{ .Prompt }}", "2026-02-03 2026-02-02 ⟦añb⟧"),
    ];
    for (source, want) in cases {
        assert_eq!(shown(source, &[Message::new(Role::User, "añb")]), want, "{source}");
    }
}

#[test]
fn unsupported_words_are_errors_with_their_line() {
    let cases = [
        ("function", "a\n{{ .Prompt | frobnicate }}", Kind::Unsupported, "frobnicate", 2),
        ("html", "{{ html .Prompt }}", Kind::Unsupported, "html", 1),
        ("unclosed", "a\nb\n{{ .Prompt", Kind::Syntax, "unclosed", 3),
        ("variable", "\n\n\n{{ $x }}", Kind::Syntax, "variable", 4),
        ("block", "{{ if .Prompt }}\n", Kind::Syntax, "end", 1),
        ("template", "{{ template \"x\" }}", Kind::Unsupported, "template", 1),
    ];
    for (name, source, kind, word, line) in cases {
        let error = Template::from_go(source).unwrap_err();
        assert_eq!((error.kind(), error.line()), (kind, Some(line)), "{name}: {error}");
        assert!(error.to_string().contains(word), "{name}: {error}");
    }
    let later = [
        ("address", "\n{{ .Messages }}", Kind::Unsupported, 2),
        ("not defined", "{{ template \"x\" .Messages }}", Kind::Unsupported, 1),
        ("field", "\n\n{{ range .Messages }}\n{{ .Nope }}{{ end }}", Kind::Operation, 4),
        (
            "cut character",
            "{{ range .Messages }}{{ slice .Content 2 }}{{ end }}",
            Kind::Unsupported,
            1,
        ),
    ];
    for (name, source, kind, line) in later {
        let template = Template::from_go(source).unwrap();
        let messages = [Message::new(Role::User, "añb canario")];
        let error = template.render(&messages, &RenderOptions::new()).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.line()), (kind, Some(line)), "{name}: {error}");
        assert!(!format!("{error} {error:?}").contains("canario"), "{name}");
    }
}

#[test]
fn gaps_are_filled_where_the_template_can() {
    let template = Template::from_go("<PRE> {{ .Prompt }} <SUF>{{ .Suffix }} <MID>").unwrap();
    let rendered = template.render_infill("año", "fin", &RenderOptions::new()).unwrap();
    assert_eq!(rendered.text, "<PRE> año <SUF>fin <MID>");
    assert_eq!(rendered.content, vec![6..10, 16..19]);
    for other in [Template::from_go("{{ .Prompt }}"), Template::new("{{ messages }}", "", "")] {
        let error = other.unwrap().render_infill("a", "b", &RenderOptions::new()).map(drop);
        assert_eq!(error.unwrap_err().kind(), Kind::Unsupported);
    }
}

#[test]
fn calls_have_a_format_in_go_templates_too() {
    let cases = [
        ("{{ .Prompt }}[TOOL_CALLS]", Some("mistral")),
        ("{{ range .Messages }}<tool_call>{{ .Content }}</tool_call>{{ end }}", Some("hermes")),
        ("{{ .Prompt }}", None),
    ];
    for (source, want) in cases {
        let format = Template::from_go(source).unwrap().call_format();
        assert_eq!(format.ok().map(|format| format.name()), want, "{source}");
    }
}

#[test]
fn hostile_templates_end_in_a_limit_or_an_error() {
    let cases = [
        ("nested if", "{{ if 1 }}".repeat(100_000)),
        ("else if", format!("{{{{ if 0 }}}}{}{{{{ end }}}}", "{{ else if 0 }}".repeat(100_000))),
        ("brackets", format!("{{{{ {}", "(".repeat(100_000))),
        (
            "calls itself",
            "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}".into(),
        ),
        (
            "two calls",
            "{{ define \"x\" }}{{ template \"x\" . }}{{ template \"x\" . }}{{ end }}\
            {{ template \"x\" . }}"
                .into(),
        ),
        ("huge loop", "{{ range 99999999999 }}x{{ end }}".into()),
        ("nested loops", "{{ range 99999 }}{{ range 99999 }}x{{ end }}{{ end }}".into()),
        ("doubling", "{{ $s := \"x\" }}{{ range 99 }}{{ $s = print $s $s }}{{ end }}".into()),
        ("wide", "{{ printf \"%9999999d\" 1 }}".into()),
        ("huge number", "{{ 99999999999999999999 }}".into()),
        (
            "variables",
            format!(
                "{}{{{{ range 99999 }}}}{{{{ $y := 1 }}}}{{{{ end }}}}{{{{ .Nope.More }}}}",
                "{{ $x := 1 }}".repeat(1000)
            ),
        ),
    ];
    for (name, source) in cases {
        let start = std::time::Instant::now();
        let done = Template::from_go(&source)
            .and_then(|t| t.render(&[Message::new(Role::User, "x")], &RenderOptions::new()));
        let error = done.map(drop).unwrap_err();
        assert!(!error.what().contains("interpreter itself"), "{name}: {error}");
        assert!(start.elapsed().as_secs() < 20, "{name}: {:?}", start.elapsed());
    }
}

/// Pieces of templates in any order: a rendering or an error.
#[test]
fn random_sources_never_panic() {
    let pieces = [
        "{{",
        "}}",
        "{{-",
        "-}}",
        "{{ ",
        " }}",
        "{{/*",
        "*/}}",
        "\"",
        "`",
        "'",
        "\\",
        ".",
        "$",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        ",",
        " ",
        "\n",
        "if ",
        "else",
        "end",
        "range ",
        "with ",
        "define ",
        "template ",
        "block ",
        "break",
        "continue",
        "nil",
        "true",
        ".Messages",
        ".Tools",
        ".Content",
        ".Role",
        ".ToolCalls",
        ".Function",
        ".Parameters",
        ".Properties",
        ".Arguments",
        "and ",
        "or ",
        "not ",
        "len ",
        "index ",
        "slice ",
        "printf ",
        "\"%s\"",
        "\"%05d\"",
        "json ",
        "eq ",
        "lt ",
        "0",
        "1",
        "-2",
        "1.5",
        "0x",
        "'a'",
        "ñ",
        "😊",
        "text",
        "toTypeScriptType ",
        "currentDate",
    ];
    let conversation = conversations().into_iter().find(|c| c.name == "calls again").unwrap();
    let mut state = 7u64;
    let mut random = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut rendered = 0;
    for _ in 0..4000 {
        let mut source = String::new();
        for _ in 0..random(5) {
            source.push_str(["{{ ", "{{- ", "{{"][random(3)]);
            for _ in 0..random(6) {
                source.push_str(pieces[random(pieces.len())]);
            }
            source.push_str([" }}", " -}}", "}}", ""][random(4)]);
            if random(3) == 0 {
                source.push_str("{{ end }}");
            }
        }
        match Template::from_go(&source)
            .and_then(|t| t.render(&conversation.messages, &conversation.options))
        {
            Ok(_) => rendered += 1,
            Err(error) => assert!(!error.what().contains("interpreter itself"), "{source:?}"),
        }
    }
    assert!(rendered > 100, "{rendered}");
}
