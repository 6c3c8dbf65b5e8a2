//! The service that answers a judge's questions: settings to a line, and each request within the
//! policies and the budget.

use std::time::Duration;

use recinto_engine::Stop;
use recinto_policy::Usage as Spent;
use recinto_remote::{Decided, Decider, DecisionConfig, Key, Service};
use serde_json::Value;

use crate::{
    Error, JUDGE_KEY, Kind, Settings, Surroundings,
    key::Wanted,
    leaving::{self, Leaving},
    line::KeyOf,
};

/// The most tokens that an answer to one question takes; a service tells numbers and labels.
const ANSWER: u64 = 4096;

/// A service that decides.
pub struct Decisions {
    decider: Decider,
    out: Leaving,
    /// For whom it counts.
    identity: String,
}

impl Decisions {
    /// Makes the line that `settings` name; nothing is sent.
    ///
    /// # Errors
    ///
    /// No model, no key, an address that cannot be used, a file that cannot be trusted or read.
    pub fn open(settings: &Settings) -> Result<Decisions, Error> {
        Decisions::open_in(settings, &Surroundings::now()?)
    }

    /// The same with the environment given.
    ///
    /// # Errors
    ///
    /// As [`Decisions::open`].
    pub fn open_in(settings: &Settings, around: &Surroundings) -> Result<Decisions, Error> {
        let name = settings.judge_service();
        let service = Service::from_name(name).ok_or_else(|| {
            Error::new(Kind::Setting, format!("no service `{name}` decides anything"))
        })?;
        // The model of this process is a file's name, and no business of a service's.
        let model = settings.judge_model.as_ref().ok_or_else(|| {
            let what = format!("{name}: no model is set that could judge");
            Error::new(Kind::NoModel, what).hint(
                "name one of the service's with `judge_model`, as in \
                 RECINTO_JUDGE_MODEL=jev-1.13.0",
            )
        })?;
        let mut config = DecisionConfig::new(service, model.value.clone());
        config.base_url =
            leaving::address(service.name, "judge_base_url", &settings.judge_base_url)?;
        config.proxy = leaving::address(service.name, "proxy", &settings.proxy)?;
        config.ca = leaving::certificates(&settings.ca_file, around)?;
        if let Some(time) = &settings.silence {
            config.time = time.value;
        }
        if let Some(count) = &settings.retries {
            config.retries = count.value;
        }
        let key = wanted(settings, service).read(settings, around)?;
        config.key = key.map(|text| Key::read(service.name, &text)).transpose()?;
        let decider = Decider::open(config)?;
        let to = decider.destination()?;
        let out = Leaving::open(settings, around, to, service.name, &model.value)?;
        Ok(Decisions { decider, out, identity: String::new() })
    }

    /// The same for somebody whom the budget counts by himself.
    pub fn counted_for(self, identity: &str) -> Decisions {
        Decisions { identity: identity.to_owned(), ..self }
    }

    /// The line.
    pub fn decider(&self) -> &Decider {
        &self.decider
    }

    /// Where the key comes from that `settings` lead to, in words; `None` where there is none.
    pub fn key_place(settings: &Settings) -> Option<String> {
        let service = Service::from_name(settings.judge_service())?;
        wanted(settings, service).place(settings)
    }

    /// Whether data with these labels may leave; nothing is sent.
    ///
    /// # Errors
    ///
    /// What the policies say, where it may not.
    pub fn may_leave(&self, labels: &[String]) -> Result<(), Error> {
        self.out.pass(labels).map(drop)
    }

    /// Sends `body`, which asks `questions` questions about data with `labels`, and reads the
    /// answer.
    ///
    /// # Errors
    ///
    /// A policy or a budget that does not let it leave; and when there is no answer.
    pub fn ask(
        &self,
        body: Value,
        questions: usize,
        labels: &[String],
        stop: &Stop,
    ) -> Result<Decided, Error> {
        let config = self.decider.config();
        let tries = config.retries.saturating_add(1);
        let most = Spent {
            // No vocabulary makes more tokens of a text than it has bytes.
            input: length(&body),
            output: ANSWER.saturating_mul(questions as u64),
            time: config.time.checked_mul(tries).unwrap_or(Duration::MAX),
        };
        let send = |pass: &recinto_policy::Pass<'_>| self.decider.ask(body, pass, stop);
        self.out.send(labels, &self.identity, &most, send, Decided::usage)
    }
}

/// Bytes of a value as JSON, at least.
fn length(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 + 2,
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<u64>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() as u64 + 4 + length(value)).sum::<u64>() + 2
        }
        _ => 24,
    }
}

fn wanted<'a>(settings: &'a Settings, service: &'static Service) -> Wanted<'a> {
    Wanted {
        service: service.name,
        any: JUDGE_KEY,
        variable: service.key,
        own: service.base_url,
        base_url: settings.judge_base_url.as_ref().map(|url| url.value.as_str()),
        file: settings.judge_api_key_file.as_ref(),
        ignore: "`judge_api_key_file` names a file that holds the key and nothing else",
        of: &KeyOf::Process,
    }
}

#[cfg(test)]
mod tests {
    use recinto_remote::SERVICES;

    use crate::values::SERVICES as NAMES;

    #[test]
    fn settings_know_every_service_and_so_do_policies() {
        let names: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
        assert_eq!(names, NAMES);
        for service in SERVICES {
            let remote = recinto_policy::Remote::from_name(service.name);
            let remote = remote.unwrap_or_else(|| panic!("{}", service.name));
            let host = service.base_url.and_then(|url| url.strip_prefix("https://"));
            let host = host.map(|url| url.split('/').next().unwrap_or_default());
            assert_eq!(remote.host, host, "{}", service.name);
            assert!(service.key.is_none_or(|key| crate::SECRETS.contains(&key)));
        }
    }
}
