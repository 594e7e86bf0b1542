"""Checks of single arguments: integers, flags and real numbers, with errors that name the argument and its value."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

_NO_LIMIT = 2**62


def integer(value: Any, name: str, least: int, most: int = _NO_LIMIT) -> int:
    """An integer from `least` to `most`. TypeError for anything that is none, bool among them, ValueError for others.

    >>> integer(3, "k", 1)
    3
    >>> integer(1.5, "k", 1)
    Traceback (most recent call last):
    ...
    TypeError: k=1.5 is not an integer
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is not an integer") from None
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} is not an integer")
    if number < least and most == _NO_LIMIT:
        raise ValueError(f"{name}={number} must be at least {least}")
    if not least <= number <= most:
        raise ValueError(f"{name}={number} is not between {least} and {most}")
    return number


def flag(value: Any, name: str) -> bool:
    """TypeError for anything but a bool: "no" and 2 are true for Python."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}: give True or False")
    return bool(value)


def number(value: Any, name: str) -> float:
    """A real number, or what holds one. TypeError for texts, which `float` would read, and for complex numbers.

    >>> number(2, "k")
    2.0
    >>> number("2", "k")
    Traceback (most recent call last):
    ...
    TypeError: k='2' is not a number
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "f")  # types of PyTorch have none
    try:
        if isinstance(value, (str, bytes)) or kind in "SUc":
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not a number") from None
    except OverflowError:
        raise ValueError(f"{name} exceeds what a float holds: give a smaller number") from None


def unmasked(some: Any, name: str) -> Any:
    """What is given. ValueError for a masked array with masked entries, which nothing here would leave out."""
    if isinstance(some, np.ma.MaskedArray) and np.ma.is_masked(some):
        count = int(np.ma.getmaskarray(some).sum())
        remedy = f"give {name}.compressed()" if some.ndim == 1 else "fill them, or drop their rows"
        raise ValueError(f"{name} has {count} masked entries: {remedy}")
    return some


def not_integers(given: Any, numbers: np.ndarray, name: str) -> Exception:
    """The error for what should be integers of one dimension: `given`, which are `numbers` as an array.

    >>> not_integers([[1]], np.array([[1]]), "seeds")
    TypeError('seeds has shape (1, 1): give integers of one dimension, as seeds.ravel() has')
    """
    kind = numbers.dtype.kind
    if given is None or isinstance(given, (str, bytes, bool, float, complex)):
        return TypeError(f"{name}={given!r} must be integers")
    if kind in "iu":
        return TypeError(
            f"{name} has shape {numbers.shape}: give integers of one dimension, as {name}.ravel() has"
        )
    if kind == "O" and numbers.ndim == 1 and all(type(n) is int for n in numbers):
        beyond = next(i for i, n in enumerate(numbers) if not -(2**63) <= n < 2**63)
        return ValueError(f"{name}[{beyond}]={numbers[beyond]} is beyond int64")
    remedies = {
        "b": f": np.flatnonzero({name}) has the places of a mask",
        "f": f": {name}.astype(np.int64) makes integers of them",
    }
    return TypeError(
        f"{name} must be integers, not {numbers.dtype} of shape {numbers.shape}{remedies.get(kind, '')}"
    )


def seed_number(seed: Any) -> int:
    """An integer from 0 to 2^64 - 1."""
    return integer(seed, "seed", 0, 2**64 - 1)


def real(value: Any, name: str, allowed: str, ok: Any) -> float:
    """A finite number for which ok(number); `allowed` says which these are."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}={value!r} is not finite: give a number {allowed}")
    if not ok(number):
        raise ValueError(f"{name}={value!r} must be a number {allowed}")
    return number
