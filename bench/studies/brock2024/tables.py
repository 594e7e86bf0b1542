"""The tables of bench/brock2024.py: the paper's rows and ours side by side, from a report."""

from __future__ import annotations

from typing import Any

from lib.paper_tables import Report, Table, good, number, of_part

from studies.brock2024 import gpu_tables as on_gpus
from studies.brock2024 import paper

MEASURED = ("spmm", "spgemm")
TITLES = {
    "spmm": "SpMM (figures 3 and 4), ranks that are threads",
    "spgemm": "SpGEMM, A A (figure 5), ranks that are threads",
}
_COMPONENTS = ("compute", "communication", "accumulation", "imbalance")


def named(case: dict[str, Any]) -> str:
    return case["matrix"] + ("*" if case["stand_in"] else "")


def balance(data: Report) -> list[Table]:
    rows = [
        [named(c), paper.TABLE_1[c["matrix"]].kind, f"{c['paper_rows']:,}", f"{c['rows']:,}", f"{c['paper_nnz']:,}",
         f"{c['nnz']:,}", f"{c['paper_imbalance']:.2f}", f"{c['imbalance']:.2f}", c["stand_in"] or "the paper's"]
        for c in of_part(data, "balance")
    ]  # fmt: skip
    header = ["matrix", "kind", "rows, paper", "ours", "nonzeros, paper", "ours", "imbalance, paper", "ours",
              "what it is"]  # fmt: skip
    tables: list[Table] = [("Table 1, 10 x 10 ranks; * a stand-in", header, rows)] if rows else []
    f = paper.FIGURE_1
    first = [
        [c["case"], f"{f['end_to_end']}", f"{c['end_to_end']:.2f}", f"{f['per_stage']}", f"{c['per_stage']:.2f}",
         f"{c['summa_stages']:.2f}"]
        for c in of_part(data, "figure_1")
    ]  # fmt: skip
    header = [
        "squared",
        "paper, end to end",
        "ours",
        "paper, per stage",
        "ours",
        "ours, SUMMA's order",
    ]
    return (
        [*tables, ("Figure 1: most over mean flops of a rank", header, first)] if first else tables
    )


def measured(data: Report, part: str) -> list[Table]:
    """Times and, as Table 2, what they are; means over ranks in ms."""
    rows = []
    for c in of_part(data, part):
        fastest = min((good(c, n).get("median", 1e300) for n in c["results"]), default=1e300)
        for name in c["results"]:
            r = good(c, name)
            if "median" in r:
                rows.append([
                    named(c), *([f"{c['columns']}"] if c["columns"] else []), f"{c['ranks']}",
                    f"{name}{' (fastest)' if r['median'] == fastest else ''}", number(r["gflops"]),
                    number(r["median"], ".4g", 1e3), *(number(r[k], ".3g", 1e3) for k in _COMPONENTS),
                    number((r["fetched_bytes"] + r["sent_bytes"]) / 1e6), number(r["stolen"], ".0f"),
                    number(r["prepare"], ".3g", 1e3), number(r["predicted_seconds"], ".4g", 1e3),
                    number(r["predicted_over_product"], ".2f"),
                ])  # fmt: skip
    header = ["matrix", *(["columns"] if part == "spmm" else []), "ranks", "algorithm", "GFLOP/s", "ms", "comp", "comm",
              "acc", "load imb", "MB", "stolen", "prepare", "predicted ms", "pred/(ms - prepare)"]  # fmt: skip
    return [(TITLES[part], header, rows)] if rows else []


def table_2(data: Report) -> list[Table]:
    """Shares of the paper's seconds beside those predicted for its machine: a stand-in is smaller."""
    rows = []
    found = {(c["matrix"], c["op"]): c for c in of_part(data, "oracle")}
    for (name, algorithm, ranks), theirs in paper.TABLE_2.items():
        c = found.get((name, "spmm"))
        at = {(p["algorithm"], p["ranks"]): p for p in c["predictions"]} if c else {}
        p = at.get((algorithm, ranks))
        if not c or not p:
            continue
        total = sum(v or 0.0 for v in theirs)
        mine = [p[k] / p["seconds"] for k in ("compute", "communicate", "accumulate", "imbalance")]
        shares = [
            f"{'-' if t is None else format(t / total, '.0%')} / {m:.0%}"
            for t, m in zip(theirs, mine, strict=True)
        ]
        rows.append([named(c), algorithm, f"{ranks}", *shares, number(p["seconds"], ".3g", 1e3)])
    header = [
        "matrix",
        "algorithm",
        "GPUs",
        "comp, paper / predicted",
        "comm",
        "acc",
        "load imb",
        "predicted ms",
    ]
    title = f"Table 2a: shares of the time, SpMM with {paper.TABLE_2_COLUMNS} columns; predicted for a smaller stand-in"
    return [(title, header, rows)] if rows else []


def oracle(data: Report) -> list[Table]:
    rows = []
    for c in of_part(data, "oracle"):
        most = max(p["ranks"] for p in c["predictions"])
        at = {p["algorithm"]: p for p in c["predictions"] if p["ranks"] == min(most, 256)}
        ours = [p for n, p in at.items() if n != "summa"]
        best = min(ours, key=lambda p: p["seconds"], default=None)
        ratio = at["summa"]["seconds"] / best["seconds"] if best and "summa" in at else None
        r = c["recommended"]
        rows.append([named(c), c["op"], c["machine"], f"{r['algorithm']} on {r['ranks']}",
                     best["algorithm"] if best else "-", f"{best['ranks']}" if best else "-", number(ratio, ".2f"),
                     number(best["imbalance"] / best["seconds"] if best else None, ".0%")])  # fmt: skip
    header = ["matrix", "op", "machine", "recommended", "fastest", "on GPUs", "SUMMA's time over it",
              "lost to imbalance"]  # fmt: skip
    return [("Predicted for the paper's machines", header, rows)] if rows else []


def roofline(data: Report) -> list[Table]:
    rows = []
    for c in of_part(data, "roofline"):
        for r in c["rows"]:
            what = (
                f"{r['columns']} columns"
                if "columns" in r
                else f"{r['ranks']} GPUs, cf {r['compression']:.2f}"
            )
            net = r["network_flops_per_s"]
            rows.append([c["case"], what, number(r["network_intensity"]), number(net, ".4g", 1e-9),
                         number(r["local_flops_per_s"], ".4g", 1e-9), r["bound"]])  # fmt: skip
    header = [
        "product",
        "",
        "flops a network byte",
        "GFLOP/s under the network",
        "under the memory",
        "bound",
    ]
    return [("Figure 2: bounds of one GPU of Summit", header, rows)] if rows else []


def tables(data: Report) -> list[Table]:
    found = balance(data)
    for part in MEASURED:
        found += measured(data, part)
    return [*found, *table_2(data), *oracle(data), *roofline(data), *on_gpus.tables(data)]
