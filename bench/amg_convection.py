"""Multigrid for convection and diffusion: iterations of gmres to 1e-8, against ILU(0) and pyamg where it is installed.

python bench/amg_convection.py                  # 120 x 120 points
python bench/amg_convection.py --side 240 --eps 1e-2

-eps laplace(u) + wind . grad(u) on the unit square, upwind differences, a random b, restart 30, at most 300 iterations.
Counts are the same on every machine. pyamg has symmetry="nonsymmetric", energy-minimising prolongators by GMRES and
Gauss-Seidel on the normal equations. Every x that converged is checked with SciPy.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

import penstock as ps

WINDS = ("constant", "recirculating")


def convection(n: int, eps: float, wind: str) -> sp.csr_array:
    h = 1 / (n + 1)
    x, y = np.meshgrid(np.arange(1, n + 1) * h, np.arange(1, n + 1) * h, indexing="ij")
    if wind == "constant":
        u, v = np.full_like(x, np.cos(0.6)), np.full_like(x, np.sin(0.6))
    else:
        u, v = 4 * x * (x - 1) * (1 - 2 * y), -4 * y * (y - 1) * (1 - 2 * x)
    number = np.arange(n * n, dtype=np.int32).reshape(n, n)
    parts = [(number, number, 4 * eps / h**2 + (abs(u) + abs(v)) / h)]
    for b, a, c in ((u, np.s_[1:, :], np.s_[:-1, :]), (v, np.s_[:, 1:], np.s_[:, :-1])):
        parts.append((number[a], number[c], (-eps / h**2 - np.maximum(b, 0) / h)[a]))
        parts.append((number[c], number[a], (-eps / h**2 + np.minimum(b, 0) / h)[c]))
    i, j, values = (np.concatenate([p[k].ravel() for p in parts]) for k in range(3))
    return sp.csr_array((values, (i, j)), (n * n, n * n))


def rival(S: sp.csr_array) -> Any:
    import pyamg

    return pyamg.smoothed_aggregation_solver(
        sp.csr_matrix(S),
        symmetry="nonsymmetric",
        strength=("symmetric", {"theta": 0.0}),
        smooth=("energy", {"krylov": "gmres"}),
        presmoother="gauss_seidel_nr",
        postsmoother="gauss_seidel_nr",
    ).aspreconditioner()


def iterations(S: sp.csr_array, A: ps.csr_array, M: Any) -> str:
    b = np.random.default_rng(0).standard_normal(S.shape[0])
    x, info = ps.linalg.gmres(A, b, rtol=1e-8, restart=30, maxiter=10, M=M)
    if info == 0 and np.linalg.norm(b - S @ x) > 1.001e-8 * np.linalg.norm(b):
        raise SystemExit("wrong: the residual is not what gmres says")
    return str(info.iterations) if info == 0 else "none"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=120)
    parser.add_argument("--eps", default="1e-1,1e-3,1e-5")
    args = parser.parse_args()
    print("wind, eps: V cycle, W cycle, ILU0, pyamg; operator complexity")
    for wind in WINDS:
        for eps in args.eps.split(","):
            S = convection(args.side, float(eps), wind)
            A = ps.csr_array(S)
            v, w = (ps.linalg.AMG(A, symmetry="nonsymmetric", cycle=c) for c in "VW")
            found = [iterations(S, A, m) for m in (v, w, "ilu0")]
            found.append(iterations(S, A, rival(S)) if find_spec("pyamg") else "not installed")
            print(f"{wind}, {eps}: {', '.join(found)}; {v.operator_complexity:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
