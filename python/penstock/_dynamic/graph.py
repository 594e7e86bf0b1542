"""DynamicGraph: a graph whose edges are added and removed in batches, while products and searches go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag
from penstock._dynamic import edges
from penstock._dynamic.base import as_base
from penstock._dynamic.compaction import Compaction
from penstock._dynamic.files import Stored
from penstock._dynamic.state import State
from penstock._dynamic.transposed import TransposedGraph
from penstock._matrix.changing import Changing
from penstock._matrix.csr import csr_array
from penstock._matrix.patched import Patched, no_changes
from penstock._product.operands import from_left, is_sparse, may_be_dense
from penstock.csgraph.components import connected_components

__all__ = ["DynamicGraph"]


class DynamicGraph(Changing):
    """A graph that changes: a base that stays as it is, and the edges that were added and removed since.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        The base: in memory, or mapped by `ps.open`. A stored entry (i, j) is an edge from i to j. Repeated entries are
        added up first. Its type is the graph's: a pattern, float32, float64, complex64 or complex128.
    directed : bool
        False: every change is one of both (i, j) and (j, i), and A must be symmetric, values included; complex ones
        are equal, not conjugates.

    Any thread may change the graph and read it. What reads it sees the graph as it is when the call begins.

    Changes are sorted runs in memory, merged as in a log-structured merge-tree (O'Neil, Cheng, Gawlick, O'Neil 1996):
    each costs amortised O(log) moves. The first product or search after a change merges the rows that changes touch;
    other rows are read from the base. `compact` makes a new base. `DynamicGraph.open` keeps changes on disk.

    `G @ x`, `G.T @ x`, `csgraph.bfs` and weak `csgraph.connected_components` read rows where they are. Every other
    function of a matrix reads `to_csr()`, a copy that is made once a change.

    Raises ValueError for a matrix that is not square, and with directed=False for one that is not symmetric; TypeError
    for what is no matrix, and for a `directed` that is no bool; PlacementError for one in a GPU's memory.

    >>> import penstock as ps
    >>> G = ps.DynamicGraph(ps.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(4, 4)))
    >>> G.add_edges([2, 0], [3, 1], [5.0, 7.0])
    >>> G.remove_edges([1], [2])
    1
    >>> G @ [1.0, 1.0, 1.0, 1.0]
    array([7., 0., 5., 0.])
    >>> ps.csgraph.bfs(G, 2)
    array([-1, -1,  0,  1], dtype=int32)
    """

    __array_ufunc__ = None  # x @ G is ours

    def __init__(self, A: Any, *, directed: bool = True) -> None:
        directed = flag(directed, "directed")
        base = as_base(A, directed)
        self._hold(State(base, base.shape[0], directed), None)

    def _hold(self, state: State, store: Stored | None) -> None:
        self._state, self._store = state, store
        self._lock = threading.RLock()  # of changes; reading takes none
        self._grown: Any = None  # the core's components, where they are up to date
        self._compacting: Compaction | None = None
        self._closed = False

    @classmethod
    def open(cls, path: Any, *, directed: bool = True) -> DynamicGraph:
        """A native store, open for changes, and the changes that were made since it was written.

        Each batch is written to a log beside the store (the folder `path` + ".changes") and is on the disk, by
        fdatasync, before the call that makes it returns. `compact` replaces the store. Whenever the process ends, also
        by SIGKILL, the next opening finds all batches whose calls had returned, and perhaps the one that was going on.
        `ps.open(path)` maps the store alone, as it was at the last `compact`.

        path : str or path-like
            The folder of a store.
        directed : bool
            As for the class, and as when the log was begun.

        Raises ValueError where the graph is open for changes already, here or in another process, where the store or
        the log is damaged, and as the class does; FileNotFoundError for a store that is not there. Warns
        (RuntimeWarning) where the log ends in a batch that was not written to its end: it does not count, and its bytes
        are moved to a file beside the log.

        >>> import os, tempfile, penstock as ps
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "graph.penstock")
        >>> ps.csr_array(([True], ([0], [1])), shape=(3, 3)).save(path)
        >>> with ps.DynamicGraph.open(path) as G:
        ...     G.add_edges([1], [2])
        >>> with ps.DynamicGraph.open(path) as G:
        ...     G.compact()
        >>> ps.open(path).nnz
        2
        >>> folder.cleanup()
        """
        store = Stored(path, flag(directed, "directed"))
        try:
            base = as_base(store.take_base(), directed)
            self = cls.__new__(cls)
            self._hold(store.replayed(base), store)
        except BaseException:
            store.close()
            raise
        return self

    def __reduce__(self) -> Any:
        """TypeError, from `copy` and `pickle` alike: a second graph must not share the log or the components."""
        raise TypeError(
            f"a DynamicGraph is not copied or pickled: take G.to_csr(), and make another graph of it with "
            f"ps.DynamicGraph(matrix, directed={self.directed})"
        )

    # What it is

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n) for n vertices."""
        n = self._state.vertices
        return n, n

    @property
    def dtype(self) -> np.dtype:
        """The type of the values: bool for a pattern."""
        return self._state.base.dtype

    @property
    def directed(self) -> bool:  # type: ignore[override]
        """Whether edges go one way."""
        return self._state.directed

    @property
    def changes(self) -> int:
        """Changes since the last `compact`, about: one of an edge that has changed twice may count twice."""
        return self._state.changes

    @property
    def T(self) -> TransposedGraph:
        """The edges turned around, for products and for functions that take the graph."""
        return TransposedGraph(self)

    def __repr__(self) -> str:
        n, kind = self.shape[0], "pattern" if self.dtype == np.bool_ else str(self.dtype)
        way = "directed" if self.directed else "undirected"
        return (
            f"<DynamicGraph of {n} vertices, {way}, {kind}, {self.changes} changes since the base>"
        )

    def number_of_edges(self) -> int:
        """As NetworkX's: an edge of a graph that is not directed counts once, though `to_csr()` stores it twice. Merges
        the changes."""
        state = self._state
        rows = state.rows()
        if state.directed:
            return rows.nnz
        every = np.arange(rows.shape[0], dtype=np.int64)
        loops = int(np.sum(state.has(edges.keys_of(every, every, rows.shape[0])), dtype=np.int64))
        return (rows.nnz + loops) // 2

    def has_edges(self, rows: Any, cols: Any) -> np.ndarray:
        """Whether there is an edge from rows[i] to cols[i], as an array of bool of shape (k,).

        rows, cols : integers of shape (k,)

        Raises ValueError for an end outside the vertices, and for lengths that differ; TypeError for what is no
        integer.
        """
        state = self._state
        found = state.has(edges.keys_of(*edges.pair(rows, cols), state.vertices))
        return np.asarray(found).view(np.bool_)

    def to_csr(self) -> csr_array:
        """The graph as a matrix: the base itself where nothing has changed, else a copy, kept until the next change."""
        return self._patched().to_csr()

    def _patched(self) -> Patched:
        return self._state.rows()

    # Changes

    def add_edges(self, rows: Any, cols: Any, values: Any = None) -> None:
        """Adds an edge from rows[i] to cols[i] for each i; one that is there gets the new value, as in GraphBLAS's
        setElement, and without values 1 (NetworkX's `add_edge` without a weight keeps the old one). Of an edge that a
        batch has twice the last one counts.

        rows, cols : integers of shape (k,), vertices of the graph
        values : numbers of shape (k,), or one for all; 1 where it is None. They become the graph's type, as by astype.
            Of a pattern none are given.

        Raises ValueError, and changes nothing, for an end outside the vertices (`add_vertices` adds some), for lengths
        that differ, for values of a pattern, and where the graph is closed; TypeError for what is no integer or number,
        and for complex values of a graph that is not; OSError where the log cannot be written.
        """
        self.update(add=(rows, cols, values))

    def remove_edges(self, rows: Any, cols: Any, *, missing: str = "raise") -> int:
        """Removes the edge from rows[i] to cols[i] for each i, and returns how many were removed. One that is named
        twice is removed once.

        rows, cols : integers of shape (k,)
        missing : "raise" or "ignore"
            What becomes of edges that are not there: ValueError that names the first one, and nothing is removed; or
            they are left out of the count, as NetworkX's `remove_edges_from` does.

        Raises as `add_edges` does.
        """
        return self.update(remove=(rows, cols), missing=missing)

    def update(self, *, add: Any = None, remove: Any = None, missing: str = "raise") -> int:
        """Removes edges, then adds edges, in one step: whoever reads sees both or neither. Returns how many edges were
        removed.

        add : (rows, cols) or (rows, cols, values), optional; see `add_edges`
        remove : (rows, cols), optional; see `remove_edges`
        missing : "raise" or "ignore", as for `remove_edges`

        Raises as both do, and then has changed nothing.

        >>> import penstock as ps
        >>> G = ps.DynamicGraph(ps.csr_array(([True], ([0], [1])), shape=(3, 3)), directed=True)
        >>> G.update(remove=([0], [1]), add=([1], [2]))
        1
        >>> G.has_edges([0, 1], [1, 2])
        array([False,  True])
        """
        if missing not in ("raise", "ignore"):
            raise ValueError(f"missing={missing!r}: give 'raise' or 'ignore'")
        added = None if add is None else _added(add, self.dtype)
        gone = None if remove is None else edges.pair(*_parts(remove, "remove", (2,)))
        with self._changing():
            state, removed = self._state, 0
            delta = no_changes(state.base, state.vertices)
            how = (state.vertices, state.directed)
            if gone is not None:
                delta, removed = _removed(state, *gone, missing)
            if added is not None:
                delta = delta.merged(edges.changes(state.base, *added, *how, remove=False))
            if len(delta):
                grown, self._grown = self._grown, None  # found anew, unless all goes well
                self._apply(delta, state.vertices)
                if grown is not None and not removed:
                    if added is not None:
                        grown.unite(*added[:2])
                    self._grown = grown
        return removed

    def add_vertices(self, count: int) -> int:
        """Adds `count` vertices without edges, and returns the number of the first one. ValueError for a count below 0,
        or where there would be more than 2^31 - 1 vertices; TypeError for one that is no integer."""
        with self._changing():
            first = self._state.vertices
            self.resize(first + edges.number_of_vertices(count, "count", 0))
        return first

    def resize(self, vertices: int) -> None:
        """Makes the graph as many vertices large, by new ones without edges. ValueError where it has more: a part of it
        is `G.to_csr()[:n, :n]`."""
        with self._changing():
            state = self._state
            n = edges.number_of_vertices(vertices, "vertices", 0)
            if n < state.vertices:
                raise ValueError(
                    f"vertices={n}: the graph has {state.vertices}, and keeps them: a smaller one is "
                    f"ps.DynamicGraph(G.to_csr()[:{n}, :{n}])"
                )
            if n > state.vertices:
                grown, self._grown = self._grown, None
                self._apply(no_changes(state.base, n), n)
                if grown is not None:
                    grown.grow(n)
                    self._grown = grown

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._require_open()  # in a forked process a thread that is not there may have the lock
        with self._lock:
            self._require_open()
            yield

    def _apply(self, delta: Any, vertices: int) -> None:
        """In memory and in the log, or in neither: what can fail in memory is done before the log is written."""
        made = self._state.after(delta, vertices)
        if self._store is None:
            self._state = made
            return
        log = self._store.log
        begin = log.end
        try:
            log.append(delta, vertices)
        finally:  # also where an interrupt came when all was written
            if log.end != begin:
                self._state = made

    # Products and components

    def dot(
        self,
        x: Any,
        *,
        out: np.ndarray | None = None,
        alpha: complex | None = None,
        beta: complex | None = None,
        semiring: str = "plus_times",
    ) -> Any:
        """y = alpha G x + beta out, as `csr_array.dot`: the base's product, in which rows that changes touch are
        computed anew. Each y[i] is the sum over row i as it is now, so that what was removed leaves no trace, not even
        NaN. It differs from `G.to_csr() @ x` by rounding alone: the vector kernels may add up a row in another order,
        depending on the rows around it. Where sums are exact (min_plus, integers) the bits are the same."""
        if is_sparse(x):
            return self.to_csr().dot(x, out=out, alpha=alpha, beta=beta, semiring=semiring)
        return self._patched().dot(x, out, alpha, beta, semiring)

    def __matmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self.to_csr() @ x
        return self.dot(x) if may_be_dense(x) else NotImplemented

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return x @ self.to_csr()
        return from_left(self.T, x) if may_be_dense(x) else NotImplemented

    def components(self) -> tuple[int, np.ndarray]:
        """(count, labels) of the connected components, directions ignored, as `csgraph.connected_components` has them.

        The first call finds them. From then on added edges join them (union-find: Tarjan, van Leeuwen 1984), and a call
        costs a pass over the vertices. After edges were removed they are found anew.

        >>> import penstock as ps
        >>> G = ps.DynamicGraph(ps.csr_array(([True], ([0], [1])), shape=(4, 4)))
        >>> G.components()
        (3, array([0, 0, 1, 2], dtype=int32))
        >>> G.add_edges([3], [0])
        >>> G.components()
        (2, array([0, 0, 1, 0], dtype=int32))
        """
        with self._lock:
            if self._grown is None:
                count, labels = connected_components(self)
                self._grown = _core.GrowingComponents(labels)
                return count, labels
            found: tuple[int, np.ndarray] = self._grown.components()
            return found

    # The base

    def compact(self, *, background: bool = False) -> Any:
        """Makes a new base of the base and its changes, in the store where there is one.

        With `background` a thread does it, and the call returns a `concurrent.futures.Future` at once, that of the
        compaction at work where there is one; it cannot be cancelled. Meanwhile the graph is read and changed as
        ever: what is changed then becomes
        a change of the new base. An error (a full disk: OSError) leaves the graph as it is, and is raised here or by
        `future.result()`. Where it came when the store was being replaced, and the disk does not say which one is
        there, the graph is read on, but every change raises RuntimeError until it is closed and opened again.

        The store is written beside the old one, then a log of what was changed meanwhile, and then it takes the old
        one's place in one step; each is on the disk before the next. Changes wait from the writing of that log until
        the
        old store's files are removed. Arrays that others have mapped live on. The new matrix is in memory as a whole
        while it is written. ValueError where the graph is closed.
        """
        background = flag(background, "background")
        work, started = Compaction(), False
        try:
            while (running := self._claim(work)) is not work:
                if background:
                    return running.future
                running.wait()
            if background:
                thread = threading.Thread(target=self._run, args=(work,), daemon=True)
                started = True
                thread.start()
                return work.future
            self._compact()
            self._end(work)
        except BaseException as error:
            if not started or work.begin():  # else the thread is at work, and ends it
                self._end(work, error)
            raise
        return None

    def _claim(self, work: Compaction) -> Compaction:
        """The compaction that goes on: `work`, unless there is one."""
        self._require_open()
        with self._lock:
            self._require_open()
            running = self._compacting
            if running is None or not running.goes_on:
                running = self._compacting = work
            return running

    def _run(self, work: Compaction) -> None:
        if not work.begin():
            return
        try:
            self._compact()
        except BaseException as error:
            self._end(work, error)
        else:
            self._end(work)

    def _end(self, work: Compaction, error: BaseException | None = None) -> None:
        if self._compacting is work:
            self._compacting = None
        work.end(error)

    def _compact(self) -> None:
        with self._lock:
            state = self._state = self._state.sealed()
            mark = 0 if self._store is None else self._store.log.end
        base = state.rows().to_csr()
        if base is state.base:
            return
        if self._store is not None:
            with ExitStack() as held:  # from the new log to the new store nothing changes
                self._store.replace(base, mark, lambda: held.enter_context(self._lock))
            # What is changed from here on is in the new log, and a change of the old base until there is the new one.
            base = as_base(self._store.mapped(), True)
        with self._lock:
            self._state = self._state.on(base)

    def _require_open(self) -> None:
        if self._closed:
            raise ValueError("the graph is closed: open it again with ps.DynamicGraph.open")
        if self._store is not None:
            self._store.require_usable()

    def close(self) -> None:
        """Waits for a compaction, and lets go of the store; it is read on, but not changed, from the beginning of the
        call. Of a graph without a store nothing else happens."""
        if self._store is not None and self._store.is_forked:
            self._closed = True
            self._store.close()
            return
        with self._lock:
            self._closed = True  # no other compaction begins
            running = self._compacting
        if running is not None:
            running.wait()
        if self._store is not None:
            with self._lock:
                self._store.close()

    def __enter__(self) -> DynamicGraph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parts(given: Any, name: str, lengths: tuple[int, ...]) -> tuple[Any, ...]:
    if not isinstance(given, (tuple, list)) or len(given) not in lengths:
        more = " or (rows, cols, values)" if 3 in lengths else ""
        what = f" and length {len(given)}" if isinstance(given, (tuple, list)) else ""
        raise TypeError(f"{name} is of type {type(given).__name__}{what}: give (rows, cols){more}")
    return tuple(given)


def _added(add: Any, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    rows, cols, *values = _parts(add, "add", (2, 3))
    u, v = edges.pair(rows, cols)
    return u, v, edges.weights(values[0] if values else None, u.size, dtype)


def _removed(state: State, u: np.ndarray, v: np.ndarray, missing: str) -> tuple[Any, int]:
    """The core's changes that remove edges which are there, and the number of these edges."""
    delta = edges.changes(state.base, u, v, None, state.vertices, state.directed, remove=True)
    keys, _ = delta.to_arrays()
    there = state.has(keys)
    if not there.all():
        if missing == "raise":
            row, col = edges.ends_of(keys[there == 0])
            more = (row.size if state.directed else int((row <= col).sum())) - 1
            others = f", nor {more} other{'s' if more > 1 else ''}" if more else ""
            raise ValueError(
                f"there is no edge from {row[0]} to {col[0]}{others}: missing='ignore' leaves such edges out"
            )
        delta = delta.filtered(there)
        keys = keys[there != 0]
    if state.directed:
        return delta, len(delta)
    row, col = edges.ends_of(keys)
    return delta, int((row <= col).sum())
