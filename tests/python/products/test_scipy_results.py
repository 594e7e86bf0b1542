"""What a csr_array returns, beside what SciPy returns: values, types of values, order, and kinds of errors."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import penstock as ps

S = sp.csr_array(np.array([[1, 0, 2], [0, 3, 0]], np.float32))
A = ps.csr_array(S)
C = sp.csr_array(np.array([[1 + 1j, 0, np.inf + 1j], [0, 3, 0]], np.complex64))


def of(made):
    """The kind of a result, its type and its entries."""
    if not hasattr(made, "toarray"):
        return "dense", made.dtype, np.asarray(made)
    return "sparse", made.dtype, made.toarray()


def same(function, s=S):
    """function(ours) is what function(SciPy's) is, errors included."""
    with np.errstate(all="ignore"):
        try:
            kind, dtype, entries = of(function(s))
        except Exception as error:
            with pytest.raises(type(error)):
                function(ps.csr_array(s))
            return
        got = of(function(ps.csr_array(s)))
    assert got[:2] == (kind, dtype)
    np.testing.assert_array_equal(got[2], entries)


def multiplied(a, factor):
    a *= factor
    return a


def divided(a, divisor):
    a /= divisor
    return a


@pytest.mark.parametrize(
    "divisor",
    [2, 2.5, 0, 0.0, False, np.float32(2), np.int8(3), np.float64(0.5), np.array(4.0), 2j],
    ids=str,
)
def test_quotients_have_scipys_types(divisor):
    for s in (S, S.astype(np.float64), C):
        same(lambda a: a / divisor, s)


@pytest.mark.parametrize("factor", [2, 1.5, np.float64(2), np.int64(2), 1j], ids=str)
def test_updates_keep_the_type(factor):
    same(lambda a: multiplied(a.copy(), factor))
    same(lambda a: divided(a.copy(), factor))
    same(lambda a: multiplied(a.copy(), factor), C)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.float32, np.float64])
def test_dense_factors_have_scipys_types(dtype):
    for s in (S, S.astype(np.float64), C):
        same(lambda a: a * np.ones((2, 3), dtype), s)


@pytest.mark.parametrize("number", [0, 0.0, np.float32(0), np.float64(0), -1], ids=str)
def test_larger_and_smaller_entries_have_scipys_types(number):
    same(lambda a: a.maximum(number))
    same(lambda a: a.minimum(-number))


def test_nan_and_infinity_times_nothing_is_nan():
    X = sp.csr_array(np.array([[np.nan, 0, np.inf, 2, 3]]))
    B = sp.csr_array(np.array([[0, 0, 0, 4.0, 0]]))
    same(lambda a: a * (B if sp.issparse(a) else ps.csr_array(B)), X)
    same(lambda a: (B if sp.issparse(a) else ps.csr_array(B)) * a, X)


def test_infinite_complex_entries():
    same(lambda a: -a, C)
    same(lambda a: a.sum(axis=1), C)
    np.testing.assert_array_equal(
        ps.csr_array(C).sum(axis=0), C.toarray().sum(axis=0)
    )  # SciPy: inf+nanj


@pytest.mark.parametrize(
    "key",
    [np.s_[(0, 1), 1::2], np.s_[range(2), 0:3:2], np.s_[()], np.s_[(1,)], np.s_[True, False, True]],
    ids=str,
)
def test_tuples_and_ranges_as_keys(key):
    if key == np.s_[(0, 1), 1::2]:  # which SciPy 1.17 gets wrong
        np.testing.assert_array_equal(A[key].toarray(), S.toarray()[[0, 1], 1::2])
    elif key == np.s_[range(2), 0:3:2]:
        np.testing.assert_array_equal(A[key].toarray(), S.toarray()[:2, ::2])
    else:
        same(lambda a: a[key])


def test_products_with_sparse_vectors_and_ranges():
    same(lambda a: a @ a[0])
    same(lambda a: a[:, 0] @ a)
    same(lambda a: a @ range(3))
    same(lambda a: a * range(3))


@pytest.mark.parametrize("other", [np.array(2.0), np.float64(2), 2], ids=repr)
def test_products_of_matrices_take_no_number(other):
    for a in (A, A.T):
        with pytest.raises(ValueError, match=r"use A \*"):
            a @ other
        with pytest.raises(ValueError, match=r"use A \*"):
            other @ a


def test_a_number_over_a_matrix_is_an_error():
    for value in (1, 2.5, np.ones((2, 3))):
        with pytest.raises(TypeError, match="toarray"):
            value / A


def test_sums_with_lists_and_arrays_of_three_dimensions():
    same(lambda a: a + [1, 2, 3])
    same(lambda a: a + np.ones((4, 2, 3)))
    same(lambda a: np.ones((4, 2, 3)) - a)


def test_entries_of_a_transpose_come_row_by_row():
    for got, expected in zip(A.T.nonzero(), S.T.tocsr().nonzero(), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_functions_of_numpy_that_keep_zero():
    for function in (np.square, np.cbrt, np.fabs):
        np.testing.assert_allclose(function(A).toarray(), function(S.toarray()))
    with pytest.raises(TypeError, match="takes no option"):
        np.sqrt(A, dtype=np.float64)
    with pytest.raises(TypeError, match=r"np.logical_or.reduce\(A.data\)"):
        np.any(A)


def test_types_and_shapes_that_are_asked_for():
    for make in (
        lambda: ps.diags_array([1.7, 2.2], dtype=int),
        lambda: ps.hstack([A, A], dtype=int),
        lambda: A.power(2, dtype=int),
    ):
        with pytest.raises(TypeError, match="dtype=int64 is not supported"):
            make()
    with pytest.raises(ValueError, match="differs from that of the dense array"):
        ps.csr_array([[1, 2]], shape=(2, 2))
    with pytest.raises(TypeError, match="dtype object: convert it with astype"):
        ps.csr_array(np.array([[1, 2.5]], object))


def test_arguments_that_scipys_functions_have():
    assert ps.hstack([A, None]).shape == (2, 3)
    assert ps.tril(np.ones((2, 2)), format="csr").nnz == 3
    with pytest.raises(ValueError, match="format='csc'"):
        ps.triu(A, format="csc")
    assert ps.diags_array([]).shape == sp.diags_array([]).shape


def test_eigenvalues_alone_have_scipys_order():
    L = sp.csr_array(np.diag(np.arange(1.0, 31)))
    for which in ("SA", "LA", "BE"):
        how = {"k": 4, "which": which, "return_eigenvectors": False}
        expected = scipy.sparse.linalg.eigsh(L, **how)
        np.testing.assert_allclose(ps.linalg.eigsh(ps.csr_array(L), **how), expected, atol=1e-10)
