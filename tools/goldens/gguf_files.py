#!/usr/bin/env python3
"""Small GGUF files from an independent writer: goldens of crates/weights and seeds of the fuzzer.

Needs the Python packages `gguf` and `numpy`. Run from the root of the repository:

    python3 tools/goldens/gguf_files.py

Writes fuzz/seeds/gguf/NAME.gguf and, for the first two, what is in them as
crates/weights/tests/golden/NAME.json. Seeded: two runs write the same bytes.
"""

import json
import pathlib

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type, GGUFValueType as Kind

from quants import set_quarters, values_of

SEEDS = pathlib.Path("fuzz/seeds/gguf")
GOLDENS = pathlib.Path("crates/weights/tests/golden")

TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0,
         Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.Q2_K, Type.Q3_K, Type.IQ4_NL, Type.IQ4_XS,
         Type.MXFP4, Type.IQ1_S, Type.IQ1_M, Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S, Type.IQ3_XXS,
         Type.IQ3_S, Type.TQ1_0, Type.TQ2_0, Type.NVFP4, Type.Q1_0]

# Where the half scales of a block stand, if not at 0 and 2.
SCALES = {Type.Q6_K: [208], Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.MXFP4: [],
          Type.IQ1_M: [], Type.TQ1_0: [52], Type.TQ2_0: [64], Type.NVFP4: []}


def writer(name):
    return gguf.GGUFWriter(SEEDS / f"{name}.gguf", "diminuto")


def finish(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def values():
    """A value of every kind, at its ends."""
    out = writer("values")
    keys = [
        ("general.architecture", "string", "diminuto"),
        ("n.u8", "u8", 255), ("n.i8", "i8", -128), ("n.u16", "u16", 65535),
        ("n.i16", "i16", -32768), ("n.u32", "u32", 2**32 - 1), ("n.i32", "i32", -(2**31)),
        ("n.u64", "u64", 2**64 - 1), ("n.i64", "i64", -(2**63)), ("n.f32", "f32", 0.5),
        ("n.f64", "f64", 0.1), ("n.yes", "bool", True), ("n.no", "bool", False),
        ("n.text", "string", "¿Año nuevo? — sí"), ("n.empty", "string", ""),
    ]
    add = {"u8": out.add_uint8, "i8": out.add_int8, "u16": out.add_uint16, "i16": out.add_int16,
           "u32": out.add_uint32, "i32": out.add_int32, "u64": out.add_uint64,
           "i64": out.add_int64, "f32": out.add_float32, "f64": out.add_float64,
           "bool": out.add_bool,
           # `add_string` leaves out a key whose value is empty.
           "string": lambda name, value: out.add_key_value(name, value, Kind.STRING)}
    for name, kind, value in keys[1:]:
        add[kind](name, value)
    arrays = [
        ("a.text", "string", ["uno", "", "ñandú", "<|fin|>"], Kind.STRING),
        ("a.i32", "i32", [1, -1, 2**31 - 1], Kind.INT32),
        ("a.u32", "u32", [0, 2**32 - 1], Kind.UINT32),
        ("a.f32", "f32", [0.25, -1e30], Kind.FLOAT32),
        ("a.bool", "bool", [True, False, True], Kind.BOOL),
        ("a.u8", "u8", [0, 255], Kind.UINT8),
        ("a.u64", "u64", [2**64 - 1], Kind.UINT64),
    ]
    for name, _, value, kind in arrays:
        out.add_key_value(name, value, Kind.ARRAY, sub_type=kind)
    finish(out)
    golden = [[name, kind, value] for name, kind, value in keys]
    golden += [[name, f"array of {kind}", value] for name, kind, value, _ in arrays]
    (GOLDENS / "values.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")


def tensors(alignment):
    """A tensor of every storage type, two rows each, with some of the values read back."""
    name = "tensors" if alignment is None else f"tensors_{alignment}"
    rng = np.random.default_rng(7)
    out = writer(name)
    if alignment is not None:
        out.add_custom_alignment(alignment)
    golden = []
    for kind in TYPES:
        block, size = GGML_QUANT_SIZES[kind]
        columns = block if block > 1 else 3
        row = columns // block * size
        data = rng.integers(0, 256, (2, row), dtype=np.uint8)
        # Scales that are small and finite.
        for place in SCALES.get(kind, [0, 2] if size > 4 else []):
            data[:, place:place + 2] = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
        if kind == Type.MXFP4:
            data[:, 0] = 120
        if kind == Type.IQ1_M:
            set_quarters(data, 0x211F)
        plain = {Type.F32: np.float32, Type.F16: np.float16}.get(kind)
        if plain is not None:
            data = rng.standard_normal((2, columns)).astype(plain)
            out.add_tensor(kind.name.lower(), data)
        else:
            if kind == Type.BF16:
                data[:, 1::2] = 0x3F
            out.add_tensor(kind.name.lower(), data, raw_dtype=kind)
        wanted = values_of(data, kind).reshape(-1)
        golden.append({"name": kind.name.lower(), "dims": [columns, 2],
                       "first": float(wanted[0]), "last": float(wanted[-1])})
    finish(out)
    (GOLDENS / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")


def others():
    """Seeds only: nothing in it, one part of several, version 2."""
    out = writer("empty")
    finish(out)
    out = writer("part")
    out.add_uint16("split.no", 0)
    out.add_uint16("split.count", 2)
    out.add_int32("split.tensors.count", 4)
    finish(out)
    data = bytearray((SEEDS / "tensors.gguf").read_bytes())
    data[4] = 2
    (SEEDS / "version_2.gguf").write_bytes(data)


def main():
    SEEDS.mkdir(parents=True, exist_ok=True)
    GOLDENS.mkdir(parents=True, exist_ok=True)
    values()
    tensors(None)
    tensors(64)
    others()


if __name__ == "__main__":
    main()
