"""What bench/dist_cpu.py says at its end, and its part of the results page: tables, goals, a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lib.paper_tables import Report, Table, Target, good, markdown, number, of_part, target
from lib.paper_tables import show as show_all
from lib.plot_ratios import figure, ratios, save

OURS = {
    "spmv": "penstock_prepared",
    "cg": "penstock",
    "spgemm": "penstock",
}  # whose ratio is a goal's
TITLES = {"seconds": "all ranks, ms a product", "cpu": "CPU of the slowest rank, ms a product"}


def _ms(r: dict[str, Any], key: str = "median") -> str:
    return number(r.get(key), ".4g", 1e3)


def _ratio(case: dict[str, Any], who: str) -> str:
    return number(case["ratios"].get(who), ".2f")


def spmv(data: Report) -> list[Table]:
    names = ("penstock", "penstock_prepared", "penstock_threads", "penstock_threads_prepared")
    rows = [
        [c["matrix"], f"{c['rows']:,}", f"{c['nnz']:,}", *(_ms(good(c, n)) for n in (*names, "petsc")),
         good(c, names[1]).get("kernel", "-"), *(_ratio(c, n) for n in names), number(c["load"], ".1f")]
        for c in of_part(data, "spmv")
    ]  # fmt: skip
    header = ["matrix", "rows", "nonzeros", "ours, ms", "prepared", "threads", "prepared", "PETSc", "plan",
              "PETSc / ours", "prepared", "threads", "prepared", "load"]  # fmt: skip
    return [("Products", header, rows)] if rows else []


def cg(data: Report) -> list[Table]:
    rows = []
    for c in of_part(data, "cg"):
        cells = [c["matrix"], c["preconditioner"]]
        for who in ("penstock", "penstock_threads", "petsc"):
            r = good(c, who)
            cells += [_ms(r), str(r.get("iterations", "-")), _ms(r, "seconds_per_iteration")]
        cells += [_ratio(c, who) for who in ("penstock", "penstock_threads")]
        rows.append([*cells, number(c["load"], ".1f")])
    header = ["matrix", "M", "ours, ms", "iterations", "each", "threads", "iterations", "each", "PETSc",
              "iterations", "each", "PETSc / ours", "threads", "load"]  # fmt: skip
    return [("CG", header, rows)] if rows else []


def spgemm(data: Report) -> list[Table]:
    rows = [
        [c["matrix"], f"{c['rows']:,}", f"{c['products'] / 1e6:.3g}", f"{c['ranks']}",
         *(_ms(good(c, n)) for n in ("penstock", "penstock_threads", "petsc")),
         " x ".join(str(n) for n in good(c, "penstock").get("grid", [])) or "-",
         *(_ratio(c, n) for n in ("penstock", "penstock_threads")), number(c["load"], ".1f")]
        for c in of_part(data, "spgemm")
    ]  # fmt: skip
    header = ["matrix", "rows", "products of entries, millions", "ranks", "ours, ms", "threads", "PETSc", "grid",
              "PETSc / ours", "threads", "load"]  # fmt: skip
    return [("A A", header, rows)] if rows else []


def layouts(data: Report) -> list[Table]:
    tables: list[Table] = []
    for c in of_part(data, "layouts"):
        rows = []
        for who, r in c["results"].items():
            ratio = "1.00" if who == c["best_rival"] else _ratio(c, who)
            rows.append([who, _ms(good(c, who)), ratio, f"{r['imbalance']:.2f}",
                         f"{r['halo_entries']:,}", f"{r['partial_sums']:,}", f"{r['messages']}"])  # fmt: skip
        header = ["layout", "ms", "naive / it", "most entries / mean", "halo", "partial sums", "messages"]  # fmt: skip
        title = f"{c['matrix']} on {c['ranks']} ranks ({c['comm']}): {TITLES[c['clock']]}"
        tables.append((title, header, rows))
    return tables


def memory(data: Report) -> list[Table]:
    rows = [
        [c["case"], str(rank), number(c["share"][rank] / 1e6), number(c["loading"][rank] / 1e6),
         number(c["peak"][rank] / 1e6), number(c["ratio"][rank], ".2f")]
        for c in of_part(data, "memory") for rank in range(c["ranks"])
    ]  # fmt: skip
    header = ["source", "rank", "share and halo, MB", "most while loading", "most", "ratio"]
    return [("Peak memory of a rank's process above what it had before", header, rows)] if rows else []  # fmt: skip


def tables(data: Report) -> list[Table]:
    return [*spmv(data), *cg(data), *spgemm(data), *layouts(data), *memory(data)]


def targets(data: Report) -> list[Target]:
    """At toy sizes these mean nothing: they are listed as not measured."""
    if data["quick"]:
        data = {**data, "cases": []}
    found = []
    for part, what in (("spmv", "product, prepared"), ("cg", "CG"), ("spgemm", "A A")):
        got = [(c["matrix"], c["ratios"][OURS[part]]) for c in of_part(data, part)
               if OURS[part] in c["ratios"]]  # fmt: skip
        found.append(target(f"{what}, MPI: PETSc's time / ours", 1.0, got))
    for clock in ("seconds", "cpu"):
        got = [(f"{c['case']}: {who}", c["ratios"][who]) for c in of_part(data, "layouts")
               if c["clock"] == clock for who in ("balanced", "bins") if who in c["ratios"]]  # fmt: skip
        best = [max(got, key=lambda pair: pair[1])] if got else []
        found.append(
            target(
                f"naive layout's time / the better of balanced and bins, {TITLES[clock]}", 1.3, best
            )
        )
    for kind in ("store", "store_bins", "generator", "generator_bins", "file"):
        got = [(f"{c['case']}, rank {r}", ratio) for c in of_part(data, "memory")
               if c["source"] == kind for r, ratio in enumerate(c["ratio"])]  # fmt: skip
        found.append(target(f"peak memory / share and halo, {kind}", 1.3, got, most=True))
    return found


def show(data: Report) -> None:
    show_all(data, tables(data))


def _compared(data: Report, part: str) -> list[dict[str, Any]]:
    return [c for c in of_part(data, part) if ratios(c, OURS[part])]


def save_all(data: Report, folder: Path, name: str = "dist_cpu") -> list[Path]:
    """NAME_PART.svg, PETSc's time over ours; returns their paths."""
    paths = []
    for part, ours in OURS.items():
        cases = _compared(data, part)
        if cases:
            paths.append(folder / f"{name}_{part}.svg")
            save(paths[-1], figure(f"{data['settings']['ranks']} ranks: {part}", cases, ours, None))
    return paths


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    figures = [
        (f"Ratios of {part}", f"{pictures}/{name}_{part}.svg")
        for part in OURS if _compared(data, part)
    ]  # fmt: skip
    return markdown(data, tables(data), figures)
