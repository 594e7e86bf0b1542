"""What the parts of bench/brock2024.py share: the time left, the report, and this machine's network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lib.paper_runs import PaperRun

import penstock as ps
from studies.brock2024.paper import TABLE_1

NOTHING: dict[str, Any] = {"results": {}, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}


@dataclass
class Run(PaperRun):
    networks: dict[int, Any] = field(default_factory=dict)
    probe_seconds: float = 0.3

    def network(self, ranks: int) -> Any:
        """Of ranks that are threads, measured once for each number."""
        if ranks not in self.networks:
            facts = ps.dist.run(ps.dist.calibrate, ranks, seconds=self.probe_seconds)[0]
            self.networks[ranks] = ps.dist.Network.of(facts)
        return self.networks[ranks]

    def add(self, part: str, entry: dict[str, Any]) -> None:
        """Keeps a case, and says what came out."""
        self.report.add({"part": part, **entry})
        said = [f"{n} {r['gflops']:.2f}" for n, r in entry["results"].items() if "gflops" in r]
        print(f"{part}: {entry['case']}: {', '.join(said) or 'done'}", flush=True)


def about(source: Any, a: Any, **more: Any) -> dict[str, Any]:
    """What cases say of their matrix."""
    m = TABLE_1[source.name]
    return {**NOTHING, "matrix": source.name, "stand_in": source.stand_in, "rows": a.shape[0], "nnz": a.nnz,
            "paper_rows": m.rows, "paper_nnz": m.nnz, "paper_imbalance": m.imbalance, **more}  # fmt: skip
