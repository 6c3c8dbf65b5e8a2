#!/usr/bin/env python3
"""Peer of `recinto bench --against`: the package `llama-cpp-python` as installed.

    recinto bench -m MODEL --against '/path/to/venv/bin/python bench/peers/llama_cpp_python.py'

Flash attention is on and keys and values are f16; RECINTO_PEER_KV=bf16 changes the latter and
RECINTO_PEER_NAME the name that is shown. `first_token` counts from the moment the package is
imported: the interpreter's own start is left out. How the variables are set: bench/README.md.
"""
import json
import os
import time

VAR = {name: os.environ.get(f"RECINTO_BENCH_{name}", "")
       for name in ("WHAT", "MODEL", "TEXT", "THREADS", "PROMPT", "GENERATE", "CONTEXT",
                    "SEQUENCES")}
KINDS = {"f32": 0, "f16": 1, "bf16": 30}
# Token ids, all over a small vocabulary; what they are does not change the speed.
SPREAD = 30000


def number(name, default):
    return int(VAR[name] or default)


def opened(context):
    """A model with room for this many positions."""
    from llama_cpp import Llama
    kind = KINDS[os.environ.get("RECINTO_PEER_KV", "f16")]
    threads = number("THREADS", 1)
    return Llama(VAR["MODEL"], n_ctx=context, n_batch=512, n_threads=threads,
                 n_threads_batch=threads, flash_attn=True, type_k=kind, type_v=kind,
                 verbose=False)


def ids(count):
    return [(i * 7919 + 13) % SPREAD for i in range(count)]


def decode(model, generate):
    """Tokens a second, one after another."""
    start = time.perf_counter()
    for i in range(generate):
        model.eval([(i * 31 + 5) % SPREAD])
    return generate / (time.perf_counter() - start)


def together(model, sequences, prompt, generate):
    """Tokens a second of all sequences, one token of each in every call."""
    import llama_cpp
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = sequences * (prompt + generate + 16)
    params.n_batch = max(512, sequences)
    params.n_seq_max = sequences
    params.n_threads = params.n_threads_batch = number("THREADS", 1)
    params.flash_attn_type = 1
    params.type_k = params.type_v = KINDS[os.environ.get("RECINTO_PEER_KV", "f16")]
    context = llama_cpp.llama_init_from_model(model.model, params)
    if not context:
        return None
    batch = llama_cpp.llama_batch_init(params.n_batch, 0, 1)

    def feed(rows):
        """Rows of (id, position, sequence, whether its logits are wanted)."""
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, wanted
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        if llama_cpp.llama_decode(context, batch) != 0:
            raise SystemExit("llama_decode failed")

    for sequence in range(sequences):
        tokens = ids(prompt)
        for at in range(0, prompt, params.n_batch):
            part = tokens[at:at + params.n_batch]
            feed([(t, at + i, sequence, at + i + 1 == prompt) for i, t in enumerate(part)])
    start = time.perf_counter()
    for step in range(generate):
        feed([((step * 31 + 5) % SPREAD, prompt + step, s, True) for s in range(sequences)])
        for s in range(sequences):
            llama_cpp.llama_get_logits_ith(context, s)
    rate = sequences * generate / (time.perf_counter() - start)
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    return rate


def main():
    start = time.perf_counter()
    import llama_cpp
    name = f"llama-cpp-python {llama_cpp.__version__}"
    out = {"name": os.environ.get("RECINTO_PEER_NAME", name)}
    if VAR["WHAT"] == "start":
        model = opened(64)
        model.eval(model.tokenize(VAR["TEXT"].encode()))
        model.sample(temp=0.0)
        out["first_token"] = (time.perf_counter() - start) * 1e3
        print(json.dumps(out), flush=True)
        return
    prompt, generate = number("PROMPT", 512), number("GENERATE", 64)
    context, sequences = number("CONTEXT", 0), number("SEQUENCES", 1)
    start = time.perf_counter()
    model = opened(max(prompt, context) + generate + 16)
    out["load"] = (time.perf_counter() - start) * 1e3
    model.eval(ids(16))
    model.reset()
    start = time.perf_counter()
    model.eval(ids(prompt))
    out["prefill"] = prompt / (time.perf_counter() - start)
    out["decode"] = decode(model, generate)
    if context:
        model.reset()
        model.eval(ids(context))
        out["decode_context"] = decode(model, generate)
    if sequences > 1:
        out["decode_sequences"] = together(model, sequences, prompt, generate)
    print(json.dumps(out), flush=True)


main()
