//! The steps: what is asked, what a service is recorded to answer, and what comes of it.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use recinto_engine::{Message, Options, Piece, Request, Role, ToolCall};
use recinto_provider::{Error, Finish, Kind, Name, Reply, Shape, Turn};
use recinto_tasks::{
    Decision, Input, JsonSchema, Kind as TaskKind, Labels, Method, Outcome, Stop, complete, decide,
    extract_as,
};
use serde_json::{Value, json};

use super::Ready;

/// One step of the program.
pub struct Step {
    pub name: &'static str,
    pub about: &'static str,
    /// What a service answers on the wires chat, responses and messages.
    pub recordings: [&'static str; 3],
    /// More of the service's `recinto.toml`.
    pub config: &'static str,
    /// How many requests a service sees.
    pub sent: usize,
    pub run: fn(&Ready<'_>) -> String,
    /// What comes of it, a column each; "or" between what depends on the model.
    pub outcomes: [&'static str; 6],
}

const STREAM: [&str; 3] = ["chat-stream", "responses-stream", "messages-stream"];
const FORM: [&str; 3] = ["chat-form-stream", "responses-form-stream", "messages-form-stream"];

/// A step without anything special around it.
const fn step(
    name: &'static str,
    about: &'static str,
    recordings: [&'static str; 3],
    run: fn(&Ready<'_>) -> String,
    outcomes: [&'static str; 6],
) -> Step {
    Step { name, about, recordings, config: "", sent: 1, run, outcomes }
}

/// One that is settled here: no service sees anything of it.
const fn unsent(step: Step) -> Step {
    Step { sent: 0, ..step }
}

/// The same everywhere.
const fn all(one: &'static str) -> [&'static str; 6] {
    [one; 6]
}

/// In this process, with the mock, elsewhere.
const fn split(
    local: &'static str,
    mock: &'static str,
    elsewhere: &'static str,
) -> [&'static str; 6] {
    [local, mock, elsewhere, elsewhere, elsewhere, elsewhere]
}

/// Every step, in the order of the page.
pub const STEPS: &[Step] = &[
    step(
        "complete",
        "a free text, whole",
        ["chat-whole", "responses-whole", "messages-whole"],
        whole,
        all("answer"),
    ),
    step("stream", "the same, piece by piece", STREAM, stream, all("answer")),
    step("turns", "a third turn, after an answer", STREAM, turns, all("answer")),
    step("decide", "one of two labels", FORM, decided, all("value")),
    step(
        "extract",
        "a value of a type",
        ["chat-object-stream", "responses-object-stream", "messages-object-stream"],
        extracted,
        all("value"),
    ),
    step("regex", "a text of a regular expression", FORM, matched, all("value")),
    step(
        "cut",
        "a value that ends too soon",
        ["chat-cut-stream", "responses-cut-stream", "messages-cut-stream"],
        cut,
        all("incomplete"),
    ),
    unsent(step(
        "score",
        "probabilities of labels",
        FORM,
        scored,
        split("value", "value", "unable"),
    )),
    step(
        "logprobs",
        "how likely each token was",
        ["chat-logprobs-stream", "responses-logprobs-stream", "messages-stream"],
        likelihoods,
        ["told", "not told", "told", "told", "not told", "told"],
    ),
    step(
        "tools",
        "a call of a tool",
        ["chat-tools-stream", "responses-tools-stream", "messages-tools-stream"],
        called,
        split("calls or answer", "unable", "calls"),
    ),
    step(
        "limit",
        "two tokens of many",
        ["chat-length", "responses-length-stream", "messages-length-stream"],
        limited,
        all("length"),
    ),
    step(
        "too long",
        "more than the context holds",
        ["openai-400-context", "openai-400-context", "anthropic-400-long"],
        too_long,
        split("overflow", "answer", "overflow"),
    ),
    step("cancel", "stop, at the first piece", STREAM, stopped_within, all("cancelled")),
    unsent(step(
        "cancelled",
        "stop, before it began",
        STREAM,
        stopped_before,
        all("error cancelled"),
    )),
    unsent(step("deadline", "no time at all", STREAM, late, all("error deadline"))),
    Step {
        config: "[budget]\ntokens = 20\n",
        ..unsent(step(
            "budget",
            "more than `[budget]` has left",
            STREAM,
            stream,
            split("answer", "answer", "outside.exhausted"),
        ))
    },
    unsent(step(
        "policy",
        "data that no policy lets leave",
        STREAM,
        labelled,
        split("answer", "answer", "outside.refused"),
    )),
    unsent(step("no shape", "a schema that cannot be kept", STREAM, unkeepable, all("shape"))),
    unsent(step("no message", "a request without one", STREAM, empty, all("request"))),
    unsent(step("no option", "a temperature below 0", STREAM, impossible, all("request"))),
];

/// A kind in one word, and the one within it.
fn word(kind: &Kind) -> String {
    match kind {
        Kind::Outside(inner) => format!("outside.{inner:?}").to_lowercase(),
        Kind::Shape(_) => "shape".into(),
        Kind::RateLimited(_) => "ratelimited".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn options(max_tokens: usize) -> Options {
    Options { max_tokens, seed: Some(7), thinking: Some(false), ..Options::default() }
}

fn asked(text: &str, max_tokens: usize) -> Request {
    Request { options: options(max_tokens), ..Request::user(text) }
}

/// One turn; the pieces as they came.
fn ask(ready: &Ready<'_>, turn: &Turn) -> (Result<Reply, Error>, Vec<String>) {
    let mut pieces = Vec::new();
    let reply = ready.provider().complete(turn, &Stop::never(), &mut |piece| {
        if let Piece::Text(text) = piece {
            pieces.push(text.to_owned());
        }
        ControlFlow::Continue(())
    });
    (reply, pieces)
}

/// What every reply must be; its outcome in a word.
fn answered(ready: &Ready<'_>, turn: &Turn) -> String {
    let (reply, pieces) = ask(ready, turn);
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return failed(&error),
    };
    holds(ready, turn, &reply);
    assert_eq!(pieces.concat(), reply.text, "pieces and whole");
    assert!(reply.calls.is_empty() && reply.complete.is_none());
    match &reply.finish {
        Finish::End | Finish::Length => "answer".into(),
        other => other.name().into(),
    }
}

/// An error tells who or what, and nothing that was asked.
fn failed(error: &Error) -> String {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains("Logroño"), "{text}");
    word(error.kind())
}

fn holds(ready: &Ready<'_>, turn: &Turn, reply: &Reply) {
    let name = ready.provider().identity().provider;
    let usage = reply.usage;
    assert!(usage.prompt_tokens > 0 && usage.output_tokens > 0, "{name}: {usage:?}");
    assert!(usage.cached_tokens <= usage.prompt_tokens, "{name}: {usage:?}");
    assert_eq!(reply.options.max_tokens, turn.request.options.max_tokens, "{name}");
    let made = (reply.local().is_some(), reply.service().is_some());
    assert_eq!(made, (name == Name::Local, name.is_remote()), "{name}");
}

fn whole(ready: &Ready<'_>) -> String {
    answered(ready, &asked("Saluda a la señora Núñez.", 6).into())
}

fn stream(ready: &Ready<'_>) -> String {
    answered(ready, &asked("¿Qué hay en Logroño?", 6).into())
}

fn turns(ready: &Ready<'_>) -> String {
    let mut request = asked("¿Dónde está Logroño?", 6);
    request.messages.push(Message::new(Role::Assistant, "En La Rioja."));
    request.messages.push(Message::new(Role::User, "¿Y Pamplona?"));
    let request = request.system("Responde en una palabra.");
    let outcome = answered(ready, &request.into());
    if let Some(sent) = ready.service.as_ref().map(|service| service.seen()[0].body.clone()) {
        let body = String::from_utf8(sent).expect("UTF-8");
        let said = ["En La Rioja.", "¿Y Pamplona?", "Responde en una palabra."];
        assert!(said.iter().all(|said| body.contains(said)), "{body}");
    }
    outcome
}

fn input() -> Input {
    Input::new("¿Hay dos cobros en mi tarjeta? Sí, y es urgente.").with(options(24))
}

/// The outcome of a task in a word.
fn came<T>(outcome: Result<Outcome<T>, recinto_tasks::Error>, check: impl FnOnce(T)) -> String {
    match outcome {
        Ok(Outcome::Done(value)) => {
            check(value);
            "value".into()
        }
        Ok(Outcome::Incomplete(cut)) => {
            assert_eq!(cut.finish, Finish::Length);
            assert_eq!(cut.reply.complete, Some(false));
            "incomplete".into()
        }
        Ok(Outcome::Undecided(_)) => "undecided".into(),
        Err(error) => match error.kind() {
            TaskKind::Provider(kind) => word(kind),
            other => format!("{other:?}").to_lowercase(),
        },
    }
}

fn labels() -> Labels {
    Labels::new(["sí", "no"].map(recinto_tasks::Label::new)).expect("labels")
}

fn by(ready: &Ready<'_>, method: Method, check: impl FnOnce(Decision)) -> String {
    came(decide(ready.provider(), &input(), &labels(), method, &Stop::never()), check)
}

fn decided(ready: &Ready<'_>) -> String {
    by(ready, Method::Generate, |decision| {
        assert!(["sí", "no"].map(Some).contains(&decision.label.as_deref()), "{decision:?}");
        assert!(decision.scores.is_empty() && decision.usage.output_tokens > 0);
        assert_eq!(decision.reply.expect("a reply").complete, Some(true));
    })
}

fn scored(ready: &Ready<'_>) -> String {
    let names = ["sí".to_owned(), "no".to_owned()];
    let turn = Turn::from(asked("¿Sí o no?", 6));
    let direct = ready.provider().score(&turn, &names, &Stop::never());
    let able = ready.provider().abilities().scores;
    assert_eq!(direct.is_ok(), able, "what it can and what it does");
    if let Err(error) = direct {
        assert_eq!(error.kind(), &Kind::Unable);
    }
    by(ready, Method::Score, |decision| {
        let sum: f64 = decision.scores.iter().map(|score| score.probability).sum();
        assert!((sum - 1.0).abs() < 1e-9 && decision.scores.len() == 2, "{decision:?}");
        assert!(decision.mass.is_some_and(|mass| mass > 0.0 && mass <= 1.0 + 1e-9));
    })
}

/// What is extracted.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cobro {
    #[schemars(range(min = 1900, max = 2100))]
    año: u16,
    pagado: bool,
}

fn extracted(ready: &Ready<'_>) -> String {
    let outcome = extract_as::<Cobro>(ready.provider(), &input(), &Stop::never());
    came(outcome, |answer| {
        assert!((1900..=2100).contains(&answer.value.año), "{}", answer.reply.text);
        let text: Value = serde_json::from_str(&answer.reply.text).expect("JSON");
        assert_eq!(text["pagado"], answer.value.pagado);
    })
}

fn matched(ready: &Ready<'_>) -> String {
    let shape = Shape::Regex("sí|no".into());
    came(complete(ready.provider(), &input(), &shape, &Stop::never()), |answer| {
        assert!(["sí", "no"].contains(&answer.value.as_str()), "{}", answer.value);
    })
}

fn cut(ready: &Ready<'_>) -> String {
    let mut input = input();
    // One token each for a thought and the answer, where tokens are counted here.
    (input.options.max_tokens, input.options.thinking_tokens) = (1, Some(0));
    let schema = json!({
        "type": "object",
        "properties": { "año": { "type": "integer" }, "pagado": { "type": "boolean" } },
        "required": ["año", "pagado"], "additionalProperties": false
    });
    came(recinto_tasks::extract(ready.provider(), &input, &schema, &Stop::never()), |_| {})
}

fn likelihoods(ready: &Ready<'_>) -> String {
    let mut request = asked("¿Sí o no?", 3);
    request.options.logprobs = Some(2);
    let reply = ask(ready, &request.into()).0.unwrap_or_else(|e| panic!("{e}"));
    let able = ready.provider().abilities().logprobs;
    assert_eq!(!reply.logprobs.is_empty(), able, "what it can and what it does");
    for one in &reply.logprobs {
        assert!(one.logprob <= 0.0 && one.id.is_some() != one.text.is_some(), "{one:?}");
        assert_eq!(one.top.as_ref().map(Vec::len), Some(2), "{one:?}");
    }
    if able { "told".into() } else { "not told".into() }
}

fn called(ready: &Ready<'_>) -> String {
    let tool = |name: &str, properties: Value| {
        let parameters = json!({ "type": "object", "properties": properties });
        json!({ "type": "function", "function": {
            "name": name, "description": "Una herramienta.", "parameters": parameters
        } })
    };
    let mut request = asked("¿Qué hora es?", 40);
    request.tools = vec![
        tool("hora", json!({})),
        tool("buscar_casa", json!({ "ciudad": { "type": "string" } })),
    ];
    let mut turn = Turn::from(request);
    turn.shape = ready.call.map(|call| Shape::Labels(vec![call.into()]));
    let able = ready.provider().abilities().tools;
    let reply = match ask(ready, &turn).0 {
        Ok(reply) => reply,
        Err(error) => {
            assert_eq!((error.kind(), able), (&Kind::Unable, false), "{error}");
            return failed(&error);
        }
    };
    assert!(able, "what it can and what it does");
    for ToolCall { name, arguments, .. } in &reply.calls {
        assert!(["hora", "buscar_casa"].contains(&name.as_str()), "{name}");
        assert!(arguments.is_object(), "{arguments}");
    }
    if reply.calls.is_empty() {
        // Whose template has no place for tools says so, and does not pretend.
        assert!(ready.call.is_none() && !reply.notes.is_empty(), "{}", reply.text);
        return "answer".into();
    }
    reply.finish.name().into()
}

fn limited(ready: &Ready<'_>) -> String {
    let turn = Turn::from(asked("Cuenta de uno a cien, con palabras.", 2));
    let reply = ask(ready, &turn).0.unwrap_or_else(|e| panic!("{e}"));
    holds(ready, &turn, &reply);
    reply.finish.name().into()
}

fn too_long(ready: &Ready<'_>) -> String {
    answered(ready, &asked(&"La casa de Logroño. ".repeat(400), 6).into())
}

fn stopped_within(ready: &Ready<'_>) -> String {
    let turn = Turn::from(asked("Cuenta de uno a cien.", 30));
    let mut count = 0;
    let reply = ready.provider().complete(&turn, &Stop::never(), &mut |_| {
        count += 1;
        ControlFlow::Break(())
    });
    let reply = reply.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(count, 1, "nothing comes after a stop");
    assert!(!reply.text.is_empty(), "what came before stands");
    reply.finish.name().into()
}

fn stopped_before(ready: &Ready<'_>) -> String {
    let stop = Stop::new(Arc::new(AtomicBool::new(true)), None);
    let turn = Turn::from(asked("¿Qué?", 6));
    let mut sink = |_: Piece<'_>| panic!("a piece of nothing");
    match ready.provider().complete(&turn, &stop, &mut sink) {
        Ok(reply) => reply.finish.name().into(),
        Err(error) => format!("error {}", failed(&error)),
    }
}

fn late(ready: &Ready<'_>) -> String {
    let mut request = asked("¿Qué?", 6);
    request.options.deadline = Some(Duration::from_nanos(1));
    match ask(ready, &request.into()).0 {
        Ok(reply) => reply.finish.name().into(),
        Err(error) => format!("error {}", failed(&error)),
    }
}

fn labelled(ready: &Ready<'_>) -> String {
    let turn = Turn::from(asked("¿Qué hay en Logroño?", 6));
    answered(ready, &Turn { labels: vec!["client:acme".into()], ..turn })
}

fn unkeepable(ready: &Ready<'_>) -> String {
    let shape = Shape::Schema(json!({ "type": "string", "format": "ninguno" }));
    answered(ready, &Turn::from(asked("¿Qué?", 6)).shaped(shape))
}

fn empty(ready: &Ready<'_>) -> String {
    answered(ready, &Request { options: options(6), ..Request::default() }.into())
}

fn impossible(ready: &Ready<'_>) -> String {
    let mut request = asked("¿Qué?", 6);
    request.options.temperature = -1.0;
    answered(ready, &request.into())
}
