//! What a store keeps beside the weights reaches the answer; licences and claims are kept to.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use recinto_engine::{
    Claimant, Message, OpenOptions, Options, Pin, Request, Role, Stop, TemplateSource,
};
use recinto_provider::{
    Error, Flags, Kind, Local, Provider, Reply, Settings, Shape, Surroundings, Turn,
};
use recinto_store::Roots;
use recinto_testkit::stores::{Ollama, Repository};

const PLACE: &str = "registry.ollama.ai/library/orca/7b";

fn tiny() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    fs::read(root.join("qwen2-plain.gguf")).expect("a tiny model")
}

struct Place {
    dir: tempfile::TempDir,
    /// Whether a false claim of a store is let pass.
    lenient: bool,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap(), lenient: false }
    }

    fn ollama(&self) -> Ollama {
        Ollama(self.dir.path().join("modelos"))
    }

    fn hub(&self) -> PathBuf {
        self.dir.path().join("hub")
    }

    fn open(&self, name: &str, licenses: Option<&str>, pin: Pin) -> Result<Local, Error> {
        let roots = Roots {
            here: self.dir.path().into(),
            ollama: vec![self.ollama().0],
            hub: Some(self.hub()),
            ..Roots::default()
        };
        let flags = Flags {
            model: Some(name.into()),
            licenses: licenses.map(Into::into),
            ..Flags::default()
        };
        let (here, root) = (self.dir.path().into(), self.dir.path().into());
        let around = Surroundings { variables: Vec::new(), here, root };
        let settings = Settings::resolve_from(&flags, &around).unwrap();
        let options = OpenOptions { pin, allow_mismatch: self.lenient, ..OpenOptions::default() };
        Local::open_in(&settings, &roots, options)
    }
}

fn answer(local: &Local) -> Result<Reply, Error> {
    let options = Options { max_tokens: 2, ..local.options() };
    let request = Request { options, ..Request::user("¿Qué tal?") };
    local.complete(&request.into(), &Stop::never(), &mut |_| ControlFlow::Continue(()))
}

#[test]
fn what_the_store_says_is_below_what_the_user_says() {
    let place = Place::new();
    place.ollama().model(
        PLACE,
        &[
            ("model", &tiny()),
            ("template", b"<<{{ .System }}|{{ .Prompt }}>>"),
            ("system", "Responde en español.".as_bytes()),
            (
                "params",
                br#"{"stop":["<fin>"],"temperature":0.5,"num_ctx":256,
                    "seed":7,"top_p":9,"num_gpu":1}"#,
            ),
            ("messages", br#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#),
            ("adapter", b"x"),
        ],
    );
    let local = place.open("orca:7b", None, Pin::Off).unwrap();
    let options = local.options();
    assert_eq!((options.temperature, options.seed), (0.5, Some(7)));
    assert_eq!((options.stop, options.top_p), (vec!["<fin>".to_owned()], 1.0));
    assert_eq!(local.session().unwrap().context(), 256);
    let own = recinto_engine::SessionOptions { context: Some(32), ..Default::default() };
    let notes = local.notes().join("\n");
    for part in ["1 adapter layer is left out", "`num_gpu` is ignored", "`top_p` is ignored"] {
        assert!(notes.contains(part), "{part} not in: {notes}");
    }
    let words = |request: &Request| -> Vec<String> {
        local
            .request(request)
            .messages
            .iter()
            .map(|m| format!("{:?} {}", m.role, m.content))
            .collect()
    };
    let user = Request::user("hola");
    let want = ["System Responde en español.", "User a", "Assistant b", "User hola"];
    assert_eq!(words(&user), want);
    let want = ["System mío", "User a", "Assistant b", "User hola"];
    assert_eq!(words(&user.clone().system("mío")), want, "the user's own instructions stand alone");
    let prompt = local.model().prompt(&local.request(&user)).unwrap();
    assert_eq!(local.model().template_source(), TemplateSource::Store);
    assert!(prompt.text.ends_with("|hola>>"), "{}", prompt.text.as_str());
    let completion = Request { completion: true, ..Request::user("hola") };
    assert_eq!(words(&completion), ["User hola"]);
    let again = Request {
        messages: [("a", Role::User), ("b", Role::Assistant)]
            .map(|(text, role)| Message::new(role, text))
            .to_vec(),
        ..Request::default()
    };
    assert_eq!(words(&again).len(), 5);
    let reply = answer(&local).unwrap();
    assert_eq!(reply.options.seed, Some(7));
    assert_eq!(local.with_session(own).session().unwrap().context(), 32);
}

#[test]
fn a_template_that_is_not_understood_leaves_the_files_own() {
    let place = Place::new();
    let layers: [(&str, &[u8]); 2] = [("model", &tiny()), ("template", b"{{ frobnicate .X }}")];
    place.ollama().model(PLACE, &layers);
    let local = place.open("orca:7b", None, Pin::Off).unwrap();
    assert_eq!(local.model().template_source(), TemplateSource::File);
    let notes = local.notes().join("\n");
    for part in ["chat template cannot be used", "frobnicate", "the one in the file is used"] {
        assert!(notes.contains(part), "{part} not in: {notes}");
    }
}

/// A template that fails with a request says whose it is and how to go on without it.
#[test]
fn a_template_that_fails_says_whose_it_is() {
    let place = Place::new();
    let failing = [
        ("it fails", &b"{{ index .Messages 99 }}"[..]),
        ("it leaves every message out", b"siempre lo mismo"),
    ];
    for (name, template) in failing {
        let layers: [(&str, &[u8]); 2] = [("model", &tiny()), ("template", template)];
        place.ollama().model(PLACE, &layers);
        let local = place.open("orca:7b", None, Pin::Off).unwrap();
        let error = answer(&local).err().expect(name).to_string();
        let store = format!("the chat template of the Ollama store {}", place.ollama().0.display());
        let file = local.files().weights[0].display().to_string();
        for part in [&store[..], "hint: `--completion` goes without a template; by its path", &file]
        {
            assert!(error.contains(part), "{name}: {part} not in: {error}");
        }
        let by_path = place.open(&file, None, Pin::Off).unwrap();
        answer(&by_path).unwrap_or_else(|e| panic!("{name}: the way out: {e}"));
    }
}

/// PRV-01: the store's claim is compared with the bytes that ran.
#[test]
fn a_claim_is_kept_to() {
    let place = Place::new();
    let bytes = tiny();
    let store = place.ollama();
    store.model(PLACE, &[("model", &bytes)]);
    let commit = "1111111111111111111111111111111111111111";
    let repo = Repository::new(&place.hub(), "o/n").reference("main", commit);
    let repo = repo.file(commit, "m.gguf", &bytes);
    Repository::new(&place.hub(), "o/plain").plain(commit, "m.gguf", &bytes);
    for (name, claimed) in [("orca:7b", true), ("o/n", true), ("o/plain", false)] {
        for pin in [Pin::Off, Pin::Memory] {
            let reply = answer(&place.open(name, None, pin).unwrap()).unwrap();
            let by_store: Vec<bool> = reply
                .local()
                .unwrap()
                .receipt
                .model
                .claims
                .iter()
                .map(|claim| {
                    assert_eq!(claim.by, Claimant::Store, "{name}");
                    claim.matches
                })
                .collect();
            assert_eq!(by_store, vec![true; usize::from(claimed)], "{name}");
        }
    }
    // One byte of a tensor.
    let claimed = recinto_receipt::sha256(&bytes).to_string();
    let mut changed = bytes.clone();
    let at = changed.len() - 64;
    changed[at] ^= 1;
    let found = recinto_receipt::sha256(&changed).to_string();
    let blobs = [store.path(&claimed), repo.0.join("blobs").join(&claimed)];
    for (name, blob) in ["orca:7b", "o/n"].iter().zip(&blobs) {
        fs::write(blob, &changed).unwrap();
        // The digest may be there when the model is open, or only with the reply.
        let late = place.open(name, None, Pin::Off).and_then(|local| answer(&local));
        let early = place.open(name, None, Pin::Memory);
        for error in [late.err(), early.err()] {
            let error = error.unwrap_or_else(|| panic!("{name}: an error"));
            assert!(matches!(error.kind(), Kind::Engine(_)), "{name}: {error}");
            let text = error.to_string();
            for part in [&claimed, &found, "hint: fetch it again", "--allow-mismatch"] {
                assert!(text.contains(part), "{name}: {part} not in: {text}");
            }
        }
    }
    // Told otherwise; the receipt says that it is not so, by path as by name.
    let lenient = Place { lenient: true, ..place };
    for name in ["orca:7b".to_owned(), format!("path:{}", blobs[0].display())] {
        let reply = answer(&lenient.open(&name, None, Pin::Off).unwrap()).unwrap();
        assert!(!reply.local().unwrap().receipt.model.claims[0].matches, "{name}");
        assert_eq!(reply.local().unwrap().digests.weights.to_string(), found, "{name}");
    }
}

/// What to do where no word stands for what is stated.
const ADD_DIGEST: &str = "add the digest `sha256:";
const LINKED: [&str; 3] =
    ["is `licencia-del-señor`", ADD_DIGEST, "; its text: https://example.org/licencia"];

#[test]
fn only_what_is_listed_may_run() {
    let place = Place::new();
    let bytes = tiny();
    let digest = recinto_receipt::sha256(&bytes);
    let store = place.ollama();
    store.model(PLACE, &[("model", &bytes)]);
    let layers: [(&str, &[u8]); 2] = [("model", &bytes), ("license", b"Gemma Terms of Use")];
    store.model("registry.ollama.ai/library/gemma/latest", &layers);
    let layers: [(&str, &[u8]); 2] = [("model", &bytes), ("license", "Solo los lunes".as_bytes())];
    store.model("registry.ollama.ai/library/propia/latest", &layers);
    let apache = b"Apache License\nVersion 2.0, January 2004";
    let layers: [(&str, &[u8]); 3] =
        [("model", &bytes), ("license", b"Gemma Terms of Use"), ("license", apache)];
    store.model("registry.ollama.ai/library/dos/latest", &layers);
    let commit = "1111111111111111111111111111111111111111";
    let card = "---\nlicense: other # propia\nlicense_name: 'licencia del señor'\n\
                license_link: https://example.org/licencia\n---\n";
    Repository::new(&place.hub(), "o/senal")
        .reference("main", commit)
        .file(commit, "m.gguf", &bytes)
        .plain(commit, "README.md", card.as_bytes());
    let by_digest = format!("mit,sha256:{digest}");
    let cases: &[(&str, &str, Option<&str>, &[&str])] = &[
        ("no list", "gemma", None, &[]),
        ("listed", "gemma", Some("apache-2.0,gemma"), &[]),
        ("by its digest", "gemma", Some(&by_digest), &[]),
        ("nothing stated, by its digest", "orca:7b", Some(&by_digest), &[]),
        (
            "not listed",
            "gemma",
            Some("apache-2.0,mit"),
            &["gemma may not run here", "its licence is `gemma`", "apache-2.0,mit (--licenses)"],
        ),
        ("nothing stated", "orca:7b", Some("mit"), &["it states no licence", ADD_DIGEST]),
        (
            "a text of its own",
            "propia",
            Some("mit"),
            &["its licence is `a text of its own`", ADD_DIGEST],
        ),
        ("two", "dos", Some("mit"), &["add `gemma` and `apache-2.0`, or the digest `sha256:"]),
        ("a name that no list can hold", "o/senal", Some("mit"), &LINKED),
    ];
    for (name, model, list, refused) in cases {
        match (place.open(model, *list, Pin::Off), *refused) {
            (Ok(_), []) => {}
            (Err(error), parts @ [_, ..]) => {
                assert_eq!(*error.kind(), Kind::Licence, "{name}: {error}");
                let text = error.to_string();
                let shown = digest.to_string();
                for part in parts.iter().chain([&shown.as_str()]) {
                    assert!(text.contains(part), "{name}: {part} not in: {text}");
                }
            }
            (found, _) => panic!("{name}: {:?}", found.err()),
        }
    }
    let local = place.open("gemma", None, Pin::Off).unwrap();
    assert_eq!(local.licences()[0].id.as_deref(), Some("gemma"));
}

/// A checkpoint in the hub's cache is found by its name; what is wrong with it is the engine's to
/// say.
#[test]
fn checkpoints_are_opened() {
    let place = Place::new();
    let commit = "1111111111111111111111111111111111111111";
    Repository::new(&place.hub(), "o/check")
        .reference("main", commit)
        .file(commit, "config.json", b"{\"model_type\":\"tiny\"}")
        .file(commit, "model.safetensors", b"\x02\0\0\0\0\0\0\0{}");
    let error = place.open("o/check", None, Pin::Off).err().expect("an error");
    assert!(matches!(error.kind(), Kind::Engine(_)), "{error}");
    assert!(error.to_string().contains("no arch file serves the architecture `tiny`"), "{error}");
}

/// An answer in a shape is of that shape, or cut and said to be so; labels are scored alike.
#[test]
fn a_shape_is_kept() {
    let place = Place::new();
    place.ollama().model(PLACE, &[("model", &tiny())]);
    let local = place.open("orca:7b", None, Pin::default()).unwrap();
    let turn = |max_tokens, shape| {
        let options = Options { max_tokens, ..local.options() };
        Turn::from(Request { options, ..Request::user("¿Qué ventanilla?") }).shaped(shape)
    };
    let labels = ["pagos".to_owned(), "señas".to_owned()];
    let quiet = &mut |_: recinto_engine::Piece<'_>| ControlFlow::Continue(());
    let asked = turn(20, Shape::Labels(labels.to_vec()));
    let reply = local.complete(&asked, &Stop::never(), quiet).unwrap();
    assert!(labels.contains(&reply.text) && reply.complete == Some(true), "{}", reply.text);
    let reply = local.complete(&turn(2, Shape::Regex("[0-9]{40}".into())), &Stop::never(), quiet);
    assert_eq!(reply.unwrap().complete, Some(false));
    let scores = local.score(&asked, &labels, &Stop::never()).unwrap();
    assert_eq!(scores.labels.len(), 2);
    let error = match local.complete(&turn(2, Shape::Regex("(".into())), &Stop::never(), quiet) {
        Err(error) => error,
        Ok(_) => panic!("a broken expression is refused"),
    };
    assert_eq!(error.kind(), &Kind::Shape(recinto_grammar::Kind::Invalid));
}

/// A path does not go around the card, and a list of licences must be allowed as a whole.
#[test]
fn cards_count_by_path_too() {
    let (place, commit) = (Place::new(), "1".repeat(40));
    let repo = Repository::new(&place.hub(), "o/n")
        .reference("main", &commit)
        .file(&commit, "m.gguf", &tiny())
        .file(&commit, "README.md", b"---\nlicense: [mit, cc-by-nc-4.0]\n---\n");
    let path = repo.0.join("snapshots").join(&commit).join("m.gguf").display().to_string();
    for name in ["o/n", path.as_str()] {
        let error = place.open(name, Some("mit"), Pin::Off).err().expect(name).to_string();
        assert!(error.contains("its licences are `mit` and `cc-by-nc-4.0`"), "{error}");
        place.open(name, Some("mit,cc-by-nc-4.0"), Pin::Off).unwrap();
    }
}
