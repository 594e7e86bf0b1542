"""Between csr_array and the core: shapes, types and the planner's choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_type, checked
from penstock._choices import SEMIRINGS
from penstock._plan.place import Place, moved
from penstock._plan.report import Explanation, active
from penstock._plan.schedules import LEAST_NNZ, InCore, Streamed, ZeroCopy, as_schedule, options
from penstock._product.operands import as_dense, as_number, on_gpu, product_type

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["dot", "explain", "run"]

# The planner of GPUs takes a quarter of the time of `import penstock`: it is imported where a product may need it.

_LARGE = 4 << 20  # bytes: from here on pages are worth keeping


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array; a large one in the pages of an earlier result that is gone, aligned to a cache line."""
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    return _core.reused_bytes(size).view(dtype).reshape(shape)


def _empty_pinned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """As `_empty`, where GPUs write at the link's speed; in ordinary memory where pages cannot be locked."""
    try:
        raw = _core.pinned_bytes(math.prod(shape) * dtype.itemsize)
    except (MemoryError, RuntimeError):
        return _empty(shape, dtype)
    return raw.view(dtype).reshape(shape)


def _result(
    shape: tuple[int, ...],
    dtype: np.dtype,
    out: Any,
    beta: Any,
    x: np.ndarray,
    empty: Callable[[tuple[int, ...], np.dtype], np.ndarray],
) -> np.ndarray:
    if out is None:
        if beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        return empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is {got}: give an array of {dtype} and shape {shape}")
    if out.ndim == 2 and not _strides_fit(out):
        raise ValueError(
            f"out has strides {out.strides}: give multiples of {dtype.itemsize} bytes, none negative"
        )
    if not (out.flags.c_contiguous or out.ndim == 2) or not out.flags.writeable:
        raise ValueError("out must be C-contiguous and writable")
    if np.may_share_memory(out, x):
        raise ValueError("out overlaps x: give another array")
    return out


def _strides_fit(x: np.ndarray) -> bool:
    """Whether the core reads and writes a two-dimensional array as it is."""
    return x.flags.aligned and all(s >= 0 and s % x.itemsize == 0 for s in x.strides)


def run(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    semiring: str,
    transposed: bool,
    call: Any,
    empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = _empty,
) -> Any:
    """`call(x, y, alpha, beta, traced)` for x, one- or two-dimensional, of the types and strides that it wants. `empty`
    makes the result where `out` is None."""
    x = as_dense(x)
    rows, cols = a.shape[::-1] if transposed else a.shape
    if x.ndim not in (1, 2) or x.shape[0] != cols:
        raise ValueError(
            f"x has shape {x.shape}: a matrix of {rows} x {cols} needs ({cols},) or ({cols}, k)"
        )
    dtype = product_type(a.dtype, x.dtype, semiring)
    boolean = SEMIRINGS[semiring].boolean
    if alpha is not None or beta is not None:
        alpha, beta = (
            as_number(v, dtype, boolean, n) for v, n in ((alpha, "alpha"), (beta, "beta"))
        )
    ready = as_type if x.ndim == 1 else checked
    xs = (x != 0).view(np.uint8) if boolean else ready(x, dtype, "x")
    if x.ndim == 1:
        xs = np.ascontiguousarray(xs) if boolean else xs
    elif not boolean and (xs.dtype != dtype or not _strides_fit(xs)):
        xs = np.array(xs, dtype, order="F" if abs(xs.strides[0]) < abs(xs.strides[1]) else "C")
    y = _result((rows, *x.shape[1:]), np.dtype(bool) if boolean else dtype, out, beta, x, empty)
    ys = y.view(np.uint8) if boolean else y
    if x.ndim == 2 and x.shape[1] == 1 and y.flags.c_contiguous:  # a vector, and its kernels
        xs, ys = np.ascontiguousarray(xs[:, 0]), ys.reshape(-1)
    events = active()
    event = call(xs, ys, alpha, beta, events is not None)
    if events is not None:
        events.append(event)
    return y


def dot(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    schedule: Any,
    algorithm: str,
    semiring: str,
) -> Any:
    how = None if schedule is None else as_schedule(schedule)
    if (type(x) is not np.ndarray and on_gpu(x)) or (type(out) is not np.ndarray and on_gpu(out)):
        from penstock._product.device_vectors import dot_on_gpu  # see above

        return dot_on_gpu(a, x, out, alpha, beta, how, semiring)

    found: list[tuple[Any, str]] = []

    def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if len(shape) == 1:
            found.append(_plan(a, dtype.itemsize, how, algorithm))
            plan = found[0][0]
            if (
                plan is not None
                and max(plan.request.devices) >= 0
                and shape[0] * dtype.itemsize >= _LARGE
            ):
                return _empty_pinned(shape, dtype)
        return _empty(shape, dtype)

    def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
        if x.ndim == 2:
            return _columns(a, x, y, how, algorithm, semiring, alpha, beta, traced)
        if isinstance(how, InCore) and how.kernel == "cusparse":
            return _by_cusparse(
                _core.product, a, x, y, how, algorithm, semiring, alpha, beta, traced
            )
        plan, note = found[0] if found else _plan(a, x.itemsize, how, algorithm)
        if plan is not None:
            from penstock._plan import streaming  # see above

            try:
                return streaming.multiply(a, plan, x, y, semiring, alpha, beta, traced)
            except _core.NotCompiledError as error:
                if plan.request.setting.codec not in ("auto", "raw") or plan.codec != "raw":
                    raise
                note = str(error)
        limit = options.device_memory or 0
        args = (algorithm, semiring, alpha, beta, limit, traced)
        event = _core.product(a._core, x, y, _lowered(a, how), *args)
        if event is not None and note:
            event["fallback"] = note
        return event

    return run(a, x, out, alpha, beta, semiring, False, call, empty)


def _lowered(a: csr_array, how: Any) -> Any:
    """For the core; None lets it choose between the CPU's two ways."""
    if how is not None:
        return how._lower()
    return _core.in_core(_core.ordinal(a._core)) if a.place == "device" else None


def _plan(a: csr_array, entry: int, how: Any, algorithm: str) -> tuple[Any, str]:
    """(the plan of this product or None, why there is none where one was wanted)."""
    if how is None:
        if algorithm != "auto":
            return None, ""
        limit = options.device_memory
        if a._derived.stream_plans is None and (
            a.nnz < LEAST_NNZ and (limit is None or a.nbytes <= limit)
        ):
            return None, ""  # small: the GPUs are not even asked for
    elif isinstance(how, ZeroCopy) or (isinstance(how, InCore) and how.gpu < 0):
        return None, ""
    # See above.
    from penstock._plan import choice as planner
    from penstock._plan import streaming

    if how is not None:
        request = streaming.request_for(a, how, entry)
        if request is None:
            _require_plain(a, how)
            return None, ""
        if algorithm != "auto":
            raise ValueError(
                f"algorithm '{algorithm}' needs the matrix in core on the CPU: leave it at auto for {how}"
            )
        return streaming.plan_for(a, request, entry), ""
    plan = streaming.existing(a, entry)
    if plan is not None:
        return plan, ""
    try:
        setting = planner.automatic(a, entry)
        if setting is None:
            return None, planner.why_given_up(a)
        done = a._derived.products
        return streaming.plan_for(a, streaming.planned(setting), entry, done), ""
    except (MemoryError, RuntimeError) as error:
        planner.give_up(a, f"computed on the CPU: {error}")
        return None, planner.why_given_up(a)


def _by_cusparse(
    core: Any, a: csr_array, x: Any, y: Any, how: InCore, algorithm: str, *rest: Any
) -> Any:
    """By NVIDIA's library, on a copy of the matrix that stays on the GPU until A.release()."""
    how._check()
    if algorithm != "auto":
        raise ValueError(f"algorithm '{algorithm}' is for the CPU: leave it at auto for {how}")
    there = a._derived.on_gpu if a.place != "device" else (how.gpu, a._core)
    if there is None or there[0] != how.gpu:
        there = a._derived.on_gpu = how.gpu, moved(a._core, Place("device", how.gpu))
    semiring, alpha, beta, traced = rest
    return core(there[1], x, y, how._lower(), "cusparse", semiring, alpha, beta, 0, traced)


def _require_plain(a: csr_array, how: Any) -> None:
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


def _columns(
    a: csr_array,
    x: np.ndarray,
    y: np.ndarray,
    how: Any,
    algorithm: str,
    semiring: str,
    alpha: Any,
    beta: Any,
    traced: bool,
) -> Any:
    if isinstance(how, InCore) and how.kernel == "cusparse":
        core = _core.product_columns
        return _by_cusparse(core, a, x, y, how, algorithm, semiring, alpha, beta, traced)
    chosen = getattr(how, "codec", "auto"), getattr(how, "kernel", "auto")
    if chosen[0] not in ("auto", "raw") or chosen[1] not in ("auto", "merge_path"):
        raise ValueError(
            f"{how}: several columns are multiplied from the CSR arrays: leave codec and kernel at auto, or multiply a "
            "column at a time"
        )
    limit = options.device_memory or 0
    args = (algorithm, semiring, alpha, beta, limit, traced)
    return _core.product_columns(a._core, x, y, _lowered(a, how), *args)


def explain(
    a: csr_array, dtype: np.dtype, columns: int, schedule: Any, vectors: str = "host"
) -> Explanation:
    from penstock._plan.explain import explain_on_cpu, explain_on_gpu  # see above

    how = None if schedule is None else as_schedule(schedule)
    if columns == 1:
        told = explain_on_gpu(a, dtype.itemsize, how, vectors)
        if told is not None:
            return told
    return explain_on_cpu(a, dtype.itemsize * columns, columns, how)
