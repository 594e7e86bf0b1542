"""Arrays on a device for tests without a GPU: the CPU is the device, under the number -1, and a small class stands for
an array library."""

from __future__ import annotations

from typing import Any

import numpy as np
from penstock._arrays import device
from penstock._arrays.device import DeviceArray


class There:
    """An array on the device."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.finished = array, False


class Library:
    def look(self, x: Any) -> DeviceArray | None:
        a = x.array
        steps = tuple(s // a.itemsize for s in a.strides)
        return DeviceArray(a.ctypes.data, a.shape, steps, a.dtype, -1, a.flags.writeable)

    def stream(self, gpu: int) -> int:
        return 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> There:
        return There(np.full(shape, np.nan, dtype))

    def finish(self, array: There, gpu: int, stream: int) -> There:
        array.finished = True
        return array


class Unmade(There):
    """Of a library whose arrays cannot be made."""


class NoMaker(Library):
    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> There:
        raise TypeError("give out=")


def as_library(monkeypatch: Any) -> None:
    """The package knows these arrays."""
    monkeypatch.setitem(device._by_type, There, Library())
    monkeypatch.setitem(device._by_type, Unmade, NoMaker())
