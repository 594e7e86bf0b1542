"""The model of a product on GPUs whose memory the matrix may exceed: bytes and seconds of every resource.

buono-2017 (section 3.2.2) counts all transfers, and the last block's kernel, which nothing hides. Here the same is
asked of each resource, as they work side by side: the links up and down, host memory behind all links, the GPUs'
memory, and the CPU. The slowest one is the time, plus what cannot overlap: the first block's way in and the last
one's way out. Blocks that stay on the GPUs take no link; they are computed while others travel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock import _core
from penstock._choices import CODECS
from penstock._plan.machine import LOCKS, Gpu, Machine

MIB = 1 << 20

AUTOMATIC = tuple(codec.name for codec in CODECS.values() if codec.automatic)  # what "auto" tries

# What the core says of kernels is from R-MAT 24. Gathers from x bind, so GPUs are compared by the bandwidth of their
# memory, and by how much of x the second-level cache holds: R-MAT 22, 24 and 26, whose x take 32, 128 and 512 MiB, with
# a cache of 60 MiB, gave 283, 195 and 129 GFLOP/s.
_REACH = ((32 / 60, 1.45), (128 / 60, 1.0), (512 / 60, 0.66))  # of x, in caches
_STREAMING = 0.85  # of the device memory's bandwidth: what kernels reach where gathers do not bind (3-D stencil)
# Nonzeros a second of one thread of the CPU, in core, float64: 3.3 GFLOP/s on two threads where x is in cache (R-MAT
# 18), 2.1 where it is not (R-MAT 20).
_THREAD_NNZ = 0.8e9
_THREAD_NNZ_FAR = 0.5e9
_FAR = 4 * MIB  # bytes of x
_MOST_PANELS = 64
# Of a product, beside what it moves and computes: calls, events, the last wait. What 4 to 16 MB streamed in 0.28 to
# 0.53 ms took over the bytes' own time.
_CALL = 150e-6
_LANE = 20e-6  # seconds until the host thread of one more GPU runs


@dataclass(frozen=True)
class Work:
    """One product, and how many of them there will be. Sizes in bytes."""

    rows: int
    cols: int
    nnz: int
    raw_bytes: int
    entry: int = 8  # of x and y
    forms: Mapping[str, int] = field(default_factory=dict)  # by codec; estimates, 0: no such form
    place: str = "host"  # of the matrix: host, mapped, pinned
    vectors: str = "host"  # of x and y: host, pinned, device
    there: frozenset[str] = frozenset()  # codecs whose form has been made
    products: int = 1

    def bytes(self, codec: str) -> int:
        return self.raw_bytes if codec == "raw" else self.forms.get(codec, 0)


@dataclass(frozen=True)
class Setting:
    """What a plan is made with. `block`: bytes of a slot, 0 for the plan's own choice."""

    gpus: int = 1
    codec: str = "raw"
    block: int = 0
    slots: int = 3
    keep: bool = True
    cpu: bool = False
    budget: int = 0  # bytes that each GPU may hold; 0: what is free
    ring: int = 0

    def __str__(self) -> str:
        words = [f"{self.gpus} GPU{'s' * (self.gpus > 1)}", self.codec]
        if self.block:
            words.append(f"blocks of {self.block / MIB:.3g} MiB")
        return ", ".join(words + ["with the CPU"] * self.cpu + ["nothing kept"] * (not self.keep))


@dataclass(frozen=True)
class Prediction:
    """Seconds of one product and, once, of getting ready; the bytes of each resource."""

    setting: Setting
    seconds: float
    setup: float
    binding: str
    uses: list[dict[str, Any]] = field(compare=False)
    kept: int = 0
    streamed: int = 0
    blocks: int = 0
    block: int = 0

    def amortised(self, products: int) -> float:
        return self.seconds + self.setup / max(products, 1)


class DoesNotFit(Exception):
    """A setting needs more memory than a GPU may hold; the message has the numbers."""


def panels_of(rows: int, cols: int, entry: int, usable: int) -> int:
    """Ranges of columns whose part of x takes half of a GPU's memory. MemoryError where they would be too many."""
    count = -(-cols * entry // max(usable // 2, 1))
    if count > _MOST_PANELS:
        raise MemoryError(
            f"x takes {cols * entry} bytes, a GPU may hold {usable}: that is {count} ranges of columns, each with "
            f"{8 * rows} bytes of row offsets, and at most {_MOST_PANELS} are sensible. Allow more device_memory"
        )
    return max(count, 1)


def _room(work: Work, how: Setting, number: int, free: int, total: int) -> tuple[int, int]:
    """(bytes of blocks that a GPU keeps, bytes of a slot or 0 where everything stays): what the core makes plans by."""
    x, y = work.cols * work.entry, work.rows * work.entry
    try:
        slot = how.block
        if how.ring:
            slot = _core.slot_within_ring(how.ring, how.slots, how.block, total)
        room = _core.gpu_room(
            *(free, total, x, y),
            device_memory=how.budget,
            slot_bytes=slot,
            slots=how.slots,
            entry_bytes=work.entry,
            keep=how.keep,
            devices=how.gpus,
            gpu=number,
        )
    except (MemoryError, ValueError) as error:
        raise DoesNotFit(str(error)) from None
    return room["kept"], room["slot"]


def _both_ways(up: float, down: float, gpu: Gpu) -> float:
    """Seconds that a link takes for bytes of both directions, slower while both are busy."""
    alone_up, alone_down = up / gpu.up, down / gpu.down
    if alone_up == 0 or alone_down == 0:
        return alone_up + alone_down
    paired = min(up / gpu.up_both, down / gpu.down_both)  # seconds until the smaller part is done
    rest_up, rest_down = up - paired * gpu.up_both, down - paired * gpu.down_both
    return paired + max(rest_up, 0) / gpu.up + max(rest_down, 0) / gpu.down


def cpu_nnz(work: Work, threads: int) -> float:
    """Nonzeros a second that the CPU's threads compute, host memory permitting."""
    return threads * (_THREAD_NNZ if work.cols * work.entry < _FAR else _THREAD_NNZ_FAR)


def cpu_seconds(work: Work, machine: Machine) -> float:
    """One product in core on the CPU."""
    moved = work.raw_bytes + (work.rows + work.cols) * work.entry
    return max(moved / machine.host_read, work.nnz / cpu_nnz(work, machine.threads))


def _reach(x: int, cache: int) -> float:
    """The speed of gathers from x of so many bytes, over that from twice the cache."""
    sizes, speeds = zip(*_REACH, strict=True)
    return float(np.interp(math.log2(max(x, 1) / cache), [math.log2(s) for s in sizes], speeds))


def _mean_of(gpus: Sequence[Gpu]) -> Gpu:
    """One GPU for several that draw blocks from one counter: kernels as fast as on average, all else as the slowest."""
    first = gpus[0]
    if all(g == first for g in gpus):
        return first
    return replace(
        first,
        **{f: min(getattr(g, f) for g in gpus) for f in ("up", "down", "up_both", "down_both")},
        latency=max(g.latency for g in gpus),
        launch=max(g.launch for g in gpus),
        pageable=min(g.pageable for g in gpus),
        peer=min(g.peer for g in gpus),
        memory=min(g.memory for g in gpus),
        cache=min(g.cache for g in gpus),
        device_read=sum(g.device_read for g in gpus) / len(gpus),
    )


def _kernel_seconds(nnz: float, moved: float, codec: str, gpu: Gpu, x: int) -> float:
    rate = CODECS[codec].nonzeros_per_byte * _reach(x, gpu.cache) * gpu.device_read
    return max(nnz / rate, moved / (_STREAMING * gpu.device_read))


def predict(
    work: Work, machine: Machine, how: Setting, stays: tuple[int, int] | None = None
) -> Prediction:
    """One product with a setting. `stays`: (bytes kept, bytes of a slot) of a plan that exists. Throws DoesNotFit."""
    n = how.gpus
    if not 1 <= n <= len(machine.gpus):
        raise DoesNotFit(f"{n} GPUs are wanted, {len(machine.gpus)} are here")
    gpu, total = _mean_of(machine.gpus[:n]), work.bytes(how.codec)
    if total <= 0:
        raise DoesNotFit(f"the matrix has no form {how.codec!r}")
    if stays is None:
        rooms = [_room(work, how, i, machine.gpus[i].memory, total) for i in range(n)]
        kept = min(sum(r[0] for r in rooms), total) if how.keep else 0
        slot = min((r[1] for r in rooms if r[1]), default=0)
    else:
        kept, slot = min(stays[0], total), stays[1]
    streamed = total - kept
    slot = max(slot, 1) if streamed else 0
    blocks = max(-(-streamed // slot), n) if streamed else 0
    nnz_streamed = work.nnz * streamed / total

    vectors_travel = work.vectors != "device"
    x = work.cols * work.entry if vectors_travel else 0
    y = work.rows * work.entry if vectors_travel else 0
    # A part over each link and on from GPU to GPU, or whole over each.
    x_up = x if n > 1 and gpu.peer else x * n
    link_up, link_down = machine.together(n, "up"), machine.together(n, "down")
    # The next copy is queued: most of the latency is hidden.
    copies = blocks / n * CODECS[how.codec].copies * gpu.latency * 0.25

    # The CPU's share: it takes blocks from the same counter, at what host memory leaves it.
    helped = 0.0
    if how.cpu and streamed:
        by_links = link_up / (streamed / nnz_streamed)
        left = max(machine.host_read - link_up, 0) / (work.raw_bytes / work.nnz)
        by_cpu = min(cpu_nnz(work, machine.threads), left)
        helped = by_cpu / (by_cpu + by_links)
    travels = streamed * (1 - helped)
    nnz_gpu = work.nnz - nnz_streamed * helped

    pageable = work.vectors == "host"
    staging = min(link_up, machine.host_copy / 3)  # read, written, and read again by the link
    x_seconds = max(x_up / link_up, x / staging if pageable else 0)
    if x_up < x * n:
        x_seconds += x * (n - 1) / n / gpu.peer
    up = travels / link_up + copies
    both_up, both_down = min(gpu.up_both, link_up / n), min(gpu.down_both, link_down / n)
    share = Gpu(link_up / n, link_down / n, both_up, both_down)
    link = x_seconds + max(_both_ways(travels / n, y / n, share) + copies, up)
    moved = total * nnz_gpu / max(work.nnz, 1) + (work.rows + work.cols) * work.entry
    gathered = work.cols * work.entry
    kernels = _kernel_seconds(nnz_gpu / n, moved / n, how.codec, gpu, gathered) + gpu.launch
    staged = travels / staging if work.place == "mapped" else 0.0
    results = y / staging if pageable else 0.0
    first = slot / gpu.up + gpu.latency if streamed and not kept else 0.0
    parts = max(total // max(slot or _core.natural_slot(total), 1), 1)
    last = _kernel_seconds(work.nnz / parts, total / parts, how.codec, gpu, gathered)
    tail = _CALL + (last if streamed else 0.0)
    tail += (y / n / max(parts / n, 1)) / gpu.down + gpu.launch + (n - 1) * _LANE

    resources = [
        ("host link, up", travels + x_up, link),
        ("device memory", moved, x_seconds + first + kernels),
        ("host link, down", y, y / link_down if y else 0.0),
        ("host memory, staging", travels + x + y, x_seconds + staged + results),
        ("CPU", streamed * helped, nnz_streamed * helped / cpu_nnz(work, machine.threads)),
    ]
    uses = [use(name, moved, spent) for name, moved, spent in resources if moved and spent]
    if staged == 0 and not pageable:
        uses = [u for u in uses if "staging" not in u["resource"]]
    slowest = max(uses, key=lambda u: u["seconds"], default=use("device memory", 0, gpu.launch))
    return Prediction(
        setting=how,
        seconds=slowest["seconds"] + tail,
        setup=_setup(work, machine, how, kept),
        binding=slowest["resource"],
        uses=uses,
        kept=kept,
        streamed=streamed,
        blocks=blocks,
        block=slot,
    )


def predict_panels(work: Work, machine: Machine, how: Setting) -> Prediction:
    """A product by ranges of columns (panels.py), for an x that does not fit. Throws DoesNotFit."""
    usable = min(_core.gpu_usable_bytes(g.memory, how.budget) for g in machine.gpus[: how.gpus])
    try:
        count = panels_of(work.rows, work.cols, work.entry, usable)
    except MemoryError as error:
        raise DoesNotFit(str(error)) from None
    offsets = 8 * (work.rows + 1)
    part = replace(
        work,
        cols=-(-work.cols // count),
        nnz=-(-work.nnz // count),
        raw_bytes=(work.raw_bytes - offsets) // count + offsets,
        place="pinned",
    )
    one = predict(part, machine, replace(how, codec="raw", keep=False))
    grown = [use(u["resource"], count * u["bytes"], count * u["seconds"]) for u in one.uses]
    return replace(
        one,
        seconds=count * one.seconds,
        setup=2 * work.raw_bytes / machine.host_copy + count * part.raw_bytes / LOCKS,
        uses=grown,
        streamed=count * one.streamed,
        blocks=count * one.blocks,
    )


def use(resource: str, moved: float, seconds: float) -> dict[str, Any]:
    """One resource's part of a product, as an Explanation lists it."""
    rate = moved / seconds if seconds else 0.0
    return {"resource": resource, "bytes": int(moved), "bandwidth": rate, "seconds": seconds}


def _setup(work: Work, machine: Machine, how: Setting, kept: int) -> float:
    """Seconds before the first product: packing, locking pages, and moving what stays."""
    seconds = kept / machine.together(how.gpus, "up")
    encodes = CODECS[how.codec].encoded_per_second
    if encodes and how.codec not in work.there:
        seconds += work.nnz / (encodes * machine.threads) + work.bytes(how.codec) / LOCKS
    elif how.codec == "raw" and work.place == "host":
        seconds += work.raw_bytes / LOCKS
    elif how.codec == "raw" and work.place == "mapped":
        seconds += kept / machine.gpus[0].pageable
    return seconds


def settings(
    work: Work,
    machine: Machine,
    *,
    gpus: int | None = None,
    codec: str = "auto",
    block: int = 0,
    slots: int | None = None,
    keep: bool = True,
    cpu: bool = False,
    budget: int = 0,
    ring: int = 0,
) -> Iterator[Setting]:
    """The settings worth comparing, within what is prescribed."""
    counts = [gpus] if gpus else sorted({1, 2, 4, 8, len(machine.gpus)})
    codecs = [c for c in AUTOMATIC if work.bytes(c)] if codec == "auto" else [codec]
    for n in counts:
        if n > len(machine.gpus):
            continue
        for c in codecs:
            natural = _core.natural_slot(work.bytes(c))
            for b in [block] if block else sorted({0, 4 * MIB, 16 * MIB, natural // 2}):
                many = slots or (4 if 0 < b < 4 * MIB else 3)
                yield Setting(n, c, b, many, keep, cpu, budget, ring)


def best(
    work: Work, machine: Machine, wanted: Iterable[Setting]
) -> tuple[Prediction, list[Prediction]]:
    """The setting of the least time a product, getting ready included, and the best of each number of GPUs and codec.
    Of settings within 1 % the first: fewer GPUs, and the plan's own block. Throws DoesNotFit where none fits."""
    found: list[Prediction] = []
    refused: DoesNotFit | None = None
    for how in wanted:
        try:
            found.append(predict(work, machine, how))
        except DoesNotFit as error:
            refused = error
    if not found:
        raise refused or DoesNotFit("no GPU is usable here")
    least = min(p.amortised(work.products) for p in found)
    chosen = next(p for p in found if p.amortised(work.products) <= 1.01 * least)
    kinds: dict[tuple[int, str, bool], Prediction] = {}
    for p in found:
        kind = (p.setting.gpus, p.setting.codec, p.setting.cpu)
        known = kinds.get(kind)
        if known is None or p.amortised(work.products) < known.amortised(work.products):
            kinds[kind] = p
    others = [
        p
        for k, p in kinds.items()
        if k != (chosen.setting.gpus, chosen.setting.codec, chosen.setting.cpu)
    ]
    return chosen, others
