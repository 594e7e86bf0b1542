"""The preconditioners that M may name."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.linalg.multigrid import AMG
from penstock.linalg.preconditioners import (
    IC0,
    ILU0,
    BlockJacobi,
    Chebyshev,
    Jacobi,
    Preconditioner,
)

_BY_NAME: dict[str, Any] = {
    "jacobi": Jacobi,
    "block_jacobi": BlockJacobi,
    "ilu0": ILU0,
    "ic0": IC0,
    "chebyshev": Chebyshev,
    "amg": AMG,
}


def by_name(name: str, a: Any, dtype: np.dtype) -> Preconditioner:
    """The preconditioner that M=name stands for, with its defaults."""
    if name not in _BY_NAME:
        raise ValueError(f"M={name!r} is unknown: choose one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name](a, dtype=dtype)
