"""What the planner knows of the machine: bandwidths of links, GPUs and host memory, from the probe's cached figures.

Where nobody has probed, each GPU is looked at for a moment; where even that fails, what its driver and the system say
of it counts, and below that figures of a small GPU, so that none is promised too much. No number here is one chip's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from penstock import _core
from penstock._plan import probe

# Where nothing was measured and nothing is told: a PCIe 3 x16 link and a GPU of 300 GB/s.
_LINK = 12e9
_LATENCY = 10e-6
PAGEABLE = 6e9
LOCKS = 50e9  # bytes a second, of pages that are locked: 16 GB in 0.31 s
_DEVICE_READ = 3e11
_CACHE = 4 << 20  # bytes
# Of what clocks and buses give: what copies and kernels reach.
_OF_LINK, _OF_MEMORY = 0.8, 0.85
_HOST_READ = 20e9  # of a host that was not measured, bytes per second
_LOOKED = (
    "from a first look at each GPU: `penstock probe` measures what several reach together, and more"
)
_ASSUMED = "not measured: run `penstock probe` (assumed: what drivers tell, or small GPUs)"


@dataclass(frozen=True)
class Gpu:
    """One GPU and its link to the host. Bandwidths in bytes per second, latency in seconds a copy."""

    up: float = _LINK  # pinned host memory to device
    down: float = _LINK
    up_both: float = _LINK * 0.85  # while the other direction is busy, too
    down_both: float = _LINK * 0.85
    latency: float = _LATENCY
    pageable: float = PAGEABLE
    device_read: float = _DEVICE_READ
    peer: float = 0.0  # copies from another GPU; 0 where there is no direct way
    memory: int = 0  # bytes free
    launch: float = 10e-6  # of a kernel, from the call until it is synchronised
    cache: int = _CACHE  # bytes of the second level


@dataclass(frozen=True)
class Machine:
    """GPUs, what several of them reach together, and the CPU."""

    gpus: tuple[Gpu, ...] = ()
    up: Mapping[int, float] = field(default_factory=dict)  # number of GPUs: bytes per second in all
    down: Mapping[int, float] = field(default_factory=dict)
    host_read: float = _HOST_READ
    host_copy: float = _HOST_READ  # bytes read plus bytes written
    threads: int = 1
    source: str = _ASSUMED

    def together(self, count: int, direction: str) -> float:
        """What `count` GPUs reach at once, host memory permitting: measured, or interpolated between what was."""
        known: Mapping[int, float] = getattr(self, direction)
        alone = sum(sorted((getattr(g, direction) for g in self.gpus), reverse=True)[:count])
        if not known:
            return alone
        if count in known:
            return known[count]
        below = max((n for n in known if n < count), default=None)
        above = min((n for n in known if n > count), default=None)
        if below is None or above is None:  # beyond what was measured nothing is gained for sure
            return known[below] if below is not None else min(alone, known[above or count])
        part = (count - below) / (above - below)
        return known[below] + part * (known[above] - known[below])


def _rate(fit: Any, otherwise: float) -> float:
    return float(fit["bytes_per_s"]) if fit else otherwise


def _gpu(d: dict[str, Any], memory: int) -> Gpu:
    up, down = _rate(d.get("h2d"), _LINK), _rate(d.get("d2h"), _LINK)
    both = d.get("duplex") or {}
    peer = d.get("peer") or {}
    return Gpu(
        up=up,
        down=down,
        up_both=float(both.get("h2d_bytes_per_s") or 0.85 * up),
        down_both=float(both.get("d2h_bytes_per_s") or 0.85 * down),
        latency=float((d.get("h2d") or {}).get("latency_s") or _LATENCY),
        pageable=_rate(d.get("pageable_h2d"), PAGEABLE),
        device_read=float(d.get("device_read") or _DEVICE_READ),
        peer=float(peer.get("copy") or 0.0),
        memory=memory,
        launch=float(d.get("launch_s") or 10e-6),
        cache=int(d.get("cache_bytes") or _CACHE),
    )


def from_probe(probed: dict[str, Any], memory: list[int], threads: int) -> Machine:
    """`probed`: what `probe.measured()` returns; `memory`: free bytes of each GPU that may be used."""
    host = probed.get("host") or {}
    gpus = tuple(_gpu(d, memory[d["gpu"]]) for d in probed["gpus"] if d["gpu"] < len(memory))
    sums = {int(n): d for n, d in probed.get("together", {}).items()}
    return Machine(
        gpus=gpus,
        up={n: float(d["h2d"]) for n, d in sums.items() if d.get("h2d")},
        down={n: float(d["d2h"]) for n, d in sums.items() if d.get("d2h")},
        host_read=float(host.get("read") or _HOST_READ),
        host_copy=float(host.get("copy") or _HOST_READ),
        threads=threads,
        source=f"measured by `penstock probe` on {probed.get('measured_at', 'an unknown day')}",
    )


_LOOK = 64 << 20  # bytes


@cache
def _first_look(gpu: int) -> tuple[float, float]:
    """Link up and device memory's reads of one GPU, bytes per second, from a few copies: for plans made before anybody
    has run `penstock probe`. A tenth of a second, once a process; MemoryError where there is no room, now."""
    up = min(_core.time_copy_gpu(_LOOK, "device", "pinned", 3, gpu))
    copy = min(_core.time_copy_gpu(4 * _LOOK, "device", "device", 3, gpu))
    return _LOOK / up, 8 * _LOOK / copy


def link_rate(bus: str, devices: Path = Path("/sys/bus/pci/devices")) -> float | None:
    """Bytes a second, each way, of the link that a GPU hangs on, by speed and width of the slower end; None where the
    system does not tell, as under some hypervisors.

    Parameters
    ----------
    bus : str
        The GPU's place, as "0000:19:00.0".
    devices : Path
        Where the system lists PCI devices.
    """
    ends = []
    place = (devices / bus.lower()).resolve()
    for end in (place, place.parent):
        try:
            speed = float((end / "max_link_speed").read_text().split()[0])  # GT/s of a lane
            lanes = int((end / "max_link_width").read_text())
        except (OSError, ValueError, IndexError):
            continue
        if 0 < speed <= 256 and 0 < lanes <= 32:
            ends.append(speed * (0.8 if speed < 8 else 128 / 130) * lanes)
    return min(ends) * 1e9 / 8 if ends else None


@cache
def _told(gpu: int) -> Gpu:
    """A GPU as its driver and the system describe it, without a copy or a kernel."""
    try:
        facts, place = _core.gpu_facts(gpu), _core.gpu_identities()[gpu].split()[-1]
    except (_core.NotCompiledError, _core.PlacementError, IndexError):
        return Gpu()
    up = (link_rate(place) or _LINK / _OF_LINK) * _OF_LINK
    read = (facts["memory_bytes_per_s"] or _DEVICE_READ / _OF_MEMORY) * _OF_MEMORY
    return Gpu(
        up=up,
        down=up,
        up_both=0.85 * up,
        down_both=0.85 * up,
        device_read=read,
        cache=facts["cache_bytes"] or _CACHE,
    )


def link_up(gpu: int) -> float:
    """Bytes a second from pinned memory to a GPU: of `penstock probe`, or what the system tells. No copy is made."""
    probed = probe.measured()
    if probed is not None and gpu < len(probed["gpus"]):
        return _rate(probed["gpus"][gpu].get("h2d"), _LINK)
    return _told(gpu).up


def _looked_at(gpu: int, memory: int) -> Gpu:
    told = _told(gpu)
    try:
        up, read = _first_look(gpu)
    except MemoryError:
        return replace(told, memory=memory)
    both = 0.87 * up
    return replace(
        told, up=up, down=up, up_both=both, down_both=both, device_read=read, memory=memory
    )


def this_machine(gpus: int, measure_host: bool = False) -> Machine:
    """The machine with its first `gpus` GPUs, from cached figures; where there are none, from a first look at each GPU.
    Where asked, the host's memory is measured (half a second, once a process)."""
    probed = probe.measured()
    memory = [_core.gpu_memory(gpu)[0] for gpu in range(gpus)]
    threads = _core.num_threads()
    if probed is not None and len(probed["gpus"]) >= gpus:
        return from_probe(probed, memory, threads)
    machine = Machine(
        gpus=tuple(_looked_at(gpu, free) for gpu, free in enumerate(memory)),
        threads=threads,
        source=_LOOKED if gpus else _ASSUMED,
    )
    if measure_host:
        host = _core.machine()
        machine = replace(machine, host_read=host["host_read"], host_copy=host["host_copy"])
    return machine
