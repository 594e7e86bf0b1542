"""SciPy's .npz: what scipy.sparse.save_npz writes, read without believing its headers."""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import transposed
from penstock._io._errors import Inflation, broken, check_cols, check_rows
from penstock._io._npy import read_array, read_header, write_array
from penstock._matrix.csr import csr_array

MOST_PACKED = 1032
NEEDED = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
}
_BAD_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
)


class _Archive:
    def __init__(self, path: Any) -> None:
        self.path = path
        try:
            self.zip = zipfile.ZipFile(path)
            self.members = {
                info.filename.removesuffix(".npy"): info for info in self.zip.infolist()
            }
        except FileNotFoundError:
            raise
        except _BAD_ZIP as error:
            raise broken(
                path,
                f"is not a .npz archive ({str(error)[:120]}): it is truncated, or another format",
            ) from error
        self.size = os.path.getsize(path)

    def check_size(self, names: tuple[str, ...]) -> None:
        """Before any of these is unpacked."""
        members = [self.members[name] for name in names if name in self.members]
        Inflation(self.path).check(self.size, sum(info.file_size for info in members))

    def array(self, name: str, kinds: str) -> np.ndarray:
        info = self.members.get(name)
        where = f"{self.path}[{name}]"
        if info is None:
            raise broken(
                self.path,
                f"has no array {name!r} (it has {', '.join(self.members)[:200]}): not from save_npz",
            )
        if info.file_size > MOST_PACKED * self.size:
            raise broken(
                where,
                f"claims {info.file_size} bytes, more than {self.size} packed ones can hold: it is damaged",
            )
        try:
            with self.zip.open(info) as file:
                shape, dtype = read_header(where, file, info.file_size)
                if dtype.kind not in kinds:
                    raise broken(where, f"is {dtype}: of another kind than save_npz writes")
                return read_array(where, file, shape, dtype)  # type: ignore[arg-type]
        except _BAD_ZIP as error:
            if str(error).startswith(where):
                raise
            raise broken(
                where, f"cannot be unpacked ({str(error)[:120]}): the file is damaged"
            ) from error


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None) -> csr_array:
    archive = _Archive(path)
    with archive.zip:
        archive.check_size(("format", "shape"))
        kind = archive.array("format", "SU").reshape(-1)[:1].tolist()
        kind = (
            kind[0].decode("latin-1") if kind and isinstance(kind[0], bytes) else (kind or [""])[0]
        )
        if kind not in NEEDED:
            raise broken(
                path,
                f"holds a matrix of format {str(kind)[:20]!r}: save it as csr, csc, coo, bsr or dia",
            )
        archive.check_size(NEEDED[kind])
        shape = archive.array("shape", "iu").reshape(-1)
        if shape.size != 2 or (shape < 0).any():
            raise broken(
                path, f"has the shape {shape.tolist()[:4]}: two numbers of 0 or more are needed"
            )
        rows, cols = (int(n) for n in shape)
        parts = [archive.array(n, "biufc" if n == "data" else "iu") for n in NEEDED[kind]]
    check_cols(path, cols)
    check_rows(path, rows, parts[-1].size, max_rows)
    try:
        if kind == "csr":
            indptr, indices, data = parts
            return csr_array((data, indices, indptr), shape=(rows, cols), copy=False)
        if kind == "coo":
            row, col, data = parts
            return csr_array((data, (row, col)), shape=(rows, cols))
        return _through_scipy(path, kind, parts, rows, cols, max_rows)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise error if str(error).startswith(str(path)) else broken(path, str(error)) from error


def _through_scipy(
    path: Any, kind: str, parts: list[np.ndarray], rows: int, cols: int, max_rows: int | None
) -> csr_array:
    import scipy.sparse as sp

    if kind == "dia":
        offsets, data = parts
        # One entry a column and diagonal: SciPy keeps no more, whatever the array's width.
        return csr_array(sp.dia_array((data, offsets), shape=(rows, cols)).tocoo())
    indptr, indices, data = parts
    if kind == "bsr" and (data.ndim != 3 or 0 in data.shape[1:]):
        raise broken(path, f"has blocks of shape {data.shape}: three dimensions are needed")
    lines = cols if kind == "csc" else rows // data.shape[1]
    if indptr.ndim != 1 or indptr.size != lines + 1:
        raise broken(
            path, f"has {indptr.size} offsets, {lines} lines need {lines + 1}: it is damaged"
        )
    if kind == "csc":
        # Its transpose is a csr, whose constructor looks at every index.
        a = csr_array((data, indices, indptr), shape=(cols, _int32(path, rows)), copy=False)

        return transposed(a)
    checked = csr_array(
        (np.ones(indices.size), indices, indptr), shape=(lines, max(cols, 1)), copy=False
    )
    if data.shape[0] != indices.size or rows % data.shape[1] or cols % data.shape[2]:
        raise broken(
            path,
            f"blocks of shape {data.shape} do not tile {rows} x {cols} with {checked.nnz} blocks",
        )
    blocks = cols // data.shape[2]
    if indices.size and int(indices.max()) >= blocks:
        raise broken(path, f"block column {int(indices.max())} is outside 0 .. {blocks - 1}")
    return csr_array(sp.bsr_array((data, indices, indptr), shape=(rows, cols)).tocsr(), copy=False)


def _int32(path: Any, rows: int) -> int:
    check_cols(path, rows)
    return rows


def write(path: Any, a: csr_array, *, compressed: bool = True) -> None:
    """Readable by scipy.sparse.load_npz. A pattern is written as bool."""
    width = np.int32 if a.nnz < 2**31 else np.int64
    small = {"format": np.array(b"csr"), "shape": np.array(a.shape, np.int64)}
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", method, compresslevel=4) as archive:  # type: ignore[arg-type]
        for name in ("indices", "indptr"):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, getattr(a, name), width)  # type: ignore[arg-type]
        for name, array in small.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        with archive.open("data.npy", "w", force_zip64=True) as member:
            write_array(member, a.data)  # type: ignore[arg-type]
