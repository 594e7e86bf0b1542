"""MATLAB's .mat: version 4 through SciPy, versions 5 to 7 (see _mat5.py), version 7.3, which is HDF5, through h5py.

A matrix is a variable, or a field of a struct, such as the Problem.A of the SuiteSparse collection.
The formats: MathWorks, "MAT-File format"; version 7.3 keeps a sparse matrix as the columns data, ir and jc.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._errors import broken
from penstock._io.binary._mat5 import Held, Reader
from penstock._io.binary._numbers import compressed
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
    of_version = _of_version_5 if head[126:128] in (b"IM", b"MI") else _of_version_4
    return of_version(path, variable, max_rows)


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


def _matrix(path: Any, name: str, held: Held, max_rows: int | None) -> csr_array:
    values, shape = held.values(), (held.shape[0], held.shape[1])
    if not held.sparse:
        if values.size != shape[0] * shape[1]:
            raise broken(
                path,
                f"{name}: has {values.size} numbers, not {shape[0]} x {shape[1]}: the file is damaged",
            )
        return dense(path, name, values.reshape(shape[::-1]).T, max_rows)
    rows, offsets = held.parts[:2]
    entries = int(offsets[-1]) if offsets.size else -1
    if (
        offsets.dtype.kind not in "iu"
        or rows.dtype.kind not in "iu"
        or not 0 <= entries <= min(rows.size, values.size)
    ):
        raise broken(
            path, f"{name}: its columns have {entries} entries, the file {rows.size}: it is damaged"
        )
    kept = None if held.logical else values[:entries]
    try:
        return compressed(path, "csc", shape, offsets, rows[:entries], kept, max_rows)
    except ValueError as error:
        raise broken(path, f"{name}: " + str(error).removeprefix(f"{path}: ")) from error


def _of_version_5(path: Any, variable: str | None, max_rows: int | None) -> csr_array:
    everything = Reader(path).matrices()
    found = {name: held for name, held in everything.items() if held.sparse}
    if variable in everything or (not found and len(everything) == 1):
        found = everything
    name = _choose(path, {name: name for name in found}, variable)
    return _matrix(path, name, found[name], max_rows)


def _of_version_4(path: Any, variable: str | None, max_rows: int | None) -> csr_array:
    import scipy.io
    import scipy.sparse as sp

    try:
        held = scipy.io.loadmat(path, appendmat=False)
    except Exception as error:
        raise broken(
            path, f"SciPy cannot read it ({str(error)[:160]}): it is damaged, or no .mat file"
        ) from error
    everything = {n: v for n, v in held.items() if sp.issparse(v) or v.dtype.kind in "biufc"}
    found = {n: v for n, v in everything.items() if sp.issparse(v)}
    if variable in everything or (not found and len(everything) == 1):
        found = everything
    a = _choose(path, found, variable)
    if not sp.issparse(a):
        return dense(path, variable or "the matrix", a, max_rows)
    try:
        return csr_array(sp.coo_array(a))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise broken(path, str(error)) from error


def _of_hdf5(path: Any, variable: str | None, max_rows: int | None) -> csr_array:
    with opened(path, ".mat files of version 7.3") as file:
        found: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        _walk(file, "", found, plain, [], 0)
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
    group: Any,
    prefix: str,
    found: dict[str, Any],
    plain: dict[str, Any],
    seen: list[str],
    depth: int,
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
        elif depth < 8 and len(seen) < 4096:
            seen.append(full)  # groups may link to one another
            _walk(item, full + ".", found, plain, seen, depth + 1)
