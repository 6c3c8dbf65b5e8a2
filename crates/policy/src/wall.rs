//! The wall: every policy that is in force, and the permits it gives.
//!
//! A request may leave when each of its labels is allowed, by name, by every policy. Where there is
//! no policy nothing may leave. So a further policy can only tighten.

use std::{collections::BTreeSet, fmt, marker::PhantomData};

use crate::{
    destination::{Destination, Host},
    error::{Error, Kind},
    label::{Label, Labels},
    log::{EgressLog, Entry},
    policy::{Policy, Row},
    read::Place,
};

/// Every policy in force: the machine's, the project's, the user's. None loosens another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wall {
    policies: Vec<Policy>,
}

impl Wall {
    /// The wall that `policies` make together. Without any it lets nothing through.
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Wall {
        Wall { policies: policies.into_iter().collect() }
    }

    /// The policies in force.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// What may leave in all: of each place that a row names, the labels that every policy allows
    /// there.
    pub fn leaves(&self) -> Vec<Leave> {
        let mut out: Vec<Leave> = Vec::new();
        let rows = || self.policies.iter().flat_map(Policy::rows);
        for row in rows() {
            let (provider, host, model) = (row.provider(), row.host(), row.model());
            let same = |leave: &Leave| {
                (leave.provider, &*leave.host, leave.model.as_deref()) == (provider, host, model)
            };
            if out.iter().any(same) {
                continue;
            }
            let covers = |row: &&Row| {
                let place = (row.provider(), row.host()) == (provider, host);
                place && (row.model().is_none() || row.model() == model)
            };
            let asked: BTreeSet<&Label> = rows().filter(covers).flat_map(Row::labels).collect();
            let by_all = |label: &&Label| {
                let allows = |policy: &Policy| {
                    policy.rows().iter().filter(covers).any(|row| row.allows(label))
                };
                self.policies.iter().all(allows)
            };
            let labels: Vec<Label> = asked.into_iter().filter(by_all).cloned().collect();
            let model = model.map(ToOwned::to_owned);
            out.push(Leave { provider, host: host.to_owned(), model, labels });
        }
        out.retain(|leave| !leave.labels.is_empty());
        out
    }

    /// A permit for one send of a request with `labels` to `to`.
    ///
    /// # Errors
    ///
    /// [`Refused`]: a label that a policy does not allow there, or no policy at all.
    pub fn check(&self, to: &Destination, labels: &Labels) -> Result<Permit<'_>, Refused> {
        let refuse = |label: &Label, why| Refused { label: label.clone(), to: to.clone(), why };
        let mut rules: Vec<&Place> = Vec::new();
        for label in labels.iter() {
            if self.policies.is_empty() {
                return Err(refuse(label, Why::NoPolicy));
            }
            for policy in &self.policies {
                let row = policy.rows().iter().find(|row| row.covers(to) && row.allows(label));
                let Some(row) = row else { return Err(refuse(label, Why::of(policy, to))) };
                if !rules.contains(&row.place()) {
                    rules.push(row.place());
                }
            }
        }
        let rules = rules.into_iter().cloned().collect();
        Ok(Permit { to: to.clone(), labels: labels.clone(), rules, wall: PhantomData })
    }
}

/// Labels that may go to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The provider.
    pub provider: &'static str,
    /// The host.
    pub host: String,
    /// The model, where it is for one only.
    pub model: Option<String>,
    /// The labels; at least one.
    pub labels: Vec<Label>,
}

/// Leave for one send, to one host. Only [`Wall::check`] makes one; it cannot be copied, it does
/// not outlive its wall, and [`Permit::record`] uses it up.
#[derive(Debug)]
#[must_use = "nothing is sent by a permit alone"]
pub struct Permit<'w> {
    to: Destination,
    labels: Labels,
    rules: Vec<Place>,
    wall: PhantomData<&'w Wall>,
}

impl Permit<'_> {
    /// Where the send may go.
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// The rows that allow it.
    pub fn rules(&self) -> &[Place] {
        &self.rules
    }

    /// Writes the send of `body` into `log`, and gives what a transport needs to send it. It is
    /// written before a byte leaves, so the log also has sends that failed on their way.
    ///
    /// # Errors
    ///
    /// When the log cannot be written: then nothing may be sent.
    pub fn record<'b>(self, log: &EgressLog, body: &'b [u8]) -> Result<Cleared<'b>, Error> {
        let entry = Entry { to: &self.to, labels: &self.labels, rules: &self.rules, body };
        let digest = log.append(&entry)?;
        Ok(Cleared { to: self.to, body, digest })
    }
}

/// Leave for the sends of one request to one place: what a transport holds that tries again. Each
/// try has a permit and a line of the log of its own.
#[derive(Debug)]
pub struct Pass<'w> {
    wall: &'w Wall,
    log: &'w EgressLog,
    to: Destination,
    labels: Labels,
}

impl<'w> Pass<'w> {
    /// A pass through `wall` for a request with `labels` to `to`; its sends stand in `log`.
    ///
    /// # Errors
    ///
    /// As [`Wall::check`].
    pub fn new(
        wall: &'w Wall,
        log: &'w EgressLog,
        to: &Destination,
        labels: &Labels,
    ) -> Result<Pass<'w>, Refused> {
        let _ = wall.check(to, labels)?;
        Ok(Pass { wall, log, to: to.clone(), labels: labels.clone() })
    }

    /// Where its sends may go.
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// Writes one send of `body` into the log, and gives what is needed to send it.
    ///
    /// # Errors
    ///
    /// As [`Permit::record`].
    pub fn clear<'b>(&self, body: &'b [u8]) -> Result<Cleared<'b>, Error> {
        self.wall.check(&self.to, &self.labels)?.record(self.log, body)
    }
}

/// A send that is permitted and written down: what a transport takes, by value, in place of an
/// address and a body.
#[derive(Debug)]
#[must_use = "the log already says that this was sent"]
pub struct Cleared<'b> {
    to: Destination,
    body: &'b [u8],
    digest: Option<String>,
}

impl<'b> Cleared<'b> {
    /// Where it may go.
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// The bytes that may go.
    pub fn body(&self) -> &'b [u8] {
        self.body
    }

    /// The body's digest as it stands in the log; `None` where the operator has no key.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Whether the address is one of the permitted host. A transport asks for the first address,
    /// and for each redirect before it follows.
    ///
    /// # Errors
    ///
    /// An address of another host, of another port, or not encrypted where it was.
    pub fn check_url(&self, url: &str) -> Result<(), Error> {
        let host = Host::of_url(url)?;
        if &host == self.to.host() {
            return Ok(());
        }
        let what = format!("the way leads to {host}, and the permit is for {}", self.to.host());
        Err(Error::new(Kind::Refused, what)
            .hint("a redirect to another host is not followed; name that host as the address"))
    }
}

/// Why a label may not go somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no policy.
    NoPolicy,
    /// The policy that begins there has no row for the provider.
    NoRow(Place),
    /// Rows of the policy name the provider, this one among them, but another host or model.
    Elsewhere(Place),
    /// This row is for the provider, host and model, and names other labels.
    OtherLabels(Place),
}

impl Why {
    fn of(policy: &Policy, to: &Destination) -> Why {
        let of = |test: &dyn Fn(&Row) -> bool| {
            policy.rows().iter().find(|row| test(row)).map(|row| row.place().clone())
        };
        let place = || policy.place().clone();
        match (of(&|row| row.covers(to)), of(&|row| row.provider() == to.provider())) {
            (Some(row), _) => Why::OtherLabels(row),
            (None, Some(row)) => Why::Elsewhere(row),
            (None, None) => Why::NoRow(place()),
        }
    }

    /// The file and line that decided, where there is a policy.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Why::NoPolicy => None,
            Why::NoRow(place) | Why::Elsewhere(place) | Why::OtherLabels(place) => Some(place),
        }
    }
}

/// A send that was refused, before a byte left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    label: Label,
    to: Destination,
    why: Why,
}

impl Refused {
    /// The label that may not go there; the first one of the request.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Where it was to go.
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// Why not, and which file and line says so.
    pub fn why(&self) -> &Why {
        &self.why
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, to) = (&self.label, &self.to);
        write!(f, "label `{label}` may not go to {to}: ")?;
        match &self.why {
            Why::NoPolicy => f.write_str("no policy says what may leave, so nothing may")?,
            Why::NoRow(at) => write!(f, "the policy at {at} has no row for {}", to.provider())?,
            Why::Elsewhere(at) => write!(f, "{at} is for another host or model")?,
            Why::OtherLabels(at) => write!(f, "{at} names other labels")?,
        }
        match &self.why {
            Why::NoPolicy => f.write_str(
                "\nhint: the operator allows it by name in /etc/recinto/policy.toml, or in the \
                 table `[policy]` of a recinto.toml; the provider `local` needs no permission",
            ),
            _ => f.write_str(
                "\nhint: the operator can allow it by name in that file (docs/policy.md); the \
                 provider `local` needs no permission",
            ),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        let text = refused.to_string();
        let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        Error::new(Kind::Refused, what).hint(hint)
    }
}
