//! The receipt of a reply: digests and numbers, never a word of prompt or answer.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use recinto_arch::Origin;
use recinto_kernels::{KvType, NUMERICS};
use recinto_receipt::{
    Architecture, Digest, Engine, Finish as FinishWord, Model as ModelRecord, Output, Receipt,
    SCHEMA, Setting, Source, Times as TimesRecord, Usage as UsageRecord, sha256, sha256_ids,
};

use crate::{
    digest::{self, Digests},
    model::{Model, VERSION},
    options::Options,
    prompt::Mode,
    reply::{Finish, Times, Usage},
};

/// All that a receipt tells of one reply.
pub(crate) struct Made<'a> {
    pub digests: &'a Digests,
    pub options: &'a Options,
    pub mode: Mode,
    /// How keys and values were stored.
    pub kv: KvType,
    pub finish: &'a Finish,
    pub usage: Usage,
    pub times: &'a Times,
    pub started: SystemTime,
    pub prompt: &'a [u32],
    pub output: &'a [u32],
    pub text: &'a str,
}

/// What ran, as every record of this process tells it.
pub struct Ran {
    /// The weights.
    pub model: ModelRecord,
    /// The architecture text.
    pub architecture: Architecture,
    /// The program that computed.
    pub engine: Engine,
    /// Digest of the chat template, where one was used.
    pub template: Option<Digest>,
    /// How it was asked, and how keys and values were stored where that is not as usual.
    pub options: BTreeMap<String, Setting>,
}

impl Model {
    /// What ran when this model was asked in `mode` with keys and values as `kv`.
    pub fn ran(&self, digests: &Digests, mode: Mode, kv: KvType) -> Ran {
        let (program, chat) = (self.program(), mode == Mode::Chat);
        let word = Setting::word(if chat { "chat" } else { "completion" });
        let mut options = BTreeMap::from([("mode".to_owned(), word)]);
        if kv != KvType::default() {
            options.insert("kv".into(), Setting::word(kv.name()));
        }
        Ran {
            model: ModelRecord {
                asked: self.0.name.clone(),
                file: digest::name_of(self.path()),
                size: self.file().size(),
                digest: digests.weights,
                digest_origin: Some(digests.weights_origin),
                weights: Some(digests.weights_held),
                claims: digests.claims.clone(),
                shards: digests.shards.clone(),
            },
            architecture: Architecture {
                name: program.name.clone(),
                source: match &program.origin {
                    Origin::BuiltIn => Source::BuiltIn,
                    Origin::File(path) => Source::Path(path.display().to_string()),
                },
                digest: digests.architecture,
                allowed_keys: program.allowed_keys.clone(),
            },
            engine: Engine {
                version: VERSION.into(),
                numerics: NUMERICS,
                level: self.0.bound.machine.kernels().level().name().into(),
                object: digests.engine,
                build: self.0.build.map(FinishWord::new),
            },
            template: digests.template.filter(|_| chat),
            options,
        }
    }
}

pub(crate) fn receipt(model: &Model, made: &Made<'_>) -> Receipt {
    let whole = |milliseconds: f64| milliseconds.round() as u64;
    let started = made.started.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let Ran { model, architecture, engine, template, mut options } =
        model.ran(made.digests, made.mode, made.kv);
    options.extend(settings(made.options));
    Receipt {
        schema: SCHEMA,
        model,
        architecture,
        engine,
        template,
        tokenizer: Some(made.digests.tokenizer),
        options,
        input: sha256_ids(made.prompt),
        output: Output { ids: sha256_ids(made.output), text: sha256(made.text.as_bytes()) },
        usage: UsageRecord {
            prompt_tokens: made.usage.prompt_tokens as u64,
            output_tokens: made.usage.output_tokens as u64,
        },
        finish: FinishWord::new(match made.finish {
            Finish::End => "end",
            Finish::Length => "length",
            Finish::Stop(_) => "stop",
            Finish::Cancelled => "cancelled",
            Finish::Deadline => "deadline",
        }),
        times: TimesRecord {
            started,
            load_ms: whole(made.times.load_ms),
            prefill_ms: whole(made.times.prefill_ms),
            decode_ms: whole(made.times.decode_ms),
            cpu_ms: whole(made.times.cpu_seconds * 1e3),
        },
    }
}

/// The options that can change a bit of the reply; texts of the user's by their digest.
fn settings(options: &Options) -> BTreeMap<String, Setting> {
    let text = |text: &String| Setting::from(sha256(text.as_bytes()));
    let mut out: BTreeMap<&str, Setting> = BTreeMap::from([
        ("temperature", options.temperature.into()),
        ("top_k", options.top_k.into()),
        ("top_p", options.top_p.into()),
        ("min_p", options.min_p.into()),
        ("repeat_penalty", options.repeat_penalty.into()),
        ("repeat_last_n", options.repeat_last_n.into()),
        ("presence_penalty", options.presence_penalty.into()),
        ("frequency_penalty", options.frequency_penalty.into()),
        ("max_tokens", options.max_tokens.into()),
        ("stop", Setting::List(options.stop.iter().map(text).collect())),
    ]);
    if let Some(seed) = options.seed {
        out.insert("seed", seed.into());
    }
    if let Some(thinking) = options.thinking {
        out.insert("thinking", thinking.into());
    }
    if let Some(most) = options.thinking_tokens {
        out.insert("thinking_tokens", most.into());
    }
    if let Some(date) = &options.date {
        // 20261129 for 2026-11-29: a number, since receipts hold no free text.
        let digits = date.bytes().filter(u8::is_ascii_digit);
        let number = digits.fold(0u64, |n, digit| n * 10 + u64::from(digit - b'0'));
        out.insert("date", number.into());
    }
    if !options.logit_bias.is_empty() {
        let pairs = options.logit_bias.iter();
        let pairs = pairs.map(|(id, bias)| Setting::List(vec![(*id).into(), (*bias).into()]));
        out.insert("logit_bias", Setting::List(pairs.collect()));
    }
    out.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
