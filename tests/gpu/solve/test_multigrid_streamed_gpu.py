"""Multigrid whose finest matrix exceeds the GPU's budget: levels, cycles and solves against a resident matrix's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

pytestmark = pytest.mark.gpu

BUDGET = 20 << 20


def box(n: int) -> sp.csr_array:
    """Each point of a cube against its 26 neighbours, held at the boundary."""
    line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    around = sp.kron(sp.kron(line, line, "csr"), line, "csr")
    return sp.csr_array(27 * sp.eye_array(n**3, format="csr") - around)


@pytest.fixture(scope="module")
def matrix():
    return box(44)  # 85,184 rows, 27 MB


@pytest.fixture
def streamed(matrix):
    """In pinned memory, with a plan that keeps nothing, within a budget that its entries exceed."""
    with ps.options(device_memory=BUDGET):
        a = ps.csr_array(matrix).to(ps.pinned)
        assert a.nbytes > 1.2 * BUDGET
        a.prepare(schedule=ps.Streamed(device=0, keep=False))
        yield a


def near(x, y, rtol):
    np.testing.assert_allclose(x, y, atol=rtol * np.abs(y).max())


@pytest.mark.parametrize(
    "how",
    [{}, {"degree": 1, "cycle": "W"}, {"cycle": "K"}, {"smoother": "l1_jacobi", "degree": 3}],
    ids=str,
)
def test_levels_and_m_are_those_of_a_resident_matrix(matrix, streamed, how):
    m = ps.linalg.AMG(streamed, **how)
    with ps.options(device_memory=None):
        whole = ps.linalg.AMG(ps.csr_array(matrix).to(ps.device(0)), **how)
    assert m.gpu == 0
    assert m.levels == whole.levels
    x = np.random.default_rng(1).standard_normal(matrix.shape[0])
    near(m @ x, whole @ x, 1e-9)
    told = m.explain()
    assert told.products == 2 * how.get("degree", 2)
    assert told.link_bytes == told.products * m._finest.plan.facts["streamed_bytes"] > 0
    assert told.seconds > 0
    assert 0 < told.device_bytes < BUDGET


@pytest.mark.parametrize("method", ["cg", "gmres"])
@pytest.mark.parametrize("precision", [None, "float32"])
def test_solves(matrix, streamed, method, precision):
    b = np.random.default_rng(2).standard_normal(matrix.shape[0])
    m = ps.linalg.AMG(streamed, precision=precision)
    x, info = getattr(ps.linalg, method)(streamed, b, rtol=1e-9, M=m)
    host = ps.linalg.AMG(ps.csr_array(matrix), precision=precision)
    _, expected = getattr(ps.linalg, method)(ps.csr_array(matrix), b, rtol=1e-9, M=host)
    assert info == 0 == expected, info.reason
    assert info.vectors == "gpu 0"
    assert abs(info.iterations - expected.iterations) <= 1
    assert np.linalg.norm(b - matrix @ x) <= 1.01e-9 * np.linalg.norm(b)


def test_by_name_and_with_new_values(matrix, streamed):
    b = np.ones(matrix.shape[0])
    x, info = ps.linalg.cg(streamed, b, rtol=1e-8, M="amg")
    assert info == 0 and info.vectors == "gpu 0"
    near(matrix @ x, b, 1e-6)
    m = ps.linalg.AMG(streamed)
    other = ps.csr_array(3 * matrix).to(ps.pinned)
    m.update(other)  # which gets a plan like the first one's
    near(m @ b, ps.linalg.AMG(ps.csr_array(3 * matrix)) @ b, 1e-8)


def test_what_does_not_fit_is_refused(streamed):
    with ps.options(device_memory=6 << 20):
        streamed.prepare(schedule=ps.Streamed(device=0, keep=False))
        with pytest.raises(MemoryError, match="precision='float32'"):
            ps.linalg.AMG(streamed)


@pytest.mark.gpu_small
def test_a_small_one():
    a = ps.generate.laplacian((24, 25)).to(ps.pinned)
    a.prepare(schedule=ps.Streamed(device=0, keep=False))
    m = ps.linalg.AMG(a, max_coarse=40)
    x = np.random.default_rng(3).standard_normal(600)
    near(m @ x, ps.linalg.AMG(ps.generate.laplacian((24, 25)), max_coarse=40) @ x, 1e-10)


def test_other_matrices_are_the_cpus(streamed):
    shared = ps.generate.laplacian((24, 25)).to(ps.pinned)
    shared.prepare(schedule=ps.Streamed(device=0, keep=False, cpu=True))
    assert ps.linalg.AMG(shared).gpu is None
    assert ps.linalg.AMG(streamed, symmetry="nonsymmetric").gpu is None
