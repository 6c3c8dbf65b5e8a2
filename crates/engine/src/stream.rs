//! Generated text on its way out: reasoning apart from the answer, stop strings held back.
//!
//! Text goes out as soon as it can no longer turn into a stop string or a tag.

use std::ops::ControlFlow;

use recinto_os::WipedText;

/// A piece of a reply as it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// What the model thinks before it answers.
    Reasoning(&'a str),
    /// The answer.
    Text(&'a str),
}

/// Where the pieces go; it may say stop.
pub type Sink<'s> = dyn FnMut(Piece<'_>) -> ControlFlow<()> + 's;

/// The tags around reasoning.
const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Only blanks so far: a tag may open.
    Start,
    Reasoning,
    Text,
}

/// Splits generated text; owns what was let out and what is held back.
pub(crate) struct Stream<'a> {
    stops: &'a [String],
    part: Part,
    /// Text that may still become a tag or a stop string.
    held: WipedText,
    /// Blanks at the start of a part are dropped when the part follows a tag.
    trimming: bool,
    pub reasoning: WipedText,
    pub text: WipedText,
    /// Which stop string ended the reply.
    pub stopped: Option<usize>,
    /// The sink said stop.
    pub broken: bool,
}

impl<'a> Stream<'a> {
    /// `tagged` is whether tags have a meaning; `opened` whether the prompt opened one already.
    pub fn new(stops: &'a [String], tagged: bool, opened: bool, lock: bool) -> Stream<'a> {
        let part = match (tagged, opened) {
            (true, true) => Part::Reasoning,
            (true, false) => Part::Start,
            (false, _) => Part::Text,
        };
        Stream {
            stops,
            part,
            held: WipedText::new(lock),
            trimming: opened && tagged,
            reasoning: WipedText::new(lock),
            text: WipedText::new(lock),
            stopped: None,
            broken: false,
        }
    }

    /// Whether the system once refused to lock a buffer.
    pub fn refused(&self) -> bool {
        self.held.refused() || self.text.refused() || self.reasoning.refused()
    }

    /// Whether the model is still thinking.
    pub fn reasoning_open(&self) -> bool {
        self.part == Part::Reasoning
    }

    /// Takes the next characters; true when the reply is over.
    pub fn push(&mut self, text: &str, sink: &mut Sink<'_>) -> bool {
        self.held.push_str(text);
        while self.advance(sink) {}
        self.stopped.is_some() || self.broken
    }

    /// Lets out everything: no more text comes.
    pub fn finish(&mut self, sink: &mut Sink<'_>) {
        if self.part == Part::Start {
            self.part = Part::Text;
        }
        self.let_out(self.held.len(), sink);
        // Blanks between the last thought and its closing tag belong to neither.
        let end = self.reasoning.trim_end().len();
        self.reasoning.truncate(end);
    }

    /// One step; true when there may be another.
    fn advance(&mut self, sink: &mut Sink<'_>) -> bool {
        if self.held.is_empty() || self.stopped.is_some() {
            return false;
        }
        match self.part {
            Part::Start => {
                let trimmed = self.held.trim_start();
                if let Some(rest) = trimmed.strip_prefix(OPEN) {
                    self.enter(Part::Reasoning, self.held.len() - rest.len());
                    return true;
                }
                if trimmed.is_empty() || OPEN.starts_with(trimmed) {
                    return false;
                }
                self.part = Part::Text;
                true
            }
            Part::Reasoning => {
                if let Some(at) = self.held.find(CLOSE) {
                    self.let_out(at, sink);
                    self.enter(Part::Text, CLOSE.len());
                    return true;
                }
                let safe = self.held.len() - overlap(&self.held, CLOSE);
                self.let_out(safe, sink);
                false
            }
            Part::Text => {
                let found = self.stops.iter().enumerate();
                let found = found.filter_map(|(i, stop)| Some((self.held.find(stop)?, i))).min();
                if let Some((at, index)) = found {
                    self.let_out(at, sink);
                    self.held.clear();
                    self.stopped = Some(index);
                    return false;
                }
                let longest = self.stops.iter().map(|stop| overlap(&self.held, stop)).max();
                let safe = self.held.len() - longest.unwrap_or(0);
                self.let_out(safe, sink);
                false
            }
        }
    }

    /// Drops what was held up to `until` and goes on in another part.
    fn enter(&mut self, part: Part, until: usize) {
        self.held.drop_front(until);
        self.part = part;
        self.trimming = true;
    }

    fn let_out(&mut self, until: usize, sink: &mut Sink<'_>) {
        if until == 0 {
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.emit(&held[..until], sink);
        self.held = held;
        self.held.drop_front(until);
    }

    fn emit(&mut self, text: &str, sink: &mut Sink<'_>) {
        let text = if self.trimming { text.trim_start() } else { text };
        if text.is_empty() || self.broken {
            return;
        }
        self.trimming = false;
        let (whole, piece) = match self.part {
            Part::Reasoning => (&mut self.reasoning, Piece::Reasoning(text)),
            Part::Start | Part::Text => (&mut self.text, Piece::Text(text)),
        };
        whole.push_str(text);
        self.broken = sink(piece).is_break();
    }
}

/// Bytes at the end of `text` that could be the beginning of `word`.
fn overlap(text: &str, word: &str) -> usize {
    let most = text.len().min(word.len().saturating_sub(1));
    let fits = |n: &usize| {
        text.is_char_boundary(text.len() - n) && word.starts_with(&text[text.len() - n..])
    };
    (1..=most).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        name: &'static str,
        stops: &'static [&'static str],
        tagged: bool,
        opened: bool,
        input: &'static str,
        reasoning: &'static str,
        text: &'static str,
        stopped: Option<usize>,
    }

    const PLAIN: Case = Case {
        name: "plain",
        stops: &[],
        tagged: false,
        opened: false,
        input: "¿Qué tal?",
        reasoning: "",
        text: "¿Qué tal?",
        stopped: None,
    };

    #[test]
    fn every_way_of_cutting_the_input_gives_the_same() {
        let cases = [
            PLAIN,
            Case {
                name: "stop string",
                stops: &["FIN"],
                input: "hola FIN adiós",
                text: "hola ",
                stopped: Some(0),
                ..PLAIN
            },
            Case {
                name: "earliest of two stops",
                stops: &["c", "b"],
                input: "abc",
                text: "a",
                stopped: Some(1),
                ..PLAIN
            },
            Case {
                name: "almost a stop",
                stops: &["FIN"],
                input: "FI FIX FI",
                text: "FI FIX FI",
                ..PLAIN
            },
            Case {
                name: "stop of several bytes a character",
                stops: &["ñandú"],
                input: "un ñand ñandú",
                text: "un ñand ",
                stopped: Some(0),
                ..PLAIN
            },
            Case {
                name: "thinking",
                tagged: true,
                input: "<think>\nso\n</think>\n\n¡Sí!",
                reasoning: "so",
                text: "¡Sí!",
                ..PLAIN
            },
            Case {
                name: "blanks before the tag",
                tagged: true,
                input: "\n <think>a</think>b",
                reasoning: "a",
                text: "b",
                ..PLAIN
            },
            Case {
                name: "opened by the prompt",
                tagged: true,
                opened: true,
                input: "\na b</think>c",
                reasoning: "a b",
                text: "c",
                ..PLAIN
            },
            Case {
                name: "no tag",
                tagged: true,
                input: "  a <think>b",
                text: "  a <think>b",
                ..PLAIN
            },
            Case {
                name: "never closed",
                tagged: true,
                input: "<think>a </thin",
                reasoning: "a </thin",
                text: "",
                ..PLAIN
            },
            Case {
                name: "a stop while thinking is not one",
                tagged: true,
                stops: &["x"],
                input: "<think>x</think>yxz",
                reasoning: "x",
                text: "y",
                stopped: Some(0),
                ..PLAIN
            },
            Case {
                name: "tags without a meaning",
                input: "<think>a</think>",
                text: "<think>a</think>",
                ..PLAIN
            },
        ];
        for case in cases {
            let stops: Vec<String> = case.stops.iter().map(|s| s.to_string()).collect();
            let characters: Vec<char> = case.input.chars().collect();
            for size in 1..=characters.len() {
                let mut stream = Stream::new(&stops, case.tagged, case.opened, false);
                let mut seen = (String::new(), String::new());
                let mut sink = |piece: Piece<'_>| {
                    match piece {
                        Piece::Reasoning(text) => seen.0.push_str(text),
                        Piece::Text(text) => seen.1.push_str(text),
                    }
                    ControlFlow::Continue(())
                };
                let over = characters
                    .chunks(size)
                    .any(|chunk| stream.push(&chunk.iter().collect::<String>(), &mut sink));
                if !over {
                    stream.finish(&mut sink);
                }
                let name = format!("{} in steps of {size}", case.name);
                assert_eq!(&*stream.text, case.text, "{name}");
                assert_eq!(stream.reasoning.trim_end(), case.reasoning, "{name}");
                assert_eq!(stream.stopped, case.stopped, "{name}");
                assert_eq!(seen.1, *stream.text, "{name}");
                assert_eq!(seen.0.trim_end(), case.reasoning, "{name}");
            }
        }
    }

    #[test]
    fn a_sink_can_say_stop() {
        let mut stream = Stream::new(&[], false, false, false);
        let mut count = 0;
        let mut sink = |_: Piece<'_>| {
            count += 1;
            ControlFlow::Break(())
        };
        assert!(stream.push("a", &mut sink));
        assert!(stream.push("b", &mut sink));
        assert_eq!(count, 1);
    }
}
