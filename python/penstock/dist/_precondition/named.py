"""The preconditioners over ranks that a name stands for: solvers' checks and messages read this list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.dist._precondition.amg import AMG
from penstock.dist._preconditioners import (
    IC0,
    ILU0,
    AdditiveSchwarz,
    BlockJacobi,
    Chebyshev,
    DistPreconditioner,
    Jacobi,
)

_BY_NAME: dict[str, Callable[..., DistPreconditioner]] = {
    "jacobi": Jacobi,
    "block_jacobi": BlockJacobi,
    "ilu0": ILU0,
    "ic0": IC0,
    "chebyshev": Chebyshev,
    "amg": AMG,
}


def by_name(name: str, a: Any, dtype: np.dtype, symmetric: bool) -> DistPreconditioner:
    """What M=name stands for, with its defaults; of "schwarz" the symmetric kind where that is needed."""
    if name == "schwarz":
        return AdditiveSchwarz(a, "ic0" if symmetric else "ilu0", dtype=dtype)
    if name not in _BY_NAME:
        raise ValueError(f"M={name!r} is unknown: choose one of {', '.join(_BY_NAME)}, schwarz")
    return _BY_NAME[name](a, dtype=dtype)


def in_host_memory(name: str) -> bool:
    """Whether what the name stands for cannot be applied to vectors on a GPU."""
    return getattr(_BY_NAME.get(name), "_in_host_memory", False)
