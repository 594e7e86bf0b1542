"""The transpose of a DynamicGraph."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.changing import Changing
from penstock._product.operands import from_left, is_sparse, may_be_dense


class TransposedGraph(Changing):
    """`G.T`: the edges turned around. `G.T @ x` is a product with the graph as it is at the call, and functions take
    `G.T` where they take `G`.

    It reads the base's transpose, which the first product forms and keeps, and the columns that changes touch. Of a
    graph that is not directed it is the graph itself.
    """

    __array_ufunc__ = None

    def __init__(self, graph: Any) -> None:
        self.T = graph  # a DynamicGraph

    @property
    def shape(self) -> tuple[int, int]:
        n, _ = self.T.shape
        return n, n

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.T.dtype)

    @property
    def directed(self) -> bool:  # type: ignore[override]
        return bool(self.T.directed)

    def __repr__(self) -> str:
        return f"<transpose of {self.T!r}>"

    def _patched(self) -> Any:
        return self.T._patched().reversed()

    def dot(
        self,
        x: Any,
        *,
        out: np.ndarray | None = None,
        alpha: complex | None = None,
        beta: complex | None = None,
        semiring: str = "plus_times",
    ) -> Any:
        """y = alpha G^T x + beta out, as `DynamicGraph.dot`."""
        if is_sparse(x):
            return self.to_csr().dot(x, out=out, alpha=alpha, beta=beta, semiring=semiring)
        return self._patched().dot(x, out, alpha, beta, semiring)

    def to_csr(self) -> Any:
        """The transpose as a csr_array."""
        return self._patched().to_csr()

    def __matmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self.to_csr() @ x
        return self.dot(x) if may_be_dense(x) else NotImplemented

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return x @ self.to_csr()
        return from_left(self.T, x) if may_be_dense(x) else NotImplemented
