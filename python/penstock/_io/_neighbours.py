"""Packed neighbour lists of a graph: made once and kept with it, and in a store four arrays beside those of the matrix.

The form is `graph/gpu/packed_form.hpp` of the core: searches read any list of it alone, on the CPU and on GPUs. It is
not the packed form that products stream (`_packed`), which is read from end to end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._errors import broken
from penstock._io._folder import Folder
from penstock._io._npy import map_array
from penstock._matrix.csr import csr_array

FILES = {
    "lists_bases": np.uint64,
    "lists_heads": np.uint32,
    "lists_words": np.uint32,
    "lists_long": np.int64,
}
REMEDY = "the packed lists are damaged or of another matrix, save the store again with lists=True"
_TABLES = 8


def packed_lists(graph: csr_array) -> Any:
    """The graph's neighbour lists in a packed form: those of its store, a copy of those that a GPU has packed, or made
    once by the CPU. They are kept with the graph.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    >>> packed_lists(A).facts()["edges"]
    3
    """
    return graph._derived.once(
        "packed_lists", lambda: _of_gpu(graph) or _core.pack_lists(graph._core)
    )


def _of_gpu(graph: csr_array) -> Any:
    there = graph._derived.gpu_graph
    return None if there is None or there[1].facts().get("lengths") else there[1].packed_lists()


def lists_to_save(a: csr_array, wanted: bool | None) -> Any:
    """`wanted`: None for lists that a matrix was opened with, True for those or new ones, False for none."""
    if not (wanted is None or isinstance(wanted, (bool, np.bool_))):
        raise ValueError(f"lists={wanted!r}: give None, True or False")
    known = a._derived.packed_lists
    if wanted is None:
        wanted = known is not None and known.facts()["place"] == "mapped"
    if not wanted:
        return None
    if a.shape[0] != a.shape[1]:
        raise ValueError(
            f"lists=True: only a graph has neighbour lists, this matrix is {a.shape[0]} x {a.shape[1]}"
        )
    return packed_lists(a)


def arrays_of(lists: Any) -> dict[str, np.ndarray]:
    """What a store writes, by the names of the files without their suffix."""
    return dict(zip(FILES, lists.to_arrays()[:4], strict=True))


def note(a: csr_array, lists: Any) -> dict[str, Any]:
    """What the header says of them: how they are read, and whether they are the edges into each vertex, too."""
    if a._derived.symmetric_pattern is None:
        a._derived.symmetric_pattern = _core.has_symmetric_pattern(a._core)
    _, tables, bits, repeats, ascend = lists.to_arrays()[4]
    return {
        "tables": list(tables),
        "table_bits": bits,
        "repeats": repeats,
        "sorted": ascend,
        "symmetric": a._derived.symmetric_pattern,
    }


def noted(said: Any) -> dict[str, Any] | None:
    """From the header; ValueError, with what is wrong, for what note() does not write."""
    if said is None:
        return None
    if not isinstance(said, dict):
        raise ValueError("'lists' is not an object")
    tables, bits = said.get("tables"), said.get("table_bits")
    if not (isinstance(tables, list) and len(tables) == _TABLES and all(map(_is_word, tables))):
        raise ValueError(f"lists.tables {tables!r:.60} are not {_TABLES} numbers below 2^32")
    if not _is_word(bits) or bits > 3:
        raise ValueError(f"lists.table_bits {bits!r:.40} is not 0, 1, 2 or 3")
    for name in ("repeats", "sorted", "symmetric"):
        if not isinstance(said.get(name), bool):
            raise ValueError(f"lists.{name} {said.get(name)!r:.40} is not true or false")
    return said


def _is_word(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**32


def open_lists(
    at: Folder,
    said: dict[str, Any],
    a: csr_array,
    check: str,
    crc32: dict[str, int],
    sums: Callable[[dict[str, np.ndarray]], None],
) -> Any:
    """The mapped lists; `check`: as of `csr_array._from_parts`, and "all" also compares them with the matrix. `sums`
    raises for an array that has not its checksum: it is called for "all", and to name the file of lists that prove to
    be damaged."""
    arrays: dict[str, np.ndarray] = {}
    for name, dtype in FILES.items():
        if not at.has(f"{name}.npy"):
            raise broken(at.path, f"has no {name}.npy: {REMEDY}")
        try:
            array = map_array(at, f"{name}.npy", crc32.get(name))
        except ValueError as error:
            raise ValueError(f"{error}: {REMEDY}") from error
        if array.dtype != dtype:
            raise broken(
                at.file(f"{name}.npy"), f"is {array.dtype}, not {np.dtype(dtype)}: {REMEDY}"
            )
        arrays[name] = array
    told = (a.nnz, said["tables"], said["table_bits"], said["repeats"], said["sorted"])
    path = at.file("lists_*.npy")  # what is decoded goes through all of them
    heads = arrays["lists_heads"].size
    if heads != a.shape[0] or a.shape[0] != a.shape[1]:
        raise broken(
            at.file("lists_heads.npy"),
            f"has {heads} entries, the header says shape {a.shape}: {REMEDY}",
        )
    if check == "all":
        sums(arrays)
    try:
        lists = _core.PackedLists.from_arrays(
            *arrays.values(), told, mapped=True, check=check, source=path
        )
        if check == "all":
            lists.require_lists_of(a._core)
            if said["symmetric"] and not _core.has_symmetric_pattern(a._core):
                raise ValueError("the header says that the pattern is symmetric, and it is not")
    except ValueError as error:
        sums(arrays)
        if str(error).startswith(path):
            raise
        raise broken(path, f"{error}: {REMEDY}") from error
    return lists


def hold(a: csr_array, said: dict[str, Any], lists: Any) -> None:
    """Keeps them with their matrix, and what the header knows of it."""
    a._derived.packed_lists = lists
    if a._derived.symmetric_pattern is None:
        a._derived.symmetric_pattern = said["symmetric"]


def in_memory(lists: Any) -> Any:
    """A copy of mapped ones."""
    *arrays, told = lists.to_arrays()
    return _core.PackedLists.from_arrays(*map(np.array, arrays), told, check="cheap")
