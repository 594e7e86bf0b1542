"""Samples, walks and rows of features on a GPU, for CuPy's and PyTorch's arrays: the same as the CPU's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from array_libraries import LIBRARIES

import penstock as ps

pytestmark = pytest.mark.gpu


@pytest.fixture(params=list(LIBRARIES))
def lib(request):
    return LIBRARIES[request.param]()


@pytest.fixture(scope="module")
def rmat():
    return ps.generate.rmat(15, seed=3)


def same(lib, got, expected):
    assert got.vertices_per_hop == expected.vertices_per_hop
    assert got.edges_per_hop == expected.edges_per_hop
    for name in ("vertices", "rows", "columns", "edges", "batch"):
        one, other = getattr(got, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(lib.host(one), other)


def weighted(n=2000, dtype=np.float32):
    rng = np.random.default_rng(7)
    cells = np.unique(rng.integers(0, n * n, 12 * n))
    rows, cols = cells // n, cells % n
    values = rng.random(rows.size).astype(dtype) ** 6
    values[rows % 13 == 0] = 0
    return ps.csr_array((values, (rows, cols)), shape=(n, n))


@pytest.mark.gpu_small
@pytest.mark.parametrize("place", ["pinned", "device"])
def test_small_samples(lib, place):
    A = ps.generate.rmat(8, seed=3)
    there = A.to(place)
    seeds = np.array([3, 3, 200, 0])
    for fanouts in ([], [0], [4, 3], [-1, -1], [60, 60]):
        for how in ({}, {"replace": True}, {"disjoint": True}):
            got = ps.sample.neighbors(there, lib.array(seeds), fanouts, seed=2, **how)
            same(lib, got, ps.sample.neighbors(A, seeds, fanouts, seed=2, **how))


@pytest.mark.parametrize("place", ["pinned", "device"])
@pytest.mark.parametrize("fanouts", [[10, 10], [3, 5, 7], [-1, 2], [100, 49]])
def test_samples(lib, rmat, place, fanouts):
    there = rmat.to(place)
    seeds = np.random.default_rng(5).integers(0, rmat.shape[0], 4000)
    for how in ({}, {"replace": True}, {"disjoint": True, "seed": 2**64 - 1}):
        expected = ps.sample.neighbors(rmat, seeds, fanouts, **how)
        same(lib, ps.sample.neighbors(there, lib.array(seeds), fanouts, **how), expected)
        narrow = lib.array(seeds.astype(np.int32))
        same(lib, ps.sample.neighbors(there, narrow, fanouts, **how), expected)


@pytest.mark.parametrize("place", ["pinned", "device"])
@pytest.mark.parametrize("fanouts", [[10, 10], [-1, 2], [60, 49]])
def test_samples_by_weights_and_times(lib, place, fanouts):
    rng = np.random.default_rng(8)
    for dtype in (np.float32, np.float64):
        A = weighted(dtype=dtype)
        there = A.to(place)
        seeds = rng.integers(0, A.shape[0], 300)
        on_time = ps.empty(A.nnz, np.int64, ps.pinned)
        on_time[:] = rng.integers(0, 100, A.nnz)
        times = {"time": on_time, "seed_time": rng.integers(0, 100, seeds.size)}
        for how in ({"weighted": True}, times, {"weighted": True, **times}):
            for replace in (False, True):
                expected = ps.sample.neighbors(A, seeds, fanouts, replace=replace, seed=3, **how)
                got = ps.sample.neighbors(
                    there, lib.array(seeds), fanouts, replace=replace, seed=3, **how
                )
                same(lib, got, expected)


def test_weighted_samples_are_as_likely_as_weights(lib):
    """Chi-square: one edge of a vertex with four, drawn for many seeds."""
    shares = np.array([1.0, 2.0, 3.0, 10.0])
    A = ps.csr_array((shares, (np.zeros(4, int), np.arange(1, 5))), shape=(5, 5)).to("device")
    n = 40000
    got = ps.sample.neighbors(
        A, lib.array(np.zeros(n, np.int64)), [1], weighted=True, disjoint=True, seed=2
    )
    counts = np.bincount(lib.host(got.edges), minlength=4)
    expected = n * shares / shares.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # 0.1 % of three degrees of freedom


def test_samples_for_the_host(rmat):
    class Host:
        host = staticmethod(np.asarray)

    for A in (rmat.to("pinned"), rmat.to("device")):
        expected = ps.sample.neighbors(rmat, [5, 9, 5], [10, 10])
        same(Host, ps.sample.neighbors(A, [5, 9, 5], [10, 10], device=0), expected)
    same(Host, ps.sample.neighbors(A, [5, 9, 5], [10, 10]), expected)  # where the graph is
    walks = ps.sample.random_walks(A, [5, 9], 20)
    np.testing.assert_array_equal(walks, ps.sample.random_walks(rmat, [5, 9], 20))


@pytest.mark.gpu_small
def test_graphs_with_types(lib):
    rng = np.random.default_rng(2)
    sizes = {"user": 300, "item": 200}
    A = {}
    for t in [("user", "buys", "item"), ("item", "of", "user")]:
        n, m = sizes[t[0]], sizes[t[2]]
        A[t] = ps.csr_array(
            (np.ones(4 * n, bool), (rng.integers(0, n, 4 * n), rng.integers(0, m, 4 * n))), shape=(n, m)
        )  # fmt: skip
    seeds = {"user": np.array([5, 5, 7]), "item": np.array([1])}
    expected = ps.sample.neighbors(A, seeds, [3, -1, 2])
    got = ps.sample.neighbors(
        {t: a.to("device") for t, a in A.items()}, {t: lib.array(s) for t, s in seeds.items()}, [3, -1, 2]
    )  # fmt: skip
    assert got.vertices_per_hop == expected.vertices_per_hop
    for name in ("vertices", "rows", "columns", "edges"):
        for key, other in getattr(expected, name).items():
            np.testing.assert_array_equal(lib.host(getattr(got, name)[key]), other)


WALKS = [
    {},
    {"restart": 0.2},
    {"weighted": True},
    {"p": 0.5, "q": 2.0},
    {"p": 1e-9, "q": 0.3, "restart": 0.1},
    {"p": 3.0, "q": 0.2, "weighted": True},
]


@pytest.mark.parametrize("place", ["pinned", "device"])
@pytest.mark.parametrize("how", WALKS)
def test_walks(lib, rmat, place, how):
    for A in (weighted(), weighted(dtype=np.float64), rmat):
        starts = np.random.default_rng(1).integers(0, A.shape[0], 3000)
        expected = ps.sample.random_walks(A, starts, 40, seed=6, **how)
        got = ps.sample.random_walks(A.to(place), lib.array(starts), 40, seed=6, **how)
        np.testing.assert_array_equal(lib.host(got), expected)


@pytest.mark.gpu_small
@pytest.mark.parametrize("how", WALKS)
def test_small_walks(how):
    A = weighted(100)
    got = ps.sample.random_walks(A.to("device"), None, 10, seed=6, **how)
    np.testing.assert_array_equal(got, ps.sample.random_walks(A, None, 10, seed=6, **how))


def features(shape, dtype, pinned):
    values = (np.random.default_rng(2).random(shape) * 200 - 100).astype(dtype)
    if not pinned:
        return values
    out = ps.empty(shape, dtype, ps.pinned)
    out[...] = values
    return out


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "shape", [(50,), (50, 1), (50, 7), (50, 33), (50, 128), (50, 3, 5), (9, 0)]
)
def test_rows_of_pinned_features(lib, dtype, shape):
    x = features(shape, dtype, pinned=True)
    for kind in (np.int32, np.int64):
        for count in (0, 1, 300):
            ids = np.random.default_rng(count).integers(0, shape[0], count).astype(kind)
            got = ps.sample.gather(x, lib.array(ids))
            assert type(got) is type(lib.array(ids))
            np.testing.assert_array_equal(lib.host(got), x[ids])


def test_many_rows_of_pinned_features(lib):
    """So many come in the order of their addresses."""
    x = ps.empty((1 << 21, 33), np.float32, ps.pinned)
    x[:] = np.arange(x.shape[0])[:, None]
    ids = np.random.default_rng(1).integers(0, x.shape[0], 100_000)
    np.testing.assert_array_equal(lib.host(ps.sample.gather(x, lib.array(ids))), x[ids])


def test_rows_of_features_on_the_gpu(lib):
    x = features((5000, 100), np.float32, pinned=False)
    ids = np.random.default_rng(3).integers(0, 5000, 20000)
    there, numbers = lib.array(x), lib.array(ids)
    got = ps.sample.gather(there, numbers)
    np.testing.assert_array_equal(lib.host(got), x[ids])
    for first, last in ((4, 36), (3, 36), (0, 1)):  # every second row, at several alignments
        rows = ps.sample.gather(there[::2, first:last], numbers // 2)
        np.testing.assert_array_equal(lib.host(rows), x[::2, first:last][ids // 2])
    assert ps.sample.gather(there, numbers, got) is got
    with pytest.raises(ValueError, match="out must be"):
        ps.sample.gather(there, numbers, got[1:])
    with pytest.raises(ValueError, match="shares memory"):
        ps.sample.gather(there, numbers[:10], there[:10])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_rows_through_a_cache(lib, dtype, share):
    """The same rows, from the copies and over the link, which are counted exactly."""
    x = features((20_000, 33), dtype, pinned=True)
    rng = np.random.default_rng(5)
    degrees = rng.zipf(1.5, 20_000).clip(max=10**6)
    row = 33 * np.dtype(dtype).itemsize
    cache = ps.sample.FeatureCache(x, 80_000 + int(share * 20_000) * row, degrees)
    assert cache.gpu == 0 and cache.rows.size == int(share * 20_000)
    assert cache.device_bytes == 80_000 + cache.rows.size * row <= cache.budget
    assert "GPU 0 keeps" in cache.explain()
    asked = hits = 0
    for kind in (np.int32, np.int64):
        for count in (0, 1, 65, 50_000):
            ids = rng.integers(0, 20_000, count).astype(kind)
            got = ps.sample.gather(cache, lib.array(ids))
            np.testing.assert_array_equal(lib.host(got), x[ids])
            asked, hits = asked + count, hits + int(np.isin(ids, cache.rows).sum())
            assert cache.counts() == (asked, hits, (asked - hits) * row, hits * row)
    np.testing.assert_array_equal(ps.sample.gather(cache, ids), x[ids])  # by the CPU
    assert cache.counts().rows == asked
    with pytest.raises(ValueError, match=r"ids\[1\]=20000 is outside"):
        ps.sample.gather(cache, lib.array(np.array([3, 20_000])))


def test_many_rows_through_a_cache(lib):
    """So many come in the order of their addresses; those of the cache need no link."""
    x = ps.empty((1 << 21, 33), np.float32, ps.pinned)
    x[:] = np.arange(x.shape[0])[:, None]
    degrees = np.random.default_rng(6).integers(0, 100, x.shape[0])
    cache = ps.sample.FeatureCache(x, "60MB", degrees)
    x[cache.rows] = -1  # copies are what is read
    ids = np.random.default_rng(1).integers(0, x.shape[0], 200_000)
    got = lib.host(ps.sample.gather(cache, lib.array(ids)))
    np.testing.assert_array_equal(got, np.repeat(ids[:, None], 33, axis=1).astype(np.float32))
    assert cache.counts().hits == np.isin(ids, cache.rows).sum()


def test_a_cache_is_counted_on_every_stream_and_may_go(lib, rmat):
    n = rmat.shape[0]
    x = features((n, 64), np.float32, pinned=True)
    cache = ps.sample.FeatureCache(x, 4 * n + 256 * (n // 8), rmat)
    ids = np.arange(0, n, 3)
    kept = int(np.isin(ids, cache.rows).sum())
    with lib.other_stream():
        there = lib.array(ids)
        rows = [ps.sample.gather(cache, there) for _ in range(5)]
    rows += [ps.sample.gather(cache, lib.array(ids))]
    assert cache.counts()[:2] == (6 * ids.size, 6 * kept)
    rows += [ps.sample.gather(cache, lib.array(ids)) for _ in range(5)]
    del cache
    for got in rows:
        np.testing.assert_array_equal(lib.host(got), x[ids])


def test_what_a_cache_refuses(lib):
    x = features((40, 4), np.float32, pinned=True)
    for budget in (0, 160, 175):
        with pytest.raises(ValueError, match="holds no row: 40 slots"):
            ps.sample.FeatureCache(x, budget, np.ones(40))
    with pytest.raises(ps.PlacementError, match="pinned"):
        ps.sample.FeatureCache(np.zeros((40, 4)), "1MB", np.ones(40))
    with pytest.raises(ps.PlacementError, match="a second copy"):
        ps.sample.FeatureCache(lib.array(x), "1MB", np.ones(40))
    on_cpu = ps.sample.FeatureCache(x, "1MB", np.ones(40), device="cpu")
    ids = np.array([3, 39, 3])
    np.testing.assert_array_equal(lib.host(ps.sample.gather(on_cpu, lib.array(ids))), x[ids])
    assert on_cpu.counts() == (0, 0, 0, 0)


def test_the_matrix_may_go_while_walks_are_queued(lib, rmat):
    starts = np.arange(rmat.shape[0])
    expected = ps.sample.random_walks(rmat, starts, 60, p=0.5)
    for place in ("device", "pinned"):
        got = [
            ps.sample.random_walks(rmat.to(place), lib.array(starts), 60, p=0.5) for _ in range(3)
        ]
        for walks in got:
            np.testing.assert_array_equal(lib.host(walks), expected)


def test_features_of_another_library(rmat):
    both = [make() for make in LIBRARIES.values()]
    x = features((500, 16), np.float32, pinned=False)
    ids = np.arange(0, 500, 3)
    for one, other in (both, both[::-1]):
        got = ps.sample.gather(one.array(x), other.array(ids))
        assert type(got) is type(other.array(ids))
        np.testing.assert_array_equal(other.host(got), x[ids])


def test_rows_of_bfloat16():
    torch = pytest.importorskip("torch")
    x = torch.randn(300, 24).to(torch.bfloat16)
    ids = torch.randint(0, 300, (1000,))
    got = ps.sample.gather(x.pin_memory(), ids.cuda())
    assert got.dtype is torch.bfloat16 and torch.equal(got.cpu(), x[ids])
    assert torch.equal(ps.sample.gather(x.cuda(), ids.cuda()).cpu(), x[ids])
    learned = torch.nn.Parameter(torch.randn(300, 24, device="cuda"))
    with pytest.raises(TypeError, match="require a gradient"):
        ps.sample.gather(learned, ids.cuda())
    with torch.no_grad():
        assert torch.equal(ps.sample.gather(learned, ids.cuda()).cpu(), learned.cpu()[ids])
    cupy = pytest.importorskip("cupy")
    with pytest.raises(TypeError, match="give ids as a tensor"):
        ps.sample.gather(x.pin_memory(), cupy.arange(3))


def test_refusals(lib, rmat):
    x = features((40, 4), np.float32, pinned=True)
    with pytest.raises(ValueError, match=r"ids\[1\]=40 is outside 40 rows of features"):
        ps.sample.gather(x, lib.array(np.array([3, 40, -1])))
    with pytest.raises(TypeError, match="int32 or int64"):
        ps.sample.gather(x, lib.array(np.array([3.0])))
    with pytest.raises(TypeError, match="int32 or int64"):
        ps.sample.gather(x, lib.array(np.array([[3]])))
    with pytest.raises(ps.PlacementError, match="pinned"):
        ps.sample.gather(np.zeros((40, 4)), lib.array(np.array([3])))
    with pytest.raises(ps.PlacementError, match="ids in host memory"):
        ps.sample.gather(lib.array(x), [3])
    seeds = lib.array(np.array([0, rmat.shape[0]]))
    for A in (rmat.to("device"), rmat.to("pinned")):
        with pytest.raises(ValueError, match=rf"seeds\[1\]={rmat.shape[0]} is outside"):
            ps.sample.neighbors(A, seeds, [2])
        with pytest.raises(ValueError, match=rf"starts\[1\]={rmat.shape[0]} is outside"):
            ps.sample.random_walks(A, seeds, 2)
    with pytest.raises(TypeError, match="int32 or int64"):
        ps.sample.neighbors(A, lib.array(np.array([1.5])), [2])
    with pytest.raises(ps.PlacementError, match=r"A\.to\(ps\.pinned\)"):
        ps.sample.neighbors(ps.generate.rmat(8, seed=1), lib.array(np.array([1])), [2])
    with pytest.raises(ps.PlacementError, match="device='cpu'"):
        ps.sample.neighbors(A, seeds, [2], device="cpu")


def test_the_current_stream_is_used(lib, rmat):
    """What another stream computes first is waited for, and what comes after sees the results."""
    there = rmat.to("device")
    seeds = np.arange(0, rmat.shape[0], 16)
    x = lib.array(features((rmat.shape[0], 64), np.float32, pinned=False))
    expected = ps.sample.neighbors(rmat, seeds, [5, 5])
    walks = ps.sample.random_walks(rmat, seeds, 30)
    with lib.other_stream():
        for _ in range(5):
            begin = lib.array(np.zeros(seeds.size, np.int64))
            begin += lib.array(seeds)
            got = ps.sample.neighbors(there, begin, [5, 5])
            rows = ps.sample.gather(x, got.vertices)
            same(lib, got, expected)
            np.testing.assert_array_equal(lib.host(rows), lib.host(x)[expected.vertices])
            np.testing.assert_array_equal(lib.host(ps.sample.random_walks(there, begin, 30)), walks)


def test_threads_share_the_largest_weights(lib):
    """The first walks of a matrix, by several threads at once."""
    A = weighted()
    there = A.to("device")
    starts = np.arange(A.shape[0])
    expected = ps.sample.random_walks(A, starts, 20, weighted=True)
    with ThreadPoolExecutor(4) as pool:
        made = [
            pool.submit(ps.sample.random_walks, there, lib.array(starts), 20, weighted=True)
            for _ in range(8)
        ]
        for walks in made:
            np.testing.assert_array_equal(lib.host(walks.result()), expected)


def test_two_gpus_take_turns_with_a_graph_of_pinned_memory(rmat):
    """Each keeps its offsets; calls with both GPUs at once are refused."""
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="names several GPUs, and one draws: give one of them"):
        ps.sample.random_walks(rmat, None, 3, device=[0, 1])
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    there, starts = rmat.to("pinned"), np.arange(0, rmat.shape[0], 3)
    parts = np.array_split(starts, 2)
    with ThreadPoolExecutor(2) as pool:
        made = [
            pool.submit(ps.sample.random_walks, there, part, 20, device=gpu, seed=gpu)
            for gpu, part in enumerate(parts)
        ]
        for gpu, (part, walks) in enumerate(zip(parts, made, strict=True)):
            expected = ps.sample.random_walks(rmat, part, 20, seed=gpu)
            np.testing.assert_array_equal(walks.result(), expected)
    assert set(there._derived.sample_graphs) == {0, 1}


def test_another_gpu_is_current(rmat):
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    seeds = np.arange(0, rmat.shape[0], 8)
    there = rmat.to(ps.device(1))
    expected = ps.sample.neighbors(rmat, seeds, [7, 7])
    for _ in range(5):
        got = ps.sample.neighbors(there, torch.from_numpy(seeds).to("cuda:1"), [7, 7])
        same(LIBRARIES["torch"](), got, expected)
