"""Sparse matrices in a GPU's memory: CuPy's and PyTorch's as matrices of the core, over the same arrays, and back.

CuPy and PyTorch convert values and find extremes, each on its own stream; the core checks, sorts and keeps the arrays.
Imports neither of them, unless a matrix is handed over to one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._arrays import device
from penstock._arrays.convert import (
    EXACT_INTEGER,
    VALUE_TYPES,
    check_shape,
    checked,
    not_a_value_type,
    result_dtype,
)
from penstock._arrays.tensors import torch_layout

__all__ = ["Numbers", "any_on_gpu", "from_coo", "from_device", "one_gpu", "values_of"]


class _Torch:
    """What is asked of PyTorch beside what every array on a GPU has (`device.Library`)."""

    def __init__(self) -> None:
        self._torch = sys.modules["torch"]

    def on(self, gpu: int) -> AbstractContextManager[Any]:
        return self._torch.cuda.device(gpu)

    def dtype(self, x: Any) -> np.dtype:
        name = str(x.dtype).removeprefix("torch.")
        return np.dtype(np.float16 if name == "bfloat16" else name)  # both become float32

    def plain(self, x: Any) -> Any:
        return x.detach().resolve_conj().resolve_neg().contiguous()

    def cast(self, x: Any, dtype: np.dtype) -> Any:
        return x.to(getattr(self._torch, dtype.name))

    def copied(self, x: Any) -> Any:
        return x.clone()

    def first(self, mask: Any) -> int:
        return int(mask.nonzero()[0, 0])

    def kept_before(self, keep: Any) -> Any:
        torch = self._torch
        return torch.cat([torch.zeros(1, dtype=torch.int64, device=keep.device), keep.cumsum(0)])


class _CuPy:
    """The same of CuPy."""

    def __init__(self) -> None:
        self._cupy = sys.modules["cupy"]

    def on(self, gpu: int) -> AbstractContextManager[Any]:
        return self._cupy.cuda.Device(gpu)

    def dtype(self, x: Any) -> np.dtype:
        return np.dtype(x.dtype)

    def plain(self, x: Any) -> Any:
        return self._cupy.ascontiguousarray(x)

    def cast(self, x: Any, dtype: np.dtype) -> Any:
        return x.astype(dtype, copy=False)

    def copied(self, x: Any) -> Any:
        return x.copy()

    def first(self, mask: Any) -> int:
        return int(mask.nonzero()[0][0])

    def kept_before(self, keep: Any) -> Any:
        cupy = self._cupy
        return cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(keep, dtype=np.int64)])


_MAKERS: dict[str, Callable[[], Any]] = {"torch": _Torch, "cupy": _CuPy}


class _Arrays(NamedTuple):
    """Arrays of one library in the memory of one GPU, contiguous."""

    ops: Any
    library: device.Library
    gpu: int
    arrays: tuple[Any, ...]


def one_gpu(**named: Any) -> _Arrays:
    """The arrays of these names, if all are of CuPy, or all of PyTorch, and in one GPU's memory. TypeError or
    ValueError names the one that is not."""
    first, ops, where = "", None, -1
    found: device.Library | None = None
    for name, x in named.items():
        module = _module(x)
        library = device.library_of(x)
        if not module or library is None or torch_layout(x) or not device.is_on_gpu(x):
            raise TypeError(
                f"{name} is a {type(x).__module__}.{type(x).__name__} that is not on a GPU, or of another library than "
                "CuPy and PyTorch: give all arrays as CuPy's or as PyTorch's on one GPU, or all on the host"
            )
        gpu = x.get_device() if module == "torch" else x.device.id
        if found is None:
            first, found, where, ops = name, library, gpu, _MAKERS[module]()
        elif library is not found:
            raise TypeError(
                f"{first} and {name} are of two libraries: give all arrays as CuPy's or as PyTorch's"
            )
        elif gpu != where:
            raise ValueError(
                f"{first} is on GPU {where} and {name} on GPU {gpu}: give arrays of one GPU"
            )
    assert found is not None and ops is not None
    with ops.on(where):
        return _Arrays(ops, found, where, tuple(ops.plain(x) for x in named.values()))


def _module(x: Any) -> str:
    """The library of x's class, of those that make matrices here; "" for others."""
    names = (base.__module__.partition(".")[0] for base in type(x).__mro__)
    return next((name for name in names if name in _MAKERS), "")


def any_on_gpu(*arrays: Any) -> bool:
    """Whether one of these is a dense array of CuPy or PyTorch in a GPU's memory."""
    return any(_module(x) and not torch_layout(x) and device.is_on_gpu(x) for x in arrays)


def from_device(arg: Any, shape: Any, dtype: Any, copy: bool | None) -> Any:
    """A core matrix in a GPU's memory, of what `csr_array` takes; None where nothing of it is on a GPU."""
    if isinstance(arg, tuple):
        return _from_tuple(arg, shape, dtype, copy)
    if _is_sparse(arg):
        return _from_sparse(arg, shape, dtype, copy)
    if any_on_gpu(arg):
        raise TypeError(
            f"a dense array of shape {tuple(arg.shape)} on a GPU: make a sparse one there first, by "
            "cupyx.scipy.sparse.csr_matrix(x) or x.to_sparse_csr()"
        )
    return None


def _from_tuple(arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool | None) -> Any:
    if len(arg) == 3 and any_on_gpu(*arg):
        return from_csr(*arg, shape, dtype, copy)
    if len(arg) == 2 and isinstance(arg[1], (tuple, list)) and len(arg[1]) == 2:
        data, (row, col) = arg
        if any_on_gpu(data, row, col):
            return from_coo(data, row, col, shape, dtype)
    return None


def _is_sparse(arg: Any) -> bool:
    """Whether it is a sparse matrix of CuPy, or a sparse tensor of PyTorch on a GPU."""
    if type(arg).__module__.startswith("cupyx.scipy.sparse"):
        return True
    return bool(torch_layout(arg)) and bool(getattr(arg, "is_cuda", False))


class Numbers:
    """An array of integers on a GPU with NumPy's names for what is asked of it."""

    def __init__(self, x: Any) -> None:
        self._x, self.size = x, int(x.shape[0])

    def min(self) -> int:
        return int(self._x.min())

    def max(self) -> int:
        return int(self._x.max())

    def argmin(self) -> int:
        return int(self._x.argmin())

    def argmax(self) -> int:
        return int(self._x.argmax())


def _given(x: Any, library: device.Library) -> tuple[int, int, str]:
    found = library.look(x)
    assert found is not None
    return found.pointer, found.shape[0], found.dtype.name


def _indices(x: Any, name: str, ops: Any) -> Any:
    """Numbers as int32 or int64, the types that the core takes."""
    kind = ops.dtype(x)
    if kind.kind not in "iu" or kind == np.uint64:
        if x.shape[0]:
            raise TypeError(f"{name} has dtype {kind}: give integers of at most 63 bits")
        return ops.cast(x, np.dtype(np.int64))
    return x if kind in (np.int32, np.int64) else ops.cast(x, np.dtype(np.int64))


def values_of(data: Any, dtype: Any, ops: Any, name: str = "data") -> tuple[Any, Any]:
    """(values, keep) as `convert.split_values`, of an array on a GPU: values is None for a pattern, keep a mask where
    entries that are False must go."""
    wanted = None if dtype is None else np.dtype(dtype)
    kind = ops.dtype(data)
    if wanted == np.bool_ or (wanted is None and kind == np.bool_):
        keep = data != 0
        return None, None if bool(keep.all()) else keep
    target = result_dtype(kind) if wanted is None else wanted
    if target not in VALUE_TYPES:
        raise TypeError(not_a_value_type(target))
    if kind == target:
        return data, None
    checked(np.empty(0, kind), target, name, asked=wanted is not None)
    if kind.kind in "iu" and kind.itemsize == 8 and data.shape[0] and wanted is None:
        low, high = int(data.min()), int(data.max())
        if max(-low, high) > EXACT_INTEGER:
            at = ops.first(data == (high if high >= -low else low))
            raise ValueError(
                f"{name}[{at}] = {int(data[at])} is beyond 2^53, where float64 rounds integers: convert it yourself "
                "if rounding is acceptable"
            )
    return ops.cast(data, target), None


def from_csr(
    data: Any, indices: Any, indptr: Any, shape: Any, dtype: Any, copy: bool | None
) -> Any:
    """A core matrix over arrays in a GPU's memory, which it shares where they have the stored types, unless `copy`."""
    ops, library, gpu, (data, indices, indptr) = one_gpu(data=data, indices=indices, indptr=indptr)
    with ops.on(gpu):
        if indptr.ndim != 1 or indptr.shape[0] == 0 or ops.dtype(indptr).kind not in "iu":
            raise ValueError("indptr must be a one-dimensional array of rows + 1 integers")
        if indices.ndim != 1 or data.ndim != 1 or data.shape[0] != indices.shape[0]:
            raise ValueError(
                f"data has shape {tuple(data.shape)}, indices {tuple(indices.shape)}: give one value for each index"
            )
        indices, indptr = _indices(indices, "indices", ops), _indices(indptr, "indptr", ops)
        if shape is None:
            shape = (
                indptr.shape[0] - 1,
                max(int(indices.max()) + 1, 0) if indices.shape[0] else 0,
            )
        rows, cols = check_shape(shape)
        stored = data
        values, keep = values_of(data, dtype, ops)
        if copy:
            indices, indptr = ops.copied(indices), ops.copied(indptr)
            values = ops.copied(values) if values is stored else values
        core = _matrix(rows, cols, indptr, indices, values, gpu, library)
        if keep is None:
            return core
        indptr, indices = ops.kept_before(keep)[indptr], indices[keep]
        return _matrix(rows, cols, indptr, indices, None, gpu, library)


def _matrix(
    rows: int,
    cols: int,
    indptr: Any,
    indices: Any,
    values: Any,
    gpu: int,
    library: device.Library,
) -> Any:
    return _core.matrix_on_gpu(
        rows,
        cols,
        _given(indptr, library),
        _given(indices, library),
        None if values is None else _given(values, library),
        gpu,
        library.stream(gpu),
        (indptr, indices, values),
    )


def from_coo(data: Any, row: Any, col: Any, shape: Any, dtype: Any) -> Any:
    """A core matrix of triples in a GPU's memory, sorted there; duplicates add up. `data` None makes a pattern."""
    named = {"row": row, "col": col} if data is None else {"row": row, "col": col, "data": data}
    ops, library, gpu, (row, col, *rest) = one_gpu(**named)
    with ops.on(gpu):
        if row.ndim != 1 or row.shape != col.shape or (rest and rest[0].shape != row.shape):
            sizes = f"row {tuple(row.shape)}, col {tuple(col.shape)}"
            raise ValueError(
                f"{sizes}{f' and data {tuple(rest[0].shape)}' if rest else ''} must be equally long"
            )
        row, col = _indices(row, "row", ops), _indices(col, "col", ops)
        if shape is None:
            shape = tuple(max(int(i.max()) + 1, 0) if i.shape[0] else 0 for i in (row, col))
        rows, cols = check_shape(shape)
        values, keep = values_of(rest[0], dtype, ops) if rest else (None, None)
        if keep is not None:
            row, col = row[keep], col[keep]
        there = None if values is None else _given(values, library)
        numbers = _given(row, library), _given(col, library)
        return _core.coo_on_gpu(rows, cols, numbers[0], numbers[1], there, gpu, library.stream(gpu))


def _from_sparse(x: Any, shape: Any, dtype: Any, copy: bool | None) -> Any:
    """A core matrix from what `_is_sparse` takes."""
    layout = torch_layout(x)
    if layout == "csr":
        _two_dimensions(x, x.values())
        parts = x.values(), x.col_indices(), x.crow_indices()
        return from_csr(*parts, tuple(x.shape) if shape is None else shape, dtype, copy)
    if layout == "coo":
        x = x.detach().coalesce()
        _two_dimensions(x, x.values())
        row, col = x.indices()
        return from_coo(x.values(), row, col, tuple(x.shape) if shape is None else shape, dtype)
    if layout:
        raise TypeError(
            f"a tensor of layout torch.sparse_{layout}: convert it with .to_sparse_csr() first"
        )
    if x.format != "csr":
        x, copy = x.tocsr(), copy or None
    size = x.shape if shape is None else shape
    return from_csr(x.data, x.indices, x.indptr, size, dtype, copy)


def _two_dimensions(x: Any, values: Any) -> None:
    if len(x.shape) != 2 or values.ndim != 1:
        raise ValueError(
            f"a sparse tensor of shape {tuple(x.shape)} and values of {values.ndim} dimensions: a matrix has two, and "
            "a number at each place; take one of a batch"
        )
