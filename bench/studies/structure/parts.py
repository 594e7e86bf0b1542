"""One algorithm on one lift: in core and within the budget on a GPU, on the CPU, libraries and programs beside them."""

from __future__ import annotations

import gc
import time
from typing import Any

from lib import harness
from lib.paper_tables import Report, Table

from studies.emogi2020 import rivals as programs
from studies.emogi2020.graphs import Source, spaced
from studies.emogi2020.runs import Run, about
from studies.emogi2020.turns import measure
from studies.emogi2020.ways import ALGORITHMS, FEW, ways
from studies.structure import rivals, several

ALGORITHM_NAMES = {"bfs": "Breadth-first search", "cc": "Components", "sssp": "Shortest paths"}
_TURNS_WITHOUT_SOURCE = 7
_WITH_PROGRAMS = ("aligned", "default", "in_core", "cpu")  # of ours, for --programs-only
_MOST_OF_LIBRARIES = 2e8  # entries: SciPy takes half a minute for the components of 1e9


def search(run: Run, name: str, source: Source, seconds: float) -> None:
    """Adds the case of an algorithm: "bfs", "cc" or "sssp", in about so many seconds. Programs have what our rows leave
    of these, and their even share at least."""
    algorithm, only_programs = ALGORITHMS[name], run.args.programs_only
    end = time.monotonic() + seconds
    a = run.shelf.get(source)
    if name == "sssp":
        if not run.memory_for(f"sssp {source.name}", 4.2 * a.nnz):
            return
        a = run.shelf.get(source, weighted=True)
    edge_bytes = (5 if name == "sssp" else 4) * a.nnz  # weights of 8 to 72 take one byte
    starts = spaced(a, run.args.sources, evenly=False)
    if only_programs:
        starts = starts[: programs.GAP_SOURCES]
    if not starts:
        run.report.skip(f"{name} {source.name}", "no vertex has an edge")
        return
    if not algorithm.has_source:
        starts = [0] * min(len(starts), _TURNS_WITHOUT_SOURCE)
    wanted = _WITH_PROGRAMS if only_programs else (*FEW, "packed", "default")
    everybody = ways(run, algorithm, a, edge_bytes, wanted)
    everybody += several.ways(run, algorithm, a, edge_bytes)
    if a.nnz <= _MOST_OF_LIBRARIES and not only_programs:
        everybody += rivals.ways(run, algorithm, a)
    folders = bool(run.args.emogi) + bool(run.args.gap)
    said = about(run, source, a, name, edge_bytes)
    said |= {"copies": said.pop("scale"), "mix": run.args.mix}
    if run.rate("h2d"):
        said["pass_seconds"] = edge_bytes / run.rate("h2d")
    entry = measure(
        run, f"{name} {source.name}", a, everybody, starts, seconds / (1 + folders), **said
    )
    everybody.clear()
    gc.collect()
    if folders:
        least = seconds * folders / (1 + folders)
        theirs = max(end - time.monotonic(), least)
        programs.add(run, entry, algorithm, source, a, starts, evenly=False, seconds=theirs)
    several.compare(entry["results"], len(run.args.gpus))
    for r in entry["results"].values():
        if r["role"] == "cpu":
            r["role"] = "ours"
        if "max" in r:
            r["worst"] = r["max"] / r["median"]
    entry |= harness.compare(entry["results"])
    run.add(name, entry)


_COLUMNS = {
    "in core": "in_core",
    "default": "default",
    "packed": "packed",
    "as they are": "ours",
    "EMOGI's method": "aligned",
    "EMOGI": "emogi",
    "CPU": "cpu",
    "GAP": "gap",
}


def table(cases: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """(header, rows): milliseconds, the worst root in brackets. "over" is the default's time over that in core; the
    first call, with all that is made ready, is in passes of all edges over the link, the second one in medians."""
    header = ["case", "vertices, M", "entries, M", *_COLUMNS, "best library", "over", "a pass",
              "first call", "second"]  # fmt: skip
    rows = []
    for case in cases:
        good = {n: r for n, r in case["results"].items() if r["status"] == "ok" and "median" in r}

        def ms(r: dict[str, Any] | None) -> str:
            return f"{1e3 * r['median']:.3g} ({1e3 * r['max']:.3g})" if r else "-"

        both = [good[name]["median"] for name in ("default", "in_core") if name in good]
        library = next((n for n in ("networkit", "scipy") if n in good), "")
        first = good.get("default", {})
        a_pass = case.get("pass_seconds")
        rows.append([
            case["case"], f"{case['rows'] / 1e6:.3g}", f"{case['nnz'] / 1e6:.3g}",
            *(ms(good.get(name)) for name in _COLUMNS.values()), f"{ms(good.get(library))} {library}".strip(),
            f"{both[0] / both[1]:.2f}" if len(both) == 2 else "-", f"{1e3 * a_pass:.3g}" if a_pass else "-",
            f"{first['cold_call'] / a_pass:.2f}" if a_pass and "cold_call" in first else "-",
            f"{first['second_call'] / first['call']:.2f}" if first.get("call") and "second_call" in first else "-",
        ])  # fmt: skip
    used = [k for k in range(len(header)) if k < 3 or any(row[k] != "-" for row in rows)]
    return [header[k] for k in used], [[row[k] for k in used] for row in rows]


def tables(data: Report) -> list[Table]:
    """A table an algorithm, and one of several GPUs."""
    found = []
    for algorithm, title in ALGORITHM_NAMES.items():
        cases = [c for c in data["cases"] if c["algorithm"] == algorithm]
        if cases:
            found.append((f"{title} on lifts: ms, the worst root in brackets", *table(cases)))
    return found + several.tables(data)
