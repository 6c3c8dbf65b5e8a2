//! Rules of tokenizers on vocabularies small enough to see.

use crate::common;

use common::{CONTROL, NORMAL, UNKNOWN, UNUSED, USER, build, byte_level, named, pieces, scored};
use recinto_testkit::gguf::Builder;
use recinto_tokenizer::{PieceKind, Tokenizer};

const TYPES: &str = "tokenizer.ggml.token_type";

const MARKS: &[(&str, i32)] = &[
    ("<|im_start|>", CONTROL),
    ("<|im_end|>", CONTROL),
    ("<think>", USER),
    ("</think>", USER),
    ("[TOOL]", USER),
    ("<td>", USER),
    ("    ", USER),
    ("ilÖveyou", USER),
    ("<reserved>", UNUSED),
    ("<|im", USER),
];

#[test]
fn merges_go_by_rank_and_then_from_the_left() {
    let merges =
        [("o", "l"), ("h", "o"), ("ho", "l"), ("ol", "a"), ("h", "ola"), ("a", "a"), ("aa", "aa")];
    let tokenizer = build(&byte_level("gpt-2", &merges, &[]));
    let cases: &[(&str, &str, &[&str])] = &[
        ("the better rank wins", "hola", &["hola"]),
        ("equal pairs from the left", "aaa", &["aa", "a"]),
        ("merged again", "aaaaa", &["aaaa", "a"]),
        ("nothing to merge", "xyz", &["x", "y", "z"]),
        ("a space belongs to the word after it", "h ola", &["h", "Ġ", "ola"]),
        ("bytes of ñ", "ñ", &["Ã", "±"]),
        ("empty", "", &[]),
    ];
    for (name, text, want) in cases {
        assert_eq!(pieces(&tokenizer, text), *want, "{name}");
    }
}

#[test]
fn content_never_makes_a_special() {
    let tokenizer = build(&byte_level("qwen2", &[("h", "i")], MARKS));
    let special = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "[TOOL]", "<reserved>"];
    for piece in special {
        let id = tokenizer.find(piece).expect(piece);
        assert!(tokenizer.is_special(id), "{piece}");
        let tokens = tokenizer.encode_plain(&format!("a{piece}b")).expect(piece);
        assert!(tokens.iter().all(|token| !tokenizer.is_special(token.id)), "{piece}");
    }
    for piece in ["<td>", "    ", "ilÖveyou"] {
        let id = tokenizer.find(piece).expect(piece);
        assert!(!tokenizer.is_special(id), "{piece}");
        let tokens = tokenizer.encode_plain(&format!("a{piece}b")).expect(piece);
        assert!(tokens.iter().any(|token| token.id == id), "{piece} is text that is matched");
    }
}

#[test]
fn content_is_where_the_ranges_say() {
    let tokenizer = build(&byte_level("qwen2", &[("h", "i"), ("i", "<")], MARKS));
    let text = "<|im_start|>hi<|im_end|>";
    let (start, end) = ("<|im_start|>", "<|im_end|>");
    // Without its control piece, `<|im_end|>` leaves room for the shorter `<|im`, which is text.
    let broken = ["hi", "<|im", "_", "e", "n", "d", "|", ">"];
    let broken = [&[start][..], &broken].concat();
    let whole = vec![start, "hi", end];
    struct Case<'c> {
        name: &'c str,
        content: &'c [(usize, usize)],
        want: &'c [&'c str],
    }
    let cases = [
        Case { name: "none", content: &[], want: &whole },
        Case { name: "the word", content: &[(12, 14)], want: &whole },
        Case { name: "one byte of the mark", content: &[(23, 24)], want: &broken },
        Case { name: "out of order, overlapping", content: &[(16, 24), (12, 18)], want: &broken },
        Case { name: "empty ranges", content: &[(16, 16), (24, 24)], want: &whole },
    ];
    for Case { name, content, want } in cases {
        let content: Vec<_> = content.iter().map(|(start, end)| *start..*end).collect();
        assert_eq!(named(&tokenizer, text, &content), want, "{name}");
    }
    for bad in [3..99, std::ops::Range { start: 5, end: 4 }] {
        let error = tokenizer.encode(text, std::slice::from_ref(&bad)).expect_err("bad range");
        assert_eq!(error.kind(), recinto_tokenizer::Kind::Argument, "{bad:?}");
    }
}

#[test]
fn words_merge_across_the_border_of_content() {
    let tokenizer = build(&byte_level("qwen2", &[("h", "o"), ("l", "a"), ("ho", "la")], MARKS));
    for content in [0..0, 0..2, 2..4, 1..3, 0..4] {
        let got = named(&tokenizer, "hola", std::slice::from_ref(&content));
        assert_eq!(got, ["hola"], "{content:?}");
    }
}

#[test]
fn longer_specials_win_anywhere() {
    let extra = [("<a>", CONTROL), ("<a><b>", CONTROL), ("><b><c", CONTROL), ("<c>", CONTROL)];
    let tokenizer = build(&byte_level("gpt-2", &[], &extra));
    let cases: &[(&str, &str, &[&str])] = &[
        ("longest", "<a><b>x", &["<a><b>", "x"]),
        ("equal lengths: the left one", "<a><b><c>", &["<a><b>", "<c>"]),
        ("not broken by a shorter one", "<a<a>", &["<", "a", "<a>"]),
        ("next to each other", "<a><a><c>", &["<a>", "<a>", "<c>"]),
    ];
    for (name, text, want) in cases {
        assert_eq!(pieces(&tokenizer, text), *want, "{name}");
    }
}

#[test]
fn merging_never_makes_a_special() {
    // Hostile or careless: the merges of a vocabulary spell a control piece.
    let merges = [("<", "x"), ("<x", ">")];
    let builder = byte_level("gpt3-finnish", &merges, &[]);
    let mut kinds = vec![NORMAL; 258];
    kinds[257] = CONTROL;
    let tokenizer = build(&builder.replace("tokenizer.ggml.token_type", kinds));
    let text = "<x>";
    assert_eq!(named(&tokenizer, text, &[]), ["<x>"], "as scaffold");
    assert_eq!(named(&tokenizer, text, std::slice::from_ref(&(0..3))), ["<x", ">"], "as content");

    let rows = [
        ("<", -1.0, NORMAL),
        ("/", -1.0, NORMAL),
        ("s", -1.0, NORMAL),
        (">", -1.0, NORMAL),
        ("</", -2.0, NORMAL),
        ("</s", -3.0, NORMAL),
    ];
    let tokenizer = build(&scored(&rows).key("tokenizer.ggml.add_space_prefix", false));
    assert_eq!(named(&tokenizer, "</s>", &[]), ["</s>"], "scored, as scaffold");
    let plain = named(&tokenizer, "</s>", std::slice::from_ref(&(0..4)));
    assert_eq!(plain, ["</s", ">"], "scored, as content");
}

/// A text and what it becomes as content; `None` is an error.
type Row<'r> = (&'r str, Option<&'r [&'r str]>);

fn as_content(name: &str, tokenizer: &recinto_tokenizer::Tokenizer, rows: &[Row<'_>]) {
    for (text, want) in rows {
        let got = tokenizer.encode_plain(text);
        match (got, want) {
            (Ok(tokens), Some(want)) => {
                let ids = tokens.iter().map(|token| token.id);
                let got: Vec<&str> = ids.clone().filter_map(|id| tokenizer.piece(id)).collect();
                assert_eq!(got, *want, "{name}: {text:?}");
                let special = |id| tokenizer.is_special(id) && tokenizer.piece(id) != Some("<unk>");
                assert!(!ids.clone().any(special), "{name}: {text:?}");
            }
            (Err(error), None) => {
                assert_eq!(error.kind(), recinto_tokenizer::Kind::Unencodable, "{name}: {error}");
            }
            (got, _) => panic!("{name}: {text:?}: {got:?}"),
        }
    }
}

#[test]
fn single_characters_are_guarded_too() {
    let rows = [("▁", -1.0, NORMAL), ("a", -1.0, NORMAL), ("§", 0.0, CONTROL), ("ñ", 0.0, CONTROL)];
    let bare = |builder: Builder| build(&builder.key("tokenizer.ggml.add_space_prefix", false));
    let scored_one = bare(scored(&rows));
    assert_eq!(pieces(&scored_one, "a§ñ"), ["a", "§", "ñ"], "as scaffold");
    as_content(
        "scored",
        &scored_one,
        &[("a§", Some(&["a", "<0xC2>", "<0xA7>"])), ("ñ", Some(&["<0xC3>", "<0xB1>"]))],
    );

    // No byte pieces: `b` is nothing but the end, `z` is not there at all.
    let few = |unknown: u32| {
        let builder = Builder::new()
            .key("tokenizer.ggml.model", "llama")
            .key("tokenizer.ggml.tokens", vec!["a", "b", "<unk>", "c"])
            .key("tokenizer.ggml.scores", vec![0f32; 4])
            .key(TYPES, vec![NORMAL, CONTROL, UNKNOWN, NORMAL])
            .key("tokenizer.ggml.eos_token_id", 3u32)
            .key("tokenizer.ggml.unknown_token_id", unknown);
        bare(builder)
    };
    let unknown = &["a", "<unk>"][..];
    let rows = [("a", Some(&["a"][..])), ("ab", Some(unknown)), ("ac", Some(unknown))];
    as_content("the piece for the unknown", &few(2), &rows);
    let rows = [("a", Some(&["a"][..])), ("ab", None), ("az", None), ("ac", None)];
    for (name, id) in [("unknown is a control", 1), ("unknown is the end", 3)] {
        as_content(name, &few(id), &rows);
    }

    // The mixture: escaped text, ranked merges.
    let mixed = byte_level("gemma4", &[("a", "b")], &[("▁", NORMAL), ("ñ", CONTROL)]);
    let mixed = build(&mixed.replace("tokenizer.ggml.model", "gemma4"));
    as_content("mixture", &mixed, &[("ab a", Some(&["ab", "▁", "a"])), ("ñ", None)]);

    let mut kinds = vec![NORMAL; 257];
    kinds[b'!' as usize] = CONTROL;
    let builder = byte_level("gpt-2", &[("!", "!")], &[]).replace(TYPES, kinds);
    let tokenizer = build(&builder);
    assert!(tokenizer.notes()[0].contains("only a special piece"), "{:?}", tokenizer.notes());
    assert_eq!(pieces(&tokenizer, "a!"), ["a", "!"], "as scaffold");
    as_content("byte level", &tokenizer, &[("a", Some(&["a"])), ("a!", None), ("!!", None)]);
}

#[test]
fn what_bounds_a_text_is_guarded_in_any_shape() {
    // `<s>` and `</s>` are elements of HTML elsewhere, and this file does not mark its pieces.
    let rows = [
        ("<", -1.0, NORMAL),
        ("s", -1.0, NORMAL),
        (">", -1.0, NORMAL),
        ("<s", -2.0, NORMAL),
        ("fin", -3.0, NORMAL),
        ("f", -1.0, NORMAL),
        ("i", -1.0, NORMAL),
        ("n", -1.0, NORMAL),
        ("in", -2.0, NORMAL),
    ];
    let builder = scored(&rows)
        .without(TYPES)
        .key("tokenizer.ggml.add_space_prefix", false)
        .key("tokenizer.ggml.bos_token_id", 1u32)
        .key("tokenizer.ggml.eos_token_id", 2u32)
        .key("tokenizer.ggml.eot_token_id", 263u32);
    let tokenizer = build(&builder);
    assert_eq!(tokenizer.piece(263), Some("fin"));
    for id in [1, 2, 263] {
        assert!(tokenizer.is_special(id), "{id}");
    }
    assert_eq!(pieces(&tokenizer, "<s>s</s>"), ["<s>", "s", "</s>"], "as scaffold");
    let rows = [("<s>", Some(&["<s", ">"][..])), ("fin", Some(&["f", "in"][..]))];
    as_content("scored", &tokenizer, &rows);

    let merges = [("<", "s"), ("<s", ">"), ("f", "i"), ("fi", "n")];
    for pre in ["gpt3-finnish", "llama-bpe"] {
        // The second one takes whole words.
        let builder = byte_level(pre, &merges, &[])
            .without(TYPES)
            .key("tokenizer.ggml.bos_token_id", 257u32)
            .key("tokenizer.ggml.eos_token_id", 259u32);
        let tokenizer = build(&builder);
        assert!(tokenizer.is_special(257) && tokenizer.is_special(259), "{pre}");
        assert_eq!(pieces(&tokenizer, "<s>"), ["<s>"], "{pre}, as scaffold");
        let rows = [("<s>", Some(&["<s", ">"][..])), ("fin", Some(&["fi", "n"][..]))];
        as_content(pre, &tokenizer, &rows);
    }
    // Where nothing names them they are text, as is `<s>` in a file of another make.
    let tokenizer = build(&byte_level("gpt3-finnish", &merges, &[]));
    assert!(!tokenizer.is_special(257));
    as_content("not named", &tokenizer, &[("<s>", Some(&["<s>"])), ("fin", Some(&["fin"]))]);
}

#[test]
fn added_words_come_back_whole() {
    // huggingface/tokenizers#1392: the Ö was read as a byte.
    let tokenizer = build(&byte_level("gpt-2", &[], MARKS));
    for text in ["ilÖveyou", "¿ilÖveyou? sí, ilÖveyou", "Öl"] {
        let ids: Vec<u32> =
            tokenizer.encode(text, &[]).expect(text).iter().map(|token| token.id).collect();
        assert_eq!(tokenizer.decode(&ids).expect(text), text);
    }
}

#[test]
fn no_bos_without_a_key() {
    // ggml-org/llama.cpp#7898: BOS fell back to id 11, which is a comma.
    let tokenizer = build(&byte_level("qwen2", &[], MARKS));
    assert_eq!((tokenizer.bos(), tokenizer.add_bos()), (None, false));
    let tokenizer = build(&byte_level("llama-bpe", &[], MARKS));
    assert_eq!((tokenizer.bos(), tokenizer.add_bos()), (None, false), "asked for, but not named");
    assert_eq!(tokenizer.notes().len(), 1, "{:?}", tokenizer.notes());
    let with = byte_level("llama-bpe", &[], MARKS).key("tokenizer.ggml.bos_token_id", 256u32);
    let tokenizer = build(&with);
    assert_eq!((tokenizer.bos(), tokenizer.add_bos()), (Some(256), true));
    let off = build(&with.key("tokenizer.ggml.add_bos_token", false));
    assert!(!off.add_bos());
}

#[test]
fn ends_are_found_by_key_and_by_piece() {
    let extra = [
        ("<|im_end|>", USER),
        ("</s>", NORMAL),
        ("fin", NORMAL),
        ("<|eom_id|>", CONTROL),
        ("<|file_sep|>", USER),
    ];
    let tokenizer =
        build(&byte_level("gpt-2", &[], &extra).key("tokenizer.ggml.eos_token_id", 258u32));
    assert_eq!(tokenizer.ends(), [256, 257, 258, 259, 260]);
    assert_eq!(tokenizer.eos(), Some(258));
    assert_eq!(tokenizer.kind(257), Some(PieceKind::Control), "wrongly marked in the file");
    // Where calls and returns have marks of their own, <|end|> ends a message, not a reply.
    let extra = [("<|end|>", CONTROL), ("<|return|>", CONTROL), ("<|call|>", CONTROL)];
    assert_eq!(build(&byte_level("gpt-4o", &[], &extra)).ends(), [257, 258]);
}

#[test]
fn spaces_of_scored_vocabularies() {
    let rows = [
        ("▁", -1.0, NORMAL),
        ("a", -2.0, NORMAL),
        ("▁a", -3.0, NORMAL),
        ("b", -4.0, NORMAL),
        ("ab", -1.5, NORMAL),
        ("▁▁", -9.0, NORMAL),
    ];
    let prefix = build(&scored(&rows));
    let bare = build(&scored(&rows).key("tokenizer.ggml.add_space_prefix", false));
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("one word", "a", &["▁a"], &["a"]),
        ("a better score wins", "ab", &["▁", "ab"], &["ab"]),
        ("runs of spaces", "  b", &["▁▁", "▁", "b"], &["▁▁", "b"]),
        ("bytes where no piece is", "ñ", &["▁", "<0xC3>", "<0xB1>"], &["<0xC3>", "<0xB1>"]),
        (
            "the prefix comes after every special",
            "<s>a</s>b",
            &["<s>", "▁a", "</s>", "▁", "b"],
            &["<s>", "a", "</s>", "b"],
        ),
        (
            "a byte piece is never spelled",
            "<0x0A>",
            &["▁", "<0x3C>", "<0x30>", "<0x78>", "<0x30>", "<0x41>", "<0x3E>"],
            &["<0x3C>", "<0x30>", "<0x78>", "<0x30>", "<0x41>", "<0x3E>"],
        ),
    ];
    for (name, text, with, without) in cases {
        assert_eq!(pieces(&prefix, text), *with, "{name}");
        assert_eq!(pieces(&bare, text), *without, "{name}, no prefix");
        for tokenizer in [&prefix, &bare] {
            let tokens = tokenizer.encode(text, &[]).expect(name);
            let mut at = 0;
            for token in tokens.iter() {
                assert!(token.start == at && token.end >= token.start, "{name}: {token:?}");
                at = token.end;
            }
            assert_eq!(at as usize, text.len(), "{name}");
        }
    }
    assert_eq!((prefix.bos(), prefix.eos(), prefix.add_bos()), (Some(1), Some(2), true));
    assert_eq!(prefix.kind(3), Some(PieceKind::Byte));
}

#[test]
fn white_space_after_specials_of_phi_3() {
    let rows = [
        ("<|user|>", 0.0, CONTROL),
        ("▁", -1.0, NORMAL),
        ("a", -2.0, NORMAL),
        ("▁a", -3.0, NORMAL),
    ];
    let builder = scored(&rows);
    let text = "<|user|>\n a<s> a";
    let plain = build(&builder);
    assert_eq!(pieces(&plain, text), ["<|user|>", "▁", "<0x0A>", "▁a", "<s>", "▁", "▁a"]);
    let strips = build(&builder.key("general.name", "Phi-3 mini"));
    assert_eq!(pieces(&strips, text), ["<|user|>", "▁a", "<s>", "▁", "▁a"]);
    let tokens = strips.encode(text, &[]).expect("encodes");
    assert_eq!((tokens[0].start, tokens[0].end), (0, 10), "its range holds what it swallowed");
}

/// A vocabulary that is longer than the embedding, as files with an image tower have it.
#[test]
fn pieces_without_a_row_are_never_made() {
    let merges = [("a", "b"), ("ab", "c")];
    let marks = [("<image>", CONTROL), ("palabra", USER)];
    let builder = byte_level("default", &merges, &marks);
    let file = recinto_weights::File::from_bytes(builder.build()).unwrap();
    let with = |rows| Tokenizer::with_rows(file.metadata(), rows).unwrap();
    let ids = |tokenizer: &Tokenizer, text: &str, content: &[std::ops::Range<usize>]| {
        let tokens = tokenizer.encode(text, content).unwrap();
        tokens.iter().map(|token| token.id).collect::<Vec<_>>()
    };
    // Rows, and the ids of `abc`: the second merge gives id 257, the marks are 258 and 259.
    let cases: [(usize, &[u32], usize); 5] = [
        (400, &[257], 0),
        (260, &[257], 0),
        (258, &[257], 1),
        (257, &[256, 99], 1),
        (256, &[97, 98, 99], 1),
    ];
    for (rows, want, notes) in cases {
        let tokenizer = with(rows);
        assert_eq!(ids(&tokenizer, "abc", &[]), want, "{rows} rows");
        let said = tokenizer.notes().iter().filter(|note| note.contains("no row"));
        assert_eq!(said.count(), notes, "{rows} rows: {:?}", tokenizer.notes());
        let text = "palabra <image> ñ";
        let content = ids(&tokenizer, text, std::slice::from_ref(&(0..text.len())));
        assert!(content.iter().all(|id| (*id as usize) < rows), "{rows} rows: {content:?}");
        assert_eq!(tokenizer.decode(&content).unwrap(), text, "{rows} rows");
        // In scaffold the mark keeps its id: as text it would be read wrongly.
        assert!(ids(&tokenizer, "<image>", &[]) == [258], "{rows} rows");
        assert_eq!(tokenizer.size(), 260);
    }
    let notes = with(257).notes().to_vec();
    assert!(notes.contains(&"3 pieces from id 257 on have no row in the embedding".into()));
    // Scored vocabularies: `ab` has id 259, and is the last.
    let builder = scored(&[("ab", -1.0, NORMAL)]);
    let file = recinto_weights::File::from_bytes(builder.build()).unwrap();
    for (rows, made) in [(260, true), (259, false)] {
        let tokenizer = Tokenizer::with_rows(file.metadata(), rows).unwrap();
        let tokens = tokenizer.encode("ab", &[]).unwrap();
        assert_eq!(tokens.iter().any(|token| token.id == 259), made, "{rows} rows");
    }
}

/// Old files of Llama 3: no word for the splitter, and an EOS that ends texts, not turns.
#[test]
fn llama_3_is_known_by_its_marks() {
    let marks = [
        ("<|begin_of_text|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
        ("<|start_header_id|>", CONTROL),
        ("<|end_header_id|>", CONTROL),
        ("<|eot_id|>", CONTROL),
    ];
    // Llama 3 keeps a space with the marks behind it, the default does not.
    let merges = [(" ", "!")];
    let builder = byte_level("llama-bpe", &merges, &marks)
        .key("tokenizer.ggml.bos_token_id", 257u32)
        .key("tokenizer.ggml.eos_token_id", 258u32);
    let stated = build(&builder);
    let left_out = build(&builder.without("tokenizer.ggml.pre"));
    for tokenizer in [&stated, &left_out] {
        assert_eq!(pieces(tokenizer, "a !"), ["a", "Ġ!"]);
        assert_eq!(tokenizer.describe().pre, "llama-bpe");
        assert_eq!(tokenizer.ends(), [258, 261], "end of text and end of turn");
        assert!(tokenizer.add_bos());
    }
    assert!(stated.notes().is_empty(), "{:?}", stated.notes());
    let want = "no pre-tokenizer is named; `<|begin_of_text|>` tells it is `llama-bpe`";
    assert_eq!(left_out.notes(), [want]);
    // One mark alone tells nothing.
    let builder = byte_level("x", &merges, &marks[..1]).without("tokenizer.ggml.pre");
    let other = build(&builder);
    assert_eq!(pieces(&other, "a !"), ["a", "Ġ", "!"]);
    assert_eq!(other.describe().pre, "default");
}
