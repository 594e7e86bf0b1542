"""The transpose of a matrix as a view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._matrix.arithmetic import Arithmetic, is_number
from penstock._matrix.conversions import Converted
from penstock._matrix.entrywise import Entrywise
from penstock._matrix.indexing import Indexed
from penstock._matrix.reductions import Reduced
from penstock._matrix.structure import Structure
from penstock._product.dense import dot, run
from penstock._product.operands import (
    conj,
    from_left,
    is_sparse,
    may_be_dense,
    on_host,
    refuse_options,
)

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Transposed"]


class Transposed(Structure, Arithmetic, Entrywise, Reduced, Indexed, Converted):
    """A^T as a view of A: shape, dtype, `@` and the products of `scipy.sparse.linalg`, nothing copied.

    It has the names of a csr_array. Reductions, functions of every entry and the arrays read A; parts, sums with other
    matrices and what else needs rows form the transpose first, once, and keep it (`formed`). Its arrays are A's, which
    are compressed columns of A^T, as SciPy's are.
    """

    ndim = 2
    format = "csc"

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

    @property
    def mT(self) -> csr_array:
        return self._base

    def transpose(self, axes: Any = None, copy: bool = False) -> csr_array:
        check_axes(axes)
        return self._base.copy() if copy else self._base

    @property
    def indptr(self) -> np.ndarray:
        """Offsets of the columns of A^T, which are A's rows."""
        return self._base.indptr

    @property
    def indices(self) -> np.ndarray:
        """Rows of A^T."""
        return self._base.indices

    @property
    def data(self) -> np.ndarray:
        return self._base.data

    @property
    def nbytes(self) -> int:
        return self._base.nbytes

    @property
    def place(self) -> str:
        return self._base.place

    def copy(self) -> Transposed:
        return self._base.copy().T

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = False) -> Transposed:
        return self._base.astype(dtype, casting, copy).T

    def diagonal(self, k: int = 0) -> np.ndarray:
        return self._base.diagonal(-k)

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
        stream: Any = None,
    ) -> Any:
        """y = alpha A^T x + beta out; x has A's rows, y its columns. See `csr_array.dot`.

        A^T is not formed: entries of y are added to as A is read. For a two-dimensional x, a transpose that `formed`
        has made is used instead, which is faster. The last bits of A^T x with a one-dimensional x depend on the
        number of threads, which share the rows and whose sums are added at the end; `A.T.formed() @ x` has the same
        bits for any number, as A x has. For an x on a GPU the transpose is formed, and kept with A where A is."""
        if is_sparse(x) or is_number(x):
            refuse_options(out, alpha, beta, semiring=semiring)
            return self @ x if is_sparse(x) else self * x
        if type(x) is not np.ndarray or (out is not None and type(out) is not np.ndarray):
            from penstock._arrays.device import is_on_gpu  # not for `import penstock`, as below

            if (is_on_gpu(x) or is_on_gpu(out)) and not on_host(x, out):
                return dot(self.formed(), x, out, alpha, beta, None, "auto", semiring, stream)
        if stream is not None:
            raise ValueError(
                f"stream={stream!r} is given, and x and out are in host memory: leave it out"
            )
        if on_host(x, out):
            from penstock._product import host_tensors  # not for `import penstock`

            given = {"alpha": alpha, "beta": beta}
            wanted: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
            if semiring != "plus_times":
                wanted["semiring"] = semiring
            return host_tensors.dot(self._base, True, x, out, wanted, self.dot)
        on_gpu = self._base.place == "device"  # where no kernel adds to y as it reads A
        formed = self.formed() if on_gpu else self._base._derived.transpose
        if formed is not None and (on_gpu or np.ndim(x) == 2):
            return dot(formed, x, out, alpha, beta, None, "auto", semiring)

        def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
            vector = x.ndim == 1
            core = _core.product_transposed if vector else _core.product_columns_transposed
            return core(self._base._core, x, y, semiring, alpha, beta, traced)

        return run(self._base, x, out, alpha, beta, semiring, True, call)

    def __matmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self.formed() @ x
        return self.dot(x) if may_be_dense(x) else NotImplemented

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self.formed().__rmatmul__(x)
        return from_left(self._base, x) if may_be_dense(x) else NotImplemented

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

    def _stored(self) -> tuple[csr_array, bool]:
        return self._base, True

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csc_array` that shares what `csr_array.to_scipy` shares."""
        return self._base.to_scipy().T


def check_axes(axes: Any) -> None:
    """Refuses what does not swap both axes."""
    if axes is not None and tuple(np.atleast_1d(axes).tolist()) not in ((1, 0), (-1, 0), (1, -2)):
        raise ValueError(f"axes={axes}: a transpose swaps both axes, give (1, 0) or None")


def transposed(a: csr_array, axes: Any, copy: bool) -> Transposed:
    """See `csr_array.transpose`."""
    check_axes(axes)
    return Transposed(a.copy() if copy else a)
