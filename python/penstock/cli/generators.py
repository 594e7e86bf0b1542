"""Generators named on a command line: rmat:20,edge_factor=8 or laplacian:64x64x64."""

from __future__ import annotations

import inspect
import math
from typing import Any

from penstock.cli.ui import InputError

FIRST = {"rmat": "scale", "bter": "scale", "uniform": "rows", "banded": "n", "laplacian": "shape",
         "advection_diffusion": "n", "road_grid": "nx", "random_geometric": "n",
         "barabasi_albert": "n", "watts_strogatz": "n", "planted_partition": "groups"}  # fmt: skip
HELP = "or a generator: rmat:20, uniform:1000000, laplacian:64x64x64, advection_diffusion:64, ..."


def is_generator(text: str) -> bool:
    """
    >>> is_generator("rmat:20"), is_generator("a/rmat.mtx")
    (True, False)
    """
    return text.partition(":")[0].replace("-", "_") in FIRST


# What the first number leaves open.
DEFAULTS: dict[str, dict[str, Any]] = {
    "banded": {"diagonals": 4},
    "barabasi_albert": {"m": 8},
    "watts_strogatz": {"k": 10, "p": 0.1},
    "planted_partition": {"size": 100, "p_in": 0.1, "p_out": 5e-5},
}


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """(name, arguments) of NAME:FIRST,KEY=VALUE,...

    >>> parse("laplacian:8x9")
    ('laplacian', {'shape': [8, 9]})
    >>> parse("rmat:10,seed=3")
    ('rmat', {'scale': 10, 'seed': 3})
    >>> parse("random_geometric:1000")
    ('random_geometric', {'n': 1000, 'radius': 0.0564})
    """
    from penstock import generate

    name, _, rest = text.partition(":")
    name = name.replace("-", "_")
    how: dict[str, Any] = {}
    for i, word in enumerate(w for w in rest.split(",") if w):
        key, sign, value = word.partition("=")
        if not sign:
            if i:
                raise InputError(
                    f"{text}: {word} has no name; write {FIRST[name]} first, then KEY=VALUE"
                )
            key, value = FIRST[name], word
        how[key.replace("-", "_")] = _value(value)
    for key, value in DEFAULTS.get(name, {}).items():
        how.setdefault(key, value)
    if name in ("laplacian", "road_grid") and isinstance(how.get(FIRST[name]), str):
        sides = [_value(v) for v in how[FIRST[name]].split("x")]
        how |= (
            {"shape": sides}
            if name == "laplacian"
            else dict(zip(("nx", "ny"), sides, strict=False))
        )
    if name == "random_geometric" and "n" in how:
        how.setdefault("radius", round((10 / (math.pi * how["n"])) ** 0.5, 4))  # degree 10
    if name == "road_grid" and "nx" in how:
        how.setdefault("ny", how["nx"])
    known = [k for k in inspect.signature(getattr(generate, name)).parameters if k[0] != "_"]
    if unknown := sorted(set(how) - set(known)):
        raise InputError(f"{text}: no {', '.join(unknown)}; {name} takes {', '.join(known)}")
    if FIRST[name] not in how:
        raise InputError(
            f"{text}: say {FIRST[name]}, as {name}:{'64x64' if name == 'laplacian' else '20'}"
        )
    return name, how


def make(name: str, how: dict[str, Any]) -> Any:
    """The matrix."""
    from penstock import generate

    return getattr(generate, name)(**how)


def grown(name: str, how: dict[str, Any], times: int) -> dict[str, Any] | None:
    """The arguments of a matrix `times` as large; None where that is not one of the family.

    >>> grown("rmat", {"scale": 10}, 4), grown("uniform", {"rows": 100}, 3), grown("rmat", {"scale": 10}, 3)
    ({'scale': 12}, {'rows': 300}, None)
    """
    if name in ("rmat", "bter"):
        more = times.bit_length() - 1
        return {**how, "scale": how["scale"] + more} if 2**more == times else None
    if name == "uniform":
        sides = {k: how[k] * times for k in ("rows", "cols") if how.get(k) is not None}
        return {**how, **sides}
    if name in ("banded", "barabasi_albert", "watts_strogatz"):
        return {**how, "n": how["n"] * times}
    if name == "road_grid":
        return {**how, "ny": how["ny"] * times}
    return None
