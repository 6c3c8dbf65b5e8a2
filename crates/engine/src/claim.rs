//! What is said of a model's parts by their digests, and what comes of it: a record, a refusal.

use recinto_receipt::{Claimant, Digest, Part, Verdict};
use recinto_weights::File;

use crate::{
    digest::{Digests, of_tokenizer},
    error::{Error, Kind},
    open::Beside,
};

/// What somebody says a part of a model is. Nothing is computed from weights of which a claim does
/// not hold that anybody gets to see: [`Kind::Mismatch`] names both digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who says it.
    pub by: Claimant,
    /// Of which part.
    pub part: Part,
    /// Which of the model's files, from 0; only weights have several.
    pub file: usize,
    /// The part's SHA-256; `None` says that the model has no such part.
    pub digest: Option<Digest>,
}

impl Claim {
    /// A claim of whoever opens the model: the SHA-256 of its only file.
    pub fn weights(digest: Digest) -> Claim {
        Claim { by: Claimant::Caller, part: Part::Weights, file: 0, digest: Some(digest) }
    }

    fn verdict(&self, matches: bool) -> Verdict {
        let Claim { by, part, file, digest } = *self;
        Verdict { by, part, file: file as u64, digest, matches }
    }
}

impl Digests {
    /// The digest of a part; of weights, that of the file numbered `file` from 0. `None` where there
    /// is no such part or file.
    pub fn of(&self, part: Part, file: usize) -> Option<Digest> {
        match part {
            Part::Weights if self.shards.is_empty() => (file == 0).then_some(self.weights),
            Part::Weights => self.shards.get(file).map(|shard| shard.digest),
            Part::Tokenizer => Some(self.tokenizer),
            Part::Template => self.template,
            Part::Architecture => Some(self.architecture),
            part => of_store(&self.beside, part),
        }
    }
}

/// The digest of a part that a store keeps.
pub(crate) fn of_store(beside: &[Beside], part: Part) -> Option<Digest> {
    beside.iter().find(|kept| kept.part == part).map(|kept| kept.digest)
}

/// Holds claims against what was `found` of their parts. `name` is the model's; a false claim of a
/// store is let pass when `allow` says so, and no other is.
pub(crate) fn judge<'c>(
    name: &str,
    claims: impl Iterator<Item = &'c Claim>,
    found: impl Fn(&Claim) -> Option<Digest>,
    allow: bool,
) -> Result<Vec<Verdict>, Error> {
    let (mut verdicts, mut faults) = (Vec::new(), Vec::new());
    for claim in claims {
        let there = found(claim);
        let matches = there == claim.digest;
        if !(matches || allow && claim.by == Claimant::Store) {
            faults.push((claim, there));
        }
        verdicts.push(claim.verdict(matches));
    }
    let Some((first, _)) = faults.first() else { return Ok(verdicts) };
    let hint = match first.by {
        Claimant::Lock => "if the change is meant, `recinto lock` with its name accepts it",
        Claimant::Store => "fetch it again; `--allow-mismatch` uses it as it is",
        Claimant::Caller => "open the file that was meant",
    };
    let parts: Vec<String> = faults.iter().map(|(claim, there)| fault(claim, *there)).collect();
    let what = format!("{name} is not what it should be: {}", parts.join("; "));
    Err(Error::new(Kind::Mismatch, what).hint(hint))
}

/// One false claim, with both digests.
fn fault(claim: &Claim, there: Option<Digest>) -> String {
    let shown = |digest: Option<Digest>| digest.map_or("none".into(), |d| format!("{d:?}"));
    let part = match claim.file {
        0 => claim.part.name().to_owned(),
        n => format!("{} of file {}", claim.part.name(), n.saturating_add(1)),
    };
    let who = match claim.by {
        Claimant::Lock => "the lock file",
        Claimant::Store => "the store that holds it",
        Claimant::Caller => "the caller",
    };
    format!("{part} {}, and {who} says {}", shown(there), shown(claim.digest))
}

/// Holds claims of the tokenizer against the vocabulary of `file`, for who reads nothing else of a
/// model; claims of other parts are not looked at. `name` is the model's.
///
/// # Errors
///
/// [`Kind::Mismatch`], with both digests.
pub fn tokenizer_holds(name: &str, claims: &[Claim], file: &File) -> Result<(), Error> {
    let mut claims = claims.iter().filter(|claim| claim.part == Part::Tokenizer).peekable();
    if claims.peek().is_none() {
        return Ok(());
    }
    let found = of_tokenizer(file);
    judge(name, claims, |_| Some(found), false).map(drop)
}

/// What a reader of a reply should know about claims that were let pass.
pub(crate) fn notes(digests: &Digests) -> impl Iterator<Item = String> {
    let claim = |v: &Verdict| Claim {
        by: v.by,
        part: v.part,
        file: usize::try_from(v.file).unwrap_or(usize::MAX),
        digest: v.digest,
    };
    let passed = digests.claims.iter().filter(|v| !v.matches).map(claim);
    passed.map(|c| {
        format!("let pass although it does not match: {}", fault(&c, digests.of(c.part, c.file)))
    })
}

#[cfg(test)]
mod tests {
    use recinto_receipt::sha256;

    use super::*;

    #[test]
    fn who_is_believed() {
        let (this, other) = (sha256(b"este"), sha256(b"otro"));
        let claim = |by, part, digest| Claim { by, part, file: 0, digest };
        let lock = |part, digest| claim(Claimant::Lock, part, digest);
        struct Case {
            name: &'static str,
            claims: Vec<Claim>,
            allow: bool,
            refused: Option<&'static str>,
        }
        let case = |name, claims, allow, refused| Case { name, claims, allow, refused };
        let store = claim(Claimant::Store, Part::Weights, Some(other));
        let second = Claim { file: 1, ..lock(Part::Weights, Some(this)) };
        let cases = [
            case("nobody says anything", vec![], false, None),
            case(
                "it is so",
                vec![lock(Part::Weights, Some(this)), Claim::weights(this)],
                false,
                None,
            ),
            case("a store", vec![store], false, Some("the store that holds it says")),
            case("a store, let pass", vec![store], true, None),
            case(
                "a lock, let pass",
                vec![lock(Part::Weights, Some(other))],
                true,
                Some("the lock file says"),
            ),
            case("the caller", vec![Claim::weights(other)], true, Some("the caller says")),
            case("no template", vec![lock(Part::Template, None)], false, None),
            case(
                "a template",
                vec![lock(Part::Template, Some(this))],
                false,
                Some("template none"),
            ),
            case("a file too many", vec![second], false, Some("weights of file 2 none")),
            case(
                "one of two",
                vec![lock(Part::Tokenizer, Some(this)), lock(Part::Architecture, Some(other))],
                false,
                Some("be: architecture sha256:"),
            ),
        ];
        // A model with no template and one file.
        let found = |c: &Claim| (c.part != Part::Template && c.file == 0).then_some(this);
        for Case { name, claims, allow, refused } in cases {
            match (judge("año.gguf", claims.iter(), found, allow), refused) {
                (Ok(verdicts), None) => {
                    let want: Vec<bool> = claims.iter().map(|c| found(c) == c.digest).collect();
                    let found: Vec<bool> = verdicts.iter().map(|v| v.matches).collect();
                    assert_eq!(found, want, "{name}");
                }
                (Err(error), Some(part)) => {
                    let text = error.to_string();
                    assert_eq!(*error.kind(), Kind::Mismatch, "{name}");
                    assert!(text.starts_with("año.gguf is not") && text.contains(part), "{text}");
                    let both =
                        claims.iter().filter_map(|c| c.digest.filter(|d| found(c) != Some(*d)));
                    both.for_each(|d| assert!(text.contains(&format!("{d:?}")), "{name}: {text}"));
                }
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }
}
