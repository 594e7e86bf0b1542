"""The Laplacian of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from penstock import _core
from penstock._arrays.convert import VALUE_TYPES, result_dtype
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph
from penstock.csgraph._scipy import as_scipys_own, is_dense_graph, theirs

__all__ = ["laplacian"]


def laplacian(
    csgraph: Any,
    normed: bool = False,
    return_diag: bool = False,
    use_out_degree: bool = False,
    *,
    copy: bool = True,
    form: str = "array",
    dtype: Any = None,
    symmetrized: bool = False,
) -> Any:
    """The Laplacian D - A of a graph, D the diagonal of its degrees, with the signature of
    `scipy.sparse.csgraph.laplacian`.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        The diagonal is left out, and duplicates are added up. A pattern's edges have weight 1.
    normed : bool
        True: each row and column divided by the square root of its degree; 1 for a degree of 0.
    return_diag : bool
    use_out_degree : bool
        False: a degree is the sum of a column. True: that of a row.
    copy : bool
        False: a dense `csgraph`, or one of SciPy's, may be overwritten. A csr_array never is.
    form : "array", "function" or "lo"
        What is returned: a matrix, a function that multiplies a vector or an (n, k) array by it without forming it, or
        the same as SciPy's LinearOperator.
    dtype : float32, float64, complex64 or complex128, optional
        Of the result; that of `csgraph` where it is None, float64 for integers and patterns.
    symmetrized : bool
        True: of A and its conjugate transpose, added up.

    Returns
    -------
    lap : csr_array that stores its whole diagonal
        For a dense `csgraph` and for SciPy's it is what SciPy's function makes: dense, or a COO array of any type.
    diag : array of shape (n,), where asked for
        The degrees, or with `normed` their square roots, 1 where there are none.

    Raises ValueError for a matrix that is not square and an unknown form, TypeError for another dtype (SciPy's function
    makes integers and long doubles: give it `A.to_scipy()`).

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 1.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.laplacian(A).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  3., -2.],
           [ 0., -2.,  2.]])
    >>> ps.csgraph.laplacian(A, return_diag=True, normed=True)[1]
    array([1.        , 1.73205081, 1.41421356])
    """
    if form not in ("array", "function", "lo"):
        raise ValueError(f"Invalid form: {form!r} is none of 'array', 'function' and 'lo'")
    if is_dense_graph(csgraph) or issparse(csgraph):
        return theirs.laplacian(
            as_scipys_own(csgraph, "laplacian"), normed, return_diag, use_out_degree,
            copy=copy, form=form, dtype=dtype, symmetrized=symmetrized,
        )  # fmt: skip
    graph = as_graph(csgraph, "laplacian")
    wanted = _checked(graph, dtype)
    if graph.dtype == np.bool_:
        graph = graph.astype(np.float64)
    graph = graph.without_duplicates()
    if form == "array":
        made, diagonal = _formed(
            _with_mirror(graph) if symmetrized else graph, normed, use_out_degree, wanted
        )
    else:
        made, diagonal = _operator(graph, normed, use_out_degree, symmetrized)
        if form == "lo":
            from scipy.sparse.linalg import LinearOperator

            made = LinearOperator(matvec=made, matmat=made, shape=graph.shape, dtype=wanted)
    return (made, diagonal.astype(wanted, copy=False)) if return_diag else made


def _checked(graph: csr_array, dtype: Any) -> np.dtype:
    wanted = np.dtype(result_dtype(graph.dtype) if dtype is None else dtype)
    if wanted not in VALUE_TYPES:
        raise TypeError(
            f"dtype={wanted}: a csr_array holds float32, float64, complex64 or complex128; SciPy's laplacian of "
            "A.to_scipy() makes others"
        )
    if graph.dtype.kind == "c" and wanted.kind != "c":
        raise TypeError(f"dtype={wanted} would lose the imaginary parts of a {graph.dtype} graph")
    return wanted


def _conjugate(graph: csr_array) -> csr_array:
    if graph.dtype.kind != "c":
        return graph
    parts = graph.indptr, graph.indices, graph.data.conj()
    return csr_array._from_parts(*graph.shape, *parts, validate="cheap")


def _with_mirror(graph: csr_array) -> csr_array:
    return graph + _conjugate(graph).T.formed()


def _sums(graph: csr_array, by_row: bool) -> np.ndarray:
    """Of rows or columns; the same bits for any number of threads."""
    n = graph.shape[0]
    if by_row:
        return graph.dot(np.ones(n, graph.dtype))
    parts = [graph.data.real, graph.data.imag] if graph.dtype.kind == "c" else [graph.data]
    sums = [np.bincount(graph.indices, part, n) for part in parts]
    return (sums[0] if len(sums) == 1 else sums[0] + 1j * sums[1]).astype(graph.dtype, copy=False)


def _roots(degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(square roots, 1 where there is no degree; 1 where there is one, else 0)."""
    alone = degrees == 0
    return np.where(alone, 1, np.sqrt(degrees)).astype(degrees.dtype, copy=False), 1 - alone


def _formed(
    graph: csr_array, normed: bool, by_row: bool, dtype: np.dtype
) -> tuple[csr_array, np.ndarray]:
    n = graph.shape[0]
    every = np.arange(n, dtype=np.int32)
    row = np.repeat(every, np.diff(graph.indptr))
    off = row != graph.indices
    row, col, values = row[off], graph.indices[off], -graph.data[off]
    degrees = _sums(graph, by_row) - graph.diagonal()
    diagonal = degrees
    if normed:
        degrees, diagonal = _roots(degrees)
        values /= degrees[row]
        values /= degrees[col]
    made = _core.coo_to_csr(
        n, n, np.concatenate([row, every]), np.concatenate([col, every]),
        np.concatenate([values, diagonal]).astype(dtype, copy=False),
    )  # fmt: skip
    return csr_array._wrap(made), degrees


def _operator(graph: csr_array, normed: bool, by_row: bool, symmetrized: bool) -> tuple[Any, Any]:
    """(the function that multiplies, the degrees or their roots)."""
    sums, own = _sums(graph, by_row), graph.diagonal()
    degrees = sums - own
    back = None
    if symmetrized:
        sums = sums + _sums(graph, not by_row).conj()
        degrees = sums - own - own.conj()
        back = _conjugate(graph).T

    def times(v: Any) -> np.ndarray:
        v = np.asarray(v)
        y = v * (sums if v.ndim == 1 else sums[:, None]) - graph.dot(v)
        return y if back is None else y - back.dot(v)

    if not normed:
        return times, degrees
    roots, _ = _roots(degrees)
    inverse = 1 / roots

    def scaled(v: Any) -> np.ndarray:
        v = np.asarray(v)
        by = inverse if v.ndim == 1 else inverse[:, None]
        return by * times(v * by)

    return scaled, roots
