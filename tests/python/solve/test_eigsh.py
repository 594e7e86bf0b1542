"""`eigsh` of our own, against dense LAPACK and SciPy: all ends, types, degenerate and clustered spectra, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from data_files import real_file
from penstock.linalg import eigsh
from penstock.linalg.eigen import basis, lanczos

import penstock as ps

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def hermitian(n=300, dtype=np.float64, seed=5):
    rng = np.random.default_rng(seed)
    S = sp.random_array((n, n), density=0.03, rng=rng)
    if np.dtype(dtype).kind == "c":
        S = S + 1j * sp.random_array((n, n), density=0.03, rng=rng)
    return sp.csr_array((S + S.conj().T + sp.diags_array(rng.standard_normal(n))).astype(dtype))


def of_values(values, seed=0):
    """A dense symmetric matrix with these eigenvalues."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    a = (q * values) @ q.T
    return (a + a.T) / 2


def check(A, found, expected, tolerance=1e-12):
    """Values, residuals with SciPy's products, and orthogonality."""
    values, vectors = found
    S = A.to_scipy() if isinstance(A, ps.csr_array) else A
    norm = max(abs(expected))
    assert vectors.shape == (S.shape[0], len(expected)) and np.all(np.diff(values) >= 0)
    np.testing.assert_allclose(values, np.sort(expected), atol=tolerance * norm, rtol=0)
    assert np.linalg.norm(S @ vectors - vectors * values, axis=0).max() <= tolerance * norm
    product = vectors.conj().T @ vectors
    assert abs(product - np.eye(len(values))).max() <= tolerance


def end(values, which, k):
    values = np.sort(values)
    chosen = {"LA": values[-k:], "SA": values[:k], "LM": values[np.argsort(-abs(values))[:k]]}
    low = k // 2
    return chosen.get(which, np.concatenate([values[:low], values[len(values) - (k - low) :]]))


@pytest.mark.parametrize("which", ["LA", "SA", "LM", "BE"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("block", [None, 3, 9])
def test_every_end_and_type(which, dtype, block):
    S = hermitian(dtype=dtype)
    dense = np.linalg.eigvalsh(S.toarray().astype(np.complex128))
    found = eigsh(ps.csr_array(S), k=7, which=which, block=block)
    assert found[1].dtype == dtype and found[0].dtype == np.zeros(1, dtype).real.dtype
    check(S, found, end(dense, which, 7), 2e-5 if np.dtype(dtype).itemsize in (4,) else
          2e-5 if dtype == np.complex64 else 1e-12)  # fmt: skip


@pytest.mark.parametrize("which", ["LA", "SA", "LM", "BE"])
@pytest.mark.parametrize("k", [2, 4, 5])
def test_results_stand_in_scipys_order(which, k):
    S = hermitian(120)
    ours, theirs = eigsh(ps.csr_array(S), k=k, which=which), sla.eigsh(S, k=k, which=which)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-10)
    assert abs(abs(np.sum(ours[1] * theirs[1], axis=0)) - 1).max() < 1e-6
    values = eigsh(ps.csr_array(S), k=k, which=which, return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(values), np.sort(theirs[0]), atol=1e-10)


@pytest.mark.parametrize(
    "values",
    [
        np.ones(200),
        np.zeros(200),
        np.repeat(np.arange(20.0), 10),
        np.concatenate([np.zeros(190), np.arange(10.0) + 1]),
        np.concatenate([np.linspace(0, 1, 190), 2 + 1e-9 * np.arange(10)]),
        np.geomspace(1e-12, 1, 200),
        np.concatenate([-np.ones(100), np.ones(100)]),
    ],
    ids=["identity", "zero", "tenfold", "low rank", "clustered", "graded", "signs"],
)
@pytest.mark.parametrize("which", ["LA", "LM"])
@pytest.mark.parametrize("block", [1, 4])
def test_degenerate_and_clustered_spectra(values, which, block):
    A = ps.csr_array(of_values(values))
    found = eigsh(A, k=6, which=which, block=block)
    wanted = end(values, "LA", 6) if which == "LA" else None
    if wanted is None:  # of equal magnitudes any may be taken
        wanted = found[0]
        np.testing.assert_allclose(np.sort(abs(wanted)), np.sort(abs(values))[-6:], atol=1e-12)
    if max(abs(values)) > 0:
        check(A, found, wanted, 1e-11)
    else:
        np.testing.assert_array_equal(found[0], 0)


def test_a_grid_with_double_eigenvalues():
    A = ps.generate.laplacian((40, 40)).astype(np.float64)
    one = 2 - 2 * np.cos(np.pi * np.arange(1, 41) / 41)
    exact = np.sort((one[:, None] + one).ravel())
    check(A, eigsh(A, k=9, which="LA"), exact[-9:])
    check(A, eigsh(A, k=4, which="BE"), np.concatenate([exact[:2], exact[-2:]]), 1e-11)


@pytest.mark.parametrize("n", [2, 3, 10, 41, 60])
def test_small_matrices_and_nearly_all_values(n):
    S = sp.csr_array(of_values(np.arange(n) + 1.0))
    for k in {1, n // 2, n - 1}:
        check(S, eigsh(ps.csr_array(S), k=k, which="LA"), np.arange(n - k, n) + 1.0)


def test_the_same_bits_for_a_seed_and_other_bits_for_another():
    A = ps.csr_array(hermitian())
    first = eigsh(A, k=4, rng=3)[1]
    np.testing.assert_array_equal(first, eigsh(A, k=4, rng=np.random.default_rng(3))[1])
    assert (first != eigsh(A, k=4, rng=4)[1]).any()
    np.testing.assert_array_equal(eigsh(A, k=4)[1], eigsh(A, k=4)[1])


def test_what_an_A_may_be():
    S = hermitian()
    expected = end(np.linalg.eigvalsh(S.toarray()), "LM", 5)
    operator = sla.LinearOperator(S.shape, matvec=lambda x: S @ x, dtype=S.dtype)
    A = ps.csr_array(S)
    for given in (S, S.toarray(), sp.coo_array(S), operator, A.T, sla.aslinearoperator(S)):
        check(S, eigsh(given, k=5), expected)
    check(S, eigsh(operator, k=5, block=4), expected)
    check(S, eigsh(A, k=5, v0=np.ones(300)), expected)
    pattern = ps.csr_array((np.ones(S.nnz, bool), S.indices, S.indptr), shape=S.shape)
    ones = sp.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    check(ones, eigsh(pattern, k=3), end(np.linalg.eigvalsh(ones.toarray()), "LM", 3))


def test_streamed_products_go_by_blocks_and_read_the_matrix_less_often():
    A = ps.csr_array(hermitian(900))
    expected = end(np.linalg.eigvalsh(A.toarray()), "LA", 6)
    streamed = ps.Streamed(device="cpu")
    *found, info = eigsh(A, k=6, which="LA", schedule=streamed, block=8, return_info=True)
    check(A, found, expected)
    *_, one = eigsh(A, k=6, which="LA", return_info=True)
    assert info.streamed and info.block == 8 and not one.streamed and one.block == 1
    assert info.columns == 8 * info.passes - 6  # two vectors ask whether A is symmetric
    assert info.passes < 0.7 * one.passes
    with ps.record() as events:
        eigsh(A, k=2, schedule=ps.Streamed(device="cpu"))
    assert len(events) > 2
    A.prepare(schedule=ps.Streamed(device="cpu"))
    assert eigsh(A, k=6, return_info=True)[2].streamed


def test_a_ring_of_the_cpu_takes_one_vector_at_a_time():
    """No link brings the entries, so that several vectors in a pass save nothing."""
    A = ps.csr_array(hermitian(900))
    for given in ({"schedule": ps.Streamed(device="cpu")}, {}):
        with ps.options(device_memory=4096):
            *_, info = eigsh(A, k=3, which="LA", return_info=True, **given)
        assert info.streamed and info.block == 1 and info.columns <= info.passes + 1


def test_info_tells_what_was_done():
    S = hermitian()
    values, vectors, info = eigsh(ps.csr_array(S), k=3, which="LA", return_info=True)
    assert isinstance(info, ps.linalg.EigenInfo) and info.seconds > 0 and info.basis == 26
    true = np.linalg.norm(S @ vectors - vectors * values, axis=0)
    assert true.max() < 1e-13 * 10 * abs(values).max() and info.residuals.shape == (3,)
    values, info = eigsh(ps.csr_array(S), k=3, return_eigenvectors=False, return_info=True)
    assert values.shape == (3,) and info.columns >= info.passes > info.restarts


def test_a_tolerance_saves_products():
    A = ps.generate.laplacian((80, 23)).astype(np.float64)
    exact = eigsh(A, k=4, which="LA", return_info=True)
    loose = eigsh(A, k=4, which="LA", tol=1e-4, return_info=True)
    assert loose[2].passes < 0.8 * exact[2].passes
    residuals = np.linalg.norm(A @ loose[1] - loose[1] * loose[0], axis=0)
    assert residuals.max() <= 1.1e-4 * loose[0].max()


def test_no_convergence_hands_out_what_has_converged():
    A = ps.generate.laplacian((60, 60)).astype(np.float64)
    with pytest.raises(sla.ArpackNoConvergence, match=r"/6 eigenvectors converged") as caught:
        eigsh(A, k=6, which="LA", maxiter=2)
    values, vectors = caught.value.eigenvalues, caught.value.eigenvectors
    assert len(values) < 6 and vectors.shape == (3600, len(values))
    near = ps.csr_array(sp.diags_array(np.concatenate([np.linspace(0, 1, 2000), [5.0, 9.0]])))
    with pytest.raises(sla.ArpackNoConvergence) as caught:
        eigsh(near, k=4, which="LA", maxiter=1)
    np.testing.assert_allclose(caught.value.eigenvalues[-1], 9)


def test_bad_input_is_one_sentence():
    A = ps.csr_array(hermitian(100))
    for named, error, said in (
        ({"k": 0}, ValueError, "k must be greater than 0"),
        ({"k": 100}, TypeError, "scipy.linalg.eigh"),
        ({"which": "XX"}, ValueError, "must be one of LM SM LA SA BE"),
        ({"ncv": 6}, ValueError, "ncv must be k<ncv<=n"),
        ({"ncv": 101}, ValueError, "ncv must be k<ncv<=n"),
        ({"maxiter": 0}, ValueError, "maxiter must be positive"),
        ({"tol": -1}, ValueError, "tol=-1"),
        ({"block": 0}, ValueError, "block=0"),
        ({"v0": np.ones(99)}, ValueError, "v0 has shape"),
        ({"v0": np.ones(100) * 1j}, TypeError, "v0 is complex"),
        ({"sigma": 1.0, "block": 2}, ValueError, "belong to our method"),
    ):
        with pytest.raises(error, match=said):
            eigsh(A, **named)
    with pytest.raises(ValueError, match="expected square"):
        eigsh(ps.csr_array(np.ones((3, 4))), k=1)
    with pytest.raises(ValueError, match="not symmetric: use eigs"):
        eigsh(ps.csr_array(sp.random_array((100, 100), density=0.1, rng=1)))
    with pytest.raises(ValueError, match="not Hermitian"):
        eigsh(ps.csr_array(hermitian(100).astype(complex) * 1j))
    broken = hermitian(100).toarray()
    broken[3, 3] = np.nan
    for given in (broken, sla.aslinearoperator(broken)):
        with pytest.raises(ValueError, match="not finite"):
            eigsh(given, k=2)
    turned = sla.LinearOperator((100, 100), matvec=lambda x: 1j * x, dtype=np.float64)
    with pytest.raises(TypeError, match="is complex"):
        eigsh(turned, k=2)


def test_what_is_scipys_is_by_scipy():
    A = ps.generate.laplacian((12, 12)).astype(np.float64)
    dense = np.linalg.eigvalsh(A.toarray())
    M = sp.diags_array(np.linspace(1, 2, 144))
    theirs = sla.eigsh(A.to_scipy(), k=3, M=M)[0]
    np.testing.assert_allclose(eigsh(A, k=3, M=ps.csr_array(M))[0], theirs, rtol=1e-9)
    np.testing.assert_allclose(eigsh(A, k=3, sigma=0)[0], dense[:3], rtol=1e-9)
    np.testing.assert_allclose(eigsh(A, 3, None, 0)[0], dense[:3], rtol=1e-9)
    np.testing.assert_allclose(eigsh(A, k=3, which="SM")[0], dense[:3], rtol=1e-9)


@pytest.mark.parametrize("name", ["bcsstk18.mtx.gz", "bodyy5.mtx.gz", "t2dah_e.mtx.gz"])
@pytest.mark.parametrize("block", [None, 4])
def test_real_matrices(name, block):
    A = ps.load(real_file(name))
    # From a start and with a tolerance of its own: with neither, ARPACK goes on for minutes now and then.
    start = np.random.default_rng(1).random(A.shape[0])
    expected = sla.eigsh(
        A.to_scipy(), 5, which="LA", v0=start, tol=1e-13, return_eigenvectors=False
    )
    check(A, eigsh(A, k=5, which="LA", block=block), expected, 1e-11)


def test_extend_keeps_the_relation_and_replaces_what_is_dependent():
    rng = np.random.default_rng(0)
    for dtype, b in ((np.float64, 3), (np.complex128, 3), (np.float64, 9)):
        rows = np.empty((30, 50), dtype)
        first = basis.random_rows(b, 50, dtype, rng)
        basis.extend(rows, 0, first.copy(), 0, rng)
        more = basis.random_rows(b, 50, dtype, rng)
        more[1] = more[0] + 1e-9 * more[1]
        more[2] = 2 * first[0]
        h, r = basis.extend(rows, b, more.copy(), 0, rng)
        whole = rows[: 2 * b]
        np.testing.assert_allclose(whole.conj() @ whole.T, np.eye(2 * b), atol=1e-14)
        np.testing.assert_allclose(h.T @ rows[:b] + r.T @ rows[b : 2 * b], more, atol=1e-13)
        assert r[2, 2] == 0
    assert lanczos.wanted(np.array([-3.0, 1, 2]), "LM", 2).tolist() == [0, 2]
