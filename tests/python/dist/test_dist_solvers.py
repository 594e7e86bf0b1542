"""Distributed solvers on ranks that are threads: the serial solver's convergence, whatever the number of ranks."""

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import linalg
from penstock.dist import linalg as dist

METHODS = ["cg", "pipecg", "bicgstab", "gmres"]
RANKS = [1, 2, 3, 4, 8]


def grid_matrix(side=14, drift=0.0):
    """A 5-point stencil, skewed by `drift`, with a diagonal that varies and no row that is all zero."""
    A = ps.generate.laplacian((side, side)).to_scipy().tocoo()
    values = A.data.astype(float)
    values[A.row == A.col] += 0.05 + 0.1 * (np.arange(side * side) % 3)
    values[A.row < A.col] *= 1 - drift
    return sp.csr_array((values, (A.row, A.col)), shape=A.shape)


def vector(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


def on_ranks(n, S, work, partition="contiguous", **kwargs):
    """work(comm, D) on n ranks, with the matrix shared out."""
    A = ps.csr_array(S)
    return ps.dist.run(
        lambda comm: work(comm, ps.dist.csr_array(A, comm, partition=partition, **kwargs)), n
    )


def solve(n, S, b, method="cg", partition="contiguous", each=None, **kwargs):
    """x of all ranks, and the info of each. `each(comm, D)` gives more arguments."""

    def work(comm, D):
        more = each(comm, D) if each else {}
        x, info = getattr(dist, method)(D, D.share(b), **kwargs, **more)
        return D.collect(x), info

    results = on_ranks(n, S, work, partition)
    x, info = results[0]
    for other, told in results[1:]:
        assert np.array_equal(other, x)
        assert int(told) == int(info) and told.reason == info.reason
        assert np.array_equal(told.residuals, info.residuals)
    return x, info


def assert_like_serial(x, info, expected, told, rtol=1e-8):
    assert int(info) == int(told) == 0, (info.reason, told.reason)
    assert info.iterations == pytest.approx(told.iterations, abs=1)
    k = min(len(info.residuals), len(told.residuals), 12)  # rounding grows from there
    np.testing.assert_allclose(info.residuals[:k], told.residuals[:k], rtol=1e-7)
    np.testing.assert_allclose(x, expected, rtol=0, atol=100 * rtol * np.abs(expected).max())


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "jacobi", "chebyshev"])
def test_any_number_of_ranks_converges_as_one(n, method, M):
    S = grid_matrix(drift=0 if method in ("cg", "pipecg") or M == "chebyshev" else 0.3)
    b = vector(S.shape[0])
    expected, told = getattr(linalg, method)(ps.csr_array(S), b, rtol=1e-8, M=M)
    partition = "label_propagation" if n == 4 else "balanced"
    x, info = solve(n, S, b, method, partition, rtol=1e-8, M=M)
    assert_like_serial(x, info, expected, told)
    assert np.linalg.norm(b - S @ x) <= 1.001e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("partition", ["grid", "bins"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_shared(partition, method):
    S = grid_matrix()
    b = vector(S.shape[0])
    for M in (None, "jacobi", "chebyshev"):
        expected, told = getattr(linalg, method)(ps.csr_array(S), b, rtol=1e-8, M=M)
        x, info = solve(4, S, b, method, partition, rtol=1e-8, M=M)
        assert_like_serial(x, info, expected, told)


def blocks_of(S, n):
    """S without entries between the ranges of rows that n ranks own."""
    starts = [S.shape[0] * r // n for r in range(n + 1)]
    owner = np.searchsorted(starts, np.arange(S.shape[0]), side="right")
    C = S.tocoo()
    same = owner[C.row] == owner[C.col]
    return sp.csr_array((C.data[same], (C.row[same], C.col[same])), shape=S.shape)


@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("name", ["ILU0", "IC0", "BlockJacobi"])
def test_blocks_of_ranks(n, name):
    S = grid_matrix(12, drift=0.2 if name == "ILU0" else 0.0)
    r = vector(S.shape[0])
    # 144 rows: a contiguous partition cuts them evenly, and at multiples of the block size
    expected = getattr(linalg, name)(ps.csr_array(blocks_of(S, n))) @ r

    def work(comm, D):
        assert len(D.rows) == 144 // n
        return D.collect(getattr(dist, name)(D) @ D.share(r))

    for z in on_ranks(n, S, work):
        np.testing.assert_allclose(z, expected, rtol=1e-13, atol=1e-13)
    method = "gmres" if name == "ILU0" else "cg"
    x, info = solve(
        n, S, r, method, M={"BlockJacobi": "block_jacobi"}.get(name, name.lower()), rtol=1e-9
    )
    assert info == 0 and np.linalg.norm(r - S @ x) <= 1.001e-9 * np.linalg.norm(r)


@pytest.mark.parametrize("partition", ["contiguous", "label_propagation"])
@pytest.mark.parametrize("combine", ["restricted", "weighted", "added"])
@pytest.mark.parametrize("inner", ["ilu0", "ic0"])
def test_additive_schwarz_is_its_definition(partition, combine, inner):
    S = grid_matrix(10)
    r = vector(S.shape[0])
    factors = linalg.ILU0 if inner == "ilu0" else linalg.IC0

    def work(comm, D):
        M = dist.AdditiveSchwarz(D, inner, combine=combine)
        return np.array(D.rows), D.collect(M @ D.share(r))

    results = on_ranks(3, S, work, partition)
    # a subdomain: what the rows touch, themselves among it
    domains = [np.unique(S[rows].tocoo().col) for rows, _ in results]
    times = np.bincount(np.concatenate(domains))
    expected = np.zeros(S.shape[0])
    for (rows, _), domain in zip(results, domains, strict=True):
        w = 1 / np.sqrt(times[domain]) if combine == "weighted" else 1.0
        z = w * (factors(ps.csr_array(sp.csr_array(S[domain][:, domain]))) @ (w * r[domain]))
        keep = np.isin(domain, rows) if combine == "restricted" else np.full(len(domain), True)
        expected[domain[keep]] += z[keep]
    for _, z in results:
        np.testing.assert_allclose(z, expected, rtol=1e-12, atol=1e-12)


def test_overlap_saves_iterations():
    S = grid_matrix(24)
    b = vector(S.shape[0])
    _, alone = solve(4, S, b, M="ic0", rtol=1e-9)
    x, info = solve(4, S, b, M="schwarz", rtol=1e-9)
    assert info == 0 and info.iterations < alone.iterations
    assert np.linalg.norm(b - S @ x) <= 1.001e-9 * np.linalg.norm(b)
    G = grid_matrix(24, drift=0.4)
    _, alone = solve(4, G, b, "gmres", M="ilu0", rtol=1e-9)
    _, info = solve(4, G, b, "gmres", M="schwarz", rtol=1e-9)
    assert info == 0 and info.iterations < alone.iterations
    _, one = solve(1, G, b, "gmres", M="schwarz", rtol=1e-9)
    _, serial = linalg.gmres(ps.csr_array(G), b, M="ilu0", rtol=1e-9)
    assert one.iterations == serial.iterations


@pytest.mark.parametrize("method", METHODS)
def test_ranks_without_rows(method):
    S = sp.csr_array(np.array([[4.0, -1, 0], [-1, 4, -1], [0, -1, 4]]))
    b = np.array([1.0, -2, 3])
    for M in (None, "jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "schwarz"):
        x, info = solve(8, S, b, method, M=M, rtol=1e-12)
        assert info == 0, (M, info)
        np.testing.assert_allclose(S @ x, b, atol=1e-10)
        assert np.array_equal(solve(8, S, 0 * b, method, M=M)[0], np.zeros(3))


def test_several_right_hand_sides():
    S = grid_matrix()
    B = np.stack([vector(S.shape[0], k) for k in range(3)] + [np.zeros(S.shape[0])], axis=1)
    expected, told = linalg.cg(ps.csr_array(S), B, rtol=1e-9)

    def work(comm, D):
        seen = []
        x, info = dist.cg(
            D, np.ascontiguousarray(B[D.rows]), rtol=1e-9, callback=lambda v: seen.append(v.shape)
        )
        assert set(seen) == {(len(D.rows), 4)}
        return np.array(D.rows), x, info

    for rows, x, info in on_ranks(3, S, work):
        assert info == 0 and [c.iterations for c in info.columns] == [
            c.iterations for c in told.columns
        ]
        np.testing.assert_allclose(x, expected[rows], atol=1e-7)
    for rows, x, info in on_ranks(
        8, S[:2, :2], lambda comm, D: (D.rows, *dist.cg(D, np.ones((len(D.rows), 2))))
    ):
        assert info == 0 and x.shape == (len(rows), 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types(dtype):
    S = grid_matrix().astype(dtype)
    b = vector(S.shape[0]).astype(dtype)
    x, info = solve(3, S, b, rtol=1e-4)
    assert x.dtype == dtype and info == 0
    pattern = ps.csr_array(sp.identity(20, format="csr", dtype=bool))

    def work(comm, D):
        # float64 on one rank is float64 on all
        b = np.ones(len(D.rows), dtype=dtype if comm.rank == 0 else np.float32)
        return dist.cg(D, b)[0].dtype

    assert ps.dist.run(lambda comm: work(comm, ps.dist.csr_array(pattern, comm)), 2) == [dtype] * 2


def test_guess_callback_and_iterations_that_run_out():
    S = grid_matrix()
    b = vector(S.shape[0])
    serial, told = linalg.cg(ps.csr_array(S), b, maxiter=4, rtol=1e-12)
    x, info = solve(3, S, b, maxiter=4, rtol=1e-12)
    assert int(info) == 4 == int(told) and info.reason.startswith("maxiter")
    np.testing.assert_allclose(x, serial, atol=1e-12)
    # one rank alone has a guess, and one alone listens
    heard = []

    def each(comm, D):
        return {
            "x0": D.share(x) if comm.rank == 1 else None,
            "callback": (lambda v: heard.append(v.copy())) if comm.rank == 2 else None,
        }

    y, info = solve(3, S, b, rtol=1e-9, each=each)
    assert info == 0 and len(heard) == info.iterations
    np.testing.assert_allclose(S @ y, b, atol=1e-6)
    norms, cycles = [], []
    solve(
        2, S, b, "gmres", each=lambda c, D: {"callback": norms.append, "callback_type": "pr_norm"}
    )
    _, told = linalg.gmres(ps.csr_array(S), b, callback=cycles.append, callback_type="pr_norm")
    assert len(norms) == 2 * told.iterations
    np.testing.assert_allclose(sorted(norms)[::2], sorted(cycles), rtol=1e-6)


def test_breakdowns_are_the_serial_ones():
    S = sp.csr_array(np.diag([1.0, -1, 2, 3]))
    _, info = solve(3, S, np.ones(4))
    assert int(info) == -1 and "not positive definite" in info.reason


def test_another_matrix_as_preconditioner_and_functions_of_ranks():
    S = grid_matrix()
    b = vector(S.shape[0])
    inverse = sp.csr_array(sp.diags_array(1 / S.diagonal()))

    def work(comm, D):
        whole = ps.dist.csr_array(ps.csr_array(inverse), comm, partition="contiguous")
        local = inverse[D.rows][:, D.rows]
        infos = [dist.cg(D, D.share(b), M=M, rtol=1e-9)[1] for M in ("jacobi", whole, local)]
        return [i.iterations for i in infos]

    (first, *others) = on_ranks(3, S, work)
    assert first[0] == first[1] == first[2] and others == [first, first]


def raises_on_all(n, S, call, kind, text):
    """call(comm, D) raises `kind` on every rank, and the ranks can go on."""

    def work(comm, D):
        with pytest.raises(kind, match=text):
            call(comm, D)
        return int(dist.cg(D, np.ones(len(D.rows)), maxiter=200)[1])

    assert on_ranks(n, S, work) == [0] * n


def test_an_error_of_one_rank_is_one_of_all():
    S = grid_matrix(6)
    m = len(range(36)) // 3

    def with_b(comm, value):
        return np.full(m, value if comm.rank == 1 else 1.0)

    raises_on_all(3, S, lambda c, D: dist.cg(D, with_b(c, np.nan)), ValueError, "finite")
    raises_on_all(3, S, lambda c, D: dist.cg(D, np.ones(m + c.rank)), ValueError, "shape")
    raises_on_all(
        3,
        S,
        lambda c, D: dist.cg(D, np.ones(m), rtol=10.0**-c.rank),
        ValueError,
        "ranks disagree on rtol: rank 0 gives",
    )
    raises_on_all(3, S, lambda c, D: dist.cg(D, np.ones(m), M="sor"), ValueError, "schwarz")
    raises_on_all(
        3,
        S,
        lambda c, D: dist.cg(D, np.ones(m), M="jacobi" if c.rank else None),
        ValueError,
        "ranks disagree on M: rank 0 gives None, rank 1 gives jacobi",
    )
    raises_on_all(
        3, S, lambda c, D: dist.gmres(D, np.ones(m), callback_type="y"), ValueError, "callback_type"
    )
    raises_on_all(
        3, S, lambda c, D: dist.AdditiveSchwarz(D, "lu"), ValueError, "inner='lu' is unknown"
    )
    raises_on_all(
        3, S, lambda c, D: dist.AdditiveSchwarz(D, combine="max"), ValueError, "combine='max' is"
    )


def test_faulty_matrices_name_the_row():
    S = grid_matrix(6).tolil()
    S[25, 25] = 0
    S = sp.csr_array(S)

    def each(comm, D):
        for make, text in [
            (dist.Jacobi, "row 25 "),
            (dist.Chebyshev, "row 25 "),
            (dist.IC0, "row 0 is row 24 of the matrix"),
        ]:
            with pytest.raises(ValueError, match=text):
                make(D)
        return True

    assert on_ranks(3, S, each) == [True] * 3

    def split(comm, D):
        for make in (dist.ILU0, dist.AdditiveSchwarz):
            with pytest.raises(ValueError, match="needs whole rows"):
                make(D)
        return True

    assert on_ranks(4, grid_matrix(6), split, "grid") == [True] * 4

    def not_square(comm, D):
        with pytest.raises(ValueError, match="square"):
            dist.cg(D, np.ones(len(D.rows)))
        return True

    assert on_ranks(2, S[:20], not_square) == [True] * 2


def test_an_exception_in_a_callback_ends_all():
    S = grid_matrix()

    def work(comm, D):
        def stop(x):
            if comm.rank == 2:
                raise RuntimeError("enough of this")

        return dist.cg(D, D.share(np.ones(D.shape[0])), callback=stop)

    with pytest.raises(RuntimeError, match="enough of this"):
        on_ranks(3, S, work)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals reach the main thread",
)
def test_ctrl_c_ends_all():
    S = grid_matrix(40)

    def work(comm, D):
        def interrupt(x):
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGINT)

        b = D.share(vector(D.shape[0]))
        for _ in range(1000):  # until the main thread, rank 0, hears of it
            dist.cg(D, b, rtol=1e-12, callback=interrupt)

    with pytest.raises(KeyboardInterrupt):
        on_ranks(2, S, work)
