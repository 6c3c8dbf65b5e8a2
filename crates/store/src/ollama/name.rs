//! `[host[:port]/][namespace/]model[:tag]`: what a name in an Ollama store says.

use std::fmt;

/// Source: the names Ollama's documentation and registry use.
const HOST: &str = "registry.ollama.ai";
const NAMESPACE: &str = "library";
const TAG: &str = "latest";
/// Most characters of the parts.
const LONGEST_HOST: usize = 350;
const LONGEST: usize = 80;

/// A whole name; parts are compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub host: String,
    pub namespace: String,
    pub model: String,
    pub tag: String,
}

impl Name {
    /// The name in `text` with defaults filled in; an error says which part cannot be.
    pub fn read(text: &str) -> Result<Name, String> {
        // A host may have a port: only after the last `/` does `:` begin a tag.
        let last = text.rfind('/').map_or(0, |at| at + 1);
        let (path, tag) = match text[last..].split_once(':') {
            Some((model, tag)) => (&text[..last + model.len()], tag),
            None => (text, TAG),
        };
        let parts: Vec<&str> = path.split('/').collect();
        let (host, namespace, model) = match parts[..] {
            [model] => (HOST, NAMESPACE, model),
            [namespace, model] => (HOST, namespace, model),
            [host, namespace, model] => (host, namespace, model),
            _ => return Err("more than `host/namespace/model:tag`".into()),
        };
        let parts = [("host", host), ("namespace", namespace), ("model", model), ("tag", tag)];
        for (what, part) in parts {
            if !valid(part, what == "host") {
                return Err(format!("its {what} is not one: letters, digits, `_`, `-` and `.`"));
            }
        }
        let [host, namespace, model, tag] = parts.map(|part| part.1.to_owned());
        Ok(Name { host, namespace, model, tag })
    }

    /// The name of the folders and the file in a store.
    pub fn of_parts(parts: [&str; 4]) -> Option<Name> {
        let hosted = |(at, part): (usize, &&str)| valid(part, at == 0);
        if !parts.iter().enumerate().all(hosted) {
            return None;
        }
        let [host, namespace, model, tag] = parts.map(str::to_owned);
        Some(Name { host, namespace, model, tag })
    }

    /// Its folders and its file.
    pub fn parts(&self) -> [&str; 4] {
        [&self.host, &self.namespace, &self.model, &self.tag]
    }

    /// Every part, defaults too.
    pub fn whole(&self) -> String {
        let Name { host, namespace, model, tag } = self;
        format!("{host}/{namespace}/{model}:{tag}")
    }

    /// Whether another program made the name for its own use: `llamacpp:` and hexadecimal digits,
    /// as a migration of newer stores leaves them.
    pub fn is_shadow(&self) -> bool {
        let hex = self.tag.len() >= 6 && self.tag.bytes().all(|b| b.is_ascii_hexdigit());
        self.model.eq_ignore_ascii_case("llamacpp") && hex
    }

    /// The name to compare by.
    pub fn folded(&self) -> String {
        self.whole().to_ascii_lowercase()
    }
}

/// As short as it can be, but with its tag.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { host, namespace, model, tag } = self;
        if !host.eq_ignore_ascii_case(HOST) {
            return write!(f, "{host}/{namespace}/{model}:{tag}");
        }
        match namespace.eq_ignore_ascii_case(NAMESPACE) {
            true => write!(f, "{model}:{tag}"),
            false => write!(f, "{namespace}/{model}:{tag}"),
        }
    }
}

fn valid(part: &str, host: bool) -> bool {
    let most = if host { LONGEST_HOST } else { LONGEST };
    let first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let other = |b: u8| first(b) || matches!(b, b'-' | b'.') || (host && b == b':');
    (1..=most).contains(&part.len())
        && part.bytes().next().is_some_and(first)
        && part.bytes().all(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "m".repeat(80);
        let host = "h".repeat(350);
        let cases = [
            ("orca", Some("registry.ollama.ai/library/orca:latest"), "orca:latest"),
            ("orca:7b", Some("registry.ollama.ai/library/orca:7b"), "orca:7b"),
            ("me/orca:7b", Some("registry.ollama.ai/me/orca:7b"), "me/orca:7b"),
            ("hf.co/o/n:Q4_K_M", Some("hf.co/o/n:Q4_K_M"), "hf.co/o/n:Q4_K_M"),
            ("localhost:5000/a/b", Some("localhost:5000/a/b:latest"), "localhost:5000/a/b:latest"),
            (
                &long,
                Some(&format!("registry.ollama.ai/library/{long}:latest")),
                &format!("{long}:latest"),
            ),
            (&format!("{host}/a/b:c"), Some(&format!("{host}/a/b:c")), &format!("{host}/a/b:c")),
            (&format!("{long}m"), None, ""),
            (&format!("{host}h/a/b"), None, ""),
            ("", None, ""),
            ("orca:", None, ""),
            ("/orca", None, ""),
            ("a//b", None, ""),
            ("..", None, ""),
            ("../a", None, ""),
            ("a/../b", None, ""),
            ("a:../b", None, ""),
            ("a:b:c", None, ""),
            ("a/b/c/d", None, ""),
            (".hidden", None, ""),
            ("-x", None, ""),
            ("a b", None, ""),
            ("niño", None, ""),
            ("a@sha256", None, ""),
        ];
        for (text, whole, short) in cases {
            let name = Name::read(text).ok();
            assert_eq!(name.as_ref().map(Name::whole).as_deref(), whole, "{text}");
            assert_eq!(name.map_or(String::new(), |name| name.to_string()), short, "{text}");
        }
    }

    #[test]
    fn shadows() {
        let cases = [
            ("llamacpp:0a1b2c3d4e5f", true),
            ("llamacpp:latest", false),
            ("llamacpp", false),
            ("other:0a1b2c3d4e5f", false),
            ("me/llamacpp:abcdef0123", true),
        ];
        for (text, want) in cases {
            assert_eq!(Name::read(text).unwrap().is_shadow(), want, "{text}");
        }
        assert_eq!(Name::of_parts(["registry.ollama.ai", "library", "orca", "llamacpp:abc"]), None);
    }
}
