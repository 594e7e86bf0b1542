"""Arrays of other libraries by DLPack, and what kind of sparse tensor a tensor is. Imports none of these libraries."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_HOST = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost: memory that the CPU reads


def host_array(x: Any, name: str) -> np.ndarray:
    """A NumPy array from anything with `__dlpack__`, or that NumPy takes: shared where it is in host memory, else
    copied to it where its library can export a copy."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__") or isinstance(x, np.generic):
        return np.asarray(x)
    if hasattr(x, "detach"):  # a tensor that is part of a gradient does not export
        x = x.detach()
    kind = int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else _HOST[0]
    if kind in _HOST:
        return np.from_dlpack(x)
    try:
        return np.from_dlpack(x, device="cpu", copy=True)
    except (TypeError, ValueError, BufferError, RuntimeError) as e:
        raise TypeError(
            f"{name} is in the memory of a device (DLPack's type {kind}), and its library exports no copy for the "
            f"host ({e}): move it there first, with .cpu() or .get()"
        ) from None


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor of PyTorch, of any class, device and layout. Does not import it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def torch_layout(x: Any) -> str:
    """ "csr", "coo", another of PyTorch's sparse layouts, or "" for what is no sparse tensor."""
    name = str(getattr(x, "layout", ""))
    return name.removeprefix("torch.sparse_") if name.startswith("torch.sparse_") else ""
