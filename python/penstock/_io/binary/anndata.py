"""AnnData's .h5ad and .zarr (observations x variables), and 10x Genomics' .h5 (read as barcodes x features).

The formats: AnnData, "On-disk format"; 10x Genomics, "Feature-barcode matrices, HDF5".
"""

from __future__ import annotations

import os
from typing import Any

from penstock._io._errors import broken
from penstock._io.binary._numbers import needed
from penstock._io.binary.hdf5 import KINDS, Group, dense, is_group, opened, sparse, text_of, two
from penstock._matrix.csr import csr_array


def _place(layer: str | None, key: str | None) -> str:
    if layer is not None and key is not None:
        raise ValueError(f"layer={layer!r} and key={key!r}: give one of them")
    return key if key is not None else "X" if layer is None else f"layers/{layer}"


def _matrices(file: Any) -> str:
    """What could be asked for."""
    found = [name for name in ("X", "raw/X") if name in file]
    for folder in ("layers", "obsp", "varp"):
        if folder in file and is_group(file[folder]):
            found += [f"{folder}/{name}" for name in file[folder]]
    return ", ".join(found[:12]) or "nothing that is one"


def _matrix(path: Any, file: Any, where: str, max_rows: int | None) -> csr_array:
    if where not in file:
        raise broken(path, f"has no {where!r}: pass layer= or key=, it has {_matrices(file)}")
    found = file[where]
    if not is_group(found):
        if len(found.shape) != 2:
            raise broken(
                path,
                f"{where}: has the shape {tuple(found.shape)}: a matrix is needed, {_matrices(file)}",
            )
        return dense(path, where, found, max_rows)
    attributes = dict(found.attrs)
    said = text_of(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))
    shape = attributes.get("shape", attributes.get("h5sparse_shape"))
    if said not in KINDS or shape is None:
        raise broken(
            path,
            f"{where}: is {said or 'a group'!r}, not csr_matrix or csc_matrix: pass key=, {_matrices(file)}",
        )
    return sparse(path, where, found, KINDS[said], two(path, where, shape), max_rows)


def read_h5ad(path: Any, *, dtype: Any = None, max_rows: int | None = None, layer: str | None = None,
              key: str | None = None) -> csr_array:  # fmt: skip
    """layer: of `layers`; key: any other matrix, such as "obsp/connectivities" or "raw/X". By default X."""
    where = _place(layer, key)
    with opened(path, ".h5ad files") as file:
        return _matrix(path, file, where, max_rows)


def read_zarr(path: Any, *, dtype: Any = None, max_rows: int | None = None, layer: str | None = None,
              key: str | None = None) -> csr_array:  # fmt: skip
    """As `read_h5ad`."""
    where = _place(layer, key)
    zarr = needed("zarr", ".zarr folders", "zarr")
    try:
        return _matrix(path, zarr.open_group(os.fspath(path), mode="r"), where, max_rows)
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(os.fspath(path)):
            raise
        raise broken(
            path, f"zarr cannot read it ({str(error)[:160]}): it is damaged, or another format"
        ) from error


def read_10x(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, key: str | None = None
) -> csr_array:
    """Barcodes x features, as single-cell libraries have it; the file has the columns of its transpose.
    key: the group, which is the genome in files of Cell Ranger 2; by default `matrix`, or the only one."""
    with opened(path, "10x .h5 files") as file:
        groups = [name for name in file if is_group(file[name])]
        if key is None and "matrix" not in groups and len(groups) != 1:
            raise broken(
                path,
                f"has the groups {', '.join(groups[:8]) or '(none)'}: pass key= with one of them",
            )
        where = key or ("matrix" if "matrix" in groups else groups[0])
        if where not in groups:
            raise broken(
                path,
                f"has no group {where!r}: pass key= with one of {', '.join(groups[:8]) or '(none)'}",
            )
        group = Group(path, where, file[where])
        features, barcodes = two(path, where, group.arrays(("shape",), ("iu",))[0])
        return sparse(path, where, file[where], "csr", (barcodes, features), max_rows)
