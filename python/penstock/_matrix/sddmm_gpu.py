"""The sampled dense-dense product of arrays on a GPU, of CuPy, PyTorch or another library: queued on the stream that
the library of X uses, without waiting. Nothing is converted; the result's values are an array of that library."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._arrays.device import DeviceArray, in_order, library_of, look
from penstock._matrix.csr import csr_array
from penstock._product.gpu_copies import core_on
from penstock._product.on_device import _overlap, checked_out
from penstock._product.operands import as_number

__all__ = ["sddmm_on_gpu"]


def _by_rows(x: Any, name: str) -> tuple[Any, DeviceArray]:
    """X or Y, or a copy of it, with rows that are contiguous. The array is kept until its work is queued."""
    found = look(x)
    assert found is not None
    if len(found.shape) == 2 and found.shape[1] > 1 and found.steps[1] != 1 and found.shape[0] > 0:
        copy = getattr(x, "contiguous", None)  # PyTorch's
        x = copy() if copy is not None else _copied(x, name)
        found = look(x)
        assert found is not None
    return x, found


def _copied(x: Any, name: str) -> Any:
    if type(x).__module__.partition(".")[0] != "cupy":
        raise ValueError(f"{name} has columns side by side: give an array in C order")
    return x.copy(order="C")


def _factor(x: Any, name: str, rows: int, of: str) -> tuple[Any, DeviceArray]:
    if getattr(x, "is_conj", bool)() or getattr(x, "is_neg", bool)():  # flags of PyTorch
        x = x.resolve_conj().resolve_neg()
    x, found = _by_rows(x, name)
    if len(found.shape) not in (1, 2) or found.shape[0] != rows:
        raise ValueError(
            f"{name} has shape {found.shape}: give ({rows}, k) or ({rows},), a row for each {of} of A"
        )
    return x, found


def _columns(x: DeviceArray) -> int:
    return 1 if len(x.shape) == 1 else x.shape[1]


def _written(out: Any, nnz: int, dtype: np.dtype, x: DeviceArray, y: DeviceArray) -> DeviceArray:
    """`out` as it is, if the product may write it."""
    _, found = checked_out(out, (nnz,), dtype, x.gpu)
    if nnz > 1 and found.steps != (1,):
        raise ValueError("out must be C-contiguous")
    if _overlap(x, found) or _overlap(y, found):
        raise ValueError("out overlaps X or Y: give another array")
    return found


def sddmm_on_gpu(
    a: csr_array, X: Any, Y: Any, alpha: Any, beta: Any, scale: bool, out: Any
) -> csr_array | Any:
    """`sddmm` where X, Y and `out`, if it is given, are on a GPU: A must be there, too."""
    if a.place != "device":
        raise _core.PlacementError(
            f"A is in {a.place} memory, and X on a GPU: give A.to(ps.device(n)), and keep it for later products"
        )
    rows, cols = a.shape
    X, x = _factor(X, "X", rows, "row")
    Y, y = _factor(Y, "Y", cols, "column")
    if _columns(x) != _columns(y):
        raise ValueError(
            f"X has {_columns(x)} columns and Y {_columns(y)}: both need the same number"
        )
    if x.gpu != y.gpu:
        raise _core.PlacementError(
            f"X is on GPU {x.gpu} and Y on GPU {y.gpu}: move one to the other's"
        )
    core = core_on(a, x.gpu)
    dtype = result_dtype(x.dtype, y.dtype, *([a.dtype] if scale else []))
    for each, name in ((x, "X"), (y, "Y")):
        if each.dtype != dtype:
            raise TypeError(
                f"{name} is {each.dtype}: {dtype} is needed, and nothing is converted on a GPU"
            )
    alpha, beta = (as_number(v, dtype, False, n) for v, n in ((alpha, "alpha"), (beta, "beta")))
    if out is None and beta is not None:
        raise ValueError("beta is given without out: there is nothing to add to")
    library = library_of(X)
    assert library is not None
    values = library.empty((a.nnz,), dtype, x.gpu) if out is None else out
    to = _written(values, a.nnz, dtype, x, y)
    for each, name in ((x, "X"), (y, "Y"), (to, "out")):
        if each.pointer % dtype.itemsize != 0:
            raise ValueError(
                f"{name} begins at address {each.pointer:#x}, no multiple of {dtype.itemsize} bytes: give a copy"
            )
    stream = library.stream(x.gpu)
    with in_order(stream, x.gpu, library_of(Y), library_of(values)):
        _core.sddmm_gpu(
            core,
            x.pointer,
            x.steps[0],
            y.pointer,
            y.steps[0],
            _columns(x),
            to.pointer,
            dtype.name,
            alpha,
            beta,
            x.gpu,
            stream,
            scale,
        )
    if out is not None:
        return out
    made = csr_array._wrap(
        _core.with_values_on_gpu(core, to.pointer, a.nnz, dtype.name, values, stream)
    )
    made._derived.row_order = a._derived.row_order
    return made
