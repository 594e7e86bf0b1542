"""The limits that the planner obeys, and what makes them and records those of a block: context variables that threads
started inside inherit."""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

_units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_units |= {f"{unit}i": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)}


def parse_bytes(text: int | float | str, name: str = "size") -> int:
    """A number of bytes from 65536, "64MiB", "16GB" or "1.5g" (K, M, G, T are powers of 1000, Ki ... of 1024). A few
    bytes and a half, as in 1.5, are a unit forgotten, and refused.

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
    # Of larger ones, such as 0.8 * free, the fraction is dropped.
    if unit == "" and number < 1024 and number != int(number):
        raise ValueError(f"{name}={text!r} is no whole number of bytes: give a unit, as in '1.5GB'")
    return int(number * _units[unit])


Held = TypeVar("Held")


class Inherited(Generic[Held]):
    """A stack of what the open `with` blocks of a context hold, the innermost last. Tasks copy it, as Python has it,
    and threads of the threading module have what was open where they were started."""

    _all: ClassVar[list[Inherited[Any]]] = []
    _listening: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        self._variable: contextvars.ContextVar[tuple[Held, ...]]
        self._variable = contextvars.ContextVar(name, default=())
        self._all.append(self)

    def get(self) -> tuple[Held, ...]:
        return self._variable.get()

    def set(self, stack: tuple[Held, ...]) -> contextvars.Token[tuple[Held, ...]]:
        if stack and not Inherited._listening:
            with _lock:
                if not Inherited._listening:
                    _listen()
                    Inherited._listening = True
        return self._variable.set(stack)

    def remove(self, held: Held) -> None:
        """Wherever it is in the stack: generators leave their blocks in any order."""
        stack = self.get()
        self.set(tuple(other for other in stack if other is not held))

    def reset(self, token: contextvars.Token[tuple[Held, ...]]) -> None:
        self._variable.reset(token)


_lock = threading.Lock()


def _listen() -> None:
    """From the first block on, every thread that starts another calls `_hear`. Only audit events tell who starts one;
    before Python 3.12, which raises none, threading's own name for the function that starts a thread is wrapped."""
    if sys.version_info >= (3, 12):
        sys.addaudithook(_hear)
        return
    begin = threading._start_new_thread  # type: ignore[attr-defined]

    def start_new_thread(function: Any, *args: Any) -> Any:
        _hear("_thread.start_new_thread", (function,))
        return begin(function, *args)

    threading._start_new_thread = start_new_thread  # type: ignore[attr-defined]


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if event.startswith("_thread.start"):  # start_new_thread; start_joinable_thread from 3.13 on
        with contextlib.suppress(Exception):  # no thread fails to start for what is done here
            thread = getattr(args[0], "__self__", None)
            held = [(one, one.get()) for one in Inherited._all if one.get()]
            if held and isinstance(thread, threading.Thread):
                thread.run = _carrying(thread, held)  # type: ignore[method-assign]


def _carrying(
    thread: threading.Thread, held: list[tuple[Inherited[Any], Any]]
) -> Callable[[], None]:
    """The thread's run(), in a context that has what is held. Where Python itself lets threads inherit contexts, that
    has it already."""
    run = thread.run

    def inside() -> None:
        thread.__dict__.pop("run", None)
        tokens = [(one, one.set(stack)) for one, stack in held if not one.get()]
        try:
            run()
        finally:
            for one, token in tokens:
                one.reset(token)

    return inside


_Values = dict[str, "int | None"]
# (whose block, or None for a change that was a statement; what it changes)
_blocks: Inherited[tuple[Any, _Values]] = Inherited("penstock_options")


def _device_memory(size: int | float | str | None) -> int | None:
    number = None if size is None else parse_bytes(size, "device_memory")
    if number == 0:
        raise ValueError(f"device_memory={size!r}: give at least one byte, or None for no limit")
    return number


def _gpus(count: int | str | None) -> int | None:
    if count is None:
        return None
    try:
        number = int(count) if not isinstance(count, (bool, float)) else -1
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise ValueError(f"gpus={count!r}: give a number from 0 (no GPU), or None for all")
    return number


_CHECKS: dict[str, Callable[[Any], int | None]] = {"device_memory": _device_memory, "gpus": _gpus}
_NAMES = " and ".join(_CHECKS)


class _Change:
    """A change of options: made by now, and until the end of the block where it heads one."""

    def __init__(self, values: _Values, before: Any, after: Any) -> None:
        self._values, self._before, self._after = values, before, after

    def __enter__(self) -> Options:
        stack = _blocks.get()
        # The statement that made this change is this block's head, unless options changed in between.
        below = self._before if stack is self._after else stack
        _blocks.set((*below, (self, self._values)))
        return options

    def __exit__(self, *_: object) -> None:
        stack = _blocks.get()
        mine = [place for place, (whose, _) in enumerate(stack) if whose is self]
        if not mine:
            return  # left by another thread than that which entered it
        begin, end = mine[-1], mine[-1] + 1
        while end < len(stack) and stack[end][0] is None:
            end += 1  # statements in the block
        _blocks.set((*stack[:begin], *stack[end:]))


class Options:
    """Limits of what the planner may use: `with ps.options(gpus=0):` for a block, `ps.options.gpus = 0` for good.

    device_memory: bytes that one device may hold for a matrix, its rings and vectors; a larger matrix is streamed.
    None: no limit but the device's own. Starts from the environment variable PENSTOCK_DEVICE_MEMORY.

    gpus: the first so many GPUs may be used; 0 turns them off, None allows all. Starts from PENSTOCK_GPUS. Searches of
    graphs take several only where this is 2 or more.

    A block's values are those of its thread or asyncio task, and of the threads and tasks that are started inside.
    These keep them when the block is left, and so do the threads of a pool that a call inside the block has started:
    begin a pool outside where it shall outlive the block. No other thread sees them. Threads are those of the threading
    module, which concurrent.futures and `ps.dist.run` use.

    An assignment outside of all blocks is for the process: for every thread that is in no block. In a block it lasts
    until the block ends. A call that heads no block, `ps.options(gpus=0)`, is a block without an end: it holds for the
    rest of the block, thread or task that it stands in, and for threads started from then on.

    Raises ValueError for values that are none. A name that is none is a TypeError in a call, and an AttributeError in
    an assignment.

    >>> import penstock as ps
    >>> with ps.options(device_memory="64MiB", gpus=0):
    ...     ps.options.device_memory, ps.options.gpus
    (67108864, 0)
    """

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process: _Values = dict.fromkeys(_CHECKS)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CHECKS and name not in self.__slots__:
            raise AttributeError(f"options: unknown {name}; there are {_NAMES}")
        object.__setattr__(self, name, value)

    def _read(self, name: str) -> int | None:
        for _, values in reversed(_blocks.get()):
            if name in values:
                return values[name]
        return self._process[name]

    def _assign(self, name: str, value: Any) -> None:
        number, stack = _CHECKS[name](value), _blocks.get()
        if stack:
            whose, values = stack[-1]
            _blocks.set((*stack[:-1], (whose, {**values, name: number})))
        else:
            self._process[name] = number

    @property
    def device_memory(self) -> int | None:
        return self._read("device_memory")

    @device_memory.setter
    def device_memory(self, size: int | float | str | None) -> None:
        self._assign("device_memory", size)

    @property
    def gpus(self) -> int | None:
        return self._read("gpus")

    @gpus.setter
    def gpus(self, count: int | str | None) -> None:
        self._assign("gpus", count)

    def __call__(self, **changes: Any) -> _Change:
        unknown = set(changes) - set(_CHECKS)
        if unknown:
            raise TypeError(f"options: unknown {', '.join(sorted(unknown))}; there are {_NAMES}")
        values = {name: _CHECKS[name](value) for name, value in changes.items()}
        before = after = _blocks.get()
        if values and before and before[-1][0] is None:  # one statement after the other
            after = (*before[:-1], (None, {**before[-1][1], **values}))
        elif values:
            after = (*before, (None, values))
        _blocks.set(after)
        return _Change(values, before, after)

    def __repr__(self) -> str:
        return f"options(device_memory={self.device_memory}, gpus={self.gpus})"


options = Options()
for _name in _CHECKS:
    if os.environ.get(f"PENSTOCK_{_name.upper()}"):
        setattr(options, _name, os.environ[f"PENSTOCK_{_name.upper()}"])
