"""`A.explain`: the planner's choice and what it considered, as an Explanation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._plan.choice import Choice, cpu_seconds, decide, setting_of, work_of
from penstock._plan.machine import this_machine
from penstock._plan.model import (
    DoesNotFit,
    Prediction,
    Setting,
    best,
    cpu_nnz,
    predict_panels,
    settings,
    use,
)
from penstock._plan.report import Explanation, human_bytes
from penstock._plan.schedules import (
    InCore,
    Schedule,
    Streamed,
    ZeroCopy,
    gpu_count,
    no_gpu,
    options,
)
from penstock._plan.streaming import existing, request_for

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

_ON_CPU = "of the CPU, measured in this process"


def _other(name: str, seconds: float, setup: float = 0.0) -> dict[str, Any]:
    return {"schedule": name, "seconds": seconds, "first_call_seconds": setup}


def _named(p: Prediction) -> str:
    return f"{'streamed' if p.streamed else 'in_core'} on {p.setting}"


def _others(found: list[Prediction], on_cpu: float | None) -> list[dict[str, Any]]:
    told = [_other(_named(p), p.seconds, p.setup) for p in found]
    return told + ([] if on_cpu is None else [_other("in_core on the CPU", on_cpu)])


def _of(
    a: csr_array, p: Prediction, why: str, others: list[dict[str, Any]], source: str
) -> Explanation:
    parts = []
    if p.streamed:
        parts.append(
            f"{human_bytes(p.streamed)} travel in {p.blocks} blocks of {human_bytes(p.block)}"
        )
    if p.kept:
        parts.append(f"{human_bytes(p.kept)} stay")
    return Explanation(
        schedule="streamed" if p.streamed else "in_core",
        reason="; ".join([str(p.setting), *parts, why]),
        seconds=p.seconds,
        binding=p.binding,
        uses=p.uses,
        flops=2 * a.nnz,
        first_call_seconds=p.setup,
        alternatives=others,
        figures=source,
    )


def explain_on_gpu(
    a: csr_array, entry: int, how: Schedule | None, vectors: str
) -> Explanation | None:
    """None where no GPU would take part."""
    if how is None:
        plan = _made(a, entry)
        foretold = None if plan is None else plan.foretold[vectors]
        if foretold is not None:
            source = this_machine(gpu_count()).source
            others = _others([], _cpu(a, entry, vectors))
            return _of(a, foretold, f"a plan exists: {plan}", others, source)
        choice = decide(a, entry, vectors, max(a._derived.products, 1), measure=True)
        if choice is None or choice.gpu is None:
            return None
        others = _others(choice.others, choice.cpu_seconds)
        return _of(a, choice.gpu, choice.reason, others, choice.machine.source)
    if isinstance(how, InCore) and how.kernel == "cusparse":
        how = replace(how, kernel="merge_path")  # the same bytes
    request = request_for(a, how, entry)
    if request is None or max(request.devices) < 0:
        return None
    machine = this_machine(gpu_count(), measure_host=True)
    work = work_of(a, entry, vectors, max(a._derived.products, 1))
    try:
        fields = setting_of(how, list(request.devices), entry)
        found, others = best(work, machine, settings(work, machine, **fields))
    except DoesNotFit as error:
        if isinstance(how, InCore) or how.codec not in ("auto", "raw"):
            raise MemoryError(f"{how}: {error}") from None
        try:
            made = Setting(**(fields | {"codec": "raw"}))
            found, others = predict_panels(work, machine, made), []
        except DoesNotFit as worse:
            raise MemoryError(f"{how}: {worse}") from None
    return _of(a, found, "asked for", _others(others, cpu_seconds(work, machine)), machine.source)


def _made(a: csr_array, entry: int) -> Any:
    if a._derived.stream_plans is None:
        return None
    return existing(a, entry)


def _cpu(a: csr_array, entry: int, vectors: str) -> float:
    return cpu_seconds(work_of(a, entry, vectors, 1), this_machine(gpu_count(), True))


def _host_plan(a: csr_array, entry: int, how: Schedule | None) -> Explanation | None:
    """Of a plan that streams through the CPU's caches: one that exists, or one that a codec asks for."""
    if how is None:
        plan = _made(a, entry)
        if plan is None:
            return None
        codec, why = plan.codec, f"a plan exists: {plan}"
    else:
        request = request_for(a, how, entry)
        if request is None:
            return None
        codec, why = request.setting.codec, f"asked for: blocks travel {request.setting.codec}"
    host, work = _core.machine(), work_of(a, entry, "host", 1)
    moved = (work.bytes(codec) or work.raw_bytes) + sum(a.shape) * entry
    rate = cpu_nnz(work, _core.num_threads())
    uses = [
        use("host memory", moved, moved / host["host_read"]),
        use("CPU", work.bytes("raw"), work.nnz / rate),
    ]
    slowest = max(uses, key=lambda u: u["seconds"])
    others = [_other("in_core on the CPU", cpu_seconds(work, this_machine(0, True)))]
    return Explanation(
        "streamed",
        why,
        slowest["seconds"],
        slowest["resource"],
        uses,
        2 * a.nnz,
        0.0,
        others,
        _ON_CPU,
    )


def explain_on_cpu(a: csr_array, entry: int, columns: int, how: Schedule | None) -> Explanation:
    """The CPU's two ways, and what GPUs would have taken where they were considered."""
    plan = _host_plan(a, entry, how) if columns == 1 else None
    if plan is not None:
        return plan
    limit = options.device_memory or 0
    chosen = _core.choose(a._core, entry, limit) if how is None else how._lower()
    told = _core.price(a._core, chosen, entry, limit)
    others, figures = [], _ON_CPU
    choice: Choice | None = None
    if how is None and columns == 1:
        choice = decide(a, entry, "host", max(a._derived.products, 1))
    for other in (InCore(), Streamed(device="cpu")):
        lowered = other._lower()
        if lowered.name != told["schedule"]:
            price = _core.price(a._core, lowered, entry, limit)
            others.append(_other(f"{price['schedule']} on the CPU", price["seconds"]))
    if choice is not None:
        others += _others(choice.others, None)
        told["reason"] += f"; {choice.reason}"
        figures += f"; of the GPUs, {choice.machine.source}"
    elif how is None and gpu_count() == 0:
        here = options.gpus == 0 or _core.gpus_seen()  # there are some, and a reason against them
        told["reason"] += f"; {no_gpu()}" if here else "; no GPU is usable here"
    if isinstance(how, ZeroCopy):
        others = []
    return Explanation(**told, flops=2 * a.nnz * columns, alternatives=others, figures=figures)
