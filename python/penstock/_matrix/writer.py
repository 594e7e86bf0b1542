"""How a matrix gets into a file. Files know matrices, and not the other way round: their writer is handed in when the
package is imported (`penstock/__init__.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array


class Writer(Protocol):
    """What `penstock._io.formats` offers."""

    def save(self, path: Any, A: Any, **how: Any) -> None:
        """A whole matrix, in the format that the suffix of `path` names."""

    def save_blocks(
        self, path: Any, shape: tuple[int, int], dtype: np.dtype, blocks: Iterable[csr_array]
    ) -> csr_array:
        """Consecutive blocks of rows as one native store, which is then mapped."""


_find: Callable[[], Any]


def hand_in(find: Callable[[], Any]) -> None:
    """`find` is called at the first file, and returns the Writer."""
    global _find
    _find = find


def writer() -> Writer:
    return _find()
