//! The house rules that a compiler does not check: doors, signs, sizes, papers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Files that may be longer than [`LONGEST`]: tables, and nothing else.
const LONG_FILES: &[&str] = &[];
const LONGEST: usize = 800;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Rust file of the repository, as paths below its root.
fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries.map(|entry| entry.unwrap()) {
            let (path, name) = (entry.path(), entry.file_name());
            let built = ["target", "models", "corpus", "artifacts"].iter().any(|n| name == *n);
            if entry.file_type().unwrap().is_dir() {
                if !built && !name.to_string_lossy().starts_with('.') {
                    walk(&path, found);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["src", "crates", "tests", "examples", "fuzz"] {
        if root().join(folder).exists() {
            walk(&root().join(folder), &mut found);
        }
    }
    found.sort();
    assert!(found.len() > 50, "only {} files were found", found.len());
    found
}

/// The cells of every table row of a page, without the head and the line below it.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim().trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>())
}

fn words(cell: &str) -> BTreeSet<String> {
    cell.split(',').map(|word| word.trim().to_owned()).filter(|word| word != "–").collect()
}

/// Names in one section of a manifest, `recinto-x` as `x` when `own`, else the others.
fn dependencies(manifest: &str, section: &str, own: bool) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == section;
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap();
            let room = name.strip_prefix("recinto-").or((name == "recinto").then_some(name));
            match room {
                Some(room) if own => found.insert(room.to_owned()),
                None if !own => found.insert(name.to_owned()),
                _ => false,
            };
        }
    }
    found
}

struct Room {
    level: Option<u32>,
    uses: BTreeSet<String>,
    outside: BTreeSet<String>,
}

fn map() -> BTreeMap<String, Room> {
    let page = text("docs/map.md");
    let rooms: BTreeMap<_, _> = rows(&page)
        .filter(|cells| cells.len() == 5 && cells[0] != "room")
        .map(|cells| {
            let level = cells[1].parse().ok();
            let room = Room { level, uses: words(cells[3]), outside: words(cells[4]) };
            (cells[0].to_owned(), room)
        })
        .collect();
    assert!(rooms.len() > 10, "docs/map.md has its table");
    rooms
}

#[test]
fn edges_are_those_of_the_map() {
    let map = map();
    let mut manifests = vec![("recinto".to_owned(), PathBuf::from("Cargo.toml"))];
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        manifests.push((name.clone(), PathBuf::from(format!("crates/{name}/Cargo.toml"))));
    }
    let names: BTreeSet<_> = manifests.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, map.keys().cloned().collect(), "the rooms of docs/map.md");
    for (name, path) in manifests {
        let (room, manifest) = (&map[&name], text(&path));
        let uses = dependencies(&manifest, "[dependencies]", true);
        assert_eq!(uses, room.uses, "{name}: rooms it uses");
        let outside = dependencies(&manifest, "[dependencies]", false);
        assert_eq!(outside, room.outside, "{name}: crates from outside");
        for other in &uses {
            assert!(other != "testkit", "{name}: testkit is for tests");
            let below = map[other].level < room.level;
            assert!(below || name == "testkit", "{name} may not look up to {other}");
        }
        for other in dependencies(&manifest, "[dev-dependencies]", true) {
            let below = other == "testkit" || map[&other].level < room.level;
            assert!(below, "{name}: its tests may not look up to {other}");
        }
        let kinds = ["build-dependencies]", "[target.", "dependencies."];
        assert!(!kinds.iter().any(|kind| manifest.contains(kind)), "{name}: a section unseen here");
    }
}

/// The line without its comment and without what stands in plain string literals.
fn code(line: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            _ => out.push(c),
        }
        if out.ends_with("//") {
            out.truncate(out.len() - 2);
            break;
        }
    }
    out
}

/// Whether the line opens an `unsafe` block, `impl`, or function that has a name.
fn opens_unsafe(line: &str) -> bool {
    let code = code(line);
    code.match_indices("unsafe").any(|(at, word)| {
        let whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = code[at + word.len()..].trim_start();
        let named = rest.strip_prefix("fn ").is_some_and(|name| !name.starts_with('('));
        whole && (rest.starts_with('{') || rest.starts_with("impl") || rest.is_empty() || named)
    })
}

#[test]
fn unsafe_is_in_the_ledger() {
    let ledger = text("docs/unsafe.md");
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    for cells in rows(&ledger).filter(|cells| cells.len() == 4 && cells[0] != "file") {
        // A row may stand for several blocks of one form: "×3" in its second cell.
        let times = cells[1].split_once('×').map_or("1", |(_, times)| times.trim());
        let times: usize = times.parse().unwrap_or_else(|_| panic!("ledger: {}", cells[1]));
        *written.entry(cells[0].trim_matches('`').to_owned()).or_default() += times;
        let reasons = cells[2].len() > 10 && cells[3].len() > 10;
        assert!(reasons || cells[3].starts_with("As above"), "ledger: {} gives reasons", cells[0]);
    }
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for path in sources().iter().filter(|path| *path != Path::new("tests/house.rs")) {
        let (name, source) = (path.display().to_string(), text(path));
        let lines: Vec<&str> = source.lines().collect();
        for at in (0..lines.len()).filter(|at| opens_unsafe(lines[*at])) {
            let room = ["crates/os/src/", "crates/kernels/src/"];
            assert!(room.iter().any(|room| name.starts_with(room)), "{name}:{} is unsafe", at + 1);
            let near = &lines[at.saturating_sub(8)..=at];
            let signed = near.iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety"));
            assert!(signed, "{name}:{}: no SAFETY comment", at + 1);
            *found.entry(name.clone()).or_default() += 1;
        }
    }
    assert_eq!(found, written, "blocks in the code (left), in docs/unsafe.md (right)");
}

#[test]
fn the_other_rooms_forbid_unsafe() {
    for room in map().keys() {
        let folder = if room == "recinto" { "src".into() } else { format!("crates/{room}/src") };
        let door = ["lib.rs", "main.rs"].map(|file| root().join(&folder).join(file));
        let door = door.iter().find(|path| path.exists()).expect("a lib.rs or a main.rs");
        let sign = match room.as_str() {
            "os" | "kernels" => "#![deny(unsafe_code)]",
            _ => "#![forbid(unsafe_code)]",
        };
        assert!(text(door).lines().any(|line| line == sign), "{room}: {sign}");
    }
}

#[test]
fn the_lines_that_open_unsafe() {
    let cases = [
        ("block", "    unsafe { f() }", true),
        ("block on the next line", "    let x = unsafe", true),
        ("impl", "unsafe impl Sync for X {}", true),
        ("function", "pub(crate) unsafe fn cut(&self) {", true),
        ("type of a function", "type F = unsafe fn(&[u8]);", false),
        ("comment", "// an unsafe { block }", false),
        ("text", r#"let x = "unsafe { }";"#, false),
        ("lint", "#![forbid(unsafe_code)]", false),
        ("another word", "let not_unsafe = 1;", false),
    ];
    for (name, line, want) in cases {
        assert_eq!(opens_unsafe(line), want, "{name}");
    }
}

#[test]
fn files_are_short_and_finished() {
    for path in sources() {
        let (name, source) = (path.display().to_string(), text(&path));
        let lines = source.lines().count();
        let exempt = LONG_FILES.contains(&name.as_str());
        assert!(lines <= LONGEST || exempt, "{name} has {lines} lines");
        for (at, line) in source.lines().enumerate() {
            let code = code(line);
            let unfinished = ["todo!", "unimplemented!"].iter().any(|mark| code.contains(mark));
            assert!(!unfinished, "{name}:{} is not finished", at + 1);
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for path in sources().iter().filter(|path| path.starts_with("crates")) {
        let source = text(path);
        let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        assert!(first.starts_with("//!"), "{} opens with {first:?}", path.display());
    }
}

#[test]
fn every_test_file_is_run() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for folder in crates.filter(|folder| folder.join("tests/all.rs").is_file()) {
        let manifest = text(folder.join("Cargo.toml"));
        assert!(manifest.contains("\nautotests = false\n"), "{}: linked twice", folder.display());
        let all = text(folder.join("tests/all.rs"));
        for entry in fs::read_dir(folder.join("tests")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let file = path.extension().is_some_and(|e| e == "rs");
            let said = all.lines().any(|line| line == format!("mod {name};"))
                || manifest.contains(&format!("path = \"tests/{name}.rs\""));
            assert!(!file || said, "{} is in neither all.rs nor Cargo.toml", path.display());
        }
    }
}

/// Headings by depth, and whole code blocks, in their order.
fn outline(page: &str) -> Vec<String> {
    let (mut found, mut block) = (Vec::new(), None::<String>);
    for line in page.lines() {
        match (&mut block, line.starts_with("```")) {
            (None, true) => block = Some(format!("{line}\n")),
            (Some(_), true) => found.extend(block.take()),
            (Some(block), false) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, false) if line.starts_with('#') => {
                let depth = line.bytes().take_while(|b| *b == b'#').count();
                found.push(format!("heading of depth {depth}"));
            }
            (None, false) => {}
        }
    }
    assert!(block.is_none(), "a code block is not closed");
    found
}

#[test]
fn both_readmes_say_the_same() {
    let (english, spanish) = (text("README.md"), text("README.es.md"));
    let (left, right) = (outline(&english), outline(&spanish));
    assert!(left.len() > 8, "README.md has headings and code");
    for (at, (english, spanish)) in left.iter().zip(&right).enumerate() {
        assert_eq!(english, spanish, "item {} of the two readmes", at + 1);
    }
    assert_eq!(left.len(), right.len(), "headings and code blocks");
    let table_rows = |page: &str| rows(page).count();
    assert_eq!(table_rows(&english), table_rows(&spanish), "rows of tables");
    let first = left.iter().find(|item| item.contains("make demo")).expect("make demo");
    assert!(first.find("make demo") < first.find("make test"), "demo first, then test");
}

#[test]
fn the_readme_has_the_exit_codes() {
    let codes = |page: &str| -> Vec<(u8, String)> {
        let page = text(page);
        rows(&page)
            .filter(|cells| cells.len() == 2)
            .filter_map(|cells| Some((cells[0].parse().ok()?, cells[1].to_owned())))
            .collect()
    };
    let (docs, english, spanish) =
        (codes("docs/exit-codes.md"), codes("README.md"), codes("README.es.md"));
    assert!(docs.len() > 5, "docs/exit-codes.md has its table");
    assert_eq!(english, docs);
    let numbers = |rows: Vec<(u8, String)>| rows.into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(numbers(spanish), numbers(docs));
}

#[test]
fn papers_are_in_order() {
    let licence = text("LICENSE");
    assert!(licence.contains("Apache License") && licence.contains("Version 2.0, January 2004"));
    assert!(licence.len() > 10_000, "the whole text of the licence");
    assert!(text("Cargo.toml").contains("license = \"Apache-2.0\""));
    for file in ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Cargo.lock", "docs/map.md"] {
        assert!(!text(file).trim().is_empty(), "{file}");
    }
    for room in map().keys().filter(|room| *room != "recinto") {
        let manifest = text(format!("crates/{room}/Cargo.toml"));
        for line in ["license.workspace = true", "publish.workspace = true"] {
            assert!(manifest.contains(line), "{room}: {line}");
        }
        let lints = manifest.contains("[lints]\nworkspace = true");
        assert!(lints, "{room}: the workspace's lints");
    }
}
