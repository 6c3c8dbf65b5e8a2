//! Whose service it is: a row each.

use crate::wire::Wire;

/// A vendor: where its service is, and how it is spoken to.
#[derive(Debug, PartialEq, Eq)]
pub struct Vendor {
    /// The provider's name in settings.
    pub name: &'static str,
    /// The address of its own service; `None` where one must be set.
    pub base_url: Option<&'static str>,
    /// The variable that holds a key of this vendor, and of no other.
    pub key: Option<&'static str>,
    /// What can be spoken with it; the first where nobody says.
    pub wires: &'static [Wire],
}

/// Every vendor. Addresses and names of variables are those of the vendors' API references.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "anthropic",
        base_url: Some("https://api.anthropic.com/v1"),
        key: Some("ANTHROPIC_API_KEY"),
        wires: &[Wire::Messages],
    },
    Vendor {
        name: "openai",
        base_url: Some("https://api.openai.com/v1"),
        key: Some("OPENAI_API_KEY"),
        wires: &[Wire::Chat, Wire::Responses],
    },
    Vendor {
        name: "openai-compatible",
        base_url: None,
        key: None,
        wires: &[Wire::Chat, Wire::Responses],
    },
];

impl Vendor {
    /// The vendor called `name`.
    pub fn from_name(name: &str) -> Option<&'static Vendor> {
        VENDORS.iter().find(|vendor| vendor.name == name)
    }
}
