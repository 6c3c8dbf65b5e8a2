//! A model that reads whole texts and writes none: an encoder, a judge's reader.

use std::path::{Path, PathBuf};

use recinto_kernels::Stop;
use recinto_os::Wiped;
use recinto_tokenizer::Tokenizer;

use crate::{
    buffers::Buffers,
    digest::Digests,
    error::{Error, Kind, guarded},
    exec::Halt,
    model::{Facts, Model, Reads},
    open::OpenOptions,
    profile::Profile,
    whole::{self, Text},
};

/// Tokens that are computed together, unless one text alone has more.
const PASS: usize = 2048;

/// What is shown the results of [`Encoder::trace`]: the line of the arch file, the layer, values.
pub type See<'a> = dyn FnMut(u32, Option<u32>, &[f32]) + 'a;

/// An opened encoder: immutable, shareable, cheap to clone.
///
/// It opens GGUF files and checkpoints whose arch file reads texts as a whole. Numbers are those of
/// `docs/determinism.md`: no bit depends on threads, on the CPU level or on what else is read
/// beside a text.
#[derive(Clone)]
pub struct Encoder(Model);

impl Encoder {
    /// Opens the encoder in `path`, as [`Model::open`] does a model that writes.
    ///
    /// # Errors
    ///
    /// As [`Model::open`]; and the model is one that writes.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Encoder, Error> {
        Encoder::open_files(std::slice::from_ref(&path.to_owned()), options)
    }

    /// The same of a model in the files `paths`, as [`Model::open_files`].
    ///
    /// # Errors
    ///
    /// As [`Encoder::open`].
    pub fn open_files(paths: &[PathBuf], options: &OpenOptions) -> Result<Encoder, Error> {
        guarded(|| Model::build(paths, options, Reads::Whole).map(Encoder))
    }

    /// The opened model: its file, program, facts and notes. No session can be made of it.
    pub fn model(&self) -> &Model {
        &self.0
    }

    /// Text to ids and back.
    pub fn tokenizer(&self) -> &Tokenizer {
        self.0.tokenizer()
    }

    /// Values a row of what [`Encoder::read`] gives.
    pub fn width(&self) -> usize {
        self.0.program().output.width
    }

    /// What there is to know about it.
    pub fn facts(&self) -> Facts {
        self.0.facts()
    }

    /// As [`Model::digests`].
    ///
    /// # Errors
    ///
    /// As [`Model::digests`].
    pub fn digests(&self) -> Result<Digests, Error> {
        self.0.digests()
    }

    /// Reads `texts` and gives, for each, its rows of [`Encoder::width`] values: of the tokens that
    /// are asked about where the program chooses them (a step `rows`), else of every token.
    ///
    /// Texts are read some two thousand tokens at a time; memory follows that, or the longest text,
    /// not their number.
    ///
    /// # Errors
    ///
    /// A text that does not fit the model, found before anything is computed; no memory; a value
    /// that is not a number; `stop`.
    pub fn read(&self, texts: &[Text<'_>], stop: &Stop) -> Result<Vec<Wiped<f32>>, Error> {
        guarded(|| {
            let bound = &self.0.0.bound;
            texts.iter().try_for_each(|text| text.admit(bound))?;
            let mut buffers = Buffers::new(self.0.0.lock_memory);
            let (mut out, mut rest) = (Vec::with_capacity(texts.len()), texts);
            while !rest.is_empty() {
                let now;
                (now, rest) = rest.split_at(pass(rest));
                self.pass(now, &mut buffers, stop, &mut out)?;
            }
            self.0.vouch(stop)?;
            Ok(out)
        })
    }

    /// As [`Encoder::read`], and how long each instruction took; texts are read in one pass. Every
    /// line runs alone, so the whole is a little slower than without.
    ///
    /// # Errors
    ///
    /// As [`Encoder::read`].
    pub fn profile(&self, texts: &[Text<'_>], stop: &Stop) -> Result<Profile, Error> {
        guarded(|| {
            texts.iter().try_for_each(|text| text.admit(&self.0.0.bound))?;
            let mut buffers = Buffers::new(self.0.0.lock_memory);
            buffers.profile = Some(Profile::new(self.0.program()));
            self.pass(texts, &mut buffers, stop, &mut Vec::new())?;
            Ok(buffers.profile.take().unwrap_or_else(|| Profile::new(self.0.program())))
        })
    }

    fn pass(
        &self,
        texts: &[Text<'_>],
        buffers: &mut Buffers,
        stop: &Stop,
        out: &mut Vec<Wiped<f32>>,
    ) -> Result<(), Error> {
        let model = &self.0;
        let (bound, output) = (&model.0.bound, model.program().output);
        let n: usize = texts.iter().map(|text| text.ids.len()).sum();
        let grown = buffers.growth(&bound.program, n, n);
        if grown > 0 {
            model.afford(grown as u64, "working memory")?;
        }
        match whole::run(bound, texts, buffers, stop) {
            Ok(()) if buffers.refused() => return Err(model.no_memory()),
            Ok(()) => {}
            Err(Halt::Stopped) => return Err(crate::batch::stopped(stop)),
            Err(Halt::Failed(error)) => return Err(error),
            Err(Halt::Memory) => return Err(model.no_memory()),
            Err(Halt::NonFinite) => {
                model.whole()?;
                let kind = Kind::NonFinite { line: 0, layer: None };
                return Err(Error::new(kind, "what the model gives is not numbers"));
            }
        }
        let mut rows = buffers.output(output.slot);
        for text in texts {
            let count = if output.chosen { text.rows.len() } else { text.ids.len() };
            let (own, others) = rows.split_at(count * output.width);
            let mut kept = Wiped::new(model.0.lock_memory);
            kept.try_reserve(own.len()).map_err(|_| model.no_memory())?;
            kept.extend_from_slice(own);
            out.push(kept);
            rows = others;
        }
        Ok(())
    }

    /// Reads one text and shows `see` what each step of the program gave: the line of the arch
    /// file, the layer, and values row by row. For looking into a model; nothing is fast here.
    ///
    /// # Errors
    ///
    /// As [`Encoder::read`].
    pub fn trace(&self, text: Text<'_>, stop: &Stop, see: &mut See<'_>) -> Result<(), Error> {
        guarded(|| {
            let bound = &self.0.0.bound;
            text.admit(bound)?;
            let mut buffers = Buffers::new(self.0.0.lock_memory);
            let mut each = |index: usize, rows: &[f32]| {
                let instruction = &bound.program.instructions[index];
                see(instruction.line, instruction.layer, rows);
            };
            match bound.read_seen(&[text], false, &mut buffers, stop, &mut each) {
                Ok(()) => Ok(()),
                Err(Halt::Stopped) => Err(crate::batch::stopped(stop)),
                Err(Halt::Failed(error)) => Err(error),
                Err(Halt::Memory | Halt::NonFinite) => Err(self.0.no_memory()),
            }
        })
    }
}

/// How many of the first texts are read together: at least one.
fn pass(texts: &[Text<'_>]) -> usize {
    let mut tokens = 0;
    let fits = texts.iter().take_while(|text| {
        tokens += text.ids.len();
        tokens <= PASS
    });
    fits.count().max(1)
}
