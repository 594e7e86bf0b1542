"""The goals of bench/brock2024.py, met or missed, and what it says at its end."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, of_part, target
from lib.paper_tables import show as show_all

from studies.brock2024 import gpu_tables as on_gpus
from studies.brock2024 import paper
from studies.brock2024.tables import MEASURED, named, tables

Rows = list[tuple[str, float]]
_IMBALANCED, _BALANCED = 2.0, 1.2  # of entries, most over mean; the paper's cases and its even ones


def _over_summa(data: Report, part: str, least: float = 0.0) -> Rows:
    """SUMMA's time over the fastest one-sided algorithm's."""
    found = []
    for c in of_part(data, part):
        theirs = good(c, "summa").get("median")
        ours = [
            good(c, n)["median"] for n in c["results"] if n != "summa" and "median" in good(c, n)
        ]
        if theirs and ours and c["ranks"] > 1 and c["nnz_imbalance"] >= least:
            found.append((c["case"], theirs / min(ours)))
    return found


def _stealing(data: Report, imbalanced: bool) -> Rows:
    """Imbalance that stealing leaves, of that without; where it is balanced, the time with over without."""
    found = []
    for part in MEASURED:
        for c in of_part(data, part):
            alone, both = good(c, "c"), good(c, "c+locality")
            if c["ranks"] == 1 or "median" not in alone or "median" not in both:
                continue
            if imbalanced and c["nnz_imbalance"] >= _IMBALANCED and alone["imbalance"] > 0:
                found.append((c["case"], both["imbalance"] / alone["imbalance"]))
            elif not imbalanced and c["nnz_imbalance"] <= _BALANCED:
                found.append((c["case"], both["median"] / alone["median"]))
    return found


def _predicted(data: Report) -> Rows:
    found = []
    for part in MEASURED:
        for c in of_part(data, part):
            for name in c["results"]:
                p = good(c, name).get("predicted_over_product")
                if p:
                    found.append((f"{c['case']}: {name}", max(p, 1 / p)))
    return found


def _counted(data: Report) -> Rows:
    """Bytes that travel, the model's over the ranks', C stationary and nothing stolen: these are exact for SpMM."""
    found = []
    for c in of_part(data, "spmm"):
        r = good(c, "c")
        if r.get("fetched_bytes"):
            ratio = r["predicted_bytes"] / r["fetched_bytes"]
            found.append((c["case"], max(ratio, 1 / ratio)))
    return found


def targets(data: Report) -> list[Target]:
    """At toy sizes these mean nothing: they are listed as not measured."""
    first = of_part(data, "figure_1")
    if data["quick"]:
        data, first = {**data, "cases": []}, []
    f = paper.FIGURE_1
    return [
        target("bytes fetched, C stationary: the model's over the ranks', either way", 1.01, _counted(data), most=True),
        target("SpMM: SUMMA's time over the best one-sided", 1.0, _over_summa(data, "spmm")),
        target("SpMM, imbalance above 2: the same", 1.5, _over_summa(data, "spmm", _IMBALANCED)),
        target("SpGEMM: the same", 1.0, _over_summa(data, "spgemm")),
        target("SpGEMM, imbalance above 2: the same", 1.3, _over_summa(data, "spgemm", _IMBALANCED)),
        target("waiting that stealing leaves, imbalance above 2", 0.5, _stealing(data, True), most=True),
        target("time with stealing over without, balanced", 1.03, _stealing(data, False), most=True),
        target("predicted time against measured, preparation apart, either way", 1.5, _predicted(data), most=True),
        *(target(f"figure 1: {key.replace('_', ' ')} against the paper's, either way", 1.1,
                 [(c["case"], max(c[key] / f[key], f[key] / c[key])) for c in first], most=True)
          for key in ("end_to_end", "per_stage")),
        *on_gpus.targets(data),
    ]  # fmt: skip


def show(data: Report) -> None:
    stand_ins = sorted({named(c) for c in data["cases"] if c.get("stand_in")})
    if stand_ins:
        entries = data["settings"]["entries"]
        print(f"\n{len(stand_ins)} of the matrices are stand-ins (*) of about {entries:,} entries, made to "
              "the entries a row and the imbalance of Table 1: their structure is ours.")  # fmt: skip
    show_all(data, tables(data))
