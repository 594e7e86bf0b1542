"""Krylov solvers and preconditioners with the signatures of `scipy.sparse.linalg`.

Every solver returns `(x, info)`: info is SciPy's number (0 converged, > 0 iterations done without, < 0 breakdown) and
carries `reason`, `iterations`, `residuals`, `seconds`. docs/solvers.md says which method and preconditioner to take.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.linalg._info import SolveInfo
    from penstock.linalg.krylov import bicgstab, cg, gmres, pipecg
    from penstock.linalg.norms import norm
    from penstock.linalg.preconditioners import IC0, ILU0, BlockJacobi, Chebyshev, Jacobi

# name -> the module of this package that holds it; imported when first asked for
_lazy = {
    "SolveInfo": "_info",
    "bicgstab": "krylov",
    "cg": "krylov",
    "gmres": "krylov",
    "norm": "norms",
    "pipecg": "krylov",
    "BlockJacobi": "preconditioners",
    "Chebyshev": "preconditioners",
    "IC0": "preconditioners",
    "ILU0": "preconditioners",
    "Jacobi": "preconditioners",
}

__all__ = [
    "IC0",
    "ILU0",
    "BlockJacobi",
    "Chebyshev",
    "Jacobi",
    "SolveInfo",
    "bicgstab",
    "cg",
    "gmres",
    "norm",
    "pipecg",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.linalg' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.linalg.{_lazy[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
