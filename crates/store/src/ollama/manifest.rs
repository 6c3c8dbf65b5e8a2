//! Manifests of Ollama: which blobs a tag is made of. Every digest in them is distrusted.

use recinto_receipt::Digest;
use serde_json::Value;

use crate::layers::{not_json, plain};

/// Most layers of a manifest, and most manifests of a list.
const MAX_LAYERS: usize = 1 << 16;
/// Media types of the layers, before their kind. Source: Ollama's manifests.
const LAYER: &str = "application/vnd.ollama.image.";

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// The layers of one model.
    Layers(Vec<Layer>),
    /// The same model in several forms, each with a manifest of its own.
    List(Vec<Child>),
}

/// One blob and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// `model`, `template`, …; the whole media type where it is not one of Ollama's.
    pub kind: String,
    /// SHA-256 of the blob, as claimed.
    pub digest: Digest,
    /// Its bytes, as claimed.
    pub size: u64,
}

/// One form of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// SHA-256 of its manifest, as claimed.
    pub digest: Digest,
    /// The program it is made for: `ollama`, `llamacpp`, `mlx`, ….
    pub runner: String,
    /// `gguf`, `safetensors`, ….
    pub format: String,
}

/// The manifest in `bytes`; an error says what is wrong with it.
///
/// # Errors
///
/// Text that is no JSON, or without layers; a digest that is none; sizes and counts that cannot be.
pub fn parse(bytes: &[u8]) -> Result<Manifest, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|e| not_json(&e))?;
    if let Some(list) = value["manifests"].as_array() {
        bound(list.len())?;
        return list.iter().map(child).collect::<Result<_, _>>().map(Manifest::List);
    }
    let list = value["layers"].as_array().ok_or("it has no layers")?;
    bound(list.len())?;
    list.iter().map(layer).collect::<Result<_, _>>().map(Manifest::Layers)
}

fn bound(count: usize) -> Result<(), String> {
    match count {
        0..=MAX_LAYERS => Ok(()),
        _ => Err(format!("it has {count} layers; {MAX_LAYERS} are allowed")),
    }
}

fn layer(value: &Value) -> Result<Layer, String> {
    let media = value["mediaType"].as_str().ok_or("a layer has no media type")?;
    let kind = plain(media.strip_prefix(LAYER).unwrap_or(media));
    let digest = digest(&value["digest"]).map_err(|why| format!("its {kind} layer {why}"))?;
    let size = value["size"].as_u64().ok_or_else(|| format!("its {kind} layer has no size"))?;
    Ok(Layer { kind, digest, size })
}

fn child(value: &Value) -> Result<Child, String> {
    let word = |key: &str| plain(value[key].as_str().unwrap_or("unknown")).to_ascii_lowercase();
    let digest = digest(&value["digest"]).map_err(|why| format!("a manifest of its list {why}"))?;
    Ok(Child { digest, runner: word("runner"), format: word("format") })
}

/// `sha256:` or `sha256-` and 64 hexadecimal digits, and nothing else: from this a path is made.
fn digest(value: &Value) -> Result<Digest, &'static str> {
    let text = value.as_str().ok_or("has no digest")?;
    let hex = text.strip_prefix("sha256").and_then(|rest| rest.strip_prefix([':', '-']));
    let hex = hex.filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let parsed = hex.and_then(|hex| hex.to_ascii_lowercase().parse().ok());
    parsed.ok_or("has a digest that is not `sha256:` and 64 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(digest: &str) -> String {
        let media = format!("{LAYER}model");
        format!(r#"{{"layers":[{{"mediaType":"{media}","digest":"{digest}","size":7}}]}}"#)
    }

    #[test]
    fn digests_are_sha256_and_nothing_else() {
        let hex = "0123456789abcdef".repeat(4);
        let good = [
            format!("sha256:{hex}"),
            format!("sha256-{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
        ];
        for text in &good {
            let want = Layer { kind: "model".into(), digest: hex.parse().unwrap(), size: 7 };
            assert_eq!(parse(one(text).as_bytes()), Ok(Manifest::Layers(vec![want])), "{text}");
        }
        let bad = [
            ("63 digits", format!("sha256:{}", &hex[1..])),
            ("65 digits", format!("sha256:{hex}0")),
            ("upper-case name", format!("SHA256:{hex}")),
            ("path", "sha256:../../x".into()),
            ("path of the right length", format!("sha256:{}", "../".repeat(21) + "x")),
            ("another hash", format!("sha512:{hex}")),
            ("no hash", hex.clone()),
            ("space", format!("sha256: {}", &hex[1..])),
            ("line end", format!("sha256:{hex}\\n")),
            ("letters", format!("sha256:{}", "ñ".repeat(32))),
            ("empty", String::new()),
        ];
        for (name, text) in bad {
            let error = parse(one(&text).as_bytes()).expect_err(name);
            assert!(error.contains("its model layer has a digest that is not"), "{name}: {error}");
        }
    }

    #[test]
    fn broken_manifests() {
        let deep = "[".repeat(100_000);
        let cases = [
            ("empty", "", "it is empty"),
            ("no JSON", "hola", "no JSON (line 1, column 1)"),
            ("half", "{\"layers\":[", "no JSON"),
            ("no layers", "{}", "no layers"),
            ("layers are none", "{\"layers\":7}", "no layers"),
            ("a list", "[]", "no layers"),
            ("no media type", "{\"layers\":[{}]}", "no media type"),
            ("deep", &deep, "no JSON"),
            ("child", "{\"manifests\":[{}]}", "a manifest of its list has no digest"),
        ];
        for (name, text, part) in cases {
            let error = parse(text.as_bytes()).expect_err(name);
            assert!(error.contains(part), "{name}: {error}");
        }
        let negative = one(&format!("sha256:{}", "0".repeat(64))).replace("7", "-7");
        assert!(parse(negative.as_bytes()).unwrap_err().contains("has no size"));
        let many = format!("{{\"layers\":[{}]}}", vec!["1"; MAX_LAYERS + 1].join(","));
        assert!(parse(many.as_bytes()).unwrap_err().contains("65537 layers"));
    }
}
