"""Rows of feature matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import unmasked
from penstock._arrays.device import is_on_gpu
from penstock._arrays.tensors import is_tensor
from penstock.sample._arguments import int64s
from penstock.sample._gather_gpu import gather_on_gpu
from penstock.sample._host_rows import as_type_of, host_rows
from penstock.sample.feature_cache import FeatureCache


def gather(features: Any, ids: Any, out: Any = None) -> Any:
    """The rows `features[ids]`, copied by all threads of the CPU, or by a GPU where the ids are.

    Parameters
    ----------
    features : array of shape (n, ...), of any type of fixed size
        Of NumPy, a memory-mapped file (`np.load(path, mmap_mode="r")`), or a tensor of PyTorch on the CPU, also of
        bfloat16 or float8. The bytes of a row must lie side by side; rows may have any distance, and ascend. Rows of a
        memory-mapped file are read in the order of their addresses. For ids on a GPU: an array on that GPU, or in
        pinned memory (`ps.empty(shape, dtype, ps.pinned)`, `tensor.pin_memory()`), of which the GPU reads the wanted
        rows in place. Or a `FeatureCache`, which keeps some of these rows on the GPU.
    ids : integers of shape (k,)
        Of NumPy, or int32 or int64 on a GPU (CuPy, PyTorch, JAX).
    out : array of shape (k, ...), of features' type, C-contiguous, optional
        Receives the rows; on the GPU, where the ids are there.

    Returns
    -------
    NumPy's array, or a tensor where features are one of a type that NumPy does not have. For ids on a GPU an array of
    their library there: the call waits for the ids, and queues the copies on the library's stream, so that features
    must stay as they are until they are done.

    Raises ValueError for an id outside (negative ones, too), rows whose bytes lie apart, masked entries, or an `out`
    that does not fit or shares memory with features; TypeError for ids that are no integers of one dimension, features
    of Python objects, and tensors that require a gradient, or that a flag conjugates or negates; PlacementError, with
    the remedy, for features that the GPU cannot read, or on a GPU with ids in host memory.

    >>> import numpy as np, penstock as ps
    >>> ps.sample.gather(np.arange(6.0).reshape(3, 2), [2, 0, 2])
    array([[4., 5.],
           [0., 1.],
           [4., 5.]])
    """
    cache = features if isinstance(features, FeatureCache) else None
    features = features if cache is None else cache.features
    if is_on_gpu(ids):
        return gather_on_gpu(features, ids, out, cache)
    if is_on_gpu(features):
        raise _core.PlacementError(
            "features are on a GPU and ids in host memory: give ids as an array on that GPU"
        )
    x, kind = host_rows(unmasked(features, "features"), "features")
    if x.ndim == 0 or x.dtype.hasobject:
        raise TypeError(
            f"features of type {x.dtype} and {x.ndim} dimensions have no rows that can be copied: give an array of "
            "numbers of shape (n, ...)"
        )
    numbers = int64s(ids, "ids")
    shape = (numbers.size, *x.shape[1:])
    y = np.empty(shape, x.dtype) if out is None else _checked_out(out, shape, x.dtype, kind)
    if np.may_share_memory(x, y):
        raise ValueError("out shares memory with features: give an array of its own")
    inside = _rows_as_bytes(x)
    if numbers.size > 0:
        shape = (numbers.size, inside.shape[1])
        target = y.reshape(numbers.size, -1).view(np.uint8) if y.size else np.empty(shape, np.uint8)
        _core.gather_rows(inside, numbers, target, _in_a_file(x))
    return as_type_of(y, kind) if out is None else out


def _checked_out(out: Any, shape: tuple[int, ...], dtype: np.dtype, kind: Any) -> np.ndarray:
    """`kind`: the type of a tensor that NumPy does not have, or None."""
    if isinstance(out, np.ndarray) or (is_tensor(out) and not is_on_gpu(out)):
        y, of = host_rows(out, "out")
        whole = y.flags.c_contiguous and y.flags.writeable
        if (y.shape, y.dtype, of) == (shape, dtype, kind) and whole:
            return y
    what = (
        f"array of shape {shape} and type {dtype}"
        if kind is None
        else f"tensor of shape {shape} and type {kind}"
    )
    found = f"of shape {out.shape} and type {out.dtype}" if hasattr(out, "dtype") else "no array"
    raise ValueError(
        f"out must be a C-contiguous {what} that can be written; the {type(out).__name__} given is {found}"
    )


def _rows_as_bytes(x: np.ndarray) -> np.ndarray:
    """A view of shape (n, bytes of a row)."""
    size = int(np.prod(x.shape[1:], dtype=np.int64)) * x.itemsize
    if size == 0:
        return np.empty((x.shape[0], 0), np.uint8)
    if not x[:1].flags.c_contiguous or x.strides[0] < 0:
        raise ValueError(
            f"features of shape {x.shape} have steps of {x.strides} bytes, and the bytes of a row must lie side by "
            "side, in rows that ascend: give np.ascontiguousarray(features)"
        )
    return x.reshape(x.shape[0], size // x.itemsize).view(np.uint8)


def _in_a_file(x: np.ndarray) -> bool:
    base: Any = x
    while base is not None:
        if isinstance(base, np.memmap):
            return True
        base = getattr(base, "base", None)
    return False
