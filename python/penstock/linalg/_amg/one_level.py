"""Whether M="amg" makes levels. An AMG by its defaults makes them of constants, which A should take nearly to zero.

Where A takes them to about as much as its diagonal does, a coarse level has nothing that the smoother would leave:
mass matrices, plates and shells whose rows are several unknowns of a node, strong shifts. One level is then as good,
and cheaper: incomplete factors. Who knows better gives an `AMG`, with `near_nullspace` or `block_size`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock.linalg._methods.passes import dot, norm, pieces
from penstock.linalg._names import SHIFTS
from penstock.linalg.preconditioners import IC0

LEAST = 300  # rows: what an AMG factorizes as a whole
FAR = 0.5  # of the diagonal, on average: what A takes constants to. Laplacians and circuits have 0.01 to 0.05


class OneLevel(IC0):
    """Incomplete Cholesky factors in the place of levels; `chosen` says why."""

    def __init__(self, a: csr_array, shift: float, far: float, dtype: np.dtype) -> None:
        super().__init__(a, shift=shift, dtype=dtype)
        self.chosen = why(f"IC(0) with shift={shift:g}", far)

    @classmethod
    def of(cls, a: Any, dtype: np.dtype, far: float | None) -> OneLevel | None:
        """None where `far_from_constants` gave None, or where factors break down. They mostly exist with a shift, and
        mostly do not without, as such matrices have positive entries beside the diagonal."""
        for shift in SHIFTS[1:] if far is not None else ():
            try:
                return cls(a, shift, far, dtype)
            except ValueError:  # a pivot that is not positive
                continue
        return None


def why(what: str, far: float) -> str:
    return (
        f"one level, {what}: A takes constants to {far:.2g} of its diagonal, so levels made of them would not help; "
        "M=AMG(A) makes them anyway"
    )


def far_from_constants(a: Any, dtype: np.dtype) -> float | None:
    """What A takes constants to, as a part of its diagonal, where that is so much that levels would not help. None
    elsewhere, and where a is none of what this is for: symmetric real matrices in host memory that no plan streams."""
    if not isinstance(a, csr_array) or a.dtype.kind != "f" or np.dtype(dtype).kind != "f":
        return None
    if a.place == "device" or a._derived.stream_plans is not None or a.shape[0] != a.shape[1]:
        return None
    if a.shape[0] <= LEAST:
        return None
    diagonal = a.diagonal()
    if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
        return None
    taken = abs(a @ np.ones(a.shape[0], a.dtype))
    far = float(np.mean(np.minimum(taken / diagonal, 1)))
    return far if far > FAR and _symmetric(a) else None


def _symmetric(a: csr_array) -> bool:
    """A necessary condition, by two random vectors; AMG asks for more, and says what is wrong."""
    x, y = np.random.default_rng(0).random((2, a.shape[0]), a.dtype) - a.dtype.type(0.5)
    ax, ay = a @ x, a @ y
    scale = norm(x) * norm(ay)
    one, other = dot(pieces(x, ay)), dot(pieces(ax, y))
    return bool(abs(one - other) <= np.sqrt(np.finfo(a.dtype).eps) * scale)
