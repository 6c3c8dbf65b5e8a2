//! What a service takes, looked at before anything is sent.

use recinto_judge::{Shown, State, Unavailable, shown};
use serde_json::Value;

/// Most bytes of a request, and most levels of lists and maps in it (the hosted API's own).
const BYTES: usize = 32 << 20;
const DEEPEST: usize = 64;

/// Limits of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most options of one question.
    pub options: usize,
    /// The most questions of one request.
    pub questions: usize,
    /// The most tokens of state and all questions, and of state and one question.
    pub tokens: Option<(u64, u64)>,
}

/// Places of questions that go together, or one that cannot be asked.
type Call = Result<Vec<usize>, (usize, Unavailable)>;

impl Limits {
    /// Which questions go into which request. Only words are counted: a vocabulary makes a token of
    /// a word at least, so what is refused here could not have been read, and the service may still
    /// refuse what is not.
    pub(super) fn calls(&self, state: &State, asked: &[Shown<'_>]) -> Vec<Call> {
        let (all, one) = self.tokens.unwrap_or((u64::MAX, u64::MAX));
        let base = words(&shown(state.value()));
        let (mut calls, mut open, mut taken) = (Vec::new(), Vec::new(), base);
        for (at, question) in asked.iter().enumerate() {
            let own = words(&question.question.to_hosted().to_string());
            let tokens = base.saturating_add(own);
            if tokens > one {
                calls.push(Err((at, Unavailable::TooLong { tokens, room: one })));
                continue;
            }
            let full = taken.saturating_add(own) > all || open.len() >= self.questions.max(1);
            if full && !open.is_empty() {
                calls.push(Ok(std::mem::take(&mut open)));
                taken = base;
            }
            taken = taken.saturating_add(own);
            open.push(at);
        }
        if !open.is_empty() {
            calls.push(Ok(open));
        }
        calls
    }

    /// Refuses a request that no service takes.
    pub(super) fn whole(&self, body: &Value) -> Result<(), Unavailable> {
        match fits(body) {
            true => Ok(()),
            false => Err(Unavailable::NoRoom),
        }
    }
}

/// Whether a value is small and flat enough, without recursion.
fn fits(body: &Value) -> bool {
    let (mut bytes, mut open) = (0usize, vec![(body, 0)]);
    while let Some((value, depth)) = open.pop() {
        bytes = bytes.saturating_add(2).saturating_add(match value {
            Value::String(text) => text.len(),
            Value::Array(items) => {
                open.extend(items.iter().map(|value| (value, depth + 1)));
                0
            }
            Value::Object(map) => {
                open.extend(map.values().map(|value| (value, depth + 1)));
                map.keys().map(|key| key.len() + 3).sum()
            }
            _ => 1,
        });
        let nested = matches!(value, Value::Array(_) | Value::Object(_));
        if bytes > BYTES || (nested && depth >= DEEPEST) {
            return false;
        }
    }
    true
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests {
    use recinto_judge::Question;
    use serde_json::json;

    use super::*;

    #[test]
    fn requests() {
        let deep = |n: usize| (0..n).fold(json!("x"), |value, _| Value::Array(vec![value]));
        let cases = [
            ("small", json!({"state": "¿Qué?"}), true),
            ("64 levels", deep(64), true),
            ("65 levels", deep(65), false),
            ("32 MiB", json!("x".repeat(BYTES - 2)), true),
            ("more", json!("x".repeat(BYTES)), false),
            ("more, in keys", json!({"x".repeat(BYTES): 1}), false),
        ];
        for (name, body, want) in cases {
            assert_eq!(fits(&body), want, "{name}");
        }
    }

    #[test]
    fn questions_go_together_as_far_as_there_is_room() {
        let short = Question::whether("¿Es urgente?");
        let long = Question::whether("palabra ".repeat(20));
        let (state, order) = (State::text("una dos tres cuatro cinco"), [0, 1]);
        let show = |question| Shown { question, order: &order };
        let asked = [show(&short), show(&short), show(&long), show(&short)];
        let limits = |questions, tokens| Limits { options: 255, questions, tokens };
        let places = |limits: Limits| {
            let calls = limits.calls(&state, &asked);
            calls.into_iter().map(|call| call.map_err(|(at, _)| at)).collect::<Vec<_>>()
        };
        assert_eq!(places(limits(2000, None)), [Ok(vec![0, 1, 2, 3])]);
        assert_eq!(places(limits(2, None)), [Ok(vec![0, 1]), Ok(vec![2, 3])]);
        assert_eq!(places(limits(0, None)), [Ok(vec![0]), Ok(vec![1]), Ok(vec![2]), Ok(vec![3])]);
        assert_eq!(places(limits(9, Some((10, 9)))), [Err(2), Ok(vec![0, 1]), Ok(vec![3])]);
        let calls = limits(9, Some((100, 3))).calls(&state, &asked);
        assert_eq!(calls.len(), 4, "{calls:?}");
        let Err((_, why)) = &calls[0] else { panic!("{calls:?}") };
        assert!(matches!(why, Unavailable::TooLong { room: 3, .. }), "{why:?}");
    }
}
