"""What an AMG does beside preconditioning: `solve`, `update`, `explain`, and the K cycle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

CYCLES = ("V", "W", "K")


def grid(*shape: int) -> sp.csr_matrix:
    return sp.csr_matrix(ps.generate.laplacian(shape).to_scipy().astype(np.float64))


def weighted(n: int, seed: int) -> sp.csr_matrix:
    """Conductances between 1 and 10 on the edges of a grid: the same pattern for every seed."""
    a = sp.triu(grid(n, n), 1).tocoo()
    w = np.random.default_rng(seed).uniform(1, 10, a.nnz)
    up = sp.coo_matrix((-w, (a.row, a.col)), a.shape)
    both = (up + up.T).tocsr()
    return (both + sp.diags(0.01 - np.asarray(both.sum(axis=1)).ravel())).tocsr()


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("precision", [None, "float32"])
def test_cycles_alone_solve(cycle, precision):
    a = grid(24, 24, 24)
    b = np.random.default_rng(0).standard_normal(a.shape[0])
    m = ps.linalg.AMG(a, cycle=cycle, precision=precision, max_coarse=20)
    x, info = m.solve(b, rtol=1e-9)
    residual = np.linalg.norm(a @ x - b)
    assert info == 0 and info.reason == "converged" and residual <= 1.001e-9 * np.linalg.norm(b)
    assert info.residual == pytest.approx(residual, rel=1e-3)
    assert len(info.residuals) == info.iterations + 1 and info.iterations <= 40
    again, none = m.solve(b, x0=x, rtol=1e-8)
    assert none == 0 and none.iterations == 0 and (again == x).all()


@pytest.mark.parametrize("cycle", ["W", "K"])
def test_more_work_on_coarse_levels_takes_fewer_cycles(cycle):
    a, b = grid(40, 40, 40), np.ones(64000)
    how = {"max_coarse": 20}
    plain = ps.linalg.AMG(a, **how).solve(b, rtol=1e-8)[1].iterations
    assert ps.linalg.AMG(a, cycle=cycle, **how).solve(b, rtol=1e-8)[1].iterations <= plain


def test_a_k_cycle_in_flexible_methods():
    a = weighted(60, 1)
    m = ps.linalg.AMG(a, cycle="K", max_coarse=20)
    b = np.ones(3600)
    x, info = ps.linalg.fgmres(a, b, rtol=1e-9, M=m)
    assert info == 0 and np.linalg.norm(a @ x - b) <= 1.01e-9 * 60 and info.iterations <= 40
    assert (m @ np.zeros(3600) == 0).all()


def test_a_solve_that_ends_early_says_so():
    a = grid(30, 30)
    m = ps.linalg.AMG(a, max_coarse=20)
    x, info = m.solve(np.ones(900), rtol=1e-12, maxiter=2)
    assert info == 2 and info.iterations == 2 and "maxiter: 2 cycles" in info.reason
    assert info.residual == pytest.approx(np.linalg.norm(a @ x - 1), rel=1e-6)
    x, info = m.solve(np.zeros(900))
    assert info == 0 and info.iterations == 0 and not x.any()
    assert m.solve(np.ones((900, 1)))[0].shape == (900,)
    for b, how, word in [
        (np.ones(7), {}, "b has shape"),
        (np.ones(900), {"x0": np.ones(7)}, "x0 has shape"),
        (np.ones(900), {"maxiter": 0}, "maxiter=0"),
        (np.ones(900), {"rtol": -1}, "rtol=-1"),
        (np.full(900, np.nan), {}, "finite"),
    ]:
        with pytest.raises(ValueError, match=word):
            m.solve(b, **how)
    x, info = m.solve(np.ones(900) * 1j, rtol=1e-6)
    assert info == 0 and np.linalg.norm(a @ x - 1j) <= 1.001e-6 * 30


@pytest.mark.parametrize("how", [{}, {"precision": "float32"}, {"block_size": 2, "cycle": "W"}])
def test_update_takes_other_values(how):
    old, new = weighted(50, 1), weighted(50, 2)
    m = ps.linalg.AMG(old, max_coarse=20, **how)
    aggregates = m._hierarchy.aggregates(0).copy()
    m.update(new)
    assert (m._hierarchy.aggregates(0) == aggregates).all()
    a, p, coarse = (s.to_scipy() for s in (m._matrix(0), m._prolongator(0), m._matrix(1)))
    assert abs(p.T @ a @ p - coarse).max() <= (1e-5 if "precision" in how else 1e-12) * abs(a).max()
    b = np.random.default_rng(0).standard_normal(2500)
    x, info = ps.linalg.cg(new, b, rtol=1e-9, M=m)
    fresh = ps.linalg.cg(new, b, rtol=1e-9, M=ps.linalg.AMG(new, max_coarse=20, **how))[1]
    assert info == 0 and np.linalg.norm(new @ x - b) <= 1.01e-9 * np.linalg.norm(b)
    assert info.iterations <= 1.3 * fresh.iterations
    x, info = m.solve(b, rtol=1e-6)
    assert info == 0 and np.linalg.norm(new @ x - b) <= 1.01e-6 * np.linalg.norm(b)


def test_update_with_the_same_values_changes_nothing():
    a, r = weighted(50, 1), np.random.default_rng(0).standard_normal(2500)
    m = ps.linalg.AMG(a, max_coarse=20)
    before = m @ r
    m.update(a)
    assert (m @ r == before).all()
    m.update(4 * a)
    assert np.allclose(4 * (m @ r), before, rtol=1e-12)


def test_update_refuses_what_does_not_fit():
    a = weighted(30, 1)
    m = ps.linalg.AMG(a)
    r = np.ones(900)
    before = m @ r
    other = sp.csr_matrix(grid(30, 30) @ grid(30, 30))
    for matrix, word in [
        (other, "make a new AMG"),
        (grid(31, 31), "make a new AMG"),
        (-a, "not a positive number"),
    ]:
        with pytest.raises(ValueError, match=word):
            m.update(matrix)
    with pytest.raises(TypeError, match="A is complex128, and the AMG's levels are float64"):
        m.update(a.astype(complex))
    assert (m @ r == before).all()


def test_a_solver_updates_its_amg():
    old, new = weighted(40, 1), weighted(40, 2)
    for given in ("amg", ps.linalg.AMG(old)):
        solver = ps.linalg.Solver(ps.csr_array(old), "cg", given, rtol=1e-9)
        solver.update(ps.csr_array(new))
        assert solver.explain().preconditioner == ("amg" if isinstance(given, str) else "AMG")
        x, info = solver(np.ones(1600))
        assert info == 0 and np.linalg.norm(new @ x - 1) <= 1.01e-9 * 40


@pytest.mark.parametrize("cycle", CYCLES)
def test_explain_counts(cycle):
    a = grid(30, 30, 30)
    m = ps.linalg.AMG(a, cycle=cycle, max_coarse=20)
    said = m.explain()
    assert said.levels == tuple(m.levels) and said.levels[0] == (27000, a.nnz) and said.factored
    assert said.operator_complexity == m.operator_complexity and said.cycle_bytes == m.nbytes
    matrices = [m._matrix(level).nbytes for level in range(len(said.levels))]
    transfer = [2 * m._prolongator(level).nbytes for level in range(len(said.levels) - 1)]
    assert said.bytes > sum(matrices) + 0.9 * sum(transfer)
    visits = [1] + [1 if cycle == "V" else 2**k for k in range(1, len(transfer))]
    # Two steps of the smoother on both sides; a second visit begins, and a K cycle's visits end, with a product.
    extra = [0] + [{"V": 0, "W": v // 2, "K": v}[cycle] for v in visits[1:]]
    least = sum((4 * v + e) * b for v, e, b in zip(visits, extra, matrices[:-1], strict=True))
    moved = sum(v * b for v, b in zip(visits, transfer, strict=True))
    assert least < said.cycle_bytes < least + 1.1 * moved + 1e5
    text = str(said)
    assert f"{cycle} cycle" in text and "level 0: 27000 rows" in text and "a cycle reads" in text


def test_the_k_cycle_has_the_same_bits_for_any_number_of_threads():
    a = grid(40, 40, 40)
    r, before, results = np.random.default_rng(3).standard_normal(64000), ps.num_threads(), []
    try:
        for threads in (1, 2, 4):
            ps.set_num_threads(threads)
            results.append(ps.linalg.AMG(a, cycle="K", max_coarse=20) @ r)
    finally:
        ps.set_num_threads(before)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
