#!/usr/bin/env python3
"""Goldens of the architectures: tiny seeded GGUF files, one a variant, and the logits of an
independent engine for a fixed prompt.

Needs the Python packages `llama-cpp-python`, `gguf`, `jinja2` and `numpy`. Run from the root of the
repository:

    python3 tools/goldens/models.py tests/golden/tiny [NAME ...]

Writes NAME.gguf, NAME.json and NAME.f32 (logits `[positions][vocabulary]`, little-endian). Every
case names keys or tensors that make the variant; the script fails when a file without one of them
gives logits so near that the golden could not catch an engine that ignores it. What the numbers
in NAME.json mean is written in tests/golden/README.md.
"""

import dataclasses
import json
import pathlib
import sys
import tempfile

import jinja2.sandbox
import numpy as np

import reference
from tiny_cases import CASES, Case
from tiny_file import Tiny

TEXT = "¿Qué hora es, señor? El 12 de enero the train leaves; mañana no."
CONTEXT = 256
GREEDY = 16
MESSAGES = [
    {"role": "user", "content": " ¿Qué hora es, señor? "},
    {"role": "assistant", "content": "the one"},
    {"role": "user", "content": "Mañana a las 12, <b>no</b>?"},
]
# A changed variant must be this many tolerances away.
CLEAR = 20
# How often the reference's own change by bf16 keys and values is allowed: largest difference (a
# maximum over thousands wanders more), root mean square.
KV_NOISE = np.array([1.75, 1.5])


@dataclasses.dataclass
class Run:
    """What the reference says about one file."""

    ids: list
    logits: np.ndarray
    greedy: list
    margins: list


def run(tiny: Tiny, folder: pathlib.Path, kv=reference.F32, ids=None) -> Run:
    """Writes the file and runs the reference on it, over `ids` or the text of this script."""
    path = folder / "run.gguf"
    tiny.write(path)
    engine = reference.Reference(path, CONTEXT, kv=kv)
    ids = ids or engine.tokenize(TEXT)
    logits = engine.logits(ids)
    greedy, margins = engine.greedy(GREEDY)
    engine.close()
    if not np.isfinite(logits).all():
        raise SystemExit("the reference gives values that are not finite")
    return Run(ids, logits, greedy, margins)


def far(a: Run, b: Run) -> np.ndarray:
    """Largest and root-mean-square difference of two runs' logits."""
    gap = np.abs(a.logits.astype(np.float64) - b.logits)
    return np.array([gap.max(), np.sqrt((gap ** 2).mean())])


def short(pair: np.ndarray) -> dict:
    """The two numbers of `far`, to three digits."""
    return {"max": float(f"{pair[0]:.3g}"), "rms": float(f"{pair[1]:.3g}")}


def chat(tiny: Tiny, folder: pathlib.Path) -> dict:
    """A conversation, rendered by the file's template with Jinja itself, and its ids."""
    words = {k.rsplit(".", 1)[-1]: v[1] for k, v in tiny.keys.items() if "tokenizer" in k}
    pieces = {f"{name}_token": words["tokens"][words[f"{name}_token_id"]]
              for name in ("bos", "eos") if f"{name}_token_id" in words}
    room = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    text = room.from_string(words["chat_template"]).render(
        messages=MESSAGES, add_generation_prompt=True, **pieces)
    tiny.write(folder / "chat.gguf")
    engine = reference.Reference(folder / "chat.gguf", CONTEXT)
    ids = engine.llama.tokenize(text.encode(), add_bos=False, special=True)
    engine.close()
    return {"messages": MESSAGES, "text": text, "ids": ids}


def make(case: Case, out: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes one case, or ends the script when it could not catch anything."""
    tiny = case.file()
    tiny.write(out / f"{case.name}.gguf")
    twin = (case.equal or (lambda t: t))(tiny).twin()
    exact = run(twin, folder)
    std = float(exact.logits.std())
    noise = far(run(twin, folder, kv=reference.BF16, ids=exact.ids), exact)
    golden, step = exact, np.zeros(2)
    if case.quantized:
        golden = run(tiny, folder, ids=exact.ids)
        step = far(golden, exact)
    # What bf16 keys and values change in the reference itself (which then rounds queries and
    # probabilities too, so ours should change about half as much), and for quantized files twice
    # what its own 8-bit activations change; never below what two orders of summation and two
    # versions of `exp` and `gelu` may differ by.
    tolerance = np.maximum(KV_NOISE * noise + 2 * step, np.array([2e-3, 5e-4]) * std)
    notices = {}
    for name, change in case.without.items():
        other = run(change(tiny if case.equal is None else case.equal(tiny)).twin(), folder,
                    ids=exact.ids)
        notices[name] = round(float((far(other, exact) / tolerance).max()), 1)
    record = {
        "name": case.name,
        "about": case.about,
        "engine": reference.version(),
        "settings": {"kv": "f32", "threads": 1, "flash_attention": False,
                     "f16_and_bf16_tensors": "as f32", "one_batch": True},
        "sha256": reference.sha256(out / f"{case.name}.gguf"),
        "text": TEXT,
        "ids": golden.ids,
        "vocabulary": int(golden.logits.shape[1]),
        "std": round(std, 6),
        "tolerance": short(tolerance),
        "bf16_kv_changes": short(noise),
        "activations_change": short(step),
        "notices": notices,
        "greedy": golden.greedy,
        "margins": golden.margins,
        "chat": chat(twin, folder),
    }
    golden.logits.astype("<f4").tofile(out / f"{case.name}.f32")
    lines = [f' "{k}": {json.dumps(v, ensure_ascii=False)}' for k, v in record.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (out / f"{case.name}.json").write_text(text, encoding="utf-8")
    size = (out / f"{case.name}.gguf").stat().st_size
    print(f"{case.name:22} {size / 1024:5.0f} KiB  {len(golden.ids)} ids  std {std:.2f}  "
          f"tolerance/std {tolerance[0] / std:.4f} {tolerance[1] / std:.4f}  "
          f"distinct {len(set(golden.greedy))}  {notices}", flush=True)
    weak = [name for name, times in notices.items() if not times > CLEAR]
    if weak:
        raise SystemExit(f"{case.name}: the golden would not notice an engine that ignores {weak}")


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or [case.name for case in CASES]
    known = {case.name: case for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            make(known[name], out, pathlib.Path(folder))


if __name__ == "__main__":
    main()
