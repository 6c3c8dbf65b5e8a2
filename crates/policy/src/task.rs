//! What can be mapped to a profile: one list for the table `[tasks]` and for whoever asks.

macro_rules! tasks {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// Something that a model is asked to do, by the name of its command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Task {
            $($(#[$doc])* $name,)*
        }

        /// Every task and its name.
        pub const TASKS: &[(Task, &str)] = &[$((Task::$name, $word),)*];
    };
}

tasks! {
    /// One question, one answer.
    Ask = "ask",
    /// A conversation.
    Chat = "chat",
    /// One of some labels.
    Decide = "decide",
    /// A value of a JSON Schema.
    Extract = "extract",
    /// A text of a regular expression or a grammar.
    Complete = "complete",
    /// How likely each of some answers is.
    Score = "score",
    /// Typed questions about a state.
    Judge = "judge",
}

impl Task {
    /// The task called `name`.
    pub fn from_name(name: &str) -> Option<Task> {
        TASKS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TASKS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// Whether its answers have a margin, so that a cascade can be asked.
    pub fn has_margin(self) -> bool {
        self == Task::Decide
    }

    /// All names, for an error.
    pub(crate) fn known() -> String {
        TASKS.iter().map(|row| row.1).collect::<Vec<_>>().join(", ")
    }
}
