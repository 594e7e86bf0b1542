"""`scipy.sparse.linalg`'s names for csr_arrays: Krylov solvers and preconditioners of our own, SciPy's methods beside.

Every solver of our own returns `(x, info)`: info is SciPy's number (0 converged, > 0 iterations done without, < 0
breakdown) and carries `reason`, `iterations`, `residuals`, `seconds`. docs/solvers.md says which method and
preconditioner to take, and which methods are SciPy's; docs/eigen.md is about eigenvalues and singular values.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.linalg._amg.report import AMGExplanation
    from penstock.linalg._info import SolveInfo
    from penstock.linalg._methods.block_gradients import block_cg
    from penstock.linalg._methods.flexible_gmres import fgmres
    from penstock.linalg._methods.minimal_residual import minres
    from penstock.linalg._solver.refine_call import refine
    from penstock.linalg._solver.report import SolverExplanation
    from penstock.linalg._solver.reusable import Solver
    from penstock.linalg.eigen.components import PrincipalComponents, pca
    from penstock.linalg.eigen.info import EigenInfo
    from penstock.linalg.eigen.randomized import block_krylov_svd, randomized_svd
    from penstock.linalg.eigen.singular import svds
    from penstock.linalg.eigen.symmetric import eigsh
    from penstock.linalg.krylov import bicgstab, cg, gmres, pipecg
    from penstock.linalg.multigrid import AMG, rigid_body_modes
    from penstock.linalg.norms import norm
    from penstock.linalg.preconditioners import IC0, ILU0, BlockJacobi, Chebyshev, Jacobi
    from penstock.linalg.scipy_methods import (
        bicg,
        cgs,
        eigs,
        expm,
        expm_multiply,
        factorized,
        gcrotmk,
        inv,
        lgmres,
        lobpcg,
        lsmr,
        lsqr,
        matrix_power,
        onenormest,
        qmr,
        spilu,
        splu,
        spsolve,
        spsolve_triangular,
        tfqmr,
    )

# name -> the module of this package that holds it; imported when first asked for
_lazy = {
    "EigenInfo": "eigen.info",
    "PrincipalComponents": "eigen.components",
    "SolveInfo": "_info",
    "Solver": "_solver.reusable",
    "SolverExplanation": "_solver.report",
    "block_krylov_svd": "eigen.randomized",
    "bicgstab": "krylov",
    "block_cg": "_methods.block_gradients",
    "cg": "krylov",
    "fgmres": "_methods.flexible_gmres",
    "gmres": "krylov",
    "minres": "_methods.minimal_residual",
    "AMG": "multigrid",
    "AMGExplanation": "_amg.report",
    "rigid_body_modes": "multigrid",
    "norm": "norms",
    "pca": "eigen.components",
    "pipecg": "krylov",
    "refine": "_solver.refine_call",
    "BlockJacobi": "preconditioners",
    "Chebyshev": "preconditioners",
    "IC0": "preconditioners",
    "ILU0": "preconditioners",
    "Jacobi": "preconditioners",
    "bicg": "scipy_methods",
    "cgs": "scipy_methods",
    "eigs": "scipy_methods",
    "eigsh": "eigen.symmetric",
    "expm": "scipy_methods",
    "expm_multiply": "scipy_methods",
    "factorized": "scipy_methods",
    "gcrotmk": "scipy_methods",
    "inv": "scipy_methods",
    "lgmres": "scipy_methods",
    "lobpcg": "scipy_methods",
    "lsmr": "scipy_methods",
    "lsqr": "scipy_methods",
    "matrix_power": "scipy_methods",
    "onenormest": "scipy_methods",
    "qmr": "scipy_methods",
    "spilu": "scipy_methods",
    "splu": "scipy_methods",
    "spsolve": "scipy_methods",
    "spsolve_triangular": "scipy_methods",
    "randomized_svd": "eigen.randomized",
    "svds": "eigen.singular",
    "tfqmr": "scipy_methods",
}

__all__ = [
    "AMG",
    "IC0",
    "ILU0",
    "AMGExplanation",
    "BlockJacobi",
    "Chebyshev",
    "EigenInfo",
    "Jacobi",
    "PrincipalComponents",
    "SolveInfo",
    "Solver",
    "SolverExplanation",
    "bicg",
    "bicgstab",
    "block_cg",
    "block_krylov_svd",
    "cg",
    "cgs",
    "eigs",
    "eigsh",
    "expm",
    "expm_multiply",
    "factorized",
    "fgmres",
    "gcrotmk",
    "gmres",
    "inv",
    "lgmres",
    "lobpcg",
    "lsmr",
    "lsqr",
    "matrix_power",
    "minres",
    "norm",
    "onenormest",
    "pca",
    "pipecg",
    "qmr",
    "randomized_svd",
    "refine",
    "rigid_body_modes",
    "spilu",
    "splu",
    "spsolve",
    "spsolve_triangular",
    "svds",
    "tfqmr",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.linalg' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.linalg.{_lazy[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
