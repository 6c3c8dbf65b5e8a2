//! Who may be named in a policy: the providers that answer from elsewhere, and the host that each
//! has where nobody names another.

/// A provider that answers from elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name, as settings and policies say it.
    pub name: &'static str,
    /// The host of its own service; `None` where there is no such service, so that each row of a
    /// policy must name a host.
    pub host: Option<&'static str>,
}

/// The name of the provider that sends nothing, and of which no policy speaks.
pub const LOCAL: &str = "local";

/// Every provider that answers from elsewhere. Hosts are those of the vendors' own references.
pub const REMOTES: &[Remote] = &[
    Remote { name: "anthropic", host: Some("api.anthropic.com") },
    Remote { name: "openai", host: Some("api.openai.com") },
    Remote { name: "openai-compatible", host: None },
    // Services that decide: those of `judge_service`. OpenAI's is `openai` above.
    Remote { name: "typesafe", host: Some("api.typesafe.ai") },
    Remote { name: "openrouter", host: Some("openrouter.ai") },
    Remote { name: "fireworks", host: Some("api.fireworks.ai") },
    Remote { name: "cloudflare", host: None },
    Remote { name: "sarvam", host: None },
    Remote { name: "runware", host: None },
    Remote { name: "systemone", host: None },
];

impl Remote {
    /// The provider called `name`.
    pub fn from_name(name: &str) -> Option<&'static Remote> {
        REMOTES.iter().find(|remote| remote.name == name)
    }

    /// All names, for an error.
    pub(crate) fn known() -> String {
        REMOTES.iter().map(|remote| remote.name).collect::<Vec<_>>().join(", ")
    }
}
