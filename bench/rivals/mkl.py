"""Intel MKL's sparse matrix-vector and matrix-matrix product by ctypes, from the library of the `mkl` wheel.

MKL reads its threading settings when it is loaded, so `load(threads)` comes before anything that
may load MKL itself. 32-bit indices (LP64), zero-based CSR, float32 and float64.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

NON_TRANSPOSE, TRANSPOSE = 10, 11
_GENERAL, _ZERO_BASED, _MEMORY_AGGRESSIVE = 20, 0, 81
_LAYOUTS = {"C": 101, "F": 102}
_STATUS = {
    1: "not initialised",
    2: "out of memory",
    3: "invalid value",
    4: "execution failed",
    5: "internal error",
    6: "not supported",
}
_Handle = ctypes.c_void_p


class _Descr(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


def find_library() -> Path | None:
    """libmkl_rt of this environment's `mkl` wheel, or of MKLROOT."""
    roots = [Path(sysconfig.get_path("data")), Path(sys.prefix), Path(sys.base_prefix)]
    if os.environ.get("MKLROOT"):
        roots.insert(0, Path(os.environ["MKLROOT"]))
    for root in roots:
        for folder in ("lib", "lib/intel64", "Library/bin"):
            found = sorted((root / folder).glob("libmkl_rt.so*")) + sorted(
                (root / folder).glob("mkl_rt*.dll")
            )
            if found:
                return found[-1]
    return None


@functools.cache
def load(threads: int) -> ctypes.CDLL:
    """MKL with `threads` threads; ImportError where it is not installed."""
    path = find_library()
    if path is None:
        raise ImportError("libmkl_rt was not found: pip install mkl, or set MKLROOT")
    layer = os.environ.setdefault("MKL_THREADING_LAYER", "INTEL").upper()
    os.environ["MKL_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
    # The default of 200 ms of spinning after a call would take a core from the rival that comes
    # next.
    os.environ.setdefault("KMP_BLOCKTIME", "1")
    runtime = path.parent / "libiomp5.so" if layer == "INTEL" else "libgomp.so.1"
    if layer in ("INTEL", "GNU") and os.name == "posix":
        ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
    mkl = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    mkl.MKL_Set_Num_Threads(ctypes.c_int(threads))
    return mkl


def version(mkl: ctypes.CDLL) -> str:
    text = ctypes.create_string_buffer(200)
    mkl.mkl_get_version_string(text, ctypes.c_int(200))
    return text.value.decode(errors="replace").strip()


class MklCsr:
    """A handle over CSR arrays; `optimize(operation)` gives MKL all its hints and lets it
    repack."""

    def __init__(
        self, threads: int, shape: tuple[int, int], indptr: Any, indices: Any, data: Any
    ) -> None:
        self._mkl = load(threads)
        if data.dtype not in (np.float32, np.float64):
            raise TypeError(f"{data.dtype}: MKL is called for float32 and float64 only")
        if indices.size > 2**31 - 1:
            raise ValueError(f"{indices.size} nonzeros do not fit MKL's 32-bit row offsets")
        single = data.dtype == np.float32
        self._scalar = ctypes.c_float if single else ctypes.c_double
        self._mv = self._mkl.mkl_sparse_s_mv if single else self._mkl.mkl_sparse_d_mv
        self._mm = self._mkl.mkl_sparse_s_mm if single else self._mkl.mkl_sparse_d_mm
        create = self._mkl.mkl_sparse_s_create_csr if single else self._mkl.mkl_sparse_d_create_csr
        self.shape = shape
        self.dtype = data.dtype
        self._arrays = (indptr.astype(np.int32), np.ascontiguousarray(indices, np.int32), data)
        start, columns, values = (a.ctypes.data for a in self._arrays)
        self._handle = _Handle()
        pointers = [ctypes.c_void_p(p) for p in (start, start + 4, columns, values)]
        rows, cols = (ctypes.c_int(n) for n in shape)
        self._check(
            create(ctypes.byref(self._handle), ctypes.c_int(_ZERO_BASED), rows, cols, *pointers)
        )
        self._descr = _Descr(_GENERAL, 0, 0)

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"MKL: {_STATUS.get(status, 'unknown')} (status {status})")

    def optimize(self, operation: int = NON_TRANSPOSE, calls: int = 1000) -> None:
        """Repacks for `calls` products; as much memory as MKL likes."""
        hint = self._mkl.mkl_sparse_set_mv_hint
        self._check(hint(self._handle, ctypes.c_int(operation), self._descr, ctypes.c_int(calls)))
        self._check(
            self._mkl.mkl_sparse_set_memory_hint(self._handle, ctypes.c_int(_MEMORY_AGGRESSIVE))
        )
        self._check(self._mkl.mkl_sparse_optimize(self._handle))

    def dot(self, x: np.ndarray, y: np.ndarray, operation: int = NON_TRANSPOSE) -> np.ndarray:
        rows, cols = self.shape if operation == NON_TRANSPOSE else self.shape[::-1]
        if x.shape != (cols,) or y.shape != (rows,) or {x.dtype, y.dtype} != {self.dtype}:
            raise ValueError(
                f"x {x.dtype}{x.shape} and y {y.dtype}{y.shape} do not fit {self.dtype}{self.shape}"
            )
        one, zero = self._scalar(1), self._scalar(0)
        px, py = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        self._check(self._mv(ctypes.c_int(operation), one, self._handle, self._descr, px, zero, py))
        return y

    def optimize_columns(self, columns: int, order: str, calls: int = 1000) -> None:
        """Repacks for `calls` products with so many columns in order "C" or "F"."""
        hint = self._mkl.mkl_sparse_set_mm_hint
        numbers = (ctypes.c_int(n) for n in (_LAYOUTS[order], columns, calls))
        self._check(hint(self._handle, ctypes.c_int(NON_TRANSPOSE), self._descr, *numbers))
        self._check(
            self._mkl.mkl_sparse_set_memory_hint(self._handle, ctypes.c_int(_MEMORY_AGGRESSIVE))
        )
        self._check(self._mkl.mkl_sparse_optimize(self._handle))

    def dot_columns(self, x: np.ndarray, y: np.ndarray, order: str) -> np.ndarray:
        """y = A x, both two-dimensional and contiguous in `order`."""
        (rows, cols), columns = self.shape, x.shape[-1]
        good = all(m.flags.c_contiguous if order == "C" else m.flags.f_contiguous for m in (x, y))
        shapes = x.shape == (cols, columns) and y.shape == (rows, columns)
        if not (good and shapes and {x.dtype, y.dtype} == {self.dtype}):
            raise ValueError(
                f"x {x.dtype}{x.shape} and y {y.dtype}{y.shape} do not fit {self.dtype}{self.shape}"
            )
        steps = (columns, columns) if order == "C" else (cols, rows)
        one, zero = self._scalar(1), self._scalar(0)
        layout, width, x_step, y_step = (
            ctypes.c_int(n) for n in (_LAYOUTS[order], columns, *steps)
        )
        px, py = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        self._check(
            self._mm(
                ctypes.c_int(NON_TRANSPOSE), one, self._handle, self._descr, layout, px, width, x_step,
                zero, py, y_step,
            )
        )  # fmt: skip
        return y

    def close(self) -> None:
        if self._handle:
            self._mkl.mkl_sparse_destroy(self._handle)
            self._handle = _Handle()

    def __del__(self) -> None:
        self.close()
