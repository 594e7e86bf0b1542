"""A matrix and its transpose where arrays are: on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan.place import Place, moved
from penstock._plan.report import human_bytes

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["core_on", "transposed_structure"]


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
    if there is not None and there[0] == gpu:
        return there[1]
    try:
        core = moved(a._core, Place("device", gpu))
    except MemoryError as e:
        raise MemoryError(
            f"the arrays are on GPU {gpu}, and A ({human_bytes(a.nbytes)}) does not fit beside them: {e}. Several "
            "columns in host memory are multiplied by A.dot(X, schedule=ps.Streamed()), one vector also on the GPU"
        ) from None
    a._derived.on_gpu = gpu, core
    return core


def transposed_structure(a: csr_array, gpu: int) -> tuple[Any, Any]:
    """The transpose's structure on this GPU as a matrix of the core, and for each of its entries which one of A's it
    is, as a tensor there. Made on the CPU at the first call, and kept until `A.release()`: 12 bytes an entry."""
    known = a._derived.transposed_structure
    if known is None or known[0] != gpu:
        import torch  # type: ignore[import-not-found, unused-ignore]

        host = a.to("host") if a.place == "device" else a
        numbers = np.arange(a.nnz, dtype=np.float64)  # exact up to 2^53
        make = type(a)._from_parts
        numbered = make(*a.shape, host.indptr, host.indices, numbers, validate="cheap")
        formed = numbered.T.formed()
        order = torch.from_numpy(formed.data.astype(np.int64))
        pattern = make(*formed.shape, formed.indptr, formed.indices, None, validate="cheap")
        if gpu >= 0:  # -1 is the CPU
            order, pattern = order.to(f"cuda:{gpu}"), pattern.to(Place("device", gpu))
        known = a._derived.transposed_structure = gpu, pattern._core, order
    return known[1:]
