"""Whether the memory that is free holds what a hop on the CPU may draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.report import human_bytes

_EDGE = 44  # bytes an edge that is drawn: it, in an array that grows by doubling, its end, and three in the sample
_SMALL = 1 << 28  # bytes below which nobody asks


def require_room(
    graph: csr_array, table: Any, begin: int, end: int, fanout: int, replace: bool
) -> None:
    """MemoryError where a hop from the vertices [begin, end) of a table may draw more than fits. Edges that it will not
    draw, of weight 0 or of a later time, are counted, too."""
    each = fanout if fanout >= 0 else graph.nnz
    if (end - begin) * each * _EDGE <= _SMALL:
        return
    if not replace or fanout < 0:  # no list is longer than the longest
        most = graph._derived.once("longest_list", lambda: int(np.diff(graph.indptr).max()))
        if (end - begin) * min(each, most) * _EDGE <= _SMALL:
            return
    vertices = table.vertices[begin:end]
    degrees = graph.indptr[vertices + 1] - graph.indptr[vertices]
    if replace and fanout >= 0:
        edges = int(np.count_nonzero(degrees)) * fanout
    else:
        edges = int((degrees if fanout < 0 else np.minimum(degrees, fanout)).sum(dtype=np.int64))
    if edges * _EDGE <= _SMALL:
        return
    free = int(_core.topology()["available_bytes"])
    if edges * _EDGE > free:
        raise MemoryError(
            f"neighbors: a hop of up to {edges} edges takes {human_bytes(edges * _EDGE)}, and {human_bytes(free)} of "
            "memory are free: give smaller fanouts, or fewer seeds"
        )
