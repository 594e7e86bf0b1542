"""`pca` against NumPy's SVD of the centred matrix, and against scikit-learn's PCA."""

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import pca

import penstock as ps


def matrix(shape, dtype=np.float64):
    rng = np.random.default_rng(6)
    S = sp.random_array(shape, density=0.1, rng=rng).toarray() * (1 + np.arange(shape[1]))
    if np.dtype(dtype).kind == "c":
        S = S * np.exp(1j * rng.random(shape))
    return S.astype(dtype)


@pytest.mark.parametrize("shape", [(400, 200), (200, 400), (30, 12)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_against_the_centred_matrix(shape, dtype):
    S = matrix(shape, dtype)
    found = pca(ps.csr_array(S), 4)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    centred = S - S.mean(axis=0)
    s = np.linalg.svd(centred, compute_uv=False)[:4]
    np.testing.assert_allclose(found.singular_values, s, rtol=tolerance)
    np.testing.assert_allclose(found.explained_variance, s**2 / (shape[0] - 1), rtol=tolerance)
    np.testing.assert_allclose(found.mean, S.mean(axis=0), rtol=1e-4, atol=1e-5)
    scores = centred @ found.components.conj().T
    np.testing.assert_allclose(found.scores, scores, atol=tolerance * s[0])
    assert abs(found.components @ found.components.conj().T - np.eye(4)).max() < tolerance
    top = abs(found.components).argmax(axis=1)
    assert (found.components[np.arange(4), top].real > 0).all()


def test_as_scikit_learn():
    theirs = pytest.importorskip("sklearn.decomposition").PCA(5, svd_solver="full")
    S = matrix((500, 160))
    expected = theirs.fit_transform(S)
    ours = pca(ps.csr_array(S), 5, block=3)
    np.testing.assert_allclose(abs(ours.scores), abs(expected), atol=1e-8 * abs(expected).max())
    np.testing.assert_allclose(ours.explained_variance, theirs.explained_variance_)


def test_streamed_and_bad_input():
    A = ps.csr_array(matrix((400, 200)))
    streamed = pca(A, 3, schedule=ps.Streamed(device="cpu"))
    np.testing.assert_allclose(streamed.singular_values, pca(A, 3).singular_values)
    with pytest.raises(ValueError, match="0 < k < min"):
        pca(A, 200)
    broken = matrix((40, 20))
    broken[1, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        pca(ps.csr_array(broken), 2)
