"""A vocabulary of random pieces, for models of random weights: reading it costs what reading a real
one of that size costs."""


def alphabet():
    """The character that stands for each byte in byte-level BPE files: itself where it can be
    printed, else the next free one from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def vocabulary(rng, size):
    """`size` pieces, and merges as pairs: each joins two earlier pieces to one that is not there
    yet."""
    pieces = alphabet()
    known, merges = set(pieces), []
    while len(pieces) < size:
        # Mostly short ones, as in a real vocabulary.
        for a, b in (rng.random((size, 2)) ** 2 * len(pieces)).astype(int):
            piece = pieces[a] + pieces[b]
            if len(piece) <= 16 and piece not in known and len(pieces) < size:
                known.add(piece)
                pieces.append(piece)
                merges.append([pieces[a], pieces[b]])
    return pieces, merges
