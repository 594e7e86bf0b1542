"""What M=name stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.linalg._amg.one_level import OneLevel, far_from_constants
from penstock.linalg._names import PRECONDITIONERS, preconditioner_named
from penstock.linalg._operators import is_complex
from penstock.linalg.preconditioners import Preconditioner


def by_name(name: str, a: Any, dtype: np.dtype) -> Preconditioner:
    """The preconditioner that M=name stands for, with its defaults. Complex vectors of a real matrix meet a
    real M part by part, where M is of a kind that is real. "amg" is one level where more would not help."""
    kind = PRECONDITIONERS.get(name)
    if kind is not None and not (kind.complex or is_complex(a)):
        dtype = np.zeros(0, dtype).real.dtype
    found = OneLevel.of(a, dtype, far_from_constants(a, dtype)) if name == "amg" else None
    return preconditioner_named(name)(a, dtype=dtype) if found is None else found
