//! What `--receipt FILE` writes: the receipt of an answer of this process, of a scoring, or of an
//! answer from elsewhere. Digests and numbers, no words.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use recinto_arch::Origin;
use recinto_engine::{Digest, KvType, Mode, Options, Usage, VERSION};
use recinto_provider::{BUILD, Made, Provider, Reply, Service};
use recinto_receipt::{
    Architecture, Engine, Label, Model, Named, Program, Remote, SCHEMA, Scored, Setting, Source,
    Usage as Tokens, Word, sha256,
};

use crate::failure::Failure;

/// A scoring as it is to be recorded.
pub struct Scoring<'a> {
    /// Each label's text with its log-probability, in the order in which they were read.
    pub labels: Vec<(&'a str, f64)>,
    pub mass: f64,
    /// Digest of the prompt's token ids.
    pub input: Option<Digest>,
    pub usage: Usage,
    pub mode: Mode,
}

/// The bytes of a reply's receipt; `None` where nobody answered.
pub fn of_reply(reply: &Reply, provider: &dyn Provider, begun: SystemTime) -> Option<Vec<u8>> {
    match &reply.made {
        Made::Local(local) => Some(local.receipt.to_bytes()),
        Made::Service(service) => {
            let identity = provider.identity();
            let (name, model) = (identity.provider.name(), identity.model);
            Some(remote(reply, service, name, model, begun).to_bytes())
        }
        _ => None,
    }
}

fn remote(
    reply: &Reply,
    service: &Service,
    provider: &str,
    asked: String,
    begun: SystemTime,
) -> Remote {
    let whole = service.whole.or_else(|| begun.elapsed().ok());
    Remote {
        schema: SCHEMA,
        record: Remote::RECORD,
        provider: provider.to_owned(),
        host: service.host.clone(),
        wire: service.wire.clone(),
        model: Named { asked, told: service.model.clone(), weights: Word::new("unknown") },
        program: Program { build: Word::new(BUILD), version: VERSION.into() },
        id: service.id.clone(),
        request_id: service.request_id.clone(),
        fingerprint: service.fingerprint.clone(),
        rules: service.rules.clone(),
        options: options(&reply.options),
        not_sent: service.not_sent.clone(),
        input: service.request_digest.clone(),
        output: service.answer_digest.clone(),
        requests: service.requests,
        usage: tokens(reply.usage),
        finish: Word::new(reply.finish.name()),
        started: seconds(begun),
        whole_ms: whole.map_or(0, |time| time.as_millis() as u64),
    }
}

/// The options of a request to a service. Its stop texts are words of somebody's, and a plain
/// digest of a word is found by trying: their number stands for them.
fn options(options: &Options) -> BTreeMap<String, Setting> {
    let known: [(&str, Setting); 10] = [
        ("temperature", options.temperature.into()),
        ("top_k", options.top_k.into()),
        ("top_p", options.top_p.into()),
        ("min_p", options.min_p.into()),
        ("repeat_penalty", options.repeat_penalty.into()),
        ("repeat_last_n", options.repeat_last_n.into()),
        ("presence_penalty", options.presence_penalty.into()),
        ("frequency_penalty", options.frequency_penalty.into()),
        ("max_tokens", options.max_tokens.into()),
        ("stop", options.stop.len().into()),
    ];
    let said = [
        ("seed", options.seed.map(Setting::from)),
        ("thinking", options.thinking.map(Setting::from)),
        ("thinking_tokens", options.thinking_tokens.map(Setting::from)),
        ("logprobs", options.logprobs.map(Setting::from)),
    ];
    let said = said.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known.into_iter().chain(said).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The bytes of a scoring's receipt; `None` where no model of this process scored.
pub fn of_scoring(
    scoring: &Scoring<'_>,
    provider: &dyn Provider,
    begun: SystemTime,
) -> Result<Option<Vec<u8>>, Failure> {
    let (Some(local), Some(input)) = (provider.local(), scoring.input) else { return Ok(None) };
    let (model, facts) = (local.model(), local.model().facts());
    let (program, digests) = (model.program(), model.digests()?);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mode = if scoring.mode == Mode::Chat { "chat" } else { "completion" };
    let mut options = BTreeMap::from([("mode".to_owned(), Setting::word(mode))]);
    if facts.need.kv != KvType::default() {
        options.insert("kv".into(), Setting::word(facts.need.kv.name()));
    }
    let record = Scored {
        schema: SCHEMA,
        record: Scored::RECORD,
        model: Model {
            asked: provider.identity().model,
            file: name(model.path()),
            size: facts.bytes,
            digest: digests.weights,
            digest_origin: Some(digests.weights_origin),
            weights: Some(digests.weights_held),
            claims: digests.claims,
            shards: digests.shards,
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
            numerics: facts.numerics,
            level: facts.level.into(),
            object: digests.engine,
            build: Some(Word::new(BUILD)),
        },
        template: digests.template.filter(|_| scoring.mode == Mode::Chat),
        tokenizer: digests.tokenizer,
        options,
        input,
        labels: scoring
            .labels
            .iter()
            .map(|(text, logprob)| Label {
                text: sha256(text.as_bytes()),
                logprob: Setting::from(*logprob),
            })
            .collect(),
        option_mass: scoring.mass.into(),
        usage: tokens(scoring.usage),
        started: seconds(begun),
        whole_ms: begun.elapsed().map_or(0, |time| time.as_millis() as u64),
    };
    Ok(Some(record.to_bytes()))
}

fn tokens(usage: Usage) -> Tokens {
    Tokens { prompt_tokens: usage.prompt_tokens as u64, output_tokens: usage.output_tokens as u64 }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
