//! Which names stand for secrets. Of a secret this house says whether it is there, never more.

/// The key of whoever is the provider, when that is somebody elsewhere.
pub const API_KEY: &str = "RECINTO_API_KEY";

/// The key of whoever reads a judge's questions, when that is a service.
pub const JUDGE_KEY: &str = "RECINTO_JUDGE_API_KEY";

/// Keys of services that people keep in their environment. None chooses a provider, and a vendor's
/// is used with that vendor's own service only.
pub const SECRETS: &[&str] = &[
    API_KEY,
    JUDGE_KEY,
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "TYPESAFE_API_KEY",
    "OPENROUTER_API_KEY",
    "FIREWORKS_API_KEY",
    "HF_TOKEN",
];

/// Ends of names that stand for secrets, in capitals.
const ENDS: &[&str] = &["API_KEY", "APIKEY", "_TOKEN", "SECRET", "PASSWORD", "SECRET_KEY"];

/// Whether a key of this name would hold a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    SECRETS.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("ANTHROPIC_API_KEY", true),
            ("api_key", true),
            ("anthropic-api-key", true),
            ("hf_token", true),
            ("db_password", true),
            ("client_secret", true),
            ("max_tokens", false),
            ("model", false),
            ("arch_dir", false),
            ("contraseña", false),
        ];
        for (name, want) in cases {
            assert_eq!(is_secret(name), want, "{name}");
        }
        assert!(SECRETS.iter().all(|name| is_secret(name)));
    }
}
