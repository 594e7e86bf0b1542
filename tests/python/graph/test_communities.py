"""Communities: what is known of them, against NetworkX, and alike for any number of threads."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import csgraph as cg

METHODS = [cg.louvain, cg.leiden, cg.label_propagation]
BY_MODULARITY = [cg.louvain, cg.leiden]


def undirected(n, rows, cols, values=None):
    """Each edge in both directions; duplicates add up."""
    rows, cols = np.asarray(rows), np.asarray(cols)
    values = np.ones(rows.size) if values is None else np.asarray(values, float)
    loops = rows == cols
    both = (np.concatenate((rows, cols[~loops])), np.concatenate((cols, rows[~loops])))
    return sp.csr_array((np.concatenate((values, values[~loops])), both), shape=(n, n))


def planted(groups, size, inside, outside, seed):
    rng = np.random.default_rng(seed)
    n = groups * size
    truth = rng.permutation(np.repeat(np.arange(groups), size))
    dense = rng.random((n, n)) < np.where(truth[:, None] == truth, inside, outside)
    return sp.csr_array(sp.coo_array(np.triu(dense, 1) | np.triu(dense, 1).T).astype(float)), truth


def ring_of_cliques(count, size):
    rows, cols = [], []
    for c in range(count):
        for i in range(size):
            for j in range(i):
                rows.append(c * size + i)
                cols.append(c * size + j)
        rows.append(c * size)
        cols.append((c + 1) % count * size + 1)
    return undirected(count * size, rows, cols)


def same_parts(a, b):
    pairs = len(np.unique(np.stack((a, b)), axis=1).T)
    return pairs == len(np.unique(a)) == len(np.unique(b))


def numbered_by_first_vertex(labels):
    _, first = np.unique(labels, return_index=True)
    return labels.dtype == np.int32 and np.all(np.diff(first) > 0)


def random_graph(seed, weighted=True):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    m = int(rng.integers(0, 4 * n))
    return undirected(
        n, rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 5, m) if weighted else None
    )


@pytest.mark.parametrize("method", METHODS)
def test_planted_partition_is_found(method):
    A, truth = planted(8, 60, 0.5, 0.01, seed=1)
    labels = method(A)
    assert same_parts(labels, truth)
    assert numbered_by_first_vertex(labels)


@pytest.mark.parametrize("method", METHODS)
def test_ring_of_cliques(method):
    # With so few cliques none are joined (Fortunato, Barthelemy 2007: below the square root of the edges).
    assert same_parts(method(ring_of_cliques(8, 6)), np.repeat(np.arange(8), 6))


@pytest.mark.parametrize("method", BY_MODULARITY)
def test_large_resolution_parts_a_ring_that_a_small_one_joins(method):
    A = ring_of_cliques(60, 4)
    assert len(np.unique(method(A))) < 60
    assert len(np.unique(method(A, resolution=6))) == 60
    assert len(np.unique(method(A, resolution=1e6))) == 240
    assert len(np.unique(method(A, resolution=0))) == 1


def test_karate_club():
    nx = pytest.importorskip("networkx")
    A = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None)
    assert cg.modularity(A, cg.leiden(A)) == pytest.approx(
        0.4197896, abs=1e-6
    )  # the largest there is
    assert cg.modularity(A, cg.louvain(A)) > 0.41


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [True, False])
def test_same_labels_for_any_number_of_threads(method, weighted):
    A = ps.generate.rmat(13, edge_factor=16, seed=3)
    S = sp.csr_array(sp.coo_array(A.to_scipy()).astype(float))
    S = S + S.T
    S.data = np.random.default_rng(4).random(S.nnz) if weighted else np.ones(S.nnz)
    S = S + S.T
    before, found = ps.num_threads(), []
    try:
        for threads in (1, 2, 4):
            ps.set_num_threads(threads)
            found.append([method(S), method(S, seed=5)])
    finally:
        ps.set_num_threads(before)
    for other in found[1:]:
        assert np.array_equal(other[0], found[0][0])
        assert np.array_equal(other[1], found[0][1])
    if method is not cg.label_propagation:  # whose communities are one here
        assert not np.array_equal(*found[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["hubs", "groups", "grid"])
def test_runs_side_by_side_do_not_depend_on_threads(method, kind):
    """Graphs so large that a round has several runs."""
    if kind == "hubs":
        A = ps.generate.rmat(16, edge_factor=12, seed=1)
        S = sp.csr_array(sp.coo_array(A.to_scipy()).astype(float))
        A = S + S.T
    elif kind == "groups":
        rng = np.random.default_rng(3)
        u = np.repeat(np.arange(60_000), 12)
        near = u // 100 * 100 + rng.integers(0, 100, u.size)
        v = np.where(rng.random(u.size) < 0.8, near, rng.integers(0, 60_000, u.size))
        name = rng.permutation(60_000)
        A = undirected(60_000, name[u], name[v], rng.integers(1, 9, u.size))
    else:
        at = np.arange(400 * 400).reshape(400, 400)
        rows = np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))
        A = undirected(at.size, rows, np.concatenate((at[:, :-1].ravel(), at[:-1].ravel())))
    A, before, found = ps.csr_array(A), ps.num_threads(), []
    try:
        for threads in (1, 2, 4, 4):
            ps.set_num_threads(threads)
            found.append(method(A, seed=2))
    finally:
        ps.set_num_threads(before)
    assert all(np.array_equal(labels, found[0]) for labels in found)
    if method is cg.leiden:
        cg.verify_connected_communities(A, found[0])
    if kind == "groups":
        of_group = np.empty(60_000, dtype=np.int64)
        of_group[name] = np.arange(60_000) // 100
        truth = cg.modularity(A, of_group)
        assert cg.modularity(A, found[0]) > 0.97 * truth
    if kind == "grid" and method is not cg.label_propagation:
        assert cg.modularity(A, found[0]) > 0.95


def left_to_gain(S, labels):
    """The modularity that vertices would gain by moving to another community, each alone, in all."""
    n, degree = S.shape[0], S.sum(axis=1)
    met = (S @ sp.csr_array((np.ones(n), (np.arange(n), labels)))).toarray()
    total, own = np.bincount(labels, degree), (np.arange(n), labels)
    worth = met - degree[:, None] * total / degree.sum()
    stay = worth[own] + degree**2 / degree.sum()
    worth[own] = -np.inf
    return np.maximum(worth.max(axis=1) - stay, 0).sum() * 2 / degree.sum()


@pytest.mark.parametrize("method", BY_MODULARITY)
@pytest.mark.parametrize("spread", [0, 3])
def test_hardly_any_vertex_wants_to_move(method, spread):
    """Vertices wait until moves around them may matter, whatever edges weigh; nobody waits for too long."""
    rng = np.random.default_rng(9)
    n = 4000
    u = np.repeat(np.arange(n), 20)
    v = np.where(
        rng.random(u.size) < 0.5,
        u // 50 * 50 + rng.integers(0, 50, u.size),
        rng.integers(0, n, u.size),
    )
    S = undirected(n, u, v, np.exp(spread * rng.standard_normal(u.size)) * 1e-9)
    S = sp.csr_array(sp.triu(S, 1))
    S = S + S.T
    assert left_to_gain(S, method(S)) < 1e-3
    assert left_to_gain(S, rng.integers(0, n // 50, n)) > 0.1  # the measure sees what is wrong


@pytest.mark.parametrize("seed", range(60))
def test_every_community_of_leiden_is_connected(seed):
    A = random_graph(seed)
    for options in ({}, {"iterations": 1, "max_levels": 1}, {"resolution": 0.1}, {"max_levels": 2}):
        labels = cg.leiden(A, **options)
        assert numbered_by_first_vertex(labels)
        cg.verify_connected_communities(A, labels)
        positive = sp.csr_array(A)
        positive.eliminate_zeros()
        for community in np.unique(labels):
            members = labels == community
            parts = sp.csgraph.connected_components(positive[members][:, members])[0]
            assert parts == 1


def test_leiden_is_connected_along_a_path_with_hubs():
    """Vertices that join two others are drawn away by hubs: Traag et al. 2019, figure 2."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = 400
        rows = np.concatenate((np.arange(n - 1), rng.integers(0, n, 500)))
        cols = np.concatenate((np.arange(1, n), rng.zipf(1.6, 500) % n))
        A = undirected(n, rows, cols, rng.integers(1, 4, rows.size))
        cg.verify_connected_communities(A, cg.leiden(A, seed=seed))


@pytest.mark.parametrize("seed", range(40))
def test_modularity_is_networkx_s(seed):
    nx = pytest.importorskip("networkx")
    A = random_graph(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(-3, 4, A.shape[0])
    G = nx.from_scipy_sparse_array(A)
    parts = [set(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)]
    for resolution in (1.0, 0.3, 2.5):
        expected = nx.community.modularity(G, parts, resolution=resolution) if A.sum() else 0
        assert cg.modularity(A, labels, resolution=resolution) == pytest.approx(expected, abs=1e-12)
    if A.nnz:
        for u, v in G.edges:
            G[u][v]["weight"] = 1
        assert cg.modularity(A, labels, unweighted=True) == pytest.approx(
            nx.community.modularity(G, parts), abs=1e-12
        )


@pytest.mark.parametrize("seed", range(30))
def test_modularity_of_what_is_found_is_at_least_that_of_networkx_s_louvain(seed):
    nx = pytest.importorskip("networkx")
    G = nx.connected_watts_strogatz_graph(120, 6, 0.2, seed=seed)
    A = nx.to_scipy_sparse_array(G, weight=None)
    theirs = max(
        nx.community.modularity(G, nx.community.louvain_communities(G, seed=s)) for s in range(3)
    )
    assert cg.modularity(A, cg.leiden(A)) > 0.97 * theirs
    assert cg.modularity(A, cg.louvain(A)) > 0.95 * theirs


def test_levels_of_louvain_only_join():
    A, _ = planted(12, 40, 0.3, 0.02, seed=2)
    labels, levels = cg.louvain(A, return_levels=True)
    assert np.array_equal(labels, levels[-1])
    values = [cg.modularity(A, level) for level in levels]
    assert values == sorted(values)
    for fine, coarse in pairwise(levels):
        assert len(np.unique(np.stack((fine, coarse)), axis=1).T) == len(np.unique(fine))
    assert np.array_equal(cg.louvain(A, max_levels=1), levels[0])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("weighted", [True, False])
def test_label_propagation_ends_at_a_fixed_point(seed, weighted):
    A = random_graph(seed, weighted)
    labels = cg.label_propagation(A, seed=seed)
    for v in range(A.shape[0]):
        row = slice(A.indptr[v], A.indptr[v + 1])
        others = A.indices[row] != v
        around = np.bincount(
            labels[A.indices[row]][others], A.data[row][others], labels.max(initial=0) + 1
        )
        assert around[labels[v]] == around.max()


@pytest.mark.parametrize("method", METHODS)
def test_small_and_lonely(method):
    assert method(sp.csr_array((0, 0))).tolist() == []
    assert method(sp.csr_array((1, 1))).tolist() == [0]
    assert method(sp.csr_array((5, 5))).tolist() == [0, 1, 2, 3, 4]
    assert method(sp.csr_array(([2.0], ([0], [0])), shape=(1, 1))).tolist() == [0]
    assert method(undirected(2, [0], [1])).tolist() == [0, 0]
    zero = undirected(3, [0, 1], [1, 2], [0.0, 0.0])
    assert method(zero).tolist() == [0, 1, 2]
    assert method(zero, unweighted=True)[1] == method(zero, unweighted=True)[0]
    apart = undirected(7, [0, 1, 2, 4, 5], [1, 2, 0, 5, 6])
    labels = method(apart)
    assert labels[3] not in labels[[0, 1, 2, 4, 5, 6]]
    assert not set(labels[:3]) & set(labels[4:])


@pytest.mark.parametrize("method", BY_MODULARITY)
def test_duplicates_add_up_and_types_agree(method):
    A = ring_of_cliques(10, 5)
    twice = sp.csr_array(
        (np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape
    )
    expected = method(A)
    assert np.array_equal(method(ps.csr_array(twice)), expected)
    assert np.array_equal(method(A.astype(np.float32)), expected)
    assert np.array_equal(method(A.astype(bool)), expected)
    assert cg.modularity(ps.csr_array(twice), expected) == pytest.approx(cg.modularity(A, expected))


@pytest.mark.parametrize("method", [*METHODS, lambda A, **o: cg.modularity(A, [0, 0, 0], **o)])
def test_refusals(method):
    A = undirected(3, [0, 1], [1, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match="not mirrored.*A \\+ A.T"):
        method(sp.csr_array(([1.0], ([0], [1])), shape=(3, 3)))
    uneven = A.copy()
    uneven.data[0] = 7
    with pytest.raises(ValueError, match="not mirrored"):
        method(uneven)
    method(uneven, unweighted=True)
    for bad in (-1.0, math.inf, math.nan):
        wrong = undirected(3, [0, 1], [1, 2], [1.0, bad])
        with pytest.raises(ValueError, match="edge 1 -> 2 is .*finite"):
            method(wrong)
    with pytest.raises(ValueError, match="complex"):
        method(A.astype(complex))
    with pytest.raises(ValueError, match="2 x 3"):
        method(sp.csr_array((2, 3)))


def test_options_outside_their_ranges():
    A = undirected(3, [0, 1], [1, 2])
    for options, words in (
        ({"resolution": -1}, "resolution=-1 must be at least 0"),
        ({"resolution": math.nan}, "must be finite"),
        ({"threshold": math.inf}, "threshold"),
        ({"max_levels": 0}, "max_levels=0 must be at least 1"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**64}, "seed="),
    ):
        for method in BY_MODULARITY:
            with pytest.raises(ValueError, match=words):
                method(A, **options)
    with pytest.raises(ValueError, match="iterations=0"):
        cg.leiden(A, iterations=0)
    with pytest.raises(ValueError, match="max_iter=0"):
        cg.label_propagation(A, max_iter=0)
    with pytest.raises(TypeError):
        cg.louvain(A, seed=1.5)
    with pytest.raises(ValueError, match="2 entries, but the graph has 3 vertices"):
        cg.modularity(A, [0, 1])
    with pytest.raises(TypeError, match="labels must be integers"):
        cg.modularity(A, [0.5, 1, 2])


def test_options_that_are_texts_are_refused():
    A = undirected(3, [0, 1], [1, 2])
    for method in BY_MODULARITY:
        for name in ("resolution", "threshold"):
            with pytest.raises(TypeError, match=f"{name}='0.1' is not a number"):
                method(A, **{name: "0.1"})
    with pytest.raises(TypeError, match="resolution=None is not a number"):
        cg.modularity(A, [0, 1, 2], resolution=None)


@pytest.mark.parametrize("loop", [False, True])
def test_weights_whose_sum_overflows_are_refused(loop):
    ends = ([0, 1, 2, 3], [1, 0, 3, 2])
    A = ps.csr_array((np.full(4, 1.7e308), ends), shape=(4, 4))
    if loop:  # a self loop counts twice
        A = ps.csr_array((np.array([1.7e308]), ([0], [0])), shape=(4, 4))
    for method in (*BY_MODULARITY, cg.label_propagation, lambda A: cg.modularity(A, [0, 0, 1, 1])):
        with pytest.raises(
            ValueError, match="the weights add up to more than a float64 holds: scale them"
        ):
            method(A)
    cg.verify_connected_communities(A, [0, 0, 1, 1] if not loop else [0, 1, 2, 3])
    small = A * 2.0**-4
    assert cg.modularity(small, [0, 0, 1, 1]) == (0.0 if loop else 0.5)
    if not loop:
        assert all(method(small).tolist() == [0, 0, 1, 1] for method in BY_MODULARITY)


def test_verifier_finds_a_parted_community():
    A = undirected(5, [0, 1, 3], [1, 2, 4], [1.0, 0.0, 1.0])
    cg.verify_connected_communities(A, [0, 0, 1, 2, 2])
    cg.verify_connected_communities(A, [0, 0, 0, 2, 2], unweighted=True)
    with pytest.raises(ValueError, match="community 0 is not connected.*0 and 2"):
        cg.verify_connected_communities(A, [0, 0, 0, 2, 2])
