"""From where the CPU reads the ends of the edges that it draws: the matrix, or its packed neighbour lists."""

from __future__ import annotations

from typing import Any

from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock.csgraph._lists import cpu_lists


def lists_to_draw(graph: csr_array, wanted: str, function: str) -> Any:
    """The packed lists, or None for the matrix, by the rule of searches (`cpu_lists`). Edges are numbered as in the
    matrix, so its rows must ascend, as the lists do; "auto" leaves those of other matrices alone.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True], ([0], [1])), shape=(2, 2))
    >>> lists_to_draw(A, "auto", "neighbors") is None, lists_to_draw(A, "packed", "neighbors").facts()["edges"]
    (True, 1)
    """
    if cpu_lists(graph, wanted).kind == "raw":
        return None
    lists = packed_lists(graph)
    if lists.facts()["sorted"]:
        return lists
    if wanted == "packed":
        raise ValueError(
            f"{function}: lists='packed' needs rows that ascend, as packed lists do, and these do not: "
            "give A.without_duplicates(), or leave lists out"
        )
    return None
