"""The scaling oracle: counts equal those of distributed matrices, prices follow their parts, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps
from penstock import _core
from penstock.dist import _calibrate, _layouts, _network, _oracle, _price, _stencils

CASES = {
    "rmat": lambda: ps.generate.rmat(7, 6, seed=2),
    "stencil": lambda: ps.generate.laplacian((9, 8)),
    "wide": lambda: ps.generate.uniform(40, 70, 5, seed=3),
    "long row": lambda: _arrow(60),
}


def _arrow(n: int) -> Any:
    """A full first row, which bins split, and a diagonal; one empty row."""
    row = np.concatenate([np.zeros(n, int), np.arange(1, n - 1)])
    col = np.concatenate([np.arange(n), np.arange(1, n - 1)])
    return ps.csr_array((np.ones(row.size), (row, col)), shape=(n, n))


def run(*words: Any, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["scale", *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_counts_are_those_of_distributed_matrices(name: str, ranks: int) -> None:
    A = CASES[name]()

    def work(comm: Any, layout: str) -> tuple[Any, ...]:
        D = ps.dist.csr_array(A, comm, partition=layout, halo="isend")
        D @ D.share(np.ones(A.shape[1]))
        return D.metrics(), D.halo["sent_bytes"], D.halo["messages"], D.halo["received_bytes"]

    for layout in ("contiguous", "balanced", "grid", "bins"):
        c = _layouts.count(A, layout, ranks)
        ran = ps.dist.run(work, ranks, layout)
        m = ran[0][0]
        assert np.array_equal(c.nnz, m.nnz) and np.array_equal(c.rows, m.rows), layout
        pairs = [tuple(p) for p in c.pairs.tolist()]
        found = dict(zip(pairs, zip(c.x.tolist(), c.sums.tolist(), strict=True), strict=True))
        both = zip(m.exchange.tolist(), m.sums.tolist(), strict=True)
        assert found == {(f, t): (v - s, s) for (f, t, v), s in both}, layout
        assert int(c.messages().sum()) == m.messages, layout
        for r, (_, *real) in enumerate(ran):
            mine = [c.sent_bytes()[r], c.messages()[r], c.received_bytes()[r]]
            assert real == mine, f"{layout}, rank {r} of {ranks}: bytes out, messages, bytes in"


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_gathered_sums_are_counted(ranks: int) -> None:
    A = ps.generate.laplacian((9, 8))
    c = _layouts.count(A, "bins_gather", ranks)

    def foreign(comm: Any) -> tuple[int, int]:
        D = ps.dist.csr_array(A, comm, partition="bins", sums="gather")
        plan = D._core.sums_plan
        return int(plan["receive_offsets"][-1]), int(D._core.plan["receive_offsets"][-1])

    got = ps.dist.run(foreign, ranks)
    mine = np.bincount(c.pairs[:, 0], c.sums, minlength=ranks)
    assert [g[0] for g in got] == mine.astype(int).tolist()
    ghosts = np.bincount(c.pairs[:, 1], c.x, minlength=ranks)
    assert [g[1] for g in got] == ghosts.astype(int).tolist()


@pytest.mark.parametrize(
    ("extent", "ranks"), [((4, 4, 4), 8), ((3, 5), 6), ((7,), 3), ((5, 4, 6), 4), ((4, 3, 2), 1)]
)
def test_stencils_are_counted_without_a_matrix(extent: tuple[int, ...], ranks: int) -> None:
    grid = _stencils.process_grid(ranks, len(extent))
    whole = [n * p for n, p in zip(extent, grid, strict=True)]
    A = ps.generate.laplacian(whole)
    place = np.unravel_index(np.arange(A.shape[0]), whole[::-1])[::-1]
    stride = np.cumprod([1, *grid[:-1]])
    label = sum((i // n) * s for i, n, s in zip(place, extent, stride, strict=True))
    for c in ps.dist.stencil_counts(extent, ranks):
        p = (
            ps.partition.contiguous(A, ranks)
            if c.layout == "contiguous"
            else ps.partition.labels(A, label, ranks)
        )
        m = p.metrics(A)
        mine = np.concatenate([c.pairs, c.x[:, None]], 1)
        assert np.array_equal(mine[np.lexsort((mine[:, 0], mine[:, 1]))], m.exchange)
        assert np.array_equal(c.nnz, m.nnz) and np.array_equal(c.read_bytes, m.bytes)
        again = _layouts.again_bytes(m.ghost_rows, False, 8)
        walked = m.held + m.ghost_rows
        assert (c.walked >= walked).all() and (c.again_bytes >= again).all()
        assert c.layout != "contiguous" or np.array_equal(c.walked, walked)
        assert c.layout != "contiguous" or np.array_equal(c.again_bytes, again)
        assert (c.mad, c.imbalance) == pytest.approx((m.mad, m.imbalance))
    with pytest.raises(ValueError, match="1 to 3 axes"):
        ps.dist.stencil_counts((), 4)


def simple(**change: Any) -> Any:
    """A network of round figures: one rank a node, nothing shared."""
    link = _network.Link(1e-6, 1e-7, 1e9, 1000, 4e-6)
    base = {"name": "toy", "source": "", "ranks_per_node": 1, "at_once": 1, "inside": link, "outside": link,
            "node_bytes_per_s": 1e9, "inside_bytes_per_s": 1e9, "rank_read": 1e10, "node_read": 1e10,
            "cache_bytes": 0.0, "node_cached": 1e12,
            "cache_read": 1e10, "call_s": 0.0}  # fmt: skip
    return _network.Network(**{**base, **change})


def two_ranks(values: int) -> Any:
    """Two ranks without work, of which the first sends the other some sums, so that nothing overlaps."""
    return _layouts.Counts(
        "made", 2, (2, 2), np.zeros(2, int), np.zeros(2, int), np.zeros(2, int), np.array([[0, 1]]),
        np.array([0]), np.array([values]), np.ones(2, int), (2, 1), 0.0, 1.0, 8,
        np.zeros(2, int), np.zeros(2, int),
    )  # fmt: skip


def test_a_message_costs_what_loggp_says() -> None:
    small, large = (_price.price(two_ranks(n), simple()).seconds for n in (100, 1000))
    added = lambda n: 3.5 * 8 * n / 1e10  # noqa: E731
    assert small == pytest.approx(1e-6 + 1e-7 + 800 / 1e9 + added(100))
    assert large == pytest.approx(1e-6 + 4e-6 + 2e-7 + 8000 / 1e9 + added(1000)), "rendezvous"
    far = _price.price(two_ranks(100), simple(nodes_per_switch=1, hop_s=1e-5)).seconds
    assert far == pytest.approx(small + 1e-5)
    free = _price.price(two_ranks(0), simple()).seconds
    assert free == 0


def test_eager_messages_travel_while_ranks_work() -> None:
    A = ps.generate.laplacian((12, 4000))  # much work, a small halo
    c = _layouts.count(A, "contiguous", 2)
    p = _price.price(c, simple())
    own = (c.read_bytes + c.again_bytes).max() / 1e10
    assert p.compute == pytest.approx(own) and p.communicate < 1e-6
    asked = simple(outside=_network.Link(1e-6, 1e-7, 1e9, 1, 4e-6))
    assert _price.price(c, asked).communicate > p.communicate


def test_rows_with_ghosts_are_walked_again() -> None:
    A = ps.generate.rmat(8, seed=1, dtype=np.float64)
    m = ps.partition.bins(A, 4).metrics(A)
    c = _layouts.count(A, "bins", 4)
    assert (m.ghosts_most > _layouts.SHORT).all()
    assert np.array_equal(c.walked, m.held + m.ghost_rows)
    assert np.array_equal(c.again_bytes, (12 + 4 * 8) * m.ghost_rows)
    free, slow = (_price.price(c, simple(row_s=s)).compute for s in (0.0, 1e-6))
    assert slow - free == pytest.approx(c.walked.max() * 1e-6, rel=0.02)
    short = _layouts.count(ps.generate.laplacian((9, 8)), "contiguous", 2)
    assert np.array_equal(short.walked, [45, 45]) and np.array_equal(short.again_bytes, [252, 252])
    spent = _price.price(c, simple(row_s=1e-8), irregular=3.0)
    whole = _layouts.count(A, "contiguous", 1)
    at_once = _price.price(whole, simple(row_s=1e-8), irregular=3.0).compute
    assert spent.compute < at_once
    assert _oracle.irregular_of(at_once, whole, simple(row_s=1e-8)) == pytest.approx(3.0)


def test_ranks_share_cores_memory_and_adapters() -> None:
    A = ps.generate.uniform(4000, 4000, 8, seed=1)
    c = _layouts.count(A, "balanced", 4)
    alone = _price.price(c, simple())
    cores = _price.price(c, simple(ranks_per_node=4, at_once=1, node_read=1e12))
    again = float(c.again_bytes.sum())
    assert cores.compute == pytest.approx((float(c.read_bytes.sum()) + again) / 1e10)
    memory = _price.price(c, simple(ranks_per_node=4, at_once=4, node_read=2e10))
    assert memory.compute == pytest.approx((float(c.read_bytes.sum()) + again) / 2e10)
    assert alone.compute < memory.compute < cores.compute
    twice = _price.price(c, simple(), irregular=2.0)
    most = int((c.read_bytes + c.again_bytes).argmax())
    assert twice.compute == pytest.approx(alone.compute + c.read_bytes[most] / 1e10)
    slow = _price.price(c, simple(node_bytes_per_s=1e6))
    assert slow.communicate > 10 * alone.communicate


def test_whole_vectors_and_reductions() -> None:
    A = ps.generate.rmat(8, 8, seed=1)
    c = _layouts.count(A, "balanced", 4)
    sync = _price.price(c, simple(), halo="sync")
    assert sync.halo == "sync" and sync.messages_all == 12 and sync.bytes_all == 3 * 256 * 8
    grid = _layouts.count(A, "grid_reduce", 4)
    reduced = _price.price(grid, simple())
    x_bytes, _ = grid.phases()
    assert reduced.bytes_all == x_bytes.sum() + 2 * 128 * 8, (
        "two of four ranks send half of the rows"
    )
    assert reduced.messages_all == np.count_nonzero(grid.x) + 2
    owners = _price.price(_layouts.count(A, "grid", 4), simple())
    assert reduced.seconds > owners.seconds and reduced.bytes_most > 0
    gathered = _price.price(_layouts.count(A, "bins_gather", 4), simple())
    assert gathered.messages_most >= 3 and gathered.bytes_most >= 8 * (256 - 64)
    with pytest.raises(ValueError, match="messages, sync"):
        _price.price(c, simple(), halo="isend")


def test_ranks_that_gather_sums_meet() -> None:
    A = ps.generate.rmat(8, 8, seed=1)
    for layout, ranks, meetings in (("bins_gather", 4, 1), ("bins", 4, 0), ("bins_gather", 1, 0)):
        c = _layouts.count(A, layout, ranks)
        free, paid = (_price.price(c, simple(gather_call_s=s)).seconds for s in (0.0, 3e-5))
        assert paid - free == pytest.approx(meetings * 3e-5, abs=1e-12)
    c = _layouts.count(A, "bins_gather", 4)
    crowded = [
        _price.price(c, simple(ranks_per_node=4, at_once=2, gather_call_s=s)).seconds
        for s in (0.0, 3e-5)
    ]
    assert crowded[1] - crowded[0] == pytest.approx(6e-5), "two ranks take turns on a core"


def test_a_forecast_knows_where_scaling_stops() -> None:
    A = ps.generate.laplacian((40, 40, 40))
    slow = simple(outside=_network.Link(1e-4, 1e-6, 1e8, 1 << 30, 0.0), node_bytes_per_s=1e8)
    f = ps.dist.predict_scaling(A, [1, 2, 4, 8, 16, 32], slow, layouts=["contiguous", "bins"])
    assert f.ranks() == [1, 2, 4, 8, 16, 32] and f.layouts() == ["contiguous", "bins"]
    assert f.efficiency(f.base()) == 1
    times = [p.seconds for p in f.of("contiguous")]
    assert f.stops("contiguous") < 32 and min(times) < times[-1] / 0.97
    best = f.recommended()
    assert best.layout == "contiguous" and f.efficiency(best) >= 0.5
    assert "contiguous" in f.words()[0] and any("stops" in w for w in f.words())
    fast = ps.dist.predict_scaling(A, [1, 2, 4], "shared-memory", layouts=["balanced"])
    assert fast.recommended().ranks == 4
    assert f.between(best) == (0.5 * best.seconds, 2 * best.seconds), "nobody measured this network"
    assert plain_range(f, best) in f.words()[0]
    with pytest.raises(KeyError, match="no prediction"):
        f.at("grid", 2)
    plain = f.as_dict()
    assert json.dumps(plain) and plain["recommended"]["layout"] == "contiguous"
    assert len(plain["predictions"]) == 12 and plain["predictions"][0]["speedup"] == pytest.approx(
        1, rel=0.2
    )


def plain_range(f: Any, p: Any) -> str:
    return " to ".join(_oracle._time(s) for s in f.between(p))


def test_the_range_of_a_prediction_depends_on_the_job() -> None:
    far = _network.Link(1e-6, 1e-7, 1e9, 1 << 30, 0.0)
    rates = ((1e6, 1e10), (1e8, 5e9))
    nodes = simple(
        outside=far, rank_products=rates, node_products=rates, ranks_per_node=4, at_once=2
    )
    assert [nodes.job(p) for p in (1, 2, 3, 4, 5)] == [
        "one rank", "a core for each rank", *["ranks that share cores"] * 2, "several nodes"]  # fmt: skip
    one = simple(
        outside=None, rank_products=rates, node_products=rates, ranks_per_node=4, at_once=2
    )
    assert one.job(16) == "ranks that share cores"
    assert simple(outside=far).job(1) == "a preset"
    assert nodes.spread(5) == _network.SPREAD["several nodes"]
    assert all(low < 1 < high for low, high in _network.SPREAD.values())


def test_weak_scaling() -> None:
    f = ps.dist.predict_weak_scaling(
        lambda p: ps.dist.stencil_counts((16, 16, 16), p), [1, 8, 4096], simple()
    )
    assert f.best(4096).layout == "cubes" and 0 < f.efficiency(f.best(4096)) <= 1
    assert {p.layout for p in f.rows if p.ranks == 4096} == {"cubes"}, "less than a plane a rank"

    def make(p: int) -> Any:
        if p > 2:
            raise MemoryError("too large")
        return ps.generate.uniform(100 * p, nnz_per_row=4, seed=1)

    g = ps.dist.predict_weak_scaling(make, [1, 2, 4], simple(), layouts=["balanced"])
    assert g.ranks() == [1, 2] and "too large" in next(iter(g.left_out.values()))


def test_wrong_arguments() -> None:
    A = ps.generate.laplacian((4, 4))
    for bad, text in (({"layouts": ["round"]}, "round"), ({"halo": "none"}, "none"), ({"network": "token"}, "token"),
                      ({"ranks": []}, "at least one"), ({"ranks": [0]}, "from 1")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            ps.dist.predict_scaling(A, **{"ranks": [1], **bad})
    wide = ps.generate.uniform(4, 9, 2, seed=1)
    with pytest.raises(ValueError, match="square"):
        ps.dist.predict_scaling(wide, [2], layouts=["label_propagation"])


@pytest.mark.parametrize("step", [0.0, 5e-6])
def test_a_ping_pong_is_fitted(step: float) -> None:
    rng = np.random.default_rng(1)
    curve = [
        (n, (2e-6 + n / 5e9 + (step if n > 4096 else 0)) * rng.uniform(0.99, 1.01))
        for n in _calibrate.SIZES
    ]
    found = _calibrate.fit(curve)
    assert found["latency_s"] == pytest.approx(2e-6, rel=0.1)
    assert found["bytes_per_s"] == pytest.approx(5e9, rel=0.1)
    if step:
        assert found["eager_bytes"] == 4096 and found["handshake_s"] == pytest.approx(5e-6, rel=0.2)
    else:
        assert found["handshake_s"] < 0.5e-6 or found["eager_bytes"] > 1 << 17


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_calibration_over_threads(
    ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    all_facts = ps.dist.run(ps.dist.calibrate, ranks, seconds=0.05)
    facts = all_facts[0]
    assert all(f == facts for f in all_facts)
    assert (facts["ranks"], facts["comm"], facts["ranks_per_node"]) == (ranks, "threads", ranks)
    net = ps.dist.Network.of(facts)
    assert net.outside is None and net.rank_read > 1e8 and net.inside.latency_s < 0.1
    assert 0 <= net.gather_call_s < 0.1 and (ranks > 1 or net.gather_call_s == 0)
    assert ("inside" in facts["curves"]) == (ranks > 1)
    assert _calibrate.known() is None
    assert _calibrate.keep(facts).parent == tmp_path
    assert _calibrate.known() == net
    _calibrate.cache_file().write_text("{")
    assert _calibrate.known() is None
    A = ps.generate.laplacian((20, 20, 20))
    f = ps.dist.predict_scaling(A, [1, 2], net, layouts=["contiguous"], irregular=None)
    assert f.irregular >= 0.2 and f.at("contiguous", 2).seconds > 0


def test_measurements_refuse_what_they_cannot_measure() -> None:
    for f, text in (
        (lambda comm: _core.ping_pong(comm, 0, 0, [8], 0.01), "two different"),
        (lambda comm: _core.ping_pong(comm, 0, 1, [0], 0.01), "at least 1"),
        (lambda comm: _core.message_gap(comm, 0, 2), "two different"),
        (lambda comm: _core.exchange_round(comm, [1, -1], 8, 1), "who has another"),
        (lambda comm: _core.exchange_round(comm, [1], 8, 1), "one each"),
        (lambda comm: _core.triad(comm, 3, 1000, 1), "of 2 ranks"),
    ):
        with pytest.raises(ValueError, match=text):
            ps.dist.run(f, 2, timeout=20)
    times = ps.dist.run(lambda comm: _core.ping_pong(comm, 0, 2, [8, 1 << 16], 0.01), 3)
    assert times[0] == times[1] == times[2] and min(times[0]) > 0
    rounds = ps.dist.run(lambda comm: _core.exchange_round(comm, [2, -1, 0], 4096, 3), 3)
    assert rounds[0] == rounds[2] > 0


def test_networks_are_kept_in_files(tmp_path: Path) -> None:
    for name, net in ps.dist.networks.items():
        assert net.name == name and len(net.source) > 40
        net.save(tmp_path / "n.json", note="kept beside it")
        assert ps.dist.Network.load(tmp_path / "n.json") == net
    half = ps.dist.networks["slingshot"].on(64)
    assert half.rank_read == 36e9 and half.ranks_per_node == 64 and half.at_once == 64
    for text, match in (("{", "JSON"), ("[]", "not a measured"), ("{}", "measure again"),
                        ('{"penstock_network": 1}', "not a measured")):  # fmt: skip
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=match):
            ps.dist.Network.load(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="rank_read"):
        simple(rank_read=0.0)
    with pytest.raises(ValueError, match=r"inside\.latency_s"):
        simple(inside=_network.Link(-1.0, 0, 1, 1, 0))
    with pytest.raises(ValueError, match="at least 1"):
        simple().on(0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "a.mtx"
    ps.save(file, ps.generate.laplacian((12, 12)))
    said = run(file, "--ranks", "1..8,3", "--plot", tmp_path / "p.png")
    for word in ("contiguous", "bins_gather", "grid_reduce", "Use ", "200 Gb/s", "plot written"):
        assert word in said
    assert (tmp_path / "p.png").stat().st_size > 10_000
    found = json.loads(
        run("rmat:7,seed=2", "--ranks", "2,4", "--layouts", "balanced,bins", "--json")
    )
    assert [(p["layout"], p["ranks"]) for p in found["predictions"]] == [
        ("balanced", 2), ("bins", 2), ("balanced", 4), ("bins", 4)
    ]  # fmt: skip
    c = _layouts.count(ps.generate.rmat(7, seed=2), "bins", 4)
    assert found["predictions"][3]["mad"] == c.mad and found["nnz"] == int(c.nnz.sum())
    weak = json.loads(
        run("laplacian:8x8x8", "--weak", "--ranks", "1..512", "--network", "10gbe", "--json")
    )
    assert weak["kind"] == "weak" and weak["network"] == "10gbe"
    grown = json.loads(
        run("rmat:5", "--weak", "--ranks", "1,2,4", "--layouts", "balanced", "--json")
    )
    assert len(grown["predictions"]) == 3
    mine = json.loads(
        run(file, "--ranks", "1,2", "--network", "measured", "--layouts", "balanced", "--json")
    )
    assert mine["network"] == "measured" and mine["irregular"] != 1
    ps.dist.networks["slingshot"].save(tmp_path / "n.json")
    kept = json.loads(
        run(file, "--ranks", 2, "--network", tmp_path / "n.json", "--ranks-per-node", 2, "--json")
    )
    assert kept["network"] == "slingshot"


def test_the_command_refuses(tmp_path: Path) -> None:
    for words, text in (
        (("rmat:7", "--ranks", "4..2"), "powers of two"),
        (("rmat:7", "--ranks", "x"), "--ranks x"),
        (("rmat:7", "--network", "token-ring"), "token-ring"),
        (("rmat:7,9",), "KEY=VALUE"),
        (("rmat:7,colour=3",), "colour"),
        (("rmat:",), "say scale"),
        (("missing.mtx",), "no such file"),
        (("missing.mtx", "--weak"), "needs a generator"),
        (("rmat:5", "--weak", "--ranks", "3"), "powers of two"),
        (("rmat:5", "--weak", "--time-product"), "--time-product"),
    ):
        done = CliRunner().invoke(app, ["scale", *words])
        assert done.exit_code == 2 and text in done.output + str(done.stderr), (words, done.output)
