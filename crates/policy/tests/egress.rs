//! The log of sends: what a line has, when nothing is sent, and what a report makes of it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use recinto_policy::{
    Destination, EgressKey, EgressLog, Kind, Labels, MAX_LINE, Pass, Policy, Report, Wall,
};

const BODY: &[u8] = "{\"content\":\"¿Qué tiene la paciente Peña?\"}".as_bytes();

fn wall(file: &str) -> Wall {
    let text = "[[allow]]\nprovider = \"anthropic\"\nlabels = [\"internal\", \"unlabelled\"]\n";
    Wall::new([Policy::parse(Path::new(file), text).unwrap()])
}

fn send(wall: &Wall, log: &EgressLog, labels: &[&str]) -> Result<(), recinto_policy::Error> {
    let to = Destination::new("anthropic", None, "claude").unwrap();
    let permit = wall.check(&to, &Labels::new(labels).unwrap())?;
    let cleared = permit.record(log, BODY)?;
    assert_eq!((cleared.body(), cleared.destination()), (BODY, &to));
    Ok(())
}

fn key(folder: &Path) -> EgressKey {
    let path = folder.join("clave");
    fs::write(&path, [7; 32]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    EgressKey::read(&path).unwrap()
}

#[test]
fn a_line_has_no_word_of_what_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("estado/egress.jsonl");
    let wall = wall("/etc/política.toml");
    send(&wall, &EgressLog::new(&path, None, false), &[]).unwrap();
    send(&wall, &EgressLog::new(&path, Some(key(dir.path())), true), &["internal"]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(!text.contains("Qué") && !text.contains("Peña"), "{text}");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for (line, label) in lines.iter().zip(["unlabelled", "internal"]) {
        let want = serde_json::json!({
            "egress": 1, "time": line["time"], "pid": std::process::id(), "provider": "anthropic",
            "host": "api.anthropic.com", "model": "claude", "bytes": BODY.len(),
            "labels": [label], "rules": ["/etc/política.toml:2"], "digest": line["digest"],
        });
        assert_eq!(line, &want);
    }
    assert!(lines[0]["digest"].is_null());
    // As `openssl dgst -sha256 -mac HMAC` gives it.
    let digest = format!("hmac-sha256:{}", key(dir.path()).digest(BODY));
    assert_eq!(lines[1]["digest"], digest);
    // What is refused by the wall is not in the log.
    let error = send(&wall, &EgressLog::new(&path, None, false), &["phi"]).unwrap_err();
    assert_eq!((error.kind(), fs::read_to_string(&path).unwrap()), (Kind::Refused, text));
}

#[test]
fn without_a_log_nothing_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("ajeno"), "").unwrap();
    fs::set_permissions(at("ajeno"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(at("blanco"), "").unwrap();
    std::os::unix::fs::symlink(at("blanco"), at("enlace")).unwrap();
    fs::write(at("un fichero"), "").unwrap();
    let cases = [
        ("a folder", dir.path().to_owned(), ""),
        ("a link", at("enlace"), "it is a link"),
        ("others may read it", at("ajeno"), "others may read or write it (mode 0644"),
        ("below a file", at("un fichero/x.jsonl"), ""),
        ("a device", "/dev/full".into(), "no regular file"),
        ("nothing", "/dev/null".into(), "no regular file"),
        ("a system folder", "/proc/egress.jsonl".into(), ""),
    ];
    for (name, path, part) in cases {
        let error = send(&wall("/p"), &EgressLog::new(&path, None, false), &[]).expect_err(name);
        assert_eq!(error.kind(), Kind::Egress, "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains("nothing was sent") && text.contains(part), "{name}: {text}");
    }
    assert_eq!(fs::read(at("blanco")).unwrap(), b"");
    // A line that would not be whole.
    let long = format!("/{}", "ñ/".repeat(MAX_LINE / 3));
    let log = EgressLog::new(at("x"), None, false);
    let error = send(&wall(&long), &log, &[]).unwrap_err();
    assert!(error.to_string().contains("4096 is the most"), "{error}");
    assert!(!at("x").exists());
    send(&wall(&format!("/{}", "ñ/".repeat(600))), &log, &[]).unwrap();
}

#[test]
fn a_full_disk_leaves_no_half_line() {
    // A limit of the file's size stands for the disk: 1 block of 512 bytes in bash's `ulimit`.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("egress.jsonl");
    if std::env::var_os("RECINTO_TEST_FULL").is_some() {
        let path = std::env::var_os("RECINTO_TEST_FULL").unwrap();
        let log = EgressLog::new(path, None, false);
        let sent = (0..20).take_while(|_| send(&wall("/p"), &log, &[]).is_ok()).count();
        assert!((1..20).contains(&sent), "{sent}");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let line = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} --exact egress::a_full_disk_leaves_no_half_line",
        this.display()
    );
    let ran = Command::new("bash")
        .args(["-c", &line])
        .env("RECINTO_TEST_FULL", &path)
        .stdout(std::process::Stdio::null())
        .status();
    assert!(ran.unwrap().success());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("}\n") && text.len() <= 1024, "{text}");
    assert_eq!(Report::read(&path, None).unwrap().damaged, 0);
}

#[test]
fn a_permit_is_for_one_host() {
    let dir = tempfile::tempdir().unwrap();
    let log = EgressLog::new(dir.path().join("x"), None, false);
    let to = Destination::new("anthropic", None, "claude").unwrap();
    let wall = wall("/p");
    let cleared = wall.check(&to, &Labels::default()).unwrap().record(&log, BODY).unwrap();
    for (url, want) in [
        ("https://api.anthropic.com/v1/messages", true),
        ("https://API.anthropic.com:443/otra", true),
        ("http://api.anthropic.com/v1", false),
        ("https://api.anthropic.com:8443/v1", false),
        ("https://api.anthropic.com.evil.example/v1", false),
        ("https://api.anthropic.com@evil.example/", false),
        ("http://localhost/", false),
        ("/v1/messages", false),
    ] {
        assert_eq!(cleared.check_url(url).is_ok(), want, "{url}");
    }
}

#[test]
fn each_try_of_a_pass_has_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = EgressLog::new(dir.path().join("x"), None, false);
    let to = Destination::new("anthropic", None, "claude").unwrap();
    let wall = wall("/p");
    assert!(Pass::new(&wall, &log, &to, &Labels::new(["phi"]).unwrap()).is_err());
    let pass = Pass::new(&wall, &log, &to, &Labels::default()).unwrap();
    assert!(pass.destination() == &to && !log.path().exists(), "a pass alone sends nothing");
    for tries in 1..4 {
        assert_eq!(pass.clear(BODY).unwrap().body(), BODY);
        assert_eq!(Report::read(log.path(), None).unwrap().all.sends, tries);
    }
    fs::set_permissions(log.path(), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(pass.clear(BODY).unwrap_err().kind(), Kind::Egress);
}

fn line(day: &str, label: &str, bytes: u64) -> String {
    serde_json::json!({
        "egress": 1, "time": format!("{day}T10:00:00.000Z"), "pid": 1, "provider": "anthropic",
        "host": "api.anthropic.com", "model": "claude", "bytes": bytes, "labels": [label],
        "rules": ["/p:2"], "digest": null,
    })
    .to_string()
}

#[test]
fn reports_of_logs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    assert_eq!(Report::read(&path, None).unwrap(), Report::default(), "none is there");
    let (one, two) = (line("2026-01-30", "phi", 10), line("2026-01-31", "internal", 5));
    let long = format!("{{\"x\":\"{}\"}}", "ñ".repeat(MAX_LINE));
    type Case<'a> = (&'a str, String, Option<&'a str>, (u64, u64), &'a [u64], bool);
    let cases: [Case<'_>; 13] = [
        ("empty", String::new(), None, (0, 0), &[], false),
        ("two", format!("{one}\n{two}\n"), None, (2, 15), &[], false),
        ("since", format!("{one}\n{two}\n"), Some("2026-01-31"), (1, 5), &[], false),
        ("since later", format!("{one}\n{two}\n"), Some("2026-02-01"), (0, 0), &[], false),
        ("cut", format!("{one}\n{}", &two[..40]), None, (1, 10), &[], true),
        ("without its end", format!("{one}\n{two}"), None, (2, 15), &[], true),
        ("cut within", format!("{}\n{two}\n", &one[..40]), None, (1, 5), &[1], false),
        ("an empty line", format!("{one}\n\n{two}\n"), None, (2, 15), &[2], false),
        ("too long", format!("{long}\n{two}\n"), None, (1, 5), &[1], false),
        ("too long, cut", format!("{one}\n{long}"), None, (1, 10), &[], true),
        (
            "another form",
            one.replace("\"egress\":1", "\"egress\":2") + "\n",
            None,
            (0, 0),
            &[1],
            false,
        ),
        ("no day", line("2026-02-30", "phi", 1) + "\n", None, (0, 0), &[1], false),
        ("no label", line("2026-01-30", "PHI\u{1b}[2J", 1) + "\n", None, (0, 0), &[1], false),
    ];
    for (name, text, since, (sends, bytes), damaged, cut) in cases {
        fs::write(&path, text).unwrap();
        let report = Report::read(&path, since).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((report.all.sends, report.all.bytes), (sends, bytes), "{name}");
        assert_eq!((&report.damaged_lines[..], report.cut), (damaged, cut), "{name}");
        assert_eq!(report.damaged, damaged.len() as u64, "{name}");
        for rows in [&report.providers, &report.days, &report.labels] {
            let sum: u64 = rows.values().map(|sum| sum.bytes).sum();
            assert_eq!(sum, bytes, "{name}");
        }
        assert_eq!(report.without_digest, sends, "{name}");
    }
    // Any bytes at all.
    fs::write(&path, [b"\xff\xfe\0\n".repeat(100), one.into_bytes(), b"\n".to_vec()].concat())
        .unwrap();
    let report = Report::read(&path, None).unwrap();
    assert_eq!((report.all.sends, report.damaged, report.damaged_lines.len()), (1, 100, 20));
    for since in ["", "ayer", "2026-02-30", "2026-1-1"] {
        assert!(Report::read(&path, Some(since)).is_err(), "{since}");
    }
    assert!(Report::read(dir.path(), None).is_err());
    std::os::unix::fs::symlink(&path, dir.path().join("l")).unwrap();
    assert!(Report::read(&dir.path().join("l"), None).is_err());
}

#[test]
fn many_threads_write_whole_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("egress.jsonl");
    let wall = wall("/p");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (wall, path) = (&wall, &path);
            scope.spawn(move || {
                let log = EgressLog::new(path, None, false);
                (0..50).for_each(|_| send(wall, &log, &["internal"]).unwrap());
            });
        }
    });
    let report = Report::read(&path, None).unwrap();
    assert_eq!((report.all.sends, report.damaged, report.cut), (200, 0, false));
    assert_eq!(report.labels["internal"].bytes, 200 * BODY.len() as u64);
    assert_eq!(report.providers["anthropic at api.anthropic.com"].sends, 200);
}
