"""Graph algorithms on the CPU: penstock against networkit, igraph, SciPy, and the reference programs
of the GAP benchmark suite.

python bench/graph_cpu.py                       # everything: bench/results/graph_cpu.json
python bench/graph_cpu.py --gap ../gapbs        # also against the programs of that folder
python bench/graph_cpu.py --graphs rmat18,road-moscow --algorithms bfs,cc --out some.json
python bench/graph_cpu.py --graphs 'cnr-2000*8' --algorithms bfs   # the lift of 8 copies
python bench/graph_cpu.py --quick               # toy inputs
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from lib import graph_checks, graphs, harness
from lib.report import Report, add_options, show_table
from rivals import gap as rivals_gap
from rivals import igraph as rivals_igraph  # noqa: F401 - the makers of both register themselves
from rivals import networkit as rivals_networkit  # noqa: F401
from rivals.graph import MAKERS, Problem, UnsupportedError

ALGORITHMS = {
    "bfs": "breadth-first search",
    "sssp": "shortest paths",
    "cc": "components",
    "pagerank": "PageRank",
    "triangles": "triangles",
    "scc": "strong components",
    "core": "core numbers",
}
MIRRORED = ("triangles", "core")  # of directed graphs, on every edge in both directions
EXACT = 2**24  # whole numbers below are exact in float32
REFERENCES = 4  # sources that SciPy's Dijkstra also searches from; our verifier sees them all


class Expected:
    """References of one graph, found when first asked for."""

    def __init__(self, graph: graphs.Graph, sources: list[int]) -> None:
        self.graph, self.sources = graph, sources
        self.known: dict[str, Any] = {}

    def __getitem__(self, algorithm: str) -> Any:
        if algorithm not in self.known:
            g, s = self.graph, self.sources
            self.known[algorithm] = {
                "bfs": lambda: graph_checks.bfs_levels(g, s),
                "sssp": lambda: graph_checks.distances(g, s[:REFERENCES]),
                "cc": lambda: graph_checks.components(g),
                "scc": lambda: graph_checks.components(g, strong=True),
                "pagerank": lambda: graph_checks.ranks(g),
                "triangles": lambda: graph_checks.triangles(g),
                "core": lambda: graph_checks.cores(g),
            }[algorithm]()
        return self.known[algorithm]

    def check(self, algorithm: str) -> Any:
        expected = self[algorithm]
        return {
            "cc": lambda found: graph_checks.same_parts(found, expected),
            "scc": lambda found: graph_checks.same_parts(found, expected),
            "pagerank": lambda found: graph_checks.rank_error(found, expected),
            "triangles": lambda found: graph_checks.same(
                [np.asarray(found)], [np.asarray(expected)]
            ),
            "core": lambda found: graph_checks.same([found], [expected]),
        }.get(algorithm, lambda found: graph_checks.same(found, expected))


def weight_type(expected: Expected) -> Any:
    """float32 where all distances are exact in it, with room to spare."""
    far = max(float(d[np.isfinite(d)].max()) for d in expected["sssp"])
    return np.float32 if 4 * far < EXACT else np.float64


def run_case(
    algorithm: str, p: Problem, expected: Expected, who: list[str], gap: tuple[Path, Path] | None,
    settings: harness.Settings, report: Report,
) -> None:  # fmt: skip
    g = p.graph
    contestants = []
    for name in (name for name in MAKERS[algorithm] if name in who):
        try:
            contestants.append(MAKERS[algorithm][name](p))
        except ImportError as e:
            if name.startswith("penstock"):  # only a rival may be absent
                raise
            report.skip(f"{name} {algorithm}", str(e))
        except UnsupportedError as e:
            report.skip(f"{name} {algorithm} {g.name}", str(e))
    if gap and "gap" in who and algorithm in rivals_gap.PROGRAMS:
        levels = algorithm in ("bfs", "sssp")
        try:
            contestants.append(
                rivals_gap.contestant(p, *gap, expected["bfs" if levels else algorithm])
            )
        except (ImportError, RuntimeError, subprocess.TimeoutExpired) as e:
            report.skip(f"gap {algorithm} {g.name}", str(e))
    searching = algorithm in ("bfs", "sssp")
    work = graph_checks.reached_edges(g, expected["bfs"]) if searching else float(g.edges)
    case = harness.Case(
        name=f"{g.name} {ALGORITHMS[algorithm]}",
        check=expected.check(algorithm),
        work=work,
        rate="gteps",
        about={"graph": g.name, "algorithm": algorithm, "vertices": g.n, "edges": g.edges,
               "undirected": g.undirected, "sources": p.sources if searching else None,
               "dtype": str(np.dtype(p.dtype)) if algorithm == "sssp" else None},
    )  # fmt: skip
    entry = harness.measure(case, contestants, settings)
    report.add(entry)
    print(_line(entry), flush=True)


def _line(entry: dict[str, Any]) -> str:
    cells = [
        f"{name} {r['median'] * 1e3:.3g}"
        for name, r in entry["results"].items()
        if r["status"] == "ok"
    ]
    ratio = entry["ratios"].get("penstock")
    words = f" ({ratio:.2f} x {entry['best_rival']})" if ratio else ""
    return f"{entry['case']}, ms: {', '.join(cells)}{words}"


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        ours = results.get("penstock", {})
        cells = [case["case"]]
        for r in (ours, results.get(best, {})):
            cells.append(f"{r['median'] * 1e3:.3g}" if "median" in r else "-")
        cells.append(best or "-")
        cells.append(f"{case['ratios']['penstock']:.2f}" if "penstock" in case["ratios"] else "-")
        gap = results.get("gap", {})
        against = "median" in gap and "median" in ours
        cells.append(f"{gap['median'] / ours['median']:.2f}" if against else "-")
        cells.append(f"{ours['gteps']:.3g}" if "gteps" in ours else "-")
        rows.append(cells)
    header = ["case", "ours, ms", "best rival", "who", "ratio", "GAP / ours", "GTEPS"]
    show_table(
        "Graphs: a search, or the whole computation; ratio = rival's time / ours", header, rows
    )


def run_graph(
    graph: graphs.Graph, algorithms: list[str], args: argparse.Namespace, who: list[str],
    threads: int, settings: harness.Settings, report: Report,
) -> None:  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="penstock-graph-", dir=args.temporary) as folder:
        gap = (args.gap, Path(folder)) if args.gap else None
        mirror = None
        sources = graph.sources(args.sources)
        problem, expected = Problem(graph, "", threads, sources), Expected(graph, sources)
        for algorithm in algorithms:
            p, e = problem, expected
            if algorithm in MIRRORED and not graph.undirected:
                if mirror is None:
                    both = graph.mirrored()
                    mirror = Problem(both, "", threads, sources), Expected(both, sources)
                p, e = mirror
            if algorithm == "scc" and graph.undirected:
                continue  # they are its components
            p.algorithm = algorithm
            if algorithm == "sssp":
                p.dtype = weight_type(e)
            run_case(algorithm, p, e, who, gap, settings, report)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--graphs",
        default="all",
        help='names, files, "generated", "data" or "all"; cnr-2000*8 is a lift of 8 copies',
    )
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    people = [*dict.fromkeys(name for makers in MAKERS.values() for name in makers), "gap"]
    parser.add_argument("--contestants", default=",".join(people))
    parser.add_argument("--sources", type=int, default=16, help="searches of BFS and SSSP")
    parser.add_argument("--gap", type=Path, help="folder with the GAP suite's programs")
    parser.add_argument("--temporary", type=Path, help="folder for the graphs that GAP reads")
    add_options(parser, turn_seconds=0.2)
    args = parser.parse_args()
    who, algorithms = args.contestants.split(","), args.algorithms.split(",")
    for given, known in ((who, people), (algorithms, [*ALGORITHMS])):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    if args.gap and not args.gap.is_dir():
        parser.error(f"--gap {args.gap}: no such folder")
    if args.sources < 1:
        parser.error(f"--sources {args.sources}: give at least 1")
    threads = args.threads or len(os.sched_getaffinity(0))
    try:
        settings = harness.Settings(
            args.repeats, 0.0 if args.quick else args.turn_seconds, warm_turns=False
        )
    except ValueError as e:
        parser.error(str(e))
    report = Report("graph_cpu", args, {**vars(settings), "sources": args.sources}, threads)
    for graph in graphs.select(args.graphs, args.quick, report.skip):
        run_graph(graph, algorithms, args, who, threads, settings, report)
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
