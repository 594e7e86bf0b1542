"""How each rank gets its share of a matrix: out of one that all have, from the root, from a file, or made in place."""

from __future__ import annotations

import functools
import inspect
import math
import os
from typing import Any

import numpy as np

from penstock import _core, generate
from penstock._choices import PARTITIONERS
from penstock._io import store
from penstock._matrix.csr import csr_array as whole_array
from penstock._matrix.given import as_matrix
from penstock.dist._agree import about, agreed
from penstock.dist._owners import Kept, Options, by_shape, given
from penstock.dist._wide.build import Entries, from_entries, generated
from penstock.dist._wide.numbers import is_wide
from penstock.partition import Partition

__all__ = ["Options", "load"]

SCATTER = ("direct", "masters")
OPENED = 20  # times that a store is opened which is replaced meanwhile


def load(source: Any, comm: Any, how: Options) -> Any:
    """The core's distributed matrix. Collective; a bad argument on any rank is raised on all."""
    kind = _kind(source)
    options = {"halo": how.halo, "sums": how.sums, "scatter": how.scatter}
    with about(comm, "ps.dist.csr_array", **options):
        kinds = comm.collect((kind, _partition_problem(how, kind)))
    for rank, (_, problem) in enumerate(kinds):
        if problem:
            raise problem[0](f"rank {rank}: {problem[1]}")
    names = [k for k, _ in kinds]
    with about(comm, "ps.dist.csr_array", **how.owners("nothing" not in names)):
        return _by_kind(source, comm, how, names)


def _by_kind(source: Any, comm: Any, how: Options, names: list[str]) -> Any:
    if set(names) == {"matrix"}:
        return _from_whole(source, comm, how)
    if names.count("matrix") == 1 and names.count("nothing") == comm.size - 1:
        return _from_root(source, comm, how, names.index("matrix"))
    if set(names) == {"store"}:
        return _from_store(source, comm, how)
    if set(names) == {"file"}:
        return _from_file(source, comm, how)
    if set(names) == {"generator"}:
        return _from_generator(source, comm, how)
    if set(names) == {"entries"}:
        return from_entries(source, comm, how)
    raise ValueError(
        "the ranks' sources do not fit together: "
        + ", ".join(f"rank {r} has {n}" for r, n in enumerate(names))
        + "; give all of them the matrix, a path, a generator or Entries, or one of them the matrix and the others None"
    )


def _kind(source: Any) -> str:
    if source is None:
        return "nothing"
    if isinstance(source, (str, os.PathLike)):
        return "store" if store.has_arrays(source) else "file"
    if isinstance(source, functools.partial):
        return "generator"
    if isinstance(source, Entries):
        return "entries"
    return "matrix"


def open_on_all(path: Any, comm: Any) -> whole_array:
    """The same version of a store on every rank, also while another process replaces it; each checks a part of it
    before anybody follows its entries. Collective."""
    for _ in range(OPENED):
        a = agreed(comm, lambda: store.open_store(path))
        if len(set(comm.collect(a._derived.generation))) == 1:
            agreed(comm, lambda a=a: a._core.check_part(comm.rank, comm.size))  # type: ignore[misc]
            a._core.settle()
            return a
    raise ValueError(
        f"{os.fspath(path)}: ranks find different stores there, or one that is replaced all the time: give all of them "
        "the same"
    )


def _partition_problem(how: Options, kind: str) -> tuple[type[Exception], str] | None:
    if how.scatter not in SCATTER:
        return ValueError, f"scatter={how.scatter!r} is unknown: choose one of {', '.join(SCATTER)}"
    p = how.partition
    if isinstance(p, str):
        if p not in PARTITIONERS:
            return (
                ValueError,
                f"partition={p!r} is unknown: choose one of {', '.join(PARTITIONERS)}, or give owners",
            )
        if PARTITIONERS[p].reads == "graph" and kind in ("generator", "entries"):
            return (
                ValueError,
                f"{p} reads the whole pattern, which no rank has of a matrix of {kind}: give owners",
            )
    elif p is not None and not isinstance(p, Partition) and np.ndim(p) != 1:
        return (
            TypeError,
            f"partition is a name, a Partition or one owner a row, not {type(p).__name__}",
        )
    return None


def _from_first(a: whole_array, comm: Any, how: Options) -> Any:
    """The partition that rank 0 makes of the matrix, which all have."""
    mine = _core.partition(a._core, how.partition, comm.size) if comm.rank == 0 else None
    return _core.dist_partition(comm, mine, 0)


def _from_whole(source: Any, comm: Any, how: Options) -> Any:
    a = as_matrix(source, "ps.dist.csr_array")
    facts = comm.collect((a.shape, a.nnz, a.dtype.name))
    if len(set(facts)) != 1:
        raise ValueError(f"the ranks were given different matrices: {facts}")
    p = given(how, *a.shape, comm.size)
    if p is None:
        p = _from_first(a, comm, how)
    return _core.dist_of_whole(comm, a._core, p, *how.core())


def _from_root(source: Any, comm: Any, how: Options, root: int) -> Any:
    a = as_matrix(source, "ps.dist.csr_array") if comm.rank == root else None
    mine = None
    if a is not None:
        mine = given(how, *a.shape, comm.size)
        if mine is None:
            mine = _core.partition(a._core, how.partition, comm.size)
    dtype = comm.share(a.dtype.name if a is not None else None, root)
    p = _core.dist_partition(comm, mine, root)
    masters = how.scatter == "masters"
    return _core.dist_of_root(
        comm, None if a is None else a._core, p, root, masters, dtype, *how.core()
    )


def _from_file(path: Any, comm: Any, how: Options) -> Any:
    # The readers of all formats, which matrices that are made or mapped do not need.
    from penstock._io._errors import LargeNumber
    from penstock._io.formats import load as load_file
    from penstock.dist._file import from_text, reads_pattern
    from penstock.dist._wide.packed import (
        from_packed,
        is_packed_text,
        tells_of_large_numbers,
    )

    direct = how.scatter == "direct" and not reads_pattern(how)

    def by_root() -> Any:
        """None for what ranks hold together alone."""
        if comm.rank != 0 or (direct and tells_of_large_numbers(path)):
            return None
        try:
            return load_file(path)
        except LargeNumber as error:
            if direct and is_packed_text(path):
                return None
            if direct:
                raise
            raise ValueError(
                f"{error} with partition='contiguous' or 'balanced' and scatter='direct'; with others rank 0 reads the "
                "file alone"
            ) from error

    made = from_text(path, comm, how)
    if made is not None:
        return made
    try:
        whole = agreed(comm, by_root)
    except LargeNumber:
        made = from_text(path, comm, how, beyond_one=True) if comm.size == 1 else None
        if made is None:
            raise
        return made
    if comm.share(whole is None, root=0):
        return from_packed(path, comm, how)
    return _from_root(whole, comm, how, 0)


def _from_store(path: Any, comm: Any, how: Options) -> Any:
    a = open_on_all(path, comm)
    p = given(how, *a.shape, comm.size)
    if p is None:
        if PARTITIONERS[how.partition].reads in ("lengths", "graph"):
            p = _from_first(a, comm, how)
        else:  # from the row offsets alone, of which a few pages are read
            p = _core.partition(a._core, how.partition, comm.size)
    _core.forget_mapped(a._core)  # opening it looked at all columns, the partition at all offsets
    if p.row_cuts.size and p.grid[1] == 1:
        return _core.dist_of_whole(comm, a._core, p, *how.core())  # a range of the map
    cuts = _core.partition(a._core, "balanced", comm.size).row_cuts
    first, last = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
    return _core.dist_of_rows(comm, a._core, first, last, p, *how.core())


_SHAPES = {
    generate.rmat: lambda a: (1 << a["scale"],) * 2,
    generate.uniform: lambda a: (a["rows"], a["rows"] if a["cols"] is None else a["cols"]),
    generate.banded: lambda a: (a["n"],) * 2,
    generate.advection_diffusion: lambda a: (a["n"] ** 3,) * 2,
    generate.laplacian: lambda a: (math.prod(np.atleast_1d(a["shape"]).tolist()),) * 2,
}


def generator_shape(source: functools.partial) -> tuple[int, int]:
    """Of the matrix that it would make; a bad argument is named here."""
    make = source.func
    if make not in _SHAPES:
        names = ", ".join(f"ps.generate.{f.__name__}" for f in _SHAPES)
        raise ValueError(f"a generator is functools.partial of one of {names}")
    given = inspect.signature(make).bind(*source.args, **source.keywords)
    given.apply_defaults()
    if given.arguments.get("device") is not None:
        raise ValueError("device: ranks generate on the CPU")
    drawn = make is generate.rmat  # of any scale
    # A bad argument is named before sizes are taken; other generators are held to 32 bits here.
    source(_keep=(0, 0) if drawn else _core.kept_range(0, 0, 0, 0))
    rows, cols = _SHAPES[make](given.arguments)
    return int(rows), int(cols)


def _from_generator(source: functools.partial, comm: Any, how: Options) -> Any:
    rows, cols = generator_shape(source)
    if is_wide((rows, cols)):
        return generated(source, (rows, cols), comm, how)

    def make(keep: Any, p: Any, **other: Any) -> whole_array:
        """What is kept here: R-MAT's edges are shared out among the ranks, who send them where `p` wants them."""
        drawn_by_all = source.func is generate.rmat and comm.size > 1
        return source(_keep=(keep, comm, p) if drawn_by_all else keep, **other)

    p = by_shape(how, rows, cols, comm.size)
    if (
        p is None
    ):  # by lengths: each rank makes an equal share of the pattern's rows, and throws it away
        equal = _core.partition_of_shape("contiguous", rows, cols, comm.size)
        kept = Kept(comm, equal, cols)
        pattern = make(kept.core, equal, dtype=bool)
        p = _core.partition_of_lengths(how.partition, comm, kept.first, pattern._core, rows, cols)
        del pattern, equal
    kept = Kept(comm, p, cols)
    return kept.distributed(comm, make(kept.core, p), how)
