"""Iterative refinement (Wilkinson 1963; Moler 1967): residuals in float64, corrections by solves in float32.

A step computes r = b - A x in float64, solves A32 d = r / norm(r) in float32 to a modest tolerance, and adds
norm(r) d to x. It gains about as many digits as the inner solve has, as long as A's condition number is well below
1 / eps of float32 (1.7e7): then x has a residual as small as float64 allows, while nearly all work is in float32.
Of a copy whose values are rounded to 16 bits, too, only condition numbers near 1 / eps of these converge (256 or 2048):
a step gains what the rounded matrix knows of A.

Where A and its copy are multiplied on a GPU, cg need not begin anew: its vectors are float64, products are the copy's,
and A computes the residual now and then in place of the recurrence's, while search directions stay (reliable updates:
van der Vorst and Ye 2000). That takes about as many iterations as float64.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._choices import SHORT_FLOATS
from penstock._matrix.csr import csr_array
from penstock._plan.place import device
from penstock._product.gpu_vectors import plan_for_gpus, plan_like
from penstock.linalg._diagnosis import explained, largest_of
from penstock.linalg._info import SolveInfo, make_info
from penstock.linalg._system import System

# A step that reduces the residual by less than this has no digits left to gain.
STAGNATES = 0.5
AIM = 0.25  # the last step goes this far below the tolerance, which the float64 residual then meets
LARGE = 1e-2  # of the largest entry: entries down to this are to be stored in full
PRODUCTS = 100  # that a plan of the copy is to serve


def inner_copy(a: csr_array, inner: str) -> csr_array:
    """`a` in float32, with values rounded to `inner` where that has 16 bits; kept with it. On the GPU that has `a`, or
    with a plan like that of `a`, where GPUs were prepared and have room; values of 16 bits travel packed.

    ValueError where an entry is beyond float32 or `inner`.
    """
    short = inner in SHORT_FLOATS

    def make() -> csr_array:
        here = a.to("host") if a.place == "device" else a
        with np.errstate(over="ignore"):
            copy = (here.store_as(inner) if short else here).astype(
                np.float32
            )  # 16 bits are within float32
        lost = np.isinf(copy.data) & np.isfinite(here.data)
        if lost.any():
            value = float(here.data[int(lost.argmax())])
            raise ValueError(
                f"A holds {value:.3g}, which float32 cannot (3.4e38 at most): divide A and b by {abs(value):.0e}, or "
                "solve in float64"
            )
        _require_normal(here.data)
        return copy.to(device(_core.ordinal(a._core))) if a.place == "device" else copy

    kept = a._derived.once("refined", dict)
    if inner not in kept:
        kept[inner] = make()
    copy = kept[inner]
    plan = plan_for_gpus(a, 8)
    if plan is not None and plan_for_gpus(copy, 4) is None:
        # Where it has no room, or the ring is too small for packed blocks, the planner decides how it travels.
        with contextlib.suppress(MemoryError, ValueError, _core.NotCompiledError):
            plan_like(copy, plan, 8, PRODUCTS, "packed" if short else None)
    return copy


def _require_normal(data: np.ndarray) -> None:
    """ValueError where float32 has few digits of A's largest entries, or none. `store_as` tests 16 bits itself."""
    least, largest = float(np.finfo(np.float32).tiny) / LARGE, largest_of(data)
    if 0 < largest < least:
        raise ValueError(
            f"A's largest entry is {largest:.3g}, and float32 holds numbers from {least:.0e} on in full: multiply A "
            f"and b by {1 / largest:.0e}, or solve in float64"
        )


def updated(
    mixed: System, exact: System, rhs: np.ndarray, x: np.ndarray, limits: dict[str, Any]
) -> tuple[SolveInfo, bool]:
    """By reliable updates: info, and whether that is the result. Where it is not, `refined` goes on from x, or says why
    it cannot."""
    first = x.copy()
    info = mixed.solve("cg", rhs, x, limits)
    info.inner_iterations = (info.iterations,)
    # Without memory for its vectors the GPU only multiplies, and nobody has asked A.
    r, target = np.empty_like(rhs), max(limits["rtol"] * float(np.linalg.norm(rhs)), limits["atol"])
    info.residual = after = _residual(exact, rhs, x, r)
    if info == 0:
        return info, after <= target
    if not after <= _residual(exact, rhs, first, r):
        x[:] = first
    return info, info.iterations >= limits["maxiter"]


def refined(
    exact: System,
    inner: System,
    method: str,
    rhs: np.ndarray,
    x: np.ndarray,
    limits: dict[str, Any],
    inner_rtol: float,
    precision: str,
    callback: Callable[..., Any] | None = None,
    before: SolveInfo | None = None,
) -> SolveInfo:
    """`exact` has A in float64, `inner` its copy in `precision`. x holds the first guess and receives the result.
    `callback(x, residual, inner iterations so far)` is called after each outer step. `before` is what reliable
    updates did for the same solve, which counts."""
    begin = time.perf_counter()
    target = max(limits["rtol"] * float(np.linalg.norm(rhs)), limits["atol"])
    most, spent, moved = limits["maxiter"], 0, 0
    steps: list[int] = []
    if before is not None:
        spent, moved, steps = before.iterations, before.vector_bytes, [before.iterations]
        begin -= before.seconds
    r, d = np.empty_like(rhs), np.empty(rhs.size, inner.dtype)
    best = x.copy()
    residuals = [_residual(exact, rhs, x, r)]
    stop, reason = "", ""
    while not stop:
        if residuals[-1] <= target:
            stop, reason = "converged", "converged"
        elif not np.isfinite(residuals[-1]):
            stop, reason = "not_finite", "not finite: numbers overflow, or A holds NaN or infinity"
        elif spent >= most:
            stop, reason = "maxiter", _ran_out(most, residuals[-1], target)
        else:
            np.copyto(best, x)
            r /= residuals[-1]
            d[:] = 0
            wanted = max(inner_rtol, AIM * target / residuals[-1])
            inside = {**limits, "rtol": wanted, "atol": 0.0, "maxiter": most - spent}
            told = inner.solve(method, r.astype(inner.dtype), d, inside)
            spent, moved = spent + told.iterations, moved + told.vector_bytes
            steps.append(told.iterations)
            x += residuals[-1] * d.astype(np.float64)
            residuals.append(_residual(exact, rhs, x, r))
            if callback is not None:
                callback(x, residuals[-1], spent)
            if not residuals[-1] <= STAGNATES * residuals[-2] and not residuals[-1] <= target:
                stop, reason = _stagnated(told, residuals, target, spent >= most, most, precision)
    if not residuals[-1] <= residuals[max(len(residuals) - 2, 0)]:
        x[:] = best
        residuals.append(_residual(exact, rhs, x, r))
    result = {
        "stop": stop,
        "reason": reason,
        "iterations": spent,
        "residuals": residuals,
        "residual": residuals[-1],
        "target": target,
        "seconds": time.perf_counter() - begin,
        "vector_bytes": moved,
    }
    info = make_info(result, inner.op)
    info.inner_iterations = tuple(steps)
    return explained(info, exact.a)


def _residual(exact: System, rhs: np.ndarray, x: np.ndarray, r: np.ndarray) -> float:
    """r = b - A x and its norm."""
    exact.product(x, r)
    np.subtract(rhs, r, out=r)
    return float(np.linalg.norm(r))


def _ran_out(most: int, residual: float, target: float) -> str:
    return (
        f"maxiter: {most} inner iterations left a residual of {residual:.3g}, {target:.3g} was asked for: allow more, "
        "or give a better preconditioner M"
    )


def _stagnated(
    told: SolveInfo,
    residuals: list[float],
    target: float,
    ran_out: bool,
    most: int,
    precision: str,
) -> tuple[str, str]:
    """(what the core calls it, in words): a step gained less than a factor of two."""
    before, after = residuals[-2], residuals[-1]
    if told < 0:
        name = "not_finite" if not np.isfinite(after) else "stagnated"
        return (
            name,
            f"the inner solve in {precision} broke down: {told.reason}; or {_better(precision)}",
        )
    if ran_out:
        return "maxiter", _ran_out(most, min(before, after), target)
    return "stagnated", (
        f"stagnated: a step in {precision} took the residual from {before:.3g} to {after:.3g}, {target:.3g} was asked "
        f"for: A's condition number (with M) is too large for {precision}, or the tolerance is beyond rounding: "
        f"{_better(precision)}, give a better preconditioner M, or a larger rtol"
    )


def _better(precision: str) -> str:
    return "take inner='float32'" if precision in SHORT_FLOATS else "solve in float64"
