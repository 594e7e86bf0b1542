"""Whether GPUs are faster than the CPU for the products of a matrix, and with which plan; and why, with numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan.machine import Machine, this_machine
from penstock._plan.model import (
    DoesNotFit,
    Prediction,
    Setting,
    Work,
    best,
    cpu_seconds,
    predict,
    predict_panels,
    settings,
)
from penstock._plan.schedules import InCore, Schedule, Streamed, gpu_count, options

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

PREPARED = 100  # products that `prepare` counts with where it is not told
_TILES = 96  # sampled to estimate the size of the packed form
_TILE, _GROUP = 1024, 16  # nonzeros; see format/packed_view.hpp


@dataclass(frozen=True)
class Choice:
    """`gpu`: the plan to make, or None for the CPU."""

    gpu: Prediction | None
    cpu_seconds: float
    reason: str
    others: list[Prediction]
    machine: Machine


def estimate_packed(a: csr_array) -> int:
    """Bytes of the packed form, from a sample of tiles and values; kept with the matrix."""
    known = a._derived.packed_estimate
    if known is not None:
        return known
    indptr, indices, nnz = a.indptr, a.indices, a.nnz
    if nnz == 0:
        return 0
    rng = np.random.default_rng(0)
    tiles = -(-nnz // _TILE)
    chosen = np.arange(tiles) if tiles <= _TILES else rng.integers(0, tiles, _TILES)
    mask = (1 << int(max(a.shape[1] - 1, 0)).bit_length()) - 1
    bits = entries = 0
    for tile in chosen:
        first, end = int(tile) * _TILE, min(int(tile) * _TILE + _TILE, nnz)
        columns = np.asarray(indices[first:end], np.int64)
        gaps = np.empty_like(columns)
        gaps[1:] = (columns[1:] - columns[:-1] - 1) & mask
        gaps[0] = (columns[0] - int(indices[first - 1]) - 1) & mask if first else columns[0]
        low, high = np.searchsorted(indptr, (first, end), side="left")
        begins = np.unique(indptr[low:high]) - first  # empty rows begin where the next one does
        gaps[begins] = columns[begins]
        groups = np.zeros(-(-len(gaps) // _GROUP) * _GROUP, np.int64)
        groups[: len(gaps)] = gaps
        widest = groups.reshape(-1, _GROUP).max(axis=1)
        bits += _GROUP * int(np.ceil(np.log2(widest + 1.0)).sum()) + 5 * (_TILE // _GROUP) + 128
        bits += min(-(-10 * len(begins) // 32) * 32, _TILE)
        entries += end - first
    at = np.sort(rng.integers(0, nnz, 512))
    each = bits / 8 / entries + _value_bytes(a, at)
    estimate = int(each * nnz + a.shape[0] * (1 / 8 + 8 / 1024)) + 128
    a._derived.packed_estimate = estimate
    return estimate


def _value_bytes(a: csr_array, at: np.ndarray) -> float:
    """Bytes of a value stored the shortest way that gives back every bit, as the sample has it."""
    if a.dtype == np.bool_:
        return 0
    values = np.asarray(a.data[at])
    distinct = len(np.unique(values))
    if distinct <= 16:
        return 0 if distinct == 1 else 0.5
    if distinct <= 200:  # of 512: a dictionary of bytes
        return 1
    if values.dtype.kind == "f":
        whole = values == np.floor(values)
        if whole.all() and np.abs(values).max() < 2**15:
            return 2
        if (values == values.astype(np.float32)).all():
            return 4
    return a.dtype.itemsize


def work_of(a: csr_array, entry: int, vectors: str, products: int) -> Work:
    packed = a._derived.packed
    place = a.place
    size = 0
    if packed:
        size = packed.nbytes
    elif packed is None and hasattr(_core, "pack") and place in ("host", "mapped", "pinned"):
        size = estimate_packed(a)
    ell = a._derived.ell_g
    return Work(
        *a.shape,
        a.nnz,
        raw_bytes=a.nbytes,
        entry=entry,
        packed_bytes=size,
        ell_bytes=ell.nbytes if ell is not None else a.nbytes,
        place=place,
        vectors=vectors,
        is_packed=bool(packed),
        products=products,
    )


def setting_of(how: Schedule, devices: list[int], entry: int) -> dict[str, Any]:
    """What a schedule prescribes, as `settings` takes it."""
    budget = options.device_memory or 0
    if isinstance(how, InCore):
        codec = {"auto": "auto", "packed": "packed", "ell_g": "ell_g"}.get(how.kernel, "raw")
        return {"gpus": 1, "codec": codec, "budget": budget, "slots": 3}
    assert isinstance(how, Streamed)
    return {
        "gpus": sum(d >= 0 for d in devices),
        "codec": how.codec,
        "block": how._block(),
        "slots": how.slots,
        "keep": bool(how.keep),
        "cpu": bool(how.cpu) or -1 in devices,
        "budget": budget,
        "ring": how._ring() if how.ring is not None else 0,
    }


def compare(a: csr_array, entry: int, vectors: str, products: int) -> Choice | None:
    """The best plan for GPUs against the CPU; None where no GPU is usable, or the matrix is not in host memory."""
    count = gpu_count()
    if count == 0 or a.nnz == 0 or a.place not in ("host", "mapped", "pinned"):
        return None
    machine = this_machine(count)
    work = work_of(a, entry, vectors, products)
    budget = options.device_memory or 0
    on_cpu = cpu_seconds(work, machine)
    try:
        plan, others = best(work, machine, settings(work, machine, budget=budget))
    except DoesNotFit as error:
        return Choice(None, on_cpu, f"GPUs: {error}", [], machine)
    on_gpu = plan.amortised(products)
    many = f"{products} product{'s' * (products != 1)}"
    numbers = f"{on_gpu * 1e3:.3g} ms on {plan.setting} against {on_cpu * 1e3:.3g} ms on the CPU, over {many}"
    if vectors == "device":
        return Choice(plan, on_cpu, f"x is on a GPU: {numbers}", others, machine)
    if 0 < budget < a.nbytes:
        reason = f"{a.nbytes} bytes of matrix exceed the device memory of {budget}: {numbers}"
        return Choice(plan, on_cpu, reason, others, machine)
    if on_gpu < on_cpu:
        return Choice(plan, on_cpu, numbers, others, machine)
    return Choice(None, on_cpu, numbers, [plan, *others], machine)


def automatic(a: csr_array, entry: int) -> tuple[Choice | None, str]:
    """(what `compare` finds for `A @ x`, why nothing is compared). A matrix that has been multiplied n times is
    expected to be multiplied n times more; GPUs are compared anew when n has doubled."""
    done = a._derived.products
    key = (entry, options.device_memory or 0, options.gpus, done.bit_length())
    known = a._derived.gpu_choice
    if known is None or known[0] != key:
        try:
            known = key, compare(a, entry, "host", max(done, 1)), ""
        except (MemoryError, RuntimeError) as error:  # the GPUs fail when they are asked
            known = key, None, _on_cpu(error)
        a._derived.gpu_choice = known
    return known[1], known[2]


def give_up(a: csr_array, error: Exception) -> str:
    """No plan could be made: the CPU computes until the number of products has doubled. What a trace says of it."""
    why, known = _on_cpu(error), a._derived.gpu_choice
    if known is not None:
        a._derived.gpu_choice = known[0], None, why
    return why


def _on_cpu(error: Exception) -> str:
    return f"computed on the CPU: {error}"


def predicted(
    a: csr_array, how: Setting, entry: int, vectors: str, facts: dict[str, Any]
) -> Prediction | None:
    """The model's word on a plan that exists; None where it has none (no GPU takes part)."""
    if how.gpus < 1 or a.nnz == 0:
        return None
    place = "mapped" if facts.get("bounced") else "pinned"
    try:
        work, machine = (
            replace(work_of(a, entry, vectors, 1), place=place),
            this_machine(gpu_count()),
        )
        if "panels" in facts:
            return predict_panels(work, machine, how)
        return predict(work, machine, how, (facts["kept_bytes"], facts["block_bytes"]))
    except DoesNotFit:
        return None
