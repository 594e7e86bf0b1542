"""From what users have (SciPy, tuples, dense arrays) to what the core takes: int64 indptr, int32 indices, values."""

from __future__ import annotations

import mmap
import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.tensors import host_array, torch_layout
from penstock._choices import SHORT_FLOATS

VALUE_TYPES = tuple(np.dtype(t) for t in ("float32", "float64", "complex64", "complex128"))
MAX_COLS = 2**31 - 1
_STEP = 1 << 25  # bytes that are converted between two looks at Ctrl-C
EXACT_INTEGER = 2**53  # the largest integer up to which float64 holds every integer


def result_dtype(*dtypes: Any) -> np.dtype:
    """The value type of a product: NumPy's promotion, with bool and integers as float64, float16 as float32."""
    dtype = np.result_type(*dtypes)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype == np.float16:
        return np.dtype(np.float32)
    if dtype not in VALUE_TYPES:
        raise TypeError(
            f"{dtype} is not supported: convert to float32, float64, complex64 or complex128"
        )
    return dtype


def not_a_value_type(dtype: Any) -> str:
    """What an error says of a type that arrays of values do not have."""
    text = f"dtype={dtype} is not supported: choose bool, " + ", ".join(t.name for t in VALUE_TYPES)
    if str(dtype) in SHORT_FLOATS:
        text += f"; A.store_as({str(dtype)!r}) rounds values to 16 bits"
    return text


def checked_dtype(dtype: Any) -> np.dtype:
    """A type that a matrix may have, of what the caller asked for."""
    found = np.dtype(dtype)
    if found != np.bool_ and found not in VALUE_TYPES:
        raise TypeError(not_a_value_type(found))
    return found


def as_array(x: Any) -> np.ndarray:
    """A NumPy array, sharing memory, from an array, a list, or any CPU object with `__dlpack__`."""
    if isinstance(x, np.ndarray):
        return np.asarray(x)  # a plain one: np.matrix slices differently
    if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        return np.from_dlpack(x)
    return np.asarray(x)


def _contiguous(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The array itself wherever the core can read it as it is."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    if array.nbytes < _STEP or array.ndim == 0:
        return np.require(array, dtype, ["C", "A"])
    out = np.empty(array.shape, dtype)
    step = max(1, _STEP * array.shape[0] // array.nbytes)
    for first in range(0, array.shape[0], step):
        out[first : first + step] = array[first : first + step]
    return out


def as_type(array: np.ndarray, dtype: np.dtype, name: str, asked: bool = False) -> np.ndarray:
    """`array` as `dtype`, C-contiguous. Refuses to drop imaginary parts, and to round 64-bit integers unless the
    type was asked for by name."""
    if array.dtype != dtype:
        checked(array, dtype, name, asked)
    return _contiguous(array, dtype)


def checked(array: np.ndarray, dtype: np.dtype, name: str, asked: bool = False) -> np.ndarray:
    """The array as it came, or the refusals of `as_type`."""
    kind = array.dtype.kind
    if kind in "iu" and array.dtype.itemsize == 8 and array.size and not asked:
        low, high = int(array.min()), int(array.max())
        if max(-low, high) > EXACT_INTEGER:
            at = np.unravel_index(
                int(array.argmax() if high >= -low else array.argmin()), array.shape
            )
            where = ", ".join(str(int(i)) for i in at)
            raise ValueError(
                f"{name}[{where}] = {array[at]} is beyond 2^53, where float64 rounds integers: convert it yourself "
                "with astype(float) if rounding is acceptable"
            )
    if dtype.kind != "c" and kind == "c":
        raise TypeError(
            f"{name} is complex, and as {dtype} would lose its imaginary part: pass the real part (.real)"
        )
    return array


def narrow_indices(indices: Any, name: str = "indices") -> np.ndarray:
    """Column indices as int32, without a copy where they are; names the first that does not fit."""
    indices = as_array(indices)
    if indices.dtype == np.int32:
        return _contiguous(indices, np.int32)
    if indices.size and indices.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {indices.dtype}: give integers")
    if indices.size and not (indices.min() >= 0 and indices.max() <= MAX_COLS):
        bad = int(np.flatnonzero((indices < 0) | (indices > MAX_COLS))[0])
        raise ValueError(
            f"{name}[{bad}] = {int(indices[bad])} is outside 0 .. 2^31 - 1, the columns that one matrix may have: "
            "split a wider matrix by columns"
        )
    return _contiguous(indices, np.int32)


def _as_int64(index: Any, name: str) -> np.ndarray:
    """Row offsets, or row or column numbers of entries (these stay int32 where they are), never wrapped around."""
    index = as_array(index)
    if index.dtype.kind not in "iu":
        if index.size:
            raise TypeError(f"{name} has dtype {index.dtype}: give integers")
        index = index.astype(np.int64)
    if index.dtype == np.uint64 and index.size and index.max() > np.iinfo(np.int64).max:
        bad = int(index.argmax())
        raise ValueError(f"{name}[{bad}] = {index[bad]} is beyond 2^63 - 1")
    return index


def split_values(data: Any, dtype: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(values, keep): values is None for a pattern; keep is a mask where explicit False entries must go."""
    data = as_array(data)
    wanted = None if dtype is None else checked_dtype(dtype)
    if wanted == np.bool_ or (wanted is None and data.dtype == np.bool_):
        keep = data != 0
        return None, None if keep.all() else keep
    target = result_dtype(data.dtype) if wanted is None else wanted
    return as_type(data, target, "data", asked=wanted is not None), None


def check_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = (operator.index(n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r}: give two integers, (rows, columns)") from None
    if not 0 <= rows < 2**62 or not 0 <= cols <= MAX_COLS:
        raise ValueError(f"shape={shape!r}: rows must be 0 or more, columns 0 .. 2^31 - 1")
    return rows, cols


def _drop(
    indptr: np.ndarray, indices: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    kept = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    return kept[indptr], indices[keep]


# Of arrays whose memory is the library's: nobody writes it.
_OWN = type(_core.copied(np.zeros(1, np.uint8)).base.obj)


def _never_written(array: Any) -> bool:
    """Whether nobody can write an array's memory: it is a map that is read-only, bytes, or the library's own. An array
    that was only marked as read-only does not count, for it can be marked back, and may have views."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return isinstance(array, (bytes, mmap.mmap, _OWN)) and memoryview(array).readonly


def _kept(array: np.ndarray, given: Any, copy: bool | None) -> np.ndarray:
    """`array`, made of what the user has `given`, or a copy: always where `copy` is True, never where it is False, and
    where somebody else could write it, and so change a matrix under its products, by default."""
    if copy is None:
        fresh = isinstance(given, (list, tuple)) or not np.may_share_memory(array, as_array(given))
        copy = not fresh and not _never_written(array)
    if not copy or array.size == 0:
        return array
    return _core.copied(array.view(np.uint8)).view(array.dtype)


def from_csr_parts(
    data: Any, indices: Any, indptr: Any, shape: Any, dtype: Any, copy: bool | None = None
) -> Any:
    given = data, indices, indptr
    indptr = as_array(indptr)
    if indptr.dtype.kind not in "iu" or indptr.ndim != 1 or indptr.size == 0:
        raise ValueError("indptr must be a one-dimensional array of rows + 1 integers")
    data, indices = as_array(data), as_array(indices)
    if indices.ndim != 1 or data.ndim != 1 or data.size != indices.size:
        raise ValueError(
            f"data has shape {data.shape}, indices {indices.shape}: give one value for each index"
        )
    indices = narrow_indices(indices)
    if shape is None:
        shape = (indptr.size - 1, max(int(indices.max()) + 1, 0) if indices.size else 0)
    rows, cols = check_shape(shape)
    indptr = _contiguous(_as_int64(indptr, "indptr"), np.int64)
    values, keep = split_values(data, dtype)
    # What is checked is what is kept: nothing can change in between.
    indices, indptr = _kept(indices, given[1], copy), _kept(indptr, given[2], copy)
    values = values if values is None else _kept(values, given[0], copy)
    matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, values)
    if keep is not None:
        indptr, indices = _drop(indptr, indices, keep)
        matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, None)
    return matrix


def from_coo_parts(data: Any, row: Any, col: Any, shape: Any, dtype: Any) -> Any:
    row, col, data = _as_int64(row, "row"), _as_int64(col, "col"), as_array(data)
    if row.shape != col.shape or row.ndim != 1 or data.shape not in ((), row.shape):
        raise ValueError(
            f"row {row.shape}, col {col.shape} and data {data.shape} must be equally long"
        )
    if shape is None:
        shape = tuple(max(int(index.max()) + 1, 0) if index.size else 0 for index in (row, col))
    rows, cols = check_shape(shape)
    values, keep = split_values(np.broadcast_to(data, row.shape), dtype)
    if keep is not None:
        row, col = row[keep], col[keep]
    row, col = (_contiguous(i, np.int32 if i.dtype == np.int32 else np.int64) for i in (row, col))
    return _core.coo_to_csr(rows, cols, row, col, values)


def from_torch(x: Any, shape: Any, dtype: Any, copy: bool | None = None) -> Any:
    """A core matrix from a tensor of layout torch.sparse_csr or torch.sparse_coo."""
    layout = torch_layout(x)
    if layout not in ("csr", "coo"):
        raise TypeError(
            f"a tensor of layout torch.sparse_{layout}: convert it with .to_sparse_csr() first"
        )
    if len(x.shape) != 2:
        raise ValueError(
            f"a sparse tensor of shape {tuple(x.shape)}: a matrix has two dimensions, take one of a batch"
        )
    size = tuple(int(n) for n in x.shape) if shape is None else shape
    if layout == "csr":
        parts = x.values(), x.col_indices(), x.crow_indices()
        values, indices, indptr = (host_array(p, "the tensor") for p in parts)
        return from_csr_parts(values, indices, indptr, size, dtype, copy)
    x = x.coalesce()
    index, values = host_array(x.indices(), "the tensor"), host_array(x.values(), "the tensor")
    if index.shape[0] != 2:
        raise ValueError(
            f"a hybrid tensor with {index.shape[0]} sparse dimensions: a matrix has two"
        )
    return from_coo_parts(values, index[0], index[1], size, dtype)


def is_dense(arg: Any) -> bool:
    """Whether `from_anything` takes it as an array of all entries, zeros included."""
    sparse = hasattr(arg, "tocsr") or (hasattr(arg, "layout") and torch_layout(arg))
    return not isinstance(arg, tuple) and not sparse


def from_anything(arg: Any, shape: Any, dtype: Any, copy: bool | None = None) -> Any:
    """A core matrix from a SciPy sparse array, a sparse tensor, a tuple in SciPy's forms, or a dense array."""
    if isinstance(arg, tuple):
        if len(arg) == 2 and all(isinstance(n, (int, np.integer)) for n in arg):
            rows, cols = check_shape(arg)
            if shape is not None and check_shape(shape) != (rows, cols):
                raise ValueError(f"shape={shape!r} differs from {arg!r}")
            values, _ = split_values(np.empty(0), dtype)
            return _core.Matrix.from_arrays(
                rows, cols, np.zeros(rows + 1, np.int64), np.empty(0, np.int32), values
            )
        if len(arg) == 2:
            try:
                data, (row, col) = arg
            except (TypeError, ValueError):
                raise ValueError(
                    "a tuple of two must be (rows, cols) or (data, (row, col))"
                ) from None
            return from_coo_parts(data, row, col, shape, dtype)
        if len(arg) == 3:
            return from_csr_parts(*arg, shape, dtype, copy)
        raise ValueError(
            "a tuple must be (rows, cols), (data, (row, col)) or (data, indices, indptr)"
        )
    if hasattr(arg, "layout") and torch_layout(arg):
        return from_torch(arg, shape, dtype, copy)
    if hasattr(arg, "tocsr"):
        csr = arg.tocsr()
        if len(csr.shape) != 2:
            raise ValueError(
                f"a sparse array of shape {csr.shape}: give two dimensions, by .reshape(1, -1)"
            )
        used = int(csr.indptr[-1])  # SciPy allows spare room behind the entries
        shape = csr.shape if shape is None else shape
        if csr is not arg and copy is None and type(arg).__module__.startswith("scipy.sparse"):
            copy = False  # a conversion's arrays, which nobody else has
        return from_csr_parts(csr.data[:used], csr.indices[:used], csr.indptr, shape, dtype, copy)
    dense = as_array(arg)
    if dense.ndim != 2:
        raise TypeError(
            f"cannot make a matrix from {type(arg).__name__} of shape {dense.shape}: give two dimensions"
        )
    if dense.dtype == object:
        raise TypeError(
            f"cannot make a matrix from {type(arg).__name__} of dtype object: convert it with astype(float)"
        )
    if shape is not None and check_shape(shape) != dense.shape:
        raise ValueError(
            f"shape={shape!r} differs from that of the dense array, {dense.shape}: leave it out"
        )
    row, col = np.nonzero(dense)
    return from_coo_parts(dense[row, col], row, col, dense.shape if shape is None else shape, dtype)
