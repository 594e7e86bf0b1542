"""Who reads what in the input and output benchmark. A reader takes a path and returns what it
read; its maker raises ImportError where the package is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Reader = Callable[[Path], Any]


def _penstock() -> Reader:
    import penstock as ps

    return ps.load


def _scipy_coo() -> Reader:
    import scipy.io

    return scipy.io.mmread


def _scipy_csr() -> Reader:
    import scipy.io

    return lambda path: scipy.io.mmread(path).tocsr()


def _networkit(kind: str) -> Reader:
    import networkit as nk

    if kind == "mtx":
        return lambda path: nk.readGraph(str(path), nk.Format.MatrixMarket)
    reader = nk.graphio.EdgeListReader(
        "\t", 0, "#", True, True
    )  # first node 0, ids as they are, directed
    return lambda path: reader.read(str(path))


def _polars() -> Reader:
    import polars

    return lambda path: polars.read_csv(path, separator="\t", has_header=False, comment_prefix="#")


def _pandas() -> Reader:
    import pandas

    return lambda path: pandas.read_csv(path, sep="\t", header=None, comment="#")


MATRIX_MARKET: dict[str, Callable[[], Reader]] = {
    "penstock": _penstock,
    "scipy": _scipy_coo,
    "scipy_tocsr": _scipy_csr,
    "networkit": lambda: _networkit("mtx"),
}
EDGE_LIST: dict[str, Callable[[], Reader]] = {
    "penstock": _penstock,
    "polars": _polars,
    "pandas": _pandas,
    "networkit": lambda: _networkit("edges"),
}


def count_and_sum(read: Any) -> tuple[int, int]:
    """(edges, sum of all ids) of an edge list in whatever form a reader returns it."""
    if hasattr(read, "iterEdges"):  # networkit: degrees give the sum without a loop over edges
        ids = range(read.upperNodeIdBound())
        return read.numberOfEdges(), sum(u * (read.degreeOut(u) + read.degreeIn(u)) for u in ids)
    if hasattr(read, "_core"):
        import numpy as np

        rows = np.arange(read.shape[0], dtype=np.int64)
        return read.nnz, int(rows @ np.diff(read.indptr)) + int(read.indices.sum(dtype=np.int64))
    values = read.to_numpy()
    return values.shape[0], int(values.sum())
