//! The receipt of a reply: digests and numbers, never a word of prompt or answer.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use recinto_arch::Origin;
use recinto_kernels::{KvType, NUMERICS};
use recinto_receipt::{
    Architecture, Engine, Finish as FinishWord, Model as ModelRecord, Output, Receipt, SCHEMA,
    Setting, Source, Times as TimesRecord, Usage as UsageRecord, sha256, sha256_ids,
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

pub(crate) fn receipt(model: &Model, made: &Made<'_>) -> Receipt {
    let program = model.program();
    let whole = |milliseconds: f64| milliseconds.round() as u64;
    let started = made.started.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    Receipt {
        schema: SCHEMA,
        model: ModelRecord {
            asked: model.0.name.clone(),
            file: digest::name_of(model.path()),
            size: model.file().size(),
            digest: made.digests.weights,
            digest_origin: Some(made.digests.weights_origin),
            weights: Some(made.digests.weights_held),
            claims: made.digests.claims.clone(),
            shards: made.digests.shards.clone(),
        },
        architecture: Architecture {
            name: program.name.clone(),
            source: match &program.origin {
                Origin::BuiltIn => Source::BuiltIn,
                Origin::File(path) => Source::Path(path.display().to_string()),
            },
            digest: made.digests.architecture,
            allowed_keys: program.allowed_keys.clone(),
        },
        engine: Engine {
            version: VERSION.into(),
            numerics: NUMERICS,
            level: model.0.bound.machine.kernels().level().name().into(),
            object: made.digests.engine,
            build: model.0.build.map(FinishWord::new),
        },
        template: made.digests.template.filter(|_| made.mode == Mode::Chat),
        tokenizer: Some(made.digests.tokenizer),
        options: settings(made.options, made.mode, made.kv),
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
fn settings(options: &Options, mode: Mode, kv: KvType) -> BTreeMap<String, Setting> {
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
        ("mode", Setting::word(if mode == Mode::Chat { "chat" } else { "completion" })),
    ]);
    if kv != KvType::default() {
        out.insert("kv", Setting::word(kv.name()));
    }
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
