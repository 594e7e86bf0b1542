"""Plans: what a matrix needs to be multiplied again and again on GPUs, made once and kept with it.

A plan (`_core.StreamPlan`) holds locked pages, blocks that stay on the GPUs, and rings for those that travel. A
matrix keeps the last two, and lets go of them with itself or by `release`. A product that finds its plan allocates,
locks and packs nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._plan.choice import (
    PREPARED,
    compare,
    predicted,
    setting_of,
    work_of,
)
from penstock._plan.codecs import FORMS, READABLE, forgo
from penstock._plan.machine import this_machine
from penstock._plan.model import (
    AUTOMATIC,
    DoesNotFit,
    Prediction,
    Setting,
    Work,
    best,
    settings,
)
from penstock._plan.panels import PanelPlan, needs_panels
from penstock._plan.report import human_bytes
from penstock._plan.schedules import InCore, Schedule, Streamed, as_schedule, gpu_count, options

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array
    from penstock._plan.decision import Decision

KEPT = 2  # plans a matrix: of two types of vectors, or two schedules


@dataclass(frozen=True)
class Request:
    """All that a plan depends on, besides the matrix and the type of its vectors."""

    devices: tuple[int, ...]
    setting: Setting
    everything: bool = False  # InCore: all of the matrix must stay

    def allowed(self) -> bool:
        """Whether the options of now allow it."""
        within = max(self.devices) < 0 or max(self.devices) < gpu_count()
        return within and self.setting.budget == (options.device_memory or 0)


@dataclass
class Plan:
    core: Any
    request: Request
    entry: int
    setting: Setting  # what it was made with
    facts: dict[str, Any]
    notes: list[str]
    foretold: dict[str, Prediction | None]  # by where x is

    @property
    def codec(self) -> str:
        return self.setting.codec

    @property
    def prediction(self) -> Prediction | None:
        """Of a product with vectors in ordinary memory."""
        return self.foretold["host"]

    def __str__(self) -> str:
        f = self.facts
        where = ", ".join(f"GPU {d}" if d >= 0 else "the CPU" for d in self.request.devices)
        words = [f"{'in core' if not f['streamed_bytes'] else 'streamed'} on {where}, {self.codec}"]
        if f["streamed_bytes"]:
            words.append(
                f"{human_bytes(f['streamed_bytes'])} a product through {f['slots']} slots of "
                f"{human_bytes(f['block_bytes'])}"
            )
        if f["kept_bytes"]:
            words.append(f"{human_bytes(f['kept_bytes'])} kept")
        return "; ".join(words + self.notes)


# By the request and the bytes of an entry, the one used last at the end.
Plans = tuple[OrderedDict[tuple[Request, int], Plan], threading.RLock]


def _plans(a: csr_array) -> Plans:
    return a._derived.once("stream_plans", lambda: (OrderedDict(), threading.RLock()))


def existing(a: csr_array, entry: int) -> Plan | None:
    """The plan used last that serves vectors of `entry` bytes under the options of now."""
    known = a._derived.stream_plans
    if known is None:
        return None
    plans, lock = known
    with lock:
        for key in reversed(plans):
            plan = plans[key]
            if plan.entry >= entry and plan.request.allowed():
                return plan
    return None


def made(a: csr_array, request: Request, entry: int) -> Plan | None:
    """The plan of a request for vectors as wide, or wider; None where it is not made yet."""
    known = a._derived.stream_plans
    if known is None:
        return None
    plans, lock = known
    with lock:
        return next((p for (r, e), p in plans.items() if r == request and e >= entry), None)


# From schedules to requests


def _requested(how: Streamed | InCore, devices: list[int], entry: int) -> Request:
    fields = setting_of(how, devices, entry)
    in_core = isinstance(how, InCore)
    return Request(tuple(devices), Setting(**fields), everything=in_core)


def request_for(
    a: csr_array, how: Schedule, entry: int, on_cpu_too: bool = False
) -> Request | None:
    """What a plan for this schedule is made from; None where the schedule walks the matrix without one: on the CPU's
    own rings, over the link, or in core where the matrix is."""
    if a.place not in READABLE or a.nnz == 0 or min(a.shape) == 0:
        return None
    if isinstance(how, Streamed):
        devices = how._devices()
        request = _requested(how, devices, entry)
        rings = max(devices) < 0 and how.codec in ("auto", "raw")  # of the CPU: they need no plan
        needed = not rings or on_cpu_too or made(a, request, entry) is not None
        return request if needed else None
    if isinstance(how, InCore) and how.gpu >= 0:
        how._check()
        if how.kernel == "cusparse":
            return None
        return _requested(how, [how.gpu], entry)
    return None


def planned(setting: Setting) -> Request:
    """Of a setting that the planner chose: it may still find that the rows cannot be packed."""
    return Request(tuple(range(setting.gpus)), replace(setting, codec="auto", block=0))


# Making a plan


def _largest_slot(a: csr_array, how: Setting, entry: int, free: int) -> int:
    """Bytes that a slot of the ring may have; 0 where nothing bounds them."""
    slots = [b for b in (how.block, how.ring // how.slots) if b]
    if free:
        x = a.shape[1] * entry
        left = _core.gpu_usable_bytes(free, how.budget, x) - x
        slots.append(max(_core.largest_slot(left, how.slots, entry), 1))
    return min(slots, default=0)


def _source(a: csr_array, how: Setting, entry: int, free: int) -> Any:
    return FORMS[how.codec].make(a, _largest_slot(a, how, entry, free))


def resolve(a: csr_array, request: Request, entry: int, products: int) -> Setting:
    """What a request is made with: the codec and the block that "auto" and 0 stand for, over so many products."""
    want, on_gpu = request.setting, max(request.devices) >= 0
    if not on_gpu or max(request.devices) >= gpu_count():
        return replace(want, codec="raw") if want.codec == "auto" else want
    work = work_of(a, entry, "host", products)
    if request.everything:
        return _in_core_codec(want, work, request.devices[0])
    machine = this_machine(gpu_count())
    choices = settings(work, machine, **asdict(want))
    try:
        chosen = best(work, machine, choices)[0].setting
    except DoesNotFit:  # the core knows the exact sizes, and its error has them
        chosen = replace(want, codec="raw") if want.codec == "auto" else want
    return chosen


def _in_core_codec(want: Setting, work: Work, gpu: int) -> Setting:
    """The first form of which all bytes stay on the GPU."""
    free, most = _core.gpu_memory(gpu)[0], 0
    codecs = AUTOMATIC if want.codec == "auto" else (want.codec,)
    for codec in codecs:
        size, x, y = work.bytes(codec), work.cols * work.entry, work.rows * work.entry
        if size <= 0:
            continue
        try:
            kept = _core.gpu_room(
                *(free, size, x, y),
                device_memory=want.budget,
                slots=want.slots,
                entry_bytes=work.entry,
            )["kept"]
        except MemoryError:  # not even x and a ring fit
            continue
        if kept >= size:
            return replace(want, codec=codec)
        most = max(most, kept)
    needed = min((work.bytes(c) for c in codecs if work.bytes(c) > 0), default=work.raw_bytes)
    raise MemoryError(
        f"InCore(device={gpu}): the matrix takes {needed} bytes beside x and y, GPU {gpu} has room for {most}: use "
        "Streamed, which keeps what fits and moves the rest, or allow more device_memory"
    )


def _make(a: csr_array, request: Request, how: Setting, entry: int, notes: list[str]) -> Any:
    on_gpu = max(request.devices) >= 0
    free = min((_core.gpu_memory(g)[0] for g in request.devices if g >= 0), default=0)
    source = _source(a, how, entry, free)
    block = how.block
    if how.ring:
        block = _core.slot_within_ring(how.ring, how.slots, block, source.nbytes, on_gpu)
    pin = on_gpu and getattr(source, "place", a.place) == "host"
    devices = list(request.devices)
    cpu = how.cpu and -1 not in devices
    arguments = {
        "block_bytes": block,
        "slots": how.slots,
        "keep": how.keep,
        "entry_bytes": entry,
        "cpu": cpu,
    }

    small = needs_panels(a.shape[1], entry, how.slots, how.budget, free) if on_gpu else 0
    if small and how.codec == "raw" and not request.everything:
        plan = PanelPlan(a, devices, how, small, **arguments)
        notes.append(
            f"x of {a.shape[1] * entry} bytes does not fit: the matrix was copied in {plan.facts()['panels']} ranges "
            "of columns"
        )
        return plan

    def attempt(memory: int, pin: bool) -> Any:
        return _core.stream_plan(source, devices, device_memory=memory, pin=pin, **arguments)

    try:
        return attempt(how.budget, pin)
    except MemoryError as error:
        if pin and "pin" in str(error):
            plan = attempt(how.budget, False)
            notes.append(f"pages are not locked, copies are slower: {error}")
            return plan
        # Another process may have taken memory between the question and the allocation.
        share = (min(how.budget, free) if how.budget else free) // 2
        if not share:
            raise
        try:
            plan = attempt(share, pin)
        except MemoryError:
            raise error from None
        notes.append(f"made with {share} bytes of each GPU, as more was not free")
        return plan


def _fitting(a: csr_array, request: Request, how: Setting, entry: int, notes: list[str]) -> Any:
    """`_make`; what cannot be packed, or whose packed blocks are too large, travels raw where the codec was the
    planner's choice."""
    try:
        return _make(a, request, how, entry, notes), how.codec
    except (ValueError, MemoryError, _core.NotCompiledError) as error:
        if how.codec == "raw" or request.setting.codec != "auto" or request.everything:
            raise
        notes.append(f"not {how.codec}: {error}")
        forgo(a, how.codec)
        raw = replace(how, codec="raw", block=request.setting.block)
        return _make(a, request, raw, entry, notes), "raw"


def _shared(one: Request, other: Request) -> bool:
    return any(d >= 0 for d in set(one.devices) & set(other.devices))


def plan_for(
    a: csr_array, request: Request, entry: int, products: int = 1, setting: Setting | None = None
) -> Plan:
    """The plan of a request, made at the first call with `setting`, or with what `resolve` finds for so many products.
    Throws MemoryError with numbers where it does not fit."""
    plans, lock = _plans(a)
    key = (request, entry)
    with lock:
        for known in plans:
            if known[0] == request and known[1] >= entry:  # made for vectors as wide, or wider
                plans.move_to_end(known)
                return plans[known]
        notes: list[str] = []
        how = resolve(a, request, entry, products) if setting is None else setting
        for other in [k for k in plans if request.setting.budget and _shared(k[0], request)]:
            del plans[other]  # the budget is for both
        while len(plans) >= KEPT:
            plans.popitem(last=False)
        try:
            core, codec = _fitting(a, request, how, entry, notes)
        except MemoryError:
            if not plans:
                raise
            plans.clear()  # what they hold may be what is missing
            core, codec = _fitting(a, request, how, entry, notes)
        facts = core.facts()
        if request.everything and facts["streamed_bytes"]:
            raise MemoryError(
                f"InCore(device={request.devices[0]}): {facts['streamed_bytes']} bytes of the matrix do not fit beside "
                f"{facts['kept_bytes']}: use Streamed, which moves them, or allow more device_memory"
            )
        used = replace(how, codec=codec)
        foretold = {w: predicted(a, used, entry, w, facts) for w in ("host", "pinned", "device")}
        plan = Plan(core, request, entry, used, facts, notes, foretold)
        plans[key] = plan
        return plan


def plan_of(a: csr_array, decision: Decision, entry: int) -> Plan:
    """The plan that carries a decision out, made where it does not exist."""
    if decision.plan is not None and decision.schedule is None:
        return decision.plan
    assert decision.request is not None
    return plan_for(a, decision.request, entry, setting=decision.setting)


def _forget(a: csr_array, plan: Plan) -> None:
    known = a._derived.stream_plans
    if known is not None:
        with known[1]:
            known[0].pop((plan.request, plan.entry), None)


def multiply(
    a: csr_array, plan: Plan, x: Any, y: Any, semiring: str, alpha: Any, beta: Any, traced: bool
) -> dict[str, Any] | None:
    """y = alpha A x + beta y by a plan. After an error of the device the plan is not used again; where memory ran out
    and y was not to be read, it is made once more."""
    try:
        event = plan.core.multiply(x, y, semiring, alpha, beta, traced)
    except MemoryError:
        _forget(a, plan)
        if beta is not None:
            raise
        plan = plan_for(a, plan.request, plan.entry)
        event = plan.core.multiply(x, y, semiring, alpha, beta, traced)
    except _core.NotCompiledError:
        raise
    except RuntimeError:
        _forget(a, plan)
        raise
    if event is not None:
        event["codec"] = plan.codec
        event["kept_bytes"] = plan.facts["kept_bytes"]
        foretold = plan.foretold.get(_core.memory_of(x))
        if foretold is not None:
            event["predicted_seconds"] = foretold.seconds
        if plan.notes:
            event["notes"] = list(plan.notes)
    return event


def prepare(a: csr_array, algorithm: str, schedule: Any, products: int | None) -> str:
    """See `csr_array.prepare`."""
    entry = result_dtype(a.dtype).itemsize
    if schedule is None:
        choice = compare(a, entry, "host", products or 1) if algorithm == "auto" else None
        if choice is None or choice.gpu is None:
            return _core.prepare(a._core, algorithm)
        setting = choice.gpu.setting
        return str(plan_for(a, planned(setting), entry, setting=setting))
    if algorithm != "auto":
        raise ValueError(
            f"algorithm '{algorithm}' is for products in core on the CPU: give it without a schedule"
        )
    how = as_schedule(schedule)
    request = request_for(a, how, entry, on_cpu_too=True)
    if request is not None:
        return str(plan_for(a, request, entry, PREPARED if products is None else products))
    how._lower()  # says what is wrong with it
    raise ValueError(
        f"{how} needs no plan for a matrix of {a.nnz} nonzeros in {a.place} memory: give Streamed, or "
        "InCore(device=...) with a matrix in host memory"
    )
