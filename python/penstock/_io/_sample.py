"""A graph's neighbour sample in a store: one array beside those of the matrix, and its size and kind in the header.

A sample is (neighbours of each vertex, which ones, slots): see `save`. It is found by a matrix's `_derived`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._io._errors import broken
from penstock._io._folder import Folder
from penstock._io._npy import map_array
from penstock._matrix.csr import csr_array

FILE = "sample"
SIZES, KINDS = (4, 8, 16), ("highest_degree", "first")
REMEDY = (
    "the neighbour sample is damaged or of another matrix, save the store again with sample=True"
)
Sample = tuple[int, str, np.ndarray]


def known_sample(a: csr_array) -> Sample | None:
    """The one that a matrix was opened or saved with, or the best one that a GPU made of it for a traversal: any other
    costs less to make than to keep."""
    sample = held(a)
    for graph in (a._derived.gpu_graph, a._derived.gpu_parts):
        if sample is None and graph is not None:
            made = graph[1].sample()
            sample = made if made is not None and made[1] == KINDS[0] else None
    return sample


def sample_to_save(a: csr_array, wanted: Any) -> Sample | None:
    """`wanted`: None for what is known, True for that or a new one of 4, a size for one of this size, False for none.
    A new one holds the neighbours of highest degree, and is kept with the matrix."""
    if wanted is False:
        return None
    size = None if wanted is None or wanted is True else wanted
    if size is not None and not (isinstance(size, int) and size in SIZES):
        raise ValueError(f"sample={wanted!r}: give None, True, False, 4, 8 or 16")
    sample = known_sample(a)
    if wanted is not None and (sample is None or size not in (None, sample[0])):
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"sample={wanted!r}: only a graph has one, this matrix is {a.shape}")
        sample = _core.sample_neighbours(a._core, size or SIZES[0])
    if sample is not None:
        hold(a, sample)
    return sample


def hold(a: csr_array, sample: Sample, checked: bool = True) -> None:
    """Keeps a sample with its matrix; one that is not checked is compared with all lists before it is used."""
    a._derived.neighbour_sample = sample
    a._derived.neighbour_sample_checked = checked


def held(a: csr_array) -> Sample | None:
    """The one that a matrix was opened or saved with, compared with the lists of all vertices."""
    sample = a._derived.neighbour_sample
    if sample is not None and not a._derived.neighbour_sample_checked:
        try:
            _core.check_sample(a._core, sample, True)
        except ValueError as error:
            raise ValueError(f"sample.npy of the store: {error}: {REMEDY}") from error
        a._derived.neighbour_sample_checked = True
    return sample


def note(sample: Sample) -> dict[str, Any]:
    """What the header says of it."""
    return {"neighbours": sample[0], "kind": sample[1]}


def noted(said: Any) -> tuple[int, str] | None:
    """From the header; ValueError, with what is wrong, for what note() does not write."""
    if said is None:
        return None
    if not isinstance(said, dict):
        raise ValueError("'sample' is not an object")
    size, kind = said.get("neighbours"), said.get("kind")
    if not isinstance(size, int) or size not in SIZES:
        raise ValueError(f"sample.neighbours {size!r:.40} is not 4, 8 or 16")
    if kind not in KINDS:
        raise ValueError(f"sample.kind {kind!r:.40} is not one of {', '.join(KINDS)}")
    return size, kind


def open_sample(
    at: Folder, said: tuple[int, str], a: csr_array, every: bool, crc32: int | None = None
) -> Sample:
    """The mapped sample, compared with the matrix: a few vertices or, with `every`, all of them."""
    path = at.file(f"{FILE}.npy")
    if not at.has(f"{FILE}.npy"):
        raise broken(at.path, f"has no {FILE}.npy: {REMEDY}")
    try:
        slots = map_array(at, f"{FILE}.npy", crc32)
        if slots.dtype != np.uint32:
            raise broken(path, f"is {slots.dtype}, not uint32")
    except ValueError as error:
        raise ValueError(f"{error}: {REMEDY}") from error
    sample = (*said, slots)
    try:
        _core.check_sample(a._core, sample, every)
    except ValueError as error:
        raise broken(path, f"{error}: {REMEDY}") from error
    return sample
