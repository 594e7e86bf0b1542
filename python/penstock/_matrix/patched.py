"""A matrix some of whose rows are replaced: products and searches read each row from where it is, nothing is copied."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.tensors import is_tensor
from penstock._matrix.csr import csr_array
from penstock._product.operands import as_dense, on_gpu


class Patched:
    """`base` as it is after the changes of `delta` (the core's, or None), with so many vertices. Nothing in it changes.

    Rows of the base that no change touches are read where they are; the others, and those of new vertices, are merged
    with their changes into `lists`, once. Rows ascend without repeats, as those of the base must.
    """

    def __init__(self, base: csr_array, delta: Any, vertices: int, directed: bool) -> None:
        self.base, self.shape, self.dtype = base, (vertices, vertices), base.dtype
        self._delta, self._directed = delta, directed
        self.changed = vertices != base.shape[0] or (delta is not None and len(delta) > 0)
        self.patch: Any = None
        self.nnz = base.nnz
        if self.changed:
            delta = no_changes(base, vertices) if delta is None else delta
            self.patch = _core.EdgePatch(base._core, delta, vertices)
            self.nnz = self.patch.edges
            self._rows, self._lists = self.patch.rows, csr_array._wrap(self.patch.lists())
        self.plan, self.missed = _core.BfsPlan(), 0
        self._lock = threading.Lock()
        self._matrix: csr_array | None = None
        self._reversed: Patched | None = None

    def to_csr(self) -> csr_array:
        """As one matrix: the base itself where nothing has changed, else a new one, kept."""
        if not self.changed:
            return self.base
        with self._lock:
            if self._matrix is None:
                self._matrix = csr_array._wrap(self.patch.applied(self.base._core))
                self._matrix._derived.ascending = True
                if not self._directed:
                    self._matrix._derived.symmetric_pattern = True
            return self._matrix

    def reversed(self) -> Patched:
        """The edges turned around: itself where they go both ways, else over the base's transpose, which is formed and
        kept with the base."""
        if not self._directed:
            return self
        with self._lock:
            if self._reversed is None:
                delta = None if self._delta is None else self._delta.transposed()
                symmetric = self.base._derived.symmetric_pattern and self.dtype == np.bool_
                base = self.base if symmetric else self.base.T.formed()
                self._reversed = Patched(base, delta, self.shape[0], True)
            return self._reversed

    def edges_in(self, cost: float) -> Patched | None:
        """What searches bottom-up need, where it is there, or where searches have missed `cost` times as many edges."""
        if not self._directed or self._reversed is not None or self.missed > cost * self.nnz:
            return self.reversed()
        return None

    def dot(
        self,
        x: Any,
        out: Any = None,
        alpha: Any = None,
        beta: Any = None,
        semiring: str = "plus_times",
    ) -> Any:
        """As `csr_array.dot`: the base's product, in which the replaced rows are computed anew. Nothing is subtracted,
        so that infinities and NaN of entries that are gone leave no trace, in any semiring."""
        if not self.changed or is_tensor(x) or is_tensor(out) or on_gpu(x):
            return self.to_csr().dot(x, out=out, alpha=alpha, beta=beta, semiring=semiring)
        x = as_dense(x)
        n, known = self.shape[0], self.base.shape[0]
        if x.ndim not in (1, 2) or x.shape[0] != n:
            raise ValueError(
                f"x has shape {x.shape}: a graph of {n} vertices needs ({n},) or ({n}, k)"
            )
        if out is None and beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        shape = (n, *x.shape[1:])
        if out is not None and (not isinstance(out, np.ndarray) or out.shape != shape):
            raise ValueError(f"out is {out!r:.60}: give an array of shape {shape}")
        before = None if out is None else np.array(out[self._rows], order="C")
        lists = self._lists.dot(x, out=before, alpha=alpha, beta=beta, semiring=semiring)
        y = np.empty(shape, lists.dtype) if out is None else out
        if known:
            self.base.dot(x[:known], out=y[:known], alpha=alpha, beta=beta, semiring=semiring)
        y[self._rows] = lists
        return y

    def side(self, lists: Any) -> tuple[Any, Any, Any]:
        """What the core's searches read; `lists`: the base's, packed, or None for those of the matrix."""
        return self.base._core, self.patch, lists


def no_changes(base: csr_array, vertices: int) -> Any:
    """The core's changes, none of them, of a matrix's type."""
    none = np.empty(0, np.int64)
    return _core.EdgeDelta.from_edges(
        base._core, none, none, None, vertices=vertices, remove=False, mirror=False
    )
