"""Communities on a GPU: number by number what the CPU finds as the device, wherever the lists are."""

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.csgraph._graph import undirected as all_ways

import penstock as ps
from penstock import _core
from penstock import csgraph as cg

pytestmark = pytest.mark.gpu


def undirected(n, rows, cols, values=None):
    rows, cols = np.asarray(rows), np.asarray(cols)
    values = np.ones(rows.size) if values is None else np.asarray(values)
    loops = rows == cols
    both = (np.concatenate((rows, cols[~loops])), np.concatenate((cols, rows[~loops])))
    return sp.csr_array((np.concatenate((values, values[~loops])), both), shape=(n, n))


def rmat(scale, seed, dtype=None):
    """Of edges with random weights, or a pattern."""
    A = ps.generate.rmat(scale, edge_factor=16, seed=seed)
    S = sp.csr_array(sp.coo_array(A.to_scipy()).astype(np.float64))
    S = sp.csr_array(S + S.T)
    rng = np.random.default_rng(seed)
    S.data = rng.random(S.nnz) ** 3
    S = sp.csr_array(S + S.T)
    return ps.csr_array(S.astype(bool) if dtype is None else S.astype(dtype))


def star_and_pairs():
    star = np.zeros(5000, int), np.arange(1, 5001)
    pairs = np.arange(5001, 7001, 2), np.arange(5002, 7002, 2)
    loops = np.arange(0, 7100, 7), np.arange(0, 7100, 7)
    parts = (np.concatenate(p) for p in zip(star, pairs, loops, strict=True))
    return ps.csr_array(undirected(7200, *parts))


GRAPHS = {
    "pattern": lambda: rmat(13, 1),
    "float32": lambda: rmat(13, 2, np.float32),
    "float64": lambda: rmat(13, 3, np.float64),
    "star_and_pairs": star_and_pairs,
    "no_edges": lambda: ps.csr_array(sp.csr_array((1000, 1000))),
    "planted": lambda: ps.csr_array(
        all_ways(ps.generate.planted_partition(200, 40, 0.2, 5e-4)).to_scipy()
    ),
}


@pytest.fixture(scope="module", params=list(GRAPHS))
def graph(request):
    return GRAPHS[request.param]()


def test_graphs_have_vertices_of_every_class():
    """Of small tables, larger ones, those of blocks, and those in global memory (moves.hpp)."""
    degrees = np.diff(GRAPHS["pattern"]().indptr)
    for least, most in ((1, 42), (43, 170), (171, 1365), (1366, 2**31)):
        assert np.any((degrees >= least) & (degrees <= most))


def agree(A, there, unweighted=False, **how):
    for seed in (0, 5):
        asked = {"unweighted": unweighted, "seed": seed}
        expected, levels = _core.louvain_twin(A._core, by_level=True, **asked)
        got, on_gpu = cg.louvain(there, return_levels=True, device=0, **asked, **how)
        np.testing.assert_array_equal(got, expected)
        assert len(on_gpu) == max(len(levels), 1)
        for one, other in zip(on_gpu, levels, strict=False):
            np.testing.assert_array_equal(one, other)
        got = cg.leiden(there, device=0, **asked, **how)
        np.testing.assert_array_equal(got, _core.leiden_twin(A._core, **asked))
        expected = _core.label_propagation_twin(A._core, **asked)
        got = cg.label_propagation(there, device=0, **asked, **how)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("place", ["host", "pinned", "device"])
def test_the_same_wherever_the_graph_is(graph, place):
    agree(graph, graph.to(place))


@pytest.mark.parametrize("placement", ["device", "pinned", "packed"])
def test_the_same_wherever_lists_are_placed(graph, placement):
    agree(graph, graph, unweighted=True, gpu_options=cg.GpuOptions(placement=placement))


@pytest.mark.parametrize("budget", ["3MB", "8MB"])
def test_the_same_within_a_budget(budget):
    A = rmat(14, 6)
    assert 4 * A.nnz > 1.5e6
    with ps.options(device_memory=budget):
        agree(A, A.to("pinned"))
    W = rmat(13, 7, np.float32)
    with ps.options(device_memory=budget):
        agree(W, W.to("pinned"))


def test_a_budget_that_is_too_small():
    A = rmat(13, 6)
    for find in (cg.louvain, cg.leiden):
        with ps.options(device_memory="200KB"), pytest.raises(MemoryError):
            find(A.to("pinned"), device=0)
    least = _core.community_bytes(A.shape[0], False) + 9 * A.shape[0]
    assert least < _core.community_bytes(A.shape[0], True)
    with ps.options(device_memory=least), pytest.raises(MemoryError):
        cg.leiden(A.to("pinned"), device=0)


LEIDEN = {
    "planted": GRAPHS["planted"],
    "lift": lambda: ps.generate.lift(rmat(10, 4), 30, seed=1),
    "rmat": lambda: rmat(14, 5),
    "weighted": lambda: rmat(14, 5, np.float32),
}


@pytest.mark.parametrize("name", LEIDEN)
@pytest.mark.parametrize("resolution", [0.5, 1.0, 4.0])
def test_leiden_is_connected_and_as_good_as_on_the_cpu(name, resolution):
    A = LEIDEN[name]()
    found = cg.leiden(A, resolution=resolution, device=0)
    cg.verify_connected_communities(A, found)
    np.testing.assert_array_equal(found, cg.leiden(A, resolution=resolution, device=0))
    score = cg.modularity(A, found, resolution=resolution)
    best = cg.modularity(A, cg.leiden(A, resolution=resolution), resolution=resolution)
    assert score >= 0.99 * best


@pytest.mark.parametrize("placement", ["device", "packed", "pinned"])
def test_leiden_of_edges_that_exceed_the_budget(placement):
    """The budget holds the vertices and a quarter of the edges."""
    A = ps.generate.lift(rmat(10, 4), 60, seed=1).to("pinned")
    budget = _core.community_bytes(A.shape[0], True) + 17 * A.shape[0] + A.nnz
    assert 4 * A.nnz > 2 * (budget - _core.community_bytes(A.shape[0], True))
    home = {} if placement == "device" else {"gpu_options": cg.GpuOptions(placement=placement)}
    with ps.options(device_memory=budget):
        found = cg.leiden(A, device=0, iterations=3, max_levels=3, **home)
    cg.verify_connected_communities(A, found)
    expected = _core.leiden_twin(A._core, iterations=3, levels=3)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("resolution", [0.0, 0.5, 4.0])
def test_modularity_is_that_of_the_cpu(graph, resolution):
    found = cg.louvain(graph, resolution=resolution, device=0)
    expected = cg.louvain(graph, resolution=resolution)
    score = cg.modularity(graph, found, resolution=resolution)
    best = cg.modularity(graph, expected, resolution=resolution)
    assert score >= best - max(0.03 * abs(best), 2e-3)


def test_networkx_agrees_about_modularity():
    nx = pytest.importorskip("networkx")
    A = rmat(9, 8, np.float64)
    labels = cg.louvain(A, device=0)
    G = nx.from_scipy_sparse_array(A.to_scipy())
    theirs = nx.community.modularity(G, nx.community.louvain_communities(G, seed=1))
    sets = [set(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
    assert nx.community.modularity(G, sets) == pytest.approx(cg.modularity(A, labels), abs=1e-9)
    assert cg.modularity(A, labels) >= 0.97 * theirs


@pytest.mark.gpu_small
def test_small_planted_groups():
    rng = np.random.default_rng(9)
    truth = rng.permutation(np.repeat(np.arange(4), 40))
    dense = rng.random((160, 160)) < np.where(truth[:, None] == truth, 0.5, 0.01)
    rows, cols = np.nonzero(np.triu(dense, 1))
    A = ps.csr_array(undirected(160, rows, cols))
    for find in (cg.louvain, cg.leiden, cg.label_propagation):
        labels = find(A, device=0)
        assert len(np.unique(np.stack((labels, truth)), axis=1).T) == 4 == labels.max() + 1
    agree(A, A)


def test_what_is_refused():
    A = rmat(8, 1, np.float32)
    for find in (cg.louvain, cg.leiden):
        with pytest.raises(ValueError, match="packed lists have no weights"):
            find(A, device=0, gpu_options=cg.GpuOptions(placement="packed"))
    with pytest.raises(ValueError, match="does not read"):
        cg.label_propagation(A, device=0, gpu_options=cg.GpuOptions(counted=True))
