//! Where each splitter cuts, in sentences one can read.

use super::{Chars, TABLE, Wiped, cut, find};

fn split(word: &str, text: &str) -> Vec<String> {
    let mut chars = Chars::default();
    chars.read(text);
    let mut ends = Wiped::default();
    cut(&chars, find(word).expect(word).stages, &mut ends);
    let mut start = 0;
    let mut out = Vec::new();
    for end in ends.iter() {
        let end = chars.byte(*end) as usize;
        out.push(text[start..end].to_owned());
        start = end;
    }
    assert_eq!(start, text.len(), "{word} loses the end of {text:?}");
    out
}

#[test]
fn cuts() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("gpt-2", "¿Qué año? It's 2024", &["¿", "Qué", " año", "?", " It", "'s", " 2024"]),
        ("gpt-2", "a  b \n c", &["a", " ", " b", " \n", " c"]),
        ("gpt-2", "IT'S", &["IT", "'", "S"]),
        ("smollm", "año 2024!", &["año", " ", "2", "0", "2", "4", "!"]),
        ("llama-bpe", "IT'S 12345\n\n x", &["IT", "'S", " ", "123", "45", "\n\n", " x"]),
        ("llama-bpe", "(año);\r\nfin", &["(año", ");\r\n", "fin"]),
        ("qwen2", "n=42", &["n", "=", "4", "2"]),
        ("qwen2", "e\u{301}a", &["e", "\u{301}a"]),
        ("qwen35", "e\u{301}a", &["e\u{301}a"]),
        ("seed-coder", "x;\n", &["x", ";", "\n"]),
        ("ufakzeka", "I'm", &["I", "'m"]),
        ("laguna", "a;\nb", &["a", ";", "\n", "b"]),
        ("gpt-4o", "helloWorld ABCdef", &["hello", "World", " ABCdef"]),
        ("gpt-4o", "it's a/b 1234", &["it's", " a", "/b", " ", "123", "4"]),
        ("gpt-4o", "ÉAB", &["É", "AB"]),
        ("tekken", "it's 12", &["it", "'s", " ", "1", "2"]),
        ("deepseek-llm", "Cửa Việt\n", &["C", "ử", "a", " Vi", "ệ", "t", "\n"]),
        ("deepseek-coder", "x = 10.", &["x", " = ", "1", "0", "."]),
        ("deepseek-v3", "año中文 1234", &["año", "中文", " ", "123", "4"]),
        ("falcon", "a+b 1234", &["a", "+", "b", " ", "123", "4"]),
        ("bloom", "hola, que (tal)", &["hola", ",", " que", " (", "tal", ")"]),
        ("afmoe", "1234567", &["1", "234", "567"]),
        ("gemma4", "dos\n\nlíneas", &["dos", "\n\n", "líneas"]),
        ("sarvam-moe", "dos\n\nlíneas", &["dos", "\n\n", "líneas"]),
        ("jais-2", "a       b", &["a", "    ", "  ", " b"]),
        ("jais-2", "a  1 \n  b", &["a", " ", " ", "1", " \n", " ", " b"]),
        ("exaone-moe", "uno dos 12 a\n/x", &["uno dos", " ", "1", "2", " a", "\n", "/x"]),
        ("exaone-moe", "¿qué es e\u{301} ?/a", &["¿qué es e\u{301}", " ?/", "a"]),
        ("kimi-k2", "Hola中文's 1234", &["Hola", "中文", "'s", " ", "123", "4"]),
        ("kimi-k2", "año's\n\n b", &["año's", "\n\n", " b"]),
        ("superbpe", "un año 12345 b", &["un año ", "12", "345", " b"]),
        (
            "chameleon",
            "x    y<sentinel:12>",
            &["x", "    ", "y", "<", "sentinel", ":", "1", "2", ">"],
        ),
        ("whitespace", " uno  dos", &[" ", "uno", "  ", "dos"]),
    ];
    for (word, text, want) in cases {
        assert_eq!(split(word, text), *want, "{word}: {text:?}");
    }
}

#[test]
fn words_are_unique() {
    let mut words: Vec<&str> = TABLE.iter().flat_map(|pre| pre.words).copied().collect();
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all);
    for (at, pre) in TABLE.iter().enumerate() {
        assert!(!pre.words.is_empty(), "row {at} has no word");
    }
}

#[test]
fn classes_have_the_age_of_the_reference() {
    use super::chars::{L, N, S, W, bits};
    for (c, want) in [('ñ', L), ('½', N), ('€', S), ('\u{3000}', W), ('\u{85}', W)] {
        assert_eq!(bits(c), want, "{c:?}");
    }
    // Assigned in Unicode 16.
    assert_eq!(bits('\u{1c89}'), 0);
    for code in 0..128u8 {
        let c = char::from(code);
        let mut chars = Chars::default();
        chars.read(&c.to_string());
        assert_eq!(chars.part(0, 1).bits(0), bits(c), "{c:?}: the ASCII table");
    }
}
