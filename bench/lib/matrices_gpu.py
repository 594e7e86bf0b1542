"""The matrices of the benchmarks on GPUs, and how their products are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

DEFAULT = "rmat20,rmat21,rmat22,rmat23,rmat24,uniform4M,laplacian256"
TOY = "rmat10,uniform2k,laplacian12"
_UNITS = {"k": 1000, "M": 1_000_000}
_SUFFIXES = (".mtx", ".mtx.gz", ".npz", ".penstock")


def make(name: str) -> ps.csr_array:
    """rmatSCALE (16 edges a vertex, undirected, scrambled), uniformN (20 a row), laplacianEDGE (3-D)."""
    if name.startswith("rmat"):
        return ps.generate.rmat(int(name[4:]), edge_factor=16, seed=1)
    if name.startswith("uniform"):
        unit = _UNITS.get(name[-1], 1)
        rows = int(name[7:].rstrip("kM")) * unit
        return ps.generate.uniform(rows, nnz_per_row=20, seed=2)
    if name.startswith("laplacian"):
        return ps.generate.laplacian((int(name[9:]),) * 3)
    raise SystemExit(f"matrix {name!r} is neither a file nor rmatSCALE, uniformN or laplacianEDGE")


def select(
    names: str, data: Path | None, skip: Callable[[str, str], None]
) -> Iterator[tuple[str, ps.csr_array]]:
    """The named matrices, then every matrix file of the folder `data`."""
    for name in filter(None, names.split(",")):
        yield name, ps.load(name) if Path(name).exists() else make(name)
    files = sorted(data.iterdir()) if data else []
    for path in files:
        if not path.name.endswith(_SUFFIXES):
            continue
        try:
            matrix = ps.load(path)
        except (ValueError, NotImplementedError) as e:
            skip(path.name, str(e).replace(str(path.parent), ""))
            continue
        if matrix.dtype.kind == "c":
            skip(path.name, "complex values")
        else:
            yield path.name.split(".")[0], matrix


def as_core(matrix: ps.csr_array, dtype: str | None, seed: int = 3) -> Any:
    """The matrix with values of `dtype` (those of a pattern random in [0.5, 1.5)), or as a pattern."""
    a = matrix._core
    values = None
    if dtype is not None:
        values = a.values
        if values is None:
            values = np.random.default_rng(seed).random(a.nnz) + 0.5
        values = np.asarray(values).astype(dtype)
    rows, cols = matrix.shape
    return ps._core.Matrix.from_arrays(rows, cols, a.indptr, a.indices, values, check="cheap")


def product_check(a: Any, x: np.ndarray) -> Callable[[np.ndarray], float]:
    """Against the CPU's product in float64: x, or three columns of X. The bound is that of any order of summation,
    2 (n + 2) eps |A| |x| for n terms (Higham 2002, section 3.1)."""
    wide = as_wide(a)
    several = x.ndim == 2
    some = sorted({0, x.shape[1] // 2, x.shape[1] - 1}) if several else [0]
    terms = np.diff(a.indptr)
    pairs = []
    for j in some:
        column = np.ascontiguousarray(x[:, j] if several else x, np.float64)
        pairs.append((wide.dot(column), abs_of(wide).dot(np.abs(column))))
    eps = np.finfo(x.dtype).eps

    def check(y: np.ndarray) -> float:
        worst = 0.0
        for j, (expected, size) in zip(some, pairs, strict=True):
            got = (y[:, j] if several else y).astype(np.float64)
            error = np.abs(got - expected)
            with np.errstate(invalid="ignore", divide="ignore"):
                excess = np.where(error == 0, 0.0, error / (2 * (terms + 2) * eps * size))
            worst = max(worst, float(np.max(excess, initial=0.0)))  # NaN stays: wrong
            if np.isnan(excess).any():
                return float("nan")
        return worst

    return check


def as_wide(a: Any) -> ps.csr_array:
    values = np.ones(a.nnz) if a.values is None else np.asarray(a.values, np.float64)
    return ps.csr_array((values, a.indices, a.indptr), shape=a.shape)


def abs_of(a: ps.csr_array) -> ps.csr_array:
    return ps.csr_array((np.abs(a._core.values), a._core.indices, a._core.indptr), shape=a.shape)
