"""What bench/cardellini2014.py says at its end: its tables, the goals, met or missed, and what was left out."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, of_part, target
from lib.paper_tables import show as show_all

from studies.cardellini2014.read import efficiency
from studies.cardellini2014.tables import tables

_DIRECT = ("peer", "peer_packed", "nvshmem", "nccl")
Row = tuple[str, float]


def _over(data: Report, part: str, theirs: str) -> list[Row]:
    """That strategy's time over the best of those from GPU to GPU, each on a GPU of its own."""
    rows = []
    for case in of_part(data, part):
        direct = [m for n in _DIRECT if (m := good(case, n).get("median"))]
        other = good(case, theirs).get("median")
        if direct and other and case["ranks"] == case["gpus"] > 1:
            rows.append((case["case"], other / min(direct)))
    return rows


def _by_hand(data: Report) -> list[Row]:
    """Of those that send the same bytes: `sync` sends more."""
    return [(f"{c['case']}: {n}", r["over_hand"]) for c in of_part(data, "exchange") for n in c["results"]
            if n not in ("hand", "hand_packed", "sync") and "over_hand" in (r := good(c, n))]  # fmt: skip


def _kernels(data: Report, theirs: str, ours: tuple[str, ...]) -> list[Row]:
    rows = []
    for case in of_part(data, "kernel"):
        right = {n: m for n in case["results"] if (m := good(case, n).get("median"))}
        mine = [m for n, m in right.items() if n in ours]
        other = [m for n, m in right.items() if n.startswith(theirs)]
        if mine and other:
            rows.append((case["case"], min(other) / min(mine)))
    return rows


def targets(data: Report) -> list[Target]:
    """On a host that plays the device, or at toy sizes, these mean nothing: they are listed as not measured; those of
    exchanges on the CPU need no GPU."""
    if data["quick"]:
        data = {**data, "cases": []}
    gpus = {**data, "cases": []} if data["settings"]["on_host"] else data
    weak = [
        (f"pde{base} each, {count} GPUs", e)
        for (base, count), e in efficiency(gpus, "ours").items()
    ]
    return [
        target("weak scaling of SpMV: speed a GPU over one GPU's", 0.95, weak),
        target(
            "exchange from GPU to GPU: pinned's time over it", 1.0, _over(gpus, "copies", "pinned")
        ),
        target("exchange from GPU to GPU: sync's time over it", 1.0, _over(gpus, "copies", "sync")),
        target(
            "SpMV from GPU to GPU: pinned's time over it", 1.0, _over(gpus, "throughput", "pinned")
        ),
        target("SpMV from GPU to GPU: sync's time over it", 1.0, _over(gpus, "throughput", "sync")),
        target(
            "SpMV from GPU to GPU: IndexPinned's time over it",
            1.0,
            _over(gpus, "throughput", "index_pinned"),
        ),
        target(
            "local product: the paper's format's time over CSR's",
            1.0,
            _kernels(gpus, "ell_g", ("csr",)),
        ),
        target(
            "local product: cuSPARSE's time over ours",
            1.0,
            _kernels(gpus, "cusparse", ("csr", "ell_g")),
        ),
        target(
            "exchange on the CPU: time over the same messages by hand",
            1.1,
            _by_hand(data),
            most=True,
        ),
    ]


def show(data: Report) -> None:
    if data["settings"]["on_host"]:
        print(
            "\nNo GPU here: the host played the device. Rows of devices test the program, and measure nothing."
        )
    show_all(data, tables(data))
