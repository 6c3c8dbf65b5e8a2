//! Which policies hold: the machine's is tightened and never loosened, whatever a project, a
//! `.env`, a flag or a variable says.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};

use recinto_policy::{Destination, Exhausted, Labels, Target, Task, Usage};
use recinto_provider::{ConfigFile, Error, Flags, Kind, Settings, Surroundings, policies};

/// A machine with a project, a user and a system.
struct Machine {
    dir: tempfile::TempDir,
    variables: Vec<(OsString, OsString)>,
    config: ConfigFile,
}

const PROJECT: &str = "here/recinto.toml";
const USER: &str = "home/.config/recinto/recinto.toml";
const SYSTEM: &str = "root/etc/recinto/recinto.toml";
const POLICY: &str = "root/etc/recinto/policy.toml";

impl Machine {
    fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("here")).unwrap();
        let home = dir.path().join("home").into();
        Machine { dir, variables: vec![("HOME".into(), home)], config: ConfigFile::Usual }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(self, path: &str, text: &str) -> Machine {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Machine {
        let value = value.replace("DIR", &self.dir.path().display().to_string());
        self.variables.push((name.into(), value.into()));
        self
    }

    fn config(mut self, config: ConfigFile) -> Machine {
        self.config = config;
        self
    }

    fn around(&self) -> Surroundings {
        let (here, root) = (self.at("here"), self.at("root"));
        Surroundings { variables: self.variables.clone(), here, root }
    }

    fn settings(&self) -> Result<Settings, Error> {
        let flags = Flags { config: self.config.clone(), ..Flags::default() };
        Settings::resolve_from(&flags, &self.around())
    }

    /// Whether a text with `label` may go to a service, or the error of the policies.
    fn lets(&self, label: &str) -> Result<bool, Error> {
        let wall = policies::wall(&self.settings()?, &self.around())?;
        let to = Destination::new("anthropic", None, "claude").unwrap();
        Ok(wall.check(&to, &Labels::new([label]).unwrap()).is_ok())
    }
}

/// A policy file's row.
fn row(labels: &str) -> String {
    format!("[[allow]]\nprovider = \"anthropic\"\nlabels = [{labels}]\n")
}

/// The same in a `recinto.toml`.
fn table(labels: &str) -> String {
    row(labels).replace("allow", "policy.allow")
}

const BOTH: &str = "\"internal\", \"unlabelled\"";
const ONE: &str = "\"internal\"";

#[test]
fn none_loosens_another() {
    let machine = |text: &str| Machine::new().file(POLICY, text);
    let (wide, narrow) = (row(BOTH), row(ONE));
    // Whether `unlabelled` and `internal` may leave.
    let cases = [
        ("nobody says anything", Machine::new(), [false, false]),
        ("the machine", machine(&wide), [true, true]),
        ("an empty one", machine("# nada\n"), [false, false]),
        ("the project alone", Machine::new().file(PROJECT, &table(BOTH)), [true, true]),
        ("the user alone", Machine::new().file(USER, &table(ONE)), [false, true]),
        ("a project tightens", machine(&wide).file(PROJECT, &table(ONE)), [false, true]),
        ("a project loosens nothing", machine(&narrow).file(PROJECT, &table(BOTH)), [false, true]),
        ("an empty table denies", machine(&wide).file(PROJECT, "[policy]\n"), [false, false]),
        (
            "other tables do not",
            machine(&wide).file(PROJECT, "[options]\nseed = 1\n"),
            [true, true],
        ),
        ("a user tightens", machine(&wide).file(USER, &table(ONE)), [false, true]),
        ("the system's settings, too", machine(&wide).file(SYSTEM, &table(ONE)), [false, true]),
        (
            "`--no-config` leaves no policy out",
            machine(&wide).file(PROJECT, &table(ONE)).config(ConfigFile::Ignored),
            [false, true],
        ),
        (
            "nor does another file",
            machine(&wide)
                .file(PROJECT, &table(ONE))
                .file("here/otro.toml", &table(BOTH))
                .config(ConfigFile::At("otro.toml".into())),
            [false, true],
        ),
        (
            "the very same file by name",
            Machine::new()
                .file(PROJECT, &table(BOTH))
                .config(ConfigFile::At("recinto.toml".into())),
            [true, true],
        ),
        (
            "another file tightens",
            machine(&wide)
                .file("here/otro.toml", &table(ONE))
                .config(ConfigFile::At("otro.toml".into())),
            [false, true],
        ),
        (
            "a line of .env leaves none out",
            machine(&wide).file(PROJECT, &table(ONE)).file("here/.env", "RECINTO_CONFIG=none\n"),
            [false, true],
        ),
        (
            "the environment adds",
            machine(&wide).file("p.toml", &narrow).variable("RECINTO_POLICY", "DIR/p.toml"),
            [false, true],
        ),
        (
            "and loosens nothing",
            machine(&narrow).file("p.toml", &wide).variable("RECINTO_POLICY", "DIR/p.toml"),
            [false, true],
        ),
        (
            "it may be the only one",
            Machine::new().file("p.toml", &wide).variable("RECINTO_POLICY", "DIR/p.toml"),
            [true, true],
        ),
    ];
    for (name, machine, want) in cases {
        let found = ["unlabelled", "internal"].map(|label| machine.lets(label));
        assert_eq!(found, want.map(Ok), "{name}");
        assert_eq!(machine.lets("phi"), Ok(false), "{name}");
    }
}

#[test]
fn a_line_of_env_alone_moves_nothing() {
    // A file beside the data names a service and brings its own policy.
    let machine = Machine::new().file("here/otro.toml", &table(BOTH));
    let machine = machine.file("here/.env", "A=1\nRECINTO_CONFIG=otro.toml\n");
    let error = machine.lets("unlabelled").unwrap_err();
    assert_eq!(error.kind(), &Kind::Policy);
    assert!(error.to_string().contains("only a line of .env names"), "{error}");
    // Named by somebody else it counts.
    let machine = machine.config(ConfigFile::At("otro.toml".into()));
    assert_eq!(machine.lets("unlabelled"), Ok(true));
    // The machine's policy is named by the environment itself.
    let machine = Machine::new().file("p.toml", &row(BOTH));
    let line = format!("\n\nRECINTO_POLICY={}\n", machine.at("p.toml").display());
    let error = machine.file("here/.env", &line).lets("unlabelled").unwrap_err();
    assert!(error.to_string().contains("line 3: RECINTO_POLICY has no place here"), "{error}");
}

#[test]
fn a_policy_that_cannot_be_believed_is_an_error() {
    let good = row(BOTH);
    let named = |value: &str| Machine::new().variable("RECINTO_POLICY", value);
    let chmod = |machine: Machine, path: &str, mode: u32| {
        fs::set_permissions(machine.at(path), fs::Permissions::from_mode(mode)).unwrap();
        machine
    };
    let with = || Machine::new().file(POLICY, &good);
    let folder = |path: &str| {
        let machine = Machine::new();
        fs::create_dir_all(machine.at(path)).unwrap();
        machine
    };
    let link = Machine::new().file("root/etc/recinto/x", "");
    symlink("nada", link.at(POLICY)).unwrap();
    let cases = [
        ("for everybody", chmod(with(), POLICY, 0o666), "others may write to it"),
        ("for others", chmod(with(), POLICY, 0o602), "others may write to it"),
        (
            "its folder for everybody",
            chmod(with(), "root/etc/recinto", 0o777),
            "everybody may replace what is in this folder",
        ),
        ("a folder", folder(POLICY), "it is a folder"),
        ("a link to nothing", link, "a link that leads to nothing"),
        ("no UTF-8", Machine::new().file(POLICY, "").bytes(POLICY, b"a\xff"), "not UTF-8"),
        ("a word", Machine::new().file(POLICY, "alow = []\n"), "line 1, column 1: unknown word"),
        ("a provider", with().file(POLICY, &good.replace("anth", "ant")), "unknown provider"),
        ("no TOML", Machine::new().file(POLICY, "allow\n"), "policy.toml, line 1"),
        ("named and not there", named("DIR/no.toml"), "no.toml: cannot read it"),
        ("half a path", named("p.toml"), "a whole path is needed"),
        ("empty", named(""), "a whole path is needed"),
        ("a folder by name", named("DIR/here"), "it is a folder"),
    ];
    for (name, machine, part) in cases {
        // The settings themselves can be read: this process answers as before.
        assert!(machine.settings().is_ok(), "{name}");
        let error = machine.lets("unlabelled").expect_err(name);
        assert_eq!(error.kind(), &Kind::Policy, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {part} not in: {error}");
    }
    let machine = with();
    const SOMEBODY: u32 = 64_242;
    if chown(machine.at(POLICY), Some(SOMEBODY), None).is_ok() {
        let error = machine.lets("unlabelled").unwrap_err();
        assert!(error.to_string().contains("owned by another user"), "{error}");
    }
    // A fault in a project's table is one of its settings.
    let error = Machine::new().file(PROJECT, &table("\"*\"")).lets("phi").unwrap_err();
    assert_eq!(error.kind(), &Kind::ConfigFile, "{error}");
    assert!(error.to_string().contains("line 3, column 10: `labels`"), "{error}");
}

impl Machine {
    fn bytes(self, path: &str, bytes: &[u8]) -> Machine {
        fs::write(self.at(path), bytes).unwrap();
        self
    }
}

#[test]
fn where_sends_are_written_down() {
    let places = |machine: &Machine| {
        let (settings, around) = (machine.settings().unwrap(), machine.around());
        let wall = policies::wall(&settings, &around).unwrap();
        policies::places(&settings, &around, &wall).map(|(log, key)| {
            let below = |path: PathBuf| {
                let inner = path.strip_prefix(machine.dir.path()).map(Path::to_owned);
                inner.unwrap_or(path).display().to_string()
            };
            (below(log), key.map(below))
        })
    };
    let policy = "egress_log = \"/v/l\"\negress_key = \"/v/k\"\n";
    let set = "egress_log = \"l\"\negress_key = \"./k\"\n";
    let word = |text: &str| Some(text.to_owned());
    let cases = [
        ("nobody", Machine::new(), ("home/.local/state/recinto/egress.jsonl", None)),
        ("a state folder", Machine::new().variable("XDG_STATE_HOME", "DIR/s"), {
            ("s/recinto/egress.jsonl", None)
        }),
        ("settings", Machine::new().file(PROJECT, set), ("here/l", word("here/./k"))),
        ("the machine goes first", Machine::new().file(PROJECT, set).file(POLICY, policy), {
            ("/v/l", word("/v/k"))
        }),
        (
            "also before a variable",
            Machine::new().variable("RECINTO_EGRESS_LOG", "/x").file(POLICY, policy),
            ("/v/l", word("/v/k")),
        ),
    ];
    for (name, machine, (log, key)) in cases {
        assert_eq!(places(&machine).unwrap(), (log.to_owned(), key), "{name}");
    }
    let mut homeless = Machine::new();
    homeless.variables.clear();
    assert!(places(&homeless).unwrap_err().to_string().contains("`egress_log`"));
    // The key is read when the log is made, and a key that cannot be used is an error.
    let log = |machine: &Machine| {
        let (settings, around) = (machine.settings().unwrap(), machine.around());
        let wall = policies::wall(&settings, &around).unwrap();
        policies::egress_log(&settings, &around, &wall)
    };
    let machine = Machine::new().file(PROJECT, "egress_key = \"./k\"\negress_sync = true\n");
    assert!(log(&machine).unwrap_err().to_string().contains("the key "));
    let machine = machine.file("here/k", &"x".repeat(32));
    fs::set_permissions(machine.at("here/k"), fs::Permissions::from_mode(0o600)).unwrap();
    let made = log(&machine).unwrap();
    assert!(made.has_key() && made.syncs() && !made.path().exists());
    let machine = Machine::new().file(POLICY, "egress_sync = true\n");
    assert!(log(&machine.file(PROJECT, "egress_sync = false\n")).unwrap().syncs());
}

#[test]
fn budgets_of_all_files_hold() {
    let prices = "[prices]\ncurrency = \"EUR\"\n\"anthropic/claude\" = { input = 1, output = 2 }\n";
    let machine = Machine::new()
        .file(POLICY, "[budget]\ntokens = 100\nmoney = \"0.0001 EUR\"\n")
        .file(PROJECT, &format!("{prices}[budget]\ntokens = 1000000\n"));
    let budget = |machine: &Machine| {
        let settings = machine.settings()?;
        policies::budget(&settings, &policies::wall(&settings, &machine.around())?)
    };
    let small = budget(&machine).unwrap();
    let usage = Usage { input: 50, output: 51, ..Usage::default() };
    let error = small.reserve("", "anthropic", "claude", &usage).unwrap_err();
    assert!(matches!(error, Exhausted::Tokens { limit: 100, .. }), "{error}");
    let usage = Usage { input: 1, output: 50, ..Usage::default() };
    assert!(matches!(
        small.reserve("", "anthropic", "claude", &usage),
        Err(Exhausted::Money { .. })
    ));
    assert!(matches!(small.reserve("", "openai", "gpt", &usage), Err(Exhausted::NoPrice { .. })));
    let fits = Usage { output: 49, ..usage };
    small.reserve("", "anthropic", "claude", &fits).unwrap().settle(&fits);
    let machine = machine.file(USER, "[budget]\nmoney = \"1 USD\"\n");
    assert_eq!(budget(&machine).unwrap_err().kind(), &Kind::Policy);
}

#[test]
fn profiles_of_all_files() {
    let machine = Machine::new()
        .file(PROJECT, "[tasks]\nask = \"fast\"\n")
        .file(USER, "[profiles]\nfast = \"local/x.gguf\"\n");
    let all = policies::profiles(&machine.settings().unwrap()).unwrap();
    let (_, target) = all.task(Task::Ask).unwrap();
    assert!(matches!(target, Target::Profile(profile) if profile.name == "fast"));
    let machine = Machine::new().file(PROJECT, "[tasks]\nask = \"fast\"\n");
    let error = policies::profiles(&machine.settings().unwrap()).unwrap_err().to_string();
    assert!(error.contains("recinto.toml, line 2: unknown profile or cascade `fast`"), "{error}");
    let error = Machine::new().file(PROJECT, "[tasks]\nruta = \"x\"\n").settings().unwrap_err();
    assert!(error.to_string().contains("line 2, column 1: unknown task `ruta`"), "{error}");
}
