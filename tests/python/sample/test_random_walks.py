"""ps.sample.random_walks and personalized_pagerank: their distributions against exact ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

import penstock as ps


def graph(n=12, seed=1, symmetric=False, values=True, density=0.35):
    """A small dense graph, as a csr_array and as NumPy's matrix of its weights."""
    rng = np.random.default_rng(seed)
    w = (rng.random((n, n)) < density) * (rng.integers(1, 9, (n, n)) if values else 1.0)
    if symmetric:
        w = np.triu(w, 1) + np.triu(w, 1).T
    w = w.astype(np.float64)
    return ps.csr_array(w if values else w.astype(bool)), w


def fits(counts, probabilities):
    counts, probabilities = np.asarray(counts), np.asarray(probabilities, dtype=float)
    assert (counts[probabilities == 0] == 0).all()
    keep = probabilities > 0
    if keep.sum() > 1:
        expected = probabilities[keep] / probabilities.sum() * counts.sum()
        assert chisquare(counts[keep], expected).pvalue > 1e-4


def test_steps_follow_edges_and_end_without():
    A = ps.csr_array(([True] * 4, ([0, 1, 1, 2], [1, 2, 3, 0])), shape=(5, 5))
    walks = ps.sample.random_walks(A, None, 30, seed=3)
    assert walks.shape == (5, 31) and walks.dtype == np.int32
    assert walks[:, 0].tolist() == [0, 1, 2, 3, 4]
    edges = {(0, 1), (1, 2), (1, 3), (2, 0)}
    for walk in walks.tolist():
        for u, v in pairwise(walk):
            assert (u, v) in edges if v >= 0 else u in (3, 4, -1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, bool])
def test_first_order_steps(weighted, dtype):
    A, w = graph(30 if weighted else 12, density=0.6)
    A = A.astype(dtype)
    w = w if weighted and dtype is not bool else (w > 0).astype(float)
    walks = ps.sample.random_walks(
        A, np.repeat(np.arange(A.shape[0]), 40), 40, weighted=weighted, seed=2
    )
    assert (walks >= 0).all()
    for v in range(A.shape[0]):
        after = walks[:, 1:][walks[:, :-1] == v]
        fits(np.bincount(after, minlength=A.shape[0]), w[v])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("p", "q"),
    [
        (0.25, 4),
        (4, 0.25),
        (0.1, 1),
        (10, 1),
        (1, 3),
        (1, 0.3),
        (0.02, 1),
        (1e3, 1e-3),
        (0.01, 100),
    ],
)
def test_node2vec_steps(p, q, symmetric, weighted):
    A, w = graph(symmetric=symmetric, seed=5)
    weights = w if weighted else (w > 0).astype(float)
    walks = ps.sample.random_walks(
        A, np.repeat(np.arange(12), 300), 12, p=p, q=q, weighted=weighted, seed=4
    )
    t, v, x = walks[:, :-2].ravel(), walks[:, 1:-1].ravel(), walks[:, 2:].ravel()
    tested = 0
    for before, here in {(a, b) for a, b in zip(t.tolist(), v.tolist(), strict=True) if b >= 0}:
        to = x[(t == before) & (v == here)]
        if (to < 0).any():
            assert weights[here].sum() == 0 and (to < 0).all()
            continue
        bias = np.where(w[before] > 0, 1.0, 1 / q)
        bias[before] = 1 / p
        exact = weights[here] * bias
        counts = np.bincount(to, minlength=12)
        assert (counts[exact == 0] == 0).all()
        # Rare ends are put together, so that the test's assumptions hold.
        often = exact / exact.sum() * to.size >= 5
        if often.sum() >= 1 and to.size >= 50:
            rest = exact[~often].sum() / exact.sum() * to.size
            observed, expected = list(counts[often]), list(exact[often] / exact.sum() * to.size)
            if rest >= 5:
                observed.append(counts[~often].sum())
                expected.append(rest)
            elif not (~often & (exact > 0)).any():
                pass
            else:
                observed[0] += counts[~often].sum()
                expected[0] += rest
            if len(observed) > 1:
                tested += 1
                assert chisquare(observed, np.array(expected)).pvalue > 1e-5
    assert tested > 10


def test_hubs_with_one_heavy_edge():
    """Rejection would take thousands of tries: rows are looked at as a whole instead."""
    n = 5000
    values = np.ones(n)
    values[1234] = 1e6
    A = ps.csr_array((values, (np.zeros(n, int), np.arange(1, n + 1))), shape=(n + 1, n + 1))
    to = ps.sample.random_walks(A, np.zeros(20_000, int), 1, weighted=True, seed=1)[:, 1]
    heavy = (to == 1235).mean()
    assert abs(heavy - 1e6 / (1e6 + n - 1)) < 2e-3


def test_restart():
    A = ps.generate.rmat(10, seed=1)
    hub = int(np.argmax(np.diff(A.indptr)))
    walks = ps.sample.random_walks(A, [hub] * 4000, 10, restart=0.3, seed=1)
    assert (walks[:, 0] == hub).all()
    back = (walks[:, 1:] == hub).mean()
    assert 0.29 < back < 0.45
    first = walks[:, 1] == hub
    assert abs(first.mean() - 0.3) < 4 * np.sqrt(0.21 / 4000)
    biased = ps.sample.random_walks(A, [hub] * 4000, 10, restart=0.3, p=0.5, q=2, seed=1)
    assert abs((biased[:, 1] == hub).mean() - 0.3) < 4 * np.sqrt(0.21 / 4000)


@pytest.mark.parametrize(
    "how",
    [{}, {"weighted": True}, {"p": 0.5, "q": 2}, {"weighted": True, "q": 0.5}, {"restart": 0.2}],
)
def test_the_same_for_any_number_of_threads(how):
    A = ps.generate.rmat(11, seed=2, dtype=np.float32)
    before = ps.num_threads()
    walks = []
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            walks.append(ps.sample.random_walks(A, None, 20, seed=6, **how))
    finally:
        ps.set_num_threads(before)
    assert (walks[0] == walks[1]).all() and (walks[0] == walks[2]).all()
    alone = ps.sample.random_walks(A, np.arange(50), 20, seed=6, **how)
    assert (alone == walks[0][:50]).all()
    assert (ps.sample.random_walks(A, None, 20, seed=7, **how) != walks[0]).any()


@pytest.mark.parametrize("how", [{}, {"p": 0.5}, {"weighted": True}])
def test_none_and_short_ones(how):
    A, _ = graph()
    assert ps.sample.random_walks(A, [], 5, **how).shape == (0, 6)
    assert ps.sample.random_walks(A, [3, 3], 0, **how).tolist() == [[3], [3]]
    empty = ps.csr_array((0, 0))
    assert ps.sample.random_walks(empty, None, 5, **how).shape == (0, 6)


def test_zero_weights_end_a_walk():
    A = ps.csr_array(([1.0, 0.0, 0.0], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    for how in ({}, {"p": 0.5}):
        assert ps.sample.random_walks(A, [0], 3, weighted=True, **how).tolist() == [[0, 1, -1, -1]]


@pytest.mark.parametrize(
    ("error", "match", "how"),
    [
        (ValueError, "p=0", {"p": 0}),
        (ValueError, "p=-1", {"p": -1}),
        (ValueError, "q=nan", {"q": float("nan")}),
        (TypeError, "q='a'", {"q": "a"}),
        (ValueError, "restart=1", {"restart": 1}),
        (ValueError, "restart=-0.1", {"restart": -0.1}),
        (ValueError, "length=-1", {"length": -1}),
        (TypeError, "length=1.5", {"length": 1.5}),
        (ValueError, r"starts\[0\]=12", {"starts": [12]}),
        (ValueError, r"starts\[0\]=-1", {"starts": [-1]}),
        (TypeError, "starts must be integers", {"starts": [0.5]}),
        (TypeError, r"starts has shape \(1, 1\)", {"starts": [[0]]}),
        (ValueError, "p=inf is not finite: give a number above 0", {"p": np.inf}),
        (TypeError, "weighted=1", {"weighted": 1}),
        (ValueError, "seed=-1", {"seed": -1}),
    ],
)
def test_bad_arguments(error, match, how):
    with pytest.raises(error, match=match):
        ps.sample.random_walks(graph()[0], **{"starts": [0], "length": 3, **how})


def test_bad_matrices():
    A = ps.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    with pytest.raises(ValueError, match="without_duplicates"):
        ps.sample.random_walks(A, [0], 2, p=2)
    with pytest.raises(ValueError, match="complex"):
        ps.sample.random_walks(ps.csr_array(np.array([[1j]])), [0], 2)
    for bad in (-1.0, np.nan, np.inf):
        A = ps.csr_array(([1.0, bad], ([0, 1], [1, 0])), shape=(2, 2))
        with pytest.raises(ValueError, match="edge 1 -> 0 has weight"):
            ps.sample.random_walks(A, [0], 2, weighted=True)
        assert ps.sample.random_walks(A, [0], 2).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85])
def test_personalized_pagerank_is_within_its_bound(damping, weighted):
    A, _ = graph(40, density=0.05, seed=3)  # some vertices have no edges
    assert (np.diff(A.indptr) == 0).any()
    source = int(np.argmax(np.diff(A.indptr)))
    exact = ps.csgraph.pagerank(
        A, damping, personalization={source: 1}, tol=1e-12, max_iter=1000, weighted=weighted
    )
    found, ranks = ps.sample.personalized_pagerank(
        A, source, damping, 0.05, 1e-2, weighted=weighted, seed=5
    )
    assert abs(ranks.sum() - 1) < 1e-12 and (np.diff(ranks) <= 0).all()
    got = np.zeros(40)
    got[found] = ranks
    large = exact >= 1e-2
    assert (abs(got - exact)[large] <= 0.05 * exact[large]).all()
    assert (got[exact < 1e-13] == 0).all()


def test_personalized_pagerank_for_any_number_of_threads():
    A = ps.generate.rmat(12, seed=1)
    before = ps.num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            results.append(ps.sample.personalized_pagerank(A, 5, epsilon=0.2, delta=1e-3, seed=1))
    finally:
        ps.set_num_threads(before)
    for found, ranks in results[1:]:
        assert (found == results[0][0]).all() and (ranks == results[0][1]).all()


@pytest.mark.parametrize(
    ("error", "match", "how"),
    [
        (ValueError, "damping=1", {"damping": 1}),
        (ValueError, "epsilon=0", {"epsilon": 0}),
        (ValueError, "delta=nan", {"delta": float("nan")}),
        (ValueError, "source=12", {"source": 12}),
        (ValueError, "more than 2.31", {"epsilon": 1e-4, "delta": 1e-6}),
        (TypeError, "epsilon=None", {"epsilon": None}),
    ],
)
def test_personalized_pagerank_refuses(error, match, how):
    with pytest.raises(error, match=match):
        ps.sample.personalized_pagerank(graph()[0], **{"source": 0, **how})


def test_texts_and_masks_are_refused():
    A, _ = graph()
    for name in ("restart", "p", "q"):
        with pytest.raises(TypeError, match=f"{name}='0.5' is not a number"):
            ps.sample.random_walks(A, [0], 2, **{name: "0.5"})
    for name in ("damping", "epsilon", "delta", "failure"):
        with pytest.raises(TypeError, match=f"{name}='0.5' is not a number"):
            ps.sample.personalized_pagerank(A, 0, **{name: "0.5"})
    with pytest.raises(ValueError, match="starts has 1 masked entries"):
        ps.sample.random_walks(A, np.ma.array([0, 1], mask=[True, False]), 2)
