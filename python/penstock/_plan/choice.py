"""Whether GPUs are faster than the CPU for the products of a matrix, and with which plan; and why, with numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock._plan.codecs import FORMS, READABLE
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


@dataclass(frozen=True)
class Choice:
    """`gpu`: the plan to make, or None for the CPU."""

    gpu: Prediction | None
    cpu_seconds: float
    reason: str
    others: list[Prediction]
    machine: Machine


def work_of(a: csr_array, entry: int, vectors: str, products: int) -> Work:
    return Work(
        *a.shape,
        a.nnz,
        raw_bytes=a.nbytes,
        entry=entry,
        forms={codec: form.size(a) for codec, form in FORMS.items() if codec != "raw"},
        place=a.place,
        vectors=vectors,
        there=frozenset(codec for codec, form in FORMS.items() if form.there(a)),
        products=products,
    )


def setting_of(how: Schedule, devices: list[int], entry: int) -> dict[str, Any]:
    """What a schedule prescribes, as `settings` takes it."""
    budget = options.device_memory or 0
    if isinstance(how, InCore):
        codec = how.kernel if how.kernel in ("auto", *FORMS) else "raw"
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
    if count == 0 or a.nnz == 0 or a.place not in READABLE:
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
