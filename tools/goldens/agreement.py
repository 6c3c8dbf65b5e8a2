#!/usr/bin/env python3
"""Golden of top-1 agreement: what the independent engine finds most likely at every place of
tests/golden/perplexity.txt.

Needs the Python packages `llama-cpp-python` and `numpy`. Run from the root of the repository:

    python3 tools/goldens/agreement.py MODELS [NAME ...]

Writes tests/golden/agreement.json; models that are not in the folder keep their record.

Ids and windows are those of tools/goldens/perplexity.py: windows of 512 ids, each fed to an empty
memory in one call. `top` holds, for each position, the id of the largest logit (the first of
equals), and `margins` its distance to the second as a part of the standard deviation of the row: a
small one says that the engine itself was nearly undecided. `own_agreement` is the part of the
positions where the same engine says the same when nothing but the storage of its keys and values
changes, from F16 to BF16: what such a number can be at the most between two engines that round.
"""

import json
import pathlib
import sys

import numpy as np

import reference
from perplexity import TEXT, WINDOW
from real_models import MODELS

OUT = pathlib.Path("tests/golden/agreement.json")


def most_likely(path, ids, kv):
    """The most likely id after each position, and its margin."""
    engine = reference.Reference(path, WINDOW, kv=kv, threads=1)
    top, margins = [], []
    for start in range(0, len(ids), WINDOW):
        for row in engine.logits(ids[start:start + WINDOW]):
            second, first = np.partition(row, -2)[-2:]
            top.append(int(np.argmax(row)))
            margins.append(round(float((first - second) / row.std()), 3))
    engine.close()
    return top, margins


def measure(path):
    """The record of one model."""
    engine = reference.Reference(path, WINDOW, kv=reference.F16, threads=1)
    ids = engine.tokenize(TEXT.read_text(encoding="utf-8"))
    engine.close()
    top, margins = most_likely(path, ids, reference.F16)
    again, _ = most_likely(path, ids, reference.BF16)
    return {
        "file": path.name,
        "sha256": reference.sha256(path),
        "engine": reference.version(),
        "settings": {"kv": "f16", "flash_attention": False, "window": WINDOW},
        "own_agreement": round(float(np.mean(np.equal(top, again))), 4),
        "ids": ids,
        "top": top,
        "margins": margins,
    }


def save(records):
    lines = ",\n".join(f' "{n}": {json.dumps(r, ensure_ascii=False)}' for n, r in records.items())
    OUT.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    records = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    for name in sys.argv[2:] or MODELS:
        path = folder / MODELS[name]
        if not path.exists():
            print(f"skipped: {name}: {path} is not there")
            continue
        records[name] = measure(path)
        found = records[name]
        near = sum(margin < 0.05 for margin in found["margins"])
        print(f"{name}: {len(found['top'])} positions, {near} of them with a margin below 0.05 "
              f"std; own agreement {found['own_agreement']:.1%}", flush=True)
        save(records)


if __name__ == "__main__":
    main()
