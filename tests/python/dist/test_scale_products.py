"""The oracle of products of tiles: counts and prices against brute force, rooflines, the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from penstock.cli.app import app
from penstock.dist._network import Link, Network
from typer.testing import CliRunner

import penstock as ps
from penstock import _core
from penstock.dist import _oracle_products, _roofline, _tile_choice, _tile_counts, _tile_price

RANKS = (1, 2, 3, 4, 6, 9)


def net(**change: Any) -> Network:
    """Round figures, one rank a node; an adapter moves the bytes."""
    link = Link(1e-6, 0.0, 1e9, 0, 0.0)
    base = {"name": "simple", "source": "a test", "ranks_per_node": 1, "at_once": 1, "inside": link, "outside": link,
            "node_bytes_per_s": 1e9, "inside_bytes_per_s": 1e9, "rank_read": 1e10, "node_read": 1e10,
            "cache_bytes": 0.0, "cache_read": 1e10, "node_cached": 1e10, "call_s": 0.0}  # fmt: skip
    return Network(**{**base, **change})


def wide() -> Any:
    return ps.generate.uniform(40, 70, 5, seed=3)


def blocks(length: int, parts: int) -> list[slice]:
    size = -(-length // parts)
    return [slice(a, min(a + size, length)) for a in range(0, length, size)]


@pytest.mark.parametrize("ranks", RANKS)
def test_counts_are_those_of_tiles(ranks: int) -> None:
    A, B = wide(), ps.generate.rmat(6, 5, seed=2, dtype=np.float64)
    B = ps.csr_array(np.vstack([B.toarray(), np.zeros((6, 64))]))  # 70 x 64, with empty rows
    a, b = A.toarray() != 0, B.toarray() != 0
    c, d = _tile_counts.count_spgemm(A, B, ranks), _tile_counts.count_spmm(A, 11, ranks)
    parts = math.lcm(*c.grid)
    rows, inner = blocks(40, parts), blocks(70, parts)
    for (i, r), (k, t) in ((x, y) for x in enumerate(rows) for y in enumerate(inner)):
        tile = a[r, t]
        assert c.a_nnz[i, k] == d.a_nnz[i, k] == tile.sum()
        blob = 8 * (tile.shape[0] + 1) + 8 * -(-int(tile.sum()) // 2) + 8 * int(tile.sum())
        assert c.a[i, k] == (blob if tile.any() else 0)
        for j, s in enumerate(blocks(64, parts)):
            products = (tile.astype(float) @ b[t, s]).sum()
            assert c.flops[i, k, j] == 2 * products, f"tile product {i}, {k}, {j} on {ranks} ranks"
            assert c.part[i, k, j] <= 12 * products + 8 * (tile.shape[0] + 1)
        for j, s in enumerate(blocks(11, c.grid[1])):
            assert d.flops[i, k, j] == 2 * tile.sum() * (s.stop - s.start)
            assert d.b[k, j] == 8 * tile.shape[1] * (s.stop - s.start)
    owners = np.bincount(c.a_owner.ravel(), minlength=ranks)
    assert c.grid[0] * c.grid[1] == ranks and owners.sum() == c.a_owner.size
    assert c.done.sum() >= (c.flops > 0).sum()


def test_wrong_counts_are_refused() -> None:
    A = wide()
    for call, error, text in (
        (lambda: _tile_counts.count_spmm(A, 0, 2), ValueError, "0 columns"),
        (lambda: _tile_counts.count_spmm(A, 4, 0), ValueError, "0 ranks"),
        (lambda: _tile_counts.count_spmm(A, 4, 4, grid=(1, 3)), ValueError, "not of 4 ranks"),
        (lambda: _tile_counts.count_spgemm(A, A, 4), ValueError, "70 columns"),
        (lambda: _tile_counts.count_spmm(ps.generate.uniform(900, seed=1), 900, 97, tiles=99), MemoryError, "exceed"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            call()


def test_the_first_figure_of_the_paper() -> None:
    """Ranks that wait at every stage lose more than ranks that meet at the end."""
    A = ps.generate.rmat(14, 8, a=0.6, b=0.4 / 3, c=0.4 / 3, undirected=False, seed=1)
    c = _tile_counts.count_spgemm(A, A, 64)
    assert 1 < c.imbalance < c.stage_imbalance(offset=False) < c.stage_imbalance()
    assert c.imbalance < 1.5 < 2 < c.stage_imbalance()
    assert c.by_rank().sum() == c.by_rank(offset=True).sum() == c.flops.sum()


def needed(c: Any, i: int, k: int, j: int) -> list[float]:
    """Bytes of the gets of B[k, j]: of a sparse tile row offsets and entries, or all."""
    if c.op == "spmm":
        return [round(c.b[k, j] * c.spans[i, k, 5])]
    bytes_of_b, offsets = c.rows_of_b[0][i, k, j], c.rows_of_b[1][i, k]
    return [offsets, bytes_of_b - offsets] if bytes_of_b < c.b[k, j] else [c.b[k, j]]


def had(c: Any, now: tuple[int, int], before: tuple[int, int], j: int) -> bool:
    """Whether the rows of B[k, j] that A[i, k] needs are among those fetched for another tile of A."""
    if c.spans is None:
        return len(needed(c, *before, j)) == 1
    low, high = c.spans[now][2:4]
    first, last, _, rows = c.spans[before][2:]
    return rows > 0.9 * (last - first) and first <= low and high <= last


def foreign(c: Any, r: int, i: int, k: int, j: int) -> list[float]:
    """Bytes of A and B that rank r has not."""
    b = sum(needed(c, i, k, j))
    return [c.a[i, k] * (c.a_owner[i, k] != r), b * (c.b_owner[k, j] != r)]


def sooner(c: Any, r: int, mine: list[Any], tile: tuple[int, int]) -> list[Any]:
    """The first stationary tile's products turned so that the one comes first that is here soonest."""
    group = [p for p in mine if [p[t] for t in tile] == [mine[0][t] for t in tile]]
    crowd = max(c.grid[1] - 1, 1), max(c.grid[0] - 1, 1)
    costs = [sum(n * m for n, m in zip(foreign(c, r, *p), crowd, strict=True)) for p in group]
    best = costs.index(min(costs)) if costs else 0
    if costs and costs[best] < sum(foreign(c, r, *group[0])):
        group = group[best:] + group[:best]
    return group + mine[len(group) :]


def played(c: Any, m: Any, stays: str) -> tuple[list[float], float]:
    """Seconds of each rank and bytes of all, product by product, in the order of the paper's algorithm 2; but a rank
    begins with what it has to fetch least for, and fetches nothing again that one of its two products before had."""
    M, K, N = c.tiles
    work = {r: [] for r in range(c.ranks)}
    outer = {"c": (M, N), "a": (M, K), "b": (K, N)}[stays]
    inner = {"c": K, "a": N, "b": M}[stays]
    for x in range(outer[0]):
        for y in range(outer[1]):
            for turn in range(inner):
                z = (turn + x + y) % inner
                i, k, j = {"c": (x, z, y), "a": (x, y, z), "b": (z, x, y)}[stays]
                if c.flops[i, k, j]:
                    owner = {"c": c.c_owner[i, j], "a": c.a_owner[i, k], "b": c.b_owner[k, j]}
                    work[int(owner[stays])].append((i, k, j))
    seconds, total = [0.0] * c.ranks, 0.0
    part, op_is_sparse = np.broadcast_to(c.part, c.tiles), c.op == "spgemm"
    for r, mine in work.items():
        before, kept = 0.0, []
        for i, k, j in sooner(c, r, mine, {"c": (0, 2), "a": (0, 1), "b": (1, 2)}[stays]):
            a, b = foreign(c, r, i, k, j)
            of_b = needed(c, i, k, j) if b else []
            # Where single rows of B travel, tiles of A are asked for one product earlier, and stay one longer.
            early = any(len(needed(c, *p)) > 1 and foreign(c, r, *p)[1] for p in mine)
            for last in kept[-2 - (op_is_sparse and early) :]:
                a *= (i, k) != last[:2]
            for last in kept[-2:]:
                if of_b and (k, j) == last[1:] and had(c, (i, k), last[:2], j):
                    of_b[-1] = 0.0
            need = [v for v in (a, *of_b) if v > 0]
            kept.append((i, k, j))
            total += sum(need)
            get = sum(2e-6 + v / 1e9 for v in need)
            own = max(c.flops[i, k, j] / m.flops, c.local[i, k, j] / m.memory)
            seconds[r] += max(0.0, get - before) + own
            before, to = own, int(c.c_owner[i, j])
            if to != r and part[i, k, j] > 0:
                total += part[i, k, j]
                seconds[r] += 2e-6
                seconds[to] += 2e-6 + part[i, k, j] / 1e9
            if to != r or (c.op == "spgemm" and K > 1):
                seconds[to] += 3 * part[i, k, j] / m.memory
    if c.op == "spgemm":
        for r in range(c.ranks):
            seconds[r] += 2 * c.c[c.c_owner == r].sum() / m.memory
    return seconds, total


@pytest.mark.parametrize("stays", ["a", "b", "c"])
@pytest.mark.parametrize("op", ["spmm", "spgemm"])
def test_one_sided_algorithms_are_played_product_by_product(stays: str, op: str) -> None:
    A = ps.generate.rmat(9, 6, seed=2, scramble=False, dtype=np.float64)
    for ranks in (4, 6):
        c = (
            _tile_counts.count_spmm(A, 9, ranks)
            if op == "spmm"
            else _tile_counts.count_spgemm(A, A, ranks)
        )
        n = net(rank_flops=1e9)
        wanted, total = played(c, _tile_price.Machine(n, ranks), stays)
        p = _tile_price.price_product(c, n, stays)
        assert p.bytes_all == pytest.approx(total, abs=1)
        assert p.seconds == pytest.approx(max(wanted), rel=1e-9)
        parts = p.compute + p.communicate + p.accumulate + p.imbalance
        assert parts == pytest.approx(p.seconds) and p.imbalance >= 0
        slow = _tile_price.price_product(c, n, stays, prefetch=0)
        assert (
            slow.seconds > p.seconds and slow.bytes_all >= p.bytes_all
        )  # it keeps one product's tiles less
        assert p.flops == c.flops.sum() and p.memory_most < c.a.sum() + c.b.sum() + 2 * c.c.sum()


def test_summa_waits_at_every_stage() -> None:
    A = ps.generate.rmat(9, 6, seed=2, scramble=False, dtype=np.float64)
    c = _tile_counts.count_spgemm(A, A, 4)
    n = net()
    m = _tile_price.Machine(n, 4)
    end = np.zeros((2, 2))
    for k in range(2):
        sent = lambda v: 2e-6 + v / 1e9 if v else 0.0  # noqa: E731
        ta, tb = [sent(v) for v in c.a[:, k]], [sent(v) for v in c.b[k]]
        end = end.max(1, keepdims=True) + np.array(ta)[:, None]
        end = end.max(0, keepdims=True) + np.array(tb)[None, :]
        end = end + c.local[:, k] / m.memory + 3 * c.part[:, k] / m.memory
    end = end + 2 * c.c / m.memory
    p = _tile_price.price_product(c, n, "summa")
    assert p.seconds == pytest.approx(end.max())
    assert p.messages_all == 8 and p.bytes_all == pytest.approx(c.a.sum() + c.b.sum())
    one = _tile_price.price_product(c, n, "c")
    assert one.bytes_all < p.bytes_all and one.seconds < p.seconds
    whole = _tile_counts.count_spgemm(A, A, 4, gathers=False)
    assert _tile_price.price_product(whole, n, "c").bytes_all == pytest.approx(p.bytes_all)


def test_stealing_shares_what_ranks_would_wait() -> None:
    A = ps.generate.rmat(11, 8, seed=1, scramble=False)  # the first tile has most
    c = _tile_counts.count_spgemm(A, A, 16, tiles=4)
    fast = net(outside=Link(1e-9, 0.0, 1e12, 0, 0.0), node_bytes_per_s=1e12)
    alone = _tile_price.price_product(c, fast, "c")
    assert alone.imbalance > 0.3 * alone.seconds and alone.flops_imbalance > 2, alone
    for how in ("random", "locality"):
        p = _tile_price.price_product(c, fast, f"c+{how}")
        assert p.imbalance < 0.5 * alone.imbalance and p.compute == pytest.approx(alone.compute)
    slow = net(outside=Link(1e-3, 0.0, 1e6, 0, 0.0), node_bytes_per_s=1e6)
    near, far = (_tile_price.price_product(c, slow, f"c+{how}") for how in ("locality", "random"))
    assert near.seconds <= far.seconds
    even = _tile_counts.count_spmm(ps.generate.uniform(2048, nnz_per_row=16, seed=1), 64, 4)
    n = net()
    same, stolen = (_tile_price.price_product(even, n, name) for name in ("c", "c+random"))
    assert stolen.seconds <= 1.01 * same.seconds


def test_ranks_that_share_cores_take_turns() -> None:
    c = _tile_counts.count_spmm(ps.generate.uniform(2048, nnz_per_row=16, seed=1), 64, 4)
    one = _tile_price.price_product(
        c, net(outside=None, at_once=4, node_read=4e10, ranks_per_node=4), "c"
    )
    two = _tile_price.price_product(
        c, net(outside=None, at_once=2, node_read=4e10, ranks_per_node=4), "c"
    )
    assert two.compute == pytest.approx(2 * one.compute)
    half = _tile_price.price_product(c, net(), "c", efficiency=0.5)
    assert half.compute == pytest.approx(2 * _tile_price.price_product(c, net(), "c").compute)
    for bad in ({"algorithm": "d"}, {"algorithm": "c", "efficiency": 0.0}):
        with pytest.raises(ValueError, match=r"algorithm 'd'|efficiency"):
            _tile_price.price_product(c, net(), **bad)


def test_rooflines_follow_the_formulas_of_the_paper() -> None:
    A = ps.generate.uniform(1024, nnz_per_row=64, dtype=np.float32, seed=1)
    ranks, n = 16, 128
    c = _tile_counts.count_spmm(A, n, ranks)
    density = A.nnz / 1024**2
    local, network = _roofline.spmm_intensity(1024, 1024, n, density, ranks)
    r = _roofline.roofline(c, net(rank_flops=1e15))
    assert r.local_intensity == pytest.approx(local, rel=0.05)
    assert r.network_intensity * 3 / 4 == pytest.approx(network, rel=0.05), (
        "a quarter of the tiles is the rank's own"
    )
    assert (r.bound, r.flops_per_s) == ("network", r.network_intensity * 1e9)
    assert r.seconds == pytest.approx(c.flops.sum() / ranks / r.flops_per_s)
    assert _roofline.roofline(c, net(rank_flops=1.0)).bound == "peak"
    alone = _roofline.roofline(_tile_counts.count_spmm(A, n, 1), net())
    assert alone.bound == "memory" and alone.as_dict()["network_intensity"] is None
    g = _tile_counts.count_spgemm(A, A, ranks)
    local, network = _roofline.spgemm_intensity(
        1024, 1024, 1024, density, ranks, g.flops.mean(), g.compression
    )
    r = _roofline.roofline(g, net())
    assert r.network_intensity * 3 / 4 == pytest.approx(network, rel=0.1)
    assert 0.5 < r.local_intensity / local < 1.1, (
        "partial products meet less often than all of them"
    )


def test_what_should_stay() -> None:
    tall, n = ps.generate.uniform(4000, nnz_per_row=200, seed=1), net()
    for A, columns, stays in (
        (tall, 1, "a"),
        (tall, 512, "c"),
        (ps.generate.uniform(16, 4000, 10, seed=1), 256, "b"),
    ):
        c = _tile_counts.count_spmm(A, columns, 16)
        found, all_of_them = _tile_choice.choose_stationary(c, n)
        assert found == stays, {k: p.seconds for k, p in all_of_them.items()}
        assert set(all_of_them) == {"a", "b", "c"}
    assert _tile_choice.choose_stationary(c, n, steal="locality")[1]["a"].algorithm == "a+locality"
    assert (
        0.001
        < _oracle_products.local_efficiency(
            tall, None, ps.dist.networks["shared-memory"], columns=8
        )
        < 100
    )


def test_forecasts() -> None:
    A = ps.generate.rmat(10, seed=1)
    f = ps.dist.predict_products(
        A, [1, 4, 16], net(), op="spgemm", algorithms=["c", "summa", "a+locality"]
    )
    assert f.algorithms() == ["c", "summa", "a+locality"] and len(f.rooflines) == 3
    assert f.words()[0].startswith("Use ")
    plain = f.as_dict()
    assert json.dumps(plain, allow_nan=False) and len(plain["predictions"]) == 9
    left = ps.dist.predict_products(A, [1, 2053], net(), op="spgemm", algorithms=["c"])
    assert "2053" in next(iter(left.left_out)) and left.ranks() == [1]
    for bad, text in (({"op": "spmv"}, "spmv"), ({"algorithms": ["z"]}, "z"), ({"algorithms": []}, "at least one"),
                      ({"tiles": 0}, "tiles 0"), ({"ranks": [2053], "op": "spgemm"}, "nothing")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            ps.dist.predict_products(A, **{"ranks": [1], "network": net(), **bad})


def test_ranges_are_those_of_the_network() -> None:
    """Nobody measured a preset: its predictions of products are no better than those of `A @ x`."""
    A = ps.generate.uniform(200, nnz_per_row=5, seed=1)
    measured = net(rank_products=((1e3, 1e9),), node_products=((1e3, 1e9),))
    assert measured.measured
    for network, low, high in (
        (measured, 0.35, 1.6),
        ("hdr-infiniband", 0.5, 2.0),
        (net(), 0.5, 2.0),
    ):
        f = ps.dist.predict_products(A, [1, 4], network)
        for p in f.rows:
            assert f.between(p) == pytest.approx((low * p.seconds, high * p.seconds))
        said = f.as_dict()["predictions"][0]
        assert said["between"] == pytest.approx([low * said["seconds"], high * said["seconds"]])


def scale(*words: Any) -> Any:
    return CliRunner().invoke(app, ["scale", *map(str, words)])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("COLUMNS", "200")
    done = scale("rmat:8", "--op", "spmm", "--columns", 16, "--ranks", "1..16", "--network", "summit", "--plot",
                 tmp_path / "p.png")  # fmt: skip
    assert done.exit_code == 0, done.output
    for word in ("a+locality", "summa", "imbalance", "Use ", "3.83 GB/s", "plot written"):
        assert word in done.output
    monkeypatch.chdir(tmp_path)
    done = scale("rmat:8", "--op", "spgemm", "--ranks", "4,4096", "--network", "dgx2", "--algorithms", "c,summa",
                 "--tiles", 1, "--plot", "roofline", "--json")  # fmt: skip
    found = json.loads(done.output)
    assert [(p["algorithm"], p["ranks"]) for p in found["predictions"]] == [
        ("c", 4), ("summa", 4), ("c", 4096), ("summa", 4096)]  # fmt: skip
    assert found["rooflines"][0]["op"] == found["op"] == "spgemm"
    for name in ("p.png", "roofline.png"):
        assert (tmp_path / name).stat().st_size > 10_000, name


def test_the_command_refuses() -> None:
    for words, text in (
        (("--op", "spmx"), "spmx"),
        (("--op", "spmm", "--weak"), "--weak is of"),
        (("--op", "spmm", "--halo", "sync"), "--halo is of"),
        (("--op", "spmm", "--layouts", "bins"), "--layouts is of"),
        (("--op", "spgemm", "--columns", 3), "--columns is of"),
        (("--columns", 3), "are of --op"),
        (("--op", "spmm", "--algorithms", "q"), "'q'"),
        (("--op", "spmm", "--plot", "roofline:a.txt"), "must end in"),
    ):
        done = scale("rmat:5", *words)
        said = done.output + str(done.stderr)
        assert done.exit_code in (1, 2) and text in " ".join(said.split()), (words, said)


class Map:
    """A directory of tiles, as the library makes them."""

    def __init__(
        self, A: Any, shape: tuple[int, int], parts: int, grid: tuple[int, int], dtype: str
    ) -> None:
        self.shape, self.grid, self.dtype, self.sparse = shape, grid, dtype, A is not None
        cut = parts, (grid[1] if A is None else parts)
        self.tile_shape = tuple(-(-n // p) for n, p in zip(shape, cut, strict=True))
        self.tiles = tuple(-(-n // s) for n, s in zip(shape, self.tile_shape, strict=True))
        edges = [_tile_counts.cuts(n, p) for n, p in zip(shape, cut, strict=True)]
        self.row_cuts, self.col_cuts = edges
        self.nnz = None if A is None else _tile_counts.tile_nnz(A, *edges).ravel()
        self.spans = None if A is None else _core.tile_spans(A._core, *self.tile_shape)
        self.gathers = True


@pytest.mark.parametrize("ranks", [4, 6])
def test_a_directory_is_enough_to_choose(ranks: int) -> None:
    A = ps.generate.uniform(600, nnz_per_row=30, dtype=np.float64, seed=1)
    c, g = _tile_counts.count_spmm(A, 50, ranks), _tile_counts.count_spgemm(A, A, ranks)
    parts = math.lcm(*c.grid)
    a, b = (
        Map(A, (600, 600), parts, c.grid, "float64"),
        Map(None, (600, 50), parts, c.grid, "float64"),
    )
    for counted, found in ((c, _tile_choice.count_maps(a, b)), (g, _tile_choice.count_maps(a, a))):
        for name in ("a", "b", "a_nnz", "a_owner", "b_owner", "c_owner"):
            assert np.array_equal(getattr(counted, name), getattr(found, name)), name
        for name in ("flops", "c", "part", "local"):
            assert np.allclose(getattr(counted, name), getattr(found, name), rtol=0.15), name
    names = ps.dist.run(lambda comm: _tile_choice.choose(comm, a, b), ranks)
    assert len(set(names)) == 1 and names[0] in "abc"
    assert ps.dist.run(lambda comm: _tile_choice.choose(comm, a, b), 1) == ["c"]
    with pytest.raises(ValueError, match="cut alike"):
        _tile_choice.count_maps(a, Map(None, (600, 50), parts + 1, c.grid, "float64"))
    dense = Map(None, (50, 600), parts, (parts, parts), "float64")
    dense.grid = c.grid
    with pytest.raises(ValueError, match="dense"):
        _tile_choice.count_maps(dense, a)


@pytest.mark.parametrize("columns", [8, 64])
@pytest.mark.parametrize("ranks", [2, 4, 6])
def test_ranks_move_the_bytes_that_are_counted(ranks: int, columns: int) -> None:
    """Where rows of a tile are short, some products name rows of a tile of which others take all between: the count
    misses that by less than a hundredth."""
    A = ps.generate.rmat(9, 6, seed=1, dtype=np.float32, scramble=False)
    B = np.ones((512, columns), np.float32)

    def work(comm: Any) -> dict[str, tuple[int, int]]:
        left, right = ps.dist.tiled_array(A, comm), ps.dist.tiled_array(B, comm)
        found = {}
        for stays in "abc":
            for op, b in (("spmm", right), ("spgemm", left)):
                times = ps.dist.matmul(left, b, stationary=stays).times
                found[f"{op} {stays}"] = (times["fetched_bytes"], times["sent_bytes"])
        chosen = ps.dist.matmul(left, right).times["stationary"]
        assert chosen in "abc" and len(set(comm.collect(chosen))) == 1
        return found

    ran = ps.dist.run(work, ranks)
    for op, c in (
        ("spmm", _tile_counts.count_spmm(A, columns, ranks)),
        ("spgemm", _tile_counts.count_spgemm(A, A, ranks)),
    ):
        exact = op == "spgemm" or columns == 64
        for stays in "abc":
            p = _tile_price.price_product(c, net(), stays)
            fetched, sent = (sum(r[f"{op} {stays}"][which] for r in ran) for which in (0, 1))
            if stays == "c":
                near = pytest.approx(fetched, rel=0 if exact else 0.01, abs=0)
                assert (p.bytes_all, 0) == (near, sent), f"{op}, {ranks} ranks"
            else:  # ranks keep tiles between products, and add up sums before they send them
                assert 0.95 * (fetched + sent) <= p.bytes_all <= 1.6 * (fetched + sent) + 1, (
                    f"{op} {stays}"
                )


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5), (7, 9)])
def test_nothing_to_multiply(shape: tuple[int, int]) -> None:
    none = np.zeros(0, np.int64)
    A = ps.csr_array((np.zeros(0), (none, none)), shape=shape)
    B = ps.csr_array((np.zeros(0), (none, none)), shape=shape[::-1])
    for c in (_tile_counts.count_spmm(A, 3, 4), _tile_counts.count_spgemm(A, B, 4)):
        assert (
            not c.done.any() and c.flops.sum() == 0 and c.nnz_imbalance == c.stage_imbalance() == 1
        )
        for name in _tile_price.ALGORITHMS:
            p = _tile_price.price_product(c, net(), name)
            assert p.gflops == 0 and p.imbalance >= 0, name
            if name != "summa":  # which broadcasts B without a look at A
                assert (p.bytes_all, p.messages_all) == (0, 0), name
        assert _roofline.roofline(c, net()).as_dict()["network_intensity"] is None
