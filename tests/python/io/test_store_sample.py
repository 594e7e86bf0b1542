"""Neighbour samples: which neighbours, kept in stores, handed to GPUs, refused where they are not the matrix's."""

import json

import numpy as np
import pytest
from penstock.cli.app import app
from penstock.csgraph import _gpu
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

WHOLE, NONE = np.uint32(1 << 31), np.uint32(2**31 - 1)
KINDS = ["highest_degree", "first"]


def reference(a, size, kind):
    slots = np.full((a.shape[0], size), NONE, np.uint32)
    degrees = np.diff(a.indptr)
    for v in range(a.shape[0]):
        listed = a.indices[a.indptr[v] : a.indptr[v + 1]]
        if listed.size > size and kind == "highest_degree":
            looked = np.unique(listed[: 1 << 15])
            listed = looked[np.lexsort((looked, -degrees[looked]))]
            slots[v, : min(size, listed.size)] = listed[:size]
            continue
        slots[v, : min(size, listed.size)] = listed[:size]
        if listed.size <= size:
            slots[v, -1] |= WHOLE
    return slots.ravel()


def directed(n=500, edges=6000, seed=1):
    rng = np.random.default_rng(seed)
    tails = np.sort(rng.integers(0, n, edges))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(np.int64)
    return ps.csr_array._from_parts(n, n, indptr, rng.integers(0, n, edges, dtype=np.int32), None)


@pytest.fixture(scope="module")
def graph():
    return ps.generate.rmat(11, seed=5)


@pytest.fixture
def saved(graph, tmp_path):
    path = tmp_path / "graph.penstock"
    ps.csr_array._wrap(graph._core).save(path, sample=True)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("make", [lambda: ps.generate.rmat(10, seed=2), directed,
                                  lambda: ps.csr_array((50, 50)), lambda: ps.csr_array((0, 0))])  # fmt: skip
def test_which_neighbours(make, size, kind):
    a = make()
    found_size, found_kind, slots = _core.sample_neighbours(a._core, size, kind)
    assert (found_size, found_kind, slots.dtype) == (size, kind, np.uint32)
    np.testing.assert_array_equal(slots, reference(a, size, kind))
    for every in (False, True):
        _core.check_sample(a._core, (size, kind, slots), every)


def test_a_store_keeps_it(graph, saved, tmp_path):
    header = json.loads((saved / "header.json").read_text())["penstock"]
    assert header["version"] == 1 and header["files"]["sample"] == "sample.npy"
    assert header["sample"] == {"neighbours": 4, "kind": "highest_degree"}
    expected = reference(graph, 4, "highest_degree")
    for b in (ps.open(saved), ps.open(saved, validate=True), ps.load(saved)):
        size, kind, slots = b._derived.neighbour_sample
        assert (size, kind) == (4, "highest_degree")
        np.testing.assert_array_equal(slots, expected)
    assert slots.base is None, "loaded, not mapped"
    again = tmp_path / "again.penstock"
    ps.open(saved).save(again)  # from the map, without being asked
    np.testing.assert_array_equal(ps.open(again)._derived.neighbour_sample[2], expected)
    ps.open(saved).save(again, sample=8)
    size, _, slots = ps.open(again, validate=True)._derived.neighbour_sample
    assert size == 8 and np.array_equal(slots, reference(graph, 8, "highest_degree"))
    ps.open(again).save(again, sample=True)  # over itself: the larger one stays
    assert ps.open(again)._derived.neighbour_sample[0] == 8
    ps.open(again).save(again, sample=False)
    assert ps.open(again)._derived.neighbour_sample is None
    assert not (again / "sample.npy").exists()


def test_beside_the_packed_form(graph, tmp_path):
    for packed in (True, "only"):
        graph.save(tmp_path / "p.penstock", packed=packed, sample=16)
        b = ps.open(tmp_path / "p.penstock")
        assert b._derived.packed is not None and b._derived.neighbour_sample[0] == 16


def test_nothing_is_written_unasked(graph, tmp_path):
    ps.csr_array._wrap(graph._core).save(tmp_path / "plain.penstock")
    assert not (tmp_path / "plain.penstock" / "sample.npy").exists()
    assert ps.open(tmp_path / "plain.penstock")._derived.neighbour_sample is None


@pytest.mark.parametrize("made", ["highest_degree", "first"])
@pytest.mark.parametrize("name", ["gpu_graph", "gpu_parts"])
def test_the_best_one_that_a_gpu_has_made_is_saved(graph, tmp_path, name, made):
    class Graph:
        def sample(self):
            return _core.sample_neighbours(graph._core, 8, made)

    a = ps.csr_array._wrap(graph._core)
    setattr(a._derived, name, ("key", Graph()))
    a.save(tmp_path / "a.penstock")
    kept = ps.open(tmp_path / "a.penstock", validate=True)._derived.neighbour_sample
    if made == "first":  # cheaper to make than to keep
        assert kept is None
    else:
        assert kept[:2] == (8, made) and np.array_equal(kept[2], reference(graph, 8, made))


def test_gpus_get_it(saved, monkeypatch):
    given = []

    class Graph:
        def facts(self):
            return {}

    def graph(core, gpu, placement, budget, sample, packed):
        given.append(sample)
        return Graph()

    def parts(core, gpus, placement, budget, like, sample):
        given.append(sample)
        return Graph()

    monkeypatch.setattr(_core, "gpu_graph", graph)
    monkeypatch.setattr(_core, "gpu_parts", parts)
    b = ps.open(saved)
    with ps.options(device_memory=1 << 30):
        _gpu.gpu_graph(b, 0)
        _gpu.gpu_parts(b, [0, 0], "pinned")
        assert given == [b._derived.neighbour_sample] * 2
        _gpu.gpu_graph(ps.csr_array._wrap(b._core), 0)
    assert given[-1] is None


def test_what_is_no_sample_is_refused(graph, tmp_path):
    path = tmp_path / "a.penstock"
    for bad in (5, "yes", 0, 4.0):
        with pytest.raises(ValueError, match="give None, True, False, 4, 8 or 16"):
            graph.save(path, sample=bad)
    with pytest.raises(ValueError, match="only a graph has one"):
        ps.csr_array((3, 4)).save(path, sample=True)
    with pytest.raises(TypeError, match="no option 'sample'"):
        graph.save(tmp_path / "a.npz", sample=True)
    with pytest.raises(ValueError, match="4, 8 or 16 neighbours"):
        _core.sample_neighbours(graph._core, 5)
    with pytest.raises(ValueError, match='kind="last" is unknown'):
        _core.sample_neighbours(graph._core, 4, "last")
    assert not path.exists()


def test_damage_is_refused(graph, saved):
    def refused(match, validate=False):
        with pytest.raises(ValueError, match=match) as told:
            ps.open(saved, validate=validate)
        assert "save the store again" in str(told.value) or "write it again" in str(told.value)

    path = saved / "sample.npy"
    whole, slots = path.read_bytes(), np.load(path)
    one = slots.copy()
    one[4 * 1234], one[4 * 1234 + 1] = one[4 * 1234 + 1] + 1, one[4 * 1234] + 1
    np.save(path, one)
    refused("vertex 1234 is not that of its list", validate=True)
    np.save(path, np.roll(slots, 4))
    refused("is not that of its list")
    np.save(path, slots.astype(np.int64))
    refused("is int64, not uint32")
    np.save(path, slots[:-4])
    refused("slots, 4 a vertex, is not of a matrix")
    path.write_bytes(whole[:-7])
    refused("truncated or damaged")
    path.unlink()
    refused("has no sample.npy")
    path.write_bytes(whole)
    ps.open(saved, validate=True)


@pytest.mark.parametrize(
    "said, match",
    [
        (["a"], "'sample' is not an object"),
        ({"neighbours": 5, "kind": "first"}, "5 is not 4, 8 or 16"),
        ({"neighbours": [4], "kind": "first"}, r"\[4\] is not 4"),
        ({"neighbours": 4.0, "kind": "highest_degree"}, "4.0 is not 4"),
        ({"neighbours": 8, "kind": "highest_degree"}, "slots, 8 a vertex"),
        ({"neighbours": 4, "kind": "last"}, "'last' is not one of highest_degree, first"),
        ({"neighbours": 4, "kind": "first"}, "is not that of its list"),
    ],
)
def test_a_header_that_says_something_else_is_refused(saved, said, match):
    header = json.loads((saved / "header.json").read_text())
    header["penstock"]["sample"] = said
    (saved / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match=match):
        ps.open(saved)


def test_a_stale_one_is_refused(saved, tmp_path):
    """The lists of another graph of as many vertices, under an old sample."""
    other = tmp_path / "other.penstock"
    ps.generate.rmat(11, seed=99).save(other)
    (other / "sample.npy").write_bytes((saved / "sample.npy").read_bytes())
    header = json.loads((other / "header.json").read_text())
    header["penstock"]["sample"] = {"neighbours": 4, "kind": "highest_degree"}
    (other / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="save the store again with sample=True"):
        ps.open(other)


def test_a_checksum_that_differs_is_refused(saved):
    header = json.loads((saved / "header.json").read_text())
    header["penstock"]["crc32"]["sample"] ^= 1
    (saved / "header.json").write_text(json.dumps(header))
    ps.open(saved)
    with pytest.raises(ValueError, match="has the checksum"):
        ps.open(saved, validate=True)


def test_convert(graph, tmp_path):
    source, out = tmp_path / "a.mtx", tmp_path / "a.penstock"
    graph.save(source)
    told = CliRunner().invoke(app, ["convert", str(source), str(out), "--sample"])
    assert told.exit_code == 0, told.output
    b = ps.open(out, validate=True)
    assert np.array_equal(b._derived.neighbour_sample[2], reference(b, 4, "highest_degree"))
