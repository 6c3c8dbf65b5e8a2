//! Budgets: how many tokens, how much money and how many seconds a process and each identity may
//! use. What is reserved counts as used until it is settled.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    amount::{Currency, Money, micros},
    error::{Error, Kind},
    prices::{Price, Prices},
    read,
    remotes::LOCAL,
    tree::{Entry, Fault, Value},
};

/// Most identities that one process counts for.
const MAX_IDENTITIES: usize = 100_000;

/// The most of each that may be used; `None` is without a ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Tokens sent and answered.
    pub tokens: Option<u64>,
    /// Money, by the prices.
    pub money: Option<Money>,
    /// Time that was waited for answers, in milliseconds.
    pub millis: Option<u64>,
}

/// The ceilings of the process and of each identity: whoever the caller counts for, such as a
/// user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of all that this process does.
    pub process: Ceilings,
    /// Of each identity.
    pub identity: Ceilings,
}

impl Limits {
    /// Reads the entries of a table `[budget]`.
    ///
    /// # Errors
    ///
    /// Unknown words, values that cannot be.
    pub fn read(entries: &[Entry]) -> Result<Limits, Fault> {
        let mut out = Limits::default();
        for entry in entries {
            match entry.key.as_str() {
                "identity" => {
                    for entry in read::table(entry)? {
                        if !ceiling(&mut out.identity, entry)? {
                            let known = "tokens, money, seconds";
                            return Err(read::unknown(entry.at, "word", &entry.key, known));
                        }
                    }
                }
                _ if ceiling(&mut out.process, entry)? => {}
                word => {
                    let known = "tokens, money, seconds, identity";
                    return Err(read::unknown(entry.at, "word", word, known));
                }
            }
        }
        Ok(out)
    }

    /// The lower one of each ceiling of these and `other`.
    ///
    /// # Errors
    ///
    /// Two currencies.
    pub fn and(&self, other: &Limits) -> Result<Limits, Error> {
        Ok(Limits {
            process: self.process.and(&other.process)?,
            identity: self.identity.and(&other.identity)?,
        })
    }
}

impl Ceilings {
    fn and(&self, other: &Ceilings) -> Result<Ceilings, Error> {
        let least = |one: Option<u64>, two: Option<u64>| one.into_iter().chain(two).min();
        let money = match (self.money, other.money) {
            (Some(one), Some(two)) if one.currency != two.currency => {
                let (one, two) = (one.currency, two.currency);
                let what = format!("one budget in {one} and one in {two}");
                return Err(Error::new(Kind::Policy, what).hint("use one currency in all files"));
            }
            (Some(one), Some(two)) => Some(if one.micros < two.micros { one } else { two }),
            (one, two) => one.or(two),
        };
        Ok(Ceilings {
            tokens: least(self.tokens, other.tokens),
            money,
            millis: least(self.millis, other.millis),
        })
    }
}

/// Sets the ceiling that `entry` names; false where it names none.
fn ceiling(out: &mut Ceilings, entry: &Entry) -> Result<bool, Fault> {
    let fault = |what: &str| Fault::new(entry.value_at, format!("`{}`: {what}", entry.key));
    match (entry.key.as_str(), &entry.value) {
        ("tokens", Value::Word(word)) => {
            out.tokens = Some(word.parse().map_err(|_| fault("a whole number is needed"))?);
        }
        ("money", Value::Text(text)) => {
            let money = text.parse::<Money>();
            out.money =
                Some(money.map_err(|e| {
                    fault(e.what()).hint(e.what_to_do().unwrap_or("as in `5.00 EUR`"))
                })?);
        }
        ("seconds", Value::Word(word)) => {
            let read = micros(word).filter(|micros| micros % 1000 == 0);
            let read =
                read.ok_or_else(|| fault("seconds are needed, to the thousandth at most"))?;
            out.millis = Some(read / 1000);
        }
        ("tokens" | "seconds", _) => return Err(fault("a number is needed")),
        ("money", _) => {
            return Err(fault("an amount is needed").hint("as a text: `money = \"5.00 EUR\"`"));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// What a request is thought to use at the most, or did use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens sent.
    pub input: u64,
    /// Tokens answered; in an estimate the most that are asked for.
    pub output: u64,
    /// Time waited; in an estimate the longest that will be.
    pub time: Duration,
}

/// What was used, by kind; money in millionths of a millionth, so that no token is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spent {
    tokens: u128,
    picos: u128,
    millis: u128,
}

impl Spent {
    fn of(usage: &Usage, price: Option<Price>) -> Spent {
        let cost = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        Spent {
            tokens: u128::from(usage.input) + u128::from(usage.output),
            picos: price.map_or(0, |price| {
                cost(usage.input, price.input).saturating_add(cost(usage.output, price.output))
            }),
            // A started millisecond counts.
            millis: usage.time.as_nanos().div_ceil(1_000_000),
        }
    }

    fn plus(self, more: Spent) -> Spent {
        Spent {
            tokens: self.tokens.saturating_add(more.tokens),
            picos: self.picos.saturating_add(more.picos),
            millis: self.millis.saturating_add(more.millis),
        }
    }

    fn minus(self, less: Spent) -> Spent {
        Spent {
            tokens: self.tokens.saturating_sub(less.tokens),
            picos: self.picos.saturating_sub(less.picos),
            millis: self.millis.saturating_sub(less.millis),
        }
    }
}

/// For whom a ceiling is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole process.
    Process,
    /// One identity.
    Identity,
}

/// Why a request is not made. Nothing was sent and nothing is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exhausted {
    /// It could use more tokens than are left.
    Tokens {
        /// Whose ceiling.
        scope: Scope,
        /// The ceiling.
        limit: u64,
        /// What is left of it.
        left: u64,
    },
    /// It could cost more than is left.
    Money {
        /// Whose ceiling.
        scope: Scope,
        /// The ceiling.
        limit: Money,
        /// What is left of it, rounded down.
        left: Money,
    },
    /// It could take longer than is left.
    Seconds {
        /// Whose ceiling.
        scope: Scope,
        /// The ceiling.
        limit: Duration,
        /// What is left of it.
        left: Duration,
    },
    /// Money is limited and the model has no price. It is not taken to cost nothing.
    NoPrice {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
    },
    /// Prices are in another currency than the budget.
    Currency {
        /// Of the budget.
        budget: Currency,
        /// Of the prices.
        prices: Currency,
    },
    /// More identities than one process counts for.
    Identities,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = |scope: &Scope| match scope {
            Scope::Process => "of this process",
            Scope::Identity => "of this identity",
        };
        match self {
            Exhausted::Tokens { scope, limit, left } => {
                write!(f, "the budget {} is {limit} tokens, and {left} are left", whose(scope))?;
            }
            Exhausted::Money { scope, limit, left } => {
                write!(f, "the budget {} is {limit}, and {left} is left", whose(scope))?;
            }
            Exhausted::Seconds { scope, limit, left } => {
                let (limit, left) = (limit.as_secs_f64(), left.as_secs_f64());
                write!(f, "the budget {} is {limit} s, and {left} s are left", whose(scope))?;
            }
            Exhausted::NoPrice { provider, model } => {
                write!(f, "money is limited, and {provider}/{model} has no price")?;
            }
            Exhausted::Currency { budget, prices } => {
                write!(f, "the budget is in {budget} and the prices are in {prices}")?;
            }
            Exhausted::Identities => {
                write!(f, "more than {MAX_IDENTITIES} identities have used the budget")?;
            }
        }
        f.write_str(match self {
            Exhausted::NoPrice { .. } | Exhausted::Currency { .. } => {
                "\nhint: the operator states prices in the table `[prices]` (docs/policy.md)"
            }
            Exhausted::Identities => "\nhint: begin a new process",
            _ => {
                "\nhint: ask for less (`max_tokens`, `deadline`), or have the operator raise \
                 `[budget]`"
            }
        })
    }
}

impl std::error::Error for Exhausted {}

impl From<Exhausted> for Error {
    fn from(exhausted: Exhausted) -> Error {
        let text = exhausted.to_string();
        let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        Error::new(Kind::Exhausted, what).hint(hint)
    }
}

#[derive(Debug, Default)]
struct State {
    process: Spent,
    identities: HashMap<String, Spent>,
}

/// The ceilings with what was used of them; shared by the threads of a process.
#[derive(Debug, Default)]
pub struct Budget {
    limits: Limits,
    prices: Prices,
    state: Mutex<State>,
}

impl Budget {
    /// A budget of which nothing is used.
    pub fn new(limits: Limits, prices: Prices) -> Budget {
        Budget { limits, prices, state: Mutex::default() }
    }

    /// Its ceilings.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether anything is limited at all.
    pub fn is_limited(&self) -> bool {
        self.limits != Limits::default()
    }

    /// What is left for `identity`: of each ceiling, its own or the process's, the lower rest.
    /// Money is left out: what it buys hangs on the model.
    pub fn left(&self, identity: &str) -> Ceilings {
        let state = self.state();
        let own = state.identities.get(identity).copied().unwrap_or_default();
        let rest = |of: fn(&Ceilings) -> Option<u64>, used: fn(Spent) -> u128| {
            let one =
                |limit: Option<u64>, spent: Spent| limit.map(|limit| left(limit, used(spent)));
            let process = one(of(&self.limits.process), state.process);
            process.into_iter().chain(one(of(&self.limits.identity), own)).min()
        };
        Ceilings {
            tokens: rest(|ceilings| ceilings.tokens, |spent| spent.tokens),
            money: None,
            millis: rest(|ceilings| ceilings.millis, |spent| spent.millis),
        }
    }

    /// Takes `estimate` out of the budget, for `identity` and a model of a provider. `local` needs
    /// no price, since nobody bills for it.
    ///
    /// # Errors
    ///
    /// [`Exhausted`], when less is left than the request could use, or nobody knows what it costs.
    pub fn reserve(
        &self,
        identity: &str,
        provider: &str,
        model: &str,
        estimate: &Usage,
    ) -> Result<Reservation<'_>, Exhausted> {
        let price = self.price(provider, model)?;
        let asked = Spent::of(estimate, price);
        let mut state = self.state();
        let known = state.identities.get(identity).copied();
        if known.is_none() && state.identities.len() >= MAX_IDENTITIES {
            return Err(Exhausted::Identities);
        }
        let own = known.unwrap_or_default();
        fits(Scope::Process, &self.limits.process, state.process, asked)?;
        fits(Scope::Identity, &self.limits.identity, own, asked)?;
        state.process = state.process.plus(asked);
        state.identities.insert(identity.to_owned(), own.plus(asked));
        Ok(Reservation { budget: self, identity: identity.to_owned(), price, held: asked })
    }

    /// The price that money is counted by; `None` where it is not, or nobody bills.
    fn price(&self, provider: &str, model: &str) -> Result<Option<Price>, Exhausted> {
        let money = self.limits.process.money.or(self.limits.identity.money);
        let Some(money) = money.filter(|_| provider != LOCAL) else { return Ok(None) };
        let (price, currency) = self
            .prices
            .of(provider, model)
            .ok_or_else(|| Exhausted::NoPrice { provider: provider.into(), model: model.into() })?;
        // Both ceilings may be in money, each in a currency of its own.
        let others = [self.limits.process.money, self.limits.identity.money];
        let other = others.into_iter().flatten().find(|limit| limit.currency != currency);
        match other {
            Some(other) => Err(Exhausted::Currency { budget: other.currency, prices: currency }),
            None if money.currency == currency => Ok(Some(price)),
            None => Err(Exhausted::Currency { budget: money.currency, prices: currency }),
        }
    }

    /// Tokens used and reserved by the whole process.
    pub fn tokens(&self) -> u64 {
        u64::try_from(self.state().process.tokens).unwrap_or(u64::MAX)
    }

    /// Money used and reserved by the whole process, rounded up; `None` where none is limited.
    pub fn money(&self) -> Option<Money> {
        let limit = self.limits.process.money.or(self.limits.identity.money)?;
        let micros = self.state().process.picos.div_ceil(PICOS);
        Some(Money { micros: u64::try_from(micros).unwrap_or(u64::MAX), currency: limit.currency })
    }

    /// Time used and reserved by the whole process.
    pub fn time(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.state().process.millis).unwrap_or(u64::MAX))
    }

    /// A thread that panicked while it held the lock left whole numbers behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, identity: &str, held: Spent, by: Spent) {
        let mut state = self.state();
        state.process = state.process.minus(held).plus(by);
        if let Some(own) = state.identities.get_mut(identity) {
            *own = own.minus(held).plus(by);
        }
    }
}

/// Millionths of a millionth.
const PICOS: u128 = 1_000_000;

/// What is left of a ceiling.
fn left(limit: u64, used: u128) -> u64 {
    u64::try_from(u128::from(limit).saturating_sub(used)).unwrap_or(u64::MAX)
}

fn fits(scope: Scope, limits: &Ceilings, used: Spent, asked: Spent) -> Result<(), Exhausted> {
    let after = used.plus(asked);
    if let Some(limit) = limits.tokens.filter(|limit| after.tokens > u128::from(*limit)) {
        return Err(Exhausted::Tokens { scope, limit, left: left(limit, used.tokens) });
    }
    let over = |limit: &Money| after.picos > u128::from(limit.micros) * PICOS;
    if let Some(limit) = limits.money.filter(over) {
        let micros = left(limit.micros, used.picos.div_ceil(PICOS));
        return Err(Exhausted::Money { scope, limit, left: Money { micros, ..limit } });
    }
    if let Some(limit) = limits.millis.filter(|limit| after.millis > u128::from(*limit)) {
        let left = Duration::from_millis(left(limit, used.millis));
        return Err(Exhausted::Seconds { scope, limit: Duration::from_millis(limit), left });
    }
    Ok(())
}

/// A part of the budget that is taken. Dropped without a word it stays used: what became of the
/// request is not known then.
#[derive(Debug)]
#[must_use = "settle it with what was used, or release it when nothing was sent"]
pub struct Reservation<'b> {
    budget: &'b Budget,
    identity: String,
    price: Option<Price>,
    held: Spent,
}

impl Reservation<'_> {
    /// Puts what was really used in place of the estimate, also where it is more.
    pub fn settle(self, actual: &Usage) {
        let used = Spent::of(actual, self.price);
        self.budget.replace(&self.identity, self.held, used);
    }

    /// Gives everything back: nothing was sent.
    pub fn release(self) {
        self.budget.replace(&self.identity, self.held, Spent::default());
    }
}
