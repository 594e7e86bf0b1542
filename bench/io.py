"""Input and output: Matrix Market and edge lists against other readers, the store, writing, and
`import penstock`.

    python bench/io.py              # files of 110 and 85 MB, a store of 1 GB: bench/results/io.json
    python bench/io.py --quick      # toy files

The inputs are generated into a temporary folder (about 3 GB there at the most) and read from the
page cache. GB/s count the bytes of the file, and of the matrix in memory where it is written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from lib import harness
from lib.harness import Case, Contestant
from lib.matrices import data_folder
from lib.report import Report, add_options, show_table
from rivals import io

PARTS = ("matrix_market", "edges", "store", "write", "import")


def random_matrix(n: int, nnz: int) -> sp.csr_array:
    """n x n, nnz positions drawn uniformly (less the duplicates), random float64 values."""
    rng = np.random.default_rng(5)
    key = np.unique(rng.integers(0, n * n, nnz))
    row, col = np.divmod(key, n)
    return sp.coo_array(
        (rng.standard_normal(key.size), (row.astype(np.int32), col.astype(np.int32))), (n, n)
    ).tocsr()


def same_csr(expected: sp.csr_array, pattern: bool = False) -> Callable[[Any], float]:
    """A check that takes a csr_array of ours or any SciPy matrix; values must be the same to the
    last bit."""

    def check(got: Any) -> float:
        csr = got.to_scipy() if hasattr(got, "to_scipy") else sp.csr_array(got)
        csr.sort_indices()
        same = (
            csr.shape == expected.shape
            and np.array_equal(csr.indptr, expected.indptr)
            and np.array_equal(csr.indices, expected.indices)
            and (pattern or np.array_equal(csr.data, expected.data))
        )
        return 0.0 if same else np.inf

    return check


def _readers(
    makers: dict[str, Any], path: Path, report: Report, check: Any = None
) -> list[Contestant]:
    """`check` is for networkit, which returns a graph and not the matrix."""
    out = []
    for name, make in makers.items():
        try:
            read = make()
        except ImportError as e:
            if name == "penstock":  # only a rival may be absent
                raise
            report.skip(name, str(e))
            continue
        role = "ours" if name == "penstock" else "rival"
        own = check if name == "networkit" else None
        out.append(Contestant(name, lambda read=read: read(path), role, check=own))
    return out


def matrix_market(
    folder: Path, quick: bool, report: Report
) -> Iterator[tuple[Case, list[Contestant]]]:
    csr = random_matrix(*((300, 5_000) if quick else (400_000, 3_300_000)))
    path = folder / "real.mtx"
    scipy.io.mmwrite(path, csr)
    size = path.stat().st_size
    about = {"rows": csr.shape[0], "nnz": int(csr.nnz), "bytes": size}
    case = Case("Matrix Market, real general", same_csr(csr), traffic=size, about=about)

    def right_graph(graph: Any) -> float:
        return (
            0.0
            if (graph.numberOfNodes(), graph.numberOfEdges()) == (csr.shape[0], csr.nnz)
            else np.inf
        )

    yield case, _readers(io.MATRIX_MARKET, path, report, right_graph)


def write_edges(path: Path, n: int, nnz: int) -> None:
    """A SNAP file: comments, then two ids with a tab between them, from 1."""
    graph = random_matrix(n, nnz).tocoo()
    pattern = path.with_suffix(".mtx")
    scipy.io.mmwrite(pattern, graph, field="pattern")
    lines = pattern.read_bytes().split(b"\n", 1)[1]
    while lines.startswith(b"%"):
        lines = lines.split(b"\n", 1)[1]
    body = lines.split(b"\n", 1)[1].translate(bytes.maketrans(b" ", b"\t"))
    path.write_bytes(
        f"# Directed graph\n# Nodes: {n} Edges: {graph.nnz}\n# From\tTo\n".encode() + body
    )
    pattern.unlink()


def edges(folder: Path, quick: bool, report: Report) -> Iterator[tuple[Case, list[Contestant]]]:
    generated = folder / "edges.txt"
    write_edges(generated, *((300, 4_000) if quick else (500_000, 6_200_000)))
    files = [generated]
    real = data_folder() / "web-NotreDame.txt.gz"
    if not quick and real.is_file():
        files.append(folder / "web-NotreDame.txt")
        subprocess.run(["gzip", "-dc", real], stdout=files[-1].open("wb"), check=True)
    elif not quick:
        report.skip("web-NotreDame", "not in the data folder; set PENSTOCK_DATA")
    for path in files:
        expected = np.loadtxt(path, dtype=np.int64, comments="#", delimiter="\t")
        count, total, size = expected.shape[0], int(expected.sum()), path.stat().st_size

        def check(read: Any, want: tuple[int, int] = (count, total)) -> float:
            return 0.0 if io.count_and_sum(read) == want else np.inf

        about = {"nnz": count, "bytes": size}
        case = Case(f"edge list, {path.stem}", check, traffic=size, about=about)
        yield case, _readers(io.EDGE_LIST, path, report)


def store(folder: Path, quick: bool, report: Report) -> Iterator[tuple[Case, list[Contestant]]]:
    import penstock as ps

    rows, width = (1_000 if quick else 5_600_000), 16
    indptr = np.arange(rows + 1, dtype=np.int64) * width
    first = np.arange(rows, dtype=np.int32)[:, None] % (rows - width)
    indices = (first + np.arange(width, dtype=np.int32)).ravel()
    values = np.linspace(0.0, 1.0, indices.size)
    path = folder / "big.penstock"
    ps.csr_array._from_parts(rows, rows, indptr, indices, values).save(path)
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    arrays = sorted(path.rglob("*.npy"))

    def check(got: Any) -> float:
        last = slice((rows - 1) * width, rows * width)
        same = got.shape == (rows, rows) and np.array_equal(got.indptr, indptr)
        same = (
            same
            and np.array_equal(got.indices[last], indices[last])
            and np.array_equal(got.data[last], values[last])
        )
        return 0.0 if same else np.inf

    def all_mapped(maps: list[np.ndarray]) -> float:
        return 0.0 if len(maps) == len(arrays) >= 3 else np.inf

    def map_all() -> list[np.ndarray]:
        return [np.load(f, mmap_mode="r") for f in arrays]

    bare = Contestant("numpy_memmap", map_all, "probe", check=all_mapped)
    everybody = [Contestant("penstock", lambda: ps.open(path), "ours"), bare]
    yield Case("open a store", check, about={"nnz": int(indices.size), "bytes": size}), everybody
    shutil.rmtree(path)


def _writer(
    name: str, role: str, path: Path, write: Callable[[], Any], read: Callable[[], Any]
) -> Contestant:
    def remove() -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    return Contestant(name, write, role, before=remove, result=lambda _: read())


def write(folder: Path, quick: bool, report: Report) -> Iterator[tuple[Case, list[Contestant]]]:
    import penstock as ps

    csr = random_matrix(*((300, 5_000) if quick else (400_000, 3_300_000)))
    a = ps.csr_array(csr)
    mine, theirs, native, npz = (
        folder / f for f in ("ours.mtx", "scipy.mtx", "ours.penstock", "scipy.npz")
    )
    about = {"nnz": int(csr.nnz), "bytes": a.nbytes}
    text = [
        _writer("penstock", "ours", mine, lambda: a.save(mine), lambda: scipy.io.mmread(mine)),
        _writer(
            "scipy",
            "rival",
            theirs,
            lambda: scipy.io.mmwrite(theirs, csr),
            lambda: scipy.io.mmread(theirs),
        ),
    ]
    yield Case("write Matrix Market", same_csr(csr), traffic=a.nbytes, about=about), text
    binary = [
        _writer("penstock", "ours", native, lambda: a.save(native), lambda: ps.open(native)),
        _writer(
            "scipy_npz",
            "rival",
            npz,
            lambda: sp.save_npz(npz, csr, compressed=False),
            lambda: sp.load_npz(npz),
        ),
    ]
    yield Case("write a store", same_csr(csr), traffic=a.nbytes, about=about), binary


def importing(folder: Path, quick: bool, report: Report) -> Iterator[tuple[Case, list[Contestant]]]:
    def start(code: str) -> Callable[[], int]:
        return lambda: (
            subprocess.run([sys.executable, "-c", code], check=True, timeout=60).returncode
        )

    everybody = [
        Contestant("penstock", start("import penstock"), "ours"),
        Contestant("python_alone", start("pass"), "probe"),
        Contestant("numpy", start("import numpy"), "probe"),
    ]
    yield Case("import penstock", lambda code: float(code != 0)), everybody


MAKERS = dict(zip(PARTS, (matrix_market, edges, store, write, importing), strict=True))


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        for name, r in case["results"].items():
            if "median" not in r:
                rows.append([case["case"], name, r["status"], "-", "-", "-"])
                continue
            rate = f"{r['gb_per_s'] * 1e3:.0f}" if "gb_per_s" in r else "-"
            ratio = (
                f"{case['ratios'][name]:.2f} ({case['best_rival']})"
                if name in case["ratios"]
                else "-"
            )
            rows.append(
                [case["case"], name, f"{r['median'] * 1e3:.2f}", f"{r['spread']:.0%}", rate, ratio]
            )
    header = ["case", "who", "ms", "spread", "MB/s", "ratio (best rival)"]
    show_table("Input and output; ratio = best rival's time / ours", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--temporary", type=Path, help="folder for the inputs (the system's)")
    add_options(parser, turn_seconds=0.02)
    args = parser.parse_args()
    parts = args.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    threads = args.threads or len(os.sched_getaffinity(0))
    os.environ["POLARS_MAX_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
    import penstock as ps

    ps.set_num_threads(threads)
    try:
        settings = harness.Settings(
            args.repeats, 0.0 if args.quick else args.turn_seconds, warm_turns=False
        )
    except ValueError as e:
        parser.error(str(e))
    report = Report("io", args, vars(settings), threads)
    for part in parts:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=args.temporary) as folder:
            for case, everybody in MAKERS[part](Path(folder), args.quick, report):
                report.add(harness.measure(case, everybody, settings))
    report.write()
    table(report)
    return 1 if report.failed() else 0


if __name__ == "__main__":
    raise SystemExit(main())
