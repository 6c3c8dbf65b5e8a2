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

import pathlib

import numpy as np

import reference
from perplexity import TEXT, WINDOW, described, run, windows

OUT = pathlib.Path("tests/golden/agreement.json")


def most_likely(path, ids, kv):
    """The most likely id after each position, and its margin."""
    engine = reference.Reference(path, WINDOW, kv=kv, threads=1)
    top, margins = [], []
    for window in windows(ids):
        for row in engine.logits(window):
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
        **described(path),
        "own_agreement": round(float(np.mean(np.equal(top, again))), 4),
        "ids": ids,
        "top": top,
        "margins": margins,
    }


def words(record):
    near = sum(margin < 0.05 for margin in record["margins"])
    return (f"{len(record['top'])} positions, {near} of them with a margin below 0.05 std; "
            f"own agreement {record['own_agreement']:.1%}")


if __name__ == "__main__":
    run(__doc__, OUT, measure, words)
