"""Ways to search take turns: for each source all of them, so that a disturbance falls on all. Results are compared
exactly, those of the first sources verified edge by edge on the CPU."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from lib import harness

from studies.emogi2020.runs import Run
from studies.emogi2020.ways import Found, Way

FEWEST = 3  # sources, where the time is short
WANTED = 16  # or more, for the medians that goals are about
_SLOW, _SLOW_SOURCES = 1.0, 4  # seconds; what is slower, and five times the fastest, stops early


class Turns:
    """`seconds[name]` are by source, as far as a way came."""

    def __init__(self, run: Run, ways: list[Way], a: Any, name: str) -> None:
        self.run, self.ways, self.a, self.name = run, list(ways), a, name
        self.seconds: dict[str, list[float]] = {w.name: [] for w in ways}
        self.calls: dict[str, list[float]] = {w.name: [] for w in ways}
        self.results: dict[str, dict[str, Any]] = {}
        self.work: list[float] = []  # edges of what a source reaches, an undirected one once

    def drop(self, way: Way, status: str, reason: str) -> None:
        self.ways = [w for w in self.ways if w is not way]
        self.results[way.name] = {"role": way.role, "status": status, "reason": reason}

    def search(self, way: Way, source: int, counted: bool = False) -> Found | None:
        try:
            return way.search(source, counted)
        except MemoryError as e:
            self.ways = [w for w in self.ways if w is not way]
            self.seconds[way.name] = []
            self.run.report.skip(f"{self.name}: {way.name}", str(e))
        except Exception as e:  # one way's fault is a result, not the end of the others
            self.drop(way, "failed", f"{type(e).__name__}: {e}")
        return None

    def right(self, way: Way, source: int, result: Any) -> bool:
        try:
            way.algorithm.verify(self.a, source, result)
        except ValueError as e:
            self.drop(way, "wrong", str(e))
            return False
        return True

    def warm(self, source: int) -> None:
        """The first calls of each, which get ready what its view of the graph keeps, ours on the second one, too;
        not of those that begin anew."""
        for way in [w for w in self.ways if not w.fresh]:
            found = self.search(way, source)
            again = self.search(way, source) if found and way.role == "ours" else found
            if found and again:
                self.seconds[way.name] = []
                way.notes |= told(way, again) | {"cold_call": found.call}
                if way.role == "ours":
                    way.notes["second_call"] = again.call

    def turn(self, k: int, source: int, must_verify: bool) -> None:
        truth: tuple[Way, Any] | None = None
        for way in list(self.ways):
            if way.most is not None and k >= way.most:
                continue
            found = self.search(way, source)
            if found is None:
                continue
            self.seconds[way.name].append(found.seconds)
            self.calls[way.name].append(found.call)
            if not way.notes:
                way.notes |= told(way, found)
            truth = self.judge(way, source, found.result, truth, must_verify)
        if truth is not None:
            self.work.append(self.edges(truth[1]))

    def judge(
        self, way: Way, source: int, result: Any, truth: tuple[Way, Any] | None, must_verify: bool
    ) -> tuple[Way, Any] | None:
        """The result that the next ones are compared with. Where two differ the verifier tells who is wrong."""
        if truth is None:
            return None if must_verify and not self.right(way, source, result) else (way, result)
        if way.algorithm.same(result, truth[1]):
            return truth
        if not self.right(way, source, result):
            return truth
        if self.right(
            truth[0], source, truth[1]
        ):  # the verifier lets both pass, and yet they differ
            self.drop(way, "wrong", f"its result is not that of {truth[0].name}")
            return truth
        return way, result

    def edges(self, result: Any) -> float:
        found = result[1] if isinstance(result, tuple) else result
        reached = np.isfinite(found) if found.dtype.kind == "f" else found >= 0
        return 0.5 * float(np.add.reduce(self.run.shelf.degrees(), where=reached, dtype=np.int64))

    def slow(self) -> None:
        fastest = min((statistics.median(s) for s in self.calls.values() if s), default=0.0)
        for way in self.ways:
            if self.calls[way.name] and self.calls[way.name][0] > max(5 * fastest, _SLOW):
                way.most = min(way.most or _SLOW_SOURCES, _SLOW_SOURCES)

    def count(self, sources: list[int]) -> None:
        """Requests over the link by instrumented kernels, of the first sources."""
        for way in [w for w in self.ways if w.counts and self.seconds[w.name]]:
            reads = []
            for source in sources[: len(self.seconds[way.name])]:
                found = self.search(way, source, counted=True)
                read = found.event.get("read") if found and found.event else None
                if read:
                    reads.append(read)
            if reads and way in self.ways:
                way.notes["read"] = self.reading(way, reads)

    def reading(self, way: Way, reads: list[dict[str, Any]]) -> dict[str, Any]:
        """Means over the counted searches."""
        nbytes = statistics.fmean(r["bytes"] for r in reads)
        requests = {
            f"{s}": statistics.fmean(r["requests"][s] for r in reads) for s in (32, 64, 96, 128)
        }
        seconds = statistics.fmean(self.seconds[way.name][: len(reads)])
        link, everything = self.run.rate("zero_copy"), sum(requests.values())
        return {"searches": len(reads), "bytes": nbytes, "requests": requests, "count": everything,
                "share_128": requests["128"] / everything if everything else None,
                "bytes_per_s": nbytes / seconds if seconds else None,
                "link_seconds": nbytes / link if link else None}  # fmt: skip

    def finish(self) -> dict[str, dict[str, Any]]:
        base = self.seconds.get("aligned", [])
        for way in self.ways:
            seconds = self.seconds[way.name]
            if not seconds:
                continue
            r = {"role": way.role, "status": "ok", "error": 0.0, **harness.summary(seconds),
                 "sources": len(seconds), "call": statistics.median(self.calls[way.name]),
                 "device_memory": way.device_memory, "clock": way.clock, **way.notes}  # fmt: skip
            common = min(len(base), len(seconds))
            if common:
                r["speedup"] = statistics.median(base[:common]) / max(
                    statistics.median(seconds[:common]), 1e-12
                )
            rates = [w / max(s, 1e-12) for w, s in zip(self.work, seconds, strict=False)]
            r["gteps"] = statistics.median(rates) / 1e9 if rates else None
            self.results[way.name] = r
        return self.results


def told(way: Way, found: Found) -> dict[str, Any]:
    """What a view of the graph keeps where, and what getting ready took."""
    notes: dict[str, Any] = {"first_call": found.call, "how": way.told()}
    if found.event:
        facts = found.event["graph"]
        names = ("placement", "used_bytes", "sample_bytes", "cache_bytes", "table_bytes", "other_bytes",
                 "offset_bytes", "sample_size", "sample_kind", "build_seconds", "sample_seconds",
                 "cache_seconds", "edge_bytes", "far_bytes", "packed_by", "pack_seconds")  # fmt: skip
        notes |= {name: facts[name] for name in names if name in facts}
    return notes


def measure(
    run: Run, name: str, a: Any, ways: list[Way], sources: list[int], seconds: float, **about: Any
) -> dict[str, Any]:
    """One case: at least FEWEST sources, as many as `seconds` allow."""
    turns, begin = Turns(run, ways, a, name), time.monotonic()
    turns.warm(sources[0])
    done = 0
    for k, source in enumerate(sources):
        if k >= FEWEST and (time.monotonic() - begin) * (k + 1) / k > seconds:
            break
        turns.turn(k, source, k < run.args.verify)
        done += 1
        if k == 0:
            turns.slow()
    turns.count(sources[: run.args.counted])
    results = turns.finish()
    for r in results.values():
        if "read" in r:
            r["read"]["amplification"] = r["read"]["bytes"] / max(about["edge_bytes"], 1)
        if "sample_bytes" in r:
            lists = r["cache_bytes"] - r.get("table_bytes", 0)
            r["kept_share"] = (r["sample_bytes"] + lists) / max(about["edge_bytes"], 1)
    if done < min(len(sources), WANTED):
        run.report.skip(f"sources of {name}", f"{done}, not {len(sources)}: its share of --minutes")
    return {"case": name, **about, "turns": done, "verified": min(done, run.args.verify),
            "results": results, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}  # fmt: skip
