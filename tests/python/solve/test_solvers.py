"""Solvers: the true residual of every result, SciPy's iteration counts, breakdowns, threads."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import linalg

SOLVERS = {
    "cg": linalg.cg,
    "pipecg": linalg.pipecg,
    "bicgstab": linalg.bicgstab,
    "gmres": linalg.gmres,
}
NAMES = ["jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev"]


def spd(n=300, seed=0, dtype=np.float64):
    """Symmetric, diagonally dominant, rows unsorted and with a duplicate."""
    rng = np.random.default_rng(seed)
    S = sp.random_array((n, n), density=min(1.0, 6 / n), rng=rng, format="csr")
    S = S + S.T
    S = sp.csr_array(
        S + sp.diags_array(np.asarray(abs(S).sum(axis=1)).ravel() + rng.random(n) + 0.1)
    )
    return S.astype(dtype)


def general(n=300, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    S = sp.random_array((n, n), density=min(1.0, 6 / n), rng=rng, format="csr")
    S.data -= 0.4
    S = S + sp.diags_array(np.asarray(abs(S).sum(axis=1)).ravel() + rng.random(n) + 0.1)
    return sp.csr_array(S.astype(dtype))


def laplacian(*shape):
    return ps.generate.laplacian(shape)


def right_hand_side(n, seed=1, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(n).astype(dtype)


def assert_solved(A, x, b, info, rtol, atol=0.0):
    S = A.to_scipy() if isinstance(A, ps.csr_array) else A
    residual = np.linalg.norm(b.astype(np.float64) - S.astype(np.float64) @ x.astype(np.float64))
    target = max(rtol * np.linalg.norm(b.astype(np.float64)), atol)
    slack = 1.001 if x.dtype == np.float64 else 1.2  # the solver computes it in the vectors' type
    assert info == 0 and info.reason == "converged" and info.converged
    assert residual <= target * slack, (residual, target)
    assert info.residual == pytest.approx(residual, rel=0.3, abs=1e-12)
    assert len(info.residuals) == info.iterations + 1


@pytest.mark.parametrize("M", [None, *NAMES])
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_solver_with_every_preconditioner(name, M, dtype):
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    matrices = [spd(dtype=dtype)]
    if name in ("bicgstab", "gmres") and M not in ("ic0", "chebyshev"):
        matrices.append(general(dtype=dtype))
    for S in matrices:
        b = right_hand_side(S.shape[0], dtype=dtype)
        x, info = SOLVERS[name](S, b, rtol=rtol, M=M)
        assert x.dtype == dtype and x.shape == b.shape
        assert_solved(S, x, b, info, rtol)


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_iterations_are_scipys(name, M):
    A = laplacian(20, 20, 20)
    b = right_hand_side(8000)
    mine, info = SOLVERS[name](A, b, rtol=1e-8, M=M)
    steps = []
    how = {"callback": steps.append}
    if name == "gmres":
        how["callback_type"] = "pr_norm"
    operator = None if M is None else sla.aslinearoperator(linalg.Jacobi(A))
    theirs, code = getattr(sla, name)(A.to_scipy(), b, rtol=1e-8, M=operator, **how)
    assert code == info == 0
    assert abs(info.iterations - len(steps)) <= 0.15 * len(steps)
    np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_history_and_count_of_bytes():
    A = laplacian(24, 24, 24)
    b = np.ones(A.shape[0])
    x, info = linalg.cg(A, b, rtol=1e-10)
    assert info.residuals[0] == pytest.approx(np.linalg.norm(b))
    assert info.residuals[-1] == pytest.approx(np.linalg.norm(b - A @ x), rel=1e-6)
    assert info.target == pytest.approx(1e-10 * np.linalg.norm(b))
    moved = info.vector_bytes / info.iterations / b.nbytes
    assert 10 <= moved <= 1.15 * 10  # p, q; r, r, q; x, x, p, p, r
    _, info = linalg.cg(A, b, rtol=1e-10, M="jacobi")
    assert info.vector_bytes / info.iterations / b.nbytes <= 1.15 * 12
    assert "converged" in repr(info) and isinstance(info, int) and info.seconds > 0
    again = pickle.loads(pickle.dumps(info))
    assert again == info and again.reason == info.reason


@pytest.mark.parametrize("name", SOLVERS)
def test_shapes_and_first_guess(name):
    S = spd(80)
    b = right_hand_side(80)
    x0 = right_hand_side(80, 5)
    kept, kept_b = x0.copy(), b.copy()
    x, info = SOLVERS[name](S, b, x0, rtol=1e-10)
    assert_solved(S, x, b, info, 1e-10)
    np.testing.assert_array_equal(x0, kept)
    np.testing.assert_array_equal(b, kept_b)
    column, info = SOLVERS[name](S, b[:, None], x0[:, None], rtol=1e-10)
    np.testing.assert_array_equal(column, x)
    done, info = SOLVERS[name](S, b, x, rtol=1e-8)
    assert info == 0 and info.iterations == 0
    np.testing.assert_array_equal(done, x)
    zero, info = SOLVERS[name](S, np.zeros(80), x0)
    assert info == 0 and not zero.any()
    x, info = SOLVERS[name](S, b, rtol=0, atol=1e-3)
    assert_solved(S, x, b, info, 0, 1e-3)
    x, info = SOLVERS[name](S, np.arange(80))  # integers count as float64
    assert x.dtype == np.float64 and info == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_bad_input(name):
    S, b = spd(30), np.ones(30)
    solve = SOLVERS[name]
    for bad, place in ((np.nan, 7), (np.inf, 0), (-np.inf, 29)):
        wrong = b.copy()
        wrong[place] = bad
        with pytest.raises(ValueError, match=rf"b\[{place}\]"):
            solve(S, wrong)
        with pytest.raises(ValueError, match=rf"x0\[{place}\]"):
            solve(S, b, wrong)
    with pytest.raises(ValueError, match="square"):
        solve(sp.csr_array((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(29,\)"):
        solve(S, np.ones(29))
    with pytest.raises(ValueError, match="x0"):
        solve(S, b, np.ones(31))
    with pytest.raises(ValueError, match="'Mx' is unknown"):
        solve(S, b, "Mx")
    with pytest.raises(ValueError, match="maxiter"):
        solve(S, b, maxiter=0)
    with pytest.raises(ValueError, match="rtol"):
        solve(S, b, rtol=-1)
    with pytest.raises(ValueError, match="atol"):
        solve(S, b, atol=np.nan)
    with pytest.raises(ValueError, match="M="):
        solve(S, b, M="multigrid")
    with pytest.raises(ValueError, match="M has shape"):
        solve(S, b, M=sp.eye_array(29))
    with pytest.raises(TypeError, match="callable"):
        solve(S, b, callback=3)
    with pytest.raises(TypeError, match="matvec"):
        solve(object(), b)


def test_maxiter():
    A = laplacian(40, 40)
    b = right_hand_side(1600)
    for solve in (linalg.cg, linalg.pipecg, linalg.bicgstab):
        x, info = solve(A, b, rtol=1e-12, maxiter=5)
        assert info == 5 == info.iterations and info.reason.startswith("maxiter")
        assert info.residual == pytest.approx(np.linalg.norm(b - A @ x), rel=1e-10)
    _, info = linalg.gmres(A, b, rtol=1e-12, maxiter=2, restart=7)
    assert info == 2 and info.iterations == 14  # cycles, as SciPy's info
    with pytest.warns(DeprecationWarning, match="callback_type"):
        _, info = linalg.gmres(A, b, rtol=1e-12, maxiter=9, restart=7, callback=lambda r: None)
    assert info == info.iterations == 9  # "legacy" counts iterations


def test_indefinite_matrices():
    S = sp.csr_array(sp.diags_array([1.0, -1.0, 2.0, -3.0]))
    for solve in (linalg.cg, linalg.pipecg):
        _, info = solve(S, np.array([1.0, 2.0, 1.0, 2.0]))
        assert info == -1 and "not positive definite" in info.reason and "p.Ap" in info.reason
        _, info = solve(spd(4), np.ones(4), M=sp.csr_array(-sp.eye_array(4)))
        assert info == -2 and "preconditioner" in info.reason
    x, info = linalg.gmres(S, np.array([1.0, 2.0, 1.0, 2.0]), rtol=1e-10)
    assert_solved(S, x, np.array([1.0, 2.0, 1.0, 2.0]), info, 1e-10)


def test_bicgstab_breaks_down_by_name():
    turn = sp.csr_array(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    _, info = linalg.bicgstab(turn, np.array([1.0, 0.0]))
    assert info == -10 and "orthogonal" in info.reason
    x, info = linalg.gmres(turn, np.array([1.0, 0.0]), rtol=1e-12)
    assert info == 0 and np.allclose(x, [0, 1])


def test_singular_systems():
    n = 60
    neumann = sp.lil_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)))
    neumann[0, 0] = neumann[n - 1, n - 1] = 1
    S = sp.csr_array(neumann)
    b = right_hand_side(n)
    b -= b.mean()  # in the range
    for solve in (linalg.cg, linalg.pipecg, linalg.gmres):
        how = {"restart": n} if solve is linalg.gmres else {}
        x, info = solve(S, b, rtol=1e-8, **how)
        assert_solved(S, x, b, info, 1e-8)
    _, info = linalg.gmres(sp.csr_array(np.diag([1.0, 0.0])), np.array([1.0, 1.0]))
    assert info == -3 and "singular" in info.reason
    _, info = linalg.cg(sp.csr_array((3, 3)), np.ones(3))
    assert info == -1
    x, info = linalg.cg(S, b + 1, rtol=1e-8, maxiter=500)  # not in the range: said, not hidden
    assert info != 0


def test_a_tolerance_beyond_rounding_is_said():
    A = laplacian(200)
    b = right_hand_side(200)
    _, info = linalg.cg(A, b, rtol=1e-18, maxiter=5000)
    assert info > 0 and ("stagnated" in info.reason or "maxiter" in info.reason)
    _, info = linalg.cg(A.astype(np.float32), b.astype(np.float32), rtol=1e-12, maxiter=5000)
    assert info > 0


def test_overflow_is_named():
    S = sp.csr_array(sp.diags_array(np.full(4, 1e300)))
    for solve in SOLVERS.values():
        _, info = solve(S, np.full(4, 1e200), rtol=1e-3)
        assert info == -4 and "finite" in info.reason
        _, info = solve(sp.csr_array(sp.diags_array(np.full(4, 1e200))), np.ones(4), M=None)
        assert info in (0, -4)
        _, info = solve(sp.eye_array(4, format="csr"), np.full(4, 1e-200))
        assert info == -4 and "vanishes" in info.reason


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("M", [None, "jacobi", "ic0"])
def test_several_right_hand_sides(k, M):
    A = laplacian(15, 15)
    B = np.random.default_rng(0).standard_normal((225, k)) * 10.0 ** np.arange(k)
    if k > 1:
        B[:, 1] = 0
    X, info = linalg.cg(A, B, rtol=1e-9, M=M)
    assert info == 0
    if k == 1:
        assert X.shape == (225,)
        return
    assert X.shape == B.shape and len(info.columns) == k
    for j in range(k):
        x, one = linalg.cg(A, B[:, j], rtol=1e-9, M=M)
        # The columns know nothing of each other; a product of several adds a row up in another order than one of one.
        np.testing.assert_allclose(X[:, j], x, rtol=1e-7, atol=1e-8 * abs(x).max())
        assert abs(info.columns[j].iterations - one.iterations) <= 1
    assert not X[:, 1].any()
    _, info = linalg.cg(A, B, X, rtol=1e-7)
    assert info.iterations == 0
    with pytest.raises(ValueError, match="b has shape"):
        linalg.gmres(A, B)


def test_several_right_hand_sides_report_the_worst():
    S = sp.csr_array(sp.diags_array([1.0, -1.0, 2.0]))
    _, info = linalg.cg(S, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    assert info == -1 and "column 1" in info.reason and info.columns[0] == 0
    seen = []
    linalg.cg(
        laplacian(100),
        np.random.default_rng(0).random((100, 2)),
        callback=lambda x: seen.append(x.copy()),
    )
    assert seen[0].shape == (100, 2) and len(seen) > 5


@pytest.mark.parametrize("name", SOLVERS)
def test_operators_of_others(name):
    S = spd(100)
    b = right_hand_side(100)
    calls = []

    def matvec(v):
        calls.append(v)  # kept: each call has an array of its own
        return S @ v

    operator = sla.LinearOperator(S.shape, matvec=matvec, dtype=np.float64)
    inverse = sla.LinearOperator(S.shape, matvec=lambda v: v / S.diagonal(), dtype=np.float64)
    x, info = SOLVERS[name](operator, b, rtol=1e-9, M=inverse)
    assert_solved(S, x, b, info, 1e-9)
    assert len(calls) >= info.iterations and not np.array_equal(calls[0], calls[-1])
    x2, info = SOLVERS[name](S.toarray(), b, rtol=1e-9, M=sp.diags_array(1 / S.diagonal()))
    assert_solved(S, x2, b, info, 1e-9)
    x3, info = SOLVERS[name](ps.csr_array(S).T, b, rtol=1e-9)
    assert_solved(S, x3, b, info, 1e-9)


def test_errors_in_operators_come_out():
    S, b = spd(40), np.ones(40)

    def bad(v):
        raise KeyError("mine")

    operator = sla.LinearOperator(S.shape, matvec=bad, dtype=np.float64)
    for solve in SOLVERS.values():
        with pytest.raises(KeyError, match="mine"):
            solve(operator, b)
        with pytest.raises(KeyError, match="mine"):
            solve(S, b, M=operator)

    class Short:
        shape, dtype = (40, 40), np.dtype(float)

        def matvec(self, v):
            return v[:-1]

    with pytest.raises(ValueError, match="returned an array of shape"):
        linalg.cg(Short(), b)


def test_callbacks():
    A = laplacian(30, 30)
    b = np.ones(900)
    for solve in (linalg.cg, linalg.pipecg, linalg.bicgstab):
        norms = []
        _, info = solve(
            A, b, rtol=1e-8, callback=lambda xk, n=norms: n.append(np.linalg.norm(b - A @ xk))
        )
        np.testing.assert_allclose(norms, info.residuals[1:], rtol=1e-4)
    norms = []
    _, info = linalg.gmres(A, b, rtol=1e-6, callback=norms.append, callback_type="pr_norm")
    np.testing.assert_allclose(np.array(norms) * 30, info.residuals[1:], rtol=1e-6)
    cycles = []
    linalg.gmres(A, b, rtol=1e-6, callback=lambda x: cycles.append(x.copy()), callback_type="x")
    assert len(cycles) == -(-info.iterations // 20)
    with pytest.raises(ValueError, match="callback_type"):
        linalg.gmres(A, b, callback_type="y")

    def stop(_):
        raise StopIteration("enough")

    for solve in SOLVERS.values():
        with pytest.raises(StopIteration, match="enough"):
            solve(A, b, rtol=1e-12, callback=stop)


@pytest.mark.timeout(60)
def test_control_c():
    A = laplacian(400, 400)  # cycles of two steps take minutes until they stagnate
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        linalg.gmres(A, np.ones(160_000), rtol=1e-15, restart=2, maxiter=10**9)
    timer.join()


@pytest.mark.parametrize("M", [None, "jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "parts"])
def test_bits_do_not_depend_on_threads(M):
    A = laplacian(41, 41, 41)
    b = right_hand_side(A.shape[0])
    before = ps.num_threads()
    results = []
    try:
        for threads in (1, 2, 4):
            ps.set_num_threads(threads)
            A2 = ps.csr_array(A.to_scipy())  # no plan yet
            M2 = linalg.BlockJacobi(A2, inner="ilu") if M == "parts" else M
            solvers = SOLVERS if M in (None, "ilu0") else {"cg": linalg.cg}
            results.append([solve(A2, b, rtol=1e-3, M=M2) for solve in solvers.values()])
    finally:
        ps.set_num_threads(before)
    for other in results[1:]:
        for (x, info), (y, info2) in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(info.residuals, info2.residuals)


def test_plans_are_built_only_where_asked():
    from penstock import _core

    b = np.ones(41**3)
    A = laplacian(41, 41, 41)
    x, _ = linalg.cg(A, b, rtol=1e-6, prepare=False)
    assert _core.plan_bytes(A._core) == 0
    y, info = linalg.cg(A, b, rtol=1e-6)
    assert _core.plan_bytes(A._core) > 0 and info.matrix_bytes < A.nbytes
    np.testing.assert_allclose(x, y, rtol=1e-6)
    A = laplacian(41, 41, 41)
    with ps.options(device_memory="256KiB"):  # streamed: no second copy
        z, _ = linalg.cg(A, b, rtol=1e-6)
    assert _core.plan_bytes(A._core) == 0
    np.testing.assert_allclose(x, z, rtol=1e-6)


def test_patterns_and_mixed_types():
    path = sp.csr_array(sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(50, 50)).astype(bool))
    b = right_hand_side(50)
    x, info = linalg.gmres(ps.csr_array(path), b, rtol=1e-10, restart=50)
    assert_solved(path.astype(float), x, b, info, 1e-10)
    S = spd(dtype=np.float32)
    x, info = linalg.cg(S, right_hand_side(300), rtol=1e-10, M="ic0")
    assert x.dtype == np.float64
    assert_solved(S, x, right_hand_side(300), info, 1e-10)


def test_tiny_systems():
    for solve in SOLVERS.values():
        x, info = solve(sp.csr_array((0, 0)), np.empty(0))
        assert x.shape == (0,) and info == 0
        x, info = solve(np.array([[4.0]]), np.array([2.0]))
        assert info == 0 and x[0] == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 40), seed=st.integers(0, 10**6), M=st.sampled_from([None, *NAMES]))
def test_random_systems(n, seed, M):
    S, N, b = spd(n, seed), general(n, seed), right_hand_side(n, seed)
    for solve in (linalg.cg, linalg.pipecg):
        x, info = solve(S, b, rtol=1e-8, M=M)
        assert_solved(S, x, b, info, 1e-8)
    if M not in ("ic0", "chebyshev"):
        for solve in (linalg.bicgstab, linalg.gmres):
            x, info = solve(N, b, rtol=1e-8, M=M)
            assert_solved(N, x, b, info, 1e-8)


REAL = {
    "G2_circuit.mtx.gz": ("cg", "ic0", 0.0),
    "bodyy5.mtx.gz": ("cg", "ic0", 0.0),
    "bcsstk14.hb.gz": ("cg", "ic0", 0.01),
    "bcsstk18.mtx.gz": ("cg", "ic0", 0.05),
    "t2dah_e.mtx.gz": ("cg", "jacobi", 0.0),
    "sherman5.hb.gz": ("bicgstab", "ilu0", 0.0),
    "trilinos-nsjac.mtx.gz": ("gmres", "ilu0", 0.0),
    "trilinos-modified.mtx.gz": ("gmres", "ilu0", 0.0),
    "trilinos-cage10.mtx.gz": ("bicgstab", "jacobi", 0.0),
    "xenon1.mtx.gz": ("bicgstab", "ilu0", 0.1),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("file", REAL)
def test_real_matrices(file):
    A = ps.load(real_file(file))
    name, M, shift = REAL[file]
    make = {"ic0": linalg.IC0, "ilu0": linalg.ILU0, "jacobi": linalg.Jacobi}[M]
    preconditioner = make(A, shift=shift) if shift else make(A)
    b = A @ np.ones(A.shape[0])
    how = {"restart": 60} if name == "gmres" else {}
    x, info = SOLVERS[name](A, b, rtol=1e-8, M=preconditioner, maxiter=3000, **how)
    assert_solved(A, x, b, info, 1e-8)
