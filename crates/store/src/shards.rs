//! Files of one model that was split: `NAME-00002-of-00003.gguf`.
//!
//! Only names are looked at here; whether the parts fit is for whoever opens them.

/// Most parts of a model that is read; far above any published one.
pub(crate) const MAX_PARTS: u32 = 4096;
const END: &str = ".gguf";

/// What the name of a part says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name without number, count and ending.
    pub base: String,
    /// Which part, from 1.
    pub number: u32,
    /// How many there are.
    pub count: u32,
}

impl Part {
    /// The part that `file` is by its name; `None` for whole files, and for the only part of one.
    pub fn of(file: &str) -> Option<Part> {
        let rest = file.strip_suffix(END)?;
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (base, number) = rest.rsplit_once('-')?;
        let read = |digits: &str| {
            let five = digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit());
            five.then(|| digits.parse().ok()).flatten()
        };
        let (number, count): (u32, u32) = (read(number)?, read(count)?);
        let parts = count >= 2 && (1..=count).contains(&number);
        (parts && !base.is_empty()).then(|| Part { base: base.into(), number, count })
    }

    /// The names of all parts, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        let Part { base, count, .. } = self.clone();
        (1..=count).map(move |number| format!("{base}-{number:05}-of-{count:05}{END}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts() {
        let part = |base: &str, number, count| Some(Part { base: base.into(), number, count });
        let cases = [
            ("m-00002-of-00003.gguf", part("m", 2, 3)),
            ("año-Q4_K_M-00001-of-00002.gguf", part("año-Q4_K_M", 1, 2)),
            ("a-00001-of-00002-00001-of-00002.gguf", part("a-00001-of-00002", 1, 2)),
            ("model-00001-of-00001.gguf", None),
            ("m-00004-of-00003.gguf", None),
            ("m-00000-of-00003.gguf", None),
            ("m-1-of-3.gguf", None),
            ("m-00001-of-99999.gguf", part("m", 1, 99_999)),
            ("m-99999-of-99999.gguf", part("m", 99_999, 99_999)),
            ("-00001-of-00002.gguf", None),
            ("m-00001-of-00002.bin", None),
            ("m.gguf", None),
        ];
        for (name, want) in cases {
            assert_eq!(Part::of(name), want, "{name}");
        }
        let names: Vec<String> = Part::of("m-00002-of-00002.gguf").unwrap().names().collect();
        assert_eq!(names, ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
    }
}
