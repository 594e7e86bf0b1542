"""The tables of bench/cardellini2014.py: strategies beside one another, from a report."""

from __future__ import annotations

from lib.paper_tables import Report, Table, good, number, of_part, size

from studies.cardellini2014 import paper
from studies.cardellini2014.read import efficiency, present, scenarios, where


def _figure(ranks: int, gpus: int) -> str:
    told = paper.FIGURES.get((ranks, gpus))
    return f" ({told}; {paper.scenario(ranks, gpus)})" if told else ""


def throughput(data: Report) -> list[Table]:
    found = []
    for (ranks, gpus), cases in scenarios(of_part(data, "throughput")).items():
        names = present(cases)
        rows = [[c["matrix"], f"{c['rows']:,}", *(number(good(c, n).get("gflops"), ".4g") for n in names),
                 number(max(c["ratios"].values(), default=None), ".2f")] for c in cases]  # fmt: skip
        header = ["matrix", "rows", *map(paper.shown, names), "best of ours over the paper's"]
        found.append(
            (f"Throughput, {where(ranks, gpus)}{_figure(ranks, gpus)}: GFLOP/s", header, rows)
        )
    return found


def hidden(data: Report) -> list[Table]:
    """Where a product's time goes, of the largest matrix: what of the exchange the local product does not hide."""
    rows = []
    for cases in scenarios(of_part(data, "throughput")).values():
        case = max(cases, key=lambda c: c["n"])
        for name in present([case]):
            r = good(case, name)
            each = r.get("each", {})
            spent = [
                r["median"],
                *(each.get(k) for k in ("local", "exchange", "pack", "copy", "wait")),
            ]
            rows.append([f"{case['matrix']}, {where(case['ranks'], case['gpus'])}", paper.shown(name),
                         *(number(s, ".4g", 1e6) for s in spent)])  # fmt: skip
    header = ["matrix", "strategy", "product", "posting and local", "exchange after it", "packing", "copies",
              "waiting for ranks"]  # fmt: skip
    return [("Times of the slowest rank: us a product", header, rows)] if rows else []


def copies(data: Report) -> list[Table]:
    found = []
    for (ranks, gpus), cases in scenarios(of_part(data, "copies")).items():
        names = present(cases)
        rows = [[f"pde{c['n']}", size(c["exchanged_bytes"]),
                 *(number(good(c, n).get("median"), ".4g", 1e6) for n in names)] for c in cases]  # fmt: skip
        title = f"The exchange alone, {where(ranks, gpus)} (figure 1(b)): us"
        found.append((title, ["matrix", "volume", *map(paper.shown, names)], rows))
    return found


def weak(data: Report) -> list[Table]:
    cases, rows = of_part(data, "weak"), []
    names, ours, theirs = present(cases), efficiency(data, "ours"), efficiency(data, "rival")
    for c in cases:
        at = (c["base"], c["count"])
        rows.append([f"pde{c['base']} each", f"{c['count']}", c["matrix"],
                     *(number(good(c, n).get("gflops"), ".4g") for n in names),
                     number(ours.get(at), ".1%"), number(theirs.get(at), ".1%")])  # fmt: skip
    header = ["size", "GPUs" if not data["settings"]["on_host"] else "ranks", "matrix", *map(paper.shown, names),
              "efficiency, ours", "efficiency, paper's"]  # fmt: skip
    return [("Weak scaling (figure 6): GFLOP/s", header, rows)] if rows else []


def exchange(data: Report) -> list[Table]:
    cases, rows = of_part(data, "exchange"), []
    names = [n for n in present(cases) if n != "hand"]  # hand_packed among them
    for c in cases:
        rows.append([f"pde{c['n']}, {c['ranks']} ranks", c["messages_by"], size(c["exchanged_bytes"]),
                     number(good(c, "hand").get("median"), ".4g", 1e6),
                     *(number(good(c, n).get("over_hand"), ".2f") for n in names)])  # fmt: skip
    header = ["exchange", "messages", "volume", "by hand, us", *names]
    return (
        [("Exchange on the CPU: time over that of the same messages by hand", header, rows)]
        if rows
        else []
    )


def kernel(data: Report) -> list[Table]:
    cases = of_part(data, "kernel")
    names = present(cases)
    rows = [[c["matrix"], f"{c['nnz']:,}", *(number(good(c, n).get("gflops"), ".4g") for n in names),
             *(number(good(c, n).get("gb_per_s"), ".4g") for n in ("csr", "ell_g"))] for c in cases]  # fmt: skip
    header = ["matrix", "nonzeros", *names, "csr GB/s", "ell_g GB/s"]
    return [("The local product: GFLOP/s (the paper's is ELL-G)", header, rows)] if rows else []


def cg(data: Report) -> list[Table]:
    cases = of_part(data, "cg")
    names = present(cases)
    rows = [[f"{c['n']}^3, {where(c['ranks'], c['gpus'])}",
             *(number(good(c, n).get("iterations_per_s"), ".4g") for n in names)] for c in cases]  # fmt: skip
    return (
        [("CG: iterations a second", ["Laplacian", *map(paper.shown, names)], rows)] if rows else []
    )


def links(data: Report) -> list[Table]:
    together = data["probe"]["together"]
    pairs = [("1-2", "2 GPUs of one node, each", "2"), ("2-1", "one GPU of a node", "1")]
    rows = [[what, *(f"{paper.BANDWIDTH[name][k] / 1e3:.2f}" for k in ("pageable", "pinned")),
             number(together[n]["h2d"] / int(n), ".1f", 1e-9)] for name, what, n in pairs if n in together]  # fmt: skip
    header = ["from host to GPU", "paper, pageable", "paper, pinned", "here, pinned"]
    return [("Section VI-A: GB/s a GPU", header, rows)] if rows else []


def tables(data: Report) -> list[Table]:
    parts = (links, kernel, throughput, hidden, copies, weak, cg, exchange)
    return [table for part in parts for table in part(data)]
