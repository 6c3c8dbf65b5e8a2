#!/usr/bin/env python3
"""Writes a checkpoint of random weights with the geometry of Laya, for measuring speed and for
holding int8 against f32 at the real size.

    bench/laya_sized.py FOLDER [--seed 1] [--layers 28] [--head-layers 2]

Needs the Python package `numpy`. FOLDER must not lie in this repository. The same seed writes the
same bytes. Nothing in it is trained, so its answers are noise; values have the size that
initialised transformers give them, and the scores of two options differ by about one, so that
probabilities are neither equal nor certain.

Geometry (configuration and tensors of the published English checkpoint of Laya): ModernBERT-large,
28 layers of width 1024, feed-forward 2624, 16 heads, 50368 pieces, local layers that see 64 tokens
to each side and a global one every third; a type embedding of 3 rows; 2 layers of a head with a
feed-forward of 4096; a scorer; a head of 256 for 2 actions: 421,293,827 weights in F16, and three
temperatures in F32.

Vocabulary: all bytes, seeded merges of them up to 50,280 pieces, then the specials. No real text is
in it, but it is one of the real size, and reading it costs what reading the real one costs.
"""
import argparse
import json
import math
import pathlib
import struct
import time

import numpy as np

from vocabulary import vocabulary

WIDTH, FFN, HEADS, VOCABULARY, OWN_FFN, ACTION, ACTIONS = 1024, 2624, 16, 50_368, 4096, 256, 2
PIECES = 50_280
SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
TEMPERATURE = [1.6369030475616455, 1.2514300346374512, 1.983399510383606]
# Rows that are made at once: memory stays near this times the bytes of a row.
ROWS = 8192


def tensors(layers, own):
    """Name, shape, standard deviation and mean of each tensor, in the file's order."""
    late = (2 * (layers + own)) ** -0.5

    def matrix(name, rows, cols, by=1.0):
        return name, (rows, cols), by * cols ** -0.5, 0.0

    def vector(name, size, mean=0.0, std=0.1):
        return name, (size,), std, mean

    yield "encoder.embeddings.tok_embeddings.weight", (VOCABULARY, WIDTH), 1.0, 0.0
    yield vector("encoder.embeddings.norm.weight", WIDTH, 1.0)
    for i in range(layers):
        at = f"encoder.layers.{i}."
        if i > 0:
            yield vector(at + "attn_norm.weight", WIDTH, 1.0)
        yield matrix(at + "attn.Wqkv.weight", 3 * WIDTH, WIDTH)
        yield matrix(at + "attn.Wo.weight", WIDTH, WIDTH, late)
        yield vector(at + "mlp_norm.weight", WIDTH, 1.0)
        yield matrix(at + "mlp.Wi.weight", 2 * FFN, WIDTH)
        yield matrix(at + "mlp.Wo.weight", WIDTH, FFN, late)
    yield vector("encoder.final_norm.weight", WIDTH, 1.0)
    yield "type_emb.weight", (3, WIDTH), 0.3, 0.0
    for i in range(own):
        at = f"head.layers.{i}."
        yield matrix(at + "self_attn.in_proj_weight", 3 * WIDTH, WIDTH)
        yield vector(at + "self_attn.in_proj_bias", 3 * WIDTH, std=0.02)
        yield matrix(at + "self_attn.out_proj.weight", WIDTH, WIDTH, late)
        yield vector(at + "self_attn.out_proj.bias", WIDTH, std=0.02)
        for norm in ("norm1", "norm2"):
            yield vector(at + norm + ".weight", WIDTH, 1.0)
            yield vector(at + norm + ".bias", WIDTH, std=0.02)
        yield matrix(at + "linear1.weight", OWN_FFN, WIDTH)
        yield vector(at + "linear1.bias", OWN_FFN, std=0.02)
        yield matrix(at + "linear2.weight", WIDTH, OWN_FFN, late)
        yield vector(at + "linear2.bias", WIDTH, std=0.02)
    yield vector("scorer.0.weight", WIDTH, 1.0)
    yield vector("scorer.0.bias", WIDTH, std=0.02)
    yield matrix("scorer.1.weight", WIDTH, WIDTH)
    yield vector("scorer.1.bias", WIDTH, std=0.02)
    # Markers of one text are much alike, so what tells them apart is made larger.
    yield matrix("scorer.3.weight", 1, WIDTH, 6.0)
    yield vector("scorer.3.bias", 1)
    yield matrix("act_head.0.weight", ACTION, WIDTH + 4)
    yield vector("act_head.0.bias", ACTION, std=0.02)
    yield matrix("act_head.2.weight", ACTIONS, ACTION)
    yield vector("act_head.2.bias", ACTIONS, std=0.02)


def weights(path, rng, rows):
    """A safetensors file: the length of its header, the header, the values."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _, _ in rows:
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    header["temperature"] = {"dtype": "F32", "shape": [3], "data_offsets": [at, at + 12]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape, std, mean in rows:
            for first in range(0, shape[0], ROWS):
                some = (min(ROWS, shape[0] - first), *shape[1:])
                values = rng.standard_normal(some, np.float32) * np.float32(std)
                (values + np.float32(mean)).astype("<f2").tofile(file)
        np.array(TEMPERATURE, "<f4").tofile(file)


def tokenizer(rng):
    pieces, merges = vocabulary(rng, PIECES)
    added = [{"id": PIECES + i, "content": text, "single_word": False, "lstrip": text == "[MASK]",
              "rstrip": False, "normalized": False, "special": True}
             for i, text in enumerate(SPECIALS)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    around = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
              {"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    ids = {text: {"id": text, "ids": [PIECES + SPECIALS.index(text)], "tokens": [text]}
           for text in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"}, "pre_tokenizer": byte_level,
        "post_processor": {"type": "TemplateProcessing", "single": around,
                           "pair": around + [{"Sequence": {"id": "B", "type_id": 0}}, around[2]],
                           "special_tokens": ids},
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": merges},
    }


def papers(rng, layers, own):
    """The small files, by their names."""
    kinds = ["full_attention" if i % 3 == 0 else "sliding_attention" for i in range(layers)]
    return {
        "rl_agent_config.json": {
            "encoder": "answerdotai/ModernBERT-large", "head_layers": own, "max_len": 512,
            "head_max_len": 192, "act_costs": {"escalate": 0.5}, "amp_dtype": "bf16",
            "temperature": TEMPERATURE,
            "temperature_by_options": {
                "choice:2": 1.9063563346862793, "choice:3-5": 1.7601518630981445,
                "choice:6-10": 1.0000158548355103, "choice:11+": 0.10058280825614929,
                "score:3-5": TEMPERATURE[1], "noul:2": TEMPERATURE[2]}},
        "encoder/config.json": {
            "architectures": ["ModernBertModel"], "model_type": "modernbert",
            "vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": FFN,
            "num_hidden_layers": layers, "num_attention_heads": HEADS,
            "hidden_activation": "gelu", "max_position_embeddings": 8192, "norm_eps": 1e-5,
            "norm_bias": False, "attention_bias": False, "mlp_bias": False,
            "local_attention": 128, "global_attn_every_n_layers": 3, "layer_types": kinds,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
            "pad_token_id": PIECES + 3, "cls_token_id": PIECES + 1, "sep_token_id": PIECES + 2,
            "dtype": "float32"},
        "tokenizer/tokenizer.json": tokenizer(rng),
        "tokenizer/tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "[CLS]",
            "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]",
            "unk_token": "[UNK]", "clean_up_tokenization_spaces": False,
            "model_max_length": 8192, "model_input_names": ["input_ids", "attention_mask"]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=28, help="of the encoder")
    parser.add_argument("--head-layers", type=int, default=2)
    args = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent.parent
    if here in [args.folder.resolve(), *args.folder.resolve().parents]:
        raise SystemExit(f"{args.folder} lies in the repository")
    start = time.perf_counter()
    rng = np.random.Generator(np.random.PCG64(args.seed))
    for name, value in papers(rng, args.layers, args.head_layers).items():
        path = args.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    rows = list(tensors(args.layers, args.head_layers))
    weights(args.folder / "model.safetensors", rng, rows)
    count = sum(math.prod(shape) for _, shape, _, _ in rows)
    size = (args.folder / "model.safetensors").stat().st_size
    seconds = time.perf_counter() - start
    print(f"{count:,} weights, {size:,} bytes in {args.folder}, {seconds:.0f} s")


if __name__ == "__main__":
    main()
