"""What every part of bench/buono2017.py shares: the machine, its links, the time that is left, and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lib import harness
from lib.paper_runs import PaperRun

import penstock as ps
from studies.buono2017 import matrices


@dataclass
class Run(PaperRun):
    """One run. `gpus` are the counts to measure; without a GPU the host is a device of its own."""

    gpus: list[int] = field(default_factory=list)
    shelf: matrices.Shelf = field(default_factory=matrices.Shelf)
    suite: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def here(self, count: int) -> list[Any]:
        return ["cpu"] * count if self.on_host else list(range(count))

    def settings(self, seconds: float) -> harness.Settings:
        return harness.Settings(self.args.repeats, 0.0, warm_turns=False, seconds=seconds)

    def link(self, count: int = 1, direction: str = "h2d") -> float | None:
        """Probed bytes a second over the links of `count` GPUs at once; None where that was not probed."""
        if self.on_host:
            return self.report.data["machine"]["host_copy"] / 2
        return self.rate(direction, count)

    def streamed(self, count: int, codec: str, keep: bool = False, block: int | None = None) -> Any:
        return ps.Streamed(device=self.here(count), codec=codec, keep=keep, block=block)

    def add(self, part: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Completes a case, keeps it, says what came out."""
        entry = {"part": part, "on_host": self.on_host, **entry}
        if entry.get("turns", self.args.repeats) < self.args.repeats:
            why = f"{entry['turns']} turns, not {self.args.repeats}: its share of --minutes"
            self.report.skip(f"turns of {entry['case']}", why)
        for r in entry["results"].values():
            if r.get("predicted_seconds") and "median" in r:
                r["predicted_over_measured"] = r["predicted_seconds"] / r["median"]
        self.report.add(entry)
        said = [f"{n} {r['gflops']:.2f}" for n, r in entry["results"].items() if "gflops" in r]
        print(f"{part}: {entry['case']}: {', '.join(said) or 'done'}", flush=True)
        return entry


def median_of(entry: dict[str, Any], name: str) -> float | None:
    result = entry["results"].get(name, {})
    return result.get("median") if result.get("status") == "ok" else None


def about(
    source: matrices.Source, entry: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """What cases say of their matrix; of an entry, what a case derived from it takes over."""
    taken = ("dtype", "rows", "cols", "nnz", "matrix_bytes", "load", "turns")
    kept = {key: entry[key] for key in taken if key in entry} if entry else {}
    none = {"results": {}, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}
    first = {**none, **kept} if entry else {}
    return {**first, "source": source.name, "matrix": source.label, **more}
