"""cg with b, x0 and x on the GPU, as arrays of CuPy and PyTorch."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from result_libraries import NAMES, library

import penstock as ps

pytestmark = pytest.mark.gpu


@pytest.fixture(params=NAMES)
def lib(request):
    return library(request.param)


def problem(shape=(20, 21), dtype="float64", seed=3):
    a = ps.generate.laplacian(shape).astype(dtype)
    return a, np.random.default_rng(seed).standard_normal((2, a.shape[0])).astype(dtype)


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", [(1,), (7,), (130, 9), (9, 10, 11)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("guess", [False, True])
def test_as_on_the_cpu(lib, shape, dtype, M, guess):
    a, (b, x0) = problem(shape, dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-10
    there, start = lib.put(b), lib.put(x0) if guess else None
    x, info = ps.linalg.cg(a.to(ps.device(0)), there, start, rtol=rtol, M=M, maxiter=4000)
    y, expected = ps.linalg.cg(a, b, x0 if guess else None, rtol=rtol, M=M, maxiter=4000)
    assert isinstance(x, lib.kind)
    assert info == 0 == expected, info.reason
    assert info.vectors == "gpu 0"
    assert abs(info.iterations - expected.iterations) <= 2
    found = lib.get(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, y, atol=50 * rtol * np.abs(y).max(), rtol=0)
    np.testing.assert_array_equal(lib.get(there), b)
    if guess:
        np.testing.assert_array_equal(lib.get(start), x0)


@pytest.mark.gpu_small
@pytest.mark.parametrize("method", ["pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("M", [None, "jacobi", "amg"])
@pytest.mark.parametrize("guess", [False, True])
def test_other_methods(lib, method, M, guess):
    a, (b, x0) = problem((30, 31))
    solve = getattr(ps.linalg, method)
    there, start = lib.put(b), lib.put(x0) if guess else None
    x, info = solve(a.to(ps.device(0)), there, start, rtol=1e-9, M=M)
    y, also = solve(a.to(ps.device(0)), b, x0 if guess else None, rtol=1e-9, M=M)
    assert info == 0 == also, info.reason
    assert info.vectors == also.vectors == "gpu 0"
    for found in (lib.get(x), y):
        assert np.linalg.norm(b - a @ found) <= 1.01e-9 * np.linalg.norm(b)
    np.testing.assert_array_equal(lib.get(there), b)


@pytest.mark.gpu_small
@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
def test_memory_that_overlaps(lib, method):
    a, (b, _) = problem()
    solver = ps.linalg.Solver(a.to(ps.device(0)), method, rtol=1e-8)
    whole = lib.put(np.r_[b, b])
    for out in (whole[: len(b)], whole[4 : 4 + len(b)]):
        with pytest.raises(ValueError, match="overlaps b"):
            solver(whole[: len(b)], out=out)
    np.testing.assert_array_equal(lib.get(whole), np.r_[b, b])


@pytest.mark.parametrize("method", ["pipecg", "bicgstab", "gmres"])
def test_threads_solve_at_once(lib, method):
    a, _ = problem((40, 41))
    there, failed = a.to(ps.device(0)), []

    def work(seed: int) -> None:
        b = np.random.default_rng(seed).standard_normal(a.shape[0])
        for _ in range(3):
            x, info = getattr(ps.linalg, method)(
                there, lib.put(b), rtol=1e-8, M="jacobi", maxiter=9000
            )
            if info != 0 or not np.linalg.norm(b - a @ lib.get(x)) <= 1.01e-8 * np.linalg.norm(b):
                failed.append((seed, info))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


@pytest.mark.parametrize("shape", [(300, 301), (64, 64, 64)])
def test_large(lib, shape):
    a, (b, _) = problem(shape)
    x, info = ps.linalg.cg(a.to(ps.device(0)), lib.put(b), rtol=1e-9, maxiter=5000)
    assert info == 0, info.reason
    assert np.linalg.norm(b - a @ lib.get(x)) <= 1.01e-9 * np.linalg.norm(b)


def test_the_same_bits_as_with_vectors_that_travel(lib):
    """Only where b comes from and where x goes differs; a guess leaves the first norm of b to other sums."""
    a, (b, _) = problem((60, 61))
    there = a.to(ps.device(0))
    x, info = ps.linalg.cg(there, lib.put(b), rtol=0.0, maxiter=40)
    y, expected = ps.linalg.cg(there, b, rtol=0.0, maxiter=40)
    assert info.iterations == expected.iterations == 40
    np.testing.assert_array_equal(lib.get(x), y)
    np.testing.assert_array_equal(info.residuals[:-1], expected.residuals[:-1])


@pytest.mark.parametrize("matrix", ["float32", "bool", "hub"])
def test_other_matrices(lib, matrix):
    """Values of another type than b; and one whose long row is cut between blocks of the product."""
    n = 60_000
    if matrix == "hub":
        tails, heads = np.zeros(n - 1, int), np.arange(1, n)
        diagonal = np.full(n, 2.0)
        diagonal[0] = n
        rows = np.concatenate([tails, heads, np.arange(n)])
        columns = np.concatenate([heads, tails, np.arange(n)])
        values = np.concatenate([np.full(2 * n - 2, -1.0), diagonal])
        a = ps.csr_array((values, (rows, columns)), shape=(n, n))
    elif matrix == "bool":
        a = ps.csr_array((np.ones(n, bool), (np.arange(n), np.arange(n))), shape=(n, n))
    else:
        a = ps.generate.laplacian((200, 300)).astype("float32")
    b = np.random.default_rng(4).standard_normal(a.shape[0])
    x, info = ps.linalg.cg(a.to(ps.device(0)), lib.put(b), rtol=1e-8, maxiter=3000)
    assert info == 0, info.reason
    assert np.linalg.norm(b - a @ lib.get(x)) <= 1.01e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("how", ["packed", "raw", "kept"])
def test_a_streamed_matrix(lib, how):
    a, (b, _) = problem((120, 121))
    codec, keep = ("raw", True) if how == "kept" else (how, False)
    a.prepare(schedule=ps.Streamed(device=0, codec=codec, keep=keep))
    x, info = ps.linalg.cg(a, lib.put(b), rtol=1e-9)
    assert info == 0, info.reason
    assert info.vectors == "gpu 0"
    assert np.linalg.norm(b - a @ lib.get(x)) <= 1.01e-9 * np.linalg.norm(b)


@pytest.mark.gpu_small
def test_b_that_is_not_aligned(lib):
    """Passes read 16 bytes at a time."""
    a, _ = problem()
    n = a.shape[0]
    for dtype in ("float32", "float64"):
        whole = np.random.default_rng(5).standard_normal(n + 4).astype(dtype)
        there = lib.put(whole)
        for first in (1, 2, 3, 4):
            for M in (None, "jacobi"):
                x, info = ps.linalg.cg(
                    a.astype(dtype).to(ps.device(0)), there[first : first + n], rtol=1e-4, M=M
                )
                assert info == 0
                b = whole[first : first + n]
                assert np.linalg.norm(b - a @ lib.get(x)) <= 1.1e-4 * np.linalg.norm(b)
        np.testing.assert_array_equal(lib.get(there), whole)


@pytest.mark.gpu_small
def test_shapes_and_ends(lib):
    a, (b, x0) = problem()
    n = a.shape[0]
    there = a.to(ps.device(0))
    x, info = ps.linalg.cg(there, lib.put(b.reshape(n, 1)))
    assert (tuple(x.shape), int(info)) == ((n,), 0)
    x, info = ps.linalg.cg(there, lib.put(np.zeros(n)), lib.put(x0))
    assert (int(info), info.iterations) == (0, 0)
    np.testing.assert_array_equal(lib.get(x), np.zeros(n))
    x, info = ps.linalg.cg(there, lib.put(a @ x0), lib.put(x0), rtol=1e-8)
    assert (int(info), info.iterations) == (0, 0)
    np.testing.assert_array_equal(lib.get(x), x0)
    x, info = ps.linalg.cg(there, lib.put(b), "Mb", maxiter=3, rtol=1e-12)
    y, _ = ps.linalg.cg(a, b, b, maxiter=3, rtol=1e-12)
    assert int(info) == 3
    np.testing.assert_allclose(lib.get(x), y, rtol=1e-9, atol=1e-12)


def test_callback(lib):
    """Finds each x, on the stream that was current at the call; what it queues reads x before the next step writes."""
    a, (b, _) = problem((70, 71))
    kept, objects = [], []

    def call(x):
        objects.append(x)
        lib.busy()
        kept.append(x + 0)

    with lib.stream():
        x, info = ps.linalg.cg(a.to(ps.device(0)), lib.put(b), rtol=0.0, maxiter=12, callback=call)
        norms = [np.linalg.norm(b - a @ lib.get(k)) for k in kept]
    assert len(norms) == info.iterations == 12
    assert all(o is x for o in objects)
    np.testing.assert_allclose(norms, info.residuals[1:], rtol=1e-8)

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ps.linalg.cg(a.to(ps.device(0)), lib.put(b), callback=fails)


def test_stream_order(lib):
    """b is written by work that is queued before the call; x is read by work that is queued after it."""
    a, (b, _) = problem((90, 91))
    there = a.to(ps.device(0))
    y, _ = ps.linalg.cg(a, b, rtol=1e-9)
    source = lib.put(b)
    for _ in range(3):
        with lib.stream():
            late = lib.full((a.shape[0],), np.nan, "float64")
            lib.busy()
            late[...] = source
            x, info = ps.linalg.cg(there, late, rtol=1e-9)
            late[...] = 0
            found = lib.get(x * 2)
        assert info == 0
        np.testing.assert_allclose(found, 2 * y, atol=1e-6)


def test_two_threads_with_one_matrix(lib):
    a, (b, c) = problem((150, 151))
    there = a.to(ps.device(0))
    expected = [ps.linalg.cg(there, lib.put(v), rtol=1e-9)[0] for v in (b, c)]
    expected = [lib.get(x) for x in expected]
    wrong = []

    def work(k, v):
        with lib.stream():
            for _ in range(10):
                x, _ = ps.linalg.cg(there, lib.put(v), rtol=1e-9)
                if not np.array_equal(lib.get(x), expected[k]):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k, v)) for k, v in enumerate((b, c))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_released_between_solves(lib):
    a, (b, _) = problem()
    there = a.to(ps.device(0))
    x, _ = ps.linalg.cg(there, lib.put(b), rtol=1e-9)
    assert there._derived.device_ops
    there.release()
    assert there._derived.device_ops is None
    again, _ = ps.linalg.cg(there, lib.put(b), rtol=1e-9)
    np.testing.assert_array_equal(lib.get(again), lib.get(x))


def test_many_solves_take_no_more_memory(lib):
    a, (b, _) = problem((100, 100))
    there, rhs = a.to(ps.device(0)), lib.put(b)
    for _ in range(3):
        ps.linalg.cg(there, rhs, maxiter=5)
    before = ps._core.gpu_info(0)["free_bytes"]
    for _ in range(100):
        ps.linalg.cg(there, rhs, maxiter=5)
    assert before - ps._core.gpu_info(0)["free_bytes"] < 32 << 20


@pytest.mark.gpu_small
def test_bad_input(lib):
    a, (b, x0) = problem((5, 5))
    there, rhs = a.to(ps.device(0)), lib.put(b)
    with pytest.raises(ValueError, match=r"host memory without a plan for GPUs: give A.to"):
        ps.linalg.cg(a, rhs)
    with pytest.raises(TypeError, match="give b in float64"):
        ps.linalg.cg(there, lib.put(b.astype(np.float32)))
    with pytest.raises(TypeError, match="built for real numbers"):
        ps.linalg.cg(there, lib.put(b.astype(complex)))
    with pytest.raises(ValueError, match=r"b has shape \(24,\)"):
        ps.linalg.cg(there, lib.put(b[1:]))
    with pytest.raises(ValueError, match="one right-hand side at a time"):
        ps.linalg.cg(there, lib.put(np.ones((25, 2))))
    with pytest.raises(ValueError, match="b is not contiguous"):
        ps.linalg.cg(there, lib.put(np.ones(50))[::2])
    with pytest.raises(TypeError, match="'ic0', which the CPU applies"):
        ps.linalg.cg(there, rhs, M="ic0")
    with pytest.raises(TypeError, match="not an array of b's library"):
        ps.linalg.cg(there, rhs, x0)
    with pytest.raises(TypeError, match="b is ndarray in host memory"):
        ps.linalg.cg(there, b, lib.put(x0))
    bad = b.copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match="b has 1 entries that are NaN or infinite"):
        ps.linalg.cg(there, lib.put(bad))
    for method in ("minres", "fgmres", "block_cg"):
        with pytest.raises(TypeError, match=f"{method} has its vectors in host memory"):
            getattr(ps.linalg, method)(there, rhs)


def test_b_on_another_gpu():
    if ps._core.device_count() < 2:
        pytest.skip("needs two GPUs")
    torch = pytest.importorskip("torch")
    a, (b, _) = problem()
    rhs = torch.from_numpy(b).to("cuda:1")
    with pytest.raises(ValueError, match="b is on GPU 1, and A is multiplied on GPU 0"):
        ps.linalg.cg(a.to(ps.device(0)), rhs)
    x, info = ps.linalg.cg(a.to(ps.device(1)), rhs, rtol=1e-9)
    assert info == 0
    assert x.device == rhs.device
