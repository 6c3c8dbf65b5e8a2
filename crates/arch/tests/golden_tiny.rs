//! Every tiny model of the repo's goldens binds to its shipped file.

use std::path::Path;

use recinto_arch::{Archs, Options, compile};
use recinto_weights::File;

#[test]
fn tiny_models_bind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        recinto_testkit::skipped("tiny_models_bind", "tests/golden/tiny is not there");
        return;
    };
    let archs = Archs::built_in();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "gguf"));
    paths.sort();
    for path in paths {
        let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let bound = archs.find(&file).and_then(|arch| compile(arch, &file, &Options::default()));
        let program = bound.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(program.output.width, program.vocabulary, "{}", path.display());
    }
}
