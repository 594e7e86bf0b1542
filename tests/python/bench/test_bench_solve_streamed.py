"""Whole solves of matrices that travel, on toy cubes in host memory: who takes part, and the checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from study_support import program

import penstock as ps


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Without a GPU nothing is prepared or moved."""
    monkeypatch.setattr(ps.csr_array, "prepare", lambda self, *a, **k: None)
    monkeypatch.setattr(ps.csr_array, "to", lambda self, place: self)
    return program("studies.solve_streamed", monkeypatch)


def settings(streamed: Any) -> Any:
    return streamed.harness.Settings(repeats=2, turn_seconds=0.0, warm_turns=False, seconds=5.0)


@pytest.mark.parametrize("shift", [1e-3, 0.3])
def test_refinement(streamed: Any, shift: float) -> None:
    entry = streamed.refine_case(10, shift, settings(streamed))
    short = {"penstock_bfloat16", "penstock_float16"} if shift == 0.3 else set()
    assert set(entry["results"]) == {"cg in float64", "penstock"} | short
    for who, r in entry["results"].items():
        assert r["status"] == "ok", (who, r)
        assert r["iterations"] > 10
    assert entry["best_rival"] == "cg in float64" and entry["ratios"]["penstock"] > 0


def test_multigrid(streamed: Any) -> None:
    entry = streamed.amg_case(12, settings(streamed))
    assert {r["status"] for r in entry["results"].values()} == {"ok"}
    iterations = {who: r["iterations"] for who, r in entry["results"].items()}
    assert iterations["penstock"] < iterations["cg alone"]
    assert iterations["penstock"] == iterations["penstock_on_the_gpu"]


def test_matrices(streamed: Any) -> None:
    a = streamed.weighted_grid(6, 0.5).to_scipy()
    assert abs(a - a.T).max() == 0
    np.testing.assert_allclose(a.sum(axis=1), 0.5)
    assert len(np.unique(a.data)) > a.nnz / 2.5
    dense = streamed.box(5).to_scipy().toarray()
    assert np.linalg.eigvalsh(dense)[0] > 0 and (np.diag(dense) == 26).all()
    assert (dense[62] != 0).sum() == 27
