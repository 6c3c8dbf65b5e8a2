#!/usr/bin/env python3
"""Writes a file of 3 billion weights with the geometry of Qwen2.5-3B, for measuring speed only.

    bench/three_billion.py OUT.gguf [--seed 1] [--layers 36]

Needs the Python packages `gguf` and `numpy`. OUT must not lie in this repository. The weights are
random, so the model answers noise; they are of ordinary size, so that no value overflows and no
kernel meets numbers it would not meet otherwise. The same seed writes the same bytes.

Geometry (the `config.json` of Qwen/Qwen2.5-3B: hidden_size 2048, num_hidden_layers 36,
num_attention_heads 16, num_key_value_heads 2, intermediate_size 11008, vocab_size 151936,
tie_word_embeddings, rope_theta 1000000, rms_norm_eps 1e-6, max_position_embeddings 32768; biases
on q, k and v): 2.77 billion weights in the layers and 0.31 in the table, as its authors state.

Storage types as llama.cpp chooses them for Q4_K_M with a tied head: the table in Q6_K; of each
layer `attn_v` and `ffn_down` in Q6_K where the layer is among the first or the last eighth or
every third between, in Q4_K elsewhere; all other matrices in Q4_K; norms and biases in F32.

Vocabulary: all bytes, seeded merges of them up to 151,643 pieces, then 293 specials. No real
text is in it, but it is a valid one of the real size, and loading it costs what loading a real
one costs.
"""
import argparse
import pathlib
import time

import gguf
import numpy as np

from vocabulary import vocabulary

DIM, HEADS, KV_HEADS, HEAD, FFN = 2048, 16, 2, 128, 11008
PIECES, SPECIALS = 151_643, 293
Q4_K, Q6_K, F32 = (gguf.GGMLQuantizationType[name] for name in ("Q4_K", "Q6_K", "F32"))
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + "
            "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}"
            "{{ '<|im_start|>assistant\\n' }}{% endif %}")
# Rows that are made at once: memory stays near this times the bytes of a row.
ROWS = 4096


def half(values):
    """Bytes of half floats, two a value."""
    return values.astype("<f2").view(np.uint8).reshape(*values.shape, 2)


def q4_k(rng, blocks, std):
    """Blocks of 256 values: d · scale · (q − 7.5), with scales from 32 to 63."""
    out = np.empty((blocks, 144), np.uint8)
    out[:, 16:] = np.frombuffer(rng.bytes(blocks * 128), np.uint8).reshape(blocks, 128)
    scale = rng.integers(32, 64, (blocks, 8), np.uint8)
    # A uniform q has a standard deviation of 4.61; the scales' mean square is 48.4².
    d = np.full(blocks, std / (4.61 * 48.4)) * rng.uniform(0.8, 1.2, blocks)
    out[:, 0:2] = half(d)
    out[:, 2:4] = half(7.5 * d)
    # Six bits of scale and of minimum (here the same) of eight parts in twelve bytes.
    low, high = scale[:, :4], scale[:, 4:]
    out[:, 4:8] = out[:, 8:12] = (low & 63) | (high >> 4) << 6
    out[:, 12:16] = (high & 15) | (high & 15) << 4
    return out


def q6_k(rng, blocks, std):
    """Blocks of 256 values: d · scale · (q − 32), with scales from 64 to 127."""
    out = np.empty((blocks, 210), np.uint8)
    out[:, :192] = np.frombuffer(rng.bytes(blocks * 192), np.uint8).reshape(blocks, 192)
    out[:, 192:208] = rng.integers(64, 128, (blocks, 16), np.uint8)
    # A uniform q has a standard deviation of 18.5; the scales' mean square is 97².
    out[:, 208:] = half(np.full(blocks, std / (18.5 * 97)) * rng.uniform(0.8, 1.2, blocks))
    return out


MAKE = {Q4_K: (q4_k, 144), Q6_K: (q6_k, 210)}


class Tensors:
    """Names, shapes and makers of all tensors, in the file's order."""

    def __init__(self, layers):
        self.rows = []
        # It is the head too: logits of a few units.
        self.matrix("token_embd", PIECES + SPECIALS, DIM, Q6_K, 2.5 * DIM ** -0.5)
        # What each layer adds to the sum that runs through all is kept small.
        late = (2 * layers) ** -0.5
        for i in range(layers):
            more = Q6_K if (i < layers // 8 or i >= 7 * layers // 8
                            or (i - layers // 8) % 3 == 2) else Q4_K
            name = f"blk.{i}."
            self.vector(name + "attn_norm.weight", DIM, 1.0, 0.1)
            self.matrix(name + "attn_q", HEADS * HEAD, DIM, Q4_K, DIM ** -0.5)
            self.vector(name + "attn_q.bias", HEADS * HEAD, 0.0, 0.1)
            self.matrix(name + "attn_k", KV_HEADS * HEAD, DIM, Q4_K, DIM ** -0.5)
            self.vector(name + "attn_k.bias", KV_HEADS * HEAD, 0.0, 0.1)
            self.matrix(name + "attn_v", KV_HEADS * HEAD, DIM, more, DIM ** -0.5)
            self.vector(name + "attn_v.bias", KV_HEADS * HEAD, 0.0, 0.1)
            self.matrix(name + "attn_output", DIM, HEADS * HEAD, Q4_K, late * DIM ** -0.5)
            self.vector(name + "ffn_norm.weight", DIM, 1.0, 0.1)
            self.matrix(name + "ffn_gate", FFN, DIM, Q4_K, DIM ** -0.5)
            self.matrix(name + "ffn_up", FFN, DIM, Q4_K, DIM ** -0.5)
            self.matrix(name + "ffn_down", DIM, FFN, more, late * FFN ** -0.5)
        self.vector("output_norm.weight", DIM, 1.0, 0.1)

    def matrix(self, name, rows, cols, dtype, std):
        self.rows.append((name + ".weight", (rows, cols), dtype, std, 0.0))

    def vector(self, name, size, mean, std):
        self.rows.append((name, (size,), F32, std, mean))


def parts(rng, shape, dtype, std, mean):
    """The bytes of one tensor, a few thousand rows at a time."""
    if dtype == F32:
        yield rng.normal(mean, std, shape).astype("<f4")
        return
    make, _ = MAKE[dtype]
    for first in range(0, shape[0], ROWS):
        rows = min(ROWS, shape[0] - first)
        yield make(rng, rows * shape[1] // 256, std)


def tokens(rng):
    """Pieces with the specials behind them, merges, and kinds."""
    pieces, pairs = vocabulary(rng, PIECES)
    merges = [f"{a} {b}" for a, b in pairs]
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    specials += [f"<|unused_{i}|>" for i in range(SPECIALS - len(specials))]
    kinds = [gguf.TokenType.NORMAL] * PIECES + [gguf.TokenType.CONTROL] * SPECIALS
    return pieces + specials, merges, kinds


def metadata(out, rng, layers):
    out.add_name("Random weights in the geometry of Qwen2.5-3B")
    out.add_context_length(32768)
    out.add_embedding_length(DIM)
    out.add_block_count(layers)
    out.add_feed_forward_length(FFN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_rope_freq_base(1e6)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    pieces, merges, kinds = tokens(rng)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list(pieces)
    out.add_token_types(kinds)
    out.add_token_merges(merges)
    out.add_bos_token_id(PIECES)
    out.add_eos_token_id(PIECES + 2)
    out.add_pad_token_id(PIECES)
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=36, help="fewer for a smaller file")
    args = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent.parent
    if here in args.out.resolve().parents:
        raise SystemExit(f"{args.out} lies in the repository")
    start = time.perf_counter()
    rng = np.random.Generator(np.random.PCG64(args.seed))
    out = gguf.GGUFWriter(args.out, "qwen2")
    metadata(out, rng, args.layers)
    tensors = Tensors(args.layers).rows
    for name, shape, dtype, _, _ in tensors:
        size = int(np.prod(shape))
        bytes_ = size * 4 if dtype == F32 else size // 256 * MAKE[dtype][1]
        out.add_tensor_info(name, shape, np.dtype(np.float32), bytes_, raw_dtype=dtype)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_ti_data_to_file()
    file = out.fout[0]
    out.write_padding(file, file.tell())
    for _, shape, dtype, std, mean in tensors:
        written = 0
        for part in parts(rng, shape, dtype, std, mean):
            part.tofile(file)
            written += part.nbytes
        out.write_padding(file, written)
    out.close()
    size = args.out.stat().st_size
    print(f"{args.out}: {size / 1e9:.2f} GB in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
