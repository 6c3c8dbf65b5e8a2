//! Where words go: answers to stdout, everything else to stderr.
//!
//! Nothing is buffered here: what was written is with the reader, and no copy is left behind.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, IsTerminal, Write},
    ops::ControlFlow,
    os::fd::AsFd,
};

use recinto_engine::{Piece, Sink};
use zeroize::Zeroizing;

use crate::{failure::Failure, width::is_format};

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Standard output and standard error, and what the person at them wants to see.
pub struct Screen {
    out: File,
    /// Whether a person reads stdout.
    pub terminal: bool,
    colour: bool,
    quiet: bool,
    verbose: bool,
    stream: Flow,
}

/// Where a stream of pieces stands.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Start,
    Reasoning,
    Text { line_open: bool },
}

impl Screen {
    pub fn new(quiet: bool, verbose: bool) -> Result<Screen, Failure> {
        let out = io::stdout().as_fd().try_clone_to_owned().map_err(|e| Failure::output(&e))?;
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Ok(Screen {
            out: File::from(out),
            terminal: io::stdout().is_terminal(),
            colour: io::stderr().is_terminal() && !set("NO_COLOR") && !dumb,
            quiet,
            verbose,
            stream: Flow::Start,
        })
    }

    /// Columns of the terminal on stdout, 80 where it does not say.
    pub fn columns(&self) -> usize {
        recinto_os::terminal::columns(&self.out).unwrap_or(80)
    }

    /// Bytes to stdout, as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| Failure::output(&e))
    }

    /// Text to stdout. On a terminal control characters are shown, not obeyed: a model or a file
    /// must not move the cursor or rename the window.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.terminal && text.chars().any(commands) {
            let shown = Zeroizing::new(text.chars().map(visible).collect::<String>());
            return self.raw(shown.as_bytes());
        }
        self.raw(text.as_bytes())
    }

    /// A line to stdout.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        self.raw(b"\n")
    }

    /// A line with names or texts from a file, which must stay within it.
    pub fn row(&mut self, text: &str) -> Result<(), Failure> {
        self.line(&escaped(text))
    }

    /// A whole answer: the text, and a line end if it has none.
    pub fn answer(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        if text.ends_with('\n') { Ok(()) } else { self.raw(b"\n") }
    }

    /// A piece of an answer in the making. Reasoning goes to stderr, dim or between marks.
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        match piece {
            Piece::Reasoning(text) => {
                if self.quiet {
                    return Ok(());
                }
                if self.stream == Flow::Start {
                    self.say(if self.colour { DIM } else { "[thinking]\n" });
                }
                self.stream = Flow::Reasoning;
                self.say(text);
            }
            Piece::Text(text) => {
                self.close_reasoning();
                self.stream = Flow::Text { line_open: !text.ends_with('\n') };
                self.text(text)?;
            }
        }
        Ok(())
    }

    /// Does `work`, whose pieces are shown as they come where `shown` says so. What cannot be
    /// written ends it.
    pub fn stream<T>(
        &mut self,
        shown: bool,
        work: impl FnOnce(&mut Sink<'_>) -> T,
    ) -> Result<T, Failure> {
        let mut broken = None;
        let done = work(&mut |piece| match shown.then(|| self.piece(piece)) {
            Some(Err(failure)) => {
                broken = Some(failure);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        if let Some(failure) = broken {
            return Err(failure);
        }
        if shown {
            self.end()?;
        }
        Ok(done)
    }

    /// Ends a stream of pieces with a line end.
    fn end(&mut self) -> Result<(), Failure> {
        self.close_reasoning();
        let open = self.stream == Flow::Text { line_open: true };
        self.stream = Flow::Start;
        if open { self.raw(b"\n") } else { Ok(()) }
    }

    fn close_reasoning(&mut self) {
        if self.stream == Flow::Reasoning {
            self.say(if self.colour { "\x1b[0m\n\n" } else { "\n[answer]\n" });
            self.stream = Flow::Start;
        }
    }

    /// A remark to stderr, unless quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let shown = Zeroizing::new(escaped(text).into_owned());
            let _ = writeln!(io::stderr(), "note: {}", shown.as_str());
        }
    }

    /// A detail to stderr, only with `-v`.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            let (dim, plain) = if self.colour { (DIM, PLAIN) } else { ("", "") };
            let _ = writeln!(io::stderr(), "{dim}{}{plain}", escaped(text));
        }
    }

    /// Text to stderr as it is, a prompt sign for example.
    pub fn say(&self, text: &str) {
        let mut err = io::stderr();
        let escape = text.starts_with('\x1b');
        let shown = match escape || !text.chars().any(commands) {
            true => Zeroizing::new(text.to_owned()),
            false => Zeroizing::new(text.chars().map(visible).collect()),
        };
        let _ = err.write_all(shown.as_bytes());
    }
}

/// Whether a terminal would obey this character instead of showing it.
fn commands(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// The character, or a picture of it.
pub fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Whether the character ends a line, or is not seen and turns, moves or joins others.
fn hides(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_format(c)
}

/// The text on one line: what ends a line, and what is not seen, as an escape. A joiner between
/// letters stays, as some scripts cannot be written without it (not between ASCII letters: two names
/// would look the same).
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() && !c.is_ascii());
    let (mut before, mut rest) = (None, text.chars());
    while let Some(c) = rest.next() {
        let joins = matches!(c, '\u{200c}' | '\u{200d}');
        match hides(c) && !(joins && letter(before) && letter(rest.clone().next())) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// The one place that prints why a command failed.
pub fn fail(failure: &Failure) {
    let Some(text) = &failure.text else { return };
    let mut shown = String::with_capacity(text.len() + 8);
    for (at, line) in text.lines().enumerate() {
        // Lines of ours begin so: hints, the lines of an arch file, settings. No other line
        // begins where ours do, whatever names an error has quoted.
        let ours = at == 0
            || ["hint: ", "RECINTO_", " "].iter().any(|start| line.starts_with(start))
            || line.starts_with(|c: char| c.is_ascii_digit());
        if at > 0 {
            shown.push('\n');
        }
        if !ours && !line.is_empty() {
            shown.push_str("  ");
        }
        let line: String = line.chars().map(visible).collect();
        // Nothing is left in it that moves the terminal, and nothing may hide.
        let mut parts = line.split('\t');
        shown.push_str(&escaped(parts.next().unwrap_or_default()));
        parts.for_each(|part| shown.extend(["\t", &*escaped(part)]));
    }
    // Nobody may be reading; there is no one left to tell.
    let _ = writeln!(io::stderr(), "error: {shown}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_stays_out_of_the_answer() {
        let cases = [
            ("answer", &[Piece::Text("¡Sí"), Piece::Text("!")][..], "¡Sí!\n"),
            ("own line end", &[Piece::Text("sí\n")], "sí\n"),
            ("thought first", &[Piece::Reasoning("veamos"), Piece::Text("sí")], "sí\n"),
            ("thought only", &[Piece::Reasoning("veamos")], ""),
            ("nothing", &[], ""),
        ];
        for (name, pieces, want) in cases {
            let file = tempfile::NamedTempFile::new().unwrap();
            let mut screen = Screen {
                out: file.reopen().unwrap(),
                terminal: true,
                colour: false,
                quiet: false,
                verbose: false,
                stream: Flow::Start,
            };
            let flows = screen.stream(true, |sink| {
                pieces.iter().map(|piece| sink(*piece)).all(|f| f.is_continue())
            });
            assert!(flows.unwrap(), "{name}");
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), want, "{name}");
        }
    }

    #[test]
    fn control_characters_are_shown() {
        let cases = [("\x1b[2J", "␛[2J"), ("a\tñ\n", "a\tñ\n"), ("\x7f\u{9b}", "␡\u{fffd}")];
        for (text, want) in cases {
            assert_eq!(text.chars().map(visible).collect::<String>(), want);
        }
        let cases = [
            ("año «1»", "año «1»"),
            ("a\nerror: b\r\t\u{1b}[2J", "a\\nerror: b\\r\\t\\u{1b}[2J"),
            ("x\u{202e}y\u{2028}", "x\\u{202e}y\\u{2028}"),
            ("a\u{200e}\u{200f}\u{61c}\u{200b}", "a\\u{200e}\\u{200f}\\u{61c}\\u{200b}"),
            ("qwen\u{200d}3 \u{feff}\u{ad}", "qwen\\u{200d}3 \\u{feff}\\u{ad}"),
            ("tag \u{e0041}", "tag \\u{e0041}"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("ab\u{200c}cd ñ\u{200d}", "ab\\u{200c}cd ñ\\u{200d}"),
        ];
        for (text, want) in cases {
            assert_eq!(escaped(text), want);
        }
    }
}
