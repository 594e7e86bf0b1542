"""The matrices of the SpMV benchmark, by name: generated ones, and the files of the data folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MIN_NNZ = 100_000  # below, the time of a call hides the time of the product
_SUFFIXES = (".mtx", ".txt", ".csv", ".graph", ".hgr", ".gr", ".hb", ".cua", ".npz")


def _rmat(scale: int) -> Callable[[], Any]:
    def make() -> Any:
        from penstock import generate

        return generate.rmat(scale, edge_factor=16, undirected=True, seed=1)

    return make


def _laplacian(edge: int) -> Callable[[], Any]:
    def make() -> Any:
        from penstock import generate

        return generate.laplacian((edge, edge, edge))

    return make


def _uniform(n: int) -> Callable[[], Any]:
    def make() -> Any:
        from penstock import generate

        return generate.uniform(n, nnz_per_row=16, seed=2)

    return make


def _halves(n: int) -> Callable[[], Any]:
    """All entries, about 187 in a row, in the first half of the rows."""

    def make() -> Any:
        import penstock as ps

        rng = np.random.default_rng(1)
        key = np.unique(rng.integers(0, n // 2 * n, 187 * (n // 2)))
        return ps.csr_array((np.ones(key.size), (key // n, key % n)), shape=(n, n))

    return make


def _banded(n: int) -> Callable[[], Any]:
    def make() -> Any:
        from penstock import generate

        return generate.banded(n, range(-16, 17))

    return make


GENERATED = {
    "rmat18": _rmat(18),
    "rmat20": _rmat(20),
    "laplacian128": _laplacian(128),
    "uniform1M": _uniform(1_000_000),
    "banded1M": _banded(1_000_000),
}
ON_REQUEST = {"rmat16": _rmat(16), "halves": _halves(8_000)}  # by name, not in "all"
TOY = {
    "rmat10": _rmat(10),
    "laplacian12": _laplacian(12),
    "uniform2k": _uniform(2_000),
    "banded2k": _banded(2_000),
}


def data_folder() -> Path:
    """PENSTOCK_DATA, or shared/data beside the repository."""
    return Path(os.environ.get("PENSTOCK_DATA") or ROOT.parent / "shared" / "data")


def data_files() -> dict[str, Path]:
    """Name (without suffixes) -> file, for every matrix file of the data folder."""
    folder = data_folder()
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    files = [f for f in files if f.name.removesuffix(".gz").endswith(_SUFFIXES)]
    return {f.name.removesuffix(".gz").rsplit(".", 1)[0]: f for f in files}


def with_values(matrix: Any, seed: int = 3) -> Any:
    """A SciPy CSR array with int32 indices and float64 values; a pattern gets random ones in [0.5,
    1.5)."""
    import scipy.sparse as sp

    csr = matrix.to_scipy()
    data = csr.data
    if data.dtype == np.bool_:
        data = np.random.default_rng(seed).random(csr.nnz) + 0.5
    return sp.csr_array(
        (data.astype(np.float64, copy=False), csr.indices, csr.indptr), shape=csr.shape
    )


def select(names: str, quick: bool, skip: Callable[[str, str], None]) -> Iterator[tuple[str, Any]]:
    """(name, SciPy CSR array) for a comma-separated list of names, files, "generated", "data" or
    "all"."""
    import penstock as ps

    made = TOY if quick else GENERATED
    files = data_files()
    wanted: list[str] = []
    for name in names.split(","):
        groups = {
            "generated": [*made],
            "data": [*files],
            "all": [*made] + ([] if quick else [*files]),
        }
        wanted += groups.get(name, [name])
    if not files and not quick and {"data", "all"} & set(names.split(",")):
        skip(
            "data", f"{data_folder().name}: no such folder beside the repository; set PENSTOCK_DATA"
        )
    for name in dict.fromkeys(wanted):
        known = {**GENERATED, **ON_REQUEST, **TOY}
        if name in known:
            yield name, with_values(known[name]())
            continue
        path = files.get(name, Path(name))
        if not path.exists():  # a store is a folder
            choices = ", ".join([*known, *files, "generated", "data", "all"])
            raise SystemExit(f"matrix {name!r} is neither a file nor one of {choices}")
        try:
            matrix = ps.load(path)
        except (ValueError, NotImplementedError) as e:
            skip(name, str(e).replace(str(path.parent) + os.sep, ""))
            continue
        if matrix.nnz < MIN_NNZ and not quick:
            skip(name, f"{matrix.nnz} nonzeros, fewer than {MIN_NNZ}")
        elif matrix.dtype.kind == "c":
            skip(name, "complex values")
        else:
            yield path.name.removesuffix(".gz").rsplit(".", 1)[0], with_values(matrix)
