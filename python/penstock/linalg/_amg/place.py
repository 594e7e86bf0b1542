"""Where the levels of an AMG are: on the GPU that has A, or with the CPU."""

from __future__ import annotations

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array


def gpu_of(a: csr_array) -> int | None:
    """The GPU that has the entries of `a`, or None."""
    return int(_core.ordinal(a._core)) if a.place == "device" else None


def same_entries(a: csr_array, b: csr_array) -> bool:
    """Whether both have entries at the same places."""
    if a.shape != b.shape or a.nnz != b.nnz:
        return False
    if a.place == b.place == "device" and a.dtype == b.dtype:
        return bool(_core.same_pattern(a._core, b._core))
    here = [
        m if m.place != "device" else csr_array._wrap(_core.to_place(m._core, "host"))
        for m in (a, b)
    ]
    return np.array_equal(here[0].indptr, here[1].indptr) and np.array_equal(
        here[0].indices, here[1].indices
    )
