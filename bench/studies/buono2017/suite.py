"""Table 2 and figure 5 of buono-2017, and what goes beyond it: packed columns and resident parts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lib import harness

from penstock import _core
from studies.buono2017.matrices import Source
from studies.buono2017.product import Product, gpu_library
from studies.buono2017.runs import Run, about, median_of

ITERATIONS = 20
_PLAN_BYTES = 16  # of a nonzero in a plan of the CPU: float64 values, at most 8 bytes of indices
_PACKED_BYTES = 3  # of a nonzero's column, packed: 2.4 and room


def suite(run: Run, source: Source, kind: str, seconds: float) -> None:
    """Streamed as it is, streamed packed and resident in turns; then blocking and binning on the CPU, one after the
    other: their plans are too large to stand side by side."""
    a = run.shelf.get(source, kind)
    product, count = Product(run, a, f"{source.name} {kind}"), max(run.gpus)
    value_bytes = 0 if kind == "pattern" else a.dtype.itemsize
    wanted = {"streamed_raw": {"schedule": run.streamed(count, "raw")},
              "streamed_packed": {"schedule": run.streamed(count, "packed")},
              "resident": {"schedule": run.streamed(count, "raw", keep=True)}}  # fmt: skip
    if not run.memory_for(f"{product.name}: packed", (value_bytes + _PACKED_BYTES) * a.nnz):
        del wanted["streamed_packed"]
    longest = int(np.diff(a.indptr).max(initial=0))
    algorithms = ("blocked", "binned") if kind in run.args.cpu else ()
    part = seconds / (len(algorithms) + 2)
    entry = product.measure(wanted, 2 * part, **about(source, gpus=count, longest_row=longest))
    for algorithm in algorithms:
        what = f"{product.name}: cpu_{algorithm}"
        if run.left() <= 0:
            run.report.skip(what, "no time is left of --minutes")
        elif run.memory_for(what, _PLAN_BYTES * a.nnz):
            how = {"role": "rival", "algorithm": algorithm}
            more = product.measure({f"cpu_{algorithm}": how}, part)
            entry["results"] |= more["results"]
            entry["turns"] = min(entry["turns"], more["turns"])
    entry |= harness.compare(entry["results"]) | {"make_seconds": run.shelf.seconds}
    run.suite[source.name, kind] = run.add("suite", entry)


def codec(run: Run, source: Source, kind: str, seconds: float) -> None:
    """Bytes per nonzero on the wire, speed against 4-byte columns, seconds to encode and the products that repay it."""
    a, name = run.shelf.get(source, kind), f"{source.name} {kind}, codec"
    value_bytes = 0 if kind == "pattern" else a.dtype.itemsize
    if not run.memory_for(name, (value_bytes + _PACKED_BYTES) * a.nnz):
        return
    encode = []
    for _ in range(3):
        begin = time.perf_counter()
        packed = _core.pack(a._core)
        encode.append(time.perf_counter() - begin)
        per_nonzero = packed.nbytes / max(a.nnz, 1)
        del packed
    entry = run.suite.get((source.name, kind))
    if entry is None or median_of(entry, "streamed_packed") is None:
        product = Product(run, a, name)
        count = max(run.gpus)
        wanted = {f"streamed_{c}": {"schedule": run.streamed(count, c)} for c in ("raw", "packed")}
        entry = product.measure(wanted, seconds, gpus=count)
    raw, fast = median_of(entry, "streamed_raw"), median_of(entry, "streamed_packed")
    spent = harness.summary(encode)
    run.add("codec", about(
        source, entry, case=name, gpus=entry["gpus"], bytes_per_nonzero=per_nonzero,
        raw_bytes_per_nonzero=a.nbytes / max(a.nnz, 1), encode=spent,
        encode_bytes_per_s=a.nbytes / spent["median"], speedup=raw / fast if raw and fast else None,
        products_to_repay=spent["median"] / (raw - fast) if raw and fast and raw > fast else None,
        results={n: r for n, r in entry["results"].items() if n in ("streamed_raw", "streamed_packed")},
    ))  # fmt: skip


def resident(run: Run, source: Source, kind: str, seconds: float) -> None:
    """One of 20 products in a row, y the next x: with a budget of half the matrix, with none, and keeping
    nothing, raw and packed. The bound is the matrix's bytes that travel, over the probed link."""
    a = run.shelf.get(source, kind)
    if a.shape[0] != a.shape[1]:
        return run.report.skip(f"resident {source.name}", "not square: y cannot be the next x")
    half, product = a.nbytes // 2, Product(run, a, f"{source.name} {kind}, {ITERATIONS} in a row")
    library = gpu_library(run)

    def of(
        codec: str, keep: bool, budget: int | None = None, where: Any = library
    ) -> dict[str, Any]:
        return {
            "schedule": run.streamed(1, codec, keep),
            "library": where,
            "times": ITERATIONS,
            "budget": budget,
        }

    wanted = {"half_fits": of("raw", True, half), "all_fits": of("raw", True),
              "streamed": of("raw", False), "packed": of("packed", False)}  # fmt: skip
    if library:
        wanted["half_fits, vectors on the host"] = of("raw", True, half, None)
    entry = product.measure(wanted, seconds, **about(
        source, gpus=1, device_memory=half, vectors="device" if library else "host"))  # fmt: skip
    link = run.link(1)
    for r in entry["results"].values():
        if "trace" in r and link:
            r["bound_seconds"] = r["trace"]["copied_bytes"] / link
            r["over_bound"] = r["median"] / r["bound_seconds"] if r["bound_seconds"] else None
    run.add("resident", entry)
    return None
