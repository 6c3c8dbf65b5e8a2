"""Seeded weights of a tiny model and the GGUF file that holds them.

A model is a `Tiny`: metadata keys, each (kind, value), and tensors as f32 arrays with the storage
type they are written in. The twin of a file is the same values, all stored as F32.
"""

import copy
import dataclasses
import zlib

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

from quants import LAST, set_quarters, values_of


@dataclasses.dataclass
class Tiny:
    """One file: `keys` name -> (kind, value); `tensors` name -> (storage type, bytes or f32)."""

    arch: str
    keys: dict
    tensors: dict = dataclasses.field(default_factory=dict)

    def changed(self, keys=None, tensors=None):
        """A copy with keys and tensors replaced; None as value removes one."""
        other = Tiny(self.arch, copy.copy(self.keys), copy.copy(self.tensors))
        for table, changes in ((other.keys, keys or {}), (other.tensors, tensors or {})):
            for name, value in changes.items():
                if value is None:
                    del table[name]
                else:
                    table[name] = value
        return other

    def twin(self):
        """The same values, every tensor stored as F32."""
        f32 = {n: (Type.F32, values(*t)) for n, t in self.tensors.items()}
        return Tiny(self.arch, self.keys, f32)

    def write(self, path):
        """Writes the file; two runs write the same bytes."""
        out = gguf.GGUFWriter(path, self.arch)
        for name, (kind, value) in self.keys.items():
            getattr(out, f"add_{kind}")(name, value)
        for name, (kind, data) in self.tensors.items():
            out.add_tensor(name, data, raw_dtype=kind)
        out.write_header_to_file()
        out.write_kv_data_to_file()
        out.write_tensors_to_file()
        out.close()


def values(kind, data):
    """What the stored tensor means, as f32."""
    if kind == Type.F32:
        return data
    return values_of(data, kind).astype(np.float32)


def random_blocks(rng, kind, rows, cols, std):
    """Rows of random valid blocks whose values have about the standard deviation `std`."""
    size, width = GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows, cols // size, width), dtype=np.uint8)

    def scale(place, value):
        spread = value * rng.uniform(0.7, 1.3, data.shape[:2])
        data[:, :, place:place + 2] = spread.astype(np.float16)[..., None].view(np.uint8)

    # The scale that gives values of deviation 1, from the ranges of the packed numbers; of the
    # types that came last, from the blocks as they are drawn.
    if kind == Type.NVFP4:
        spread = std * rng.uniform(0.7, 1.3, (*data.shape[:2], 4)) / 2.9
        data[:, :, :4] = gguf.quants.NVFP4.fp32_to_ue4m3(spread.astype(np.float32))
    elif kind == Type.IQ1_M:
        set_quarters(data, 0x3C00)
        half = np.float16(std / values_of(data.reshape(rows, -1), kind).std())
        set_quarters(data, int(half.view(np.uint16)))
    elif kind in LAST:
        place = LAST[kind][0]
        scale(place, 1.0)
        scale(place, std / values_of(data.reshape(rows, -1), kind).std())
    elif kind == Type.Q6_K:
        data[:, :, 192:208] = rng.integers(-90, 91, (rows, cols // size, 16)).view(np.uint8)[
            ..., ::8]
        scale(208, std / 960)
    elif kind == Type.Q2_K:
        scale(80, std / 14)
        scale(82, std / 14 * 1.5)
    elif kind == Type.Q3_K:
        scale(108, std / 43)
    elif kind in (Type.IQ4_NL, Type.IQ4_XS):
        scale(0, std / (72 if kind == Type.IQ4_NL else 1330))
    else:
        levels = 15 if kind == Type.Q4_K else 31
        scale(0, std / (levels * 16))
        scale(2, std / (levels * 16) * levels / 2)
    return data.reshape(rows, -1)


class Weights:
    """Draws the tensors of one model, in a fixed order, from its name and a number."""

    def __init__(self, name, seed=0):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        self.tensors = {}

    def matrix(self, name, rows, cols, std, kind=Type.F32):
        """A weight `[rows][cols]`, normal with deviation `std`, stored as `kind`."""
        # Types that the Python package reads and does not write.
        if kind in (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_NL,
                    Type.IQ4_XS, *LAST):
            data = random_blocks(self.rng, kind, rows, cols, std)
        else:
            data = (self.rng.standard_normal((rows, cols)) * std).astype(np.float32)
            if kind != Type.F32:
                data = gguf.quants.quantize(data, kind)
        self.tensors[f"{name}.weight"] = (kind, data)

    def vector(self, name, size, mean, std):
        """A norm's weight or a bias, F32."""
        data = mean + std * self.rng.standard_normal(size)
        self.tensors[name] = (Type.F32, data.astype(np.float32))
