//! The exit codes: one table for the code, for `--help` and for `docs/exit-codes.md`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the table is whole although no command ends in every way yet")]
pub enum Exit {
    Done = 0,
    No = 1,
    Usage = 2,
    Person = 3,
    Failed = 4,
    Records = 5,
    Interrupted = 130,
}

/// Every code and what it means.
pub const TABLE: [(Exit, &str); 7] = [
    (Exit::Done, "done, or the gate was passed"),
    (Exit::No, "a check says no"),
    (Exit::Usage, "wrong usage or configuration"),
    (Exit::Person, "for a person to decide"),
    (Exit::Failed, "unavailable, refused, or failed while running"),
    (Exit::Records, "a batch finished with failed records"),
    (Exit::Interrupted, "interrupted"),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The table as it stands at the end of `--help`.
pub fn help() -> String {
    let rows = TABLE.map(|(exit, meaning)| format!("  {:>3}  {meaning}", exit as u8));
    format!("Exit codes:\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_have_the_same_table() {
        let docs = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<(u8, &str)> = docs
            .lines()
            .filter_map(|line| {
                let mut cells = line.split('|').map(str::trim).skip(1);
                Some((cells.next()?.parse().ok()?, cells.next()?))
            })
            .collect();
        assert_eq!(rows, TABLE.map(|(exit, meaning)| (exit as u8, meaning)));
    }
}
