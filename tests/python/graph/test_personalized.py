"""Personalised PageRank of many vertices at once against NetworkX, its own verifier and one at a time."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from penstock.csgraph import page_rank

import penstock as ps
from penstock import _core


def graph_of(kind, seed):
    if kind == "road":
        return ps.generate.road_grid(40, 30, dtype=bool, seed=seed)
    dtype = {"pattern": bool, "directed": bool, "float": np.float32, "double": np.float64}[kind]
    return ps.generate.rmat(9, 4, undirected=kind == "pattern", dtype=dtype, seed=seed)


KINDS = ["pattern", "directed", "float", "double", "road"]


@pytest.mark.parametrize("kind", KINDS)
def test_as_networkx(kind):
    A = graph_of(kind, 3)
    n = A.shape[0]
    G = nx.DiGraph()
    G.add_nodes_from(range(n))
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    for u, v, w in zip(rows.tolist(), A.indices.tolist(), A.data.tolist(), strict=True):
        G.add_edge(u, v, weight=float(w) + (G[u][v]["weight"] if G.has_edge(u, v) else 0.0))
    dangling = int(np.flatnonzero(np.diff(A.indptr) == 0)[0]) if kind != "road" else 1
    sources = [0, 5, dangling, 0, n - 1]
    ranks = ps.csgraph.personalized_pagerank(A, sources, tol=1e-12, max_iter=1000)
    assert ranks.shape == (n, 5) and ranks.dtype == np.float64
    for j, s in enumerate(sources):
        right = nx.pagerank(G, personalization={s: 1}, tol=1e-14, max_iter=1000)
        np.testing.assert_allclose(ranks[:, j], [right[v] for v in range(n)], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(ranks[:, 0], ranks[:, 3])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [True, False])
def test_as_one_at_a_time_for_any_threads(kind, weighted):
    A = graph_of(kind, 4)
    sources = np.random.default_rng(1).integers(0, A.shape[0], 64)
    ps.set_num_threads(1)
    ranks, info = ps.csgraph.personalized_pagerank(
        A, sources, tol=1e-8, max_iter=300, weighted=weighted, return_info=True
    )
    assert info["converged"] and info["change"] < 1e-8 and info["vectors"] == "cpu"
    for j in (0, 31, 63):
        given = {int(sources[j]): 1}
        alone = ps.csgraph.pagerank(
            A, personalization=given, tol=1e-8, max_iter=300, weighted=weighted
        )
        assert np.abs(ranks[:, j] - alone).sum() < 2e-7
        ps.csgraph.verify_pagerank(
            A, ranks[:, j], personalization=given, tol=1.1e-8, weighted=weighted
        )
    ps.set_num_threads(4)
    again = ps.csgraph.personalized_pagerank(A, sources, tol=1e-8, max_iter=300, weighted=weighted)
    np.testing.assert_array_equal(ranks, again)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99])
def test_any_alpha(alpha):
    A = graph_of("pattern", 5)
    ranks = ps.csgraph.personalized_pagerank(A, [1, 2], alpha, tol=1e-9, max_iter=5000)
    for j, s in enumerate((1, 2)):
        ps.csgraph.verify_pagerank(A, ranks[:, j], alpha, personalization={s: 1}, tol=1.1e-9)


def test_the_smallest():
    none = ps.csr_array((np.zeros(0, bool), (np.zeros(0, int), np.zeros(0, int))), shape=(3, 3))
    np.testing.assert_array_equal(
        ps.csgraph.personalized_pagerank(none, [2, 0]), np.eye(3)[:, [2, 0]]
    )
    assert ps.csgraph.personalized_pagerank(none, []).shape == (3, 0)


def test_what_is_refused():
    A = graph_of("pattern", 6)
    with pytest.raises(ValueError, match=r"sources\[1\]=512 is outside a graph of 512 vertices"):
        ps.csgraph.personalized_pagerank(A, [0, 512])
    with pytest.raises(TypeError, match="sources must be integers"):
        ps.csgraph.personalized_pagerank(A, [0.5])
    with pytest.raises(ValueError, match="alpha=2"):
        ps.csgraph.personalized_pagerank(A, [0], 2)
    with pytest.raises(ValueError, match="max_iter=-1"):
        ps.csgraph.personalized_pagerank(A, [0], max_iter=-1)
    with pytest.raises(RuntimeError, match="after max_iter=1 steps"):
        ps.csgraph.personalized_pagerank(A, [0], max_iter=1)
    ranks, info = ps.csgraph.personalized_pagerank(A, [0], max_iter=0, return_info=True)
    assert not info["converged"] and ranks[0, 0] == 1


def on_device(A, sources, alpha=0.85, tol=1e-9, steps=1000, room=1 << 30):
    """What a GPU computes, by the CPU as the device."""
    into, out, _ = page_rank._into(A)
    some = np.asarray(sources, np.int32)
    how = (into._core, out, some, alpha, tol, steps, -1, room)
    ranks, iterations, change, converged = _core.personalized_pagerank_on(*how)
    return ranks.reshape(A.shape[0], some.size), iterations, change, converged


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_device_as_on_the_cpu(kind):
    A = graph_of(kind, 7)
    n = A.shape[0]
    dangling = int(np.flatnonzero(np.diff(A.indptr) == 0)[0]) if kind != "road" else 1
    sources = [0, 5, dangling, 0, n - 1]
    ranks, _, change, converged = on_device(A, sources)
    assert converged and change < 1e-9
    expected = ps.csgraph.personalized_pagerank(A, sources, tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(ranks, expected, rtol=0, atol=2e-8)
    for j, s in enumerate(sources):
        ps.csgraph.verify_pagerank(A, ranks[:, j], personalization={s: 1}, tol=1.1e-9)
    np.testing.assert_array_equal(ranks[:, 0], ranks[:, 3])


def test_on_a_device_in_groups():
    A = ps.generate.rmat(12, 8, seed=8)  # of more rows than one sum has
    sources = np.random.default_rng(2).integers(0, A.shape[0], 7)
    together, *_ = on_device(A, sources)
    groups, *_ = on_device(A, sources, room=3 * 24 * A.shape[0])
    np.testing.assert_allclose(groups, together, rtol=0, atol=2e-8)
    with pytest.raises(MemoryError, match="PageRank of one source takes"):
        on_device(A, sources, room=1000)
    _, iterations, _, converged = on_device(A, [3], steps=2)
    assert iterations == 2 and not converged
    assert on_device(A, [])[0].shape == (A.shape[0], 0)


def test_a_gpu_is_asked_for_in_vain():
    A = graph_of("pattern", 9)
    with pytest.raises(ValueError, match="GPUs? (is|are) usable"):
        ps.csgraph.personalized_pagerank(A, [0], device=1000)
    np.testing.assert_array_equal(
        ps.csgraph.personalized_pagerank(A, [0], device="cpu"),
        ps.csgraph.personalized_pagerank(A, [0]),
    )


def test_no_steps_are_said_to_be_none():
    A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    with pytest.raises(RuntimeError, match="personalized_pagerank: max_iter=0 allows no step"):
        ps.csgraph.personalized_pagerank(A, [0], max_iter=0)
    ranks, info = ps.csgraph.personalized_pagerank(A, [0], max_iter=0, return_info=True)
    assert info["change"] == np.inf and not info["converged"] and np.isclose(ranks.sum(), 1)
    with pytest.raises(ValueError, match="sources has 1 masked entries"):
        ps.csgraph.personalized_pagerank(A, np.ma.array([0, 1], mask=[False, True]))


@pytest.mark.parametrize("sources", [1, 7, 8, 17, 50, 70])
@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_any_number_of_sources_of_a_graph_with_hubs(sources, tol):
    """Rows of hubs are added up in pieces; columns come in groups of 16, and 64 of them at a time."""
    rng = np.random.default_rng(4)
    n = 30_000
    u = np.concatenate((np.zeros(n, int), rng.integers(0, n, n)))
    v = np.concatenate((np.arange(n), rng.integers(0, n, n)))
    keep = rng.random(u.size) < 0.9  # some vertices have edges in one direction alone, some none
    back = keep & (rng.random(u.size) < 0.5)
    ends = np.concatenate((u[keep], v[back])), np.concatenate((v[keep], u[back]))
    A = ps.csr_array(sp.csr_array((np.ones(ends[0].size, bool), ends), shape=(n, n)))
    some = rng.integers(0, n, sources)
    ranks, info = ps.csgraph.personalized_pagerank(A, some, tol=tol, max_iter=500, return_info=True)
    assert info["converged"] and info["change"] < tol
    np.testing.assert_allclose(ranks.sum(axis=0), 1, rtol=1e-6)
    for j, s in enumerate(some.tolist()):
        ps.csgraph.verify_pagerank(A, ranks[:, j], personalization={s: 1}, tol=tol)
