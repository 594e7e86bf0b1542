"""Tables, goals and figures of the part `gpus` of bench/brock2024.py."""

from __future__ import annotations

from typing import Any

from lib.paper_tables import Report, Table, Target, good, number, of_part, size, target
from lib.plot_ratios import COLOURS, MARKERS

_COMPONENTS = ("compute", "communication", "accumulation", "imbalance")
_IMBALANCED, _BALANCED = 2.0, 1.2
_MANY = 4  # GPUs from which goals count


def tables(data: Report) -> list[Table]:
    """Times and, as Table 2, what they are, means over ranks in ms; gets between GPUs."""
    rows = []
    for c in of_part(data, "gpus"):
        fastest = min((good(c, n).get("median", 1e300) for n in c["results"]), default=1e300)
        for name in c["results"]:
            r = good(c, name)
            if "median" in r:
                rows.append([
                    c["matrix"], f"{c['columns'] or 'A A'}", f"{c['gpus']}",
                    f"{name}{' (fastest)' if r['median'] == fastest else ''}", number(r["gflops"], ".4g"),
                    number(r["median"], ".4g", 1e3), *(number(r[k], ".3g", 1e3) for k in _COMPONENTS),
                    number(r["prepare"], ".3g", 1e3), number((r["fetched_bytes"] + r["sent_bytes"]) / 1e6),
                    number(r["stolen"], ".0f"), number(r["of_roofline"], ".2f"), number(r["of_reachable"], ".2f"),
                    number(r["predicted_over_product"], ".2f"),
                ])  # fmt: skip
    if not rows:
        return []
    header = ["matrix", "columns", "GPUs", "algorithm", "GFLOP/s", "ms", "comp", "comm", "acc", "load imb", "prepare",
              "MB", "stolen", "of roofline", "of reachable", "pred/(ms - prepare)"]  # fmt: skip
    where = "the CPU in the place of each GPU" if data.get("gpus_on_host") else "GPUs of one host"
    found: list[Table] = [(f"Strong scaling, {where}", header, rows)]
    rows = [
        [c["matrix"], c["about"], f"{c['nnz']:,}", f"{c['columns'] or 'A A'}", f"{c['gpus']}",
         number(c["nnz_imbalance"], ".2f"), number(c["stage_imbalance"], ".2f"), c["roofline"]["bound"],
         number(c["over_fewest"], ".2f"), number(_summa_over(c), ".2f")]
        for c in of_part(data, "gpus")
    ]  # fmt: skip
    header = ["matrix", "what it is", "nonzeros", "columns", "GPUs", "imbalance", "per stage", "bound",
              "speed over fewest", "SUMMA's time over ours"]  # fmt: skip
    found.append(("The same: tiles, and the fastest one-sided algorithm", header, rows))
    facts = data.get("gpus_measured", {})
    if facts.get("gets"):
        peer = facts.get("probed_peer")
        rows = [
            [size(n), number(s, ".3g", 1e6), number(n / s, ".4g", 1e-9),
             number(n / many[-1] if many else None, ".4g", 1e-9),
             number(n / (many or [s])[-1] / peer if peer else None, ".2f")]
            for n, s, *many in facts["gets"]
        ]  # fmt: skip
        header = ["", "us", "GB/s", "4 under way: GB/s", "of the probed peer copy"]
        found.append(("Gets out of another GPU", header, rows))
    return found


def _summa_over(c: dict[str, Any]) -> float | None:
    ours = [good(c, n)["median"] for n in c["results"] if n != "summa" and "median" in good(c, n)]
    theirs = good(c, "summa").get("median")
    return theirs / min(ours) if theirs and ours else None


def of_peer(data: Report) -> list[tuple[str, float]]:
    """Rates of gets of 4 MB and more, of which four are under way, over the probed peer copy's."""
    facts = data.get("gpus_measured", {})
    peer = facts.get("probed_peer")
    rows = [(row[0], row[-1]) for row in facts.get("gets") or [] if row[0] >= 4 << 20]
    return [(f"gets of {size >> 20} MiB", size / s / peer) for size, s in rows] if peer else []


def targets(data: Report) -> list[Target]:
    """On toys, and with the CPU in the place of GPUs, these mean nothing."""
    cases = [] if data["quick"] or data.get("gpus_on_host") else of_part(data, "gpus")
    several = [c for c in cases if c["gpus"] > 1]

    def over(op: str, least: float = 0.0) -> list[tuple[str, float]]:
        found = [
            (c["case"], _summa_over(c))
            for c in several
            if c["op"] == op and c["nnz_imbalance"] >= least
        ]
        return [(name, ratio) for name, ratio in found if ratio is not None]  # fmt: skip

    reached = [
        (c["case"], max(r["of_reachable"] for n in c["results"] if n != "summa" and (r := good(c, n))))
        for c in several
        if c["op"] == "spmm" and c["gpus"] >= _MANY and any(n != "summa" and good(c, n) for n in c["results"])
    ]  # fmt: skip
    lost = [
        (c["case"], both["imbalance"] / alone["imbalance"])
        for c in several
        if (alone := good(c, "c")) and (both := good(c, "c+locality"))
        and c["nnz_imbalance"] >= _IMBALANCED and alone["imbalance"] > 0
    ]  # fmt: skip
    dear = [
        (c["case"], both["median"] / alone["median"])
        for c in several
        if (alone := good(c, "c")) and (both := good(c, "c+locality")) and c["nnz_imbalance"] <= _BALANCED
    ]  # fmt: skip
    speeds = [
        (c["case"], c["over_fewest"])
        for c in several
        if c["op"] == "spgemm" and c["gpus"] == 8 and c["fewest"] == 1 and c["over_fewest"]
    ]
    best = [max(speeds, key=lambda s: s[1])] if speeds else []
    return [
        target("GPUs: gets of 4 MB and more, of the probed peer copy", 0.9, [] if not cases else of_peer(data)),
        target(f"SpMM, {_MANY} GPUs and more: of the roofline with one GPU's local products", 0.8, reached),
        target("SpMM on GPUs: SUMMA's time over the best one-sided", 1.0, over("spmm")),
        target("SpMM on GPUs, imbalance above 2: the same", 1.5, over("spmm", _IMBALANCED)),
        target("SpGEMM on GPUs, imbalance above 2: the same", 1.3, over("spgemm", _IMBALANCED)),
        target("GPUs: waiting that stealing leaves, imbalance above 2", 0.5, lost, most=True),
        target("GPUs: time with stealing over without, balanced", 1.03, dear, most=True),
        target("SpGEMM: speed of 8 GPUs over one, the best case", 5.0, best),
    ]  # fmt: skip


def scaling(axes: Any, data: Report, op: str) -> None:
    """GFLOP/s of the first matrix of that kind, by every algorithm, and its roofline."""
    cases = [c for c in of_part(data, "gpus") if c["op"] == op]
    name = max(cases, key=lambda c: c["flops"])["matrix"]
    shown = sorted((c for c in cases if c["matrix"] == name), key=lambda c: c["gpus"])
    names = list(dict.fromkeys(n for c in shown for n in c["results"]))
    for k, algorithm in enumerate(names):
        rows = [
            (c["gpus"], good(c, algorithm)["gflops"])
            for c in shown
            if "gflops" in good(c, algorithm)
        ]
        axes.plot([n for n, _ in rows], [g for _, g in rows], MARKERS[k % len(MARKERS)] + "-", markersize=3,
                  linewidth=0.9, color=COLOURS[k % len(COLOURS)], label=algorithm)  # fmt: skip
    bounds = [
        (c["gpus"], c["flops"] / c["reachable"]["seconds"] / 1e9)
        for c in shown
        if c["reachable"]["seconds"]
    ]
    axes.plot([n for n, _ in bounds], [g for _, g in bounds], ":", color="black", linewidth=0.9,
              label="roofline with the local rate of the fewest")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([c["gpus"] for c in shown], [f"{c['gpus']}" for c in shown])
    axes.minorticks_off()
    columns = shown[0]["columns"]
    axes.set_xlabel(f"GPUs; {shown[0]['about']}, {f'{columns} columns' if columns else 'A A'}")
    axes.set_ylabel("GFLOP/s")


def components(axes: Any, data: Report) -> None:
    """Table 2 on GPUs: the most GPUs, the case of most imbalance."""
    cases = of_part(data, "gpus")
    most = max(c["gpus"] for c in cases)
    c = max((c for c in cases if c["gpus"] == most), key=lambda c: c["nnz_imbalance"])
    names = [n for n in c["results"] if "median" in good(c, n)]
    below = [0.0] * len(names)
    for k, part in enumerate((*_COMPONENTS, "prepare")):
        high = [1e3 * good(c, n)[part] for n in names]
        axes.bar(range(len(names)), high, 0.7, bottom=below, color=COLOURS[k], label=part)
        below = [b + h for b, h in zip(below, high, strict=True)]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=7)
    axes.set_ylabel(f"ms, mean of {most} GPUs; {c['matrix']}")
