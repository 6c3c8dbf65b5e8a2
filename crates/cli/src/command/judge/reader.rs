//! Who reads: the backend that settings name, the way to read it, and the calibration.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use recinto_backends::{Causal, Long};
use recinto_engine::{Precision, SessionOptions};
use recinto_judge::{
    Artefact, Backend, Calibration, Gate, Identity, Judge, Mock, Mode, Orders, Priors, debias,
};
use recinto_provider::{Counted, Reader, Settings, Task};
use recinto_receipt::Digest;
use serde::Serialize;

use super::counted::Metered;
use crate::{
    failure::Failure,
    interrupt::Interrupt,
    open::{self, ModelArgs},
    options,
    screen::Screen,
    write,
};

/// The most bytes of an artefact.
const LONGEST: u64 = 64 << 20;

/// In which orders options are shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Order {
    /// Once, as declared
    Declared,
    /// As declared and reversed, averaged
    Two,
    /// In all rotations, averaged
    Cyclic,
}

impl From<Order> for Orders {
    fn from(order: Order) -> Orders {
        match order {
            Order::Declared => Orders::Declared,
            Order::Two => Orders::Two,
            Order::Cyclic => Orders::Cyclic,
        }
    }
}

/// What becomes of a state that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenLong {
    /// There is no answer, and the exit code says so
    #[default]
    Refuse,
    /// It is read in windows that overlap; the one with the largest yes, or the surest one, answers,
    /// and the answer tells of it. Calibrations and gates are others
    Windows,
}

impl From<WhenLong> for Long {
    fn from(long: WhenLong) -> Long {
        match long {
            WhenLong::Refuse => Long::Refuse,
            WhenLong::Windows => Long::Windows,
        }
    }
}

/// How it is read.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Reading")]
pub struct ReaderArgs {
    /// Orders that the options are shown in; more orders cancel a preference for places [default:
    /// two, and declared where a service reads]
    #[arg(long, value_enum)]
    orders: Option<Order>,

    /// Divide out what the model answers on average, as `recinto judge prior` kept it
    #[arg(long, value_name = "FILE")]
    prior: Option<PathBuf>,

    /// Divide out what the model answered to the inputs before, from the eighth on; answers then
    /// depend on those before them, and no calibration or gate holds
    #[arg(long, conflicts_with_all = ["prior", "calibration"])]
    running_prior: bool,

    /// The calibration, made by `recinto judge calibrate` for this very model
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,

    /// Laya as its reference runs it: one order, marks in a text act as marks, and a text that is
    /// too long is cut, which the answer tells
    #[arg(long, conflicts_with_all = ["orders", "prior", "running_prior", "long"])]
    strict: bool,

    /// What becomes of a state that is longer than the model has room for
    #[arg(long, value_enum, default_value_t)]
    long: WhenLong,

    /// Most positions of state and question together
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    context: Option<usize>,

    /// For whom this is asked: the operator's budget counts for each by itself
    #[arg(long, value_name = "NAME", value_parser = options::identity)]
    identity: Option<String>,

    #[command(flatten)]
    pub model: ModelArgs,
}

/// An opened judge.
pub struct Opened {
    pub judge: Judge<Box<dyn Backend>>,
    pub who: Who,
}

/// Who reads, as envelopes say it.
#[derive(Clone, Serialize)]
pub struct Who {
    provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Where the service is, when one reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// `robust`, or `reference` with --strict.
    mode: &'static str,
    /// In what a model of this process computes.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
    identity: Identity,
    /// Digest of the identity: what calibrations and gates are bound to.
    pub digest: Digest,
    /// Digest of the calibration; null where there is none.
    pub calibration: Option<Digest>,
    /// What should be known of the model's files.
    warnings: Vec<String>,
}

impl Who {
    /// The reader and its model in a few words.
    pub fn title(&self) -> String {
        let model = self.model.as_deref().unwrap_or("no model");
        format!("{} ({model}), {}, {}", self.provider, self.identity.reading, self.mode)
    }
}

impl ReaderArgs {
    /// The settings, with the judge's own model as the model.
    pub fn settings(&self) -> Result<Settings, Failure> {
        if self.model.lock_memory {
            let what =
                "--lock-memory is not for a judge: states and questions cannot be locked yet";
            return Err(Failure::usage(what).hint("leave it out, or turn the swap off"));
        }
        Ok(self.model.choice(Task::Judge)?.settings.for_judge())
    }

    /// Refuses what would make its own corrections part of what is made.
    pub fn plain(&self, place: &str) -> Result<(), Failure> {
        let given = [
            (self.calibration.is_some(), "--calibration"),
            (self.prior.is_some(), "--prior"),
            (self.running_prior, "--running-prior"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Failure::usage(format!("{flag} has no place {place}"))),
            None => Ok(()),
        }
    }

    /// Refuses a running prior, and says `why` there can be none.
    pub fn none_running(&self, why: &str) -> Result<(), Failure> {
        match self.running_prior {
            true => Err(Failure::usage(format!("--running-prior {why}"))
                .hint("`recinto judge prior` keeps a prior in a file, for --prior")),
            false => Ok(()),
        }
    }

    /// Files that are read, none of which may be replaced.
    pub fn files_read(&self, settings: &Settings, others: &[Option<&Path>]) -> Vec<PathBuf> {
        let mut all = others.to_vec();
        all.extend([self.calibration.as_deref(), self.prior.as_deref()]);
        open::files_read(settings, &all)
    }

    /// Opens the backend that `settings` names; says on stderr what should be known of it.
    pub fn open(
        &self,
        settings: &Settings,
        screen: &Screen,
        interrupt: &Interrupt,
    ) -> Result<Opened, Failure> {
        let calibration = match &self.calibration {
            Some(path) => Some(artefact::<Calibration>(path)?),
            None => None,
        };
        let priors = self.prior.as_deref().map(artefact::<Priors>).transpose()?;
        let (mut model, mut host, mut precision) = (None, None, None);
        let mut warnings = Vec::new();
        let backend: Box<dyn Backend> = match settings.reader() {
            Reader::Mock => Box::new(Mock::default()),
            Reader::Gguf => {
                settings.judge_model()?;
                let session = SessionOptions { context: self.context, ..settings.session(None) };
                let local = self.model.open_for(settings, session.clone())?;
                open::introduce(screen, &local, &local.model().facts());
                warnings = local.warnings().to_vec();
                precision = Some(local.model().precision());
                model = settings.model.as_ref().map(|setting| setting.value.clone());
                let causal = Causal::new(local.model(), &session, interrupt.stop())?;
                Box::new(causal.with_long(self.long.into()))
            }
            Reader::Laya => {
                settings.judge_model()?;
                if self.context.is_some() {
                    let what = "--context is not for laya: its checkpoint says how long a row is";
                    return Err(Failure::usage(what));
                }
                let opened = self.model.open_laya(settings, interrupt.stop())?;
                open::introduce_encoder(screen, &opened, opened.value.encoder());
                warnings = opened.warnings;
                precision = Some(opened.value.encoder().model().precision());
                model = settings.model.as_ref().map(|setting| setting.value.clone());
                let laya = opened.value;
                Box::new(match self.strict {
                    true => laya,
                    false => laya.guarded().with_long(self.long.into()),
                })
            }
            #[cfg(feature = "remote")]
            Reader::Hosted => {
                if self.context.is_some() {
                    let what = "--context is not for hosted: a service has the room it has";
                    return Err(Failure::usage(what));
                }
                let opened =
                    super::service::open(settings, self.identity.as_deref(), interrupt.stop())?;
                opened.warnings.iter().for_each(|warning| screen.note(warning));
                (host, warnings) = (Some(opened.host), opened.warnings);
                model = settings.judge_model.as_ref().map(|setting| setting.value.clone());
                Box::new(opened.backend)
            }
            #[cfg(not(feature = "remote"))]
            Reader::Hosted => return Err(recinto_provider::no_services().into()),
            other => return Err(absent(other)),
        };
        if self.strict && settings.reader() != Reader::Laya {
            return Err(Failure::usage("--strict is for laya: no other reader has a reference"));
        }
        if self.long == WhenLong::Windows
            && !matches!(settings.reader(), Reader::Gguf | Reader::Laya)
        {
            let what = "--long windows is for models of this process: gguf and laya";
            return Err(Failure::usage(what));
        }
        // A service counts each request by itself.
        let backend: Box<dyn Backend> = match settings.reader() {
            Reader::Hosted => backend,
            _ => {
                let budget = Counted::open(settings, self.identity.as_deref())?;
                Box::new(Metered::new(backend, budget))
            }
        };
        let prior = self.running_prior.then_some(debias::ALPHA);
        let usual = match settings.reader() {
            // Each order is a request that is paid for.
            Reader::Hosted => Order::Declared,
            _ => Order::Two,
        };
        let orders = match self.strict {
            true => Orders::Declared,
            false => self.orders.unwrap_or(usual).into(),
        };
        let mode = Mode { orders, prior, ..Mode::default() };
        let mut judge = Judge::new(backend, mode);
        if let (Some(priors), Some(path)) = (priors, &self.prior) {
            let place = path.display().to_string();
            judge = judge.with_priors(priors).map_err(|e| Failure::from(e).at(&place))?;
        }
        if let (Some(calibration), Some(path)) = (calibration, &self.calibration) {
            let place = path.display().to_string();
            judge = judge.calibrated(calibration).map_err(|e| Failure::from(e).at(&place))?;
        }
        let who = Who {
            provider: settings.reader().name(),
            model,
            host,
            mode: if self.strict { "reference" } else { "robust" },
            precision,
            identity: judge.identity(),
            digest: judge.identity().digest(),
            calibration: judge.calibration(),
            warnings,
        };
        screen.detail(&format!("read by {}, identity {}", who.title(), who.digest));
        Ok(Opened { judge, who })
    }

    /// What can be done about a state that is too long.
    pub fn about_long(&self, settings: &Settings) -> Option<&'static str> {
        let local = matches!(settings.reader(), Reader::Gguf | Reader::Laya);
        match (local && !self.strict, self.long) {
            (false, _) => None,
            (_, WhenLong::Refuse) => {
                Some("`--long windows` reads a state that does not fit in parts")
            }
            (_, WhenLong::Windows) => {
                Some("a state is read in 256 windows at most; with more room there are fewer")
            }
        }
    }

    /// The gate in `path`, refused unless it was fitted for `judge`.
    pub fn gate(path: &Path, judge: &Judge<Box<dyn Backend>>) -> Result<Gate, Failure> {
        judge.identity().prior.must_stay("a gate")?;
        let gate: Gate = artefact(path)?;
        let place = path.display().to_string();
        judge
            .identity()
            .must_be(gate.identity(), "the gate")
            .map_err(|e| Failure::from(e).at(&place))?;
        if gate.calibration() != judge.calibration() {
            let what = format!("{place}: the gate was fitted with another calibration");
            return Err(Failure::bound(what).hint(match gate.calibration() {
                Some(_) => "give --calibration as it was given to `recinto gate fit`",
                None => "it was fitted without one; leave --calibration out, or fit it again",
            }));
        }
        Ok(gate)
    }
}

/// What this build has not.
fn absent(reader: Reader) -> Failure {
    let what = format!("judge provider `{reader}` is not in this build");
    Failure::usage(what)
        .hint("known here: gguf (any causal model), laya (its encoder), mock (no model)")
}

/// The artefact in a file.
fn artefact<T: Artefact>(path: &Path) -> Result<T, Failure> {
    let bytes = write::bytes(path, LONGEST)?;
    T::from_bytes(&bytes).map_err(|e| Failure::from(e).at(&path.display().to_string()))
}
