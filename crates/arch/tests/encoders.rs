//! Arch files of models that read whole texts, bound to a tiny checkpoint: what is checked besides
//! what all files are held to.

use std::path::Path;

use recinto_arch::{ArchFile, Archs, Kind, Op, Options, Origin, OutputKind, Program, compile};
use recinto_weights::File;

fn tiny() -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert");
    File::open(&path).expect("a tiny checkpoint")
}

fn bound(text: &str) -> Result<Program, recinto_arch::Error> {
    let arch = ArchFile::new("mine", text, Origin::BuiltIn)?;
    compile(&arch, &tiny(), &Options::default())
}

fn bert() -> String {
    Archs::built_in().text("bert-checkpoint").unwrap().to_owned()
}

#[test]
fn a_checkpoint_is_bound() {
    let archs = Archs::built_in();
    let arch = archs.find(&tiny()).unwrap();
    assert_eq!(arch.name(), "bert-checkpoint");
    let program = compile(arch, &tiny(), &Options::default()).unwrap();
    assert!(program.whole && program.caches.is_empty() && !program.output.chosen);
    assert_eq!(program.output.kind, OutputKind::Hidden);
    assert_eq!((program.layers, program.types, program.context), (3, Some(2), Some(512)));
    let attends = |program: &Program| {
        program.instructions.iter().filter(|i| matches!(i.op, Op::AttendBoth { .. })).count()
    };
    assert_eq!(attends(&program), 3);
    // Fewer positions in the table than in the configuration.
    let offset = bert().replace("by=positions", "by=positions from=2");
    assert_eq!(bound(&offset).unwrap().context, Some(510));
    let chosen = bert().replace("hidden = scale x by=1", "x = rows x\nhidden = scale x by=1");
    assert!(bound(&chosen).unwrap().output.chosen);
}

#[test]
fn what_is_refused() {
    let last = "hidden = scale x by=1";
    let cases: [(&str, &str, &str, Kind, &str); 14] = [
        (
            "parts together and a reach",
            "kv_heads=heads",
            "kv_heads=heads reach=3 parts=together",
            Kind::Value,
            "and a reach",
        ),
        ("rows of two kinds", last, "y = rows x\nhidden = add x y", Kind::Shape, "chosen rows"),
        ("chosen twice", last, "y = rows x\nhidden = rows y", Kind::Shape, "chosen before"),
        (
            "attention to chosen rows",
            last,
            "y = rows x\nhidden = attend_both y y y heads=heads kv_heads=heads",
            Kind::Shape,
            "chosen before",
        ),
        (
            "both kinds of attention",
            last,
            "hidden = attend x x x heads=heads kv_heads=heads",
            Kind::Syntax,
            "`attend` beside steps that read whole texts",
        ),
        ("a slice beyond", last, "hidden = slice x from=20 width=5", Kind::Shape, "20 to 25 of"),
        ("an empty slice", last, "hidden = slice x from=0 width=0", Kind::Shape, "0 to 0"),
        ("heads that divide nothing", "heads=heads kv", "heads=5 kv", Kind::Shape, "5 heads over"),
        ("a row beyond the table", "by=positions", "by=positions from=512", Kind::Value, "row 512"),
        ("another word", "by=positions", "by=places", Kind::Unknown, "`by` is one of"),
        (
            "a prefix without quotes",
            "at='encoder.layer'|'bert.encoder.layer'",
            "at=encoder",
            Kind::Syntax,
            "single quotes",
        ),
        (
            "another prefix",
            "at='encoder.layer'|'bert.encoder.layer'",
            "at='x'",
            Kind::MissingTensor,
            "`x.0.attention.self.query.weight`",
        ),
        (
            "a tensor of numbers left over",
            " embeddings.position_ids",
            "",
            Kind::UnusedTensor,
            "position_ids",
        ),
        (
            "a key left over",
            "require config.hidden_act = \"gelu\"\n",
            "",
            Kind::UnusedKey,
            "bert.config.hidden_act",
        ),
    ];
    for (name, from, to, kind, says) in cases {
        let text = bert();
        assert!(text.contains(from), "{name}: {from}");
        let error = bound(&text.replace(from, to)).err().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    // A tensor that is there, but of a type that no step reads.
    let numbers = "'embeddings.position_ids'|bert";
    let text = bert().replace("embeddings.position_embeddings|bert", numbers);
    let error = bound(&text).err().unwrap();
    assert!(error.to_string().contains("stored as I64"), "{error}");
    // `ignore` lets a key pass, as a line of its own.
    let ignored = bert().replace("require config.hidden_act = \"gelu\"", "ignore config.hidden_*");
    assert!(bound(&ignored).is_ok());
}
