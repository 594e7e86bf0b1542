"""Uneven products of tiles: parts are dealt to other ranks before anything moves, as the plan says."""

import numpy as np
import pytest
from dist_support import run
from penstock.dist._tile_model.balance import operations_per_byte

import penstock as ps
from penstock import _core

BAND = ps.generate.banded(4000, list(range(-40, 41)), dtype=np.float64, seed=3)
BAND = ps.csr_array((np.arange(BAND.nnz) % 5 - 2.0, BAND.indices, BAND.indptr), shape=BAND.shape)
SKEWED = ps.generate.rmat(
    12, 24, a=0.62, b=0.14, c=0.14, undirected=False, scramble=False, seed=2, dtype=np.float64
)
SKEWED = ps.csr_array(
    (np.arange(SKEWED.nnz) % 3 + 1.0, SKEWED.indices, SKEWED.indptr), shape=SKEWED.shape
)
EVEN = ps.generate.uniform(2000, nnz_per_row=60, seed=1, dtype=np.float64)


def flops_of(plan, ranks):
    p = plan.products
    return np.bincount(p["owner"], p["flops"], ranks)


def uneven(flops):
    return flops.max() / flops.mean()


@pytest.mark.parametrize("stays", ["a", "b", "c"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("A, grid", [(BAND, (2, 2)), (SKEWED, (2, 2)), (SKEWED, (4, 1)), (BAND, (3, 3))],
                         ids=["band 2x2", "skewed 2x2", "skewed 4x1", "band 3x3"])  # fmt: skip
def test_what_is_dealt_is_done_once_and_evenly(A, grid, sparse, stays):
    ranks = grid[0] * grid[1]
    X = np.random.default_rng(1).integers(-3, 4, (A.shape[1], 24)).astype(float)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=grid)
        bt = at if sparse else ps.dist.tiled_array(X, like=at)
        out = []
        for balance in (False, True):
            C = ps.dist.matmul(at, bt, stays, balance=balance, prefetch=0)
            counts = np.array([C.times["own"], C.times["flops"], C.times["fetched_bytes"]], float)
            out.append((C.collect(), comm.all_gather(counts).reshape(ranks, 3), C.plan()))
        return out

    alone, dealt = run(work, ranks)[0]
    wanted = (A.to_scipy() @ A.to_scipy()).toarray() if sparse else A.to_scipy() @ X
    for c, counts, plan in (alone, dealt):
        np.testing.assert_array_equal(c.toarray() if sparse else c, wanted)
        p = plan.products
        here = p["end_part"] - p["first_part"]
        assert counts[:, 0].sum() == here.sum(), "a part that nobody did, or two"
        # Each rank did what the plan says it does, and fetched no more.
        np.testing.assert_allclose(counts[:, 1], flops_of(plan, ranks), rtol=1e-9)
        fetched = np.bincount(p["owner"], p["fetched"], ranks)
        assert np.all(counts[:, 2] <= fetched)
        # All parts of each product of tiles are there, once.
        key = (p["i"] * 100 + p["k"]) * 100 + p["j"]
        for one in np.unique(key):
            mine = key == one
            order = np.argsort(p["first_part"][mine])
            ends, parts = p["end_part"][mine][order], p["parts"][mine]
            assert np.array_equal(p["first_part"][mine][order], np.append(0, ends[:-1]))
            assert ends[-1] == parts.max() == parts.min()
    assert alone[2].dealt == 0 and alone[2].undealt == 0
    before, after = (uneven(flops_of(plan, ranks)) for *_, plan in (alone, dealt))
    if before >= 1.5 and sparse and stays == "c":
        assert dealt[2].dealt > 0 and dealt[2].undealt == pytest.approx(before)
        assert after < 0.75 * before
        assert f"{dealt[2].dealt} parts dealt to other ranks" in str(dealt[2])
    elif before < 1.5:
        assert dealt[2].dealt == 0


def test_even_work_is_left_as_it_is():
    def work(comm):
        at = ps.dist.tiled_array(EVEN, comm, grid=(2, 2))
        plans = [ps.dist.matmul(at, at, "c", balance=b).plan() for b in (False, True)]
        assert plans[1].dealt == 0 and "dealt" not in str(plans[1])
        for name, values in plans[0].products.items():
            assert np.array_equal(values, plans[1].products[name]), name
        return True

    assert all(run(work, 4))


def test_masked_products_are_dealt():
    def work(comm):
        at = ps.dist.tiled_array(SKEWED, comm, grid=(2, 2))
        C = ps.dist.matmul(at, at, "c", mask=at, balance=True)
        return C.collect().to_scipy(), C.plan().dealt

    c, dealt = run(work, 4)[0]
    a = SKEWED.to_scipy()
    assert dealt > 0
    assert abs(c - (a @ a).multiply(a != 0)).max() == 0


def test_the_price_of_a_byte_decides():
    """Where bytes are dear nothing is dealt, and the dearer they are the fewer travel for it."""

    def work(comm):
        at = ps.dist.tiled_array(SKEWED, comm, grid=(2, 2))
        found = []
        for price in (0.0, 30.0, 1e7):
            _, plan, _ = _core.tiles_multiply(
                at._core, at._core, "c", "none", 1, "plus_times", -1, 0, None, 1, [], price
            )
            p = plan.products
            found.append(
                (plan.dealt, int(p["fetched"].sum() + p["sent"].sum()), uneven(flops_of(plan, 4)))
            )
        return found

    free, priced, dear = run(work, 4)[0]
    assert free[0] > 0 and dear[0] == 0
    assert dear[1] <= priced[1] <= free[1]
    assert free[2] < 1.1 < dear[2]


def test_ranks_that_share_cpus_keep_their_work_and_others_do_not():
    networks = ps.dist.networks

    def work(comm):
        at = ps.dist.tiled_array(SKEWED, comm, grid=(2, 2))
        m = at._core.map
        nodes = networks["hdr-infiniband"].on(1)
        shared = networks["shared-memory"].on(4)
        import dataclasses

        crowded = dataclasses.replace(shared, at_once=2)
        roomy = dataclasses.replace(shared, at_once=4)
        return (
            operations_per_byte(m, m, comm, nodes),
            operations_per_byte(m, m, comm, crowded),
            operations_per_byte(m, m, comm, crowded, forced=True),
            operations_per_byte(m, m, comm, roomy),
        )

    found = run(work, 4)
    assert len(set(found)) == 1, "ranks disagree"
    far, crowded, forced, roomy = found[0]
    assert crowded == -1 and min(far, forced, roomy) > 0
    assert far > roomy  # a byte between nodes takes longer


def test_by_default_only_what_nobody_asked_to_stay_is_dealt(monkeypatch):
    """The default deals products of two sparse matrices with stationary='auto'."""
    asked = []

    def price(a, b, comm, *, forced):
        asked.append(forced)
        return 5.0

    monkeypatch.setattr("penstock.dist._matmul.operations_per_byte", price)

    def work(comm):
        at = ps.dist.tiled_array(SKEWED, comm, grid=(2, 2))
        xt = ps.dist.tiled_array(np.ones((SKEWED.shape[1], 4)), like=at)
        out = []
        for b, how in ((at, {}), (at, {"stationary": "c"}), (at, {"steal": True}), (xt, {}), (at, {"balance": False}),
                       (at, {"nodes": 2}), (at, {"replicas": 2}), (at, {"balance": True}),
                       (xt, {"balance": True})):  # fmt: skip
            comm.barrier()
            before = len(asked)
            comm.barrier()
            ps.dist.matmul(at, b, **how)
            comm.barrier()
            out.append(len(asked) > before)
        return out

    assert run(work, 4)[0] == [True] + 6 * [False] + 2 * [True]


def test_what_cannot_be_is_said(tmp_path):
    def work(comm):
        at = ps.dist.tiled_array(EVEN, comm)
        xt = ps.dist.tiled_array(np.ones((2000, 16)), like=at)
        on_device = ps.dist.tiled_array(EVEN, comm, device="cpu")
        for b, how, text in (
            (at, {"steal": True}, "leave steal out"),
            (at, {"replicas": 2}, "leave replicas out"),
            (at, {"nodes": 2}, "leave nodes out"),
            (at, {"algorithm": "summa"}, "leave algorithm out"),
            (xt, {"stationary": "cover"}, "leave stationary out"),
            (at, {"out": tmp_path / "c.penstock"}, "leave out out"),
        ):
            with pytest.raises(ValueError, match=text):
                ps.dist.matmul(at, b, balance=True, **how)
        with pytest.raises(ps.NotCompiledError, match="leave balance out"):
            ps.dist.matmul(on_device, on_device, balance=True)
        return True

    assert all(run(work, 2))
