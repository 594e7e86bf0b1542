"""The transpose of a matrix as a view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._matrix.names import Guarded
from penstock._product.dense import dot, run
from penstock._product.operands import conj, from_left, is_sparse, on_host

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Transposed"]


class Transposed(Guarded):
    """A^T as a view of A: shape, dtype, `@` and the products of `scipy.sparse.linalg`, nothing copied."""

    ndim = 2

    def __init__(self, base: csr_array) -> None:
        self._base = base

    @property
    def shape(self) -> tuple[int, int]:
        return self._base.shape[::-1]

    @property
    def dtype(self) -> np.dtype:
        return self._base.dtype

    @property
    def nnz(self) -> int:
        return self._base.nnz

    @property
    def T(self) -> csr_array:
        return self._base

    def __repr__(self) -> str:
        return f"<transpose of {self._base!r}>"

    def dot(
        self,
        x: Any,
        *,
        out: np.ndarray | None = None,
        alpha: complex | None = None,
        beta: complex | None = None,
        semiring: str = "plus_times",
    ) -> np.ndarray:
        """y = alpha A^T x + beta out; x has A's rows, y its columns. See `csr_array.dot`.

        A^T is not formed: entries of y are added to as A is read. For a two-dimensional x, a transpose that `formed`
        has made is used instead, which is faster. The last bits of A^T x with a one-dimensional x depend on the
        number of threads, which share the rows and whose sums are added at the end; `A.T.formed() @ x` has the same
        bits for any number, as A x has."""
        if on_host(x, out):
            from penstock._product import host_tensors  # not for `import penstock`

            given = {"alpha": alpha, "beta": beta}
            wanted: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
            if semiring != "plus_times":
                wanted["semiring"] = semiring
            return host_tensors.dot(self._base, True, x, out, wanted, self.dot)
        formed = self._base._derived.transpose
        if formed is not None and np.ndim(x) == 2:
            return dot(formed, x, out, alpha, beta, None, "auto", semiring)

        def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
            vector = x.ndim == 1
            core = _core.product_transposed if vector else _core.product_columns_transposed
            return core(self._base._core, x, y, semiring, alpha, beta, traced)

        return run(self._base, x, out, alpha, beta, semiring, True, call)

    def __matmul__(self, x: Any) -> Any:
        return self.formed() @ x if is_sparse(x) else self.dot(x)

    def __rmatmul__(self, x: Any) -> Any:
        return self.formed().__rmatmul__(x) if is_sparse(x) else from_left(self._base, x)

    def matvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        return self.dot(x.reshape(-1)).reshape((-1, 1) if x.ndim == 2 else (-1,))

    def rmatvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        y = conj(self._base.dot(conj(x.reshape(-1))))
        return y.reshape((-1, 1) if x.ndim == 2 else (-1,))

    def matmat(self, x: np.ndarray) -> np.ndarray:
        return self.dot(x)

    def rmatmat(self, x: np.ndarray) -> np.ndarray:
        return conj(self._base.dot(conj(np.asarray(x))))

    def formed(self) -> csr_array:
        """A^T as a csr_array of its own, columns ascending in each row; made once and kept with A."""
        if self._base._derived.transpose is None:
            self._base._derived.transpose = type(self._base)._wrap(
                _core.transpose(self._base._core)
            )
        return self._base._derived.transpose

    def _matrix(self) -> csr_array:
        return self.formed()

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csc_array` that shares what `csr_array.to_scipy` shares."""
        return self._base.to_scipy().T

    def toarray(self) -> np.ndarray:
        return self._base.toarray().T

    def tocsr(self) -> Any:
        """The transpose formed, as a `scipy.sparse.csr_array`."""
        return self.to_scipy().tocsr()
