"""What SciPy, NumPy and scikit-learn do with a csr_array: it works, or ends in a sentence that names the remedy."""

import importlib.util
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as graphs
import scipy.sparse.linalg as sla
from numpy.testing import assert_allclose, assert_array_equal

import penstock as ps

S = sp.random_array((40, 12), density=0.3, format="csr", rng=1)
A = ps.csr_array(S)
SQUARE = sp.csr_array(S.T @ S + 5 * sp.eye_array(12))
Q = ps.csr_array(SQUARE)
B, LONG = np.ones(12), np.ones(40)

# The call, by the matrix it is called with; what SciPy makes of its own array is the reference.
WORKS = {
    "cg": (lambda q: sla.cg(q, B)[0], Q, SQUARE),
    "gmres": (lambda q: sla.gmres(q, B)[0], Q, SQUARE),
    "minres": (lambda q: sla.minres(q, B)[0], Q, SQUARE),
    "lsqr": (lambda a: sla.lsqr(a, LONG)[0], A, S),
    "lsmr": (lambda a: sla.lsmr(a, LONG)[0], A, S),
    "eigsh": (lambda q: sla.eigsh(q, 2, v0=B)[0], Q, SQUARE),
    "eigs": (lambda q: abs(sla.eigs(q, 2, v0=B)[0]), Q, SQUARE),
    "svds": (lambda a: np.sort(sla.svds(a, 2, v0=B)[1]), A, S),
    "onenormest": (sla.onenormest, Q, SQUARE),
    "expm_multiply": (lambda q: sla.expm_multiply(q / 20, B), Q, SQUARE),
    "LinearOperator": (lambda a: sla.aslinearoperator(a) @ B, A, S),
    "matrix_power": (lambda q: sla.matrix_power(q, 3).toarray(), Q, SQUARE),
    "S @ A": (lambda a: (S.T @ a).toarray(), A, S),
    "S.T.dot": (lambda a: S.T.dot(a).toarray(), A, S),
    "S + A": (lambda a: (S + a).toarray(), A, S),
    "S - A": (lambda a: (S - a).toarray(), A, S),
    "S * A": (lambda a: (S * a).toarray(), A, S),
    "S / A": (lambda a: S / a, A, S),
    "S != A": (lambda a: (a != 2 * S).toarray(), A, S),
    "S < A": (lambda a: (a > -S).toarray(), A, S),
    "matrix * A": (lambda a: (sp.csr_matrix(S.T) * a).toarray(), A, S),
    "np.sum": (lambda a: np.sum(a, axis=0), A, S),
    "np.mean": (lambda a: np.mean(a, axis=1), A, S),
    "np.max": (np.max, A, S),
    "np.argmax": (np.argmax, A, S),
    "np.nonzero": (lambda a: np.transpose(np.nonzero(a)), A, S),
    "np.transpose": (lambda a: np.transpose(a).toarray(), A, S),
    "np.reshape": (lambda a: np.reshape(a, (12, 40)).toarray(), A, S),
    "np.shape": (lambda a: np.array([*np.shape(a), np.ndim(a), np.size(a)]), A, S),
    "np.sqrt": (lambda a: np.sqrt(a).toarray(), A, S),
    "np.abs": (lambda a: np.abs(a).toarray(), A, S),
    "np.matmul": (lambda a: np.matmul(a, B), A, S.toarray()),
    "np.multiply": (lambda a: _dense(np.multiply(2.0, a)), A, S.toarray()),
    "np.maximum": (lambda a: np.maximum(np.ones((40, 12)), a), A, S.toarray()),
    "np.float64 *": (lambda a: (np.float64(2) * a).toarray(), A, S),
    "dense * A": (lambda a: _dense(S.toarray() * a), A, S.toarray()),
    "dense + A": (lambda a: S.toarray() + a, A, S.toarray()),
    "dense - A": (lambda a: S.toarray() - a, A, S.toarray()),
    "dense @ A": (lambda a: np.ones((3, 40)) @ a, A, S.toarray()),
    "dense == A": (lambda a: S.toarray() == a, A, S.toarray()),
    "dense > A": (lambda a: LONG[:, None] > a, A, S.toarray()),
}


def _dense(a):
    return a.toarray() if hasattr(a, "toarray") else a


@pytest.mark.parametrize("name", WORKS)
def test_works_as_with_theirs(name):
    call, mine, theirs = WORKS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of 0 / 0
        assert_allclose(call(mine), call(theirs), rtol=1e-6, atol=1e-9)


ENDS = {
    "csr_array": lambda: sp.csr_array(A),
    "csc_array": lambda: sp.csc_array(A),
    "coo_array": lambda: sp.coo_array(A),
    "csr_matrix": lambda: sp.csr_matrix(A),
    "vstack": lambda: sp.vstack([A, A]),
    "hstack": lambda: sp.hstack([A, S]),
    "block_array": lambda: sp.block_array([[A, None], [None, A]]),
    "block_diag": lambda: sp.block_diag([A, A]),
    "kron": lambda: sp.kron(A, A),
    "S.multiply": lambda: S.multiply(A),
    "spsolve": lambda: sla.spsolve(Q, B),
    "splu": lambda: sla.splu(Q),
    "shortest_path": lambda: graphs.shortest_path(Q),
    "connected_components": lambda: graphs.connected_components(Q),
    "laplacian": lambda: graphs.laplacian(Q),
    "np.asarray": lambda: np.asarray(A),
    "np.dot": lambda: np.dot(A, B),
    "np.vstack": lambda: np.vstack([A, A]),
    "np.linalg.norm": lambda: np.linalg.norm(A),
    "np.exp": lambda: np.exp(A),
    "np.isnan": lambda: np.isnan(A),
    "np.any": lambda: np.any(A),
    "np.add.reduce": lambda: np.add.reduce(A),
    "np.array_equal": lambda: np.array_equal(A, A),
    "ravel": lambda: A.ravel(),
}


def sentences(error):
    """What an error says, and those that it follows from."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", ENDS)
def test_ends_in_a_sentence_with_the_remedy(name):
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        ENDS[name]()
    remedies = (".to_scipy()", ".toarray()", ".nnz == 0")
    assert any(word in said for said in sentences(caught.value) for word in remedies)


def test_the_remedy_works():
    assert_allclose(sla.spsolve(Q.T.to_scipy(), B), np.linalg.solve(SQUARE.toarray().T, B))
    assert_array_equal(
        sp.vstack([a.to_scipy() for a in (A, A)]).toarray(), sp.vstack([S, S]).toarray()
    )
    assert ps.issparse(A) and ps.issparse(A.T) and ps.issparse(S) and not ps.issparse(S.toarray())
    assert not sp.issparse(A)  # it asks for its own classes


def test_into_dense_arrays_in_place():
    x = S.toarray()
    y = x.copy()
    y += A
    assert_array_equal(y, 2 * x)
    y -= A
    assert_array_equal(y, x)
    z = np.ones((3, 40))
    z @= A
    assert z.shape == (3, 12)  # another array, as SciPy has it
    whole = np.ones(x.shape, int)
    whole += A
    assert_array_equal(whole, x + 1)  # and of another type, for nothing is rounded
    y *= A
    assert isinstance(y, ps.csr_array)
    assert_array_equal(y.toarray(), x * x)
    out = np.empty_like(x)
    assert np.add(x, A, out=out) is out
    assert_array_equal(out, 2 * x)
    for bad in (np.empty((2, 2)), np.empty(x.shape, int)):
        with pytest.raises(ValueError, match="the result is ndarray of shape"):
            np.add(x, A, out=bad)
    with pytest.raises(ValueError, match="the result is csr_array"):
        np.multiply(x, A, out=out)


# scikit-learn

ESTIMATORS = {
    "decomposition.TruncatedSVD": lambda kind, a: kind(2).fit_transform(a),
    "linear_model.LogisticRegression": lambda kind, a: kind().fit(a, np.arange(40) % 2),
    "linear_model.Ridge": lambda kind, a: kind().fit(a, LONG),
    "cluster.KMeans": lambda kind, a: kind(2).fit(a),
    "preprocessing.normalize": lambda call, a: call(a),
    "preprocessing.MaxAbsScaler": lambda kind, a: kind().fit_transform(a),
    "neighbors.NearestNeighbors": lambda kind, a: kind().fit(a),
    "metrics.pairwise.cosine_similarity": lambda call, a: call(a),
}


@pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None,
    reason="scikit-learn is not installed: pip install scikit-learn",
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn(name):
    module, _, last = name.rpartition(".")
    what = getattr(importlib.import_module(f"sklearn.{module}"), last)
    # docs/eigen.md says that estimators take A.to_scipy()
    with pytest.raises(TypeError, match=r"\.to_scipy\(\)"):
        ESTIMATORS[name](what, A)
    ESTIMATORS[name](what, A.to_scipy())
