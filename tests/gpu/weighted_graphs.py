"""Graphs of awkward shapes with lengths, for shortest paths."""

import functools

import numpy as np

import penstock as ps


def graph(n, tails, heads, lengths, dtype=np.float64, both_ways=True):
    """Edges as given, duplicates and self loops kept; lengths None makes a pattern."""
    tails, heads = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
    if both_ways:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        lengths = None if lengths is None else np.concatenate([lengths, lengths])
    order = np.argsort(tails, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(np.int64)
    values = None if lengths is None else np.asarray(lengths)[order].astype(dtype)
    return ps.csr_array._from_parts(n, n, indptr, heads[order].astype(np.int32), values)


def _grid(side):
    v = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    return side * side, tails, np.concatenate([v[:, 1:].ravel(), v[1:].ravel()])


def _rmat(scale):
    a = ps.generate.rmat(scale, seed=scale)
    tails = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    keep = tails < a.indices
    return a.shape[0], tails[keep], a.indices[keep]


def _star(leaves):
    return leaves + 1, np.zeros(leaves, int), np.arange(1, leaves + 1)


def _two_stars_in_a_path(rng):
    """Hubs of 30000 neighbours, far from each other, that share the others: windows with long lists late."""
    n = 60_020
    path = np.arange(19)
    tails = np.concatenate([path, np.full(30_000, 3), np.full(30_000, 17), np.arange(20, 40_020)])
    heads = np.concatenate(
        [path + 1, np.arange(20, 30_020), np.arange(30_020, n), rng.integers(20, n, 40_000)]
    )
    return n, tails, heads


_shapes = {
    "one_vertex": lambda rng: (1, [], []),
    "no_edges": lambda rng: (1000, [], []),
    "self_loops": lambda rng: (33, np.arange(33), np.arange(33)),
    "duplicates": lambda rng: (40, np.repeat(np.arange(39), 50), np.repeat(np.arange(1, 40), 50)),
    "two_components": lambda rng: (
        1000,
        np.concatenate([rng.integers(0, 400, 2000), rng.integers(400, 1000, 3000)]),
        np.concatenate([rng.integers(0, 400, 2000), rng.integers(400, 1000, 3000)]),
    ),
    "dense": lambda rng: (300, *np.nonzero(np.triu(np.ones((300, 300)), 1))),
    "star": lambda rng: _star(1_000_000),
    "path": lambda rng: (50_000, np.arange(49_999), np.arange(1, 50_000)),
    "hubs": _two_stars_in_a_path,
    "grid": lambda rng: _grid(300),
    "rmat_10": lambda rng: _rmat(10),
    "rmat_16": lambda rng: _rmat(16),
    "directed": lambda rng: (5000, *rng.integers(0, 5000, (2, 60_000))),
}
SHAPES = list(_shapes)
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]

# name -> lengths of m edges; their type is how the GPU computes and keeps them
LENGTHS = {
    "bytes": lambda rng, m: rng.integers(8, 73, m),
    "zeros": lambda rng, m: rng.integers(0, 3, m),
    "words": lambda rng, m: rng.integers(1, 60_000, m),
    "long": lambda rng, m: rng.integers(70_000, 900_000, m),
    "fractions": lambda rng, m: rng.random(m),
    "tiny_and_huge": lambda rng, m: 10.0 ** rng.integers(-20, 20, m),
    "some_infinite": lambda rng, m: np.where(rng.random(m) < 0.2, np.inf, rng.integers(1, 9, m)),
    "pattern": lambda rng, m: None,
}


@functools.cache
def named(shape, lengths, dtype=np.float64):
    """The same object whenever it is asked for, with what has been derived from it."""
    rng = np.random.default_rng(11)
    n, tails, heads = _shapes[shape](rng)
    made = LENGTHS[lengths](rng, len(tails))
    return graph(n, tails, heads, made, dtype, both_ways=shape != "directed")


def sources(a, count=2, seed=3):
    """The first and the last vertex, the one of highest degree, and some others."""
    n = a.shape[0]
    some = np.random.default_rng(seed).integers(0, n, count)
    return sorted({0, n - 1, int(np.argmax(np.diff(a.indptr))), *map(int, some)})
