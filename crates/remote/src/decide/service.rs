//! Services that answer typed questions: a row each. What is asked and answered is for whoever
//! speaks the wire that a row names; here is where it goes and how.

/// A service that decides.
#[derive(Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name, as settings and policies say it.
    pub name: &'static str,
    /// The address of its own; `None` where one must be set.
    pub base_url: Option<&'static str>,
    /// Where questions go, below the address.
    pub path: &'static str,
    /// The header that holds the key, and what stands before it there.
    pub header: (&'static str, &'static str),
    /// The variable that holds a key of this service, and of no other.
    pub key: Option<&'static str>,
    /// What is spoken: `systemone` or `decisions`.
    pub wire: &'static str,
    /// The header of an answer with its request's id.
    pub id: &'static str,
    /// The header of a request that tells how often it was sent before.
    pub again: Option<&'static str>,
    /// The most options of one question.
    pub options: usize,
    /// The most questions of one request.
    pub questions: usize,
    /// The most tokens of state and all questions, and of state and the longest question; where the
    /// service says so.
    pub tokens: Option<(u64, u64)>,
}

/// What most rows have in common: the wire of the hosted decision API, without limits of a
/// vendor's.
const PLAIN: Service = Service {
    name: "systemone",
    base_url: None,
    path: "v1/systemone",
    header: ("authorization", "Bearer "),
    key: None,
    wire: "systemone",
    id: "x-request-id",
    again: None,
    options: 255,
    questions: 2000,
    tokens: None,
};

/// The vendor's own limits of tokens: 64k for all, and about 33,000 for one question.
const TOKENS: Option<(u64, u64)> = Some((64_000, 33_000));

/// Every service. Paths, headers, names of variables and limits are those of the vendors' own
/// references; a service of one's own, such as llama.cpp's server, is `systemone`.
pub const SERVICES: &[Service] = &[
    Service {
        name: "typesafe",
        base_url: Some("https://api.typesafe.ai"),
        key: Some("TYPESAFE_API_KEY"),
        id: "x-typesafe-request-id",
        again: Some("x-typesafe-retry-count"),
        tokens: TOKENS,
        ..PLAIN
    },
    Service {
        name: "openrouter",
        base_url: Some("https://openrouter.ai"),
        path: "api/alpha/decisions",
        key: Some("OPENROUTER_API_KEY"),
        ..PLAIN
    },
    Service {
        name: "openai",
        base_url: Some("https://api.openai.com/v1"),
        path: "decisions",
        key: Some("OPENAI_API_KEY"),
        wire: "decisions",
        ..PLAIN
    },
    Service {
        name: "fireworks",
        base_url: Some("https://api.fireworks.ai/inference"),
        key: Some("FIREWORKS_API_KEY"),
        options: 208,
        ..PLAIN
    },
    // Its address names the account: `https://api.cloudflare.com/client/v4/accounts/ID/ai`.
    Service { name: "cloudflare", path: "run", ..PLAIN },
    Service { name: "sarvam", path: "v2/systemone", ..PLAIN },
    Service { name: "runware", path: "v1/decisions", ..PLAIN },
    PLAIN,
];

impl Service {
    /// The service called `name`.
    pub fn from_name(name: &str) -> Option<&'static Service> {
        SERVICES.iter().find(|service| service.name == name)
    }
}
