//! What `format` may say: for texts an expression of its own, for numbers their bounds.
//!
//! In draft 2020-12 a format is an annotation unless a schema's dialect asserts it; here those of
//! the table are always asserted, and some are narrower than their standards so that everything
//! that is written is valid by them. Sources: RFC 3339 (dates, times; appendix A: durations),
//! RFC 5321 and 1123 (mail, hosts), RFC 2673 and 4291 (addresses), RFC 3986 (URI), RFC 6901
//! (pointers), RFC 4122 (UUID).

/// Days of the calendar, leap years included.
const DATE: &str = "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])\
|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))\
|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// Without leap seconds, which only some minutes have.
const TIME: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?\
(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
/// At most 24 letters, or twice as many around one hyphen: five of them stay below 253 letters, and
/// none looks as if it were encoded.
const HOST_LABEL: &str = "[A-Za-z0-9]{1,24}(?:-[A-Za-z0-9]{1,24})?";
/// 63 letters at the most with the parts below; no quotes.
const ATOM: &str = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,15}";
const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const HEX: &str = "[0-9A-Fa-f]{1,4}";
/// Of a path, a query or a fragment.
const URI_LETTER: &str = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
/// Of a host, and of what stands before it.
const URI_NAME: &str = "[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}";
const POINTER: &str = "(?:/(?:[^/~]|~[01])*)*";

fn duration() -> String {
    // Units follow one another without a gap.
    let chain = |units: [&str; 3]| {
        let [a, b, c] = units.map(|unit| format!("[0-9]{{1,9}}{unit}"));
        format!("(?:{a}(?:{b}(?:{c})?)?|{b}(?:{c})?|{c})")
    };
    let (days, times) = (chain(["Y", "M", "D"]), chain(["H", "M", "S"]));
    format!("P(?:[0-9]{{1,9}}W|{days}(?:T{times})?|T{times})")
}

fn hostname() -> String {
    format!("(?:{HOST_LABEL}\\.){{0,4}}{HOST_LABEL}")
}

fn ipv6() -> String {
    let mut forms = vec![format!("(?:{HEX}:){{7}}{HEX}"), format!("(?:{HEX}:){{1,7}}:")];
    // Groups before the gap and, at most, after it.
    forms.extend((1..=6).map(|after| {
        let before = 7 - after;
        format!("(?:{HEX}:){{1,{before}}}(?::{HEX}){{1,{after}}}")
    }));
    forms.push(format!(":(?::{HEX}){{1,7}}"));
    forms.push("::".into());
    forms.join("|")
}

fn uri() -> String {
    let letter = URI_LETTER;
    let authority = format!("(?:(?:{URI_NAME}|:)*@)?(?:{URI_NAME})*(?::[0-9]*)?");
    let path = format!("(?://{authority}(?:/{letter}*)*|/?(?:{letter}+(?:/{letter}*)*)?)");
    let rest = format!("(?:{letter}|[/?])*");
    format!("[A-Za-z][A-Za-z0-9+.-]*:{path}(?:\\?{rest})?(?:#{rest})?")
}

/// A format of texts.
pub struct TextFormat {
    /// Its name.
    pub name: &'static str,
    /// What is valid by it and not written; empty where that is nothing.
    pub narrower: &'static str,
    expression: fn() -> String,
}

const fn format(
    name: &'static str,
    expression: fn() -> String,
    narrower: &'static str,
) -> TextFormat {
    TextFormat { name, narrower, expression }
}

/// Formats of texts.
pub const TEXTS: &[TextFormat] = &[
    format("date", || DATE.into(), ""),
    format("time", || TIME.into(), "leap seconds; more than nine digits of a second"),
    format("date-time", || format!("{DATE}[Tt]{TIME}"), "as `time`"),
    format("duration", duration, "numbers of more than nine digits"),
    format(
        "email",
        || format!("{ATOM}(?:\\.{ATOM}){{0,3}}@{}", hostname()),
        "quotes, more than four parts of 15 letters, addresses as domain; as `hostname`",
    ),
    format(
        "hostname",
        hostname,
        "more than five labels, labels of more than 24 letters or of 49 with one hyphen",
    ),
    format("ipv4", || format!("(?:{OCTET}\\.){{3}}{OCTET}"), ""),
    format("ipv6", ipv6, "an IPv4 address as the end"),
    format("uuid", || "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}".into(), ""),
    format("uri", uri, "addresses in brackets as host"),
    format("json-pointer", || POINTER.into(), ""),
    format("relative-json-pointer", || format!("(?:0|[1-9][0-9]*)(?:#|{POINTER})"), ""),
];

/// The largest whole number up to which every whole number is a float of its own.
pub(crate) const EXACT: i64 = (1 << 53) - 1;

/// Formats of numbers, in the names of OpenAPI and of Rust's types, and what they hold. Those of 64
/// bits and more are narrowed to what readers of JSON agree on (RFC 8259, section 6).
pub const NUMBERS: &[(&str, Option<(i64, i64)>)] = &[
    ("int8", Some((i8::MIN as i64, i8::MAX as i64))),
    ("int16", Some((i16::MIN as i64, i16::MAX as i64))),
    ("int32", Some((i32::MIN as i64, i32::MAX as i64))),
    ("int64", Some((-EXACT, EXACT))),
    ("int128", Some((-EXACT, EXACT))),
    ("int", Some((-EXACT, EXACT))),
    ("uint8", Some((0, u8::MAX as i64))),
    ("uint16", Some((0, u16::MAX as i64))),
    ("uint32", Some((0, u32::MAX as i64))),
    ("uint64", Some((0, EXACT))),
    ("uint128", Some((0, EXACT))),
    ("uint", Some((0, EXACT))),
    ("float", None),
    ("double", None),
];

/// The expression of a format of texts, from the beginning of a text to its end.
pub(crate) fn text(name: &str) -> Option<String> {
    let row = TEXTS.iter().find(|row| row.name == name)?;
    Some(format!("^(?:{})$", (row.expression)()))
}

/// The bounds of a format of numbers; `Some(None)` is a format that has none.
pub(crate) fn number(name: &str) -> Option<Option<(i64, i64)>> {
    NUMBERS.iter().find(|row| row.0 == name).map(|row| row.1)
}
