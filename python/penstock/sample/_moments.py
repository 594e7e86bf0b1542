"""Times of edges and of seeds, as integers of one unit: they are compared with one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import unmasked
from penstock._arrays.convert import as_array
from penstock._arrays.device import is_on_gpu
from penstock.sample._arguments import int64s


def one_unit(
    time: Mapping[Any, Any], seed_time: Mapping[Any, Any]
) -> tuple[dict[Any, np.ndarray], dict[Any, np.ndarray]]:
    """Both as int64: integers as they are, datetime64 in the finest unit of all.

    ValueError for NaT and for what int64 does not hold; TypeError for other types, and for dates beside integers.

    >>> days, seconds = np.array(["1970-01-02"], "M8[D]"), np.array(["1970-01-01"], "M8[s]")
    >>> one_unit({"": days}, {"": seconds})
    ({'': array([86400])}, {'': array([0])})
    """
    edges = {t: _read(some, "time") for t, some in time.items()}
    seeds = {t: _read(some, "seed_time") for t, some in seed_time.items()}
    every = [("time", x) for x in edges.values()] + [("seed_time", x) for x in seeds.values()]
    dates = [(name, x) for name, x in every if x.dtype.kind == "M"]
    if not dates:
        return edges, seeds
    for name, x in every:
        if x.dtype.kind != "M" and x.size:
            other, date = dates[0]
            raise TypeError(
                f"{other} is {date.dtype} and {name} {x.dtype}: give both as datetime64, or both as integers"
            )
    try:
        unit = np.result_type(*(x.dtype for _, x in dates)).newbyteorder("=")
    except (OverflowError, TypeError):
        names = ", ".join(sorted({str(x.dtype) for _, x in dates}))
        raise ValueError(f"time and seed_time are {names}: give both in one unit") from None
    return (
        {t: _counted(x, unit, "time") for t, x in edges.items()},
        {t: _counted(x, unit, "seed_time") for t, x in seeds.items()},
    )


def _read(some: Any, name: str) -> np.ndarray:
    """As int64, or dates as they came."""
    if is_on_gpu(some):
        raise _core.PlacementError(f"{name} is in a GPU's memory: give it in host memory")
    given = unmasked(some, name)
    x = np.atleast_1d(as_array(given))
    if x.dtype.kind != "M":
        return int64s(given, name)
    if x.ndim != 1:
        raise TypeError(f"{name} must have one dimension, not the shape {x.shape}")
    missing = np.isnat(x)
    if missing.any():
        raise ValueError(
            f"{name}[{int(missing.argmax())}] is NaT, which is neither earlier nor later than a time: give one to each"
        )
    return x


def _counted(x: np.ndarray, unit: np.dtype, name: str) -> np.ndarray:
    """Dates as counts of `unit`; shared where they are that already."""
    if x.dtype == unit or x.dtype.kind != "M":
        return np.ascontiguousarray(x).view(np.int64)
    try:
        converted = x.astype(unit)
        wrong = converted.astype(x.dtype) != x
    except OverflowError:
        raise ValueError(
            f"{name} has dates beyond what {unit} holds: give a coarser unit"
        ) from None
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"{name}[{at}]={x[at]} is beyond what {unit}, the finest unit given, holds: give all in a coarser one"
        )
    return converted.view(np.int64)
