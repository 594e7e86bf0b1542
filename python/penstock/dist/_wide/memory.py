"""What a matrix of listed numbers takes on a rank, from its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ListedMemory:
    """Bytes on one rank: of the `matrix` with its lists and the plan of its exchange; at the height of `making` it,
    without what the caller keeps of his entries; of x (`vector`) of float64 with its ghosts and what is sent of it; and
    of a `search` by bfs with predecessors, results included, where the pattern is symmetric or `direction` "top_down".

    For another graph, "bottom_up" forms the transpose, and "auto" may. It is kept beside the graph, and takes the
    `making` and `matrix` of its own counts: entries are those in the columns that the rank owns, given those that it
    has."""

    matrix: int
    making: int
    vector: int
    search: int


def listed_memory(
    entries: int,
    rows: int,
    ghosts: int,
    *,
    dtype: Any = bool,
    given: int | None = None,
    sent: int | None = None,
) -> ListedMemory:
    """Bytes of a square `listed` matrix on a rank, from counts.

    The C library may keep more, freed blocks of up to 32 MB for each thread.

    Parameters
    ----------
    entries : int
        Stored on the rank, duplicates not yet added up.
    rows : int
        Listed on the rank: with an entry in their row or column.
    ghosts : int
        Distinct columns of these entries that other ranks list.
    dtype : bool, float32 or float64
    given : int, optional
        Entries that the rank reads or draws, the mirrored ones of a symmetric file or graph included; as many as it
        stores unless given.
    sent : int, optional
        Entries of x that the rank sends in an exchange; as many as ghosts unless given.

    ValueError for a negative count, TypeError for another dtype.

    >>> import penstock as ps
    >>> m = ps.dist.listed_memory(entries=10**9, rows=2 * 10**8, ghosts=3 * 10**8)
    >>> round(m.matrix / 1e9, 1), round(m.making / 1e9, 1)
    (10.0, 34.0)
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(bool), np.float32, np.float64):
        raise TypeError(f"dtype={kind}: distributed matrices are bool, float32 or float64")
    given = entries if given is None else given
    sent = ghosts if sent is None else sent
    counts = {"entries": entries, "rows": rows, "ghosts": ghosts, "given": given, "sent": sent}
    for name, n in counts.items():
        if n < 0:
            raise ValueError(f"{name}={n}: a count is 0 or more")
    value = 0 if kind.kind == "b" else kind.itemsize
    coordinate = 24 if value else 16
    matrix = 2 * 8 * (rows + 1) + (4 + value) * entries + 8 * rows + 4 * sent
    travelling = coordinate * (given + entries)
    listing = coordinate * entries + 8 * (entries + rows)
    numbering = coordinate * entries + matrix + 16 * (rows + ghosts)
    # Numbers and degrees, which stay, and numbers again for a look whether the pattern is symmetric, or levels and
    # predecessors; levels and offers of ghosts; lists of vertices that travel.
    search = 40 * rows + 24 * ghosts + 16 * sent
    return ListedMemory(
        matrix=matrix,
        making=max(travelling, listing, numbering),
        vector=8 * (rows + ghosts + sent),
        search=search,
    )
