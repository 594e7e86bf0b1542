"""Names and operators of SciPy and NumPy on a csr_array and its transpose: what they mean there, or an error."""

import collections.abc
import copy
import io
import operator
import pickle

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import penstock as ps

DTYPES = [np.float64, np.float32, np.complex128, bool]


def pair(seed, dtype, shape=(7, 9)):
    """The same matrix twice: with zeros that are stored, duplicates that cancel, and rows out of order."""
    rng = np.random.default_rng(seed)
    n = 30
    row, col = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    values = rng.integers(-2, 3, n).astype(dtype)
    if dtype is bool:
        values[:] = True
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))])
    parts = (values[order], col[order].astype(np.int32), indptr)
    return ps.csr_array(parts, shape=shape), sp.csr_array(parts, shape=shape).copy()


def views():
    a, _ = pair(0, np.float64)
    return [a, a.T]


EACH = pytest.mark.parametrize("a", views(), ids=["csr_array", "transpose"])
OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@EACH
def test_it_is_no_list(a):
    for use in (len, reversed, lambda a: 3.0 in a, lambda a: a in a):
        with pytest.raises(TypeError):
            use(a)
    with pytest.raises(ValueError, match=r"compare \.nnz"):
        bool(a)
    rows = list(a)
    assert len(rows) == a.shape[0] and all(row.shape == a.shape[1:] for row in rows)
    np.testing.assert_array_equal([row.toarray() for row in rows], a.toarray())


@EACH
def test_numpy_makes_no_object_of_it(a):
    for use in (np.asarray, np.array, np.sort, np.ravel, lambda a: np.vstack([a]), np.copy):
        with pytest.raises(TypeError, match=r"\.toarray\(\).*\.to_scipy\(\)"):
            use(a)
    for use in (np.exp, np.std, np.cumsum, lambda a: np.allclose(a, a), lambda a: np.dot(a, a)):
        with pytest.raises(TypeError):
            use(a)
    x = a.toarray()
    for use in (np.argmax, np.max, np.mean, lambda a: dense(np.sin(a)), np.shape, np.ndim):
        np.testing.assert_allclose(use(a), use(x))
    found = a.without_duplicates()
    np.testing.assert_array_equal(np.transpose(np.nonzero(found)), np.transpose(np.nonzero(x)))
    with pytest.raises(TypeError, match=r"\(A != B\)\.nnz == 0"):
        np.array_equal(a, a)
    with pytest.raises(TypeError):
        np.testing.assert_array_equal(a, a)
    with pytest.raises(TypeError, match=r"\.to_scipy\(\)"):
        scipy.io.savemat(io.BytesIO(), {"A": a})


def test_savemat_takes_the_remedy():
    a, s = pair(1, np.float64)
    file = io.BytesIO()
    scipy.io.savemat(file, {"A": a.to_scipy(), "B": a.toarray()})
    held = scipy.io.loadmat(file)
    np.testing.assert_array_equal(held["A"].toarray(), s.toarray())
    np.testing.assert_array_equal(held["B"], s.toarray())


def test_products_with_arrays_of_others_go_on():
    a, s = pair(2, np.float64, (6, 6))
    for left, right in ((s, a), (a, s), (s, a.T), (a.T, s)):
        product = left @ right
        assert isinstance(product, ps.csr_array)
        wanted = (left if left is s else left.to_scipy()) @ (
            right if right is s else right.to_scipy()
        )
        np.testing.assert_array_equal(product.toarray(), wanted.toarray())
    np.testing.assert_array_equal((s + a).toarray(), 2 * s.toarray())
    np.testing.assert_array_equal((s - a).toarray(), 0 * s.toarray())
    np.testing.assert_array_equal(np.ones(6) @ a, np.ones(6) @ s)
    np.testing.assert_array_equal((np.float64(2) * a).toarray(), 2 * s.toarray())
    for found in (s * a, a * s, a.multiply(s)):
        np.testing.assert_array_equal(found.toarray(), s.toarray() ** 2)
    for found in (
        sp.csr_matrix(s) * a,
        sp.csr_matrix(s).T.T * a,
    ):  # whose * is a product of matrices
        np.testing.assert_array_equal(found.toarray(), (s @ s).toarray())
    with pytest.raises(TypeError, match=r"\.to_scipy\(\)"):
        s.multiply(a)  # and never the NotImplemented that S * A takes for an answer


def dense(found):
    return found.toarray() if hasattr(found, "toarray") else found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_comparisons_are_those_of_dense_arrays_or_raise(op, dtype):
    ordered = op not in (operator.eq, operator.ne)
    for seed in range(4):
        (a, s), (b, t) = pair(seed, dtype), pair(seed + 10, dtype)
        x, y = s.toarray(), t.toarray()
        if dtype is not bool:
            x.flat[3] = y.flat[3] = np.inf  # equal, though their difference is no number
            a, b = ps.csr_array(x), ps.csr_array(y)
        if ordered and dtype is np.complex128:
            with pytest.raises(TypeError, match="no order"):
                op(a, b)
            continue
        for left, right, wanted in ((a, b, op(x, y)), (a, a, op(x, x)), (a.T, b.T, op(x.T, y.T))):
            for other in (right, right.to_scipy()):
                if op(0, 0):
                    with pytest.raises(TypeError, match=r"\(A != B\)\.nnz == 0"):
                        op(left, other)
                    continue
                found = op(left, other)
                assert isinstance(found, ps.csr_array) and found.dtype == np.bool_
                np.testing.assert_array_equal(found.toarray(), wanted)
        for number in (0, 1, -1.0, 2.5, np.float32(1), True, np.nan, np.array(2)):
            if op(0, number):
                with pytest.raises(TypeError, match=r"A\.data"):
                    op(a, number)
            else:
                found = op(a, number)
                assert isinstance(found, ps.csr_array)
                np.testing.assert_array_equal(found.toarray(), op(x, number))
        np.testing.assert_array_equal(op(a, y), op(x, y))
        np.testing.assert_array_equal(op(a.T, y.T), op(x.T, y.T))
        np.testing.assert_array_equal(op(y, a), op(y, x))
        np.testing.assert_array_equal(op(a, y.tolist()), op(x, y))


def test_duplicates_are_added_up_before_a_comparison():
    parts = ([1.0, -1.0, 2.0, 2.0], [0, 0, 1, 1], [0, 4])
    a = ps.csr_array(parts, shape=(1, 3))
    np.testing.assert_array_equal((a != 0).toarray(), [[False, True, False]])
    np.testing.assert_array_equal((a == 4).toarray(), [[False, True, False]])
    np.testing.assert_array_equal((a > 1).toarray(), [[False, True, False]])
    # So are they before an absolute value, as in SciPy.
    np.testing.assert_array_equal(abs(a).toarray(), [[0, 4, 0]])


@EACH
def test_other_things_are_something_else(a):
    assert (a == None) is False and (a != None) is True  # noqa: E711
    assert (a == "a") is False
    assert a in [a] and [None, a].index(a) == 1
    with pytest.raises(TypeError):
        a < "a"  # noqa: B015
    with pytest.raises(ValueError, match="the shapes"):
        a != ps.csr_array((3, 3))  # noqa: B015
    with pytest.raises(ValueError, match="truth value"):
        bool(a != a)


@EACH
def test_a_matrix_is_a_key_by_identity(a):
    b = copy.copy(a)
    assert {a: 1, b: 2}[a] == 1 and len({a, b}) == 2
    assert isinstance(a, collections.abc.Hashable)


IN_PLACE = {
    "eliminate_zeros": "without_zeros",
    "sum_duplicates": "without_duplicates",
    "sort_indices": "sorted_indices",
}


@EACH
@pytest.mark.parametrize("name", IN_PLACE)
def test_names_that_change_a_matrix_raise_with_the_new_one(a, name):
    with pytest.raises(AttributeError, match=rf"{name}\(\).*\.{IN_PLACE[name]}\(\)"):
        getattr(a, name)()
    assert not hasattr(a, name) and name not in dir(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_new_names_do_what_the_old_ones_do_in_place(name, dtype):
    for seed in range(5):
        a, s = pair(seed, dtype)
        before = [part.copy() for part in (a.indptr, a.indices, a.data)]
        made = getattr(a, IN_PLACE[name])()
        if name == "eliminate_zeros":
            s.sort_indices()
        getattr(s, name)()
        if dtype is not bool or name != "sort_indices":
            np.testing.assert_array_equal(made.indptr, s.indptr)
            np.testing.assert_array_equal(made.indices, s.indices)
        np.testing.assert_array_equal(made.toarray(), s.toarray())
        after = (a.indptr, a.indices, a.data)
        assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))


@EACH
def test_every_name_of_scipy_is_there_but_those_that_change(a):
    lacking = {n for n in dir(sp.csr_array) if not n.startswith("_") and not hasattr(a, n)}
    assert lacking == {*IN_PLACE, "setdiag", "resize"}
    for name in lacking:
        with pytest.raises(AttributeError, match=r"never changes: use B = A\."):
            getattr(a, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        a.nonsense  # noqa: B018


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_changed_under_a_name_of_scipy(dtype):
    a, _ = pair(3, dtype)
    for name in ("shape", "data", "indices", "indptr", "has_sorted_indices", "dtype", "T"):
        with pytest.raises(AttributeError):
            setattr(a, name, None)
    for part in (a.data, a.indices, a.indptr):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    before = [part.copy() for part in (a.data, a.indices, a.indptr)]
    for change in ("A[0, 0] = 1", "A[0] = 1", "del A[0]", "A // 2", "A % 2", "A | A", "~A"):
        with pytest.raises(TypeError):
            exec(change, {"A": a})
    with pytest.raises(NotImplementedError, match=r"A.toarray\(\)"):
        a + 1
    rows, cols = a[0], a[:, 0]
    for part in (rows, cols, a.tocoo(), a.tocsc(), a.tolil(), a[np.eye(7, 9) > 0], a.sum(axis=0)):
        if hasattr(part, "sum_duplicates"):
            part.sum_duplicates()
            part.data[:] = 0
        elif isinstance(part, np.ndarray):
            part[...] = 0
    for part in (a.tocoo(copy=False), a.T.tocsc()):
        with pytest.raises(ValueError, match="read-only"):
            part.data[:] = 0
    for part in (a.to_scipy(), a.T.to_scipy()):
        if dtype is bool:
            part.data[:] = 0  # made for it: a pattern has no values
        else:
            with pytest.raises(ValueError, match="read-only"):
                part.data[:] = 0
    for part, was in zip((a.data, a.indices, a.indptr), before, strict=True):
        np.testing.assert_array_equal(part, was)


def test_operators_that_rebind_leave_the_matrix():
    a, s = pair(4, np.float64)
    b = a
    b *= 2
    b += a
    np.testing.assert_array_equal(b.toarray(), 3 * s.toarray())
    np.testing.assert_array_equal(a.toarray(), s.toarray())
    for same in (copy.copy(a), copy.deepcopy(a), a.copy(), pickle.loads(pickle.dumps(a))):
        assert (same != a).nnz == 0
    transposed = pickle.loads(pickle.dumps(a.T))
    assert (transposed != a.T).nnz == 0 and (copy.deepcopy(a.T) != a.T).nnz == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_scipys(dtype):
    a, s = pair(5, dtype)
    s.sum_duplicates()
    a = a.without_duplicates()
    for axis in (None, 0, 1, -1, -2):
        np.testing.assert_allclose(a.sum(axis), s.sum(axis), rtol=1e-6)
        np.testing.assert_allclose(np.sum(a, axis=axis), s.sum(axis), rtol=1e-6)
        wide = np.complex128 if dtype is np.complex128 else np.float64
        assert a.sum(axis, dtype=wide).dtype == wide
        if axis is not None:
            out = np.empty(s.shape[1 - axis % 2], wide)
            assert a.sum(axis=axis, dtype=wide, out=out) is out
            np.testing.assert_allclose(out, s.sum(axis), rtol=1e-6)
    if dtype is np.float32:  # added up in the wider type, not cast to it
        many = ps.csr_array(np.full((1, 3), [[2**24, 1, 1]], dtype=np.float32))
        assert many.sum(1, dtype=np.float64)[0] == many.sum(dtype=np.float64) == 2**24 + 2
