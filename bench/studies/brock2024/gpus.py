"""Part `gpus` of bench/brock2024.py: strong scaling on the GPUs of one host by every algorithm, a rank each, beside the
rooflines of gets and memories that this run measures. Without a GPU, the CPU in the place of each: that it runs."""

from __future__ import annotations

import gc
import os
import statistics
from functools import partial
from typing import Any

from lib import harness
from penstock.dist._network import Link
from penstock.dist._roofline import roofline as roofline_of
from penstock.dist._tile_price import Machine, price_product

import penstock as ps
from penstock import _core
from studies.brock2024 import gpu_worker as worker
from studies.brock2024.gpu_suite import Pair, dense, pairs
from studies.brock2024.parts import _checked
from studies.brock2024.runs import NOTHING, Run
from studies.brock2024.worker import COUNTED, PARTS

GETS = [8, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
_COPY = 256 << 20  # bytes of the copies that measure a GPU's memory
_SQUARES = 4  # ranks from which on a square grid is another one
_ALONE = ("c", "summa")  # with one rank all others are the first
_PROBE = 5.0  # seconds, where this machine has not been probed
_CALL = 2e-5  # seconds of a product of tiles besides


def gpus(run: Run) -> int:
    """All pairs on all numbers of GPUs; how many steps broke."""
    counts, there = run.args.gpus, _core.device_count()
    if not counts:
        run.report.skip("gpus", "there is no GPU; --gpus 1,2 runs on the CPU in their place")
        return 0
    run.report.data["gpus_on_host"] = there == 0
    for n in [n for n in counts if there and n > there]:
        run.report.skip(f"{n} GPUs", f"there are {there}")
    counts = [n for n in counts if not there or n <= there]
    networks: dict[int, Any] = {}
    faults = 0
    todo = pairs(run.args.gpu_matrices, run.args.quick, there > 0)
    made: dict[str, Any] = {}
    for k, pair in enumerate(todo):
        base: dict[str, Any] = {}
        for n in counts:
            if pair.same != pair.name and n < _SQUARES:
                continue
            if run.left() < pair.seconds:
                run.report.skip(f"gpus {pair.name}, {n}", "no time is left of --minutes")
                continue
            seconds = run.left() / ((len(todo) - k) * len(counts)) / 2
            step = partial(_measured, run, pair, n, seconds, networks, base, made)
            faults += run.step("gpus", f"gpus {pair.name}, {n}", step)
        if k + 1 == len(todo) or todo[k + 1].same != pair.same:
            made.clear()
            gc.collect()
    return faults


def network(run: Run, n: int, networks: dict[int, Any]) -> Any:
    """Of n GPUs: gets of large blocks between two of them, each at its own speed, and copies in a GPU's memory."""
    if n in networks:
        return networks[n]
    if _core.device_count() == 0:
        networks[n] = run.network(n)
        return networks[n]
    size, facts = _COPY, run.report.data.setdefault("gpus_measured", {})
    if "memory" not in facts:
        copies = _core.time_copy_gpu(size, "device", "device", 7, 0)
        facts["memory"] = 2 * size / statistics.median(copies)
    if "gets" not in facts and n > 1:
        facts["gets"] = ps.dist.run(worker.gets, 2, [0, 1], GETS, 0.5)[0]
        known = ps.machine()["gpus_measured"]
        found = known or _core.probe(_PROBE, [0, 1])["gpus"]
        facts["probed_peer"] = (found[0].get("peer") or {}).get("copy")
    memory = facts["memory"]
    alone = [[GETS[0], _CALL], [GETS[-1], GETS[-1] / memory]]  # one GPU fetches nothing
    gets = facts.get("gets") or alone
    rate = gets[-1][0] / gets[-1][1]
    link = Link(gets[0][1] / 2, 1e-7, rate, 0, 0.0)
    networks[n] = ps.dist.Network(
        f"{n} GPUs of this host", "gets and copies measured by this run", n, n, link, None, n * rate, n * rate,
        memory, n * memory, 0.0, memory, n * memory, call_s=_CALL,
    )  # fmt: skip
    return networks[n]


def _problem(pair: Pair, made: dict[str, Any]) -> worker.Problem:
    """Made once for all numbers of GPUs."""
    if not made:
        a = pair.make()
        b = dense(a.shape[1], pair.columns) if pair.columns else None
        made["problem"] = worker.Problem(a, b)
    return made["problem"]


def _measured(run: Run, pair: Pair, n: int, seconds: float, networks: dict[int, Any], base: dict[str, Any],
              made: dict[str, Any]) -> None:  # fmt: skip
    """One case; `base` keeps the seconds of the fewest GPUs, and how fast local products were there."""
    problem = _problem(pair, made)
    a = problem.a
    algorithms = [x for x in run.args.algorithms if n > 1 or x in _ALONE]
    if not algorithms:
        return run.report.skip(f"gpus {pair.name}, {n}", f"one rank does only {', '.join(_ALONE)}")
    devices = list(range(n)) if _core.device_count() else "cpu"
    net = network(run, n, networks)
    work = worker.Work(
        problem, devices, algorithms, run.args.repeats, seconds, pair.grid, pair.finer
    )
    done = ps.dist.run(worker.run, n, work)[0]
    c, found = done["counts"], done["results"]
    first = "c" if "c" in found else algorithms[0]
    if "efficiency" not in base:
        m = Machine(net, n)
        local = float(m.work(c.flops, c.local).sum()) / n
        base |= {"gpus": n, "efficiency": local / max(found[first]["compute"], 1e-9)}
    efficiency = max(base["efficiency"], 1e-6)
    roof, reach = roofline_of(c, net), roofline_of(c, net, efficiency=efficiency)
    results = {}
    for name, r in found.items():
        p = price_product(c, net, name, efficiency=efficiency)
        total = harness.summary(r["seconds"])
        results[name] = {
            "role": "rival" if name == "summa" else "ours", **_checked(r["error"]), **total,
            "gflops": p.flops / total["median"] / 1e9, **{k: r[k] for k in (*PARTS, *COUNTED)},
            "broadcasts": r.get("broadcasts"), "predicted_seconds": p.seconds,
            "predicted_over_product": p.seconds / max(total["median"] - r["prepare"], 1e-9),
            "of_roofline": roof.seconds / total["median"], "of_reachable": reach.seconds / total["median"],
        }  # fmt: skip
    fastest = min(
        (r["median"] for x, r in results.items() if x != "summa" and r["status"] == "ok"),
        default=None,
    )
    base.setdefault("seconds", fastest)
    what = f"{pair.columns} columns" if pair.columns else "A A"
    entry = {
        "case": f"{pair.name}, {what}, {n} GPUs", **NOTHING, **done["about"],
        "matrix": pair.name, "about": pair.about, "op": pair.op, "columns": pair.columns, "gpus": n, "rows": a.shape[0],
        "nnz": a.nnz, "flops": float(c.flops.sum()), "compression": c.compression, "nnz_imbalance": c.nnz_imbalance,
        "stage_imbalance": c.stage_imbalance(), "imbalance": c.imbalance, "efficiency": efficiency,
        "efficiency_of": base["gpus"], "roofline": roof.as_dict(), "reachable": reach.as_dict(),
        "fewest": base["gpus"], "over_fewest": base["seconds"] / fastest if fastest and base["seconds"] else None,
        "load": os.getloadavg()[0], "results": results,
    }  # fmt: skip
    compared = harness.compare(results)
    return run.add("gpus", entry | {k: v for k, v in compared.items() if k in entry})
