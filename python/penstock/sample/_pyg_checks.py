"""Checks of what `ps.pyg` is given: PyTorch Geometric takes much that it would misread later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.sample.subgraphs import fanout_list


def require_fanouts(given: Any) -> None:
    """TypeError, or ValueError, for what is no list of fanouts, and no dict of lists."""
    if hasattr(given, "get_values"):
        return  # PyTorch Geometric's NumNeighbors
    for some in given.values() if isinstance(given, Mapping) else [given]:
        fanout_list(some, "num_neighbors")


def require_edges(store: Any, sources: int | None, destinations: int | None, of: str) -> None:
    """That edge_index, if there is one, has both ends of each edge, among the vertices."""
    index = getattr(store, "edge_index", None)
    if index is None:
        return
    number = not (
        index.is_floating_point() or index.is_complex() or str(index.dtype) == "torch.bool"
    )
    if index.dim() != 2 or index.shape[0] != 2 or not number:
        raise TypeError(
            f"edge_index{of} must be integers of shape (2, edges), not {index.dtype} of shape {tuple(index.shape)}"
        )
    for ends, what, n in ((index[0], "source", sources), (index[1], "destination", destinations)):
        if n is None or ends.numel() == 0:
            continue
        for end in (int(ends.min()), int(ends.max())):
            if not 0 <= end < n:
                raise ValueError(
                    f"edge_index{of} has the {what} {end}, and there are {n} vertices: set num_nodes, or mend it"
                )


def require_weights(weights: Any, edges: int, name: str, of: str) -> None:
    """That there is one real number an edge."""
    if weights.is_complex():
        raise TypeError(f"weight_attr={name!r} is {weights.dtype}{of}: give real numbers")
    if weights.numel() != edges:
        raise ValueError(
            f"weight_attr={name!r} has shape {tuple(weights.shape)}{of}: give one number for each of {edges} edges"
        )


def require_times(times: Any, count: int, name: str, what: str) -> None:
    """That there is one time for each vertex, or edge."""
    if times.size != count:
        raise ValueError(
            f"time_attr={name!r} has {times.size} numbers: give one for each of {count} {what}"
        )
