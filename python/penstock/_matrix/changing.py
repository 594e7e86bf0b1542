"""What a graph that changes answers where a matrix is asked for, for modules that must not know `_dynamic`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array
    from penstock._matrix.patched import Patched


class Changing:
    """`ps.DynamicGraph` and its transpose. Functions that take a matrix take it as it is at the call."""

    directed: bool

    def to_csr(self) -> csr_array:
        """The graph as a matrix, kept until the next change."""
        raise NotImplementedError(type(self).__name__)

    def _patched(self) -> Patched:
        """The graph as its base and the rows that changes touch, kept until the next change."""
        raise NotImplementedError(type(self).__name__)


def of_now(value: Any) -> Any:
    """The matrix that a graph is at the moment; what is none that changes stays as it is."""
    return value.to_csr() if isinstance(value, Changing) else value
