"""Matrices and graphs made on the spot: seeded, and the same for any number of threads.

Every function returns a `csr_array` with sorted rows and without duplicates. `dtype` is `bool` (a
pattern, which stores no values), `float32` or `float64`. Bad arguments raise ValueError before
anything is allocated; a matrix that cannot fit the free memory raises MemoryError. `rmat` and
`uniform` also run on a GPU (`device`) and make the same matrices there, bit for bit.

`_keep` is for ps.dist, whose ranks make some rows each: the result has those rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options

__all__ = [
    "advection_diffusion",
    "banded",
    "bter",
    "bter_clustering",
    "bter_degrees",
    "laplacian",
    "rmat",
    "road_grid",
    "uniform",
]


def rmat(
    scale: int,
    edge_factor: float = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    undirected: bool = True,
    self_loops: bool = False,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
    device: Any = None,
    _keep: Any = None,
) -> csr_array:
    """An R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004).

    The default parameters are those of Buono et al. 2017, section 4.1.

    Parameters
    ----------
    scale : int
        2**scale vertices, 1 to 30.
    edge_factor : float
        Edges per vertex before duplicates and self loops go; undirected edges are stored twice.
    a, b, c : float
        Probabilities of three quadrants; the fourth has what is left of 1.
    undirected : bool
        Store each edge in both directions, with the same weight.
    self_loops : bool
        Keep them.
    scramble : bool
        Shuffle the vertex numbers. Otherwise low numbers have the high degrees.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].
    device : optional
        A GPU, as `ps.device(0)` or its number, which makes the same graph, bit for bit, in its own
        memory. Beside the graph it takes 16 bytes an edge to sort (twice that undirected), or less
        in several passes where less is free or the option `device_memory` says so; MemoryError
        with the numbers where that is too little, PlacementError where there is no such GPU,
        NotCompiledError without CUDA.

    >>> import penstock as ps
    >>> A = ps.generate.rmat(10, seed=1)
    >>> A.shape, A.dtype
    ((1024, 1024), dtype('bool'))
    >>> S = A.to_scipy()
    >>> bool((S != S.T).nnz == 0 and S.diagonal().sum() == 0)
    True
    """
    scale, edge_factor = _integer("scale", scale), _real("edge_factor", edge_factor)
    a, b, c = _real("a", a), _real("b", b), _real("c", c)
    how = (
        _at_most_32_bits("scale", scale), edge_factor, a, b, c,
        _flag("undirected", undirected), _flag("self_loops", self_loops),
        _flag("scramble", scramble), _dtype(dtype), _seed(seed),
    )  # fmt: skip
    if device is None:
        among = isinstance(_keep, tuple)  # a rank's part, its Comm, the partition: all ranks draw
        make = _core.generate_rmat_among if among else _core.generate_rmat
        made = make(*_keep[1:], *how, _keep[0]) if among else make(*how, _keep)
    else:
        made, _ = _core.generate_rmat_gpu(*how, **_on(device))
    return _wrap(made, symmetric=bool(undirected) if _keep is None else None)


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
        scale = _integer("scale", scale)
        if not 1 <= scale <= 30:
            raise ValueError(
                f"scale = {scale} is not between 1 and 30: 2**30 vertices is the limit"
            )
        counts = bter_degrees(2**scale, 2 * _real("edge_factor", edge_factor), max_degree)
    else:
        counts = np.asarray(degrees)
        if counts.ndim != 1 or (counts.size and counts.dtype.kind not in "iu"):
            raise ValueError("degrees must be a 1-D array of integers: the vertices of each degree")
    if clustering_per_degree is None:
        profile = bter_clustering(counts, max_clustering, clustering)
    else:
        profile = np.asarray(clustering_per_degree, dtype=np.float64)
        if profile.ndim != 1:
            raise ValueError(
                "clustering_per_degree must be a 1-D array: one number for each degree"
            )
    return _wrap(
        _core.generate_bter(
            counts.tolist(),
            profile.tolist(),
            _flag("scramble", scramble),
            _dtype(dtype),
            _seed(seed),
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
    vertices = _integer("vertices", vertices)
    if max_degree is None:
        max_degree = min(int(10 * max(vertices, 0) ** 0.5), 100_000, vertices - 1)
    counts = _core.ideal_degrees(
        vertices, _real("average", average), _integer("max_degree", max_degree)
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
    counts = np.asarray(degrees, dtype=np.int64).tolist()
    profile = _core.ideal_clustering(
        counts, _real("max_clustering", max_clustering), _real("clustering", clustering)
    )
    return np.array(profile, dtype=np.float64)


def uniform(
    rows: int,
    cols: int | None = None,
    nnz_per_row: float = 16,
    *,
    dtype: Any = np.float64,
    seed: int = 0,
    device: Any = None,
    _keep: Any = None,
) -> csr_array:
    """Entries at independent uniform positions (Erdos-Renyi), values uniform in (0, 1].

    `nnz_per_row` is the mean before duplicates are merged; `cols` is `rows` unless given. `device`
    is a GPU that makes the same matrix in its own memory, as in `rmat`.

    >>> import penstock as ps
    >>> ps.generate.uniform(1000, 500, 4, seed=1).shape
    (1000, 500)
    """
    rows = _integer("rows", rows)
    cols = rows if cols is None else _integer("cols", cols)
    per_row = _real("nnz_per_row", nnz_per_row)
    how = (rows, cols, per_row, _dtype(dtype), _seed(seed))
    if device is None:
        return _wrap(_core.generate_uniform(*how, _keep))
    return _wrap(_core.generate_uniform_gpu(*how, **_on(device))[0])


def banded(
    n: int,
    diagonals: int | Sequence[int],
    *,
    dtype: Any = np.float64,
    seed: int = 0,
    _keep: Any = None,
) -> csr_array:
    """n x n with full diagonals and values uniform in (0, 1].

    `diagonals` is a half bandwidth k (the diagonals -k to k) or a sequence of offsets, column minus
    row.

    >>> import penstock as ps
    >>> ps.generate.banded(4, 1, dtype=bool).to_scipy().toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """
    n = _integer("n", n)
    if np.ndim(diagonals) == 0:
        half = _integer("diagonals", diagonals)
        if not 0 <= half < max(n, 1):
            raise ValueError(
                f"diagonals = {half}: a half bandwidth lies between 0 and n - 1 = {n - 1}"
            )
        offsets = list(range(-half, half + 1))
    else:
        offsets = [_integer("a diagonal", d) for d in diagonals]
    return _wrap(_core.generate_banded(n, offsets, _dtype(dtype), _seed(seed), _keep))


def advection_diffusion(
    n: int,
    *,
    a: float = 1 / 80,
    b: float = 3**-0.5,
    c: float = 0.0,
    dtype: Any = np.float64,
    _keep: Any = None,
) -> csr_array:
    """-a laplace(u) + b . grad(u) + c u on the unit cube: pdeN of Cardellini et al. 2014.

    n**3 rows, x fastest, at most 7 entries in each: central differences with step 1 / (n + 1), zero
    on the faces, the same `a` and `b` along each axis. The defaults are those of the pdegen test of
    PSBLAS.

    >>> import penstock as ps
    >>> A = ps.generate.advection_diffusion(10)
    >>> A.shape, A.nnz
    ((1000, 1000), 6400)
    """
    a, b, c = _real("a", a), _real("b", b), _real("c", c)
    n = _integer("n", n)
    return _wrap(_core.generate_advection_diffusion(n, a, b, c, _dtype(dtype), _keep))


def laplacian(
    shape: int | Sequence[int], *, dtype: Any = np.float64, _keep: Any = None
) -> csr_array:
    """The 3-, 5- or 7-point Laplacian on a grid (nx,), (nx, ny) or (nx, ny, nz), x fastest.

    Twice the number of axes on the diagonal, -1 for each neighbour; symmetric positive definite.

    >>> import penstock as ps
    >>> ps.generate.laplacian((2, 2)).to_scipy().toarray()
    array([[ 4., -1., -1.,  0.],
           [-1.,  4.,  0., -1.],
           [-1.,  0.,  4., -1.],
           [ 0., -1., -1.,  4.]])
    """
    extents = [shape] if np.ndim(shape) == 0 else list(shape)
    sizes = [_integer("an extent", e) for e in extents]
    made = _core.generate_laplacian(sizes, _dtype(dtype), _keep)
    return _wrap(made, symmetric=True if _keep is None else None)


def road_grid(
    nx: int,
    ny: int,
    *,
    removed: float = 0.3,
    diagonals: float = 0.05,
    dtype: Any = np.float64,
    seed: int = 0,
) -> csr_array:
    """A road-like graph: a grid of nx * ny with gaps and a few diagonals, undirected.

    Parameters
    ----------
    removed : float
        Share of the grid's edges left out; above about 0.5 the grid falls to pieces.
    diagonals : float
        Share of the diagonals put in.
    dtype : bool, float32 or float64
        Weights are whole numbers: 1 to 10 along the grid, 2 to 14 on diagonals.

    >>> import penstock as ps
    >>> A = ps.generate.road_grid(100, 100, seed=1)
    >>> 2.8 < A.nnz / 10_000 < 3.2
    True
    """
    nx, ny = _integer("nx", nx), _integer("ny", ny)
    removed, diagonals = _real("removed", removed), _real("diagonals", diagonals)
    made = _core.generate_road(nx, ny, removed, diagonals, _dtype(dtype), _seed(seed))
    return _wrap(made, symmetric=True)


def _wrap(matrix: Any, symmetric: bool | None = None) -> csr_array:
    """`symmetric`: what the construction says of the pattern, so that graph algorithms need not look."""
    made = csr_array._wrap(matrix)
    if symmetric:
        made._derived.symmetric_pattern = True
    return made


def _on(device: Any) -> dict[str, int]:
    """The GPU that a place or a number means, and the memory that it may take there."""
    number = device if hasattr(device, "__index__") else getattr(device, "ordinal", None)
    on_gpu = number is device or getattr(device, "memory", None) == "device"
    if isinstance(number, bool) or not hasattr(number, "__index__") or not on_gpu:
        raise TypeError(
            f"device = {device!r} is not a GPU: give ps.device(0), its number, or None for the CPU"
        )
    if not 0 <= number.__index__() < 2**15:
        raise ValueError(f"device = {device!r} is not a GPU: they are numbered from 0")
    allowed = getattr(options, "gpus", None)
    if allowed is not None and number.__index__() >= allowed:
        raise _core.PlacementError(
            f"device = {device!r}: options.gpus allows {allowed} GPUs; set it to None, or leave "
            "`device` out"
        )
    return {"gpu": number.__index__(), "memory": options.device_memory or 0}


def _integer(name: str, value: Any) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} = {value!r} is not an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} = {number} does not fit 64 bits: no matrix is that large")
    return number


def _at_most_32_bits(name: str, number: int) -> int:
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{name} = {number} is not between 1 and 30")
    return number


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r} is not a number") from None


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} = {value!r}: give True or False")
    return bool(value)


def _dtype(dtype: Any) -> str:
    name = np.dtype(dtype).name
    if name not in ("bool", "float32", "float64"):
        raise ValueError(
            f"dtype = {name} is not bool (a pattern), float32 or float64: use astype after"
        )
    return name


def _seed(seed: Any) -> int:
    number = seed.__index__() if hasattr(seed, "__index__") else -1
    if not 0 <= number < 2**64:
        raise ValueError(f"seed = {seed!r} is not an integer between 0 and 2**64 - 1")
    return number
