//! How wide the terminal is that somebody reads at.

use std::os::fd::AsFd;

/// Columns of the terminal behind `fd`; `None` when it is none, or does not say.
pub fn columns(fd: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_columns() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(columns(&file), None);
    }
}
