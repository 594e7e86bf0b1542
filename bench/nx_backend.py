"""NetworkX against its backend penstock, function by function, conversion included and not.

    python bench/nx_backend.py                       # random graphs of a million edges: half an hour
    python bench/nx_backend.py --nodes 1000 --edges 5000 --functions pagerank,triangles

Prints a table in Markdown, medians of interleaved turns in ms. Every result is compared. Needs an installed
penstock, for NetworkX looks for entry points.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np
from lib import nx_cases, report
from lib.harness import summary
from lib.nx_cases import Call
from penstock.nx_backend import Graph, from_networkx
from penstock.nx_backend._interface import backend_interface

import penstock as ps

WAYS = ("networkx", "converting", "converted")
GROUPED = ("strongly_connected_components",)  # in another order
TIES = ("path", "dijkstra", "bellman_ford", "predecessor")


def result_of(call: Call, graph: Any, **how: Any) -> Any:
    result = getattr(nx, call.name)(graph, *call.args, **call.options, **how)
    return list(islice(result, call.take)) if isinstance(result, Iterator) else result


def agree(call: Call, ours: Any, theirs: Any) -> None:
    """Raises where a result is not NetworkX's. Of paths, which may differ, the nodes and lengths are compared."""
    if isinstance(ours, Graph) or isinstance(theirs, nx.Graph):
        equal = (len(ours), ours.number_of_edges()) == (len(theirs), theirs.number_of_edges())
        equal &= isinstance(ours, Graph) or nx.utils.graphs_equal(ours, theirs)
    elif call.digits:
        equal = np.allclose(flat(ours, theirs), flat(theirs, theirs), rtol=call.digits, atol=1e-12)
    elif call.name in GROUPED:
        equal = set(map(frozenset, ours)) == set(map(frozenset, theirs))
    elif any(word in call.name for word in TIES):
        equal = same_lengths(ours, theirs)
    else:
        equal = ours == theirs
    if not equal:
        raise AssertionError(f"{call.name}: the backend's result differs")


def flat(values: Any, like: Any) -> list[float]:
    """The numbers of a result, dicts in the order of those in `like`."""
    if isinstance(like, dict):
        return [values[key] for key in like]
    if isinstance(like, (tuple, list)):
        return [number for v, l in zip(values, like, strict=True) for number in flat(v, l)]
    return [values]


def same_lengths(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            same_lengths(ours[key], value) for key, value in theirs.items()
        )
    if isinstance(theirs, tuple):
        return all(same_lengths(a, b) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, list):  # a path, predecessors, or pairs
        if theirs and isinstance(theirs[0], tuple):
            return all(same_lengths(a, b) for a, b in zip(ours, theirs, strict=True))
        return bool(ours) == bool(theirs)
    return bool(np.isclose(ours, theirs, rtol=1e-9))


def converting(call: Call, graph: Any) -> Any:
    graph.__networkx_cache__.clear()
    return result_of(call, graph, backend="penstock")


def converted(call: Call, held: Graph) -> Any:
    held.structure.found.clear()  # components and others are kept with the graph
    return result_of(call, held)


def runs_of(call: Call, graph: Any, held: Graph) -> dict[str, Callable[[], Any]]:
    return {
        "networkx": lambda: result_of(call, graph),
        "converting": lambda: converting(call, graph),
        "converted": lambda: converted(call, held),
    }


def runs_of_lists(call: Call, graph: Any) -> dict[str, Callable[[], Any]]:
    """Functions that make graphs: there is nothing to convert."""
    if call.name == "from_edgelist":
        given: Any = list(graph.edges(data=True))
    elif call.name == "from_pandas_edgelist":
        import pandas as pd

        ends = np.array([(u, v) for u, v in graph.edges])
        given = pd.DataFrame({"source": ends[:, 0], "target": ends[:, 1]})
    else:
        given = nx.to_scipy_sparse_array(graph)
    return {
        "networkx": lambda: result_of(call, given),
        "converted": lambda: result_of(call, given, backend="penstock"),
    }


def measure(
    call: Call, runs: dict[str, Callable[[], Any]], turns: int, most: float
) -> dict[str, Any]:
    """Of each the median of `turns`, fewer where they take more than `most` seconds."""
    seconds: dict[str, list[float]] = {who: [] for who in runs}
    for turn in range(turns):
        found = {}
        for who, run in runs.items():
            begin = time.perf_counter()
            found[who] = run()
            seconds[who].append(time.perf_counter() - begin)
        if turn == 0:
            for who in runs:
                agree(call, found[who], found["networkx"])
        if sum(map(sum, seconds.values())) > most:
            break
    return {
        who: {
            "role": "rival" if who == "networkx" else "ours",
            "status": "ok",
            "error": 0.0,
            "turns": len(each),
            **summary(each),
        }
        for who, each in seconds.items()
    }


def row(call: Call, results: dict[str, Any]) -> str:
    theirs = results["networkx"]["median"]
    cells = [f"`{call.name}`", call.on, f"{1e3 * theirs:.1f}"]
    for who in WAYS[1:]:
        if who not in results:
            cells += ["", ""]
            continue
        mine = results[who]["median"]
        cells += [f"{1e3 * mine:.1f}", f"{theirs / mine:.3g}x"]
    return f"| {' | '.join(cells)} |"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="no further turn of a function after these"
    )
    parser.add_argument("--functions", default="", help="names, with commas; all by default")
    parser.add_argument("--quick", action="store_true", help="toy graphs: tests that it runs")
    report.file_options(parser, "nx_backend")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    warnings.filterwarnings("ignore", "Note: conversions to backend graphs")
    if options.quick:
        options.nodes, options.edges, options.turns = 300, 1500, 1
    names = options.functions.split(",") if options.functions else []
    calls = [
        call
        for call in nx_cases.calls(options.nodes)
        if (call.name in names or not names) and call.name in backend_interface._functions
    ]
    keys = ("nodes", "edges", "turns", "seconds")
    settings = {key: getattr(options, key) for key in keys}
    out = report.Report("nx_backend", options, settings, ps.num_threads())
    out.data["machine"]["versions"]["networkx"] = nx.__version__
    print("| function | graph | NetworkX | penstock, converting | | penstock, converted | |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for kind, make in nx_cases.GRAPHS.items():
        mine = [call for call in calls if call.on == kind]
        if not mine:
            continue
        graph = make(options.nodes, options.edges)
        held = from_networkx(graph)
        gc.collect()
        gc.freeze()  # collections shall not walk over the graph again and again
        for call in mine:
            runs = runs_of_lists(call, graph) if kind == "list" else runs_of(call, graph, held)
            results = measure(call, runs, options.turns, options.seconds)
            out.add({"case": call.name, "graph": kind, "results": results})
            print(row(call, results), flush=True)
        gc.unfreeze()


if __name__ == "__main__":
    main()
