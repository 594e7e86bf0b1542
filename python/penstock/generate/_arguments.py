"""What every generator asks of its arguments, and what it makes of a matrix of the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options


def wrap(matrix: Any, symmetric: bool | None = None) -> csr_array:
    """`symmetric`: what the construction says of the pattern, so that graph algorithms need not look."""
    made = csr_array._wrap(matrix)
    if symmetric:
        made._derived.symmetric_pattern = True
    return made


def on_gpu(device: Any) -> dict[str, int]:
    """The GPU that a place or a number means, and the memory that it may take there."""
    number = device if hasattr(device, "__index__") else getattr(device, "ordinal", None)
    on_gpu = number is device or getattr(device, "memory", None) == "device"
    if isinstance(number, bool) or not hasattr(number, "__index__") or not on_gpu:
        raise TypeError(
            f"device = {device!r} is not a GPU: give ps.device(0), its number, or None for the CPU"
        )
    if not 0 <= number.__index__() < 2**15:
        raise ValueError(f"device = {device!r} is not a GPU: they are numbered from 0")
    allowed = getattr(options, "gpus", None)
    if allowed is not None and number.__index__() >= allowed:
        raise _core.PlacementError(
            f"device = {device!r}: options.gpus allows {allowed} GPUs; set it to None, or leave "
            "`device` out"
        )
    return {"gpu": number.__index__(), "memory": options.device_memory or 0}


def integer(name: str, value: Any) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} = {value!r} is not an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} = {number} does not fit 64 bits: no matrix is that large")
    return number


def at_most_32_bits(name: str, number: int) -> int:
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{name} = {number} is not between 1 and 30")
    return number


def real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r} is not a number") from None


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} = {value!r}: give True or False")
    return bool(value)


def value_type(dtype: Any) -> str:
    name = np.dtype(dtype).name
    if name not in ("bool", "float32", "float64"):
        raise ValueError(
            f"dtype = {name} is not bool (a pattern), float32 or float64: use astype after"
        )
    return name


def seed_of(seed: Any) -> int:
    number = seed.__index__() if hasattr(seed, "__index__") else -1
    if not 0 <= number < 2**64:
        raise ValueError(f"seed = {seed!r} is not an integer between 0 and 2**64 - 1")
    return number
