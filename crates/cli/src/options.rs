//! Flags that say how an answer is made; one table of options in the engine stands behind them.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;
use recinto_engine::{Options, SessionOptions};
use recinto_os::WipedText;
use recinto_provider::{KEYS, LISTS, Settings};

use crate::{
    failure::Failure,
    input::{self, Reading},
    interrupt::Interrupt,
};

/// Flags that are taken for options, as every setting's is: what they set is no matter of one
/// answer.
const FLAGS: [&str; 3] = ["context", "timeout", "system"];
/// Most time for one answer: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How an answer is made.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Answer")]
pub struct AnswerArgs {
    /// Instructions before the conversation; like TEXT, visible to other users of this machine
    #[arg(short, long, visible_alias = "instructions", value_name = "TEXT")]
    #[arg(allow_hyphen_values = true)]
    pub system: Option<OsString>,

    /// The same from a file
    #[arg(long, visible_alias = "instructions-file", value_name = "FILE")]
    #[arg(conflicts_with = "system")]
    pub system_file: Option<PathBuf>,

    /// What the data is (internal, client:acme, …): policy says what may leave; repeatable
    #[arg(long, value_name = "LABEL", value_parser = data_label)]
    pub data_label: Vec<String>,

    /// For whom this is asked: the operator's budget counts for each by itself
    #[arg(long, value_name = "NAME", value_parser = identity)]
    pub identity: Option<String>,

    /// Any option by name; repeatable (top_k=40, min_p=0.05, repeat_penalty=1.1, …)
    #[arg(short, long = "option", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub option: Vec<String>,

    /// Fix the draws
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Most tokens to generate
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,

    /// End the answer before this text; repeatable
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub stop: Vec<String>,

    /// 0 takes the likeliest token each time
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f32>,

    /// Most positions of prompt and answer together
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub context: Option<usize>,

    /// Longest time for the answer
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub timeout: Option<f64>,

    /// Let a model that can think aloud do so
    #[arg(long, conflicts_with = "no_think")]
    pub think: bool,

    /// Keep it from thinking aloud
    #[arg(long)]
    pub no_think: bool,
}

/// A label of data is one short word: it stands in policies and records.
pub fn data_label(word: &str) -> Result<String, &'static str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    match (1..=100).contains(&word.chars().count()) && word.chars().all(plain) {
        true => Ok(word.to_owned()),
        false => Err("letters, digits and -_.:/ make a label, 100 at the most"),
    }
}

/// Whoever a budget counts for: any name that is short and is one.
pub fn identity(name: &str) -> Result<String, &'static str> {
    match (1..=200).contains(&name.chars().count()) && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err("1 to 200 characters without control characters make a name"),
    }
}

impl AnswerArgs {
    /// The engine's options; a named flag goes before `-o`, and both before what files say.
    ///
    /// `base` is what the model's store says; texts that end an answer are added to its own.
    pub fn options(&self, settings: &Settings, base: Options) -> Result<Options, Failure> {
        // A list on the command line replaces the one of a file; it is not added to it.
        let said = |key: &str| {
            let pairs = self.option.iter().filter_map(|pair| pair.split_once('='));
            pairs.map(|(said, _)| said.trim()).any(|said| said == key)
        };
        let replaced = |key: &str| {
            LISTS.contains(&key) && (said(key) || (key == "stop" && !self.stop.is_empty()))
        };
        let mut options = settings.answer_options(base, replaced)?;
        for pair in &self.option {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(Failure::usage("-o needs KEY=VALUE")
                    .hint(&format!("known keys: {}", Options::KEYS.join(", "))));
            };
            let key = key.trim();
            let setting = KEYS.iter().find(|setting| setting.name == key);
            if setting.is_some() || FLAGS.contains(&key) {
                let flag = setting.map_or_else(|| format!("--{key}"), |key| key.flag.into());
                return Err(Failure::usage(format!("`{key}` is no option but a flag"))
                    .hint(&format!("give it as `{flag} VALUE`")));
            }
            options.set(key, value)?;
        }
        if self.seed.is_some() {
            options.seed = self.seed;
        }
        if let Some(n) = self.max_tokens {
            options.max_tokens = n;
        }
        if let Some(t) = self.temperature {
            options.temperature = t;
        }
        options.stop.extend(self.stop.iter().cloned());
        if let Some(seconds) = self.timeout {
            let time = Duration::try_from_secs_f64(seconds).ok();
            let time = time.filter(|time| !time.is_zero() && *time <= LONGEST);
            options.deadline = Some(time.ok_or_else(|| {
                Failure::usage(format!(
                    "--timeout must be above 0 seconds and at most {} (a year)",
                    LONGEST.as_secs()
                ))
            })?);
        }
        match (self.think, self.no_think) {
            (true, _) => options.thinking = Some(true),
            (_, true) => options.thinking = Some(false),
            _ => {}
        }
        Ok(options)
    }

    /// The session's options: its room is a flag's, the rest comes from `settings`.
    pub fn session(&self, settings: &Settings) -> SessionOptions {
        settings.session(self.context)
    }

    /// The instructions before the conversation.
    pub fn system(
        &self,
        how: Reading,
        interrupt: &Interrupt,
    ) -> Result<Option<WipedText>, Failure> {
        match (&self.system, &self.system_file) {
            (Some(text), _) => Ok(Some(input::argument(text, how.lock, "--system")?)),
            (None, Some(path)) => Ok(Some(input::file(path, how, interrupt)?)),
            (None, None) => Ok(None),
        }
    }
}
