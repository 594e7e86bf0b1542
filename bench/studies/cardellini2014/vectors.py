"""Vectors where a rank's products take them: NumPy's, or on its GPU by CuPy or PyTorch."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np


class HostVectors:
    name = "numpy"

    def use(self) -> None:
        """This thread works with these vectors."""

    def put(self, v: np.ndarray) -> Any:
        return v.copy()

    def get(self, v: Any) -> np.ndarray:
        return np.asarray(v)

    def fill(self, v: Any, value: float) -> None:
        v[...] = value

    def wait(self) -> None:
        """Until all that was queued is done."""


class CupyVectors(HostVectors):
    name = "cupy"

    def __init__(self, gpu: int) -> None:
        import cupy

        self._cupy, self._device = cupy, cupy.cuda.Device(gpu)

    def use(self) -> None:
        self._device.use()

    def put(self, v: np.ndarray) -> Any:
        return self._cupy.asarray(v)

    def get(self, v: Any) -> np.ndarray:
        return v.get()

    def wait(self) -> None:
        self._device.synchronize()


class TorchVectors(HostVectors):
    name = "torch"

    def __init__(self, gpu: int) -> None:
        import torch

        self._torch, self._gpu = torch, gpu

    def use(self) -> None:
        self._torch.cuda.set_device(self._gpu)

    def put(self, v: np.ndarray) -> Any:
        return self._torch.from_numpy(v).to(f"cuda:{self._gpu}")

    def get(self, v: Any) -> np.ndarray:
        return v.cpu().numpy()

    def fill(self, v: Any, value: float) -> None:
        v.fill_(value)

    def wait(self) -> None:
        self._torch.cuda.synchronize(self._gpu)


def library() -> str | None:
    """The one for vectors on GPUs; None where there is neither."""
    return next((name for name in ("cupy", "torch") if importlib.util.find_spec(name)), None)


def vectors(gpu: int | None) -> HostVectors:
    if gpu is None:
        return HostVectors()
    return CupyVectors(gpu) if library() == "cupy" else TorchVectors(gpu)
