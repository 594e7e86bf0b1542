"""Products with several vectors at once: widths, layouts, types, semirings, schedules, bits."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

WIDTHS = [0, 1, 2, 3, 5, 8, 17, 32, 33, 64, 100, 128, 1000]
VALUES = [np.float32, np.float64, np.complex64, np.complex128]


def numbers(rng, shape, dtype):
    """Small integers, so that every order of summation gives the same sum."""
    v = rng.integers(-8, 9, shape).astype(dtype)
    return v * (1 - 2j) if np.dtype(dtype).kind == "c" else v


def matrix(rng, rows, cols, dtype, longest=9):
    """Unsorted rows with duplicates, empty rows, and one row that is far longer than the others."""
    lengths = rng.integers(0, longest, rows) * (rng.random(rows) < 0.8)
    lengths[rows // 2] = 70 * longest
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, cols, indptr[-1]).astype(np.int32)
    data = np.ones(indptr[-1], bool) if dtype is bool else numbers(rng, indptr[-1], dtype)
    return sp.csr_array((data, indices, indptr), shape=(rows, cols))


def ours(S):
    return ps.csr_array((S.data, S.indices, S.indptr), shape=S.shape)


def wide(S, x):
    """SciPy's product, exact: a pattern's duplicates count, which SciPy's bool would not do."""
    return (
        sp.csr_array((S.data.astype(np.result_type(S.data, 1.0)), S.indices, S.indptr), S.shape) @ x
    )


LAYOUTS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "columns of a wider array": lambda x: np.concatenate([x[:, :3], x, x[:, :1]], 1)[
        :, min(3, x.shape[1]) :
    ][:, : x.shape[1]],
    "every third column": lambda x: np.repeat(x, 3, 1)[:, ::3],
    "every second row": lambda x: np.repeat(x, 2, 0)[::2],
    "every second row by columns": lambda x: np.asfortranarray(np.repeat(x, 2, 0))[::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "misaligned": lambda x: _misaligned(x),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": lambda x: _read_only(x),
}


def _misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    return raw[1:].view(x.dtype).reshape(x.shape)


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("of_matrix", [bool, np.float32, np.float64, np.complex128])
def test_widths_and_types(k, of_matrix):
    rng = np.random.default_rng(k)
    S = matrix(rng, 90, 70, of_matrix)
    A = ours(S)
    for of_x in VALUES:
        x, z = numbers(rng, (70, k), of_x), numbers(rng, (90, k), of_x)
        dtype = np.result_type(of_matrix, of_x)
        for got, wanted in (
            (A @ x, wide(S, x)),
            (A.T @ z, wide(S, np.eye(70)).T @ z),
            (z.T @ A, (wide(S, np.eye(70)).T @ z).T),
        ):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [1, 5, 16, 33])
def test_layouts(layout, k):
    rng = np.random.default_rng(3)
    S = matrix(rng, 150, 130, np.float64)
    A = ours(S)
    for dtype in (np.float32, np.float64):
        x = LAYOUTS[layout](numbers(rng, (130, k), dtype))
        z = LAYOUTS[layout](numbers(rng, (150, k), dtype))
        before = x.copy()
        np.testing.assert_array_equal(A @ x, S @ x)
        np.testing.assert_array_equal(A.T @ z, S.T @ z)
        np.testing.assert_array_equal(z.T @ A, z.T @ S)
        np.testing.assert_array_equal(x, before)


OUTS = {
    "C": lambda rows, k: np.empty((rows, k)),
    "F": lambda rows, k: np.empty((rows, k), order="F"),
    "columns of a wider array": lambda rows, k: np.empty((rows, k + 5))[:, 2 : 2 + k],
    "both strides": lambda rows, k: np.empty((rows, 2 * k))[:, ::2],
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("schedule", [None, "streamed"])
def test_out_alpha_beta(out, transposed, schedule):
    rng = np.random.default_rng(4)
    S = matrix(rng, 200, 180, np.float64)
    A = ours(S)
    k, rows = 13, 180 if transposed else 200
    x = numbers(rng, (200 if transposed else 180, k), np.float64)
    how = {} if transposed else {"schedule": ps.Streamed(block=512) if schedule else None}
    plain = (S.T if transposed else S) @ x
    for alpha, beta in itertools.product([None, 0, 3], [None, 0, 1, -2]):
        y = OUTS[out](rows, k)
        around = y.base if y.base is not None else y
        around[...] = np.nan if not beta else 7
        untouched = around.copy()
        got = (A.T if transposed else A).dot(x, out=y, alpha=alpha, beta=beta, **how)
        assert got is y
        wanted = plain * (1 if alpha is None else alpha) + (7 * beta if beta else 0)
        np.testing.assert_array_equal(y, wanted)
        y[...] = untouched.flat[0]
        np.testing.assert_array_equal(around, untouched)  # nothing beside y was written


def test_what_out_may_not_be():
    A = ours(matrix(np.random.default_rng(0), 20, 20, np.float64))
    x = np.ones((20, 4))
    with pytest.raises(ValueError, match="strides"):
        A.dot(x, out=np.empty((20, 4))[::-1])
    with pytest.raises(ValueError, match="strides"):
        A.dot(x, out=_misaligned(np.empty((20, 4))))
    with pytest.raises(ValueError, match="overlaps"):
        A.dot(x, out=x)
    with pytest.raises(ValueError, match=r"\(20, 4\)"):
        A.dot(x, out=np.empty((20, 3)))
    with pytest.raises(ValueError, match="writable"):
        A.dot(x, out=_read_only(np.empty((20, 4))))


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("k", [1, 3, 16, 35])
def test_semirings_match_the_product_with_one_vector(semiring, k):
    rng = np.random.default_rng(5)
    S = abs(matrix(rng, 300, 250, np.float64))
    for A in (ours(S), ours(S).astype(bool)):
        for dtype in (np.float64, np.float32):
            if A.dtype == np.float64 and dtype == np.float32:
                continue
            x = abs(numbers(rng, (250, k), dtype))
            z = abs(numbers(rng, (300, k), dtype))
            for B, v in ((A, x), (A.T, z)):
                for w in (v, np.asfortranarray(v)):
                    got = B.dot(w, semiring=semiring)
                    for j in range(k):
                        np.testing.assert_array_equal(
                            got[:, j], B.dot(v[:, j].copy(), semiring=semiring)
                        )
            got = A.dot(x, semiring=semiring, schedule=ps.Streamed(block=512))
            np.testing.assert_array_equal(got, A.dot(x, semiring=semiring))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_within_the_bound(dtype):
    A = ps.generate.rmat(12, edge_factor=16, undirected=True, seed=1).astype(dtype)
    S = A.to_scipy().astype(np.float64)
    rng = np.random.default_rng(6)
    for k in (4, 32, 100):
        x = rng.standard_normal((S.shape[1], k), dtype)
        terms = np.diff(S.indptr)[:, None]
        bound = (terms + 2) * np.finfo(dtype).eps * (abs(S) @ abs(x.astype(np.float64)))
        for B, reference in ((A, S @ x.astype(np.float64)), (A.T, S.T @ x.astype(np.float64))):
            assert (abs(B @ x - reference) <= bound + 1e-300).all()


@pytest.fixture
def threads():
    before = ps.num_threads()
    yield ps.set_num_threads
    ps.set_num_threads(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_bits_depend_on_neither_threads_nor_layout(threads, dtype):
    rng = np.random.default_rng(7)
    S = matrix(rng, 3000, 2500, np.float64, longest=60)
    long_row = sp.csr_array(rng.standard_normal((1, 2500)))
    S = sp.csr_array(sp.vstack([S, *[long_row] * 3]))
    S.data = rng.standard_normal(S.nnz)
    A = ours(S.astype(dtype))
    x = rng.standard_normal((2500, 37)).astype(dtype)
    z = rng.standard_normal((S.shape[0], 37)).astype(dtype)
    seen = []
    for n in (1, 2, 3, 5):
        threads(n)
        seen.append((A @ x, A.T @ z))
        seen.append((A @ np.asfortranarray(x), A.T @ np.asfortranarray(z)))
        y = np.empty((S.shape[0], 37), dtype, order="F")
        seen.append((A.dot(x, out=y), seen[0][1]))
    for forward, back in seen[1:]:
        np.testing.assert_array_equal(forward, seen[0][0])
        np.testing.assert_array_equal(back, seen[0][1])


def test_long_rows_are_split_and_added_up():
    n = 200_000
    S = sp.csr_array(np.ones((1, n)))
    S = sp.csr_array(sp.vstack([S, sp.csr_array((3, n)), 2 * S]))
    x = np.random.default_rng(8).integers(-4, 5, (n, 5)).astype(float)
    for how in (None, ps.Streamed(block=4096)):
        y = ours(S).dot(x, out=np.full((5, 5), 10.0), beta=2.0, schedule=how)
        np.testing.assert_array_equal(y, S @ x + 20)


def test_streaming_reads_the_matrix_once():
    A = ps.generate.laplacian((20, 20, 20))
    x = np.random.default_rng(9).integers(-4, 5, (8000, 24)).astype(float)
    with ps.record() as events:
        y = A.dot(x, schedule=ps.Streamed(block=4096))
        A.dot(np.asfortranarray(x), out=y, schedule=ps.Streamed(block=4096))
        A @ x
    streamed, again, plain = events
    assert streamed["schedule"] == "streamed" and streamed["tiles"] > 10
    assert A.nnz * 12 <= streamed["copied_bytes"] < 1.2 * A.nbytes
    assert streamed["copied_bytes"] == again["copied_bytes"]
    assert streamed["ring_bytes"] > 0 and streamed["seconds"] >= streamed["copy_seconds"] / 8
    assert plain["kernel_bytes"] == A.nbytes + 2 * x.nbytes == streamed["kernel_bytes"]
    np.testing.assert_array_equal(y, A.to_scipy() @ x)


def test_algorithms_with_a_plan_take_a_column_at_a_time():
    A = ps.generate.laplacian((12, 12, 12))
    x = np.random.default_rng(1).integers(-4, 5, (1728, 6)).astype(float)
    y = np.full((1728, 6), 3.0)
    for algorithm in ("balanced", "blocked", "binned", "stencil"):
        with ps.record() as events:
            np.testing.assert_array_equal(A.dot(x, algorithm=algorithm), A.to_scipy() @ x)
            A.dot(x, out=y, beta=0.0, algorithm=algorithm)
        assert [e["kernel"] for e in events] == [algorithm] * 2
        assert events[0]["tiles"] == (1 if algorithm == "balanced" else 6)
    with pytest.raises(ValueError, match="in core on the CPU"):
        A.dot(x, algorithm="blocked", schedule="streamed")


def test_a_formed_transpose_is_used():
    rng = np.random.default_rng(2)
    S = matrix(rng, 60, 50, np.float64)
    A = ours(S)
    z = numbers(rng, (60, 7), np.float64)
    with ps.record() as events:
        first = A.T @ z
        A.T.formed()
        np.testing.assert_array_equal(A.T @ z, first)
        np.testing.assert_array_equal(z.T @ A, first.T)
    assert [e["kernel"] for e in events] == ["transposed", "balanced", "balanced"]


def test_explain_counts_the_columns():
    A = ps.generate.laplacian((10, 10, 10))
    one, many = A.explain(), A.explain(np.ones((1000, 40), np.float32))
    assert one.flops == 2 * A.nnz and many.flops == 80 * A.nnz
    bytes_of = lambda e: next(u["bytes"] for u in e.uses if u["resource"].startswith("host"))  # noqa: E731
    assert bytes_of(one) == A.nbytes + 2 * 8 * 1000
    assert bytes_of(many) == A.nbytes + 40 * 2 * 8 * 1000
    assert A.explain(np.ones((1000, 0))).flops == 0


@pytest.mark.parametrize("rows,cols", [(0, 0), (0, 5), (5, 0), (1, 1)])
def test_degenerate_shapes(rows, cols):
    A = ps.csr_array((rows, cols))
    for k in (0, 1, 9):
        y = A @ np.ones((cols, k))
        assert y.shape == (rows, k) and not y.any()
        y = A.T @ np.ones((rows, k))
        assert y.shape == (cols, k) and not y.any()
    assert (A.dot(np.ones((cols, 3)), out=np.ones((rows, 3)), beta=2.0) == 2).all()
