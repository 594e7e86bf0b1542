"""Models of graphs with structure: neighbours in the plane, hubs, groups, small worlds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.generate._arguments import (
    extent,
    flag,
    integer,
    numbers,
    real,
    seed_of,
    value_type,
    wrap,
)


@overload
def random_geometric(
    n: int,
    radius: float,
    *,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
    positions: Literal[False] = False,
) -> csr_array: ...
@overload
def random_geometric(
    n: int,
    radius: float,
    *,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
    positions: Literal[True],
) -> tuple[csr_array, np.ndarray]: ...
def random_geometric(
    n: int,
    radius: float,
    *,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
    positions: bool = False,
) -> csr_array | tuple[csr_array, np.ndarray]:
    """A random geometric graph: n points in the unit square, joined where they are near (Gilbert 1961).

    Parameters
    ----------
    n : int
        Vertices. The mean degree is about n * pi * radius**2.
    radius : float
        Points at this distance or nearer are joined; 0 to 1.5.
    scramble : bool
        Number the vertices as their points are drawn, as NetworkX's `random_geometric_graph`. Otherwise they are
        numbered by the cells of a grid, so that neighbours have near numbers.
    dtype : bool, float32 or float64
        Weights, where wanted, are the distances.
    positions : bool
        Return the points, too: an array of (n, 2) in [0, 1), float64.

    >>> import numpy as np
    >>> import penstock as ps
    >>> A, xy = ps.generate.random_geometric(1000, 0.1, dtype=float, seed=1, positions=True)
    >>> i, j = A.to_scipy().nonzero()
    >>> A.shape, bool(np.allclose(A.data, np.hypot(*(xy[i] - xy[j]).T))), float(A.data.max()) <= 0.1
    ((1000, 1000), True, True)
    """
    n = extent("n", n)
    made, xy = _core.generate_geometric(
        max(n, 1), real("radius", radius), flag("scramble", scramble), value_type(dtype), seed_of(seed)
    )  # fmt: skip
    graph = wrap(made, True, None if n else (0, 0))
    return (graph, xy.reshape(-1, 2)[:n]) if flag("positions", positions) else graph


def barabasi_albert(n: int, m: int, *, dtype: Any = bool, seed: int = 0) -> csr_array:
    """Preferential attachment: a power law of degrees (Barabasi and Albert 1999, Science 286).

    Vertices come one after the other, and each joins m of those before it, drawn without repetition by their degrees.
    The first m + 1 are a star around vertex 0, as in NetworkX's `barabasi_albert_graph`. Low numbers have the high
    degrees.

    Parameters
    ----------
    n : int
        Vertices.
    m : int
        Edges of each new vertex, 1 to n - 1: so n is 2 or more.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].

    >>> import penstock as ps
    >>> A = ps.generate.barabasi_albert(10_000, 4, seed=1)
    >>> A.nnz == 2 * (4 + (10_000 - 5) * 4)
    True
    """
    n, m = extent("n", n), integer("m", m)
    if n < 2:
        raise ValueError(
            f"n = {n}: each new vertex joins m >= 1 of those before it: give 2 or more"
        )
    made = _core.generate_attachment(n, m, value_type(dtype), seed_of(seed))
    return wrap(made, symmetric=True)


def stochastic_block(
    sizes: Sequence[int], p: Any, *, dtype: Any = bool, seed: int = 0
) -> csr_array:
    """Groups of vertices, joined with a probability for each two groups (Holland, Laskey, Leinhardt 1983).

    Vertices are numbered group by group, as in NetworkX's `stochastic_block_model`: `numpy.repeat(range(len(sizes)),
    sizes)` are their groups. There are no self loops. Time goes with the edges, and with the square of the number of
    groups; `planted_partition` is for many equal groups.

    Parameters
    ----------
    sizes : integers
        Vertices of each group.
    p : array of floats
        p[g, h] is the probability that a vertex of group g and one of group h are joined; symmetric.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].

    >>> import penstock as ps
    >>> A = ps.generate.stochastic_block([3, 2], [[1, 0], [0, 1]])
    >>> A.to_scipy().toarray().astype(int)
    array([[0, 1, 1, 0, 0],
           [1, 0, 1, 0, 0],
           [1, 1, 0, 0, 0],
           [0, 0, 0, 0, 1],
           [0, 0, 0, 1, 0]])
    """
    if isinstance(sizes, (str, bytes)) or not np.iterable(sizes):
        raise TypeError(f"sizes = {sizes!r} is no sequence of integers: give one for each group")
    counts = [extent(f"sizes[{group}]", size) for group, size in enumerate(sizes)]
    table = numbers("p", p, "biufO")
    if table.dtype.kind == "O":  # fractions and decimals, not texts
        table = np.reshape([real(f"p[{k}]", x) for k, x in enumerate(table.flat)], table.shape)
    table = table.astype(np.float64)
    if table.shape != (len(counts),) * 2 and (counts or table.size):
        give = f"{len(counts)} x {len(counts)} numbers, one for each two groups" if counts else "[]"
        raise ValueError(f"p has shape {table.shape} for {len(counts)} sizes: give {give}")
    vertices = any(counts)
    table = table if counts else np.zeros((1, 1))
    sized = counts if vertices else [1] * len(table)
    made = _core.generate_blocks(sized, table.ravel().tolist(), value_type(dtype), seed_of(seed))
    return wrap(made, True, None if vertices else (0, 0))


def planted_partition(
    groups: int, size: int, p_in: float, p_out: float, *, dtype: Any = bool, seed: int = 0
) -> csr_array:
    """Equal groups: vertices of one group are joined with probability p_in, others with p_out (Condon and Karp 2001).

    Vertex v is in group v // size, as in NetworkX's `planted_partition_graph`.

    Parameters
    ----------
    groups, size : int
        Number of groups, and vertices of each.
    p_in, p_out : float
        Probabilities. The mean degree is about p_in * (size - 1) + p_out * (groups - 1) * size.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].

    >>> import penstock as ps
    >>> A = ps.generate.planted_partition(100, 50, 0.2, 0.001, seed=1)
    >>> A.shape, 14 < A.nnz / 5000 < 15.5
    ((5000, 5000), True)
    """
    groups, size = extent("groups", groups), extent("size", size)
    all_of = (groups, size) if groups and size else (1, 1)
    made = _core.generate_planted(
        *all_of, real("p_in", p_in), real("p_out", p_out), value_type(dtype), seed_of(seed)
    )
    return wrap(made, True, None if groups and size else (0, 0))


def watts_strogatz(n: int, k: int, p: float, *, dtype: Any = bool, seed: int = 0) -> csr_array:
    """A small world: a ring with shortcuts (Watts and Strogatz 1998, Nature 393).

    Each vertex is joined to the k nearest of a ring (k - 1 where k is odd); then each edge (u, v) becomes, with
    probability p, an edge (u, w), where w is any vertex that u is not joined to. The number of edges stays.
    NetworkX's `watts_strogatz_graph` draws the same, edge by edge.

    Parameters
    ----------
    n : int
        Vertices.
    k : int
        Neighbours on the ring, 0 to n - 1 (0 of no vertices).
    p : float
        Probability that an edge gets another end.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].

    >>> import penstock as ps
    >>> A = ps.generate.watts_strogatz(10_000, 10, 0.1, seed=1)
    >>> A.nnz, round(ps.csgraph.transitivity(A), 1)
    (100000, 0.5)
    """
    n, k = extent("n", n), extent("k", k)
    if n == 0 and k > 0:
        raise ValueError(f"k = {k}: a graph of no vertices has no ring: give 0")
    made = _core.generate_small_world(max(n, 1), k, real("p", p), value_type(dtype), seed_of(seed))
    return wrap(made, True, None if n else (0, 0))
