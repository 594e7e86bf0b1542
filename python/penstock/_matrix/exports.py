"""A matrix in a GPU's memory as CuPy's or PyTorch's, over the same columns and values."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from penstock import _core

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["as_cupy", "as_torch", "torch_csr"]


class _Exported:
    """An array of a core matrix in a GPU's memory, by DLPack. It is complete, so that no stream need wait for it."""

    def __init__(self, core: Any, name: str) -> None:
        self._core, self._name = core, name

    def __dlpack__(self, **how: Any) -> Any:
        return _core.device_capsule(self._core, self._name)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, _core.ordinal(self._core)  # kDLCUDA


def as_cupy(a: csr_array) -> Any:
    """See `csr_array.to_cupy`."""
    if a.place != "device":
        raise _core.PlacementError(
            f"to_cupy: the matrix is in {a.place} memory, and CuPy's are on a GPU: move it there first, with "
            "A.to(ps.device(0))"
        )
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]  # optional, and slow to load
        from cupyx.scipy import sparse  # type: ignore[import-not-found, unused-ignore]
    except ImportError as e:
        raise ImportError("to_cupy needs CuPy: pip install cupy-cuda13x") from e
    with cupy.cuda.Device(_core.ordinal(a._core)):
        indptr, indices, data = (
            None if each is None else cupy.from_dlpack(each) for each in _arrays(a)
        )
        data = cupy.ones(a.nnz, bool) if data is None else data
        return sparse.csr_matrix((data, indices, indptr), shape=a.shape, copy=False)


def as_torch(a: csr_array) -> Any:
    """See `csr_array.to_torch`, of a matrix on a GPU whose rows ascend."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    with torch.cuda.device(_core.ordinal(a._core)):
        arrays: list[Any] = [
            None if each is None else torch.from_dlpack(each) for each in _arrays(a)
        ]
        crow, col, values = arrays
        if values is None:
            values = torch.ones(a.nnz, dtype=torch.bool, device=col.device)
        return torch_csr(crow, col, values, a.shape)


def torch_csr(crow: Any, col: Any, values: Any, shape: tuple[int, int]) -> Any:
    """A `torch.sparse_csr` tensor of arrays that are right. PyTorch 2.11 warns where nobody has said whether it is to
    look at them, and does not take `check_invariants=False` for an answer; the context manager (2.0) is one."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    said = getattr(torch.sparse, "check_sparse_tensor_invariants", None)
    with said(enable=False) if said else contextlib.nullcontext():
        return torch.sparse_csr_tensor(crow, col, values, size=shape)


def _arrays(a: csr_array) -> list[Any]:
    """Row offsets as int32, columns, and values, or None for those of a pattern."""
    names = ["indptr", "indices"] if a.dtype == bool else ["indptr", "indices", "values"]
    arrays: list[Any] = [_Exported(a._core, name) for name in names]
    return [*arrays, None] if a.dtype == bool else arrays
