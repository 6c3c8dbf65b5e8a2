//! Which quantization the name of a file tells, and whether it is the one that was asked for.
//!
//! Names are all there is to choose by in a repository with many files; what is in the file is
//! for whoever opens it.

/// Words that are a quantization as they are. Source: names of published GGUF files.
const WORDS: [&str; 10] =
    ["F16", "F32", "BF16", "FP16", "FP32", "MXFP4", "MXFP4_MOE", "NVFP4", "TQ1_0", "TQ2_0"];
/// Stands before a quantization where layers have different ones.
const DYNAMIC: &str = "UD-";

/// The quantization in a path below a snapshot, in upper case: of the file's name without ending,
/// else of the folder it is in.
pub(crate) fn label(path: &str) -> Option<String> {
    let mut parts = path.rsplit('/');
    let stem = parts.next()?;
    let stem = stem.strip_suffix(".gguf").unwrap_or(stem);
    of_word(stem).or_else(|| parts.find_map(of_word))
}

/// The last quantization in a name such as `niño-UD-Q4_K_XL` or `ggml_model_q4_0`.
fn of_word(name: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let mut found = None;
    let mut at = 0;
    for part in name.split(['-', '.']) {
        // `_` stands within quantizations and, in some names, before them.
        let starts = std::iter::once(0).chain(part.match_indices('_').map(|(i, _)| i + 1));
        if let Some(start) = starts.into_iter().find(|start| is_quant(&part[*start..])) {
            let dynamic = start == 0 && name[..at].ends_with(DYNAMIC);
            let before = if dynamic { DYNAMIC } else { "" };
            found = Some(format!("{before}{}", &part[start..]));
        }
        at += part.len() + 1;
    }
    found
}

/// Whether a word in upper case is a quantization: `Q8_0`, `Q4_K_M`, `IQ3_XXS`, `BF16`, ….
fn is_quant(word: &str) -> bool {
    if WORDS.contains(&word) {
        return true;
    }
    let rest = word.strip_prefix('I').unwrap_or(word);
    let Some(rest) = rest.strip_prefix('Q') else { return false };
    let mut parts = rest.split('_');
    let bits = parts.next().is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    let ends = parts.clone().count();
    let end = |p: &str| (1..=3).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_alphanumeric());
    bits && ends >= 1 && parts.all(end)
}

/// Whether `asked` is the quantization `label`: all of it, in any letter case. The mark of dynamic
/// ones may be left out.
pub(crate) fn is(label: &str, asked: &str) -> bool {
    let bare = label.strip_prefix(DYNAMIC).unwrap_or(label);
    [label, bare].iter().any(|label| label.eq_ignore_ascii_case(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let cases = [
            ("m-Q4_K_M.gguf", Some("Q4_K_M")),
            ("Qwen2.5-0.5B-Instruct-q4_k_m.gguf", Some("Q4_K_M")),
            ("model.Q8_0.gguf", Some("Q8_0")),
            ("ggml_model_q4_0.gguf", Some("Q4_0")),
            ("x-IQ4_XS.gguf", Some("IQ4_XS")),
            ("x-IQ4_K.gguf", Some("IQ4_K")),
            ("x-UD-Q4_K_XL.gguf", Some("UD-Q4_K_XL")),
            ("BF16/m", Some("BF16")),
            ("BF16/m-Q8_0.gguf", Some("Q8_0")),
            ("niño-f16.gguf", Some("F16")),
            ("model-Q4_0_4_4.gguf", Some("Q4_0_4_4")),
            ("m.gguf", None),
            ("Q-model.gguf", None),
            ("qwen2-q.gguf", None),
            ("q4.gguf", None),
        ];
        for (path, want) in cases {
            assert_eq!(label(path).as_deref(), want, "{path}");
        }
    }

    #[test]
    fn a_quantization_is_not_the_beginning_of_another() {
        let cases = [
            ("Q4_K_M", "q4_k_m", true),
            ("Q4_K_M", "Q4_K", false),
            ("IQ4_K", "Q4_K", false),
            ("Q4_K", "Q4_K_M", false),
            ("UD-Q4_K_XL", "Q4_K_XL", true),
            ("UD-Q4_K_XL", "ud-q4_k_xl", true),
            ("Q4_K_XL", "UD-Q4_K_XL", false),
            ("BF16", "F16", false),
        ];
        for (label, asked, want) in cases {
            assert_eq!(is(label, asked), want, "{label} {asked}");
        }
    }
}
