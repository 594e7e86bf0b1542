"""The names that an argument may have, as the core lists them, one list a choice.

Checks, messages and the command line's help read these: nothing else in the package names them all.

>>> one_of("codec", "packed", CODECS, "auto")
>>> one_of("codec", "zip", CODECS, "auto")
Traceback (most recent call last):
...
ValueError: codec='zip' is unknown: choose one of auto, raw, packed, ell_g
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock import _core


class Semiring(NamedTuple):
    """`sums` and `products` are NumPy's functions that compute the same: `np.minimum` and `np.add` of min_plus."""

    name: str
    text: str
    sums: np.ufunc
    products: np.ufunc
    zero: Any
    one: Any
    boolean: bool


def _semiring(s: _core.Semiring) -> Semiring:
    number = bool if s.boolean else float
    sums, products = getattr(np, s.add), getattr(np, s.mul)
    return Semiring(s.name, s.text, sums, products, number(s.zero), number(s.one), s.boolean)


SEMIRINGS = {s.name: _semiring(s) for s in _core.semirings()}
CODECS = {c.name: c for c in _core.codecs()}
PARTITIONERS = {p.name: p for p in _core.partitioners()}
HALOS = {h.name: h.text for h in _core.halos()}
GPU_HALOS = {h.name: h.text for h in _core.gpu_halos()}
ACCESS_POLICIES = {a.name: a.text for a in _core.access_policies()}
EDGE_PLACEMENTS = {p.name: p.text for p in _core.edge_placements()}
MEASURES = {m.name: m.text for m in _core.measures()}  # of vertices that are alike
TILE_CUTS = {
    "area": "equal tiles",
    "nonzeros": "equally many entries for all ranks",
    "flops": "equally many products of A @ A",
    "auto": "by entries, where that is faster by the model",
}
SHORT_FLOATS = {s.name: s for s in _core.short_floats()}  # types of 16 bits of stored values
REFINED = {"float32": "24 bits of precision"} | {s.name: s.text for s in SHORT_FLOATS.values()}
ALGORITHMS = {a.name: a.text for a in _core.algorithms()}  # of A @ x in core on the CPU


def one_of(what: str, value: Any, names: Collection[str], *first: str) -> None:
    """Raises ValueError, with the choices, where `value` is none of `first` and `names`."""
    if not isinstance(value, str) or (value not in names and value not in first):
        known = ", ".join((*first, *names))
        raise ValueError(f"{what}={value!r} is unknown: choose one of {known}")


def semiring_named(name: Any) -> Semiring:
    """ValueError, with the names, where there is none of that name.

    >>> semiring_named("min_plus").zero
    inf
    """
    try:
        return SEMIRINGS[name]
    except (KeyError, TypeError):  # TypeError: a list, for one, is no key
        known = ", ".join(SEMIRINGS)
        raise ValueError(f"semiring={name!r} is unknown: choose one of {known}") from None


def in_words(names: Iterable[str], *first: str) -> str:
    """For help texts.

    >>> in_words(CODECS, "auto")
    'auto, raw, packed or ell_g'
    """
    *most, last = (*first, *names)
    return f"{', '.join(most)} or {last}" if most else last
