"""Arguments of tiles and their products: what is none of its kind is refused in words, alike on all ranks."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from dist_support import run

import penstock as ps

A = ps.generate.rmat(7, 8, seed=3, dtype=np.float64)

PRODUCTS = (
    ({"balance": "no"}, TypeError, "balance='no': give True or False"),
    ({"balance": object}, TypeError, "balance=.*give True or False"),
    ({"memory": -5}, ValueError, "memory=-5 must be at least 0"),
    ({"memory": 1e9}, TypeError, "memory=1000000000.0 is not an integer: give bytes"),
    ({"memory": "1GB"}, TypeError, "memory='1GB' is not an integer: give bytes"),
    ({"steal": []}, ValueError, r"steal=\[\] is unknown: choose one of"),
    ({"steal": {}}, ValueError, r"steal=\{\} is unknown"),
    ({"stationary": []}, ValueError, r"stationary=\[\] is unknown"),
    ({"algorithm": np.array(["a", "b"])}, ValueError, "algorithm=.* is unknown"),
    ({"prefetch": 1.5}, TypeError, "prefetch=1.5 is not an integer"),
    ({"prefetch": 10**20}, ValueError, "prefetch=100000000000000000000 is not between 0 and"),
    ({"seed": -1, "steal": True}, ValueError, "seed=-1 is not between 0 and"),
    ({"seed": 0.5, "steal": True}, TypeError, "seed=0.5 is not an integer"),
    ({"replicas": 2.0}, TypeError, "replicas=2.0 is not an integer"),
    ({"replicas": 2**40}, ValueError, "replicas=1099511627776 is not between 1 and"),
    ({"semiring": None}, ValueError, "semiring=None is unknown: choose one of plus_times"),
    ({"out": 5}, TypeError, "out=5: give the path of a store"),
    ({"nodes": [0, [1]]}, ValueError, r"nodes=\[0, \[1\]\]: 'auto', ranks of a node"),
    ({"nodes": np.array([0.0, 1.0])}, ValueError, "nodes=.*each of the 2 ranks"),
    ({"nodes": np.array(["a", "b"])}, ValueError, "nodes=.*each of the 2 ranks"),
)
TILES = (
    ({"tile_rows": 100.9}, TypeError, "tile_rows=100.9 is not an integer"),
    ({"tile_rows": "64"}, TypeError, "tile_rows='64' is not an integer"),
    ({"tile_rows": True}, TypeError, "tile_rows=True is not an integer"),
    ({"tile_cols": [60.5, 67.5]}, TypeError, r"tile_cols\[0\]=60.5 is not an integer"),
    ({"tile_rows": 10**30}, ValueError, "tile_rows=1000000000000000000000000000000 is not between"),
    ({"tile_rows": -3}, ValueError, "tile_rows: a tile has -3 rows.*give a positive number"),
    ({"grid": 4}, ValueError, "grid=4: two numbers of ranks"),
    ({"grid": (2,)}, ValueError, r"grid=\(2,\): two numbers of ranks"),
    ({"grid": (2, 1, 1)}, ValueError, r"grid=\(2, 1, 1\): two numbers of ranks"),
    ({"grid": (2.0, 1)}, TypeError, r"grid\[0\]=2.0 is not an integer"),
    ({"grid": (0, 2)}, ValueError, r"grid\[0\]=0 must be at least 1"),
    ({"grid": (2**31, 2**31)}, ValueError, "of 4611686018427387904 ranks, but there are 2"),
)


def said(comm, call, error, words):
    """The message, which all ranks get; they can go on afterwards."""
    with pytest.raises(error, match=words) as found:
        call()
    comm.barrier()
    return re.sub(r"^rank \d: ", "", str(found.value))


def test_wrong_arguments_of_products_are_refused_alike():
    def work(comm):
        t = ps.dist.tiled_array(A, comm)
        return [
            said(comm, lambda how=how: ps.dist.matmul(t, t, **how), error, words)
            for how, error, words in PRODUCTS
        ]

    first, second = run(work, 2)
    assert first == second


def test_wrong_arguments_of_tiles_are_refused_alike():
    def work(comm):
        return [
            said(comm, lambda how=how: ps.dist.tiled_array(A, comm, **how), error, words)
            for how, error, words in TILES
        ]

    first, second = run(work, 2)
    assert first == second


def test_integers_of_numpy_and_nodes_in_an_array_are_what_they_say():
    def work(comm):
        t = ps.dist.tiled_array(A, comm, np.int64(40), np.array([64, 64]), grid=np.array([2, 2]))
        t = ps.dist.tiled_array(A, comm, np.int32(32), np.array(32))
        more = {"prefetch": np.int8(2), "memory": np.int64(10**9), "replicas": np.int32(1)}
        plain = ps.dist.matmul(t, t, "c", nodes=[0, 0, 1, 1])
        for nodes in (np.array([0, 0, 1, 1]), (7, 7, 3, 3), np.array([2, 2, 9, 9], np.uint8)):
            c = ps.dist.matmul(t, t, "c", nodes=nodes, **more)
            assert c.times["far_fetched_bytes"] == plain.times["far_fetched_bytes"] > 0
        ps.dist.matmul(t, t, "c", steal="random", seed=np.uint64(2**64 - 1), balance=np.False_)
        return True

    assert all(run(work, 4))


def test_a_mask_is_not_lost():
    x = np.ma.masked_greater(np.arange(12.0).reshape(4, 3), 5)

    def work(comm):
        said(comm, lambda: ps.dist.tiled_array(x, comm), TypeError, r"masked array: give a\.filled")
        t = ps.dist.tiled_array(x.filled(0), comm)
        comm.barrier()
        if comm.rank == 0:
            with pytest.raises(TypeError, match="masked array"):
                t.replace_tile(0, 0, x)
        return np.asarray(t.collect())

    np.testing.assert_array_equal(run(work, 2)[1], x.filled(0))


def test_tiles_to_write_are_arrays_and_tiles_to_renew_a_dict():
    def work(comm):
        dense, t = (ps.dist.tiled_array(x, comm) for x in (np.ones((8, 2)), A))
        for call, words in (
            (lambda: dense.replace_tile(0, 0, [[1.0]]), "of NumPy arrays, not list"),
            (lambda: t.renew_tiles([1]), r"takes a dict \{\(i, j\): tile\}, not list"),
            (lambda: t.renew_tiles({0: A}), r"dict \{\(i, j\): tile\}, and 0 is no"),
            (lambda: t.get_tile("a", 0), r"no tile \('a', 0\): give two integers"),
            (lambda: t.get_tile(0.0, 0), r"no tile \(0.0, 0\): give two integers"),
        ):
            said(comm, call, TypeError, words)
        # Of one rank alone: the others hear of it.
        new = [None] if comm.rank == 1 else {}
        return said(comm, lambda: t.renew_tiles(new), TypeError, "takes a dict")

    assert len(set(run(work, 3))) == 1


@pytest.mark.parametrize("predict", ["predict_scaling", "predict_products"])
def test_ranks_to_predict_are_integers(predict):
    f = getattr(ps.dist, predict)
    for ranks, words in (
        (["4"], "ranks='4' is not an integer"),
        ([1, 2.5], "ranks=2.5 is not an integer"),
        (4, r"ranks=4: give a sequence"),
        ("4", r"ranks='4': give a sequence"),
    ):
        with pytest.raises(TypeError, match=words):
            f(A, ranks)
    assert f(A, np.array([1, 2])).ranks() == [1, 2]


def test_products_to_predict_have_whole_numbers():
    for how, words in (
        ({"columns": 1.5}, "columns=1.5 is not an integer"),
        ({"tiles": 2.5}, "tiles=2.5 is not an integer"),
        ({"prefetch": 0.5}, "prefetch=0.5 is not an integer"),
    ):
        with pytest.raises(TypeError, match=words):
            ps.dist.predict_products(A, [1], **how)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("shape", [(5, 0, 3), (0, 0, 3), (0, 0, 0), (5, 3, 0)])
def test_products_of_tiles_with_nothing_in_them(ranks, shape, tmp_path):
    """An inner dimension of 0, which "auto" looks at on several ranks, and no columns, of which a file is written."""
    m, k, n = shape

    def work(comm):
        t = ps.dist.tiled_array(sp.csr_array((m, k)), comm)
        for stationary in ("auto", "a", "b", "c", "cover"):
            c = ps.dist.matmul(t, ps.dist.tiled_array(np.ones((k, n)), like=t), stationary)
            np.testing.assert_array_equal(c.collect(), np.zeros((m, n)))
        u = ps.dist.tiled_array(sp.csr_array((k, n)), like=t)
        for stationary in ("auto", "a", "b", "c"):
            path = tmp_path / f"{stationary}.penstock"
            c, kept = (ps.dist.matmul(t, u, stationary, out=out) for out in (None, path))
            assert c.collect().shape == kept.shape == (m, n) and c.nnz == kept.nnz == 0
        return True

    assert all(run(work, ranks))


def test_what_an_empty_product_takes_is_predicted():
    for op in ("spmm", "spgemm"):
        B = ps.csr_array((0, 3)) if op == "spgemm" else None
        f = ps.dist.predict_products(ps.csr_array((5, 0)), [1, 2, 4], op=op, B=B)
        assert f.ranks() == [1, 2, 4] and all(np.isfinite(p.seconds) for p in f.rows)
