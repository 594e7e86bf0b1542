"""Samples and walks on the CPU: penstock against igraph, and node2vec against pecanpy where it is installed.

python bench/sample.py                          # everything: bench/results/sample.json
python bench/sample.py --graphs rmat18 --out some.json
python bench/sample.py --quick                  # toy inputs
python bench/sample.py --raw turns.json         # each turn, too

Contestants take turns; medians of 7, and their ratios. pecanpy is SparseOTF, which has no tables.
A rate is steps (of walks) or edges (of samples) a second; rivals walk from a part of
the vertices. igraph needs a call a walk, which on large graphs costs more than the walk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lib import graphs

import penstock as ps

LENGTH = 80
TURNS = 7
SHARE = 2000  # vertices from which slow rivals walk


def walks_of(a: ps.csr_array, **how: Any) -> Callable[[], int]:
    return lambda: int((ps.sample.random_walks(a, None, LENGTH, **how)[:, 1:] >= 0).sum())


def samples_of(a: ps.csr_array) -> Callable[[], int]:
    seeds = np.random.default_rng(1).permutation(a.shape[0])[:8192]
    return lambda: int(ps.sample.neighbors(a, seeds, [10, 10]).edges.size)


def igraph_walks(a: ps.csr_array) -> Callable[[], int] | None:
    try:
        import igraph
    except ImportError:
        return None
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    g = igraph.Graph(n=a.shape[0], edges=np.stack([row, a.indices], axis=1), directed=True)
    starts = np.random.default_rng(1).permutation(a.shape[0])[:SHARE].tolist()
    return lambda: sum(len(g.random_walk(s, LENGTH, stuck="return")) - 1 for s in starts)


def pecanpy_walks(a: ps.csr_array, p: float, q: float) -> Callable[[], int] | None:
    """Its walks without the strings that it makes of them."""
    try:
        from pecanpy.pecanpy import SparseOTF
    except (ImportError, AttributeError):  # its nptyping asks NumPy 2 for names that are gone
        return None
    g = SparseOTF(p=p, q=q, workers=ps.num_threads(), verbose=False, random_state=1)
    g.indptr, g.indices = a.indptr.astype(np.uint32), a.indices.astype(np.uint32)
    g.data = np.ones(a.nnz, np.float32)
    starts = np.random.default_rng(1).permutation(a.shape[0])[:SHARE].astype(np.uint32)
    moves, has = g.get_move_forward(), g.get_has_nbrs()

    def run() -> int:
        from numba_progress import ProgressBar

        with ProgressBar(total=starts.size, disable=True) as bar:
            made = g._random_walks(starts.size, LENGTH, 1, starts, has, moves, bar)
        return int(made[:, -1].sum() - starts.size)

    run()  # compiles
    return run


def measure(
    contestants: dict[str, Callable[[], int] | None], turns: list[Any]
) -> dict[str, dict[str, float]]:
    """Median rates in millions a second, by turns, which are added to `turns`."""
    here = {name: run for name, run in contestants.items() if run is not None}
    rates: dict[str, list[float]] = {name: [] for name in here}
    for _ in range(TURNS):
        for name, run in here.items():
            begin = time.perf_counter()
            done = run()
            rates[name].append(done / (time.perf_counter() - begin) / 1e6)
    turns.append(rates)
    return {
        name: {"median": statistics.median(r), "least": min(r), "most": max(r)}
        for name, r in rates.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", default="rmat18,soc-Slashdot0902,road-moscow")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/sample.json")
    parser.add_argument("--raw", type=Path, help="where every turn's rates are written, too")
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    turns: list[Any] = []
    for graph in graphs.select(args.graphs, args.quick, lambda name, why: print(name, why)):
        a = ps.csr_array(graph.pattern.astype(bool))
        print(f"{graph.name}: {a.shape[0]} vertices, {a.nnz} edges, {ps.num_threads()} threads")
        cases = {
            "neighbors 10, 10": {"penstock": samples_of(a)},
            "uniform walks": {"penstock": walks_of(a), "igraph": igraph_walks(a)},
            "node2vec p=0.5 q=2": {
                "penstock": walks_of(a, p=0.5, q=2),
                "pecanpy": pecanpy_walks(a, 0.5, 2),
            },
            "node2vec p=4 q=0.25": {
                "penstock": walks_of(a, p=4, q=0.25),
                "pecanpy": pecanpy_walks(a, 4, 0.25),
            },
        }
        for case, contestants in cases.items():
            rates = measure(contestants, turns)
            found.append({"graph": graph.name, "case": case, "millions_a_second": rates})
            ours = rates["penstock"]["median"]
            others = ", ".join(
                f"{name} {r['median']:.3g} (ours {ours / r['median']:.3g} x)"
                for name, r in rates.items()
                if name != "penstock"
            )
            print(
                f"  {case}: penstock {ours:.3g} M/s, {others or 'no rival installed'}", flush=True
            )
    if args.raw is not None:
        named = [{"graph": f["graph"], "case": f["case"]} for f in found]
        args.raw.write_text(
            json.dumps([n | {"turns": t} for n, t in zip(named, turns, strict=True)])
        )
    args.out.write_text(json.dumps({"threads": ps.num_threads(), "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
