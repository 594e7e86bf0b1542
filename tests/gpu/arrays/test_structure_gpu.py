"""Structure of matrices in a GPU's memory: transposes, order of rows, sums, scaling, parts; and what is refused."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
DTYPES = [None, "float32", "float64", "complex64", "complex128"]
SHAPES = [(0, 0), (0, 7), (7, 0), (1, 1), (1, 500), (500, 1), (33, 5), (1000, 700), (20_000, 3)]


def random_matrix(shape, dtype, seed=1, mean=6):
    """Rows of any length, empty ones too, in any order and with duplicates."""
    rng = np.random.default_rng(seed)
    rows, cols = shape
    lengths = rng.poisson(mean, rows) * (rng.random(rows) > 0.3) if cols else np.zeros(rows, int)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(indptr[-1])
    indices = rng.integers(0, max(cols, 1), n).astype(np.int32)
    values = None
    if dtype is not None:
        values = rng.standard_normal(n)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * rng.standard_normal(n)
        values = values.astype(dtype)
    return ps.csr_array._wrap(_core.Matrix.from_arrays(rows, cols, indptr, indices, values))


def same(ours, expected):
    """Bit for bit, and on the GPU."""
    assert ours.place == "device"
    ours = ours.to(ps.host)
    assert ours.shape == expected.shape and ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_array_equal(ours.data, expected.data)


def there(A):
    return A.to(ps.device(0))


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", DTYPES)
def test_transpose_small(dtype):
    A = random_matrix((37, 21), dtype)
    same(there(A).T.formed(), A.T.formed())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transpose(shape, dtype):
    A = random_matrix(shape, dtype, seed=2)
    G = there(A)
    T = G.T.formed()
    same(T, A.T.formed())
    assert G.T.formed() is T and G.T.tocsr() is T  # made once
    same(T.T.formed(), A.T.formed().T.formed())


def test_transpose_with_hubs():
    A = ps.generate.rmat(16, 16, seed=3).astype(np.float32)
    same(there(A).T.formed(), A.T.formed())


def test_transpose_that_does_not_fit(monkeypatch):
    A = there(ps.generate.rmat(18, 16, seed=3))
    free = _core.gpu_memory(0)[0]
    lib = pytest.importorskip("torch")
    hold = lib.empty(max(0, free - (40 << 20)), dtype=lib.uint8, device="cuda")
    try:
        with pytest.raises(
            MemoryError, match=r"transpose: .* takes \d+ bytes on GPU 0, and \d+ are"
        ):
            A.T.formed()
    finally:
        del hold
        lib.cuda.empty_cache()
    assert A.T.formed().nnz == A.nnz


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", DTYPES)
def test_order_of_rows(dtype):
    for shape in [(37, 21), (0, 3), (5, 0), (200, 300)]:
        A = random_matrix(shape, dtype, seed=4)
        G = there(A)
        assert G.has_sorted_indices == A.has_sorted_indices
        assert G.has_canonical_format == A.has_canonical_format
        for name in ("sorted_indices", "without_duplicates"):
            ours, expected = getattr(G, name)(), getattr(A, name)()
            same(ours, expected)
            assert _core.row_order(ours._core) == _core.row_order(expected._core)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_and_diagonals(dtype):
    A = random_matrix((300, 200), dtype, seed=5)
    G = there(A)
    for part in (slice(0, 0), slice(0, 300), slice(17, 18), slice(3, 250), slice(-5, None)):
        same(G[part], A[part])
        same(G[part].T.formed(), A[part].T.formed())  # of arrays that begin anywhere
    for k in (0, 1, -7, 199, -299, 500):
        np.testing.assert_array_equal(G.diagonal(k), A.diagonal(k))
    assert G.trace() == A.trace()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype):
    A = random_matrix((300, 200), dtype, seed=6)
    G = there(A)
    if dtype is not None and np.dtype(dtype).kind == "c":
        pytest.skip(
            "products of complex matrices on a GPU with vectors of the host: not everywhere"
        )
    tolerance = {"rtol": 1e-4 if dtype == "float32" else 1e-12, "atol": 1e-4}
    for axis in (0, 1, None):
        ours, expected = G.sum(axis=axis), A.sum(axis=axis)
        assert np.asarray(ours).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(ours, expected, **tolerance)
        ours, expected = G.mean(axis=axis), A.mean(axis=axis)
        assert np.asarray(ours).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(ours, expected, **tolerance)
    np.testing.assert_allclose(G.T.sum(axis=0), A.T.sum(axis=0), **tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scaling(dtype):
    A = random_matrix((300, 200), dtype, seed=7)
    G = there(A)
    rng = np.random.default_rng(8)
    factors = [rng.standard_normal(n).astype(dtype or "float64").real for n in A.shape]
    exact = dtype is None or np.dtype(dtype).kind != "c"
    for how in (
        {"rows": factors[0]},
        {"cols": factors[1]},
        dict(zip(("rows", "cols"), factors, strict=True)),
    ):
        ours, expected = G.scale(**how), A.scale(**how)
        if exact:
            same(ours, expected)
        else:  # products may be fused there
            np.testing.assert_allclose(ours.to(ps.host).data, expected.data, rtol=1e-5)
    for ours, expected in ((G * 2, A * 2), (-G, -A), (G / 4, A / 4)):
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours.to(ps.host).data, expected.data, rtol=1e-6)


def test_types():
    for first in DTYPES:
        A = random_matrix((30, 20), first, seed=9)
        for second in DTYPES[1:]:
            keeps = first is None or np.can_cast(first, second, "same_kind")
            if keeps:
                same(there(A).astype(second), A.astype(second))
            else:
                with pytest.raises(ps.PlacementError, match="ps.host"):
                    there(A).astype(second)
    copied = there(A).copy()
    same(copied, A)


@pytest.mark.parametrize("dtype", DTYPES[:3])
def test_sums_of_matrices(dtype):
    A, B = random_matrix((300, 200), dtype, seed=10), random_matrix((300, 200), dtype, seed=11)
    same(there(A) + there(B), A + B)
    if dtype is not None:
        same(there(A) - there(B), A - B)
    with pytest.raises(ps.PlacementError, match=r"A.to\(ps.host\)"):
        there(A) + B
    with pytest.raises(ps.PlacementError, match=r"A.to\(ps.host\)"):
        there(A).add(there(B), "min_plus")


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_triangles_and_rows(dtype):
    A, M = random_matrix((300, 200), dtype, seed=15), random_matrix((300, 200), None, seed=16)
    G, N = there(A), there(M)
    for complement in (False, True):
        same(G.mask(N, complement), A.mask(M, complement))
    with pytest.raises(ps.PlacementError):
        G.mask(M)
    same(ps.tril(G, -3), ps.tril(A, -3))
    same(ps.triu(G, 5), ps.triu(A, 5))
    p, q = np.random.default_rng(17).permutation(300), np.random.default_rng(18).permutation(200)
    same(G.permute(p), A.permute(p))
    same(G.permute(p, q), A.permute(p, q))
    same(G[[5, 0, 5, 299]], A[[5, 0, 5, 299]])
    same(G[::-2], A[::-2])
    same(G[np.arange(300) % 7 == 0], A[np.arange(300) % 7 == 0])
    if dtype not in ("complex64", "complex128"):
        same(G.with_diagonal(2 if dtype else True, 1), A.with_diagonal(2 if dtype else True, 1))
    if dtype is not None:
        values = A.data.copy()
        values[::3] = 0
        Z = ps.csr_array((values, A.indices, A.indptr), shape=A.shape)
        same(there(Z).without_zeros(), Z.without_zeros())
        same(there(Z).astype(bool), Z.astype(bool))


# What is called with something, and not with nothing
ARGUMENTS = {
    "add": lambda A: (A,),
    "asformat": lambda A: ("csc",),
    "astype": lambda A: ("float32",),
    "dot": lambda A: (np.ones(A.shape[1]),),
    "explain": lambda A: (np.ones(A.shape[1]),),
    "mask": lambda A: (A,),
    "matmat": lambda A: (np.ones((A.shape[1], 2)),),
    "matvec": lambda A: (np.ones(A.shape[1]),),
    "maximum": lambda A: (A,),
    "minimum": lambda A: (A,),
    "multiply": lambda A: (A,),
    "permute": lambda A: (np.arange(A.shape[0]),),
    "power": lambda A: (2,),
    "reshape": lambda A: (A.shape[1], A.shape[0]),
    "resized": lambda A: (3, 3),
    "rmatmat": lambda A: (np.ones((A.shape[0], 2)),),
    "rmatvec": lambda A: (np.ones(A.shape[0]),),
    "save": None,  # writes a file: below
    "scale": lambda A: (2.0,),
    "to": lambda A: (ps.host,),
    "with_diagonal": lambda A: (1.0,),
}
OTHER_ERRORS = (ImportError,)  # to_cupy and to_torch without them


@pytest.mark.parametrize("dtype", [None, "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_every_public_name_works_or_names_the_remedy(dtype, turned, tmp_path):
    A = random_matrix((40, 40), dtype, seed=12).without_duplicates()
    G = there(A)
    G, H = (G.T, A.T) if turned else (G, A)
    for name in dir(type(G)):
        if name.startswith("_") or ARGUMENTS.get(name, ()) is None:
            continue

        def call(m, name=name):
            found = getattr(m, name)
            return (
                found(*ARGUMENTS.get(name, lambda A: ())(m)) if inspect.ismethod(found) else found
            )

        try:
            ours = call(G)
        except OTHER_ERRORS:
            continue
        except Exception as e:
            try:
                call(H)
            except Exception as expected:
                if type(expected) is type(e):  # what is refused for every matrix
                    continue
            if not any(remedy in str(e) for remedy in ("ps.host", "ps.device", "host memory")):
                pytest.fail(f"{name}: {type(e).__name__}: {e}")
            continue
        if isinstance(ours, np.ndarray):
            expected = call(H)
            assert ours.shape == expected.shape and ours.dtype == expected.dtype, name
    for text in (str(G), repr(G), G._repr_html_()):
        assert "device" in text
    with pytest.raises(Exception, match="ps.host"):
        G.tocsr().save(tmp_path / "a.penstock")


@pytest.mark.parametrize(
    "work",
    [
        lambda A: A[3],
        lambda A: A[3, 4],
        lambda A: A[:, 2:5],
        lambda A: A > 1,
        lambda A: A != A,
        lambda A: next(iter(A)),
        lambda A: abs(A),
        lambda A: A**2,
        lambda A: A / A,
        lambda A: np.sin(A),
        lambda A: A.indptr,
        lambda A: ps.find(A),
        lambda A: ps.hstack([A, A]),
    ],
)
def test_operators_name_the_remedy(work):
    with pytest.raises(Exception, match=r"ps\.host"):
        work(there(random_matrix((40, 40), "float64", seed=13)))


def test_several_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    A = random_matrix((5000, 4000), "float32", seed=14)
    G, T = there(A), A.T.formed()

    def work(i):
        return ps.csr_array._wrap(_core.transpose(G._core))

    with ThreadPoolExecutor(8) as pool:
        for ours in pool.map(work, range(24)):
            same(ours, T)


def test_products_with_what_was_made_here():
    A = sp.random_array((500, 300), density=0.05, rng=np.random.default_rng(1), format="csr")
    G = there(ps.csr_array(A))
    x = np.random.default_rng(2).standard_normal(500)
    np.testing.assert_allclose(G.T.formed() @ x, A.T @ x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(G[100:400] @ x[:300], A[100:400] @ x[:300], rtol=1e-12, atol=1e-12)
