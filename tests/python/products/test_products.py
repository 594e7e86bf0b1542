"""Products: every semiring and type against a plain loop; out, alpha, beta, shapes, refusals, the trace."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

VALUES = [np.float32, np.float64, np.complex64, np.complex128]
REAL = [np.float32, np.float64]
SEMIRINGS = {  # zero, add, mul
    "plus_times": (0, lambda a, b: a + b, lambda a, b: a * b),
    "min_plus": (np.inf, min, lambda a, b: a + b),
    "max_times": (0, max, lambda a, b: a * b),
    "or_and": (False, lambda a, b: a or b, lambda a, b: bool(a) and bool(b)),
}


def matrix_of(rng, rows, cols, dtype):
    """Unsorted rows, duplicates, explicit zeros, some rows empty; small numbers, so that sums are exact."""
    lengths = rng.integers(0, 6, rows) * (rng.random(rows) < 0.8)
    indptr = np.concatenate([[0], np.cumsum(lengths)]) if cols else np.zeros(rows + 1, np.int64)
    n = int(indptr[-1])
    indices = rng.integers(0, max(cols, 1), n).astype(np.int32)
    return (numbers(rng, n, dtype), indices, indptr)


def numbers(rng, n, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.ones(n, bool)
    v = rng.integers(0, 9, n).astype(dtype)
    return v * dtype.type(1 - 2j) if dtype.kind == "c" else v


def reference(parts, shape, x, semiring, transposed=False):
    """One entry at a time, in Python's numbers."""
    data, indices, indptr = parts
    zero, add, mul = SEMIRINGS[semiring]
    y = [zero] * shape[1 if transposed else 0]
    for i in range(shape[0]):
        for k in range(indptr[i], indptr[i + 1]):
            j = int(indices[k])
            entry = data[k].item() if data.dtype != bool else 1
            to, other = (j, i) if transposed else (i, j)
            y[to] = add(y[to], mul(entry, x[other].item()))
    return np.array(y)


@settings(deadline=None, max_examples=150)
@given(
    rows=st.sampled_from([0, 1, 2, 17, 40]),
    cols=st.sampled_from([0, 1, 3, 23]),
    seed=st.integers(0, 2**32 - 1),
    of_matrix=st.sampled_from([bool, *VALUES]),
    of_x=st.sampled_from([bool, np.int8, np.int64, np.float16, *VALUES]),
    semiring=st.sampled_from(list(SEMIRINGS)),
    transposed=st.booleans(),
)
def test_every_semiring_and_type(rows, cols, seed, of_matrix, of_x, semiring, transposed):
    rng = np.random.default_rng(seed)
    parts = matrix_of(rng, rows, cols, of_matrix)
    A = ps.csr_array(parts, shape=(rows, cols))
    x = numbers(rng, rows if transposed else cols, of_x)
    dtype = np.result_type(
        of_matrix, of_x, np.float32 if of_x == np.float16 and of_matrix is bool else of_x
    )
    dtype = np.dtype(dtype if dtype.kind in "fc" else np.float64)
    call = lambda: (A.T if transposed else A).dot(x, semiring=semiring)  # noqa: E731
    if dtype.kind == "c" and semiring in ("min_plus", "max_times"):
        with pytest.raises(TypeError, match="order"):
            call()
        return
    try:
        y = call()
    except ps.NotCompiledError as error:  # an odd pair of types: refused, and the remedy is astype
        if semiring == "plus_times" or "astype" not in str(error):
            raise
        wider = dtype if semiring != "or_and" else np.float64
        assert of_matrix not in (bool, wider)
        if np.dtype(of_matrix).kind == "c":
            return
        A = A.astype(wider)
        y = call()
    assert y.dtype == (bool if semiring == "or_and" else dtype)
    np.testing.assert_array_equal(y, reference(parts, (rows, cols), x, semiring, transposed))


@pytest.mark.parametrize("of_x", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("of_matrix", [bool, *VALUES])
def test_result_types_are_numpys(of_matrix, of_x):
    A = ps.csr_array(np.eye(3, dtype=of_matrix))
    wanted = np.result_type(of_matrix, of_x)
    assert (A @ np.ones(3, of_x)).dtype == wanted
    assert (np.ones(3, of_x) @ A).dtype == wanted
    assert (A.T @ np.ones((3, 2), of_x)).dtype == wanted


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("k", [None, 0, 1, 3])
def test_out_alpha_beta(semiring, transposed, k):
    rng = np.random.default_rng(5)
    rows, cols = 40, 30
    parts = matrix_of(rng, rows, cols, bool if semiring == "or_and" else float)
    A = ps.csr_array(parts, shape=(rows, cols))
    A, rows, cols = (A.T, cols, rows) if transposed else (A, rows, cols)
    shape = () if k is None else (k,)
    zero, add, mul = SEMIRINGS[semiring]
    boolean = semiring == "or_and"
    kind = bool if boolean else float
    x = rng.integers(0, 2 if boolean else 5, (cols, *shape)).astype(kind)
    old = rng.integers(0, 2 if boolean else 5, (rows, *shape)).astype(kind)
    plain = A.dot(x, semiring=semiring)
    for alpha, beta in [
        (None, None),
        (3, None),
        (None, 2),
        (3, 2),
        (0, 1),
        (np.float32(2), np.int64(1)),
        (5, zero),
    ]:
        y = old.copy()
        if beta is None or beta == zero:
            y[...] = True if boolean else np.nan  # what is not to be read
        got = A.dot(x, out=y, alpha=alpha, beta=beta, semiring=semiring)
        assert got is y
        of_alpha = (
            plain if alpha is None else np.vectorize(lambda s, a=alpha: mul(a, s), [kind])(plain)
        )
        if beta is None or beta == zero:
            wanted = of_alpha
        else:
            pairs = zip(of_alpha.ravel(), old.ravel(), strict=True)
            wanted = np.array([add(mul(beta, o), s) for s, o in pairs], kind).reshape(old.shape)
        np.testing.assert_array_equal(y, wanted)


def test_beta_and_alpha_are_refused_when_wrong():
    A = ps.csr_array(np.eye(3))
    x = np.ones(3)
    with pytest.raises(ValueError, match="without out"):
        A.dot(x, beta=1)
    for name, value in [
        ("alpha", 1j),
        ("alpha", "two"),
        ("beta", [1, 2]),
        ("beta", np.complex64(2)),
    ]:
        with pytest.raises(TypeError, match=name):
            A.dot(x, out=np.zeros(3), **{name: value})
    with pytest.raises(ValueError, match="float32"):
        A.dot(x, out=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"\(4,\)"):
        A.dot(x, out=np.zeros(4))
    with pytest.raises(ValueError, match="list"):
        A.dot(x, out=[0, 0, 0])
    with pytest.raises(ValueError, match="contiguous"):
        A.dot(x, out=np.zeros(6)[::2])
    with pytest.raises(ValueError, match="overlaps"):
        A.dot(x, out=x)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        A.dot(x, out=fixed)


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "read-only", "misaligned"])
@pytest.mark.parametrize("k", [None, 1, 4])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.complex128])
def test_layouts_of_x(order, k, dtype):
    rng = np.random.default_rng(2)
    parts = matrix_of(rng, 20, 30, float)
    A, S = ps.csr_array(parts, shape=(20, 30)), sp.csr_array(parts, shape=(20, 30))
    shape = (30,) if k is None else (30, k)
    x = numbers(rng, int(np.prod(shape)), dtype).reshape(shape)
    if order == "F":
        x = np.asfortranarray(x)
    elif order == "strided":
        x = (
            np.repeat(np.repeat(x, 2, 0), 3, -1)[::2, ...]
            if k is None
            else np.repeat(x, 3, 1)[:, ::3]
        )
        x = x[:30] if k is None else x
    elif order == "reversed":
        x = x[::-1].copy()[::-1]
    elif order == "misaligned":
        raw = np.zeros(x.nbytes + 1, np.uint8)
        raw[1:] = x.ravel().view(np.uint8)
        x = raw[1:].view(dtype).reshape(shape)
    x.flags.writeable = order != "read-only"
    if x.shape != shape:
        x = x[: shape[0]]
    np.testing.assert_array_equal(A @ x, S @ x)
    z = x[:20]
    np.testing.assert_array_equal(A.T @ z, S.T @ z)
    np.testing.assert_array_equal(z.T @ A, z.T @ S)
    np.testing.assert_array_equal(x.T @ A.T, x.T @ S.T)


def test_lists_scalars_and_other_objects():
    A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    np.testing.assert_array_equal(A @ [1, 2], [5, 6])
    np.testing.assert_array_equal([1, 2] @ A, [1, 8])

    class Foreign:
        def __dlpack__(self, **how):
            return np.array([1.0, 2.0]).__dlpack__(**how)

        def __dlpack_device__(self):
            return (1, 0)

    np.testing.assert_array_equal(A @ Foreign(), [5, 6])
    np.testing.assert_array_equal(np.from_dlpack(A @ np.ones(2)), [3, 3])  # and out again
    for other in (A, A.T, A.to_scipy()):
        np.testing.assert_array_equal(A.dot(other).toarray(), A.toarray() @ other.toarray())
        with pytest.raises(TypeError, match="takes a dense B: for a sparse one use spgemm"):
            A.dot(other, alpha=2.0)
        with pytest.raises(TypeError, match="takes a dense B: for a sparse one use spgemm"):
            A.T.dot(other, semiring="min_plus")
        np.testing.assert_array_equal(A.T.dot(other).toarray(), A.toarray().T @ other.toarray())
    np.testing.assert_array_equal(A.dot(3.0).toarray(), 3 * A.toarray())
    for number in (5.0, np.float64(5), 1j):
        with pytest.raises(ValueError, match=r"takes no number, use A \*"):
            A @ number
        with pytest.raises(ValueError, match=r"takes no number, use A \*"):
            number @ A
    for bad in (np.ones(3), np.ones((3, 2)), np.ones((2, 2, 2)), [], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="x has shape"):
            A @ bad
        with pytest.raises(ValueError, match="x has shape"):
            bad @ A if np.ndim(bad) != 2 else np.ones((2, 3)) @ A
    for bad in (
        ["a", "b"],
        np.array([None, None]),
        np.ones(2, np.longdouble),
        np.array(["2020", "2021"], "M8"),
    ):
        with pytest.raises(TypeError):
            A @ bad
    with pytest.raises(ValueError, match="semiring='plus'"):
        A.dot(np.ones(2), semiring="plus")
    with pytest.raises(ValueError, match="algorithm 'fast'.*balanced"):
        A.dot(np.ones(2), algorithm="fast")


def test_trace_counts_bytes_and_tiles():
    rng = np.random.default_rng(0)
    A = ps.csr_array(matrix_of(rng, 300, 200, float), shape=(300, 200))
    x, z = np.ones(200), np.ones(300)
    with ps.record() as outer:
        A @ x
        with ps.record() as inner:
            A.T @ z
            A @ np.ones((200, 3))
        A.dot(x, out=z, beta=1.0)
    assert [t["schedule"] for t in outer] == ["in_core"] * 2 and len(inner) == 2
    first, last = outer
    assert first["kernel_bytes"] == A.nbytes + 8 * 500
    assert last["kernel_bytes"] == A.nbytes + 8 * 800  # y is read as well
    assert inner[0]["kernel"] == "transposed" and inner[1]["kernel"] == "balanced"
    assert inner[1]["kernel_bytes"] == A.nbytes + 3 * 8 * 500  # A is read once for three columns
    for t in outer + inner:
        assert (
            t["seconds"] > 0
            and t["tiles"] == 1
            and t["link_bytes"] == t["copied_bytes"] == t["ring_bytes"] == 0
        )
    A @ x
    assert len(outer) == 2  # nothing is collected outside
