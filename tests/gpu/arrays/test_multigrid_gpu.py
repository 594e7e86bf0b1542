"""Multigrid on a GPU: levels, cycles and solves against those of the CPU, and x against SciPy's word on it."""

from __future__ import annotations

import pathlib
import sys
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "python" / "solve"))

from multigrid_support import HOW, MATRICES, anisotropic, grid, plane_stress  # noqa: E402
from result_libraries import NAMES, library  # noqa: E402
from solve_support import residual  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(params=NAMES)
def lib(request):
    return library(request.param)


def on_gpu(a: Any) -> ps.csr_array:
    return ps.csr_array(a).to(ps.device(0))


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("how", HOW, ids=str)
def test_levels_and_m_are_the_cpus(name, how):
    a = MATRICES[name]()
    host = ps.linalg.AMG(a, max_coarse=40, **how)
    there = ps.linalg.AMG(on_gpu(a), max_coarse=40, **how)
    assert there.gpu == 0
    assert there.levels == host.levels
    single = "precision" in how
    for level in range(len(host.levels) - 1):
        np.testing.assert_array_equal(
            there._hierarchy.aggregates(level), host._hierarchy.aggregates(level)
        )
    for level in range(len(host.levels)):
        assert there._hierarchy.largest_eigenvalue(level) == pytest.approx(
            host._hierarchy.largest_eigenvalue(level), rel=1e-3 if single else 1e-8
        )
    x = np.random.default_rng(5).standard_normal(host.shape[0])
    z = host @ x
    np.testing.assert_allclose(there @ x, z, atol=(1e-3 if single else 1e-8) * np.abs(z).max())


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (9,), (40, 41), (16, 17, 18)])
def test_cg_with_b_on_the_gpu(lib, dtype, shape):
    a = ps.generate.laplacian(shape).astype(dtype)
    b = np.random.default_rng(3).standard_normal(a.shape[0]).astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-9
    x, info = ps.linalg.cg(a.to(ps.device(0)), lib.put(b), rtol=rtol, M="amg")
    _, expected = ps.linalg.cg(a, b, rtol=rtol, M="amg")
    assert isinstance(x, lib.kind)
    assert info == 0 == expected, info.reason
    assert info.vectors == "gpu 0"
    assert abs(info.iterations - expected.iterations) <= 1
    assert residual(a.to_scipy(), lib.get(x), b) <= 1.05 * rtol


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
def test_methods_with_b_in_host_memory(method):
    a = ps.generate.laplacian((30, 31, 32))
    b = np.random.default_rng(4).standard_normal(a.shape[0])
    solve = getattr(ps.linalg, method)
    x, info = solve(a.to(ps.device(0)), b, rtol=1e-8, M="amg")
    _, expected = solve(a, b, rtol=1e-8, M="amg")
    assert info == 0 == expected, info.reason
    assert abs(info.iterations - expected.iterations) <= 1
    assert residual(a.to_scipy(), x, b) <= 1.01e-8


@pytest.mark.parametrize("how", [{}, {"precision": "float32"}, {"cycle": "W"}], ids=str)
def test_iterations_grow_little(how):
    counts = []
    for edge in (16, 32, 64):
        a = ps.generate.laplacian((edge,) * 3)
        b = np.random.default_rng(6).standard_normal(a.shape[0])
        x, info = ps.linalg.cg(
            a.to(ps.device(0)), b, rtol=1e-8, M=ps.linalg.AMG(a.to(ps.device(0)), **how)
        )
        assert info == 0 and residual(a.to_scipy(), x, b) <= 1.01e-8
        counts.append(info.iterations)
    assert counts[-1] <= 1.35 * counts[0]


@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_a_matrix_that_is_not_symmetric(lib, method):
    line = sp.diags_array([-2.0, 2.0], offsets=[-1, 0], shape=(90, 90))
    a = sp.csr_array(0.1 * grid(90, 90) + sp.kron(sp.eye_array(90), line))
    b = np.random.default_rng(9).standard_normal(a.shape[0])
    m = ps.linalg.AMG(on_gpu(a), symmetry="nonsymmetric")
    assert m.gpu == 0
    solve = getattr(ps.linalg, method)
    x, info = solve(on_gpu(a), lib.put(b), rtol=1e-8, M=m)
    _, expected = solve(ps.csr_array(a), b, rtol=1e-8, M=ps.linalg.AMG(a, symmetry="nonsymmetric"))
    assert info == 0 and abs(info.iterations - expected.iterations) <= 1
    assert residual(a, lib.get(x), b) <= 1.01e-8


def test_rigid_body_modes():
    a, points = plane_stress(60)
    modes = ps.linalg.rigid_body_modes(points)
    b = np.random.default_rng(7).standard_normal(a.shape[0])
    how: dict[str, Any] = {"near_nullspace": modes, "block_size": 2}
    x, info = ps.linalg.cg(on_gpu(a), b, rtol=1e-8, M=ps.linalg.AMG(on_gpu(a), **how))
    _, expected = ps.linalg.cg(ps.csr_array(a), b, rtol=1e-8, M=ps.linalg.AMG(a, **how))
    assert info == 0 and abs(info.iterations - expected.iterations) <= 1
    assert residual(a, x, b) <= 1.01e-8


def test_long_rows_and_anisotropy(lib):
    """A hub that joins all vertices, beside a grid with strong connections in one direction."""
    n = 70 * 70
    spokes = sp.csr_array((np.full(n - 1, -1e-3), (np.zeros(n - 1, int), np.arange(1, n))), (n, n))
    off = spokes + spokes.T
    a = sp.csr_array(anisotropic(70) + off + sp.diags_array(np.asarray(abs(off).sum(axis=1))))
    b = np.random.default_rng(8).standard_normal(n)
    x, info = ps.linalg.cg(on_gpu(a), lib.put(b), rtol=1e-9, M="amg")
    assert info == 0 and residual(a, lib.get(x), b) <= 1.05e-9


def test_a_solver_writes_into_out(lib):
    a = ps.generate.laplacian((60, 61, 62))
    solver = ps.linalg.Solver(a.to(ps.device(0)), "cg", "amg", rtol=1e-8)
    out = lib.put(np.empty(a.shape[0]))
    seen = []
    for seed in range(5):
        b = np.random.default_rng(seed).standard_normal(a.shape[0])
        x, info = solver(lib.put(b), out=out)
        assert x is out and info == 0
        assert residual(a.to_scipy(), lib.get(x), b) <= 1.01e-8
        seen.append(info.iterations)
    assert max(seen) - min(seen) <= 1
    told = solver.explain()
    assert told.preconditioner_bytes == solver.M.nbytes > a.nbytes
    assert 0 < told.product_seconds < told.seconds < 1
    assert solver.M.explain().device == 0


def test_threads_share_an_amg(lib):
    a = ps.generate.laplacian((50, 51))
    there = a.to(ps.device(0))
    m = ps.linalg.AMG(there)
    failed: list[str] = []

    def work(seed: int) -> None:
        b = np.random.default_rng(seed).standard_normal(a.shape[0])
        for _ in range(3):
            x, info = ps.linalg.cg(there, lib.put(b), rtol=1e-9, M=m)
            if info != 0 or not residual(a.to_scipy(), lib.get(x), b) <= 1.05e-9:
                failed.append(f"{seed}: {info!r}")

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


@pytest.mark.gpu_small
def test_update_and_what_is_refused(lib):
    a = ps.generate.laplacian((30, 30))
    there = a.to(ps.device(0))
    m = ps.linalg.AMG(there)
    z = m @ np.ones(900)
    m.update(ps.csr_array(4 * a.to_scipy()).to(ps.device(0)))
    np.testing.assert_allclose(m @ np.ones(900), z / 4, rtol=1e-9)
    with pytest.raises(ValueError, match="host memory"):
        m.update(a)
    with pytest.raises(ValueError, match="another pattern"):
        m.update(ps.generate.laplacian((20, 45)).to(ps.device(0)))
    solver = ps.linalg.Solver(there, "cg", "amg", rtol=1e-8)
    solver.update(ps.csr_array(2 * a.to_scipy()).to(ps.device(0)))
    x, info = solver(lib.put(np.ones(900)))
    assert info == 0 and residual(2 * a.to_scipy(), lib.get(x), np.ones(900)) <= 1.01e-8
    b = lib.put(np.ones(900))
    for M in (ps.linalg.AMG(a), "ic0"):
        with pytest.raises(TypeError, match="which the CPU applies"):
            ps.linalg.cg(there, b, M=M)
    with pytest.raises(TypeError, match="AMG.solve has its vectors in host memory"):
        m.solve(b)
    x, info = m.solve(np.ones(900), rtol=1e-6)
    assert info == 0 and residual(4 * a.to_scipy(), x, np.ones(900)) <= 1.01e-6
    with pytest.raises(ValueError, match="not symmetric"):
        ps.linalg.AMG(on_gpu(sp.csr_array(sp.triu(a.to_scipy()) + sp.eye_array(900))))
