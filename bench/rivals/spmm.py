"""Who takes part in the SpMM benchmark: Y = A X with X dense. A maker takes a Problem and returns a
Contestant; it raises ImportError where its package is missing, and UnsupportedError where the
package or this build cannot do the case."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from lib.harness import Contestant

from rivals.spmv import into, registry

__all__ = ["MAKERS", "Problem"]


@dataclass
class Problem:
    """`csr` is a SciPy CSR array with int32 indices; `x` is of its type, with `order` "C" or "F"."""

    csr: Any
    x: np.ndarray
    order: str
    threads: int

    def output(self) -> np.ndarray:
        return np.zeros((self.csr.shape[0], self.x.shape[1]), self.csr.dtype, order=self.order)

    def penstock(self) -> Any:
        import penstock as ps

        ps.set_num_threads(self.threads)
        return ps.csr_array(
            (self.csr.data, self.csr.indices, self.csr.indptr), shape=self.csr.shape
        )


MAKERS: dict[str, Callable[[Problem], Contestant]] = {}


contestant = registry(MAKERS)


@contestant("penstock")
def _plain(p: Problem) -> Contestant:
    """Into an array of the caller's, as MKL and GraphBLAS's C += A X do."""
    from penstock import InCore

    a, x, y = p.penstock(), p.x, p.output()
    run = functools.partial(a.dot, x, out=y, schedule=InCore())
    return Contestant("penstock", run, "ours", into(y, np.nan))


@contestant("penstock_fresh")
def _fresh(p: Problem) -> Contestant:
    """A @ X: the result is a new array each time, as SciPy's and GraphBLAS's plain form make it."""
    a, x = p.penstock(), p.x
    return Contestant("penstock_fresh", lambda: a @ x, "ours")


@contestant("penstock_streamed")
def _streamed(p: Problem) -> Contestant:
    """Through a ring of an eighth of the matrix on the host device: every byte is copied once."""
    import penstock as ps

    a, x, y = p.penstock(), p.x, p.output()
    ring = max(a.nbytes // 8, 1)
    run = functools.partial(a.dot, x, out=y, schedule=ps.Streamed(device="cpu", ring=ring))
    with ps.record() as events:
        run()
    notes = {"ring_bytes": ring, "tiles": events[-1]["tiles"]}
    return Contestant("penstock_streamed", run, "ours", into(y, np.nan), notes=notes)


@contestant("scipy")
def _scipy(p: Problem) -> Contestant:
    return Contestant("scipy", lambda: p.csr @ p.x, notes={"threads": 1})


# GraphBLAS stands before MKL: MKL's loader makes Intel's OpenMP visible to every library that is
# loaded after it, and GraphBLAS must run on the OpenMP it was built with.


def _graphblas(name: str, p: Problem, accumulate: bool) -> Contestant:
    """Through the C interface, all by rows whatever the order asked for; C is full in both forms."""
    import graphblas as gb
    from suitesparse_graphblas import ffi, lib

    gb.ss.config["nthreads"] = p.threads
    a, x = gb.io.from_scipy_sparse(p.csr), gb.Matrix.from_dense(np.ascontiguousarray(p.x))
    y = gb.Matrix.from_dense(np.zeros((p.csr.shape[0], p.x.shape[1]), p.csr.dtype))
    code, null = "FP64" if p.csr.dtype == np.float64 else "FP32", ffi.NULL
    semiring = getattr(lib, f"GrB_PLUS_TIMES_SEMIRING_{code}")
    plus = getattr(lib, f"GrB_PLUS_{code}") if accumulate else null
    handles = [m.gb_obj[0] for m in (y, a, x)]
    zero = p.csr.dtype.type(0)

    def run() -> None:
        status = lib.GrB_mxm(handles[0], null, plus, semiring, handles[1], handles[2], null)
        if status:
            raise RuntimeError(f"GrB_mxm failed with {status}")

    def reset() -> None:
        if accumulate:
            y[:, :] = zero

    # The result closes over a and x too: the handles alone would not keep them.
    return Contestant(
        name, run, reset=reset, result=lambda _: (a, x, y)[2].to_dense(fill_value=zero)
    )


@contestant("graphblas")
def _graphblas_assign(p: Problem) -> Contestant:
    return _graphblas("graphblas", p, False)


@contestant("graphblas_accumulate")
def _graphblas_accumulate(p: Problem) -> Contestant:
    return _graphblas("graphblas_accumulate", p, True)


def _mkl(name: str, p: Problem, optimized: bool) -> Contestant:
    from rivals import mkl

    csr, x, y = p.csr, p.x, p.output()
    handle = mkl.MklCsr(p.threads, csr.shape, csr.indptr, csr.indices, csr.data)
    seconds = None
    if optimized:
        start = time.perf_counter()
        handle.optimize_columns(x.shape[1], p.order)
        seconds = time.perf_counter() - start
    return Contestant(
        name,
        lambda: handle.dot_columns(x, y, p.order),
        reset=into(y, np.nan),
        prepare_seconds=seconds,
    )


@contestant("mkl")
def _mkl_plain(p: Problem) -> Contestant:
    return _mkl("mkl", p, False)


@contestant("mkl_optimized")
def _mkl_optimized(p: Problem) -> Contestant:
    return _mkl("mkl_optimized", p, True)
