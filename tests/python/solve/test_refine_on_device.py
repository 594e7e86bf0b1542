"""Refinement by reliable updates, with the CPU as the device: iterations about as in float64, residuals by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import _system, multigrid
from solve_support import residual

import penstock as ps
from penstock import _core


def weighted(edge: int, shift: float) -> sp.csr_array:
    """The Laplacian of a square's grid with random weights, plus shift."""
    rng = np.random.default_rng(2)
    number = np.arange(edge * edge).reshape(edge, edge)
    first = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    second = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    w = rng.uniform(0.5, 1.5, first.size)
    off = sp.coo_array((-w, (first, second)), shape=(edge**2, edge**2)).tocsr()
    off = off + off.T
    return sp.csr_array(off + sp.diags_array(-off.sum(axis=1) + shift))


@pytest.fixture
def device(monkeypatch):
    """Matrices are multiplied on a device. Returns the dtypes of its vectors."""
    asked: list[str] = []

    def there(a: Any, dtype: np.dtype) -> Any:
        asked.append(dtype.name)
        return (
            _core.device_op(a._core, dtype.name)
            if dtype == np.float64 or a.dtype == np.float32
            else None
        )

    monkeypatch.setattr(_system, "device_operator", there)
    return asked


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("inner", ["float32", "bfloat16", "float16"])
def test_iterations_are_about_those_of_float64(device, inner, M):
    S = weighted(60, 0.05)
    b = np.random.default_rng(3).standard_normal(3600)
    _, exact = ps.linalg.cg(S, b, rtol=1e-12, M=M)
    x, info = ps.linalg.refine(S, b, inner=inner, M=M)
    assert info == 0, info.reason
    assert residual(S, x, b) <= 1.01e-12
    assert info.inner_iterations == (info.iterations,)
    most = {"float32": 1.15, "float16": 1.25, "bfloat16": 1.9}[inner]
    assert exact.iterations * 0.9 < info.iterations <= most * exact.iterations


def test_from_a_guess_and_for_zero(device):
    S = weighted(40, 0.05)
    b = np.ones(1600)
    x, _ = ps.linalg.refine(S, b)
    again, info = ps.linalg.refine(S, b, x + 1e-7)
    assert info == 0 and 0 < info.iterations < 80 and residual(S, again, b) <= 1.01e-12
    x, info = ps.linalg.refine(S, 0 * b, np.ones(1600))
    assert info == 0 and not x.any()


def test_products_without_vectors_there_are_not_believed(device, monkeypatch):
    """Of a device whose memory does not hold the vectors: its copy alone would say that it is done."""
    monkeypatch.setattr(_core, "with_exact", lambda low, exact, at: low)
    S = weighted(40, 0.05)
    b = np.random.default_rng(6).standard_normal(1600)
    x, info = ps.linalg.refine(S, b, inner="float16")
    assert info == 0 and residual(S, x, b) <= 1.01e-12 and len(info.inner_iterations) > 1
    assert info.iterations == sum(info.inner_iterations)


def test_what_begins_anew(device):
    """Where M is of the copy, x is asked for, or the copy is too coarse."""
    S = weighted(40, 0.05)
    b = np.ones(1600)
    steps = []
    for how in ({"M": "ic0"}, {"callback": steps.append}, {"solver": "bicgstab"}):
        x, info = ps.linalg.refine(S, b, **how)
        assert info == 0 and len(info.inner_iterations) > 1 and residual(S, x, b) <= 1.01e-12
    assert len(steps) > 1
    hard = np.random.default_rng(4).standard_normal(3600)
    _, info = ps.linalg.refine(weighted(60, 1e-5), hard, inner="bfloat16", maxiter=3000)
    assert info != 0
    assert info.iterations == sum(info.inner_iterations) <= 3000
    _, info = ps.linalg.refine(S, np.random.default_rng(5).standard_normal(1600), maxiter=20)
    assert info == 20 and "maxiter" in info.reason


def test_updates_with_another_preconditioner(monkeypatch):
    """One that lives on the device: an iteration then begins with it, and the updated residual meets it there."""
    S = weighted(60, 0.01)
    a, narrow = ps.csr_array(S), ps.csr_array(S).store_as("float16")
    monkeypatch.setattr(multigrid, "gpu_of", lambda a: -1)
    m = ps.linalg.AMG(a)
    assert m.gpu == -1
    b, x = np.random.default_rng(7).standard_normal(3600), np.zeros(3600)
    op = _core.with_exact(
        _core.device_op(narrow._core, "float64"), _core.device_op(a._core, "float64"), 1e-2
    )
    limits = {"rtol": 1e-12, "atol": 0.0, "maxiter": 200, "restart": 0}
    settings = {**limits, "starts_at_zero": True, "callback": None}
    (told,) = _core.solve_on_device("cg", op, m._native_op, b, x, 1, settings)
    assert told["stop"] == "converged" and residual(S, x, b) <= 1.01e-12
    _, exact = ps.linalg.cg(S, b, rtol=1e-12, M=m)
    assert told["iterations"] <= 1.5 * exact.iterations
    with pytest.raises(ValueError, match="one type"):
        _core.with_exact(op, _core.device_op(ps.csr_array(S[:9])._core, "float64"), 1e-2)
