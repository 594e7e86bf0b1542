"""Products of tiles between nodes: the bytes that ranks count are those of the plan, these are those of the entries,
and the links carry them and little else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from playing import HEADERS, RANKS, RANKS_OF_A_NODE, made_or_skip, of_nodes, parts_of
from scipy.sparse.csgraph import maximum_bipartite_matching
from work_matrix import LEFT, OF_TILES, WIDTH, N, entries

ROW = 8 * WIDTH
ENTRY = 12  # bytes of an entry of a sparse factor
SIZE = N // RANKS  # rows of a rank
# Open MPI over TCP: a get or a put takes up to three times its bytes.
TIMES = 3
KINDS = [f"dense {kind}" for kind in ("c", "b", "cover")] + ["sparse c"]


@pytest.fixture(scope="module")
def parts():
    with made_or_skip() as cluster:
        yield parts_of(cluster, "cluster/work_tiles.py")


def pattern(per_row):
    rows, columns = entries(per_row)
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(N, N))


def total(ranks, what, *names):
    return sum(r[what][name] for r in ranks for name in names)


@pytest.mark.parametrize("nodes", [None, "auto"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_moves_is_what_was_planned(parts, kind, nodes):
    ranks = parts[f"{kind} {nodes}"]
    assert len(ranks) == RANKS
    for r in ranks:
        assert r["right"] and r["transport"] == "mpi_rma"
        for name in ("fetched", "far_fetched"):
            assert r["moved"][name] == r["planned"][name]
        for name in ("sent", "far_sent"):  # each piece says where it belongs
            assert 0 <= r["moved"][name] - r["planned"][name] <= 16 * r["products"]


def met(a, users, owner):
    """Columns of the owner's tile where one of the users' has entries."""
    rows = np.concatenate([np.arange(u * SIZE, (u + 1) * SIZE) for u in users])
    return np.unique(a[rows][:, owner * SIZE : (owner + 1) * SIZE].tocoo().col)


def travelling(a, bytes_of, ranks_of_a_node, node_ranks=1):
    """Sum of `bytes_of(columns met, owner)`, where ranks that fetch together get a row once, from ranks elsewhere."""
    found = 0
    for first in range(0, RANKS, ranks_of_a_node):
        users = range(first, first + ranks_of_a_node)
        for owner in range(RANKS):
            if owner // node_ranks != first // node_ranks:
                found += bytes_of(met(a, users, owner), owner)
    return found


def of_dense(columns, _):
    assert 8 * columns.size < 7 * (np.ptp(columns) + 1)  # so that they travel one by one
    return ROW * columns.size


def of_sums(rows, _):
    """A row of a sum says which one it is."""
    return of_dense(rows, _) + 4 * rows.size


def of_sparse(rows, owner):
    lengths = np.diff(pattern(OF_TILES).indptr)[owner * SIZE : (owner + 1) * SIZE]
    return int(8 * (rows[-1] - rows[0] + 2) + ENTRY * lengths[rows].sum())


@pytest.mark.parametrize(
    "kind, direction, turned, bytes_of",
    [
        ("dense c", "fetched", False, of_dense),
        ("dense b", "sent", True, of_sums),
        ("sparse c", "fetched", False, of_sparse),
    ],
)
def test_single_rows_travel_and_cross_once(parts, kind, direction, turned, bytes_of):
    """By hand, from the entries alone: to each rank without nodes; between nodes once for all ranks of a node."""
    a = pattern(LEFT).T.tocsr() if turned else pattern(LEFT)
    apart, together = (parts[f"{kind} {nodes}"] for nodes in (None, "auto"))
    assert total(apart, "planned", direction) == travelling(a, bytes_of, 1)
    n = RANKS_OF_A_NODE
    once = travelling(a, bytes_of, n, n)
    assert total(together, "planned", f"far_{direction}") == once
    assert once < 0.85 * travelling(a, bytes_of, 1, n)


def test_no_fewer_rows_of_b_and_of_sums_can_travel(parts):
    """By another library's matching, which is as large as the least cover (König)."""
    a, rows = pattern(LEFT), 0
    for i in range(RANKS):
        for k in range(RANKS):
            if i != k:
                tile = a[i * SIZE : (i + 1) * SIZE, k * SIZE : (k + 1) * SIZE].tocsr()
                rows += np.count_nonzero(maximum_bipartite_matching(tile, "column") >= 0)
    one_sided, found = (
        total(parts[f"dense {kind} None"], "moved", "fetched", "sent") for kind in ("c", "cover")
    )
    assert rows * ROW <= found <= 1.02 * rows * ROW
    assert found < 0.9 * one_sided
    ranks = parts["dense cover None"]
    assert total(ranks, "moved", "fetched") > 0 < total(ranks, "moved", "sent")  # of both kinds


def test_a_cover_over_nodes_crosses_less(parts):
    """Than 6 of 7 tiles that are elsewhere take without nodes."""
    far = total(parts["dense cover auto"], "planned", "far_fetched", "far_sent")
    assert far < 0.9 * 6 / 7 * total(parts["dense cover None"], "planned", "fetched", "sent")


@pytest.mark.parametrize("kind", KINDS)
def test_links_carry_what_crosses_and_little_else(parts, kind):
    ranks = parts[f"{kind} auto"]
    far = total(ranks, "moved", "far_fetched", "far_sent")
    assert far <= sum(of_nodes(ranks)) <= TIMES * HEADERS * far + 400_000


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_links_carry_less_of_single_rows_and_of_nodes(parts, kind):
    whole, rows, shared = (
        sum(of_nodes(parts[f"{kind} {how}"])) for how in ("whole", "c None", "c auto")
    )
    assert rows < 0.5 * whole and shared < 0.9 * rows, (whole, rows, shared)
