//! What a service tells of an error, sorted into kinds by its status and its plain words.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::{
    draft::{Told, is_phrase},
    error::{Error, Kind},
    net::Trouble,
};

/// Longest time to wait that is believed.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Words of `error.code` and `error.type`, from the vendors' pages on errors, and of the servers
/// that speak their wires.
const WORDS: &[(&str, Kind)] = &[
    ("context_length_exceeded", Kind::Overflow),
    ("max_tokens_exceeded", Kind::Overflow),
    ("exceed_context_size_error", Kind::Overflow),
    ("request_too_large", Kind::Overflow),
    ("string_above_max_length", Kind::Overflow),
    ("insufficient_quota", Kind::Budget),
    ("billing_hard_limit_reached", Kind::Budget),
    ("billing_error", Kind::Budget),
    ("content_filter", Kind::Refused),
    ("content_policy_violation", Kind::Refused),
    ("invalid_prompt", Kind::Refused),
    ("invalid_api_key", Kind::Auth),
    ("authentication_error", Kind::Auth),
    ("permission_error", Kind::Auth),
    ("model_not_found", Kind::NotFound),
    ("not_found_error", Kind::NotFound),
    ("rate_limit_exceeded", Kind::RateLimited(None)),
    ("rate_limit_error", Kind::RateLimited(None)),
    ("overloaded_error", Kind::Unavailable),
    ("api_error", Kind::Unavailable),
    ("server_error", Kind::Unavailable),
    ("timeout_error", Kind::Unavailable),
];

/// Phrases of sentences, where a service has no word of its own for the kind.
const PHRASES: &[(&str, Kind)] = &[
    ("prompt is too long", Kind::Overflow),
    ("maximum context length", Kind::Overflow),
    ("context window", Kind::Overflow),
    ("exceed context limit", Kind::Overflow),
    ("credit balance is too low", Kind::Budget),
];

/// What to do, by kind.
fn hint(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Auth => "look at the key and at what it may do; `recinto status` says which is used",
        Kind::RateLimited(_) => "wait, or ask less at a time",
        Kind::NotFound => "look at the model's name, and at the address where one is set",
        Kind::Overflow => "shorten the text, ask for fewer tokens, or take a model with more room",
        Kind::Refused => "it will not answer this; the words were not an error of the line",
        Kind::Unavailable => "try again later; the vendor's status page may say more",
        Kind::Budget => "the account has no money or quota left",
        _ => return None,
    })
}

/// The kind of `told`; `status` is that of the answer, where it was one that tells an error.
pub(crate) fn kind(status: Option<u16>, told: &Told) -> Kind {
    let words = [told.code.as_deref(), told.kind.as_deref()];
    let known = |word: &str| WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
    if let Some(kind) = words.into_iter().flatten().find_map(known) {
        return kind;
    }
    if status.is_none_or(|status| matches!(status, 400 | 413 | 422))
        && let Some(row) = PHRASES.iter().find(|row| is_phrase(&told.message, row.0))
    {
        return row.1;
    }
    match status {
        Some(401 | 403) => Kind::Auth,
        Some(402) => Kind::Budget,
        Some(404 | 405) => Kind::NotFound,
        Some(413) => Kind::Overflow,
        Some(429) => Kind::RateLimited(None),
        Some(408 | 500..) | None => Kind::Unavailable,
        Some(_) => Kind::Request,
    }
}

/// The error that an answer with `status` means.
pub(crate) fn of_status(
    provider: &'static str,
    status: u16,
    headers: &HeaderMap,
    told: &Told,
) -> Error {
    if (300..400).contains(&status) {
        let what = format!("it answers with a redirect (status {status}), which is not followed");
        return Error::new(provider, Kind::Unavailable, what)
            .hint("nothing is sent to an address that was not set; look at the one that is");
    }
    let kind = match kind(Some(status), told) {
        Kind::RateLimited(_) => Kind::RateLimited(retry_after(headers)),
        kind => kind,
    };
    of_told(provider, kind, told).word("status ", Some(&status.to_string()))
}

/// The error that `told` means, of the kind that was found.
pub(crate) fn of_told(provider: &'static str, kind: Kind, told: &Told) -> Error {
    let what = match kind {
        Kind::Auth => "the key is not taken, or may not do this".into(),
        Kind::RateLimited(Some(time)) => format!("it asks to wait {} s", time.as_secs().max(1)),
        Kind::RateLimited(None) => "it asks to wait".into(),
        Kind::NotFound => "there is no such model, or nothing at this address".into(),
        Kind::Request => "it does not take the request".into(),
        Kind::Overflow => "prompt and answer do not fit".into(),
        Kind::Refused => "the content is refused".into(),
        Kind::Budget => "the account's budget is used up".into(),
        _ => "the service failed".to_owned(),
    };
    let mut error = Error::new(provider, kind, what);
    error = error.word("", told.code.as_deref().or(told.kind.as_deref()));
    error = error.word("field ", told.param.as_deref());
    match hint(kind) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The error that a broken line means.
pub(crate) fn of_trouble(
    provider: &'static str,
    host: &str,
    base_url: &str,
    trouble: Trouble,
) -> Error {
    let (what, hint) = match trouble {
        Trouble::Name => (
            format!("the name {host} leads nowhere"),
            format!("look at the network, and at `{base_url}` where it is set"),
        ),
        Trouble::Connect => (
            format!("nobody answers at {host}"),
            format!(
                "look at the network, at `proxy` where one is needed, and at `{base_url}` where \
                 it is set"
            ),
        ),
        Trouble::Tls(why) => (
            format!("{host} cannot be trusted: {why}"),
            "where an authority of your own vouches for it, name its certificate with `ca_file`"
                .into(),
        ),
        Trouble::Broken => (
            format!("the line to {host} broke"),
            "try again; what was sent may have been worked on".into(),
        ),
        Trouble::TooLarge => {
            (format!("{host} sends more than an answer can be"), format!("look at `{base_url}`"))
        }
    };
    Error::new(provider, Kind::Unavailable, what).hint(hint)
}

/// The time that a service asks to wait (RFC 9110, section 10.2.3): seconds, a date, or
/// milliseconds in OpenAI's own header.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let exact = text("retry-after-ms").and_then(|ms| seconds(ms, 1e-3));
    let coarse = || {
        let value = text("retry-after")?;
        seconds(value, 1.0).or_else(|| {
            let then = seconds_of_date(value)?;
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(Duration::from_secs(then).saturating_sub(now))
        })
    };
    exact.or_else(coarse).filter(|time| *time <= LONGEST)
}

/// Seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds_of_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.split_once(", ")?.1.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts[..] else { return None };
    let number = |text: &str| text.parse::<u64>().ok();
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year) = (number(day)?, number(year)?);
    let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
    if !(1970..=9999).contains(&year) || day > 31 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the civil calendar, counted from a first of March so that leap days come last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, code: &str, message: &str) -> Told {
        let word = |word: &str| Some(word.to_owned()).filter(|word| !word.is_empty());
        let message = message.to_owned().into();
        Told { kind: word(kind), code: word(code), param: None, message }
    }

    #[test]
    fn kinds() {
        let cases = [
            ("no key", Some(401), told("invalid_request_error", "invalid_api_key", ""), Kind::Auth),
            ("not allowed", Some(403), told("permission_error", "", ""), Kind::Auth),
            ("no model", Some(404), told("not_found_error", "", ""), Kind::NotFound),
            ("wait", Some(429), told("rate_limit_error", "", ""), Kind::RateLimited(None)),
            ("no money", Some(429), told("x", "insufficient_quota", ""), Kind::Budget),
            (
                "no credit",
                Some(400),
                told(
                    "invalid_request_error",
                    "",
                    "Your credit balance is \
                too low",
                ),
                Kind::Budget,
            ),
            (
                "too long",
                Some(400),
                told(
                    "invalid_request_error",
                    "",
                    "prompt is too long: 9 \
                tokens > 8 maximum",
                ),
                Kind::Overflow,
            ),
            ("too long, by word", Some(400), told("", "context_length_exceeded", ""), {
                Kind::Overflow
            }),
            ("refused", Some(400), told("", "content_filter", ""), Kind::Refused),
            ("wrong", Some(400), told("invalid_request_error", "", "año"), Kind::Request),
            ("overloaded", Some(529), told("overloaded_error", "", ""), Kind::Unavailable),
            ("a page", Some(502), Told::default(), Kind::Unavailable),
            ("in a stream", None, told("overloaded_error", "", ""), Kind::Unavailable),
            ("in a stream, unknown", None, told("", "", ""), Kind::Unavailable),
        ];
        for (name, status, told, want) in cases {
            assert_eq!(kind(status, &told), want, "{name}");
        }
    }

    #[test]
    fn times_to_wait() {
        type Case = (&'static str, &'static [(&'static str, &'static str)], Option<Duration>);
        let cases: [Case; 8] = [
            ("seconds", &[("retry-after", "7")], Some(Duration::from_secs(7))),
            ("fractions", &[("retry-after", "0.5")], Some(Duration::from_millis(500))),
            ("milliseconds first", &[("retry-after", "7"), ("retry-after-ms", "20")], {
                Some(Duration::from_millis(20))
            }),
            ("past", &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(Duration::ZERO)),
            ("negative", &[("retry-after", "-1")], None),
            ("no number", &[("retry-after", "pronto")], None),
            ("years", &[("retry-after", "1e300")], None),
            ("nothing", &[], None),
        ];
        for (name, pairs, want) in cases {
            let mut headers = HeaderMap::new();
            for (key, value) in pairs {
                headers.insert(*key, value.parse().unwrap());
            }
            assert_eq!(retry_after(&headers), want, "{name}");
        }
        assert_eq!(seconds_of_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds_of_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(seconds_of_date("Sunday, 06-Nov-94 08:49:37 GMT"), None);
    }
}
