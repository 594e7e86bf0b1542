"""Graphs of awkward shapes, as patterns."""

import numpy as np

import penstock as ps


def graph(n, tails, heads, both_ways=True):
    """Edges as given, duplicates and self loops kept."""
    tails, heads = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
    if both_ways:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    order = np.argsort(tails, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(np.int64)
    made = ps.csr_array._from_parts(n, n, indptr, heads[order].astype(np.int32), None)
    if both_ways:
        made._derived.symmetric_pattern = True
    return made


def _grid(side):
    v = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    heads = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()])
    return graph(side * side, tails, heads)


def _two_components(rng):
    a, b = rng.integers(0, 400, (2, 2000)), rng.integers(400, 1000, (2, 3000))
    return graph(1000, np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))


def _long_open_lists(rng):
    """A path whose far vertices have thousands of neighbours that come late: bottom-up probes of long lists."""
    leaves = np.arange(20, 200_020)
    tails, heads = [np.arange(19)], [np.arange(1, 20)]
    for hub in range(4, 20, 5):
        tails, heads = [*tails, np.full(leaves.size // 4, hub)], [*heads, leaves[hub % 4 :: 4]]
    return graph(200_020, np.concatenate(tails), np.concatenate(heads))


def _late_hub(rng):
    """A hub whose one neighbour in the frontier comes last in its list, among many of higher degree: 0 - F - G, and
    vertices Z that only the hub joins to the rest."""
    f, g, z, hub = (
        np.arange(*r) for r in ((36_001, 39_001), (1, 30_001), (30_001, 36_001), (39_001, 39_002))
    )
    tails = [
        np.zeros(f.size, int),
        np.repeat(f, 100),
        np.repeat(z, 100),
        np.repeat(hub, z.size + 1),
    ]
    heads = [f, rng.choice(g, 100 * f.size), rng.choice(z, 100 * z.size), np.append(z, f[-1])]
    return graph(39_002, np.concatenate(tails), np.concatenate(heads))


_make = {
    "one_vertex": lambda rng: graph(1, [], []),
    "no_edges": lambda rng: graph(1000, [], []),
    "self_loops": lambda rng: graph(33, np.arange(33), np.arange(33), False),
    "duplicates": lambda rng: graph(40, np.repeat(np.arange(39), 50), np.repeat(np.arange(1, 40), 50)),
    "star": lambda rng: graph(1_000_001, np.zeros(1_000_000, int), np.arange(1, 1_000_001)),
    "path": lambda rng: graph(100_000, np.arange(99_999), np.arange(1, 100_000)),
    "two_components": _two_components,
    "long_open_lists": _long_open_lists,
    "late_hub": _late_hub,
    "grid": lambda rng: _grid(300),
    "rmat_10": lambda rng: ps.generate.rmat(10, seed=1),
    "rmat_16": lambda rng: ps.generate.rmat(16, seed=2),
    "dense": lambda rng: graph(300, *np.nonzero(np.triu(np.ones((300, 300)), 1))),
    "directed": lambda rng: graph(5000, *rng.integers(0, 5000, (2, 60_000)), both_ways=False),
    "directed_chain": lambda rng: graph(3000, np.arange(2999), np.arange(1, 3000), both_ways=False),
}  # fmt: skip
NAMES = list(_make)
_made: dict = {}


def named(name):
    """The same object whenever it is asked for, with what has been derived from it."""
    if name not in _made:
        _made[name] = _make[name](np.random.default_rng(7))
    return _made[name]


def sources(a, count=4, seed=3):
    """The first and the last vertex, the one of highest degree, and some others."""
    n = a.shape[0]
    some = np.random.default_rng(seed).integers(0, n, count)
    return sorted({0, n - 1, int(np.argmax(np.diff(a.indptr))), *map(int, some)})
