#!/usr/bin/env python3
"""Writes the golden ids of crates/tokenizer/tests/golden/ids.json with an independent engine.

Needs llama_cpp (0.3.36 was used). The models are those of RECINTO_TEST_MODELS.
Usage: RECINTO_TEST_MODELS=… python3 tools/goldens/tokenizer.py > crates/tokenizer/tests/golden/ids.json
"""

import ctypes
import json
import os
import sys

import llama_cpp

from tokenizer_texts import TEXTS

MODELS = {
    "smollm2": "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
    "qwen05": "qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "gemma3": "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
    "gpt-neox": "vocabs/ggml-vocab-gpt-neox.gguf",
    "aquila": "vocabs/ggml-vocab-aquila.gguf",
    "baichuan": "vocabs/ggml-vocab-baichuan.gguf",
}

def ids(vocab, text, special):
    data = text.encode()
    out = (ctypes.c_int * 4096)()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), out, len(out), False, special)
    assert count >= 0
    return list(out[:count])


def main():
    root = os.environ["RECINTO_TEST_MODELS"]
    golden = {"engine": f"llama_cpp {llama_cpp.__version__}", "models": {}, "texts": TEXTS}
    for name, path in MODELS.items():
        model = llama_cpp.Llama(os.path.join(root, path), vocab_only=True, verbose=False)
        vocab = llama_cpp.llama_model_get_vocab(model.model)
        golden["models"][name] = {
            "path": path,
            "special": [ids(vocab, text, True) for text in TEXTS],
            "plain": [ids(vocab, text, False) for text in TEXTS],
        }
    json.dump(golden, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main()
