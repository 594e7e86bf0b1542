"""Text files with numbers beyond 32 bits, for one process that needs the pattern and not the numbers."""

from __future__ import annotations

import os
from typing import Any

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.dist._comm import run
from penstock.dist._file import _look
from penstock.dist._matrix import csr_array as dist_array
from penstock.dist._wide.packed import is_packed_text


def renumbered(path: Any) -> tuple[csr_array, tuple[int, int]] | None:
    """The rows and columns that have entries, numbered anew in order, and the shape that the file has; None for a file
    whose numbers have 32 bits, and for one that is not read in parts. Errors are those of `ps.dist.csr_array`."""
    if not is_packed_text(path) and _look(os.fspath(path)) is None:
        return None

    def read(comm: Any) -> tuple[csr_array, tuple[int, int]] | None:
        d = dist_array(path, comm)
        return (csr_array._wrap(_core.dist_listed(d._core)), d.shape) if d.listed else None

    return run(read, 1)[0]
