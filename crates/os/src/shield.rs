//! What keeps a process's memory from becoming a file or another's reading matter.
//!
//! Neither stops the system's administrator; see SECURITY.md.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, dumpable_behavior, getrlimit, set_dumpable_behavior,
    setrlimit,
};

/// Makes the process not dumpable: no core file, and no other process of the same user may
/// attach to it or read `/proc/PID/mem`. Ends with an `exec`, so it is called in each process.
pub fn not_dumpable() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Whether the process can be dumped and attached to by its user.
pub fn is_dumpable() -> io::Result<bool> {
    Ok(dumpable_behavior()? == DumpableBehavior::Dumpable)
}

/// Sets the size limit of core files to 0, hard limit included, for this process and those it
/// starts.
pub fn no_core_files() -> io::Result<()> {
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// The size limit of core files in bytes; `None` when there is none.
pub fn core_limit() -> Option<u64> {
    getrlimit(Resource::Core).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shield_holds() {
        not_dumpable().unwrap();
        assert!(!is_dumpable().unwrap());
        no_core_files().unwrap();
        assert_eq!(core_limit(), Some(0));
        no_core_files().unwrap();
        // What the rest of this crate reads about its own process stays readable.
        crate::memory::resident().unwrap();
        crate::usage::age().unwrap();
        crate::code::object(the_shield_holds as *const () as usize).unwrap().open().unwrap();
    }
}
