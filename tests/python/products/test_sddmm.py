"""The sampled dense-dense product: types, layouts, options, bits, bad input. Without PyTorch."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def numbers(rng, shape, dtype):
    """Small integers, so that every order of summation gives the same sum."""
    v = rng.integers(-8, 9, shape).astype(dtype)
    return (v + 1j * rng.integers(-3, 4, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else v


def matrix(rng, rows=60, cols=40, dtype=np.float64, longest=12):
    """Unsorted rows with duplicates, empty ones at both ends, and one far longer than the others."""
    lengths = rng.integers(0, longest, rows)
    lengths[[0, -1]] = 0
    lengths[rows // 2] = 900
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, cols, indptr[-1]).astype(np.int32)
    data = np.ones(indptr[-1], bool) if dtype is bool else numbers(rng, indptr[-1], dtype)
    return ps.csr_array((data, indices, indptr), shape=(rows, cols))


def rows_of(a):
    return np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))


def wanted(a, x, y):
    """By NumPy: every entry's inner product."""
    return np.einsum("kc,kc->k", x[rows_of(a)], y[a.indices])


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257])
@pytest.mark.parametrize("dtype", TYPES)
def test_widths_and_types(k, dtype):
    rng = np.random.default_rng(k)
    a = matrix(rng, dtype=bool)
    x, y = numbers(rng, (60, k), dtype), numbers(rng, (40, k), dtype)
    c = ps.sddmm(a, x, y)
    assert c.dtype == dtype and c.shape == a.shape and c.place == "host"
    np.testing.assert_array_equal(c.indptr, a.indptr)
    np.testing.assert_array_equal(c.indices, a.indices)
    np.testing.assert_array_equal(c.data, wanted(a, x, y))


@pytest.mark.parametrize("of_a", [bool, *TYPES])
@pytest.mark.parametrize("of_x", TYPES)
@pytest.mark.parametrize("of_y", [np.float32, np.complex128])
def test_mixed_types_and_values_of_the_matrix(of_a, of_x, of_y):
    rng = np.random.default_rng(1)
    a = matrix(rng, dtype=of_a)
    x, y = numbers(rng, (60, 6), of_x), numbers(rng, (40, 6), of_y)
    plain, scaled = ps.sddmm(a, x, y), ps.sddmm(a, x, y, scale=True, alpha=3)
    assert plain.dtype == np.result_type(of_x, of_y)
    assert scaled.dtype == np.result_type(of_x, of_y, of_a)
    np.testing.assert_array_equal(plain.data, wanted(a, x, y))
    np.testing.assert_array_equal(scaled.data, 3 * wanted(a, x, y) * a.data)


def test_integers_and_vectors():
    rng = np.random.default_rng(2)
    a = matrix(rng)
    u, v = rng.integers(-9, 9, 60), rng.integers(-9, 9, 40)
    c = ps.sddmm(a, u, v)
    assert c.dtype == np.float64
    np.testing.assert_array_equal(c.data, u[rows_of(a)] * v[a.indices])
    np.testing.assert_array_equal(ps.sddmm(a, u[:, None], v).data, c.data)


def test_against_the_dense_product():
    rng = np.random.default_rng(3)
    s = sp.random_array((50, 70), density=0.1, rng=rng, format="csr")
    x, y = rng.standard_normal((50, 24)), rng.standard_normal((70, 24))
    np.testing.assert_allclose(ps.sddmm(s, x, y, scale=True).toarray(), s.toarray() * (x @ y.T))
    a = ps.csr_array(s)
    np.testing.assert_allclose(
        ps.sddmm(a.T, y, x).toarray(), (s.toarray() != 0).T * (y @ x.T), atol=1e-14
    )


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "some columns": lambda x: np.concatenate([x, x, x], 1)[:, x.shape[1] : 2 * x.shape[1]],
    "every second row": lambda x: np.repeat(x, 2, 0)[::2],
    "every third column": lambda x: np.repeat(x, 3, 1)[:, ::3],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "misaligned": lambda x: (
        np.frombuffer(b"\0" + np.ascontiguousarray(x).tobytes(), np.uint8)[1:]
        .view(x.dtype)
        .reshape(x.shape)
    ),
}


@pytest.mark.parametrize("of_x", LAYOUTS)
@pytest.mark.parametrize("of_y", LAYOUTS)
def test_layouts_leave_the_bits(of_x, of_y):
    rng = np.random.default_rng(4)
    a = matrix(rng)
    x, y = rng.standard_normal((60, 19)), rng.standard_normal((40, 19))
    got = ps.sddmm(a, LAYOUTS[of_x](x), LAYOUTS[of_y](y)).data
    np.testing.assert_array_equal(got, ps.sddmm(a, x, y).data)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_same_bits_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(5)
    a = matrix(rng, 3000, 500, dtype, longest=60)
    x = rng.standard_normal((3000, 37)).astype(dtype)
    y = rng.standard_normal((500, 37)).astype(dtype)
    before = ps.num_threads()
    try:
        found = []
        for n in (1, 2, 5):
            ps.set_num_threads(n)
            found.append(ps.sddmm(a, x, y, scale=True, alpha=0.3).data)
    finally:
        ps.set_num_threads(before)
    for one in found[1:]:
        np.testing.assert_array_equal(one.view(np.uint8), found[0].view(np.uint8))
    np.testing.assert_allclose(
        found[0],
        0.3 * wanted(a, x, y) * a.data,
        rtol=1e-3 if dtype().itemsize <= 8 else 1e-10,
        atol=1e-3,
    )


def answers():
    """Exact products of all types and of widths about those of vectors."""
    found = []
    for k in (1, 3, 4, 8, 11, 16, 21, 40):
        for dtype in TYPES:
            rng = np.random.default_rng(k)
            a = matrix(rng, dtype=bool)
            x, y = numbers(rng, (60, k), dtype), numbers(rng, (40, k), dtype)
            found.append(ps.sddmm(a, x, y).data)
    return np.concatenate(found)


@pytest.mark.parametrize("simd", ["scalar", "avx2"])
def test_every_vector_width_agrees(simd, tmp_path):
    code = (
        "import numpy as np, sys; sys.path.insert(0, sys.argv[1]); import test_sddmm as t;"
        "from penstock import _core; print(_core.config()['simd']); np.save(sys.argv[2], t.answers())"
    )
    there = {**os.environ, "PENSTOCK_SIMD": simd}
    command = [sys.executable, "-c", code, os.path.dirname(__file__), str(tmp_path / "a.npy")]
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
    if done.stdout.strip() != simd:
        pytest.skip(f"this processor has no {simd}: it ran as {done.stdout.strip()}")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), answers())


def test_out_alpha_and_beta():
    rng = np.random.default_rng(6)
    a = matrix(rng)
    x, y = numbers(rng, (60, 5), np.float64), numbers(rng, (40, 5), np.float64)
    before = numbers(rng, a.nnz, np.float64)
    out = before.copy()
    assert ps.sddmm(a, x, y, out=out) is out
    np.testing.assert_array_equal(out, wanted(a, x, y))
    out = before.copy()
    ps.sddmm(a, x, y, out=out, alpha=-2, beta=3)
    np.testing.assert_array_equal(out, -2 * wanted(a, x, y) + 3 * before)
    out = before.copy()
    ps.sddmm(a, x, y, out=out, beta=1, scale=True)
    np.testing.assert_array_equal(out, wanted(a, x, y) * a.data + before)
    nan = np.full(a.nnz, np.nan)
    assert np.isfinite(ps.sddmm(a, x, y, out=nan, beta=0)).all()  # is not read


def test_the_result_is_a_matrix_of_its_own():
    rng = np.random.default_rng(7)
    a = matrix(rng)
    x, y = rng.standard_normal((60, 3)), rng.standard_normal((40, 3))
    c = ps.sddmm(a, x, y)
    assert np.shares_memory(c.indices, a.indices) and not np.shares_memory(c.data, a.data)
    z = rng.standard_normal((40, 2))
    np.testing.assert_allclose(c @ z, c.toarray() @ z)


def test_nothing_to_do():
    for shape in ((0, 5), (5, 0), (0, 0), (4, 6)):
        c = ps.sddmm(ps.csr_array(shape), np.ones((shape[0], 3)), np.ones((shape[1], 3)))
        assert c.shape == shape and c.nnz == 0


def test_entries_beyond_32_bits_of_an_address():
    """Row j of Y begins at entry j * step: more than 2^31 entries in, over few pages that are really there."""
    step = 1 << 20
    wide = np.zeros((4096, step), np.float32)[:, :2]  # 16 GB of zeros that nobody touches
    wide[[0, 2500, 4095]] = [[1, 2], [3, 4], [5, 6]]
    a = ps.csr_array((np.ones(3), ([0, 0, 0], [0, 2500, 4095])), shape=(1, 4096))
    c = ps.sddmm(a, np.array([[1, 10]], np.float32), wide)
    np.testing.assert_array_equal(c.data, np.array([21, 43, 65], np.float32))


def test_mapped(tmp_path):
    rng = np.random.default_rng(8)
    a = matrix(rng)
    a.save(tmp_path / "a.penstock")
    b = ps.open(tmp_path / "a.penstock")
    x, y = rng.standard_normal((60, 3)), rng.standard_normal((40, 3))
    np.testing.assert_array_equal(ps.sddmm(b, x, y).data, ps.sddmm(a, x, y).data)


def test_without_torch(monkeypatch):
    from penstock._product import torch_ops

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(torch_ops, "_registered", False)
    a = ps.csr_array(np.eye(2))
    for call in (lambda: ps.torch.matmul(a, np.ones(2)), lambda: ps.torch.sddmm(a, a, a)):
        with pytest.raises(ImportError, match="pip install torch"):
            call()
    assert type(a @ np.ones(2)) is np.ndarray


def test_the_package_does_not_import_torch():
    code = (
        "import sys, numpy as np, penstock as ps; a = ps.csr_array(np.eye(2)); a @ np.ones(2);"
        "ps.sddmm(a, [1, 2], [3, 4]);"
        "ps.torch; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


class OnGpu:
    """As far as is asked: what DLPack says of an array of a GPU."""

    shape, ndim, dtype = (2, 2), 2, np.dtype(np.float64)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        raise AssertionError("nobody reads it")


def test_bad_input():
    a = ps.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    x = np.ones((2, 3))
    for bad, said in (
        (dict(X=np.ones((3, 3))), r"X has shape \(3, 3\): give \(2, k\)"),
        (dict(Y=np.ones((2, 2))), "X has 3 columns and Y 2"),
        (dict(Y=np.ones((2, 3, 1))), "Y has shape"),
        (dict(beta=1), "beta is given without out"),
        (dict(out=np.ones(4)), r"shape \(3,\)"),
        (dict(out=np.ones(3, np.float32)), "float64"),
        (dict(out=[0, 0, 0]), "out is list"),
        (dict(out=np.ones(6)[::2]), "C-contiguous"),
        (dict(out=x.reshape(-1)[:3]), "out overlaps"),
        (dict(X=np.full((2, 3), 2**60)), "beyond 2\\^53"),
    ):
        with pytest.raises(ValueError, match=said):
            ps.sddmm(a, **{"X": x, "Y": x.copy(), **bad})
    read_only = np.ones(3)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        ps.sddmm(a, x, x.copy(), out=read_only)
    with pytest.raises(TypeError, match="alpha=1j is not a number"):
        ps.sddmm(a, x, x, alpha=1j)
    with pytest.raises(TypeError, match="A is a ndarray"):
        ps.sddmm(np.eye(2), x, x)
    with pytest.raises(TypeError, match="a dense array is needed"):
        ps.sddmm(a, sp.csr_array(x), x)
    with pytest.raises(ps.PlacementError, match="X on a GPU, and Y in host memory: move all"):
        ps.sddmm(a, OnGpu(), x)
    with pytest.raises(ps.PlacementError, match="X and out on a GPU, and Y in host memory"):
        ps.sddmm(a, OnGpu(), x, out=OnGpu())
    with pytest.raises(ps.PlacementError, match=r"A is in host memory, and X on a GPU: give A\.to"):
        ps.sddmm(a, OnGpu(), OnGpu())
