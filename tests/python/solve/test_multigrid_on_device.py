"""Multigrid set up and applied in a device's memory. The CPU is the device here: it runs the steps, passes and drivers
that GPUs run. Levels are compared with those of the CPU's own set-up, and x with what SciPy says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from device_support import There, as_library
from multigrid_support import HOW, MATRICES, grid, plane_stress
from penstock.linalg import _on_gpu, _system, multigrid
from penstock.linalg._amg import place
from solve_support import residual

import penstock as ps
from penstock import _core


def there(a: Any, dtype: np.dtype) -> Any:
    return _core.device_op(a._core, dtype.name)


@pytest.fixture
def device(monkeypatch):
    """Matrices lie on the device, and so do the solvers' vectors."""
    as_library(monkeypatch)
    monkeypatch.setattr(_system, "device_operator", there)
    monkeypatch.setattr(_on_gpu, "device_operator", there)
    monkeypatch.setattr(multigrid, "gpu_of", lambda a: -1)


def both(monkeypatch, a: Any, **how: Any) -> tuple[Any, Any]:
    """The AMG of the CPU, and that of the device."""
    host = ps.linalg.AMG(a, **how)
    with monkeypatch.context() as m:
        m.setattr(multigrid, "gpu_of", lambda a: -1)
        return host, ps.linalg.AMG(a, **how)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("how", HOW, ids=str)
def test_levels_and_m_are_the_cpus(monkeypatch, name, how):
    host, device = both(monkeypatch, MATRICES[name](), max_coarse=40, **how)
    assert device.gpu == -1 and host.gpu is None
    assert device.levels == host.levels
    single = "precision" in how
    near = 1e-4 if single else 1e-10
    for level in range(len(host.levels)):
        if level + 1 < len(host.levels):
            np.testing.assert_array_equal(
                device._hierarchy.aggregates(level), host._hierarchy.aggregates(level)
            )
            p, q = (m._prolongator(level).to_scipy() for m in (host, device))
            assert abs(p - q).max() <= near * abs(p).max()
        a, b = (m._matrix(level).to_scipy() for m in (host, device))
        assert abs(a - b).max() <= near * abs(a).max()
        assert device._hierarchy.largest_eigenvalue(level) == pytest.approx(
            host._hierarchy.largest_eigenvalue(level), rel=1e-3 if single else 1e-8
        )
    x = np.random.default_rng(5).standard_normal(host.shape[0])
    z = host @ x
    np.testing.assert_allclose(device @ x, z, atol=(1e-3 if single else 1e-8) * np.abs(z).max())


def test_vectors_of_the_near_nullspace(monkeypatch):
    a, points = plane_stress(40)
    modes = ps.linalg.rigid_body_modes(points)
    for how in ({"near_nullspace": modes, "block_size": 2}, {"block_size": 2}):
        host, device = both(monkeypatch, a, max_coarse=60, **how)
        assert device.levels == host.levels and len(host.levels) >= 3
        for level in range(len(host.levels) - 1):
            p, q = (m._prolongator(level).to_scipy() for m in (host, device))
            assert abs(p - q).max() <= 1e-8 * abs(p).max()
        x = np.random.default_rng(6).standard_normal(a.shape[0])
        z = host @ x
        np.testing.assert_allclose(device @ x, z, atol=1e-7 * np.abs(z).max())


def test_a_vector_that_is_not_constant(monkeypatch):
    s = np.random.default_rng(7).uniform(0.5, 2, 50 * 51)
    a = sp.csr_array(sp.diags_array(1 / s) @ grid(50, 51) @ sp.diags_array(1 / s))
    host, device = both(monkeypatch, a, near_nullspace=s)
    x = np.random.default_rng(8).standard_normal(a.shape[0])
    np.testing.assert_allclose(device @ x, host @ x, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_iterations_are_the_cpus(monkeypatch, device, method, dtype):
    a = ps.generate.laplacian((25, 26, 27)).astype(dtype)
    b = np.random.default_rng(9).standard_normal(a.shape[0]).astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-9
    solve = getattr(ps.linalg, method)
    x, info = solve(a, b, rtol=rtol, M="amg")
    monkeypatch.undo()
    _, expected = solve(a, b, rtol=rtol, M="amg")
    assert info == 0 == expected, (info.reason, expected.reason)
    assert abs(info.iterations - expected.iterations) <= 1
    assert residual(a.to_scipy(), x, b) <= 1.01 * rtol
    np.testing.assert_allclose(info.residuals[:4], expected.residuals[:4], rtol=1e-2)


@pytest.mark.parametrize("how", [{}, {"precision": "float32"}, {"cycle": "W"}], ids=str)
def test_b_on_the_device(device, how):
    a = ps.generate.laplacian((70, 71))
    m = ps.linalg.AMG(a, **how)
    b, x0 = np.random.default_rng(10).standard_normal((2, a.shape[0]))
    for guess in (None, There(x0)):
        x, info = ps.linalg.cg(a, There(b), guess, rtol=1e-9, M=m)
        assert info == 0, info.reason
        assert info.iterations < 25
        assert residual(a.to_scipy(), x.array, b) <= 1.01e-9


def test_a_solver_with_many_right_hand_sides(device):
    a = ps.generate.laplacian((40, 41))
    solver = ps.linalg.Solver(a, "cg", "amg", rtol=1e-8)
    out = There(np.empty(a.shape[0]))
    for seed in range(4):
        b = np.random.default_rng(seed).standard_normal(a.shape[0])
        x, info = solver(There(b), out=out)
        assert x is out and info == 0
        assert residual(a.to_scipy(), x.array, b) <= 1.01e-8
    with pytest.raises(ValueError, match="out is There"):
        solver(There(b), out=There(np.empty(3)))
    with pytest.raises(TypeError, match="Solver by minres"):
        ps.linalg.Solver(a, "minres", "amg")(There(b))
    with pytest.raises(ValueError, match="progress"):
        ps.linalg.Solver(a, "cg", "amg", progress=True)(There(b))
    B = np.random.default_rng(5).standard_normal((a.shape[0], 3))
    X, info = solver.solve(B)
    assert info == 0 and residual(a.to_scipy(), X, B) <= 1.01e-8


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_float32_levels_take_vectors_of_any_size(monkeypatch, size):
    host, device = both(monkeypatch, grid(40, 40), precision="float32")
    x = np.random.default_rng(15).standard_normal(1600)
    z = device @ x
    np.testing.assert_allclose(device @ (size * x), size * z, rtol=1e-5, atol=1e-6 * size)
    np.testing.assert_allclose(host @ (size * x), size * z, rtol=1e-2, atol=1e-4 * size)
    assert not (device @ np.zeros(1600)).any()


def test_other_values_keep_the_aggregates(monkeypatch):
    a = grid(40, 40)
    _, m = both(monkeypatch, a)
    before = m._hierarchy.aggregates(0).copy()
    z = m @ np.ones(1600)
    monkeypatch.setattr(multigrid, "gpu_of", lambda a: -1)
    m.update(ps.csr_array(4 * a))
    np.testing.assert_array_equal(m._hierarchy.aggregates(0), before)
    np.testing.assert_allclose(m @ np.ones(1600), z / 4, rtol=1e-9)
    assert m.gpu == -1
    with pytest.raises(ValueError, match="pattern"):
        m.update(grid(20, 80))


def test_same_patterns():
    a = ps.generate.laplacian((9, 9))
    for other in (2 * a, a.copy()):
        assert _core.same_pattern(a._core, other._core)
        assert place.same_entries(a, other)
    moved = a.to_scipy().tolil()
    moved[0, 5], moved[0, 1] = moved[0, 1], 0
    moved = ps.csr_array(sp.csr_array(moved)).without_zeros()
    for other in (moved, ps.generate.laplacian((9, 10)), a.astype("float32"), a[:80]):
        assert not _core.same_pattern(a._core, other._core)
    assert not place.same_entries(a, moved)


def test_what_is_refused_has_the_cpus_words(monkeypatch):
    good = grid(30, 30)
    lopsided, negative, odd = good.tolil(), good.tolil(), good.tolil()
    lopsided[5, 6] = -3
    negative[7, 7] = -4
    odd[8, 8] = np.inf
    for bad in (lopsided, negative, odd):
        words = []
        for gpu in (None, -1):
            with monkeypatch.context() as m:
                m.setattr(multigrid, "gpu_of", lambda a, gpu=gpu: gpu)
                with pytest.raises(ValueError) as caught:
                    ps.linalg.AMG(sp.csr_array(bad))
                words.append(str(caught.value))
        assert words[0] == words[1]
    indefinite = good - 3 * sp.eye_array(900)
    monkeypatch.setattr(multigrid, "gpu_of", lambda a: -1)
    with pytest.raises(ValueError, match="not positive definite"):
        ps.linalg.AMG(sp.csr_array(indefinite))


def test_a_singular_matrix_is_solved(monkeypatch, device):
    g = grid(30, 31)
    off = g - sp.diags_array(g.diagonal())
    a = ps.csr_array(sp.csr_array(off - sp.diags_array(np.asarray(off.sum(axis=1)).ravel())))
    b = np.random.default_rng(11).standard_normal(a.shape[0])
    b -= b.mean()
    x, info = ps.linalg.cg(a, b, rtol=1e-8, M="amg")
    assert info == 0, info.reason
    assert residual(a.to_scipy(), x, b) <= 1.01e-8


def windy(n: int) -> sp.csr_array:
    """Convection along the rows of a grid."""
    line = sp.diags_array([-2.0, 2.0], offsets=[-1, 0], shape=(n, n))
    return sp.csr_array(0.1 * grid(n, n) + sp.kron(sp.eye_array(n), line))


@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
@pytest.mark.parametrize("how", [{}, {"cycle": "W"}, {"precision": "float32"}], ids=str)
def test_a_matrix_that_is_not_symmetric(monkeypatch, method, how):
    a = windy(40)
    host, device = both(monkeypatch, a, symmetry="nonsymmetric", max_coarse=50, **how)
    assert device.levels == host.levels and len(host.levels) >= 3
    b = np.random.default_rng(14).standard_normal(1600)
    np.testing.assert_allclose(
        device @ b, host @ b, rtol=1e-3 if how.get("precision") else 1e-7, atol=1e-5
    )
    _, expected = getattr(ps.linalg, method)(ps.csr_array(a), b, rtol=1e-8, M=host)
    as_library(monkeypatch)
    monkeypatch.setattr(_on_gpu, "device_operator", there)
    x, info = getattr(ps.linalg, method)(ps.csr_array(a), There(b), rtol=1e-8, M=device)
    assert info == 0 and abs(info.iterations - expected.iterations) <= 1
    assert residual(a, x.array, b) <= 1.01e-8
    with monkeypatch.context() as m:
        m.setattr(multigrid, "gpu_of", lambda a: -1)
        device.update(ps.csr_array(2 * a))
    np.testing.assert_allclose(
        device @ b, host @ (b / 2), rtol=1e-3 if how.get("precision") else 1e-7, atol=1e-5
    )


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_matrices(device, n):
    a = ps.generate.laplacian((n,)).astype("float64")
    x, info = ps.linalg.cg(a, np.ones(n), rtol=1e-12, M="amg")
    assert info == 0
    np.testing.assert_allclose(a @ x, np.ones(n))


def test_a_large_last_level_is_smoothed(monkeypatch):
    a = grid(45, 45)
    host, device = both(monkeypatch, a, max_levels=1, max_coarse=100)
    assert not host._hierarchy.factored and not device._hierarchy.factored
    x = np.random.default_rng(12).standard_normal(2025)
    np.testing.assert_allclose(device @ x, host @ x, rtol=1e-9, atol=1e-12)


def test_it_tells_where_it_is(monkeypatch):
    host, device = both(monkeypatch, grid(40, 40))
    assert host.explain().device is None and "GPU" not in str(host.explain())
    told = device.explain()
    assert told.device == -1 and "on GPU -1" in str(told)
    assert told.levels == host.explain().levels and told.factored
    assert told.bytes > 0 and told.cycle_bytes > 0


def test_bits_do_not_depend_on_threads(device):
    a = grid(60, 60)
    x = np.random.default_rng(13).standard_normal(3600)
    before, seen = ps.num_threads(), set()
    try:
        for threads in (1, 2, 3):
            ps.set_num_threads(threads)
            seen.add((ps.linalg.AMG(a) @ x).tobytes())
    finally:
        ps.set_num_threads(before)
    assert len(seen) == 1
