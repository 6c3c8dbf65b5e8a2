#!/usr/bin/env python3
"""Goldens of crates/quant: blocks of every storage type and the values an independent decoder
reads from them.

Needs the Python packages `gguf` and `numpy`. Run from the root of the repository:

    python3 tools/goldens/quants.py

Writes crates/quant/tests/golden/NAME.in (bytes as in a model file) and NAME.out (little-endian
f32), the two rounding tables narrow_f16 and narrow_bf16 (.in f32, .out 16-bit values), and
pack_mxfp4 (.in f32, .out blocks).
Seeded: two runs write the same bytes.
"""

import pathlib

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

FOLDER = pathlib.Path("crates/quant/tests/golden")

# Where the 16-bit scales of a block stand; all other bytes may hold any value.
SCALES = {
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
}

# The same for the types that came later: their blocks are drawn last, so that what is older stays
# as it is.
LATER = {
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.IQ4_NL: [0],
    Type.IQ4_XS: [0],
    Type.MXFP4: [],
}

# The same for those that came after these. IQ1_M has its half scale in the upper halves of four
# words, NVFP4 four scales of a byte each.
LAST = {
    Type.IQ1_S: [0],
    Type.IQ1_M: [],
    Type.IQ2_XXS: [0],
    Type.IQ2_XS: [0],
    Type.IQ2_S: [0],
    Type.IQ3_XXS: [0],
    Type.IQ3_S: [0],
    Type.TQ1_0: [52],
    Type.TQ2_0: [64],
    Type.NVFP4: [],
    Type.Q1_0: [0],
}

# Zero, minus zero, smallest and largest subnormal, smallest and largest normal, one, minus one
# and a bit, infinities, quiet and signalling NaN.
ODD = [0x0000, 0x8000, 0x0001, 0x83FF, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC01,
       0x7C00, 0xFC00, 0x7E00, 0x7D01]

# Scales of MXFP4, exponents: the subnormal ones, the smallest, ordinary ones, the largest.
EXPONENTS = [0, 1, 2, 3, 64, 112, 120, 126, 127, 128, 200, 253, 254, 255]


def set_quarters(blocks, half):
    """Puts the half scales (16 bits) of IQ1_M blocks where their quarters belong."""
    for i in range(4):
        place = blocks[..., 49 + 2 * i]
        place[...] = place & 0x0F | (half >> (4 * i) & 15) << 4


def blocks(kind, rng):
    """Odd scales first (each against each where there are two), then random bytes."""
    size = GGML_QUANT_SIZES[kind][1]
    places = (SCALES | LATER | LAST)[kind]
    out = []
    for i, scale in enumerate(ODD):
        block = rng.integers(0, 256, size, dtype=np.uint8)
        for n, place in enumerate(places):
            half = ODD[(i + 5 * n) % len(ODD)] if n else scale
            block[place:place + 2] = np.frombuffer(np.uint16(half).tobytes(), np.uint8)
        if kind == Type.MXFP4:
            block[0] = EXPONENTS[i]
        if kind == Type.IQ1_M:
            set_quarters(block, scale)
        if kind == Type.NVFP4:
            # All 256 bytes of a scale are among the blocks.
            block = np.stack([block] * 5)
            block[:, :4] = (np.arange(20 * i, 20 * i + 20) % 256).reshape(5, 4)
            out.extend(block)
            continue
        out.append(block)
    for fill in (0x00, 0xFF, 0x80, 0x7F):
        block = np.full(size, fill, dtype=np.uint8)
        for place in places:
            block[place:place + 2] = [0x66, 0x2E]
        if kind == Type.MXFP4:
            block[0] = 0x7C
        if kind == Type.IQ1_M:
            set_quarters(block, 0x2E66)
        out.append(block)
    for _ in range(6):
        out.append(rng.integers(0, 256, size, dtype=np.uint8))
    return np.stack(out)


def read(kind, rng):
    """Writes the golden of one type."""
    data = blocks(kind, rng)
    write(kind.name.lower(), data.tobytes(), values_of(data, kind).astype("<f4").tobytes())


def values_of(data, kind):
    """The values of rows of blocks."""
    if kind != Type.Q1_0:
        return gguf.quants.dequantize(data, kind)
    # The package names this one and does not read it.
    blocks = data.reshape(len(data), -1, GGML_QUANT_SIZES[kind][1])
    scale = blocks[..., :2].copy().view(np.float16).astype(np.float32)
    bits = np.unpackbits(blocks[..., 2:], axis=-1, bitorder="little")
    return np.where(bits == 1, scale, -scale).reshape(len(data), -1)


def write(name, given, wanted):
    (FOLDER / f"{name}.in").write_bytes(given)
    (FOLDER / f"{name}.out").write_bytes(wanted)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.seterr(all="ignore")
    rng = np.random.default_rng(20240917)
    for kind in SCALES:
        read(kind, rng)
    halves = np.concatenate([np.array(ODD, np.uint16), rng.integers(0, 1 << 16, 1010, np.uint16)])
    for kind in (Type.F16, Type.BF16):
        data = halves.view(np.uint8) if kind == Type.BF16 else halves.view(np.float16)
        values = gguf.quants.dequantize(data, kind)
        write(kind.name.lower(), halves.tobytes(), values.astype("<f4").tobytes())
    words = rng.integers(0, 1 << 32, 2048, np.uint32)
    values = gguf.quants.dequantize(words.view(np.float32), Type.F32)
    write("f32", words.tobytes(), values.tobytes())
    # Rounding to 16 bits: random floats in the range of a half, all magnitudes, and exact ties.
    ties = (halves.astype(np.uint32) << 16) | 0x8000
    near = ((halves.astype(np.uint32) & 0x8FFF) << 13) + np.uint32(0x38000000)
    words = np.concatenate([words[:1024], ties, near, near | 0x1000, near | 0x0FFF])
    floats = words.view(np.float32)
    write("narrow_f16", words.tobytes(), gguf.quants.quantize(floats, Type.F16).tobytes())
    write("narrow_bf16", words.tobytes(), gguf.quants.quantize(floats, Type.BF16).tobytes())
    for kind in LATER:
        read(kind, rng)
    # Packing: blocks of all sizes that have an exponent, one of zeros, one of exact ties.
    size = np.exp2(rng.uniform(-124, 120, (64, 1)))
    values = (rng.standard_normal((64, 32)) * size).astype(np.float32)
    ties = np.arange(-16, 16, dtype=np.float32)[None] / 4
    values = np.concatenate([values, np.zeros((1, 32), np.float32), ties])
    packed = gguf.quants.quantize(values, Type.MXFP4)
    write("pack_mxfp4", values.tobytes(), packed.tobytes())
    for kind in LAST:
        read(kind, rng)


if __name__ == "__main__":
    main()
