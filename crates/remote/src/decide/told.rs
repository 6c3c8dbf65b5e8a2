//! What a service of decisions says of an error, as far as it may be repeated.
//!
//! Such services write one sentence that says what to change (`criteria: at most 255 options`), and
//! some quote what was sent. A word is repeated when it is one of the words that such sentences are
//! made of, or when it stands nowhere in what was sent; everything else becomes `…`.

use serde_json::Value;
use zeroize::Zeroizing;

use crate::draft::Told;

/// Most characters of a sentence.
const LONGEST: usize = 200;
/// Letters in a row that a word and what was sent may not share.
const WINDOW: usize = 5;

/// Words of such sentences, in small letters; they tell nothing of a text that has them too.
const FRAME: &[&str] = &[
    "a",
    "account",
    "again",
    "all",
    "allowed",
    "an",
    "and",
    "answer",
    "answers",
    "api",
    "array",
    "at",
    "bad",
    "be",
    "between",
    "billing",
    "body",
    "by",
    "can",
    "cannot",
    "choice",
    "contact",
    "content",
    "context",
    "credit",
    "criteria",
    "denied",
    "detail",
    "empty",
    "error",
    "exceeded",
    "exceeds",
    "expected",
    "failed",
    "few",
    "field",
    "for",
    "forbidden",
    "found",
    "from",
    "gateway",
    "got",
    "has",
    "have",
    "in",
    "input",
    "instructions",
    "internal",
    "invalid",
    "is",
    "it",
    "json",
    "key",
    "label",
    "labels",
    "large",
    "later",
    "least",
    "length",
    "less",
    "level",
    "levels",
    "limit",
    "limits",
    "list",
    "long",
    "many",
    "map",
    "max",
    "maximum",
    "may",
    "min",
    "minimum",
    "minute",
    "missing",
    "model",
    "more",
    "most",
    "must",
    "no",
    "not",
    "noul",
    "null",
    "number",
    "object",
    "of",
    "on",
    "only",
    "option",
    "options",
    "or",
    "out",
    "overloaded",
    "payload",
    "payment",
    "per",
    "permission",
    "please",
    "question",
    "questions",
    "quota",
    "rate",
    "received",
    "request",
    "requests",
    "required",
    "retry",
    "score",
    "second",
    "seconds",
    "server",
    "service",
    "should",
    "size",
    "state",
    "string",
    "support",
    "than",
    "the",
    "timed",
    "timeout",
    "to",
    "token",
    "tokens",
    "too",
    "try",
    "type",
    "unavailable",
    "unknown",
    "unsupported",
    "valid",
    "value",
    "wait",
    "was",
    "with",
];

/// The error that a body tells of; its sentence is looked for in the vendors' order.
pub(super) fn read(body: &Value) -> Told {
    let own = Value::Null;
    let error = body.get("error").unwrap_or(&own);
    let detail = body.get("detail").unwrap_or(&own);
    let first = body.get("errors").and_then(|errors| errors.get(0)).unwrap_or(&own);
    let word = |value: &Value, name: &str| match value.get(name) {
        Some(Value::String(word)) => Some(word.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let message = text(body)
        .or_else(|| text(error))
        .or_else(|| word(error, "message"))
        .or_else(|| word(body, "message"))
        .or_else(|| text(detail))
        .or_else(|| word(detail, "message"))
        .or_else(|| items(detail))
        .or_else(|| word(first, "message"));
    let places = [error, detail, body, first];
    let named = |names: &[&str]| {
        places.iter().find_map(|place| names.iter().find_map(|name| word(place, name)))
    };
    Told {
        kind: named(&["error_type", "type"]),
        code: word(error, "code").or_else(|| word(detail, "code")),
        param: None,
        message: Zeroizing::new(message.unwrap_or_default()),
    }
}

/// The faults of a schema in one line: where, and what. What was there instead is left out.
fn items(detail: &Value) -> Option<String> {
    let one = |item: &Value| {
        let msg = item.get("msg").and_then(Value::as_str)?;
        let path: Vec<String> = item
            .get("loc")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(at, part)| !(*at == 0 && part.as_str() == Some("body")))
            .filter_map(|(_, part)| match part {
                Value::String(word) => Some(word.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect();
        Some(match path.is_empty() {
            true => msg.to_owned(),
            false => format!("{}: {msg}", path.join(".")),
        })
    };
    let all: Vec<String> = detail.as_array()?.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The status that an answer tells which came with another one.
pub(super) fn status(body: &Value) -> Option<u16> {
    let code = body.get("error")?.get("code")?.as_u64()?;
    u16::try_from(code).ok().filter(|code| (400..600).contains(code))
}

/// A sentence of a service's without anything that was sent to it; `None` where little is left.
/// What was sent is `body`, as JSON; `key` is the key's text.
pub(super) fn repeatable(sentence: &str, body: &[u8], key: &str) -> Option<String> {
    let sent = Zeroizing::new(String::from_utf8_lossy(body).to_lowercase());
    let key = Zeroizing::new(key.to_lowercase());
    let cut = sentence.char_indices().nth(LONGEST).map_or(sentence.len(), |(at, _)| at);
    let mut out = String::new();
    let (mut kept, mut hidden) = (0, 0);
    let mut rest = &sentence[..cut];
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != is_word).unwrap_or(rest.len());
        let (part, tail) = rest.split_at(end);
        rest = tail;
        if !is_word {
            let plain = |c: char| c.is_ascii_graphic() || c == ' ';
            out.extend(part.chars().map(|c| if plain(c) { c } else { ' ' }));
        } else if is_free(&part.to_lowercase(), &sent, &key) {
            kept += 1;
            out.push_str(part);
        } else {
            hidden += 1;
            out.push('…');
        }
    }
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let out = match cut < sentence.len() {
        true => format!("{out}…"),
        false => out,
    };
    (kept > 0 && hidden <= 2 * kept).then_some(out)
}

/// Whether a word may be repeated: it is one of the frame's, or the name of a question as it is
/// sent (`q1`), or shares nothing with what was sent.
fn is_free(word: &str, sent: &str, key: &str) -> bool {
    let number = word.strip_prefix('q').unwrap_or("");
    let ours =
        !number.is_empty() && number.len() <= 4 && number.bytes().all(|b| b.is_ascii_digit());
    if FRAME.binary_search(&word).is_ok() || ours {
        return true;
    }
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let size = WINDOW.min(starts.len() - 1);
    !starts.windows(size + 1).any(|window| {
        let part = &word[window[0]..window[size]];
        sent.contains(part) || key.contains(part)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_frame_is_sorted() {
        assert!(FRAME.is_sorted());
    }

    #[test]
    fn sentences_in_the_vendors_order() {
        let loc = json!(["body", "questions", "q1", "score", "criteria"]);
        let cases = [
            ("a text", json!("uno"), "uno"),
            ("an error that is a text", json!({"error": "uno", "message": "dos"}), "uno"),
            ("an error's message", json!({"error": {"message": "uno"}, "message": "dos"}), "uno"),
            ("a message", json!({"message": "uno", "detail": "dos"}), "uno"),
            ("a detail that is a text", json!({"detail": "uno"}), "uno"),
            ("a detail's message", json!({"detail": {"error_type": "x", "message": "uno"}}), "uno"),
            (
                "a list of details",
                json!({"detail": [
                    {"loc": loc, "msg": "at most 10", "type": "too_long", "input": "canary"},
                    {"loc": ["body"], "msg": "two"},
                    {"loc": [], "msg": "three"},
                    {"loc": ["query", 3], "msg": "four", "ctx": {"x": "canary"}},
                ]}),
                "questions.q1.score.criteria: at most 10; two; three; query.3: four",
            ),
            ("an envelope's list", json!({"errors": [{"code": 7003, "message": "uno"}]}), "uno"),
            ("no message", json!({"detail": {"error_type": "max_tokens_exceeded"}}), ""),
            ("nothing", json!({}), ""),
            ("a number", json!(3), ""),
            ("a list without sentences", json!({"detail": [1, {"loc": loc}]}), ""),
        ];
        for (name, body, want) in cases {
            assert_eq!(&*read(&body).message, want, "{name}");
        }
        let told = read(&json!({"detail": {"error_type": "max_tokens_exceeded"}}));
        assert_eq!(told.kind.as_deref(), Some("max_tokens_exceeded"));
        let told = read(&json!({"error": {"code": 429, "message": "x"}}));
        assert_eq!(told.code.as_deref(), Some("429"));
    }

    #[test]
    fn nothing_that_was_sent_is_repeated() {
        let sent = json!({
            "model": "jev-latest",
            "state": {"nota": "La paciente García, 4417, dijo que el saldo no llegó"},
            "questions": {"q1": {"type": "noul", "instructions": "¿Es urgente?"}},
        });
        let sent = sent.to_string().into_bytes();
        let ten = "dato ".repeat(50);
        let cases = [
            ("plain", "too many options: at most 255", Some("too many options: at most 255")),
            ("its own words", "Upgrade your plan today", Some("Upgrade your plan today")),
            (
                "a question",
                "questions.q1.criteria: missing",
                Some("questions.q1.criteria: missing"),
            ),
            ("a name", "unknown label 'García' in state", Some("unknown label '…' in state")),
            ("in capitals", "unknown label GARCÍA", Some("unknown label …")),
            ("a part of it", "unknown label 'Garc", Some("unknown label '…")),
            ("joined", "unknown label xxgarcíaxx", Some("unknown label …")),
            ("a number", "value 4417 is too large", Some("value … is too large")),
            ("the key", "invalid api key sk-Clave123", Some("invalid api key …-…")),
            ("part of the key", "invalid api key ***ave123", Some("invalid api key ***…")),
            ("mostly what was sent", "La paciente García, 4417", None),
            ("nothing", "", None),
            ("line breaks", "too\r\nlong\u{1b}[1m", Some("too long [1m")),
            ("cut", &format!("too long: {ten}"), Some("")),
        ];
        for (name, sentence, want) in cases {
            let said = repeatable(sentence, &sent, "sk-Clave123");
            if name == "cut" {
                let said = said.unwrap();
                assert!(said.chars().count() <= LONGEST + 1 && said.ends_with('…'), "{said}");
                continue;
            }
            assert_eq!(said.as_deref(), want, "{name}");
        }
    }
}
