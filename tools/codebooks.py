#!/usr/bin/env python3
"""The codebooks of IQ1, IQ2 and IQ3 as sets of bits: writes crates/quant/src/codebook/sets.rs.

Needs the Python packages `gguf` (whose arrays are read) and `numpy`. Run from the root of the
repository:

    python3 tools/codebooks.py

A codebook lists groups of four or eight digits. All of them are listed in ascending order of the
number that the digits are when the first one counts least, so which groups are there says all: bit
`n` of a set is whether the group with the number `n` is in the codebook. The script ends with an
error when a codebook is not in that order.
"""

import pathlib

import numpy as np
from gguf import quants

FILE = pathlib.Path("crates/quant/src/codebook/sets.rs")

# Name, the class that has it, what its groups are.
BOOKS = [
    ("IQ1", quants.IQ1_S, "IQ1_S and IQ1_M: 2048 groups of eight, −1, 0 and 1"),
    ("IQ2_XXS", quants.IQ2_XXS, "IQ2_XXS: 256 groups of eight, 8, 25 and 43"),
    ("IQ2_XS", quants.IQ2_XS, "IQ2_XS: 512 groups of eight of the same numbers"),
    ("IQ2_S", quants.IQ2_S, "IQ2_S: 1024 groups of eight of the same numbers"),
    ("IQ3_XXS", quants.IQ3_XXS, "IQ3_XXS: 256 groups of four, 4, 12, 20, 28, 36, 44, 52 and 62"),
    ("IQ3_S", quants.IQ3_S, "IQ3_S: 512 groups of four, odd numbers from 1 to 15"),
]


def words(book):
    """The set of one codebook, 64 bits a word."""
    book.init_grid()
    numbers = list(book.grid_map)
    groups = book.grid.reshape(book.grid_shape).astype(int)
    digits = np.searchsorted(numbers, groups)
    codes = digits @ (len(numbers) ** np.arange(groups.shape[1]))
    if not (np.diff(codes) > 0).all():
        raise SystemExit(f"{book.__name__}: not in ascending order")
    bits = sum(1 << int(code) for code in codes)
    count = -(-len(numbers) ** groups.shape[1] // 64)
    return [bits >> (64 * i) & (2**64 - 1) for i in range(count)]


def main():
    lines = ["//! Which groups a codebook has: a bit for each that there could be. Written by",
             "//! `tools/codebooks.py`.", ""]
    for name, book, about in BOOKS:
        all_words = words(book)
        lines += [f"/// {about}.", "#[rustfmt::skip]",
                  f"pub(super) const {name}: [u64; {len(all_words)}] = ["]
        for i in range(0, len(all_words), 4):
            lines.append("    " + " ".join(f"0x{word:016x}," for word in all_words[i:i + 4]))
        lines += ["];", ""]
    FILE.write_text("\n".join(lines[:-1]) + "\n")


if __name__ == "__main__":
    main()
