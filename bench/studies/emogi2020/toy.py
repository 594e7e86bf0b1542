"""Figures 3 and 4 of the paper: a large array of the host's, read by a GPU in four patterns."""

from __future__ import annotations

from typing import Any

from lib import harness

from penstock import _core
from studies.emogi2020.runs import Run

_LINE, _SECTOR = 32, 8  # entries of 4 bytes
# Entries of a list, and where the first begins: as list_shape() in kernel/read_probe.hpp.
_SHAPES = {"strided": (64, 0), "merged": (4109, 0), "misaligned": (4096, 8), "aligned": (4109, 0)}
REPEATS = 7


def requests(pattern: str) -> dict[str, float]:
    """Requests of 32, 64, 96 and 128 bytes for a mean list: what a warp (strided: a thread) asks for at once, as whole
    32-byte sectors of one line.

    >>> requests("strided")
    {'32': 8.0, '64': 0.0, '96': 0.0, '128': 0.0}
    >>> requests("misaligned")
    {'32': 128.0, '64': 0.0, '96': 128.0, '128': 0.0}
    """
    entries, skew = _SHAPES[pattern]
    found = dict.fromkeys(("32", "64", "96", "128"), 0)
    for k in range(_LINE):  # lists begin at every distance from a line equally often
        first = skew + k * entries
        last, step = first + entries, _SECTOR if pattern == "strided" else _LINE
        begin = first - first % _LINE if pattern == "aligned" else first
        for at in range(begin, last, step):
            here, end = max(at, first), min(at + step, last)
            for line in range(here // _LINE, (end - 1) // _LINE + 1):
                low = max(here, line * _LINE) // _SECTOR
                high = (min(end, (line + 1) * _LINE) - 1) // _SECTOR
                found[str(32 * (high - low + 1))] += 1
    return {size: count / _LINE for size, count in found.items()}


def toy(run: Run) -> None:
    """GB/s of entries that were wanted. Sums tell that each entry was read; they are compared with the CPU's."""
    gpu, small = (-1 if run.on_host else run.args.gpu), run.on_host or run.args.quick
    words = 1 << (16 if small else 28)
    results: dict[str, Any] = {}
    sums = {pattern: _core.time_reads(words, pattern, "pinned", 1, -1)[2] for pattern in _SHAPES}
    for memory in ("pinned", "device"):
        for pattern in _SHAPES:
            seconds, nbytes, total = _core.time_reads(words, pattern, memory, REPEATS, gpu)
            right = total == sums[pattern]
            r = {"role": "ours", "status": "ok" if right else "wrong", "memory": memory, "error": float(not right),
                 "pattern": pattern, "requests_a_list": requests(pattern), **harness.summary(seconds)}  # fmt: skip
            r["gb_per_s"] = nbytes / max(r["median"], 1e-12) / 1e9
            if not right:
                r["reason"] = "the sum of what was read is not the CPU's"
            results[pattern if memory == "pinned" else f"{pattern}_device"] = r
    if not run.on_host:
        seconds = _core.time_copy_gpu(4 * words, "device", "pinned", REPEATS, run.args.gpu)
        r = {"role": "probe", "status": "ok", "error": 0.0, "memory": "pinned", "pattern": "memcpy",
             **harness.summary(seconds)}  # fmt: skip
        results["memcpy"] = r | {"gb_per_s": 4 * words / r["median"] / 1e9}
    run.add("toy", {"case": f"{4 * words} bytes", "bytes": 4 * words, "results": results,
                    "best_rival": None, "ratios": {}, "ratios_of_minima": {}})  # fmt: skip
