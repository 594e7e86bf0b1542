"""Who takes part in the SpMV benchmark. A maker takes a Problem and returns a Contestant; it
raises ImportError where its package is missing, and UnsupportedError where the package or this
build cannot do the case."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from lib.harness import Contestant


class UnsupportedError(Exception):
    """This contestant has no way to do this case."""


@dataclass
class Problem:
    """y = A x, or A^T x; `csr` is a SciPy CSR array with int32 indices, `x` of its type."""

    csr: Any
    x: np.ndarray
    transposed: bool
    threads: int

    @property
    def rows(self) -> int:
        """Of the result."""
        return self.csr.shape[1 if self.transposed else 0]

    def output(self) -> np.ndarray:
        return np.zeros(self.rows, self.csr.dtype)

    def penstock(self) -> Any:
        """A new csr_array over the shared arrays: what one contestant prepares, no other has."""
        import penstock as ps

        ps.set_num_threads(self.threads)
        return ps.csr_array(
            (self.csr.data, self.csr.indices, self.csr.indptr), shape=self.csr.shape
        )


MAKERS: dict[str, Callable[[Problem], Contestant]] = {}


def registry(makers: dict[str, Any]) -> Callable[[str], Callable[[Any], Any]]:
    """A decorator that enters a maker of contestants under its name."""

    def named(name: str) -> Callable[[Any], Any]:
        def register(maker: Any) -> Any:
            makers[name] = maker
            return maker

        return register

    return named


def gather(
    makers: dict[str, Any], who: list[str], problem: Any, operation: str, report: Any
) -> list[Contestant]:
    """Those of `who` that can compute the problem; the others are named in the report, with the reason."""
    contestants = []
    for key in (key for key in makers if key in who):
        try:
            contestants.append(makers[key](problem))
        except ImportError as e:
            if key.startswith("penstock"):  # only a rival may be absent
                raise
            report.skip(key, str(e))
        except UnsupportedError as e:
            report.skip(f"{key} {operation}", str(e))
    return contestants


contestant = registry(MAKERS)


def into(y: np.ndarray, value: float) -> Callable[[], None]:
    return lambda: y.fill(value)


# Ours


def _ours(
    name: str, p: Problem, algorithm: str, schedule: Any = None, prepare: bool = False
) -> Contestant:
    import penstock as ps
    from penstock import _core

    a, x, y, seconds, notes = p.penstock(), p.x, p.output(), None, {}
    if prepare:
        start = time.perf_counter()
        notes["prepared"] = a.prepare(algorithm)
        seconds = time.perf_counter() - start
        notes["plan_bytes"] = _core.plan_bytes(a._core)
    if p.transposed:
        run = functools.partial(a.T.dot, x, out=y)
    else:
        run = functools.partial(a.dot, x, out=y, algorithm=algorithm, schedule=schedule)
    with ps.record() as events:
        run()
    notes |= {"kernel": events[-1]["kernel"], "tiles": events[-1]["tiles"]}
    return Contestant(name, run, "ours", into(y, np.nan), prepare_seconds=seconds, notes=notes)


def _can_prepare(p: Problem) -> None:
    if p.transposed:
        raise UnsupportedError("A^T x has one algorithm, and nothing to prepare")


@contestant("penstock")
def _plain(p: Problem) -> Contestant:
    from penstock import InCore

    return _ours("penstock", p, "auto", None if p.transposed else InCore())


@contestant("penstock_prepared")
def _prepared(p: Problem) -> Contestant:
    _can_prepare(p)
    return _ours("penstock_prepared", p, "auto", prepare=True)


def _algorithm(algorithm: str) -> None:
    @contestant(f"penstock_{algorithm}")
    def _one(p: Problem) -> Contestant:
        _can_prepare(p)
        return _ours(f"penstock_{algorithm}", p, algorithm, prepare=True)


for _name in ("balanced", "blocked", "binned"):
    _algorithm(_name)


@contestant("penstock_streamed")
def _streamed(p: Problem) -> Contestant:
    """Through a ring of an eighth of the matrix on the host device: every byte is copied once."""
    from penstock import Streamed

    if p.transposed:
        raise UnsupportedError("A^T x is not streamed")
    ring = max(p.penstock().nbytes // 8, 1)
    made = _ours("penstock_streamed", p, "auto", Streamed(device="cpu", ring=ring))
    made.notes["ring_bytes"] = ring
    return made


# Yardstick


@contestant("read_probe")
def _probe(p: Problem) -> Contestant:
    """Reads the matrix's own arrays once with all threads (a maximum): the least time that its
    bytes take."""
    arrays = [
        p.csr.indptr,
        p.csr.indices,
        p.csr.data.view(np.int64 if p.csr.dtype == np.float64 else np.int32),
    ]
    pieces = [[np.array_split(a, p.threads)[t] for a in arrays] for t in range(p.threads)]
    pool = ThreadPoolExecutor(p.threads)

    def scan(piece: list[np.ndarray]) -> int:
        return max((int(part.max()) for part in piece if part.size), default=0)

    expected = max((int(a.max()) for a in arrays if a.size), default=0)

    def run() -> int:
        return max(pool.map(scan, pieces))

    return Contestant(
        "read_probe", run, "probe", check=lambda got: 0.0 if got == expected else np.nan
    )


# Rivals


@contestant("scipy")
def _scipy(p: Problem) -> Contestant:
    a = p.csr.T if p.transposed else p.csr
    return Contestant("scipy", lambda: a @ p.x, notes={"threads": 1})


# GraphBLAS stands before MKL: MKL's loader makes Intel's OpenMP visible to every library that is
# loaded after it, and GraphBLAS must run on the OpenMP it was built with.


def _graphblas(name: str, p: Problem, accumulate: bool) -> Contestant:
    """Through the C interface, so that Python adds nothing; y is full in both forms, y += A x as
    LAGraph uses it."""
    import graphblas as gb
    from suitesparse_graphblas import ffi, lib

    gb.ss.config["nthreads"] = p.threads
    a, x, y = (
        gb.io.from_scipy_sparse(p.csr),
        gb.Vector.from_dense(p.x),
        gb.Vector.from_dense(p.output()),
    )
    zero = p.csr.dtype.type(0)  # rows without entries; a plain 0 would widen float32
    code, null = "FP64" if p.csr.dtype == np.float64 else "FP32", ffi.NULL
    semiring = getattr(lib, f"GrB_PLUS_TIMES_SEMIRING_{code}")
    plus = getattr(lib, f"GrB_PLUS_{code}") if accumulate else null
    how = lib.GrB_DESC_T0 if p.transposed else null
    handles = [v.gb_obj[0] for v in (y, a, x)]

    def run() -> None:
        status = lib.GrB_mxv(handles[0], null, plus, semiring, handles[1], handles[2], how)
        if status:
            raise RuntimeError(f"GrB_mxv failed with {status}")

    def reset() -> None:
        y[:] = 0 if accumulate else np.nan

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
    operation = mkl.TRANSPOSE if p.transposed else mkl.NON_TRANSPOSE
    seconds = None
    if optimized:
        start = time.perf_counter()
        handle.optimize(operation)
        seconds = time.perf_counter() - start
    return Contestant(
        name, lambda: handle.dot(x, y, operation), reset=into(y, np.nan), prepare_seconds=seconds
    )


@contestant("mkl")
def _mkl_plain(p: Problem) -> Contestant:
    return _mkl("mkl", p, False)


@contestant("mkl_optimized")
def _mkl_optimized(p: Problem) -> Contestant:
    return _mkl("mkl_optimized", p, True)
