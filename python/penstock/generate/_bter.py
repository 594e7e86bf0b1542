"""BTER graphs: degrees and clustering as wanted."""

from __future__ import annotations

from typing import Any

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


def bter(
    scale: int | None = None,
    edge_factor: float = 16,
    *,
    max_degree: int | None = None,
    max_clustering: float = 0.5,
    clustering: float = 0.15,
    degrees: Any = None,
    clustering_per_degree: Any = None,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
) -> csr_array:
    """A BTER graph: undirected, with communities (Kolda et al. 2014, SIAM J. Sci. Comput. 36(5)).

    The defaults are those of Buono et al. 2017, section 4.1.

    Parameters
    ----------
    scale : int
        2**scale vertices; leave it out when `degrees` is given.
    edge_factor : float
        The mean degree is twice as large.
    max_degree : int, optional
        The degree that 0.001 vertices reach on average. By default 10 sqrt(n), at most 100,000 and
        n - 1: the largest degrees in table 2 of Buono et al. lie between 47,000 and 82,000.
    max_clustering, clustering : float
        Clustering of degree 2, and of the whole graph (closed wedges over wedges).
    degrees : integers, optional
        Instead of scale: degrees[d] vertices have degree d, as `numpy.bincount` counts them.
    clustering_per_degree : floats, optional
        Mean clustering of the vertices of each degree, as long as the degrees.
    scramble : bool
        Shuffle the vertex numbers. Otherwise they ascend by degree, with degrees 1 and 0 last.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].

    Degrees come out as wanted on average, but spread: of the vertices of degree 1 about 40 %
    ends without an edge, as in every Chung-Lu graph.

    >>> import penstock as ps
    >>> A = ps.generate.bter(12, seed=1)
    >>> A.shape, 28 < A.nnz / 4096 < 33
    ((4096, 4096), True)
    """
    if (scale is None) == (degrees is None):
        raise ValueError(
            "give either scale or degrees: one of them says how many vertices there are"
        )
    if degrees is None:
        scale = integer("scale", scale)
        if not 1 <= scale <= 30:
            raise ValueError(
                f"scale = {scale} is not between 1 and 30: 2**30 vertices is the limit"
            )
        counts = bter_degrees(2**scale, 2 * real("edge_factor", edge_factor), max_degree)
    else:
        counts = numbers("degrees", degrees, "iu")
        if counts.ndim != 1:
            raise ValueError("degrees must be a 1-D array of integers: the vertices of each degree")
    if not counts.any():
        raise ValueError("degrees counts no vertices: give one or more")
    if clustering_per_degree is None:
        profile = bter_clustering(counts, max_clustering, clustering)
    else:
        given = numbers("clustering_per_degree", clustering_per_degree)
        profile = given.astype(np.float64)
        if profile.ndim != 1:
            raise ValueError(
                "clustering_per_degree must be a 1-D array: one number for each degree"
            )
    return wrap(
        _core.generate_bter(
            counts.tolist(),
            profile.tolist(),
            flag("scramble", scramble),
            value_type(dtype),
            seed_of(seed),
        ),
        symmetric=True,
    )


def bter_degrees(vertices: int, average: float, max_degree: int | None = None) -> np.ndarray:
    """Vertices of each degree 0, 1, ..., log-normal in shape: P(d) ~ exp(-(log d / alpha)**delta).

    alpha and delta give the mean, and a `max_degree` that 0.001 vertices reach on average.
    (Kolda et al. 2014, section 5.)

    >>> import penstock as ps
    >>> n = ps.generate.bter_degrees(10_000, 32)
    >>> int(n.sum()), round(float(n @ range(len(n))) / 10_000, 1)
    (10000, 32.0)
    """
    vertices = extent("vertices", vertices, 1)
    if max_degree is None:
        max_degree = min(int(10 * max(vertices, 0) ** 0.5), 100_000, vertices - 1)
    counts = _core.ideal_degrees(
        vertices, real("average", average), integer("max_degree", max_degree)
    )
    return np.array(counts, dtype=np.int64)


def bter_clustering(
    degrees: Any, max_clustering: float = 0.5, clustering: float = 0.15
) -> np.ndarray:
    """Mean clustering of each degree: max_clustering at degree 2, falling exponentially.

    It falls as fast as makes the clustering of the whole graph (closed wedges over wedges) equal
    `clustering`.

    >>> import penstock as ps
    >>> n = ps.generate.bter_degrees(10_000, 32)
    >>> c = ps.generate.bter_clustering(n)
    >>> d = range(len(n))
    >>> wedges = [k * (k - 1) / 2 * m for k, m in zip(d, n)]
    >>> round(float(sum(w * x for w, x in zip(wedges, c)) / sum(wedges)), 3)
    0.15
    """
    counts = numbers("degrees", degrees, "iu").astype(np.int64).tolist()
    profile = _core.ideal_clustering(
        counts, real("max_clustering", max_clustering), real("clustering", clustering)
    )
    return np.array(profile, dtype=np.float64)
