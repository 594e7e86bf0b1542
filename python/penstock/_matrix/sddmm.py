"""The sampled dense-dense product: X Y^T where a sparse matrix has entries, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import checked, result_dtype
from penstock._arrays.tensors import is_tensor
from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_factor
from penstock._product.operands import as_dense, as_number, on_gpu, strides_fit

__all__ = ["sddmm"]


def _check_tensor(x: Any, name: str) -> None:
    """Refuses tensors that are for `ps.torch.sddmm`."""
    if not is_tensor(x):
        return
    if x.device.type not in ("cpu", "cuda"):
        raise _core.PlacementError(
            f"{name} is on {x.device}, and sddmm runs on the CPU and on GPUs of CUDA: move it with .cpu()"
        )
    if x.requires_grad:
        raise TypeError(
            f"{name} requires a gradient, which a csr_array cannot carry: use ps.torch.sddmm, or {name}.detach()"
        )
    if x.dtype.itemsize == 2:
        raise TypeError(f"{name} is {x.dtype}: use ps.torch.sddmm, or {name}.float()")


def _factor(x: Any, name: str, rows: int, of: str) -> np.ndarray:
    """X or Y in two dimensions; a vector is one column."""
    if is_tensor(x):
        x = x.resolve_conj().resolve_neg().numpy()
    x = as_dense(x)
    if x.ndim not in (1, 2) or x.shape[0] != rows:
        raise ValueError(
            f"{name} has shape {x.shape}: give ({rows}, k) or ({rows},), a row for each {of} of A"
        )
    return x.reshape(-1, 1) if x.ndim == 1 else x


def _as_read(x: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    x = checked(x, dtype, name)
    if x.dtype == dtype and strides_fit(x):
        return x
    return np.array(x, dtype, order="F" if abs(x.strides[0]) < abs(x.strides[1]) else "C")


def _as_written(out: Any, nnz: int, dtype: np.dtype, factors: tuple[np.ndarray, ...]) -> np.ndarray:
    """`out` as the core writes it."""
    values = out
    if is_tensor(out) and out.device.type == "cpu" and not out.requires_grad:
        values = out.numpy()
    if not isinstance(values, np.ndarray) or values.shape != (nnz,) or values.dtype != dtype:
        got = (
            f"{values.dtype} {values.shape}"
            if isinstance(values, np.ndarray)
            else type(out).__name__
        )
        raise ValueError(
            f"out is {got}: give an array in host memory of {dtype} and shape ({nnz},), a value an entry"
        )
    if not (values.flags.c_contiguous and values.flags.aligned and values.flags.writeable):
        raise ValueError("out must be C-contiguous and writable")
    if any(np.may_share_memory(values, x) for x in factors):
        raise ValueError("out overlaps X or Y: give another array")
    return values


def sddmm(
    A: Any,
    X: Any,
    Y: Any,
    *,
    alpha: complex | None = None,
    beta: complex | None = None,
    scale: bool = False,
    out: Any = None,
) -> Any:
    """The sampled dense-dense product: `X @ Y.T` at the stored entries of A, and nowhere else.

    Entry (i, j) becomes `alpha * (X[i] . Y[j])`, times A's value where `scale` is set, plus `beta` times what `out`
    holds. Nothing is conjugated. The dense `X @ Y.T` is never made.

    Parameters
    ----------
    A : csr_array, transposed view (`A.T`, which is formed and kept), or SciPy sparse array, of shape (m, n)
        Says where. Its values count only with `scale`. An entry that is stored twice gets the value twice.
    X, Y : arrays of shape (m, k) and (n, k), or (m,) and (n,)
        By rows or by columns, or views of any strides that are not negative; of NumPy, or anything with
        `__dlpack__` in host memory; or of CuPy, PyTorch or another library on the GPU that A is on. Row i of X belongs
        to row i of A, row j of Y to its column j. Rows that are contiguous are read as they are; columns cost a copy.
    alpha, beta : numbers, optional
    scale : bool
        Multiplies by A's values; those of a pattern are ones.
    out : array of shape (nnz,), optional
        Receives the values, in the order of A's entries, and is read only where `beta` is given. Where X and Y are.

    Returns
    -------
    csr_array with A's pattern, which shares A's row offsets and columns; `out` itself where that is given. The type is
    NumPy's promotion of X and Y, and of A with `scale`; integers count as float64. The same bits for any number of
    threads. On a GPU the work is queued on the current stream of X's library, the result's values are an array of that
    library, and nothing is converted: X and Y have the result's type.

    Raises ValueError where shapes do not fit, TypeError for types, and PlacementError where some of A, X, Y and `out`
    are on a GPU and others are not.

    The same as `torch.sparse.sampled_addmm(C, X, Y.T, beta=b, alpha=a)` and cuSPARSE's SDDMM for
    `out=C.values()`, `beta=b`, `alpha=a`; as `dgl.sparse.sddmm(A, X, Y.T)` with `scale=True`. Both take Y transposed.
    Gradients: `ps.torch.sddmm`.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 5.0]]))
    >>> X, Y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> ps.sddmm(A, X, Y).toarray()
    array([[0., 2., 0.],
           [3., 0., 7.]])
    >>> ps.sddmm(A, X, Y, scale=True).data
    array([ 4.,  9., 35.])
    """
    a = as_factor(A, "A")
    rows, cols = a.shape
    _check_tensor(X, "X")
    _check_tensor(Y, "Y")
    there = {name: on_gpu(z) for name, z in (("X", X), ("Y", Y), ("out", out)) if z is not None}
    if any(there.values()):
        from penstock._matrix.sddmm_gpu import sddmm_on_gpu  # not where there is no GPU

        if not all(there.values()):
            some = " and ".join(name for name, is_there in there.items() if is_there)
            rest = " and ".join(name for name, is_there in there.items() if not is_there)
            raise _core.PlacementError(
                f"{some} on a GPU, and {rest} in host memory: move all to that GPU, or all to the host"
            )
        return sddmm_on_gpu(a, X, Y, alpha, beta, scale, out)
    x, y = _factor(X, "X", rows, "row"), _factor(Y, "Y", cols, "column")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"X has {x.shape[1]} columns and Y {y.shape[1]}: both need the same number"
        )
    if a.place == "device":
        raise _core.PlacementError(
            "A is in a GPU's memory, and X and Y in host memory: move them to that GPU, or give A.to(ps.host)"
        )
    dtype = result_dtype(x.dtype, y.dtype, *([a.dtype] if scale else []))
    alpha, beta = (as_number(v, dtype, False, n) for v, n in ((alpha, "alpha"), (beta, "beta")))
    if out is None and beta is not None:
        raise ValueError("beta is given without out: there is nothing to add to")
    values = np.empty(a.nnz, dtype) if out is None else _as_written(out, a.nnz, dtype, (x, y))
    x, y = _as_read(x, dtype, "X"), _as_read(y, dtype, "Y")
    _core.sddmm(a._core, x, y, values, alpha, beta, scale)
    if out is not None:
        return out
    mapped = a.place == "mapped"
    made = csr_array._from_parts(
        *a.shape, a.indptr, a.indices, values, mapped=mapped, validate="cheap"
    )
    made._derived.row_order = a._derived.row_order
    return made
