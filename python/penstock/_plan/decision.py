"""What one product does, decided in one place: `A @ x` carries a Decision out, and `A.explain` prints the same one.

The rules, in this order. A schedule that was given is kept to. A plan that exists is used. Where the matrix is large
or exceeds the memory that a device may have, GPUs are compared with the CPU (choice.py), and a plan is to be made where
they are faster. All else is computed on the CPU: in core, or through its caches above `options.device_memory`.

Deciding makes no plan, allocates nothing and counts nothing, so that whoever asks twice gets the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from penstock import _core
from penstock._plan.schedules import (
    LEAST_NNZ,
    InCore,
    Schedule,
    Streamed,
    ZeroCopy,
    gpu_count,
    options,
)

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array
    from penstock._plan.choice import Choice
    from penstock._plan.model import Setting
    from penstock._plan.streaming import Plan, Request

# Plans and the model of GPUs would take a quarter of the time of `import penstock`. The functions below import them, as
# few products need them.


@dataclass(frozen=True)
class Decision:
    """What one product of a matrix does.

    by : "core" walks the matrix by `schedule`; "plan" is a plan for GPUs or for the CPU as a device; "cusparse" is
        NVIDIA's library
    schedule : what was asked for, or what was chosen; None where the plan alone says it
    lowered : the same as the core takes it; None for plans
    plan : the plan, where it exists already
    request, setting : what the plan was made from, or is to be made from
    choice : what came of comparing GPUs with the CPU, where they were compared
    counts : whether this product is one of those after which GPUs are compared anew
    note : why there is no plan where one was wanted
    """

    by: Literal["core", "plan", "cusparse"]
    schedule: Schedule | None
    lowered: Any = field(default=None, compare=False)
    plan: Plan | None = None
    request: Request | None = None
    setting: Setting | None = None
    choice: Choice | None = None
    counts: bool = False
    note: str = ""

    @property
    def usual(self) -> bool:
        """In core on the CPU, without anything to say of it."""
        return self is _IN_CORE

    @property
    def on_gpu(self) -> bool:
        """Whether a plan takes GPUs."""
        return self.request is not None and max(self.request.devices) >= 0


_IN_CORE = Decision("core", InCore(), _core.in_core(-1))  # most products: it exists once


def decide(
    a: csr_array,
    entry: int,
    schedule: Schedule | None = None,
    algorithm: str = "auto",
    vectors: str = "host",
    single: bool = True,
) -> Decision:
    """What the product of `a` and a vector does.

    entry : bytes of an entry of x and y
    vectors : "device" where x or y is on a GPU
    single : False for several columns, which are multiplied without plans

    Raises ValueError, PlacementError or MemoryError for what cannot be carried out.
    """
    if vectors == "device":
        return _with_vectors_on_gpu(a, entry, schedule, algorithm)
    if schedule is not None:
        return _as_asked(a, entry, schedule, algorithm, single)
    limit = options.device_memory
    ask = a.nnz >= LEAST_NNZ or (limit is not None and a.nbytes > limit)
    if single and algorithm == "auto" and (ask or a._derived.stream_plans is not None):
        return _by_plan(a, entry, ask)
    return _without_gpus(a, limit)


def without_plan(a: csr_array, decision: Decision, why: str) -> Decision:
    """The decision instead of one whose plan could not be made, or does not know the product."""
    if decision.schedule is not None:
        return Decision("core", decision.schedule, decision.schedule._lower(), note=why)
    return replace(_without_gpus(a, options.device_memory), note=why)


def on_cpu(a: csr_array, limit: int | None) -> Decision:
    """In core, or through the CPU's caches where the matrix exceeds what a device may hold: `limit` bytes."""
    if limit is None or a.nbytes <= limit:
        return _IN_CORE
    how = Streamed(device="cpu", ring=limit)
    return Decision("core", how, how._lower())


def _without_gpus(a: csr_array, limit: int | None) -> Decision:
    """In core where the matrix is, or on the CPU."""
    if a.place == "device":
        gpu = _core.ordinal(a._core)
        return Decision("core", InCore(gpu), _core.in_core(gpu))
    return on_cpu(a, limit)


def _by_plan(a: csr_array, entry: int, ask: bool) -> Decision:
    """By a plan that exists, or by one to be made where GPUs are asked and faster."""
    from penstock._plan import choice, streaming  # see above

    plan = streaming.existing(a, entry)
    if plan is not None:
        return Decision("plan", None, plan=plan, request=plan.request, setting=plan.setting)
    otherwise = _without_gpus(a, options.device_memory)
    if not ask or gpu_count() == 0:
        return otherwise
    found, why = choice.automatic(a, entry)
    if found is None or found.gpu is None:
        return replace(otherwise, choice=found, counts=True, note=why)
    return _chosen(found)


def _chosen(found: Choice) -> Decision:
    from penstock._plan import streaming  # see above

    assert found.gpu is not None
    setting = found.gpu.setting
    request = streaming.planned(setting)
    return Decision("plan", None, request=request, setting=setting, choice=found, counts=True)


def _as_asked(a: csr_array, entry: int, how: Schedule, algorithm: str, single: bool) -> Decision:
    if isinstance(how, InCore) and how.kernel == "cusparse":
        how._check()
        if algorithm != "auto":
            raise ValueError(f"algorithm '{algorithm}' is for the CPU: leave it at auto for {how}")
        return Decision("cusparse", how, how._lower())
    if isinstance(how, InCore) and how.gpu < 0:
        how._check()
        return _IN_CORE
    if not single:
        _require_csr(how)
    elif not isinstance(how, ZeroCopy):
        from penstock._plan import streaming  # see above

        request = streaming.request_for(a, how, entry)
        if request is not None:
            if algorithm != "auto":
                raise ValueError(
                    f"algorithm '{algorithm}' needs the matrix in core on the CPU: leave it at auto for {how}"
                )
            return _of_request(a, how, request, entry)
        _require_plain(a, how)
    return Decision("core", how, how._lower())


def _of_request(a: csr_array, how: Schedule, request: Request, entry: int) -> Decision:
    from penstock._plan import streaming  # see above

    plan = streaming.made(a, request, entry)
    setting = streaming.resolve(a, request, entry, 1) if plan is None else plan.setting
    return Decision("plan", how, plan=plan, request=request, setting=setting)


def _with_vectors_on_gpu(
    a: csr_array, entry: int, how: Schedule | None, algorithm: str
) -> Decision:
    """By a plan of GPUs alone: nothing else reads vectors there."""
    from penstock._plan import choice, streaming  # see above

    if algorithm != "auto":
        raise ValueError(
            f"algorithm '{algorithm}' is for the CPU, and x or out is on a GPU: leave it at auto, or use vectors in "
            "host memory"
        )
    if a.place == "device" and (how is None or isinstance(how, InCore)):
        gpu = _core.ordinal(a._core)
        return Decision("core", how or InCore(gpu), _core.in_core(gpu))
    if how is not None:
        request = (
            streaming.request_for(a, how, entry) if isinstance(how, (InCore, Streamed)) else None
        )
        if request is None or min(request.devices) < 0 or request.setting.cpu:
            raise _core.PlacementError(
                f"x or out is on a GPU, and {how} computes elsewhere, or walks the matrix where it is ({a.place} "
                "memory): use Streamed or InCore(device=...) with the matrix in host memory and without the CPU, or "
                "vectors in host memory"
            )
        return _of_request(a, how, request, entry)
    plan = streaming.existing(a, entry)
    if plan is not None and min(plan.request.devices) >= 0 and not plan.request.setting.cpu:
        return Decision("plan", None, plan=plan, request=plan.request, setting=plan.setting)
    found = choice.compare(a, entry, "device", a._derived.products + 1)
    if found is None or found.gpu is None:
        raise _core.PlacementError(_no_plan_for_vectors(a, found))
    return _chosen(found)


def _no_plan_for_vectors(a: csr_array, found: Choice | None) -> str:
    if found is not None:
        return f"x or out is on a GPU, but no plan fits there ({found.reason})"
    if gpu_count() == 0:
        return "x or out is on a GPU, but GPUs are turned off or not usable: see ps.options.gpus and penstock doctor"
    return f"x or out is on a GPU, and the matrix is empty or in {a.place} memory: use vectors in host memory"


def _require_plain(a: csr_array, how: Schedule) -> None:
    """Options that only plans know, where there can be no plan."""
    if isinstance(how, InCore) and how.kernel not in ("auto", "merge_path"):
        raise ValueError(
            f"{how} needs the matrix in host memory, it is in {a.place} memory: use A.to(ps.host), or kernel='auto'"
        )
    if isinstance(how, Streamed) and how.codec not in ("auto", "raw") and a.nnz:
        raise _core.PlacementError(
            f"Streamed(codec={how.codec!r}) reads the matrix in host memory, it is in {a.place} memory: use "
            "A.to(ps.host)"
        )


def _require_csr(how: Schedule) -> None:
    """Options that need another form of the entries, where several columns are multiplied."""
    codec, kernel = getattr(how, "codec", "auto"), getattr(how, "kernel", "auto")
    if codec not in ("auto", "raw") or kernel not in ("auto", "merge_path"):
        raise ValueError(
            f"{how}: several columns are multiplied from the CSR arrays: leave codec and kernel at auto, or multiply a "
            "column at a time"
        )
