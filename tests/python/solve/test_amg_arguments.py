"""What AMG, rigid_body_modes and refine say of numbers that do not fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penstock as ps

A = ps.generate.laplacian((20, 20))
S = A.to_scipy().astype(np.float64)


@pytest.mark.parametrize("name", ["degree", "max_levels", "block_size"])
def test_counts_beyond_the_cores_integers(name):
    for value in (0, -1, 2**31, 2**40):
        with pytest.raises(ValueError, match=rf"{name}={value}: give 1 \.\. "):
            ps.linalg.AMG(A, **{name: value})


def test_entries_whose_squares_are_out_of_range():
    for scale in (1e-200, 1e200):
        with pytest.raises(ValueError, match="divide A and b by it"):
            ps.linalg.AMG(ps.csr_array(S * scale))
    x, info = ps.linalg.cg(ps.csr_array(S * 1e-100), np.ones(400), M="amg", rtol=1e-8)
    assert info == 0 and np.linalg.norm(S @ (x * 1e-100) - 1) <= 1e-6


def test_too_many_near_nullspace_vectors_are_named():
    vectors = np.random.default_rng(0).standard_normal((2500, 8))
    large = ps.generate.laplacian((50, 50))
    with pytest.warns(RuntimeWarning, match="near_nullspace has 8 vectors"):
        assert len(ps.linalg.AMG(large, vectors).levels) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ps.linalg.AMG(large, vectors[:, :1]).levels) > 1
        ps.linalg.AMG(large, vectors, max_levels=1)


def test_rigid_body_modes_of_bad_coordinates():
    x = np.arange(12.0).reshape(4, 3)
    for bad in (np.nan, np.inf):
        y = x.copy()
        y[2, 1] = bad
        with pytest.raises(ValueError, match=r"coordinates\[2\]"):
            ps.linalg.rigid_body_modes(y)
    with pytest.raises(TypeError, match="complex128: give real numbers"):
        ps.linalg.rigid_body_modes(x + 1j)
    assert ps.linalg.rigid_body_modes(np.zeros((0, 2))).shape == (0, 3)
    assert ps.linalg.rigid_body_modes(np.zeros((0, 3))).shape == (0, 6)
    assert ps.linalg.rigid_body_modes(x).shape == (12, 6)


@pytest.mark.parametrize("inner", ["float32", "bfloat16", "float16"])
def test_refine_says_that_its_copy_underflows(inner):
    b = np.ones(400)
    with pytest.raises(ValueError, match="multiply A and b by|takes for zero"):
        ps.linalg.refine(ps.csr_array(S * 1e-60), b * 1e-60, inner=inner)
    x, info = ps.linalg.refine(ps.csr_array(S), b, inner=inner, rtol=1e-10)
    assert info == 0 and np.linalg.norm(S @ x - b) <= 1e-8


def test_a_zero_near_nullspace_over_ranks():
    def work(comm, vectors):
        D = ps.dist.csr_array(A, comm)
        mine = vectors[np.asarray(D.rows)]
        try:
            M = ps.dist.linalg.AMG(D, mine)
        except ValueError as error:
            return str(error)
        return ps.dist.linalg.cg(D, np.ones(len(D.rows)), M=M)[1].reason

    some = np.zeros((400, 1))
    some[:200] = 1  # zero on the second rank alone
    assert ps.dist.run(work, 2, some) == ["converged"] * 2
    both = np.concatenate([np.ones((400, 1)), np.zeros((400, 1))], axis=1)
    for vectors, column in ((np.zeros((400, 1)), 0), (both, 1)):
        for said in ps.dist.run(work, 2, vectors):
            assert f"near_nullspace[:, {column}] is zero" in said
