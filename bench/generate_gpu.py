"""R-MAT graphs made on a GPU, against the CPU's at small scales: seconds and edges a second.

python bench/generate_gpu.py                        # bench/results/generate_gpu.json
python bench/generate_gpu.py --scales 24,26,27 --cpu-scale 0 --gpu 1
python bench/generate_gpu.py --quick                # toy graphs: tests that it runs

Edges are those drawn, both directions, before duplicates are merged. `gpu` may take what is free,
`gpu_tight` (from scale 18) three times the graph, so that it makes several passes (`passes`, `peak_bytes`). Up to
`--cpu-scale` the graph is compared with the CPU's bit for bit; above, products with whole numbers
say whether it is symmetric and whole.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from lib import harness
from lib.report import Report, add_options, show_table

from penstock import _core

TIGHT = 3  # times the graph
TIGHT_SCALE = 18  # from which the sort's own scratch memory is small beside it


def options(scale: int, args: argparse.Namespace) -> dict[str, Any]:
    return {
        "scale": scale, "edge_factor": args.edge_factor, "a": 0.57, "b": 0.19, "c": 0.19,
        "undirected": True, "self_loops": False, "scramble": True, "dtype": "bool", "seed": 1,
    }  # fmt: skip


def same_as_cpu(how: dict[str, Any]) -> Any:
    expected = _core.generate_rmat(**how)

    def check(matrix: Any) -> float:
        here = _core.to_place(matrix, "host")
        same = np.array_equal(here.indptr, expected.indptr) and np.array_equal(
            here.indices, expected.indices
        )
        return 0.0 if same else np.inf

    return check


def symmetric_and_whole(nnz: int, gpu: int) -> Any:
    """A 1 adds up to the nonzeros, and x A z = z A x for whole numbers, whose sums are exact."""

    def check(matrix: Any) -> float:
        rng = np.random.default_rng(3)
        x, z = (rng.integers(0, 9, matrix.shape[0]).astype(np.float64) for _ in range(2))
        one, ax, az = (
            _core.time_spmv_gpu(matrix, v, repeats=1, gpu=gpu)[1] for v in (np.ones_like(x), x, z)
        )
        right = matrix.nnz == nnz == int(one.sum()) and z @ ax == x @ az
        return 0.0 if right else np.inf

    return check


def contestants(
    how: dict[str, Any], args: argparse.Namespace, tight: int, took: dict[str, Any]
) -> list[harness.Contestant]:
    def on_gpu(name: str, memory: int) -> harness.Contestant:
        def run() -> Any:
            matrix, took[name] = _core.generate_rmat_gpu(**how, gpu=args.gpu, memory=memory)
            return matrix

        return harness.Contestant(name, run, "ours")

    everybody = [on_gpu("gpu", 0)]
    if how["scale"] >= TIGHT_SCALE:
        everybody.append(on_gpu("gpu_tight", tight))
    if how["scale"] <= args.cpu_scale:
        everybody.append(harness.Contestant("cpu", lambda: _core.generate_rmat(**how)))
    return everybody


def run_case(
    scale: int, args: argparse.Namespace, settings: harness.Settings, report: Report
) -> None:
    how = options(scale, args)
    first, _ = _core.generate_rmat_gpu(**how, gpu=args.gpu)
    nnz, nbytes = first.nnz, first.nbytes
    del first
    small = scale <= args.cpu_scale
    case = harness.Case(
        f"rmat{scale}",
        same_as_cpu(how) if small else symmetric_and_whole(nnz, args.gpu),
        work=2.0 * int(args.edge_factor * 2**scale),
        rate="gedges_per_s",
        about={"scale": scale, "rows": 2**scale, "nnz": nnz, "bytes": nbytes},
    )
    took: dict[str, Any] = {}
    entry = harness.measure(case, contestants(how, args, TIGHT * nbytes, took), settings)
    for name, passes in took.items():
        entry["results"][name] |= passes
    report.add(entry)


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        for name, r in case["results"].items():
            if "median" not in r:
                rows.append([case["case"], name, r["status"], "-", "-", "-", "-"])
                continue
            peak = f"{r['peak_bytes'] / 1e9:.2f}" if "peak_bytes" in r else "-"
            ratio = f"{case['ratios'][name]:.1f}" if name in case["ratios"] else "-"
            rows.append(
                [case["case"], name, f"{r['median'] * 1e3:.1f}", f"{r['gedges_per_s']:.2f}",
                 str(r.get("passes", "-")), peak, ratio]
            )  # fmt: skip
    header = ["graph", "who", "ms", "G edges/s", "passes", "peak GB", "times the CPU"]
    show_table("R-MAT graphs, edge factor as given, undirected", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scales", default="20,21,22,23,24,25,26,27")
    parser.add_argument("--edge-factor", type=float, default=16)
    parser.add_argument("--cpu-scale", type=int, default=22, help="up to which the CPU takes part")
    parser.add_argument("--gpu", type=int, default=0)
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    scales = ["8", "10"] if args.quick else args.scales.split(",")
    if wrong := [s for s in scales if not s.isdigit() or not 1 <= int(s) <= 30]:
        parser.error(f"--scales {wrong[0]!r}: give whole numbers from 1 to 30")
    try:
        settings = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False)
    except ValueError as e:
        parser.error(str(e))
    if args.gpu not in range(_core.device_count()):
        raise SystemExit(
            f"GPU {args.gpu} cannot be used here: penstock.show_config() and nvidia-smi may tell why"
        )
    threads = args.threads or len(os.sched_getaffinity(0))
    _core.set_num_threads(threads)
    report = Report("generate_gpu", args, vars(settings), threads)
    for scale in map(int, scales):
        try:
            run_case(scale, args, settings, report)
        except MemoryError as e:
            report.skip(f"rmat{scale}", str(e))
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
