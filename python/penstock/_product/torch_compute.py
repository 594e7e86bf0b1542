"""What products with PyTorch's tensors compute, on the CPU and on a GPU, without gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._product.torch_types import as_numpy, common_types, is_half, plain_of

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["PANEL", "multiply", "sample"]

PANEL = 64  # columns of 16-bit numbers that are converted at a time


def _with_values(a: csr_array, values: Any) -> csr_array:
    if a.place == "device":
        raise _core.PlacementError(
            "A is in a GPU's memory, and values and X are on the CPU: give tensors on that GPU, or A.to(ps.host)"
        )
    data = as_numpy(values.float() if is_half(values) else values.contiguous())
    mapped = a.place == "mapped"
    return type(a)._from_parts(*a.shape, a.indptr, a.indices, data, mapped=mapped, validate="cheap")


def multiply(
    a: csr_array, transposed: bool, x: Any, values: Any, forms: bool, schedule: str
) -> Any:
    """A x or A^T x, with A's own values or others. `forms` allows the transpose to be formed and kept."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    if x.is_cuda:
        from penstock._product import torch_gpu  # not where there is no GPU

        return torch_gpu.matmul(a, transposed, x, values, schedule)
    m: Any = a if values is None else _with_values(a, values)
    if transposed:
        # A file may be larger than memory, and a transpose of other values is used once. A view knows no schedules.
        forms = schedule != "" or (forms and values is None and a.place != "mapped")
        m = m.T.formed() if forms else m.T
    how = {"schedule": schedule} if schedule else {}
    if not is_half(x):
        return torch.from_numpy(m.dot(as_numpy(x), **how))
    if x.ndim == 1:
        return torch.from_numpy(m.dot(as_numpy(x.float()), **how)).to(x.dtype)
    y = x.new_empty((m.shape[0], x.shape[1]))
    for first in range(0, x.shape[1], PANEL):
        part = slice(first, first + PANEL)
        y[:, part] = torch.from_numpy(m.dot(as_numpy(x[:, part].float()), **how))
    return y


def sample(a: csr_array, x: Any, y: Any) -> Any:
    """X Y^T at A's entries, as a vector of values."""
    import torch

    if x.is_cuda:
        from penstock._product import torch_gpu  # not where there is no GPU

        return torch_gpu.sampled(a, x, y)
    if a.place == "device":
        raise _core.PlacementError(
            "A is in a GPU's memory, and X and Y are on the CPU: give tensors on that GPU, or A.to(ps.host)"
        )
    dtype, wide = common_types(x.dtype, y.dtype)
    out = np.empty(a.nnz, dtype)
    if x.ndim == 1:
        x, y = x.unsqueeze(1), y.unsqueeze(1)
    step = PANEL if is_half(x) or is_half(y) else max(1, x.shape[1])
    for first in range(0, max(1, x.shape[1]), step):
        part = slice(first, first + step)
        xs, ys = (plain_of(z[:, part], wide).numpy() for z in (x, y))
        _core.sddmm(a._core, xs, ys, out, None, None if first == 0 else 1.0)
    return torch.from_numpy(out)
