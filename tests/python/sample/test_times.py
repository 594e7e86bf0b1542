"""Times of ps.sample.neighbors: of any unit, type and byte order, compared as times; what has none is refused."""

from __future__ import annotations

import numpy as np
import pytest
from penstock.sample import subgraphs
from penstock.sample._device import DeviceDraws

import penstock as ps

EDGES = 300


def graph():
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 40, EDGES), rng.integers(0, 40, EDGES)
    return ps.csr_array((np.ones(EDGES), ends), shape=(40, 40)).without_duplicates()


@pytest.fixture(params=["cpu", "device"])
def neighbors(request, monkeypatch):
    """On the CPU, and as a device does it, which is the CPU here."""
    if request.param == "device":
        monkeypatch.setattr(subgraphs, "device_draws", lambda *_: DeviceDraws(-1, None))
    return ps.sample.neighbors


def drawn(neighbors, A, time, seed_time):
    seeds = np.arange(len(seed_time)) % A.shape[0]
    return neighbors(A, seeds, [-1, -1], time=time, seed_time=seed_time).edges


def test_no_edge_of_the_future_where_units_differ(neighbors):
    A = graph()
    days = np.full(A.nnz, np.datetime64("2020-01-02", "D"))
    assert drawn(neighbors, A, days, np.array(["2020-01-01"], "M8[s]")).size == 0
    assert drawn(neighbors, A, days, np.array(["2020-01-02"], "M8[ns]")).size > 0
    assert drawn(neighbors, A, days.astype("M8[ms]"), np.array(["2020-01-01"], "M8[D]")).size == 0


@pytest.mark.parametrize("edges", ["M8[D]", "M8[s]", "M8[3D]", ">M8[ms]", "M8[M]"])
@pytest.mark.parametrize("seeds", ["M8[D]", "M8[us]", ">M8[h]", "M8[2h]"])
def test_dates_of_all_units_are_compared_as_dates(neighbors, edges, seeds):
    A = graph()
    rng = np.random.default_rng(2)
    time = (np.datetime64("2019-06-01", "D") + rng.integers(0, 400, A.nnz)).astype(edges)
    seed_time = (np.datetime64("2020-01-01", "D") + rng.integers(-99, 99, 9)).astype(seeds)
    expected = drawn(
        neighbors, A, *((x.astype("M8[us]").astype(np.int64)) for x in (time, seed_time))
    )
    assert expected.size > 0
    assert np.array_equal(drawn(neighbors, A, time, seed_time), expected)


@pytest.mark.parametrize("kind", [">i8", ">i4", np.uint64, np.uint32, np.int16])
def test_integers_of_all_types(neighbors, kind):
    A = graph()
    time = np.random.default_rng(3).integers(0, 100, A.nnz)
    expected = drawn(neighbors, A, time, np.array([40, 60]))
    assert np.array_equal(
        drawn(neighbors, A, time.astype(kind), np.array([40, 60], kind)), expected
    )


def test_types_of_edges_with_times_of_other_units(neighbors):
    A = {("a", "r", "a"): graph(), ("a", "s", "a"): graph()}
    time = {
        t: np.full(a.nnz, np.datetime64("2020-01-02", unit))
        for (t, a), unit in zip(A.items(), ("D", "ns"), strict=True)
    }
    for day, some in (("2020-01-01", False), ("2020-01-02", True)):
        S = neighbors(A, {"a": [3]}, [-1], time=time, seed_time={"a": np.array([day], "M8[s]")})
        assert all((edges.size > 0) == some for edges in S.edges.values())


def test_what_is_no_time_is_refused(neighbors):
    A = graph()
    days = np.full(A.nnz, np.datetime64("2020-01-02", "D"))
    missing = days.copy()
    missing[7] = "NaT"
    huge = np.full(A.nnz, 5, np.uint64)
    huge[3] = 2**63 + 1
    for error, match, time, seed_time in (
        (ValueError, r"time\[7\] is NaT", missing, days[:1]),
        (ValueError, r"seed_time\[0\] is NaT", days, np.array(["NaT"], "M8[s]")),
        (ValueError, r"time\[3\]=9223372036854775809 is beyond", huge, [1]),
        (ValueError, r"seed_time\[0\]=9223372036854775809 is beyond", [1] * A.nnz, huge[3:4]),
        (ValueError, "holds: give all in a coarser", days.astype("M8[ns]"), np.array(["9999-01-01"], "M8[D]")),
        (TypeError, r"datetime64\[D\] and seed_time int64", days, [18000]),
        (TypeError, r"datetime64\[D\] and time int64", [18000] * A.nnz, days[:1]),
        (ValueError, "time has 2 masked entries", np.ma.array(days, mask=np.arange(A.nnz) < 2), days[:1]),
        (TypeError, "must be integers, not float64", [0.5] * A.nnz, [1]),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            drawn(neighbors, A, time, seed_time)


def test_seeds_beyond_int64_and_masked_ones(neighbors):
    A = graph()
    with pytest.raises(ValueError, match=r"seeds\[1\]=9223372036854775809 is beyond 2\^63 - 1"):
        neighbors(A, np.array([1, 2**63 + 1], np.uint64), [2])
    with pytest.raises(ValueError, match=r"seeds has 1 masked entries: give seeds.compressed\(\)"):
        neighbors(A, np.ma.array([1, 2], mask=[False, True]), [2])
    assert neighbors(A, np.ma.array([1, 2]), [0]).vertices.tolist() == [1, 2]
