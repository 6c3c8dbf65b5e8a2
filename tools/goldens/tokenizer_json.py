#!/usr/bin/env python3
"""Writes small tokenizer.json files and the ids that Hugging Face's library gives for them.

Needs tokenizers (0.23.2 was used) and gguf. Files are trained on our sentences, for each model and
for the steps that published files have; two large vocabularies are only read.
Usage: RECINTO_TEST_MODELS=… python3 tools/goldens/tokenizer_json.py
"""

import base64
import json
import os
import pathlib
import struct

import gguf
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

from tokenizer_texts import CORPUS, TEXTS

HERE = pathlib.Path(__file__).resolve().parents[2] / "crates/tokenizer/tests/golden/json"
SPLIT = pre_tokenizers.Split
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")


def charsmap(rules):
    """SentencePiece's map of characters from single characters to texts."""
    values, offsets = b"", {}
    for old, new in rules.items():
        offsets[old] = len(values)
        values += new.encode() + b"\0"
    # A double array by first fit over the tree of bytes.
    tree = {}
    for old in rules:
        node = tree
        for byte in old.encode():
            node = node.setdefault(byte, {})
        node[-1] = offsets[old]
    # Each node has an offset of its own, or labels would not tell whose children they are.
    units, used, bases = {0: 0}, {0}, set()

    def place(node, at):
        labels = sorted(0 if byte == -1 else byte for byte in node)
        base = 1
        while base in bases or any((base ^ label) in used for label in labels):
            base += 1
        bases.add(base)
        used.update(base ^ label for label in labels)
        units[at] = units.get(at, 0) | (base ^ at) << 10 | (256 if -1 in node else 0)
        if -1 in node:
            units[base] = 1 << 31 | node[-1]
        for byte, child in node.items():
            if byte != -1:
                units[base ^ byte] = byte
                place(child, base ^ byte)

    place(tree, 0)
    size = (max(units) | 255) + 1
    array = struct.pack(f"<{size}I", *(units.get(at, 0) for at in range(size)))
    return struct.pack("<I", len(array)) + array + values


def template(cls, sep, tokenizer, second):
    ids = [(cls, tokenizer.token_to_id(cls)), (sep, tokenizer.token_to_id(sep))]
    pair = f"{cls} $A {sep} $B:{second} {sep}:{second}"
    return processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=pair, special_tokens=ids)


def wordpiece(strip):
    out = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    out.normalizer = normalizers.BertNormalizer(lowercase=strip, strip_accents=None)
    out.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    out.train_from_iterator(CORPUS, trainer)
    out.post_processor = template("[CLS]", "[SEP]", out, 1)
    out.decoder = decoders.WordPiece()
    return out


def byte_level(pre, add_prefix_space, normalizer, specials):
    out = Tokenizer(models.BPE())
    out.normalizer = normalizer
    last = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=pre is None)
    out.pre_tokenizer = last if pre is None else pre_tokenizers.Sequence([*pre, last])
    trainer = trainers.BpeTrainer(
        vocab_size=450, special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    out.train_from_iterator(CORPUS, trainer)
    out.decoder = decoders.ByteLevel()
    return out


def roberta():
    out = byte_level(None, True, None, ["<s>", "<pad>", "</s>", "<unk>"])
    out.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    out.add_tokens([AddedToken("señal", single_word=True), AddedToken("  ", normalized=True)])
    out.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return out


def llama3():
    pre = [SPLIT(Regex(LLAMA3), "isolated")]
    out = byte_level(pre, False, None, ["<|begin|>", "<|end|>"])
    raw = json.loads(out.to_str())
    raw["model"]["ignore_merges"] = True
    out = Tokenizer.from_str(json.dumps(raw))
    ids = [("<|begin|>", 0)]
    out.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1",
                                      special_tokens=ids)])
    return out


def o200k():
    pre = [SPLIT(Regex(O200K), "removed", invert=True)]
    return byte_level(pre, False, normalizers.NFC(), ["<|end|>"])


def digits():
    pre = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation(),
           SPLIT("-", "merged_with_next"), SPLIT("/", "merged_with_previous"),
           SPLIT("=", "contiguous"), SPLIT("_", "removed")]
    norm = normalizers.Sequence([normalizers.NFKC(), normalizers.StripAccents(),
                                 normalizers.Lowercase()])
    return byte_level(pre, False, norm, ["<|end|>"])


def llama2(split):
    out = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if split:
        out.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        out.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    marks = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=650, special_tokens=["<unk>", "<s>", "</s>", *marks], max_token_length=12)
    out.train_from_iterator([line.replace(" ", "▁") for line in CORPUS], trainer)
    raw = json.loads(out.to_str())
    raw["added_tokens"] = raw["added_tokens"][:3]
    out = Tokenizer.from_str(json.dumps(raw))
    out.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    out.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return out


def unigram(bytes_too):
    out = Tokenizer(models.Unigram())
    rules = {"ﬁ": "fi", "\t": " ", "\n": " ", "\u3000": " ", "\u00a0": " ", "½": "1/2", "Ａ": "A",
             "…": "...", "e\u0301": "é", "\u200b": ""}
    steps = [normalizers.Precompiled(charsmap(rules)), normalizers.Replace(Regex(" {2,}"), " ")]
    if bytes_too:
        steps = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace("``", '"'),
                 normalizers.Strip(left=False, right=True)]
    out.normalizer = normalizers.Sequence(steps)
    meta = pre_tokenizers.Metaspace()
    out.pre_tokenizer = meta if bytes_too else pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), meta])
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=350, special_tokens=specials, unk_token="<unk>")
    out.train_from_iterator(CORPUS, trainer)
    if bytes_too:
        raw = json.loads(out.to_str())
        worst = min(score for _, score in raw["model"]["vocab"])
        raw["model"]["vocab"] += [[f"<0x{byte:02X}>", worst] for byte in range(256)]
        raw["model"]["byte_fallback"] = True
        out = Tokenizer.from_str(json.dumps(raw))
    out.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    out.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)])
    out.decoder = decoders.Metaspace()
    return out


SMALL = {
    "wordpiece-uncased": lambda: wordpiece(True),
    "wordpiece-cased": lambda: wordpiece(False),
    "bpe-roberta": roberta,
    "bpe-llama3": llama3,
    "bpe-o200k": o200k,
    "bpe-digits": digits,
    "bpe-llama2": lambda: llama2(False),
    "bpe-metaspace": lambda: llama2(True),
    "unigram-xlm": lambda: unigram(False),
    "unigram-bytes": lambda: unigram(True),
}
PAIRS = [("¿Qué hora es?", "Son las ocho."), ("uno", ""), ("Ñandú", "niño 中文")]


def rows(tokenizer):
    def in_bytes(text, offsets):
        at = [0]
        for c in text:
            at.append(at[-1] + len(c.encode()))
        return [[at[start], at[end]] for start, end in offsets]

    tokenizer.no_padding()
    tokenizer.no_truncation()
    out = {"ids": [], "offsets": [], "framed": [], "pairs": []}
    for text in TEXTS:
        plain = tokenizer.encode(text, add_special_tokens=False)
        out["ids"].append(plain.ids)
        out["offsets"].append(in_bytes(text, plain.offsets))
        out["framed"].append(tokenizer.encode(text).ids)
    for first, second in PAIRS:
        both = tokenizer.encode(first, second)
        out["pairs"].append([both.ids, both.type_ids])
    tokenizer.encode_special_tokens = True
    out["content"] = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    return out


def from_gguf(path):
    """The unigram vocabulary of a GGUF file, with the steps its authors publish."""
    fields = gguf.GGUFReader(path).fields

    def values(name):
        field = fields[f"tokenizer.ggml.{name}"]
        return [field.parts[at] for at in field.data]

    pieces = [bytes(part).decode() for part in values("tokens")]
    scores = [float(part[0]) for part in values("scores")]
    kinds = [int(part[0]) for part in values("token_type")]
    charsmap = bytes(int(part[0]) for part in values("precompiled_charsmap"))
    out = Tokenizer(models.Unigram(list(zip(pieces, scores)), kinds.index(2), False))
    out.normalizer = normalizers.Precompiled(charsmap)
    out.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    out.add_special_tokens([AddedToken(piece, lstrip=piece == "<mask>", normalized=False)
                            for piece, kind in zip(pieces, kinds) if kind in (2, 3)])
    out.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)])
    return out


def main():
    HERE.mkdir(exist_ok=True)
    golden = {"library": f"tokenizers {tokenizers.__version__}", "texts": TEXTS, "pairs": PAIRS,
              "files": {}, "models": {}}
    for name, make in SMALL.items():
        tokenizer = make()
        (HERE / f"{name}.json").write_text(tokenizer.to_str(pretty=False) + "\n")
        golden["files"][name] = rows(Tokenizer.from_file(str(HERE / f"{name}.json")))
    root = os.environ.get("RECINTO_TEST_MODELS", "")
    for name in ["all-minilm-l6-v2"]:
        path = os.path.join(root, name, "tokenizer.json")
        golden["models"][name] = {"path": f"{name}/tokenizer.json", **rows(Tokenizer.from_file(path))}
    path = "vocabs/ggml-vocab-nomic-bert-moe.gguf"
    golden["gguf"] = {"path": path, **rows(from_gguf(os.path.join(root, path)))}
    text = json.dumps(golden, ensure_ascii=True, separators=(",", ":"))
    (HERE / "ids.json").write_text(text + "\n")


main()
