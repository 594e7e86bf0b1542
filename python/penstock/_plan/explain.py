"""`A.explain`: the Decision that the product would carry out, and what it considered, as an Explanation."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._plan.choice import cpu_seconds, work_of
from penstock._plan.decision import Decision, decide
from penstock._plan.machine import Machine, this_machine
from penstock._plan.model import (
    DoesNotFit,
    Prediction,
    Setting,
    Work,
    best,
    cpu_nnz,
    predict,
    predict_panels,
    settings,
    use,
)
from penstock._plan.report import Explanation, human_bytes
from penstock._plan.schedules import (
    LEAST_NNZ,
    InCore,
    Schedule,
    Streamed,
    ZeroCopy,
    gpu_count,
    no_gpu,
    options,
)

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


def explain(
    a: csr_array, entry: int, columns: int, how: Schedule | None, vectors: str = "host"
) -> Explanation:
    """The Decision of a product with so many columns, whose entries take so many bytes, in words and numbers."""
    decision = decide(a, entry, how, vectors=vectors, single=columns == 1)
    if decision.by == "plan" and not decision.on_gpu:
        return _plan_on_cpu(a, decision, entry)
    if decision.by == "plan":
        return _plan_on_gpus(a, decision, entry, vectors)
    on_gpu = isinstance(decision.schedule, InCore) and decision.schedule.gpu >= 0
    if on_gpu and columns == 1 and a.nnz and gpu_count():
        return _in_core_on_gpu(a, decision, entry)
    return _by_core(a, decision, entry * columns, columns, how)


def _plan_on_gpus(a: csr_array, decision: Decision, entry: int, vectors: str) -> Explanation:
    choice, plan = decision.choice, decision.plan
    if choice is not None and choice.gpu is not None:
        others = _others(choice.others, choice.cpu_seconds)
        return _of(a, choice.gpu, choice.reason, others, choice.machine.source)
    machine = this_machine(gpu_count())
    if plan is not None:
        on_cpu = cpu_seconds(work_of(a, entry, vectors, 1), this_machine(gpu_count(), True))
        others, why = _others([], on_cpu), f"a plan exists: {plan}"
        found = plan.foretold[vectors]
        if found is not None:
            return _of(a, found, why, others, machine.source)
        streamed = "streamed" if plan.facts["streamed_bytes"] else "in_core"
        return Explanation(streamed, why, 0.0, "no prediction", [], 2 * a.nnz, 0.0, others)
    work = work_of(a, entry, vectors, 1)
    found = _foretold(work, machine, decision)
    instead = _others(_instead(work, machine, decision), cpu_seconds(work, machine))
    return _of(a, found, "asked for", instead, machine.source)


def _foretold(work: Work, machine: Machine, decision: Decision) -> Prediction:
    """Of a plan that is to be made; by ranges of columns where x does not fit, as plans are then made."""
    request, setting = decision.request, decision.setting
    assert request is not None and setting is not None
    try:
        return predict(work, machine, setting)
    except DoesNotFit as error:
        if request.everything or request.setting.codec not in ("auto", "raw"):
            raise MemoryError(f"{decision.schedule}: {error}") from None
    try:
        return predict_panels(work, machine, replace(setting, codec="raw"))
    except DoesNotFit as error:
        raise MemoryError(f"{decision.schedule}: {error}") from None


def _instead(work: Work, machine: Machine, decision: Decision) -> list[Prediction]:
    """The best of each other codec that the schedule allows."""
    assert decision.request is not None and decision.setting is not None
    try:
        found, others = best(
            work, machine, settings(work, machine, **asdict(decision.request.setting))
        )
    except DoesNotFit:
        return []
    return [p for p in (found, *others) if p.setting.codec != decision.setting.codec]


def _in_core_on_gpu(a: csr_array, decision: Decision, entry: int) -> Explanation:
    """Without a plan: the matrix lies on that GPU, or NVIDIA's library keeps a copy there."""
    machine, work = this_machine(gpu_count()), work_of(a, entry, "host", 1)
    found = predict(work, machine, Setting(1, "raw"), (work.raw_bytes, 0))
    if a.place == "device":
        found, why = replace(found, setup=0.0), "the matrix is there"
    else:
        why = "asked for: cuSPARSE" if decision.by == "cusparse" else "asked for"
    return _of(a, found, why, _others([], cpu_seconds(work, machine)), machine.source)


def _plan_on_cpu(a: csr_array, decision: Decision, entry: int) -> Explanation:
    """A plan that streams through the CPU's caches: one that exists, or one that a codec asks for."""
    assert decision.setting is not None
    codec, plan = decision.setting.codec, decision.plan
    exists = f"a plan exists: {plan}"
    why = exists if plan is not None else f"asked for: blocks travel {codec}"
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


def _by_core(
    a: csr_array, decision: Decision, entry: int, columns: int, how: Schedule | None
) -> Explanation:
    """Without a plan, by the CPU or over the link: the CPU's two ways, and what GPUs would have taken where they were
    considered."""
    limit = options.device_memory or 0
    told = _core.price(a._core, decision.lowered, entry, limit)
    others, figures = [], _ON_CPU
    if not isinstance(how, ZeroCopy) and a.place != "device":
        for other in (InCore(), Streamed(device="cpu")):
            lowered = other._lower()
            if lowered.name != told["schedule"]:
                price = _core.price(a._core, lowered, entry, limit)
                others.append(_other(f"{price['schedule']} on the CPU", price["seconds"]))
    if decision.choice is not None:
        others += _others(decision.choice.others, None)
        told["reason"] += f"; {decision.choice.reason}"
        figures += f"; of the GPUs, {decision.choice.machine.source}"
    elif decision.note:
        told["reason"] += f"; {decision.note}"
    elif how is None and gpu_count() == 0:
        here = options.gpus == 0 or _core.gpus_seen()  # there are some, and a reason against them
        told["reason"] += f"; {no_gpu()}" if here else "; no GPU is usable here"
    elif how is None and columns == 1 and a.nnz < LEAST_NNZ:
        told["reason"] += f"; GPUs are asked from {LEAST_NNZ:,} nonzeros on"
    return Explanation(**told, flops=2 * a.nnz * columns, alternatives=others, figures=figures)
