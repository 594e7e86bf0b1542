"""FeatureCache: rows are those of the features, hits are counted exactly, with the CPU as the device."""

from __future__ import annotations

import numpy as np
import pytest
from penstock.sample import _gather_gpu

import penstock as ps
from penstock import _core


def as_device(x, budget, degrees):
    """A cache whose copies the CPU keeps as the device."""
    cache = ps.sample.FeatureCache(x, budget, degrees, device="cpu")
    cache.gpu = -1
    cache._keep(_gather_gpu.rows_of(x), np.asarray(degrees), -1)
    return cache


def gathered(cache, ids):
    x = cache.features
    out = np.empty((ids.size, *x.shape[1:]), x.dtype)
    row = x.shape[1] * x.itemsize
    _core.gather_rows_on(
        x.ctypes.data, x.shape[0], row, x.strides[0], ids.ctypes.data, ids.size, ids.dtype == np.int64,
        out.ctypes.data, -1, 0, cache._copies_on(-1),
    )  # fmt: skip
    return out


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("width", [1, 3, 31, 128])
@pytest.mark.parametrize("kept", [1, 40, 500, 5000])
def test_rows_are_numpys_and_hits_are_counted(dtype, width, kept):
    rng = np.random.default_rng(width)
    x = (rng.random((500, width + 5)) * 100).astype(dtype)[:, :width]
    degrees = rng.integers(0, 30, 500)
    row = width * x.itemsize
    cache = as_device(x, 4 * 500 + kept * row, degrees)
    count = min(kept, np.count_nonzero(degrees))
    assert cache.rows.size == count and cache.device_bytes == 2000 + count * row <= cache.budget
    # The hottest ones by another way: a stable sort.
    expected = np.sort(np.argsort(-degrees, kind="stable")[:count])
    assert np.array_equal(cache.rows, expected)
    asked = hits = 0
    for kind in (np.int32, np.int64):
        for n in (0, 1, 63, 64, 65, 7000):
            ids = rng.integers(0, 500, n).astype(kind)
            assert np.array_equal(gathered(cache, ids), x[ids])
            asked, hits = asked + n, hits + int(np.isin(ids, expected).sum())
            counts = cache.counts()
            assert counts == (asked, hits, (asked - hits) * row, hits * row)
            assert counts.features_bytes == (asked - hits) * row
    with pytest.raises(ValueError, match=r"ids\[1\]=500 is outside"):
        gathered(cache, np.array([3, 500]))
    assert cache.counts().rows == asked


def test_copies_are_read():
    """What is written to features later does not change the copies: they are what is read."""
    x = np.arange(40.0).reshape(10, 4)
    cache = as_device(x, 40 + 3 * 32, np.arange(10))
    assert cache.rows.tolist() == [7, 8, 9]
    x[:] = -1
    got = gathered(cache, np.array([9, 0, 7]))
    assert got[:, 0].tolist() == [36.0, -1.0, 28.0]


def test_many_rows_are_gathered_in_the_order_of_their_addresses():
    rows = 1 << 17
    x = np.zeros((rows, 300), np.float64)  # 300 MB, of which few pages are touched
    known = np.random.default_rng(1).choice(rows, 1500, replace=False)
    x[known] = np.random.default_rng(2).random((known.size, 300))
    degrees = np.zeros(rows, np.int64)
    degrees[known] = np.random.default_rng(3).integers(1, 50, known.size)
    cache = as_device(x, 4 * rows + 400 * 2400, degrees)
    assert cache.rows.size == 400
    for kind in (np.int32, np.int64):
        ids = np.random.default_rng(4).choice(known, 1 << 15).astype(kind)
        assert np.array_equal(gathered(cache, ids), x[ids])


def test_degrees_of_a_graph():
    A = ps.generate.rmat(9, seed=3)
    x = np.random.default_rng(1).random((A.shape[0], 8)).astype(np.float32)
    into = np.bincount(A.indices, minlength=A.shape[0])
    one, other = (as_device(x, 4 * 512 + 100 * 32, into) for _ in range(2))
    assert np.array_equal(one.rows, other.rows)
    of_graph = ps.sample.FeatureCache(x, 5000, A, device="cpu")
    assert of_graph.rows.size == 0 and of_graph.device_bytes == 0
    from penstock.sample import feature_cache

    assert np.array_equal(feature_cache._wanted(A, 512), into)
    seeds = np.arange(0, 512, 5)
    S = ps.sample.neighbors(A, seeds, [4, 4], seed=2)
    assert np.array_equal(gathered(one, S.vertices), x[S.vertices])
    share = one.counts().hits / one.counts().rows
    assert share > 100 / 512  # more than as many rows at random


def test_the_cpu_reads_in_place_and_says_so():
    x = np.random.default_rng(1).random((50, 4))
    cache = ps.sample.FeatureCache(x, "1MB", np.ones(50), device="cpu")
    assert np.array_equal(ps.sample.gather(cache, [4, 49, 4]), x[[4, 49, 4]])
    assert cache.gpu is None and cache.shape == (50, 4) and cache.dtype == x.dtype
    assert "the CPU reads them in place, and nothing is cached" in cache.explain()
    assert cache.counts() == (0, 0, 0, 0)
    if _core.device_count() == 0:
        assert ps.sample.FeatureCache(x, "1MB", np.ones(50)).gpu is None
        with pytest.raises(ValueError, match="0 GPUs are usable"):
            ps.sample.FeatureCache(x, "1MB", np.ones(50), device=0)


def test_explain():
    x = np.zeros((1000, 16), np.float32)
    cache = as_device(x, "10KB", np.r_[np.full(10, 9), np.ones(990)])
    assert cache.explain() == (
        "1000 rows of 64 bytes (62.5 KiB): GPU -1 keeps 93 of them, 5.8 KiB, and slots of 3.9 KiB, within 9.8 KiB; "
        "they are 16.0 % of what is wanted by the degrees"
    )


@pytest.mark.parametrize(
    ("error", "match", "how"),
    [
        (
            ValueError,
            r"degrees is int64 of shape \(3,\): .* each of 4 rows",
            {"degrees": [1, 2, 3]},
        ),
        (ValueError, r"degrees\[1\]=-1 must be finite", {"degrees": [1, -1, 2, 3]}),
        (ValueError, r"degrees\[0\]=nan", {"degrees": [np.nan, 1, 2, 3]}),
        (ValueError, "degrees is <U1", {"degrees": "a"}),
        (
            ValueError,
            r"a graph of shape \(3, 3\), but features have 4 rows",
            {"degrees": ps.csr_array(np.eye(3))},
        ),
        (ValueError, "budget='much' is not a size", {"budget": "much"}),
        (ValueError, "side by side", {"features": np.zeros((3, 4)).T}),
        (TypeError, "have no rows", {"features": np.float64(3)}),
        (ValueError, "device='gpu' is unknown", {"device": "gpu"}),
    ],
)
def test_refusals(error, match, how):
    given = {"features": np.zeros((4, 3)), "budget": "1MB", "degrees": np.ones(4), "device": "cpu"}
    with pytest.raises(error, match=match):
        ps.sample.FeatureCache(**{**given, **how})


def test_a_budget_for_no_row():
    x = np.zeros((1000, 16))
    with pytest.raises(ValueError, match="holds no row: 1000 slots take 3.9 KiB"):
        as_device(x, 4100, np.ones(1000))


def test_rows_of_no_width():
    cache = as_device(np.zeros((6, 0)), 4100, np.ones(6))
    assert not cache.rows.size and gathered(cache, np.array([5, 0, 5])).shape == (3, 0)


def test_a_feature_store_takes_it():
    pyg = pytest.importorskip("torch_geometric") and ps.pyg
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(4, 3)
    store = pyg.FeatureStore()
    store[None, "x"] = ps.sample.FeatureCache(x, "1MB", np.ones(4), device="cpu")
    assert torch.equal(store[None, "x", torch.tensor([3, 1])], x[[3, 1]])
    assert torch.equal(store[None, "x", None], x) and torch.equal(store[None, "x", 1:3], x[1:3])
    assert store.get_tensor_size(group_name=None, attr_name="x", index=None) == (4, 3)
