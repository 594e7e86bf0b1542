"""ps.sample.neighbors: what is drawn, how often, and in which order it is numbered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from penstock.sample import _room
from scipy.stats import chisquare

import penstock as ps


def star(degree: int, values: object = None) -> ps.csr_array:
    """Vertex 0 leads to 1, ..., degree."""
    data = [True] * degree if values is None else values
    return ps.csr_array((data, ([0] * degree, range(1, degree + 1))), shape=(degree + 1,) * 2)


def by_hand(A, S, seeds, fanouts, replace=False):
    """Raises unless S is a sample of A that a plain loop over hops would number as S does."""
    indptr, indices = A.indptr, A.indices
    number, vertices = {}, []
    for v in seeds:
        number.setdefault(int(v), len(vertices))
        vertices.append(int(v))
    assert S.vertices_per_hop[0] == len(seeds)
    begin, k = 0, 0
    for hop, fanout in enumerate(fanouts):
        end, first = len(vertices), k
        for row in range(begin, end):
            v = vertices[row]
            degree = int(indptr[v + 1] - indptr[v])
            count = degree if fanout < 0 else min(fanout, degree)
            if replace and fanout >= 0:
                count = fanout if degree else 0
            chosen = S.edges[k : k + count]
            assert (S.rows[k : k + count] == row).all()
            assert ((chosen >= indptr[v]) & (chosen < indptr[v + 1])).all()
            if not replace:
                assert len(set(chosen.tolist())) == count
            for e, column in zip(chosen, S.columns[k : k + count], strict=True):
                to = int(indices[e])
                if to not in number:
                    number[to] = len(vertices)
                    vertices.append(to)
                assert number[to] == column
            k += count
        assert S.edges_per_hop[hop] == k - first
        assert S.vertices_per_hop[hop + 1] == len(vertices) - end
        begin = end
    assert k == S.edges.size == S.rows.size == S.columns.size
    assert S.vertices.tolist() == vertices


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    "fanouts", [[], [0], [3], [10, 10], [-1, 2], [2, -1], [100, 60], [4, 3, 2, 1]]
)
def test_numbers_are_those_of_a_plain_loop(fanouts, replace):
    A = ps.generate.rmat(11, seed=5)
    seeds = np.random.default_rng(1).permutation(A.shape[0])[:300]
    by_hand(
        A, ps.sample.neighbors(A, seeds, fanouts, replace=replace, seed=9), seeds, fanouts, replace
    )


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_few_vertices_and_none(n):
    A = ps.generate.uniform(n, nnz_per_row=min(n, 3), dtype=bool, seed=1)
    for seeds in ([], [0], [n - 1], [0, n - 1, 0]):
        by_hand(A, ps.sample.neighbors(A, seeds, [2, 2]), seeds, [2, 2])


def test_a_seed_that_repeats_is_drawn_each_time():
    S = ps.sample.neighbors(star(50), [0, 0], [3])
    assert S.rows.tolist() == [0, 0, 0, 1, 1, 1] and S.vertices[:2].tolist() == [0, 0]
    assert set(S.edges[:3].tolist()) != set(S.edges[3:].tolist())


@pytest.mark.parametrize("how", [{}, {"replace": True}, {"weighted": True}, {"disjoint": True}])
def test_the_same_for_any_number_of_threads(how):
    A = ps.generate.rmat(13, seed=2, dtype=np.float32)
    seeds = np.arange(0, A.shape[0], 3)
    before = ps.num_threads()
    samples = []
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            samples.append(ps.sample.neighbors(A, seeds, [7, 5], seed=4, **how))
    finally:
        ps.set_num_threads(before)
    other = ps.sample.neighbors(A, seeds, [7, 5], seed=5, **how)
    for S in samples[1:]:
        for name in ("vertices", "rows", "columns", "edges"):
            assert (getattr(S, name) == getattr(samples[0], name)).all()
    assert other.edges.size != samples[0].edges.size or (other.edges != samples[0].edges).any()


def draws(A, fanout, count, **how):
    """The edges of vertex 0 that `count` independent draws took, a row each."""
    S = ps.sample.neighbors(A, np.zeros(count, np.int64), [fanout], seed=7, **how)
    return S.edges.reshape(count, -1)


def fits(counts, probabilities):
    counts, probabilities = np.asarray(counts), np.asarray(probabilities, dtype=float)
    assert (counts[probabilities == 0] == 0).all()
    keep = probabilities > 0
    expected = probabilities[keep] / probabilities.sum() * counts.sum()
    assert chisquare(counts[keep], expected).pvalue > 1e-3


def test_subsets_are_equally_likely():
    taken = np.sort(draws(star(6), 3, 40_000), axis=1)
    subsets = list(combinations(range(6), 3))
    fits([(taken == s).all(axis=1).sum() for s in subsets], np.ones(len(subsets)))


def test_large_subsets_take_each_edge_as_often():
    taken = draws(star(300), 100, 3000)  # more than are searched one by one
    assert all(len(set(row)) == 100 for row in taken.tolist())
    # Of a subset without replacement the counts vary less than a chi-square test expects; both sides are fixed.
    counts = np.bincount(taken.ravel(), minlength=300)
    deviation = (counts - 1000) / np.sqrt(3000 * (1 / 3) * (2 / 3))
    assert abs(deviation).max() < 4.5 and 0.8 < deviation.std() < 1.2


def test_with_replacement_is_uniform():
    taken = draws(star(7), 4, 20_000, replace=True)
    for column in taken.T:
        fits(np.bincount(column, minlength=7), np.ones(7))
    fits(np.bincount(taken[:, 0] * 7 + taken[:, 1], minlength=49), np.ones(49))  # independent


def test_weights_with_replacement():
    weights = np.array([1.0, 0.0, 2.5, 10.0, 0.5])
    taken = draws(star(5, weights), 3, 20_000, replace=True, weighted=True)
    for column in taken.T:
        fits(np.bincount(column, minlength=5), weights)


def test_weights_without_replacement_draw_one_after_the_other():
    weights = np.array([1.0, 4.0, 0.0, 2.0, 3.0])
    taken = np.sort(draws(star(5, weights.astype(np.float32)), 2, 40_000, weighted=True), axis=1)
    pairs = list(combinations(range(5), 2))
    total = weights.sum()
    exact = [
        weights[i] / total * weights[j] / (total - weights[i])
        + weights[j] / total * weights[i] / (total - weights[j])
        for i, j in pairs
    ]
    fits([(taken == s).all(axis=1).sum() for s in pairs], exact)


def test_edges_of_weight_zero_are_never_drawn():
    A = star(4, [0.0, 1.0, 0.0, 1.0])
    for fanout in (-1, 2, 3, 4):
        assert ps.sample.neighbors(A, [0], [fanout], weighted=True).edges.tolist() == [1, 3]
    none = ps.sample.neighbors(star(3, [0.0] * 3), [0], [2], weighted=True, replace=True)
    assert none.edges.size == 0


def test_disjoint_samples_share_nothing():
    A = ps.generate.rmat(8, seed=3)
    seeds = np.argsort(np.diff(A.indptr))[-20:]
    S = ps.sample.neighbors(A, seeds, [5, 5], disjoint=True, seed=2)
    assert S.batch[:20].tolist() == list(range(20))
    assert (S.batch[S.rows] == S.batch[S.columns]).all()
    assert len(set(zip(S.batch.tolist(), S.vertices.tolist(), strict=True))) == S.vertices.size
    assert (A.indices[S.edges] == S.vertices[S.columns]).all()
    assert S.vertices.size > ps.sample.neighbors(A, seeds, [5, 5], seed=2).vertices.size


def test_times_are_not_later_than_the_seeds():
    A = ps.generate.rmat(9, seed=3)
    rng = np.random.default_rng(4)
    time, seeds = rng.integers(0, 100, A.nnz), rng.integers(0, A.shape[0], 200)
    until = rng.integers(0, 100, 200)
    S = ps.sample.neighbors(A, seeds, [-1, 3], time=time, seed_time=until, seed=1)
    assert (time[S.edges] <= until[S.batch[S.rows]]).all()
    first = S.edges_per_hop[0]
    for i, v in enumerate(seeds):
        allowed = [e for e in range(A.indptr[v], A.indptr[v + 1]) if time[e] <= until[i]]
        assert S.edges[:first][S.rows[:first] == i].tolist() == allowed
    days = ps.sample.neighbors(
        A, seeds, [-1, 3], seed=1,
        time=time.astype("M8[D]"), seed_time=until.astype("M8[D]"),
    )  # fmt: skip
    assert (days.edges == S.edges).all()


def test_times_among_allowed_edges_are_uniform():
    taken = ps.sample.neighbors(
        star(6),
        np.zeros(20_000, np.int64),
        [2],
        time=[5, 1, 9, 2, 9, 3],
        seed_time=[5] * 20_000,
        seed=3,
    ).edges.reshape(-1, 2)
    pairs = [(0, 1), (0, 3), (0, 5), (1, 3), (1, 5), (3, 5)]
    fits([(np.sort(taken, axis=1) == s).all(axis=1).sum() for s in pairs], np.ones(6))


def test_types_of_vertices_and_edges():
    buys = ps.generate.uniform(40, 30, 5, dtype=bool, seed=1)
    bought = buys.T.formed()
    A = {("user", "buys", "item"): buys, ("item", "bought", "user"): bought}
    fanouts = {("user", "buys", "item"): [3, 2], ("item", "bought", "user"): [4, 1]}
    S = ps.sample.neighbors(A, {"user": [3, 9], "item": [1]}, fanouts, seed=2)
    assert S.vertices["user"][:2].tolist() == [3, 9] and S.vertices["item"][0] == 1
    for t, a in A.items():
        row = np.searchsorted(a.indptr, S.edges[t], side="right") - 1
        assert (S.vertices[t[0]][S.rows[t]] == row).all()
        assert (S.vertices[t[2]][S.columns[t]] == a.indices[S.edges[t]]).all()
        assert sum(S.edges_per_hop[t]) == S.edges[t].size
        per_row = np.bincount(S.rows[t][: S.edges_per_hop[t][0]])
        assert per_row.max() <= fanouts[t][0]
    for v, some in S.vertices.items():
        assert sum(S.vertices_per_hop[v]) == some.size == len(set(some.tolist()))


def test_types_with_times_and_disjoint():
    a = ps.generate.uniform(40, 30, 5, dtype=bool, seed=1)
    A = {("u", "r", "i"): a, ("i", "s", "u"): a.T.formed()}
    time = np.random.default_rng(1).integers(0, 50, a.nnz)
    S = ps.sample.neighbors(
        A, {"u": [1, 2], "i": [5]}, [-1, -1],
        time={("u", "r", "i"): time}, seed_time={"u": [10, 30], "i": [20]},
    )  # fmt: skip
    until = np.array([10, 30, 20])
    t = ("u", "r", "i")
    assert (time[S.edges[t]] <= until[S.batch["u"][S.rows[t]]]).all()
    assert S.batch["u"][:2].tolist() == [0, 1] and S.batch["i"][0] == 2


def test_mapped_matrices(tmp_path):
    A = ps.generate.rmat(9, seed=3)
    A.save(tmp_path / "a.penstock")
    B = ps.open(tmp_path / "a.penstock")
    S, T = (ps.sample.neighbors(m, [1, 2, 3], [5, 5]) for m in (A, B))
    assert (S.edges == T.edges).all()


@pytest.mark.parametrize(
    ("error", "match", "how"),
    [
        (ValueError, r"seeds\[1\]=9 is outside a graph of 9", {"seeds": [0, 9]}),
        (ValueError, r"seeds\[0\]=-1", {"seeds": [-1]}),
        (TypeError, r"seeds must be integers.*seeds.astype\(np.int64\)", {"seeds": [0.5]}),
        (TypeError, r"seeds must be integers.*np.flatnonzero\(seeds\)", {"seeds": [True]}),
        (TypeError, r"seeds has shape \(1, 1\): .* seeds.ravel", {"seeds": [[0]]}),
        (TypeError, "seeds=None must be integers", {"seeds": None}),
        (TypeError, "seeds='0' must be integers", {"seeds": "0"}),
        (ValueError, r"seeds\[1\]=1180591620717411303424 is beyond", {"seeds": [0, 2**70]}),
        (TypeError, "fanouts=3", {"fanouts": 3}),
        (TypeError, "fanouts=.*sequence", {"fanouts": "33"}),
        (TypeError, r"fanouts\[0\]=2.5", {"fanouts": [2.5]}),
        (TypeError, r"fanouts\[1\]=True", {"fanouts": [2, True]}),
        (ValueError, r"fanouts\[0\]=-2", {"fanouts": [-2]}),
        (TypeError, "replace=1", {"replace": 1}),
        (ValueError, "seed=-1", {"seed": -1}),
        (TypeError, "seed=0.5", {"seed": 0.5}),
        (ValueError, "go together", {"time": [0] * 8}),
        (ValueError, "time has 3 numbers for 8 edges", {"time": [0] * 3, "seed_time": [0]}),
        (ValueError, "seed_time has 2 numbers for 1 seeds", {"time": [0] * 8, "seed_time": [0, 1]}),
        (TypeError, "time must be integers", {"time": [0.5] * 8, "seed_time": [0]}),
        (TypeError, "are dicts where", {"seeds": {"a": [0]}}),
    ],
)
def test_bad_arguments(error, match, how):
    with pytest.raises(error, match=match):
        ps.sample.neighbors(star(8), **{"seeds": [0], "fanouts": [2], **how})


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("replace", [False, True])
def test_bad_weights_are_named(bad, replace):
    with pytest.raises(ValueError, match="edge 0 -> 2 has weight"):
        ps.sample.neighbors(star(3, [1.0, bad, 1.0]), [0], [2], weighted=True, replace=replace)


def test_bad_types():
    a = ps.generate.uniform(4, 5, 2, dtype=bool, seed=1)
    for A, error, match in (
        ({("a", "r", "b"): a, ("a", "s", "a"): a}, ValueError, "5 vertices of type 'a'"),
        ({"ab": a}, TypeError, "no type of edges"),
        ({}, ValueError, "empty dict"),
    ):
        with pytest.raises(error, match=match):
            ps.sample.neighbors(A, {"a": [0]}, [1])
    with pytest.raises(ValueError, match="of type 'c'"):
        ps.sample.neighbors({("a", "r", "b"): a}, {"c": [0]}, [1])
    with pytest.raises(ValueError, match="square"):
        ps.sample.neighbors(a, [0], [1])


@pytest.mark.parametrize("how", [{}, {"weighted": True}, {"disjoint": True}])
def test_hops_beyond_memory_are_refused(how, monkeypatch):
    A = star(50, np.ones(50))
    monkeypatch.setattr(_room._core, "topology", lambda: {"available_bytes": 2**33})
    with pytest.raises(
        MemoryError, match="a hop of up to 2147483647 edges takes 88.0 GiB, and 8.0"
    ):
        ps.sample.neighbors(A, [0], [2**31 - 1], replace=True, **how)
    ends = ps.sample.neighbors(A, [1, 2], [2**31 - 1], replace=True, **how)  # which have no edges
    assert ends.edges.size == 0
    assert ps.sample.neighbors(A, [0], [2**31 - 1], **how).edges.size == 50
    monkeypatch.setattr(_room, "_SMALL", 0)
    monkeypatch.setattr(_room._core, "topology", lambda: {"available_bytes": 44 * 50})
    assert ps.sample.neighbors(A, [0], [-1], **how).edges.size == 50
    with pytest.raises(
        MemoryError, match="a hop of up to 100 edges takes 4.3 KiB, and 2.1 KiB of memory"
    ):
        ps.sample.neighbors(A, [0, 0], [-1], **how)
