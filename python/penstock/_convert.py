"""From what users have (SciPy, tuples, dense arrays) to what the core takes: int64 indptr, int32 indices, values."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core

VALUE_TYPES = tuple(np.dtype(t) for t in ("float32", "float64", "complex64", "complex128"))
MAX_COLS = 2**31 - 1
_EXACT = 2**53  # the largest integer up to which float64 holds every integer


def result_dtype(*dtypes: Any) -> np.dtype:
    """The value type of a product: NumPy's promotion, with bool and integers as float64, float16 as float32."""
    dtype = np.result_type(*dtypes)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype == np.float16:
        return np.dtype(np.float32)
    if dtype not in VALUE_TYPES:
        raise TypeError(f"{dtype} is not supported: convert to float32, float64, complex64 or complex128")
    return dtype


def as_type(array: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """`array` as `dtype`, C-contiguous; refuses 64-bit integers that float64 cannot hold."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        low, high = int(array.min()), int(array.max())
        if max(-low, high) > _EXACT:
            raise ValueError(f"{name} holds integers up to {max(-low, high)}, beyond 2^53: float64 would round them")
    if dtype.kind != "c" and array.dtype.kind == "c":
        raise TypeError(f"{name} is complex and would lose its imaginary part: take .real first")
    return np.ascontiguousarray(array, dtype=dtype)


def narrow_indices(indices: Any, name: str = "indices") -> np.ndarray:
    """Column indices as int32, without a copy where they are; names the first that does not fit."""
    indices = np.asarray(indices)
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices)
    if indices.size and indices.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {indices.dtype}: give integers")
    if indices.size and not (indices.min() >= 0 and indices.max() <= MAX_COLS):
        bad = int(np.flatnonzero((indices < 0) | (indices > MAX_COLS))[0])
        raise ValueError(f"{name}[{bad}] = {int(indices[bad])} is outside 0 .. 2^31 - 1")
    return np.ascontiguousarray(indices, dtype=np.int32)


def split_values(data: Any, dtype: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(values, keep): values is None for a pattern; keep is a mask where explicit False entries must go."""
    data = np.asarray(data)
    wanted = None if dtype is None else np.dtype(dtype)
    if wanted == np.bool_ or (wanted is None and data.dtype == np.bool_):
        keep = data != 0
        return None, None if keep.all() else keep
    target = result_dtype(data.dtype) if wanted is None else wanted
    if target not in VALUE_TYPES:
        raise TypeError(f"dtype={target} is not supported: choose bool, float32, float64, complex64 or complex128")
    return as_type(data, target, "data"), None


def check_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = (int(n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r}: give (rows, columns)") from None
    if rows < 0 or not 0 <= cols <= MAX_COLS:
        raise ValueError(f"shape={shape!r}: rows must be 0 or more, columns 0 .. 2^31 - 1")
    return rows, cols


def _drop(indptr: np.ndarray, indices: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    return kept[indptr], indices[keep]


def from_csr_parts(data: Any, indices: Any, indptr: Any, shape: Any, dtype: Any) -> Any:
    indptr = np.asarray(indptr)
    if indptr.dtype.kind not in "iu" or indptr.ndim != 1 or indptr.size == 0:
        raise ValueError("indptr must be a one-dimensional array of rows + 1 integers")
    indices = np.asarray(indices)
    if indices.ndim != 1 or np.ndim(data) != 1 or np.size(data) != indices.size:
        raise ValueError(f"data has shape {np.shape(data)}, indices {indices.shape}: give one entry each")
    if shape is None:
        shape = (indptr.size - 1, int(indices.max()) + 1 if indices.size else 0)
    rows, cols = check_shape(shape)
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    indices = narrow_indices(indices)
    values, keep = split_values(data, dtype)
    matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, values)
    if keep is not None:
        indptr, indices = _drop(indptr, indices, keep)
        matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, None)
    return matrix


def from_coo_parts(data: Any, row: Any, col: Any, shape: Any, dtype: Any) -> Any:
    row, col = np.asarray(row), np.asarray(col)
    if row.shape != col.shape or row.ndim != 1 or np.shape(data) not in ((), row.shape):
        raise ValueError(f"row {row.shape}, col {col.shape} and data {np.shape(data)} must be equally long")
    for name, index in (("row", row), ("col", col)):
        if index.size and index.dtype.kind not in "iu":
            raise TypeError(f"{name} has dtype {index.dtype}: give integers")
    if shape is None:
        shape = tuple(int(index.max()) + 1 if index.size else 0 for index in (row, col))
    rows, cols = check_shape(shape)
    values, keep = split_values(np.broadcast_to(np.asarray(data), row.shape), dtype)
    if keep is not None:
        row, col = row[keep], col[keep]
    row, col = (
        np.ascontiguousarray(i, dtype=np.int32 if i.dtype == np.int32 else np.int64) for i in (row, col)
    )
    return _core.coo_to_csr(rows, cols, row, col, values)


def from_anything(arg: Any, shape: Any, dtype: Any) -> Any:
    """A core matrix from a SciPy sparse array, a tuple in SciPy's forms, or a dense array."""
    if isinstance(arg, tuple):
        if len(arg) == 2 and all(isinstance(n, (int, np.integer)) for n in arg):
            rows, cols = check_shape(arg)
            kind = None if dtype is not None and np.dtype(dtype) == np.bool_ else np.empty(0, dtype or float)
            return _core.Matrix.from_arrays(rows, cols, np.zeros(rows + 1, np.int64), np.empty(0, np.int32), kind)
        if len(arg) == 2:
            data, (row, col) = arg
            return from_coo_parts(data, row, col, shape, dtype)
        if len(arg) == 3:
            return from_csr_parts(*arg, shape, dtype)
        raise ValueError("a tuple must be (rows, cols), (data, (row, col)) or (data, indices, indptr)")
    if hasattr(arg, "tocsr"):
        csr = arg.tocsr()
        return from_csr_parts(csr.data, csr.indices, csr.indptr, csr.shape if shape is None else shape, dtype)
    dense = np.asarray(arg)
    if dense.ndim != 2 or dense.dtype == object:
        raise TypeError(f"cannot make a matrix from {type(arg).__name__} of shape {dense.shape}: give two dimensions")
    row, col = np.nonzero(dense)
    return from_coo_parts(dense[row, col], row, col, dense.shape if shape is None else shape, dtype)
