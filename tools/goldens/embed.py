#!/usr/bin/env python3
"""Vectors of texts by BERT in plain numpy, float64: the truth for `recinto embed`.

Written from the paper (Devlin et al. 2018) and the shapes of the checkpoint, with a WordPiece of
its own for the tiny vocabulary; ids of the real model are made by it from `vocab.txt`.

  tools/goldens/embed.py tiny              writes tests/golden/embed/tiny-bert and tiny-bert.json
  tools/goldens/embed.py real FOLDER       writes tests/golden/embed/all-minilm-l6-v2.json
"""
import json, math, pathlib, struct, sys, unicodedata

import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/embed"
TEXTS = [
    "¿Dónde está mi pedido?",
    "Where is my order?",
    "El ñandú corre por la pampa.",
    "a",
    "The quick brown fox jumps over the lazy dog, twice; and then (again) it sleeps.",
    "[SEP] [MASK] are letters here",
    "one two three four five six seven eight nine ten " * 6,
]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TYPES = {"F32": (np.float32, 4), "F16": (np.float16, 2)}


def read(path):
    """Tensors of a safetensors file, and BF16 widened by hand."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] == "I64":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            wide = np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16
            value = wide.view(np.float32)
        else:
            value = np.frombuffer(data[begin:end], TYPES[entry["dtype"]][0])
        out[name] = value.reshape(entry["shape"]).astype(np.float64)
    return out


def words(text):
    """Lower case, no accents, punctuation apart; as BERT's uncased models were trained."""
    text = unicodedata.normalize("NFD", text.lower())
    out, word = [], ""
    for c in text:
        kind = unicodedata.category(c)
        if kind == "Mn":
            continue
        mark = kind.startswith("P") or (ord(c) < 128 and not c.isalnum() and not c.isspace())
        if c.isspace() or mark:
            out += [word] if word else []
            word = ""
            out += [c] if mark else []
        else:
            word += c
    return out + ([word] if word else [])


def encode(text, vocab):
    ids = [vocab["[CLS]"]]
    for word in words(text):
        start, pieces = 0, []
        while start < len(word):
            end = len(word)
            while end > start and ("##" if start else "") + word[start:end] not in vocab:
                end -= 1
            if end == start:
                pieces = [vocab["[UNK]"]]
                break
            pieces.append(vocab[("##" if start else "") + word[start:end]])
            start = end
        ids += pieces
    return ids + [vocab["[SEP]"]]


def bert(w, config, ids):
    erf = np.vectorize(math.erf)

    def norm(x, name):
        c = x - x.mean(-1, keepdims=True)
        y = c / np.sqrt((c * c).mean(-1, keepdims=True) + config["layer_norm_eps"])
        return y * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]
    n, heads = len(ids), config["num_attention_heads"]
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (linear(x, at + "attention.self." + part).reshape(n, heads, -1)
                   for part in ("query", "key", "value"))
        s = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        a = np.einsum("hqk,khd->qhd", p, v).reshape(n, -1)
        x = norm(x + linear(a, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        h = linear(x, at + "intermediate.dense")
        h = 0.5 * h * (1 + erf(h / math.sqrt(2)))
        x = norm(x + linear(h, at + "output.dense"), at + "output.LayerNorm")
    return x


def golden(w, config, vocab):
    rows = []
    for text in TEXTS:
        ids = encode(text, vocab)
        x = bert(w, config, ids)
        mean = x.mean(0)
        short = lambda v: [float("%.9g" % y) for y in v]
        rows.append({"text": text, "ids": ids, "mean": short(mean / np.linalg.norm(mean)),
                     "raw_mean": short(mean[:8]), "cls": short(x[0][:8]), "last": short(x[-1][:8])})
    return rows


def save(path, tensors, dtype):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in sorted(tensors.items()):
        if name.endswith("position_ids"):
            kind, raw = "I64", value.astype("<i8").tobytes()
        elif dtype == "BF16":
            kind, raw = "BF16", (value.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        else:
            kind, raw = dtype, value.astype("<f2" if dtype == "F16" else "<f4").tobytes()
        header[name] = {"dtype": kind, "shape": list(value.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def tiny():
    rng = np.random.RandomState(20261130)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,;()?¿[]"
    pieces = SPECIALS + list(letters) + ["##" + c for c in letters[:36]]
    pieces += ["the", "order", "where", "is", "my", "pedido", "##ing", "one", "two", "three"]
    vocab = {piece: at for at, piece in enumerate(pieces)}
    config = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 24,
              "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 40,
              "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
              "position_embedding_type": "absolute", "type_vocab_size": 2, "pad_token_id": 0,
              "vocab_size": len(pieces)}
    d, ff = config["hidden_size"], config["intermediate_size"]
    w = {"embeddings.word_embeddings.weight": rng.randn(len(pieces), d),
         "embeddings.position_embeddings.weight": 0.3 * rng.randn(512, d),
         "embeddings.token_type_embeddings.weight": 0.3 * rng.randn(2, d)}

    def dense(name, rows, cols):
        w[name + ".weight"] = rng.randn(rows, cols) / math.sqrt(cols)
        w[name + ".bias"] = 0.1 * rng.randn(rows)

    def norm(name):
        w[name + ".weight"], w[name + ".bias"] = 1 + 0.2 * rng.randn(d), 0.1 * rng.randn(d)
    norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            dense(at + "attention.self." + part, d, d)
        dense(at + "attention.output.dense", d, d)
        norm(at + "attention.output.LayerNorm")
        dense(at + "intermediate.dense", ff, d)
        dense(at + "output.dense", d, ff)
        norm(at + "output.LayerNorm")
    dense("pooler.dense", d, d)
    w["embeddings.position_ids"] = np.arange(512)[None]
    folder = OUT / "tiny-bert"
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    save(folder / "model.safetensors", w, "BF16")
    write = lambda name, value: (folder / name).write_text(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    write("config.json", config)
    write("1_Pooling/config.json", {"word_embedding_dimension": d, "pooling_mode_mean_tokens": True,
                                    "pooling_mode_cls_token": False})
    write("modules.json", [{"idx": at, "type": "sentence_transformers.models." + kind}
                           for at, kind in enumerate(["Transformer", "Pooling", "Normalize"])])
    special = lambda at: {"id": at, "content": SPECIALS[at], "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}
    one = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
           {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    two = one + [{"Sequence": {"id": "B", "type_id": 1}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    token = lambda text: {"id": text, "ids": [vocab[text]], "tokens": [text]}
    write("tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [special(at) for at in range(5)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": one, "pair": two,
                           "special_tokens": {"[CLS]": token("[CLS]"), "[SEP]": token("[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab}})
    dump("tiny-bert.json", golden(read(folder / "model.safetensors"), config, vocab))


def real(folder):
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    config = json.loads((folder / "config.json").read_text())
    vocab = {piece: at for at, piece in enumerate(pieces)}
    dump("all-minilm-l6-v2.json", golden(read(folder / "model.safetensors"), config, vocab))


def dump(name, rows):
    text = json.dumps({"numpy": np.__version__, "rows": rows}, ensure_ascii=False,
                      separators=(",", ":"))
    (OUT / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["tiny"]:
        tiny()
    elif sys.argv[1:2] == ["real"] and len(sys.argv) == 3:
        real(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
