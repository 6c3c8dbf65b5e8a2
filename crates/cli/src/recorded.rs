//! What `--receipt FILE` writes: the receipt of an answer of this process, of a scoring, or of an
//! answer from elsewhere. Digests and numbers, no words.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use recinto_engine::{Digest, Mode, Options, Ran, Usage, VERSION};
use recinto_provider::{BUILD, Made, Provider, Reply, Service};
use recinto_receipt::{
    Label, Named, Program, Remote, SCHEMA, Scored, Setting, Usage as Tokens, Word, sha256,
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
    let digests = local.model().digests()?;
    let Ran { model, architecture, engine, template, options } =
        local.model().ran(&digests, scoring.mode, local.model().facts().need.kv);
    let record = Scored {
        schema: SCHEMA,
        record: Scored::RECORD,
        model,
        architecture,
        engine,
        template,
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
