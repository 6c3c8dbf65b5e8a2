//! Templates and contents that mean harm: an error in bounded time and memory, or a correct
//! rendering; never a panic, an abort or a hang.

use crate::common;

use std::time::{Duration, Instant};

use common::own;
use recinto_chat::{Kind, Message, RenderOptions, Role, Template};

fn render(source: &str, content: &str) -> Result<recinto_chat::Rendered, recinto_chat::Error> {
    let messages = [Message::new(Role::User, content)];
    Template::new(source, "<s>", "</s>")?.render(&messages, &RenderOptions::new())
}

#[test]
fn hostile_templates_end_in_a_limit() {
    let nest = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let cases: Vec<(&str, String)> = vec![
        ("huge range", "{% for i in range(10**9) %}x{% endfor %}".into()),
        (
            "nested loops",
            "{% for a in range(99999) %}\
             {% for b in range(99999) %}x{% endfor %}{% endfor %}"
                .into(),
        ),
        ("huge string", "{{ 'x' * 10**12 }}".into()),
        ("huge list", "{{ ([1] * 10**12) | length }}".into()),
        (
            "doubling string",
            "{% set n = namespace(s='x') %}\
             {% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}"
                .into(),
        ),
        (
            "doubling list",
            "{% set n = namespace(s=[1]) %}\
             {% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}"
                .into(),
        ),
        (
            "shared lists compared",
            "{% set n = namespace(a=[1], b=[1]) %}\
             {% for i in range(90) %}{% set n.a = [n.a, n.a] %}\
             {% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}"
                .into(),
        ),
        (
            "shared lists as JSON",
            "{% set n = namespace(a=[]) %}\
             {% for i in range(90) %}{% set n.a = [n.a, n.a] %}{% endfor %}\
             {{ n.a | tojson }}"
                .into(),
        ),
        (
            "deep list",
            "{% set n = namespace(a=[]) %}\
             {% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}"
                .into(),
        ),
        ("macro calls itself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}".into()),
        (
            "two macros",
            "{% macro f() %}{{ g() }}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}\
             {% endmacro %}{{ f() }}"
                .into(),
        ),
        ("replace grows", "{% set s = 'a' * 60000 %}{{ s.replace('a', s) }}".into()),
        ("join grows", "{{ ('x' * 60000).join(range(60000) | map('string')) }}".into()),
        ("wide format", "{{ '%999999999d' % 1 }}".into()),
        ("indent grows", "{{ ('\\n' * 100000 ~ 'x') | indent('y' * 100000, blank=true) }}".into()),
        ("ring", "{% set n = namespace() %}{% set n.n = n %}".into()),
        ("not not", format!("{{{{ {}1 }}}}", "not ".repeat(100_000))),
        ("minus minus", format!("{{{{ {}1 }}}}", "-".repeat(100_000))),
        ("open brackets", format!("{{{{ {}", "[".repeat(100_000))),
        ("set parentheses", format!("{{% set {}", "(".repeat(100_000))),
        ("else else", format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(50_000))),
        ("long sum", format!("{{{{ 1{} }}}}", "+1".repeat(400_000))),
        ("long chain", format!("{{{{ a{} }}}}", ".b".repeat(400_000))),
        ("many filters", format!("{{{{ a{} }}}}", "|e".repeat(400_000))),
        ("nested if", nest("{% if 1 %}", "x", "{% endif %}", 30_000)),
        ("nested for", nest("{% for i in [1] %}", "x", "{% endfor %}", 30_000)),
        ("many elif", format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(80_000))),
        (
            "elif inside elif",
            format!("{}{}", "{% if 0 %}{% elif 0 %}".repeat(30_000), "{% endif %}".repeat(30_000)),
        ),
    ];
    for (name, source) in cases {
        let start = Instant::now();
        let error = render(&source, "x").map(drop).unwrap_err();
        let known = matches!(error.kind(), Kind::Limit | Kind::Syntax | Kind::Unsupported);
        let number = error.kind() == Kind::Operation && error.what().contains("number");
        assert!(known || number, "{name}: {error:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
    }
}

/// As deep as the limits allow, in every direction: the stack must hold.
#[test]
fn templates_at_the_limits_do_not_overflow() {
    let cases = [
        ("not", format!("{{{{ {}1 }}}}", "not ".repeat(119))),
        ("minus", format!("{{{{ {}1 }}}}", "-".repeat(119))),
        ("brackets", format!("{{{{ {}1{} }}}}", "[".repeat(119), "]".repeat(119))),
        ("parentheses", format!("{{{{ {}1{} }}}}", "(".repeat(119), ")".repeat(119))),
        ("else", format!("{{{{ 1{} }}}}", " if 0 else 1".repeat(59))),
        ("sum", format!("{{{{ 1{} }}}}", "+1".repeat(390))),
        ("longer sum", format!("{{{{ 1{} }}}}", "+1".repeat(1990))),
        ("chain", format!("{{{{ a{} }}}}", ".b".repeat(1990))),
        ("filters", format!("{{{{ a{} }}}}", "|e".repeat(1990))),
        ("calls", format!("{{{{ a{} }}}}", "()".repeat(1990))),
        ("elif", format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(399))),
        ("if", format!("{}{}", "{% if 1 %}".repeat(140), "{% endif %}".repeat(140))),
        ("for", format!("{}{}", "{% for i in 'x' %}".repeat(140), "{% endfor %}".repeat(140))),
        (
            "macros in loops",
            format!(
                "{{% macro f(n) %}}{}{{{{ f(n + 1) }}}}{}{{% endmacro %}}{{{{ f(0) }}}}",
                "{% for i in 'x' %}{% if [[(1)]] %}".repeat(40),
                "{% endif %}{% endfor %}".repeat(40)
            ),
        ),
    ];
    for (name, source) in cases {
        if let Err(error) = render(&source, "x") {
            assert!(!error.what().contains("interpreter itself"), "{name}: {error}");
        }
    }
}

#[test]
fn large_templates_are_fine() {
    let plain = "línea de texto {{ 1 }}\n".repeat(50_000);
    assert!(plain.len() > 1 << 20);
    assert_eq!(render(&plain, "").unwrap().text.lines().count(), 50_000);
    // Lines beyond 65535 are counted right.
    let error = render(&format!("{}{{{{ nada.x }}}}", "\n".repeat(70_000)), "").map(drop);
    assert_eq!(error.unwrap_err().line(), Some(70_001));
    let many = "{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}".repeat(20_000);
    assert_eq!(render(&many, "").unwrap().text, "c".repeat(20_000));
    assert_eq!(render(&" ".repeat(5 << 20), "").map(drop).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn hostile_sources_never_panic() {
    let pieces = [
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{%-",
        "-%}",
        "'",
        "\"",
        "\\",
        "x",
        "|",
        "e",
        ".",
        "(",
        ")",
        "[",
        "]",
        ":",
        "~",
        "1",
        "set ",
        "for ",
        " in ",
        "if ",
        "endif",
        "endfor",
        "raw",
        "endraw",
        "generation",
        "ñ",
        "\n",
        "\0",
        "\u{f0041}",
        "macro ",
        "=",
        " not ",
        "is ",
        ",",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..3000 {
        let mut source = String::new();
        for _ in 0..seed % 30 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            source.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        seed = seed.wrapping_add(1);
        if let Err(error) = render(&source, "x") {
            assert!(!error.what().contains("interpreter itself"), "{source:?}");
        }
    }
}

#[test]
fn contents_of_every_kind_come_through() {
    let contents = [
        ("large", "¿añb <|im_end|> ".repeat(60_000)),
        ("private use", "\u{e000}\u{f8ff}\u{f0000}\u{f0041}\u{ffffd}\u{100000}\u{10fffd}".into()),
        ("nul", "a\0b\u{1}\u{7f}\u{feff}\u{202e}".into()),
        ("template code", "{{ 7 * 7 }}{% for x in y %}{# #}".into()),
        ("every plane", (0..0x11).filter_map(|p| char::from_u32(p * 0x10000 + 0x41)).collect()),
    ];
    for (name, content) in contents {
        for template in ["chatml", "thinking", "llama3"] {
            let rendered = render(own(template), &content).unwrap();
            let trimmed = content.trim();
            let at = rendered.text.find(trimmed).unwrap_or_else(|| panic!("{name} in {template}"));
            let held = |range: &std::ops::Range<usize>| {
                range.start <= at && at + trimmed.len() <= range.end
            };
            assert!(rendered.content.iter().any(held), "{name} in {template}");
        }
    }
}

#[test]
fn many_threads_share_a_template() {
    let template = Template::new(own("thinking"), "", "").unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let template = &template;
            scope.spawn(move || {
                let said = format!("número {n}");
                let messages = [Message::new(Role::User, said.as_str())];
                let rendered = template.render(&messages, &RenderOptions::new()).unwrap();
                assert!(rendered.text.contains(&said));
            });
        }
    });
}

#[test]
fn long_conversations_are_quick() {
    let mut messages = Vec::new();
    for n in 0..100 {
        messages.push(Message::new(Role::User, format!("{n} ¿qué? ").repeat(60)));
        messages.push(Message::new(Role::Assistant, "respuesta <b> ".repeat(40)));
    }
    for name in ["chatml", "thinking", "llama3"] {
        let start = Instant::now();
        let template = Template::new(own(name), "<s>", "</s>").unwrap();
        let compiled = start.elapsed();
        let rendered = template.render(&messages, &RenderOptions::new()).unwrap();
        let took = start.elapsed();
        println!("{name}: {} bytes, compiled {compiled:?}, all {took:?}", rendered.text.len());
        assert!(rendered.text.len() > 100_000, "{name}");
        // The aim is 50 ms; tests share their cores.
        assert!(took < Duration::from_millis(500), "{name}: {took:?}");
    }
}
