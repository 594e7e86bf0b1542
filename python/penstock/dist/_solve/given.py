"""What a solve is given as M, as the core takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.dist._agree import agreed
from penstock.dist._precondition.named import by_name
from penstock.linalg._operators import PREPARE_AFTER, as_matrix, as_op


def preconditioner(m: Any, a: Any, dtype: np.dtype, symmetric: bool) -> Any:
    """The core's operator, of this rank's rows. Making one may be collective; what M is, all ranks have agreed on."""
    if m is None:
        return None
    n = len(a.rows)
    if isinstance(m, str):
        m = by_name(m, a, dtype, symmetric)
    elif type(m) is type(a):
        return _core.dist_op(m._core, dtype.name, PREPARE_AFTER)

    def make() -> Any:
        local = m if hasattr(m, "_native_op") else as_matrix(m)
        if tuple(local.shape) != (n, n):
            raise ValueError(
                f"M has shape {tuple(local.shape)}: this rank owns {n} rows, so give what takes ({n},)"
            )
        return as_op(local, dtype, True, "M")

    return agreed(a.comm, make)
