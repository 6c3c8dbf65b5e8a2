#!/usr/bin/env python3
"""Golden of perplexity: how well the independent engine predicts tests/golden/perplexity.txt.

Needs the Python packages `llama-cpp-python` and `numpy`. Run from the root of the repository:

    python3 tools/goldens/perplexity.py MODELS [NAME ...]

Writes tests/golden/perplexity.json; models that are not in the folder keep their record.

The number: the file's text, as it stands, is turned into ids by the model's own vocabulary, with
BOS first where the model asks for it. The ids are cut into windows of 512, one after another,
the last one shorter; each is fed to an empty memory in one call, without another BOS. In each
window every id but the first is predicted from those before it in the window; `nll` is the mean
of -ln p over all of them (natural logarithm, softmax in f64), `perplexity` is exp(nll).
"""

import json
import pathlib
import sys

import numpy as np

import reference
from real_models import MODELS

TEXT = pathlib.Path("tests/golden/perplexity.txt")
OUT = pathlib.Path("tests/golden/perplexity.json")
WINDOW = 512


def windows(ids):
    """The ids in windows, one after another."""
    return [ids[start:start + WINDOW] for start in range(0, len(ids), WINDOW)]


def described(path):
    """What a record says of its file and of the engine."""
    return {
        "file": path.name,
        "sha256": reference.sha256(path),
        "engine": reference.version(),
        "settings": {"kv": "f16", "flash_attention": False, "window": WINDOW},
    }


def surprise(logits, ids):
    """-ln p of each id but the first, from the row before it."""
    rows = logits[:-1].astype(np.float64)
    top = rows.max(axis=1)
    total = np.log(np.exp(rows - top[:, None]).sum(axis=1)) + top
    return total - rows[np.arange(len(rows)), ids[1:]]


def measure(path):
    """The record of one model."""
    engine = reference.Reference(path, WINDOW, kv=reference.F16, threads=2)
    ids = engine.tokenize(TEXT.read_text(encoding="utf-8"))
    parts = []
    for window in windows(ids):
        parts.append(surprise(engine.logits(window), window))
    engine.close()
    every = np.concatenate(parts)
    return {
        **described(path),
        "predicted": len(every),
        "nll": round(float(every.mean()), 6),
        "perplexity": round(float(np.exp(every.mean())), 6),
        "window_nll": [round(float(p.mean()), 6) for p in parts],
        "ids": ids,
    }


def save(records, out):
    lines = ",\n".join(f' "{n}": {json.dumps(r, ensure_ascii=False)}' for n, r in records.items())
    out.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def run(usage, out, measure_one, words):
    """Measures the models of the command line and keeps the records of the others; `words` tells
    people of a record."""
    if len(sys.argv) < 2:
        raise SystemExit(usage)
    folder = pathlib.Path(sys.argv[1])
    records = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    for name in sys.argv[2:] or MODELS:
        path = folder / MODELS[name]
        if not path.exists():
            print(f"skipped: {name}: {path} is not there")
            continue
        records[name] = measure_one(path)
        print(f"{name}: {words(records[name])}", flush=True)
        save(records, out)


def words(record):
    return {k: v for k, v in record.items() if k != "ids"}


if __name__ == "__main__":
    run(__doc__, OUT, measure, words)
