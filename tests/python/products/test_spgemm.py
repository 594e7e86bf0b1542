"""C = A B: every semiring, type and accumulator against a plain loop; structure, order of columns, masks, limits of
memory, blocks, threads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core

VALUES = [np.float32, np.float64, np.complex64, np.complex128]
ACCUMULATORS = ["auto", "merge", "hash", "dense"]
SEMIRINGS = {  # zero, add, mul
    "plus_times": (0, lambda a, b: a + b, lambda a, b: a * b),
    "min_plus": (np.inf, min, lambda a, b: a + b),
    "max_times": (0, max, lambda a, b: a * b),
}


def matrix_of(rng, rows, cols, dtype, longest=6, tidy=False):
    """Unsorted rows, duplicates, explicit zeros, some rows empty; small numbers, so that sums are exact."""
    lengths = rng.integers(0, longest, rows) * (rng.random(rows) < 0.8)
    indptr = np.concatenate([[0], np.cumsum(lengths)]) if cols else np.zeros(rows + 1, np.int64)
    n = int(indptr[-1])
    indices = rng.integers(0, max(cols, 1), n).astype(np.int32)
    if np.dtype(dtype) == np.bool_:
        values = None
    else:
        values = rng.integers(0, 5, n).astype(dtype)
        if values.dtype.kind == "c":
            values = values * values.dtype.type(1 - 2j)
    a = ps.csr_array._from_parts(rows, cols, indptr, indices, values)
    if tidy:
        s = a.to_scipy().astype(np.result_type(dtype, np.float64))
        s.sum_duplicates()
        a = ps.csr_array(s, dtype=dtype)
    return a


def entries(a):
    """Row -> list of (column, value), in the order of the arrays; a pattern's values are 1."""
    data = a.data if a.dtype != np.bool_ else np.ones(a.nnz)
    return [
        [(int(a.indices[k]), data[k].item()) for k in range(a.indptr[i], a.indptr[i + 1])]
        for i in range(a.shape[0])
    ]


def reference(a, b, semiring, mask=None):
    """One product at a time, in Python's numbers; a dictionary a row."""
    zero, add, mul = SEMIRINGS.get(semiring, SEMIRINGS["plus_times"])
    of_b, rows = entries(b), []
    for i, row in enumerate(entries(a)):
        c = {}
        for k, x in row:
            for j, y in of_b[k]:
                if semiring == "or_and" and not (x and y):
                    continue
                c[j] = add(c.get(j, zero), mul(x, y))
        if mask is not None:
            on = {j for j, _ in entries(mask)[i]}
            c = {j: v for j, v in c.items() if j in on}
        rows.append(c)
    return rows


def assert_equal(c, rows):
    assert np.array_equal(np.diff(c.indptr), [len(r) for r in rows])
    for i, row in enumerate(rows):
        first, last = c.indptr[i], c.indptr[i + 1]
        assert list(c.indices[first:last]) == sorted(row)
        if c.dtype != np.bool_:
            assert [v.item() for v in c.data[first:last]] == [row[j] for j in sorted(row)]


@settings(deadline=None, max_examples=200)
@given(
    shape=st.tuples(*[st.sampled_from([0, 1, 2, 9, 40])] * 2, st.sampled_from([0, 1, 3, 70, 500])),
    seed=st.integers(0, 2**32 - 1),
    of_a=st.sampled_from([bool, *VALUES]),
    of_b=st.sampled_from([bool, *VALUES]),
    semiring=st.sampled_from([*SEMIRINGS, "or_and"]),
    accumulator=st.sampled_from(ACCUMULATORS),
    longest=st.sampled_from([2, 6, 30]),
    tidy=st.booleans(),
    masked=st.booleans(),
)
def test_every_kind_of_product(
    shape, seed, of_a, of_b, semiring, accumulator, longest, tidy, masked
):
    rng = np.random.default_rng(seed)
    m, k, n = shape
    a = matrix_of(rng, m, k, of_a, longest, tidy)
    b = matrix_of(rng, k, n, of_b, longest, tidy)
    mask = matrix_of(rng, m, n, bool, 30) if masked else None
    how = {"semiring": semiring, "mask": mask, "accumulator": accumulator}
    complex_order = np.result_type(a.dtype, b.dtype).kind == "c" and semiring not in (
        "plus_times",
        "or_and",
    )
    if complex_order:
        with pytest.raises(TypeError, match="order"):
            ps.spgemm(a, b, **how)
        return
    c = ps.spgemm(a, b, **how)
    assert c.shape == (m, n)
    with_values = [x.dtype for x in (a, b) if x.dtype != np.bool_]
    wanted = np.result_type(*with_values) if with_values else np.dtype(np.float64)
    assert c.dtype == (np.bool_ if semiring == "or_and" else wanted)
    assert_equal(c, reference(a, b, semiring, mask))


@pytest.mark.parametrize("accumulator", ACCUMULATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_larger_ones_against_scipy(accumulator, dtype):
    # rows with one product and with thousands, windows narrow and wide, sorts of every length
    rng = np.random.default_rng(3)
    n = 70_000
    lengths = np.where(rng.random(400) < 0.1, 300, rng.integers(0, 9, 400))
    row = np.repeat(np.arange(400), lengths)
    col = rng.integers(0, 3000, row.size)
    a = sp.csr_array((rng.integers(1, 4, row.size).astype(dtype), (row, col)), shape=(400, 3000))
    near = (np.repeat(np.arange(3000), 12) * 23 + rng.integers(0, 40, 36_000)) % n
    far = rng.integers(0, n, 9_000)
    row = np.concatenate([np.repeat(np.arange(3000), 12), rng.integers(0, 3000, 9_000)])
    b = sp.csr_array(
        (rng.integers(1, 4, row.size).astype(dtype), (row, np.concatenate([near, far]))),
        shape=(3000, n),
    )
    want = a @ b
    want.sort_indices()
    c = ps.spgemm(a, b, accumulator=accumulator)
    assert c.dtype == dtype
    for got, expected in (
        (c.indptr, want.indptr),
        (c.indices, want.indices),
        (c.data, want.data),
    ):
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_repeat_the_row_above(dtype):
    rng = np.random.default_rng(8)
    for a in (
        ps.generate.laplacian((40, 50)),
        ps.generate.laplacian((11, 12, 13)),
        ps.generate.banded(3000, range(-3, 5)),
    ):
        s = a.to_scipy().astype(dtype)
        s.data = rng.integers(1, 5, s.nnz).astype(dtype)
        holed = s.tolil()
        for row in rng.integers(0, s.shape[0], 20):  # rows that break a run
            holed[row, rng.integers(0, s.shape[1])] = 2
        for left, right in ((s, s), (s, holed.tocsr()), (holed.tocsr(), s), (s[5:], s)):
            want = left @ right
            want.sort_indices()
            c = ps.csr_array(left) @ ps.csr_array(right)
            assert np.array_equal(c.indptr, want.indptr)
            assert np.array_equal(c.indices, want.indices)
            assert np.array_equal(c.data, want.data)


def test_the_bits_do_not_depend_on_the_threads():
    a = ps.generate.rmat(9, edge_factor=8, seed=4)
    s = sp.csr_array((np.random.default_rng(0).random(a.nnz), a.indices, a.indptr), shape=a.shape)
    a, before, results = ps.csr_array(s), ps.num_threads(), []
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            results.append([a @ a, ps.spgemm(a, a, accumulator="hash"), ps.spgemm(a, a, mask=a)])
    finally:
        ps.set_num_threads(before)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert np.array_equal(one.indptr, other.indptr)
            assert one.indices.tobytes() == other.indices.tobytes()
            assert one.data.tobytes() == other.data.tobytes()


def test_operators_take_scipy_and_transposes():
    rng = np.random.default_rng(5)
    s = sp.random_array((30, 20), density=0.2, rng=rng, format="csr")
    t = sp.random_array((20, 30), density=0.2, rng=rng, format="csc")
    a = ps.csr_array(s)
    for got, want in (
        (a @ t, s @ t),
        (t @ a, t @ s),
        (a @ ps.csr_array(t), s @ t),
        (a.T @ a, s.T @ s),
        (a @ a.T, s @ s.T),
        (a.T @ s, s.T @ s),
        (a.T @ t.T, s.T @ t.T),
        (sp.csr_matrix(t) @ a, t @ s),
    ):
        assert isinstance(got, ps.csr_array)
        assert np.allclose(got.toarray(), want.toarray())
    with pytest.raises(ValueError, match="30 x 20 and B 30 x 20"):
        a @ a
    with pytest.raises(TypeError, match="list"):
        ps.spgemm(a, [[1.0]])


def test_a_sum_of_zero_stays_an_entry():
    a = ps.csr_array(np.array([[1.0, 1.0]]))
    b = ps.csr_array(np.array([[2.0, 1.0], [-2.0, 0.0]]))
    c = a @ b
    assert (list(c.indices), list(c.data)) == ([0, 1], [0.0, 1.0])


def test_counting_paths_and_triangles():
    graph = ps.generate.rmat(8, edge_factor=8, undirected=True, seed=1)
    s = graph.to_scipy().astype(np.float64)
    s.setdiag(0)
    s.eliminate_zeros()
    pattern = ps.csr_array(s.astype(bool))
    assert (pattern @ pattern).dtype == np.float64
    want = (s @ s).multiply(s).sum()
    assert ps.spgemm(pattern, pattern, mask=pattern).sum() == want
    assert ps.spgemm(pattern, pattern, mask=pattern, dtype=np.float32).data.dtype == np.float32


# What it takes


def test_estimates_are_near_and_exact_ones_right():
    a = ps.generate.rmat(12, edge_factor=16, seed=2)
    c = a @ a
    exact, sampled = ps.spgemm_estimate(a, a, exact=True), ps.spgemm_estimate(a, a)
    products = int(np.diff(a.indptr)[a.indices].sum())
    assert exact.products == sampled.products == products
    assert (exact.nnz, exact.exact) == (c.nnz, True)
    assert exact.nbytes == c.nbytes
    assert sampled.exact is False
    assert abs(sampled.nnz / c.nnz - 1) < 0.1
    assert c.nnz <= sampled.bound <= products
    assert ps.spgemm_estimate(a, a).nnz == sampled.nnz
    assert "fits" in str(a.explain(a))
    assert exact.compression == pytest.approx(products / c.nnz)
    empty = ps.csr_array((0, 0))
    assert ps.spgemm_estimate(empty, empty).nnz == 0


def test_too_much_memory_is_refused_with_the_numbers():
    a = ps.generate.rmat(11, edge_factor=16, seed=2)
    c = a @ a
    with pytest.raises(MemoryError, match=r"500 KB are allowed: compute it in blocks") as said:
        ps.spgemm(a, a, memory="0.5MB")
    assert "products" in str(said.value)
    assert ps.spgemm(a, a, memory=c.nbytes).nnz == c.nnz
    # nearly enough: begun, and stopped
    with pytest.raises(MemoryError, match=r"row \d+ was reached"):
        ps.spgemm(a, a, memory=c.nbytes - 13)
    with pytest.raises(ValueError, match="memory='lots'"):
        ps.spgemm(a, a, memory="lots")


@pytest.mark.parametrize("semiring", ["plus_times", "or_and"])
def test_blocks_are_the_product(semiring, tmp_path):
    a = ps.generate.rmat(10, edge_factor=8, seed=3)
    whole = ps.spgemm(a, a, semiring=semiring)
    limit = 600_000
    parts = list(ps.spgemm_blocks(a, a, memory=limit, semiring=semiring))
    assert len(parts) >= 3
    assert all(p.nbytes <= limit for _, p in parts)
    assert [f for f, _ in parts] == list(np.cumsum([0, *(p.shape[0] for _, p in parts)])[:-1])
    assert np.array_equal(np.concatenate([p.indices for _, p in parts]), whole.indices)
    assert np.array_equal(np.concatenate([p.data for _, p in parts]), whole.data)
    written = ps.spgemm(a, a, semiring=semiring, memory=limit, out=tmp_path / "c.penstock", mask=a)
    masked = ps.spgemm(a, a, semiring=semiring, mask=a)
    assert written.place == "mapped"
    assert (written.dtype, written.shape) == (masked.dtype, masked.shape)
    for got, want in (
        (written.indptr, masked.indptr),
        (written.indices, masked.indices),
        (written.data, masked.data),
    ):
        assert np.array_equal(got, want)
    ps.open(tmp_path / "c.penstock", validate=True)
    with pytest.raises(MemoryError, match="spgemm_blocks"):
        list(ps.spgemm_blocks(a, a, memory=100))
    with pytest.raises(MemoryError):
        ps.spgemm(a, a, memory=100, out=tmp_path / "d.penstock")
    assert [p.name for p in tmp_path.iterdir()] == ["c.penstock"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x").write_text("keep")
    with pytest.raises(ValueError, match="not a store"):
        ps.spgemm(a, a, out=tmp_path / "notes")


PEAK = """
import sys
import numpy as np, penstock as ps

def kilobytes(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))

a = ps.generate.{make}
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = kilobytes("VmRSS")
c = ps.spgemm(a, a)
print(a.nbytes, c.nbytes, (kilobytes("VmHWM") - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("make", ["laplacian((60, 60, 60))", "rmat(13, edge_factor=16, seed=1)"])
def test_peak_memory(make):
    done = subprocess.run(
        [sys.executable, "-c", PEAK.format(make=make)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    inputs, output, grown = map(int, done.stdout.split())
    assert output > 40 << 20
    assert grown > 0.9 * output
    assert inputs + grown <= 1.6 * (inputs + output)


def test_refusals():
    a = ps.csr_array(np.eye(3))
    with pytest.raises(ValueError, match="semiring='xor'"):
        ps.spgemm(a, a, semiring="xor")
    with pytest.raises(ValueError, match="accumulator 'heap'"):
        ps.spgemm(a, a, accumulator="heap")
    with pytest.raises(ValueError, match=r"mask is \(2, 3\)"):
        ps.spgemm(a, a, mask=ps.csr_array((2, 3)))
    with pytest.raises(TypeError, match="imaginary"):
        ps.spgemm(a.astype(complex), a, dtype=float)
    with pytest.raises(TypeError, match="is not supported"):
        ps.spgemm(a, a, dtype=np.int32)
    with pytest.raises(TypeError, match="pattern"):
        ps.spgemm(a, a, semiring="or_and", dtype=float)
    with pytest.raises(ValueError, match="columns and B"):
        _core.spgemm(a._core, ps.csr_array((2, 2))._core, "plus_times", "float64")
