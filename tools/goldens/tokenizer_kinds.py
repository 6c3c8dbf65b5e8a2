#!/usr/bin/env python3
"""Writes crates/tokenizer/tests/golden/kinds.json: small vocabularies of every kind that GGUF files
have, and the ids an independent engine gives for them, and back; and for one vocabulary whose merges cross
every border, the ids under each word of `tokenizer.ggml.pre`.

Needs llama_cpp (0.3.36 was used), gguf, and for training tokenizers (0.23.2).
Usage: python3 tools/goldens/tokenizer_kinds.py > crates/tokenizer/tests/golden/kinds.json
"""

import base64
import ctypes
import itertools
import json
import os
import pathlib
import sys
import tempfile

import gguf
import llama_cpp
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokenizer_texts import CORPUS, TEXTS

NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
HERE = pathlib.Path(__file__).resolve().parents[2]
PRE = HERE / "crates/tokenizer/src/split/table.rs"
# Besides the sentences: what splitters differ in.
MORE = [
    "a" + " " * 700 + "b" + " " * 9, "uno dos tres 4 cinco\nseis siete/ocho/\n",
    "12345½678 a1b22",
    "IMGIMGABZ <sentinel:12> x\t    y  z", "中文abc'S 'tis É'll ÑU", "e\u0301a e\u0301 b ", "\n\n a\n\nb",
]
# Genes, and what is not quite one.
GENES = [
    "<dna>ACGTACGTACGT</dna>", "<dna>acgtACGGTaa</dna> y después, el niño.",
    "El gen <dna>CCCCCC</dna> y <dna>ccacaa</dna>; CCCCCC es texto.", "<dna>ACGTACG", "<dna>",
    "<dna></dna>", "</dna>ACGTAC<dna>AACCAA", "<dna>ACN-TAACCACC</dna>", "<dna>ñandú¿?</dna>ñ",
    "<dna>AC<dna>GT</dna>AC</dna>", "<DNA>ACGTAC</DNA> <dna >ACGTAC</dna>", "<oov> <unused_0>",
    "<dna>ACGTAC GTACGT\nAAAAAA</dna>", "<dna>ACGTAC<|im_end|>GTACGT</dna>",
    "a<dna>CA</dna><dna>CAA</dna>b", "ACGTAC\ue000<dna>ACGTAC\ue000</dna>",
]


def write(path, vocabulary):
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in vocabulary.items():
        key = f"tokenizer.ggml.{key}"
        if key.endswith("charsmap"):
            writer.add_array(key, bytes(value))
        elif isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for key in ["context_length", "embedding_length", "block_count", "feed_forward_length",
                "attention.head_count"]:
        writer.add_uint32(f"llama.{key}", 32)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def ids(vocabulary, texts, special):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "v.gguf")
        write(path, vocabulary)
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        model = llama_cpp.llama_model_load_from_file(path.encode(), params)
        if not model:
            raise SystemExit(f"{vocabulary['model']} {vocabulary.get('pre')} is refused")
        vocab = llama_cpp.llama_model_get_vocab(model)
        out = []
        for text in texts:
            data = text.encode()
            room = (ctypes.c_int * 8192)()
            count = llama_cpp.llama_tokenize(vocab, data, len(data), room, 8192, False, special)
            assert count >= 0
            out.append(list(room[:count]))
        back = []
        for row in out:
            room = ctypes.create_string_buffer(1 << 16)
            row = (ctypes.c_int * len(row))(*row)
            count = llama_cpp.llama_detokenize(
                vocab, row, len(row), room, len(room), False, special)
            assert count >= 0
            back.append(room.raw[:count].decode(errors="replace"))
        llama_cpp.llama_model_free(model)
        return out, back


def t5():
    raw = json.loads((HERE / "crates/tokenizer/tests/golden/json/unigram-xlm.json").read_text())
    rows = raw["model"]["vocab"]
    kinds = [NORMAL] * len(rows)
    for at, (piece, _) in enumerate(rows):
        if piece in ("<s>", "<pad>", "</s>"):
            kinds[at] = CONTROL
        if piece == "<unk>":
            kinds[at] = UNKNOWN
    charsmap = list(base64.b64decode(raw["normalizer"]["normalizers"][0]["precompiled_charsmap"]))
    names = [piece for piece, _ in rows]
    return {
        "model": "t5", "pre": "default", "tokens": [*names, "<mask>", "the lazy"],
        "scores": [*(float(score) for _, score in rows), 0.0, 0.0],
        "token_type": [*kinds, CONTROL, USER], "precompiled_charsmap": charsmap,
        "add_space_prefix": True, "remove_extra_whitespaces": True, "eos_token_id": 2,
        "unknown_token_id": 3, "add_bos_token": False, "add_eos_token": True,
    }


def words():
    out = {}
    for line in CORPUS:
        for word in line.split(" "):
            out[word] = out.get(word, 0) + 1
            out[" " + word] = out.get(" " + word, 0) + 1
    return [word for word in out if 1 < len(word) < 16]


def rwkv():
    def escaped(data):
        return repr(data)[2:-1]
    pieces = [escaped(bytes([byte])) for byte in range(256)]
    pieces += [escaped(word.encode()) for word in words()]
    pieces += [escaped("ñ".encode()[:1] + b""), escaped("¿".encode()), escaped(b"\n\n")][1:]
    pieces = list(dict.fromkeys(["<s>", *pieces]))
    kinds = [CONTROL] + [NORMAL] * (len(pieces) - 1)
    return {"model": "rwkv", "tokens": pieces, "token_type": kinds}


def plamo2():
    pieces = [("<|plamo:unk|>", 0.0, UNKNOWN), ("<|plamo:bos|>", 0.0, CONTROL),
              ("<|plamo:eos|>", 0.0, CONTROL), ("<|plamo:pad|>", 0.0, CONTROL)]
    pieces += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    pieces += [(c, -8.0, NORMAL) for c in "abcdefghijklmnopqrstuvwxyzáéíóúñ ,.¿?"]
    pieces += [(word, -3.0 - len(word) * 0.7, NORMAL) for word in words() if word.isascii()]
    pieces += [(word, -4.25 - at % 7, NORMAL) for at, word in enumerate(words())
               if not word.isascii()]
    return {"model": "plamo2", "tokens": [row[0] for row in pieces],
            "scores": [row[1] for row in pieces], "token_type": [row[2] for row in pieces]}


def trained(alphabet, pre, size):
    out = Tokenizer(models.BPE())
    if pre:
        out.pre_tokenizer = pre
    out.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, max_token_length=24, show_progress=False))
    raw = json.loads(out.to_str())["model"]
    tokens = sorted(raw["vocab"], key=raw["vocab"].get)
    return tokens, [" ".join(pair) for pair in raw["merges"]]


def whitespace():
    tokens, merges = trained([], pre_tokenizers.WhitespaceSplit(), 400)
    kinds = [NORMAL] * len(tokens)
    tokens += [f"<0x{byte:02X}>" for byte in range(256)] + ["[CLS]"]
    return {"model": "whitespace", "pre": "whitespace", "tokens": tokens, "merges": merges,
            "token_type": kinds + [BYTE] * 256 + [CONTROL], "normalizer.lowercase": True}


def hybriddna():
    """Some groups of six bases only: the others are unknown."""
    tokens, merges = trained(
        pre_tokenizers.ByteLevel.alphabet(), pre_tokenizers.ByteLevel(add_prefix_space=False), 420)
    for left, right in [("C", "C"), ("CC", "CC"), ("CCCC", "CC")]:
        merges.append(f"{left} {right}")
        tokens.append(left + right)
    kinds = [NORMAL] * len(tokens)
    groups = ["".join(bases) for bases in itertools.product("AC", repeat=6)]
    groups += ["ACGTAC", "GTACGT", "GTAAAA", "GAAAAA", "GTAAAA", "GGTAAA"]
    tokens += ["<|im_end|>", "<dna>", "</dna>", "<oov>"]
    tokens += [group + "\ue000" for group in dict.fromkeys(groups)] + ["<unused_0>"]
    kinds += [CONTROL] + [NORMAL] * (len(tokens) - len(kinds) - 1)
    return {"model": "hybriddna", "pre": "qwen2", "tokens": tokens, "merges": merges,
            "token_type": kinds}


def splitters():
    """No pre-tokenizer cut the text it was trained on: what a splitter cuts shows in the ids."""
    tokens, merges = trained(
        pre_tokenizers.ByteLevel.alphabet(),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), 1600)
    for run in (" ", "\n", "a"):
        letter = {" ": "Ġ", "\n": "Ċ"}.get(run, run)
        for power in range(1, 4):
            if letter * 2 ** power not in tokens:
                tokens.append(letter * 2 ** power)
                merges.append(f"{letter * 2 ** (power - 1)} {letter * 2 ** (power - 1)}")
    return {"model": "gpt2", "tokens": tokens, "merges": merges,
            "token_type": [NORMAL] * len(tokens)}


def pre_words():
    """The words of our own table, each of which the other engine must know too."""
    text = PRE.read_text()
    out = []
    for part in text.split("words: &[")[1:]:
        out += [word.strip().strip('"') for word in part.split("]")[0].split(",") if word.strip()]
    return sorted(set(out))


def main():
    golden = {"engine": f"llama_cpp {llama_cpp.__version__}", "texts": TEXTS, "kinds": {}}
    for make, more in [(t5, []), (rwkv, []), (plamo2, []), (whitespace, []), (hybriddna, GENES)]:
        vocabulary = make()
        (special, back), (plain, _) = (ids(vocabulary, TEXTS + more, way) for way in (True, False))
        row = {"vocabulary": vocabulary, "special": special, "plain": plain}
        if more:
            row |= {"more": more, "back": back}
        golden["kinds"][make.__name__] = row
    vocabulary = splitters()
    texts = TEXTS + MORE
    rows = {}
    for word in pre_words():
        if word in ("gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"):
            continue
        row = json.dumps(ids({**vocabulary, "pre": word}, texts, False)[0], separators=(",", ":"))
        rows.setdefault(row, []).append(word)
    golden["splitters"] = {
        "vocabulary": vocabulary, "texts": texts,
        "rows": [{"words": names, "ids": json.loads(row)} for row, names in rows.items()],
    }
    json.dump(golden, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main()
