"""Random geometric graphs, preferential attachment, stochastic blocks and small worlds: brute force, and NetworkX."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import generate

SEEDS = range(40)


def dense(a: ps.csr_array) -> np.ndarray:
    found = a.to_scipy().toarray().astype(bool)
    assert (found == found.T).all()
    assert not found.diagonal().any()
    return found


def means(of: Callable, ours: Callable, theirs: Callable) -> None:
    """The mean of a number over seeds is NetworkX's, within five standard errors."""
    a = np.array([of(nx.from_scipy_sparse_array(sp.csr_array(ours(s).to_scipy()))) for s in SEEDS])
    b = np.array([of(theirs(s)) for s in SEEDS])
    error = ((a.var() + b.var()) / len(SEEDS)) ** 0.5
    assert abs(a.mean() - b.mean()) <= 5 * error + 1e-12


STATISTICS = {
    "edges": lambda g: g.number_of_edges(),
    "clustering": nx.average_clustering,
    "squares of degrees": lambda g: sum(d * d for _, d in g.degree()),
    "largest degree": lambda g: max(d for _, d in g.degree()),
    "leaves": lambda g: sum(d <= 2 for _, d in g.degree()),
}
PAIRS = {
    "random_geometric": (
        lambda s: generate.random_geometric(150, 0.13, seed=s),
        lambda s: nx.random_geometric_graph(150, 0.13, seed=s),
    ),
    "barabasi_albert 1": (
        lambda s: generate.barabasi_albert(150, 1, seed=s),
        lambda s: nx.barabasi_albert_graph(150, 1, seed=s),
    ),
    "barabasi_albert 6": (
        lambda s: generate.barabasi_albert(150, 6, seed=s),
        lambda s: nx.barabasi_albert_graph(150, 6, seed=s),
    ),
    "watts_strogatz": (
        lambda s: generate.watts_strogatz(150, 7, 0.2, seed=s),
        lambda s: nx.watts_strogatz_graph(150, 7, 0.2, seed=s),
    ),
    "watts_strogatz 1": (
        lambda s: generate.watts_strogatz(60, 20, 1.0, seed=s),
        lambda s: nx.watts_strogatz_graph(60, 20, 1.0, seed=s),
    ),
    "stochastic_block": (
        lambda s: generate.stochastic_block([70, 30], [[0.1, 0.02], [0.02, 0.4]], seed=s),
        lambda s: nx.stochastic_block_model([70, 30], [[0.1, 0.02], [0.02, 0.4]], seed=s),
    ),
    "planted_partition": (
        lambda s: generate.planted_partition(6, 20, 0.4, 0.03, seed=s),
        lambda s: nx.planted_partition_graph(6, 20, 0.4, 0.03, seed=s),
    ),
}


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("model", PAIRS)
def test_as_networkx_draws_them(model, statistic):
    means(STATISTICS[statistic], *PAIRS[model])


NEAR = [(1, 0.5), (2, 1.5), (300, 0), (500, 0.02), (500, 0.1), (400, 0.34), (300, 1.0), (9, 1e-9)]


@pytest.mark.parametrize(("n", "radius"), NEAR)
@pytest.mark.parametrize("scramble", [True, False])
def test_who_is_near_in_the_plane(n, radius, scramble):
    a, xy = generate.random_geometric(
        n, radius, scramble=scramble, dtype=np.float64, seed=n, positions=True
    )
    assert xy.shape == (n, 2)
    assert 0 <= xy.min() <= xy.max() < 1
    apart = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    near = (apart <= radius) & ~np.eye(n, dtype=bool)
    assert a._derived.symmetric_pattern
    found = dense(a) if a.nnz else np.zeros((n, n), bool)
    np.testing.assert_array_equal(found, near)
    np.testing.assert_allclose(a.to_scipy().toarray(), np.where(near, apart, 0), rtol=1e-12)


def test_numbers_that_follow_the_cells():
    far = {}
    for scramble in (True, False):
        a = generate.random_geometric(20_000, 0.01, scramble=scramble, seed=3)
        far[scramble] = np.abs(np.repeat(np.arange(20_000), np.diff(a.indptr)) - a.indices).mean()
    assert far[False] < far[True] / 20
    plain, mixed = (
        generate.random_geometric(20_000, 0.01, scramble=s, seed=3) for s in (False, True)
    )
    np.testing.assert_array_equal(np.sort(np.diff(plain.indptr)), np.sort(np.diff(mixed.indptr)))


def test_points_are_uniform():
    _, xy = generate.random_geometric(100_000, 0.001, seed=5, positions=True)
    counts = np.histogram2d(*xy.T, bins=10, range=[[0, 1], [0, 1]])[0]
    assert np.abs(counts - 1000).max() < 160


@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 4), (50, 1), (200, 3), (200, 150), (3000, 10)])
def test_new_vertices_join_m_older_ones(n, m):
    found = np.tril(dense(generate.barabasi_albert(n, m, seed=n)))
    older = found.sum(axis=1)
    assert (older[1 : m + 1] == 1).all()
    assert found[1 : m + 1, 0].all()  # the star
    assert (older[m + 1 :] == m).all()


def test_attachment_prefers_high_degrees():
    a = generate.barabasi_albert(100_000, 4, seed=2)
    degree = np.diff(a.indptr)
    # P(degree >= d) is about (m / d)^2: of 100,000 vertices 160 reach 100, and the oldest ones more than 500
    assert 100 < np.count_nonzero(degree >= 100) < 240
    assert degree.max() > 300
    exponent = 1 + 1 / np.log(degree[degree >= 20] / 19.5).mean()
    assert 2.7 < exponent < 3.3


@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 1), (5, 2), (5, 4), (50, 10), (51, 49)])
def test_a_ring_without_shortcuts(n, k):
    expected = nx.to_numpy_array(nx.watts_strogatz_graph(n, k, 0)).astype(bool)
    np.testing.assert_array_equal(dense(generate.watts_strogatz(n, k, 0)), expected)


@pytest.mark.parametrize("p", [0.05, 0.5, 1])
def test_shortcuts(p):
    n, k = 3000, 8
    a = generate.watts_strogatz(n, k, p, seed=4)
    found = dense(a)
    assert a.nnz == n * k
    assert np.diff(a.indptr).min() >= k // 2
    ring = dense(generate.watts_strogatz(n, k, 0))
    assert np.count_nonzero(found & ring) / a.nnz == pytest.approx(1 - p, abs=0.02)
    far = np.subtract(*np.nonzero(found & ~ring)) % n
    assert np.histogram(far, bins=5, range=(0, n))[0].std() < 0.06 * far.size / 5


@pytest.mark.parametrize(("sizes", "p"), [
    ([500, 300, 0, 700], [[0.1, 0.02, 1, 0], [0.02, 0, 1, 0.3], [1, 1, 1, 1], [0, 0.3, 1, 1]]),
    ([1, 1, 1], np.ones((3, 3))), ([2000], [[0.001]]), ([4], [[0]]),
])  # fmt: skip
def test_counts_by_blocks(sizes, p):
    found = dense(generate.stochastic_block(sizes, p, seed=6))
    group, p = np.repeat(np.arange(len(sizes)), sizes), np.asarray(p)
    for g in range(len(sizes)):
        for h in range(g + 1):
            part = found[np.ix_(group == g, group == h)]
            pairs = sizes[g] * (sizes[g] - 1) // 2 if g == h else sizes[g] * sizes[h]
            edges = part.sum() // (2 if g == h else 1)
            expected, spread = pairs * p[g, h], (pairs * p[g, h] * (1 - p[g, h])) ** 0.5
            assert abs(edges - expected) <= 5 * spread, (g, h)


def test_pairs_of_a_block_are_alike():
    """Every pair is drawn as often as any other: rows, columns, and the ends of stretches."""
    total = np.zeros((30, 30))
    for seed in range(600):
        total += dense(generate.stochastic_block([30], [[0.5]], seed=seed))
    upper = total[np.triu_indices(30, 1)]
    assert np.abs(upper - 300).max() < 5 * 150**0.5
    assert ((upper - 300) ** 2 / 150).sum() == pytest.approx(435, abs=5 * (2 * 435) ** 0.5)


@pytest.mark.parametrize(("groups", "size"), [(1, 400), (400, 1), (20, 50), (3, 2)])
def test_planted_partition(groups, size):
    p_in, p_out = 0.3, 0.01
    found = dense(generate.planted_partition(groups, size, p_in, p_out, seed=8))
    group = np.arange(groups * size) // size
    same = group[:, None] == group
    for part, p, pairs in (
        (found & same, p_in, groups * size * (size - 1) / 2),
        (found & ~same, p_out, groups * (groups - 1) * size**2 / 2),
    ):
        assert abs(part.sum() / 2 - pairs * p) <= 5 * (pairs * p * (1 - p)) ** 0.5


def test_probabilities_of_zero_and_one():
    np.testing.assert_array_equal(
        dense(generate.planted_partition(5, 7, 1, 0)),
        np.kron(np.eye(5), np.ones((7, 7))) - np.eye(35) > 0,
    )
    np.testing.assert_array_equal(
        dense(generate.planted_partition(5, 7, 0, 1)), np.kron(np.eye(5), np.ones((7, 7))) == 0
    )


def test_large_blocks_are_quick_to_skip():
    a = generate.planted_partition(100_000, 20, 0.2, 1e-6, seed=1)
    assert a.nnz / 2e6 == pytest.approx(0.2 * 19 + 2, rel=0.02)


BAD = [
    (lambda: generate.random_geometric(-1, 0.1), "n = -1 is negative: give 0 or more"),
    (lambda: generate.random_geometric(0, 9), "radius = 9 is not between 0 and 1.5"),
    (lambda: generate.barabasi_albert(0, 0), "n = 0: each new vertex joins m >= 1 .* give 2 or more"),
    (lambda: generate.watts_strogatz(0, 1, 0.1), "k = 1: a graph of no vertices has no ring: give 0"),
    (lambda: generate.stochastic_block([], [[0.1]]), r"p has shape \(1, 1\) for 0 sizes: give \[\]"),
    (lambda: generate.random_geometric(10, -1), "radius = -1 is not between 0 and 1.5"),
    (lambda: generate.random_geometric(10, float("nan")), "radius = nan"),
    (lambda: generate.barabasi_albert(10, 0), "m = 0 is not between 1 and n - 1 = 9"),
    (lambda: generate.barabasi_albert(10, 10), "m = 10 is not between"),
    (lambda: generate.watts_strogatz(10, 10, 0.1), "k = 10 is not between 0 and n - 1 = 9"),
    (lambda: generate.watts_strogatz(10, 2, 1.1), "p = 1.1 is not between 0 and 1"),
    (lambda: generate.stochastic_block([3, 4], [[0.1]]), r"p has shape \(1, 1\) for 2 sizes: give 2 x 2"),
    (lambda: generate.stochastic_block([3, 4], [[0, 0.1], [0.2, 0]]), r"p\[0, 1\] = 0.1.* differs from p\[1, 0\]"),
    (lambda: generate.stochastic_block([3, -4], np.zeros((2, 2))), r"sizes\[1\] = -4"),
    (lambda: generate.stochastic_block([3], [[1.5]]), r"p\[0, 0\] = 1.5 is not between 0 and 1"),
    (lambda: generate.planted_partition(3, -4, 0.1, 0.1), "size = -4 is negative: give 0 or more"),
    (lambda: generate.planted_partition(0, 3, 0.1, 1.1), "p_out = 1.1 is not between 0 and 1"),
    (lambda: generate.planted_partition(2**16, 2**16, 0.1, 0.1), "exceeds 2"),
    (lambda: generate.planted_partition(3, 3, -0.1, 0.1), "p_in = -0.1 is not between 0 and 1"),
    (lambda: generate.planted_partition(3, 3, 0.1, 2), "p_out = 2 is not between 0 and 1"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_arguments(number):
    make, text = BAD[number]
    with pytest.raises(ValueError, match=text):
        make()


def test_arguments_of_other_types():
    for make in (
        lambda: generate.random_geometric(10.5, 0.1),
        lambda: generate.random_geometric(10, "far"),
        lambda: generate.random_geometric(10, 0.1, positions=1),
        lambda: generate.barabasi_albert(10, None),
        lambda: generate.watts_strogatz(10, 2, []),
        lambda: generate.stochastic_block([3], "many"),
        lambda: generate.random_geometric(50, "0.1"),
        lambda: generate.random_geometric(50, np.array([0.1])),
        lambda: generate.watts_strogatz(10, 4, np.str_(".5")),
        lambda: generate.watts_strogatz(10, 4, True),
        lambda: generate.barabasi_albert(10, True),
        lambda: generate.barabasi_albert(10, 2, seed=True),
        lambda: generate.barabasi_albert(10, 2, dtype=None),
        lambda: generate.barabasi_albert(10, 2, dtype="half a number"),
        lambda: generate.stochastic_block([3], [["1"]]),
        lambda: generate.stochastic_block([3, 4], [[0.1], [0.1, 0.2]]),
    ):
        with pytest.raises(TypeError, match="give|leave it out"):
            make()
    with pytest.raises(TypeError, match="sizes = 3 is no sequence of integers: give one for each"):
        generate.stochastic_block(3, [[1]])


def test_no_vertices():
    """As in NetworkX, whose models take none but for preferential attachment."""
    for make, theirs in (
        (lambda: generate.watts_strogatz(0, 0, 0.1), nx.watts_strogatz_graph(0, 0, 0.1)),
        (lambda: generate.stochastic_block([], []), nx.stochastic_block_model([], [])),
        (lambda: generate.stochastic_block([0, 0], np.eye(2)), nx.stochastic_block_model([0, 0], np.eye(2))),
        (lambda: generate.planted_partition(0, 3, 0.1, 0.1), nx.planted_partition_graph(0, 3, 0.1, 0.1)),
        (lambda: generate.planted_partition(3, 0, 0.1, 0.1), nx.planted_partition_graph(3, 0, 0.1, 0.1)),
    ):  # fmt: skip
        assert make().shape == (len(theirs),) * 2 == (0, 0)
        assert make().dtype == bool
        assert ps.csgraph.connected_components(make())[0] == 0
    a, xy = generate.random_geometric(0, 0.1, dtype=np.float32, positions=True)
    assert (a.shape, a.dtype, xy.shape) == ((0, 0), np.float32, (0, 2))
    with pytest.raises(nx.NetworkXError):
        nx.barabasi_albert_graph(0, 1)
    with pytest.raises(ValueError, match="n = 0"):
        generate.barabasi_albert(0, 1)


def test_what_does_not_fit():
    for make in (
        lambda: generate.random_geometric(10**7, 1.0),
        lambda: generate.barabasi_albert(2 * 10**9, 1000),
        lambda: generate.watts_strogatz(2 * 10**9, 1000, 0),
        lambda: generate.stochastic_block([2 * 10**9], [[0.5]]),
    ):
        with pytest.raises(MemoryError, match=r"needs .* GB and .* GB are free: ask for fewer"):
            make()
