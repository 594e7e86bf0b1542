"""Algebraic multigrid: aggregates, prolongators, Galerkin products, the cycle, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from multigrid_support import grid, plane_stress

import penstock as ps


def iterations(a, **how) -> int:
    _, info = ps.linalg.cg(a, np.ones(a.shape[0]), rtol=1e-8, M=ps.linalg.AMG(a, **how))
    assert info == 0
    return info.iterations


@pytest.mark.parametrize("how", [{}, {"precision": "float32"}, {"cycle": "W"}, {"cycle": "K"}])
def test_iterations_hardly_grow_with_the_grid(how):
    assert iterations(grid(48, 48, 48), **how) <= 1.35 * iterations(grid(16, 16, 16), **how)


@pytest.mark.parametrize(
    "how",
    [{}, {"cycle": "W", "max_coarse": 20}, {"smoother": "l1_jacobi"}, {"degree": 1}, {"max_levels": 1},
     {"precision": "float32"}],
)  # fmt: skip
def test_m_is_symmetric_and_positive(how):
    a = grid(70, 70)
    m = ps.linalg.AMG(a, **how)
    x, y = np.random.default_rng(1).standard_normal((2, a.shape[0]))
    xy, yx = x @ (m @ y), y @ (m @ x)
    size = np.linalg.norm(x) * np.linalg.norm(m @ y)
    assert abs(xy - yx) <= (1e-5 if "precision" in how else 1e-12) * size
    assert x @ (m @ x) > 0


def test_coarse_matrices_are_galerkin_products():
    m = ps.linalg.AMG(grid(20, 20, 20), max_coarse=50)
    assert len(m.levels) >= 3
    for level in range(len(m.levels) - 1):
        a, p, coarse = (
            s.to_scipy() for s in (m._matrix(level), m._prolongator(level), m._matrix(level + 1))
        )
        assert abs(p.T @ a @ p - coarse).max() <= 1e-12 * abs(coarse).max()


@pytest.mark.parametrize("seed", [0, 7])
def test_roots_of_aggregates_are_far_apart_and_their_rings_whole(seed):
    a = grid(25, 31)
    of = ps.linalg.AMG(a, seed=seed, max_coarse=20)._hierarchy.aggregates(0)
    assert of.min() == 0 and set(of) == set(range(of.max() + 1))
    graph = a != 0
    near = (graph @ graph) != 0  # at most two edges
    roots = []
    for k in range(of.max() + 1):
        inside = of == k
        # A root has all of its neighbours in its own aggregate.
        whole = [v for v in np.flatnonzero(inside) if inside[graph[[v]].indices].all()]
        assert whole, k
        roots.append(whole)
    assert near.shape[0] == len(of)
    # Maximal: every vertex is within two edges of some vertex whose ring is whole.
    reach = near[:, np.concatenate(roots)].sum(axis=1)
    assert (np.asarray(reach).ravel() > 0).all()


def test_the_prolongator_keeps_vectors_in_the_null_space():
    a = grid(40, 40)
    a.setdiag(0)
    a = sp.csr_matrix(a - sp.diags(np.asarray(a.sum(axis=1)).ravel()))  # pure Neumann
    m = ps.linalg.AMG(a, max_coarse=100)
    p = m._prolongator(0).to_scipy()
    sizes = np.bincount(m._hierarchy.aggregates(0))
    assert np.allclose(p @ np.sqrt(sizes), 1, atol=1e-12)
    b = np.random.default_rng(0).standard_normal(1600)
    _, info = ps.linalg.cg(a, b - b.mean(), rtol=1e-8, M=m)
    assert info == 0 and info.iterations <= 25


@pytest.mark.parametrize("precision", [None, "float32"])
def test_the_same_bits_for_any_number_of_threads(precision):
    a = grid(40, 40, 40)
    r = np.random.default_rng(3).standard_normal(a.shape[0])
    before, results = ps.num_threads(), []
    try:
        for threads in (1, 2, 4):
            ps.set_num_threads(threads)
            m = ps.linalg.AMG(a, precision=precision)
            results.append(np.concatenate([m._matrix(1).to_scipy().data, m @ r]))
    finally:
        ps.set_num_threads(before)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_rigid_body_modes_help_elasticity():
    a, x = plane_stress(60)
    b = np.random.default_rng(0).standard_normal(a.shape[0])
    modes = ps.linalg.rigid_body_modes(x)
    found = {}
    for name, m in {
        "modes": ps.linalg.AMG(a, modes, block_size=2),
        "blocks": ps.linalg.AMG(a, block_size=2),
        "jacobi": "jacobi",
    }.items():
        solution, info = ps.linalg.cg(a, b, rtol=1e-8, M=m)
        assert info == 0 and np.linalg.norm(a @ solution - b) <= 1.1e-8 * np.linalg.norm(b)
        found[name] = info.iterations
    assert found["modes"] <= found["blocks"]
    assert found["modes"] <= found["jacobi"] / 3


def test_rigid_body_modes_cost_no_energy_in_space():
    x = np.random.default_rng(0).standard_normal((9, 3))
    modes = ps.linalg.rigid_body_modes(x).reshape(9, 3, 6)
    assert np.linalg.matrix_rank(modes.reshape(27, 6)) == 6
    along = x[:, None] - x[None]
    moved = modes[:, None] - modes[None]
    assert np.abs(np.einsum("abi,abik->abk", along, moved)).max() <= 1e-12


@pytest.mark.parametrize("method", ["cg", "pipecg", "bicgstab", "gmres"])
def test_by_name_in_every_solver(method):
    a = grid(40, 40)
    x, info = getattr(ps.linalg, method)(a, np.ones(1600), rtol=1e-8, M="amg")
    assert info == 0 and np.linalg.norm(a @ x - 1) <= 1.1e-8 * 40 and info.iterations <= 25


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_scale_does_not_matter_in_float32(size):
    a = sp.csr_matrix(size * grid(60, 60))
    b = np.full(3600, 1e-40)
    _, info = ps.linalg.cg(a, b, rtol=1e-8, M=ps.linalg.AMG(a, precision="float32"))
    assert info == 0 and info.iterations <= 20


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_matrices_without_connections(rows):
    a = sp.csr_matrix(sp.diags(np.arange(1.0, rows + 1)))
    x, info = ps.linalg.cg(a, np.ones(rows), rtol=1e-8, M="amg")
    assert info == 0 and np.allclose(x, 1 / np.arange(1.0, rows + 1), rtol=1e-6)


def test_entries_in_any_order_and_twice():
    a = grid(30, 30).tocoo()
    order = np.random.default_rng(0).permutation(2 * a.nnz) % a.nnz
    twice = ps.csr_array((a.data[order] / 2, (a.row[order], a.col[order])), shape=a.shape)
    x, info = ps.linalg.cg(twice, np.ones(900), rtol=1e-8, M="amg")
    assert info == 0 and np.linalg.norm(a @ x - 1) <= 1e-6


def test_what_is_refused():
    a = grid(30, 30)
    empty = a.tolil()
    empty[5, :] = 0
    empty[:, 5] = 0
    wrong = a.copy()
    wrong.data[7] = np.nan
    for matrix, word in [
        (empty.tocsr(), "row 5"),
        (wrong, "NaN|not a positive number"),
        (a + 0.5 * sp.diags([1.0], [1], shape=a.shape), "not symmetric"),
        (a - 0.5 * sp.eye(900), "not positive definite"),
        (a[:10], "square"),
    ]:
        with pytest.raises(ValueError, match=word):
            ps.linalg.AMG(sp.csr_matrix(matrix))
    for how in ({"near_nullspace": np.ones(7)}, {"block_size": 7}, {"smoother": "sor"}, {"cycle": "F"},
                {"strength": 2}, {"degree": 0}, {"precision": "half"},
                {"near_nullspace": np.full(900, np.nan)}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(how))):
            ps.linalg.AMG(a, **how)


def test_repr_and_complexities():
    m = ps.linalg.AMG(grid(30, 30, 30))
    assert m.levels[0] == (27000, m._matrix(0).nnz)
    assert 1 < m.grid_complexity < m.operator_complexity < 2
    assert "27000 > " in repr(m) and "operator complexity" in repr(m)
