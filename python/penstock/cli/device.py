"""What the graph commands share about GPUs: options, where a run goes, and what it read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from penstock._choices import ACCESS_POLICIES, EDGE_PLACEMENTS, in_words
from penstock.cli import ui

DeviceMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Run on a GPU, which may hold this much for the graph."),
]
AccessOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOW", help=f"How a GPU reads lists: {in_words(ACCESS_POLICIES, 'auto')}."
    ),
]
PlacementOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help=f"Where a GPU's edges are: {in_words(EDGE_PLACEMENTS, 'auto')}.",
    ),
]
GpusOption = Annotated[
    int | None,
    typer.Option(
        "--gpus", min=1, metavar="N", help="Run on N GPUs, a range of the vertices on each."
    ),
]
Traced = Annotated[
    bool,
    typer.Option(
        "--trace", help="One more run, on a GPU, that counts what it reads over the link."
    ),
]


@dataclass
class OnDevice:
    """Whether the command line asks for a GPU, and which way; any of its options does."""

    memory: str | None = None
    access: str | None = None
    placement: str | None = None
    trace: bool = False
    gpus: int | None = None

    @property
    def wanted(self) -> bool:
        given = (self.memory, self.access, self.placement, self.gpus)
        return self.trace or any(v is not None for v in given)

    @property
    def usable(self) -> bool:
        from penstock._plan.schedules import gpu_count

        return gpu_count() > 0

    def arguments(self, counted: bool = False) -> dict[str, Any]:
        """For a function of ps.csgraph; `counted` as its options have it."""
        if not self.wanted:
            return {}
        from penstock._plan.schedules import gpu_count
        from penstock.csgraph import GpuOptions

        how = GpuOptions(  # refuses names that are none, with and without a GPU
            access=self.access or "auto", placement=self.placement or "auto", counted=counted
        )
        if not self.usable:
            return {"device": "cpu"}

        count = self.gpus or 1
        if count > gpu_count():
            raise ui.InputError(f"--gpus {count}: {gpu_count()} usable here (penstock doctor)")
        device = 0 if count == 1 else list(range(count))
        return {"device": device, "gpu_options": how}

    @contextlib.contextmanager
    def limits(self) -> Iterator[None]:
        """The budget, as long as the searches run."""
        import penstock as ps
        from penstock._plan.schedules import parse_bytes

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
    return {"device": "gpu", "gpus": on.gpus or 1, "trace": trace}


def as_rows(on: OnDevice, event: dict[str, Any] | None) -> dict[str, str]:
    """What a run on a GPU held and read, in words."""
    if not on.wanted:
        return {}
    if not on.usable:
        return {"device": NO_GPU}
    if event is None:
        return {"device": _names(range(on.gpus or 1))}
    facts = event["graph"]
    parts = {
        name: facts[f"{name}_bytes"] for name in ("offset", "edge", "sample", "cache", "other")
    }
    held = ", ".join(f"{name}s {ui.size(size)}" for name, size in parts.items() if size)
    rows = {
        "device": f"{_names(event.get('gpus', [facts['gpu']]))}, edges {facts['placement']}",
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


def _names(gpus: Iterable[int]) -> str:
    names = list(map(str, gpus))
    return f"GPU {names[0]}" if len(names) == 1 else f"GPUs {', '.join(names)}"


def _steps(steps: list[dict[str, Any]]) -> str:
    words = []
    for step in steps:
        kind = step["kind"].replace("_", "-")
        if kind == "small":
            kind = f"{step.get('levels', 'many')} in one small kernel"
        words.append(kind)
    return ", ".join(words) if len(words) <= 12 else f"{', '.join(words[:11])}, ... ({len(words)})"


def _requests(sizes: dict[int, int]) -> str:
    total = sum(sizes.values())
    if total == 0:
        return "none"
    shares = ", ".join(f"{size} B {count / total:.0%}" for size, count in sizes.items() if count)
    return f"{ui.count(total)}: {shares}"
