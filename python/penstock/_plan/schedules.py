"""How a computation walks its matrix."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer
from penstock._choices import CODECS, one_of
from penstock._plan.options import options, parse_bytes

KERNELS = ("auto", "merge_path", *(codec for codec in CODECS if codec != "raw"), "cusparse")
# Below this many nonzeros a product takes the CPU a few milliseconds: asking the driver is not worth it.
LEAST_NNZ = 4_000_000


def gpu_count() -> int:
    """GPUs that schedules may use: those of the machine, within `options.gpus`."""
    allowed = options.gpus
    return 0 if allowed == 0 else min(_core.device_count(), allowed or sys.maxsize)


def no_gpu(gpu: int = 0) -> str:
    """Why this GPU is not usable, with the remedy, for the end of an error."""
    if options.gpus == 0:
        return "GPUs are turned off: ps.options(gpus=None), or unset PENSTOCK_GPUS"
    return _core.why_no_gpu(gpu) or "no GPU is usable here"


def named_gpu(device: Any) -> int | None:
    """The GPU that `device` names, or None for the CPU: "cpu", a number, or `ps.device(n)`. ValueError and
    TypeError for anything else, and for a GPU that is not there or that `options.gpus` leaves out."""
    usable = gpu_count()
    if isinstance(device, str):
        if device == "cpu":
            return None
        raise ValueError(f'device={device!r} is unknown: give "cpu", the number of a GPU, or None')
    memory = getattr(device, "memory", "device")
    if memory == "host":
        return None
    number = getattr(device, "ordinal", device)
    if memory != "device" or not hasattr(number, "__index__"):
        raise TypeError(
            f'device={device!r} is not one device: give "cpu", the number of a GPU, ps.device(n), or None'
        )
    number = operator.index(number)
    if not 0 <= number < usable:
        count = f"{usable} GPUs are" if usable != 1 else "1 GPU is"
        why = f" ({no_gpu()})" if usable == 0 else ""
        limit = f" (options.gpus={options.gpus})" if options.gpus else ""
        raise ValueError(
            f'device={device!r}: {count} usable here{why or limit}; "cpu" computes on the CPU'
        )
    return number


def _lacks_kernels(gpu: int) -> bool:
    """Whether more is to be said of a GPU than how many are usable."""
    return gpu_count() == 0 or _core.device_count() <= gpu < len(_core.gpus_seen())


def _usable(count: int) -> str:
    limits = options.gpus is not None and options.gpus < _core.device_count()
    limit = f" (options.gpus={options.gpus})" if limits else ""
    return f"{count} GPU{'s' * (count != 1)}{limit} {'is' if count == 1 else 'are'}"


def ordinal(what: str, device: Any) -> int:
    """The number of the GPU that `device` names, -1 for the CPU: "cpu", a number, or `ps.device(n)` and `ps.host`.
    TypeError and ValueError for anything else; `what` names the schedule. Whether the GPU is there is not asked.

    >>> ordinal("InCore", "cpu"), ordinal("InCore", 1)
    (-1, 1)
    """
    choices = 'give "cpu", the number of a GPU, or ps.device(n)'
    if isinstance(device, str):
        if device == "cpu":
            return -1
        raise ValueError(f"{what}(device={device!r}) is unknown: {choices}")
    memory = getattr(device, "memory", "device")
    if memory == "host":
        return -1
    number = getattr(device, "ordinal", device)
    if memory != "device" or isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{what}(device={device!r}) is not one device: {choices}")
    if operator.index(number) < 0:
        raise ValueError(f'{what}(device={device!r}): GPUs are numbered from 0, the CPU is "cpu"')
    return operator.index(number)


@dataclass(frozen=True)
class InCore:
    """The matrix is where the device can read it: `device` is "cpu", the number of a GPU, or `ps.device(n)`.

    On a GPU, a matrix in host memory is moved there at the first product and kept with A (`A.release()` frees it); one
    that does not fit is a MemoryError that names Streamed. `kernel` is how that GPU walks it: "merge_path" over the
    CSR arrays, "packed" (columns as gaps of few bits), "ell_g", "cusparse" (NVIDIA's library, loaded on demand), or
    "auto": merge_path, and packed where only that fits.
    """

    device: Any = "cpu"
    kernel: str = "auto"

    @property
    def gpu(self) -> int:
        """The number of the GPU, -1 for the CPU."""
        return ordinal("InCore", self.device)

    def _check(self) -> None:
        one_of("InCore: kernel", self.kernel, KERNELS)
        if self.gpu < 0 and self.kernel != "auto":
            raise ValueError(
                f"InCore(kernel={self.kernel!r}) is of GPUs: name one with device=0, or choose the CPU's by algorithm="
            )
        if self.gpu >= gpu_count():
            why = f" ({no_gpu(self.gpu)})" if _lacks_kernels(self.gpu) else ""
            raise _core.PlacementError(
                f"InCore on GPU {self.gpu}: {_usable(gpu_count())} usable here{why}; compute on the CPU with "
                "device='cpu', or use Streamed, which takes what there is"
            )

    def _lower(self) -> Any:
        self._check()
        return _core.in_core(self.gpu)


@dataclass(frozen=True)
class Streamed:
    """Row blocks travel through a ring of `slots` slots of at most `block` bytes, ahead of the kernel.

    Parameters
    ----------
    device : "cpu", the number of a GPU, `ps.device(n)`, or a list of these, optional
        Who has a ring of its own; "cpu" is the CPU in the place of a GPU. None is every GPU that `ps.options.gpus`
        allows, or the CPU where there is none.
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

    Raises ValueError and TypeError for values that are none, when it is made; for devices that are not there, when it
    is used.
    """

    device: Any = None
    block: int | str | None = None
    slots: int = 3
    ring: int | str | None = None
    codec: str = "auto"
    keep: bool = True
    cpu: bool = False

    def __post_init__(self) -> None:
        one_of("Streamed: codec", self.codec, CODECS, "auto")
        for name, value in (("keep", self.keep), ("cpu", self.cpu)):
            flag(value, f"Streamed: {name}")
        integer(self.slots, "Streamed: slots", 1)
        self._block()
        if self.ring is not None:
            self._ring()

    def _devices(self) -> list[int]:
        count = gpu_count()
        if self.device is None:
            return list(range(count)) or [-1]
        several = isinstance(self.device, (Sequence, np.ndarray)) and not isinstance(
            self.device, str
        )
        devices = [ordinal("Streamed", one) for one in (self.device if several else [self.device])]
        if not devices:
            raise ValueError('Streamed(device=[]): name at least one GPU, or "cpu"')
        if max(devices) >= count:
            why = "" if count else f" ({no_gpu()})"
            raise ValueError(
                f"Streamed(device={self.device!r}): {_usable(count)} usable here{why}; device='cpu' is the CPU"
            )
        return devices

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
        devices = self._devices()
        if self.cpu and -1 not in devices:
            devices.append(-1)
        return _core.streamed(devices, self._block(), self.slots, self._ring())


@dataclass(frozen=True)
class ZeroCopy:
    """Kernels of the GPU `device` (a number, or `ps.device(n)`) dereference pinned or managed host memory, in 128-byte
    lines (min-2020)."""

    device: Any = 0

    @property
    def gpu(self) -> int:
        """The number of the GPU."""
        number = ordinal("ZeroCopy", self.device)
        if number < 0:
            raise ValueError(
                f"ZeroCopy(device={self.device!r}) is of GPUs: name one, as in device=0, or use InCore()"
            )
        return number

    def _lower(self) -> Any:
        gpu = self.gpu
        if gpu >= gpu_count() > 0 or options.gpus == 0:
            why = f" ({no_gpu(gpu)})" if _lacks_kernels(gpu) else ""
            raise _core.PlacementError(
                f"ZeroCopy on GPU {gpu}: {_usable(gpu_count())} usable here{why}"
            )
        return _core.zero_copy(gpu)


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
