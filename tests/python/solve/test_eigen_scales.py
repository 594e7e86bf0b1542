"""Eigenvalues and singular values of multiples of a matrix: the same digits at every scale, in each type."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penstock as ps

S = ps.generate.laplacian((30, 30)).to_scipy().astype(np.float64)
R = ps.generate.uniform(600, nnz_per_row=5, seed=1).to_scipy()
VALUES = np.linalg.eigvalsh(S.toarray())
SINGULAR = np.linalg.svd(R.toarray(), compute_uv=False)[:3]
CENTRED = np.linalg.svd(R.toarray() - R.toarray().mean(axis=0), compute_uv=False)[:3]
SCALES = [
    *((scale, np.float64) for scale in (1e-200, 1e-30, 1e-15, 1.0, 1e160)),
    *((scale, np.float32) for scale in (1e-30, 1e-6, 1.0, 1e20)),
]


def off(found, scale, expected):
    return abs(np.asarray(found, np.float64) / scale / expected - 1).max()


@pytest.mark.parametrize(("scale", "dtype"), SCALES)
def test_eigsh_at_every_scale(scale, dtype):
    A = ps.csr_array((S * scale).astype(dtype))
    close = 1e-10 if dtype == np.float64 else 2e-5
    for which, expected in (("LA", VALUES[-4:]), ("LM", VALUES[-4:]), ("SA", VALUES[:4])):
        values, vectors = ps.linalg.eigsh(A, 4, which=which)
        assert off(values, scale, expected) <= close
        left = (S @ vectors.astype(np.float64)) - vectors * (values.astype(np.float64) / scale)
        assert abs(left).max() <= (1e-12 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize(("scale", "dtype"), SCALES)
def test_svds_and_pca_at_every_scale(scale, dtype):
    A = ps.csr_array((R * scale).astype(dtype))
    close = 1e-12 if dtype == np.float64 else 2e-6
    assert off(ps.linalg.svds(A, 3)[1][::-1], scale, SINGULAR) <= close
    with np.errstate(over="ignore"):
        assert off(ps.linalg.pca(A, 3).singular_values, scale, CENTRED) <= close


def test_a_matrix_of_zeros():
    A = ps.csr_array(S * 0)
    assert not ps.linalg.eigsh(A, 3)[0].any() and not ps.linalg.svds(A, 3)[1].any()


def test_whole_numbers_that_are_floats():
    A = ps.csr_array(S)
    assert off(ps.linalg.eigsh(A, 3.0, which="LA")[0], 1, VALUES[-3:]) < 1e-10
    assert off(ps.linalg.svds(ps.csr_array(R), 3.0)[1][::-1], 1, SINGULAR) < 1e-12
    with pytest.raises(ValueError, match="a whole number"):
        ps.linalg.eigsh(A, 3.5)


def test_pca_names_the_cancellation_of_large_means():
    X = np.random.default_rng(0).standard_normal((400, 200))
    exact = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3]
    with pytest.warns(RuntimeWarning, match="means of A's columns are so far above"):
        found = ps.linalg.pca(ps.csr_array(X + 1e9), 3).singular_values
    np.testing.assert_allclose(found, exact, rtol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ps.linalg.pca(ps.csr_array(X + 10), 3).singular_values
    np.testing.assert_allclose(found, exact, rtol=1e-10)
