"""What the oracle says of local products: seconds by hand, what falls and rises with what, and its calibration."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import _core
from penstock.dist import _calibrate_products, _layouts, _local_price, _network, _oracle, _price

FREE = _network.Link(0.0, 0.0, 1e30, 1 << 40, 0.0)
CURVES = {"rank_products": ((1e3, 4e9), (1e5, 1e9)), "node_products": ((1e3, 8e9), (1e6, 1e9))}


def network(**change: Any) -> Any:
    """Ranks of one node that are bounded by nothing but their own work; messages are free."""
    base = {"name": "toy", "source": "", "ranks_per_node": 8, "at_once": 8, "inside": FREE, "outside": None,
            "node_bytes_per_s": 1e30, "inside_bytes_per_s": 1e30, "rank_read": 1e30, "node_read": 1e30,
            "cache_bytes": 0.0, "cache_read": 1e30, "node_cached": 1e30, "call_s": 0.0}  # fmt: skip
    return _network.Network(**{**base, **change})


def counts(read: Any, walked: Any = 0, uneven: Any = 0, **change: Any) -> Any:
    """Of ranks that read so many bytes and send nothing."""
    read = np.atleast_1d(np.asarray(read))
    ranks, none = read.size, np.zeros(read.size, np.int64)
    base = {"layout": "made", "ranks": ranks, "shape": (1000, 1000), "nnz": none + 5000 // ranks, "rows": none,
            "read_bytes": read, "pairs": np.zeros((0, 2), np.int64), "x": none[:0], "sums": none[:0],
            "owned_x": none + 1000 // ranks, "grid": (ranks, 1), "mad": 0.0, "imbalance": 1.0, "entry_bytes": 8,
            "walked": none + walked, "again_bytes": none, "uneven": none + uneven}  # fmt: skip
    return _layouts.Counts(**{**base, **change})


def seconds(c: Any, net: Any, irregular: Any = 1.0) -> float:
    return _price.price(c, net, irregular=irregular).compute


def test_a_product_takes_its_bytes_and_its_rows() -> None:
    net = network(**CURVES, row_s=1e-9, uneven_s=3e-9)
    middle = (1 / 4e9 + 1 / 1e9) / 2  # of a byte, half way between the logarithms
    assert seconds(counts(10_000, 70, 20), net) == pytest.approx(10_000 * middle + 130e-9)
    assert seconds(counts(10_000, 70, 20), net, 3.0) == pytest.approx(30_000 * middle + 130e-9)
    assert seconds(counts(10), net) == pytest.approx(10 / 4e9)  # below the curve and beyond it
    assert seconds(counts(10**6), net) == pytest.approx(10**6 / 1e9)
    # Four ranks: 2e5 bytes are what the node reads slower than each of them its own.
    node = np.interp(np.log(2e5), np.log([1e3, 1e6]), [1 / 8e9, 1 / 1e9])
    assert seconds(counts([50_000] * 4), net) == pytest.approx(2e5 * node)
    alone = np.interp(np.log(5e4), np.log([1e3, 1e5]), [1 / 4e9, 1 / 1e9])
    fast = network(**{**CURVES, "node_products": ((1e3, 1e12),)})
    assert seconds(counts([50_000] * 4), fast) == pytest.approx(5e4 * alone)


def test_seconds_rise_with_bytes_rows_and_unevenness() -> None:
    net = network(**CURVES, row_s=1e-9, uneven_s=3e-9)
    for values in ([counts(n) for n in (0, 1, 10**3, 10**4, 10**6, 10**9)],
                   [counts(10**4, n) for n in (0, 1, 100, 10**6)],
                   [counts(10**4, 100, n) for n in (0, 50, 100)]):  # fmt: skip
        times = [seconds(c, net) for c in values]
        assert times == sorted(times) and len(set(times)) == len(times)
    times = [seconds(counts(10**4), net, f) for f in (0.2, 0.5, 1, 2, 9)]
    assert times == sorted(times) and len(set(times)) == 5


def test_what_a_product_waits_for_is_said() -> None:
    net = network(**CURVES, row_s=1e-9, uneven_s=3e-9)
    slow = network(**{**CURVES, "node_products": ((1e3, 1e6),)})
    found = {
        "bytes": _price.price(counts(10**5), net),
        "rows": _price.price(counts(10, 10**6), net),
        "uneven": _price.price(counts(10, 10**6, 10**6), net),
        "node": _price.price(counts([10**5] * 2), slow),
    }
    assert {name: p.bound for name, p in found.items()} == {n: n for n in _local_price.BOUNDS}
    f = ps.dist.predict_scaling(ps.generate.laplacian((20, 20)), [1, 2], "10gbe")
    assert any(_local_price.BOUNDS[f.recommended().bound] in w for w in f.words())
    assert f.as_dict()["predictions"][0]["bound"] in _local_price.BOUNDS


def test_files_of_older_versions_are_read(tmp_path: Path) -> None:
    new = ps.dist.networks["shared-memory"]
    new.save(tmp_path / "n.json")
    facts = json.loads((tmp_path / "n.json").read_text())
    for name in ("rank_products", "node_products", "gather_s", "uneven_s", "threads"):
        del facts[name]
    del facts["inside"]["hidden"]
    (tmp_path / "n.json").write_text(json.dumps(facts))
    old = ps.dist.Network.load(tmp_path / "n.json")
    assert old == new and old.rank_products == () and old.inside.hidden == ()
    c = counts([10**9] * 2)  # in memory, by cache_bytes
    each = max(10**9 / min(old.rank_read, old.cache_read), 2 * 10**9 / old.node_read)
    assert seconds(c, old) == pytest.approx(each + old.call_s)
    both = network(**CURVES, gather_s=((1e3, 0.0), (1e6, 1e-9)))
    both.save(tmp_path / "n.json")
    assert ps.dist.Network.load(tmp_path / "n.json") == both
    assert both.on(4).rank_products == tuple((n, 2 * rate) for n, rate in both.rank_products)
    for bad in (((1e3, 0.0),), ((1e3, 1.0), (1e3, 2.0)), ((1e3,),), 7, (("x", 1.0),)):
        with pytest.raises(ValueError, match="rank_products"):
            network(rank_products=bad)
    with pytest.raises(ValueError, match="hidden"):
        _network.Link(0.0, 0.0, 1.0, 1, 0.0, hidden=((1e3, -1.0),))


def test_gathering_falls_with_the_parts_of_x() -> None:
    gather = ((800.0, 0.0), (8000.0, 1e-9))
    net = network(
        gather_s=gather, **{**CURVES, "rank_products": ((1.0, 1e9),), "node_products": ()}
    )
    plain = seconds(counts([10**4] * 2), net)
    pairs, all_of_x = np.array([[0, 1], [1, 0]]), np.array([500, 500])
    near = counts([10**4] * 2)  # no halo: as irregular as the whole
    far = counts([10**4] * 2, pairs=pairs, x=all_of_x, sums=0 * all_of_x)
    assert seconds(near, net, 3.0) == pytest.approx(3 * plain)
    left = np.log(4000 / 800) / np.log(8000 / 800)  # of what x costs, in parts of 4000 bytes
    assert seconds(far, net, 3.0) == pytest.approx((1 + 2 * left) * plain, rel=1e-6)
    assert seconds(far, net, 0.5) == pytest.approx(plain / 2)
    unknown = network(**{**CURVES, "rank_products": ((1.0, 1e9),), "node_products": ()})
    assert seconds(far, unknown, 3.0) == pytest.approx(3 * plain)
    assert seconds(counts(10**4), net, 3.0) == pytest.approx(3e4 / 1e9), "one rank has it all"


def test_what_memory_adds_ends_in_cache() -> None:
    """The matrix, 84 KB, lies in memory, and parts of it in caches."""
    net = network(rank_products=((1e4, 4e9), (5e4, 1e9)))
    parts, same = counts([10**4] * 8), counts([8 * 10**4] * 8)
    assert seconds(parts, net, 3.0) == pytest.approx(10**4 / 4e9)
    assert seconds(same, net, 3.0) == pytest.approx(3 * 8 * 10**4 / 1e9)
    cached = network(rank_products=((1e6, 4e9), (5e6, 1e9)))
    assert seconds(parts, cached, 3.0) == pytest.approx(3 * 10**4 / 4e9)


def test_irregularity_is_what_explains_the_seconds() -> None:
    A = ps.generate.uniform(3000, 3000, 8, seed=1)
    net = network(**CURVES, row_s=1e-9, uneven_s=1e-9)
    whole = _layouts.count(A, "contiguous", 1)
    for wanted in (0.3, 1.0, 4.0):
        spent = seconds(whole, net, wanted)
        assert _oracle.irregular_of(spent, whole, net) == pytest.approx(wanted, rel=1e-6)
    assert _oracle.irregular_of(0.0, whole, net) == pytest.approx(0.2)
    before = ps.num_threads()
    assert 0.2 <= _oracle.irregularity(A, network(threads=1), 0.01) <= 64.001
    small = network(threads=1, rank_products=((1e5, 4e9), (1e6, 1e9)))
    band = ps.generate.banded(3000, list(range(-4, 5)))
    whole, cached = _oracle.irregularity(band, small, 0.01)
    assert 0.2 <= whole <= 64.001 and 0.2 <= cached <= 64.001
    wide = ps.generate.uniform(3000, 9000, 8, seed=1)
    assert isinstance(_oracle.irregularity(wide, small, 0.01), float), "its rows need all of x"
    c = counts([10**5] * 2, nnz=np.array([10**5] * 2))
    assert seconds(c, small, (3.0, 2.0)) == pytest.approx(2e5 / 4e9)
    assert seconds(
        counts([10**6] * 2, nnz=np.array([10**5] * 2)), small, (3.0, 2.0)
    ) == pytest.approx(3e-3)
    assert seconds(counts(10**6), small, (3.0, 2.0)) == pytest.approx(3e-3)
    assert ps.num_threads() == before


@pytest.mark.parametrize("name", ["contiguous", "balanced", "grid", "bins"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_uneven_rows_are_counted(name: str, ranks: int) -> None:
    A = ps.generate.rmat(7, 4, seed=3)
    p = getattr(ps.partition, name)(A, ranks)
    parts, cols = p.entry_parts(A), p.col_owners[np.asarray(A.indices)]
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    pieces = [np.asarray(v) for v in p.pieces]
    wide, found = p.grid[1], []
    for part in range(ranks):
        whole = np.flatnonzero(p.owners // wide == part // wide)
        whole = whole[~np.isin(whole, pieces[0])]
        mine = np.concatenate([whole, np.unique(pieces[0][pieces[3] == part])])
        here, ghost = parts == part, cols != part
        own, far = (
            np.bincount(row[here & some], minlength=A.shape[0])[mine] for some in (~ghost, ghost)
        )
        far = far[far > 0]
        found.append(np.count_nonzero(np.diff(own)) + np.count_nonzero(np.diff(far)))
    assert p.metrics(A).uneven.tolist() == found
    c = _layouts.count(A, "bins_gather", ranks)
    m = ps.partition.bins(A, ranks).metrics(A)
    assert c.walked[0] == A.shape[0] + m.ghost_rows[0]
    assert np.array_equal(c.walked[1:], (m.held + m.ghost_rows)[1:])
    assert (np.asarray(c.uneven) <= c.walked).all() and c.uneven[0] >= m.uneven[0]


def test_distributed_matrices_count_them_too() -> None:
    A = ps.generate.rmat(7, 4, seed=3)

    def work(comm: Any) -> list[int]:
        return (
            ps.dist.csr_array(A, comm, partition="contiguous", halo="isend")
            .metrics()
            .uneven.tolist()
        )

    assert ps.dist.run(work, 3)[0] == ps.partition.contiguous(A, 3).metrics(A).uneven.tolist()


@pytest.mark.parametrize(
    ("at_once", "per_node", "ranks"), [(2, 4, 7), (1, 3, 3), (2, 4, 4), (4, 4, 9)]
)
def test_ranks_that_share_a_core_hold_each_other_up(
    at_once: int, per_node: int, ranks: int
) -> None:
    net = network(at_once=at_once, ranks_per_node=per_node, outside=FREE)
    n, own = _price._Nodes(net, ranks), np.random.default_rng(1).random(ranks)
    wanted = []
    for r in range(ranks):
        others = [s for s in range(ranks) if n.node[s] == n.node[r] and s != r]
        turns = max((len(others) + 1) / at_once - 1, 0)
        wanted.append(own[r] + turns * np.mean([min(own[r], own[s]) for s in others] or [0]))
    assert n.shared(own) == pytest.approx(np.array(wanted))


def test_sums_wait_for_those_who_make_them() -> None:
    slow = network(rank_products=((1.0, 1e9),), rank_read=1e9)
    pairs, sums = np.array([[1, 0]]), np.array([100])
    c = counts([1000, 50_000], pairs=pairs, x=0 * sums, sums=sums)
    assert _price.price(c, slow).seconds == pytest.approx(5e-5 + 3.5 * 800 / 1e9)
    r = counts([1000, 50_000], layout="grid_reduce", grid=(1, 2), rows=np.array([100, 0]))
    moved = (_price._SPREAD + _price._SUMMED + _price._TAKEN) * 800 / 1e9
    assert _price.price(r, slow).seconds == pytest.approx(5e-5 + moved)


def test_messages_pass_beside_work_as_far_as_was_measured() -> None:
    link = _network.Link(0.0, 0.0, 1e9, 1 << 20, 0.0, hidden=((800.0, 1.0), (80_000.0, 0.0)))
    net = network(ranks_per_node=1, at_once=1, outside=link, inside=link, rank_products=((1.0, 1e9),),
                  node_bytes_per_s=1e30)  # fmt: skip
    x = np.array([1000])
    c = counts([10**5] * 2, pairs=np.array([[0, 1]]), x=x, sums=0 * x)  # 8000 bytes: half way
    assert _price.price(c, net).communicate == pytest.approx(4e-6)
    eager = network(ranks_per_node=1, at_once=1, outside=FREE, rank_products=((1.0, 1e9),))
    assert _price.price(c, eager).communicate == pytest.approx(0.0, abs=1e-12)


def test_all_of_x_enters_a_node_but_for_what_it_has() -> None:
    link = _network.Link(0.0, 0.0, 1e9, 1 << 40, 0.0)
    alone = network(ranks_per_node=1, at_once=1, outside=link, inside=link, node_bytes_per_s=1e9,
                    inside_bytes_per_s=1e9)  # fmt: skip
    p = _price.price(counts([0] * 4), alone, halo="sync")
    assert p.seconds == pytest.approx(750 * 8 / 1e9)
    pair = network(ranks_per_node=2, at_once=2, outside=link, inside=FREE, node_bytes_per_s=1e9)
    assert _price.price(counts([0] * 4), pair, halo="sync").seconds == pytest.approx(4e-6)


def test_an_exchange_beside_work_takes_as_long_at_least() -> None:
    times = ps.dist.run(lambda comm: _core.exchange_round(comm, [1, 0], 4096, 3, 0.002), 2)
    assert times[0] == times[1] > 0.001
    with pytest.raises(ValueError, match="of work"):
        ps.dist.run(lambda comm: _core.exchange_round(comm, [1, 0], 8, 1, -1.0), 2, timeout=20)


@pytest.mark.parametrize("ranks", [1, 3])
def test_products_are_calibrated(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_calibrate_products, "caches", lambda cpus: (1 << 20, 2 << 20))
    found = ps.dist.run(lambda comm: _calibrate_products.products(comm, 1, ranks, [0, 1]), ranks)
    facts = found[0]
    assert all(f == facts for f in found)
    for name in ("rank_products", "node_products", "gather_s"):
        sizes, values = np.array(facts[name]).T
        assert np.isfinite(values).all() and (values >= 0).all() and (np.diff(sizes) > 0).all()
        assert name == "gather_s" or (values > 1e6).all()
    assert (np.diff([s for _, s in facts["gather_s"]]) >= 0).all()
    assert facts["node_products"][0][0] == pytest.approx(ranks * facts["rank_products"][0][0])
    assert facts["cache_bytes"] == 2 << 20 and 0 <= facts["row_s"] < 1e-5
    assert all(
        math.isfinite(facts[k]) and facts[k] >= 0 for k in ("uneven_s", "cache_read", "node_cached")
    )


def test_caches_are_those_of_the_processors() -> None:
    one, of_all = _calibrate_products.caches(_oracle_cpus())
    assert 1 << 15 <= one <= of_all < 1 << 40
    assert _calibrate_products.caches([]) == (_core.topology()["cache_bytes"],) * 2


def _oracle_cpus() -> list[int]:
    return list(range(_core.topology()["cpus"]))
