"""Graphs that are shared out among threads, against one process and its verifiers."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

RANKS = [1, 2, 3, 4, 8]


def small_world(undirected=True, seed=1, scale=9):
    return ps.generate.rmat(scale, edge_factor=6, undirected=undirected, seed=seed)


def road():
    return ps.generate.road_grid(25, 20, dtype=bool, seed=2)


def weighted(seed=4):
    rng = np.random.default_rng(seed)
    row, col = rng.integers(0, 120, (2, 900))
    row[row % 7 == 3] = 0  # some vertices dangle
    return ps.csr_array((rng.random(900), (row, col)), shape=(120, 120))


GRAPHS = {
    "small world": small_world(),
    "directed": small_world(undirected=False),
    "road": road(),
    "weighted": weighted(),
    "no edges": ps.csr_array((6, 6)),
    "one vertex": ps.csr_array(np.ones((1, 1))),
}


def everywhere(A, f, ranks, partition="balanced"):
    """f(D) on every rank: (the global result of each array, in the order of vertices; whatever else, of each rank)."""

    def play(comm):
        D = ps.dist.csr_array(A, comm, partition=partition)
        got = f(D)
        got = got if isinstance(got, tuple) else (got,)
        return D.rows, got

    parts = ps.dist.run(play, ranks)
    rows = np.concatenate([r for r, _ in parts])
    assert np.array_equal(np.sort(rows), np.arange(A.shape[0]))
    out = []
    for k, first in enumerate(parts[0][1]):
        values = [got[k] for _, got in parts]
        if not isinstance(first, np.ndarray):
            out.append(values)
            continue
        whole = np.empty(A.shape[0], first.dtype)
        whole[rows] = np.concatenate(values)
        out.append(whole)
    return out


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", GRAPHS)
def test_search_is_that_of_one_process(name, ranks):
    A = GRAPHS[name]
    source = A.shape[0] // 2
    expected = ps.csgraph.bfs(A, source, return_predecessors=True, device="cpu")
    for partition in ("balanced", "grid", "bins"):
        for direction in ("auto", "top_down", "bottom_up"):
            levels, predecessors, info = everywhere(
                A,
                lambda D, d=direction: ps.dist.csgraph.bfs(
                    D, source, return_predecessors=True, direction=d, return_info=True
                ),
                ranks,
                partition,
            )
            assert levels.dtype == np.int32 and predecessors.dtype == np.int64
            ps.csgraph.verify_bfs(A, source, levels, predecessors)
            assert np.array_equal(levels, expected[0]), (partition, direction)
            assert np.array_equal(predecessors, expected[1]), (partition, direction)
            assert {i["reached"] for i in info} == {int((levels >= 0).sum())}
            assert {i["depth"] for i in info} == {int(levels.max())}
            if direction != "auto":
                steps = 0 if direction == "top_down" else int(levels.max()) + 1
                assert {i["bottom_up"] for i in info} == {steps}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_graphs_with_owners_anywhere(data):
    n = data.draw(st.integers(1, 12), "vertices")
    ranks = data.draw(st.integers(1, 4), "ranks")
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=30), "edges")
    row, col = np.array(edges, np.int64).reshape(-1, 2).T
    A = ps.csr_array((np.ones(len(row), bool), (row, col)), shape=(n, n))
    owners = data.draw(st.lists(st.integers(0, ranks - 1), min_size=n, max_size=n), "owners")
    partition = data.draw(st.sampled_from([np.array(owners), "grid", "bins"]), "partition")
    direction = data.draw(st.sampled_from(["auto", "top_down", "bottom_up"]), "direction")
    source = data.draw(vertex, "source")

    def play(D):
        graph = ps.dist.csgraph
        tree = graph.bfs(D, source, return_predecessors=True, direction=direction)
        return *tree, graph.connected_components(D)[1], graph.pagerank(D, tol=1e-9, max_iter=500)

    levels, predecessors, labels, found = everywhere(A, play, ranks, partition)
    expected = ps.csgraph.bfs(A, source, return_predecessors=True)
    assert np.array_equal(levels, expected[0])
    assert np.array_equal(predecessors, expected[1])
    assert np.array_equal(labels, ps.csgraph.connected_components(A)[1])
    ps.csgraph.verify_pagerank(A, found, tol=2e-9)


def test_search_of_a_small_world_turns_and_sends_bitmaps():
    A = small_world(scale=14)
    hub = int(np.argmax(np.diff(A.indptr)))
    up, info_up = everywhere(A, lambda D: ps.dist.csgraph.bfs(D, hub, return_info=True), 3)
    down, info_down = everywhere(
        A, lambda D: ps.dist.csgraph.bfs(D, hub, direction="top_down", return_info=True), 3
    )
    assert np.array_equal(up, down)
    assert all(0 < i["bottom_up"] <= i["depth"] for i in info_up)
    assert all(i["bitmaps"] > 0 for i in info_up + info_down)
    # 4 bytes a vertex and partner would be more than what bitmaps take
    assert sum(i["bytes"] for i in info_up) < 4 * 2 * A.shape[0]


def test_search_of_a_road_sends_one_message_a_partner_and_level():
    A = road()

    def play(comm):
        D = ps.dist.csr_array(A, comm, partition="contiguous")
        _, info = ps.dist.csgraph.bfs(D, 0, return_info=True)
        return info

    for info in ps.dist.run(play, 2):
        assert info["messages"] == info["depth"] + 1
        assert info["bytes"] == 64 * info["messages"]


def test_directed_graphs_are_turned_around_once_they_were_missed():
    A = small_world(undirected=False, scale=13)

    def play(comm):
        D = ps.dist.csr_array(A, comm)
        source = int(np.argmax(np.diff(A.indptr)))
        levels, first = ps.dist.csgraph.bfs(D, source, return_info=True)
        for _ in range(30):
            again, info = ps.dist.csgraph.bfs(D, source, return_info=True)
            assert np.array_equal(levels, again)
            if info["bottom_up"]:
                break
        return first["bottom_up"], info["bottom_up"], info["bytes"]

    for first, last, sent in ps.dist.run(play, 2):
        assert first == 0 < last
        assert sent > 0


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", GRAPHS)
def test_components_are_those_of_one_process(name, ranks):
    A = GRAPHS[name]
    count, labels = ps.csgraph.connected_components(A, device="cpu")
    for partition in ("balanced", "grid", "bins"):
        counts, got = everywhere(A, ps.dist.csgraph.connected_components, ranks, partition)
        assert counts == [count] * ranks
        assert got.dtype == np.int64
        ps.csgraph.verify_components(A, counts[0], got)
        assert np.array_equal(got, labels)


def test_count_of_components_alone():
    assert everywhere(
        road(), lambda D: ps.dist.csgraph.connected_components(D, return_labels=False), 2
    ) == [[ps.csgraph.connected_components(road(), return_labels=False)] * 2]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", GRAPHS)
def test_pagerank_agrees_with_one_process(name, ranks):
    A = GRAPHS[name]
    expected, info = ps.csgraph.pagerank(A, tol=1e-10, max_iter=500, return_info=True)
    for partition in ("balanced", "grid"):
        ranks_got, told = everywhere(
            A,
            lambda D: ps.dist.csgraph.pagerank(D, tol=1e-10, max_iter=500, return_info=True),
            ranks,
            partition,
        )
        ps.csgraph.verify_pagerank(A, ranks_got, tol=2e-10)
        np.testing.assert_allclose(ranks_got, expected, rtol=0, atol=1e-10)
        assert all(t == told[0] and t["converged"] for t in told)
        assert abs(told[0]["iterations"] - info["iterations"]) <= 2  # rounding may move the end


@pytest.mark.parametrize("ranks", [1, 3])
def test_pagerank_options(ranks):
    A = weighted()
    jumps = {3: 2.0, 50: 1.0}
    sinks = np.arange(1.0, 121.0)
    options = {"alpha": 0.7, "tol": 1e-10, "max_iter": 500}
    for weights in (True, False):
        start = ps.csgraph.pagerank(A, weighted=weights)
        expected = ps.csgraph.pagerank(
            A, personalization=jumps, dangling=sinks, weighted=weights, **options
        )

        def play(D, weights=weights, start=start):
            given = {
                "personalization": jumps,
                "dangling": sinks[D.rows],
                "weighted": weights,
                "alpha": 0.7,
            }
            got = ps.dist.csgraph.pagerank(
                D, nstart=start[D.rows], tol=1e-10, max_iter=500, **given
            )
            ps.dist.csgraph.verify_pagerank(D, got, tol=2e-10, **given)
            with pytest.raises(ValueError, match="add up to"):
                ps.dist.csgraph.verify_pagerank(D, got * 1.01, **given)
            return got

        (got,) = everywhere(A, play, ranks)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


def test_extrapolated_steps_are_those_of_one_process():
    A = road()
    _, info = ps.csgraph.pagerank(A, alpha=0.99, tol=1e-9, max_iter=5000, return_info=True)
    got, told = everywhere(
        A,
        lambda D: ps.dist.csgraph.pagerank(
            D, alpha=0.99, tol=1e-9, max_iter=5000, return_info=True
        ),
        3,
    )
    assert math.isclose(told[0]["iterations"], info["iterations"], rel_tol=0.05)
    ps.csgraph.verify_pagerank(A, got, alpha=0.99, tol=2e-9)


def test_pagerank_of_networkx_agrees():
    G = nx.gnp_random_graph(60, 0.08, seed=5, directed=True)
    A = ps.csr_array(nx.to_scipy_sparse_array(G, dtype=np.float64))
    (got,) = everywhere(A, lambda D: ps.dist.csgraph.pagerank(D, tol=1e-12, max_iter=500), 4)
    expected = nx.pagerank(G, tol=1e-12, max_iter=500)
    np.testing.assert_allclose(got, [expected[v] for v in range(60)], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda c, D: c.bfs(D, 500), ValueError, "source=500 is outside a graph of 500 vertices"),
        (lambda c, D: c.bfs(D, -1), ValueError, "source=-1"),
        (lambda c, D: c.bfs(D, 0.5), TypeError, "give an integer"),
        (lambda c, D: c.bfs(D, direction="sideways"), ValueError, "'top_down'"),
        (lambda c, D: c.pagerank(D, alpha=2), ValueError, "alpha=2"),
        (lambda c, D: c.pagerank(D, max_iter=-1), ValueError, "max_iter=-1"),
        (lambda c, D: c.pagerank(D, max_iter=1), RuntimeError, "after max_iter=1 steps"),
        (lambda c, D: c.pagerank(D, nstart={500: 1}), ValueError, "names vertex 500"),
        (lambda c, D: c.pagerank(D, dangling=np.ones(3)), ValueError, "owned here"),
        (lambda c, D: c.pagerank(D, nstart={0: -1.0}), ValueError, "-1"),
        (lambda c, D: c.pagerank(D, nstart={0: 0.0}), ValueError, "adds up to 0"),
    ],
)
def test_faults_are_named(call, error, match):
    A = road()
    with pytest.raises(error, match=match):
        ps.dist.run(lambda comm: call(ps.dist.csgraph, ps.dist.csr_array(A, comm)), 2)


def test_matrices_that_are_no_graphs():
    with pytest.raises(ValueError, match="bfs needs a square adjacency matrix, this one is 4 x 5"):
        ps.dist.run(
            lambda comm: ps.dist.csgraph.bfs(
                ps.dist.csr_array(ps.csr_array(np.ones((4, 5))), comm)
            ),
            2,
        )
    with pytest.raises(ValueError, match="vertex 1 has an edge of weight -1"):
        ps.dist.run(
            lambda comm: ps.dist.csgraph.pagerank(
                ps.dist.csr_array(ps.csr_array(np.array([[1.0, 0], [0, -1.0]])), comm)
            ),
            2,
        )
