"""What a Solver predicts: seconds of getting ready and of an iteration, and the bytes behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._matrix.csr import csr_array
from penstock._plan.machine import this_machine
from penstock._plan.report import Explanation, human_bytes
from penstock.linalg._amg.finest import setup_seconds, streams
from penstock.linalg._names import METHODS, PRECONDITIONERS
from penstock.linalg.preconditioners import Jacobi


@dataclass(frozen=True)
class SolverExplanation:
    """Predicted seconds and bytes of a Solver.

    seconds : of an iteration: `product_seconds`, and what M and the vectors take at the bandwidth of their memory
    setup_seconds : of getting ready, for a preconditioner with a name; measured_setup_seconds is what it took
    matrix_bytes, preconditioner_bytes, vector_bytes : that an iteration moves
    product : the Explanation of a product with the matrix that iterations use
    chosen : what M="amg" made in the place of levels, and why; empty otherwise
    outer : of refinement, the Explanation of the float64 product of each outer step; else None
    """

    method: str
    preconditioner: str
    seconds: float
    product_seconds: float
    setup_seconds: float
    measured_setup_seconds: float
    matrix_bytes: int
    preconditioner_bytes: int
    vector_bytes: int
    product: Explanation | None
    outer: Explanation | None
    chosen: str = ""

    def __str__(self) -> str:
        with_m = "" if self.preconditioner == "none" else f" with {self.preconditioner}"
        lines = [
            f"method: {self.method}{with_m}",
            f"an iteration: {self.seconds * 1e3:.3g} ms predicted, of which products {self.product_seconds * 1e3:.3g} "
            "ms",
            f"  matrix: {human_bytes(self.matrix_bytes)}",
            f"  preconditioner: {human_bytes(self.preconditioner_bytes)}",
            f"  vectors: {human_bytes(self.vector_bytes)}",
            f"set-up: {self.setup_seconds * 1e3:.3g} ms predicted, {self.measured_setup_seconds * 1e3:.3g} ms taken",
        ]
        if self.chosen:
            lines.append(f"{self.preconditioner}: {self.chosen}")
        if self.product is None:
            lines.append("products are calls of an object: nothing is known of them")
        else:
            lines.append(f"product: {_words(self.product)}")
        if self.outer is not None:
            lines.append(f"outer step, in float64: {_words(self.outer)}")
        return "\n".join(lines)

    __repr__ = __str__


def _words(e: Explanation) -> str:
    return f"{e.schedule}, {e.seconds * 1e3:.3g} ms, {e.binding} binds ({e.reason})"


def explain(
    a: Any,
    exact: csr_array | None,
    method: str,
    named: Any,
    m: Any,
    restart: int,
    measured: float,
) -> SolverExplanation:
    """`a` is what iterations multiply by, `exact` the matrix of outer steps, `m` the preconditioner and `named` what it
    was given as."""
    facts = METHODS[method]
    entries = isinstance(a, csr_array)
    product = a.explain() if entries else None
    entry = result_dtype(a.dtype).itemsize if entries else 8
    kept = int(getattr(m, "nbytes", 0) or 0)
    # M is applied as often as A, and reads and writes a vector each time.
    vectors = facts.vectors + facts.kept * restart + (2 * facts.products if m is not None else 0)
    moved = int(vectors * entry * a.shape[0])
    once = product.seconds if product is not None else 0.0
    rate = _rate(a, m, method)
    link = m.explain() if getattr(m, "streams", False) else None
    if link is not None:  # its finest matrix travels; the rest of a cycle is in the GPU's memory
        beside = (link.cycle_bytes - link.link_bytes) / rate
        rest = facts.products * (link.seconds + beside) + moved / rate
    else:
        rest = (facts.products * kept + moved) / rate
    return SolverExplanation(
        method=method,
        preconditioner=named if isinstance(named, str) else _kind(m),
        seconds=facts.products * once + rest,
        product_seconds=facts.products * once,
        setup_seconds=_setup_seconds(a, product, named),
        measured_setup_seconds=measured,
        matrix_bytes=facts.products * _bytes(a, product),
        preconditioner_bytes=facts.products * kept,
        vector_bytes=moved,
        product=product,
        outer=None if exact is None else exact.explain(),
        chosen=getattr(m, "chosen", ""),
    )


def _rate(a: Any, m: Any, method: str) -> float:
    """Bytes a second of the memory that vectors and M are in: a GPU's where all of these are there."""
    gpu = getattr(m, "gpu", None) if getattr(m, "streams", False) else None
    there = isinstance(a, csr_array) and a.place == "device" and METHODS[method].core
    if there and (m is None or isinstance(m, Jacobi) or getattr(m, "gpu", None) is not None):
        gpu = _core.ordinal(a._core)
    if gpu is not None and gpu >= 0:
        return float(this_machine(gpu + 1).gpus[gpu].device_read)
    return float(_core.machine()["host_read"])


def _kind(m: Any) -> str:
    return "none" if m is None else type(m).__name__


def _bytes(a: Any, product: Explanation | None) -> int:
    """Of the matrix, as stored or as it travels; by a plan in core, of the plan."""
    if product is None:
        return 0
    plan = _core.plan_bytes(a._core) if product.schedule == "in_core" else 0
    return int(min(plan, a.nbytes) if plan else a.nbytes)


def _setup_seconds(a: Any, product: Explanation | None, named: Any) -> float:
    if product is None:
        return 0.0
    if not isinstance(named, str):
        return product.first_call_seconds
    kind = PRECONDITIONERS[named]
    if kind.streams and streams(a):
        return product.first_call_seconds + setup_seconds(a) + (kind.setup_gpu or 0.0) * a.nnz
    gpu = kind.setup_gpu if a.place == "device" else None
    made = (kind.setup if gpu is None else gpu) * a.nnz
    return product.first_call_seconds + made
