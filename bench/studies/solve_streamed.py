"""Whole solves of matrices that travel over the link at each product: refinement from lower precision, and multigrid.

Everything streams (`keep=False`): the link binds, whatever the GPU's memory is. Times are of solves; multigrid's
include its set-up, and its finest matrix is in pinned memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib import harness

import penstock as ps

REFINED = {"penstock": "float32", "penstock_bfloat16": "bfloat16", "penstock_float16": "float16"}
PRODUCTS = 500  # that a plan is to serve
WELL_CONDITIONED = 0.1  # a shift from which 16 bits are enough


def weighted_grid(edge: int, shift: float) -> ps.csr_array:
    """The Laplacian of a cube's grid with random weights, plus shift: values that no codec makes shorter."""
    rng, n = np.random.default_rng(2), edge**3
    number = np.arange(n).reshape((edge,) * 3)
    sides = [(np.delete(number, -1, k).ravel(), np.delete(number, 0, k).ravel()) for k in range(3)]
    first, second = (np.concatenate([side[k] for side in sides]) for k in (0, 1))
    w = rng.uniform(0.5, 1.5, first.size)
    both = np.concatenate([first, second]), np.concatenate([second, first])
    off = sp.csr_array((np.tile(-w, 2), both), shape=(n, n))
    diagonal = -off.sum(axis=1) + shift
    return ps.csr_array(sp.csr_array(off + sp.diags_array(diagonal)))


def box(edge: int) -> ps.csr_array:
    """Each point of a cube against its 26 neighbours, held at the boundary."""
    line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(edge, edge))
    around = sp.kron(sp.kron(line, line, "csr"), line, "csr")
    return ps.csr_array(sp.csr_array(27 * sp.eye_array(edge**3, format="csr") - around))


def _case(name: str, a: ps.csr_array, b: np.ndarray, rtol: float, about: dict[str, Any]) -> Any:
    there = a.to_scipy()
    allowed = 1.05 * rtol * float(np.linalg.norm(b))
    return harness.Case(
        name=name,
        check=lambda x: float(np.linalg.norm(b - there @ x)) / allowed,
        about={"rows": a.shape[0], "nnz": a.nnz, "dtype": "float64", **about},
    )


def _contestants(ways: dict[str, Callable[[], Any]]) -> list[Any]:
    """Those with another name than penstock's are what it is measured against: our own cg."""
    everybody = []
    for name, solve in ways.items():
        _, info = solve()
        notes = {"iterations": info.iterations, "vectors": info.vectors}
        role = "ours" if name.startswith("penstock") else "rival"
        run = harness.Contestant(name, lambda solve=solve: solve()[0], role=role, notes=notes)
        everybody.append(run)
    return everybody


def refine_case(edge: int, shift: float, settings: Any) -> dict[str, Any]:
    """cg in float64 to 1e-12, against refinement from float32, and from 16 bits where A is well-conditioned."""
    a = weighted_grid(edge, shift)
    b = np.random.default_rng(1).standard_normal(a.shape[0])
    a.prepare(
        schedule=ps.Streamed(device=0, keep=False), products=PRODUCTS
    )  # packed, if that travels faster
    ways: dict[str, Callable[[], Any]] = {"cg in float64": lambda: ps.linalg.cg(a, b, rtol=1e-12)}
    for name, inner in REFINED.items():
        if inner == "float32" or shift >= WELL_CONDITIONED:
            ways[name] = lambda inner=inner: ps.linalg.refine(a, b, rtol=1e-12, inner=inner)
    about = {"matrix": f"grid{edge} + {shift:g}", "method": "refine"}
    case = _case(f"streamed grid{edge} + {shift:g} to 1e-12", a, b, 1e-12, about)
    return harness.measure(case, _contestants(ways), settings)


def amg_case(edge: int, settings: Any) -> dict[str, Any]:
    """Multigrid with a finest matrix that travels, its set-up included, against cg alone and the matrix on the GPU."""
    host = box(edge)
    b = np.random.default_rng(1).standard_normal(host.shape[0])
    a = host.to(ps.pinned)
    a.prepare(schedule=ps.Streamed(device=0, codec="raw", keep=False))
    there = host.to(ps.device(0))

    def multigrid(a: Any, precision: str) -> Any:
        return ps.linalg.cg(a, b, rtol=1e-8, M=ps.linalg.AMG(a, precision=precision))

    ways: dict[str, Callable[[], Any]] = {
        "penstock": lambda: multigrid(a, "float64"),
        "penstock_float32_levels": lambda: multigrid(a, "float32"),
        "cg alone": lambda: ps.linalg.cg(a, b, rtol=1e-8),
        "penstock_on_the_gpu": lambda: multigrid(there, "float64"),
    }
    about = {"matrix": f"box{edge}", "method": "cg", "preconditioner": "amg"}
    case = _case(f"streamed box{edge} + amg", host, b, 1e-8, about)
    return harness.measure(case, _contestants(ways), settings)
