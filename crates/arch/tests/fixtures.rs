//! Arch texts with their expected errors (`tests/err`), and texts that are good (`tests/ok`).
//!
//! With `RECINTO_BLESS=1` the expected errors are written anew; read the difference.

use std::{fs, path::Path};

fn texts(folder: &str) -> Vec<(String, std::path::PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut out: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "arch"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    out.sort();
    assert!(!out.is_empty());
    out
}

#[test]
fn broken_files_give_their_error() {
    let bless = std::env::var_os("RECINTO_BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, path) in texts("err") {
        let text = fs::read_to_string(&path).unwrap();
        let error = match recinto_arch::check(&name, &text) {
            Ok(()) => panic!("{name}: no error"),
            Err(error) => format!("{error}\n"),
        };
        let expected = path.with_extension("txt");
        if bless {
            fs::write(&expected, &error).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if error != expected {
            wrong.push(format!("{name}\n--- expected\n{expected}--- got\n{error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_files_pass() {
    for (name, path) in texts("ok") {
        let text = fs::read_to_string(&path).unwrap();
        recinto_arch::check(&name, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn shipped_files_survive_windows_editors() {
    let archs = recinto_arch::Archs::built_in();
    for listed in archs.list() {
        let text = archs.text(listed.name).unwrap();
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        recinto_arch::check(listed.name, &windows).unwrap_or_else(|e| panic!("{e}"));
        // Where two files serve one architecture, the name of one says more.
        assert!(listed.serves.is_some_and(|serves| listed.name.starts_with(serves)));
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 180));
    }
}

/// The page on the format names every operation as the table has it.
#[test]
fn the_page_names_every_operation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/arch-format.md");
    let page = fs::read_to_string(page).unwrap();
    for operation in recinto_arch::operations() {
        // A bar in a table of Markdown must be escaped.
        let row = format!("| `{}` | {} |", operation.form.replace('|', "\\|"), operation.about);
        assert!(page.contains(&row), "missing row:\n{row}");
    }
}
