"""Figures 2, 4 and 6 and table 3 of buono-2017, and kernels in core."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
from lib import harness

import penstock as ps
from penstock import _core
from studies.buono2017.matrices import Source
from studies.buono2017.product import Product, trace_of
from studies.buono2017.runs import Run, about, median_of

COUNTS = (1, 2, 4, 6, 8, 10, 14, 20, 32, 48, 64)  # of blocks: figure 4
_CURVES = ("h2d", "d2h", "pageable_h2d", "pageable_d2h", "h2d_2_streams")
_HOST_SIZES = [1 << k for k in range(16, 25)]


def _host_curve(repeats: int) -> list[list[float]]:
    """Bytes a second of copies in host memory, for a machine without a GPU."""
    curve = []
    for size in _HOST_SIZES:
        source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
        seconds = []
        for _ in range(repeats + 1):
            begin = time.perf_counter()
            np.copyto(target, source)
            seconds.append(time.perf_counter() - begin)
        curve.append([size, size / float(np.median(seconds[1:]))])
    return curve


def transfers(run: Run) -> None:
    """Figure 2: bandwidth against the size of a transfer, from the probe."""
    none = {"results": {}, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}
    if run.on_host:
        curves = {"host_copy": _host_curve(run.args.repeats)}
        run.add(
            "transfers", {**none, "case": "copies in host memory", "curves": curves, "together": {}}
        )
        return
    probe = run.report.data["probe"]
    for gpu in probe["gpus"]:
        curves = {key: gpu[f"{key}_curve"] for key in _CURVES if gpu.get(f"{key}_curve")}
        run.add("transfers", {
            **none, "case": f"transfers, GPU {gpu['gpu']}", "gpu": gpu["gpu"], "name": gpu["name"],
            "curves": curves, "zero_copy": gpu["zero_copy"], "duplex": gpu["duplex"],
            "together": probe["together"],
        })  # fmt: skip


def model(run: Run, source: Source, kind: str, seconds: float) -> None:
    """Figure 4: predicted and measured time for each count of blocks, and the planner's own choice. Each
    turn builds its plan anew, so that rings of all counts need not fit together."""
    a = run.shelf.get(source, kind)
    product = Product(run, a, f"{source.name} {kind}, blocks")

    def person(name: str, schedule: Any) -> harness.Contestant:
        trace_of(product.contestant(name, schedule))  # MemoryError where its ring does not fit

        def timed() -> float:
            who = product.contestant(name, schedule)
            who.run()  # nothing is allocated from now on
            begin = time.perf_counter()
            who.run()
            return time.perf_counter() - begin

        def once() -> np.ndarray:
            return product.contestant(name, schedule).run()

        predicted = a.explain(product.x, schedule=schedule).seconds
        return harness.Contestant(name, once, "ours", reset=lambda: product.y.fill(np.nan),
                                  timed=timed, notes={"predicted_seconds": predicted})  # fmt: skip

    people = [person("planner", run.streamed(1, "raw"))]
    for count in COUNTS:
        try:
            people.append(
                person(f"{count}", run.streamed(1, "raw", block=-(-a.nbytes // count) + 1024))
            )
        except MemoryError as e:
            run.report.skip(f"{product.name}: {count}", str(e))
        else:
            people[-1].notes["blocks"] = count
    case = product.case(**about(source, gpus=1))
    entry = harness.measure(case, people, run.settings(seconds))
    right = {n: r for n, r in entry["results"].items() if r["status"] == "ok" and "median" in r}
    counted = {n: r for n, r in right.items() if "blocks" in r}
    if counted:
        best = min(r["median"] for r in right.values())
        picked = min(counted.values(), key=lambda r: r["predicted_seconds"])
        fastest = min(counted.values(), key=lambda r: r["median"])
        entry |= {"best_blocks": fastest["blocks"], "predicted_best_blocks": picked["blocks"],
                  "picked_over_best": picked["median"] / best,
                  "planner_over_best": right["planner"]["median"] / best if "planner" in right else None}  # fmt: skip
    run.add("model", entry)


def profile(run: Run, source: Source, kind: str, seconds: float) -> None:
    """Table 3: each GPU's share of one streamed product, and how evenly they finish."""
    entry, count = run.suite.get((source.name, kind)), max(run.gpus)
    if entry is None or "trace" not in entry["results"].get("streamed_raw", {}):
        product = Product(run, run.shelf.get(source, kind), f"{source.name} {kind}")
        entry = product.measure({"streamed_raw": {"schedule": run.streamed(count, "raw")}}, seconds)
    result = entry["results"]["streamed_raw"]
    shares = result.get("trace", {}).get("devices", [])
    if not shares:
        return run.report.skip(
            f"profile {source.name}", "the trace tells nothing of single devices"
        )
    busy = [d["seconds"] for d in shares]
    run.add("profile", about(
        source, entry, case=f"{source.name} {kind}, profile", gpus=count, devices=shares,
        results={"streamed_raw": result},
        imbalance=max(busy) / (sum(busy) / len(busy)) if sum(busy) else None,
    ))  # fmt: skip
    return None


def scaling(run: Run, source: Source, kind: str, seconds: float) -> None:
    """Figure 6: the same matrix on every count of GPUs. Read across matrices of doubling size, this is weak scaling."""
    if len(run.gpus) < 2:
        return run.report.skip("scaling", f"{run.gpus[0]} GPU: nothing to compare with")
    codec = "packed" if kind == "pattern" else "raw"
    product = Product(run, run.shelf.get(source, kind), f"{source.name} {kind} {codec}, scaling")
    wanted = {f"{n}": {"schedule": run.streamed(n, codec)} for n in run.gpus}
    told = about(source, gpus=max(run.gpus), codec=codec, scale=source.scale)
    entry = product.measure(wanted, seconds, **told)
    base = median_of(entry, f"{run.gpus[0]}")
    for n in run.gpus:
        result = entry["results"].get(f"{n}", {})
        if base and "median" in result:
            result |= {"count": n, "speedup": base * run.gpus[0] / result["median"]}
            link = run.link(n)
            result["of_link"] = (
                entry["matrix_bytes"] / result["median"] / link if link and codec == "raw" else None
            )
    run.add("scaling", entry)
    return None


def incore(run: Run, source: Source, kind: str, seconds: float) -> None:
    """The kernel alone, matrix and vectors on the GPU, against cuSPARSE. Without a GPU: the CPU's against SciPy."""
    a = run.shelf.get(source, kind)
    product = Product(run, a, f"{source.name} {kind}, in core")
    if run.on_host:
        scipy = a.to_scipy()
        people = [product.contestant("penstock", algorithm="balanced"),
                  harness.Contestant("scipy", lambda: scipy @ product.x, "rival")]  # fmt: skip
        limit = run.report.data["machine"]["host_read"]
    else:
        here, limit = a.to(ps.device(0)), run.report.data["probe"]["gpus"][0]["device_copy"]

        def ours() -> tuple[list[float], np.ndarray]:
            return _core.time_spmv_gpu(here._core, product.x, "plus_times", 1, 0)

        def theirs(algorithm: str) -> tuple[list[float], np.ndarray]:
            return _core.time_cusparse_gpu(here._core, product.x, algorithm, 1, 0)

        people = [
            harness.Contestant("penstock", lambda: ours()[1], "ours", timed=lambda: ours()[0][0]),
            product.contestant(
                "call", ps.InCore(device=0), role="call"
            ),  # vectors up and down included
        ]
        trace_of(people[1])
        for name in ("csr_alg1", "csr_alg2"):
            people.append(harness.Contestant(
                f"cusparse_{name}", lambda name=name: theirs(name)[1], "rival",
                timed=lambda name=name: theirs(name)[0][0]))  # fmt: skip
    entry = harness.measure(product.case(**about(source, gpus=1)), people, run.settings(seconds))
    for r in entry["results"].values():
        if "gb_per_s" in r:
            r["fraction_of_memory"] = r["gb_per_s"] * 1e9 / limit
    people.clear()
    gc.collect()
    run.add("incore", entry)
