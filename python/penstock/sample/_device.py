"""What draws samples on a GPU, and on which: the one that holds the vertices at which to begin, or the graph, or the
one that is asked for. Results are arrays of the library that the vertices came from, on the same GPU, or of NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._arrays.device import DeviceArray, Library, is_on_gpu, library_of
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import chosen_gpu
from penstock.sample._arguments import int64s


class Numbers(NamedTuple):
    """Integers at an address, as int64 where they are wide, else as int32. `kept` has the memory."""

    pointer: int
    size: int
    wide: bool
    on_host: bool
    kept: Any


def numbers_on_gpu(some: Any, name: str) -> tuple[Library, DeviceArray]:
    """Integers of one dimension on a GPU."""
    library = library_of(some)
    try:
        found = None if library is None else library.look(some)
    except TypeError as why:  # of a type, or a layout, that no product has
        raise TypeError(f"{name} must be a dense array of int32 or int64 on a GPU: {why}") from None
    if library is None or found is None:
        raise _core.PlacementError(
            f"{name} is in host memory, and others are on a GPU: move it there"
        )
    if len(found.shape) != 1 or found.dtype not in (np.int32, np.int64):
        raise TypeError(
            f"{name} must be int32 or int64 of one dimension on a GPU, not {found.dtype} of shape {found.shape}"
        )
    if found.shape[0] > 1 and found.steps[0] != 1:
        raise ValueError(f"{name} has a step of {found.steps[0]} entries: give a contiguous copy")
    return library, found


class DeviceDraws:
    """Draws on one GPU, in the order of one stream: that of the library whose arrays are given. Without a library,
    numbers come from NumPy and results go there."""

    def __init__(self, gpu: int, library: Library | None) -> None:
        self.gpu, self.library = gpu, library
        self.stream = 0 if library is None else library.stream(gpu)
        self._times: dict[int, Any] = {}  # of each type of edges

    def numbers(self, some: Any, name: str) -> Numbers:
        if self.library is None:
            host = int64s(some, name)
            return Numbers(host.ctypes.data, host.size, True, True, host)
        library, found = numbers_on_gpu(some, name)
        if library is not self.library or found.gpu != self.gpu:
            raise _core.PlacementError(
                f"{name} is on GPU {found.gpu} or of another library than the others: give all alike"
            )
        return Numbers(found.pointer, found.shape[0], found.dtype.itemsize == 8, False, some)

    def graph(self, a: csr_array) -> Any:
        """The matrix as the core samples it, kept with it."""
        known = a._derived.sample_graphs or {}
        if self.gpu not in known:
            made = _core.device_graph(a._core, self.gpu)
            known = {**(a._derived.sample_graphs or {}), self.gpu: made}
            a._derived.sample_graphs = known
        return known[self.gpu]

    def table(self, vertices: int, disjoint: bool) -> Any:
        return _core.DeviceTable(vertices, disjoint, self.gpu, self.stream)

    def add_seeds(self, table: Any, some: Any, first: int, growth: int) -> int:
        """`growth` is how many vertices may come of one seed, itself included."""
        n = self.numbers(some, "seeds")
        table.add_seeds(n.pointer, n.size, n.wide, n.on_host, first, min(growth * n.size, 2**62))
        return n.size

    def hop(
        self, graph: Any, source: Any, begin: int, end: int, into: Any, fanout: int, replace: bool, weighted: bool,
        seed: int, relation: int, time: Any, seed_time: Any,
    ) -> Any:  # fmt: skip
        """The edges of one hop, which stay on the GPU."""
        times = None if time is None else self.times(relation, time, seed_time)
        return _core.sample_hop_on(
            graph, source, begin, end, into, fanout, replace, weighted, seed, relation, times
        )

    def times(self, relation: int, time: Any, seed_time: Any) -> Any:
        """Times where the GPU reads them, for all hops of a call."""
        if relation not in self._times:
            self._times[relation] = _core.device_times(time, seed_time, self.gpu, self.stream)
        return self._times[relation]

    def joined(self, hops: Sequence[Any]) -> tuple[Any, Any, Any]:
        """(rows, columns, edges) of all hops."""
        arrays = [self.empty(sum(map(len, hops))) for _ in range(3)]
        starts = [pointer for _, pointer in arrays]
        for hop in hops:
            hop.copy(*starts)
            starts = [start + 8 * len(hop) for start in starts]
        rows, columns, edges = (self.finished(array) for array, _ in arrays)
        return rows, columns, edges

    def vertices(self, table: Any, disjoint: bool) -> tuple[Any, Any]:
        """(vertices, the seed of each, None unless `disjoint`)."""
        array, pointer = self.empty(table.size)
        seeds, to = self.empty(table.size) if disjoint else (None, 0)
        table.copy(pointer, to)
        return self.finished(array), self.finished(seeds) if disjoint else None

    def walks(
        self, graph: Any, begin: Numbers, shape: tuple[int, int], how: tuple[Any, ...]
    ) -> Any:
        """Walks of this shape, from starts; at address 0: from every vertex."""
        walks, to = self.empty(shape, np.int32)
        _core.random_walks_on(graph, *begin[:4], *how, to, self.library is None, self.stream)
        return self.finished(walks)

    def empty(self, n: int | tuple[int, ...], dtype: Any = np.int64) -> tuple[Any, int]:
        """An array that the core fills, and its address."""
        shape = n if isinstance(n, tuple) else (n,)
        if self.library is None:
            host = np.empty(shape, dtype)
            return host, host.ctypes.data
        made = self.library.empty(shape, np.dtype(dtype), self.gpu)
        found = self.library.look(made)
        assert found is not None
        return made, found.pointer

    def finished(self, array: Any) -> Any:
        """What the caller gets of it, after its copies have been queued."""
        if self.library is not None:
            return self.library.finish(array, self.gpu, self.stream)
        _core.synchronize_stream(self.gpu, self.stream)
        return array


def device_draws(
    what: str, graphs: Iterable[csr_array], name: str, starts: Iterable[Any], device: Any
) -> DeviceDraws | None:
    """What draws on a GPU; None for the CPU. That is decided by `device`, or by where the starts are, or the graphs.
    `what` is the function and `name` what it calls the starts."""
    if isinstance(device, (list, tuple, set, range, np.ndarray)):
        raise ValueError(
            f"{what}: device={device!r} names several GPUs, and one draws: give one of them, and part the {name} "
            "among calls in threads, each with a GPU and a seed of its own; a graph in pinned memory serves them all"
        )
    matrices, given = list(graphs), list(starts)
    on_gpus = [x for x in given if is_on_gpu(x)]
    wanted = None if device is None else chosen_gpu(matrices[0], device)
    if on_gpus:
        library, found = numbers_on_gpu(on_gpus[0], name)
        if device is not None and wanted != found.gpu:
            raise _core.PlacementError(
                f"{what}: device={device!r}, but {name} are on GPU {found.gpu}: move them, or leave device out"
            )
        return DeviceDraws(found.gpu, library)
    if device is None:
        there = [a for a in matrices if a.place == "device"]
        wanted = _core.ordinal(there[0]._core) if there else None
    return None if wanted is None else DeviceDraws(wanted, None)
