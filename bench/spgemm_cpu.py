"""SpGEMM on the CPU: C = A A, penstock against SciPy, MKL (as it comes, and ordered) and SuiteSparse:GraphBLAS.

    python bench/spgemm_cpu.py               # everything: bench/results/spgemm_cpu.json
    python bench/spgemm_cpu.py --matrices rmat16,cnr-2000 --dtypes float32 --out some.json
    python bench/spgemm_cpu.py --quick       # toy inputs

Our columns ascend in every row; SciPy's and plain MKL's do not, which is less work: ratios are to the fastest whatever
its order, and `ratio_ordered` to the fastest of those that order.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from penstock._check.spgemm import verify_spgemm
from rivals.spgemm import MAKERS, Problem

LARGE = 300_000_000  # products: above, everybody gets few turns
DATA = [
    "cnr-2000", "soc-Slashdot0902", "web-NotreDame", "road-moscow", "luxembourg_osm", "bcsstk32",
    "t2dah_e", "G2_circuit", "xenon1", "trilinos-cage10", "mdual", "wiki-Vote",
]  # fmt: skip


def _make(name: str) -> Any:
    from penstock import generate

    makers = {
        "rmat16": lambda: generate.rmat(16, edge_factor=16, undirected=True, seed=1),
        "rmat14": lambda: generate.rmat(14, edge_factor=16, undirected=True, seed=1),
        "laplacian1000x2": lambda: generate.laplacian((1000, 1000)),
        "laplacian100x3": lambda: generate.laplacian((100, 100, 100)),
        "uniform200k": lambda: generate.uniform(200_000, nnz_per_row=16, seed=2),
        "uniform1M": lambda: generate.uniform(1_000_000, nnz_per_row=6, seed=2),
        "rmat8": lambda: generate.rmat(8, edge_factor=8, undirected=True, seed=1),
        "laplacian12x3": lambda: generate.laplacian((12, 12, 12)),
    }
    return makers[name]() if name in makers else None


GENERATED = ["rmat16", "rmat14", "laplacian1000x2", "laplacian100x3", "uniform200k", "uniform1M"]
TOY = ["rmat8", "laplacian12x3"]


def tidy(csr: Any) -> Any:
    """Sorted, without duplicates, int32 offsets: what every contestant takes without a conversion."""
    csr = sp.csr_array((csr.data, csr.indices.copy(), csr.indptr.astype(np.int32)), shape=csr.shape)
    csr.sum_duplicates()
    return csr


def select(names: str, quick: bool, report: Report) -> Any:
    """(name, SciPy CSR array) for names, "generated", "data" and "all"."""
    made, files = (TOY if quick else GENERATED), ([] if quick else DATA)
    groups = {"generated": made, "data": files, "all": [*made, *files]}
    wanted = [one for name in names.split(",") for one in groups.get(name, [name])]
    known = matrices.data_files()
    for name in wanted:
        a = _make(name)
        if a is not None:
            yield name, tidy(matrices.with_values(a))
        elif name in known or os.path.exists(name):
            for label, csr in matrices.select(name, quick=True, skip=report.skip):
                yield label, tidy(csr)
        else:
            report.skip(name, "not in the data folder; set PENSTOCK_DATA")


def spgemm_check(csr: Any) -> Any:
    """C x = A (B x), and rows one by one, with the library's independent check; columns are put in order first. Where a
    row's columns differ, as SciPy's do that drops sums of 0, rows are compared as dense ones."""

    def check(c: Any) -> float:
        if c.dtype != csr.dtype:
            raise ValueError(f"the result is {c.dtype}, not {csr.dtype}")
        c = c.to_scipy() if hasattr(c, "to_scipy") else sp.csr_array(c, copy=True)
        if not c.has_sorted_indices:
            c = c.sorted_indices()
        found = verify_spgemm(csr, csr, c)
        if not found.ok and "other columns" not in found.problem:
            raise ValueError(found.problem)
        if not found.ok:  # structure may differ where sums are 0: the dense rows must not
            return _dense_rows(csr, c)
        return found.error

    return check


def _dense_rows(csr: Any, c: Any, samples: int = 32) -> float:
    wide = csr.astype(np.float64)
    rows = np.random.default_rng(1).choice(csr.shape[0], min(samples, csr.shape[0]), replace=False)
    part = wide[rows]
    want, scale = (part @ wide).toarray(), (abs(part) @ abs(wide)).toarray()
    terms = np.diff(part.indptr)[:, None]
    off = np.abs(c[rows].toarray() - want)
    limit = 2 * (terms + 2) * np.finfo(csr.dtype).eps * scale
    with np.errstate(all="ignore"):
        return float(np.max(np.where(off == 0, 0, off / limit), initial=0.0))


PEAK = """
import json, sys
import scipy.sparse as sp, penstock as ps

def kilobytes(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))

ps.set_num_threads(int(sys.argv[2]))
a = ps.csr_array(sp.load_npz(sys.argv[1]))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = kilobytes("VmRSS")
c = a @ a
after = kilobytes("VmHWM")
print(json.dumps({"inputs": a.nbytes, "output": c.nbytes, "grown": 1024 * (after - before)}))
"""


def peak(csr: Any, threads: int, folder: str) -> dict[str, Any]:
    """Of ours in a process of its own: what the product added to the resident set at its peak, and (inputs + that) /
    (inputs + output)."""
    path = os.path.join(folder, "a.npz")
    sp.save_npz(path, csr, compressed=False)
    command = [sys.executable, "-c", PEAK, path, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    os.unlink(path)
    found = json.loads(done.stdout)
    ratio = (found["inputs"] + found["grown"]) / (found["inputs"] + found["output"])
    return {**found, "ratio": ratio}


def run_case(
    name: str, csr: Any, who: list[str], threads: int, settings: harness.Settings, report: Report
) -> None:
    import tempfile

    products = int(np.diff(csr.indptr)[csr.indices].astype(np.int64).sum())
    problem = Problem(csr, threads, products)
    contestants = []
    for key in (key for key in MAKERS if key in who):
        try:
            contestants.append(MAKERS[key](problem))
        except ImportError as e:
            if key == "penstock":
                raise
            report.skip(key, str(e))
    if products > LARGE:
        settings = harness.Settings(min(settings.repeats, 3), 0.0, warm_turns=False)
    with tempfile.TemporaryDirectory() as folder:
        memory = peak(csr, threads, folder)
    case = harness.Case(
        name=f"{name} {csr.dtype} A A",
        check=spgemm_check(csr),
        work=2.0 * products,
        traffic=0,
        about={"matrix": name, "dtype": str(csr.dtype), "rows": csr.shape[0],
               "cols": csr.shape[1], "nnz": int(csr.nnz), "products": products,
               "peak": memory},
    )  # fmt: skip
    entry = harness.measure(case, contestants, settings)
    for other in contestants:
        other.before()
    results = entry["results"]
    sorts = [r for r in results.values() if r["role"] == "rival" and r["order"] == "ascending"]
    sorts = [r["median"] for r in sorts if r["status"] == "ok"]
    if sorts and results.get("penstock", {}).get("status") == "ok":
        entry["ratio_ordered"] = min(sorts) / results["penstock"]["median"]
    report.add(entry)
    cells = [f"{k} {r['median'] * 1e3:.1f} ms" for k, r in results.items() if "median" in r]
    print(f"{entry['case']}: " + ", ".join(cells), flush=True)


def table(report: Report) -> None:
    header = ["case", "products", "ours, ms", "best rival, ms", "who", "ratio", "of minima",
              "to ordered", "peak"]  # fmt: skip
    rows, ratios = [], []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        ours = results.get("penstock", {})
        ratio = case["ratios"].get("penstock")
        ratios += [ratio] if ratio else []
        rows.append([
            case["case"],
            f"{case['products'] / 1e6:.1f} M",
            f"{ours['median'] * 1e3:.1f}" if "median" in ours else "-",
            f"{results[best]['median'] * 1e3:.1f}" if best else "-",
            best or "-",
            f"{ratio:.2f}" if ratio else "-",
            f"{case['ratios_of_minima']['penstock']:.2f}" if ratio else "-",
            f"{case['ratio_ordered']:.2f}" if "ratio_ordered" in case else "-",
            f"{case['peak']['ratio']:.2f}",
        ])  # fmt: skip
    show_table("SpGEMM: ratio = best rival's time / ours; peak = (inputs + growth) / (inputs + C)",
               header, rows)  # fmt: skip
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean of {len(ratios)} ratios {mean:.2f}, smallest {min(ratios):.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", default="all", help='names, "generated", "data" or "all"')
    parser.add_argument("--dtypes", default="float64")
    parser.add_argument("--contestants", default=",".join(MAKERS))
    add_options(parser, turn_seconds=0.05)
    args = parser.parse_args()
    who, dtypes = args.contestants.split(","), args.dtypes.split(",")
    for given, known in ((who, MAKERS), (dtypes, ("float32", "float64"))):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    threads = args.threads or len(os.sched_getaffinity(0))
    try:
        settings = harness.Settings(args.repeats, 0.0 if args.quick else args.turn_seconds)
    except ValueError as e:
        parser.error(str(e))
    report = Report("spgemm_cpu", args, vars(settings), threads)
    for name, csr in select(args.matrices, args.quick, report):
        for dtype in dtypes:
            run_case(name, csr.astype(dtype), who, threads, settings, report)
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
