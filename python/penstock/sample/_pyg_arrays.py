"""Arrays and tensors that `ps.pyg` takes and gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import _core
from penstock._plan.place import empty
from penstock.sample._arguments import int64s
from penstock.sample.feature_cache import FeatureCache


def as_tensor(x: Any) -> Any:
    """What samples and rows are in, as a tensor: NumPy's arrays, or tensors already."""
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def times_of(x: Any) -> np.ndarray:
    """Numbers in host memory, in one dimension: of a tensor, or NumPy's."""
    found: np.ndarray = x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    return found.reshape(-1)


def pinned_times(times: np.ndarray) -> np.ndarray:
    """Integers where a GPU reads them in place."""
    if times.dtype.kind not in "iu":
        return times  # dates, and what the first sample refuses
    numbers = int64s(times, "time")
    made = empty(numbers.shape, np.int64, "pinned")
    made[:] = numbers
    return made


def index_for(array: Any, index: Any) -> Any:
    """The wanted rows on the side from which the array's can be read."""
    array = array.features if isinstance(array, FeatureCache) else array
    if isinstance(array, torch.Tensor) and array.is_cuda:
        return torch.as_tensor(index, device=array.device).contiguous()
    if not isinstance(index, torch.Tensor) or not index.is_cuda:
        return index
    pinned = (
        array.is_pinned() if isinstance(array, torch.Tensor) else _core.memory_of(array) == "pinned"
    )
    return index.contiguous() if pinned else index.cpu()
