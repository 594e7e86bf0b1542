"""Random lifts: graphs of any size with the structure of a given one."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.generate._arguments import integer, on_gpu, real, seed_of, wrap


def lift(A: Any, copies: int, mix: float = 0.05, *, seed: int = 0, device: Any = None) -> csr_array:
    """The random lift of a square matrix: `copies` copies of a graph, of whose edges a few lead from copy to copy.

    Vertex v of copy c has the number c * n + v. An edge {u, v} joins (u, c) with (v, c + s) for each c, modulo the
    copies, where s is 0 for all but a share `mix` of the edges, and a hash of the edge, modulo the copies, for those.
    So degrees stay, of rows and of columns, nearly every triangle stays, and the order of the vertices keeps its
    locality. To map (v, c) to v is a covering: the neighbours of (v, c) map one to one to those of v. (Amit, Linial
    2002, "Random graph coverings I", Combinatorica 22(1), where an edge has any permutation of the copies; shifts are
    cyclic lifts.)

    Parameters
    ----------
    A : square matrix
        Anything that `csr_array` takes, of n rows. Entries keep their values, and duplicates stay duplicates. A
        pattern that is symmetric stays so, as do weights: (v, u) moves back by as much as (u, v) moves forward. The
        diagonal stays in its copy.
    copies : int
        At least 1, and at most (2**31 - 1) // n. The entries may be more than 2**31.
    mix : float
        Share of the edges that are moved, 0 to 1. With 0 the copies are apart.
    device : optional
        A GPU, as `ps.device(0)` or its number, which makes the same matrix, bit for bit, in its own memory; beside it
        it takes 8 bytes a row of A, and 8 and a value an entry. PlacementError where there is no such GPU,
        NotCompiledError without CUDA.

    Returns
    -------
    csr_array
        n * copies rows and columns, A.nnz * copies entries, of A's dtype. Rows are sorted; equal columns keep
        the order that they have in A.

    Raises ValueError for a matrix that is not square and for copies and mix out of range, and MemoryError with the
    numbers where it does not fit what is free.

    >>> import penstock as ps
    >>> A = ps.generate.road_grid(30, 30, seed=1)
    >>> L = ps.generate.lift(A, 100, seed=2)
    >>> L.shape, L.nnz == 100 * A.nnz, L.dtype
    ((90000, 90000), True, dtype('float64'))
    >>> bool(L.sum() == 100 * A.sum())
    True
    """
    a = A if isinstance(A, csr_array) else csr_array(A, copy=False)
    how = integer("copies", copies), real("mix", mix), seed_of(seed)
    known = a._derived
    host = a._core if a._core.place != "device" else _core.to_place(a._core, "host")
    if device is None:
        made = wrap(_core.generate_lift(host, *how))
    else:
        made = wrap(_core.generate_lift_gpu(host, *how, **on_gpu(device))[0])
    made._derived.symmetric_pattern = known.symmetric_pattern
    made._derived.symmetric_weights = known.symmetric_weights
    return made
