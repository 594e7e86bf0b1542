"""How a computation walks its matrix, and the limits that the planner obeys."""

from __future__ import annotations

import os
import re
import sys
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


CODECS = ("auto", "raw", "packed", "ell_g")
KERNELS = ("auto", "merge_path", "packed", "ell_g", "cusparse")


def gpu_count() -> int:
    """GPUs that schedules may use: those of the machine, within `options.gpus`."""
    allowed = options.gpus
    return 0 if allowed == 0 else min(_core.device_count(), allowed or sys.maxsize)


def no_gpu() -> str:
    """Why no GPU is usable, with the remedy, for the end of an error."""
    if options.gpus == 0:
        return "GPUs are turned off: ps.options(gpus=None), or unset PENSTOCK_GPUS"
    return _core.why_no_gpu() or "no GPU is usable here"


def _usable(count: int) -> str:
    limits = options.gpus is not None and options.gpus < _core.device_count()
    limit = f" (options.gpus={options.gpus})" if limits else ""
    return f"{count} GPU{'s' * (count != 1)}{limit} {'is' if count == 1 else 'are'}"


def _one_of(what: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{what}={value!r} is unknown: choose one of {', '.join(known)}")


@dataclass(frozen=True)
class InCore:
    """The matrix is where the device can read it. `gpu=-1` is the CPU.

    On a GPU, a matrix in host memory is moved there at the first product and kept with A (`A.release()` frees it); one
    that does not fit is a MemoryError that names Streamed. `kernel` is how that GPU walks it: "merge_path" over the
    CSR arrays, "packed" (columns as gaps of few bits), "ell_g", "cusparse" (NVIDIA's library, loaded on demand), or
    "auto": merge_path, and packed where only that fits.
    """

    gpu: int = -1
    kernel: str = "auto"

    def _check(self) -> None:
        _one_of("InCore: kernel", self.kernel, KERNELS)
        if self.gpu < 0 and self.kernel != "auto":
            raise ValueError(
                f"InCore(kernel={self.kernel!r}) is of GPUs: name one with gpu=0, or choose the CPU's by algorithm="
            )
        if self.gpu >= gpu_count():
            why = "" if gpu_count() else f" ({no_gpu()})"
            raise _core.PlacementError(
                f"InCore on GPU {self.gpu}: {_usable(gpu_count())} usable here{why}; compute on the CPU with "
                "gpu=-1, or use Streamed, which takes what there is"
            )

    def _lower(self) -> Any:
        self._check()
        return _core.in_core(self.gpu)


@dataclass(frozen=True)
class Streamed:
    """Row blocks travel through a ring of `slots` slots of at most `block` bytes, ahead of the kernel.

    Parameters
    ----------
    gpus : a number of GPUs or a list of them (-1 is the CPU as a device of its own), optional
        None is every GPU, or the CPU where there is none.
    block, ring : bytes, or text such as "64MiB", optional
        `block=None` lets the planner choose. `ring` bounds the bytes of all slots of one device; None is the option
        `device_memory`.
    codec : "auto", "raw", "packed" or "ell_g"
        How entries travel, all of them without loss: the CSR arrays as they are, columns packed as gaps, or ELL-G.
        "auto" packs where that pays, the time to encode included.
    keep : bool
        What fits stays on the GPUs between calls, and only the rest travels. The CPU as a device keeps nothing: its
        memory is the matrix's own.
    cpu : bool
        Threads of the CPU take blocks, too.

    What a schedule builds on GPUs (pinned pages, packed entries, blocks kept) stays with the matrix for later products
    until `A.release()`. Several columns of x are multiplied from the CSR arrays, without keeping. After buono-2017,
    section 3.2.
    """

    gpus: int | Sequence[int] | None = None
    block: int | str | None = None
    slots: int = 3
    ring: int | str | None = None
    codec: str = "auto"
    keep: bool = True
    cpu: bool = False

    def _devices(self) -> list[int]:
        count = gpu_count()
        if self.gpus is None:
            return list(range(count)) or [-1]
        if isinstance(self.gpus, (int, np.integer)):
            if not 1 <= self.gpus <= count:
                why = "" if count else f" ({no_gpu()})"
                raise ValueError(
                    f"Streamed(gpus={self.gpus}): {_usable(count)} usable here{why}; gpus=[-1] is the CPU"
                )
            return list(range(self.gpus))
        devices = [int(gpu) for gpu in self.gpus]
        if not devices or any(not -1 <= gpu < count for gpu in devices):
            usable = f"GPUs of 0 .. {count - 1}" if count else "no GPU, as none is usable here"
            why = "" if count else f" ({no_gpu()})"
            raise ValueError(f"Streamed(gpus={devices}): give {usable}, or -1 for the CPU{why}")
        return devices

    def _check(self) -> None:
        _one_of("Streamed: codec", self.codec, CODECS)
        for name, value in (("keep", self.keep), ("cpu", self.cpu)):
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"Streamed({name}={value!r}): give True or False")
        if self.slots < 1:
            raise ValueError(f"Streamed: slots = {self.slots}; give at least 1")

    def _block(self) -> int:
        """Bytes of a slot; 0 where the planner chooses."""
        block = 0 if self.block is None else parse_bytes(self.block, "block")
        if self.block is not None and block < 1:
            raise ValueError(f"Streamed(block={self.block!r}): a block holds at least one byte")
        return block

    def _ring(self) -> int:
        """Bytes of all slots of a device; 0 for no limit."""
        ring = options.device_memory if self.ring is None else parse_bytes(self.ring, "ring")
        if ring == 0:
            raise ValueError(
                f"Streamed(ring={self.ring!r}): a ring holds at least one byte; None sets no limit"
            )
        return ring or 0

    def _lower(self) -> Any:
        self._check()
        devices = self._devices()
        if self.cpu and -1 not in devices:
            devices.append(-1)
        return _core.streamed(devices, self._block(), self.slots, self._ring())


@dataclass(frozen=True)
class ZeroCopy:
    """Kernels of GPU `gpu` dereference pinned or managed host memory, in 128-byte lines (min-2020)."""

    gpu: int = 0

    def _lower(self) -> Any:
        if self.gpu >= gpu_count() > 0 or (self.gpu >= 0 and options.gpus == 0):
            why = "" if gpu_count() else f" ({no_gpu()})"
            raise _core.PlacementError(
                f"ZeroCopy on GPU {self.gpu}: {_usable(gpu_count())} usable here{why}"
            )
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

    def __init__(self, values: dict[str, int | None]) -> None:
        self._values = values

    def __enter__(self) -> Options:
        return options

    def __exit__(self, *_: object) -> None:
        for name, value in self._values.items():
            setattr(options, name, value)


class Options:
    """Settings of the process, of all threads. Call it to change some, as a statement or as a context manager.

    device_memory: bytes that one device may hold for a matrix, its rings and vectors; a larger matrix is streamed.
    None: no limit but the device's own. Starts from the environment variable PENSTOCK_DEVICE_MEMORY.

    gpus: the first so many GPUs may be used; 0 turns them off, None allows all. Starts from PENSTOCK_GPUS. Searches of
    graphs take several only where this is 2 or more.

    >>> import penstock as ps
    >>> with ps.options(device_memory="64MiB", gpus=0):
    ...     ps.options.device_memory, ps.options.gpus
    (67108864, 0)
    """

    def __init__(self) -> None:
        self._device_memory: int | None = None
        self._gpus: int | None = None

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

    @property
    def gpus(self) -> int | None:
        return self._gpus

    @gpus.setter
    def gpus(self, count: int | str | None) -> None:
        if count is not None:
            try:
                number = int(count) if not isinstance(count, (bool, float)) else -1
            except (TypeError, ValueError):
                number = -1
            if number < 0:
                raise ValueError(f"gpus={count!r}: give a number from 0 (no GPU), or None for all")
            count = number
        self._gpus = count

    def __call__(self, **changes: Any) -> _Before:
        unknown = set(changes) - {"device_memory", "gpus"}
        if unknown:
            raise TypeError(
                f"options: unknown {', '.join(sorted(unknown))}; there are device_memory and gpus"
            )
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
        except ValueError:
            _Before(before).__exit__()
            raise
        return _Before(before)

    def __repr__(self) -> str:
        return f"options(device_memory={self._device_memory}, gpus={self._gpus})"


options = Options()
if os.environ.get("PENSTOCK_DEVICE_MEMORY"):
    options(device_memory=os.environ["PENSTOCK_DEVICE_MEMORY"])
if os.environ.get("PENSTOCK_GPUS"):
    options(gpus=os.environ["PENSTOCK_GPUS"])
