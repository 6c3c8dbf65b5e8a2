//! How settings are resolved: precedence, sources, refusals.

use std::fs;

use super::*;

/// Pairs to look up, as an environment.
fn environment(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
    let pairs: Vec<(String, OsString)> =
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    move |name| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

#[test]
fn the_nearest_source_wins() {
    let dir = tempfile::tempdir().unwrap();
    let env_path = dir.path().join(".env");
    let flag = |model: &str| Flags { model: Some(model.into()), ..Flags::default() };
    let line = |line| Source::EnvFile { path: env_path.clone(), line };
    let cases = [
        ("nothing", Flags::default(), &[][..], "", None),
        ("file", Flags::default(), &[], "A=1\nRECINTO_MODEL=f\n", Some(("f", line(2)))),
        (
            "environment over file",
            Flags::default(),
            &[("RECINTO_MODEL", "e")],
            "RECINTO_MODEL=f\n",
            Some(("e", Source::Environment("RECINTO_MODEL"))),
        ),
        (
            "flag over environment",
            flag("ñ"),
            &[("RECINTO_MODEL", "e")],
            "RECINTO_MODEL=f\n",
            Some(("ñ", Source::Flag("--model"))),
        ),
        (
            "file ignored",
            Flags { env_file: EnvFile::Ignored, ..Flags::default() },
            &[],
            "RECINTO_MODEL=f\n",
            None,
        ),
    ];
    for (name, flags, pairs, text, want) in cases {
        fs::write(&env_path, text).unwrap();
        let found = Settings::resolve_from(&flags, &environment(pairs), dir.path());
        let found = found.unwrap_or_else(|e| panic!("{name}: {e}"));
        let want = want.map(|(value, source)| Setting { value: value.to_owned(), source });
        assert_eq!(found.model, want, "{name}");
        assert_eq!(found.provider.value, Name::Local, "{name}");
        assert_eq!(found.provider.source, Source::Default, "{name}");
        let read = (flags.env_file == EnvFile::Here).then(|| env_path.clone());
        assert_eq!(found.env_file, read, "{name}");
    }
}

#[test]
fn keys_of_others_choose_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = [("ANTHROPIC_API_KEY", "canary"), ("OPENAI_API_KEY", "canary")];
    let found = Settings::resolve_from(&Flags::default(), &environment(&pairs), dir.path());
    let found = found.unwrap();
    assert_eq!(found.provider, Setting { value: Name::Local, source: Source::Default });
    let error = found.model().unwrap_err();
    assert_eq!(error.kind(), &Kind::NoModel);
    let text = error.to_string();
    assert!(text.contains("\nRECINTO_PROVIDER=local\nRECINTO_MODEL=/"), "{text}");
}

#[test]
fn every_key_is_looked_up() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = [
        ("RECINTO_PROVIDER", "local"),
        ("RECINTO_MODEL", "./m.gguf"),
        ("RECINTO_ARCH_DIR", "archs"),
        ("RECINTO_THREADS", "3"),
        ("RECINTO_LEVEL", "portable"),
        ("RECINTO_PIN", "memory"),
        ("RECINTO_VERIFY", "always"),
        ("RECINTO_KV", "q8_0"),
        ("RECINTO_LICENSES", "apache-2.0, MIT"),
    ];
    assert!(KEYS.iter().all(|key| pairs.iter().any(|(name, _)| *name == key.variable)));
    let found = Settings::resolve_from(&Flags::default(), &environment(&pairs), dir.path());
    let found = found.unwrap();
    let at = |key: &'static str| Source::Environment(key);
    assert_eq!(found.provider.source, at("RECINTO_PROVIDER"));
    assert_eq!(found.model.as_ref().unwrap().value, "./m.gguf");
    assert_eq!(found.arch_dir.as_ref().unwrap().value, Path::new("archs"));
    assert_eq!(found.threads, Some(Setting { value: 3, source: at("RECINTO_THREADS") }));
    let level = Setting { value: Level::Portable, source: at("RECINTO_LEVEL") };
    assert_eq!(found.level, Some(level));
    assert_eq!(found.pin, Some(Setting { value: Pin::Memory, source: at("RECINTO_PIN") }));
    let verify = Setting { value: Verify::Always, source: at("RECINTO_VERIFY") };
    assert_eq!(found.verify, Some(verify));
    assert_eq!(found.session(Some(7)), SessionOptions { context: Some(7), kv: KvType::Q8_0 });
    assert_eq!(found.kv, Some(Setting { value: KvType::Q8_0, source: at("RECINTO_KV") }));
    let licenses = found.licenses.unwrap();
    assert_eq!(
        (licenses.value.to_string(), licenses.source),
        ("apache-2.0,mit".into(), at("RECINTO_LICENSES"))
    );
}

#[test]
fn the_cache_is_in_the_users_folder() {
    type Pairs = &'static [(&'static str, &'static str)];
    let cases: [(&str, Pairs, Option<&str>); 6] = [
        ("its own variable", &[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/recinto")),
        ("home", &[("HOME", "/h/Núñez")], Some("/h/Núñez/.cache/recinto")),
        ("no whole path", &[("XDG_CACHE_HOME", "x"), ("HOME", "/h")], Some("/h/.cache/recinto")),
        ("empty", &[("XDG_CACHE_HOME", ""), ("HOME", "/h")], Some("/h/.cache/recinto")),
        ("a home that is none", &[("HOME", "h")], None),
        ("nothing", &[], None),
    ];
    for (name, pairs, want) in cases {
        assert_eq!(digest_cache(&environment(pairs)), want.map(PathBuf::from), "{name}");
    }
}

#[test]
fn faults() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&str, &str, &str, Kind, &[&str])] = &[
        (
            "unknown provider",
            "RECINTO_PROVIDER",
            "anthropic",
            Kind::UnknownProvider,
            &[
                "environment variable RECINTO_PROVIDER: unknown provider `anthropic`",
                "known: local",
            ],
        ),
        ("near is not equal", "RECINTO_PROVIDER", "Local", Kind::UnknownProvider, &["`Local`"]),
        ("empty", "RECINTO_MODEL", " ", Kind::Setting, &["RECINTO_MODEL: the value is empty"]),
        ("no thread", "RECINTO_THREADS", "0", Kind::Setting, &["from 1 to 1024"]),
        ("word", "RECINTO_THREADS", "dos", Kind::Setting, &["from 1 to 1024"]),
        ("level", "RECINTO_LEVEL", "avx", Kind::Setting, &["unknown level `avx`", "portable"]),
        ("pin", "RECINTO_PIN", "disk", Kind::Setting, &["RECINTO_PIN: one of off, memory is"]),
        ("kv", "RECINTO_KV", "q4_0", Kind::Setting, &["RECINTO_KV: one of bf16, f16, q8_0 is"]),
        ("kv near", "RECINTO_KV", "BF16", Kind::Setting, &["one of bf16, f16, q8_0 is needed"]),
        (
            "licenses",
            "RECINTO_LICENSES",
            "mit,,gemma",
            Kind::Name(recinto_store::Kind::Invalid),
            &["RECINTO_LICENSES: ids of licences and digests are needed", "as in `apache-2.0"],
        ),
        ("verify", "RECINTO_VERIFY", "no", Kind::Setting, &["one of cached, always is needed"]),
    ];
    for (name, key, value, kind, parts) in cases {
        let pairs = environment(&[(key, value)]);
        let error = Settings::resolve_from(&Flags::default(), &pairs, dir.path());
        let error = error.expect_err(name);
        assert_eq!(error.kind(), kind, "{name}");
        for part in *parts {
            assert!(error.to_string().contains(part), "{name}: {part} not in: {error}");
        }
    }
}
