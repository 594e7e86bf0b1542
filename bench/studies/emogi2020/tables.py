"""The tables of bench/emogi2020.py: the paper's rows and ours side by side, from a report."""

from __future__ import annotations

from typing import Any

from lib.paper_tables import Report, Table, good, number, of_part

from studies.emogi2020 import paper

TRAVERSALS = ("bfs", "cc", "sssp")
TITLES = {"bfs": "Breadth-first search", "cc": "Connected components", "sssp": "Shortest paths"}
LABELS = {
    "strided": "strided", "merged": "merged", "aligned": "merged + aligned (baseline)",
    "host_alloc": "aligned, cudaHostAlloc", "managed_accessed_by": "aligned, managed, AccessedBy",
    "managed_read_mostly": "aligned, managed, ReadMostly", "in_core_baseline": "baseline in core",
    "ours": "ours", "packed": "ours, packed", "in_core": "ours in core", "cpu": "ours on the CPU", "emogi": "EMOGI",
    "emogi_in_core": "EMOGI in core", "gap": "GAP on the CPU", "ours_cold": "ours, cold",
    "aligned_cold": "baseline, cold",
}  # fmt: skip


def toy(data: Report) -> list[Table]:
    low, high = paper.COPY_STRIDED
    theirs = {
        "strided": f"{low}-{high}",
        "aligned": f"{paper.COPY_ALIGNED}",
        "memcpy": f"{paper.MEMCPY}",
    }
    found = []
    for case in of_part(data, "toy"):
        rows = []
        for name in case["results"]:
            r = good(case, name)
            if not r:
                continue
            asked = r.get("requests_a_list", {})
            total = sum(asked.values())
            paper_says = theirs.get(r["pattern"], "-") if r["memory"] == "pinned" else "-"
            rows.append([r["pattern"], r["memory"], number(r["gb_per_s"], ".1f"), paper_says,
                         *(number(asked[s] / total, ".0%") if total else "-" for s in asked or ("",) * 4)])  # fmt: skip
        header = ["pattern", "memory", "GB/s", "paper", "32 B", "64 B", "96 B", "128 B"]
        found.append(
            ("Figures 3 and 4: an array read by a GPU; shares of requests by size", header, rows)
        )
    return found


def traversal(data: Report, part: str) -> list[Table]:
    """Milliseconds and speed over the baseline, every way of every graph: figures 9 and 11."""
    rows = []
    for case in of_part(data, part):
        for name in LABELS:
            r = good(case, name)
            if "median" not in r:
                continue
            memory = r.get("device_memory")
            rows.append([case["graph"], LABELS[name], number(r["median"], ".4g", 1e3), number(r.get("speedup"), ".2f"),
                         number(r.get("gteps"), ".3g"), f"{r['sources']}", number(memory, ".2f", 1e-9),
                         number(r.get("used_bytes"), ".2f", 1e-9), number(r.get("kept_share"), ".0%")])  # fmt: skip
        theirs = paper.seconds(part, case["graph"])
        if theirs:
            rows.append(
                [case["graph"], "paper: EMOGI on a V100", number(theirs, ".4g", 1e3), *["-"] * 6]
            )
    header = [
        "graph",
        "way",
        "ms",
        "over baseline",
        "GTEPS",
        "sources",
        "budget GB",
        "used GB",
        "edges kept",
    ]
    figure = "figure 9" if part == "bfs" else "figure 11"
    return [(f"{TITLES[part]} ({figure}): medians", header, rows)] if rows else []


def managed(data: Report) -> list[Table]:
    """Figure 9 as the paper has it: speed over managed memory with ReadMostly."""
    rows = []
    for part in TRAVERSALS:
        for case in of_part(data, part):
            base = good(case, "managed_read_mostly").get("median")
            if not base:
                continue
            speeds = [
                good(case, name).get("median") for name in ("strided", "merged", "aligned", "ours")
            ]
            rows.append(
                [part, case["graph"], *(number(base / s if s else None, ".2f") for s in speeds)]
            )
    if not rows:
        return []
    mean = [number(paper.BFS_SPEED[n], ".2f") for n in ("strided", "merged", "aligned")]
    rows.append(["bfs", "paper, mean", *mean, "-"])
    rows.append(["all", "paper, mean", "-", "-", f"{paper.MEAN_SPEED}", "-"])
    title = "Figures 9 and 11: speed over managed memory (which holds the graph here, cold; the paper's is larger)"
    return [(title, ["", "graph", "strided", "merged", "aligned", "ours"], rows)]


def requests(data: Report) -> list[Table]:
    """Figures 5, 7, 8 and 10, from instrumented kernels."""
    rows = []
    for part in TRAVERSALS:
        for case in of_part(data, part):
            for name in ("strided", "merged", "aligned", "ours"):
                read = good(case, name).get("read")
                if read:
                    rows.append(_read(part, case, name, read))
    if not rows:
        return []
    rows += [
        ["bfs", "paper, V100", LABELS["strided"], "-", "-", "-", f"<= {paper.BFS_RATE['strided']}", "-"],
        ["bfs", "paper, V100", LABELS["merged"], "-", f"{paper.SHARE_128_MERGED:.0%}", "-",
         f"{paper.BFS_RATE['merged']}", "-"],
        ["bfs", "paper, V100", LABELS["aligned"], f"<= {paper.AMPLIFICATION_ALIGNED}", "-", "-",
         f"{paper.BFS_RATE['aligned']}", "-"],
    ]  # fmt: skip
    header = [
        "",
        "graph",
        "way",
        "bytes / edge bytes",
        "of 128 B",
        "M requests",
        "GB/s",
        "ms at the link's rate",
    ]
    return [
        (
            "Figures 5, 7, 8 and 10: requests over the link, counted; the link's rate is the probe's",
            header,
            rows,
        )
    ]


def _read(part: str, case: dict[str, Any], name: str, read: dict[str, Any]) -> list[str]:
    return [part, case["graph"], LABELS[name], number(read["amplification"], ".3f"),
            number(read["share_128"], ".0%"), number(read["count"], ".4g", 1e-6),
            number(read["bytes_per_s"], ".1f", 1e-9), number(read["link_seconds"], ".4g", 1e3)]  # fmt: skip


def cold(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "cold"):
        for name in ("ours_cold", "aligned_cold", "aligned"):
            r = good(case, name)
            if "median" in r:
                rows.append([case["graph"], LABELS[name], r["clock"], number(r["median"], ".4g", 1e3),
                             number(r.get("build_seconds"), ".4g", 1e3),
                             number(r.get("sample_seconds"), ".4g", 1e3)])  # fmt: skip
    header = ["graph", "way", "time of", "ms", "of it: view", "sample"]
    return [("One search of a graph that the GPU has not seen", header, rows)] if rows else []


def pagerank(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "pagerank"):
        for name in case["results"]:
            r = good(case, name)
            if "median" in r:
                rows.append([case["graph"], name.replace("_", " "), number(r["median"], ".4g", 1e3),
                             number(r.get("bytes_per_nonzero"), ".3f"), number(r.get("bound_seconds"), ".4g", 1e3),
                             number(r.get("over_bound"), ".3f"),
                             number(r.get("predicted_over_measured"), ".2f")])  # fmt: skip
    header = [
        "graph",
        "way",
        "ms a pass",
        "bytes a nonzero",
        "link ms",
        "ratio",
        "predicted / measured",
    ]
    return [("PageRank, float64: one pass over the edges", header, rows)] if rows else []


def road(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "road"):
        for name in ("aligned", "ours", "in_core", "cpu"):
            r = good(case, name)
            if "median" in r:
                rows.append(
                    [
                        case["graph"],
                        LABELS[name],
                        number(r["median"], ".4g", 1e3),
                        number(r.get("gteps"), ".3g"),
                    ]
                )
    return (
        [("A road-like grid: thousands of levels", ["graph", "way", "ms", "GTEPS"], rows)]
        if rows
        else []
    )


def tables(data: Report) -> list[Table]:
    found = [*toy(data)]
    for part in TRAVERSALS:
        found += traversal(data, part)
    for make in (managed, requests, cold, pagerank, road):
        found += make(data)
    return found
