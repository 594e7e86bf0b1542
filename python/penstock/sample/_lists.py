"""From where the CPU reads the ends of the edges that it draws: the matrix, or its packed neighbour lists."""

from __future__ import annotations

from typing import Any

from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock.csgraph._lists import cpu_lists, for_cpu


def lists_to_draw(graph: csr_array, wanted: str, function: str) -> Any:
    """The packed lists, or None for the matrix, by the rule of searches (`cpu_lists`). Edges are numbered as in the
    matrix, so its rows must ascend, as the lists do; "auto" leaves those of other matrices alone.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True], ([0], [1])), shape=(2, 2))
    >>> lists_to_draw(A, "auto", "neighbors") is None, lists_to_draw(A, "packed", "neighbors").facts()["edges"]
    (True, 1)
    """
    if wanted == "packed":
        rows, columns = graph.shape
        if rows != columns:
            raise ValueError(
                f"{function}: lists='packed' is for square matrices, this one is {rows} x {columns}: leave lists out"
            )
        lists = packed_lists(graph)
        if not lists.facts()["sorted"]:
            raise ValueError(
                f"{function}: lists='packed' needs rows that ascend, as packed lists do, and these do not: "
                "give A.without_duplicates(), or leave lists out"
            )
        return lists
    if for_cpu(wanted, False, function) == "raw" or graph.place != "mapped":
        return None
    chosen = graph._derived.draws_packed
    # Asked once a matrix: to look how much memory is free takes longer than a small sample.
    if chosen is None:
        chosen = cpu_lists(graph).kind == "packed" and packed_lists(graph).facts()["sorted"]
        graph._derived.draws_packed = chosen
    return packed_lists(graph) if chosen else None
