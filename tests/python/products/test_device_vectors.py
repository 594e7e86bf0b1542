"""Solvers whose vectors live with a device. The CPU is one, too: it runs the passes and drivers that GPUs run."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from penstock._product import gpu_vectors
from penstock.csgraph import page_rank, pagerank, verify_pagerank
from penstock.linalg import _system

import penstock as ps
from penstock import _core


@pytest.fixture
def on_device(monkeypatch):
    """ps.linalg uses the device's vectors, on the CPU as a device."""
    monkeypatch.setattr(
        _system, "device_operator", lambda a, dtype: _core.device_op(a._core, dtype.name)
    )


def both(monkeypatch, *args: Any, **kwargs: Any):
    """(x, info) of the host's vectors and of the device's."""
    host = ps.linalg.cg(*args, **kwargs)
    with monkeypatch.context() as m:
        m.setattr(_system, "device_operator", lambda a, dtype: _core.device_op(a._core, dtype.name))
        return host, ps.linalg.cg(*args, **kwargs)


@pytest.mark.parametrize("shape", [(1,), (7,), (90,), (130, 91), (21, 22, 23)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("guess", [False, True])
def test_as_with_host_vectors(monkeypatch, shape, dtype, M, guess):
    A = ps.generate.laplacian(shape).astype(dtype)
    rng = np.random.default_rng(3)
    b, x0 = rng.standard_normal((2, A.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    (x, info), (y, found) = both(
        monkeypatch, A, b, x0 if guess else None, rtol=rtol, M=M, maxiter=4000
    )
    assert info == 0 and found == 0, (info.reason, found.reason)
    assert abs(info.iterations - found.iterations) <= 1
    assert found.residual <= found.target == pytest.approx(info.target)
    assert np.linalg.norm(b - A @ y) <= 1.01 * found.target + 1e-3 * (dtype == np.float32)
    np.testing.assert_allclose(y, x, atol=50 * rtol * np.abs(x).max(), rtol=0)
    np.testing.assert_allclose(
        found.residuals[:5], info.residuals[:5], rtol=1e-4 if dtype == np.float32 else 1e-9
    )


def test_bits_do_not_depend_on_threads(on_device):
    A = ps.generate.laplacian((60, 70))
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    before, seen = ps.num_threads(), set()
    try:
        for threads in (1, 2, 3, 2, 1):
            ps.set_num_threads(threads)
            x, info = ps.linalg.cg(A, b, rtol=1e-9)
            seen.add((x.tobytes(), info.residuals.tobytes()))
    finally:
        ps.set_num_threads(before)
    assert len(seen) == 1


def test_ends_before_it_begins(monkeypatch):
    A = ps.generate.laplacian((40, 40))
    n = A.shape[0]
    exact = np.random.default_rng(1).standard_normal(n)
    for b, x0 in [(np.zeros(n), np.ones(n)), (A @ exact, exact), (np.zeros(n), None)]:
        (x, info), (y, found) = both(monkeypatch, A, b, x0)
        assert (info, info.iterations) == (0, 0) == (found, found.iterations)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("maxiter", [1, 2, 9, 10])
def test_maxiter(monkeypatch, maxiter):
    A = ps.generate.laplacian((50, 50))
    b = np.random.default_rng(2).standard_normal(2500)
    (x, info), (y, found) = both(monkeypatch, A, b, rtol=1e-12, maxiter=maxiter)
    assert int(info) == int(found) == maxiter == found.iterations == len(found.residuals) - 1
    np.testing.assert_allclose(y, x, rtol=1e-8)
    assert "maxiter" in found.reason and found.residual == pytest.approx(np.linalg.norm(b - A @ y))


def test_callback_sees_each_x(on_device):
    A = ps.generate.laplacian((30, 30))
    b = np.random.default_rng(4).standard_normal(900)
    norms = []
    _, info = ps.linalg.cg(
        A, b, rtol=1e-9, callback=lambda x: norms.append(np.linalg.norm(b - A @ x))
    )
    assert len(norms) == info.iterations
    np.testing.assert_allclose(norms, info.residuals[1:], rtol=1e-6)

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ps.linalg.cg(A, b, callback=fails)


def faulty(name):
    """A, b, M of a solve that ends badly, and its number."""
    A = ps.generate.laplacian((20, 20))
    n = A.shape[0]
    b = np.random.default_rng(5).standard_normal(n)
    if name == "indefinite":
        return ps.csr_array(np.diag(np.r_[np.ones(30), -np.ones(30)])), b[:60], None, -1
    if name == "zero_matrix":
        return ps.csr_array(np.zeros((50, 50))), b[:50], None, -1
    if name == "negative_diagonal":
        return -A, b, "jacobi", -2
    if name == "overflow":
        return A.astype(np.float32) * np.float32(1e38), (1e36 * b).astype(np.float32), None, -4
    assert name == "vanishing_squares"
    return A, 1e-160 * b, None, -4


@pytest.mark.parametrize(
    "name", ["indefinite", "zero_matrix", "negative_diagonal", "overflow", "vanishing_squares"]
)
def test_breakdowns_have_the_same_reasons(monkeypatch, name):
    A, b, M, number = faulty(name)
    (_, info), (_, found) = both(monkeypatch, A, b, M=M, maxiter=500)
    assert int(info) == int(found) == number, (info.reason, found.reason)
    assert info.iterations == found.iterations
    assert info.reason.split("=")[0] == found.reason.split("=")[0]


def test_stagnation_is_noticed(monkeypatch):
    A = ps.generate.laplacian((300,)).astype(np.float32)
    b = np.random.default_rng(6).standard_normal(300).astype(np.float32)
    (_, info), (_, found) = both(monkeypatch, A, b, rtol=1e-9, maxiter=30_000)
    assert info.reason.startswith("stagnated") and found.reason.startswith("stagnated")
    assert found.residual == pytest.approx(info.residual, rel=3)


def test_shapes_are_checked(on_device):
    with pytest.raises(ValueError, match="square"):
        ps.linalg.cg(ps.csr_array(np.ones((3, 4))), np.ones(3))
    with pytest.raises(ValueError, match="b has shape"):
        ps.linalg.cg(ps.generate.laplacian((5,)), np.ones(4))
    with pytest.raises(ValueError, match="M has shape"):
        ps.linalg.cg(
            ps.generate.laplacian((5,)),
            np.ones(5),
            M=ps.linalg.Jacobi(ps.generate.laplacian((4,))),
        )
    op = _core.device_op(ps.generate.laplacian((5,))._core, "float64")
    options = dict(rtol=1e-5, atol=0.0, maxiter=9, restart=0, starts_at_zero=True, callback=None)
    with pytest.raises(ValueError, match="rows of A"):
        _core.solve_on_device("cg", op, None, np.ones(4), np.ones(4), 1, options)


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("M", [None, "ilu0", "ic0"])
def test_other_methods_and_preconditioners_keep_host_vectors(monkeypatch, on_device, method, M):
    A = ps.generate.laplacian((20, 20))
    b = np.random.default_rng(7).standard_normal(400)
    x, info = getattr(ps.linalg, method)(A, b, rtol=1e-8, M=M)
    assert info == 0, info.reason
    assert np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)
    assert info.vectors == "cpu"


@pytest.mark.parametrize("M", [None, "jacobi", "ic0"])
@pytest.mark.parametrize("calls_back", [False, True])
def test_several_right_hand_sides(monkeypatch, M, calls_back):
    A = ps.generate.laplacian((25, 25))
    B = np.random.default_rng(8).standard_normal((625, 3))
    B[:, 1] = 0
    calls = []
    callback = (lambda x: calls.append(x.copy())) if calls_back else None
    (X, info), (Y, found) = both(monkeypatch, A, B, rtol=1e-9, M=M, callback=callback)
    np.testing.assert_allclose(Y, X, atol=1e-7)
    assert [c.iterations for c in found.columns] == [c.iterations for c in info.columns]
    assert len(calls) == (2 * info.iterations if calls_back else 0)


def test_plan_as_operator():
    A = ps.generate.laplacian((70, 70))
    b = np.random.default_rng(9).standard_normal(4900)
    plan = _core.stream_plan(A._core, [-1], block_bytes=20_000)
    op = _core.plan_op(plan, "float64")
    assert (op.rows, op.gpu, op.dtype) == (4900, -1, "float64") and op.matrix_bytes > 0
    x = np.zeros(4900)
    options = dict(rtol=1e-9, atol=0.0, maxiter=999, restart=0, starts_at_zero=True, callback=None)
    (result,) = _core.solve_on_device("cg", op, None, b, x, 1, options)
    assert result["stop"] == "converged"
    assert np.linalg.norm(b - A @ x) <= 1.001e-9 * np.linalg.norm(b)
    single = _core.stream_plan(A._core, [-1], entry_bytes=4)
    with pytest.raises(ValueError, match="4 bytes"):
        _core.plan_op(single, "float64")
    with pytest.raises(_core.NotCompiledError, match="float32"):
        _core.plan_op(plan, "float32")


# PageRank

GRAPHS = {
    "rmat": lambda: ps.generate.rmat(9, 8, seed=1),
    "directed": lambda: ps.csr_array(
        (
            np.ones(4000, bool),
            np.random.default_rng(2).integers(0, [[700], [500]], (2, 4000)).tolist(),
        ),
        shape=(700, 700),  # vertices from 500 on dangle
    ),
    "grid": lambda: ps.generate.laplacian((40, 40)).astype(bool),
}


def weighted_of(A):
    values = np.random.default_rng(3).integers(0, 9, A.nnz).astype(np.float64)
    return ps.csr_array((values, A.indices, A.indptr), shape=A.shape)


@pytest.fixture
def planned(monkeypatch):
    """Plans as GPUs have them, on the CPU as a device. Returns what was made."""
    made: list[Any] = []
    request = types.SimpleNamespace(devices=(0,))

    def plan_for(a, how, entry, products):
        assert how is request and entry == 8
        core = _core.stream_plan(a._core, [-1], block_bytes=4000, entry_bytes=8)
        made.append(a)
        return types.SimpleNamespace(core=core, request=request, entry=8)

    monkeypatch.setattr(gpu_vectors, "existing", lambda a, entry: a._derived.stream_plans)
    monkeypatch.setattr(gpu_vectors, "plan_for", plan_for)

    def give(a):
        a._derived.stream_plans = plan_for(a, request, 8, 1)
        made.clear()

    give.made = made
    return give


@pytest.mark.parametrize("name", list(GRAPHS))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
@pytest.mark.parametrize("jumps", ["uniform", "personal", "sink", "both"])
def test_pagerank_as_on_the_cpu(planned, name, weighted, tol, jumps):
    A = weighted_of(GRAPHS[name]()) if weighted else GRAPHS[name]()
    n = A.shape[0]
    options: dict[str, Any] = {"tol": tol, "max_iter": 500}
    if jumps in ("personal", "both"):
        options["personalization"] = np.arange(n) + 1.0
    if jumps in ("sink", "both"):
        options["dangling"] = {0: 1.0, n - 1: 2.0}
    expected, info = pagerank(A, return_info=True, **options)
    planned(A)
    ranks, found = pagerank(A, return_info=True, **options)
    assert found["converged"] and abs(found["iterations"] - info["iterations"]) <= 1
    assert len(planned.made) == (0 if A.dtype == bool and name in ("rmat", "grid") else 1)
    bound = 3 * tol if tol > 1e-6 else 1e-9
    assert np.abs(ranks - expected).sum() <= bound, f"{np.abs(ranks - expected).sum()} in all"
    where = {k: v for k, v in options.items() if k in ("personalization", "dangling")}
    verify_pagerank(A, ranks, tol=max(2 * tol, 1e-6), **where)
    np.testing.assert_array_equal(ranks, pagerank(A, **options))


def test_pagerank_of_weights_that_are_left_out(planned):
    A = weighted_of(GRAPHS["directed"]())
    expected = pagerank(A, weighted=False, tol=1e-9)
    planned(A)
    np.testing.assert_allclose(pagerank(A, weighted=False, tol=1e-9), expected, atol=1e-9)


def test_pagerank_stops_and_starts(planned):
    A = GRAPHS["directed"]()
    cold, info = pagerank(A, tol=1e-9, return_info=True, max_iter=200)
    planned(A)
    _, warm = pagerank(A, tol=1e-9, nstart=cold, return_info=True)
    assert warm["iterations"] <= 2 < info["iterations"]
    start, none = pagerank(A, max_iter=0, return_info=True)
    assert none["iterations"] == 0 and not none["converged"]
    np.testing.assert_allclose(start, 1 / 700)
    with pytest.raises(RuntimeError, match="max_iter=3"):
        pagerank(A, tol=1e-12, max_iter=3)
    empty = ps.csr_array((0, 0), dtype=bool)
    assert pagerank(empty).shape == (0,)


def test_pagerank_without_room_is_the_cpus(planned, monkeypatch):
    A = GRAPHS["directed"]()
    expected = pagerank(A)
    planned(A)

    def full(*a):
        raise MemoryError("no room")

    monkeypatch.setattr(gpu_vectors, "plan_for", full)
    ranks, info = pagerank(A, return_info=True)
    np.testing.assert_array_equal(ranks, expected)
    assert info["vectors"] == "cpu"


@pytest.mark.parametrize("devices", [[-1], [-1, -1], [-1, -1, -1]], ids=str)
def test_pagerank_by_a_plan_of_several_devices(devices):
    """The CPU as one device of a plan, as two and as three: blocks of A^T are shared among them."""
    A = ps.generate.rmat(12, seed=1)
    expected, info = ps.csgraph.pagerank(A, tol=1e-9, return_info=True)
    into, out, symmetric = page_rank._into(A)
    plan = _core.stream_plan(
        into._core, devices, block_bytes=1 << 15, device_memory=1 << 20, keep=False
    )
    assert plan.facts()["gpus"] == devices and plan.facts()["blocks"] > 3 * len(devices)
    op = _core.plan_op(plan, "float64")
    given = (None, None, None, 0.85, 1e-9, 100)
    ranks, steps, _, converged = _core.pagerank_on_device(None, op, out, *given, symmetric)
    assert (
        converged and abs(steps - info["iterations"]) <= 8
    )  # the CPU takes its first steps in float32
    assert np.abs(ranks - expected).sum() < 1e-6
