//! Options on thinking that a model cannot follow are said, with the reason.

use crate::common;

use recinto_engine::{Model, OpenOptions, Request, Stop, StoreTemplate};

/// Messages, and then what is special.
const MESSAGES: &str = "{{ range .Messages }}<|im_start|>{{ .Content }}<|im_end|>{{ end }}";

/// A tiny model, asked through its own template where nothing is said.
fn model(name: &str, more: Option<&str>) -> Model {
    let template = more.map(|more| StoreTemplate::Go {
        text: format!("{MESSAGES}{more}"),
        store: "Ollama store /modelos".into(),
    });
    let options = OpenOptions { template, ..OpenOptions::default() };
    Model::open(&common::tiny(name), &options).expect(name)
}

fn request(thinking: Option<bool>, tokens: Option<usize>, completion: bool) -> Request {
    let mut request = Request::user("¿Qué tal?");
    request.options.thinking = thinking;
    request.options.thinking_tokens = tokens;
    request.options.max_tokens = 2;
    request.options.seed = Some(7);
    Request { completion, ..request }
}

#[test]
fn what_has_no_effect_is_said() {
    let fixed = Some("<think></think>");
    let switched = Some("{{ if .Think }}<think>{{ else }}<think></think>{{ end }}");
    let place = "the model's chat template has no place for thoughts";
    let completion = "a text is continued without the chat template";
    type Case<'a> = (&'a str, Option<&'a str>, Request, &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 11] = [
        ("nothing asked", Some(""), request(None, None, false), &[]),
        (
            "to think, and cannot",
            Some(""),
            request(Some(true), None, false),
            &[("thinking", place)],
        ),
        ("not to think, as ever", Some(""), request(Some(false), None, false), &[]),
        ("a budget", Some(""), request(None, Some(9), false), &[("thinking_tokens", place)]),
        ("a budget of none", Some(""), request(Some(false), Some(9), false), &[]),
        (
            "both",
            Some(""),
            request(Some(true), Some(9), false),
            &[("thinking", place), ("thinking_tokens", place)],
        ),
        (
            "it thinks as it will",
            fixed,
            request(Some(false), Some(9), false),
            &[("thinking", "the model thinks, but has no switch for it")],
        ),
        ("a switch in Jinja", None, request(Some(true), None, false), &[]),
        ("a switch", switched, request(Some(true), Some(9), false), &[]),
        ("off", switched, request(Some(false), None, false), &[]),
        (
            "a text to continue",
            switched,
            request(Some(true), Some(9), true),
            &[("thinking", completion), ("thinking_tokens", completion)],
        ),
    ];
    for (name, more, request, want) in cases {
        let model = model("qwen3-plain", more);
        let want: Vec<String> =
            want.iter().map(|row| format!("option `{}` has no effect: {}", row.0, row.1)).collect();
        assert_eq!(model.prompt(&request).expect(name).notes, want, "{name}");
        let reply = model.reply(&request, &Stop::never(), &mut common::sink()).expect(name);
        assert!(want.iter().all(|note| reply.notes.contains(note)), "{name}: {:?}", reply.notes);
    }
}

/// A vocabulary without the end of a thought cannot hold a model to a budget.
#[test]
fn a_budget_needs_an_end() {
    let model = model("llama-plain", Some("<think></think>"));
    assert_eq!(model.tokenizer().find("</think>"), None);
    let notes = model.prompt(&request(None, Some(9), false)).unwrap().notes;
    let want = "option `thinking_tokens` has no effect: the model thinks, but has no token that \
                ends a thought";
    assert_eq!(notes, [want]);
}
