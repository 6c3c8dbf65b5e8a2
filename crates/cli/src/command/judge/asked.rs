//! What is asked: questions from a file, or one of each form by flags.

use std::path::PathBuf;

use recinto_judge::{Choice, Question, Questions};

use crate::{
    failure::Failure,
    input::{self, Reading},
    interrupt::Interrupt,
    text::Encoding,
};

/// The questions.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Questions")]
pub struct QuestionArgs {
    /// Questions from a file: TOML if its name ends in .toml, JSON otherwise
    #[arg(short = 'Q', long, value_name = "FILE")]
    pub questions: Option<PathBuf>,

    /// Whether this holds; repeatable. Its id is `whether`, then `whether-2` and so on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    whether: Vec<String>,

    /// Which of the --option fits; its id is `choose`
    #[arg(long, value_name = "TEXT", requires = "option", allow_hyphen_values = true)]
    choose: Option<String>,

    /// An option of --choose: its label, and after `=` what it means; repeatable
    #[arg(
        long = "option",
        id = "option",
        value_name = "LABEL[=TEXT]",
        requires = "choose",
        allow_hyphen_values = true
    )]
    options: Vec<String>,

    /// One more option of --choose: none of them
    #[arg(long, requires = "choose")]
    or_nothing: bool,

    /// How much, on a scale of --step; its id is `rate`
    #[arg(long, value_name = "TEXT", requires = "step", allow_hyphen_values = true)]
    rate: Option<String>,

    /// A level of --rate in words, lowest first; repeatable
    #[arg(
        long = "step",
        id = "step",
        value_name = "TEXT",
        requires = "rate",
        allow_hyphen_values = true
    )]
    levels: Vec<String>,
}

impl QuestionArgs {
    /// The questions of the file and then those of the flags, or `None` where there are none.
    pub fn read(&self, interrupt: &Interrupt) -> Result<Option<Questions>, Failure> {
        let mut all = match &self.questions {
            Some(path) => {
                let how = Reading { encoding: Encoding::Utf8, lock: false };
                let text = input::file(path, how, interrupt)?;
                let toml = path.extension().is_some_and(|end| end == "toml");
                let read = match toml {
                    true => Questions::from_toml(&text),
                    false => Questions::from_json(&text),
                };
                read.map_err(|e| {
                    let failure = Failure::from(e).at(&path.display().to_string());
                    let json = path.extension().is_some_and(|end| end == "json");
                    match toml || json {
                        true => failure,
                        false => failure.hint("TOML is read from a file whose name ends in .toml"),
                    }
                })?
            }
            None => Questions::new(),
        };
        let whether = self.whether.iter().enumerate().map(|(at, text)| {
            let id = if at == 0 { "whether".into() } else { format!("whether-{}", at + 1) };
            (id, Question::whether(text))
        });
        let choose = self.choose.iter().map(|text| {
            let options = self.options.iter().map(|option| match option.split_once('=') {
                Some((label, text)) => Choice::new(label, text),
                None => Choice::plain(option),
            });
            let question = Question::choose(text, options);
            let question = if self.or_nothing { question.or_nothing() } else { question };
            ("choose".to_owned(), question)
        });
        let rate = self.rate.iter().map(|text| {
            ("rate".to_owned(), Question::rate(text, self.levels.iter().map(String::as_str)))
        });
        for (id, question) in whether.chain(choose).chain(rate).collect::<Vec<_>>() {
            let taken = format!("the file has a question `{id}` already");
            all = all.with(id, question).ok_or_else(|| Failure::usage(taken))?;
        }
        Ok((!all.is_empty()).then_some(all))
    }

    /// The same where there must be some.
    pub fn needed(&self, interrupt: &Interrupt) -> Result<Questions, Failure> {
        self.read(interrupt)?.ok_or_else(|| {
            Failure::usage("nothing is asked")
                .hint("--whether, --choose or --rate ask by flags, -Q FILE asks what a file has")
        })
    }
}
