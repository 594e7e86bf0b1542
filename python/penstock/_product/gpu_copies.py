"""The copy of a matrix on a GPU, which products with arrays there read, and matrices that share its structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._plan.place import Place, moved

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["core_on"]


def core_on(a: csr_array, gpu: int) -> Any:
    """The core's matrix on this GPU: A itself where it is there, or the copy of a matrix in host memory that stays with
    A until `A.release()`. PlacementError for a matrix on another GPU, MemoryError where it does not fit."""
    if a.place == "device":
        here = _core.ordinal(a._core)
        if here != gpu:
            raise _core.PlacementError(
                f"A is on GPU {here}, and the arrays are on GPU {gpu}: give A.to(ps.device({gpu})), or arrays there"
            )
        return a._core
    there = a._derived.on_gpu
    if there is None or there[0] != gpu:
        there = a._derived.on_gpu = gpu, moved(a._core, Place("device", gpu))
    return there[1]
