"""`svds`, `randomized_svd` and `block_krylov_svd` against LAPACK and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from data_files import real_file
from penstock.linalg import block_krylov_svd, randomized_svd, svds

import penstock as ps

TYPES = [np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(300, 140), (140, 300), (200, 200)]
APPROXIMATE = [randomized_svd, block_krylov_svd]


def matrix(shape, dtype=np.float64, seed=2):
    rng = np.random.default_rng(seed)
    S = sp.random_array(shape, density=0.05, rng=rng)
    if np.dtype(dtype).kind == "c":
        S = S + 1j * sp.random_array(shape, density=0.05, rng=rng)
    return sp.csr_array(S.astype(dtype))


def falling(shape, values, seed=0):
    """A dense matrix with these singular values."""
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((shape[0], len(values))))
    v, _ = np.linalg.qr(rng.standard_normal((shape[1], len(values))))
    return (u * values) @ v.T


def check(S, u, s, vh, tolerance):
    scale = s.max()
    np.testing.assert_allclose(S @ vh.conj().T, u * s, atol=tolerance * scale)
    np.testing.assert_allclose(S.conj().T @ u, vh.conj().T * s, atol=tolerance * scale)
    eye = np.eye(len(s))
    assert abs(u.conj().T @ u - eye).max() < max(tolerance, 1e-13)
    assert abs(vh @ vh.conj().T - eye).max() < max(tolerance, 1e-13)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("block", [None, 4])
def test_svds_of_every_shape_and_type(shape, dtype, block):
    S = matrix(shape, dtype)
    u, s, vh = svds(ps.csr_array(S), k=6, block=block)
    assert u.shape == (shape[0], 6) and vh.shape == (6, shape[1]) and u.dtype == dtype
    tolerance = 1e-4 if np.dtype(dtype).char in "fF" else 1e-11
    exact = np.linalg.svd(S.toarray(), compute_uv=False)[:6][::-1]
    np.testing.assert_allclose(s, exact, rtol=tolerance)
    check(S.toarray(), u, s, vh, tolerance)


def test_svds_returns_what_scipys_does():
    S = matrix((300, 140))
    A = ps.csr_array(S)
    for wanted in (True, False, "u", "vh"):
        ours, theirs = (
            f(x, k=4, return_singular_vectors=wanted) for f, x in ((svds, A), (sla.svds, S))
        )
        if wanted is False:
            np.testing.assert_allclose(ours, theirs)
            continue
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(abs(one), abs(other), atol=1e-9)
    for how in (
        {"which": "SM"},
        {"solver": "propack", "maxiter": 139},
        {"solver": "lobpcg", "tol": 1e-9},
    ):
        ours, theirs = svds(A, k=3, rng=1, **how)[1], sla.svds(S, k=3, rng=1, **how)[1]
        np.testing.assert_allclose(np.sort(ours), np.sort(theirs), rtol=1e-4)


@pytest.mark.parametrize("shape", [(1, 5), (2, 9), (9, 2), (40, 30), (1000, 3)])
def test_svds_of_small_sides_and_nearly_all_values(shape):
    S = np.random.default_rng(0).random(shape)
    n = min(shape)
    if n == 1:
        with pytest.raises(ValueError, match="0 < k < min"):
            svds(ps.csr_array(S), k=1)
        return
    u, s, vh = svds(ps.csr_array(S), k=n - 1)
    np.testing.assert_allclose(s, np.linalg.svd(S, compute_uv=False)[: n - 1][::-1])
    check(S, u, s, vh, 1e-12)


@pytest.mark.parametrize(
    "values",
    [
        np.ones(120),
        np.repeat([3.0, 2.0, 1.0], 40),
        np.geomspace(1, 1e-9, 120),
        [5.0, 5.0, 1.0],
        [0.0],
    ],
    ids=["equal", "threefold", "graded", "rank three", "zero"],
)
def test_svds_of_degenerate_and_low_rank_matrices(values):
    S = falling((260, 150), np.asarray(values))
    u, s, vh = svds(ps.csr_array(S), k=5)
    exact = np.concatenate([np.sort(values)[::-1], np.zeros(5)])[:5][::-1]
    np.testing.assert_allclose(s, exact, atol=1e-12)
    eye = np.eye(5)
    assert abs(u.T @ u - eye).max() < 1e-12 and abs(vh @ vh.T - eye).max() < 1e-12
    np.testing.assert_allclose(S @ vh.T, u * s, atol=1e-12)


def test_what_an_A_may_be():
    S = matrix((140, 300))
    exact = np.linalg.svd(S.toarray(), compute_uv=False)
    for given in (S, S.toarray(), sla.aslinearoperator(S), ps.csr_array(S), ps.csr_array(S).T):
        np.testing.assert_allclose(svds(given, k=3)[1], exact[:3][::-1])
        np.testing.assert_allclose(block_krylov_svd(given, 3, n_iter=14)[1], exact[:3], rtol=1e-6)
    pattern = ps.csr_array((np.ones(S.nnz, bool), S.indices, S.indptr), shape=S.shape)
    ones = np.linalg.svd((S.toarray() != 0).astype(float), compute_uv=False)
    np.testing.assert_allclose(svds(pattern, k=3)[1], ones[:3][::-1])
    one_way = sla.LinearOperator(S.shape, matvec=lambda x: S @ x, dtype=S.dtype)
    with pytest.raises((TypeError, NotImplementedError)):
        svds(one_way, k=2)


@pytest.mark.parametrize("call", [svds, *APPROXIMATE])
def test_streamed_products_give_the_same(call):
    A = ps.csr_array(matrix((900, 700)))
    *found, info = call(A, 5, schedule=ps.Streamed(device="cpu"), return_info=True)
    *here, in_core = call(A, 5, return_info=True)
    assert info.streamed and not in_core.streamed and info.passes <= in_core.passes
    np.testing.assert_allclose(found[1], here[1], rtol=1e-8)


@pytest.mark.parametrize("call", APPROXIMATE)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_low_rank_matrices_are_found_exactly(call, shape, dtype):
    S = falling(shape, np.array([9.0, 4, 4, 1, 0.5])).astype(dtype)
    if np.dtype(dtype).kind == "c":
        S = S * np.exp(1j * np.arange(shape[1])).astype(dtype)
    u, s, vh = call(ps.csr_array(S), 5)
    assert u.dtype == dtype and s.dtype == np.zeros(1, dtype).real.dtype
    tolerance = 2e-5 if np.dtype(dtype).char in "fF" else 1e-12
    np.testing.assert_allclose(s, [9, 4, 4, 1, 0.5], rtol=tolerance)
    check(S, u, s, vh, tolerance)


def test_the_bound_of_the_paper_and_the_order_of_the_methods():
    values = 1.0 / np.arange(1, 201)
    S = falling((400, 300), values)
    A, k = ps.csr_array(S), 10
    errors = {}
    for call in APPROXIMATE:
        *found, info = call(A, k, n_iter=2, return_info=True)
        u, s, vh = found
        errors[call] = np.linalg.norm(S - (u * s) @ vh, 2)
        assert info.passes == 2 * 2 + 2 + 1  # the last one for the residuals
        np.testing.assert_allclose(
            np.linalg.norm(S @ vh.T - u * s, axis=0), info.residuals, atol=1e-12
        )
        assert np.all(s <= values[:k] * (1 + 1e-12)) and np.all(np.diff(s) <= 0)
    assert values[k] * (1 - 1e-12) <= errors[block_krylov_svd] <= errors[randomized_svd]
    assert errors[randomized_svd] < 1.3 * values[k]
    assert errors[block_krylov_svd] < 1.05 * values[k]


@pytest.mark.parametrize("call", [svds, *APPROXIMATE])
def test_the_same_bits_for_a_seed(call):
    A = ps.csr_array(matrix((500, 400)))
    np.testing.assert_array_equal(call(A, 4, rng=3)[0], call(A, 4, rng=3)[0])
    assert (call(A, 4, rng=3)[0] != call(A, 4, rng=4)[0]).any()


def test_bad_input_is_one_sentence():
    A = ps.csr_array(matrix((50, 40)))
    for named, said in (
        ({"k": 0}, "0 < k < min"),
        ({"k": 40}, "scipy.linalg.svd"),
        ({"ncv": 6}, "k < ncv < min"),
        ({"tol": np.nan}, "non-negative"),
        ({"maxiter": 0}, "positive integer"),
        ({"return_singular_vectors": "x"}, "must be one of"),
        ({"which": "SM", "block": 2}, "belong to our method"),
        ({"v0": np.ones(50)}, "v0 has shape"),
    ):
        with pytest.raises(ValueError, match=said):
            svds(ps.csr_array(matrix((500, 400))) if "v0" in named else A, **named)
    for call in APPROXIMATE:
        for named, said in (
            ({"n_components": 41}, "n_components=41"),
            ({"n_components": 0}, "n_components=0"),
            ({"n_components": 3, "n_oversamples": -1}, "n_oversamples=-1"),
            ({"n_components": 3, "n_iter": "many"}, "n_iter='many'"),
        ):
            with pytest.raises(ValueError, match=said):
                call(A, **named)
    broken = matrix((300, 200)).toarray()
    broken[3, 3] = np.inf
    for call in (svds, *APPROXIMATE):
        with pytest.raises(ValueError, match="not finite"):
            call(ps.csr_array(broken), 3)
    with pytest.raises(sla.ArpackNoConvergence):
        svds(ps.csr_array(matrix((2000, 1500))), k=5, maxiter=1)


@pytest.mark.parametrize("name", ["gowalla-bipartite.mtx.gz", "lp_ken_11.mtx.gz"])
def test_real_matrices(name):
    A = ps.load(real_file(name)).astype(np.float64)
    S = A.to_scipy()
    u, s, vh = svds(A, k=5)
    np.testing.assert_allclose(
        s, np.sort(sla.svds(S, k=5, return_singular_vectors=False)), rtol=1e-9
    )
    check(S, u, s, vh, 1e-9)
    close = block_krylov_svd(A, 5, n_iter=4)[1]
    np.testing.assert_allclose(close[::-1], s, rtol=0.02)
