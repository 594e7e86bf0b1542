"""The part kernel of bench/cardellini2014.py: the local product alone, ELL-G (the paper's) against CSR."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from lib import harness
from rivals import cusparse

import penstock as ps
from penstock import _core
from studies.cardellini2014.pde import Problem, values
from studies.cardellini2014.runs import Run, fits

_INNER = 5  # kernel calls a turn


def kernel(run: Run, n: int, ranks: int, gpus: int, seconds: float) -> None:
    """The local product alone, the whole of pdeN on one device: ELL-G, CSR, and a library's CSR."""
    problem = Problem("pde", n, 1)
    if not fits(run, problem, 3, f"kernel pde{n}"):
        return
    a = problem.whole()
    x, y = values(np.arange(problem.rows)), np.empty(problem.rows)
    expected, bound = problem.expected(0, problem.rows)
    people = (_on_host if run.on_host else _on_gpu)(run, a, x, y)
    traffic = a.nbytes + x.nbytes + y.nbytes
    case = harness.Case(
        f"pde{n}, local product", lambda got: float(np.max(np.abs(got - expected))) / bound, 2.0 * a.nnz, traffic,
        about={"matrix": problem.label, "n": n, "rows": problem.rows, "nnz": a.nnz, "ranks": 1, "gpus": min(gpus, 1)},
    )  # fmt: skip
    run.add("kernel", harness.measure(case, people, run.settings(seconds)))


def _on_host(run: Run, a: Any, x: np.ndarray, y: np.ndarray) -> list[harness.Contestant]:
    ell, scipy = _core.to_ell_g(a._core), a.to_scipy()
    a.prepare()

    def ell_g() -> np.ndarray:
        _core.multiply_ell_g(ell, x, y)
        return y

    def clean() -> None:
        y.fill(np.nan)

    return [harness.Contestant("csr", lambda: a.dot(x, out=y), "ours", reset=clean),
            harness.Contestant("ell_g", ell_g, "ours", reset=clean),
            harness.Contestant("scipy", lambda: scipy @ x)]  # fmt: skip


def _on_gpu(run: Run, a: Any, x: np.ndarray, y: np.ndarray) -> list[harness.Contestant]:
    here, ell = a.to(ps.device(0)), _core.to_ell_g(a._core).to_place("device", 0)
    calls = {
        "csr": lambda n: _core.time_spmv_gpu(here._core, x, "plus_times", n, 0),
        "ell_g": lambda n: _core.time_spmv_ell_g_gpu(ell, x, "plus_times", n, 0),
    }
    version, why = cusparse.version()
    if version is None:
        run.report.skip("cuSPARSE", why)
    else:
        calls |= {f"cusparse_{name}": lambda n, name=name: _core.time_cusparse_gpu(here._core, x, name, n, 0)
                  for name in cusparse.VECTOR}  # fmt: skip
    return [harness.Contestant(
        name, lambda call=call: call(1)[1], "rival" if name.startswith("cusparse") else "ours",
        timed=lambda call=call: statistics.median(call(_INNER)[0])) for name, call in calls.items()]  # fmt: skip
