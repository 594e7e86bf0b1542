"""Communities on the CPU: penstock against networkit, igraph and leidenalg, by time and by modularity.

python bench/communities.py                       # everything: bench/results/communities.json
python bench/communities.py --graphs rmat16,road-moscow --methods leiden --out some.json
python bench/communities.py --quick               # toy inputs

Building a library's own graph is not timed. Every contestant also runs untimed with three seeds (one, where it takes
seconds): `modularity` is the mean. A rival that needs more than --patience seconds is left out, which is recorded.
networkit's threads sleep while they wait (OMP_WAIT_POLICY), since other work on the machine would make them spin for
long; it also runs with one thread.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from lib import graphs, harness
from lib.report import Report, add_options, show_table

GRAPHS = (
    "fb-Cornell5,soc-Slashdot0902,web-NotreDame,road-moscow,luxembourg_osm,mdual,planted,rmat16"
)
TOY = "planted-toy,rmat9"
METHODS = ("louvain", "leiden", "label_propagation")
SEEDS, SLOW_SECONDS = 3, 2.0

Run = Callable[[int], Any]  # seed -> labels


def planted(groups: int, size: int) -> graphs.Graph:
    """Groups of a size; 10 edges a vertex within its group and 5 anywhere."""
    import scipy.sparse as sp

    rng = np.random.default_rng(7)
    n = groups * size
    u = np.repeat(np.arange(n), 15) % n
    near = u // size * size + rng.integers(0, size, u.size)
    v = np.where(np.arange(u.size) % 3 < 2, near, rng.integers(0, n, u.size))
    name = rng.permutation(n)
    a = sp.coo_array((np.ones(u.size), (name[u], name[v])), shape=(n, n)).tocsr()
    return graphs.Graph(f"planted {groups} x {size}", graphs.simple(a + a.T))


def chosen(names: str, skip: Callable[[str, str], None]) -> Iterator[graphs.Graph]:
    for name in names.split(","):
        if name.startswith("planted"):
            yield planted(20, 50) if name == "planted-toy" else planted(1000, 100)
        elif name.startswith("rmat") and name not in graphs.GENERATED | graphs.TOY:
            yield graphs._rmat(int(name[4:]))().mirrored()
        else:
            yield from (g.mirrored() for g in graphs.select(name, False, skip))


class Rivals:
    """One graph in the form of each library, made when first asked for."""

    def __init__(self, graph: graphs.Graph, threads: int) -> None:
        self.graph, self.threads = graph, threads
        forward = graph.rows < graph.pattern.indices
        self.ends = graph.rows[forward], graph.pattern.indices[forward]

    @functools.cached_property
    def igraph(self) -> Any:
        import igraph

        return igraph.Graph(n=self.graph.n, edges=np.column_stack(self.ends))

    @functools.cached_property
    def networkit(self) -> Any:
        import networkit

        u, v = (x.astype(np.uint64) for x in self.ends)
        return networkit.GraphFromCoo((np.ones(u.size), (u, v)), n=self.graph.n)

    def _igraph(self, method: str, **options: Any) -> Run:
        import random

        import igraph

        def run(seed: int) -> Any:
            igraph.set_random_number_generator(random.Random(seed))
            return getattr(self.igraph, method)(**options).membership

        self.igraph  # noqa: B018 - made before it is timed
        return run

    def _networkit(self, name: str, threads: int, **options: Any) -> Run:
        import networkit

        def run(seed: int) -> Any:
            networkit.setNumberOfThreads(threads)
            networkit.setSeed(seed, False)
            algorithm = getattr(networkit.community, name)(self.networkit, **options)
            algorithm.run()
            return algorithm.getPartition().getVector()

        self.networkit  # noqa: B018
        return run

    def _leidenalg(self) -> Run:
        import leidenalg

        self.igraph  # noqa: B018
        kind = leidenalg.ModularityVertexPartition
        return lambda seed: leidenalg.find_partition(self.igraph, kind, seed=seed).membership

    def of(self, method: str) -> dict[str, Callable[[], Run]]:
        return {
            "louvain": {
                "igraph": lambda: self._igraph("community_multilevel"),
                "networkit": lambda: self._networkit("PLM", self.threads),
                "networkit, 1 thread": lambda: self._networkit("PLM", 1),
            },
            "leiden": {
                "igraph": lambda: self._igraph(
                    "community_leiden", objective_function="modularity", n_iterations=2
                ),
                "networkit": lambda: self._networkit("ParallelLeiden", self.threads),
                "networkit, 1 thread": lambda: self._networkit("ParallelLeiden", 1),
                "leidenalg": self._leidenalg,
            },
            "label_propagation": {
                "igraph": lambda: self._igraph("community_label_propagation"),
                "networkit": lambda: self._networkit("PLP", self.threads),
                "networkit, 1 thread": lambda: self._networkit("PLP", 1),
            },
        }[method]


def quality(a: Any, run: Run) -> tuple[float, float]:
    """(the mean modularity, the seconds of the first run)"""
    from penstock import csgraph

    values, seconds = [], 0.0
    for seed in range(1, SEEDS + 1):
        start = time.perf_counter()
        labels = np.asarray(run(seed), dtype=np.int32)
        seconds = seconds or time.perf_counter() - start
        values.append(csgraph.modularity(a, labels))
        if seconds > SLOW_SECONDS:
            break
    return statistics.mean(values), seconds


def run_case(
    method: str, g: graphs.Graph, rivals: Rivals, args: argparse.Namespace, report: Report
) -> None:
    from penstock import csgraph

    a = g.csr()
    ours = getattr(csgraph, method)
    runs: dict[str, Run] = {"penstock": lambda seed: ours(a, seed=seed)}
    for name, make in rivals.of(method).items():
        try:
            runs[name] = make()
        except ImportError as e:
            report.skip(f"{name} {method}", str(e))
    contestants = []
    for name, run in runs.items():
        value, seconds = quality(a, run)
        if name != "penstock" and seconds > args.patience:
            report.skip(f"{name} {method} {g.name}", f"took {seconds:.1f} s")
            continue
        contestants.append(
            harness.Contestant(
                name,
                functools.partial(run, 1),
                "ours" if name == "penstock" else "rival",
                notes={"modularity": value},
            )
        )

    def check(labels: Any) -> float:
        if method == "leiden":
            csgraph.verify_connected_communities(a, np.asarray(labels, dtype=np.int32))
        return 0.0 if len(labels) == g.n else np.inf

    case = harness.Case(
        name=f"{g.name} {method}", check=check, work=float(g.edges), rate="gteps",
        about={"graph": g.name, "method": method, "vertices": g.n, "edges": g.edges},
    )  # fmt: skip
    settings = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False)
    entry = harness.measure(case, contestants, settings)
    report.add(entry)
    cells = [
        f"{name} {r['median'] * 1e3:.3g} ({r['modularity']:.4f})"
        for name, r in entry["results"].items()
        if r["status"] == "ok"
    ]
    print(f"{entry['case']}, ms (modularity): {', '.join(cells)}", flush=True)


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        right = {n: r for n, r in case["results"].items() if r["status"] == "ok"}
        ours, best = right.get("penstock", {}), case["best_rival"]
        values = [r["modularity"] for n, r in right.items() if n != "penstock"]
        rows.append(
            [
                case["case"],
                f"{ours['median'] * 1e3:.3g}" if ours else "-",
                f"{right[best]['median'] * 1e3:.3g}" if best else "-",
                best or "-",
                f"{case['ratios']['penstock']:.2f}" if "penstock" in case["ratios"] else "-",
                f"{ours['modularity']:.4f}" if ours else "-",
                f"{max(values):.4f}" if values else "-",
            ]
        )
    header = ["case", "ours, ms", "fastest rival, ms", "who", "ratio", "modularity", "rivals' best"]
    show_table("Communities; ratio = fastest rival's time / ours", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, turn_seconds=0.0)
    parser.add_argument("--graphs", help=f"names or files, with commas ({GRAPHS})")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--patience", type=float, default=10.0, help="seconds (10)")
    args = parser.parse_args()
    if args.quick:
        args.repeats = 1
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before networkit is loaded
    import penstock as ps

    threads = args.threads or len(os.sched_getaffinity(0))
    ps.set_num_threads(threads)
    settings = {"repeats": args.repeats, "patience": args.patience, "seeds": SEEDS}
    report = Report("communities", args, settings, threads)
    for g in chosen(args.graphs or (TOY if args.quick else GRAPHS), report.skip):
        rivals = Rivals(g, threads)
        for method in args.methods.split(","):
            run_case(method, g, rivals, args, report)
    report.write()
    table(report)
    return int(report.failed())


if __name__ == "__main__":
    raise SystemExit(main())
