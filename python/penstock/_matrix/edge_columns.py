"""The columns of an edge list, from every form that from_edges takes: sources, targets, weights and their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock._arrays.tensors import host_array

Columns = tuple[Any, Any, Any, tuple[str, str, str]]


def columns_of(edges: Any, source: str, target: str, weight: str | None) -> Columns:
    """Each column as a polars series, an array or a list."""
    if isinstance(edges, tuple):
        return _arrays(edges)
    if hasattr(edges, "collect") and hasattr(edges, "lazy"):  # a polars LazyFrame
        edges = edges.collect()
    if hasattr(edges, "columns") or hasattr(edges, "column_names"):
        return _frame(edges, source, target, weight)
    if hasattr(edges, "__array__") or hasattr(edges, "__dlpack__"):
        pairs = host_array(edges, "edges")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                f"an array of shape {pairs.shape}: give (E, 2), a tuple of arrays (sources, targets), "
                "or from_edge_index for (2, E)"
            )
        return pairs[:, 0], pairs[:, 1], None, ("edges[:, 0]", "edges[:, 1]", "weight")
    if hasattr(edges, "adj") and hasattr(edges, "edges"):
        raise TypeError("this is a NetworkX graph: give its edges, G.edges(data=True)")
    if isinstance(edges, Iterable) and not isinstance(edges, (str, bytes, dict)):
        return _listed(edges, weight)
    raise TypeError(
        f"cannot read edges from {type(edges).__name__}: give a frame, a tuple of arrays, or a list of pairs"
    )


def _arrays(columns: tuple[Any, ...]) -> Columns:
    single = (str, bytes, int, float)
    if len(columns) not in (2, 3) or any(
        isinstance(c, single) or not hasattr(c, "__len__") for c in columns
    ):
        raise TypeError(
            f"a tuple of {len(columns)} is not (sources, targets) or (sources, targets, weights), each an array: "
            "give single edges as a list, [(u, v), ...]"
        )
    u, v, *w = map(_column, columns)
    return u, v, w[0] if w else None, ("sources", "targets", "weights")


def _frame(frame: Any, source: str, target: str, weight: str | None) -> Columns:
    names = list(getattr(frame, "column_names", None) or frame.columns)
    wanted = [source, target] + ([] if weight is None else [weight])
    for argument, name in zip(("source", "target", "weight"), wanted, strict=False):
        if name not in names:
            raise KeyError(
                f"{argument}={name!r} is not a column: the frame has {', '.join(map(repr, names)) or 'none'}"
            )
    parts = [_column(frame[name]) for name in wanted]
    u, v, *w = parts
    labels = (f"column {source!r}", f"column {target!r}", f"column {weight!r}")
    return u, v, w[0] if w else None, labels


def _column(column: Any) -> Any:
    """A column of pandas, polars or Arrow as a polars series, missing values as null; others as an array or list."""
    if isinstance(column, (list, np.ndarray)):
        return column
    if hasattr(column, "__dlpack__"):
        return host_array(column, "edges")
    import polars as pl

    if isinstance(column, pl.Series):
        return column
    if hasattr(column, "notna"):
        return _pandas_column(column)
    if type(column).__module__.startswith("pyarrow"):
        return pl.Series(column)
    return list(column)


def _pandas_column(column: Any) -> Any:
    import polars as pl

    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, np.dtype) and kind in "iufbM":
        return pl.Series(column.to_numpy(), nan_to_null=kind == "f")
    if str(column.dtype).startswith("str"):
        try:
            return pl.from_pandas(column)
        except ImportError:  # without pyarrow one by one
            pass
    listed = column.astype(object)
    if kind == "O":
        try:  # strings and None, the usual case
            return pl.Series(listed.to_list(), dtype=pl.String, strict=True)
        except TypeError:
            pass
    listed = listed.where(column.notna(), None).to_list()
    return pl.Series(listed) if kind in "iuf" else listed


def _listed(edges: Iterable[Any], weight: str | None) -> Columns:
    u: list[Any] = []
    v: list[Any] = []
    w: list[Any] = []
    weighted: bool | None = None
    for k, edge in enumerate(edges):
        try:
            size = 0 if isinstance(edge, str) else len(edge)
        except TypeError:
            size = 0
        if size not in (2, 3):
            raise TypeError(f"edges[{k}] = {edge!r}: give (u, v), (u, v, weight) or (u, v, dict)")
        extra = edge[2] if size == 3 else None
        if isinstance(extra, dict):
            if weight is not None and weight not in extra:
                raise ValueError(f"edges[{k}] = {edge!r} has no {weight!r}")
            extra = None if weight is None else extra[weight]
            has = weight is not None
        else:
            has = size == 3
        if weighted is None:
            weighted = has
        elif weighted != has:
            raise ValueError(
                f"edges[{k}] = {edge!r} has {'a' if has else 'no'} weight, unlike the edges before it"
            )
        u.append(edge[0])
        v.append(edge[1])
        if has:
            w.append(np.nan if extra is None else extra)
    if weight is not None and u and not weighted:
        raise ValueError(f"weight={weight!r} is given, but the edges have no third part")
    return u, v, w if weighted else None, ("sources", "targets", "weights")
