"""What every part of bench/emogi2020.py shares: the graphs, the temporary folder of rivals, and the report's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lib.paper_runs import PaperRun

from studies.emogi2020.graphs import Shelf, Source


@dataclass
class Run(PaperRun):
    temporary: Path = Path()
    shelf: Shelf = field(default_factory=Shelf)
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # (part, graph)

    def add(self, part: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Keeps a case, and says what came out."""
        entry = {"part": part, "on_host": self.on_host, **entry}
        self.report.add(entry)
        self.rows[part, entry.get("graph", "")] = entry
        good = [(n, r) for n, r in entry["results"].items() if "median" in r]
        said = ", ".join(f"{n} {r['median'] * 1e3:.3g} ms" for n, r in good)
        print(f"{part}: {entry['case']}: {said or 'done'}", flush=True)
        return entry


def about(run: Run, source: Source, a: Any, algorithm: str, edge_bytes: int) -> dict[str, Any]:
    """What cases say of their graph."""
    return {"graph": source.name, "kind": source.kind, "scale": source.scale, "algorithm": algorithm,
            "rows": a.shape[0], "nnz": a.nnz, "edge_bytes": edge_bytes, "share": run.args.share,
            "make_seconds": run.shelf.seconds}  # fmt: skip
