"""Communities as a GPU finds them, by the CPU as the device: what is known of them, and against the CPU's own."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core
from penstock import csgraph as cg


def undirected(n, rows, cols, values=None):
    rows, cols = np.asarray(rows), np.asarray(cols)
    values = np.ones(rows.size) if values is None else np.asarray(values, float)
    loops = rows == cols
    both = (np.concatenate((rows, cols[~loops])), np.concatenate((cols, rows[~loops])))
    return ps.csr_array(
        sp.csr_array((np.concatenate((values, values[~loops])), both), shape=(n, n))
    )


def planted(groups, size, inside, outside, seed):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(groups), size))
    dense = rng.random((truth.size,) * 2) < np.where(truth[:, None] == truth, inside, outside)
    rows, cols = np.nonzero(np.triu(dense, 1))
    return undirected(truth.size, rows, cols), truth


def rmat(scale, seed, weighted):
    A = sp.csr_array(ps.generate.rmat(scale, edge_factor=16, seed=seed).to_scipy()).astype(float)
    S = A + A.T
    rng = np.random.default_rng(seed)
    S.data = rng.random(S.nnz) ** 4 if weighted else np.ones(S.nnz)
    return ps.csr_array(sp.csr_array(S + S.T))


def louvain(A, **options):
    return _core.louvain_twin(A._core, **options)[0]


def leiden(A, **options):
    return _core.leiden_twin(A._core, **options)


def propagated(A, **options):
    return _core.label_propagation_twin(A._core, **options)


def same_parts(a, b):
    pairs = len(np.unique(np.stack((a, b)), axis=1).T)
    return pairs == len(np.unique(a)) == len(np.unique(b))


@pytest.mark.parametrize("find", [louvain, leiden, propagated])
def test_planted_partition_is_found(find):
    A, truth = planted(8, 60, 0.5, 0.01, seed=1)
    labels = find(A)
    assert same_parts(labels, truth)
    _, first = np.unique(labels, return_index=True)
    assert np.all(np.diff(first) > 0)  # numbered in the order of their first vertices


@pytest.mark.parametrize("weighted", [False, True])
def test_modularity_is_that_of_the_cpu(weighted):
    A = rmat(13, 3, weighted)
    expected = cg.modularity(A, cg.louvain(A))
    for seed in (0, 7):
        found = cg.modularity(A, louvain(A, seed=seed))
        assert found > 0.98 * expected, (found, expected)


GRAPHS = {
    "rmat": lambda: rmat(13, 3, False),
    "weighted": lambda: rmat(13, 3, True),
    "planted": lambda: planted(100, 40, 0.2, 5e-4, seed=2)[0],
    "hard to find": lambda: planted(40, 60, 0.1, 4e-3, seed=3)[0],
    "lift": lambda: ps.generate.lift(rmat(8, 2, False), 20, seed=1),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("resolution", [0.5, 1.0, 4.0])
def test_leiden_is_as_good_as_that_of_the_cpu_and_connected(name, resolution):
    A = GRAPHS[name]()
    scores = []
    for seed in range(4):
        asked = {"seed": seed, "resolution": resolution}
        found = leiden(A, **asked)
        cg.verify_connected_communities(A, found)
        scores.append(
            [
                cg.modularity(A, x, resolution=resolution)
                for x in (found, cg.leiden(A, **asked), louvain(A, **asked))
            ]
        )
    ours, cpu, by_louvain = np.mean(scores, axis=0)
    assert ours >= 0.99 * cpu, scores
    assert ours >= by_louvain - 0.002, scores


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("iterations", [1, 3])
def test_leiden_is_connected_however_early_it_ends(levels, iterations):
    """Sparse ones, paths with hubs: moves leave communities in pieces."""
    rng = np.random.default_rng(levels)
    n = 4000
    path = np.arange(n - 1), np.arange(1, n)
    hubs = rng.integers(0, 20, 6000) * 190, rng.integers(0, n, 6000)
    for rows, cols in (path, [np.concatenate(x) for x in zip(path, hubs, strict=True)]):
        A = undirected(n, rows, cols, rng.integers(0, 4, len(rows)))
        for seed in range(3):
            labels = leiden(A, seed=seed, levels=levels, iterations=iterations)
            cg.verify_connected_communities(A, labels)


def test_parts_are_those_of_an_independent_search():
    """Without a price every component is one community, whatever it takes to get there."""
    rng = np.random.default_rng(11)
    rows, cols = rng.integers(0, 5000, (2, 3000))
    A = undirected(5000, rows, cols)
    count, truth = sp.csgraph.connected_components(A.to_scipy())
    found = leiden(A, resolution=0.0)
    assert same_parts(found, truth) and count > 100


def test_more_iterations_are_no_worse():
    A = rmat(12, 9, True)
    scores = [cg.modularity(A, leiden(A, iterations=i, seed=2)) for i in (1, 2, 5)]
    assert scores == sorted(scores)


def test_resolution():
    cliques = [(c * 4 + i, c * 4 + j) for c in range(60) for i in range(4) for j in range(i)]
    ring = [(c * 4, (c * 4 + 5) % 240) for c in range(60)]
    A = undirected(240, *zip(*cliques, *ring, strict=True))
    assert len(np.unique(louvain(A))) < 60
    assert len(np.unique(louvain(A, resolution=6.0))) == 60
    assert len(np.unique(louvain(A, resolution=1e6))) == 240
    assert len(np.unique(louvain(A, resolution=0.0))) == 1
    assert len(np.unique(leiden(A))) < 60
    assert len(np.unique(leiden(A, resolution=6.0))) == 60
    assert len(np.unique(leiden(A, resolution=1e6))) == 240
    assert len(np.unique(leiden(A, resolution=0.0))) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_no_result_depends_on_threads_or_on_room(weighted):
    A = rmat(
        13, 4, weighted
    )  # with lists above a block's table, and more entries than the least chunk
    assert int(np.diff(A.indptr).max()) > 2000 and A.nnz > 2 * 65536
    before, found = ps.num_threads(), []
    try:
        for threads in (1, 4):
            ps.set_num_threads(threads)
            found.append(
                (louvain(A, room=1), louvain(A), leiden(A, room=1), leiden(A), propagated(A))
            )
    finally:
        ps.set_num_threads(before)
    assert np.array_equal(found[0][0], found[0][1])
    assert np.array_equal(found[0][2], found[0][3])
    assert not np.array_equal(found[0][2], leiden(A, seed=1))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(found[0][0], louvain(A, seed=1))


def test_levels_are_nested_and_modularity_grows():
    A = rmat(12, 5, True)
    labels, levels = _core.louvain_twin(A._core, by_level=True)
    assert np.array_equal(levels[-1], labels) and len(levels) > 1
    scores = [cg.modularity(A, level) for level in levels]
    assert scores == sorted(scores)
    for fine, coarse in pairwise(levels):
        assert len(np.unique(np.stack((fine, coarse)), axis=1).T) == len(np.unique(fine))
    first = _core.louvain_twin(A._core, levels=1)[0]
    assert np.array_equal(first, levels[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_no_label_outweighs_that_of_a_vertex(weighted):
    rng = np.random.default_rng(6)
    rows, cols = rng.integers(0, 3000, (2, 9000))
    A = undirected(3000, rows, cols, rng.integers(1, 5, 9000) if weighted else None)
    labels = propagated(A, passes=1000)
    S = sp.csr_array(A.to_scipy())
    for v in range(S.shape[0]):
        ends = S.indices[S.indptr[v] : S.indptr[v + 1]]
        weights = S.data[S.indptr[v] : S.indptr[v + 1]][ends != v]
        met = np.bincount(labels[ends[ends != v]], weights, minlength=labels.max() + 1)
        assert met[labels[v]] == met.max()


def test_awkward_graphs():
    none = ps.csr_array(sp.csr_array((5, 5)))
    for find in (louvain, leiden, propagated):
        assert find(none).tolist() == [0, 1, 2, 3, 4]
        assert find(ps.csr_array(sp.csr_array((0, 0)))).size == 0
    loops = undirected(4, [0, 1, 2, 2], [0, 1, 2, 3], [5.0, 1.0, 3.0, 1.0])
    assert louvain(loops).tolist() == cg.louvain(loops).tolist() == [0, 1, 2, 2]
    assert leiden(loops).tolist() == [0, 1, 2, 2]
    only_loops = undirected(3, [0, 1, 2], [0, 1, 2])
    assert leiden(only_loops).tolist() == [0, 1, 2]
    star = undirected(5001, np.zeros(5000, int), np.arange(1, 5001))
    assert len(np.unique(louvain(star))) == len(np.unique(leiden(star))) == 1
    assert len(np.unique(propagated(star))) == 1
    pairs = undirected(2000, np.arange(0, 2000, 2), np.arange(1, 2000, 2))
    assert same_parts(louvain(pairs), np.arange(2000) // 2)
    assert same_parts(leiden(pairs), np.arange(2000) // 2)
    assert same_parts(propagated(pairs), np.arange(2000) // 2)


def test_weights_far_apart():
    A = undirected(6, [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1e30] * 6 + [1e10])
    assert louvain(A).tolist() == leiden(A).tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="more than a float64 holds: scale them"):
        louvain(undirected(3, [0, 1], [1, 2], [1e308, 1e308]))
    tiny = undirected(6, [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1e-300] * 6 + [1e-303])
    assert louvain(tiny).tolist() == leiden(tiny).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_gpu_is_asked_for_in_vain():
    A = undirected(4, [0, 1], [1, 2])
    for find in (cg.louvain, cg.leiden, cg.label_propagation):
        assert np.array_equal(find(A, device="cpu"), find(A))
        with pytest.raises(ValueError, match="GPUs? (is|are) usable"):
            find(A, device=1000)
        with pytest.raises(ValueError, match="is for GPUs"):
            find(A, gpu_options=cg.GpuOptions(placement="pinned"))
