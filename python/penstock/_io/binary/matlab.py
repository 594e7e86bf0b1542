"""MATLAB's .mat: versions 4 to 7 through SciPy, version 7.3, which is HDF5, through h5py.

A matrix is a variable, or a field of a struct, such as the Problem.A of the SuiteSparse collection.
The formats: MathWorks, "MAT-File format"; version 7.3 keeps a sparse matrix as the columns data, ir and jc.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from penstock._io._errors import Inflation, broken, check_cols
from penstock._io.binary.hdf5 import dense, is_group, opened, sparse
from penstock._matrix.csr import csr_array


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, variable: str | None = None
) -> csr_array:
    """variable: its name, fields behind points; by default the only sparse one, or Problem.A."""
    with open(path, "rb") as file:
        head = file.read(520)
    if head[:10] == b"MATLAB 7.3" or head[512:] == b"\x89HDF\r\n\x1a\n":
        return _of_hdf5(path, variable, max_rows)
    return _of_scipy(path, variable, max_rows)


def _choose(path: Any, found: dict[str, Any], variable: str | None) -> Any:
    """The matrix of a name, or the only one."""
    names = ", ".join(list(found)[:12]) or "none"
    if variable is not None:
        if variable not in found:
            raise broken(path, f"has no matrix {variable!r}: pass variable= with one of {names}")
        return found[variable]
    if "Problem.A" in found:
        return found["Problem.A"]
    if len(found) != 1:
        raise broken(path, f"has the matrices {names}: pass variable= with one of them")
    return next(iter(found.values()))


def _of_scipy(path: Any, variable: str | None, max_rows: int | None) -> csr_array:
    import scipy.io
    import scipy.sparse as sp

    try:
        Inflation(path).check(os.path.getsize(path), _unpacked(path))
        held = scipy.io.loadmat(path, appendmat=False)
    except Exception as error:
        if str(error).startswith(os.fspath(path)):
            raise
        raise broken(
            path, f"SciPy cannot read it ({str(error)[:160]}): it is damaged, or no .mat file"
        ) from error
    everything: dict[str, Any] = {}
    for name, value in held.items():
        if not name.startswith("__"):
            _list(name, value, everything)
    found = {n: v for n, v in everything.items() if sp.issparse(v)}
    if variable in everything or (not found and len(everything) == 1):
        found = everything
    a = _choose(path, found, variable)
    try:
        if not sp.issparse(a):
            return dense(path, variable or "the matrix", a, max_rows)
        a.check_format() if hasattr(a, "check_format") else None
        check_cols(path, a.shape[1])
        return csr_array(sp.coo_array(a))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        if str(error).startswith(os.fspath(path)):
            raise
        raise broken(path, str(error)) from error


def _list(name: str, value: Any, found: dict[str, Any], depth: int = 0) -> None:
    """Matrices among variables and the fields of structs."""
    import scipy.sparse as sp

    if sp.issparse(value):
        found[name] = value
    elif isinstance(value, np.ndarray) and value.dtype.names and value.size == 1 and depth < 8:
        for field in value.dtype.names:
            _list(f"{name}.{field}", value.reshape(-1)[0][field], found, depth + 1)
    elif isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biufc":
        found[name] = value


def _unpacked(path: Any) -> int:
    """Bytes of the compressed variables of version 5, without keeping them."""
    import zlib

    total = 0
    with open(path, "rb") as file:
        head = file.read(128)
        order = "<" if head[126:128] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = (int(n) for n in np.frombuffer(tag, f"{order}u4"))
            if kind != 15:
                file.seek(size, os.SEEK_CUR)
                continue
            unpack, left = zlib.decompressobj(), size
            while left > 0 and (part := file.read(min(left, 1 << 16))):
                left -= len(part)
                while part:
                    total += len(unpack.decompress(part, 1 << 20))
                    part = unpack.unconsumed_tail
                Inflation(path).check(os.path.getsize(path), total)
    return total


def _of_hdf5(path: Any, variable: str | None, max_rows: int | None) -> csr_array:
    with opened(path, ".mat files of version 7.3") as file:
        found: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        _walk(file, "", found, plain, 0)
        if variable in plain or (not found and len(plain) == 1):
            found = plain
        a = _choose(path, found, variable)
        if not is_group(a):
            # MATLAB's arrays are of columns: here stands the transpose.
            return dense(path, variable or "the matrix", np.asarray(a[...]).T, max_rows)
        rows = int(a.attrs["MATLAB_sparse"])
        if "jc" not in a or is_group(a["jc"]):
            raise broken(path, "the sparse matrix has no column offsets 'jc': the file is damaged")
        cols = int(a["jc"].shape[0]) - 1
        if "data" not in a and cols >= 0 and not int(a["jc"][-1]):
            return csr_array((rows, cols))
        kind = text(a.attrs.get("MATLAB_class", b""))
        return sparse(path, "the sparse matrix", _Parts(a), "csc", (rows, cols), max_rows, ("jc", "ir", "data"),
                      kind == "logical")  # fmt: skip


class _Parts(dict):
    """data, ir and jc, with complex numbers, which are pairs here, as such."""

    def __init__(self, group: Any) -> None:
        super().__init__(
            {name: _Complex(group[name]) for name in ("data", "ir", "jc") if name in group}
        )


class _Complex:
    def __init__(self, item: Any) -> None:
        self._item, self.shape = item, item.shape
        names = item.dtype.names
        self._pair = names is not None and set(names) == {"real", "imag"}
        self.dtype = np.dtype(np.complex128) if self._pair else item.dtype

    def __getitem__(self, at: Any) -> np.ndarray:
        found = self._item[at]
        return found["real"] + 1j * found["imag"] if self._pair else found


def text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _walk(
    group: Any, prefix: str, found: dict[str, Any], plain: dict[str, Any], depth: int
) -> None:
    for name in group:
        if name.startswith("#"):
            continue
        item, full = group[name], prefix + name
        if not is_group(item):
            if item.ndim == 2 and item.dtype.kind in "biuf" and "MATLAB_empty" not in item.attrs:
                plain[full] = item
        elif "MATLAB_sparse" in item.attrs:
            found[full] = item
        elif depth < 8:
            _walk(item, full + ".", found, plain, depth + 1)
