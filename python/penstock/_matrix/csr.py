"""csr_array: a sparse matrix with SciPy's names, over arrays that nobody writes."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array, from_anything, not_a_value_type, result_dtype
from penstock._arrays.device_matrices import from_device
from penstock._choices import SHORT_FLOATS
from penstock._matrix.arithmetic import Arithmetic, is_number
from penstock._matrix.changing import Changing
from penstock._matrix.conversions import Converted
from penstock._matrix.derived import Derived
from penstock._matrix.entrywise import Entrywise
from penstock._matrix.exports import as_cupy, as_torch, torch_csr
from penstock._matrix.indexing import Indexed
from penstock._matrix.names import Guarded
from penstock._matrix.reductions import Reduced
from penstock._matrix.structure import Structure
from penstock._matrix.transposed import Transposed, transposed
from penstock._matrix.writer import writer
from penstock._plan.place import moved
from penstock._plan.report import human_bytes
from penstock._plan.schedules import as_schedule
from penstock._product import dense, sparse
from penstock._product.numbers import new_number
from penstock._product.operands import (
    check_factor,
    conj,
    from_left,
    is_sparse,
    may_be_dense,
    on_gpu,
    refuse_options,
)


def _sparse_product(a: Any, b: Any) -> csr_array:
    """A @ B of two sparse matrices, or of one and a sparse vector, as `A[0]` is one."""
    if min(len(a.shape), len(b.shape)) < 2:
        return _vector_product(a, b)
    factors = sparse.Factors(csr_array._factor(a), csr_array._factor(b))
    return csr_array._product(factors.all())


def _vector_product(a: Any, b: Any) -> Any:
    """a @ b where one is a sparse array of one dimension: one, too, as in SciPy, but a number of two such arrays."""
    import scipy.sparse as sp

    dense = (x.toarray() if len(x.shape) < 2 else x for x in (a, b))
    product = operator.matmul(*dense)
    return sp.coo_array(product) if np.ndim(product) else product


class csr_array(Structure, Arithmetic, Entrywise, Reduced, Indexed, Converted):
    """Compressed sparse rows: int64 row offsets, int32 columns, values of bool (a pattern), float32, float64,
    complex64 or complex128.

    Parameters
    ----------
    arg : a SciPy sparse array or matrix, a PyTorch tensor (sparse_csr or sparse_coo), a csr_array, a 2-D array,
        `(rows, cols)`, `(data, (row, col))` or `(data, indices, indptr)`. Booleans make a pattern, which stores no
        values. Integers become float64, exactly or not at all. Duplicates of `(row, col)` are added up.
        CuPy's sparse matrices, PyTorch's sparse tensors on a GPU, and tuples of dense arrays of either make a matrix
        in that GPU's memory, checked and sorted there.
    shape : (rows, cols), optional
        At most 2^31 - 1 columns; any number of nonzeros.
    dtype : optional
        Of the values. Nothing is rounded unless it is given; the imaginary part is never dropped.
    copy : bool, optional
        By default the matrix has arrays of its own, copied in the time of a few products: whatever becomes of yours
        (SciPy's `max`, `sort_indices` and others rewrite theirs in place), it stays as it was. Arrays that nobody can
        write are shared: another csr_array's, `bytes`, and files mapped read-only (`np.load(..., mmap_mode="r")`).
        False shares all that have the stored types already (int64 offsets, int32 indices, supported values), for
        matrices too large to hold twice: you promise that nobody writes them while the matrix lives, and if somebody
        does, results are wrong or the process ends. True copies all. Arrays on a GPU are shared by default, too, for
        memory is scarce there, and no other library's methods rewrite them: values, columns of int32 and offsets of
        int64 (int32 offsets and int64 columns are converted).
    maxprint : int, optional
        How many entries `print(A)` shows, 50 by default.

    Raises ValueError where the arrays do not form a matrix, naming the place, and TypeError for other types.

    A matrix never changes: what SciPy does in place is an error that names what makes a new one. `A != B`, `A < B`,
    `A > 2` and the like are patterns of where they hold, duplicates added up first; a comparison that holds where
    nothing is stored (`A == B`, `A == 0`) and `np.asarray(A)` raise TypeError and say what to call. Where SciPy's
    array has a method that is no product, its code runs over these arrays ("Programs written for SciPy").

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    >>> A
    <2x3 csr_array, float64, 3 stored values, 60 B, host memory>
    >>> A @ np.array([1.0, 1.0, 1.0])
    array([3., 3.])
    >>> A.T @ np.array([1.0, 1.0])
    array([1., 3., 2.])
    """

    ndim = 2
    format = "csr"

    def __init__(
        self,
        arg: Any,
        shape: tuple[int, int] | None = None,
        dtype: Any = None,
        copy: bool | None = None,
        *,
        maxprint: int | None = None,
    ) -> None:
        if maxprint is not None:
            self.maxprint = maxprint
        if isinstance(arg, Transposed) and arg.place == "device":
            arg = arg.formed()
        if isinstance(arg, Changing):
            arg = arg.to_csr()
        if isinstance(arg, csr_array):
            arg = arg.copy() if copy else arg
            self._hold(arg._core if dtype is None else arg.astype(dtype)._core)
            if shape is not None and tuple(shape) != arg.shape:
                raise ValueError(f"shape={shape} differs from the matrix's {arg.shape}")
            return
        if isinstance(arg, Transposed):
            arg = arg.to_scipy()
        core = from_device(arg, shape, dtype, copy)
        self._hold(from_anything(arg, shape, dtype, copy) if core is None else core)

    def _hold(self, matrix: Any) -> None:
        self._core = matrix
        # Asked for at every product, and by torch.compile, which cannot ask the core.
        self._shape, self._dtype = matrix.shape, np.dtype(matrix.dtype)
        self._nnz: int = matrix.nnz
        self._derived = Derived()
        self._number = new_number(self)

    @classmethod
    def _wrap(cls, matrix: Any) -> csr_array:
        self = cls.__new__(cls)
        self._hold(matrix)
        return self

    @classmethod
    def _product(cls, matrix: Any) -> csr_array:
        """Of a product of two sparse matrices: its rows ascend, but for those that a GPU has made."""
        self = cls._wrap(matrix)
        if matrix.place != "device":
            self._derived.ascending = True
        return self

    @classmethod
    def _factor(cls, arg: Any) -> csr_array:
        """A sparse factor: a csr_array, a transpose formed, or SciPy's arrays as they are, for one product."""
        return arg._matrix() if isinstance(arg, Guarded) else cls(arg, copy=False)

    def _matrix(self) -> csr_array:
        return self

    def _stored(self) -> tuple[csr_array, bool]:
        return self, False

    @classmethod
    def _from_parts(
        cls,
        rows: int,
        cols: int,
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray | None,
        *,
        mapped: bool = False,
        validate: str = "all",
        source: str = "the matrix",
    ) -> csr_array:
        """From arrays of exactly the stored types, which are shared; validate is "all", "first_use" (all before the
        first use that reads, with errors that name `source`) or "cheap" (the ends and samples: for our own arrays)."""
        return cls._wrap(
            _core.Matrix.from_arrays(rows, cols, indptr, indices, values, mapped, validate, source)
        )

    # What it is

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def nnz(self) -> int:
        """Stored entries, explicit zeros and duplicates included."""
        return self._nnz

    @property
    def nbytes(self) -> int:
        return self._core.nbytes

    @property
    def place(self) -> str:
        """Where the entries are: "host", "mapped" (a file), "pinned", "managed", "device"."""
        return self._core.place

    @property
    def indptr(self) -> np.ndarray:
        """Row offsets, int64, rows + 1 of them; read-only, shared."""
        return self._core.indptr

    @property
    def indices(self) -> np.ndarray:
        """Columns, int32, nnz of them; read-only, shared."""
        return self._core.indices

    @property
    def data(self) -> np.ndarray:
        """Values, nnz of them; read-only, shared. Of a pattern: True, nnz times, in no memory."""
        values = self._core.values
        return np.broadcast_to(np.True_, (self.nnz,)) if values is None else values

    @property
    def T(self) -> Transposed:
        """The transpose as a view: `A.T @ x` multiplies without forming it."""
        return Transposed(self)

    @property
    def mT(self) -> Transposed:
        """`A.T`, which is the matrix transpose of two dimensions."""
        return Transposed(self)

    def transpose(self, axes: Any = None, copy: bool = False) -> Transposed:
        """`A.T`; axes is None or (1, 0), and `copy` copies the entries first."""
        return transposed(self, axes, copy)

    def __repr__(self) -> str:
        rows, cols = self.shape
        kind = "pattern" if self.dtype == np.bool_ else str(self.dtype)
        size = human_bytes(self.nbytes)
        return f"<{rows}x{cols} csr_array, {kind}, {self.nnz} stored values, {size}, {self.place} memory>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arrays (not the plans), out of band where the protocol can; a mapped one comes back in memory."""
        return csr_array._from_parts, (*self.shape, self.indptr, self.indices, self._core.values)

    def __copy__(self) -> csr_array:
        return csr_array._wrap(self._core)

    def copy(self) -> csr_array:
        """The same entries in memory of their own; of a matrix on a GPU, there."""
        if self.place == "device":
            return csr_array._wrap(_core.to_place(self._core, "device", _core.ordinal(self._core)))
        values = None if self._core.values is None else self._core.values.copy()
        parts = (self.indptr.copy(), self.indices.copy(), values)
        return csr_array._from_parts(*self.shape, *parts, validate="cheap")

    def __deepcopy__(self, memo: Any) -> csr_array:
        return self.copy()

    # Products

    def dot(
        self,
        x: Any,
        *,
        out: np.ndarray | None = None,
        alpha: complex | None = None,
        beta: complex | None = None,
        schedule: Any = None,
        algorithm: str = "auto",
        semiring: str = "plus_times",
        stream: Any = None,
    ) -> Any:
        """y = alpha A x + beta out, over a semiring; of a sparse matrix A @ B, of a number A * x.

        Parameters
        ----------
        x : array of shape (cols,) or (cols, k), or anything with `__dlpack__`; also on a GPU (CuPy, PyTorch, JAX).
            There nothing is converted, and the result is an array of x's library on that GPU. The work is queued on
            the stream that this library uses at present, and the call returns: with A in that GPU's memory always,
            with a plan where that GPU alone holds it. Of an x with several columns A is kept there as well.
            A tensor of PyTorch gives a tensor, with gradients where no other argument is given: see `ps.torch.matmul`.
            Two-dimensional arrays may be views: any strides that are not negative are read as they are. Rows that are
            contiguous are fastest; columns cost a copy of x into rows.
        out : array of the result's shape and type, optional
            Receives y, and is read only where `beta` is given. C-contiguous, or, in two dimensions, a view whose
            strides are not negative. May be a tensor, or an array on a GPU, where y then stays.
        alpha, beta : numbers of the semiring, optional
        schedule : InCore, Streamed or ZeroCopy (instance, class or name), optional
            The planner chooses where it is None: the plan that `prepare` or an earlier product made; on GPUs where the
            predicted time, getting ready included, is less than the CPU's; in core on the CPU; or streamed above
            `options.device_memory`. `explain` tells.
        algorithm : "auto", "balanced", "blocked", "binned" or "stencil"
            How the CPU walks the matrix (buono-2017 compares the first three). All but balanced build a second
            copy of the entries at the first call and keep it; "auto" is what `prepare` chose, or balanced.
            A two-dimensional x is multiplied at once by "auto" and "balanced", and a column at a time by the others.
        semiring : "plus_times", "min_plus", "max_times" or "or_and"
        stream : a stream of PyTorch or CuPy, an object with `__cuda_stream__`, or a handle, optional
            For arrays on a GPU: where the work is queued instead. It comes after what the arrays' libraries have queued
            on their own streams, and they wait for it.

        Returns
        -------
        array of shape (rows,) or (rows, k), of NumPy's promoted type of A and x; integers count as float64. The same
        bits for any number of threads; only `A.T @ x` and `x @ A` with a one-dimensional x differ in the last ones.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[0.0, 5.0], [2.0, 0.0]]))
        >>> A.dot(np.array([1.0, 10.0]), schedule=ps.Streamed(block=1024))
        array([50.,  2.])
        >>> A.dot(np.array([1.0, 10.0]), semiring="min_plus")
        array([15.,  3.])
        """
        if type(x) is not np.ndarray and (is_sparse(x) or is_number(x)):
            refuse_options(out, alpha, beta, schedule, semiring=semiring, algorithm=algorithm)
            return _sparse_product(self, x) if is_sparse(x) else self * x
        return dense.dot(self, x, out, alpha, beta, schedule, algorithm, semiring, stream)

    def __matmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return _sparse_product(self, x)
        return self.dot(x) if may_be_dense(x) else NotImplemented

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return _sparse_product(x, self)
        return from_left(self.T, x) if may_be_dense(x) else NotImplemented

    def matvec(self, x: np.ndarray) -> np.ndarray:
        """A x: with rmatvec, shape and dtype all that `scipy.sparse.linalg` asks for."""
        x = np.asarray(x)
        return self.dot(x.reshape(-1)).reshape((-1, 1) if x.ndim == 2 else (-1,))

    def rmatvec(self, x: np.ndarray) -> np.ndarray:
        """The conjugate transpose of A times x."""
        x = np.asarray(x)
        y = conj(self.T.dot(conj(x.reshape(-1))))
        return y.reshape((-1, 1) if x.ndim == 2 else (-1,))

    def matmat(self, x: np.ndarray) -> np.ndarray:
        return self.dot(x)

    def rmatmat(self, x: np.ndarray) -> np.ndarray:
        return conj(self.T.dot(conj(np.asarray(x))))

    def explain(self, x: Any = None, schedule: Any = None) -> Any:
        """What `A @ x` would do and what binds it, predicted from this machine's measured bandwidths, without doing it;
        x may have several columns. The first call measures the CPU's, for about half a second; those of GPUs come from
        `penstock probe`. For a sparse x, `spgemm_estimate(A, x)`.

        Returns an Explanation, whose text has the schedule, the reason, bytes and seconds of each resource, the one
        that binds, and what else was considered. MemoryError, with the numbers, for a schedule that does not fit;
        ValueError for an x of a shape that `A @ x` refuses.
        """
        if x is not None and is_sparse(x):
            return sparse.estimate(sparse.Factors(self, csr_array._factor(x)), exact=False)
        dtype, columns, vectors = result_dtype(self.dtype), 1, "host"
        if x is not None:
            there = on_gpu(x)
            x = x if there else as_array(x)
            check_factor(x.shape, *self.shape)
            if there:
                vectors = "device"
            else:
                dtype, columns = result_dtype(self.dtype, x.dtype), x.shape[1] if x.ndim == 2 else 1
        # Not for `import penstock`: see _plan/decision.py
        from penstock._plan.explain import explain

        how = None if schedule is None else as_schedule(schedule)
        return explain(self, dtype.itemsize, columns, how, vectors)

    def prepare(
        self, algorithm: str = "auto", *, schedule: Any = None, products: int | None = None
    ) -> str:
        """Spends time and memory now so that later products are faster.

        Parameters
        ----------
        algorithm : "auto", "balanced", "blocked", "binned" or "stencil"
            For products in core on the CPU: a second copy of the entries in another order. "auto" is "stencil" where
            rows repeat the row above, moved by one (PDEs, bands: no gathers, no indices, no values where they are
            constant), "blocked" for others, "balanced" (no plan) for small matrices and short rows that are alike.
        schedule : Streamed or InCore, optional
            Makes this schedule's plan: pages are locked, entries packed where that pays, and what fits is moved to
            the GPUs and stays there. `A @ x` uses the plan from then on, and allocates, locks and packs nothing.
            `Streamed(device="cpu")` makes one for the CPU.
        products : int, optional
            How many products will follow, over which the planner spreads the time to get ready; 100 where a schedule
            is given. Without a schedule, GPUs are prepared where that pays over so many products, and the CPU
            otherwise.

        Returns what was prepared: the algorithm's name, or the plan in words. Raises MemoryError, with the numbers and
        the remedy, for a plan that does not fit; `release` frees what was made.
        """
        if schedule is None and products is None:
            return _core.prepare(self._core, algorithm)
        from penstock._plan import streaming  # not for `import penstock`: see _plan/decision.py

        if products is not None and (isinstance(products, bool) or products < 1):
            raise ValueError(f"products={products!r}: give how many will follow, at least 1")
        return streaming.prepare(self, algorithm, schedule, products)

    def to(self, place: Any) -> csr_array:
        """The matrix in another memory: `ps.host`, `ps.pinned`, `ps.managed` or `ps.device(n)`, or such a name.

        "pinned" is in place where the arrays are in ordinary host memory and take 32 MB or more: their pages are
        locked, no byte is copied, and unlocked when the result is gone; smaller ones and mapped files are copied.
        Raises MemoryError with the numbers where it does not fit (a matrix too large for a GPU is for Streamed), and
        NotCompiledError without CUDA.
        """
        core = moved(self._core, place)
        if core is self._core:
            return self
        made = csr_array._wrap(core)
        made._derived.take_facts(self._derived)
        return made

    def release(self) -> None:
        """Frees what products and graph algorithms have built to go faster on GPUs: plans with their GPU memory and
        locked pages, packed copies, and what was made of a graph there. What needs them makes them again; a matrix
        like `A.T.formed()` has its own."""
        self._derived.release_gpu()

    # Other operations

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = False) -> csr_array:
        """The same entries with values of another type; bool keeps where values are not zero. `casting` is NumPy's
        rule; with `copy` the result shares nothing with the matrix."""
        if isinstance(dtype, str) and dtype in SHORT_FLOATS:
            raise TypeError(not_a_value_type(dtype))
        dtype = np.dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"astype({dtype}): casting={casting!r} does not allow it for {self.dtype}"
            )
        if dtype == self.dtype:
            return self.copy() if copy else self
        if self.place == "device" and dtype == np.bool_:
            return csr_array._wrap(_core.pattern(_core.without_zeros(self._core)))
        if self.place == "device":
            return csr_array._wrap(_core.convert_on_gpu(self._core, dtype.name))
        parts = (self.data, self.indices, self.indptr)
        return csr_array(parts, shape=self.shape, dtype=dtype, copy=False)

    def diagonal(self, k: int = 0) -> np.ndarray:
        """The k-th diagonal, of length min(rows + min(k, 0), cols - max(k, 0)), or empty where that is not positive;
        duplicates added up."""
        rows, cols = self.shape
        if min(rows + min(k, 0), cols - max(k, 0)) <= 0:
            return np.empty(0, self.dtype)
        return self._core.diagonal(k)

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csr_array` that shares indices and values where SciPy can (nnz < 2^31)."""
        import scipy.sparse as sp

        data = np.ones(self.nnz, dtype=bool) if self._core.values is None else self._core.values
        indptr = self.indptr.astype(np.int32) if self.nnz < 2**31 else self.indptr
        return sp.csr_array((data, self.indices, indptr), shape=self.shape)

    def to_torch(self) -> Any:
        """A `torch.sparse_csr` tensor with values of this type (bool for a pattern), rows sorted and duplicates added
        up, as PyTorch wants them. It is a copy with int64 indices. Of a matrix on a GPU it is a tensor there, with
        int32 indices, over the same columns and values where the rows are so already: do not write them.

        Raises ImportError where PyTorch is not installed, and ValueError for 2^31 entries or more on a GPU."""
        try:
            import torch  # type: ignore[import-not-found, unused-ignore]  # optional, and slow to load
        except ImportError as e:
            raise ImportError("to_torch needs PyTorch: pip install torch") from e
        a = self.without_duplicates()  # PyTorch wants its rows so
        if a.place == "device":
            return as_torch(a)
        # Copies: a tensor may be written, our arrays may not.
        crow, col = (torch.from_numpy(i.astype(np.int64)) for i in (a.indptr, a.indices))
        return torch_csr(crow, col, torch.from_numpy(np.array(a.data)), a.shape)

    def to_cupy(self) -> Any:
        """A `cupyx.scipy.sparse.csr_matrix` over the same columns and values of a matrix on a GPU, with row offsets of
        int32 (a pattern's values are True, nnz times). Do not write its arrays: CuPy's methods that work in place, such
        as `sort_indices`, are for a copy of it.

        Raises PlacementError for a matrix in other memory (`A.to(ps.device(0))` moves it), ValueError for 2^31 entries
        or more, ImportError where CuPy is not installed."""
        return as_cupy(self)

    def save(self, path: str | os.PathLike[str], **how: Any) -> None:
        """Writes the native store, or the format that the suffix of `path` names (see `penstock.save`)."""
        writer().save(path, self, **how)
