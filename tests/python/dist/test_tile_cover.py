"""Products in which the fewest rows travel: rows of B or of sums, by a minimum vertex cover of each tile."""

import dataclasses

import numpy as np
import pytest
from dist_support import run
from penstock.dist._network import Link
from penstock.dist._tile_model.cover import cover_seconds, cutting_seconds, turned
from scipy.sparse.csgraph import maximum_bipartite_matching

import penstock as ps
from penstock import _core
from penstock.dist import _matmul, _tile_choice

WIDTH = 24
GRAPH = ps.generate.rmat(9, 6, seed=5, dtype=np.float64)
GRAPH = ps.csr_array(
    (np.arange(GRAPH.nnz) % 7 - 3.0, GRAPH.indices, GRAPH.indptr), shape=GRAPH.shape
)
TRUST = ps.generate.lift(ps.generate.barabasi_albert(60, 4, seed=2), 9, seed=3)
BAND = ps.generate.banded(300, [-3, -1, 0, 2], dtype=np.float64, seed=3)
WIDE = ps.csr_array(
    (np.ones(9), (np.arange(9) % 4, np.arange(9) * 7 % 23)), shape=(4, 23)
)  # ranks without rows, tiles without entries


def right(A, dtype=np.float64):
    return np.random.default_rng(1).integers(-4, 5, (A.shape[1], WIDTH)).astype(dtype)


def moved(comm, c):
    found = np.array([c.times["fetched_bytes"], c.times["sent_bytes"]])
    comm.all_reduce(found)
    return found.tolist()


@pytest.mark.parametrize("grid", [(1, 1), (4, 1), (2, 2), (3, 2), (1, 3)], ids=str)
@pytest.mark.parametrize("A", [GRAPH, BAND, WIDE], ids=["graph", "band", "wide"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_every_grid_gives_the_product(A, grid, device):
    X = right(A)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=grid, device=device)
        xt = ps.dist.tiled_array(X, comm, like=at)
        out = []
        for steal in (False, True, "random"):
            for prefetch in (0, 1, 3):
                c = ps.dist.matmul(at, xt, stationary="cover", steal=steal, prefetch=prefetch)
                out.append((c.collect(), moved(comm, c), c.plan().loads, steal))
        assert c.times["stationary"] == "cover" and "stationary cover" in str(c.plan())
        return out

    wanted = A.to_scipy() @ X
    for rank in run(work, grid[0] * grid[1]):
        for c, (fetched, sent), loads, steal in rank:
            np.testing.assert_allclose(c, wanted, rtol=1e-12, atol=1e-12)
            planned = [sum(load[what] for load in loads) for what in ("fetched", "sent")]
            if not steal:
                assert fetched <= planned[0]  # some tiles are still there
                # Pieces say where they belong; those of a device are padded.
                assert planned[1] <= sent <= planned[1] + 100 * (16 if device is None else 128)


def fewest_rows(A, ranks):
    """Of all tiles away from the diagonal, by another library's matching: as many as a minimum cover has (König)."""
    a, size, rows = A.to_scipy().tocsr(), -(-A.shape[0] // ranks), 0
    for i in range(0, A.shape[0], size):
        for k in range(0, A.shape[0], size):
            tile = a[i : i + size, k : k + size].tocsr()
            if i != k and tile.nnz:
                rows += np.count_nonzero(maximum_bipartite_matching(tile, "column") >= 0)
    return int(rows)


@pytest.mark.parametrize("A", [GRAPH, TRUST, BAND], ids=["graph", "trust", "band"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_no_fewer_rows_can_travel(A, device):
    ranks, row = 4, 8 * WIDTH
    heads = (
        0 if device is None else 12 * 128
    )  # of pieces of a device's sums, at most one for each pair of ranks

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(ranks, 1), device=device)
        xt = ps.dist.tiled_array(right(A), comm, like=at)
        return {
            stays: moved(comm, ps.dist.matmul(at, xt, stationary=stays)) for stays in ("c", "cover")
        }

    found = run(work, ranks)[0]
    fetched, sent = found["cover"]
    bound = fewest_rows(A, ranks) * row
    assert bound <= fetched + sent <= 1.05 * bound + heads
    assert fetched + sent <= 1.05 * found["c"][0] + heads
    if A is not BAND:
        assert sent > 0 and fetched + sent < 0.95 * found["c"][0]


@pytest.mark.parametrize(
    "values, x_type, semiring",
    [
        (np.bool_, np.float32, "plus_times"),
        (np.float32, np.float32, "plus_times"),
        (np.float64, np.float64, "min_plus"),
        (np.bool_, np.bool_, "or_and"),
    ],
)
def test_values_and_semirings(values, x_type, semiring):
    A = ps.generate.rmat(8, 6, seed=1, dtype=values)
    X = right(A, x_type)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(3, 1))
        xt = ps.dist.tiled_array(X, comm, like=at)
        return [
            ps.dist.matmul(at, xt, stationary=s, semiring=semiring).collect()
            for s in ("c", "cover")
        ]

    for wanted, found in run(work, 3):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_renewed_tiles_are_split_anew():
    full = ps.csr_array(np.arange(1.0, 5626).reshape(75, 75))

    def work(comm):
        at = ps.dist.tiled_array(BAND, comm, grid=(4, 1))
        xt = ps.dist.tiled_array(right(BAND), comm, like=at)
        before = ps.dist.matmul(at, xt, stationary="cover").collect()
        at.renew_tiles({(0, 3): full} if comm.rank == 0 else {})
        return before, ps.dist.matmul(at, xt, stationary="cover").collect()

    X, wanted = right(BAND), BAND @ right(BAND)
    for before, after in run(work, 4):
        np.testing.assert_allclose(before, wanted, atol=1e-12)
        np.testing.assert_allclose(after[75:], wanted[75:], atol=1e-12)
        np.testing.assert_allclose(after[:75], wanted[:75] + full @ X[225:], atol=1e-9)


def test_what_it_cannot_is_said():
    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, grid=(2, 1))
        xt = ps.dist.tiled_array(right(GRAPH), comm, like=at)
        for call, error, text in (
            (lambda: ps.dist.matmul(at, at, stationary="cover"), ValueError, "for a dense B"),
            (
                lambda: ps.dist.matmul(at, xt, stationary="cover", replicas=2),
                ValueError,
                "copies of C",
            ),
            (
                lambda: ps.dist.matmul(
                    at,
                    ps.dist.tiled_array(right(GRAPH), comm, 256, grid=(1, 2)),
                    stationary="cover",
                ),
                ValueError,
                "on one grid.*like=",
            ),
            (lambda: _matmul.plan(at, xt, "cover"), ValueError, "entries, not of directories"),
        ):
            with pytest.raises(error, match=text):
                call()
        return True

    assert all(run(work, 2))


SLOW = dataclasses.replace(
    ps.dist.networks["10gbe"],
    ranks_per_node=1,
    at_once=1,
    outside=Link(1e-5, 0.0, 1e6, 0, 0.0),
    node_bytes_per_s=1e6,
)


def auto(monkeypatch, network, wait, A=GRAPH, ranks=4, grid=None, products=4):
    """What stays in products that follow one another; cutting is said to take as long as `wait` of them communicate."""
    monkeypatch.setattr(_tile_choice, "network_of", lambda comm: network)

    def cut(c, net):
        assert cutting_seconds(c, net) > 0
        best = min(_tile_choice.choose_stationary(c, net)[1].values(), key=lambda p: p.seconds)
        return wait * (best.seconds - best.compute)

    monkeypatch.setattr(_tile_choice, "cutting_seconds", cut)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=grid or (ranks, 1))
        xt = ps.dist.tiled_array(right(A), comm, like=at)
        names = []
        for _ in range(products):
            c = ps.dist.matmul(at, xt)
            names.append(c.times["stationary"])
            np.testing.assert_allclose(c.collect(), A.to_scipy() @ right(A), atol=1e-9)
        return names, at._core.is_split, moved(comm, c)

    found = run(work, ranks)
    assert all(names == found[0][0] for names, *_ in found)
    return found[0]


def test_auto_cuts_once_products_have_waited_as_long(monkeypatch):
    names, is_split, _ = auto(monkeypatch, SLOW, 2.5)
    assert names == ["c", "c", "cover", "cover"] and is_split


def test_auto_does_not_cut_in_vain(monkeypatch):
    fast = dataclasses.replace(SLOW, outside=Link(1e-9, 0.0, 1e13, 0, 0.0), node_bytes_per_s=1e13)
    assert auto(monkeypatch, fast, 0.0)[:2] == (["c"] * 4, False)
    copied = ps.dist.networks["shared-memory"]
    assert auto(monkeypatch, copied, 0.0)[1] is False
    names, is_split, _ = auto(monkeypatch, SLOW, 0.0, grid=(1, 4))  # B is where C is
    assert "cover" not in names and not is_split
    monkeypatch.setattr(_tile_choice, "cover_seconds", lambda *_: (1e9, 0))
    assert auto(monkeypatch, SLOW, 0.0)[:2] == (["c"] * 4, False)


@pytest.mark.parametrize("grid", [(4, 1), (2, 2), (3, 2)], ids=str)
def test_the_model_counts_the_bytes_of_a_cover(grid):
    def work(comm):
        at = ps.dist.tiled_array(TRUST, comm, grid=grid)
        xt = ps.dist.tiled_array(right(TRUST), comm, like=at)
        c = ps.dist.matmul(at, xt, stationary="cover", prefetch=0)
        parts = [
            _tile_choice.count_maps(part, xt._core.map) for part in _core.tile_split_maps(at._core)
        ]
        parts[1] = turned(parts[1], *at.tiles, grid)
        planned = [sum(load[what] for load in c.plan().loads) for what in ("fetched", "sent")]
        return planned, moved(comm, c), cover_seconds(*parts, SLOW, 0)

    planned, found, (seconds, total) = run(work, grid[0] * grid[1])[0]
    assert seconds > 0 and found[0] <= planned[0]
    if grid[1] == 1:
        assert total == sum(planned)
    assert 0.8 * sum(planned) <= total <= sum(planned)
