"""C = A B where A and B are in the memory of one GPU: which of them are, where C goes, and what it may take there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan.place import Place, as_place
from penstock._plan.report import active, human_bytes
from penstock._plan.schedules import options

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array
    from penstock._product.sparse import Factors

__all__ = ["gpu_of", "multiply", "products_of_rows", "to_host"]


def gpu_of(a: csr_array, b: csr_array, mask: csr_array | None) -> int | None:
    """The GPU that holds them all; None where all are elsewhere. PlacementError where only some are on it."""
    if a.place != "device" != b.place and (mask is None or mask.place != "device"):
        return None
    named = {"A": a, "B": b} if mask is None else {"A": a, "B": b, "mask": mask}
    gpus = {n: _core.ordinal(m._core) if m.place == "device" else None for n, m in named.items()}
    if len(set(gpus.values())) == 1:
        return gpus["A"]
    gpu = next(g for g in gpus.values() if g is not None)
    other = next(n for n, g in gpus.items() if g != gpu)
    held = next(n for n, g in gpus.items() if g == gpu)
    where = f"{named[other].place} memory" if gpus[other] is None else f"that of GPU {gpus[other]}"
    raise _core.PlacementError(
        f"{held} is in the memory of GPU {gpu} and {other} in {where}: give {other}.to(ps.device({gpu})), or all in "
        f"host memory, {held}.to(ps.host)"
    )


def to_host(place: Any, gpu: int | None) -> bool:
    """Whether `place` asks for C in host memory; `gpu` is where A and B are, None for host memory."""
    if place is None:
        return gpu is None
    where = as_place(place)
    if where.memory == "host" or (gpu is not None and where == Place("device", gpu)):
        return where.memory == "host"
    here = "in host memory" if gpu is None else f"in the memory of GPU {gpu}"
    choices = "ps.host" if gpu is None else f"ps.host or ps.device({gpu})"
    raise ValueError(
        f"place={place!r}, and A and B are {here}: give {choices}, and move C with C.to({where!r})"
    )


def products_of_rows(f: Factors, gpu: int) -> np.ndarray:
    """How many products each row of C has."""
    return _core.spgemm_products_gpu(f.a._core, f.b._core, gpu)["per_row"]


def _left(f: Factors, gpu: int) -> int:
    """What `options.device_memory` leaves beside A, B and the mask; -1 for no limit."""
    limit = options.device_memory
    if limit is None:
        return -1
    held = {id(m._core): m.nbytes for m in (f.a, f.b, f.mask) if m is not None}
    if sum(held.values()) >= limit:
        raise MemoryError(
            f"A and B take {human_bytes(sum(held.values()))} on GPU {gpu}, and options.device_memory allows "
            f"{human_bytes(limit)} there: allow more, or multiply in host memory, A.to(ps.host) @ B.to(ps.host)"
        )
    return limit - sum(held.values())


def multiply(f: Factors, gpu: int, first: int, last: int, memory: int, host: bool) -> Any:
    """Rows `first` to `last` of C, as the core's matrix. `memory` bounds what they take (-1: what is free)."""
    left = _left(f, gpu)
    blocks = left if host or f.mask is not None else -1
    if not host and left >= 0:
        memory = left if memory < 0 else min(memory, left)
    events = active()
    try:
        core, event = _core.spgemm_on_device(
            f.a._core,
            f.b._core,
            f.semiring,
            str(f.dtype),
            gpu,
            f.ordered_mask,
            host,
            memory,
            blocks,
            first,
            last,
            events is not None,
        )
    except MemoryError as e:
        if host:
            raise
        raise MemoryError(
            f"C does not fit the memory of GPU {gpu}: {e}. ps.spgemm(A, B, place=ps.host) computes it there by blocks "
            "of rows, into host memory"
        ) from None
    if events is not None:
        events.append(event)
    return core
