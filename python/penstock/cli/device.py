"""What the graph commands share about GPUs: options, where a run goes, and what it read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from penstock.cli import ui

DeviceMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Search on a GPU, which may hold this much for the graph."),
]
AccessOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOW", help="How a GPU reads lists: auto, strided, merged, aligned or direct."
    ),
]
PlacementOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Where a GPU's edges are: auto, pinned, host_alloc, managed_read_mostly, "
        "managed_accessed_by or device.",
    ),
]
Traced = Annotated[
    bool,
    typer.Option(
        "--trace", help="One more search, on a GPU, that counts what it reads over the link."
    ),
]


@dataclass
class OnDevice:
    """Whether the command line asks for a GPU, and which way; any of its options does."""

    memory: str | None = None
    access: str | None = None
    placement: str | None = None
    trace: bool = False

    @property
    def wanted(self) -> bool:
        return self.trace or any(v is not None for v in (self.memory, self.access, self.placement))

    @property
    def usable(self) -> bool:
        import penstock as ps
        from penstock import _core

        return getattr(ps.options, "gpus", None) != 0 and _core.device_count() > 0

    def arguments(self) -> dict[str, Any]:
        """For a function of ps.csgraph."""
        if not self.wanted:
            return {}
        return {
            "device": 0 if self.usable else "cpu",
            "access": self.access or "auto",
            "placement": self.placement or "auto",
        }

    @contextlib.contextmanager
    def limits(self) -> Iterator[None]:
        """The budget, as long as the searches run."""
        import penstock as ps
        from penstock._schedules import parse_bytes

        before = ps.options.device_memory
        size = before if self.memory is None else parse_bytes(self.memory, "--device-memory")
        with ps.options(device_memory=size):
            yield


NO_GPU = "no GPU is usable here (penstock doctor says why): this ran on the CPU"


def amplification(event: dict[str, Any]) -> float | None:
    """Bytes requested for edges, of the bytes that all lists hold; None where the run was not counted."""
    read = event.get("read")
    return read["bytes"] / event["edge_bytes"] if read and event["edge_bytes"] else None


def as_json(on: OnDevice, event: dict[str, Any] | None) -> dict[str, Any]:
    if not on.wanted:
        return {}
    if not on.usable:
        return {"device": "cpu", "note": NO_GPU}
    trace = None if event is None else {**event, "amplification": amplification(event)}
    return {"device": "gpu", "trace": trace}


def as_rows(on: OnDevice, event: dict[str, Any] | None) -> dict[str, str]:
    """What a run on a GPU held and read, in words."""
    if not on.wanted:
        return {}
    if not on.usable:
        return {"device": NO_GPU}
    if event is None:
        return {"device": "GPU 0"}
    facts = event["graph"]
    parts = {
        name: facts[f"{name}_bytes"] for name in ("offset", "edge", "sample", "cache", "other")
    }
    held = ", ".join(f"{name}s {ui.size(size)}" for name, size in parts.items() if size)
    rows = {
        "device": f"GPU {facts['gpu']}, edges {facts['placement']}",
        "held": f"{ui.size(facts['used_bytes'])} of {ui.size(facts['budget'])}: {held}",
    }
    if "steps" in event:
        rows["steps"] = _steps(event["steps"])
    if read := event.get("read"):
        where = "from device memory" if facts["placement"] == "device" else "over the link"
        share = amplification(event) or 0.0
        rows["read"] = f"{ui.size(read['bytes'])} {where}, {share:.3g} of the lists' bytes"
        rows["requests"] = _requests(read["requests"])
    return rows


def _steps(steps: list[dict[str, Any]]) -> str:
    words = []
    for step in steps:
        kind = step["kind"].replace("_", "-")
        words.append(f"{step['levels']} in one {kind} kernel" if kind == "small" else kind)
    return ", ".join(words) if len(words) <= 12 else f"{', '.join(words[:11])}, ... ({len(words)})"


def _requests(sizes: dict[int, int]) -> str:
    total = sum(sizes.values())
    if total == 0:
        return "none"
    shares = ", ".join(f"{size} B {count / total:.0%}" for size, count in sizes.items() if count)
    return f"{ui.count(total)}: {shares}"
