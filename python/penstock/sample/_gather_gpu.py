"""Rows of feature matrices for a GPU, by addresses: features may be of types that NumPy does not have."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array
from penstock._arrays.device import in_order, library_of
from penstock._arrays.libraries import Torch, contiguous
from penstock._arrays.tensors import is_tensor
from penstock.sample._device import numbers_on_gpu
from penstock.sample._host_rows import require_plain


class _Rows(NamedTuple):
    """An array of rows: steps are in entries, and `dtype` is NumPy's, or PyTorch's of a tensor."""

    pointer: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    dtype: Any
    itemsize: int
    gpu: int | None  # None: host memory
    writable: bool

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.itemsize

    @property
    def end(self) -> int:
        rows = self.shape[0]
        return self.pointer + (
            (rows - 1) * self.steps[0] * self.itemsize + self.row_bytes if rows else 0
        )


def _rows(x: Any, name: str) -> _Rows:
    if is_tensor(x):
        require_plain(x, name)
        gpu = x.get_device() if x.is_cuda else None
        return _Rows(x.data_ptr(), tuple(x.shape), x.stride(), x.dtype, x.element_size(), gpu, True)
    library = library_of(x)
    found = None if library is None else library.look(x)
    if found is not None:
        return _Rows(
            found.pointer, found.shape, found.steps, found.dtype, found.dtype.itemsize, found.gpu, found.writable
        )  # fmt: skip
    a = as_array(x)
    size = max(a.itemsize, 1)
    if a.dtype.hasobject or any(s % size for s in a.strides):
        raise TypeError(
            f"{name} of type {a.dtype} and steps of {a.strides} bytes has no rows that can be copied"
        )
    steps = tuple(s // size for s in a.strides)
    return _Rows(a.ctypes.data, a.shape, steps, a.dtype, a.itemsize, None, a.flags.writeable)


def _side_by_side(x: _Rows) -> bool:
    wanted = contiguous(x.shape)
    return all(
        n == 1 or s == w for n, s, w in zip(x.shape[1:], x.steps[1:], wanted[1:], strict=True)
    )


def rows_of(features: Any) -> _Rows:
    """Features whose rows a GPU can copy."""
    x = _rows(features, "features")
    if not x.shape:
        raise TypeError(
            f"features of type {x.dtype} and 0 dimensions have no rows that can be copied"
        )
    if 0 not in x.shape and (not _side_by_side(x) or x.steps[0] < 0):
        raise ValueError(
            "the bytes of a row of features must lie side by side: give a contiguous copy"
        )
    return x


def gather_on_gpu(features: Any, ids: Any, out: Any, cache: Any = None) -> Any:
    """`ps.sample.gather` for ids on a GPU; `cache` is the FeatureCache of features, if there is one."""
    library, numbers = numbers_on_gpu(ids, "ids")
    x = rows_of(features)
    copies = None if cache is None else cache._copies_on(numbers.gpu)
    if x.gpu is not None and x.gpu != numbers.gpu:
        raise _core.PlacementError(
            f"features are on GPU {x.gpu}, ids on GPU {numbers.gpu}: move one of them to the other GPU"
        )
    shape = (numbers.shape[0], *x.shape[1:])
    made = out is None
    result = _empty(library, shape, x.dtype, numbers.gpu) if made else out
    y = _rows(result, "out")
    if (
        y.shape != shape or not _same_type(x.dtype, y.dtype) or y.gpu != numbers.gpu or not y.writable
        or (0 not in shape and y.steps != contiguous(shape) and not (_side_by_side(y) and shape[0] == 1))
    ):  # fmt: skip
        raise ValueError(
            f"out must be a C-contiguous array of shape {shape} and type {x.dtype} on GPU {numbers.gpu} that can be "
            "written"
        )
    if x.pointer < y.end and y.pointer < x.end:
        raise ValueError("out shares memory with features: give an array of its own")
    stream = library.stream(numbers.gpu)
    others = [library_of(features) if x.gpu is not None else None, library_of(result)]
    with in_order(stream, numbers.gpu, *others):
        _core.gather_rows_on(
            x.pointer, x.shape[0], x.row_bytes, x.steps[0] * x.itemsize, numbers.pointer, numbers.shape[0],
            numbers.dtype.itemsize == 8, y.pointer, numbers.gpu, stream,
            copies,
        )  # fmt: skip
    return library.finish(result, numbers.gpu, stream) if made else out


def _empty(library: Any, shape: tuple[int, ...], dtype: Any, gpu: int) -> Any:
    if isinstance(library, Torch):
        torch = sys.modules["torch"]
        kind = torch.from_numpy(np.empty(0, dtype)).dtype if isinstance(dtype, np.dtype) else dtype
        return torch.empty(shape, dtype=kind, device=f"cuda:{gpu}")
    return library.empty(shape, _numpy_type(dtype), gpu)


def _numpy_type(dtype: Any) -> np.dtype:
    if isinstance(dtype, np.dtype):
        return dtype
    try:
        found: np.dtype = sys.modules["torch"].empty(0, dtype=dtype).numpy().dtype
    except TypeError:
        raise TypeError(
            f"features are {dtype}, which NumPy has not: give ids as a tensor"
        ) from None
    return found


def _same_type(one: Any, other: Any) -> bool:
    return bool(one == other) or (
        isinstance(one, np.dtype) != isinstance(other, np.dtype)
        and _numpy_type(one) == _numpy_type(other)
    )
