"""Products and searches whose arrays are on the GPU, as users of CuPy and PyTorch call them.

python bench/device_arrays.py                            # bench/results/device_arrays.json
python bench/device_arrays.py --matrices cnr-2000.mtx.gz,xenon1.mtx.gz
python bench/device_arrays.py --matrices "" --data FOLDER  # every *.mtx, *.npz and *.penstock there
python bench/device_arrays.py --quick                    # toy inputs

`call`: the host's time of a product of a tiny matrix, 100 in a row, without the wait at the end. `product`: 20 in a row
and the wait, for each matrix. `search`: from the call to the result on the GPU; `search alone` is the part that the
library's own clock gives the search. Rivals are CuPy's `A @ x`, its cuSPARSE call that writes to a given y, and
PyTorch's `A @ x`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import gpu_cases, harness, matrices_gpu
from lib.report import show_table

import penstock as ps

CALLS, PRODUCTS = 100, 20
GRAPH, TOY_GRAPH = 22, 10  # scales of R-MAT


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dtypes", default="float64,float32")


class Side:
    """One library's arrays of one product, and its ways to compute it."""

    def __init__(self, xp: Any, a: ps.csr_array, x: np.ndarray, gpu: int) -> None:
        self.a = a.to(ps.device(gpu))
        self.torch = xp.__name__ == "torch"
        self.name = "PyTorch" if self.torch else "CuPy"
        self.x = xp.asarray(x, device=f"cuda:{gpu}") if self.torch else xp.asarray(x)
        self.y = xp.zeros_like(self.x[:1]).repeat(a.shape[0])
        self.theirs = self.a.to_torch() if self.torch else self.a.to_cupy()
        self.wait: Callable[[], None] = (
            xp.cuda.synchronize if self.torch else xp.cuda.get_current_stream().synchronize
        )

    def ways(self) -> list[tuple[str, str, Callable[[], Any]]]:
        def out() -> Any:
            return self.a.dot(self.x, out=self.y)

        found = [
            (f"penstock out={self.name}", "ours", out),
            (f"penstock {self.name}", "ours", lambda: self.a @ self.x),
            (self.name, "rival", lambda: self.theirs @ self.x),
        ]
        if not self.torch:
            from cupyx import cusparse

            found.append(
                ("cuSPARSE y=", "rival", lambda: cusparse.spmv(self.theirs, self.x, y=self.y))
            )
        return found


def contestants(sides: list[Side], times: int, waits: bool) -> list[harness.Contestant]:
    """Each way `times` in a row; the wait at the end counts where `waits`."""
    found = []
    for side in sides:
        for name, role, run in side.ways():

            def seconds(run: Any = run, side: Side = side) -> float:
                for _ in range(3):
                    run()
                side.wait()
                begin = time.perf_counter()
                for _ in range(times):
                    run()
                if waits:
                    side.wait()
                spent = time.perf_counter() - begin
                side.wait()
                return spent / times

            def result(y: Any, side: Side = side) -> np.ndarray:
                side.wait()
                return np.asarray(y.cpu() if side.torch else y.get())

            found.append(harness.Contestant(name, run, role=role, result=result, timed=seconds))
    return found


def libraries() -> list[Any]:
    found = []
    for name in ("cupy", "torch"):
        try:
            found.append(__import__(name))
        except ImportError:
            continue
    if not found:
        raise SystemExit("neither CuPy nor PyTorch can be imported: pip install cupy-cuda13x")
    return found


def product_case(
    kind: str, name: str, matrix: ps.csr_array, dtype: str, args: Any
) -> tuple[harness.Case, list[harness.Contestant]]:
    core = matrices_gpu.as_core(matrix, dtype)
    a = ps.csr_array._wrap(core).sorted_indices()
    x = np.random.default_rng(7).standard_normal(a.shape[1]).astype(dtype)
    traffic = a.nbytes + sum(a.shape) * x.itemsize
    about = {"kind": kind, "matrix": name, "dtype": dtype, "rows": a.shape[0], "nnz": a.nnz}
    case = harness.Case(
        f"{kind} {name} {dtype}",
        check=matrices_gpu.product_check(core, x),
        work=2.0 * a.nnz,
        traffic=traffic if kind == "product" else 0.0,
        about=about,
    )
    sides = [Side(xp, a, x, args.gpu) for xp in libraries()]
    many = CALLS if kind == "call" else PRODUCTS
    return case, contestants(sides, many, waits=kind == "product")


def search_cases(scale: int, args: Any) -> Any:
    """Whole calls with out= on the GPU, beside the search's own time."""
    xp = libraries()[0]
    pattern = ps.generate.rmat(scale, seed=1)
    rng = np.random.default_rng(1)
    weighted = ps.csr_array(
        (rng.integers(8, 72, pattern.nnz).astype(np.float32), pattern.indices, pattern.indptr),
        shape=pattern.shape,
    )
    n, source, gpu = pattern.shape[0], int(np.argmax(np.diff(pattern.indptr))), args.gpu
    g, w = pattern.to(ps.device(gpu)), weighted.to(ps.device(gpu))

    def empty(dtype: str) -> Any:
        make = xp.empty(n, dtype=getattr(xp, dtype))
        return make.cuda(gpu) if xp.__name__ == "torch" else make

    levels, labels, distances = map(empty, ("int32", "int32", "float32"))
    ours = "penstock out=" + ("PyTorch" if xp.__name__ == "torch" else "CuPy")
    calls: dict[str, Callable[[], Any]] = {
        "bfs": lambda: ps.csgraph.bfs(g, source, out=levels, device=gpu),
        "components": lambda: ps.csgraph.connected_components(g, out=labels, device=gpu),
        "sssp": lambda: ps.csgraph.sssp(w, source, out=distances, device=gpu),
    }
    for name, call in calls.items():

        def alone(call: Callable[[], Any] = call) -> float:
            with ps.record() as events:
                call()
            return float(sum(e["seconds"] for e in events))

        def whole(call: Callable[[], Any] = call) -> float:
            begin = time.perf_counter()
            call()
            return time.perf_counter() - begin

        case = harness.Case(
            f"search {name} rmat{scale}",
            check=lambda _: 0.0,  # tests/gpu/arrays checks the results
            about={"kind": "search", "matrix": f"rmat{scale}", "nnz": pattern.nnz},
        )
        yield (
            case,
            [
                harness.Contestant(ours, call, role="ours", timed=whole),
                harness.Contestant("search alone", call, role="probe", timed=alone),
            ],
        )


def main() -> int:
    args = gpu_cases.parse(__doc__, configure)
    report, settings = gpu_cases.start("device_arrays", args)
    rows = []

    def measure(case: harness.Case, who: list[harness.Contestant]) -> None:
        entry = harness.measure(case, who, settings)
        report.add(entry)
        shown = {
            n: f"{1e6 * r['median']:.1f}" for n, r in entry["results"].items() if "median" in r
        }
        print(entry["case"], shown, flush=True)
        ours = next(n for n in entry["results"] if n.startswith("penstock out="))
        best = entry["best_rival"] or "search alone"
        ratio = entry["ratios"].get(ours)
        rows.append(
            [entry["case"], shown.get(ours, "-"), shown.get(best, "-"), best]
            + ["-" if ratio is None else f"{ratio:.2f}"]
        )

    tiny = ps.generate.uniform(100, nnz_per_row=5, seed=4)
    measure(*product_case("call", "uniform100", tiny, "float64", args))
    for name, matrix in matrices_gpu.select(args.matrices, args.data, report.skip):
        for dtype in args.dtypes.split(","):
            measure(*product_case("product", name, matrix, dtype, args))
    for case, who in search_cases(TOY_GRAPH if args.quick else GRAPH, args):
        measure(case, who)
    report.write()
    header = ["case", "ours us", "best rival us", "who", "ratio"]
    show_table("Arrays on the GPU: medians; ratio = best rival's time / ours", header, rows)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
