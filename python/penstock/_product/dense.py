"""A product with a dense x in host memory: its operands, the planner's decision, the result's memory, and the call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan.decision import Decision, decide, without_plan
from penstock._plan.place import Place, moved
from penstock._plan.report import active
from penstock._plan.schedules import InCore, as_schedule, options
from penstock._product.operands import as_written, normalised, on_host

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["dot", "run"]

_LARGE = 4 << 20  # bytes: from here on pages are worth keeping


def dot(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    schedule: Any,
    algorithm: str,
    semiring: str,
    stream: Any = None,
) -> Any:
    if type(x) is not np.ndarray or (out is not None and type(out) is not np.ndarray):
        queuers = a._derived.queuers  # of most products on a GPU: see `Library.queuer`
        if (
            queuers is not None
            and (out is None or type(out) is type(x))
            and alpha is None is beta
            and schedule is None is stream
            and algorithm == "auto"
            and semiring == "plus_times"
        ):
            queuer = queuers.get(type(x))
            if queuer is not None and active() is None and (y := queuer(x, out)) is not None:
                return y
        # Not for `import penstock`: few products need them
        from penstock._arrays.device import is_on_gpu

        if (is_on_gpu(x) or is_on_gpu(out)) and not on_host(x, out):
            # As above
            from penstock._product.device_vectors import dot_on_gpu

            return dot_on_gpu(a, x, out, alpha, beta, schedule, algorithm, semiring, stream)
    if stream is not None:
        raise ValueError(
            f"stream={stream!r} is given, and x and out are in host memory: streams order work on a GPU, leave it out"
        )
    how = None if schedule is None else as_schedule(schedule)
    if on_host(x, out):
        # As above
        from penstock._product import host_tensors

        given = {"alpha": alpha, "beta": beta, "schedule": how}
        wanted: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
        if algorithm != "auto":
            wanted["algorithm"] = algorithm
        if semiring != "plus_times":
            wanted["semiring"] = semiring
        return host_tensors.dot(a, False, x, out, wanted, a.dot)

    xs, shape, dtype, alpha, beta, single = normalised(a, x, out, alpha, beta, semiring)
    decision = decide(a, xs.itemsize, how, algorithm, "host", single)
    if decision.counts:
        a._derived.products += 1
    y = out
    if y is None:
        y = _empty_pinned(shape, dtype) if decision.on_gpu else _empty(shape, dtype)
    events = active()
    ys, traced = as_written(y, single), events is not None
    event = _carry_out(a, decision, xs, ys, algorithm, semiring, alpha, beta, traced)
    if events is not None:
        events.append(event)
    return y


def run(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    semiring: str,
    transposed: bool,
    call: Callable[..., Any],
) -> Any:
    """`call(x, y, alpha, beta, traced)` for products that go one way only: nothing is decided."""
    xs, shape, dtype, alpha, beta, single = normalised(a, x, out, alpha, beta, semiring, transposed)
    y = _empty(shape, dtype) if out is None else out
    events = active()
    event = call(xs, as_written(y, single), alpha, beta, events is not None)
    if events is not None:
        events.append(event)
    return y


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array; a large one in the pages of an earlier result that is gone, aligned to a cache line."""
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    return _core.reused_bytes(size).view(dtype).reshape(shape)


def _empty_pinned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """As `_empty`, large ones where GPUs write at the link's speed; in ordinary memory where pages cannot be locked."""
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    try:
        raw = _core.pinned_bytes(size)
    except (MemoryError, RuntimeError):
        return _empty(shape, dtype)
    return raw.view(dtype).reshape(shape)


def _carry_out(
    a: csr_array,
    decision: Decision,
    x: np.ndarray,
    y: np.ndarray,
    algorithm: str,
    semiring: str,
    alpha: Any,
    beta: Any,
    traced: bool,
) -> dict[str, Any] | None:
    """y = alpha A x + beta y as decided. What was done, where traced."""
    matrix = a._core
    if decision.by == "plan":
        from penstock._plan import choice, streaming  # as above

        try:
            plan = streaming.plan_of(a, decision, x.itemsize)
        except (MemoryError, RuntimeError) as error:
            if not decision.counts:
                raise
            decision = without_plan(a, decision, choice.give_up(a, error))
        else:
            try:
                return streaming.multiply(a, plan, x, y, semiring, alpha, beta, traced)
            except _core.NotCompiledError as error:
                if plan.request.setting.codec not in ("auto", "raw") or plan.codec != "raw":
                    raise
                decision = without_plan(a, decision, str(error))
    elif decision.by == "cusparse":
        assert isinstance(decision.schedule, InCore)
        matrix, algorithm = _copy_on_gpu(a, decision.schedule.gpu), "cusparse"
    args = (matrix, x, y, decision.lowered, algorithm, semiring, alpha, beta)
    if x.ndim == 1:
        event = _core.product(*args, traced)
    else:
        limit = 0 if decision.usual else options.device_memory or 0  # for X and Y on a GPU
        event = _core.product_columns(*args, limit, traced)
    if event is not None and decision.note:
        event["fallback"] = decision.note
    return event


def _copy_on_gpu(a: csr_array, gpu: int) -> Any:
    """The core's matrix on this GPU: A itself, or a copy that stays there until A.release()."""
    there = a._derived.on_gpu if a.place != "device" else (gpu, a._core)
    if there is None or there[0] != gpu:
        there = a._derived.on_gpu = gpu, moved(a._core, Place("device", gpu))
    return there[1]
