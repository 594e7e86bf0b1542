"""Breadth-first search, components and core numbers against SciPy, NetworkX and brute force."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scipy_graph
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._matrix.derived import Derived

import penstock as ps
from penstock import csgraph

FAR = 10**9


@st.composite
def graphs(draw, most=70):
    """(rows, cols, n): any edges, self loops and duplicates among them, perhaps none."""
    n = draw(st.integers(1, most))
    some = st.lists(st.integers(0, n - 1), min_size=0, max_size=3 * n)
    rows = np.array(draw(some), dtype=np.int64)
    cols = np.resize(np.array(draw(some) or [0], dtype=np.int64), rows.size)
    if draw(st.booleans()):
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return rows, cols, n


def stored(rows, cols, n):
    """A pattern that keeps duplicates and the order of entries."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return ps.csr_array._from_parts(n, n, indptr, cols[order].astype(np.int32), None)


def scipy_of(rows, cols, n):
    return sp.coo_array((np.ones(rows.size), (rows, cols)), shape=(n, n)).tocsr()


def know_incoming(A):
    """As after many searches: edges into each vertex are formed at the next call."""
    A._derived.missed_edges = FAR
    return A


def expected_bfs(S, source):
    far = scipy_graph.dijkstra(S, indices=source, unweighted=True)
    levels = np.where(np.isinf(far), -1, far).astype(np.int32)
    rows, cols = S.nonzero()
    down = (levels[rows] >= 0) & (levels[cols] == levels[rows] + 1)
    best = np.full(S.shape[0], FAR)
    np.minimum.at(best, cols[down], rows[down])
    return levels, np.where(best == FAR, -9999, best)


def canonical(labels):
    """Numbered by the smallest vertex."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def check_everything(A, S):
    n = S.shape[0]
    for source in {0, n // 2, n - 1}:
        levels, best = expected_bfs(S, source)
        mine, predecessors = csgraph.bfs(A, source, return_predecessors=True)
        assert mine.dtype == predecessors.dtype == np.int32 and mine.flags.writeable
        np.testing.assert_array_equal(mine, levels)
        np.testing.assert_array_equal(predecessors, best)
        csgraph.verify_bfs(A, source, mine, predecessors)
    for connection in ("weak", "strong"):
        count, labels = csgraph.connected_components(A, connection=connection)
        wanted, theirs = scipy_graph.connected_components(S, connection=connection)
        assert count == wanted and labels.dtype == np.int32
        np.testing.assert_array_equal(canonical(labels), canonical(theirs))
        csgraph.verify_components(A, count, labels, connection)
        if connection == "weak":
            np.testing.assert_array_equal(labels, theirs)
        assert count == csgraph.connected_components(A, True, connection, return_labels=False)
    count, labels = csgraph.strongly_connected_components(A)
    np.testing.assert_array_equal(labels, canonical(theirs))
    csgraph.verify_components(A, count, labels, "strong")
    cores = csgraph.core_number(A)
    csgraph.verify_core_number(A, cores)
    np.testing.assert_array_equal(cores, peeled(S))


def peeled(S):
    """Core numbers by taking away the vertex of least degree, one by one."""
    near = [set() for _ in range(S.shape[0])]
    for u, v in zip(*(i.tolist() for i in S.nonzero()), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    cores, left, k = np.zeros(S.shape[0], dtype=int), set(range(S.shape[0])), 0
    while left:
        v = min(left, key=lambda u: len(near[u]))
        k = max(k, len(near[v]))
        cores[v] = k
        left.remove(v)
        for u in near[v]:
            near[u].discard(v)
    return cores


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_small_graphs(graph):
    check_everything(stored(*graph), scipy_of(*graph))


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_small_graphs_with_incoming_edges(graph):
    check_everything(know_incoming(stored(*graph)), scipy_of(*graph))


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_undirected(graph):
    A, S = stored(*graph), scipy_of(*graph)
    both = (S + S.T).tocsr()
    levels, best = expected_bfs(both, 0)
    mine = csgraph.bfs(A, 0, directed=False, return_predecessors=True)
    np.testing.assert_array_equal(mine, (levels, best))
    for connection in ("weak", "strong"):
        count, labels = csgraph.connected_components(A, directed=False, connection=connection)
        assert count == scipy_graph.connected_components(both, directed=False)[0]
        csgraph.verify_components(A, count, labels)


@given(graphs(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_order_is_scipys(graph, directed):
    S = scipy_of(*graph)
    for start in {0, graph[2] - 1}:
        mine = csgraph.breadth_first_order(ps.csr_array(S), start, directed=directed)
        theirs = scipy_graph.breadth_first_order(S, start, directed=directed)
        for m, t in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(m, t)
        alone = csgraph.breadth_first_order(S, start, directed, return_predecessors=False)
        np.testing.assert_array_equal(alone, theirs[0])


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_strong_labels_are_scipys(graph, random):
    """Number for number, in whatever order rows are stored, and for edges that are known both ways."""
    S = scipy_of(*graph)  # without duplicates: some make SciPy 1.17 run for ever
    for row in range(S.shape[0]):
        some = slice(S.indptr[row], S.indptr[row + 1])
        S.indices[some] = random.sample(S.indices[some].tolist(), S.indices[some].size)
    S = sp.csr_array((S.data, S.indices, S.indptr), shape=S.shape)
    for A in (S, ps.csr_array(S), know_incoming(ps.csr_array(S))):
        count, labels = csgraph.connected_components(A, connection="strong")
        wanted, theirs = scipy_graph.connected_components(S, connection="strong")
        assert count == wanted
        np.testing.assert_array_equal(labels, theirs)


def relabelled(A, seed):
    """The same graph, its vertices shuffled."""
    new = np.random.default_rng(seed).permutation(A.shape[0])
    coo = A.to_scipy().tocoo()
    return ps.csr_array(sp.coo_array((coo.data, (new[coo.row], new[coo.col])), shape=A.shape))


def halves(A):
    """One direction of about half the edges, both of the others."""
    coo = A.to_scipy().tocoo()
    keep = (coo.row < coo.col) | ((coo.row + coo.col) % 2 == 0)
    return ps.csr_array(
        sp.coo_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=A.shape)
    )


BIG = {
    "rmat": lambda: ps.generate.rmat(13, seed=1),
    "uniform": lambda: ps.generate.uniform(1 << 14, None, 8, dtype=bool, seed=1),
    "road": lambda: ps.generate.road_grid(150, 150, dtype=bool, seed=1),
    "shuffled road": lambda: relabelled(ps.generate.road_grid(100, 100, dtype=bool, seed=1), 1),
    "sparse": lambda: ps.generate.uniform(30_000, None, 0.6, dtype=bool, seed=2),
    "sparse directed": lambda: ps.generate.uniform(30_000, None, 1.5, dtype=bool, seed=2),
    "half directed": lambda: halves(ps.generate.rmat(13, seed=2)),
    "star": lambda: star(40_000),
    "path": lambda: path(20_000),
    "clusters": lambda: clusters(),
}


def star(n):
    """A hub whose row is longer than what one thread takes at once, and tails behind some rays."""
    hub, rays = np.zeros(n // 2, dtype=int), np.arange(1, n // 2 + 1)
    rows = np.concatenate([hub, rays, rays[: n // 4]])
    cols = np.concatenate([rays, hub, rays[: n // 4] + n // 2 - 1])
    return ps.csr_array(scipy_of(rows, cols, n))


def path(n):
    return ps.csr_array(scipy_of(np.arange(n - 1), np.arange(1, n), n))


def clusters():
    """Cliques in a ring: strong components of many sizes, core numbers of many."""
    rows, cols, first = [], [], 0
    for size in list(range(1, 60)) * 2:
        members = np.arange(first, first + size)
        rows.append(np.repeat(members, size))
        cols.append(np.tile(members, size))
        rows.append([first])
        cols.append([first + size])
        first += size
    return ps.csr_array(scipy_of(np.concatenate(rows), np.concatenate(cols), first + 1))


@pytest.fixture
def threads():
    before = ps.num_threads()
    yield ps.set_num_threads
    ps.set_num_threads(before)


@pytest.mark.parametrize("name", BIG)
def test_any_number_of_threads_gives_the_same(name, threads):
    A = BIG[name]()
    S = A.to_scipy().astype(float)
    sources = np.random.default_rng(0).choice(np.flatnonzero(np.diff(A.indptr)), 3).tolist()
    expected = None
    for count in (1, 2, 4):
        threads(count)
        for B in (A.copy(), know_incoming(A.copy())):
            got = [csgraph.bfs(B, s, return_predecessors=True) for s in sources]
            got.append(csgraph.connected_components(B))
            got.append(csgraph.strongly_connected_components(B))
            got.append((0, csgraph.core_number(B)))
            if expected is None:
                expected = got
                for s, (levels, tree) in zip(sources, got, strict=False):
                    wanted, best = expected_bfs(S, s)
                    np.testing.assert_array_equal(levels, wanted)
                    np.testing.assert_array_equal(tree, best)
                for connection, (k, labels) in zip(("weak", "strong"), got[3:5], strict=True):
                    n, theirs = scipy_graph.connected_components(S, connection=connection)
                    assert k == n
                    np.testing.assert_array_equal(labels, canonical(theirs))
                    csgraph.verify_components(A, k, labels, connection)
                csgraph.verify_core_number(A, got[5][1])
            for g, e in zip(got, expected, strict=True):
                np.testing.assert_array_equal(g[0], e[0])
                np.testing.assert_array_equal(g[1], e[1])


def test_incoming_edges_are_formed_when_missed():
    A = ps.generate.rmat(12, seed=3).copy()  # which does not know that it is symmetric
    assert csgraph.bfs(A, 0).size and A._derived.transpose is None
    source = int(np.argmax(np.diff(A.indptr)))
    wanted = csgraph.bfs(A, source)
    for _ in range(10):
        np.testing.assert_array_equal(csgraph.bfs(A, source), wanted)
    assert A._derived.symmetric_pattern is True
    road = ps.generate.road_grid(60, 60, dtype=bool, seed=1).copy()
    for _ in range(10):
        csgraph.bfs(road, 0)
    assert road._derived.symmetric_pattern is None  # nothing would have gained from it


def test_generated_graphs_know_that_they_are_symmetric():
    made = {
        "rmat": ps.generate.rmat(8, seed=1),
        "bter": ps.generate.bter(8, seed=1),
        "road": ps.generate.road_grid(9, 7, seed=1),
        "laplacian": ps.generate.laplacian((4, 3)),
    }
    for name, A in made.items():
        S = A.to_scipy().astype(bool)
        assert A._derived.symmetric_pattern and (S != S.T).nnz == 0, name
    assert ps.generate.rmat(8, undirected=False)._derived == Derived()


def test_core_numbers_are_networkxs():
    nx = pytest.importorskip("networkx")
    A = ps.generate.rmat(10, seed=5)
    g = nx.from_scipy_sparse_array(A.to_scipy())
    wanted = nx.core_number(g)
    np.testing.assert_array_equal(csgraph.core_number(A), [wanted[v] for v in range(1024)])


def test_value_types_do_not_matter():
    S = ps.generate.uniform(300, None, 3, seed=1).copy().to_scipy().copy()
    S.data[:5] = 0  # explicit zeros are edges
    results = [
        csgraph.bfs(ps.csr_array((S.data.astype(t), S.indices, S.indptr), shape=S.shape), 0)
        for t in (np.float32, np.float64, np.complex64, np.complex128)
    ]
    for r in results:
        np.testing.assert_array_equal(r, results[0])
    np.testing.assert_array_equal(csgraph.bfs(S, 0), results[0])  # what csr_array takes


def test_one_vertex_and_none():
    one = ps.csr_array((1, 1))
    assert csgraph.bfs(one, 0).tolist() == [0]
    assert csgraph.core_number(one).tolist() == [0]
    assert csgraph.connected_components(one)[1].tolist() == [0]
    none = ps.csr_array((0, 0))
    for connection in ("weak", "strong"):
        count, labels = csgraph.connected_components(none, connection=connection)
        assert count == 0 and labels.size == 0
    assert csgraph.core_number(none).size == 0
    with pytest.raises(ValueError, match="source=0 is outside a graph of 0 vertices"):
        csgraph.bfs(none, 0)


def test_bad_arguments():
    A = ps.csr_array((3, 4))
    for f in (csgraph.bfs, csgraph.connected_components, csgraph.core_number):
        with pytest.raises(ValueError, match="square.*3 x 4"):
            f(A)
    square = ps.csr_array((3, 3))
    with pytest.raises(ValueError, match="source=3"):
        csgraph.bfs(square, 3)
    with pytest.raises(ValueError, match="i_start=-1"):
        csgraph.breadth_first_order(square, -1)
    with pytest.raises(TypeError, match=r"source=0\.5"):
        csgraph.bfs(square, 0.5)
    with pytest.raises(ValueError, match="'both' is neither"):
        csgraph.connected_components(square, connection="both")
    with pytest.raises(TypeError, match="levels must be integers"):
        csgraph.verify_bfs(square, 0, [0.5, 1, 2])
    with pytest.raises(ValueError, match="2 levels for a graph of 3"):
        csgraph.verify_bfs(square, 0, [0, 1])


def test_the_verifiers_catch_every_corruption():
    A = ps.generate.rmat(8, seed=2)
    n, rng = A.shape[0], np.random.default_rng(0)
    source = int(np.argmax(np.diff(A.indptr)))
    levels, tree = csgraph.bfs(A, source, return_predecessors=True)
    count, labels = csgraph.connected_components(A)
    cores = csgraph.core_number(A)
    for v in rng.choice(n, 100, replace=False):
        for wrong in (levels[v] + 1, levels[v] - 1, -1, 0, 7):
            if wrong != levels[v]:
                with pytest.raises(ValueError, match="^bfs"):
                    csgraph.verify_bfs(A, source, changed(levels, v, wrong))
        row = A.indices[A.indptr[v] : A.indptr[v + 1]]
        right = set(row[levels[row] == levels[v] - 1].tolist()) if levels[v] > 0 else {-9999}
        for wrong in {-9999, 0, v, n, int(rng.integers(n))} - right:
            with pytest.raises(ValueError, match="^bfs: vertex"):
                csgraph.verify_bfs(A, source, levels, changed(tree, v, wrong))
        for wrong in {0, 1, count, labels[v] + 1} - {int(labels[v])}:
            with pytest.raises(ValueError, match="components"):
                csgraph.verify_components(A, count, changed(labels, v, wrong))
            with pytest.raises(ValueError, match="components"):
                csgraph.verify_components(A, count, changed(labels, v, wrong), "strong")
        for wrong in {cores[v] + 1, cores[v] - 1, 0} - {cores[v]}:
            with pytest.raises(ValueError, match=f"core numbers: vertex {v} |core numbers"):
                csgraph.verify_core_number(A, changed(cores, v, wrong))


def changed(a, i, value):
    a = a.copy()
    a[i] = value
    return a


def test_the_verifiers_catch_split_and_joined_components():
    A = ps.csr_array(scipy_of(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 4]), 5))
    csgraph.verify_components(A, 2, [0, 0, 1, 1, 1])
    csgraph.verify_components(A, 4, [0, 0, 1, 2, 3], "strong")
    for count, labels in ((1, [0] * 5), (3, [0, 0, 1, 1, 2]), (2, [1, 1, 0, 0, 0])):
        with pytest.raises(ValueError, match="components"):
            csgraph.verify_components(A, count, labels)
    with pytest.raises(ValueError, match="vertex 1 is not reached"):
        csgraph.verify_components(
            ps.csr_array(scipy_of(np.array([1, 2]), np.array([0, 1]), 3)), 1, [0, 0, 0], "strong"
        )
    with pytest.raises(ValueError, match="vertex 1 does not reach"):
        csgraph.verify_components(path(3), 1, [0, 0, 0], "strong")
    with pytest.raises(ValueError, match="cycle"):
        csgraph.verify_components(A, 5, [0, 1, 2, 3, 4], "strong")


@pytest.mark.parametrize("name", ["cnr-2000.mtx.gz", "road-moscow.mtx.gz", "wiki-Vote.txt.gz"])
def test_real_graphs(name):
    A = ps.load(real_file(name))
    source = int(np.argmax(np.diff(A.indptr)))
    for _ in range(2):
        csgraph.verify_bfs(A, source, *csgraph.bfs(A, source, return_predecessors=True))
        csgraph.verify_components(A, *csgraph.connected_components(A))
        strong = csgraph.strongly_connected_components(A)
        csgraph.verify_components(A, *strong, "strong")
        know_incoming(A)
    csgraph.verify_core_number(A, csgraph.core_number(A))


def test_many_threads_search_one_graph():
    from concurrent.futures import ThreadPoolExecutor

    A = ps.generate.rmat(12, seed=7)
    A._derived.missed_edges = FAR
    sources = np.flatnonzero(np.diff(A.indptr))[:24].tolist()
    wanted = [csgraph.bfs(A.copy(), s) for s in sources]
    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(lambda s: csgraph.bfs(A, s), sources * 3))
        parts = list(pool.map(lambda _: csgraph.connected_components(A)[1], range(12)))
    for g, w in zip(got, wanted * 3, strict=True):
        np.testing.assert_array_equal(g, w)
    for p in parts:
        np.testing.assert_array_equal(p, parts[0])


INTERRUPTED = """
import sys, numpy as np, penstock as ps
A = ps.generate.road_grid(1500, 1500, dtype=bool, seed=1)
print("ready", flush=True)
try:
    while True:
        ps.csgraph.bfs(A, 0, return_predecessors=True)
        ps.csgraph.strongly_connected_components(A)
        ps.csgraph.core_number(A)
except KeyboardInterrupt:
    assert ps.csgraph.bfs(A, 0)[0] == 0
    print("stopped", flush=True)
"""


@pytest.mark.timeout(60)
def test_ctrl_c_stops_a_traversal():
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, _ = child.communicate(timeout=30)
    assert out == "stopped\n" and child.returncode == 0
    assert time.monotonic() - start < 10


def test_no_module_hides_a_function():
    """A file named as a function would replace it when another file imports from it."""
    program = (
        "import pkgutil, penstock.csgraph as g\n"
        "names = {m.name for m in pkgutil.iter_modules(g.__path__)}\n"
        "assert not names & set(g.__all__), names & set(g.__all__)\n"
        "g.connected_components, g.core_number\n"
        "assert set(g.__all__) == set(g._lazy) and all(hasattr(g, name) for name in g.__all__)\n"
        "assert callable(g.bfs)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
