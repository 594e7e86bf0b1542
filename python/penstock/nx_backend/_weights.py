"""Numbers on edges: what a float64 cannot hold raises NotImplementedError, which leaves the call to another backend."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import tee
from operator import itemgetter
from typing import Any

import numpy as np

# Whole numbers up to here are exact in float64, and so are sums that stay below it.
EXACT = 2.0**53
# Why paths are not taken by weights whose own arithmetic gives other sums.
NARROW = "NetworkX adds short numbers of NumPy, such as float32, in their own type: convert them to float or int"


class Weights:
    """One edge attribute: float64 values in the order of the adjacency, and what algorithms must know of them."""

    def __init__(
        self, values: np.ndarray, integral: bool, narrow: bool = False, mirrored: bool = True
    ) -> None:
        self.values, self.integral = values, integral
        self.narrow = narrow  # some are NumPy's numbers of less than 64 bits
        self.mirrored = mirrored  # both directions of an undirected edge have the same
        self.ones = bool((values == 1).all())
        self.finite = bool(np.isfinite(values).all())
        self.usable = float(values.min(initial=0.0)) >= 0 and self.finite
        # A distance is at most the sum of all weights.
        self.exact = not integral or float(np.abs(values).sum()) <= EXACT


def attribute_of(edges: Iterable[dict[Any, Any]], attribute: Any, default: Any) -> list[Any]:
    """An attribute of every edge, or the default."""
    first, second = tee(edges)
    try:
        return list(map(itemgetter(attribute), first))
    except KeyError:
        return [edge.get(attribute, default) for edge in second]


def numbers_of(found: list[Any], attribute: Any) -> tuple[np.ndarray, bool, bool]:
    """As float64, whether all are whole, and whether some are NumPy's numbers of less than 64 bits."""
    kinds = set(map(type, found))
    whole = all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds)
    for kind in kinds:
        if not issubclass(kind, (int, float, np.integer, np.bool_, np.floating)) or (
            issubclass(kind, np.longdouble)
        ):
            raise NotImplementedError(
                f"the edge attribute {attribute!r} has values of type {kind.__name__}: penstock takes numbers"
            )
    try:
        values = np.fromiter(found, np.float64, len(found))
    except OverflowError:
        raise NotImplementedError(f"the edge attribute {attribute!r} exceeds a float") from None
    if whole and values.size and np.abs(values).max() > EXACT:
        raise NotImplementedError(f"the edge attribute {attribute!r} has whole numbers above 2^53")
    narrow = any(issubclass(kind, np.number) and np.dtype(kind).itemsize < 8 for kind in kinds)
    return values, whole, narrow
