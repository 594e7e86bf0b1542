"""A finest matrix that exceeds the GPU's memory: it stays in pinned memory, and cycles multiply by its plan."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options
from penstock._product.gpu_vectors import plan_for_gpus, plan_like

PRODUCTS = 200  # that a plan of a converted matrix is to serve
SETUP_READS = 18  # of A by a set-up: ten products, and eight times in blocks


class Finest(NamedTuple):
    """`matrix` is what the levels are built of, and what `plan` multiplies by; `core` is the core's word for both."""

    gpu: int
    matrix: csr_array
    plan: Any
    core: Any


def pinned_plan(a: csr_array, entry: int) -> Any:
    """The plan by which GPUs alone stream a matrix in pinned memory, which they also read as it is; or None."""
    plan = plan_for_gpus(a, entry) if a.place == "pinned" else None
    return None if plan is None or min(plan.facts["gpus"]) < 0 else plan


def streams(a: csr_array) -> bool:
    """Whether an AMG of this matrix is set up and applied by a GPU that streams it."""
    return a.dtype.kind == "f" and pinned_plan(a, a.dtype.itemsize) is not None


def setup_seconds(a: csr_array) -> float:
    """What the link takes of a set-up, by the planner's prediction of a product."""
    foretold = pinned_plan(a, a.dtype.itemsize).foretold["device"]
    return 0.0 if foretold is None else SETUP_READS * float(foretold.seconds)


def planned_like(a: csr_array, kind: np.dtype, before: Finest) -> None:
    """Gives a matrix in pinned memory a plan like that of `before`, where it has none."""
    if a.place == "pinned" and pinned_plan(a, kind.itemsize) is None:
        plan_like(a, before.plan, kind.itemsize, PRODUCTS)


def finest_of(a: csr_array, kind: np.dtype, precision: str | None) -> Finest | None:
    """None where the matrix is not in pinned memory, or has no plan for GPUs. `kind` is the type of M. A matrix of
    another type than the levels, or with duplicates, is copied to pinned memory, with a plan like its own.

    MemoryError where the copy's plan does not fit.
    """
    plan = pinned_plan(a, kind.itemsize)
    if plan is None:
        return None
    levels, scale = np.dtype(precision or kind.name), 1.0
    matrix = a
    if a.dtype != levels:
        if levels == np.float32 and a.dtype == np.float64:
            scale = _scale(a)
        matrix = (a if scale == 1 else a * scale).astype(levels)
    matrix = matrix.without_duplicates()
    taken = plan.facts["device_bytes"][0]
    if matrix is not a and matrix._core is not a._core:
        matrix = matrix.to("pinned")
        plan = plan_like(matrix, plan, levels.itemsize, PRODUCTS)
        taken += plan.facts["device_bytes"][0]
    product = _core.plan_op(plan.core, levels.name)
    budget = options.device_memory or 0
    if budget and taken >= budget:
        raise MemoryError(
            f"AMG: the plans of A take {taken} of the {budget} bytes that options.device_memory allows, and leave none "
            "for the levels: prepare A again with ps.Streamed(keep=False), allow more, or call A.release(), and the "
            "CPU makes and applies the levels"
        )
    room = budget - taken if budget else 0
    return Finest(product.gpu, matrix, plan, _core.FinestLevel(product, kind.name, scale, room))


def _scale(a: csr_array) -> float:
    """The power of two that brings the largest diagonal entry near 1: products of entries stay within float32."""
    most = float(np.max(a.diagonal(), initial=0.0))
    if not (most > 0 and math.isfinite(most)):
        return 1.0
    return float(math.ldexp(1.0, min(1 - math.frexp(most)[1], 1023)))
