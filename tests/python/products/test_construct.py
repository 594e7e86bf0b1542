"""ps.eye_array, ps.diags, ps.vstack and so on, against SciPy's functions of the same names."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from penstock._matrix import construct

import penstock as ps


def of(rows, cols, seed, dtype=np.float64):
    """The same in three forms: SciPy's, ours, ours as a transpose."""
    s = sp.random_array((rows, cols), density=0.4, format="csr", rng=seed).astype(dtype)
    return s, ps.csr_array(s), ps.csr_array(s.T.tocsr()).T


def same(mine, theirs):
    assert type(mine) is ps.csr_array
    assert mine.shape == theirs.shape
    assert mine.dtype == (theirs.dtype if theirs.dtype.kind in "bfc" else np.float64)
    assert_array_equal(mine.toarray(), theirs.toarray())


@pytest.mark.parametrize("name", [n for n in construct.__all__ if n not in ("find", "issparse")])
def test_parameters_are_those_of_scipy(name):
    mine = list(inspect.signature(getattr(ps, name)).parameters)
    theirs = list(inspect.signature(getattr(sp, name)).parameters)
    # SciPy's decorator hides what random_array takes; its old name for rng is not ours.
    assert mine == [p for p in theirs if p not in ("random_state", "args", "kwargs")]


def test_ones_and_diagonals():
    same(ps.eye_array(3), sp.eye_array(3))
    same(ps.eye_array(3, 5, k=-1, dtype=np.float32), sp.eye_array(3, 5, k=-1, dtype=np.float32))
    same(ps.eye_array(2, dtype=bool), sp.eye_array(2, dtype=bool))
    same(ps.eye(4, 3, 1), sp.eye_array(4, 3, k=1))
    same(ps.identity(3, dtype=int), sp.eye_array(3, dtype=int))
    same(ps.eye_array(0), sp.eye_array(0))
    d = [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])]
    same(ps.diags_array(d, offsets=[0, 1]), sp.diags_array(d, offsets=[0, 1]))
    same(ps.diags(d, [0, -1], (3, 3)), sp.diags_array(d, offsets=[0, -1], shape=(3, 3)))
    same(
        ps.diags([1, -2, 1], [-1, 0, 1], (4, 4)),
        sp.diags_array([1.0, -2, 1], offsets=[-1, 0, 1], shape=(4, 4)),
    )
    same(ps.diags_array([1j, 2]), sp.diags_array([1j, 2]))
    same(ps.diags_array([1, 2], dtype=np.float32), sp.diags_array([1, 2], dtype=np.float32))


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 2**16),
    st.sampled_from(["f4", "f8", "c8", "c16", "?"]),
)
@settings(deadline=None, max_examples=60)
def test_blocks_and_products(rows, cols, seed, dtype):
    s, a, at = of(rows, cols, seed, dtype)
    t, b, bt = of(rows, cols, seed + 1, "f8")
    x = t.toarray()
    same(ps.vstack([a, bt, x]), sp.vstack([s, t, sp.csr_array(x)]))
    same(ps.hstack((at, b, t.tocoo())), sp.hstack([s, t, t]))
    same(ps.block_array([[a, None], [b, at]]), sp.block_array([[s, None], [t, s]]))
    same(ps.block_diag([a, x, bt, [[1.0, 2.0]]]), sp.block_diag([s, x, t, [[1.0, 2.0]]]))
    same(ps.kron(at, b), sp.kron(s, t))
    same(ps.kron(x, a), sp.kron(sp.csr_array(x), s))
    if rows == cols:
        same(ps.kronsum(a, bt), sp.kronsum(s, t))
    for mine, theirs in zip(ps.find(at), sp.find(s.T.tocsr().T), strict=True):
        assert_array_equal(np.sort(mine), np.sort(theirs))


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.coo_matrix])
def test_what_is_made_of_scipys_arrays_is_not_theirs(make):
    """SciPy's arrays may be written later."""
    for call in (
        lambda s: ps.vstack([s]),
        lambda s: ps.hstack([s]),
        lambda s: ps.block_array([[s]]),
        lambda s: ps.block_diag([s]),
        lambda s: ps.kron([[1.0]], s),
    ):
        s = make(np.array([[1.0, 2.0], [0.0, 3.0]]))
        a = call(s)
        s.data[:] = 9
        assert_array_equal(a.toarray(), [[1, 2], [0, 3]])


def test_random_matrices_are_scipys():
    how = dict(density=0.1, rng=7)
    same(ps.random_array((30, 20), **how), sp.random_array((30, 20), **how))
    same(
        ps.random_array(
            (5, 5), density=0.5, rng=1, dtype=np.float32, data_sampler=lambda size: np.ones(size)
        ),
        sp.random_array(
            (5, 5), density=0.5, rng=1, dtype=np.float32, data_sampler=lambda size: np.ones(size)
        ),
    )
    with pytest.raises(ValueError, match="two integers"):
        ps.random_array((3, 3, 3))


def test_find_adds_up_duplicates():
    a = ps.csr_array(([1.0, 2.0, 0.0, 3.0, -3.0], [1, 1, 0, 2, 2], [0, 2, 5]), shape=(2, 3))
    rows, cols, values = ps.find(a)
    assert (rows.tolist(), cols.tolist(), values.tolist()) == ([0], [1], [3.0])
    assert [part.tolist() for part in ps.find(a.T)] == [[1], [0], [3.0]]
    assert [part.tolist() for part in ps.find(np.array([[0, 2.0]]))] == [[0], [1], [2.0]]


def test_faults_are_named():
    with pytest.raises(ValueError, match=r"eye_array\(format='csc'\): .*use .tocsc\(\) of it"):
        ps.eye_array(3, format="csc")
    with pytest.raises(ValueError, match="incompatible dimensions"):
        ps.vstack([ps.eye_array(2), ps.eye_array(3)])
    for stack in (ps.hstack, ps.vstack):
        with pytest.raises(ValueError, match="at least one matrix"):
            stack([])
    with pytest.raises(TypeError):
        ps.eye_array(3, dtype="longdouble")


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf, 2])
@pytest.mark.parametrize("dtype", ["?", "f4", "f8", "c16"])
def test_norms(order, dtype):
    s, a, at = of(9, 6, 3, dtype)
    x = s.toarray().astype(float if dtype == "?" else dtype)
    for mine in (a, at, a.T):
        wanted = np.linalg.norm(x.T if mine.shape == (6, 9) else x, order)
        assert_allclose(ps.linalg.norm(mine, order), wanted, rtol=1e-5)
    if order not in ("fro", -np.inf, -1):
        assert_allclose(
            ps.linalg.norm(a, order, axis=1), np.linalg.norm(x, order, axis=1), rtol=1e-5
        )


def test_norms_add_up_duplicates_and_name_faults():
    a = ps.csr_array(([3.0, 1.0, -5.0], [0, 0, 1], [0, 3]), shape=(1, 2))
    assert ps.linalg.norm(a, 1) == 5 and ps.linalg.norm(a, np.inf) == 9
    assert_allclose(ps.linalg.norm(a), np.sqrt(41))
    assert ps.linalg.norm(sp.csr_array([[3.0, 4.0]])) == 5
    with pytest.raises(TypeError, match="numpy.linalg.norm"):
        ps.linalg.norm(np.eye(2))
    with pytest.raises((ValueError, NotImplementedError)):
        ps.linalg.norm(a, "nuc")
