"""`penstock cc` and `penstock scc`: connected components."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli import device as gpu
from penstock.cli import graph as shared
from penstock.cli import ui

LARGEST = 5  # components shown


def _components(
    name: str, file: Path, verify: bool, out: Path | None, force: bool, threads: int | None,
    repeats: int, json: bool, on: gpu.OnDevice,
) -> int:  # fmt: skip
    import penstock as ps
    from penstock import csgraph

    shared.check_result(out, force)
    strong = name == "scc"
    steps = ui.progress(3 if verify else 2, quiet=json)
    with steps as step, shared.threads_set(threads) as n, on.limits():
        step.next(f"reading {file.name}")
        graph = shared.read_graph(file)
        _, _, prepare = shared.prepared(graph, undirected=False)
        step.next("finding components")
        find: Any = (
            csgraph.strongly_connected_components
            if strong
            else functools.partial(csgraph.connected_components, **on.arguments())
        )
        (count, labels), seconds = shared.timed(lambda: find(graph), repeats, step.within)
        event = None
        if on.trace and on.usable:
            with ps.record() as events:
                csgraph.connected_components(graph, **on.arguments(counted=True))
            event = events[0]
        fault = None
        if verify:
            step.next("checking")
            fault = shared.checked(
                lambda: csgraph.verify_components(
                    graph, count, labels, "strong" if strong else "weak"
                )
            )
        if out is not None:
            shared.save_result(out, {"component": labels})
    runs = [shared.Run(s, graph.nnz) for s in seconds]
    sizes = np.bincount(labels, minlength=count)
    order = np.argsort(-sizes, kind="stable")[:LARGEST]
    stats = shared.statistics_of(runs)
    data = {
        "algorithm": name, "threads": n, "repeats": repeats, "prepare_seconds": prepare, **stats,
        "components": count, "isolated": int((sizes == 1).sum()),
        "largest": [{"component": int(c), "vertices": int(sizes[c])} for c in order],
        **gpu.as_json(on, event),
    }  # fmt: skip
    kind = "strongly connected" if strong else "connected"
    rows = {
        "components": f"{count:,} {kind}, {data['isolated']:,} of one vertex",
        "largest": ", ".join(f"{int(sizes[c]):,}" for c in order),
        "time": shared.time_words(stats, repeats),
        "rate": f"{graph.nnz / stats['seconds']['median'] / 1e9:.3g} billion entries a second",
        "prepared": f"in {ui.seconds(prepare)}, once a graph",
        **gpu.as_rows(on, event),
    }
    return shared.show(file, graph, json, data, rows, fault, verify, out)


def cc(
    file: shared.File,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 5,
    device_memory: gpu.DeviceMemory = None,
    access: gpu.AccessOption = None,
    placement: gpu.PlacementOption = None,
    trace: gpu.Traced = False,
    gpus: gpu.GpusOption = None,
    json: ui.Json = False,
) -> int:
    """Connected components; directions are ignored. On a GPU where one of its options is given."""
    on = gpu.OnDevice(device_memory, access, placement, trace, gpus)
    return _components("cc", file, verify, out, force, threads, repeats, json, on)


def scc(
    file: shared.File,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 5,
    json: ui.Json = False,
) -> int:
    """Strongly connected components: there is a path each way."""
    return _components("scc", file, verify, out, force, threads, repeats, json, gpu.OnDevice())
