"""Products of a matrix with blocks of vectors, counted; and how many vectors a block should have.

A block is an array of shape (b, n) whose rows are the vectors, as the bases of these methods are: each vector is
contiguous, so BLAS reads it at full speed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock._plan.decision import decide
from penstock._plan.schedules import InCore, Streamed, as_schedule
from penstock.linalg._methods.passes import Product, norm, product
from penstock.linalg._operators import PREPARE_AFTER, WORTH_A_PLAN, as_matrix, multiplied_here

NEAR_ONE = 10  # a norm of up to 2 to this power, or down to 1 by it, is left as it is
STREAMED_BLOCK = 8  # where entries travel to a GPU; see docs/eigen.md


def is_whole(number: Any) -> bool:
    return isinstance(number, numbers.Real) and not isinstance(number, bool) and number % 1 == 0


def element_type(a: Any) -> np.dtype:
    """float32, float64, complex64 or complex128: the matrix's own, and float64 for patterns and integers."""
    dtype = np.dtype(a.dtype)
    return dtype if dtype.char in "fdFD" else np.dtype(np.float64)


class Scaled:
    """An operator on rows times a power of two, `factor`, which brings the first product's rows near the length of
    those that were multiplied: squares of very small and very large entries stay in range. 1 where they are anyway."""

    def __init__(
        self,
        times: Callable[[np.ndarray], np.ndarray],
        norm: Callable[[np.ndarray], float] = norm,
    ) -> None:
        self._times, self._norm, self.factor = times, norm, 0.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        y = self._times(x)
        self.look(x, y)
        return y if self.factor == 1 else y * y.dtype.type(self.factor)

    def look(self, x: np.ndarray, y: np.ndarray) -> None:
        """Chooses the factor by vectors and their products, the first time."""
        if not self.factor:
            self.factor = self._near(x, y)

    def _near(self, x: np.ndarray, y: np.ndarray) -> float:
        size = max(self._norm(row) for row in y) / max(self._norm(row) for row in x)
        if not 0 < size < np.inf:
            return 1.0
        most = np.finfo(y.dtype).maxexp - 8
        power = int(np.clip(np.round(np.log2(size)), -most, most))
        return 2.0**-power if abs(power) > NEAR_ONE else 1.0


class Products:
    """A x and A^H x of blocks for a csr_array, or for what `as_matrix` takes. `passes` counts the times that the
    entries were read, `columns` the vectors that were multiplied."""

    def __init__(self, a: Any, schedule: Any = None) -> None:
        self.a = as_matrix(a)
        self.shape = (int(self.a.shape[0]), int(self.a.shape[1]))
        self.dtype = element_type(self.a)
        self.passes = self.columns = 0
        self._ours = isinstance(self.a, csr_array)
        self._given = None if schedule is None else as_schedule(schedule)
        if self._given is not None and not self._ours:
            raise ValueError(
                f"schedule={schedule!r} is for matrices with entries: A is {type(a).__name__}, leave schedule out"
            )
        self._for_blocks = self._given
        self.streams = self._travels = False
        # A x by the core's operator, where that is what dot does; `count` prepares it
        self._one: Product | None = None
        self._prepared = not self._ours or self.a.nnz < WORTH_A_PLAN
        if self._ours:
            self._ask_the_planner()

    def _ask_the_planner(self) -> None:
        """Whether the entries travel in each pass. Plans know single vectors, so blocks go by their schedule."""
        decision = decide(self.a, self.dtype.itemsize, self._given)
        self.streams = isinstance(decision.schedule, Streamed)
        self._travels = self.streams and decision.on_gpu
        here = multiplied_here(self.a)
        self._prepared |= not here or not isinstance(decision.schedule, InCore)
        plan = decision.plan
        if self._given is None and plan is not None and plan.facts["streamed_bytes"] > 0:
            self.streams = True
            self._travels = max(plan.request.devices) >= 0
            self._for_blocks = (
                Streamed() if max(plan.request.devices) >= 0 else Streamed(device="cpu")
            )
        elsewhere = self.streams or self._given is not None or decision.on_gpu
        if not elsewhere and self.shape[0] == self.shape[1] and here:
            self._one = product(self.a, self.dtype, prepare=False)

    def travels_by(self) -> Streamed | None:
        """The schedule by which blocks of vectors meet entries that travel to GPUs."""
        return (
            self._for_blocks if self._travels and isinstance(self._for_blocks, Streamed) else None
        )

    @property
    def one_pass(self) -> bool:
        """Whether A^H A x may be made in one pass over A: where entries travel, to a GPU or to the CPU's caches."""
        return type(self) is Products and self._ours and self.streams

    def block(self, wanted: int | None, most: int) -> int:
        """Vectors of a block: as asked for, or by what bounds a product, but at most `most`. A link to a GPU is so slow
        that a pass for several vectors costs what one for a vector does. The ring of the CPU reads the same memory as
        products in core, and has no such link."""
        if wanted is None:
            wanted = STREAMED_BLOCK if self._travels else 1
        elif isinstance(wanted, bool) or int(wanted) != wanted or wanted < 1:
            raise ValueError(f"block={wanted!r}: give a number of vectors, at least 1, or None")
        return max(1, min(int(wanted), most))

    def times(self, x: np.ndarray) -> np.ndarray:
        """The rows of the result are A x_i."""
        self.count(len(x))
        if not self._ours:
            return self._of_operator("matvec", "matmat", x)
        if len(x) == 1 and self._one is not None:
            y = np.empty(x.shape, self.dtype)
            self._one(x[0], y[0])
            return y
        return self._multiply(self.a, x, self._given, self._for_blocks)

    def times_columns(self, x: np.ndarray) -> np.ndarray:
        """A x for the columns of x, side by side as its rows are: what is large and read once is not turned around."""
        if not self._ours or x.shape[1] == 1:
            return self.times(np.ascontiguousarray(x.T)).T
        self.count(x.shape[1])
        how = {} if self._for_blocks is None else {"schedule": self._for_blocks}
        return self._typed(self.a.dot(np.ascontiguousarray(x), **how))

    def adjoint(self, x: np.ndarray) -> np.ndarray:
        """The rows of the result are A^H x_i."""
        self.count(len(x))
        if not self._ours:
            return self._of_operator("rmatvec", "rmatmat", x)
        turned = self.a.T
        y = self._multiply(turned if self.streams else turned.formed(), x.conj(), None, None)
        return y.conj() if y.dtype.kind == "c" else y

    def count(self, columns: int) -> None:
        """Of one pass."""
        self.passes += 1
        self.columns += columns
        if not self._prepared and self.passes > PREPARE_AFTER:
            self._prepared = True
            self.a.prepare()

    def _multiply(self, a: Any, x: np.ndarray, one: Any, several: Any) -> np.ndarray:
        """By the schedule for one vector or for several, None for the planner's."""
        schedule = one if len(x) == 1 else several
        how = {} if schedule is None else {"schedule": schedule}
        if len(x) == 1:
            return self._typed(a.dot(x[0], **how))[None]
        return np.ascontiguousarray(self._typed(a.dot(np.ascontiguousarray(x.T), **how)).T)

    def _of_operator(self, one: str, several: str, x: np.ndarray) -> np.ndarray:
        if len(x) > 1 and hasattr(self.a, several):
            return np.ascontiguousarray(self._typed(getattr(self.a, several)(x.T)).T)
        if not hasattr(self.a, one):
            raise TypeError(f"A is {type(self.a).__name__} without {one}, which this method needs")
        each = [self._typed(getattr(self.a, one)(v)).reshape(-1) for v in x]
        return np.stack(each)

    def _typed(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.dtype.kind == "c" and self.dtype.kind != "c":
            raise TypeError(
                f"a product with A is complex, and A.dtype is {self.dtype}: give A a complex dtype"
            )
        return y.astype(self.dtype, copy=False)
