"""The tables of bench/buono2017.py: the paper's rows and ours side by side, from a report."""

from __future__ import annotations

from lib.paper_tables import Report, Table, good, number, of_part, size

from studies.buono2017 import paper

_COLUMNS = ("cpu_blocked", "cpu_binned", "streamed_raw", "streamed_packed", "resident")


def transfers(data: Report) -> list[Table]:
    """GB/s by size, one table a GPU, and of several GPUs at once."""
    found = []
    for case in of_part(data, "transfers"):
        curves = {name: dict(map(tuple, curve)) for name, curve in case["curves"].items()}
        sizes = sorted({s for curve in curves.values() for s in curve})
        rows = [
            [size(s), *(number(curve.get(s), ".1f", 1e-9) for curve in curves.values())]
            for s in sizes
        ]
        low, high = paper.PAGEABLE
        rows.append(["paper, at its best", *(
            {"h2d": f"{paper.PINNED:.0f}", "pageable_h2d": f"{low:.0f}-{high:.0f}"}.get(name, "-")
            for name in curves)])  # fmt: skip
        found.append((f"Figure 2, {case['case']}: GB/s", ["size", *curves], rows))
    together = data["probe"]["together"]
    if together:
        theirs = {"1": f"{paper.PINNED:.0f}", "4": f"{paper.FOUR_GPUS:.0f}"}
        rows = [[n, number(t["h2d"], ".1f", 1e-9), theirs.get(n, "-"),
                 number(t["d2h"], ".1f", 1e-9), number(t.get("zero_copy"), ".1f", 1e-9)]
                for n, t in together.items()]  # fmt: skip
        found.append(("Figure 2, GPUs at once: GB/s in all",
                      ["GPUs", "host to device", "paper", "device to host", "zero-copy"], rows))  # fmt: skip
    return found


def model(data: Report) -> list[Table]:
    found = []
    for case in of_part(data, "model"):
        rows = []
        for name in case["results"]:
            r = good(case, name)
            if r and "median" in r:
                rows.append([name, number(r.get("predicted_seconds"), ".4g", 1e3), number(r["median"], ".4g", 1e3),
                             number(r.get("predicted_over_measured"), ".2f"), number(r.get("gflops"))])  # fmt: skip
        title = (
            f"Figure 4, {case['matrix']} {case['dtype']}: best of {len(rows)} is {case.get('best_blocks', '-')} blocks "
            f"(paper: about {paper.MODEL_BEST_BLOCKS}; it used {paper.BLOCKS_USED})"
        )
        found.append((title, ["blocks", "predicted ms", "measured ms", "ratio", "GFLOP/s"], rows))
    return found


def inputs(data: Report) -> list[Table]:
    rows = []
    for name, case in {c["matrix"]: c for c in of_part(data, "suite")}.items():
        theirs = paper.TABLE_2.get(name)
        rows.append([name, f"{case['rows']:,}", f"{case['nnz']:,}", number(theirs and theirs.nnz),
                     number(case["nnz"] / max(case["rows"], 1), ".1f"), number(theirs and theirs.mean, ".1f"),
                     f"{case['longest_row']:,}", number(theirs and theirs.longest, ",.0f")])  # fmt: skip
    header = ["matrix", "rows", "nonzeros", "paper", "a row", "paper", "longest", "paper"]
    return [("Table 2, the matrices", header, rows)] if rows else []


def suite(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "suite"):
        speeds = [good(case, name).get("gflops") for name in _COLUMNS]
        cpu = [s for s in speeds[:2] if s]
        gpu = [s for s in speeds[2:4] if s]
        gain = max(gpu) / max(cpu) - 1 if cpu and gpu else None
        rows.append([case["matrix"], case["dtype"], paper.blocked(case["matrix"]), paper.streamed(case["matrix"]),
                     *map(number, speeds), number(gain, "+.0%"),
                     number(good(case, "streamed_raw").get("predicted_over_measured"), ".2f"),
                     number(good(case, "streamed_packed").get("predicted_over_measured"), ".2f")])  # fmt: skip
    header = ["matrix", "values", "paper: CPU", "paper: 4 P100", "CPU blocked", "CPU binned", "streamed raw",
              "streamed packed", "resident", "over CPU", "predicted raw", "predicted packed"]  # fmt: skip
    return (
        [("Figure 5: GFLOP/s; predicted = predicted / measured time", header, rows)] if rows else []
    )


def profile(data: Report) -> list[Table]:
    found = []
    for case in of_part(data, "profile"):
        rows, same = [], case["matrix"] == "R-MAT 25" and case["gpus"] == len(paper.TABLE_3)
        for i, d in enumerate(case["devices"]):
            theirs = paper.TABLE_3[i] if same else None
            rows.append([f"{d['gpu']}", f"{d['tiles']}", number(d["copied_bytes"], ".4g", 1e-9),
                         number(d["seconds"], ".4g", 1e3), number(d["kernel_seconds"], ".4g", 1e3),
                         number(d["wait_seconds"], ".4g", 1e3),
                         number(theirs and theirs.seconds, ".4g", 1e3)])  # fmt: skip
        title = f"Table 3, {case['matrix']}: slowest / mean {number(case['imbalance'], '.3f')} (paper, R-MAT 25: 1.12)"
        header = ["GPU", "blocks", "GB", "ms", "kernels ms", "waits ms", "paper ms"]
        found.append((title, header, rows))
    return found


def scaling(data: Report) -> list[Table]:
    """Strong scaling as it was measured; weak: one GPU's matrix, twice as large on two, and so on."""
    cases, rows = of_part(data, "scaling"), []
    for case in cases:
        for name in case["results"]:
            r = good(case, name)
            if "count" not in r:
                continue
            before = [good(c, "1") for c in cases if c["codec"] == case["codec"] and c["dtype"] == case["dtype"]
                      and c["scale"] and 2 ** (case["scale"] - c["scale"]) == r["count"]]  # fmt: skip
            weak = (
                before[0]["median"] / r["median"] * r["count"]
                if before and "median" in before[0]
                else None
            )
            rows.append([f"{case['matrix']} {case['dtype']} {case['codec']}", f"{r['count']}", number(r["gflops"]),
                         number(r["speedup"], ".2f"), number(weak, ".2f"),
                         number(paper.SPEEDUP.get(r["count"]), ".1f"), number(r.get("of_link"), ".2f"),
                         number(r.get("predicted_over_measured"), ".2f")])  # fmt: skip
    header = [
        "matrix",
        "GPUs",
        "GFLOP/s",
        "strong",
        "weak",
        "paper, both",
        "of the links",
        "predicted",
    ]
    return [("Figure 6: speed over one GPU's", header, rows)] if rows else []


def codec(data: Report) -> list[Table]:
    rows = [
        [case["case"].removesuffix(", codec"), number(case["bytes_per_nonzero"], ".3f"),
         number(case["raw_bytes_per_nonzero"], ".2f"), number(case["speedup"], ".2f"),
         number(case["encode_bytes_per_s"], ".2f", 1e-9), number(case["products_to_repay"], ".0f")]
        for case in of_part(data, "codec")
    ]  # fmt: skip
    header = ["matrix", "bytes a nonzero", "raw", "speed over raw", "encoding GB/s", "repaid after"]
    return [("Packed columns (the paper: 16 bytes a nonzero)", header, rows)] if rows else []


def resident(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "resident"):
        for name in case["results"]:
            r = good(case, name)
            if "median" in r:
                rows.append([case["case"].split(",")[0], name, number(r["median"], ".4g", 1e3),
                             number(r.get("bound_seconds"), ".4g", 1e3), number(r.get("over_bound"), ".3f"),
                             number(r["gflops"]), number(r.get("predicted_over_measured"), ".2f")])  # fmt: skip
    header = ["matrix", "kept", "ms", "link ms", "ratio", "GFLOP/s", "predicted"]
    where = {c["vectors"] for c in of_part(data, "resident")}
    title = (
        f"One of many products in a row, a budget of half the matrix, vectors in {' and '.join(sorted(where))} memory: "
        "its time, and that of its bytes over the link"
    )
    return [(title, header, rows)] if rows else []


def incore(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "incore"):
        mine, best = good(case, "penstock"), case["best_rival"]
        theirs = good(case, best) if best else {}
        rows.append([case["case"].removesuffix(", in core"), number(mine.get("gflops")), best or "-",
                     number(theirs.get("gflops")), number(case["ratios"].get("penstock"), ".2f"),
                     number(mine.get("fraction_of_memory"), ".2f"),
                     number(good(case, "call").get("gflops"))])  # fmt: skip
    header = ["matrix", "kernel", "rival", "its kernel", "ratio", "of memory", "whole call"]
    return [("In core: GFLOP/s", header, rows)] if rows else []


def tables(data: Report) -> list[Table]:
    parts = (transfers, model, inputs, suite, profile, scaling, codec, resident, incore)
    return [table for part in parts for table in part(data)]
