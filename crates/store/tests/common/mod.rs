//! What the tests of both stores share.

use recinto_store::{Error, Files, Kind};

/// `found` must be an error of `kind` whose text has all of `parts`.
#[track_caller]
pub fn fails(found: Result<Files, Error>, kind: Kind, parts: &[&str]) {
    let error = found.expect_err("an error");
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{part} not in: {error}");
    }
}
