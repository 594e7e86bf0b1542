"""Every name of SciPy's csr_array: it does here what it does there, or says what to call."""

import inspect
import operator

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import penstock as ps

DTYPES = ("bool", "float32", "float64", "complex64", "complex128")
UNARY = (
    *("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "rint", "sign"),
    *("expm1", "log1p", "deg2rad", "rad2deg", "floor", "ceil", "trunc", "sqrt"),
)
REFUSED = {"eliminate_zeros", "sort_indices", "sum_duplicates", "setdiag", "resize"}
NAMES = sorted(n for n in dir(sp.csr_array) if not n.startswith("_"))
TINY = np.array([[0.0, 2.0, -3.0], [4.0, 0.0, 0.0]])


@st.composite
def matrices(draw, shape=None, dtypes=DTYPES):
    """A csr_array and SciPy's of the same entries: rows in any order, duplicates, zeros that are stored."""
    rows, cols = shape or (draw(st.integers(0, 6)), draw(st.integers(0, 6)))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    lengths = rng.integers(0, 5, rows) if cols else np.zeros(rows, int)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, max(cols, 1), indptr[-1])
    data = np.ones(indptr[-1], bool) if dtype == np.bool_ else rng.integers(-3, 4, indptr[-1])
    data = data + 1j * rng.integers(-3, 4, indptr[-1]) if dtype.kind == "c" else data
    parts = (data.astype(dtype), indices, indptr)
    s = sp.csr_array(parts, shape=(rows, cols))
    if dtype == np.bool_:  # whose duplicates count once or each, as a method says
        s.sum_duplicates()
    return ps.csr_array(s if dtype == np.bool_ else parts, shape=(rows, cols)), s


def turned(pair):
    """The transposes of both, where SciPy's has rows."""
    return pair[0].T, pair[1].T.tocsr()


def parts_of(a):
    a, _ = a._stored()
    return a, [x.copy() for x in (a.indptr, a.indices, a.data)]


# All names


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("a", [ps.csr_array(TINY), ps.csr_array(TINY.T).T], ids=["A", "A.T"])
def test_a_name_is_there_or_says_what_to_call(name, a):
    if name in REFUSED:
        with pytest.raises(AttributeError, match=r"never changes: use B = A\.\w+\("):
            getattr(a, name)
        return
    getattr(a, name)
    theirs = getattr(sp.csr_array, name)
    if inspect.isfunction(theirs) and name not in ("dot", "multiply", "reshape"):
        mine = list(inspect.signature(getattr(type(a), name)).parameters)
        wanted = [n for n in inspect.signature(theirs).parameters if n not in ("args", "kwargs")]
        assert [n for n in mine if n in wanted] == wanted


@pytest.mark.parametrize("name", sorted(set(dir(sp.csr_matrix)) - set(dir(sp.csr_array))))
def test_what_only_scipys_matrices_have(name):
    if not name.startswith("_"):
        with pytest.raises(AttributeError, match="as SciPy's arrays: use A"):
            getattr(ps.csr_array(TINY), name)


def test_what_a_transpose_has_not():
    a = ps.csr_array(TINY)
    names = [n for n in dir(a) if not n.startswith("_") and n not in dir(a.T)]
    assert {"explain", "prepare", "save", "to"} <= set(names)
    for name in names:
        with pytest.raises(AttributeError, match=rf"use A\.T\.formed\(\)\.{name}$"):
            getattr(a.T, name)


def test_what_dense_arrays_have():
    with pytest.raises(AttributeError, match=r"use A.toarray\(\).flatten"):
        ps.csr_array(TINY).flatten()
    with pytest.raises(AttributeError, match="^'csr_array' object has no attribute 'nonsense'$"):
        ps.csr_array(TINY).nonsense()
    assert not hasattr(ps.csr_array(TINY), "__array_interface__")


# Reductions


@given(matrices(), st.sampled_from([None, 0, 1, -1, -2, (0, 1), (1,)]), st.booleans())
@settings(deadline=None, max_examples=150)
def test_sums_and_means(pair, axis, flip):
    a, s = turned(pair) if flip else pair
    base, before = parts_of(a)
    if isinstance(axis, tuple):  # which SciPy 1.15 does not take
        assert_array_equal(a.sum(axis), s.sum(None if len(axis) == 2 else axis[0]))
        axis = None if len(axis) == 2 else axis[0]
    assert_array_equal(a.sum(axis), s.sum(axis))
    assert np.asarray(a.sum(axis)).dtype == np.asarray(s.sum(axis)).dtype
    wide = np.result_type(a.dtype, np.float64)
    assert_array_equal(a.sum(axis, dtype=wide), s.sum(axis, dtype=wide))
    if 0 not in a.shape:
        assert_allclose(a.mean(axis), s.mean(axis), rtol=1e-6, atol=1e-7)
        assert np.asarray(a.mean(axis)).dtype == np.asarray(s.mean(axis)).dtype
        out = np.empty(np.shape(s.mean(axis)), wide)
        assert a.mean(axis, out=out) is out
        assert_allclose(out, s.mean(axis), rtol=1e-6, atol=1e-7)
    for k in range(-a.shape[0], a.shape[1] + 1):
        if min(a.shape) and -a.shape[0] < k < a.shape[1]:
            assert a.trace(k) == s.trace(k)
        assert_array_equal(a.diagonal(k), s.diagonal(k))
    for mine, was in zip((base.indptr, base.indices, base.data), before, strict=True):
        assert_array_equal(mine, was)


@given(
    matrices(dtypes=DTYPES[:3]),
    st.sampled_from(["max", "min", "nanmax", "nanmin", "argmax", "argmin"]),
    st.sampled_from([None, 0, 1, -1, -2]),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None, max_examples=250)
def test_extremes(pair, name, axis, explicit, flip):
    a, s = turned(pair) if flip else pair
    s.sum_duplicates()
    try:
        wanted = getattr(s, name)(axis=axis, explicit=explicit)
    except ValueError as refused:
        with pytest.raises(ValueError, match=str(refused)[:20]):
            getattr(a, name)(axis=axis, explicit=explicit)
        return
    found = getattr(a, name)(axis=axis, explicit=explicit)
    assert type(found) is type(wanted)
    assert_array_equal(*(x.toarray() if sp.issparse(x) else x for x in (found, wanted)))


@given(matrices(), st.sampled_from([None, 0, 1, -1, -2]), st.booleans())
@settings(deadline=None)
def test_counts(pair, axis, flip):
    a, s = turned(pair) if flip else pair
    s.sum_duplicates()
    assert_array_equal(a.count_nonzero(axis), s.count_nonzero(axis))
    x = np.zeros(a.shape, bool)
    x[a.nonzero()] = True
    assert np.array_equal(x, s.toarray() != 0) or not a.T.has_canonical_format
    assert a.size == a.nnz


def test_nan_is_seen_or_passed_over():
    x = np.array([[np.nan, -1.0], [2.0, 0.0]])
    a = ps.csr_array(x)
    assert np.isnan(a.max()) and a.nanmax() == 2 and a.nanmin() == -1
    assert_array_equal(a.nanmax(axis=0).toarray(), np.nanmax(x, axis=0))


def test_axes_and_outputs_that_are_wrong():
    a = ps.csr_array(TINY)
    for call in (a.sum, a.mean, a.max, a.argmin, a.count_nonzero, a.T.sum):
        with pytest.raises(ValueError, match="axis=2: axis out of range"):
            call(axis=2)
        with pytest.raises(TypeError, match="axis must be an integer"):
            call(axis=1.5)
        with pytest.raises(ValueError, match="one axis, or both"):
            call(axis=(0, 0))
    for call in (a.sum, a.mean):
        with pytest.raises(ValueError, match="output parameter: out has the wrong shape"):
            call(axis=1, out=np.empty((1, 2)))
    with pytest.raises(ValueError, match="out"):
        a.max(axis=0, out=np.empty(3))


# Functions of every entry


@pytest.mark.parametrize("name", UNARY)
@given(pair=matrices(), flip=st.booleans())
@settings(deadline=None, max_examples=12)
def test_functions_of_every_entry(name, pair, flip):
    a, s = turned(pair) if flip else pair
    one = a.dtype.kind == "c" and name in ("rint", "floor", "ceil", "trunc", "deg2rad", "rad2deg")
    x = s.toarray().astype(np.float64 if a.dtype == np.bool_ else a.dtype)
    if one:
        if name == "rint":
            return
        with pytest.raises(TypeError):
            getattr(a, name)()
        return
    with np.errstate(all="ignore"):
        found, wanted = getattr(a, name)(), getattr(np, name)(x)
        assert_array_equal(getattr(np, name)(a).toarray(), found.toarray())
    assert found.shape == a.shape and found.dtype == wanted.dtype
    assert_allclose(found.toarray(), wanted, rtol=1e-5, equal_nan=True)


@given(matrices(), st.booleans())
@settings(deadline=None)
def test_parts_of_complex_numbers_and_powers(pair, flip):
    a, s = turned(pair) if flip else pair
    x = s.toarray()
    for name in ("real", "imag"):
        found = getattr(a, name)
        assert_array_equal(found.toarray(), getattr(x, name))
        assert found.dtype == getattr(x, name).dtype
    for found in (a.conj(), a.conjugate(), a.conj(copy=False)):
        assert_array_equal(found.toarray(), x.conj())
    assert_array_equal(
        round(a * 0.25, 1).toarray(), np.round(s.toarray() * a.dtype.type(1) * 0.25, 1)
    )
    number = x.astype(np.float64) if a.dtype == np.bool_ else x
    for n in (1, 2, np.int8(3), np.array(2)):
        found = a**n
        assert found.dtype == (number**n).dtype
        assert_allclose(found.toarray(), number**n, rtol=1e-6)
    assert (a.power(2, dtype=np.complex128)).dtype == np.complex128


def test_powers_that_are_dense():
    a = ps.csr_array(TINY)
    for call in (lambda: a**0, lambda: a.power(np.eye(2)), lambda: a.power("2")):
        with pytest.raises(NotImplementedError, match=r"A \*\* "):
            call()
    with pytest.raises(ValueError, match="infinite wherever no entry is stored"):
        a**-1
    with pytest.raises(TypeError, match="unsupported operand"):
        a ** "2"


# With other operands


@given(matrices(shape=(4, 3)), matrices(shape=(4, 3)), st.booleans())
@settings(deadline=None, max_examples=80)
def test_dense_operands(pair, other, flip):
    (a, s), (b, t) = (turned(pair), turned(other)) if flip else (pair, other)
    x, y = s.toarray(), t.toarray()
    if a.dtype == np.bool_:
        x = x.astype(float)
    assert_array_equal(a + y, x.astype(a.dtype) + y)
    assert_array_equal(y[0] + a, y[0] + x.astype(a.dtype))
    if not a.dtype == b.dtype == np.bool_:
        assert_array_equal(a - y, x.astype(a.dtype) - y)
        assert_array_equal(y - a, y - x.astype(a.dtype))
    for factor in (y, y[0], y[:1], y[:, :1], np.array(2.0), y[:1, :1]):
        for found in (a * factor, factor * a, a.multiply(factor)):
            assert isinstance(found, ps.csr_array)
            assert_array_equal(found.toarray(), x * factor)
    for factor in (b, t, b[:1], b[:, :1], t[:1]):
        z = factor.toarray()
        assert_array_equal(a.multiply(factor).toarray(), x * z)
        assert_array_equal(b[:1].multiply(a).toarray(), y[:1] * x)
    with np.errstate(all="ignore"):
        known = np.where(y == 0, 1, y)
        assert_allclose((a / known).toarray(), x / known, rtol=1e-5)
    for bad in (np.ones(5), np.ones((3, 5)), ps.csr_array((2, 2))):
        with pytest.raises(ValueError):
            a.multiply(bad)


@given(matrices(shape=(3, 3), dtypes=DTYPES[1:3]), matrices(shape=(3, 3), dtypes=DTYPES[1:3]))
@settings(deadline=None)
def test_maximum_minimum_and_quotients(pair, other):
    (a, s), (b, t) = pair, other
    x, y = s.toarray(), t.toarray()
    for name in ("maximum", "minimum"):
        pick = getattr(np, name)
        for second in (b, t, b.T.formed().T):
            found = getattr(a, name)(second)
            assert isinstance(found, ps.csr_array)
            assert_array_equal(found.toarray(), pick(x, y))
        assert_array_equal(getattr(a, name)(y), pick(x, y))
        free = -2 if name == "maximum" else 2
        for number in (0, free):
            assert_array_equal(getattr(a, name)(number).toarray(), pick(x, number))
        with pytest.raises(TypeError, match="wherever no entry is stored"):
            getattr(a, name)(-free)
    with np.errstate(all="ignore"):
        assert_allclose(a / b, x / y, rtol=1e-6)
        assert_allclose(s / b, x / y, rtol=1e-6)


class Foreign:
    """Answers for itself, on both sides."""

    def answer(self, _other):
        return "foreign"

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = answer
    __matmul__ = __rmatmul__ = __truediv__ = __rtruediv__ = __rpow__ = answer


@pytest.mark.parametrize("op", ["add", "sub", "mul", "matmul", "truediv", "pow"])
def test_foreign_objects_answer_for_themselves(op):
    for a in (ps.csr_array(TINY), ps.csr_array(TINY).T):
        assert getattr(operator, op)(a, Foreign()) == "foreign"
        if op != "pow":
            assert getattr(operator, op)(Foreign(), a) == "foreign"
        for bad in (None, "x"):
            with pytest.raises(TypeError):
                getattr(operator, op)(a, bad)


def test_one_entry_has_a_truth_value():
    assert ps.csr_array([[2.0]]) and not ps.csr_array([[0.0]]) and not ps.csr_array((1, 1)).T
    with pytest.raises(ValueError, match="ambiguous"):
        bool(ps.csr_array(TINY))


# Other forms


@given(matrices(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_conversions(pair, flip):
    a, s = turned(pair) if flip else pair
    x = s.toarray()
    for form in ("csr", "csc", "coo", "bsr", "lil", "dia", "dok"):
        for found in (a.asformat(form), getattr(a, f"to{form}")(copy=True)):
            assert found.format == form and found.dtype == a.dtype
            assert_array_equal(found.toarray(), x)
            assert isinstance(found, ps.csr_array) == (form == "csr")
    for order in "CF":
        found = a.toarray(order=order)
        assert_array_equal(found, x)
        assert found.flags[f"{order}_CONTIGUOUS"]
        out = np.empty(a.shape, a.dtype, order=order)
        a.todense(out=out)
        assert_array_equal(out, x)
    assert_array_equal(a.asformat("array"), x)
    assert_array_equal(a.copy().toarray(), x)
    assert_array_equal(a.transpose((1, 0)).toarray(), x.T)
    assert a.asformat(None) is a and a.tocsr().asformat("csr") is a.tocsr()
    assert a.check_format() is None and a.prune() is None


@given(matrices(shape=(4, 6)), st.sampled_from("CF"), st.booleans())
@settings(deadline=None, max_examples=40)
def test_shapes(pair, order, flip):
    a, s = turned(pair) if flip else pair
    x = s.toarray()
    for shape in ((3, 8), (24, 1), (-1, 2), (1, -1)):
        found = a.reshape(shape, order=order)
        assert isinstance(found, ps.csr_array)
        assert_array_equal(found.toarray(), x.reshape(shape, order=order))
    assert_array_equal(a.reshape(2, 12).toarray(), x.reshape(2, 12))
    assert a.reshape(a.shape) is a and a.reshape(a.shape, copy=True) is not a
    assert a.reshape(24).shape == (24,)
    for shape in ((2, 3), (9, 2), (3, 11), (0, 0), a.shape):
        wanted = np.zeros(shape, a.dtype)
        rows, cols = np.minimum(shape, a.shape)
        wanted[:rows, :cols] = x[:rows, :cols]
        assert_array_equal(a.resized(shape).toarray(), wanted)
    with pytest.raises(ValueError):
        a.reshape(5, 5)
    for bad in ((-1, 2), (1, 2, 3), 5, (1.5, 2)):
        with pytest.raises(ValueError, match="shape="):
            a.resized(bad)


@given(matrices(), st.integers(-7, 7), st.integers(0, 8), st.booleans())
@settings(deadline=None, max_examples=150)
def test_with_diagonal(pair, k, length, flip):
    a, s = turned(pair) if flip else pair
    s = s.astype(np.result_type(a.dtype, np.float64)).tolil()
    values = np.arange(1.0, length + 1)
    for given_values in (values, 5.0):
        try:
            s.setdiag(given_values, k)
        except ValueError:
            with pytest.raises(ValueError, match=f"k={k} exceeds"):
                a.with_diagonal(given_values, k)
            return
        found = a.with_diagonal(given_values, k)
        if given_values is values:
            assert_array_equal(found.toarray(), s.toarray())
        else:
            assert_array_equal(found.diagonal(k), np.full(len(a.diagonal(k)), 5.0))
    with pytest.raises(ValueError, match="give a number, or one dimension"):
        a.with_diagonal(np.ones((2, 2)))


def test_refused_arguments():
    a = ps.csr_array(TINY)
    for axes in (0, (0, 1), (2, 0)):
        for b in (a, a.T):
            with pytest.raises(ValueError, match="swaps both axes"):
                b.transpose(axes)
    with pytest.raises(ValueError, match="format='xyz' is unknown: choose bsr, coo"):
        a.asformat("xyz")
    with pytest.raises(TypeError, match="casting='safe' does not allow it for float64"):
        a.astype(np.float32, casting="safe")
    assert a.astype(np.float64) is a and a.astype(np.float64, copy=True) is not a
    with pytest.raises(AttributeError):
        a.shape = (3, 2)


# Text


def test_text():
    a = ps.csr_array(TINY)
    assert str(a).splitlines() == [
        *[repr(a), "  Coords\tValues", "  (0, 1)\t2.0", "  (0, 2)\t-3.0", "  (1, 0)\t4.0"]
    ]
    assert "  (2, 0)\t-3.0" in str(a.T).splitlines()
    big = ps.csr_array(np.ones((10, 20)))
    lines = str(big).splitlines()
    assert big.maxprint == 50 and len(lines) == 53 and lines[-1] == "  (9, 19)\t1.0"
    assert len(str(ps.csr_array(big, maxprint=4)).splitlines()) == 7
    assert str(ps.csr_array((2, 2))) == repr(ps.csr_array((2, 2)))


@given(matrices(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_html(pair, flip):
    a = pair[0].T if flip else pair[0]
    text = a._repr_html_()
    assert f"{a.shape[0]} x {a.shape[1]}" in text and text.count("<tr>") == 5
    assert ("<svg" in text) == (a.nnz > 0)
    if a.nnz:
        x = np.zeros(a.shape, bool)
        x[a.tocoo().coords] = True
        assert text.count("<rect") == x.sum()  # a cell an entry, where there are few


def test_html_of_a_large_matrix_is_small():
    a = ps.generate.laplacian((300, 300))
    text = a._repr_html_()
    assert "90,000 x 90,000" in text and 32 <= text.count("<rect") <= 200 and len(text) < 20_000
