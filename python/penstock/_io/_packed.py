"""The packed form in a store: two arrays beside the CSR ones, or instead of them."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._errors import broken
from penstock._io._folder import Folder
from penstock._io._npy import map_array
from penstock._matrix.csr import csr_array

FILES = {"packed_directory": np.int64, "packed": np.uint8}
REMEDY = "the packed form is damaged, save the store again with packed=True"


def packed_form(a: csr_array) -> Any:
    """That of a matrix: what it has already, or a new one."""
    known = a._derived.packed
    return _core.pack(a._core) if known is None else known


def arrays_of(packed: Any) -> dict[str, np.ndarray]:
    """What a store writes, by the names of the files without their suffix."""
    return dict(zip(FILES, packed.to_arrays(), strict=True))


def note(packed: Any) -> dict[str, Any]:
    """What the header says of it, for people; what the library believes is in the directory."""
    return {
        "value_kind": packed.value_kind,
        "bits_per_nonzero": round(packed.bits_per_nonzero, 3),
    }


def open_packed(
    at: Folder, shape: tuple[int, int], nnz: int, dtype: Any, check: str, crc32: dict[str, int]
) -> Any:
    """The mapped packed form, compared with what the header says of the matrix; `check`: as of
    `csr_array._from_parts`."""
    arrays = {}
    for name, wanted in FILES.items():
        path = at.file(f"{name}.npy")
        if not at.has(f"{name}.npy"):
            raise broken(at.path, f"has no {name}.npy: {REMEDY}")
        try:
            arrays[name] = map_array(at, f"{name}.npy", crc32.get(name))
        except ValueError as error:
            raise ValueError(f"{error}: {REMEDY}") from error
        if arrays[name].dtype != wanted:
            raise broken(path, f"is {arrays[name].dtype}, not {np.dtype(wanted)}: {REMEDY}")
    path = at.file("packed.npy")
    try:
        packed = _core.Packed.from_arrays(
            arrays["packed_directory"], arrays["packed"], mapped=True, check=check, source=path
        )
    except ValueError as error:
        raise broken(path, f"{error}: {REMEDY}") from error
    said = (tuple(packed.shape), packed.nnz, np.dtype(packed.dtype))
    if said != (tuple(shape), nnz, np.dtype(dtype)):
        raise broken(
            path,
            f"holds a matrix of shape {said[0]} with {said[1]} values of {said[2]}, the header says "
            f"{tuple(shape)}, {nnz} and {np.dtype(dtype)}: {REMEDY}",
        )
    directory = arrays["packed_directory"]  # read as a whole, and written anew by a save
    crc = zlib.crc32(directory.view(np.uint8))
    if crc32.get("packed_directory", crc) != crc:
        raise broken(
            at.file("packed_directory.npy"),
            f"has the checksum {crc}, the header {crc32['packed_directory']}: {REMEDY}",
        )
    return packed


def in_memory(packed: Any) -> Any:
    """A copy of a mapped one."""
    directory, data = packed.to_arrays()
    return _core.Packed.from_arrays(directory, np.array(data), check="cheap")
