"""CG and PageRank with their vectors on a GPU, against the same on the CPU."""

import numpy as np
import pytest
from penstock.csgraph import pagerank, verify_pagerank

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def on_gpu(A, gpu=0):
    return ps.csr_array._wrap(_core.to_place(A._core, "device", gpu))


def solved_alike(ours, cpu, A, b, slack=1):
    """Both converged, with the same iterations but `slack`, and the residual that is reported is the true one."""
    (x, info), (_, expected) = ours, cpu
    assert info.vectors == "gpu 0", f"vectors were on {info.vectors}"
    assert int(info) == int(expected) == 0, (info.reason, expected.reason)
    assert abs(info.iterations - expected.iterations) <= slack, (info, expected)
    assert info.residual <= info.target == pytest.approx(expected.target)
    true = np.linalg.norm(b.astype(np.float64) - A @ x.astype(np.float64))
    rounding = 8 * float(np.finfo(x.dtype).eps) * float(np.linalg.norm(b) + 8 * np.linalg.norm(x))
    assert info.residual == pytest.approx(true, rel=1e-2, abs=rounding)


@pytest.mark.parametrize(
    "shape",
    [(1,), (2,), (3,), (5,), (63,), (257, 3), (129, 130), (64, 64, 64), (61, 63, 67)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg_as_on_the_cpu(shape, dtype, M):
    A = ps.generate.laplacian(shape).astype(dtype)
    rng = np.random.default_rng(3)
    b, x0 = rng.standard_normal((2, A.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    for guess in (None, x0):
        cpu = ps.linalg.cg(A, b, guess, rtol=rtol, M=M)
        ours = ps.linalg.cg(on_gpu(A), b, guess, rtol=rtol, M=M)
        # In single precision the order of sums moves the end by a few iterations of hundreds.
        solved_alike(ours, cpu, A, b, 1 if dtype == np.float64 else 1 + cpu[1].iterations // 50)
        scale = np.abs(cpu[0]).max()
        np.testing.assert_allclose(ours[0], cpu[0], rtol=0, atol=300 * rtol * scale)
        assert ours[0].dtype == dtype


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg_small(dtype, M):
    A = ps.generate.laplacian((31, 33)).astype(dtype)
    b = np.random.default_rng(1).standard_normal(A.shape[0]).astype(dtype)
    cpu = ps.linalg.cg(A, b, rtol=1e-4, M=M)
    solved_alike(ps.linalg.cg(on_gpu(A), b, rtol=1e-4, M=M), cpu, A, b)


@pytest.mark.parametrize("values", [np.float32, None])
def test_values_narrower_than_vectors(values):
    """float32 and pattern matrices with float64 vectors."""
    if values is None:  # of ones: the identity
        n = 5003
        A = ps.csr_array((np.ones(n, bool), (np.arange(n), np.arange(n))), shape=(n, n))
    else:
        A = ps.generate.laplacian((70, 71)).astype(values)
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    cpu, ours = (ps.linalg.cg(a, b, rtol=1e-9) for a in (A, on_gpu(A)))
    assert ours[0].dtype == np.float64
    solved_alike(ours, cpu, A, b)
    np.testing.assert_allclose(ours[0], cpu[0], atol=1e-6 * np.abs(cpu[0]).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_the_same_bits_in_every_run(dtype, M):
    A = on_gpu(ps.generate.laplacian((200, 211)).astype(dtype))
    b = np.random.default_rng(4).standard_normal(A.shape[0]).astype(dtype)
    m = None if M is None else ps.linalg.Jacobi(A)
    runs = set()
    for _ in range(6):
        x, info = ps.linalg.cg(A, b, rtol=1e-4, M=m)
        runs.add((x.tobytes(), info.residuals.tobytes(), info.iterations))
    assert len(runs) == 1, f"{len(runs)} different results of 6 runs"


def test_a_callback_changes_no_bit():
    """With a callback each iteration is waited for; without one several are queued."""
    A = on_gpu(ps.generate.laplacian((120, 121)))
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    seen = []
    x, info = ps.linalg.cg(A, b, rtol=1e-9)
    y, called = ps.linalg.cg(A, b, rtol=1e-9, callback=lambda v: seen.append(v.copy()))
    np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(info.residuals, called.residuals)
    assert len(seen) == called.iterations
    host = ps.generate.laplacian((120, 121))
    norms = [np.linalg.norm(b - host @ v) for v in seen[::20]]
    np.testing.assert_allclose(norms, called.residuals[1::20], rtol=1e-5)


def test_what_a_callback_raises_ends_the_solve():
    A = on_gpu(ps.generate.laplacian((50, 50)))

    def fails(x):
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            ps.linalg.cg(A, np.ones(2500), callback=fails)
    assert ps.linalg.cg(A, np.ones(2500))[1] == 0


def test_ends_before_it_begins():
    A = ps.generate.laplacian((40, 40))
    exact = np.random.default_rng(1).standard_normal(1600)
    for b, x0 in [(np.zeros(1600), np.ones(1600)), (A @ exact, exact), (np.zeros(1600), None)]:
        x, info = ps.linalg.cg(on_gpu(A), b, x0)
        assert (int(info), info.iterations) == (0, 0), info
        np.testing.assert_array_equal(x, exact if b.any() else 0)


@pytest.mark.parametrize("maxiter", [1, 2, 7, 8, 9, 10, 11, 30])
def test_maxiter(maxiter):
    A = ps.generate.laplacian((50, 50))
    b = np.random.default_rng(2).standard_normal(2500)
    y, expected = ps.linalg.cg(A, b, rtol=1e-12, maxiter=maxiter)
    x, info = ps.linalg.cg(on_gpu(A), b, rtol=1e-12, maxiter=maxiter)
    assert int(info) == maxiter == info.iterations == len(info.residuals) - 1, info
    np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10 * np.abs(y).max())
    np.testing.assert_allclose(info.residuals, expected.residuals, rtol=1e-8)
    assert info.reason.startswith("maxiter")


def faulty(name):
    A = ps.generate.laplacian((20, 20))
    b = np.random.default_rng(5).standard_normal(400)
    return {
        "indefinite": (ps.csr_array(np.diag(np.r_[np.ones(30), -np.ones(30)])), b[:60], None, -1),
        "zero_matrix": (ps.csr_array((50, 50), dtype=np.float64), b[:50], None, -1),
        "negative_diagonal": (-A, b, "jacobi", -2),
        "overflow": (
            A.astype(np.float32) * np.float32(1e38),
            (1e36 * b).astype(np.float32),
            None,
            -4,
        ),
        "vanishing_squares": (A, 1e-160 * b, None, -4),
    }[name]


@pytest.mark.parametrize(
    "name", ["indefinite", "zero_matrix", "negative_diagonal", "overflow", "vanishing_squares"]
)
def test_breakdowns_have_the_same_reasons(name):
    A, b, M, number = faulty(name)
    _, expected = ps.linalg.cg(A, b, M=M, maxiter=500)
    _, info = ps.linalg.cg(on_gpu(A), b, M=M, maxiter=500)
    assert int(info) == int(expected) == number, (info.reason, expected.reason)
    assert info.iterations == expected.iterations
    assert info.reason.split("=")[0] == expected.reason.split("=")[0]


def test_stagnation_is_noticed():
    A = ps.generate.laplacian((300,)).astype(np.float32)
    b = np.random.default_rng(6).standard_normal(300).astype(np.float32)
    _, info = ps.linalg.cg(on_gpu(A), b, rtol=1e-9, maxiter=30_000)
    assert info.reason.startswith("stagnated"), info


def test_wrong_shapes():
    with pytest.raises(ValueError, match="square"):
        ps.linalg.cg(on_gpu(ps.csr_array(np.ones((3, 4)))), np.ones(3))
    A = on_gpu(ps.generate.laplacian((5,)))
    with pytest.raises(ValueError, match="b has shape"):
        ps.linalg.cg(A, np.ones(4))
    with pytest.raises(ValueError, match="x0 has shape"):
        ps.linalg.cg(A, np.ones(5), np.ones(6))


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("M", [None, "ic0", "block_jacobi", "chebyshev"])
def test_only_preconditioners_have_host_vectors(method, M):
    A = ps.generate.laplacian((40, 41))
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    x, info = getattr(ps.linalg, method)(on_gpu(A), b, rtol=1e-8, M=M, maxiter=2000)
    assert info == 0, info.reason
    assert np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)
    assert info.vectors == ("gpu 0" if M is None else "cpu")


@pytest.mark.parametrize("M", [None, "jacobi", "ic0"])
@pytest.mark.parametrize("calls_back", [False, True])
def test_several_right_hand_sides(M, calls_back):
    A = ps.generate.laplacian((60, 61))
    B = np.random.default_rng(8).standard_normal((A.shape[0], 3))
    B[:, 1] = 0
    expected, _ = ps.linalg.cg(A, B, rtol=1e-10)
    callback = (lambda x: None) if calls_back else None
    X, info = ps.linalg.cg(on_gpu(A), B, rtol=1e-10, M=M, callback=callback)
    assert info == 0, info.reason
    np.testing.assert_allclose(X, expected, atol=1e-6 * np.abs(expected).max())
    assert not X[:, 1].any()


def test_memory_is_given_back():
    if not hasattr(_core, "gpu_memory"):
        pytest.skip("this build does not tell the GPU's free memory")
    A = on_gpu(ps.generate.laplacian((300, 300)))
    b = np.ones(A.shape[0])
    ps.linalg.cg(A, b, maxiter=20)
    before = _core.gpu_memory(0)[0]
    for _ in range(100):
        ps.linalg.cg(A, b, maxiter=20)
    lost = before - _core.gpu_memory(0)[0]
    assert lost <= 4 << 20, f"100 solves of 90,000 rows kept {lost} bytes"


# A plan for GPUs


def prepared(A, **how):
    """A with a plan; `how` as in ps.Streamed."""
    pytest.importorskip("penstock._plan.streaming")
    if isinstance(how["device"], list) and max(how["device"]) >= _core.device_count():
        pytest.skip("needs two GPUs")
    A.prepare(schedule=ps.Streamed(**how), products=50)
    return A


PLANS = {
    "kept": {"device": 0},
    "streams_all": {"device": 0, "keep": False, "block": 1 << 16},
    "raw": {"device": 0, "keep": False, "codec": "raw", "block": 1 << 16},
    "with_cpu": {"device": 0, "keep": False, "codec": "raw", "block": 1 << 16, "cpu": True},
    "one_gpu_twice": {"device": [0, 0], "keep": False, "block": 1 << 16},
    "two_gpus": {"device": [0, 1], "keep": False, "block": 1 << 16},
    "two_gpus_keep": {"device": [0, 1]},
}


@pytest.mark.parametrize("name", list(PLANS))
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg_by_a_plan(name, M):
    A = ps.generate.laplacian((60, 61, 31))
    b = np.random.default_rng(9).standard_normal(A.shape[0])
    expected, cpu = ps.linalg.cg(A, b, rtol=1e-9, M=M)
    x, info = ps.linalg.cg(prepared(A, **PLANS[name]), b, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert info.vectors == ("cpu" if name == "with_cpu" else "gpu 0")
    assert abs(info.iterations - cpu.iterations) <= 1
    np.testing.assert_allclose(x, expected, atol=1e-6 * np.abs(expected).max())


def test_bicgstab_by_a_plan():
    A = prepared(ps.generate.laplacian((60, 61)), **PLANS["streams_all"])
    b = np.random.default_rng(10).standard_normal(A.shape[0])
    x, info = ps.linalg.bicgstab(A, b, rtol=1e-8)
    assert info == 0 and info.vectors == "gpu 0"
    assert np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)


# PageRank


def directed(n=7001, edges=60_000):
    rng = np.random.default_rng(2)
    rows = rng.integers(0, n - n // 4, edges)  # a quarter of the vertices dangles
    cols = np.minimum(rng.pareto(0.8, edges) * 9, n - 1).astype(np.int64)
    return ps.csr_array((np.ones(edges, bool), (rows, cols)), shape=(n, n))


GRAPHS = {
    "rmat": lambda: ps.generate.rmat(14, 8, seed=1),
    "directed": directed,
    "road": lambda: ps.generate.laplacian((150, 151)).astype(bool),  # is extrapolated
    "one": lambda: ps.csr_array((np.ones(1, bool), ([0], [0])), shape=(1, 1)),
    "no_edges": lambda: ps.csr_array((77, 77), dtype=bool),
}


def weighted_of(A, dtype):
    values = np.random.default_rng(3).integers(0, 9, A.nnz).astype(dtype)
    return ps.csr_array((values, A.indices, A.indptr), shape=A.shape)


def alike(ranks, info, expected, cpu, tol):
    assert info["vectors"] == "gpu 0"
    assert info["converged"] and abs(info["iterations"] - cpu["iterations"]) <= 2, (info, cpu)
    apart = np.abs(ranks - expected).sum()
    assert apart <= max(20 * tol, 1e-9), f"{apart} apart in all, tol {tol}"
    assert ranks.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", list(GRAPHS))
@pytest.mark.parametrize("values", [None, np.float32, np.float64])
@pytest.mark.parametrize("jumps", ["uniform", "personal", "sink", "both"])
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_pagerank_as_on_the_cpu(name, values, jumps, tol):
    A = GRAPHS[name]() if values is None else weighted_of(GRAPHS[name](), values)
    n = A.shape[0]
    where = {}
    if jumps in ("personal", "both"):
        where["personalization"] = np.arange(n) + 1.0
    if jumps in ("sink", "both"):
        where["dangling"] = {0: 1.0, n - 1: 2.0}
    options = {"tol": tol, "max_iter": 500, "return_info": True, **where}
    expected, cpu = pagerank(A, **options)
    ranks, info = pagerank(on_gpu(A), **options)
    alike(ranks, info, expected, cpu, tol)
    verify_pagerank(A, ranks, tol=max(2 * tol, 1e-6), **where)


@pytest.mark.gpu_small
@pytest.mark.parametrize("jumps", [False, True])
def test_pagerank_small(jumps):
    A = directed(503, 3000)
    options = {"personalization": np.arange(503) + 1.0} if jumps else {}
    expected, cpu = pagerank(A, tol=1e-9, return_info=True, **options)
    ranks, info = pagerank(on_gpu(A), tol=1e-9, return_info=True, **options)
    alike(ranks, info, expected, cpu, 1e-9)


def test_pagerank_has_the_same_bits_in_every_run():
    A = on_gpu(GRAPHS["rmat"]())
    assert len({pagerank(A, tol=1e-9).tobytes() for _ in range(5)}) == 1


def test_pagerank_stops_and_starts():
    A = on_gpu(directed())
    cold, info = pagerank(A, tol=1e-9, return_info=True, max_iter=300)
    _, warm = pagerank(A, tol=1e-9, nstart=cold, return_info=True)
    assert warm["iterations"] <= 2 < info["iterations"]
    start, none = pagerank(A, max_iter=0, return_info=True)
    assert none["iterations"] == 0 and not none["converged"]
    np.testing.assert_allclose(start, 1 / 7001)
    with pytest.raises(RuntimeError, match="max_iter=3"):
        pagerank(A, tol=1e-12, max_iter=3)
    A = directed()
    values = np.ones(A.nnz)
    values[7] = -1
    bad = ps.csr_array((values, A.indices, A.indptr), shape=A.shape)
    with pytest.raises(ValueError, match="negative|-1"):
        pagerank(on_gpu(bad))


@pytest.mark.parametrize("name", ["rmat", "directed"])
@pytest.mark.parametrize("plan", list(PLANS))
def test_pagerank_by_a_plan(name, plan):
    A = GRAPHS[name]()
    expected, cpu = pagerank(A, tol=1e-9, max_iter=300, return_info=True)
    ranks, info = pagerank(prepared(A, **PLANS[plan]), tol=1e-9, max_iter=300, return_info=True)
    assert info["vectors"] == ("cpu" if plan == "with_cpu" else "gpu 0")
    assert abs(info["iterations"] - cpu["iterations"]) <= 2
    assert np.abs(ranks - expected).sum() <= 1e-7
