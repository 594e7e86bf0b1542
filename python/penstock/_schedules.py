"""How a computation walks its matrix, and the limits that the planner obeys."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core

_units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_units |= {f"{unit}i": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)}


def parse_bytes(text: int | float | str, name: str = "size") -> int:
    """A number of bytes from 65536, "64MiB", "16GB" or "1.5g" (K, M, G, T are powers of 1000, Ki ... of 1024).

    >>> parse_bytes("64MiB"), parse_bytes("16 GB"), parse_bytes(4096)
    (67108864, 16000000000, 4096)
    """
    number: float
    if isinstance(text, (int, float, np.number)) and not isinstance(text, bool):
        number, unit = text, ""
    else:
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", str(text).lower())
        if not found or found[2] not in _units:
            raise ValueError(
                f"{name}={text!r} is not a size: write bytes, or a number with KB, MiB, GB ..."
            )
        number, unit = float(found[1]), found[2]
    if not 0 <= number * _units[unit] < 2**63:
        raise ValueError(f"{name}={text!r} is outside 0 .. 2^63 bytes")
    return int(number * _units[unit])


@dataclass(frozen=True)
class InCore:
    """The matrix is where the device can read it. `gpu=-1` is the CPU."""

    gpu: int = -1

    def _lower(self) -> Any:
        return _core.in_core(self.gpu)


@dataclass(frozen=True)
class Streamed:
    """Row blocks travel through a ring of `slots` slots of at most `block` bytes, ahead of the kernel.

    `gpus` lists the devices (-1 is the CPU as a device of its own), or is a number of GPUs; None is
    every GPU, or the CPU where there is none. `block=None` lets the planner choose. `ring` bounds the bytes of
    all slots of one device; None is the option `device_memory`. After buono-2017, section 3.2.
    """

    gpus: int | Sequence[int] | None = None
    block: int | str | None = None
    slots: int = 3
    ring: int | str | None = None

    def _devices(self) -> list[int]:
        count = _core.device_count()
        if self.gpus is None:
            return list(range(count)) or [-1]
        if isinstance(self.gpus, int):
            if not 1 <= self.gpus <= count:
                raise ValueError(
                    f"Streamed(gpus={self.gpus}): {count} GPUs are usable here; gpus=[-1] is the CPU"
                )
            return list(range(self.gpus))
        devices = [int(gpu) for gpu in self.gpus]
        if not devices or any(not -1 <= gpu < count for gpu in devices):
            usable = f"GPUs of 0 .. {count - 1}" if count else "no GPU, as none is usable here"
            raise ValueError(f"Streamed(gpus={devices}): give {usable}, or -1 for the CPU")
        return devices

    def _lower(self) -> Any:
        block = 0 if self.block is None else parse_bytes(self.block, "block")
        if self.block is not None and block < 1:
            raise ValueError(f"Streamed(block={self.block!r}): a block holds at least one byte")
        ring = options.device_memory if self.ring is None else parse_bytes(self.ring, "ring")
        if ring == 0:
            raise ValueError(
                f"Streamed(ring={self.ring!r}): a ring holds at least one byte; None sets no limit"
            )
        return _core.streamed(self._devices(), block, self.slots, ring or 0)


@dataclass(frozen=True)
class ZeroCopy:
    """Kernels of GPU `gpu` dereference pinned or managed host memory, in 128-byte lines (min-2020)."""

    gpu: int = 0

    def _lower(self) -> Any:
        return _core.zero_copy(self.gpu)


Schedule = InCore | Streamed | ZeroCopy
_by_name = {"in_core": InCore, "streamed": Streamed, "zero_copy": ZeroCopy}


def as_schedule(how: Schedule | type | str) -> Schedule:
    """A schedule from an instance, a class, or its name."""
    if isinstance(how, str):
        if how not in _by_name:
            raise ValueError(f"schedule={how!r} is unknown: choose one of {', '.join(_by_name)}")
        return _by_name[how]()
    if isinstance(how, type) and how in _by_name.values():
        return how()
    if isinstance(how, (InCore, Streamed, ZeroCopy)):
        return how
    raise TypeError(f"schedule={how!r}: give InCore(...), Streamed(...), ZeroCopy(...) or a name")


class _Before:
    """What `options` was before a change: leaving the block brings it back."""

    def __init__(self, device_memory: int | None) -> None:
        self._device_memory = device_memory

    def __enter__(self) -> Options:
        return options

    def __exit__(self, *_: object) -> None:
        options.device_memory = self._device_memory


class Options:
    """Settings of the process, of all threads. Call it to change some, as a statement or as a context manager.

    device_memory: bytes that one device may hold for a matrix and its rings; a larger matrix is streamed. None: no
    limit but the device's own. Starts from the environment variable PENSTOCK_DEVICE_MEMORY.

    >>> import penstock as ps
    >>> with ps.options(device_memory="64MiB"):
    ...     ps.options.device_memory
    67108864
    """

    def __init__(self) -> None:
        self._device_memory: int | None = None

    @property
    def device_memory(self) -> int | None:
        return self._device_memory

    @device_memory.setter
    def device_memory(self, size: int | float | str | None) -> None:
        number = None if size is None else parse_bytes(size, "device_memory")
        if number == 0:
            raise ValueError(
                f"device_memory={size!r}: give at least one byte, or None for no limit"
            )
        self._device_memory = number

    def __call__(self, **changes: Any) -> _Before:
        unknown = set(changes) - {"device_memory"}
        if unknown:
            raise TypeError(
                f"options: unknown {', '.join(sorted(unknown))}; there is device_memory"
            )
        before = _Before(self._device_memory)
        if "device_memory" in changes:
            self.device_memory = changes["device_memory"]
        return before

    def __repr__(self) -> str:
        return f"options(device_memory={self._device_memory})"


options = Options()
if os.environ.get("PENSTOCK_DEVICE_MEMORY"):
    options(device_memory=os.environ["PENSTOCK_DEVICE_MEMORY"])
