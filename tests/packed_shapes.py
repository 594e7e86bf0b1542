"""Graphs whose lists are packed on the CPU and on GPUs, and the comparison of both."""

import numpy as np

import penstock as ps
from penstock import _core


def pattern(n, rows, cols, ascending=True):
    order = np.lexsort((cols, rows)) if ascending else np.argsort(rows, kind="stable")
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=offsets[1:])
    return ps.csr_array._from_parts(n, n, offsets, np.asarray(cols, np.int32)[order], None)


def lists_of(sizes, n, seed, repeats=False):
    """Lists of these lengths at random vertices, in ascending order."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(n, len(sizes), False))
    cols = [np.sort(rng.choice(n, size, repeats)) for size in sizes]
    return pattern(n, np.repeat(at, sizes), np.concatenate(cols))


LENGTHS = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    65,
    500,
    1021,
    1022,
    1023,
    1024,
    1025,
    2047,
    2048,
    2049,
    9000,
]
GRAPHS = {
    "no vertices": lambda: pattern(0, np.zeros(0, int), np.zeros(0, int)),
    "one": lambda: pattern(1, np.zeros(0, int), np.zeros(0, int)),
    "loop": lambda: pattern(1, np.zeros(1, int), np.zeros(1, int)),
    "no edges": lambda: pattern(300, np.zeros(0, int), np.zeros(0, int)),
    "two groups": lambda: pattern(128, np.arange(128), np.arange(128)[::-1]),
    "a vertex more": lambda: pattern(129, np.arange(129), np.arange(129)[::-1]),
    "lengths": lambda: lists_of(LENGTHS, 20_000, 1),
    "lengths with repeats": lambda: lists_of(LENGTHS, 20_000, 2, True),
    "long lists side by side": lambda: lists_of([1023] * 70 + [3000] * 3, 5001, 3),
    "hubs": lambda: lists_of([65_534, 65_535, 3, 70_000], 80_000, 6),
    "every width": lambda: pattern(
        1 << 24, np.repeat([5, 1 << 23, (1 << 24) - 1], 24), np.tile((1 << np.arange(24)) - 1, 3)
    ),
    "rmat": lambda: ps.generate.rmat(13, seed=5),
    "lift": lambda: ps.generate.lift(ps.generate.rmat(9, seed=2), 60, seed=3),
}


# Lengths of edges, by the bytes that they take: 1, 2, 4, and 1 where all are the same.
PACKABLE = {
    "bytes": (8, 72),
    "words": (1, 60_000),
    "far": (2_147_000_000, 2_147_065_535),
    "same": (9, 9),
}


def with_lengths(a, kind, seed=1):
    """The graph with random lengths of such a kind."""
    least, largest = PACKABLE[kind]
    values = np.random.default_rng(seed).integers(least, largest + 1, a.nnz).astype(np.float64)
    values[: a.nnz // 2 : 50] = least
    values[1 : a.nnz : 50] = largest
    return ps.csr_array._from_parts(*a.shape, np.asarray(a.indptr), np.asarray(a.indices), values)


def same_bits(a, found):
    """Whether packed lists are those that the CPU makes of `a`, word for word."""
    want = _core.pack_lists(a._core).to_arrays()
    for one, other in zip(found.to_arrays()[:4], want[:4], strict=True):
        assert np.array_equal(one, other)
    assert found.to_arrays()[4] == want[4]
    offsets, columns = found.unpack()
    assert np.array_equal(offsets, a.indptr) and np.array_equal(columns, a.indices)
