"""NetworkX against its backend penstock, function by function, conversion included and not.

    python bench/nx_backend.py                       # a random graph of 100000 edges
    python bench/nx_backend.py --nodes 1000 --edges 5000 --turns 3

Prints a table in Markdown, the best of interleaved turns in milliseconds. Every result is compared. Needs an installed
penstock, for NetworkX looks for entry points.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from penstock.nx_backend import from_networkx
from penstock.nx_backend._interface import backend_interface

# name -> further arguments, whether on the directed graph
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], bool]] = [
    ("bfs_edges", (0,), {}, False),
    ("single_source_shortest_path_length", (0,), {}, False),
    ("single_source_dijkstra_path_length", (0,), {}, False),
    ("connected_components", (), {}, False),
    ("strongly_connected_components", (), {}, True),
    ("pagerank", (), {}, False),
    ("betweenness_centrality", (), {"k": 10, "seed": 1}, False),
    ("triangles", (), {}, False),
    ("average_clustering", (), {}, False),
    ("core_number", (), {}, False),
]


def random_graph(nodes: int, edges: int, kind: Any) -> Any:
    """Nodes in the order 0, 1, ...; weights in [0, 1); repeated edges and self loops left out."""
    random = np.random.default_rng(1)
    graph = kind()
    graph.add_nodes_from(range(nodes))
    ends = random.integers(0, nodes, (2, edges)).tolist()
    graph.add_weighted_edges_from(
        (u, v, weight)
        for u, v, weight in zip(*ends, random.random(edges).tolist(), strict=True)
        if u != v
    )
    return graph


def call(name: str, graph: Any, args: Any, options: Any, **how: Any) -> Any:
    result = getattr(nx, name)(graph, *args, **options, **how)
    return list(result) if isinstance(result, Iterator) else result


def agree(name: str, ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict) and isinstance(next(iter(theirs.values())), float):
        np.testing.assert_allclose(
            [ours[node] for node in theirs], list(theirs.values()), rtol=1e-6, atol=1e-12
        )
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    elif name == "strongly_connected_components":  # the order may differ
        agree("", set(map(frozenset, ours)), set(map(frozenset, theirs)))
    elif ours != theirs:
        raise AssertionError(f"{name}: the backend's result differs")


def best(runs: list[Callable[[], Any]], turns: int) -> list[float]:
    """The least seconds of each over interleaved turns."""
    least = [float("inf")] * len(runs)
    for _ in range(turns):
        for i, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            least[i] = min(least[i], time.perf_counter() - begin)
    return least


def measure(case: Any, graphs: dict[bool, Any], turns: int) -> list[float]:
    name, args, options, directed = case
    graph, held = graphs[directed], from_networkx(graphs[directed])

    def converting() -> Any:
        graph.__networkx_cache__.clear()
        return call(name, graph, args, options, backend="penstock")

    def converted() -> Any:
        held.structure.found.clear()  # components are kept with the graph
        return call(name, held, args, options)

    def networkx() -> Any:
        return call(name, graph, args, options)

    theirs = networkx()
    agree(name, converting(), theirs)
    agree(name, converted(), theirs)
    return best([networkx, converting, converted], turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Note: conversions to backend graphs")
    graphs = {
        directed: random_graph(options.nodes, options.edges, kind)
        for directed, kind in ((False, nx.Graph), (True, nx.DiGraph))
    }
    print("| function | NetworkX | penstock, converting | | penstock, converted | |")
    print("|---|--:|--:|--:|--:|--:|")
    for case in CASES:
        if case[0] not in backend_interface._functions:
            continue  # a build without the algorithm
        theirs, converting, converted = measure(case, graphs, options.turns)
        print(
            f"| `{case[0]}` | {1e3 * theirs:.1f} | {1e3 * converting:.1f} | {theirs / converting:.1f}x"
            f" | {1e3 * converted:.2f} | {theirs / converted:.1f}x |"
        )


if __name__ == "__main__":
    main()
