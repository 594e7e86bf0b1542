"""Multigrid with a finest matrix that travels, with the CPU as the device: against the same matrix in its memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from multigrid_support import MATRICES, grid, plane_stress
from penstock.linalg import multigrid
from penstock.linalg._amg import finest
from solve_support import residual

import penstock as ps
from penstock import _core


class Plan:
    """As `_plan/streaming` keeps one, on the CPU as a device."""

    def __init__(self, a: ps.csr_array, entry: int) -> None:
        self.core = _core.stream_plan(
            a._core, [-1], block_bytes=20_000, entry_bytes=entry, keep=False
        )
        self.facts = self.core.facts() | {"device_bytes": [1000]}
        self.foretold = {"device": None}


@pytest.fixture
def pinned(monkeypatch):
    """Matrices count as pinned, and have such plans."""
    monkeypatch.setattr(finest, "pinned_plan", lambda a, entry: Plan(a, entry))
    monkeypatch.setattr(finest, "plan_like", lambda a, plan, entry, products: Plan(a, entry))
    monkeypatch.setattr(ps.csr_array, "to", lambda a, place: a)


def resident(monkeypatch: Any, a: Any, **how: Any) -> ps.linalg.AMG:
    with monkeypatch.context() as m:
        m.setattr(finest, "pinned_plan", lambda a, entry: None)
        m.setattr(multigrid, "gpu_of", lambda a: -1)
        return ps.linalg.AMG(a, **how)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(
    "how", [{}, {"degree": 1, "cycle": "W"}, {"cycle": "K"}, {"precision": "float32"}], ids=str
)
def test_levels_and_m_are_those_of_a_resident_matrix(monkeypatch, pinned, name, how):
    a = MATRICES[name]()
    m = ps.linalg.AMG(a, max_coarse=40, **how)
    whole = resident(monkeypatch, a, max_coarse=40, **how)
    assert m.gpu == -1 and m._finest is not None and whole._finest is None
    assert m.levels == whole.levels
    near = 1e-4 if "precision" in how else 1e-10
    for level in range(len(m.levels) - 1):
        p, q = (one._prolongator(level).to_scipy() for one in (m, whole))
        assert abs(p - q).max() <= near * abs(q).max()
    x = np.random.default_rng(5).standard_normal(a.shape[0])
    z = whole @ x
    np.testing.assert_allclose(
        m @ x, z, atol=(1e-3 if "precision" in how else 1e-8) * np.abs(z).max()
    )


def test_blocks_and_vectors_of_the_near_nullspace(monkeypatch, pinned):
    a, points = plane_stress(40)
    for how in (
        {"block_size": 2},
        {"near_nullspace": ps.linalg.rigid_body_modes(points), "block_size": 2},
        {"max_levels": 1, "smoother": "l1_jacobi"},
        {"max_levels": 1, "max_coarse": 10},
    ):
        m, whole = ps.linalg.AMG(a, **how), resident(monkeypatch, a, **how)
        assert m.levels == whole.levels and (len(m.levels) > 1) == ("block_size" in how)
        x = np.random.default_rng(6).standard_normal(a.shape[0])
        z = whole @ x
        np.testing.assert_allclose(m @ x, z, atol=1e-8 * np.abs(z).max())
    steps = m._hierarchy.finest_steps
    assert m.explain().products == (0 if m._hierarchy.factored else steps - 1)


@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
def test_float32_levels_of_any_size(pinned, scale):
    a = grid(40, 41) * scale
    b = np.random.default_rng(6).standard_normal(1640)
    x, info = ps.linalg.cg(a, b, rtol=1e-9, M=ps.linalg.AMG(a, precision="float32"))
    assert info == 0 and info.iterations < 20
    assert residual(a, x, b) <= 1.01e-9


def test_explanation(pinned):
    a = grid(60, 61)
    m = ps.linalg.AMG(a, degree=3)
    told = m.explain()
    assert told.products == 6
    assert told.link_bytes == 6 * m._finest.plan.facts["streamed_bytes"] > 6 * 12 * a.nnz
    assert told.device_bytes == m._hierarchy.device_bytes > 0
    rest = (
        m.nbytes - 6 * a.nnz * 12 - 6 * 8 * (a.shape[0] + 1)
    )  # of a cycle, in the device's memory
    assert told.cycle_bytes == rest + 6 * m._finest.plan.facts["streamed_bytes"]
    assert "6 products a cycle" in str(told)
    single = ps.linalg.AMG(grid(9, 9)).explain()  # one level, which is factored
    assert (single.products, single.link_bytes) == (0, 0)
    assert "streamed" not in str(single)


def test_a_solver_foretells_the_link(pinned, monkeypatch):
    second = type("Foretold", (), {"seconds": 1.0})
    monkeypatch.setattr(Plan, "__init__", foretelling(Plan.__init__, second))
    told = ps.linalg.Solver(ps.csr_array(grid(60, 61)), "cg", "amg").explain()
    assert 4.0 < told.seconds < 4.5  # two steps of the smoother: four products
    assert 18.0 < told.setup_seconds < 18.5
    told = ps.linalg.Solver(ps.csr_array(grid(60, 61)), "cg", "jacobi").explain()
    assert told.seconds < 0.5 > told.setup_seconds


def foretelling(made: Any, second: Any) -> Any:
    def init(self: Plan, *of: Any) -> None:
        made(self, *of)
        self.foretold = {"device": second}

    return init


def test_memory_is_counted(pinned):
    a = grid(60, 61)
    m = ps.linalg.AMG(a)
    plans = sum(m._finest.plan.facts["device_bytes"])
    need = plans + m._hierarchy.device_bytes
    with ps.options(device_memory=need):
        ps.linalg.AMG(a)
    for less in (need - 1, plans, plans // 2):
        with (
            ps.options(device_memory=less),
            pytest.raises(MemoryError, match="keep=False.*A.release"),
        ):
            ps.linalg.AMG(a)


def test_new_values(monkeypatch, pinned):
    a = grid(60, 61)
    m = ps.linalg.AMG(a)
    m.update(3 * a)
    x = np.random.default_rng(7).standard_normal(a.shape[0])
    np.testing.assert_allclose(m @ x, resident(monkeypatch, 3 * a) @ x, atol=1e-8)
    made = []
    monkeypatch.setattr(finest, "pinned_plan", lambda a, entry: None)
    with pytest.raises(ValueError, match="plan"):
        m.update(a)
    host = ps.linalg.AMG(a)
    monkeypatch.setattr(
        finest, "pinned_plan", lambda a, entry: made.append(entry) or Plan(a, entry)
    )
    host.update(2 * a)  # levels of the CPU stay with it
    assert host.gpu is None and not made


def test_what_the_cpu_keeps(pinned):
    a = grid(30, 31)
    assert ps.linalg.AMG(a, symmetry="nonsymmetric").gpu is None


def test_a_plan_in_which_the_cpu_takes_part_is_none(monkeypatch):
    a = ps.csr_array(grid(20, 21))
    plan = Plan(a, 8)
    monkeypatch.setattr(finest, "plan_for_gpus", lambda a, entry: plan)
    monkeypatch.setattr(type(a), "place", "pinned")
    assert finest.pinned_plan(a, 8) is None
    plan.facts["gpus"] = [0]
    assert finest.pinned_plan(a, 8) is plan
