"""What functions accept as a sparse matrix: a csr_array, its transpose, a DynamicGraph, or a SciPy sparse array."""

from __future__ import annotations

from typing import Any

from penstock._matrix.changing import Changing, of_now
from penstock._matrix.csr import csr_array
from penstock._matrix.names import as_kind


def as_matrix(b: Any, what: str) -> csr_array:
    """A csr_array from one, its transpose, a DynamicGraph (as it is now), or a SciPy sparse array."""
    return as_kind(csr_array, of_now(b), what)


def as_factor(b: Any, name: str) -> csr_array:
    """The same for a product, after which a SciPy array's form is gone: its arrays are shared."""
    if isinstance(b, Changing):
        return b.to_csr()
    if not hasattr(b, "tocsr"):
        raise TypeError(f"{name} is a {type(b).__name__}: give a csr_array or a SciPy sparse array")
    return csr_array._factor(b)
