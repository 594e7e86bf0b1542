"""What each rank of bench/page_kogge2018.py does: products in three layouts, in turns. As a script it is an MPI job:

penstock run -n 4 bench/studies/page_kogge2018/worker.py JOB.json RESULT.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

# The paper's two distributions, and what the library does by itself.
LAYOUTS = {
    "naive": {"partition": "grid", "sums": "reduce"},
    "balanced": {"partition": "bins", "sums": "gather"},
    "ours": {"partition": "balanced", "sums": "owners"},
}
ORACLE = {"naive": "grid_reduce", "balanced": "bins_gather", "ours": "balanced"}


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1, 1, n)


# Layouts take turns of so many products, after as many that are not timed: in a row, as solvers make them. A cache that
# held the layout before holds this one after about five.
_TOGETHER = 5


def _turn(comm: Any, D: Any, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Seconds of a product and of its computation, the slowest rank's."""
    comm.barrier()
    D.clear_times()
    begin = time.perf_counter()
    D.dot(x, out=y)
    spent = time.perf_counter() - begin
    t = D.halo
    both = np.array([spent, t["local"] + t["halo"]])
    comm.all_reduce(both, "max")
    return float(both[0]), float(both[1])


def _error(source: Any, y: np.ndarray) -> float:
    """Over what rounding allows, row by row, whatever the order of summation."""
    a = (ps.open(source) if isinstance(source, str) else source).to_scipy()
    x = vector(a.shape[1])
    size = abs(a) @ abs(x)
    allowed = 2 * (np.diff(a.indptr) + 2) * np.finfo(float).eps * size + 1e-300
    worst = float(np.max(abs(y - a @ x) / allowed, initial=0.0))
    return worst if np.isfinite(worst) else 1e300


def work(
    comm: Any, source: Any, turns: int, names: list[str], probe_seconds: float
) -> dict[str, Any]:
    """Collective. `source`: the matrix, or the path of a store. Times, bytes and messages; y where it is verified."""
    facts = dict(ps.dist.calibrate(comm, probe_seconds))
    made, results = {}, {}
    for name in names:
        D = ps.dist.csr_array(source, comm, halo="auto", **LAYOUTS[name])
        x = D.share(vector(D.shape[1]))
        y = np.zeros(D.local_shape[0])
        made[name] = (D, x, y)
        D.dot(x, out=y)  # makes the exchanges
        t = D.halo
        sent = comm.all_gather(np.array([t["sent_bytes"], t["messages"]], np.int64))
        results[name] = {
            "halo": t["strategy"], "nnz": [int(n) for n in comm.all_gather(np.array([D.local_nnz]))[:, 0]],
            "sent_bytes": int(sent[:, 0].sum()), "messages": int(sent[:, 1].sum()),
            "seconds": [], "compute": [],
        }  # fmt: skip
    for done in range(0, turns, _TOGETHER):
        for name, (D, x, y) in made.items():
            for _ in range(_TOGETHER):
                D.dot(x, out=y)
            for _ in range(min(_TOGETHER, turns - done)):
                seconds, compute = _turn(comm, D, x, y)
                results[name]["seconds"].append(seconds)
                results[name]["compute"].append(min(compute, seconds))
    for name, (D, _, y) in made.items():
        whole = D.collect(y, root=0)
        if whole is not None:
            results[name]["error"] = _error(source, whole)
    return {"network": facts, "results": results, "ranks": comm.size, "comm": comm.name}


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    comm = ps.dist.world()
    done = work(comm, job["store"], job["turns"], job["layouts"], job["probe_seconds"])
    if comm.rank == 0:
        Path(sys.argv[2]).write_text(json.dumps(done))


if __name__ == "__main__":
    main()
