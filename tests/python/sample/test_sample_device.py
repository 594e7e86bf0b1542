"""Samples as a device draws them, with the CPU as the device: the same numbers as the CPU's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.sample import subgraphs, walks
from penstock.sample._device import DeviceDraws

import penstock as ps
from penstock import _core


@pytest.fixture
def on_device(monkeypatch):
    """Calls a function of ps.sample with a device that is the CPU."""

    def call(function, *args, **how):
        with monkeypatch.context() as patch:
            for module in (subgraphs, walks):
                patch.setattr(module, "device_draws", lambda *_: DeviceDraws(-1, None))
            return function(*args, **how)

    return call


def same(got, expected):
    assert got.vertices_per_hop == expected.vertices_per_hop
    assert got.edges_per_hop == expected.edges_per_hop
    for name in ("vertices", "rows", "columns", "edges", "batch"):
        one, other = getattr(got, name), getattr(expected, name)
        if not isinstance(other, dict):
            one, other = {"": one}, {"": other}
        assert one is None or one.keys() == other.keys()
        for key in other or {}:
            assert np.array_equal(one[key], other[key]), (name, key)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize(
    "fanouts",
    [[], [0], [3], [10, 10], [-1, 2], [2, -1], [48, 49], [100, 60], [4, 3, 2, 1]],
)
def test_neighbours_are_the_cpus(on_device, fanouts, replace, disjoint):
    A = ps.generate.rmat(11, seed=5)
    seeds = np.random.default_rng(1).integers(0, A.shape[0], 300)  # some repeat
    how = {"replace": replace, "disjoint": disjoint, "seed": 9}
    same(
        on_device(ps.sample.neighbors, A, seeds, fanouts, **how),
        ps.sample.neighbors(A, seeds, fanouts, **how),
    )


def test_more_edges_than_are_drawn_unasked(on_device):
    n, seeds = 16000, np.zeros(300, int)  # 300 times 14500 are more than 2^22
    A = ps.csr_array((np.ones(n, bool), (np.zeros(n, int), np.arange(n))), shape=(n, n))
    for fanouts in ([14500], [2**31 - 1, 3]):
        same(
            on_device(ps.sample.neighbors, A, seeds, fanouts, seed=3),
            ps.sample.neighbors(A, seeds, fanouts, seed=3),
        )


def test_graphs_with_types(on_device):
    rng = np.random.default_rng(2)
    sizes = {"user": 300, "item": 200}
    A = {}
    for t in [("user", "buys", "item"), ("item", "of", "user"), ("user", "knows", "user")]:
        n, m = sizes[t[0]], sizes[t[2]]
        A[t] = ps.csr_array(
            (np.ones(4 * n, bool), (rng.integers(0, n, 4 * n), rng.integers(0, m, 4 * n))), shape=(n, m)
        )  # fmt: skip
    seeds = {"user": [5, 5, 7], "item": [1]}
    for disjoint in (False, True):
        how = {"fanouts": [3, -1, 2], "seed": 4, "disjoint": disjoint}
        same(
            on_device(ps.sample.neighbors, A, seeds, **how),
            ps.sample.neighbors(A, seeds, **how),
        )


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_neighbours_of_any_graph(data):
    n = data.draw(st.integers(1, 40))
    vertex = st.integers(0, n - 1)
    ends = data.draw(st.lists(st.tuples(vertex, vertex), max_size=200))
    rows, cols = np.array(ends, np.int64).reshape(-1, 2).T
    A = ps.csr_array((np.ones(rows.size, bool), (rows, cols)), shape=(n, n))
    seeds = np.array(data.draw(st.lists(vertex, max_size=8)), np.int64)
    fanouts = data.draw(st.lists(st.integers(-1, 60), max_size=3))
    how = {"replace": data.draw(st.booleans()), "seed": data.draw(st.integers(0, 5))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subgraphs, "device_draws", lambda *_: DeviceDraws(-1, None))
        got = ps.sample.neighbors(A, seeds, fanouts, **how)
    same(got, ps.sample.neighbors(A, seeds, fanouts, **how))


def weighted(n, dtype, seed=3):
    """Rows that ascend, some empty, some with weights of 0 alone, one with very unlike weights."""
    rng = np.random.default_rng(seed)
    cells = np.unique(rng.integers(0, n * n, 9 * n))
    rows, cols = cells // n, cells % n
    keep = rows % 11 != 0
    values = rng.random(rows.size) ** 8
    values[rows % 7 == 0] = 0
    return ps.csr_array((values[keep].astype(dtype), (rows[keep], cols[keep])), shape=(n, n))


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanouts", [[], [0], [3, 2], [-1, 2], [2, -1], [48, 49], [4, 3, 2]])
def test_neighbours_by_weights_and_times_are_the_cpus(on_device, dtype, replace, fanouts):
    A = weighted(400, dtype)
    rng = np.random.default_rng(4)
    seeds = rng.integers(0, 400, 90)
    times = {"time": rng.integers(0, 100, A.nnz), "seed_time": rng.integers(-5, 105, 90)}
    for how in (
        {"weighted": True},
        {"weighted": True, "disjoint": True},
        times,
        {"weighted": True, **times},
    ):
        how = {"replace": replace, "seed": 11, **how}
        expected = ps.sample.neighbors(A, seeds, fanouts, **how)
        same(on_device(ps.sample.neighbors, A, seeds, fanouts, **how), expected)


def test_hubs_by_weights_and_times(on_device):
    n = 20000
    rng = np.random.default_rng(5)
    star = np.zeros(n, int), np.arange(n)
    A = ps.csr_array((rng.random(n) ** 20, star), shape=(n, n))
    for fanout in (1, 50, 5000):
        for how in ({"weighted": True}, {"time": np.arange(n), "seed_time": [7000, 3]}):
            for replace in (False, True):
                given = {"replace": replace, **how}
                expected = ps.sample.neighbors(A, [0, 0], [fanout], **given)
                same(on_device(ps.sample.neighbors, A, [0, 0], [fanout], **given), expected)


def test_types_with_times(on_device):
    rng = np.random.default_rng(6)
    A, time = {}, {}
    for t in [("user", "buys", "item"), ("item", "of", "user")]:
        A[t] = ps.csr_array(
            (rng.random(900), (rng.integers(0, 300, 900), rng.integers(0, 300, 900))), shape=(300, 300)
        )  # fmt: skip
        time[t] = rng.integers(0, 50, A[t].nnz)
    for some in (time, {t: time[t] for t in list(time)[:1]}):
        how = {"fanouts": [3, 2, 2], "time": some, "seed_time": {"user": [9, 50]}, "weighted": True}
        seeds = {"user": [5, 7]}
        same(on_device(ps.sample.neighbors, A, seeds, **how), ps.sample.neighbors(A, seeds, **how))


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"restart": 0.3},
        {"p": 0.01, "q": 3.0},
        {"p": 4.0, "q": 0.25, "restart": 0.1},
        {"p": 1e-9},
        {"p": 1e9, "q": 1e9},
    ],
)
def test_walks_are_the_cpus(on_device, dtype, how):
    directed = weighted(400, dtype)
    for A in (directed, (directed.astype(float) + directed.T.astype(float)).astype(dtype)):
        for starts in (None, [], [0, 17, 17, 399]):
            for weights in (False, True):
                given = {"weighted": weights, "seed": 8, **how}
                got = on_device(ps.sample.random_walks, A, starts, 30, **given)
                expected = ps.sample.random_walks(A, starts, 30, **given)
                assert got.dtype == np.int32 and np.array_equal(got, expected)


def test_hubs_and_no_steps(on_device):
    n = 3000
    star = ps.csr_array(
        (np.random.default_rng(1).random(n - 1) ** 30, (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n)
    )  # fmt: skip
    both = star + star.T
    for A in (star, both):
        for length in (0, 1, 9):
            for how in ({}, {"weighted": True}, {"weighted": True, "p": 0.5, "q": 2.0}):
                got = on_device(ps.sample.random_walks, A, None, length, **how)
                assert np.array_equal(got, ps.sample.random_walks(A, None, length, **how))


def test_refusals(on_device):
    A = weighted(50, float)
    with pytest.raises(ValueError, match=r"seeds\[2\]=50 is outside a graph of 50 vertices"):
        on_device(ps.sample.neighbors, A, [0, 49, 50, -1], [2])
    with pytest.raises(ValueError, match=r"seeds\[0\]=-3 is outside"):
        on_device(ps.sample.neighbors, A, [-3], [2])
    with pytest.raises(ValueError, match=r"starts\[1\]=50 is outside a graph of 50 vertices"):
        on_device(ps.sample.random_walks, A, [0, 50], 2)
    for wrong in (-2.0, np.nan, np.inf):
        bad = ps.csr_array(([1.0, wrong], ([0, 0], [1, 2])), shape=(3, 3))
        with pytest.raises(ValueError, match=f"0 -> 2 has weight {wrong:.0f}"):
            on_device(ps.sample.random_walks, bad, None, 2, weighted=True)
        for replace in (False, True):
            how = {"weighted": True, "replace": replace}
            with pytest.raises(ValueError, match=f"0 -> 2 has weight {wrong:.0f}"):
                on_device(ps.sample.neighbors, bad, [1, 0], [2], **how)
            same(
                on_device(ps.sample.neighbors, bad, [1], [2], **how),
                ps.sample.neighbors(bad, [1], [2], **how),
            )
    large = ps.csr_array(([1e308] * 2, ([0, 0], [1, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match="add up to more than a float64 holds"):
        on_device(ps.sample.neighbors, large, [0], [2], weighted=True, replace=True)
    with pytest.raises(ValueError, match="device='gpu' is unknown"):
        ps.sample.neighbors(A, [0], [2], device="gpu")
    with pytest.raises(ValueError, match="complex"):
        on_device(ps.sample.neighbors, A.astype(complex), [0], [2])
    if _core.device_count() == 0:
        with pytest.raises(ValueError, match="0 GPUs are usable"):
            ps.sample.random_walks(A, [0], 2, device=0)
    expected = ps.sample.neighbors(A, [0], [2])
    same(ps.sample.neighbors(A, [0], [2], device="cpu"), expected)


def gathered(x, ids):
    """x[ids] by what a GPU runs; x has two dimensions and rows of bytes side by side."""
    out = np.empty((ids.size, x.shape[1]), x.dtype)
    _core.gather_rows_on(
        x.ctypes.data, x.shape[0], x.shape[1] * x.itemsize, x.strides[0], ids.ctypes.data, ids.size,
        ids.dtype == np.int64, out.ctypes.data, -1, 0,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 31, 32, 33, 128, 1000])
def test_gathered_rows_are_numpys(dtype, width):
    rng = np.random.default_rng(width)
    for padding in (0, 5):
        x = (rng.random((90, width + padding)) * 100).astype(dtype)[:, :width]
        for kind in (np.int32, np.int64):
            for count in (0, 1, 700):
                ids = rng.integers(0, 90, count).astype(kind)
                assert np.array_equal(gathered(x, ids), x[ids])
    with pytest.raises(ValueError, match=r"ids\[1\]=90 is outside 90 rows of features"):
        gathered(x, np.array([0, 90, -1]))


def test_many_rows_are_gathered_in_the_order_of_their_addresses():
    rows = 1 << 17
    x = np.zeros((rows, 300), np.float64)  # 300 MB, of which few pages are touched
    known = np.random.default_rng(1).choice(rows, 1500, replace=False)
    x[known] = np.random.default_rng(2).random((known.size, 300))
    for kind in (np.int32, np.int64):
        ids = np.random.default_rng(3).choice(known, 1 << 15).astype(kind)
        assert np.array_equal(gathered(x, ids), x[ids])
