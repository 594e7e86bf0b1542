"""Graphs that are hard on packed lists: lengths about which lists are cut, many levels, no locality."""

import numpy as np
from graphs import graph, named

import penstock as ps


def _ring(n, rng):
    return graph(n, np.arange(n), (np.arange(n) + 1) % n)


def _caterpillar(n, rng):
    """A path with legs of many lengths, and a hub at its end."""
    spine = np.arange(n // 2 - 1)
    legs = np.arange(n // 2, n)
    return graph(
        n,
        np.concatenate([spine, rng.integers(0, n // 2, legs.size), np.full(4000, n // 2 - 1)]),
        np.concatenate([spine + 1, legs, rng.choice(legs, 4000, False)]),
    )


def _hubs(n, rng):
    """Hubs of 500 to 5000 neighbours, about the lengths where lists are cut, and empty rows."""
    sizes = [500, 1021, 1022, 1023, 1024, 1025, 2048, 4096, 4097, 5000]
    tails = np.repeat(np.arange(len(sizes)) * 100, sizes)
    heads = np.concatenate([rng.choice(n // 2, size, False) for size in sizes])
    return graph(n, tails, heads)


def _random_order(n, rng):
    a, p = ps.generate.rmat(13, seed=3), rng.permutation(1 << 13)
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return graph(1 << 13, p[rows], p[np.asarray(a.indices)])


ODD = {"ring": _ring, "caterpillar": _caterpillar, "hubs": _hubs, "random_order": _random_order}
_made: dict = {}


def shape(name):
    if name not in ODD:
        return named(name)
    if name not in _made:
        _made[name] = ODD[name](20_000, np.random.default_rng(11))
    return _made[name]
