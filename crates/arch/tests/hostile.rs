//! Arch texts that mean harm, and arch folders: errors in bounded time, never a panic.

use crate::common;

use std::{fs, time::Instant};

use common::{key, tiny};
use recinto_arch::{ArchFile, Archs, Kind, Options, Origin, Program, compile};

const END: &str = "logits = linear x token_embd\noutput logits\n";
const HEAD: &str = "recinto-arch 1\narch tiny\n";

/// Checks and, if that passes, binds to a tiny model of eight values; the keys are let pass.
fn bound(text: &str) -> Result<Program, recinto_arch::Error> {
    let arch = ArchFile::new("hostile", text, Origin::BuiltIn)?;
    let wide: &[(&str, &[u64])] = &[("wide.weight", &[8, 4096])];
    let file = tiny("tiny", &[key("steps", 40u32)], wide);
    let allow_keys = file.metadata().iter().map(|(key, _)| key.to_owned()).collect();
    compile(&arch, &file, &Options { allow_keys })
}

#[test]
fn hostile_texts_end_in_errors() {
    let body = "x = embed token_embd\nlogits = linear x token_embd\noutput logits\nskip *\n";
    let blocks = |line: &str| format!("{HEAD}skip *\nx = embed token_embd\n{line}\n{END}");
    let nested = (0..30).fold("1".to_owned(), |inner, _| format!("(match t 1|0: {inner})"));
    let many = "x = silu x\n".repeat(900);
    let cases: Vec<(&str, String)> = vec![
        ("line of a megabyte", format!("{HEAD}a = {}\n{body}", "1".repeat(1 << 20))),
        ("comment of a megabyte", format!("{HEAD}# {}\n{body}", "ñ".repeat(1 << 19))),
        ("parentheses", format!("{HEAD}a = {}\n{body}", "(".repeat(990))),
        ("brackets unclosed", format!("{HEAD}a = {}\n{body}", "sqrt(".repeat(190))),
        ("signs", format!("{HEAD}a = {}1\n{body}", "-".repeat(990))),
        ("names in a ring", format!("{HEAD}a = b\nb = a\n{body}")),
        ("itself", format!("{HEAD}a = a\n{}", &blocks("x = scale x by=a")[HEAD.len()..])),
        ("nul", format!("{HEAD}a = 1\0\n{body}")),
        ("a thousand million", blocks("each layer count=1000000000\n x = silu x\nend")),
        ("negative count", blocks("each layer count=0-5\n x = silu x\nend")),
        ("steps times repeats", blocks(&format!("each part count=4096\n{many}end"))),
        (
            "rotary settings without end",
            blocks(
                "y = linear x wide\neach part count=4096\n  \
                 z = rope y base=2+part*1.5 size=4096 pairs=half\nend",
            ),
        ),
        (
            "overflow",
            format!(
                "{HEAD}a = 9000000000000000000 * 9\n{}",
                &blocks("x = scale x by=a")[HEAD.len()..]
            ),
        ),
        (
            "division by zero",
            format!("{HEAD}a = 1 / 0\n{}", &blocks("x = scale x by=a")[HEAD.len()..]),
        ),
        (
            "infinite",
            format!("{HEAD}a = 1e308 * 10.0\n{}", &blocks("x = scale x by=a")[HEAD.len()..]),
        ),
        (
            "root of minus one",
            format!("{HEAD}a = sqrt(0-1)\n{}", &blocks("x = scale x by=a")[HEAD.len()..]),
        ),
        (
            "table outside",
            format!("{HEAD}a = cycle 1 2\n{}", &blocks("x = scale x by=a")[HEAD.len()..]),
        ),
        ("brace", blocks("x = norm x '/{(((' eps=1")),
        ("brace with a name", blocks("x = norm x '/{nobody}' eps=1")),
        ("size zero", blocks("x = norm x eps=1 size=0")),
        ("huge size", blocks("x = norm x eps=1 size=9000000000000000000")),
        ("no heads", blocks("x = attend x x x heads=0 kv_heads=0")),
        ("many heads", blocks("x = attend x x x heads=4000000 kv_heads=4000000")),
        ("negative cap", blocks("x = softcap x cap=-1")),
        ("base one", blocks("x = rope x base=1 size=8 pairs=half")),
        ("path", format!("recinto-arch 1\narch /etc/passwd\n{body}")),
        ("two embeddings", format!("{HEAD}logits = norm x eps=1\n{body}")),
        ("no tokens", format!("{HEAD}output logits\n")),
        ("nothing", String::new()),
        ("only a mark", "\u{feff}".to_owned()),
        (
            "match in match",
            format!(
                "{HEAD}t = cycle 1 0\na = {nested}\nb = where a (match t 2: 1) else 0\n{}",
                &blocks("x = scale x by=b")[HEAD.len()..]
            ),
        ),
    ];
    for (name, text) in cases {
        let start = Instant::now();
        let error = bound(&text).err().unwrap_or_else(|| panic!("{name}: no error"));
        let shown = error.to_string();
        assert!(shown.len() < 2000, "{name}: {} bytes of error", shown.len());
        if name == "rotary settings without end" {
            assert!(shown.contains("rotary frequencies"), "{shown}");
        }
        assert!(start.elapsed().as_secs() < 5, "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn forms_settle_by_layer() {
    let by = |header: &str| {
        let text = format!(
            "{HEAD}{header}\nskip *\nx = embed token_embd\neach layer\n  x = scale x by=a\nend\n\
             logits = linear x token_embd\noutput logits\n"
        );
        let program = bound(&text).unwrap_or_else(|e| panic!("{header}: {e}"));
        let factor = |i: &recinto_arch::Instruction| match i.op {
            recinto_arch::Op::Map { map: recinto_arch::Map::Scale(by), .. } => Some(by),
            _ => None,
        };
        program.instructions.iter().filter_map(factor).collect::<Vec<f32>>()
    };
    let cases = [
        ("a = 2", [2.0, 2.0, 2.0]),
        ("a = steps / 8", [5.0; 3]),
        ("a = 1 / 8.0", [0.125; 3]),
        ("a = nothing else steps", [40.0; 3]),
        ("a = 'tiny.steps' - 2 * 3", [34.0; 3]),
        ("a = cycle 1 2", [1.0, 2.0, 1.0]),
        ("a = first 1 7 rest 3", [7.0, 3.0, 3.0]),
        ("a = first 1 7 1 8 rest 3", [7.0, 8.0, 3.0]),
        ("a = first 9 7 rest 3", [7.0; 3]),
        ("a = every 2 5 rest 1", [1.0, 5.0, 1.0]),
        ("a = where (cycle 0 1) 4 else 6", [6.0, 4.0, 6.0]),
        ("a = where pattern(3) 1 else 0", [1.0, 1.0, 0.0]),
        ("a = where pattern(1) 1 else 0", [0.0; 3]),
        ("a = where pattern(0) 1 else 0", [1.0; 3]),
        ("a = match steps 1: 2 40|41: 3 else 4", [3.0; 3]),
        ("a = match nothing 1: 2 else 4", [4.0; 3]),
        ("t = cycle 1 2\na = match t 1: t + 10 else (cycle 5 6 7)", [11.0, 6.0, 11.0]),
        ("t = cycle 1 2\na = t * (cycle 1 1 3) - 1", [0.0, 1.0, 2.0]),
        ("a = min(steps, 3) + max(1, 2.5) + floor(2.9) + sqrt(16)", [11.5; 3]),
        ("a = -(-3)", [3.0; 3]),
    ];
    for (header, want) in cases {
        assert_eq!(by(header), want, "{header}");
    }
}

#[test]
fn blocks_take_turns() {
    let text = format!(
        "{HEAD}kind = first 1 dense rest deep\nskip *\nx = embed token_embd\n\
         each layer kind=dense\n  x = scale x by=2\nend\n\
         each layer kind=deep\n  x = scale x by=3 + layer\n  x = silu x\nend\n\
         each part count=2 from=5\n  x = scale x by=part\nend\n\
         logits = linear x token_embd\noutput logits\n"
    );
    let program = bound(&text).unwrap();
    let got: Vec<(u32, Option<u32>)> =
        program.instructions.iter().map(|i| (i.line, i.layer)).collect();
    let want = [
        (5, None),
        (7, Some(0)),
        (10, Some(1)),
        (11, Some(1)),
        (10, Some(2)),
        (11, Some(2)),
        (14, Some(5)),
        (14, Some(6)),
        (16, None),
    ];
    assert_eq!(got, want);
}

#[test]
fn optional_tensors_and_requirements() {
    let with = |line: &str| {
        bound(&format!(
            "{HEAD}odd = cycle 0 1\n{line}\nlogits = linear x token_embd\noutput logits\nskip *\n"
        ))
    };
    let block =
        |norm: &str| format!("x = embed token_embd\neach layer\n x = scale x by=odd\n {norm}\nend");
    // `first_norm` is nowhere: a step that may miss its tensor leaves the register as it is.
    assert_eq!(with(&block("x = norm x first_norm? eps=1e-5")).unwrap().instructions.len(), 5);
    let error = with(&block("x = norm x first_norm? eps=1e-5 in=odd")).unwrap_err();
    assert!(error.to_string().contains("blk.0.first_norm.weight"), "{error}");
    let error = with(&block("x = norm x first_norm eps=1e-5")).unwrap_err();
    assert_eq!(error.kind(), Kind::MissingTensor);
    let named = with(&block("x = norm x none|'/output_norm.weight' eps=1e-5")).unwrap();
    assert_eq!(named.instructions.len(), 8);
    let error = with(&format!("require steps = 41\n{}", block("x = silu x"))).unwrap_err();
    assert!(error.to_string().contains("tiny.steps"), "{error}");
    with(&format!("require steps = 40\nrequire nobody = 3\n{}", block("x = silu x"))).unwrap();
}

/// Random slips in the shipped files: an error or a program, never a panic.
#[test]
fn mutations_never_panic() {
    let archs = Archs::built_in();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let bits: [&str; 16] = [
        "(",
        ")",
        "=",
        "|",
        "?",
        "'",
        "\"",
        "0",
        "9999999999",
        "-",
        "layer",
        "else",
        "\n",
        "ñ",
        "cycle ",
        "\0",
    ];
    let (mut good, mut bad) = (0, 0);
    for name in ["llama", "qwen2", "qwen3", "gemma3"] {
        let text: Vec<char> = archs.text(name).unwrap().chars().collect();
        let file = tiny(name, &[], &[]);
        for _ in 0..1500 {
            let mut chars = text.clone();
            for _ in 0..=random(3) {
                let at = random(chars.len());
                match random(4) {
                    0 => drop(chars.drain(at..(at + random(12)).min(chars.len()))),
                    1 => drop(chars.splice(at..at, bits[random(bits.len())].chars())),
                    2 => {
                        let other = (at * 7 + 3) % chars.len();
                        chars.swap(at, other);
                    }
                    _ => {
                        let part: Vec<char> =
                            chars[at..(at + random(40)).min(chars.len())].to_vec();
                        let to = random(chars.len());
                        drop(chars.splice(to..to, part));
                    }
                }
            }
            let text: String = chars.into_iter().collect();
            let bound = ArchFile::new(name, &text, Origin::BuiltIn)
                .and_then(|arch| compile(&arch, &file, &Options::default()));
            match bound {
                Ok(_) => good += 1,
                Err(error) => {
                    bad += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
    assert!(good > 0 && bad > 1000, "{good} good, {bad} bad");
}

#[test]
fn a_folder_adds_and_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let archs = Archs::built_in();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let llama = archs.text("llama").unwrap();
    put("llama.arch", format!("{llama}# mine\n").as_bytes());
    put("experts.arch", llama.replace("not expert_count", "expert_count").as_bytes());
    put("qwen2.arch", b"recinto-arch 1\narch qwen2\noops\n");
    put("latin1.arch", b"recinto-arch 1\n# a\xf1o\n");
    put("notes.txt", b"not an arch file");
    let archs = Archs::with_dir(folder.path()).unwrap();
    let listed: Vec<(&str, bool, bool)> =
        archs.list().map(|l| (l.name, l.replaces_built_in, l.error.is_some())).collect();
    let want = [
        ("bert", false, false),
        ("bert-checkpoint", false, false),
        ("experts", false, false),
        ("gemma3", false, false),
        ("latin1", false, true),
        ("laya", false, false),
        ("llama", true, false),
        ("modern-bert", false, false),
        ("qwen2", true, true),
        ("qwen3", false, false),
    ];
    assert_eq!(listed, want);
    assert!(archs.text("llama").unwrap().ends_with("# mine\n"));
    assert!(archs.get("latin1").unwrap_err().to_string().contains("not UTF-8 at byte 18"));
    // The conditions after `when` choose between two files of one architecture.
    assert_eq!(archs.find(&tiny("llama", &[], &[])).unwrap().name(), "llama");
    let experts = tiny("llama", &[key("expert_count", 8u32)], &[]);
    assert_eq!(archs.find(&experts).unwrap().name(), "experts");
    // A broken file takes the architecture away; the built-in one does not come back.
    let error = archs.find(&tiny("qwen2", &[], &[])).unwrap_err();
    assert!(error.to_string().contains("qwen2.arch:3"), "{error}");
    assert!(archs.get("qwen2").is_err() && archs.text("qwen2").is_err());
    let error = archs.get("qwen4").unwrap_err();
    assert!(error.to_string().contains("did you mean"), "{error}");
    // Two that match.
    put("also.arch", llama.as_bytes());
    let archs = Archs::with_dir(folder.path()).unwrap();
    let error = archs.find(&tiny("llama", &[], &[])).unwrap_err();
    assert!(error.to_string().contains("also.arch, llama.arch"), "{error}");
    // A broken file of another name that says it serves llama.
    put("also.arch", b"recinto-arch 1\narch llama\n(((\n");
    let archs = Archs::with_dir(folder.path()).unwrap();
    assert!(archs.find(&tiny("llama", &[], &[])).unwrap_err().to_string().contains("also.arch:3"));
    assert!(Archs::with_dir(&folder.path().join("nowhere")).is_err());
}
