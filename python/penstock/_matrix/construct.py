"""Matrices from diagonals, blocks, Kronecker's products and random numbers: SciPy's functions, which make csr_arrays.

Where SciPy lets the caller choose a format, only "csr" or None can be asked for: `A.tocsc()` and so on give others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._arrays.convert import checked_dtype
from penstock._matrix.csr import csr_array
from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import as_scipy, back, canonical_view

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "block_array",
    "block_diag",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "find",
    "hstack",
    "identity",
    "issparse",
    "kron",
    "kronsum",
    "random_array",
    "vstack",
]


def check_format(function: str, format: str | None) -> None:
    if format not in (None, "csr"):
        raise ValueError(
            f"{function}(format={format!r}): the result is a csr_array, use .to{format}() of it"
        )


def _made(function: str, format: str | None, *args: Any, **how: Any) -> csr_array:
    """What SciPy's function of this name makes, as a csr_array."""
    import scipy.sparse as sp

    check_format(function, format)
    if how.get("dtype") is not None and function != "eye_array":
        checked_dtype(how["dtype"])
    result = getattr(sp, function)(*args, format="csr", **how)
    return back(csr_array, sp.csr_array(result) if isinstance(result, sp.spmatrix) else result)


def _blocks(blocks: Any) -> Any:
    """Nested lists with SciPy's arrays in place of ours; sparse matrices of SciPy count as arrays."""
    if isinstance(blocks, (list, tuple)):
        return [_blocks(block) for block in blocks]
    if isinstance(blocks, np.ndarray) and blocks.dtype == object:
        return [_blocks(block) for block in blocks.tolist()]
    return _as_array(blocks)


def _as_array(block: Any) -> Any:
    import scipy.sparse as sp

    return sp.csr_array(block) if isinstance(block, sp.spmatrix) else as_scipy(block)


def issparse(x: Any) -> bool:
    """Whether x is a csr_array, a transpose of one, or a sparse array or matrix of SciPy. SciPy's own function asks for
    its own classes, and says False of the first two.

    >>> import penstock as ps
    >>> ps.issparse(ps.eye_array(3)), ps.issparse([[1.0]])
    (True, False)
    """
    import scipy.sparse as sp

    return isinstance(x, Guarded) or bool(sp.issparse(x))


def eye_array(
    m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None
) -> csr_array:
    """Ones on the k-th diagonal of m x n, as `scipy.sparse.eye_array`; n is m by default, integer types are float64.

    >>> import penstock as ps
    >>> ps.eye_array(2, 3, k=1).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    return _made("eye_array", format, m, n, k=k, dtype=dtype)


def eye(
    m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None
) -> csr_array:
    """`eye_array` with the arguments of `scipy.sparse.eye`."""
    return _made("eye_array", format, m, n, k=k, dtype=dtype)


def identity(n: int, dtype: Any = float, format: str | None = None) -> csr_array:
    """The identity of n x n, as `scipy.sparse.identity`."""
    return _made("eye_array", format, n, dtype=dtype)


def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: tuple[int, int] | None = None,
    format: str | None = None,
    dtype: Any = None,
) -> csr_array:
    """A matrix of these diagonals, a sequence of arrays for a sequence of offsets, as `scipy.sparse.diags_array`; a
    number is repeated where `shape` is given.

    >>> import penstock as ps
    >>> ps.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(3, 3)).toarray()
    array([[ 2., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  2.]])
    """
    how = _typed(diagonals, dtype)
    return _made("diags_array", format, diagonals, offsets=offsets, shape=shape, **how)


def _typed(diagonals: Any, dtype: Any) -> dict[str, Any]:
    """The type that SciPy is asked for: of integers float64, which it would warn of."""
    if dtype is not None or len(diagonals) == 0:
        return {"dtype": dtype}
    try:
        found = np.result_type(*(np.asarray(d).dtype for d in np.atleast_1d(diagonals)))
    except (TypeError, ValueError):
        found = np.result_type(*(np.asarray(d).dtype for d in diagonals))
    return {"dtype": np.float64 if found.kind in "iu" else found}


def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: tuple[int, int] | None = None,
    format: str | None = None,
    dtype: Any = None,
) -> csr_array:
    """`diags_array` with the arguments of `scipy.sparse.diags`."""
    return diags_array(diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)


def hstack(blocks: Sequence[Any], format: str | None = None, dtype: Any = None) -> csr_array:
    """Matrices of as many rows side by side, as `scipy.sparse.hstack`: csr_arrays, SciPy's, dense ones.

    >>> import penstock as ps
    >>> ps.hstack([ps.eye_array(2), ps.eye_array(2)]).shape
    (2, 4)
    """
    return _made("hstack", format, _arrays(blocks), dtype=dtype)


def vstack(blocks: Sequence[Any], format: str | None = None, dtype: Any = None) -> csr_array:
    """Matrices of as many columns one below the other, as `scipy.sparse.vstack`."""
    return _made("vstack", format, _arrays(blocks), dtype=dtype)


def _arrays(blocks: Any) -> list[Any]:
    import scipy.sparse as sp

    blocks = [b for b in blocks if b is not None]  # which SciPy skips
    found = [b if sp.issparse(b) else sp.csr_array(b) for b in _blocks(blocks)]
    if not found:
        raise ValueError("there is no block: give at least one matrix")
    return found


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> csr_array:
    """A matrix of blocks, rows of them, as `scipy.sparse.block_array`; None is a block of zeros.

    >>> import penstock as ps
    >>> I = ps.eye_array(2)
    >>> ps.block_array([[I, None], [2 * I, I]]).shape
    (4, 4)
    """
    import scipy.sparse as sp

    rows = [
        [b if b is None or sp.issparse(b) else sp.csr_array(b) for b in row]
        for row in _blocks(blocks)
    ]
    return _made("block_array", format, rows, dtype=dtype)


def block_diag(mats: Sequence[Any], format: str | None = None, dtype: Any = None) -> csr_array:
    """Matrices along the diagonal, as `scipy.sparse.block_diag`."""
    return _made("block_diag", format, [_as_array(b) for b in mats], dtype=dtype)


def kron(A: Any, B: Any, format: str | None = None) -> csr_array:
    """Kronecker's product, as `scipy.sparse.kron`: every entry of A times B.

    >>> import numpy as np, penstock as ps
    >>> ps.kron(ps.eye_array(2), np.array([[1.0, 2.0]])).toarray()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    return _made("kron", format, _sparse(A), _sparse(B))


def kronsum(A: Any, B: Any, format: str | None = None) -> csr_array:
    """Kronecker's sum of two square matrices, kron(I, A) + kron(B, I), as `scipy.sparse.kronsum`."""
    return _made("kronsum", format, _sparse(A), _sparse(B))


def _sparse(A: Any) -> Any:
    import scipy.sparse as sp

    found = _as_array(A)
    return found if sp.issparse(found) else sp.csr_array(found)


def random_array(
    shape: tuple[int, int],
    *,
    density: float = 0.01,
    format: str | None = None,
    dtype: Any = None,
    rng: Any = None,
    data_sampler: Any = None,
) -> csr_array:
    """Random entries at random places, as `scipy.sparse.random_array` with the same generator; rows ascend. For
    matrices of more than some million entries `ps.generate.uniform` is faster, by all threads.

    >>> import penstock as ps
    >>> ps.random_array((100, 100), density=0.05, rng=1).nnz
    500
    """
    if len(shape) != 2:
        raise ValueError(f"shape={shape!r}: give two integers, (rows, columns)")
    return _made(
        *("random_array", format, shape),
        density=density,
        dtype=dtype,
        rng=rng,
        data_sampler=data_sampler,
    )


def find(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, cols, values) of the entries that are not 0, duplicates added up, as `scipy.sparse.find`.

    >>> import numpy as np, penstock as ps
    >>> ps.find(ps.csr_array(np.array([[0.0, 5.0], [2.0, 0.0]])))
    (array([0, 1], dtype=int32), array([1, 0], dtype=int32), array([5., 2.]))
    """
    import scipy.sparse as sp

    if isinstance(A, Guarded):
        a, turned = A._stored()
        A = canonical_view(a).T if turned else canonical_view(a)
    return sp.find(A)
