"""Samples and walks on the CPU, or on a GPU: penstock against igraph, and where they are installed against PyTorch
Geometric (samples and loaders; it needs pyg-lib or torch-sparse) and pecanpy (node2vec).

python bench/sample.py                          # everything: bench/results/sample.json
python bench/sample.py --graphs rmat18 --out some.json
python bench/sample.py --quick                  # toy inputs
python bench/sample.py --gpu 0 --turn-seconds 0.1 --out bench/results/sampling/sample_gpu.json
python bench/sample.py --gpu 0 --scale 24 --gib 16 --cases rows,walks

Times are of one step (of walks) or one edge (of samples); rivals walk from a part of the vertices. Building a library's
own graph is not timed. pecanpy is SparseOTF, which has no tables; its walks are timed without the strings that it makes
of them. igraph needs a call a walk, which on large graphs costs more than the walk. Every step of ours is looked up in
the graph. A loader makes mini-batches of 1024 seeds, or of 1024 edges, in this process, without features: the
sampler beneath it is ours, or its own.

With --gpu, which needs PyTorch: an R-MAT graph in the GPU's memory and in pinned memory, and rows of features, also
through a cache (studies/sampling/gpu_cases.py says more).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from lib import graphs, harness
from lib.graph_checks import are_edges
from lib.report import Report, add_options, show_table
from rivals import pyg

import penstock as ps

SEEDS, LINKS = 8192, 4096
LENGTH = 80
SHARE = 2000  # vertices from which slow rivals walk
CHOICES = ((0.5, 2.0), (4.0, 0.25))  # p and q of node2vec


def some(a: ps.csr_array, k: int) -> np.ndarray:
    """k vertices, or all."""
    chosen: np.ndarray = np.random.default_rng(1).permutation(a.shape[0])[:k]
    return chosen


def ours(run: Callable[[], Any], check: Callable[[Any], float], count: int) -> harness.Contestant:
    return harness.Contestant("penstock", run, "ours", check=check, units=count)


def rival(name: str, run: Callable[[], int]) -> harness.Contestant:
    """`run` returns how many steps it made, which another call may exceed or miss by a few."""
    return harness.Contestant(name, run, check=lambda n: 0.0 if n > 0 else np.inf, units=run())


def samples(a: ps.csr_array, weighted: bool = False) -> harness.Contestant:
    seeds = some(a, SEEDS)
    if weighted:
        weights = 1 - np.random.default_rng(2).random(a.nnz)
        a = ps.csr_array((weights, a.indices, a.indptr), shape=a.shape)

    def check(s: Any) -> float:
        return are_edges(a, s.vertices[s.rows], s.vertices[s.columns])

    def run() -> Any:
        return ps.sample.neighbors(a, seeds, pyg.FANOUTS, weighted=weighted)

    return ours(run, check, run().edges.size)


def walks(a: ps.csr_array, **how: Any) -> harness.Contestant:
    def run() -> np.ndarray:
        made: np.ndarray = ps.sample.random_walks(a, None, LENGTH, **how)
        return made

    def check(w: np.ndarray) -> float:
        step = w[:, 1:] >= 0
        return are_edges(a, w[:, :-1][step].astype(np.int64), w[:, 1:][step])

    return ours(run, check, int((run()[:, 1:] >= 0).sum()))


def igraph_walks(a: ps.csr_array) -> harness.Contestant:
    import igraph

    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    g = igraph.Graph(n=a.shape[0], edges=np.stack([row, a.indices], axis=1), directed=True)
    starts = some(a, SHARE).tolist()
    return rival(
        "igraph", lambda: sum(len(g.random_walk(s, LENGTH, stuck="return")) - 1 for s in starts)
    )


def pecanpy_walks(a: ps.csr_array, p: float, q: float) -> harness.Contestant:
    from numba_progress import ProgressBar
    from pecanpy.pecanpy import SparseOTF

    g = SparseOTF(p=p, q=q, workers=ps.num_threads(), verbose=False, random_state=1)
    g.indptr, g.indices = a.indptr.astype(np.uint32), a.indices.astype(np.uint32)
    g.data = np.ones(a.nnz, np.float32)
    starts = some(a, SHARE).astype(np.uint32)
    moves, has = g.get_move_forward(), g.get_has_nbrs()

    def run() -> int:
        with ProgressBar(total=starts.size, disable=True) as bar:
            made = g._random_walks(starts.size, LENGTH, 1, starts, has, moves, bar)
        return int(made[:, -1].sum() - starts.size)

    return rival("pecanpy", run)


Make = Callable[[], harness.Contestant]


class Loaders:
    """What PyTorch Geometric does with a graph, which is made at the first use, and kept."""

    def __init__(self, a: ps.csr_array) -> None:
        self._a = a

    @cached_property
    def _graph(self) -> pyg.Graph:
        return pyg.Graph(self._a)

    def samples(self) -> harness.Contestant:
        return self._graph.samples(some(self._a, SEEDS))

    def nodes(self, name: str) -> harness.Contestant:
        return self._graph.nodes(name, some(self._a, SEEDS))

    def links(self, name: str) -> harness.Contestant:
        return self._graph.links(name, np.random.default_rng(3).permutation(self._a.nnz)[:LINKS])


def cases(a: ps.csr_array) -> dict[str, tuple[Make, Make | None]]:
    """Penstock and its rival, by what is drawn."""
    loaders = Loaders(a)
    found: dict[str, tuple[Make, Make | None]] = {
        "neighbors 10, 10": (partial(samples, a), loaders.samples),
        "neighbors 10, 10, weighted": (partial(samples, a, weighted=True), None),
        "uniform walks": (partial(walks, a), partial(igraph_walks, a)),
    }
    for what, make in (("NodeLoader", loaders.nodes), ("LinkNeighborLoader", loaders.links)):
        found[what] = partial(make, "penstock"), partial(make, pyg.NAME)
    for p, q in CHOICES:
        both = partial(walks, a, p=p, q=q), partial(pecanpy_walks, a, p, q)
        found[f"node2vec p={p:g} q={q:g}"] = both
    return found


def run_graph(g: graphs.Graph, args: argparse.Namespace, report: Report) -> None:
    a = ps.csr_array(g.pattern.astype(bool))
    settings = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False)
    for what, (make, make_rival) in cases(a).items():
        if not any(text in what for text in args.cases.split(",")):
            continue
        try:
            contestants = [make()]
        except ImportError as e:  # a loader is PyTorch Geometric's, whoever draws
            report.skip(what, str(e))
            continue
        try:
            contestants += [make_rival()] if make_rival else []
        except (ImportError, AttributeError) as e:  # pecanpy asks NumPy 2 for names that are gone
            report.skip(f"the rival of {what}", str(e))
        about = {"graph": g.name, "what": what, "vertices": a.shape[0], "edges": a.nnz}
        case = harness.Case(
            f"{g.name} {what}", lambda _: np.inf, work=1.0, rate="billions_a_second", about=about
        )
        report.add(harness.measure(case, contestants, settings))


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        rate = {
            n: r["billions_a_second"] * 1e3 for n, r in case["results"].items() if "median" in r
        }
        best = case["best_rival"]
        rows.append([
            case["case"],
            f"{rate['penstock']:.3g}" if "penstock" in rate else "-",
            f"{best} {rate[best]:.3g}" if best else "-",
            f"{case['ratios']['penstock']:.3g}" if "penstock" in case["ratios"] else "-",
        ])  # fmt: skip
    header = ["case", "ours, M/s", "rival, M/s", "ratio"]
    show_table("Millions of steps or edges a second; ratio = ours / the rival's", header, rows)


def run_gpu(args: argparse.Namespace, report: Report) -> None:
    from studies.sampling import gpu_cases

    settings = harness.Settings(args.repeats, args.turn_seconds)
    for make in gpu_cases.cases(args.gpu, args.scale, args.gib, args.quick):
        for case, contestants in make():
            if any(text in case.name for text in args.cases.split(",")):
                report.add(harness.measure(case, contestants, settings))


def gpu_table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        for name, r in case["results"].items():
            if "median" not in r:
                continue
            rate = (
                f"{r['gb_per_s']:.3g} GB/s"
                if "gb_per_s" in r
                else f"{r['billions_a_second'] * 1e3:.4g} M/s"
            )
            part = f"{r['fraction_of_probe']:.2f}" if "fraction_of_probe" in r else "-"
            rows.append(
                [case["case"], name, rate, part, f"{r['hits']:.3f}" if "hits" in r else "-"]
            )
    header = ["case", "who", "edges, steps or bytes", "of the link", "hits"]
    show_table("On the GPU", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, turn_seconds=0.0)
    parser.add_argument("--graphs", default="rmat18,soc-Slashdot0902,road-moscow")
    parser.add_argument(
        "--cases", default="", help="those whose names have one of these texts, as neighbors,Loader"
    )
    parser.add_argument("--gpu", type=int, help="the number of a GPU that draws, beside the CPU")
    parser.add_argument("--scale", type=int, default=22, help="of the R-MAT graph of --gpu (22)")
    parser.add_argument("--gib", type=float, default=4, help="of the features of --gpu (4)")
    args = parser.parse_args()
    if args.gpu is not None and args.gpu >= ps._core.device_count():
        parser.error(f"--gpu {args.gpu}: {ps._core.device_count()} GPUs can be used here")
    threads = args.threads or len(os.sched_getaffinity(0))
    ps.set_num_threads(threads)
    settings = {"repeats": args.repeats, "length": LENGTH, "starts_of_rivals": SHARE}
    report = Report("sample", args, settings, threads)
    if args.gpu is not None:
        settings |= {"scale": args.scale, "gib": args.gib}
        run_gpu(args, report)
    else:
        for g in graphs.select(args.graphs, args.quick, report.skip):
            run_graph(g, args, report)
    report.write()
    (table if args.gpu is None else gpu_table)(report)
    return int(report.failed())


if __name__ == "__main__":
    raise SystemExit(main())
