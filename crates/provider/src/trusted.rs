//! The text of a small file that decides something, if the file can be trusted: this user's own,
//! and written by nobody else.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use recinto_os::owner::Facts;
use zeroize::Zeroizing;

use crate::error::{Error, Kind};

/// Largest file that is read.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Which files are believed, and what is said of the others.
pub(crate) struct Rules {
    /// Kind of the errors.
    pub kind: Kind,
    /// Whether the file must be there.
    pub must: bool,
    /// Whether the system's administrator may own it too.
    pub root_too: bool,
    /// What to do about a file that is refused.
    pub ignore: &'static str,
}

enum Refusal {
    Io(io::Error),
    Rule(String, &'static str),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Io(error)
    }
}

/// The text at `path`; `None` when nothing is there and nothing has to be.
///
/// # Errors
///
/// A file that cannot be read, is no regular file, belongs to somebody else, may be written by
/// others, is too large, or is not UTF-8.
pub(crate) fn read(path: &Path, rules: &Rules) -> Result<Option<Zeroizing<String>>, Error> {
    let fault =
        |what: String| Error::new(rules.kind.clone(), format!("{}: {what}", path.display()));
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            return Err(fault("it is a link that leads to nothing".into()).hint(rules.ignore));
        }
        Err(e) if absent(&e) && !rules.must => return Ok(None),
        Err(e) => return Err(fault(format!("cannot read it: {e}")).hint(rules.ignore)),
    };
    // Settings that were meant to be here and are not must not be passed over in silence.
    if meta.is_dir() {
        return Err(fault("it is a folder, not a file".into()).hint(rules.ignore));
    }
    // Before it is opened: to open a pipe would wait for its other end.
    if !meta.is_file() {
        return Err(fault("not a regular file".into()).hint(rules.ignore));
    }
    open(path, rules).map(Some).map_err(|refusal| match refusal {
        Refusal::Io(e) => fault(format!("cannot read it: {e}")).hint(rules.ignore),
        Refusal::Rule(what, hint) => fault(what).hint(hint),
    })
}

/// Nothing is there, or what should be the folder is none.
fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn open(path: &Path, rules: &Rules) -> Result<Zeroizing<String>, Refusal> {
    let file = File::open(path)?;
    // Facts of the open file, so that they are true of what is read. A link has an owner too.
    let facts = Facts::of(&file)?;
    let believed = |facts: Facts| facts.is_mine() || (rules.root_too && facts.is_roots());
    if !believed(facts) || !believed(Facts::of_link(path)?) {
        let what = "it is owned by another user and was not read";
        return Err(Refusal::Rule(what.into(), rules.ignore));
    }
    if facts.writable_by_others() {
        let what = format!("others may write to it (mode {:04o}) and it was not read", facts.mode);
        return Err(Refusal::Rule(what, "`chmod go-w` makes it yours alone"));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let what = format!("it is larger than {MAX_BYTES} bytes");
        return Err(Refusal::Rule(what, rules.ignore));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Zeroizing::new(text.trim_start_matches('\u{feff}').to_owned())),
        Err(e) => {
            let what = format!("it is not UTF-8 (at byte {})", e.valid_up_to());
            Err(Refusal::Rule(what, rules.ignore))
        }
    }
}
