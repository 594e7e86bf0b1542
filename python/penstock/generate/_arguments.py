"""What every generator asks of its arguments, and what it makes of a matrix of the core."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options


def wrap(
    matrix: Any, symmetric: bool | None = None, instead: tuple[int, int] | None = None
) -> csr_array:
    """`symmetric`: what the construction says of the pattern, so that graph algorithms need not look. `instead`: a
    shape without rows or columns, of which the core makes no matrix: it has checked the other arguments for one of one
    row or column, and an empty one is returned."""
    made = csr_array._wrap(matrix)
    if instead is not None:
        place = made.place
        made = csr_array(instead, dtype=made.dtype)
        if place == "device":
            made = csr_array._wrap(_core.to_place(made._core, "device", _core.ordinal(matrix)))
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


def _index(name: str, value: Any) -> int:
    """TypeError for what is no integer: bools and arrays are none."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r} is not an integer: give one number") from None


def integer(name: str, value: Any) -> int:
    """An integer of 64 bits.

    >>> integer("n", 3)
    3
    """
    number = _index(name, value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} = {number} does not fit 64 bits: no matrix is that large")
    return number


def extent(name: str, value: Any, least: int = 0) -> int:
    """How many rows, vertices or groups: an integer of `least` or more. What is too large, the core says."""
    number = integer(name, value)
    if number < least:
        few = "negative" if number < 0 else "too few"
        raise ValueError(f"{name} = {number} is {few}: give {least} or more")
    return number


def least_of(keep: Any) -> int:
    """The least extent: ranks, which keep some rows each, make no empty matrix."""
    return 0 if keep is None else 1


def at_most_32_bits(name: str, number: int) -> int:
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{name} = {number} is not between 1 and 30")
    return number


def real(name: str, value: Any) -> float:
    """A number as a float. Text is none, whatever it says, nor are bools and arrays.

    >>> real("p", 1)
    1.0
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    text = isinstance(value, (str, bytes, bytearray, bool)) or kind not in "iuf"
    try:
        if text or getattr(value, "ndim", 0):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r} is not a number: give an int or a float") from None
    except OverflowError:
        raise ValueError(f"{name} exceeds what a float holds: give a smaller number") from None


def numbers(name: str, values: Any, kinds: str = "iuf") -> np.ndarray:
    """An array of numbers as it is; text, bools and what is no array are refused. `kinds`: NumPy's letters."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):
        found = np.asarray(None)
    if found.size and found.dtype.kind not in kinds:
        what = "numbers" if "f" in kinds else "integers"
        raise TypeError(f"{name} is not an array of {what}: give {what} alone")
    return found


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} = {value!r}: give True or False")
    return bool(value)


def value_type(dtype: Any) -> str:
    """The name of a dtype. None, which is float64 for NumPy, would stand for no default of ours: it is refused."""
    try:
        if dtype is None:
            raise TypeError
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        raise TypeError(
            f"dtype = {dtype!r} is no dtype: give bool (a pattern), float32 or float64, or leave it out"
        ) from None
    if name not in ("bool", "float32", "float64"):
        raise ValueError(
            f"dtype = {name} is not bool (a pattern), float32 or float64: use astype after"
        )
    return name


def seed_of(seed: Any) -> int:
    number = _index("seed", seed)
    if not 0 <= number < 2**64:
        raise ValueError(f"seed = {seed!r} is not an integer between 0 and 2**64 - 1")
    return number
