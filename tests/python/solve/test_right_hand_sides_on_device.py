"""cg with b and x on a device, and what other methods say of such arrays. The CPU is the device here, under the number
-1: a small class stands for an array library, and the core runs the passes that GPUs run."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from device_support import Library, There, Unmade, as_library
from penstock._arrays import device
from penstock._arrays.libraries import Jax
from penstock.linalg import _on_gpu, multigrid

import penstock as ps
from penstock import _core


@pytest.fixture(autouse=True)
def on_device(monkeypatch):
    as_library(monkeypatch)
    monkeypatch.setattr(
        _on_gpu, "device_operator", lambda a, dtype: _core.device_op(a._core, dtype.name)
    )


@pytest.mark.parametrize("shape", [(1,), (7,), (130, 91), (21, 22, 23)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("guess", [False, True])
def test_as_with_host_vectors(shape, dtype, M, guess):
    A = ps.generate.laplacian(shape).astype(dtype)
    b, x0 = np.random.default_rng(3).standard_normal((2, A.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-10
    x, info = ps.linalg.cg(
        A, There(b.copy()), There(x0.copy()) if guess else None, rtol=rtol, M=M, maxiter=4000
    )
    y, expected = ps.linalg.cg(A, b, x0 if guess else None, rtol=rtol, M=M, maxiter=4000)
    assert isinstance(x, There)
    assert x.array.dtype == dtype
    assert info == 0 == expected
    assert abs(info.iterations - expected.iterations) <= 1
    assert info.target == pytest.approx(expected.target)
    np.testing.assert_allclose(x.array, y, atol=50 * rtol * np.abs(y).max(), rtol=0)
    np.testing.assert_allclose(info.residuals[:5], expected.residuals[:5], rtol=1e-3)


@pytest.mark.parametrize("M", [None, "jacobi"])
def test_b_that_passes_cannot_read_in_place(M):
    A = ps.generate.laplacian((40, 40))
    whole = np.random.default_rng(1).standard_normal(1602)
    for first in (0, 1, 2):
        b = whole[first : first + 1600]
        x, info = ps.linalg.cg(A, There(b), rtol=1e-10, M=M)
        assert info == 0
        assert np.linalg.norm(b - A @ x.array) <= 1.001e-10 * np.linalg.norm(b)


def test_neither_b_nor_the_guess_is_written():
    A = ps.generate.laplacian((20, 20))
    b, x0 = np.random.default_rng(2).standard_normal((2, 400))
    b.flags.writeable = x0.flags.writeable = False
    before = b.tobytes(), x0.tobytes()
    x, info = ps.linalg.cg(A, There(b), There(x0), rtol=1e-9)
    assert info == 0
    assert (b.tobytes(), x0.tobytes()) == before
    y, _ = ps.linalg.cg(A, There(b), "Mb", rtol=1e-9)
    np.testing.assert_allclose(y.array, x.array, atol=1e-7)
    assert ps.linalg.cg(A, There(b.reshape(400, 1)))[0].array.shape == (400,)


def test_ends_before_it_begins():
    A = ps.generate.laplacian((20, 20))
    exact = np.random.default_rng(1).standard_normal(400)
    cases = [(np.zeros(400), np.ones(400), 0 * exact), (A @ exact, exact, exact)]
    for b, x0, expected in [*cases, (np.zeros(400), None, 0 * exact)]:
        x, info = ps.linalg.cg(A, There(b), None if x0 is None else There(x0))
        assert (int(info), info.iterations) == (0, 0)
        np.testing.assert_array_equal(x.array, expected)
    empty = ps.csr_array(([], ([], [])), shape=(0, 0), dtype=np.float64)
    x, info = ps.linalg.cg(empty, There(np.zeros(0)))
    assert (x.array.shape, int(info)) == ((0,), 0)


def test_callback_sees_each_x():
    A = ps.generate.laplacian((30, 30))
    b = np.random.default_rng(4).standard_normal(900)
    norms, seen = [], []

    def call(x):
        seen.append(x)
        norms.append(np.linalg.norm(b - A @ x.array))

    x, info = ps.linalg.cg(A, There(b), rtol=1e-9, callback=call)
    assert len(norms) == info.iterations
    assert all(s is x for s in seen)
    np.testing.assert_allclose(norms, info.residuals[1:], rtol=1e-6)

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ps.linalg.cg(A, There(b), callback=fails)


@pytest.mark.parametrize("maxiter", [1, 2, 9, 10])
def test_maxiter(maxiter):
    A = ps.generate.laplacian((50, 50))
    b = np.random.default_rng(2).standard_normal(2500)
    x, info = ps.linalg.cg(A, There(b), rtol=1e-12, maxiter=maxiter)
    assert int(info) == maxiter == info.iterations == len(info.residuals) - 1
    assert info.residual == pytest.approx(np.linalg.norm(b - A @ x.array))


def test_breakdowns():
    indefinite = ps.csr_array(np.diag(np.r_[np.ones(30), -np.ones(30)]))
    b = np.random.default_rng(5).standard_normal(60)
    assert int(ps.linalg.cg(indefinite, There(b))[1]) == -1
    assert int(ps.linalg.cg(ps.generate.laplacian((60,)), There(1e-160 * b))[1]) == -4


def test_numbers_that_are_not_finite():
    A = ps.generate.laplacian((5, 5))
    for bad in (np.nan, np.inf):
        v = np.ones(25)
        v[7] = bad
        with pytest.raises(ValueError, match="b has 1 entries that are NaN or infinite"):
            ps.linalg.cg(A, There(v))
        with pytest.raises(ValueError, match="x0 has 1 entries that are NaN or infinite"):
            ps.linalg.cg(A, There(np.ones(25)), There(v))


def test_bad_input(monkeypatch):
    A = ps.generate.laplacian((5, 5))
    b = There(np.ones(25))
    single = There(np.ones(25, np.float32))
    with pytest.raises(ValueError, match=r"b has shape \(24,\)"):
        ps.linalg.cg(A, There(np.ones(24)))
    with pytest.raises(ValueError, match="one right-hand side at a time"):
        ps.linalg.cg(A, There(np.ones((25, 2))))
    with pytest.raises(ValueError, match="b is not contiguous"):
        ps.linalg.cg(A, There(np.ones(50)[::2]))
    with pytest.raises(TypeError, match="give b in float64"):
        ps.linalg.cg(A, single)
    with pytest.raises(TypeError, match="give b in float64"):
        ps.linalg.cg(A, There(np.ones(25, np.int64)))
    with pytest.raises(TypeError, match="built for real numbers"):
        ps.linalg.cg(A, There(np.ones(25, complex)))
    with pytest.raises(TypeError, match="'ic0', which the CPU applies"):
        ps.linalg.cg(A, b, M="ic0")
    with pytest.raises(TypeError, match="M is float32 and b float64"):
        ps.linalg.cg(A, b, M=ps.linalg.Jacobi(A, dtype=np.float32))
    with pytest.raises(ValueError, match="M has shape"):
        ps.linalg.cg(A, b, M=ps.linalg.Jacobi(ps.generate.laplacian((4,))))
    with pytest.raises(TypeError, match="not an array of b's library"):
        ps.linalg.cg(A, b, np.ones(25))
    with pytest.raises(TypeError, match="b is ndarray in host memory"):
        ps.linalg.cg(A, np.ones(25), b)
    with pytest.raises(ValueError, match="x0 has shape"):
        ps.linalg.cg(A, b, There(np.ones(24)))
    with pytest.raises(TypeError, match="x0 is float32"):
        ps.linalg.cg(A, b, single)
    with pytest.raises(ValueError, match="x0='zero' is unknown"):
        ps.linalg.cg(A, b, "zero")
    with pytest.raises(TypeError, match="whose arrays cannot be made here"):
        ps.linalg.cg(A, Unmade(np.ones(25)))
    with pytest.raises(TypeError, match="callback=3 is not callable"):
        ps.linalg.cg(A, b, callback=3)
    with pytest.raises(ValueError, match="square"):
        ps.linalg.cg(ps.csr_array(np.ones((3, 4))), There(np.ones(3)))
    monkeypatch.undo()
    as_library(monkeypatch)
    with pytest.raises(ValueError, match="host memory without a plan for GPUs"):
        ps.linalg.cg(A, b)


@pytest.mark.parametrize("method", ["pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("M", [None, "jacobi", "amg"])
@pytest.mark.parametrize("guess", [False, True])
def test_other_methods(monkeypatch, method, M, guess):
    monkeypatch.setattr(multigrid, "gpu_of", lambda a: -1)
    monkeypatch.setattr(_on_gpu, "has_levels", lambda a: True)
    A = ps.generate.laplacian((30, 31))
    b, x0 = np.random.default_rng(5).standard_normal((2, A.shape[0]))
    solve = getattr(ps.linalg, method)
    x, info = solve(A, There(b.copy()), There(x0.copy()) if guess else None, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert np.linalg.norm(b - A @ x.array) <= 1.001e-9 * np.linalg.norm(b)
    monkeypatch.undo()
    _, expected = solve(A, b, x0 if guess else None, rtol=1e-9, M=M)
    assert abs(info.iterations - expected.iterations) <= (12 if method == "bicgstab" else 1)


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
def test_memory_that_overlaps(method):
    """x is written while b is read."""
    A = ps.generate.laplacian((20, 20))
    whole = np.random.default_rng(7).standard_normal(800)
    solver = ps.linalg.Solver(A, method, rtol=1e-8)
    b, before = whole[:400], whole.copy()
    for out in (b, whole[2:402]):
        with pytest.raises(ValueError, match="overlaps b"):
            solver(There(b), out=There(out))
        with pytest.raises(ValueError, match="overlaps b"):
            solver(b, out=out)
    with pytest.raises(ValueError, match="overlaps a part of x0"):
        solver(There(b), There(whole[398:798]), There(whole[400:]))
    np.testing.assert_array_equal(whole, before)
    x, info = solver(There(b), There(whole[400:]), There(whole[400:]))
    assert info == 0 and x.array.base is whole
    assert np.linalg.norm(b - A @ x.array) <= 1.001e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_a_result_is_finished_by_its_library(method):
    A, b = ps.generate.laplacian((9, 9)), np.ones(81)
    assert getattr(ps.linalg, method)(A, There(b))[0].finished
    out = There(np.empty(81))
    assert ps.linalg.Solver(A, method)(There(b), out=out)[0] is out
    assert not out.finished


def test_no_callback_where_nobody_may_write(monkeypatch):
    class Frozen(There):
        pass

    class FrozenLibrary(Library, Jax):
        pass

    monkeypatch.setitem(device._by_type, Frozen, FrozenLibrary())
    A = ps.generate.laplacian((5, 5))
    assert ps.linalg.cg(A, Frozen(np.ones(25)))[1] == 0
    with pytest.raises(TypeError, match="JAX"):
        ps.linalg.cg(A, Frozen(np.ones(25)), callback=print)


@pytest.mark.parametrize("method", ["pipecg", "bicgstab", "gmres"])
def test_threads_solve_at_once(method):
    A = ps.generate.laplacian((40, 40))
    solve, failed = getattr(ps.linalg, method), []

    def work(seed: int) -> None:
        b = np.random.default_rng(seed).standard_normal(1600)
        for _ in range(3):
            x, info = solve(A, There(b), rtol=1e-8, M="jacobi", maxiter=4000)
            if info != 0 or not np.linalg.norm(b - A @ x.array) <= 1.001e-8 * np.linalg.norm(b):
                failed.append((seed, info))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_gmres_there_restarts_and_calls_back():
    A = ps.generate.laplacian((20, 20))
    b = np.random.default_rng(6).standard_normal(400)
    seen = []
    x, info = ps.linalg.gmres(
        A, There(b), rtol=1e-9, restart=10, maxiter=3, callback=lambda x: seen.append(x.array.copy()),
        callback_type="x",
    )  # fmt: skip
    assert (int(info), info.iterations, len(seen)) == (3, 30, 3)
    np.testing.assert_array_equal(seen[-1], x.array)
    _, expected = ps.linalg.gmres(A, b, rtol=1e-9, restart=10, maxiter=3)
    assert info.residual == pytest.approx(expected.residual, rel=1e-6)
    with pytest.raises(ValueError, match="callback_type='x' for b on a GPU"):
        ps.linalg.gmres(A, There(b), callback=print, callback_type="pr_norm")


@pytest.mark.parametrize("method", ["pipecg", "bicgstab", "gmres"])
def test_vectors_that_no_method_takes(method):
    A = ps.generate.laplacian((5, 5))
    bad = np.ones(25)
    bad[3] = np.nan
    with pytest.raises(ValueError, match="b has 1 entries that are NaN"):
        getattr(ps.linalg, method)(A, There(bad))
    with pytest.raises(ValueError, match="x0 has 1 entries that are NaN"):
        getattr(ps.linalg, method)(A, There(np.ones(25)), There(bad))
    x, info = getattr(ps.linalg, method)(A, There(np.zeros(25)), There(np.ones(25)))
    assert info == 0 and not x.array.any()


@pytest.mark.parametrize("method", ["minres", "fgmres", "block_cg", "eigsh"])
def test_other_methods_refuse(method):
    A = ps.generate.laplacian((5, 5))
    with pytest.raises(TypeError, match=f"{method} has its vectors in host memory"):
        getattr(ps.linalg, method)(A, There(np.ones(25)))
