"""Partitions: nothing is lost or doubled, and every figure equals a count by NumPy."""

import json
import sys

import numpy as np
import pytest
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._choices import PARTITIONERS
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

METHODS = tuple(PARTITIONERS)


def matrix(rows, cols, row, col):
    core = _core.coo_to_csr(
        rows, cols, np.asarray(row, np.int32), np.asarray(col, np.int32), None, False
    )
    return ps.csr_array._wrap(core)


@st.composite
def matrices(draw):
    rows, cols = draw(st.integers(0, 14)), draw(st.integers(0, 14))
    square = draw(st.booleans())
    cols = rows if square else cols
    pairs = st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, max(cols - 1, 0)))
    entries = draw(st.lists(pairs, max_size=60 if rows and cols else 0))
    row, col = np.array(entries, np.int32).reshape(-1, 2).T
    if draw(st.booleans()):  # a long row, that bins split
        row = np.where(row % 3 == 0, 0, row)
    return matrix(rows, cols, row.copy(), col.copy())


def methods_for(a):
    square = a.shape[0] == a.shape[1]
    return [m for m in METHODS if square or PARTITIONERS[m].reads != "graph"]


def by_hand(a, p):
    """The metrics of a partition, from the part of each entry and the owners alone."""
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    part, col = p.entry_parts(a), np.asarray(a.indices)
    nnz = np.bincount(part, minlength=p.parts)
    need = {(q, c) for q, c in zip(part.tolist(), col.tolist(), strict=True)}
    x = [(int(p.col_owners[c]), q) for q, c in need if p.col_owners[c] != q]
    have = {(q, r) for q, r in zip(part.tolist(), row.tolist(), strict=True)}
    y = [(q, int(p.owners[r])) for q, r in have if p.owners[r] != q]
    exchange = {}
    for pair in x + y:
        exchange[pair] = exchange.get(pair, 0) + 1
    mean = a.nnz / p.parts
    return {
        "mad": np.abs(nnz - mean).mean() / a.nnz if a.nnz else 0.0,
        "imbalance": nnz.max() / mean if a.nnz else 1.0,
        "halo_volume": len(x),
        "partial_volume": len(y),
        "messages": len(set(x)) + len(set(y)),
        "nnz": nnz,
        "rows": np.bincount(p.owners, minlength=p.parts),
        "halo": np.bincount([q for _, q in x], minlength=p.parts),
    }, exchange


def check(a, p):
    rows, cols = a.shape
    assert p.owners.shape == (rows,) and p.col_owners.shape == (cols,)
    assert p.owners.dtype == np.int32 and p.shape == (rows, cols)
    for owners in (p.owners, p.col_owners):
        assert owners.size == 0 or 0 <= owners.min() <= owners.max() < p.parts
    parts = p.entry_parts(a)
    assert parts.shape == (a.nnz,) and (a.nnz == 0 or 0 <= parts.min() <= parts.max() < p.parts)
    m = p.metrics(a)
    facts, exchange = by_hand(a, p)
    for name, value in facts.items():
        np.testing.assert_allclose(getattr(m, name), value, rtol=1e-12, err_msg=f"{p}: {name}")
    assert {(f, t): v for f, t, v in m.exchange.tolist()} == exchange, p
    assert m.nnz.sum() == a.nnz and m.rows.sum() == rows


@given(matrices(), st.integers(1, 20))
@settings(deadline=None, max_examples=150)
def test_every_figure_is_counted_again(a, n):
    for method in methods_for(a):
        p = getattr(ps.partition, method)(a, n)
        assert (p.kind, p.parts) == (method, n)
        check(a, p)
    owners = np.arange(a.shape[0])[::-1] % n
    p = ps.partition.labels(a, owners, n)
    assert np.array_equal(p.owners, owners)
    check(a, p)


def test_the_papers_mad_by_hand():
    """Shares of 5, 1, 1, 1 entries: mean 2, deviations 3 + 1 + 1 + 1, a quarter of them 1.5, over 8 entries."""
    a = matrix(4, 5, [0] * 5 + [1, 2, 3], [0, 1, 2, 3, 4, 0, 1, 2])
    m = ps.partition.contiguous(a, 4).metrics(a)
    assert m.nnz.tolist() == [5, 1, 1, 1]
    assert m.mad == 1.5 / 8 and m.imbalance == 2.5
    # omega = 2: the row of 5 becomes 2 + 2 + 1
    p = ps.partition.bins(a, 4)
    assert [x.tolist() for x in p.pieces[:3]] == [[0, 0, 0], [0, 2, 4], [2, 4, 5]]
    assert p.metrics(a).nnz.tolist() == [2, 2, 2, 2] and p.metrics(a).mad == 0


def test_halo_and_memory_of_a_chain():
    """A tridiagonal matrix in three ranges: each neighbour sends one value."""
    n = 9
    i = np.arange(n)
    row = np.concatenate([i, i[1:], i[:-1]])
    col = np.concatenate([i, i[:-1], i[1:]])
    a = matrix(n, n, row, col)
    m = ps.partition.contiguous(a, 3).metrics(a)
    assert m.exchange.tolist() == [[1, 0, 1], [0, 1, 1], [2, 1, 1], [1, 2, 1]]
    assert m.halo.tolist() == [1, 2, 1] and m.messages == 4
    # columns of 4 bytes, 4 offsets of 8; x, halo and y of 8
    assert m.bytes.tolist() == [8 * 4 + 32 + 7 * 8, 9 * 4 + 32 + 8 * 8, 8 * 4 + 32 + 7 * 8]
    assert m.exchange_matrix().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert m.exchange_matrix(1).tolist() == [[4]]


def test_the_grid_is_the_papers_where_n_is_a_square():
    a = ps.generate.rmat(8, seed=2)
    p = ps.partition.grid(a, 16)
    assert p.grid == (4, 4)
    assert p.row_cuts.tolist() == p.col_cuts.tolist() == [0, 64, 128, 192, 256]
    row = np.repeat(np.arange(256), np.diff(a.indptr))
    assert np.array_equal(p.entry_parts(a), row // 64 * 4 + np.asarray(a.indices) // 64)
    assert set(p.owners.tolist()) == {0, 4, 8, 12}  # row masters
    assert ps.partition.grid(a, 12).grid == (4, 3)
    assert ps.partition.grid(a, 7).grid == (7, 1)


def test_bins_balance_rmat_where_equal_rows_do_not():
    a = ps.generate.rmat(12, seed=1)
    mad = {m: getattr(ps.partition, m)(a, 64).metrics(a).mad for m in METHODS}
    assert mad["bins"] < 1e-5 < mad["balanced"] < mad["contiguous"]
    assert mad["bins"] < mad["grid"]


def test_bins_share_empty_rows_out():
    a = matrix(100, 100, [0, 1], [0, 0])
    assert ps.partition.bins(a, 4).metrics(a).rows.tolist() == [25] * 4


def test_label_propagation_keeps_neighbours_together():
    """A mesh whose rows were scrambled: contiguous rows exchange nearly everything."""
    a = ps.generate.road_grid(60, 60, seed=1)
    q = ps.reorder.scramble(a, seed=2)
    b = a.permute(q, q)
    near = ps.partition.label_propagation(b, 8).metrics(b)
    far = ps.partition.balanced(b, 8).metrics(b)
    assert near.halo_volume < 0.1 * far.halo_volume
    assert near.imbalance < 1.05


def test_the_same_for_any_number_of_threads():
    a = ps.generate.rmat(13, seed=4)
    before = ps.num_threads()
    seen = []
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            found = [getattr(ps.partition, m)(a, 9) for m in METHODS]
            metrics = [p.metrics(a) for p in found]
            seen.append(
                [p.owners.tobytes() for p in found]
                + [m.exchange.tobytes() for m in metrics]
                + [m.mad for m in metrics]
            )
    finally:
        ps.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize(
    "file", ["wiki-Vote.txt.gz", "bodyy5.mtx.gz", "lp_ken_11.mtx.gz", "G2_circuit.mtx.gz"]
)
def test_real_files(file):
    a = ps.load(real_file(file))
    for method in methods_for(a):
        check(a, getattr(ps.partition, method)(a, 16))
    mad = {m: getattr(ps.partition, m)(a, 16).metrics(a).mad for m in ("bins", "contiguous")}
    assert mad["bins"] <= mad["contiguous"]


def test_errors_name_the_argument_and_the_remedy():
    a, wide = ps.generate.rmat(4, seed=1), matrix(2, 3, [0], [1])
    for n in (0, -1, 2**20 + 1):
        with pytest.raises(ValueError, match=f"parts = {n}: a partition has 1 to 1048576 parts"):
            ps.partition.contiguous(a, n)
    with pytest.raises(TypeError, match="bins: n is a number of parts, not str"):
        ps.partition.bins(a, "4")
    with pytest.raises(ValueError, match="square matrix.*2 x 3: use balanced or bins"):
        ps.partition.label_propagation(wide, 2)
    with pytest.raises(ValueError, match="3 numbers, the matrix has 16 rows: give one owner a row"):
        ps.partition.labels(a, [0, 1, 2])
    with pytest.raises(ValueError, match=r"owners\[2\] = 5: owners are 0 to 3 for 4 parts"):
        ps.partition.labels(a, [0, 1, 5, 6] + [0] * 12, 4)
    with pytest.raises(ValueError, match="parts count from 0"):
        ps.partition.labels(a, [-1] * 16)
    with pytest.raises(ValueError, match="whole numbers"):
        ps.partition.labels(a, [0.5] * 16)
    with pytest.raises(ValueError, match="at least one part"):
        ps.partition.labels(a, [0] * 16, 0)
    for f in ("metrics", "entry_parts"):
        with pytest.raises(ValueError, match="make a partition of this matrix"):
            getattr(ps.partition.balanced(a, 2), f)(wide)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "r.penstock"
    ps.save(path, ps.generate.rmat(9, seed=1))
    return path


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_the_command_compares(file, tmp_path):
    plot = tmp_path / "exchange.png"
    result = run("partition", file, "-n", 16, "--compare", "--plot", plot)
    assert result.exit_code == 0, result.output
    assert all(m in result.stdout for m in METHODS) and "grid 4 x 4" in result.stdout
    assert "Page and Kogge" in result.stdout and plot.stat().st_size > 5000


def test_the_commands_json_is_the_librarys(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)  # as where it is not installed
    d = json.loads(run("partition", file, "-n", 16, "--compare", "--json").stdout)
    assert [m["method"] for m in d["methods"]] == list(METHODS)
    assert [why.split()[0] for why in d["left_out"]] == ["metis"]
    a = ps.open(file)
    for row in d["methods"]:
        m = getattr(ps.partition, row["method"])(a, 16).metrics(a)
        assert (row["mad"], row["halo_volume"], row["messages"]) == (
            m.mad,
            m.halo_volume,
            m.messages,
        )
    one = json.loads(run("partition", file, "-n", 4, "--method", "bins", "--json").stdout)
    assert [m["method"] for m in one["methods"]] == ["bins"]


def test_the_command_leaves_out_what_needs_a_square(tmp_path):
    path = tmp_path / "wide.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 3\n")
    result = run("partition", path, "-n", 2, "--compare")
    assert result.exit_code == 0 and "label_propagation is left out" in result.stdout
    assert run("partition", path, "-n", 2, "--method", "label_propagation").exit_code == 2
    assert run("partition", path).exit_code == 2
    assert run("partition", path, "-n", 2, "--plot", tmp_path / "x.txt").exit_code == 2


def _cut_entries(a, owners):
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return int((owners[row] != owners[a.indices]).sum())


def test_metis_where_it_is_installed():
    pytest.importorskip("pymetis")
    a = ps.generate.laplacian((24, 24))
    p = ps.partition.metis(a, 6)
    assert p.kind == "labels" and set(p.owners.tolist()) == set(range(6))
    assert p.metrics(a).imbalance < 1.1
    assert _cut_entries(a, p.owners) < _cut_entries(a, ps.partition.contiguous(a, 6).owners)


def test_metis_gets_the_pattern_both_ways(monkeypatch):
    asked = {}

    class Metis:
        @staticmethod
        def part_graph(n, xadj, adjncy, vweights):
            asked.update(n=n, xadj=list(xadj), adjncy=list(adjncy), weights=list(vweights))
            return 0, [0, 1, 1]

    monkeypatch.setitem(sys.modules, "pymetis", Metis)
    a = ps.csr_array(([True] * 4, ([0, 0, 0, 2], [0, 1, 1, 0])), shape=(3, 3))
    p = ps.partition.metis(a, 2)
    assert p.kind == "labels" and p.owners.tolist() == [0, 1, 1]
    both = {"n": 2, "xadj": [0, 2, 3, 4], "adjncy": [1, 2, 0, 0]}
    assert {k: asked[k] for k in both} == both and asked["weights"][1:] == [1, 1]
    assert ps.partition.metis(a, 1).owners.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="2 x 3"):
        ps.partition.metis(ps.csr_array(([True], ([0], [2])), shape=(2, 3)), 2)


def test_without_pymetis_the_remedy_is_named(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    a = ps.generate.laplacian((12, 12))
    with pytest.raises(ImportError, match=r"needs pymetis: pip install 'penstock-sparse\[metis\]'"):
        ps.partition.metis(a, 3)
    result = run("partition", file, "-n", 4, "--method", "metis")
    assert result.exit_code == 1 and "label_propagation" not in result.stdout
    assert "pip install 'penstock-sparse[metis]'" in " ".join(result.stderr.split())
