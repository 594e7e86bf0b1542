"""What a method of this folder did: returned beside its result where `return_info=True`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EigenInfo:
    """`passes`: how often the entries were read; `columns`: vectors multiplied, `block` of them at a time; `basis`: the
    most vectors that were kept; `restarts`; `residuals`: of eigenpairs norm(A x - value x), of singular triplets
    norm(A^H u - s v), of approximate ones norm(A v - s u), a number each; `streamed`: whether entries travelled;
    `seconds` in all; `method`; `vectors_on`: "cpu", or "gpu 0" where the basis is in that GPU's memory."""

    method: str
    passes: int
    columns: int
    block: int
    basis: int
    restarts: int
    residuals: np.ndarray
    streamed: bool
    seconds: float
    vectors_on: str = "cpu"
