"""Which way a product goes: the CPU in core, the CPU's ring, or a plan on GPUs; and why, with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._gpu_machine import Machine, this_machine
from penstock._gpu_plan import (
    DoesNotFit,
    Prediction,
    Setting,
    Work,
    best,
    cpu_seconds,
    predict,
    settings,
)
from penstock._schedules import InCore, Schedule, Streamed, gpu_count, options

if TYPE_CHECKING:
    from penstock._csr import csr_array

# Below this many nonzeros a product takes the CPU a few milliseconds: asking the driver is not worth it.
LEAST_NNZ = 4_000_000
PREPARED = 100  # products that `prepare` counts with where it is not told
_SAMPLES = 512
_SEGMENT = 1024  # nonzeros between two restart points of the packed form
_SEGMENT_BYTES = 12  # of a restart point


@dataclass(frozen=True)
class Choice:
    """`gpu`: the plan to make, or None for the CPU."""

    gpu: Prediction | None
    cpu_seconds: float
    reason: str
    others: list[Prediction]
    machine: Machine


def estimate_packed(a: csr_array) -> int:
    """Bytes of the packed form, from a sample of segments and values; kept with the matrix."""
    known = a._derived.get("packed_estimate")
    if known is not None:
        return known
    indptr, indices, nnz = a.indptr, a.indices, a.nnz
    if nnz == 0:
        return 0
    rng = np.random.default_rng(0)
    at = np.sort(rng.integers(0, nnz, _SAMPLES))
    rows = np.searchsorted(indptr, at, side="right") - 1
    sizes = []
    for position, row in zip(at, rows, strict=True):
        first, end = int(indptr[row]), int(indptr[row + 1])
        first += (int(position) - first) // _SEGMENT * _SEGMENT
        segment = np.asarray(indices[first : min(first + _SEGMENT, end)], np.int64)
        width = int(np.abs(np.diff(segment)).max(initial=0)).bit_length()
        sizes.append((_SEGMENT_BYTES + width * (len(segment) - 1) / 8) / len(segment))
    each = float(np.mean(sizes)) + _value_bytes(a, at)
    estimate = int(each * nnz) + 8 * a.shape[0] // 2
    a._derived["packed_estimate"] = estimate
    return estimate


def _value_bytes(a: csr_array, at: np.ndarray) -> float:
    """Bytes that a value takes at least when it is narrowed without loss, as the sample has it."""
    if a.dtype == np.bool_:
        return 0
    values = np.asarray(a.data[at])
    distinct = len(np.unique(values))
    if distinct <= 1:
        return 0
    if distinct <= 200:  # of 512: a dictionary, or small integers
        return 1
    if a.dtype == np.float64 and (values == values.astype(np.float32)).all():
        return 4
    return a.dtype.itemsize


def work_of(a: csr_array, entry: int, vectors: str, products: int) -> Work:
    packed = a._derived.get("packed")
    place = a.place
    size = 0
    if packed:
        size = packed.nbytes
    elif packed is None and hasattr(_core, "pack") and place in ("host", "mapped", "pinned"):
        size = estimate_packed(a)
    ell = a._derived.get("ell_g")
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


def decide(
    a: csr_array, entry: int, vectors: str, products: int, measure: bool = False
) -> Choice | None:
    """The planner's choice where GPUs may be used; None where none is usable, or the matrix is not in host memory."""
    count = gpu_count()
    if count == 0 or a.nnz == 0 or a.place not in ("host", "mapped", "pinned"):
        return None
    machine = this_machine(count, measure)
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


def automatic(a: csr_array, entry: int) -> Setting | None:
    """The plan that `A @ x` makes, or None for the CPU. A matrix that has been multiplied n times is expected to be
    multiplied n times more; the decision is taken anew when n has doubled."""
    budget = options.device_memory or 0
    if not (a.nnz >= LEAST_NNZ or 0 < budget < a.nbytes) or gpu_count() == 0:
        return None
    done = a._derived.get("products", 0)
    a._derived["products"] = done + 1
    key = (entry, budget, options.gpus, done.bit_length())
    known = a._derived.get("gpu_choice")
    if known is None or known[0] != key:
        choice = decide(a, entry, "host", max(done, 1))
        known = key, choice.gpu.setting if choice is not None and choice.gpu is not None else None
        a._derived["gpu_choice"] = known
    return known[1]


def predicted(
    a: csr_array, how: Setting, entry: int, vectors: str, stays: tuple[int, int] | None = None
) -> Prediction | None:
    """The model's word on a plan; None where it has none (no GPU takes part)."""
    if how.gpus < 1 or a.nnz == 0:
        return None
    try:
        return predict(work_of(a, entry, vectors, 1), this_machine(gpu_count()), how, stays)
    except DoesNotFit:
        return None
