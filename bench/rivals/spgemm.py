"""Who takes part in the SpGEMM benchmark. A maker takes a Problem and returns a Contestant; it raises ImportError where
its package is missing. Everybody allocates the result inside the time, and frees it outside."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib.harness import Contestant


@dataclass
class Problem:
    """C = A A; `csr` is a SciPy CSR array with sorted int32 indices."""

    csr: Any
    threads: int
    products: int


MAKERS: dict[str, Callable[[Problem], Contestant]] = {}


def contestant(name: str) -> Callable[[Callable[[Problem], Contestant]], Any]:
    def register(maker: Callable[[Problem], Contestant]) -> Callable[[Problem], Contestant]:
        MAKERS[name] = maker
        return maker

    return register


class _Held:
    """The last result lives until the next call begins, so that freeing it is nobody's time."""

    def __init__(self, compute: Callable[[], Any], free: Callable[[Any], None] | None = None):
        self._compute, self._free, self._value = compute, free, None

    def drop(self) -> None:
        if self._value is not None and self._free:
            self._free(self._value)
        self._value = None

    def run(self) -> Any:
        self._value = self._compute()
        return self._value


def _contestant(name: str, held: _Held, **more: Any) -> Contestant:
    return Contestant(name, held.run, before=held.drop, **more)


@contestant("penstock")
def _penstock(p: Problem) -> Contestant:
    import penstock as ps

    ps.set_num_threads(p.threads)
    a = ps.csr_array((p.csr.data, p.csr.indices, p.csr.indptr), shape=p.csr.shape)
    return _contestant("penstock", _Held(lambda: a @ a), role="ours", notes={"order": "ascending"})


@contestant("scipy")
def _scipy(p: Problem) -> Contestant:
    notes = {"threads": 1, "order": "none"}
    return _contestant("scipy", _Held(lambda: p.csr @ p.csr), notes=notes)


# GraphBLAS stands before MKL, as in spmv.py: MKL's loader makes Intel's OpenMP visible.


@contestant("graphblas")
def _graphblas(p: Problem) -> Contestant:
    import graphblas as gb

    gb.ss.config["nthreads"] = p.threads
    a = gb.io.from_scipy_sparse(p.csr)

    def compute() -> Any:
        c = a.mxm(a).new()
        c.wait()  # sorts what is still to be sorted
        return c

    held, notes = _Held(compute), {"order": "ascending"}
    return _contestant("graphblas", held, result=gb.io.to_scipy_sparse, notes=notes)


def _arrays(mkl: Any, handle: ctypes.c_void_p, dtype: np.dtype) -> Any:
    """A SciPy CSR array over what MKL holds."""
    base, rows, cols = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    start, end, columns, values = (ctypes.c_void_p() for _ in range(4))
    export = mkl.mkl_sparse_s_export_csr if dtype == np.float32 else mkl.mkl_sparse_d_export_csr
    places = (base, rows, cols, start, end, columns, values)
    if export(handle, *(ctypes.byref(x) for x in places)):
        raise RuntimeError("MKL: the result cannot be read")

    def view(at: ctypes.c_void_p, n: int, kind: Any) -> np.ndarray:
        if n == 0:
            return np.empty(0, kind)
        kind = np.dtype(kind)
        raw = (ctypes.c_char * (n * kind.itemsize)).from_address(at.value)
        return np.frombuffer(raw, kind)

    first = view(start, rows.value, np.int32)
    ends = view(end, rows.value, np.int32)
    indptr = np.concatenate([first[:1], ends]) if rows.value else np.zeros(1, np.int32)
    nnz = int(indptr[-1])
    parts = (view(values, nnz, dtype), view(columns, nnz, np.int32), indptr)
    return sp.csr_array(parts, shape=(rows.value, cols.value))


def _mkl(name: str, p: Problem, ordered: bool) -> Contestant:
    from rivals import mkl as rivals_mkl

    csr = p.csr
    a = rivals_mkl.MklCsr(p.threads, csr.shape, csr.indptr, csr.indices, csr.data)
    mkl = rivals_mkl.load(p.threads)

    def compute() -> ctypes.c_void_p:
        c = ctypes.c_void_p()
        operation = ctypes.c_int(rivals_mkl.NON_TRANSPOSE)
        status = mkl.mkl_sparse_spmm(operation, a._handle, a._handle, ctypes.byref(c))
        if status == 0 and ordered:
            status = mkl.mkl_sparse_order(c)
        a._check(status)
        return c

    held = _Held(compute, lambda c: mkl.mkl_sparse_destroy(c))
    notes = {"order": "ascending" if ordered else "none"}
    return _contestant(name, held, result=lambda c: _arrays(mkl, c, csr.dtype), notes=notes)


@contestant("mkl")
def _mkl_unordered(p: Problem) -> Contestant:
    return _mkl("mkl", p, False)


@contestant("mkl_ordered")
def _mkl_ordered(p: Problem) -> Contestant:
    return _mkl("mkl_ordered", p, True)
