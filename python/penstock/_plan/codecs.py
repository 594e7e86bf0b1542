"""What Python does for each codec: how large a matrix is in that form, and what makes it. The names, and what a product
costs in each form, are the core's (`schedule/codec.hpp`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock import _core

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

_PACKED_NNZ = 1 << 19  # the encoder's own (format/packed.hpp)
_ELL_G_BLOCK = 16 << 20  # the converter's own (format/ell_g.hpp)
_TILES = 96  # sampled to estimate the size of the packed form
_TILE, _GROUP = 1024, 16  # nonzeros; see format/packed_view.hpp
READABLE = ("host", "mapped", "pinned")  # places of a matrix that can be encoded


class Form(NamedTuple):
    """A codec's form of a matrix.

    size : bytes, counted where the form is there, else estimated; 0 where the matrix has no such form
    there : whether it is kept with the matrix already
    make : what a plan reads, for slots of so many bytes (0 where nothing bounds them)
    """

    size: Callable[[csr_array], int]
    there: Callable[[csr_array], bool]
    make: Callable[[csr_array, int], Any]


def _raw_size(a: csr_array) -> int:
    return a.nbytes


def _raw(a: csr_array, slot: int) -> Any:
    return a._core


def _packed_size(a: csr_array) -> int:
    packed = a._derived.packed
    if packed:
        return packed.nbytes
    return estimate_packed(a) if packed is None and a.place in READABLE else 0


def _ell_g_size(a: csr_array) -> int:
    ell = a._derived.ell_g
    return a.nbytes if ell is None else ell.nbytes


def estimate_packed(a: csr_array) -> int:
    """Bytes of the packed form, from a sample of tiles and values; kept with the matrix."""
    known = a._derived.packed_estimate
    if known is not None:
        return known
    indptr, indices, nnz = a.indptr, a.indices, a.nnz
    if nnz == 0:
        return 0
    rng = np.random.default_rng(0)
    tiles = -(-nnz // _TILE)
    chosen = np.arange(tiles) if tiles <= _TILES else rng.integers(0, tiles, _TILES)
    mask = (1 << int(max(a.shape[1] - 1, 0)).bit_length()) - 1
    bits = entries = 0
    for tile in chosen:
        first, end = int(tile) * _TILE, min(int(tile) * _TILE + _TILE, nnz)
        columns = np.asarray(indices[first:end], np.int64)
        gaps = np.empty_like(columns)
        gaps[1:] = (columns[1:] - columns[:-1] - 1) & mask
        gaps[0] = (columns[0] - int(indices[first - 1]) - 1) & mask if first else columns[0]
        low, high = np.searchsorted(indptr, (first, end), side="left")
        begins = np.unique(indptr[low:high]) - first  # empty rows begin where the next one does
        gaps[begins] = columns[begins]
        groups = np.zeros(-(-len(gaps) // _GROUP) * _GROUP, np.int64)
        groups[: len(gaps)] = gaps
        widest = groups.reshape(-1, _GROUP).max(axis=1)
        bits += _GROUP * int(np.ceil(np.log2(widest + 1.0)).sum()) + 5 * (_TILE // _GROUP) + 128
        bits += min(-(-10 * len(begins) // 32) * 32, _TILE)
        entries += end - first
    at = np.sort(rng.integers(0, nnz, 512))
    each = bits / 8 / entries + _value_bytes(a, at)
    estimate = int(each * nnz + a.shape[0] * (1 / 8 + 8 / 1024)) + 128
    a._derived.packed_estimate = estimate
    return estimate


def _value_bytes(a: csr_array, at: np.ndarray) -> float:
    """Bytes of a value stored the shortest way that gives back every bit, as the sample has it."""
    if a.dtype == np.bool_:
        return 0
    values = np.asarray(a.data[at])
    distinct = len(np.unique(values))
    if distinct <= 16:
        return 0 if distinct == 1 else 0.5
    if distinct <= 200:  # of 512: a dictionary of bytes
        return 1
    if values.dtype.kind == "f":
        whole = values == np.floor(values)
        if whole.all() and np.abs(values).max() < 2**15:
            return 2
        narrow = values.astype(np.float32)
        if (values == narrow).all():
            short = not (narrow.view(np.uint32) & 0xFFFF).any()  # bfloat16
            with np.errstate(over="ignore"):
                return 2 if short or (narrow == narrow.astype(np.float16)).all() else 4
    return a.dtype.itemsize


def _block_nnz(a: csr_array, slot: int) -> int:
    """Nonzeros of a packed block, so that a slot of the ring holds one; several share a larger slot."""
    if not slot:
        return _PACKED_NNZ
    most = slot / (1.25 * estimate_packed(a) / a.nnz + 1e-9)
    return min(max(1 << max(int(most), 1).bit_length() - 1, 1024), _PACKED_NNZ)


def _packed(a: csr_array, slot: int) -> Any:
    """Packed once; again where a smaller budget needs smaller blocks."""
    block_nnz = _block_nnz(a, slot)
    if not a._derived.packed or (a._derived.packed_nnz or _PACKED_NNZ) > block_nnz:
        a._derived.packed = _core.pack(a._core, block_nnz=block_nnz)
        a._derived.packed_nnz = block_nnz
    return a._derived.packed


def _ell_g(a: csr_array, slot: int) -> Any:
    """Converted once; again where smaller blocks are needed."""
    block = min(slot or _ELL_G_BLOCK, _ELL_G_BLOCK)
    if a._derived.ell_g is None or (a._derived.ell_g_block or 0) > block:
        a._derived.ell_g = _core.to_ell_g(a._core, block_bytes=block)
        a._derived.ell_g_block = block
    return a._derived.ell_g


FORMS: dict[str, Form] = {
    "raw": Form(_raw_size, lambda a: True, _raw),
    "packed": Form(_packed_size, lambda a: bool(a._derived.packed), _packed),
    "ell_g": Form(_ell_g_size, lambda a: a._derived.ell_g is not None, _ell_g),
}


def forgo(a: csr_array, codec: str) -> None:
    """Notes that the matrix cannot be brought into this form, where that is remembered."""
    if codec == "packed" and not a._derived.packed:
        a._derived.packed = False
