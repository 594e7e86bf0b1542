"""Every matrix has a number in this process, by which programs that hold no Python objects name it: PyTorch's graphs.

Numbers count up from a random one, so that none is ever used twice, and one that another process has written down (in
an exported program) means nothing here. The list holds matrices weakly: it keeps none alive. A copy, or a matrix that
was pickled, is another matrix, with a number of its own.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["matrix_of", "new_number"]

_START = int.from_bytes(os.urandom(5), "little")  # of 40 bits: far from the end of an int64
_count = itertools.count(_START)
_known: dict[int, ref[Any]] = {}
_swept = 1024  # how many were alive when those that are gone were last taken out


def new_number(matrix: csr_array) -> int:
    """A number for a new matrix: in 0.3 us, where a WeakValueDictionary takes 2."""
    number = next(_count)
    _known[number] = ref(matrix)
    if len(_known) > 2 * _swept:
        _sweep()
    return number


def _sweep() -> None:
    global _swept
    for number, found in list(_known.items()):
        if found() is None:
            _known.pop(number, None)
    _swept = max(1024, len(_known))


def matrix_of(number: int, shape: tuple[int, int], nnz: int) -> csr_array:
    """The matrix of this number, which the caller knows to have this shape and so many entries."""
    held = _known.get(number)
    found = None if held is None else held()
    if found is None:
        raise RuntimeError(
            f"the matrix of {shape[0]} x {shape[1]} with {nnz} entries that this product was made for is gone, or was "
            "never in this process: keep the csr_array alive as long as compiled programs and gradients use it, and "
            "trace an exported program again"
        )
    if found.shape != shape or found.nnz != nnz:
        raise RuntimeError(
            f"matrix {number} has shape {found.shape} and {found.nnz} entries, where the product was made for {shape} "
            f"and {nnz}: trace the program again in this process"
        )
    return found
