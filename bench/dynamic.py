"""Batches of edges into a graph: penstock's DynamicGraph against libraries whose graphs change, and a new matrix.

python bench/dynamic.py                           # 2^20 vertices, 10 M edges: bench/results/dynamic.json
python bench/dynamic.py --batches 1000,1000000 --rivals scipy,networkx
python bench/dynamic.py --quick                   # toy inputs

A uniform random graph with float64 weights, directed. A turn begins with the graph as it was (making that copy is not
timed), adds a batch or removes edges, and then asks for nothing, for a product or for a search. `giga_edges` are
billions of edges of the batch a second. "rebuild" makes a new csr_array, A + D, as one does without a DynamicGraph.
NetworkX has a graph and a batch of a tenth (`share`).
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib import harness
from lib.report import Report, add_options, show_table

import penstock as ps

RIVALS = ("scipy", "graphblas", "networkit", "igraph", "networkx")
ASKED = ("nothing", "product", "bfs")


class Input:
    """A graph, a batch to add, none of whose edges it has, and a batch of its own edges to remove."""

    def __init__(self, scale: int, edges: int, batch: int) -> None:
        rng = np.random.default_rng(1)
        n = self.n = 1 << scale
        keys = np.unique(rng.integers(n * n, size=edges + batch + edges // 8))
        keys = rng.permutation(keys)[: edges + batch]
        ends = np.divmod(keys, n)
        self.rows, self.cols = (e[:edges] for e in ends)
        self.more = tuple(np.ascontiguousarray(e[edges:]) for e in ends)
        self.weights, self.new = rng.random(edges), rng.random(self.more[0].size)
        self.gone = self.rows[:batch], self.cols[:batch]
        self.x = np.arange(n) % 7 + 1.0

    def scipy(self) -> Any:
        return sp.coo_array((self.weights, (self.rows, self.cols)), shape=(self.n, self.n)).tocsr()

    def after(self, remove: bool) -> Any:
        a = self.scipy()
        if remove:
            gone = sp.coo_array((a[self.gone], self.gone), shape=a.shape).tocsr()
            left = (a - gone).tocsr()
            left.eliminate_zeros()
            return left
        return a + sp.coo_array((self.new, self.more), shape=a.shape).tocsr()


# Of each library: (a graph as it was, the change, a product or None, levels from vertex 0 or None), each a function
Make = Callable[[Input, bool], tuple[Callable[[], Any], Callable[[Any], Any], Any, Any]]


def _penstock(t: Input, remove: bool) -> Any:
    a = ps.csr_array(t.scipy())

    def change(g: Any) -> Any:
        if remove:
            g.remove_edges(*t.gone)
        else:
            g.add_edges(*t.more, t.new)
        return g

    return lambda: ps.DynamicGraph(a), change, lambda g: g @ t.x, lambda g: ps.csgraph.bfs(g, 0)


def _rebuild(t: Input, remove: bool) -> Any:
    a = ps.csr_array(t.scipy())

    def change(a: Any) -> Any:
        ends, w = (t.gone, np.ones(t.gone[0].size)) if remove else (t.more, t.new)
        d = ps.csr_array((w, ends), shape=a.shape)
        return a.mask(d, complement=True) if remove else a + d

    return lambda: ps.csr_array(a), change, lambda a: a @ t.x, lambda a: ps.csgraph.bfs(a, 0)


def _scipy(t: Input, remove: bool) -> Any:
    a = t.scipy()

    def change(a: Any) -> Any:
        if remove:
            d = sp.coo_array((np.ones(t.gone[0].size), t.gone), shape=a.shape).tocsr()
            return a - a.multiply(d)
        return a + sp.coo_array((t.new, t.more), shape=a.shape).tocsr()

    return lambda: a, change, lambda a: a @ t.x, None  # its search has no levels


def _graphblas(t: Input, remove: bool) -> Any:
    import graphblas as gb

    a = gb.Matrix.from_coo(t.rows, t.cols, t.weights, nrows=t.n, ncols=t.n)
    x = gb.Vector.from_dense(t.x)

    def change(a: Any) -> Any:
        if remove:
            d = gb.Matrix.from_coo(*t.gone, True, nrows=t.n, ncols=t.n)
            a(~d.S, replace=True) << a
        else:
            d = gb.Matrix.from_coo(*t.more, t.new, nrows=t.n, ncols=t.n)
            a(gb.binary.second) << d
        a.wait()
        return a

    return a.dup, change, lambda a: a.mxv(x, gb.semiring.plus_times).new().to_dense(0.0), None


def _networkit(t: Input, remove: bool) -> Any:
    import networkit as nk

    nk.setNumberOfThreads(ps.num_threads())
    first = nk.GraphFromCoo((t.weights, (t.rows, t.cols)), n=t.n, weighted=True, directed=True)

    def change(g: Any) -> Any:
        if remove:
            for u, v in zip(*(e.tolist() for e in t.gone), strict=True):
                g.removeEdge(u, v)
        else:
            g.addEdges((t.new, t.more))
        return g

    def bfs(g: Any) -> Any:
        found = nk.distance.BFS(g, 0, storePaths=False)
        found.run()
        hops = np.array(found.getDistances())
        return np.where(hops > t.n, -1, hops).astype(np.int32)

    return lambda: nk.Graph(first, weighted=True, directed=True), change, None, bfs


def _igraph(t: Input, remove: bool) -> Any:
    import igraph

    first = igraph.Graph(n=t.n, edges=np.stack([t.rows, t.cols], axis=1), directed=True)

    def change(g: Any) -> Any:
        if remove:
            g.delete_edges(g.get_eids(list(zip(*(e.tolist() for e in t.gone), strict=True))))
        else:
            g.add_edges(np.stack(t.more, axis=1))
        return g

    def bfs(g: Any) -> Any:
        hops = np.array(g.distances(0)[0])
        return np.where(np.isinf(hops), -1, hops)

    return first.copy, change, None, bfs


def _networkx(t: Input, remove: bool) -> Any:
    import networkx as nx

    first = nx.DiGraph()
    first.add_nodes_from(range(t.n))
    first.add_weighted_edges_from(
        zip(t.rows.tolist(), t.cols.tolist(), t.weights.tolist(), strict=True)
    )

    def change(g: Any) -> Any:
        u, v = (e.tolist() for e in (t.gone if remove else t.more))
        if remove:
            g.remove_edges_from(zip(u, v, strict=True))
        else:
            g.add_weighted_edges_from(zip(u, v, t.new.tolist(), strict=True))
        return g

    return first.copy, change, None, None


MAKE: dict[str, Make] = {
    "penstock": _penstock,
    "rebuild": _rebuild,
    "scipy": _scipy,
    "graphblas": _graphblas,
    "networkit": _networkit,
    "igraph": _igraph,
    "networkx": _networkx,
}


def edges_of(name: str, g: Any) -> int:
    """How many edges a library's graph has."""
    if name == "rebuild":
        return int(g.nnz)
    if name == "scipy":
        return int(np.count_nonzero(g.data))
    if name == "graphblas":
        return int(g.nvals)
    if name == "networkit":
        return int(g.numberOfEdges())
    return int(g.ecount() if name == "igraph" else g.number_of_edges())


def contestants(made: dict[str, Any], asked: str, wanted: Any) -> Any:
    """Those that can answer; each begins a turn with the graph as it was."""
    for name, (fresh, change, product, bfs) in made.items():
        ask = {"nothing": lambda g: g, "product": product, "bfs": bfs}[asked]
        if ask is None:
            continue
        here: dict[str, Any] = {}

        def before(here: Any = here, fresh: Any = fresh) -> None:
            here.clear()
            here["graph"] = fresh()

        def run(here: Any = here, change: Any = change, ask: Any = ask) -> Any:
            return ask(change(here["graph"]))

        def error(found: Any, name: str = name) -> float:
            if asked == "nothing":
                return float(abs(edges_of(name, found) - wanted))
            allowed = 0.5 if asked == "bfs" else 1e-9 * float(np.abs(wanted).max())
            return float(np.abs(np.asarray(found) - wanted).max() / allowed)

        role = "ours" if name == "penstock" else "rival"
        yield harness.Contestant(name, run, role, before=before, check=error)


def answer(t: Input, remove: bool, asked: str) -> Any:
    """What is right, by SciPy."""
    after = t.after(remove)
    if asked == "nothing":
        return after.nnz
    if asked == "product":
        return after @ t.x
    hops = sp.csgraph.dijkstra(after, indices=0, unweighted=True)
    return np.where(np.isinf(hops), -1, hops)


def case_of(
    t: Input, made: dict[str, Any], remove: bool, asked: str, share: int, how: harness.Settings
) -> dict[str, Any]:
    """One case of the report."""
    count = t.more[0].size
    verb = "remove" if remove else "add"
    case = harness.Case(
        f"{verb} {count}, {asked}{'' if share == 1 else ', a tenth'}",
        check=lambda _: 0.0,
        work=count,
        rate="giga_edges",
        about={"batch": count, "edges": t.rows.size, "asked": asked, "share": share},
    )
    return harness.measure(case, contestants(made, asked, answer(t, remove, asked)), how)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=20, help="2^SCALE vertices (20)")
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--batches", default="1000,1000000", help="edges of a batch (1000,1000000)")
    parser.add_argument("--rivals", default=",".join(RIVALS))
    add_options(parser, 0.0)
    args = parser.parse_args()
    if args.quick:
        args.scale, args.edges, args.batches = 8, 1000, "10,100"
    ps.set_num_threads(args.threads or ps.num_threads())
    settings = {name: getattr(args, name) for name in ("scale", "edges", "batches", "repeats")}
    report = Report("dynamic", args, settings, ps.num_threads())
    names = [n for n in args.rivals.split(",") if importlib.util.find_spec(n) is not None]
    for name in set(args.rivals.split(",")) - set(names):
        report.skip(name, "is not installed")
    how = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False)
    for size in map(int, args.batches.split(",")):
        for share in (1, 10) if "networkx" in names else (1,):
            t = Input(args.scale, args.edges // share, max(1, size // share))
            for remove in (False, True):
                some = [n for n in names if n != "networkx"] if share == 1 else ["networkx"]
                if remove:  # it removes an edge a call
                    some = [n for n in some if n != "networkit"]
                ours = ["penstock", "rebuild"] if share == 1 else ["penstock"]
                made = {name: MAKE[name](t, remove) for name in (*ours, *some)}
                for asked in ASKED if share == 1 else ASKED[:1]:
                    report.add(case_of(t, made, remove, asked, share, how))
    rows = [
        [case["case"], name, f"{1e3 * r['median']:.4g}", f"{1e3 * r['giga_edges']:.3g}"]
        for case in report.data["cases"]
        for name, r in case["results"].items()
        if "median" in r
    ]
    show_table("Batches of edges", ["case", "library", "ms", "million edges/s"], rows)
    return int(report.failed())


if __name__ == "__main__":
    raise SystemExit(main())
