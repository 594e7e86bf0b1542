"""What the parts of bench/page_kogge2018.py share: the time left, the report, and whether MPI is there."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from lib.paper_runs import PaperRun

from studies.page_kogge2018.paper import TABLE_1


@functools.cache
def _mpi_missing() -> str | None:
    try:
        from penstock.dist import _mpi_find

        found = _mpi_find.find()
        _mpi_find.plugin(found)
    except Exception as e:
        return f"no MPI: {' '.join(str(e).split())}"
    if found.tool("mpiexec", "mpirun") is None:
        return f"{found.libmpi} has no mpiexec beside it"
    return None


@dataclass
class Run(PaperRun):
    network: Any = None
    cpus: int = 1

    def mpi_missing(self) -> str | None:
        """Why jobs of processes cannot be started here; None where they can."""
        return _mpi_missing()

    def add(self, part: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Keeps a case, and says what came out."""
        self.report.add({"part": part, **entry})
        said = [f"{n} {r['gflops']:.2f}" for n, r in entry["results"].items() if "gflops" in r]
        print(f"{part}: {entry['case']}: {', '.join(said) or 'done'}", flush=True)
        return entry


def about(source: Any, a: Any, **more: Any) -> dict[str, Any]:
    """What cases say of their matrix."""
    none = {"results": {}, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}
    return {**none, "matrix": source.name, "stand_in": source.stand_in, "rows": a.shape[0], "nnz": a.nnz,
            "per_row": a.nnz / max(a.shape[0], 1), "paper_per_row": TABLE_1[source.name].per_row, **more}  # fmt: skip
