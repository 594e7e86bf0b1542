"""Weighted samples and walks whose weights are subnormal, or of very different sizes: against exact probabilities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

import penstock as ps

DRAWS = 20_000


def star(weights):
    """Vertex 0 has an edge of each weight."""
    n = len(weights)
    ends = np.zeros(n, int), np.arange(1, n + 1)
    return ps.csr_array((np.asarray(weights), ends), shape=(n + 1, n + 1))


def drawn(weights, fanout, **how):
    """The edges of each of many samples of vertex 0, a row each."""
    S = ps.sample.neighbors(star(weights), np.zeros(DRAWS, int), [fanout], weighted=True, **how)
    return S.edges.reshape(DRAWS, -1)


def fits(counts, expected):
    expected = np.asarray(expected, float) / np.max(expected)
    counts = np.asarray(counts)
    possible = expected > 1e-12
    assert (counts[~possible] == 0).all()
    expected = expected[possible] / expected[possible].sum() * counts.sum()
    assert possible.sum() == 1 or chisquare(counts[possible], expected).pvalue > 1e-3


@pytest.mark.parametrize("weights", [
    [1e-320, 3e-320, 2e-320, 5e-320],
    [5e-324, 1e-323, 0.0, 1.5e-323],
    [1e-320, 1.0, 3e-320, 2.0],
    [1e-320, 1e-310, 3e-310, 1e-300],
    [1e308, 3e307, 2e307, 1e-320],
    np.array([1e-45, 3e-45, 4e-45, 1e-44], np.float32),
])  # fmt: skip
def test_one_after_the_other(weights):
    taken = np.sort(drawn(weights, 2), axis=1)
    w = np.asarray(weights, float) / np.max(weights)
    pairs = sorted({tuple(sorted(p)) for p in permutations(range(4), 2)})

    def of(i, j):
        return w[i] / w.sum() * w[j] / np.delete(w, i).sum()

    fits([(taken == p).all(axis=1).sum() for p in pairs], [of(i, j) + of(j, i) for i, j in pairs])


def test_the_last_draws_are_among_the_smallest():
    taken = drawn([1e-320, 1.0, 3e-320, 2.0], 3)
    assert (taken == 1).any(axis=1).all() and (taken == 3).any(axis=1).all()
    fits([(taken == e).any(axis=1).sum() for e in (0, 2)], [1, 3])


@pytest.mark.parametrize("weights", [[1e-320, 3e-320, 2e-320], [5e-324, 0.0, 1e-323]])
def test_with_replacement_and_in_walks(weights):
    fits(np.bincount(drawn(weights, 3, replace=True).ravel(), minlength=3), weights)
    for q in (1.0, 2.0):
        walks = ps.sample.random_walks(star(weights), np.zeros(DRAWS, int), 1, weighted=True, q=q)
        fits(np.bincount(walks[:, 1] - 1, minlength=3), weights)


def test_hubs_and_steps_back():
    """A row that is long is drawn from by darts; with p the edge back has a stripe of its own."""
    n = 40
    weights = np.arange(1, n + 1) * 1e-322
    there = np.arange(1, n + 1)
    rows, columns = np.append(np.zeros(n, int), there), np.append(there, np.zeros(n, int))
    A = ps.csr_array((np.append(weights, weights), (rows, columns)), shape=(n + 1, n + 1))
    walks = ps.sample.random_walks(A, np.zeros(DRAWS, int), 3, weighted=True, p=0.1)
    fits(np.bincount(walks[:, 1] - 1, minlength=n), np.arange(1, n + 1))
    from_last = walks[walks[:, 1] == n]  # and back to 0: the edge to n weighs ten times as much
    exact = np.arange(1.0, n + 1)
    exact[-1] *= 10
    often = exact > 8
    counts = np.bincount(from_last[:, 3] - 1, minlength=n)
    fits([*counts[often], counts[~often].sum()], [*exact[often], exact[~often].sum()])
