"""What bench/buono2017.py says at its end: its tables, the goals, met or missed, and what was left out."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, lines, of_part, target
from lib.paper_tables import show as show_all

from studies.buono2017.tables import tables

__all__ = ["lines", "show", "targets"]


def _streamed(data: Report, gpus: int) -> list[tuple[str, float]]:
    """Matrix bytes / time, of the probed links, of float64 R-MAT streamed raw."""
    link = data["probe"]["together"].get(str(gpus), {}).get("h2d")
    if not link:
        return []
    found = []
    for case in of_part(data, "scaling") + of_part(data, "suite"):
        raw = "streamed_raw" if case["part"] == "suite" else str(gpus)
        r = good(case, raw)
        same = case["gpus"] == gpus if case["part"] == "suite" else case["codec"] == "raw"
        if same and r and case["dtype"] == "float64" and case["matrix"].startswith("R-MAT"):
            found.append((case["case"], case["matrix_bytes"] / r["median"] / link))
    return found


def _packed(data: Report, gpus: int) -> list[tuple[str, float]]:
    """GFLOP/s of R-MAT 26, a pattern, packed."""
    found = [
        (c["case"], good(c, "streamed_packed")) for c in of_part(data, "suite") if c["gpus"] == gpus
    ]
    found += [
        (c["case"], good(c, str(gpus))) for c in of_part(data, "scaling") if c["codec"] == "packed"
    ]
    return [(name, r["gflops"]) for name, r in found if r and name.startswith("rmat26 pattern")]


def _device_bound(data: Report) -> list[tuple[str, float]]:
    return [(c["case"], r["fraction_of_memory"]) for c in of_part(data, "incore")
            if c["source"].startswith("laplacian") and (r := good(c, "penstock"))]  # fmt: skip


def targets(data: Report) -> list[Target]:
    """On a host that plays the device, or at toy sizes, these mean nothing: they are listed as not measured."""
    if data["quick"] or data["settings"]["on_host"]:
        data = {**data, "cases": []}
    suite26 = [c for c in of_part(data, "codec") if c["case"].startswith("rmat26 pattern")]
    predicted = [(f"{c['case']}: {name}", max(p, 1 / p))
                 for c in data["cases"] if c["part"] not in ("codec", "profile") for name, r in c["results"].items()
                 if (p := r.get("predicted_over_measured")) and not name.startswith("cpu_")]  # fmt: skip
    models, half = (
        of_part(data, "model"),
        [(c["case"], good(c, "half_fits")) for c in of_part(data, "resident")],
    )
    device = [
        (c["case"], good(c, "packed"))
        for c in of_part(data, "resident")
        if c["vectors"] == "device"
    ]
    planner = [(c["case"], c["planner_over_best"]) for c in models if c.get("planner_over_best")]
    return [
        target("streamed raw, float64, one GPU: of the probed link", 0.95, _streamed(data, 1)),
        target("streamed raw, float64, four GPUs: of the probed links", 0.95, _streamed(data, 4)),
        target("streamed raw, float64, eight GPUs: of the probed links", 0.95, _streamed(data, 8)),
        target("packed R-MAT 26: bytes a nonzero", 2.4,
                [(c["case"], c["bytes_per_nonzero"]) for c in suite26], most=True),
        target("packed R-MAT 26: speed over 4-byte columns", 1.55,
                [(c["case"], c["speedup"]) for c in suite26 if c["speedup"]]),
        target("packed R-MAT 26, one GPU: GFLOP/s", 40, _packed(data, 1)),
        target("packed R-MAT 26, one GPU, vectors on it: GFLOP/s", 46,
                [(n, r["gflops"]) for n, r in device if r and n.startswith("rmat26 pattern")]),
        target("packed R-MAT 26, four GPUs: GFLOP/s", 120, _packed(data, 4)),
        target("half fits: time over that of the bytes that travel", 1.05,
                [(name, r["over_bound"]) for name, r in half if r.get("over_bound")], most=True),
        target("in core: speed over cuSPARSE", 1.0,
                [(c["case"], c["ratios"]["penstock"]) for c in of_part(data, "incore") if "penstock" in c["ratios"]]),
        target("in core, 3-D stencil: of the device memory's bandwidth", 0.85, _device_bound(data)),
        target("predicted time against measured, either way", 1.15, predicted, most=True),
        target("planner's choice over the best tried", 1.10, planner, most=True),
    ]  # fmt: skip


def show(data: Report) -> None:
    if data["settings"]["on_host"]:
        print(
            "\nNo GPU here: the host was a device of its own. These rows test the program, and measure nothing."
        )
    show_all(data, tables(data))
