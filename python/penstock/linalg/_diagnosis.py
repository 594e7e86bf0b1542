"""Why a solve failed, as far as A's entries say: asked only where one did."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock.linalg._info import BREAKDOWNS, SolveInfo


def explained(info: SolveInfo, a: Any) -> SolveInfo:
    """`info`, whose reason also names a row of A that cannot be solved for. Row offsets are read where the solve
    failed, values where it broke down; of a matrix on a GPU only there, as all of it is copied to the host."""
    if info == 0 or not isinstance(a, csr_array):
        return info
    if a.place == "device":
        if info != BREAKDOWNS["not_finite"]:
            return info
        a = a.to("host")
    found = not_finite(a) if info < 0 or not np.isfinite(info.residual) else None
    found = found or empty_row(a)
    if found is not None:
        info.reason += f"; {found}"
        for one in info.columns:
            one.reason += f"; {found}"
    return info


def empty_row(a: csr_array) -> str | None:
    """The first row without entries, in a sentence with the remedy."""
    empty = np.diff(a.indptr) == 0
    if not empty.any():
        return None
    row, many = int(empty.argmax()), int(np.count_nonzero(empty))
    others = f" (and {many - 1} more)" if many > 1 else ""
    return (
        f"row {row}{others} of A has no entries, so that A is singular: remove such rows and columns, or give them a "
        "diagonal entry with A.with_diagonal"
    )


def not_finite(a: csr_array) -> str | None:
    """The first entry that is NaN or infinite, in a sentence with the remedy."""
    if a.data.dtype.kind not in "fc":
        return None
    wrong = ~np.isfinite(a.data)
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    row = int(np.searchsorted(a.indptr, at, side="right")) - 1
    return f"A[{row}, {int(a.indices[at])}] = {a.data[at]}: A must hold finite numbers only"
