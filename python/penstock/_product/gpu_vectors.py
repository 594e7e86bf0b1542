"""Which matrices have their vectors on a GPU in iterative methods: those that lie there, those with a plan for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan.streaming import existing, plan_for

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array


def plan_for_gpus(a: csr_array, entry: int) -> Any:
    """The plan that `a` has for vectors of `entry` bytes and in which a GPU takes part, or None.
    A plan for smaller entries gets a companion, if there is room."""
    if a._derived.stream_plans is None:
        return None
    plan = existing(a, 1)
    if plan is None or max(plan.request.devices) < 0:
        return None
    if plan.entry < entry:
        try:
            plan = existing(a, entry) or plan_for(a, plan.request, entry)
        except MemoryError:
            return None
    return plan if _whole(plan) else None


def _whole(plan: Any) -> bool:
    """Not cut into panels of columns: x is then too large for a GPU, and vectors stay on the host."""
    return isinstance(plan.core, _core.StreamPlan)


def plan_like(a: csr_array, plan: Any, entry: int, products: int, codec: str | None = None) -> Any:
    """`a`'s own plan, made as another matrix's was (one that `a` is derived from), or by a codec of its own. Raises
    MemoryError without room."""
    request = plan.request
    if codec is not None:
        request = replace(request, setting=replace(request.setting, codec=codec))
    own = plan_for(a, request, entry, products)
    if not _whole(own):
        raise MemoryError("the GPUs hold parts of x only")
    return own


def device_operator(a: csr_array, dtype: np.dtype) -> Any:
    """The core's operator for vectors of `dtype` (float32 or float64) in a device's memory: where the matrix lies on
    a GPU, its products in core there; where GPUs were prepared to stream it, that plan's. None for all others, and
    where float64 values would meet float32 vectors."""
    if a.dtype == np.float64 and dtype == np.float32:
        return None
    if a.place == "device":
        return _in_core(a, dtype.name)
    plan = plan_for_gpus(a, dtype.itemsize)
    return None if plan is None else _core.plan_op(plan.core, dtype.name)


def _in_core(a: csr_array, dtype: str) -> Any:
    """The products of a matrix on a GPU, kept with it: what they prepare is made once."""
    known = a._derived.device_ops or {}
    if dtype not in known:
        known = {**known, dtype: _core.device_op(a._core, dtype)}
        a._derived.device_ops = known
    return known[dtype]


def place_of(op: Any) -> str:
    """Where an operator's vectors are, for people: "gpu 0" or "cpu"."""
    return f"gpu {op.gpu}" if op.gpu >= 0 else "cpu"
