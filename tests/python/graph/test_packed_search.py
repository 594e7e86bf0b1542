"""Searches and components of the CPU over packed lists, against those of the lists as they are, and stores of them."""

import json

import numpy as np
import pytest
from penstock.cli.app import app
from penstock.csgraph import _lists
from penstock.csgraph._graph import has_symmetric_pattern
from typer.testing import CliRunner

import penstock as ps
from penstock import _core


def pattern(n, rows, cols):
    """As given: any order in a row, and repeated edges stay."""
    order = np.argsort(rows, kind="stable")
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=offsets[1:])
    return ps.csr_array._from_parts(n, n, offsets, np.asarray(cols, np.int32)[order], None)


def random_graph(n, edges, seed, mirrored):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, edges))
    rows[: edges // 3] //= 1 + n // 50  # some long lists, and vertices without edges
    if mirrored:
        loops = rows == cols
        rows, cols = np.r_[rows, cols[~loops]], np.r_[cols, rows[~loops]]
    return pattern(n, rows, cols)


def hub(n):
    """A vertex joined with 3 of 4 others, a path through the rest, self loops, and a few vertices apart."""
    spokes = np.flatnonzero(np.arange(n) % 4 != 1)
    spokes = spokes[(spokes != 7) & (spokes < n - 20)]
    rows = np.r_[np.full(spokes.size, 7), spokes, np.arange(30), [n - 1, n - 2]]
    cols = np.r_[spokes, np.full(spokes.size, 7), np.arange(30), [n - 2, n - 1]]
    return pattern(n, rows, cols)


GRAPHS = {
    "one": lambda: pattern(1, [], []),
    "loop": lambda: pattern(1, [0], [0]),
    "no edges": lambda: pattern(300, [], []),
    "path": lambda: pattern(5000, np.arange(4999), np.arange(1, 5000)),
    "directed": lambda: random_graph(3000, 20_000, 1, False),
    "sparse": lambda: random_graph(40_000, 30_000, 2, False),
    "mirrored": lambda: random_graph(3000, 20_000, 3, True),
    "sparse mirrored": lambda: random_graph(40_000, 25_000, 4, True),
    "hub": lambda: hub(9000),
    "large hub": lambda: hub(200_001),
    "rmat": lambda: ps.generate.rmat(15, seed=5),
    "lift": lambda: ps.generate.lift(ps.generate.rmat(10, seed=2), 40, seed=3),
    "lift of a grid": lambda: ps.generate.lift(hub(60), 500, mix=0.3, seed=1),
}


@pytest.fixture(params=[1, 3], ids=["1 thread", "3 threads"])
def threads(request):
    before = ps.num_threads()
    ps.set_num_threads(request.param)
    yield
    ps.set_num_threads(before)


def same_results(a, starts):
    for start in starts:
        levels, tree = ps.csgraph.bfs(a, start, return_predecessors=True, lists="raw")
        found = ps.csgraph.bfs(a, start, return_predecessors=True, lists="packed")
        assert np.array_equal(found[0], levels) and np.array_equal(found[1], tree)
        ps.csgraph.verify_bfs(a, start, *found)
    count, labels = ps.csgraph.connected_components(a, lists="raw")
    found = ps.csgraph.connected_components(a, lists="packed")
    assert found[0] == count and np.array_equal(found[1], labels)
    ps.csgraph.verify_components(a, *found)


@pytest.mark.parametrize("name", GRAPHS)
def test_as_raw_lists(name, threads):
    a = GRAPHS[name]()
    n = a.shape[0]
    starts = {0, n // 2, n - 1, min(7, n - 1), int(np.argmax(np.diff(a.indptr)))}
    same_results(a, starts)  # without edges into vertices
    if has_symmetric_pattern(a):
        same_results(a, starts)
    else:
        a.T.formed()  # from now on its lists are read bottom-up
        same_results(a, starts)


def test_reversed_edges_are_packed_when_they_are_missed():
    a = random_graph(20_000, 400_000, 6, False)
    assert a._derived.transpose is None
    want = ps.csgraph.bfs(a, 5, lists="raw")
    b = random_graph(20_000, 400_000, 6, False)
    for _ in range(40):
        assert np.array_equal(ps.csgraph.bfs(b, 5, lists="packed"), want)
    assert b._derived.transpose is not None


def test_undirected_and_many_sources():
    a = random_graph(3000, 9000, 8, False)
    how = {"sources": [0, 5, 2999], "directed": False}
    want = ps.csgraph.bfs(a, **how, lists="raw")
    assert np.array_equal(ps.csgraph.bfs(a, **how, lists="packed"), want)


def test_refusals():
    a = ps.generate.rmat(6, seed=1)
    for search in (ps.csgraph.bfs, ps.csgraph.connected_components):
        with pytest.raises(ValueError, match="lists='tiles' is unknown: choose one of auto, raw"):
            search(a, lists="tiles")
    with pytest.raises(ValueError, match="strong components read no packed lists"):
        ps.csgraph.connected_components(a, connection="strong", lists="packed")
    with pytest.raises(ValueError, match="lists='raw' is for the CPU"):
        _lists.for_cpu("raw", True, "bfs")


@pytest.fixture
def store(tmp_path):
    a = ps.generate.rmat(12, seed=7)
    a.save(tmp_path / "g.penstock", lists=True)
    return a, tmp_path / "g.penstock"


def only_packed(monkeypatch):
    def never(*_):
        raise AssertionError("raw lists were read")

    monkeypatch.setattr(_core, "bfs", never)
    monkeypatch.setattr(_core, "connected_components", never)


def test_a_mapped_graph_beyond_memory_reads_its_packed_lists(store, monkeypatch):
    a, path = store
    levels = ps.csgraph.bfs(a, 3, lists="raw")
    found = ps.csgraph.connected_components(a, lists="raw")
    b = ps.open(path)
    assert b._derived.packed_lists.facts()["place"] == "mapped"
    assert b._derived.symmetric_pattern is True
    assert _lists.cpu_lists(b).kind == "raw"
    monkeypatch.setattr(_lists, "_available", lambda: 4 * b.nnz)
    told = _lists.cpu_lists(b)
    assert told.kind == "packed" and "exceeds memory" in told.reason
    only_packed(monkeypatch)
    assert np.array_equal(ps.csgraph.bfs(b, 3), levels)
    count, labels = ps.csgraph.connected_components(b)
    assert count == found[0] and np.array_equal(labels, found[1])


def test_the_rule_says_what_to_do_without_lists(store, monkeypatch, tmp_path):
    a, _ = store
    a.save(tmp_path / "plain.penstock", lists=False)
    b = ps.open(tmp_path / "plain.penstock")
    monkeypatch.setattr(_lists, "_available", lambda: 1000)
    told = _lists.cpu_lists(b)
    assert told.kind == "raw" and "save it with lists=True" in told.reason
    assert _lists.cpu_lists(a).reason == "the edges are in memory"


def test_stores_keep_lists(store, tmp_path):
    a, path = store
    ps.open(path).save(tmp_path / "again.penstock")
    b = ps.open(tmp_path / "again.penstock", validate=True)
    assert b._derived.packed_lists is not None
    c = ps.load(path)
    assert c.place == "host" and c._derived.packed_lists.facts()["place"] == "host"
    same_results(c, [0, 9])
    assert np.array_equal(c._derived.packed_lists.unpack()[0], a.indptr)
    c.save(tmp_path / "less.penstock")
    assert not (tmp_path / "less.penstock" / "lists_words.npy").exists()
    with pytest.raises(ValueError, match="lists=3: give None, True or False"):
        a.save(tmp_path / "x.penstock", lists=3)
    with pytest.raises(ValueError, match="only a graph has neighbour lists, this matrix is 2 x 3"):
        ps.csr_array(([1.0], ([0], [2])), shape=(2, 3)).save(tmp_path / "x.penstock", lists=True)


def test_convert_and_the_command_line(store, tmp_path):
    a, path = store
    a.save(tmp_path / "a.mtx")
    run = CliRunner().invoke(
        app, ["convert", str(tmp_path / "a.mtx"), str(tmp_path / "b.penstock"), "--lists"]
    )
    assert run.exit_code == 0, run.output
    assert ps.open(tmp_path / "b.penstock")._derived.packed_lists is not None
    ps.convert(path, tmp_path / "c.penstock", lists=True)
    assert ps.open(tmp_path / "c.penstock")._derived.packed_lists is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": [1, 2]}, "lists.tables"),
        ({"table_bits": 9}, "lists.table_bits 9"),
        ({"repeats": 1}, "lists.repeats 1 is not true or false"),
        ({"tables": [2**31] * 8}, "a table has the width 128"),
    ],
)
def test_a_header_that_is_wrong(store, change, message):
    _, path = store
    header = json.loads((path / "header.json").read_text())
    header["penstock"]["lists"] |= change
    (path / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match=message):
        ps.open(path)


def test_a_header_that_promises_symmetry(tmp_path):
    a = random_graph(500, 3000, 1, False)
    a.save(tmp_path / "g.penstock", lists=True)
    header = json.loads((tmp_path / "g.penstock" / "header.json").read_text())
    assert header["penstock"]["lists"]["symmetric"] is False
    header["penstock"]["lists"]["symmetric"] = True
    (tmp_path / "g.penstock" / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="says that the pattern is symmetric, and it is not"):
        ps.open(tmp_path / "g.penstock", validate=True)


@pytest.mark.parametrize("name", ["lists_words", "lists_heads", "lists_bases", "lists_long"])
def test_damaged_files_are_refused_or_harmless(tmp_path, name):
    """Any bit of any file may be wrong: a search then refuses, or stays within the words and the vertices."""
    a = ps.generate.lift(hub(2500), 3, seed=1)
    path = tmp_path / "g.penstock"
    a.save(path, lists=True)
    file = path / f"{name}.npy"
    good = file.read_bytes()
    rng = np.random.default_rng(5)
    said = []
    for _ in range(60):
        bad = bytearray(good)
        at = int(rng.integers(128, len(bad)))
        bad[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(bad)
        b = ps.open(path)
        try:
            levels = ps.csgraph.bfs(b, 7, lists="packed")
        except ValueError as error:
            said.append(str(error))
        else:
            assert levels.shape == (7500,)
        with pytest.raises(ValueError, match=rf"{name}\.npy: has the checksum .*lists=True"):
            ps.open(path, validate=True)
    assert len(said) > 10 and all("lists=True" in text for text in said)
    others = {"lists_words", "lists_heads", "lists_bases", "lists_long"} - {name}
    assert not any(other in text for text in said for other in others)


def test_any_bit_of_any_file_is_found_where_asked(tmp_path):
    """Some wrong bits are other lists, and searches of these find other levels: checksums tell."""
    a = ps.generate.lift(hub(2500), 2, seed=1)
    path = tmp_path / "g.penstock"
    a.save(path, lists=True)
    levels, other, said = ps.csgraph.bfs(a, 7), 0, []
    file = path / "lists_words.npy"
    good = file.read_bytes()
    for at in np.random.default_rng(6).integers(8 * 128, 8 * len(good), 60):
        bad = bytearray(good)
        bad[at // 8] ^= 1 << int(at % 8)
        file.write_bytes(bad)
        try:
            found = ps.csgraph.bfs(ps.open(path), 7, lists="packed")
            other += not np.array_equal(found, levels)
        except ValueError as error:
            said.append(str(error))
        for read in (ps.load, lambda p: ps.open(p, validate=True)):
            with pytest.raises(ValueError, match=r"lists_words\.npy: has the checksum"):
                read(path)
    assert other > 0, "choose bits that decode"
    assert said and all("lists_*.npy: packed lists: " in text for text in said)


def test_a_size_that_is_wrong_names_its_file(store):
    """It is found when the store is opened, whatever is asked for."""
    _, path = store
    file = path / "lists_bases.npy"
    bad = bytearray(file.read_bytes())
    bad[-8] ^= 1  # how many words there are
    file.write_bytes(bad)
    with pytest.raises(ValueError, match=r"lists_bases\.npy: has the checksum .*lists=True"):
        ps.open(path)


def test_lists_of_another_graph_and_missing_files(store, tmp_path):
    _, path = store
    other = ps.generate.rmat(12, seed=8)
    other.save(tmp_path / "o.penstock", lists=True)
    for name in ("lists_words", "lists_heads", "lists_bases", "lists_long"):
        (path / f"{name}.npy").write_bytes((tmp_path / "o.penstock" / f"{name}.npy").read_bytes())
    with pytest.raises(ValueError, match="lists=True"):
        ps.open(path, validate=True)
    with pytest.raises(ValueError, match="lists=True"):
        ps.csgraph.bfs(ps.open(path), 0, lists="packed")
    (path / "lists_heads.npy").unlink()
    with pytest.raises(ValueError, match=r"has no lists_heads\.npy"):
        ps.open(path)
