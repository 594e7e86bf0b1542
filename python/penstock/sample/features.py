"""Rows of feature matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array
from penstock.sample._arguments import int64s


def gather(features: Any, ids: Any, out: np.ndarray | None = None) -> np.ndarray:
    """The rows `features[ids]`, copied by all threads.

    Parameters
    ----------
    features : array of shape (n, ...), of any type of fixed size
        Of NumPy, a memory-mapped file (`np.load(path, mmap_mode="r")`), or a tensor of PyTorch on the CPU. The bytes of
        a row must lie side by side; rows may have any distance. Rows of a memory-mapped file are read in the order of
        their addresses.
    ids : integers of shape (k,)
    out : array of shape (k, ...), of features' type, C-contiguous, optional
        Receives the rows.

    Raises ValueError for an id outside (negative ones, too), or an `out` that does not fit; TypeError for ids that
    are no integers, or features of Python objects.

    >>> import numpy as np, penstock as ps
    >>> ps.sample.gather(np.arange(6.0).reshape(3, 2), [2, 0, 2])
    array([[4., 5.],
           [0., 1.],
           [4., 5.]])
    """
    x = as_array(features)
    if x.ndim == 0 or x.dtype.hasobject:
        raise TypeError(
            f"features of type {x.dtype} and {x.ndim} dimensions have no rows that can be copied"
        )
    numbers = int64s(ids, "ids")
    shape = (numbers.size, *x.shape[1:])
    if out is None:
        out = np.empty(shape, x.dtype)
    elif not (
        isinstance(out, np.ndarray)
        and out.shape == shape
        and out.dtype == x.dtype
        and out.flags.c_contiguous
        and out.flags.writeable
    ):
        raise ValueError(
            f"out must be a C-contiguous array of shape {shape} and type {x.dtype} that can be written"
        )
    if np.may_share_memory(x, out):
        raise ValueError("out shares memory with features: give an array of its own")
    inside = _rows_as_bytes(x)
    if numbers.size > 0:
        shape = (numbers.size, inside.shape[1])
        target = (
            out.reshape(numbers.size, -1).view(np.uint8) if out.size else np.empty(shape, np.uint8)
        )
        _core.gather_rows(inside, numbers, target, _in_a_file(x))
    return out


def _rows_as_bytes(x: np.ndarray) -> np.ndarray:
    """A view of shape (n, bytes of a row)."""
    size = int(np.prod(x.shape[1:], dtype=np.int64)) * x.itemsize
    if size == 0:
        return np.empty((x.shape[0], 0), np.uint8)
    if not x[:1].flags.c_contiguous or x.strides[0] < 0:
        raise ValueError(
            "the bytes of a row of features must lie side by side: use np.ascontiguousarray"
        )
    return x.reshape(x.shape[0], -1).view(np.uint8)


def _in_a_file(x: np.ndarray) -> bool:
    base: Any = x
    while base is not None:
        if isinstance(base, np.memmap):
            return True
        base = getattr(base, "base", None)
    return False
