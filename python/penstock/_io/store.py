"""The native store: a folder of plain .npy files and a JSON header, mapped into memory as it is.

    name.penstock/
      header.json    binsparse's descriptor, and our own notes under "penstock"
      indptr.npy     int64, rows + 1   (binsparse: pointers_to_1)
      indices.npy    int32, nnz        (indices_1)
      data.npy       the values, nnz; of a pattern one byte that stands for all (binsparse: iso[bint8])
      packed.npy, packed_directory.npy   where asked for: the packed form, beside the arrays or instead of them
      sample.npy     where a graph has one: some neighbours of each vertex, which searches on a GPU ask first
      lists_*.npy    of a graph, where asked for: packed neighbour lists, which searches read anywhere

Any NumPy reads the arrays. Opening looks at the header, the sizes and a sample of the entries, so it takes the same
milliseconds for any size. The vocabulary: GraphBLAS binsparse specification 0.1.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from penstock._io import _neighbours, _packed, _sample
from penstock._io._atomic import atomic_folder, recover, require_named, require_ours
from penstock._io._errors import MAX_COLS, broken
from penstock._io._folder import Folder, snapshot
from penstock._io._npy import STEP, map_array, write_array
from penstock._matrix.csr import csr_array

Found = TypeVar("Found")
HEADER = "header.json"
VERSION = 1
PACKED_ONLY_VERSION = 2  # of stores without the CSR arrays: libraries before it say so
LARGEST_HEADER = 1 << 20
VALUES = {
    "float32": "float32",
    "float64": "float64",
    "complex[float32]": "complex64",
    "complex[float64]": "complex128",
    "iso[bint8]": "bool",
}
REMEDY = "the store is damaged, write it again from its source"
ARRAYS = ("indptr", "indices", "data", *_packed.FILES, _sample.FILE, *_neighbours.FILES)
FILES = (HEADER, *(f"{name}.npy" for name in ARRAYS))


def is_store(folder: Any) -> bool:
    """Whether a folder has a header of ours, or of binsparse."""
    try:
        _look(os.fspath(folder), _header)
    except (ValueError, OSError):
        return False
    return True


def has_arrays(folder: Any) -> bool:
    """Whether it is a store whose rows can be read in place."""
    if not is_store(folder):
        return False
    return _look(os.fspath(folder), lambda at: _Description(at).arrays)


def forms_of(folder: Any) -> tuple[Any, dict[str, Any]]:
    """A store's generation, and what `write_store` takes to write one in the same forms. Reads the header alone."""
    said = _look(os.fspath(folder), _Description)
    forms = {
        "packed": (True if said.arrays else "only") if said.packed else False,
        "sample": False if said.sample is None else said.sample[0],
        "lists": said.lists is not None,
    }
    return said.generation, forms


def _look(folder: str, look: Callable[[Folder], Found]) -> Found:
    return snapshot(folder, look, lambda: recover(folder, FILES))


def _header(at: Folder) -> dict[str, Any]:
    path = at.file(HEADER)
    try:
        text = at.read(HEADER, LARGEST_HEADER + 1)
        if len(text) > LARGEST_HEADER:
            raise broken(path, f"has over {LARGEST_HEADER} bytes: {REMEDY}")
        header = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise broken(path, f"is not JSON ({str(error)[:100]}): {REMEDY}") from error
    except ValueError as error:
        raise (
            error if str(error).startswith(path) else broken(path, f"{str(error)[:100]}: {REMEDY}")
        ) from error
    if not isinstance(header, dict) or not isinstance(header.get("binsparse"), dict):
        raise broken(path, f"has no object 'binsparse': {REMEDY}")
    return header


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


class _Description:
    """What the header says, checked as far as it can be on its own."""

    def __init__(self, at: Folder) -> None:
        self.path = at.file(HEADER)
        header = _header(at)
        matrix = header["binsparse"]
        ours = header.get("penstock", {})
        self._require(isinstance(ours, dict), "'penstock' is not an object")
        version = ours.get("version", VERSION)
        self._require(_number(version), f"version {version!r:.40} is not a number")
        if version > PACKED_ONLY_VERSION:
            raise broken(
                self.path,
                f"is of version {version}, this library reads up to {PACKED_ONLY_VERSION}: "
                "update penstock",
            )
        self._require(
            matrix.get("format") == "CSR", f"format {matrix.get('format')!r:.40} is not 'CSR'"
        )
        shape, types = matrix.get("shape"), matrix.get("data_types")
        good = isinstance(shape, list) and len(shape) == 2 and all(_number(n) for n in shape)
        self._require(
            good and shape[1] <= MAX_COLS, f"shape {shape!r:.60} is not [rows, columns below 2^31]"
        )
        self.rows, self.cols = shape
        self.nnz = matrix.get("number_of_stored_values")
        self._require(_number(self.nnz), f"number_of_stored_values {self.nnz!r:.40} is not a count")
        self._require(isinstance(types, dict), "data_types is not an object")
        for name, wanted in (("pointers_to_1", "int64"), ("indices_1", "int32")):
            self._require(
                types.get(name) == wanted,
                f"data_types.{name} is {types.get(name)!r:.40}, not {wanted!r}",
            )
        values = types.get("values")
        known = isinstance(values, str) and values in VALUES
        self._require(known, f"data_types.values is {values!r:.40}, not one of {', '.join(VALUES)}")
        self.dtype = np.dtype(VALUES[values])
        checksums = ours.get("crc32", {})
        self._require(isinstance(checksums, dict), "crc32 is not an object")
        for name, crc in checksums.items():
            self._require(
                _number(crc) and crc < 2**32, f"crc32.{name:.20} {crc!r:.20} is not a checksum"
            )
        self.crc32 = checksums
        self.generation = ours.get("generation")
        packed = ours.get("packed")
        self._require(packed is None or isinstance(packed, dict), "'packed' is not an object")
        self.packed = packed is not None
        try:
            self.sample = _sample.noted(ours.get("sample"))
            self.lists = _neighbours.noted(ours.get("lists"))
        except ValueError as error:
            self._require(False, str(error))
        self.arrays = version < PACKED_ONLY_VERSION
        self._require(self.packed or self.arrays, "it names no arrays")

    def _require(self, good: bool, problem: str) -> None:
        if not good:
            raise broken(self.path, f"{problem}: {REMEDY}")


def _array(at: Folder, said: _Description, name: str, size: int, dtype: Any) -> np.ndarray:
    path = at.file(f"{name}.npy")
    if not at.has(f"{name}.npy"):
        raise broken(at.path, f"has no {name}.npy: {REMEDY}")
    array = map_array(at, f"{name}.npy", said.crc32.get(name))
    wanted = np.dtype(dtype)
    if array.dtype != wanted:
        raise broken(path, f"is {array.dtype}, the header says {wanted}: {REMEDY}")
    if array.size != size:
        raise broken(path, f"has {array.size} entries, the header says {size}: {REMEDY}")
    return array


def open_store(folder: Any, *, validate: bool = False, trusted: bool = False) -> csr_array:
    """See `penstock.open`."""
    folder = os.fspath(folder)
    recover(folder, FILES)
    check = "all" if validate else "cheap" if trusted else "first_use"
    try:
        return _look(folder, lambda at: _open(at, check))
    except NotADirectoryError as error:
        raise broken(
            folder, "is a file, a store is a folder: read it with penstock.load"
        ) from error
    except FileNotFoundError as error:
        if os.path.exists(folder):
            raise
        raise FileNotFoundError(f"{folder}: there is no such store") from error


def _open(at: Folder, check: str) -> csr_array:
    if not at.has(HEADER):
        raise broken(at.path, f"has no {HEADER}: it is not a penstock store")
    said = _Description(at)
    packed = None
    if said.packed:
        shape, every = (said.rows, said.cols), check == "all" or not said.arrays
        how = "all" if every else check
        packed = _packed.open_packed(at, shape, said.nnz, said.dtype, how, said.crc32)
        if every:
            _check_sums(at.path, said, _packed.arrays_of(packed))
    a = _open_arrays(at, said, check) if said.arrays else csr_array._wrap(packed.unpack())
    if packed is not None:
        a._derived.packed = packed
    if said.sample is not None:
        crc32 = said.crc32.get(_sample.FILE)
        sample = _sample.open_sample(at, said.sample, a, check == "all", crc32)
        if check == "all":
            _check_sums(at.path, said, {_sample.FILE: sample[2]})
        _sample.hold(a, sample, checked=check != "first_use")
    if said.lists is not None:

        def sums(arrays: dict[str, np.ndarray]) -> None:
            _check_sums(at.path, said, arrays, _neighbours.REMEDY)

        lists = _neighbours.open_lists(at, said.lists, a, check, said.crc32, sums)
        _neighbours.hold(a, said.lists, lists)
    a._derived.generation = said.generation
    return a


def _open_arrays(at: Folder, said: _Description, check: str) -> csr_array:
    indptr = _array(at, said, "indptr", said.rows + 1, np.int64)
    indices = _array(at, said, "indices", said.nnz, np.int32)
    pattern = said.dtype == np.bool_
    values = None if pattern else _array(at, said, "data", said.nnz, said.dtype)
    try:
        a = csr_array._from_parts(
            said.rows,
            said.cols,
            indptr,
            indices,
            values,
            mapped=True,
            validate=check,
            source=at.path,
        )
    except ValueError as error:
        raise broken(at.path, f"{error}: {REMEDY}") from error
    if check == "all":
        _check_sums(at.path, said, {"indptr": indptr, "indices": indices, "data": values})
    return a


def _check_sums(
    folder: str,
    said: _Description,
    arrays: Mapping[str, np.ndarray | None],
    remedy: str = REMEDY,
) -> None:
    for name, array in arrays.items():
        wanted = said.crc32.get(name)
        if array is None or wanted is None:
            continue
        crc = 0
        for first in range(0, array.size, STEP // array.itemsize):
            crc = zlib.crc32(array[first : first + STEP // array.itemsize].view(np.uint8), crc)
        if crc != wanted:
            raise broken(
                os.path.join(folder, f"{name}.npy"),
                f"has the checksum {crc}, the header {wanted!r:.20}: {remedy}",
            )


def load_store(folder: Any, *, dtype: Any = None, max_rows: int | None = None) -> csr_array:
    """The whole store in memory, every index and checksum looked at."""
    a = open_store(folder, validate=True)
    packed, sample = a._derived.packed, a._derived.neighbour_sample
    lists, symmetric = a._derived.packed_lists, a._derived.symmetric_pattern
    if a.place == "mapped":
        values = None if a.dtype == np.bool_ else np.array(a.data)
        a = csr_array._from_parts(
            *a.shape, np.array(a.indptr), np.array(a.indices), values, validate="cheap"
        )
    if packed is not None:
        a._derived.packed = _packed.in_memory(packed)
    if sample is not None:
        _sample.hold(a, (*sample[:2], np.array(sample[2])))
    if lists is not None:
        _neighbours.hold(a, {"symmetric": symmetric}, _neighbours.in_memory(lists))
    return a


def require_replaceable(folder: str) -> None:
    """Refuses to write a store over anything but a store without other files, or an empty folder; and, whatever is in
    it, over the current folder or one above it."""
    require_named(folder)
    recover(folder, FILES)
    try:
        there = os.listdir(folder)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise broken(folder, "is a file: a store is a folder, choose another name") from error
    if there and not is_store(folder):
        raise broken(
            folder, "is a folder but not a store, and is not replaced: choose another name"
        )
    require_ours(folder, FILES)


def save_store(
    folder: Any,
    a: csr_array,
    *,
    packed: bool | str = False,
    sample: bool | int | None = None,
    lists: bool | None = None,
) -> None:
    """Whole or not at all; the arrays go to the disk from where they are, so no second copy is made in memory.

    `packed`: True writes the packed form beside the arrays, "only" instead of them. `sample`, `lists`: see
    `penstock.save`.
    """
    write_store(folder, a, packed, sample, lists)


def write_store(
    folder: Any,
    a: csr_array,
    packed: bool | str,
    sample: bool | int | None,
    lists: bool | None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """As `save_store`. `ready` is called with the new generation when all is written, and not yet in its place."""
    if packed not in (False, True, "only"):
        raise ValueError(f"packed={packed!r}: give True, False or 'only'")
    folder = os.fspath(folder)
    require_replaceable(folder)
    arrays: dict[str, np.ndarray] = {}
    if packed != "only":
        values = np.ones(1, np.uint8) if a.dtype == np.bool_ else a.data
        arrays = {"indptr": a.indptr, "indices": a.indices, "data": values}
    form = _packed.packed_form(a) if packed else None
    if form is not None:
        arrays |= _packed.arrays_of(form)
    neighbours = _sample.sample_to_save(a, sample)
    if neighbours is not None:
        arrays[_sample.FILE] = neighbours[2]
    all_lists = _neighbours.lists_to_save(a, lists)
    if all_lists is not None:
        arrays |= _neighbours.arrays_of(all_lists)
    crc32 = {}
    with atomic_folder(folder, FILES) as part:
        for name, array in arrays.items():
            with open(os.path.join(part, f"{name}.npy"), "xb") as file:
                crc32[name] = write_array(file, array)
                file.flush()
                os.fsync(file.fileno())
        header = describe(a, crc32, form, neighbours, all_lists)
        with open(os.path.join(part, HEADER), "x", encoding="utf-8") as text:
            json.dump(header, text, indent=2)
            text.write("\n")
            text.flush()
            os.fsync(text.fileno())
        if ready is not None:
            ready(header["penstock"]["generation"])


def describe(
    a: csr_array,
    crc32: dict[str, int],
    packed: Any = None,
    sample: _sample.Sample | None = None,
    lists: Any = None,
) -> dict[str, Any]:
    values = next(name for name, dtype in VALUES.items() if dtype == a.dtype.name)
    names = {"pointers_to_1": "indptr", "indices_1": "indices", "values": "data"}
    files = {what: f"{name}.npy" for what, name in names.items() if name in crc32}
    ours: dict[str, Any] = {
        "version": VERSION if "indptr" in crc32 else PACKED_ONLY_VERSION,
        "files": files | {n: f"{n}.npy" for n in ARRAYS[3:] if n in crc32},
        "crc32": crc32,
    }
    if packed is not None:
        ours["packed"] = _packed.note(packed)
    if sample is not None:
        ours["sample"] = _sample.note(sample)
    if lists is not None:
        ours["lists"] = _neighbours.note(a, lists)
    described = {
        "version": "0.1",
        "format": "CSR",
        "shape": list(a.shape),
        "number_of_stored_values": a.nnz,
        "data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": values},
    }
    # Names this version by what is in it: the same matrix has the same wherever it is saved.
    content = json.dumps([described, ours], sort_keys=True).encode()
    ours["generation"] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return {"binsparse": described, "penstock": ours}
